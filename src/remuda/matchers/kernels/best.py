"""The best of an event: criteria are considered in any order, and few of them are scored.

Whoever finds a clause that holds lets `consider` its owners. One that cannot be among the best by
its bound is left; the others are scored exactly, and the n best are kept: a few sorted, more in a
heap whose first is the worst. With groups, each has a heap of its own.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from remuda.arrays import Bools, Floats, Ints, Longs, Ragged, Words
from remuda.encoding.bounds import most_of_one
from remuda.encoding.programs import Programs
from remuda.encoding.table import Predicates
from remuda.jit import apart, bare, kernel
from remuda.matchers.kernels.bits import prefetch
from remuda.matchers.kernels.growth import copy_into, grown
from remuda.matchers.kernels.programs import score
from remuda.matchers.kernels.truth import Event, lay_out, take_away

SLACK, TINY = 1 + 1e-9, 1e-290  # a bound times a weight is rounded otherwise than a score
_ONE = np.uint64(1)
_FEW = 64  # to keep so many sorted costs less than a heap
_NEAR = 4  # owners of a clause whose bounds are asked for together


class Owned(NamedTuple):
    """Who owns the clauses of a matcher, and what these can score at most."""

    sole: Ints  # of each clause its one owner, if he has no other clause, or -1
    owners: Ragged  # as ~criterion where that has several clauses
    bounds: Floats  # empty where those of criteria are all that is known
    best_first: bool  # owners stand by their bounds, then by rank; those with ~ behind the others


class Choice(NamedTuple):
    """Which criteria may be chosen, in which order, and what is known of their scores."""

    ranks: Ints  # of equal scores, the lower rank comes first
    bounds: Floats  # of criteria; empty where all weights are 1
    plain: bool  # a bound is the score
    static: bool  # that of a conjunction is
    written: bool  # that of a clause is, where it is its owner's
    priorities: Floats  # which come before scores; empty where they do not count
    alive: Bools  # empty: all are there
    tagged: Bools  # empty: all have the tags
    terms: Longs
    moment: int  # in microseconds
    groups: Ragged  # of each criterion; no starts where there are none
    heaps: Longs  # where the heap of each group begins, and where the last one ends
    by_clauses: bool  # bounds of clauses serve: neither groups nor priorities come before them
    programs: Programs
    predicates: Predicates
    dim_of_space: Ints
    n_dims: int


class Asked(NamedTuple):
    """What is different from event to event.

    An event's weights are ragged; `factors` are the largest of each event, with that of attributes
    which are not named. None of its best is worse than its bar, which others have reached before.
    """

    starts: Longs
    spaces: Ints
    weight_starts: Longs  # empty: no event has weights
    weight_attributes: Ints
    weights: Floats
    factors: Floats
    bars: Floats  # empty: no bars
    bar_priorities: Floats


class Room(NamedTuple):
    """What is written to while choosing; `seen` and `n_kept` are 0 between events."""

    priorities: Floats
    scores: Floats
    rows: Ints
    n_kept: Longs  # of each group
    used: Ints  # the groups that have any
    seen: Words  # a bit for each criterion that was scored
    scored: Ints
    stack: Floats
    attribute_weights: Floats
    points: Floats  # of each dimension of an event the most that it scores, else -1
    counts: Longs  # groups used, criteria scored, changes of the heaps, criteria left; IS_LAID_OUT
    event: Event  # laid out once a criterion must be run for its score


N_USED, N_SCORED, N_CHANGES, N_LEFT, IS_LAID_OUT = range(5)


class Choosing(NamedTuple):
    """All that choosing takes."""

    owned: Owned
    choice: Choice
    asked: Asked
    room: Room


def room_for(choice: Choice, n_attributes: int, longest: int) -> Room:
    """Room for one event of a batch after the other, whose spaces are not in it yet."""
    n, n_criteria, n_groups = int(choice.heaps[-1]), len(choice.ranks), len(choice.heaps) - 1
    no_spaces: Ints = np.empty(0, np.int32)
    return Room(
        np.zeros(n), np.empty(n), np.empty(n, np.int32),
        np.zeros(n_groups, np.int64), np.empty(n_groups, np.int32),
        np.zeros((n_criteria >> 6) + 1, np.uint64), np.empty(n_criteria, np.int32),
        np.empty(longest + 1), np.ones(n_attributes), np.full(choice.n_dims, -1.0),
        np.zeros(5, np.int64),
        Event(no_spaces, np.zeros(choice.n_dims, np.int64), np.zeros(choice.n_dims, np.int64)),
    )  # fmt: skip


@bare
def enter_event(event: int, asked: Asked, room: Room) -> float:
    """Note the event's weights; the factor of its bounds, below zero without weights."""
    if len(asked.weight_starts) == 0:
        return -1.0
    for i in range(asked.weight_starts[event], asked.weight_starts[event + 1]):
        room.attribute_weights[asked.weight_attributes[i]] = asked.weights[i]
    return float(asked.factors[event])


