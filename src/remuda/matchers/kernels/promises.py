"""The best of an event by bounds that know the event.

Where single values have weights, what a clause can score at most says little of what it scores for
one event: a value that is rare weighs much, and seldom is it the one that is there. So
each space has the most that any predicate scores for it, and a clause that holds promises the sum
over its predicates of what the event's spaces have. Those that promise most are scored first, and
of the others few promise as much as the n-th best of these has.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from remuda.arrays import Bools, Floats, Ints, Longs, Ragged
from remuda.jit import apart, bare, kernel
from remuda.matchers.kernels.best import (
    N_LEFT,
    SLACK,
    TINY,
    Asked,
    Choice,
    Owned,
    Room,
    bar_of,
    consider,
    enlarged,
    enter_event,
    leave_event,
    most,
    n_chosen,
)
from remuda.matchers.kernels.bits import prefetch

_ONE = np.uint64(1)
_MOST_FIRST = 256  # clauses that are scored before all others; to keep more sorted costs too much
_AHEAD, _NEAR = 16, 8  # clauses whose places, and then predicates, are asked for


class Promises(NamedTuple):
    """What predicates score at most: of each space, and of each dimension that is missing.

    A clause that is not `exact` scores otherwise than its predicates, and promises its bound.
    """

    spaces: Floats
    missing: Floats
    attribute_of_dim: Ints
    clauses: Ragged
    exact: Bools


@kernel
def choose_promised(
    hit_starts: Longs,
    hits: Ints,
    promises: Promises,
    owned: Owned,
    choice: Choice,
    asked: Asked,
    room: Room,
) -> tuple[Longs, Ints, Floats]:
    """The best of each event among the owners of the clauses that hold, as `choose` has them."""
    starts = np.zeros(len(hit_starts), np.int64)
    rows, scores, n = np.empty(1024, np.int32), np.empty(1024), np.int64(0)
    promised, n_first = np.empty(1024), min(len(room.scores), _MOST_FIRST)
    first = np.empty(n_first, np.int64)
    for event in range(len(hit_starts) - 1):
        factor = enter_event(event, asked, room)
        _enter_points(event, promises, choice, asked, room)
        here = hits[hit_starts[event] : hit_starts[event + 1]]
        if len(here) > len(promised):
            promised = np.empty(2 * len(here))
        _promise_all(here, factor, promises, owned, choice, room, promised)
        bar = bar_of(event, choice, asked, room)
        for i in range(_most_promising(promised[: len(here)], first)):
            if promised[first[i]] < bar:
                break
            consider(here[first[i]], event, factor, owned, choice, asked, room)
            promised[first[i]] = np.nan  # as much as no bar
        bar = bar_of(event, choice, asked, room)
        for i in range(len(here)):
            if promised[i] >= bar:
                consider(here[i], event, factor, owned, choice, asked, room)
                bar = bar_of(event, choice, asked, room)
            else:
                room.counts[N_LEFT] += 1
        _leave_points(event, choice, asked, room)
        if n + n_chosen(room) > len(rows):
            rows, scores = enlarged(rows, scores, n + n_chosen(room))
        n = leave_event(event, choice, asked, room, rows, scores, n)
        starts[event + 1] = n
    return starts, rows[:n].copy(), scores[:n].copy()


@bare
def _enter_points(event: int, promises: Promises, choice: Choice, asked: Asked, room: Room) -> None:
    """Note what each dimension of the event scores at most, by its weights."""
    for i in range(asked.starts[event], asked.starts[event + 1]):
        space = asked.spaces[i]
        dim = choice.dim_of_space[space]
        weight = room.attribute_weights[promises.attribute_of_dim[dim]]
        room.points[dim] = max(room.points[dim], promises.spaces[space] * weight, 0.0)


@bare
def _leave_points(event: int, choice: Choice, asked: Asked, room: Room) -> None:
    for i in range(asked.starts[event], asked.starts[event + 1]):
        room.points[choice.dim_of_space[asked.spaces[i]]] = -1.0


@apart
def _promise_all(
    here: Ints,
    factor: float,
    promises: Promises,
    owned: Owned,
    choice: Choice,
    room: Room,
    promised: Floats,
) -> None:
    """Write what each clause that holds can score at most for the event."""
    starts, items = promises.clauses
    for i in range(len(here)):
        if i + _AHEAD < len(here):
            prefetch(starts, np.uint64(here[i + _AHEAD]))
            prefetch(promises.exact, np.uint64(here[i + _AHEAD]))
            prefetch(owned.bounds, np.uint64(here[i + _AHEAD]))
            prefetch(items, np.uint64(starts[here[i + _NEAR]]))
        clause = np.uint64(here[i])
        promised[i] = most(owned.bounds[clause], factor)
        if not promises.exact[clause]:
            continue
        present, missing = 0.0, 0.0
        for place in range(np.uint64(starts[clause]), np.uint64(starts[clause + _ONE])):
            dim = np.uint64(choice.predicates.dim[np.uint64(items[place])])
            if room.points[dim] >= 0:
                present += room.points[dim]
            else:
                missing += promises.missing[dim]
        most_here = (present + missing * max(factor, 1.0)) * SLACK + TINY
        promised[i] = min(promised[i], most_here)


@bare
def _most_promising(promised: Floats, first: Longs) -> int:
    """Write the places of those that promise most, as many as there is room for; how many."""
    n = 0
    for i in range(len(promised)):
        if n == len(first) and promised[i] <= promised[first[n - 1]]:
            continue
        at = n if n < len(first) else n - 1
        while at > 0 and promised[first[at - 1]] < promised[i]:
            first[at] = first[at - 1]
            at -= 1
        first[at] = i
        n = min(n + 1, len(first))
    return n
