"""The best of an event: clusters, chunks and words are left as soon as nothing there can be one.

Clauses have levels (matchers/levels.py). A chunk says the best level in it and the best from it to
the end of its cluster; an event visits the clusters by that, and within a chunk the better clauses
come first. What is found is considered at once (matchers/kernels/best.py), and so raises the bar.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from remuda.arrays import Floats, Ints, Longs
from remuda.jit import apart, bare, kernel
from remuda.matchers.auto.denials import Denials, strike_all
from remuda.matchers.auto.layout import (
    CHUNK_KIND,
    CHUNK_LEVEL,
    CHUNK_N,
    CHUNK_REST,
    CHUNK_WORDS,
    CLUSTER_AT,
    CLUSTER_ENTRIES,
    ONE,
    PLACE_CELL,
    PLACE_DIM,
    PLACE_POSITION,
    RECORD_CLAUSE,
    RECORDS,
    TRAIT_BIT,
    TRAIT_WIDE,
    TWO,
    U64,
    ZERO,
    Built,
    get,
)
from remuda.matchers.auto.listed_events import Listing, find_listed
from remuda.matchers.auto.single import enter_wide, leave_wide
from remuda.matchers.auto.walk import prefetch_chunk, record_holds, walk_chunk
from remuda.matchers.kernels.best import (
    N_CHANGES,
    Asked,
    Choice,
    Owned,
    Room,
    ask_for_clause,
    clause_may_enter,
    consider,
    enter_event,
    leave_event,
    most,
    worst_of,
)
from remuda.matchers.kernels.bits import trailing_zeros
from remuda.matchers.levels import Levels

N_READ, N_PRUNED, N_LEFT = range(3)  # what is tallied: clauses, clauses, chunks or clusters
_ANY = 255  # the last level there is
_BITS = 64
_AHEAD, _FIRST = np.uint64(64), np.uint64(4)  # clauses whose owners are asked for together
_TOGETHER = np.uint64(32)  # found, or to be verified: memory answers for all of them at once
_LEVEL, _VISIT = np.uint64(32), np.uint64((1 << 32) - 1)  # of what visits are sorted by


class Alone(NamedTuple):
    """What one event after the other writes to; `state` and `cells` are as in `find`."""

    state: NDArray[np.uint8]
    cells: NDArray[np.uint32]
    visits: U64
    queue: U64
    out: Ints
    held: U64
    order: U64


@kernel
def find_best(  # noqa: C901, PLR0912, PLR0915 - one loop, so that what considers stands once
    built: Built,
    denials: Denials,
    levels: Levels,
    alone: Alone,
    listing: Listing,
    owned: Owned,
    choice: Choice,
    asked: Asked,
    room: Room,
) -> tuple[Longs, Ints, Floats, Longs]:
    """The best of each event; how many clauses were read and left, and in how many chunks."""
    arena, spaces, out = built.arena, asked.spaces, alone.out
    octets, quarters, halves = arena.view(np.uint8), arena.view(np.uint16), arena.view(np.uint32)
    n_events, tally = len(asked.starts) - 1, np.zeros(3, np.int64)
    starts = np.zeros(n_events + 1, np.int64)
    rows, scores, n_found = np.empty(1024, np.int32), np.empty(1024), np.int64(0)
    n_words = len(alone.held) if len(denials.clauses) else 0
    for event in range(n_events):
        factor = enter_event(event, choice, asked, room)
        begin, end = asked.starts[event], asked.starts[event + 1]
        n_visits, absent = _enter(spaces, begin, end, built, alone)
        listed = n_visits < 0
        n_listed = np.int64(0)
        if listed:
            n_visits = 0
            n_listed, verified = find_listed(spaces, begin, end, built, listing)
            tally[N_READ] += max(n_listed, verified)
        else:
            _sort(alone.visits, n_visits, arena, alone.order)
        limit = _limit(event, factor, levels, choice, asked, room)
        v, word, at, left = 0, -1, ZERO, ZERO
        while True:
            n, in_order = ZERO, True
            if left > ZERO or v < n_visits:
                n, in_order, v, at, left = _walk_on(
                    v, n_visits, at, left, limit, absent, arena, octets, quarters, halves,
                    np.uint64(built.dim_bits), alone, tally,
                )  # fmt: skip
            if n == ZERO and n_listed:
                for i in range(n_listed):
                    out[i] = listing.out[i]
                n, n_listed, in_order = np.uint64(n_listed), np.int64(0), False
            if n == ZERO and word < 0 and n_words:
                word = n_words
                if np.int64(levels.of_denials[0]) <= limit:
                    strike_all(spaces, begin, end, built.places, alone.held, denials)
                    word = 0
                else:
                    tally[N_PRUNED] += _BITS * n_words
            while n == ZERO and word >= 0 and word < n_words:
                if np.int64(levels.of_denials[word]) > limit:
                    tally[N_PRUNED] += _BITS * (n_words - word)
                    word = n_words
                    break
                tally[N_READ] += _BITS
                held = alone.held[word]
                while held:
                    out[n] = denials.clauses[_BITS * word + np.int64(trailing_zeros(held))]
                    n += ONE
                    held &= held - ONE
                word += 1
            if n == ZERO:
                break
            # where n are kept and the better come first, one of the first ends it
            ahead = _FIRST if in_order and limit < _ANY else _AHEAD
            for i in range(min(n, ahead)):
                ask_for_clause(np.uint64(out[i]), owned)
            before = room.counts[N_CHANGES]
            for i in range(n):
                if np.uint64(i) + ahead < n:
                    ask_for_clause(np.uint64(out[np.uint64(i) + ahead]), owned)
                clause = np.int64(out[i])
                left_all = not clause_may_enter(clause, event, factor, owned, choice, asked, room)
                if not left_all:
                    left_all = consider(clause, event, factor, owned, choice, asked, room)
                if left_all and in_order and choice.by_clauses:
                    break
            if room.counts[N_CHANGES] != before:
                limit = _limit(event, factor, levels, choice, asked, room)
        if not listed:
            _leave(spaces, begin, end, built, alone)
        rows, scores, n_found = leave_event(event, choice, asked, room, rows, scores, n_found)
        starts[event + 1] = n_found
    return starts, rows[:n_found].copy(), scores[:n_found].copy(), tally


@apart
def _walk_on(
    v: int,
    n_visits: int,
    at: np.uint64,
    left: np.uint64,
    limit: int,
    absent: np.uint64,
    arena: U64,
    octets: NDArray[np.uint8],
    quarters: NDArray[np.uint16],
    halves: NDArray[np.uint32],
    shift: np.uint64,
    alone: Alone,
    tally: Longs,
) -> tuple[np.uint64, bool, int, np.uint64, np.uint64]:
    """Walk on until some clauses hold or the clusters end: how many, whether the better come first.

    It goes on with the chunk at `at`, of whose cluster so many entries are left; with the next
    cluster where none are. Levels beyond the limit are left.
    """
    n, n_queued, in_order = ZERO, ZERO, True
    while left > ZERO or v < n_visits:
        if left == ZERO:
            cluster = alone.visits[alone.order[v] & _VISIT]
            at, left = get(cluster, CLUSTER_AT), get(cluster, CLUSTER_ENTRIES)
            v += 1
        header = arena[at]
        if np.int64(get(header, CHUNK_REST)) > limit:
            tally[N_PRUNED] += np.int64(left)
            tally[N_LEFT] += 1
            left = ZERO
        elif np.int64(get(header, CHUNK_LEVEL)) > limit:
            tally[N_PRUNED] += np.int64(get(header, CHUNK_N))
            tally[N_LEFT] += 1
            left -= get(header, CHUNK_N)
            at += get(header, CHUNK_WORDS)
        else:
            tally[N_READ] += np.int64(get(header, CHUNK_N))
            in_order = n + n_queued == ZERO
            n, n_queued = walk_chunk(
                at, header, left, arena, octets, quarters, halves, absent, alone.state, None,
                n, n_queued, alone.out, alone.queue,
            )  # fmt: skip
            in_order &= n_queued == ZERO or get(header, CHUNK_KIND) == np.uint64(RECORDS)
            left -= get(header, CHUNK_N)
            at += get(header, CHUNK_WORDS)
        # once n are kept, what surely holds in one chunk is considered by itself, in its order
        waits = n_queued > ZERO or n == ZERO or limit == _ANY
        if waits and n + n_queued < _TOGETHER and (left > ZERO or v < n_visits):
            continue
        for q in range(n_queued):
            record = alone.queue[q]
            if record_holds(record, arena, quarters, shift, alone.state, ZERO, alone.cells, ZERO):
                alone.out[n] = get(arena[record], RECORD_CLAUSE)
                n += ONE
        n_queued = ZERO
        if n > ZERO:
            break
    return n, in_order, v, at, left


@bare
def _limit(
    event: int, factor: float, levels: Levels, choice: Choice, asked: Asked, room: Room
) -> int:
    """The last level of which a clause may be among the best; -1 where there is none."""
    if not choice.by_clauses:
        return _ANY
    full = room.n_kept[0] == len(room.scores)
    if not full and len(asked.bars) == 0:
        return _ANY
    first, last = 0, len(levels.scores)
    worst = worst_of(0, len(room.scores))
    while first < last:
        middle = (first + last) >> 1
        bound = most(levels.scores[middle], factor)
        enough = len(asked.bars) == 0 or bound >= asked.bars[event]
        if enough and full and bound <= room.scores[worst]:
            tie = bound == room.scores[worst]
            enough = tie and (factor >= 0 or levels.ranks[middle] < choice.ranks[room.rows[worst]])
        if enough:
            first = middle + 1
        else:
            last = middle
    return first - 1


@bare
def _sort(visits: U64, n: int, arena: U64, order: U64) -> None:
    """The order of clusters by the best level that they have."""
    for i in range(n):
        level = get(arena[get(visits[i], CLUSTER_AT)], CHUNK_REST)
        key, at = level << _LEVEL | np.uint64(i), i
        while at > 0 and order[at - 1] > key:
            order[at] = order[at - 1]
            at -= 1
        order[at] = key


@bare
def _enter(spaces: Ints, begin: int, end: int, built: Built, alone: Alone) -> tuple[int, np.uint64]:
    """Note an event as `find` does: how many clusters it visits, and the signature bits it lacks.

    One with a list is not entered, and visits -1.
    """
    arena, places, traits, state = built.arena, built.places, built.traits, alone.state
    n_visits, present = 0, ZERO
    everywhere = places[len(places) - 2]
    if everywhere:
        alone.visits[0] = everywhere
        n_visits = 1
    for i in range(begin, end):
        at = np.uint64(spaces[i]) * TWO
        place = places[at + ONE]
        dim, cell = get(place, PLACE_DIM), get(place, PLACE_CELL)
        if state[dim]:
            _leave(spaces, begin, i, built, alone)
            return -1, ZERO
        trait = traits[dim]
        state[dim] = get(place, PLACE_POSITION)
        if get(trait, TRAIT_WIDE):
            enter_wide(trait, cell, built.dim_bits, built.n_masked, state, ZERO, alone.cells, ZERO)
        present |= ONE << get(trait, TRAIT_BIT)
        for cluster in (places[at - cell * TWO], places[at]):
            if cluster:
                alone.visits[n_visits] = cluster
                n_visits += 1
                prefetch_chunk(arena, get(cluster, CLUSTER_AT))
    return n_visits, ~present


@bare
def _leave(spaces: Ints, begin: int, end: int, built: Built, alone: Alone) -> None:
    """Undo `_enter`."""
    for i in range(begin, end):
        place = built.places[np.uint64(spaces[i]) * TWO + ONE]
        trait = built.traits[get(place, PLACE_DIM)]
        alone.state[get(place, PLACE_DIM)] = 0
        if get(trait, TRAIT_WIDE):
            cell = get(place, PLACE_CELL)
            leave_wide(trait, cell, built.dim_bits, built.n_masked, alone.state, alone.cells)
