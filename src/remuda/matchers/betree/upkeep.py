"""Deletion from a BE-Tree with its merges, and the self-adjustment of Section 5 of the paper."""

from __future__ import annotations

import numpy as np

from remuda.jit import kernel
from remuda.matchers.betree.pools import (
    CAP,
    CLAUSES,
    COUNT,
    EMPTY,
    FIRST,
    FREE_WORDS,
    LEFT,
    LIMBO,
    LOST,
    NONE,
    P_FIRST,
    P_LOSS,
    P_SIZE,
    PARENT,
    RIGHT,
    ROOT,
    SINCE,
    SIZE,
    THETA,
    WINDOW,
    Pools,
    above,
    climb,
    depth_of,
    free_c_node,
    free_p_node,
    leave_row,
    push_children,
    subtree,
)
from remuda.matchers.betree.records import N_WORDS, NEXT, PLACE

RANK_WINDOW = 0.1  # of a node's expressions: after so many operations it is ranked


@kernel
def delete(pools: Pools, record: int, max_cap: int, min_size: int) -> None:
    """Take the record out, and merge the nodes that underflow."""
    words, c_nodes = pools.words, pools.c_nodes
    c = words[record + PLACE]
    leave_row(pools, record)
    if c_nodes[c, FIRST] == record:
        c_nodes[c, FIRST] = words[record + NEXT]
    else:
        other = c_nodes[c, FIRST]
        while words[other + NEXT] != record:
            other = words[other + NEXT]
        words[other + NEXT] = words[record + NEXT]
    c_nodes[c, SIZE] -= 1
    climb(pools, c, -1, -depth_of(pools, c))
    pools.state[CLAUSES] -= 1
    pools.state[FREE_WORDS] += words[record + N_WORDS]
    _merge(pools, c, max_cap, min_size)


@kernel
def _merge(pools: Pools, c: int, max_cap: int, min_size: int) -> None:
    """Make one l_node of the largest subtree around `c` that is underflowing.

    Then remove what is left without a purpose: a half without expressions, and a p_node with fewer
    than it takes to make one, whose expressions are inserted anew.
    """
    c_nodes = pools.c_nodes
    while c != ROOT and c_nodes[above(pools, c), COUNT] <= max_cap // 2:
        c = above(pools, c)
    if c_nodes[c, COUNT] <= max_cap // 2:
        _dissolve(pools, c, max_cap)
    while c != ROOT:
        parent = above(pools, c)
        if c_nodes[c, COUNT] < (min_size if c_nodes[c, PARENT] < 0 else 1):
            _take_out(pools, c)
        c = parent


@kernel
def _dissolve(pools: Pools, c: int, max_cap: int) -> None:
    """Bring all expressions beneath `c` back into its l_node; it is a leaf bucket then."""
    depth = depth_of(pools, c)
    head, n, gain = _gather(pools, c)
    pools.c_nodes[c, FIRST], pools.c_nodes[c, SIZE] = head, n
    pools.c_nodes[c, CAP] = max_cap
    while head != NONE:
        pools.words[head + PLACE] = c
        head = pools.words[head + NEXT]
    climb(pools, c, 0, n * depth - gain)


@kernel
def _take_out(pools: Pools, c: int) -> None:
    """Remove the bucket, with its p_node if it is the top one; its expressions are to be inserted.

    A bucket that loses its last half is a leaf again, if it is open: the merge rule.
    """
    c_nodes = pools.c_nodes
    head, n, gain = _gather(pools, c)
    climb(pools, c, -n, -gain)
    _to_limbo(pools, head)
    parent = c_nodes[c, PARENT]
    if parent < 0:
        free_p_node(pools, ~parent)
    else:
        c_nodes[parent, LEFT if c_nodes[parent, LEFT] == c else RIGHT] = EMPTY
        bare = c_nodes[parent, LEFT] == EMPTY and c_nodes[parent, RIGHT] == EMPTY
        if bare and c_nodes[parent, P_SIZE] == 0:
            c_nodes[parent, LEFT] = c_nodes[parent, RIGHT] = NONE
    free_c_node(pools, c)