@bare
def most(bound: float, factor: float) -> float:
    """What a bound becomes by an event's weights."""
    return bound if factor < 0 else bound * factor * SLACK + TINY


@bare
def consider(clause: int, event: int, factor: float, choosing: Choosing) -> bool:
    """Keep those owners of a clause that holds which are among the best so far.

    Whether all were left for their bounds: no clause that stands behind it is of use then.
    """
    owned, choice = choosing.owned, choosing.choice
    sole = owned.sole[clause]
    begin, end = np.int64(0), np.int64(1)
    if sole < 0:
        begin, end = owned.owners.starts[clause], owned.owners.starts[clause + 1]
        for near in range(begin, min(begin + _NEAR, end)):
            _ask_for(owned.owners.items[near], choice)
    reached = -np.inf
    if choice.written and end - begin == 1 and len(owned.bounds):
        reached = owned.bounds[clause]
    left, i = True, int(begin)
    while i < end:
        owner = sole if sole >= 0 else owned.owners.items[i]
        criterion = owner if owner >= 0 else ~owner
        left_one = consider_one(criterion, sole >= 0, owner >= 0, reached, event, factor, choosing)
        left &= left_one
        i += 1
        if left_one and owned.best_first and sole < 0:  # and so are those of its kind behind it
            i = int(end if owner < 0 else _first_of_several(i, end, owned.owners.items))
    return left


@bare
def ask_for_clause(clause: np.uint64, owned: Owned) -> None:
    """Ask for what is read of a clause that will be considered."""
    prefetch(owned.sole, clause)
    if len(owned.bounds):
        prefetch(owned.bounds, clause)
    if len(owned.owners.items) != len(owned.sole):  # some clause has several owners
        prefetch(owned.owners.starts, clause)


@bare
def _ask_for(owner: int, choice: Choice) -> None:
    criterion = np.uint64(owner if owner >= 0 else ~owner)
    if len(choice.bounds):
        prefetch(choice.bounds, criterion)
    else:
        prefetch(choice.programs.starts, criterion)


@bare
def _first_of_several(low: int, high: int, owners: Ints) -> int:
    """Where those owners begin that have several clauses."""
    while low < high:
        middle = (low + high) >> 1
        if owners[middle] >= 0:
            low = middle + 1
        else:
            high = middle
    return low


@bare
def clause_may_enter(clause: int, event: int, factor: float, choosing: Choosing) -> bool:
    """Whether a clause can score enough for some owner to be kept; never said without bounds."""
    owned, choice, events, room = choosing
    if len(owned.bounds) == 0 or not choice.by_clauses:
        return True
    bound = most(owned.bounds[clause], factor)
    if len(events.bars) and bound < events.bars[event]:
        return False
    n = len(room.scores)
    return bool(room.n_kept[0] < n or bound >= room.scores[worst_of(0, n)])


@bare
def bar_of(event: int, choosing: Choosing) -> float:
    """What a clause must be able to score to be of use; minus infinity without bounds."""
    _, choice, events, room = choosing
    bar = -np.inf
    if choice.by_clauses:
        if len(events.bars):
            bar = events.bars[event]
        if room.n_kept[0] == len(room.scores):
            bar = max(bar, room.scores[worst_of(0, len(room.scores))])
    return bar


