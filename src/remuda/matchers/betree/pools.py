"""The pools that a BE-Tree lives in, the small moves within them, and the move to others.

Nodes and expressions are rows of integers, known by their numbers, so that a visit costs a cache
line or two. What is freed is chained for reuse.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from remuda.arrays import Ints, Longs
from remuda.jit import kernel
from remuda.matchers.betree.records import DIM_SHIFT, ON_MISSING, n_words
from remuda.matchers.kernels.growth import grown

# Numbers of nodes and expressions are int32, these too, and counts are int64, also where they are
# constant: a kernel is compiled anew for every mixture of types and for every literal.
NONE = np.int32(-1)
EMPTY = np.int32(-2)  # a half without expressions, of a bucket that is cut
ROOT = np.int32(0)

# Of a c_node: the minimal interval boundary of its bucket, the bucket's halves, the first
# expression of its l_node, the first p_node of its p_directory; then what matching does not read.
# PARENT is the bucket above or, of a top bucket, ~p_node; COUNT has all expressions beneath too,
# WINDOW the changes since it was ranked, NEXT_C what follows among the free or the overflowing.
MIN, MAX, LEFT, RIGHT, FIRST, P_FIRST, P_SIZE, ATTR = range(8)
PARENT, SIZE, CAP, COUNT, START, END, WINDOW, NEXT_C = range(8, 16)

# Of a p_node: its attribute, the top bucket of its c_directory, its neighbours in the p_directory,
# the next with its hash, the c_node it belongs to, and the two sides of its rank.
P_ATTR, P_CHILD, P_NEXT, P_PREVIOUS, P_LINK, P_PARENT, P_GAIN, P_LOSS = range(8)

# Of an expression: its signature, the next in its l_node, its row, where its record stands and how
# long that is, its c_node, and the next row with its hash.
NEEDS, NEEDS_TOO, NEXT, ROW, RECORD, N_WORDS, PLACE, LINK = range(8)

# Of the state: how far each pool is used, and how much of that is free; the expressions that came
# since the last compaction; the first of the free, of the c_nodes that overflow, and of the
# expressions that wait to be inserted.
WORDS, EXPRESSIONS, C_NODES, P_NODES = range(4)
FREE_WORDS, FREE_EXPRESSIONS, FREE_C_NODES, FREE_P_NODES = range(4, 8)
SCATTERED, E_FREE, C_FREE, P_FREE, OVERFLOWED, LIMBO = range(8, 14)

SINCE, LOST = range(2)  # feedback on a c_node: from which event on; evaluations in vain

THETA = 0  # an attribute must rank higher to partition, a node not lower to stay


class Pools(NamedTuple):
    """All arrays of a tree."""

    words: Ints  # records
    expressions: Ints
    c_nodes: Ints
    p_nodes: Ints
    p_heads: Ints  # a hash table over all p_directories
    row_heads: Ints  # a hash table of expressions by row
    feedback: Longs
    # how many events of late had each attribute, how many these were, and how many there ever were
    presence: Longs
    crowd: Longs  # how many of some events were in the spaces before each; empty if none is known
    state: Ints


def empty_pools(sizes: Sequence[int], presence: Longs, crowd: Longs) -> Pools:
    """Pools with room for so many words, expressions, c_nodes and p_nodes."""
    n_words, n_expressions, n_c_nodes, n_p_nodes = sizes
    state = np.zeros(14, np.int32)
    state[[E_FREE, C_FREE, P_FREE, OVERFLOWED, LIMBO]] = NONE
    return Pools(
        np.empty(n_words, np.int32),
        np.empty((n_expressions, 8), np.int32),
        np.empty((n_c_nodes, 16), np.int32),
        np.empty((n_p_nodes, 8), np.int32),
        empty_heads(n_p_nodes),
        empty_heads(n_expressions),
        np.empty((n_c_nodes, 2), np.int64),
        presence,
        crowd,
        state,
    )


def empty_heads(n: int) -> Ints:
    """A hash table for n entries; its length is a power of two."""
    return np.full(1 << max(n - 1, 0).bit_length(), NONE, np.int32)


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
    """Give the c_node back."""
    pools.c_nodes[c, NEXT_C] = pools.state[C_FREE]
    pools.state[C_FREE] = c
    pools.state[FREE_C_NODES] += 1


@kernel
def new_p_node(pools: Pools, c: int, attr: int) -> int:
    """A p_node for the attribute in the p_directory of `c`."""
    state, c_nodes, p_nodes = pools.state, pools.c_nodes, pools.p_nodes
    if state[P_FREE] != NONE:
        p = state[P_FREE]
        state[P_FREE] = p_nodes[p, P_NEXT]
        state[FREE_P_NODES] -= 1
    else:
        p = state[P_NODES]
        state[P_NODES] += 1
    following = c_nodes[c, P_FIRST]
    if following != NONE:
        p_nodes[following, P_PREVIOUS] = p
    p_nodes[p, P_ATTR], p_nodes[p, P_PARENT] = attr, c
    p_nodes[p, P_NEXT], p_nodes[p, P_PREVIOUS] = following, NONE
    p_nodes[p, P_GAIN] = p_nodes[p, P_LOSS] = 0
    c_nodes[c, P_FIRST] = p
    c_nodes[c, P_SIZE] += 1
    enter_p_node(pools, p)
    return p  # type: ignore[no-any-return]


@kernel
def free_p_node(pools: Pools, p: int) -> None:
    """Take the p_node out of its p_directory and give it back."""
    state, c_nodes, p_nodes = pools.state, pools.c_nodes, pools.p_nodes
    c, following, previous = p_nodes[p, P_PARENT], p_nodes[p, P_NEXT], p_nodes[p, P_PREVIOUS]
    if previous == NONE:
        c_nodes[c, P_FIRST] = following
    else:
        p_nodes[previous, P_NEXT] = following
    if following != NONE:
        p_nodes[following, P_PREVIOUS] = previous
    c_nodes[c, P_SIZE] -= 1
    head = _p_head(pools.p_heads, c, p_nodes[p, P_ATTR])
    _unlink(pools.p_heads, head, p_nodes, P_LINK, p)
    p_nodes[p, P_NEXT] = state[P_FREE]
    state[P_FREE] = p
    state[FREE_P_NODES] += 1


@kernel
def new_expression(pools: Pools, row: int, record: int, length: int, needs: Ints) -> int:
    """An expression whose record has been written, in no l_node yet."""
    state, expressions = pools.state, pools.expressions
    if state[E_FREE] != NONE:
        e = state[E_FREE]
        state[E_FREE] = expressions[e, NEXT]
        state[FREE_EXPRESSIONS] -= 1
    else:
        e = state[EXPRESSIONS]
        state[EXPRESSIONS] += 1
    expressions[e, NEEDS], expressions[e, NEEDS_TOO] = needs[0], needs[1]
    expressions[e, NEXT], expressions[e, PLACE], expressions[e, ROW] = NONE, NONE, row
    expressions[e, RECORD], expressions[e, N_WORDS] = record, length
    enter_row(pools, e)
    return e  # type: ignore[no-any-return]


@kernel
def free_expression(pools: Pools, e: int) -> None:
    """Take the expression out of its l_node and give it back, with its record."""
    state, expressions = pools.state, pools.expressions
    _unlink(pools.c_nodes[:, FIRST], expressions[e, PLACE], expressions, NEXT, e)
    _unlink(pools.row_heads, _row_head(pools.row_heads, expressions[e, ROW]), expressions, LINK, e)
    pools.c_nodes[expressions[e, PLACE], SIZE] -= 1
    state[FREE_WORDS] += expressions[e, N_WORDS]
    expressions[e, NEXT] = state[E_FREE]
    state[E_FREE] = e
    state[FREE_EXPRESSIONS] += 1


@kernel
def _unlink(heads: Ints, head: int, rows: Ints, link: int, row: int) -> None:
    """Take a row out of the chain that begins at `heads[head]`."""
    if heads[head] == row:
        heads[head] = rows[row, link]
        return
    other = heads[head]
    while rows[other, link] != row:
        other = rows[other, link]
    rows[other, link] = rows[row, link]


@kernel
def _p_head(p_heads: Ints, c: int, attr: int) -> int:
    """Where the p_nodes of this key begin."""
    mixed = np.int64(c) * 0x9E3779B1 + np.int64(attr) * 0x85EBCA77
    return (mixed ^ (mixed >> 15)) & (len(p_heads) - 1)  # type: ignore[return-value]


@kernel
def enter_p_node(pools: Pools, p: int) -> None:
    """Make the p_node known to `search_p_dir`."""
    head = _p_head(pools.p_heads, pools.p_nodes[p, P_PARENT], pools.p_nodes[p, P_ATTR])
    pools.p_nodes[p, P_LINK] = pools.p_heads[head]
    pools.p_heads[head] = p


@kernel
def search_p_dir(c: int, attr: int, p_nodes: Ints, p_heads: Ints) -> int:
    """The p_node of the attribute in the p_directory of `c`, or NONE."""
    p = p_heads[_p_head(p_heads, c, attr)]
    while p != NONE and (p_nodes[p, P_PARENT] != c or p_nodes[p, P_ATTR] != attr):
        p = p_nodes[p, P_LINK]
    return p  # type: ignore[no-any-return]


@kernel
def _row_head(row_heads: Ints, row: int) -> int:
    """Where the expressions of this row begin."""
    return row & (len(row_heads) - 1)


@kernel
def enter_row(pools: Pools, e: int) -> None:
    """Make the expression known to `find_row`."""
    head = _row_head(pools.row_heads, pools.expressions[e, ROW])
    pools.expressions[e, LINK] = pools.row_heads[head]
    pools.row_heads[head] = e


@kernel
def find_row(row: int, expressions: Ints, row_heads: Ints) -> int:
    """The expression of the row, or NONE."""
    e = row_heads[_row_head(row_heads, row)]
    while e != NONE and expressions[e, ROW] != row:
        e = expressions[e, LINK]
    return e  # type: ignore[no-any-return]


@kernel
def rehash_p_nodes(p_heads: Ints, pools: Pools) -> None:
    """Enter all p_nodes of a table that is to be replaced."""
    for head in p_heads:
        p = head
        while p != NONE:
            following = pools.p_nodes[p, P_LINK]
            enter_p_node(pools, p)
            p = following


@kernel
def rehash_rows(row_heads: Ints, pools: Pools) -> None:
    """Enter all expressions of a table that is to be replaced."""
    for head in row_heads:
        e = head
        while e != NONE:
            following = pools.expressions[e, LINK]
            enter_row(pools, e)
            e = following


@kernel
def put(pools: Pools, e: int, c: int) -> None:
    """Add the expression to the l_node of `c`."""
    pools.expressions[e, PLACE], pools.expressions[e, NEXT] = c, pools.c_nodes[c, FIRST]
    pools.c_nodes[c, FIRST] = e
    pools.c_nodes[c, SIZE] += 1


@kernel
def predicate_on(pools: Pools, e: int, attr: int) -> int:
    """Where the expression's predicate on the attribute stands, which partitions it."""
    i, _ = record_of(pools.expressions, e)
    while pools.words[i] >> DIM_SHIFT != attr:
        i += n_words(pools.words, i)
    return i  # type: ignore[no-any-return]


