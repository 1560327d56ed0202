"""Order among few or many: the one search in ascending items, and the one insertion sort."""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray

from remuda.jit import bare


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