@bare
def is_simple(choosing: Choosing) -> bool:
    """Whether the bound of a clause is what its sole owner scores, and nobody is refused."""
    owned, choice, events, _ = choosing
    fixed = choice.written and len(owned.bounds) > 0 and len(events.weight_starts) == 0
    refuses = len(choice.alive) + len(choice.tagged) + len(choice.terms) > 0
    return bool(fixed and choice.by_clauses and not refuses)


@bare
def keep(criterion: int, points: float, bar: float, choice: Choice, room: Room) -> float:
    """Keep a criterion whose points reach the bar, if no rank decides otherwise; the bar then."""
    n = len(room.scores)
    worst = worst_of(0, n)
    if room.n_kept[0] == n and not better(0.0, points, criterion, worst, choice.ranks, room):
        return bar
    _keep(0, criterion, 0.0, points, choice, room)
    return max(bar, room.scores[worst]) if room.n_kept[0] == n else bar


@bare
def consider_one(
    criterion: int,
    alone: bool,
    single: bool,
    reached: float,
    event: int,
    factor: float,
    choosing: Choosing,
) -> bool:
    """Keep a criterion that scores `reached` or more, if it is among the best so far.

    One that owns its clause alone, and no other, is met but once; the groups of a criterion are
    told apart by who was seen. Whether it was left for its bound.
    """
    _, choice, events, room = choosing
    place, bit = criterion >> 6, _ONE << np.uint64(criterion & 63)
    once = alone and len(choice.groups.starts) == 0
    if (not once and room.seen[place] & bit) or not _admitted(criterion, choice):
        return False
    known = reached
    if not (alone and reached > -np.inf):
        known = (
            choice.bounds[criterion]
            if len(choice.bounds)
            else most_of_one(
                criterion, choice.programs, choice.programs.leaf_weight, room.stack
            )  # all weigh 1
        )
    priority = choice.priorities[criterion] if len(choice.priorities) else 0.0
    if not _may_enter_any(criterion, priority, most(known, factor), event, choosing):
        room.counts[N_LEFT] += 1
        return True
    if not once:
        room.seen[place] |= bit
        room.scored[room.counts[N_SCORED]] = criterion
        room.counts[N_SCORED] += 1
    points = known
    known_by_now = (
        choice.plain
        or reached >= known
        or (single and (choice.written or (choice.static and _is_flat(criterion, choice))))
    )
    if factor >= 0 or not known_by_now:
        if room.counts[IS_LAID_OUT] == 0:
            lay_out(room.event, events.starts[event], events.starts[event + 1], choice.dim_of_space)
            room.counts[IS_LAID_OUT] = 1
        points = _scored(
            criterion, choice.programs, room.attribute_weights, room.stack, choice.predicates,
            room.event,
        )  # fmt: skip
    if np.isnan(points):  # its clauses are only necessary
        return False
    if len(choice.groups.starts) == 0:
        if _may_enter(0, criterion, priority, points, event, choosing):
            _keep(0, criterion, priority, points, choice, room)
        return False
    for i in range(choice.groups.starts[criterion], choice.groups.starts[criterion + 1]):
        group = choice.groups.items[i]
        if _may_enter(group, criterion, priority, points, event, choosing):
            _keep(group, criterion, priority, points, choice, room)
    return False


@apart
def _scored(
    criterion: int,
    programs: Programs,
    attribute_weights: Floats,
    stack: Floats,
    predicates: Predicates,
    event: Event,
) -> float:
    return score(criterion, programs, attribute_weights, stack, predicates, event)  # type: ignore[no-any-return]


@kernel
def admitted(choice: Choice) -> Bools:
    """Which criteria may be chosen."""
    found = np.empty(len(choice.ranks), np.bool_)
    for criterion in range(len(found)):
        found[criterion] = _admitted(criterion, choice)
    return found


