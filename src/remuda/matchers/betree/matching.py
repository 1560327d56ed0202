"""Matching in a BE-Tree: Algorithms 1 and 2 of the paper, with the feedback of its Section 5.

The expressions that an event meets are refused by their signatures first, most of them; those that
are left are queued and checked together, so that their records are fetched ahead.
"""

from __future__ import annotations

import numpy as np

from remuda.arrays import Ints, Longs
from remuda.jit import kernel
from remuda.matchers.betree.pools import (
    ATTR,
    FIRST,
    LEFT,
    LOST,
    MAX,
    MIN,
    NEEDS,
    NEEDS_TOO,
    NEXT,
    NONE,
    P_ATTR,
    P_CHILD,
    P_FIRST,
    P_NEXT,
    P_SIZE,
    PLACE,
    RECORD,
    RIGHT,
    ROOT,
    ROW,
    SIZE,
    record_of,
    search_p_dir,
)
from remuda.matchers.betree.records import SEVERAL, discarded, lay_points, sign
from remuda.matchers.kernels.bits import prefetch
from remuda.matchers.kernels.growth import grown
from remuda.matchers.kernels.truth import Event, lay_out, no_event, take_away

WALKED = 4  # p_nodes that are walked in the time it takes to look one up
AHEAD = 8  # records that are on their way while one is checked


@kernel
def match(
    event_starts: Longs,
    spaces: Ints,
    dim_of_space: Ints,
    n_dims: int,
    words: Ints,
    expressions: Ints,
    c_nodes: Ints,
    p_nodes: Ints,
    p_heads: Ints,
    feedback: Longs,
    presence: Longs,
) -> tuple[Longs, Ints, int]:
    """The rows that each event satisfies, and how many expressions were looked at."""
    n_events = len(event_starts) - 1
    starts = np.zeros(n_events + 1, np.int64)
    rows, stack, left = np.empty(1024, np.int32), np.empty(1024, np.int32), np.empty(1024, np.int32)
    laid_out = no_event(spaces, n_dims)
    point, attrs = np.zeros(n_dims, np.int32), np.empty(n_dims, np.int32)
    signature = np.zeros(2, np.int32)
    n_candidates = 0
    for event in range(n_events):
        begin, end = event_starts[event], event_starts[event + 1]
        lay_out(laid_out, begin, end, dim_of_space)
        n_attrs = lay_points(spaces, begin, end, dim_of_space, point, attrs)
        signature[:] = 0
        for attr in attrs[:n_attrs]:
            sign(signature, attr)
            presence[attr] += 1
        stack, left, n_left, n_met = _match_be_tree(
            attrs[:n_attrs], point, laid_out, ~signature[0], ~signature[1],
            expressions, c_nodes, p_nodes, p_heads, feedback, stack, left,
        )  # fmt: skip
        n_candidates += n_met
        rows = grown(rows, starts[event] + n_left)
        starts[event + 1] = _check_sub(
            left, n_left, point, laid_out, words, expressions, feedback,
            rows, starts[event],
        )  # fmt: skip
        take_away(laid_out, begin, end, dim_of_space)
        for attr in attrs[:n_attrs]:
            point[attr] = 0
    presence[n_dims] += n_events
    presence[n_dims + 1] += n_events
    return starts, rows[: starts[n_events]].copy(), n_candidates


@kernel
def _match_be_tree(
    attrs: Ints,
    point: Ints,
    event: Event,
    absent: int,
    absent_too: int,
    expressions: Ints,
    c_nodes: Ints,
    p_nodes: Ints,
    p_heads: Ints,
    feedback: Longs,
    stack: Ints,
    left: Ints,
) -> tuple[Ints, Ints, int, int]:
    """Algorithms 1 and 2: visit all c_nodes that the event reaches; what their l_nodes have left.

    `left` are the expressions whose attributes may all be present, beside how many were met.
    """
    n_left = n_met = 0
    n_stack = 1
    stack[0] = ROOT
    while n_stack > 0:
        n_stack -= 1
        c = stack[n_stack]
        left = grown(left, n_left + c_nodes[c, SIZE])
        before = n_left
        e = c_nodes[c, FIRST]
        while e != NONE:
            left[n_left] = e
            n_left += (expressions[e, NEEDS] & absent | expressions[e, NEEDS_TOO] & absent_too) == 0
            e = expressions[e, NEXT]
        n_met += c_nodes[c, SIZE]
        refused = c_nodes[c, SIZE] - (n_left - before)
        if refused > 0:  # each for one evaluation; with all of them, the one that led here is lost
            feedback[c, LOST] += refused + (n_left == before)
        stack = grown(stack, n_stack + len(attrs) + 2)
        if c_nodes[c, P_SIZE] > WALKED * len(attrs):
            for attr in attrs:
                p = search_p_dir(c, attr, p_nodes, p_heads)
                if p != NONE:
                    stack[n_stack] = p_nodes[p, P_CHILD]
                    n_stack += _is_enclosed(p_nodes[p, P_CHILD], attr, c_nodes, point, event)
        else:
            p = c_nodes[c, P_FIRST]
            while p != NONE:
                attr = p_nodes[p, P_ATTR]
                if point[attr] != 0:
                    stack[n_stack] = p_nodes[p, P_CHILD]
                    n_stack += _is_enclosed(p_nodes[p, P_CHILD], attr, c_nodes, point, event)
                p = p_nodes[p, P_NEXT]
        for side in (LEFT, RIGHT):
            half = c_nodes[c, side]
            if half >= 0:
                stack[n_stack] = half
                n_stack += _is_enclosed(half, c_nodes[c, ATTR], c_nodes, point, event)
    return stack, left, n_left, n_met


@kernel
def _is_enclosed(c: int, attr: int, c_nodes: Ints, point: Ints, event: Event) -> bool:
    """Whether the bucket has a space of the event."""
    space = point[attr]
    if space != SEVERAL:
        return c_nodes[c, MIN] <= space < c_nodes[c, MAX]  # type: ignore[no-any-return]
    for i in range(event.first[attr], event.last[attr]):
        if c_nodes[c, MIN] <= event.spaces[i] < c_nodes[c, MAX]:
            return True
    return False


@kernel
def _check_sub(
    left: Ints,
    n_left: int,
    point: Ints,
    event: Event,
    words: Ints,
    expressions: Ints,
    feedback: Longs,
    rows: Ints,
    n: int,
) -> int:
    """Add the rows of the expressions that hold; how many rows there are then."""
    for i in range(n_left):
        if i + AHEAD < n_left:
            prefetch(words, np.uint64(expressions[left[i + AHEAD], RECORD]))
        e = left[i]
        begin, end = record_of(expressions, e)
        in_vain = discarded(words, begin, end, point, event)
        if in_vain == 0:
            rows[n] = expressions[e, ROW]
            n += 1
        else:
            feedback[expressions[e, PLACE], LOST] += in_vain
    return n
