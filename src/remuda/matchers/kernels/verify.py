"""Verification: whether the predicates of a record hold for an event.

The loops over candidates belong to the matchers. Here are their steps, in an order of growing
cost: the bits of scalar values first, in so few arrays that the step becomes part of the loop.
"""

from __future__ import annotations

import numpy as np

from remuda.arrays import Ints, Longs
from remuda.jit import kernel
from remuda.matchers.kernels.bits import prefetch
from remuda.matchers.kernels.growth import Words
from remuda.matchers.kernels.records import (
    DIM_SHIFT,
    EVERY,
    LO_SHIFT,
    ON_MISSING,
    RANGE,
    SPANS,
    WIDTH,
)
from remuda.matchers.kernels.truth import accepts

REFUSED = np.uint64(0xFFFFFFFFFFFFFFFF)

_NO_BITS = RANGE | SPANS
_ONE, _HALF, _LOW_HALF = np.uint64(1), np.uint64(32), np.uint64(0xFFFFFFFF)
_AHEAD, _LINE = np.uint64(8), np.uint64(8)  # candidates, and words in a cache line


@kernel
def arrive(spaces: Ints, begin: int, end: int, dim_of_space: Ints, where: Ints) -> bool:
    """Note the space of each dimension, or ~i where several begin with the event's ith.

    Returns whether any has several. No event has space 0, so 0 stands for missing.
    """
    has_several = False
    for i in range(begin, end):
        dim = dim_of_space[spaces[i]]
        if where[dim] == 0:
            where[dim] = spaces[i]
        elif where[dim] > 0:
            where[dim] = ~(i - 1 - begin)
            has_several = True
    return has_several


@kernel
def leave(spaces: Ints, begin: int, end: int, dim_of_space: Ints, where: Ints) -> None:
    """Undo `arrive`."""
    for i in range(begin, end):
        where[dim_of_space[spaces[i]]] = 0


@kernel
def read_ahead(queue: Ints, i: np.uint64, n: np.uint64, starts: Longs, words: Words) -> None:
    """Ask for the predicates of a slot that is a few places behind in a queue of n."""
    if i + _AHEAD < n:
        at = np.uint64(2) * np.uint64(starts[np.uint64(queue[i + _AHEAD])])
        prefetch(words, at)
        prefetch(words, at + _LINE)


@kernel
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
def all_hold(
    first: int,
    last: int,
    words: Words,
    span_lo: Ints,
    span_hi: Ints,
    where: Ints,
    spaces: Ints,
    begin: int,
    end: int,
    dim_of_space: Ints,
) -> bool:
    """Whether the predicates from `first` to `last - 1` hold for the event that arrived."""
    for i in range(first, last):
        head, body = words[i, 0], words[i, 1]
        space = where[head >> DIM_SHIFT]
        if space == 0:
            holds = head & ON_MISSING != 0
        elif space > 0:
            holds = _accepts(head, body, space, span_lo, span_hi)
        else:
            holds = _holds_for_list(
                head, body, span_lo, span_hi, spaces, begin + ~space, end, dim_of_space
            )
        if not holds:
            return False
    return True


@kernel
def _holds_for_list(
    head: np.uint64,
    body: np.uint64,
    span_lo: Ints,
    span_hi: Ints,
    spaces: Ints,
    i: int,
    end: int,
    dim_of_space: Ints,
) -> bool:
    dim, wanted = np.int64(head >> DIM_SHIFT), bool(head & EVERY == 0)
    while i < end and dim_of_space[spaces[i]] == dim:
        if _accepts(head, body, spaces[i], span_lo, span_hi) == wanted:
            return wanted
        i += 1
    return not wanted


@kernel
def _accepts(head: np.uint64, body: np.uint64, space: int, span_lo: Ints, span_hi: Ints) -> bool:
    lo = np.int64((head >> LO_SHIFT) & _LOW_HALF)
    if head & SPANS:
        begin, end = np.int64(body >> _HALF), np.int64(body & _LOW_HALF)
        return accepts(space, begin, end, span_lo, span_hi)  # type: ignore[no-any-return]
    if head & RANGE:
        return bool(lo <= space < np.int64(body))
    return bool(0 <= space - lo < WIDTH and (body >> np.uint64(space - lo)) & _ONE != 0)
