"""Whether an encoded predicate holds for an event, one by one."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from remuda.arrays import Ints, Longs
from remuda.encoding.table import Predicates
from remuda.jit import bare, kernel
from remuda.matchers.kernels.search import first_at_least


class Event(NamedTuple):
    """An event dimension by dimension: d has `spaces[first[d] : last[d]]`.

    `spaces` are those of a whole batch; `first` and `last` are 0 where the event lacks d.
    """

    spaces: Ints
    first: Longs
    last: Longs


@kernel
def no_event(spaces: Ints, n_dims: int) -> Event:
    """Room for one event of the batch after the other."""
    return Event(spaces, np.zeros(n_dims, np.int64), np.zeros(n_dims, np.int64))


@bare
def lay_out(event: Event, begin: int, end: int, dim_of_space: Ints) -> None:
    """Note for each dimension of an event where its spaces lie; the others stay empty."""
    for i in range(begin, end):
        dim = dim_of_space[event.spaces[i]]
        if event.first[dim] == event.last[dim]:
            event.first[dim] = i
        event.last[dim] = i + 1


@bare
def take_away(event: Event, begin: int, end: int, dim_of_space: Ints) -> None:
    """Undo `lay_out`."""
    for i in range(begin, end):
        dim = dim_of_space[event.spaces[i]]
        event.first[dim] = 0
        event.last[dim] = 0


@bare
def accepts(space: int, begin: int, end: int, span_lo: Ints, span_hi: Ints) -> bool:
    """Whether one of the ascending spans from `begin` to `end` has the space."""
    if end - begin > 8:
        begin = first_at_least(span_hi, begin, end, space + 1)
        return begin < end and span_lo[begin] <= space
    for i in range(begin, end):  # noqa: SIM110 - a kernel
        if span_lo[i] <= space < span_hi[i]:
            return True
    return False


@bare
def holds(predicate: int, predicates: Predicates, event: Event) -> bool:
    """The truth of one predicate for the event that is laid out."""
    dim = predicates.dim[predicate]
    if event.first[dim] == event.last[dim]:
        return bool(predicates.on_missing[predicate])
    begin, end = predicates.span_starts[predicate], predicates.span_starts[predicate + 1]
    wanted = not predicates.every[predicate]  # any accepted space decides, or any refused one
    for i in range(event.first[dim], event.last[dim]):
        if accepts(event.spaces[i], begin, end, predicates.span_lo, predicates.span_hi) == wanted:
            return wanted
    return not wanted