@kernel
def record_of(expressions: Ints, e: int) -> tuple[int, int]:
    """Where the words of the expression's predicates begin and end."""
    begin = np.int64(expressions[e, RECORD])
    return begin, begin + expressions[e, N_WORDS]  # type: ignore[return-value]


@kernel
def partitions(words: Ints, i: int) -> bool:
    """Whether the predicate at `i` may partition: it fails where its attribute is missing."""
    return not words[i] & ON_MISSING


@kernel
def queue(pools: Pools, c: int) -> None:
    """Let the c_node wait to be cut if its l_node overflows."""
    if pools.c_nodes[c, SIZE] > pools.c_nodes[c, CAP]:
        pools.c_nodes[c, NEXT_C] = pools.state[OVERFLOWED]
        pools.state[OVERFLOWED] = c


@kernel
def to_limbo(pools: Pools, e: int) -> None:
    """Let the expression wait to be inserted."""
    pools.expressions[e, NEXT] = pools.state[LIMBO]
    pools.state[LIMBO] = e


@kernel
def above(pools: Pools, c: int) -> int:
    """The bucket above, or of a top bucket the c_node whose p_directory leads to it."""
    parent = pools.c_nodes[c, PARENT]
    return parent if parent >= 0 else pools.p_nodes[~parent, P_PARENT]  # type: ignore[no-any-return]


