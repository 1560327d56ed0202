"""The pools that a BE-Tree lives in, and the small moves within them.

Nodes are rows of integers, so that a visit costs one cache line, and are known by their numbers.
What is freed is chained for reuse.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from remuda.arrays import Ints, Longs
from remuda.jit import kernel
from remuda.matchers.betree.records import LINK, NEXT, PLACE, ROW
from remuda.matchers.kernels.output import grown

NONE = -1
EMPTY = -2  # a half without expressions, of a bucket that is cut
ROOT = 0

# A c_node: the minimal interval boundary of its bucket, the bucket's halves, the first record of
# its l_node, the first p_node of its p_directory; then what matching does not read: PARENT is the
# bucket above or, of a top bucket, ~p_node; COUNT has all expressions beneath, WINDOW the
# operations since the last ranking, NEXT_C what follows in the free list or in the queue.
MIN, MAX, LEFT, RIGHT, FIRST, P_FIRST, P_SIZE, ATTR = range(8)
PARENT, SIZE, CAP, COUNT, START, END, WINDOW, NEXT_C = range(8, 16)
C_FIELDS = 16

# A p_node: its attribute, the top bucket of its c_directory, its neighbours in the p_directory,
# what follows in the hash table, the c_node it belongs to, and its rank's two sides.
P_ATTR, P_CHILD, P_NEXT, P_PREVIOUS, P_LINK, P_PARENT, P_GAIN, P_LOSS = range(8)
P_FIELDS = 8

# The state: how many clauses there are; how far each pool is used, and how much of that is free;
# the free nodes; the c_nodes that overflow, and the records that wait to be inserted.
CLAUSES, WORDS, FREE_WORDS, C_NODES, FREE_C_NODES, P_NODES, FREE_P_NODES = range(7)
C_FREE, P_FREE, OVERFLOWED, LIMBO = range(7, 11)
STATE_FIELDS = 11

SINCE, LOST = range(2)  # feedback on a c_node: from which event on, and evaluations in vain

THETA = 0  # an attribute must rank higher to partition, a node not lower to stay


class Pools(NamedTuple):
    """All arrays of a tree."""

    words: Ints  # records
    c_nodes: Ints
    p_nodes: Ints
    p_heads: Ints  # a hash table over all p_directories
    row_heads: Ints  # a hash table of records by row
    feedback: Longs
    presence: Longs  # how many events had each attribute and, at last, how many there were
    state: Longs


@kernel
def has_room(pools: Pools) -> bool:
    """Whether one more step fits: a bucket is cut in two, an attribute gets a p_node."""
    state = pools.state
    c_room = len(pools.c_nodes) - state[C_NODES] + state[FREE_C_NODES]
    p_room = len(pools.p_nodes) - state[P_NODES] + state[FREE_P_NODES]
    return c_room >= 2 and p_room >= 1  # type: ignore[no-any-return]


@kernel
def new_c_node(pools: Pools, parent: int, attr: int, start: int, end: int, cap: int) -> int:
    """An empty leaf bucket over the spaces `start` to `end - 1`."""
    state, c_nodes = pools.state, pools.c_nodes
    if state[C_FREE] != NONE:
        c = state[C_FREE]
        state[C_FREE] = c_nodes[c, NEXT_C]
        state[FREE_C_NODES] -= 1
    else:
        c = state[C_NODES]
        state[C_NODES] += 1
    c_nodes[c, MIN], c_nodes[c, MAX] = end, start
    c_nodes[c, LEFT] = c_nodes[c, RIGHT] = c_nodes[c, FIRST] = c_nodes[c, P_FIRST] = NONE
    c_nodes[c, P_SIZE] = c_nodes[c, SIZE] = c_nodes[c, COUNT] = c_nodes[c, WINDOW] = 0
    c_nodes[c, ATTR], c_nodes[c, PARENT], c_nodes[c, CAP] = attr, parent, cap
    c_nodes[c, START], c_nodes[c, END], c_nodes[c, NEXT_C] = start, end, NONE
    pools.feedback[c, SINCE], pools.feedback[c, LOST] = pools.presence[-1], 0
    return c  # type: ignore[no-any-return]


@kernel
def free_c_node(pools: Pools, c: int) -> None:
    pools.c_nodes[c, NEXT_C] = pools.state[C_FREE]
    pools.state[C_FREE] = c
    pools.state[FREE_C_NODES] += 1


@kernel
def create_p_node(pools: Pools, c: int, attr: int) -> int:
    """A p_node for the attribute in the p_directory of `c`."""
    state, c_nodes, p_nodes = pools.state, pools.c_nodes, pools.p_nodes
    if state[P_FREE] != NONE:
        p = state[P_FREE]
        state[P_FREE] = p_nodes[p, P_NEXT]
        state[FREE_P_NODES] -= 1
    else:
        p = state[P_NODES]
        state[P_NODES] += 1
    first = c_nodes[c, P_FIRST]
    if first != NONE:
        p_nodes[first, P_PREVIOUS] = p
    p_nodes[p, P_ATTR], p_nodes[p, P_PARENT] = attr, c
    p_nodes[p, P_NEXT], p_nodes[p, P_PREVIOUS] = first, NONE
    p_nodes[p, P_GAIN] = p_nodes[p, P_LOSS] = 0
    c_nodes[c, P_FIRST] = p
    c_nodes[c, P_SIZE] += 1
    enter_p_node(pools, p)
    return p  # type: ignore[no-any-return]


@kernel
def free_p_node(pools: Pools, p: int) -> None:
    """Take the p_node out of its p_directory."""
    state, c_nodes, p_nodes = pools.state, pools.c_nodes, pools.p_nodes
    c, after, before = p_nodes[p, P_PARENT], p_nodes[p, P_NEXT], p_nodes[p, P_PREVIOUS]
    if before == NONE:
        c_nodes[c, P_FIRST] = after
    else:
        p_nodes[before, P_NEXT] = after
    if after != NONE:
        p_nodes[after, P_PREVIOUS] = before
    c_nodes[c, P_SIZE] -= 1
    head = p_hash(pools.p_heads, c, p_nodes[p, P_ATTR])
    if pools.p_heads[head] == p:
        pools.p_heads[head] = p_nodes[p, P_LINK]
    else:
        other = pools.p_heads[head]
        while p_nodes[other, P_LINK] != p:
            other = p_nodes[other, P_LINK]
        p_nodes[other, P_LINK] = p_nodes[p, P_LINK]
    p_nodes[p, P_NEXT] = state[P_FREE]
    state[P_FREE] = p
    state[FREE_P_NODES] += 1


@kernel
def p_hash(p_heads: Ints, c: int, attr: int) -> int:
    """Where the p_nodes of this key begin; the table's length is a power of two."""
    mixed = c * 0x9E3779B1 + attr * 0x85EBCA77
    return (mixed ^ (mixed >> 15)) & (len(p_heads) - 1)


