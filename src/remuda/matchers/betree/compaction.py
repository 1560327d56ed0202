"""A BE-Tree written anew into pools without gaps, in the order in which matching reads it."""

from __future__ import annotations

import numpy as np

from remuda.arrays import Ints
from remuda.jit import kernel
from remuda.matchers.betree.pools import (
    C_NODES,
    CLAUSES,
    FIRST,
    LEFT,
    NONE,
    P_CHILD,
    P_FIRST,
    P_NEXT,
    P_NODES,
    P_PARENT,
    P_PREVIOUS,
    PARENT,
    RIGHT,
    ROOT,
    WORDS,
    Pools,
    enter_p_node,
    enter_row,
    push_children,
)
from remuda.matchers.betree.records import N_WORDS, NEXT, PLACE


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
    """Copy the records of `c`, one after the other."""
    state, before, record = new.state, NONE, old.c_nodes[c, FIRST]
    while record != NONE:
        at, n = state[WORDS], old.words[record + N_WORDS]
        state[WORDS] += n
        state[CLAUSES] += 1
        new.words[at : at + n] = old.words[record : record + n]
        new.words[at + PLACE], new.words[at + NEXT] = copy, NONE
        enter_row(new, at)
        if before == NONE:
            new.c_nodes[copy, FIRST] = at
        else:
            new.words[before + NEXT] = at
        before, record = at, old.words[record + NEXT]


@kernel
def _copy_p_directory(old: Pools, new: Pools, c: int, copy: int, p_place: Ints) -> None:
    """Copy the p_nodes of `c`, one after the other."""
    state, before, p = new.state, NONE, old.c_nodes[c, P_FIRST]
    while p != NONE:
        at = p_place[p] = state[P_NODES]
        state[P_NODES] += 1
        new.p_nodes[at] = old.p_nodes[p]
        new.p_nodes[at, P_PARENT] = copy
        new.p_nodes[at, P_PREVIOUS], new.p_nodes[at, P_NEXT] = before, NONE
        enter_p_node(new, at)
        if before == NONE:
            new.c_nodes[copy, P_FIRST] = at
        else:
            new.p_nodes[before, P_NEXT] = at
        before, p = at, old.p_nodes[p, P_NEXT]
