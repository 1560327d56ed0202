"""Whether an encoded predicate holds for an event, one by one."""

from __future__ import annotations

from remuda.arrays import Bools, Ints, Longs
from remuda.jit import kernel


@kernel
def lay_out(
    spaces: Ints, begin: int, end: int, dim_of_space: Ints, first: Longs, last: Longs
) -> None:
    """Note for each dimension of an event where its spaces lie; the others stay empty."""
    for i in range(begin, end):
        dim = dim_of_space[spaces[i]]
        if first[dim] == last[dim]:
            first[dim] = i
        last[dim] = i + 1


@kernel
def take_away(
    spaces: Ints, begin: int, end: int, dim_of_space: Ints, first: Longs, last: Longs
) -> None:
    """Undo `lay_out`."""
    for i in range(begin, end):
        dim = dim_of_space[spaces[i]]
        first[dim] = 0
        last[dim] = 0


@kernel
def accepts(space: int, begin: int, end: int, span_lo: Ints, span_hi: Ints) -> bool:
    """Whether one of the ascending spans from `begin` to `end` has the space."""
    while end - begin > 8:
        middle = (begin + end) // 2
        if span_hi[middle] <= space:
            begin = middle + 1
        else:
            end = middle + 1
            if span_lo[middle] <= space:
                return True
            end = middle
    for i in range(begin, end):  # noqa: SIM110 - a kernel
        if span_lo[i] <= space < span_hi[i]:
            return True
    return False


@kernel
def holds(
    predicate: int,
    spaces: Ints,
    first: Longs,
    last: Longs,
    dims: Ints,
    on_missing: Bools,
    every: Bools,
    span_starts: Ints,
    span_lo: Ints,
    span_hi: Ints,
) -> bool:
    """The truth of one predicate for the event that is laid out."""
    dim = dims[predicate]
    if first[dim] == last[dim]:
        return bool(on_missing[predicate])
    begin, end = span_starts[predicate], span_starts[predicate + 1]
    wanted = not every[predicate]  # any accepted space decides, or any refused one
    for i in range(first[dim], last[dim]):
        if accepts(spaces[i], begin, end, span_lo, span_hi) == wanted:
            return wanted
    return not wanted