@kernel
def climb(pools: Pools, c: int, n: int, gain: int) -> None:
    """Tell `c` and all above that n expressions came, and the p_nodes there what that gains."""
    c_nodes = pools.c_nodes
    while c != ROOT:
        c_nodes[c, COUNT] += n
        if c_nodes[c, PARENT] < 0:
            pools.p_nodes[~c_nodes[c, PARENT], P_GAIN] += gain
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


@kernel
def compact(old: Pools, new: Pools) -> None:
    """Write the tree anew into empty pools, without gaps, in the order in which it is read."""
    state = new.state
    place = np.empty(old.state[C_NODES], np.int32)
    p_place = np.empty(old.state[P_NODES], np.int32)
    stack, n_stack = np.empty(64, np.int32), 1
    stack[0] = ROOT
    while n_stack > 0:
        n_stack -= 1
        c = stack[n_stack]
        stack, n_stack = push_children(old, c, stack, n_stack)
        place[c] = state[C_NODES]
        state[C_NODES] += 1
        _copy_c_node(old, new, c, place, p_place)
        _copy_l_node(old, new, c, place[c])
        _copy_p_directory(old, new, c, place[c], p_place)


@kernel
def _copy_c_node(old: Pools, new: Pools, c: int, place: Ints, p_place: Ints) -> None:
    """Copy the node and lead to it from above, where all has been copied."""
    copy = place[c]
    new.c_nodes[copy] = old.c_nodes[c]
    new.feedback[copy] = old.feedback[c]
    if c == ROOT:
        return
    parent = old.c_nodes[c, PARENT]
    if parent >= 0:
        side = LEFT if old.c_nodes[parent, LEFT] == c else RIGHT
        new.c_nodes[place[parent], side] = copy
        new.c_nodes[copy, PARENT] = place[parent]
    else:
        new.p_nodes[p_place[~parent], P_CHILD] = copy
        new.c_nodes[copy, PARENT] = ~p_place[~parent]


