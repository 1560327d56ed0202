"""A BE-Tree written anew into pools without gaps, in the order in which matching reads it."""

from __future__ import annotations

import numpy as np

from remuda.arrays import Ints
from remuda.jit import kernel
from remuda.matchers.betree.pools import (
    C_NODES,
    FIRST,
    LEFT,
    N_WORDS,
    NEXT,
    NONE,
    P_CHILD,
    P_FIRST,
    P_NEXT,
    P_NODES,
    P_PARENT,
    P_PREVIOUS,
    PARENT,
    PLACE,
    RECORD,
    RIGHT,
    ROOT,
    ROW,
    WORDS,
    Pools,
    enter_p_node,
    new_expression,
    push_children,
)


@kernel
def compact(old: Pools, new: Pools) -> None:
    """Copy the tree, depth first."""
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
