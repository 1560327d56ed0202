"""BE-Tree: the space of clauses cut in two phases, by an attribute and then by its values.

After Sadoghi and Jacobsen, "BE-Tree: an index structure to efficiently match Boolean expressions
over high-dimensional discrete space" (SIGMOD 2011), whose names these are. An expression is a
clause, an attribute a dimension, its domain the dimension's present spaces in their order.

A c_node has an l_node, the expressions that stay with it, and a p_directory of p_nodes, one for
each attribute by which others are told apart. A p_node has a c_directory: buckets that halve the
attribute's domain, each with its c_node. Since a bucket, its c_node and its l_node belong
together, they are one entry of a pool here; an l_node's expressions are a chain of records.

Beyond the paper, an expression has a signature (see `matching`). Where the paper is silent: a
predicate that holds on a missing attribute never partitions, so that expressions without another
kind stay in the root's l_node; and an event that has a list follows all of its spaces, yet meets
each bucket once.
"""

from remuda.matchers.betree.tree import BETree

__all__ = ["BETree"]