@bare
def _admitted(criterion: int, choice: Choice) -> bool:
    if len(choice.alive) and not choice.alive[criterion]:
        return False
    if len(choice.tagged) and not choice.tagged[criterion]:
        return False
    if len(choice.terms) == 0:
        return True
    return bool(choice.terms[criterion, 0] <= choice.moment < choice.terms[criterion, 1])


@bare
def _is_flat(criterion: int, choice: Choice) -> bool:
    """Whether a criterion is a conjunction of leaves, or one leaf."""
    begin, end = choice.programs.starts[criterion], choice.programs.starts[criterion + 1]
    code = choice.programs.codes[end - 1]
    return bool(code >= 0 or -code - 1 == 2 * (end - begin - 1))


@bare
def _may_enter_any(
    criterion: int, priority: float, bound: float, event: int, choosing: Choosing
) -> bool:
    groups = choosing.choice.groups
    if len(groups.starts) == 0:
        return _may_enter(0, criterion, priority, bound, event, choosing)  # type: ignore[no-any-return]
    for i in range(groups.starts[criterion], groups.starts[criterion + 1]):
        if _may_enter(groups.items[i], criterion, priority, bound, event, choosing):
            return True
    return False


@bare
def _may_enter(
    group: int, criterion: int, priority: float, points: float, event: int, choosing: Choosing
) -> bool:
    """Whether the points suffice for the group; those of another segment win ties here."""
    _, choice, events, room = choosing
    if len(events.bars):
        bar = events.bar_priorities[event]
        if priority < bar or (priority == bar and points < events.bars[event]):
            return False
    first = choice.heaps[group]
    n = choice.heaps[group + 1] - first
    if room.n_kept[group] < n:
        return True
    return better(priority, points, criterion, worst_of(first, n), choice.ranks, room)  # type: ignore[no-any-return]


@bare
def better(priority: float, points: float, row: int, kept: int, ranks: Ints, room: Room) -> bool:
    """Whether a criterion comes before one that is kept; ranks are read where they decide."""
    if priority != room.priorities[kept]:
        return bool(priority > room.priorities[kept])
    if points != room.scores[kept]:
        return bool(points > room.scores[kept])
    return bool(ranks[row] < ranks[room.rows[kept]])


@bare
def _keep(
    group: int, criterion: int, priority: float, points: float, choice: Choice, room: Room
) -> None:
    """Put a criterion into a heap, in the place of the worst where it is full."""
    ranks, first, n = choice.ranks, choice.heaps[group], room.n_kept[group]
    size = choice.heaps[group + 1] - first
    room.counts[N_CHANGES] += 1
    if n == 0:
        room.used[room.counts[N_USED]] = group
        room.counts[N_USED] += 1
    if size <= _FEW:
        _insert(first, min(n, size - 1), priority, points, criterion, ranks, room)
        room.n_kept[group] = min(n + 1, size)
        return
    if n == size:
        _sink(first, n, priority, points, criterion, ranks, room)
        return
    slot = n
    while slot > 0:
        above = first + (slot - 1) // 2
        if better(priority, points, criterion, above, ranks, room):
            break
        _move(above, first + slot, room)
        slot = (slot - 1) // 2
    _put(first + slot, priority, points, criterion, room)
    room.n_kept[group] = n + 1


@bare
def _insert(
    first: int, n: int, priority: float, points: float, row: int, ranks: Ints, room: Room
) -> None:
    """Put one behind those of n that are better, and move the others; what is there goes."""
    at = first + n
    while at > first and better(priority, points, row, at - 1, ranks, room):
        _move(at - 1, at, room)
        at -= 1
    _put(at, priority, points, row, room)


@bare
def worst_of(first: int, n: int) -> int:
    """Where the worst of n stands that are kept: a few are sorted, more are a heap."""
    return first + n - 1 if n <= _FEW else first


@bare
def _sink(
    first: int, n: int, priority: float, points: float, row: int, ranks: Ints, room: Room
) -> None:
    """Replace the first of a heap of n by this one, moved to its place."""
    slot = 0
    while 2 * slot + 1 < n:
        child = first + 2 * slot + 1
        if 2 * slot + 2 < n and better(
            room.priorities[child], room.scores[child], room.rows[child], child + 1, ranks, room
        ):
            child += 1
        if not better(priority, points, row, child, ranks, room):
            break
        _move(child, first + slot, room)
        slot = child - first
    _put(first + slot, priority, points, row, room)


