"""Matching in a BE-Tree: Algorithms 1 and 2 of the paper, with the feedback of Section 5."""

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
    NONE,
    P_ATTR,
    P_CHILD,
    P_FIRST,
    P_NEXT,
    P_SIZE,
    RIGHT,
    ROOT,
    SIZE,
    search_p_dir,
)
from remuda.matchers.betree.records import (
    NEXT,
    ROW,
    SEVERAL,
    discarded,
    lay_points,
    take_points,
)
from remuda.matchers.kernels.output import grown
from remuda.matchers.kernels.truth import lay_out, take_away

WALKED = 4  # p_nodes that are walked faster than one attribute is looked up


@kernel
def match_be_tree(
    event_starts: Longs,
    spaces: Ints,
    dim_of_space: Ints,
    n_dims: int,
    words: Ints,
    c_nodes: Ints,
    p_nodes: Ints,
    p_heads: Ints,
    feedback: Longs,
    presence: Longs,
) -> tuple[Longs, Ints, int]:
    """The rows that each event satisfies, and how many expressions were looked at."""
    n_events = len(event_starts) - 1
    starts = np.zeros(n_events + 1, np.int64)
    rows, stack = np.empty(1024, np.int32), np.empty(1024, np.int32)
    first, last = np.zeros(n_dims, np.int64), np.zeros(n_dims, np.int64)
    point, attrs = np.zeros(n_dims, np.int32), np.empty(n_dims, np.int32)
    n = n_candidates = 0
    for event in range(n_events):
        begin, end = event_starts[event], event_starts[event + 1]
        lay_out(spaces, begin, end, dim_of_space, first, last)
        n_attrs = lay_points(spaces, begin, end, dim_of_space, point, attrs)
        for j in range(n_attrs):
            presence[attrs[j]] += 1
        stack[0] = ROOT
        n_stack = 1
        while n_stack > 0:
            n_stack -= 1
            c = stack[n_stack]
            lost = 0
            rows = grown(rows, n + c_nodes[c, SIZE])
            record = c_nodes[c, FIRST]
            while record != NONE:
                in_vain = discarded(words, record, point, spaces, first, last)
                if in_vain == 0:
                    rows[n] = words[record + ROW]
                    n += 1
                lost += in_vain
                n_candidates += 1
                record = words[record + NEXT]
            feedback[c, LOST] += lost
            stack = grown(stack, n_stack + n_attrs + 2)
            if c_nodes[c, P_SIZE] > WALKED * n_attrs:
                for j in range(n_attrs):
                    p = search_p_dir(c, attrs[j], p_nodes, p_heads)
                    if p != NONE:
                        top = p_nodes[p, P_CHILD]
                        if _is_enclosed(top, attrs[j], c_nodes, point, spaces, first, last):
                            stack[n_stack] = top
                            n_stack += 1
            else:
                p = c_nodes[c, P_FIRST]
                while p != NONE:
                    attr = p_nodes[p, P_ATTR]
                    if point[attr] != 0:
                        top = p_nodes[p, P_CHILD]
                        if _is_enclosed(top, attr, c_nodes, point, spaces, first, last):
                            stack[n_stack] = top
                            n_stack += 1
                    p = p_nodes[p, P_NEXT]
            for side in (LEFT, RIGHT):
                half = c_nodes[c, side]
                if half >= 0 and _is_enclosed(
                    half, c_nodes[c, ATTR], c_nodes, point, spaces, first, last
                ):
                    stack[n_stack] = half
                    n_stack += 1
        take_away(spaces, begin, end, dim_of_space, first, last)
        take_points(spaces, begin, end, dim_of_space, point)
        starts[event + 1] = n
    presence[n_dims] += n_events
    return starts, rows[:n].copy(), n_candidates


@kernel
def _is_enclosed(
    c: int, attr: int, c_nodes: Ints, point: Ints, spaces: Ints, first: Longs, last: Longs
) -> bool:
    """Whether the bucket has a space of the event."""
    space = point[attr]
    if space != SEVERAL:
        return c_nodes[c, MIN] <= space < c_nodes[c, MAX]  # type: ignore[no-any-return]
    for i in range(first[attr], last[attr]):
        if c_nodes[c, MIN] <= spaces[i] < c_nodes[c, MAX]:
            return True
    return False
