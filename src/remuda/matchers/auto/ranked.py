"""The best of an event: clusters, chunks and entries are left as soon as nothing there can be one.

Clauses have levels (matchers/levels.py). A chunk says the best level in it and the best from it to
the end of its cluster; within a chunk the better clauses come first, and a signature says its level
roughly. An event goes through its clusters in rounds, each of which reaches a few levels further,
so that few records are verified in vain. What is found is considered at once
(matchers/kernels/best.py), and so raises the bar. The first round reaches about as far as earlier
events had to: that decides what is read, and never what is answered.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from remuda.arrays import Bytes, Floats, Halves, Ints, Longs, Words
from remuda.jit import apart, bare, kernel
from remuda.matchers.auto import layout as fields
from remuda.matchers.auto.denials import Denials, strike_all
from remuda.matchers.auto.layout import ONE, RECORDS, TWO, ZERO, Built, get
from remuda.matchers.auto.listed_events import Listing, find_listed
from remuda.matchers.auto.single import enter_wide, leave_wide
from remuda.matchers.auto.walk import LINE, record_holds, walk_chunk
from remuda.matchers.kernels.best import (
    N_CHANGES,
    Choosing,
    ask_for_clause,
    bar_of,
    consider,
    enlarged,
    enter_event,
    is_simple,
    keep,
    leave_event,
    most,
    n_chosen,
    worst_of,
)
from remuda.matchers.kernels.bits import prefetch, trailing_zeros
from remuda.matchers.levels import Levels, first_level, in_signature

N_READ, N_PRUNED, N_LEFT = range(3)  # what is tallied: clauses, clauses, chunks or clusters
_ANY = 255  # the last level there is
_BITS = 64
_AHEAD, _FIRST = np.uint64(64), np.uint64(4)  # clauses whose owners are asked for together
_TOGETHER = np.uint64(32)  # found, or to be verified: memory answers for all of them at once
_LINES = 4  # of a cluster that are asked for at once: many are left after a few entries
_STEP = 4  # levels that a round reaches beyond the nearest: with more, more is verified in vain
# what `steps` has: the next visit of the round, how many visits stay for the next round, and how
# many this one has; the level that it reaches, the nearest beyond it so far; the nearest of all
# visits where a round is done, else 0; what the first round of the next event reaches
VISIT, N_STAY, N_VISITS, REACH, NEAREST, NEXT, GUESS = range(7)
N_STEPS = 7


class Alone(NamedTuple):
    """What one event after the other writes to; `state` and `cells` are as in `find`."""

    state: Bytes
    cells: Halves
    visits: Words
    queue: Words
    out: Ints
    held: Words
    offsets: Longs  # of each visit, how many entries of its chunk were read
    steps: Longs  # how far an event is, and the guess, which is kept from call to call


@kernel
def find_best(  # noqa: C901, PLR0912, PLR0915 - one loop, so that what considers stands once
    built: Built,
    denials: Denials,
    levels: Levels,
    alone: Alone,
    listing: Listing,
    choosing: Choosing,
) -> tuple[Longs, Ints, Floats, Longs]:
    """The best of each event; how many clauses were read and left, and in how many chunks."""
    owned, choice, events, room = choosing
    arena, spaces, out = built.arena, events.spaces, alone.out
    octets, quarters, halves = arena.view(np.uint8), arena.view(np.uint16), arena.view(np.uint32)
    n_events, tally = len(events.starts) - 1, np.zeros(3, np.int64)
    starts = np.zeros(n_events + 1, np.int64)
    rows, scores, n_found = np.empty(1024, np.int32), np.empty(1024), np.int64(0)
    n_words = len(alone.held) if len(denials.clauses) else 0
    steps, n_levels, level_bits = alone.steps, len(levels.scores), built.places[-1]
    bounded, simple = choice.by_clauses and len(owned.bounds) > 0, is_simple(choosing)
    for event in range(n_events):
        factor = enter_event(event, events, room)
        begin, end = events.starts[event], events.starts[event + 1]
        n_visits, n_entries, absent = _enter(spaces, begin, end, built, alone)
        tally[N_PRUNED] += n_entries  # what is read is taken off again
        listed = n_visits < 0
        n_listed = np.int64(0)
        if listed:
            n_visits = 0
            n_listed, verified = find_listed(spaces, begin, end, built, listing)
            tally[N_READ] += max(n_listed, verified)
        steps[VISIT], steps[N_STAY], steps[N_VISITS] = 0, 0, n_visits
        steps[REACH], steps[NEAREST], steps[NEXT] = steps[GUESS], _ANY, 0
        limit = _limit(event, factor, levels, choosing)
        word = -1
        while True:
            n, in_order = ZERO, True
            if steps[N_VISITS]:
                n, in_order = _walk_on(
                    limit, n_levels, absent, level_bits, arena, octets, quarters, halves,
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
            bar = bar_of(event, choosing)
            for i in range(n):
                if np.uint64(i) + ahead < n:
                    ask_for_clause(np.uint64(out[np.uint64(i) + ahead]), owned)
                clause = np.uint64(out[i])
                if bounded:
                    bound = most(owned.bounds[clause], factor)
                    if not bound >= bar:
                        if in_order:
                            break
                        continue
                    if simple and owned.sole[clause] >= 0:
                        bar = keep(owned.sole[clause], bound, bar, choice, room)
                        continue
                left_all = consider(np.int64(clause), event, factor, choosing)
                bar = bar_of(event, choosing)
                if left_all and in_order and choice.by_clauses:
                    break
            if room.counts[N_CHANGES] != before:
                limit = _limit(event, factor, levels, choosing)
                if steps[NEXT] > limit:
                    tally[N_LEFT] += steps[N_VISITS]
                    steps[N_VISITS] = 0
        if not listed:
            steps[GUESS] += (limit - steps[GUESS]) >> 1
            _leave(spaces, begin, end, built, alone)
        if n_found + n_chosen(room) > len(rows):
            rows, scores = enlarged(rows, scores, n_found + n_chosen(room))
        n_found = leave_event(event, choosing, rows, scores, n_found)
        starts[event + 1] = n_found
    return starts, rows[:n_found].copy(), scores[:n_found].copy(), tally


@apart
def _walk_on(  # noqa: C901, PLR0912, PLR0915 - the hot loop stands in one piece
    limit: int,
    n_levels: int,
    absent: np.uint64,
    level_bits: np.uint64,
    arena: Words,
    octets: Bytes,
    quarters: NDArray[np.uint16],
    halves: Halves,
    shift: np.uint64,
    alone: Alone,
    tally: Longs,
) -> tuple[np.uint64, bool]:
    """Walk on until some clauses hold or the clusters end: how many, whether the better come first.

    Levels beyond the limit are left. A visit that goes on beyond what a round reaches stays for the
    next one, with the place that it has come to.
    """
    n, n_read, in_order = ZERO, ZERO, True
    visits, offsets, steps = alone.visits, alone.offsets, alone.steps
    v, n_stay, n_visits = steps[VISIT], steps[N_STAY], steps[N_VISITS]
    reach, nearest = min(steps[REACH], limit), steps[NEAREST]
    while n == ZERO and n_visits > 0:
        n_queued, waits = ZERO, True
        in_reach = np.uint64(in_signature(reach, n_levels))
        while v < n_visits and waits:
            chunk, left = get(visits[v], fields.CLUSTER_AT), get(visits[v], fields.CLUSTER_ENTRIES)
            offset, level = np.uint64(offsets[v]), np.int64(0)
            while waits and left > ZERO:
                header = arena[chunk]
                n_here = get(header, fields.CHUNK_N)
                level = np.int64(get(header, fields.CHUNK_REST))
                if level > reach:
                    break
                if np.int64(get(header, fields.CHUNK_LEVEL)) > limit:
                    tally[N_LEFT] += 1
                elif get(header, fields.CHUNK_KIND) == np.uint64(RECORDS):
                    in_order = n + n_queued == ZERO
                    j, n_queued = _queue(
                        chunk, offset, n_here, in_reach, level_bits, absent, arena, halves,
                        alone.queue, n_queued,
                    )  # fmt: skip
                    n_read += j - offset
                    waits = n_queued < _TOGETHER
                    if j < n_here:
                        beyond = get(arena[chunk + ONE + j], fields.SIGNATURE_LEVEL)
                        level, offset = first_level(np.int64(beyond), n_levels), j
                        if level <= limit:
                            break
                else:
                    n_read += n_here
                    in_order = n + n_queued == ZERO
                    n, n_queued = walk_chunk(
                        chunk, header, left, arena, octets, quarters, halves, absent, alone.state,
                        None, n, n_queued, alone.out, alone.queue,
                    )  # fmt: skip
                    in_order &= n_queued == ZERO
                    # once n are kept, what surely holds in one chunk is considered by itself
                    waits = n_queued > ZERO or n == ZERO or limit == _ANY
                    waits &= n + n_queued < _TOGETHER
                chunk += get(header, fields.CHUNK_WORDS)
                left -= n_here
                offset = ZERO
            stays = left > ZERO and level <= limit
            if left > ZERO and not stays:
                tally[N_LEFT] += 1
            to = n_stay if level > reach else v
            if stays:
                visits[to] = chunk << fields.CLUSTER_AT.shift | left << fields.CLUSTER_ENTRIES.shift
                offsets[to] = np.int64(offset)
            if stays and level > reach:
                n_stay += 1
                nearest = min(nearest, level)
            if not stays or level > reach:
                v += 1
        for q in range(n_queued):
            record = alone.queue[q]
            if record_holds(record, arena, quarters, shift, alone.state, ZERO, alone.cells, ZERO):
                alone.out[n] = get(arena[record], fields.RECORD_CLAUSE)
                n += ONE
        if v == n_visits:
            n_visits, v, n_stay = n_stay, np.int64(0), np.int64(0)
            reach = min(nearest + _STEP, limit)
            steps[NEXT], nearest = nearest, np.int64(_ANY)
        else:
            steps[NEXT] = 0
    tally[N_READ] += np.int64(n_read)
    tally[N_PRUNED] -= np.int64(n_read)
    steps[VISIT], steps[N_STAY], steps[N_VISITS] = v, n_stay, n_visits
    steps[REACH], steps[NEAREST] = reach, nearest
    return n, in_order


@bare
def _queue(
    at: np.uint64,
    first: np.uint64,
    n: np.uint64,
    in_reach: np.uint64,
    level_bits: np.uint64,
    absent: np.uint64,
    arena: Words,
    halves: Halves,
    queue: Words,
    n_queued: np.uint64,
) -> tuple[np.uint64, np.uint64]:
    """Queue the records that may hold, up to the first that is out of reach: which, how many."""
    signatures, records = at + ONE, (at + ONE + n) * TWO
    last = in_reach << fields.SIGNATURE_LEVEL.shift
    j = first
    while j < n:
        signature = arena[signatures + j]
        if signature & level_bits > last:
            break
        if (signature & absent) == ZERO:
            record = np.uint64(halves[records + j])
            queue[n_queued] = record
            n_queued += ONE
            prefetch(arena, record)
            prefetch(arena, record + LINE)
        j += ONE
    return j, n_queued


@bare
def _limit(event: int, factor: float, levels: Levels, choosing: Choosing) -> int:
    """The last level of which a clause may be among the best; -1 where there is none."""
    _, choice, events, room = choosing
    if not choice.by_clauses:
        return _ANY
    full = room.n_kept[0] == len(room.scores)
    if not full and len(events.bars) == 0:
        return _ANY
    bar = bar_of(event, choosing)
    first, n = 0, len(levels.scores)
    while n > 0:  # without branches that depend on what is read
        half = n >> 1
        enough = most(levels.scores[first + half], factor) >= bar
        first = first + half + 1 if enough else first
        n = n - half - 1 if enough else half
    worst = worst_of(0, len(room.scores))
    while full and factor < 0 and first > 0 and levels.scores[first - 1] == room.scores[worst]:
        if levels.ranks[first - 1] < choice.ranks[room.rows[worst]]:
            break
        first -= 1
    return first - 1


@bare
def _enter(
    spaces: Ints, begin: int, end: int, built: Built, alone: Alone
) -> tuple[int, np.int64, np.uint64]:
    """Note an event as `find` does: the clusters it visits, their entries, signature bits it lacks.

    One with a list is not entered, and visits -1.
    """
    arena, places, traits, state = built.arena, built.places, built.traits, alone.state
    n_visits, n_entries, present = 0, ZERO, places[len(places) - 1]
    everywhere = places[len(places) - 2]
    if everywhere:
        alone.visits[0], alone.offsets[0] = everywhere, 0
        n_visits, n_entries = 1, get(everywhere, fields.CLUSTER_ENTRIES)
    for i in range(begin, end):
        word = np.uint64(spaces[i]) * TWO
        place = places[word + ONE]
        dim, cell = get(place, fields.PLACE_DIM), get(place, fields.PLACE_CELL)
        if state[dim]:
            _leave(spaces, begin, i, built, alone)
            return -1, np.int64(0), ZERO
        trait = traits[dim]
        state[dim] = get(place, fields.PLACE_POSITION)
        if get(trait, fields.TRAIT_WIDE):
            enter_wide(trait, cell, built.dim_bits, built.n_masked, state, ZERO, alone.cells, ZERO)
        present |= ONE << get(trait, fields.TRAIT_BIT)
        for cluster in (places[word - cell * TWO], places[word]):
            if cluster:
                alone.visits[n_visits], alone.offsets[n_visits] = cluster, 0
                n_visits += 1
                n_entries += get(cluster, fields.CLUSTER_ENTRIES)
                for line in range(_LINES):
                    prefetch(arena, get(cluster, fields.CLUSTER_AT) + np.uint64(line) * LINE)
    return n_visits, np.int64(n_entries), ~present


@bare
def _leave(spaces: Ints, begin: int, end: int, built: Built, alone: Alone) -> None:
    """Undo `_enter`."""
    for i in range(begin, end):
        place = built.places[np.uint64(spaces[i]) * TWO + ONE]
        trait = built.traits[get(place, fields.PLACE_DIM)]
        alone.state[get(place, fields.PLACE_DIM)] = 0
        if get(trait, fields.TRAIT_WIDE):
            cell = get(place, fields.PLACE_CELL)
            leave_wide(trait, cell, built.dim_bits, built.n_masked, alone.state, alone.cells)