@kernel
def _to_limbo(pools: Pools, head: int) -> None:
    """Let the chain of records wait for insertion."""
    while head != NONE:
        following = pools.words[head + NEXT]
        pools.words[head + NEXT] = pools.state[LIMBO]
        pools.state[LIMBO] = head
        head = following


@kernel
def _gather(pools: Pools, c: int) -> tuple[int, int, int]:
    """All records at and beneath `c` as one chain, how many they are, and their gain.

    `c` is left an empty leaf bucket, and all beneath it are free.
    """
    words, c_nodes = pools.words, pools.c_nodes
    nodes = subtree(pools, c)
    head, n, gain = NONE, 0, 0
    for node in nodes:
        record = c_nodes[node, FIRST]
        while record != NONE:
            following = words[record + NEXT]
            words[record + NEXT] = head
            head, record = record, following
        n += c_nodes[node, SIZE]
        gain += c_nodes[node, SIZE] * depth_of(pools, node)
    for node in nodes:
        while c_nodes[node, P_FIRST] != NONE:
            free_p_node(pools, c_nodes[node, P_FIRST])
        if node != c:
            free_c_node(pools, node)
    c_nodes[c, FIRST], c_nodes[c, SIZE] = NONE, 0
    c_nodes[c, LEFT] = c_nodes[c, RIGHT] = NONE
    return head, n, gain


@kernel
def tick(pools: Pools, c: int, max_cap: int) -> None:
    """Count an operation on all nodes from `c` upward, and recycle the highest that ranks low."""
    weak = NONE
    while c != ROOT:
        pools.c_nodes[c, WINDOW] += 1
        if _ranks_low(pools, c, max_cap):
            weak = c
        c = above(pools, c)
    if weak != NONE:
        _take_out(pools, weak)


@kernel
def adjust(pools: Pools, max_cap: int) -> int:
    """Recycle all nodes that rank low; how many expressions they had."""
    n_recycled = 0
    stack, n_stack = np.empty(64, np.int32), 1
    stack[0] = ROOT
    while n_stack > 0:
        n_stack -= 1
        c = stack[n_stack]
        if c != ROOT and _ranks_low(pools, c, max_cap):
            n_recycled += pools.c_nodes[c, COUNT]
            _take_out(pools, c)
        else:
            stack, n_stack = push_children(pools, c, stack, n_stack)
    return n_recycled


@kernel
def _ranks_low(pools: Pools, c: int, max_cap: int) -> bool:
    """Whether the node's window ends now, with a rank below the threshold."""
    c_nodes, feedback, now = pools.c_nodes, pools.feedback, pools.presence[-1]
    n_operations = c_nodes[c, WINDOW] + now - feedback[c, SINCE]
    if n_operations < max(RANK_WINDOW * c_nodes[c, COUNT], max_cap):
        return False
    gain, loss = _gain_and_loss(pools, c)
    c_nodes[c, WINDOW] = 0
    feedback[c, SINCE] += (now - feedback[c, SINCE]) // 2  # forget half of what was seen
    feedback[c, LOST] //= 2
    if c_nodes[c, PARENT] < 0:
        pools.p_nodes[~c_nodes[c, PARENT], P_LOSS] = loss
    return gain - loss < THETA  # type: ignore[no-any-return]


@kernel
def _gain_and_loss(pools: Pools, c: int) -> tuple[int, float]:
    """The covered predicates of all l_nodes at and beneath `c`; what an event evaluates in vain."""
    gain, loss, now = 0, 0.0, pools.presence[-1]
    for node in subtree(pools, c):
        gain += pools.c_nodes[node, SIZE] * depth_of(pools, node)
        loss += pools.feedback[node, LOST] / max(now - pools.feedback[node, SINCE], 1)
    return gain, loss
