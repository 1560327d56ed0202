"""Order among few or many: the one search in ascending items, the one sort of few and of many."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from remuda.arrays import Ints, Longs
from remuda.jit import bare, kernel
from remuda.matchers.kernels.growth import copy_into


@bare
def first_at_least(ascending: NDArray[Any], begin: int, end: int, wanted: int) -> int:
    """The first place from `begin` to `end` whose item is not below `wanted`."""
    while begin < end:
        middle = (begin + end) >> 1
        if ascending[middle] < wanted:
            begin = middle + 1
        else:
            end = middle
    return begin


@bare
def first_in_steps(ascending: NDArray[Any], begin: int, end: int, wanted: int) -> int:
    """The same where it is likely to be near `begin`: looked for in ever longer steps."""
    step = 1
    while begin + step < end and ascending[begin + step] < wanted:
        begin += step
        step *= 2
    return first_at_least(ascending, begin, min(end, begin + step), wanted)  # type: ignore[no-any-return]


@bare
def put(item: int, items: NDArray[Any], begin: int, end: int, ranks: NDArray[Any] | None) -> None:
    """Add an item at `end` and move it up to its place: from `begin` on the ranks of items ascend.

    Without ranks, items are their own. Equal ones stay in the order in which they came.
    """
    at = end
    rank = item if ranks is None else ranks[item]
    while at > begin and (items[at - 1] if ranks is None else ranks[items[at - 1]]) > rank:
        items[at] = items[at - 1]
        at -= 1
    items[at] = item


@kernel
def sort_by(keys: Longs, items: Ints) -> None:
    """Sort keys, and items with them; equal ones stay in the order in which they came.

    Numba's own sorts take a second each to compile.
    """
    other_keys, other_items = np.empty(len(keys), np.int64), np.empty(len(keys), np.int32)
    width = 1
    while width < len(keys):
        for begin in range(0, len(keys), 2 * width):
            middle, end = min(begin + width, len(keys)), min(begin + 2 * width, len(keys))
            i, j = begin, middle
            for at in range(begin, end):
                if j == end or (i < middle and keys[i] <= keys[j]):
                    other_keys[at], other_items[at] = keys[i], items[i]
                    i += 1
                else:
                    other_keys[at], other_items[at] = keys[j], items[j]
                    j += 1
        copy_into(keys, other_keys)
        copy_into(items, other_items)
        width *= 2