@bare
def _move(source: int, to: int, room: Room) -> None:
    room.priorities[to], room.scores[to] = room.priorities[source], room.scores[source]
    room.rows[to] = room.rows[source]


@bare
def _put(at: int, priority: float, points: float, row: int, room: Room) -> None:
    room.priorities[at], room.scores[at], room.rows[at] = priority, points, row


@bare
def n_chosen(room: Room) -> int:
    """How many rows `leave_event` writes at most."""
    n = 0
    for i in range(room.counts[N_USED]):
        n += room.n_kept[room.used[i]]
    return n


@kernel
def enlarged(rows: Ints, scores: Floats, needed: int) -> tuple[Ints, Floats]:
    """Both with room for so many, at least doubled."""
    rows = grown(rows, needed)
    larger = np.empty(max(len(rows), needed))
    copy_into(larger, scores)
    return rows, larger


@bare
def leave_event(event: int, choosing: Choosing, rows: Ints, scores: Floats, n: int) -> int:
    """Write what is kept behind the n rows, best first unless there are groups; clean up.

    How many rows there are then.
    """
    _, choice, events, room = choosing
    grouped = len(choice.groups.starts) > 0
    for i in range(room.counts[N_USED]):
        group = room.used[i]
        kept, first = room.n_kept[group], choice.heaps[group]
        if choice.heaps[group + 1] - first > _FEW:
            _sort_heap(first, kept, choice.ranks, room)
        for place in range(first, first + kept):  # one of several groups is told once
            row = room.rows[place]
            bit = _ONE << np.uint64(row & 63)
            if not grouped or room.seen[row >> 6] & bit:
                room.seen[row >> 6] &= ~bit
                rows[n], scores[n] = row, room.scores[place]
                n += 1
        room.n_kept[group] = 0
    for i in range(room.counts[N_SCORED]):
        room.seen[room.scored[i] >> 6] = np.uint64(0)
    room.counts[N_USED], room.counts[N_SCORED] = 0, 0
    if room.counts[IS_LAID_OUT]:
        take_away(room.event, events.starts[event], events.starts[event + 1], choice.dim_of_space)
        room.counts[IS_LAID_OUT] = 0
    if len(events.weight_starts):
        for i in range(events.weight_starts[event], events.weight_starts[event + 1]):
            room.attribute_weights[events.weight_attributes[i]] = 1.0
    return n


@bare
def _sort_heap(first: int, n: int, ranks: Ints, room: Room) -> None:
    """Sort a heap of n, best first."""
    for last in range(first + n - 1, first, -1):
        priority, points, row = room.priorities[first], room.scores[first], room.rows[first]
        _sink(
            first, last - first, room.priorities[last], room.scores[last], room.rows[last], ranks,
            room,
        )  # fmt: skip
        _put(last, priority, points, row, room)


@kernel
def choose(
    hit_starts: Longs, hits: Ints, owned: Owned, choice: Choice, asked: Asked, room: Room
) -> tuple[Longs, Ints, Floats]:
    """The best of each event among the owners of the clauses that hold."""
    choosing = Choosing(owned, choice, asked, room)
    starts = np.zeros(len(hit_starts), np.int64)
    rows, scores, n = np.empty(1024, np.int32), np.empty(1024), np.int64(0)
    for event in range(len(hit_starts) - 1):
        factor = enter_event(event, asked, room)
        for i in range(hit_starts[event], hit_starts[event + 1]):
            if clause_may_enter(hits[i], event, factor, choosing):
                consider(hits[i], event, factor, choosing)
            else:
                room.counts[N_LEFT] += 1
        if n + n_chosen(room) > len(rows):
            rows, scores = enlarged(rows, scores, n + n_chosen(room))
        n = leave_event(event, choosing, rows, scores, n)
        starts[event + 1] = n
    return starts, rows[:n].copy(), scores[:n].copy()
