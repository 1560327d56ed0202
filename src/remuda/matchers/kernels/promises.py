"""The best of an event by bounds that know the event.

Where single values have weights, what a clause can score at most says little of what it scores for
one event: a value that is rare weighs much, and seldom is it the one that is there. So
each space has the most that any predicate scores for it, and a clause that holds promises the sum
over its predicates of what the event's spaces have. One that scores otherwise than its predicates
leaves it to its owners, each of which promises the sum over its disjunctions of the most that one
of their predicates can score. Those that promise most are scored first, and of the others few
promise as much as the n-th best of these has.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from remuda.arrays import Bools, Floats, Ints, Longs, Ragged
from remuda.jit import apart, bare, kernel
from remuda.matchers.kernels.best import (
    N_SCORED,
    SLACK,
    TINY,
    Asked,
    Choice,
    Choosing,
    Owned,
    Room,
    bar_of,
    consider,
    consider_one,
    enlarged,
    enter_event,
    leave_event,
    n_chosen,
)
from remuda.matchers.kernels.bits import prefetch

_ONE = np.uint64(1)
_MOST_FIRST = 256  # that are scored in the order of what they promise; to sort more costs too much
_STEP, _N_STEPS = 47, 1024  # bits of a float below a step, and steps: a range of 2 to the 32
_TOGETHER, _OWNERS = 16, 4  # places whose programs are asked for together, and owners of each
_NOTHING = -1.0  # what is promised where nothing need be considered
_AHEAD, _NEAR = 16, 8  # clauses whose places, and then predicates, are asked for


class Promises(NamedTuple):
    """What predicates score at most: of each space, and of each dimension that is missing."""

    spaces: Floats
    missing: Floats
    attribute_of_dim: Ints
    clauses: Ragged
    exact: Bools  # of each clause: it scores as its predicates do; empty: none does
    criteria: Ragged  # of owners of other clauses (see `criteria_parts`)


class Near(NamedTuple):
    """What is considered next: places of clauses and criteria, and who owns them."""

    places: Longs
    owners: Ints


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
    choosing = Choosing(owned, choice, asked, room)
    starts = np.zeros(len(hit_starts), np.int64)
    rows, scores, n = np.empty(1024, np.int32), np.empty(1024), np.int64(0)
    near = Near(np.empty(_TOGETHER, np.int64), np.empty(_TOGETHER * _OWNERS, np.int32))
    promised = np.empty(1024)
    steps, first = np.empty(_N_STEPS, np.int64), np.empty(_MOST_FIRST, np.int64)
    for event in range(len(hit_starts) - 1):
        factor = enter_event(event, asked, room)
        _enter_points(event, promises, choice, asked, room)
        here = hits[hit_starts[event] : hit_starts[event + 1]]
        if len(here) > len(promised):
            promised = np.empty(2 * len(here))
        n_owners = _promise_clauses(here, max(factor, 1.0), promises, owned, choice, room, promised)
        n_all = len(here) + n_owners
        if n_all > len(promised):
            promised = np.concatenate((promised, np.empty(n_all)))
        _promise_owners(n_owners, max(factor, 1.0), promises, room, promised[len(here) :])
        high = _bar_for_few(promised[:n_all].view(np.int64), 2 * len(room.scores) + 8, steps)
        n_first = _most_promising(promised[:n_all], high, first)
        bar, at = max(bar_of(event, choosing), 0.0), np.int64(0)
        while at < n_first + n_all:
            at, n_near = _next_ones(at, first[:n_first], promised[:n_all], bar, near)
            _ask_for(n_near, here, owned, choice, room, near)
            for i in range(n_near):
                place = near.places[i]
                if promised[place] < bar:
                    continue
                promised[place] = _NOTHING
                if place < len(here):
                    consider(here[place], event, factor, choosing)
                else:
                    who = room.scored[place - len(here)]
                    consider_one(who, True, False, -np.inf, event, factor, choosing)
                bar = max(bar_of(event, choosing), 0.0)
        _leave_points(event, choice, asked, room)
        if n + n_chosen(room) > len(rows):
            rows, scores = enlarged(rows, scores, n + n_chosen(room))
        n = leave_event(event, choosing, rows, scores, n)
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
def _promise_clauses(
    here: Ints,
    factor: float,
    promises: Promises,
    owned: Owned,
    choice: Choice,
    room: Room,
    promised: Floats,
) -> int:
    """Write what each clause that holds can score at most for the event.

    One that is not exact promises nothing: its owners are noted as scored, each once. How many.
    """
    starts, items = promises.clauses
    owner_starts, owners = owned.owners
    n = np.uint64(0)
    for i in range(len(here)):
        if i + _AHEAD < len(here):
            after, near = np.uint64(here[i + _AHEAD]), np.uint64(here[i + _NEAR])
            if len(promises.exact):
                prefetch(promises.exact, after)
                prefetch(starts, after)
            prefetch(owner_starts, after)
            if len(promises.exact) and promises.exact[near]:
                prefetch(items, np.uint64(starts[near]))
            else:
                prefetch(owners, np.uint64(owner_starts[near]))
        clause = np.uint64(here[i])
        promised[i] = _NOTHING
        if len(promises.exact) and promises.exact[clause]:
            total = 0.0
            for place in range(np.uint64(starts[clause]), np.uint64(starts[clause + _ONE])):
                dim = np.uint64(choice.predicates.dim[np.uint64(items[place])])
                total += _points(dim, factor, promises, room)
            promised[i] = total * SLACK + TINY
            continue
        for place in range(np.uint64(owner_starts[clause]), np.uint64(owner_starts[clause + _ONE])):
            criterion = owners[place] if owners[place] >= 0 else ~owners[place]
            word, bit = np.uint64(criterion >> 6), np.uint64(criterion & 63)
            seen = room.seen[word]
            room.seen[word] = seen | _ONE << bit
            room.scored[n] = criterion
            n += _ONE - (seen >> bit & _ONE)
    room.counts[N_SCORED] = n
    return np.int64(n)  # type: ignore[return-value]


@apart
def _promise_owners(
    n_owners: int, factor: float, promises: Promises, room: Room, promised: Floats
) -> None:
    """Write what each owner that was noted can score at most for the event."""
    starts, parts = promises.criteria
    owners = room.scored
    for i in range(n_owners):
        if i + _AHEAD < n_owners:
            prefetch(starts, np.uint64(owners[i + _AHEAD]))
            prefetch(parts, np.uint64(starts[owners[i + _NEAR]]))
        criterion = np.uint64(owners[i])
        total, largest = 0.0, 0.0
        for place in range(np.uint64(starts[criterion]), np.uint64(starts[criterion + _ONE])):
            part = parts[place]
            largest = max(largest, _points(np.uint64(part >> 1), factor, promises, room))
            total += largest if part & 1 else 0.0  # no branch: it could not be foretold
            largest = 0.0 if part & 1 else largest
        promised[i] = total * SLACK + TINY


@bare
def _points(dim: np.uint64, factor: float, promises: Promises, room: Room) -> float:
    """What the event scores at most in a dimension, be it there or missing."""
    present, missing = room.points[dim], promises.missing[dim] * factor
    return float(present if present >= 0 else missing)  # both are read: no branch


@bare
def _bar_for_few(promised: Longs, n: int, steps: Longs) -> float:
    """What some more than n promise; promises are given as the bits of floats.

    Steps are 32 to each power of two, the first at the largest promise.
    """
    steps[:] = 0
    largest: Any = np.int64(0)
    for i in range(len(promised)):
        largest = max(largest, promised[i])
    for i in range(len(promised)):
        if promised[i] > 0:
            steps[min((largest - promised[i]) >> _STEP, _N_STEPS - 1)] += 1
    n_above, step = 0, 0
    while step < _N_STEPS - 1 and n_above < n:
        n_above += steps[step]
        step += 1
    return float(np.int64(max(largest - (step << _STEP), 0)).view(np.float64))


@bare
def _most_promising(promised: Floats, high: float, first: Longs) -> int:
    """Write the places of those that promise so much, most first, if there is room; how many."""
    n = 0
    for i in range(len(promised)):
        if promised[i] < high or n == len(first):
            continue
        at = n
        while at > 0 and promised[first[at - 1]] < promised[i]:
            first[at] = first[at - 1]
            at -= 1
        first[at] = i
        n += 1
    return n


@bare
def _next_ones(at: int, first: Longs, promised: Floats, bar: float, near: Near) -> tuple[int, int]:
    """Write the next places that reach the bar, of the first ones and then of all.

    Up to which, and how many they are.
    """
    n = 0
    while at < len(first) + len(promised) and n < _TOGETHER:
        place = first[at] if at < len(first) else at - len(first)
        near.places[n] = place
        n += promised[place] >= bar
        at += 1
    return at, n


@apart
def _ask_for(n_near: int, here: Ints, owned: Owned, choice: Choice, room: Room, near: Near) -> None:
    """Ask for what scores are made of, step by step for all: alone, each would wait for each."""
    programs, owners = choice.programs, near.owners
    for i in range(n_near):
        if near.places[i] < len(here):
            prefetch(owned.sole, np.uint64(here[near.places[i]]))
            prefetch(owned.owners.starts, np.uint64(here[near.places[i]]))
    n = 0
    for i in range(n_near):
        place = near.places[i]
        if place >= len(here):
            owners[n] = room.scored[place - len(here)]
            n += 1
            continue
        begin, end = owned.owners.starts[here[place]], owned.owners.starts[here[place] + 1]
        for j in range(begin, min(begin + _OWNERS, end)):
            owner = owned.owners.items[j]
            owners[n] = owner if owner >= 0 else ~owner
            n += 1
    for i in range(n):
        prefetch(programs.starts, np.uint64(owners[i]))
        prefetch(choice.bounds, np.uint64(owners[i]))
    for i in range(n):
        prefetch(programs.codes, np.uint64(programs.starts[owners[i]]))
    for i in range(n):
        leaf = np.uint64(max(programs.codes[programs.starts[owners[i]]], 0))
        prefetch(programs.leaf_literal, leaf)
        prefetch(programs.leaf_attribute, leaf)
        prefetch(programs.leaf_weight, leaf)
        prefetch(programs.value_starts, leaf)
    for i in range(n):
        leaf = np.uint64(max(programs.codes[programs.starts[owners[i]]], 0))
        value = np.uint64(programs.value_starts[leaf])
        prefetch(programs.value_space, value)
        prefetch(programs.value_weight, value)