@kernel
def enter_p_node(pools: Pools, p: int) -> None:
    """Make the p_node known to `search_p_dir`."""
    head = p_hash(pools.p_heads, pools.p_nodes[p, P_PARENT], pools.p_nodes[p, P_ATTR])
    pools.p_nodes[p, P_LINK] = pools.p_heads[head]
    pools.p_heads[head] = p


@kernel
def rehash_p_nodes(p_heads: Ints, pools: Pools) -> None:
    """Enter all p_nodes of an outgrown table."""
    for first in p_heads:
        p = first
        while p != NONE:
            following = pools.p_nodes[p, P_LINK]
            enter_p_node(pools, p)
            p = following


@kernel
def search_p_dir(c: int, attr: int, p_nodes: Ints, p_heads: Ints) -> int:
    """The p_node of the attribute in the p_directory of `c`, or NONE."""
    p = p_heads[p_hash(p_heads, c, attr)]
    while p != NONE and (p_nodes[p, P_PARENT] != c or p_nodes[p, P_ATTR] != attr):
        p = p_nodes[p, P_LINK]
    return p  # type: ignore[no-any-return]


@kernel
def enter_row(pools: Pools, record: int) -> None:
    """Make the record known to `find_row`."""
    head = pools.words[record + ROW] & (len(pools.row_heads) - 1)
    pools.words[record + LINK] = pools.row_heads[head]
    pools.row_heads[head] = record


