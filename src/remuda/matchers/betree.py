"""BE-Tree: the space of clauses cut in two phases, by an attribute and then by its values.

After Sadoghi and Jacobsen, "BE-Tree: an index structure to efficiently match Boolean expressions
over high-dimensional discrete space" (SIGMOD 2011), whose names these are. An expression is a
clause, an attribute a dimension, its domain the dimension's present spaces in their order.

A c_node has one l_node, the expressions that stay with it, and a p_directory of p_nodes, one for
each attribute by which its other expressions are told apart. A p_node has a c_directory: buckets
that halve the attribute's domain, each with its c_node. A bucket and its c_node are one entry of a
pool here, and so is its l_node, a chain of records.

What the paper has no word for: a predicate that holds on a missing attribute never partitions, so
expressions of no other kind stay in the root's l_node; and an event that has a list follows all of
its values, yet meets each bucket once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, Self

import numpy as np

from remuda.arrays import Floats, Ints, Longs, frozen, ragged
from remuda.encoding.table import ClauseTable, EventBatch
from remuda.jit import kernel
from remuda.matchers.contract import Hits, Literal
from remuda.matchers.kernels.output import grown
from remuda.matchers.kernels.records import (
    DIM_SHIFT,
    HEADER,
    HI,
    LINK,
    LO,
    N_WORDS,
    NEXT,
    ON_MISSING,
    PLACE,
    ROW,
    SEVERAL,
    discarded,
    find,
    lay_points,
    n_words,
    predicates_of,
    records_of,
    take_points,
)
from remuda.matchers.kernels.truth import lay_out, take_away

MAX_CAP = 20  # of an l_node, before it is cut
MIN_SIZE = 3  # expressions that an attribute must have to be worth a p_node
RANK_WINDOW = 10  # a node is ranked after operations on one in so many of its expressions
THETA = 0  # a node with a lower rank is recycled

NONE = -1
EMPTY = -2  # a half of a bucket that is cut, without expressions
ROOT = 0

# Of a c_node: its minimal interval boundary (LO and HI are a predicate's), the halves of its
# bucket, its l_node and its p_directory; then what matching does not read.
MIN, MAX, LEFT, RIGHT, FIRST, P_FIRST, P_SIZE, ATTR = range(8)
PARENT, SIZE, CAP, COUNT, START, END, WINDOW, QUEUED = range(8, 16)
# Of a p_node: its attribute, its c_directory, its neighbours in the p_directory.
P_ATTR, P_CHILD, P_NEXT, P_PREVIOUS, P_LINK, P_PARENT, P_GAIN, P_LOSS = range(8)
# Of the pools: how far each is used, how much of that is free, and what waits to be done.
CLAUSES, WORDS, DEAD_WORDS, C_NODES, FREE_C_NODES, P_NODES, FREE_P_NODES = range(7)
C_FREE, P_FREE, OVERFLOWED, LIMBO = range(7, 11)

SEEN, LOST = range(2)  # feedback of a c_node: events, and evaluations that were for nothing


class Pools(NamedTuple):
    """The arrays that the tree lives in; a record or node is known by its place in its pool."""

    words: Ints
    c_nodes: Ints
    p_nodes: Ints
    p_heads: Ints  # the hash table of all p_directories
    row_heads: Ints  # the hash table of rows
    feedback: Floats
    presence: Floats  # how many events had each attribute; at last, how many there were
    state: Longs