@kernel
def _copy_l_node(old: Pools, new: Pools, c: int, copy: int) -> None:
    """Copy the expressions of `c`, one after the other, and their records."""
    previous, e = NONE, old.c_nodes[c, FIRST]
    while e != NONE:
        begin, n, at = old.expressions[e, RECORD], old.expressions[e, N_WORDS], new.state[WORDS]
        new.words[at : at + n] = old.words[begin : begin + n]
        new.state[WORDS] += n
        twin = new_expression(new, old.expressions[e, ROW], at, n, old.expressions[e])
        new.expressions[twin, PLACE] = copy
        if previous == NONE:
            new.c_nodes[copy, FIRST] = twin
        else:
            new.expressions[previous, NEXT] = twin
        previous, e = twin, old.expressions[e, NEXT]


@kernel
def _copy_p_directory(old: Pools, new: Pools, c: int, copy: int, p_place: Ints) -> None:
    """Copy the p_nodes of `c`, one after the other."""
    previous, p = NONE, old.c_nodes[c, P_FIRST]
    while p != NONE:
        twin = p_place[p] = new.state[P_NODES]
        new.state[P_NODES] += 1
        new.p_nodes[twin] = old.p_nodes[p]
        new.p_nodes[twin, P_PARENT] = copy
        new.p_nodes[twin, P_PREVIOUS], new.p_nodes[twin, P_NEXT] = previous, NONE
        enter_p_node(new, twin)
        if previous == NONE:
            new.c_nodes[copy, P_FIRST] = twin
        else:
            new.p_nodes[previous, P_NEXT] = twin
        previous, p = twin, old.p_nodes[p, P_NEXT]