@kernel
def rehash_rows(row_heads: Ints, pools: Pools) -> None:
    """Enter all records of an outgrown table."""
    for first in row_heads:
        record = first
        while record != NONE:
            following = pools.words[record + LINK]
            enter_row(pools, record)
            record = following


@kernel
def find_row(pools: Pools, row: int) -> int:
    """The record of the row, or NONE."""
    record = pools.row_heads[row & (len(pools.row_heads) - 1)]
    while record != NONE and pools.words[record + ROW] != row:
        record = pools.words[record + LINK]
    return record  # type: ignore[no-any-return]


@kernel
def leave_row(pools: Pools, record: int) -> None:
    """Undo `enter_row`."""
    words = pools.words
    head = words[record + ROW] & (len(pools.row_heads) - 1)
    if pools.row_heads[head] == record:
        pools.row_heads[head] = words[record + LINK]
        return
    other = pools.row_heads[head]
    while words[other + LINK] != record:
        other = words[other + LINK]
    words[other + LINK] = words[record + LINK]


@kernel
def put(pools: Pools, record: int, c: int) -> None:
    """Add the record to the l_node of `c`."""
    words, c_nodes = pools.words, pools.c_nodes
    words[record + PLACE], words[record + NEXT] = c, c_nodes[c, FIRST]
    c_nodes[c, FIRST] = record
    c_nodes[c, SIZE] += 1


@kernel
def queue(pools: Pools, c: int) -> None:
    """Note the c_node if its l_node overflows."""
    if pools.c_nodes[c, SIZE] > pools.c_nodes[c, CAP]:
        pools.c_nodes[c, NEXT_C] = pools.state[OVERFLOWED]
        pools.state[OVERFLOWED] = c


@kernel
def above(pools: Pools, c: int) -> int:
    """The bucket above, or of a top bucket the c_node whose p_directory leads to it."""
    parent = pools.c_nodes[c, PARENT]
    return parent if parent >= 0 else pools.p_nodes[~parent, P_PARENT]  # type: ignore[no-any-return]


@kernel
def climb(pools: Pools, c: int, n: int, gain: int) -> None:
    """Tell `c` and all above that n expressions came, and all p_nodes there what that gains."""
    c_nodes, p_nodes = pools.c_nodes, pools.p_nodes
    while c != ROOT:
        c_nodes[c, COUNT] += n
        if c_nodes[c, PARENT] < 0:
            p_nodes[~c_nodes[c, PARENT], P_GAIN] += gain
        c = above(pools, c)
    c_nodes[ROOT, COUNT] += n


@kernel
def depth_of(pools: Pools, c: int) -> int:
    """How many p_nodes lead to `c`: so many predicates of its expressions are covered."""
    depth = 0
    while c != ROOT:
        depth += pools.c_nodes[c, PARENT] < 0
        c = above(pools, c)
    return depth


@kernel
def subtree(pools: Pools, c: int) -> Ints:
    """All c_nodes at and beneath `c`, from the top down."""
    nodes, n, i = np.empty(64, np.int32), 1, 0
    nodes[0] = c
    while i < n:
        nodes, n = push_children(pools, nodes[i], nodes, n)
        i += 1
    return nodes[:n]


@kernel
def push_children(pools: Pools, c: int, nodes: Ints, n: int) -> tuple[Ints, int]:
    """Add the halves of `c` and the top buckets of its p_directory to the n nodes."""
    nodes = grown(nodes, n + 2 + pools.c_nodes[c, P_SIZE])
    for side in (LEFT, RIGHT):
        if pools.c_nodes[c, side] >= 0:
            nodes[n] = pools.c_nodes[c, side]
            n += 1
    p = pools.c_nodes[c, P_FIRST]
    while p != NONE:
        nodes[n] = pools.p_nodes[p, P_CHILD]
        n += 1
        p = pools.p_nodes[p, P_NEXT]
    return nodes, n
