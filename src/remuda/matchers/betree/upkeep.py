"""Deletion from a BE-Tree with its merges, and the self-adjustment of Section 5 of the paper.

A rank is a gain less a loss, without the paper's weights, which it finds to be of no influence. A
loss is a mean over all events of the window, those that did not come by too: a node that few events
reach may cost each of them much. Half of max_cap is where a subtree underflows, so that one that
was just cut is not merged at once.
"""

from __future__ import annotations

import numpy as np

from remuda.arrays import Ints
from remuda.jit import kernel
from remuda.matchers.betree.pools import (
    CAP,
    COUNT,
    EMPTY,
    FIRST,
    LEFT,
    LOST,
    NEXT,
    NONE,
    P_FIRST,
    P_LOSS,
    P_SIZE,
    PARENT,
    PLACE,
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
    free_expression,
    free_p_node,
    subtree,
    to_limbo,
)

RANK_WINDOW = 0.1  # of a node's expressions: after so many operations it is ranked


@kernel
def delete(pools: Pools, e: int, max_cap: int, min_size: int) -> None:
    """Remove the expression, and tidy up where it was."""
    c = pools.expressions[e, PLACE]
    free_expression(pools, e)
    climb(pools, c, np.int64(-1), -depth_of(pools, c))
    tidy(pools, c, max_cap, min_size)


@kernel
def tidy(pools: Pools, c: int, max_cap: int, min_size: int) -> None:
    """Count a change on all nodes from `c` upward, and take out those that are not worth it.

    Then make one l_node of the largest subtree there that underflows.
    """
    c_nodes, kept = pools.c_nodes, c
    while c != ROOT:
        parent = above(pools, c)
        c_nodes[c, WINDOW] += 1
        if _has_too_few(c_nodes, c, min_size) or _ranks_low(pools, c, max_cap):
            _take_out(pools, c)
            kept = parent
        c = parent
    while kept != ROOT and c_nodes[above(pools, kept), COUNT] <= max_cap // 2:
        kept = above(pools, kept)
    if c_nodes[kept, COUNT] <= max_cap // 2:
        _dissolve(pools, kept, max_cap)


@kernel
def adjust(pools: Pools, max_cap: int, min_size: int) -> int:
    """Recycle all nodes that rank low; how many expressions they had."""
    n_recycled = 0
    for c in subtree(pools, ROOT)[:0:-1]:  # from the bottom up, but the root
        if _ranks_low(pools, c, max_cap):
            n_recycled += pools.c_nodes[c, COUNT]
            _take_out(pools, c)
        elif _has_too_few(pools.c_nodes, c, min_size):
            _take_out(pools, c)
        elif pools.c_nodes[c, COUNT] <= max_cap // 2:
            _dissolve(pools, c, max_cap)
    return n_recycled


@kernel
def _has_too_few(c_nodes: Ints, c: int, min_size: int) -> bool:
    """Whether a half has no expressions, or a p_node fewer than it takes to make one."""
    return c_nodes[c, COUNT] < (min_size if c_nodes[c, PARENT] < 0 else 1)  # type: ignore[no-any-return]


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


@kernel
def _dissolve(pools: Pools, c: int, max_cap: int) -> None:
    """Bring all expressions beneath `c` back into its l_node; it is a leaf bucket then."""
    if pools.c_nodes[c, LEFT] == NONE and pools.c_nodes[c, P_SIZE] == 0:
        return
    depth = depth_of(pools, c)
    e, n, gain = _gather(pools, c)
    pools.c_nodes[c, FIRST], pools.c_nodes[c, SIZE], pools.c_nodes[c, CAP] = e, n, max_cap
    while e != NONE:
        pools.expressions[e, PLACE] = c
        e = pools.expressions[e, NEXT]
    climb(pools, c, np.int64(0), n * depth - gain)


@kernel
def _take_out(pools: Pools, c: int) -> None:
    """Remove the bucket, with its p_node if it is the top one; its expressions are to be inserted.

    A bucket that is left without halves is a leaf again if it is open: the merge rule.
    """
    c_nodes, parent, p = pools.c_nodes, above(pools, c), ~pools.c_nodes[c, PARENT]
    e, n, gain = _gather(pools, c)
    climb(pools, c, -n, -gain)
    while e != NONE:
        following = pools.expressions[e, NEXT]
        to_limbo(pools, e)
        e = following
    if p >= 0:
        free_p_node(pools, np.int32(p))
    else:
        c_nodes[parent, LEFT if c_nodes[parent, LEFT] == c else RIGHT] = EMPTY
    free_c_node(pools, c)
    open_bucket = c_nodes[parent, P_SIZE] == 0
    if open_bucket and c_nodes[parent, LEFT] == EMPTY and c_nodes[parent, RIGHT] == EMPTY:
        c_nodes[parent, LEFT] = c_nodes[parent, RIGHT] = NONE


@kernel
def _gather(pools: Pools, c: int) -> tuple[int, int, int]:
    """All expressions at and beneath `c` as one chain, how many they are, and their gain.

    `c` is left an empty leaf bucket, and all beneath it are free.
    """
    expressions, c_nodes = pools.expressions, pools.c_nodes
    nodes = subtree(pools, c)
    head, n, gain = NONE, 0, 0
    for node in nodes:
        e = c_nodes[node, FIRST]
        while e != NONE:
            following = expressions[e, NEXT]
            expressions[e, NEXT] = head
            head, e = e, following
        n += c_nodes[node, SIZE]
        gain += c_nodes[node, SIZE] * depth_of(pools, node)
    for node in nodes:
        while c_nodes[node, P_FIRST] != NONE:
            free_p_node(pools, c_nodes[node, P_FIRST])
        if node != c:
            free_c_node(pools, node)
    c_nodes[c, FIRST], c_nodes[c, SIZE] = NONE, 0
    c_nodes[c, LEFT] = c_nodes[c, RIGHT] = NONE
    return head, n, gain  # type: ignore[return-value]
