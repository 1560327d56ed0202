"""Verification: whether the predicates of a record hold for an event.

The loops over candidates belong to the matchers. Here are their steps, in an order of growing
cost: the bits of scalar values first, in so few arrays that the step becomes part of the loop.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from remuda.arrays import Ints, Words
from remuda.jit import bare, kernel
from remuda.matchers.kernels.bits import prefetch
from remuda.matchers.kernels.records import (
    DIM_SHIFT,
    EVERY,
    LO_SHIFT,
    ON_MISSING,
    RANGE,
    SPANS,
    WIDTH,
    Slots,
)
from remuda.matchers.kernels.truth import accepts

REFUSED = np.uint64(0xFFFFFFFFFFFFFFFF)

_NO_BITS = RANGE | SPANS
_ONE, _HALF, _LOW_HALF = np.uint64(1), np.uint64(32), np.uint64(0xFFFFFFFF)
_AHEAD, _LINE = np.uint64(8), np.uint64(8)  # candidates, and words in a cache line


class Arrived(NamedTuple):
    """An event as records are verified against it: its spaces are `begin` to `end` of a batch's.

    Of each dimension `where` has the space, ~i where several begin with the event's ith, or 0 where
    it is missing: no event has space 0.
    """

    spaces: Ints
    begin: int
    end: int
    where: Ints


@bare
def arrive(event: Arrived, dim_of_space: Ints) -> bool:
    """Note where the spaces are; whether some dimension has several."""
    has_several, where = False, event.where
    for i in range(event.begin, event.end):
        dim = dim_of_space[event.spaces[i]]
        if where[dim] == 0:
            where[dim] = event.spaces[i]
        elif where[dim] > 0:
            where[dim] = ~(i - 1 - event.begin)
            has_several = True
    return has_several


@bare
def leave(event: Arrived, dim_of_space: Ints) -> None:
    """Undo `arrive`."""
    for i in range(event.begin, event.end):
        event.where[dim_of_space[event.spaces[i]]] = 0


@bare
def read_ahead(queue: Ints, i: np.uint64, n: np.uint64, records: Slots) -> None:
    """Ask for the predicates of a slot that is a few places behind in a queue of n."""
    if i + _AHEAD < n:
        at = np.uint64(2) * np.uint64(records.starts[np.uint64(queue[i + _AHEAD])])
        prefetch(records.words, at)
        prefetch(records.words, at + _LINE)


@bare
def bits_hold(first: np.uint64, last: np.uint64, words: Words, where: Ints) -> np.uint64:
    """The first predicate before `last` that bits cannot decide, or REFUSED if they refuse one."""
    i = first
    while i < last:
        head = words[i, 0]
        space = where[head >> DIM_SHIFT]
        if space <= 0 or head & _NO_BITS != 0:
            return i
        bit = space - np.int64((head >> LO_SHIFT) & _LOW_HALF)
        if not 0 <= bit < WIDTH or (words[i, 1] >> np.uint64(bit)) & _ONE == 0:
            return REFUSED
        i += _ONE
    return i


@kernel
def all_hold(first: int, last: int, records: Slots, event: Arrived, dim_of_space: Ints) -> bool:
    """Whether the predicates from `first` to `last - 1` hold for the event that arrived."""
    for i in range(first, last):
        head, body = records.words[i, 0], records.words[i, 1]
        space = event.where[head >> DIM_SHIFT]
        if space == 0:
            holds = head & ON_MISSING != 0
        elif space > 0:
            holds = _accepts(head, body, space, records)
        else:
            holds = _holds_for_list(head, body, records, event, ~space, dim_of_space)
        if not holds:
            return False
    return True


@kernel
def _holds_for_list(
    head: np.uint64, body: np.uint64, records: Slots, event: Arrived, first: int, dim_of_space: Ints
) -> bool:
    dim, wanted = np.int64(head >> DIM_SHIFT), bool(head & EVERY == 0)
    i = event.begin + first
    while i < event.end and dim_of_space[event.spaces[i]] == dim:
        if _accepts(head, body, event.spaces[i], records) == wanted:
            return wanted
        i += 1
    return not wanted


@kernel
def _accepts(head: np.uint64, body: np.uint64, space: int, records: Slots) -> bool:
    lo = np.int64((head >> LO_SHIFT) & _LOW_HALF)
    if head & SPANS:
        begin, end = np.int64(body >> _HALF), np.int64(body & _LOW_HALF)
        return accepts(space, begin, end, records.span_lo, records.span_hi)  # type: ignore[no-any-return]
    if head & RANGE:
        return bool(lo <= space < np.int64(body))
    return bool(0 <= space - lo < WIDTH and (body >> np.uint64(space - lo)) & _ONE != 0)
