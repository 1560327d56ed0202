"""The best of an event: criteria are considered in any order, and few of them are scored.

Whoever finds a clause that holds lets `consider` its owners. One that cannot be among the best by
its bound is left; the others are scored exactly, and the n best are kept: a few sorted, more in a
heap whose first is the worst. With groups, each has a heap of its own.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from remuda.arrays import Bools, Floats, Ints, Longs, Ragged
from remuda.encoding.programs import Programs
from remuda.encoding.table import Predicates
from remuda.jit import bare, kernel
from remuda.matchers.kernels.output import grown
from remuda.matchers.kernels.programs import score
from remuda.matchers.kernels.truth import Event, lay_out, take_away

_SLACK, _TINY = 1 + 1e-9, 1e-290  # a bound times a weight is rounded otherwise than a score
_ONE = np.uint64(1)
_FEW = 64  # to keep so many sorted costs less than a heap


class Owned(NamedTuple):
    """Who owns the clauses of a matcher, and what these can score at most."""

    sole: Ints  # of each clause its one owner, if he has no other clause, or -1
    owners: Ragged  # as ~criterion where that has several clauses
    bounds: Floats  # empty where those of criteria are all that is known


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
    ranks: Ints
    rows: Ints
    n_kept: Longs  # of each group
    used: Ints  # the groups that have any
    seen: NDArray[np.uint64]  # a bit for each criterion that was scored
    scored: Ints
    stack: Floats
    attribute_weights: Floats
    counts: (
        Longs  # how many groups are used, criteria were scored, changes of the heaps; how many left
    )
    event: Event


N_USED, N_SCORED, N_CHANGES, N_LEFT = range(4)


def room_for(choice: Choice, n_attributes: int, longest: int) -> Room:
    """Room for one event of a batch after the other, whose spaces are not in it yet."""
    n, n_criteria, n_groups = int(choice.heaps[-1]), len(choice.ranks), len(choice.heaps) - 1
    no_spaces: Ints = np.empty(0, np.int32)
    return Room(
        np.zeros(n), np.empty(n), np.empty(n, np.int32), np.empty(n, np.int32),
        np.zeros(n_groups, np.int64), np.empty(n_groups, np.int32),
        np.zeros((n_criteria >> 6) + 1, np.uint64), np.empty(n_criteria, np.int32),
        np.empty(longest + 1), np.ones(n_attributes), np.zeros(4, np.int64),
        Event(no_spaces, np.zeros(choice.n_dims, np.int64), np.zeros(choice.n_dims, np.int64)),
    )  # fmt: skip


@bare
def enter_event(event: int, choice: Choice, asked: Asked, room: Room) -> float:
    """Lay the event out with its weights; the factor of its bounds, below zero without weights."""
    lay_out(room.event, asked.starts[event], asked.starts[event + 1], choice.dim_of_space)
    if len(asked.weight_starts) == 0:
        return -1.0
    for i in range(asked.weight_starts[event], asked.weight_starts[event + 1]):
        room.attribute_weights[asked.weight_attributes[i]] = asked.weights[i]
    return float(asked.factors[event])


@bare
def most(bound: float, factor: float) -> float:
    """What a bound becomes by an event's weights."""
    return bound if factor < 0 else bound * factor * _SLACK + _TINY


@bare
def consider(
    clause: int, event: int, factor: float, owned: Owned, choice: Choice, asked: Asked, room: Room
) -> bool:
    """Keep those owners of a clause that holds which are among the best so far.

    Whether all were left for their bounds: no clause that stands behind it is of use then.
    """
    sole = owned.sole[clause]
    begin, end = np.int64(0), np.int64(1)
    if sole < 0:
        begin, end = owned.owners.starts[clause], owned.owners.starts[clause + 1]
    reached = -np.inf
    if choice.written and end - begin == 1 and len(owned.bounds):
        reached = owned.bounds[clause]
    left = True
    for i in range(begin, end):
        owner = sole if sole >= 0 else owned.owners.items[i]
        criterion = owner if owner >= 0 else ~owner
        left &= _consider_one(criterion, sole >= 0, reached, event, factor, choice, asked, room)
    return left


@bare
def clause_may_enter(
    clause: int, event: int, factor: float, owned: Owned, choice: Choice, asked: Asked, room: Room
) -> bool:
    """Whether a clause can score enough for some owner to be kept; never said without bounds."""
    if len(owned.bounds) == 0 or not choice.by_clauses:
        return True
    bound = most(owned.bounds[clause], factor)
    if len(asked.bars) and bound < asked.bars[event]:
        return False
    n = len(room.scores)
    return bool(room.n_kept[0] < n or bound >= room.scores[worst_of(0, n)])


@bare
def bar_of(event: int, choice: Choice, asked: Asked, room: Room) -> float:
    """What a clause must be able to score to be of use; minus infinity without bounds."""
    bar = -np.inf
    if choice.by_clauses:
        if len(asked.bars):
            bar = asked.bars[event]
        if room.n_kept[0] == len(room.scores):
            bar = max(bar, room.scores[worst_of(0, len(room.scores))])
    return bar


@bare
def _consider_one(
    criterion: int,
    alone: bool,
    reached: float,
    event: int,
    factor: float,
    choice: Choice,
    asked: Asked,
    room: Room,
) -> bool:
    """Keep a criterion that scores `reached` or more, if it is among the best so far.

    One with one clause is met but once; the groups of a criterion are told apart by who was seen.
    Whether it was left for its bound.
    """
    place, bit = criterion >> 6, _ONE << np.uint64(criterion & 63)
    once = alone and len(choice.groups.starts) == 0
    if (not once and room.seen[place] & bit) or not _admitted(criterion, choice):
        return False
    known = reached
    if not (alone and reached > -np.inf):
        known = (
            choice.bounds[criterion]
            if len(choice.bounds)
            else _counted(criterion, choice.programs, room.stack)
        )
    priority = choice.priorities[criterion] if len(choice.priorities) else 0.0
    if not _may_enter_any(criterion, priority, most(known, factor), event, choice, asked, room):
        room.counts[N_LEFT] += 1
        return True
    if not once:
        room.seen[place] |= bit
        room.scored[room.counts[N_SCORED]] = criterion
        room.counts[N_SCORED] += 1
    points = known
    known_by_now = choice.plain or reached >= known
    if factor >= 0 or not (known_by_now or (choice.static and _is_flat(criterion, choice))):
        points = score(
            criterion, choice.programs, room.attribute_weights, room.stack, choice.predicates,
            room.event,
        )  # fmt: skip
    if np.isnan(points):  # its clauses are only necessary
        return False
    if len(choice.groups.starts) == 0:
        if _may_enter(0, criterion, priority, points, event, choice, asked, room):
            _keep(0, criterion, priority, points, choice, room)
        return False
    for i in range(choice.groups.starts[criterion], choice.groups.starts[criterion + 1]):
        group = choice.groups.items[i]
        if _may_enter(group, criterion, priority, points, event, choice, asked, room):
            _keep(group, criterion, priority, points, choice, room)
    return False


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
def _counted(criterion: int, programs: Programs, stack: Floats) -> float:
    """The bound of a criterion all of whose weights are 1."""
    n = 0
    for at in range(programs.starts[criterion], programs.starts[criterion + 1]):
        code = programs.codes[at]
        if code >= 0:
            stack[n] = programs.leaf_weight[code]
            n += 1
            continue
        n_parts, either = (-code - 1) >> 1, (-code - 1) & 1
        n -= n_parts
        joined = -np.inf if either else 0.0
        for i in range(n, n + n_parts):
            joined = max(joined, stack[i]) if either else joined + stack[i]
        stack[n] = joined
        n += 1
    return float(stack[0])


@bare
def _may_enter_any(
    criterion: int,
    priority: float,
    bound: float,
    event: int,
    choice: Choice,
    asked: Asked,
    room: Room,
) -> bool:
    if len(choice.groups.starts) == 0:
        return _may_enter(0, criterion, priority, bound, event, choice, asked, room)  # type: ignore[no-any-return]
    for i in range(choice.groups.starts[criterion], choice.groups.starts[criterion + 1]):
        group = choice.groups.items[i]
        if _may_enter(group, criterion, priority, bound, event, choice, asked, room):
            return True
    return False


@bare
def _may_enter(
    group: int,
    criterion: int,
    priority: float,
    points: float,
    event: int,
    choice: Choice,
    asked: Asked,
    room: Room,
) -> bool:
    """Whether the points suffice for the group; those of another segment win ties here."""
    if len(asked.bars):
        bar = asked.bar_priorities[event]
        if priority < bar or (priority == bar and points < asked.bars[event]):
            return False
    first = choice.heaps[group]
    n = choice.heaps[group + 1] - first
    if room.n_kept[group] < n:
        return True
    worst = worst_of(first, n)
    if priority != room.priorities[worst]:
        return bool(priority > room.priorities[worst])
    if points != room.scores[worst]:
        return bool(points > room.scores[worst])
    return bool(choice.ranks[criterion] < room.ranks[worst])  # read where it decides: it is far


@bare
def better(
    priority: float, points: float, rank: int, priority_2: float, points_2: float, rank_2: int
) -> bool:
    """Whether the first comes before the second."""
    if priority != priority_2:
        return priority > priority_2
    return points > points_2 or (points == points_2 and rank < rank_2)


@bare
def _keep(
    group: int, criterion: int, priority: float, points: float, choice: Choice, room: Room
) -> None:
    """Put a criterion into a heap, in the place of the worst where it is full."""
    rank, first, n = choice.ranks[criterion], choice.heaps[group], room.n_kept[group]
    size = choice.heaps[group + 1] - first
    room.counts[N_CHANGES] += 1
    if n == 0:
        room.used[room.counts[N_USED]] = group
        room.counts[N_USED] += 1
    if size <= _FEW:
        _insert(first, min(n, size - 1), priority, points, rank, criterion, room)
        room.n_kept[group] = min(n + 1, size)
        return
    if n == size:
        _sink(first, n, priority, points, rank, criterion, room)
        return
    at = n
    while at > 0:
        above = first + (at - 1) // 2
        if better(
            priority, points, rank, room.priorities[above], room.scores[above], room.ranks[above]
        ):
            break
        _move(above, first + at, room)
        at = (at - 1) // 2
    _put(first + at, priority, points, rank, criterion, room)
    room.n_kept[group] = n + 1


@bare
def _insert(
    first: int, n: int, priority: float, points: float, rank: int, row: int, room: Room
) -> None:
    """Put one behind those of n that are better, and move the others; what is there goes."""
    at = first + n
    while at > first and better(
        priority, points, rank, room.priorities[at - 1], room.scores[at - 1], room.ranks[at - 1]
    ):
        _move(at - 1, at, room)
        at -= 1
    _put(at, priority, points, rank, row, room)


@bare
def worst_of(first: int, n: int) -> int:
    """Where the worst of n stands that are kept: a few are sorted, more are a heap."""
    return first + n - 1 if n <= _FEW else first


@bare
def _sink(
    first: int, n: int, priority: float, points: float, rank: int, row: int, room: Room
) -> None:
    """Replace the first of a heap of n by this one, moved to its place."""
    at = 0
    while 2 * at + 1 < n:
        child = first + 2 * at + 1
        if 2 * at + 2 < n and better(
            room.priorities[child], room.scores[child], room.ranks[child],
            room.priorities[child + 1], room.scores[child + 1], room.ranks[child + 1],
        ):  # fmt: skip
            child += 1
        if better(
            room.priorities[child], room.scores[child], room.ranks[child], priority, points, rank
        ):
            break
        _move(child, first + at, room)
        at = child - first
    _put(first + at, priority, points, rank, row, room)


@bare
def _move(source: int, to: int, room: Room) -> None:
    room.priorities[to], room.scores[to] = room.priorities[source], room.scores[source]
    room.ranks[to], room.rows[to] = room.ranks[source], room.rows[source]


@bare
def _put(at: int, priority: float, points: float, rank: int, row: int, room: Room) -> None:
    room.priorities[at], room.scores[at] = priority, points
    room.ranks[at], room.rows[at] = rank, row


@kernel
def leave_event(
    event: int, choice: Choice, asked: Asked, room: Room, rows: Ints, scores: Floats, n: int
) -> tuple[Ints, Floats, int]:
    """Write what is kept behind the n rows, best first unless there are groups; clean up."""
    for i in range(room.counts[N_USED]):
        group = room.used[i]
        kept, first = room.n_kept[group], choice.heaps[group]
        rows = grown(rows, n + kept)
        if len(scores) < len(rows):
            larger = np.empty(len(rows))
            larger[:n] = scores[:n]
            scores = larger
        at, n_before = kept, n
        if choice.heaps[group + 1] - first <= _FEW:
            for place in range(kept):
                rows[n + place], scores[n + place] = (
                    room.rows[first + place],
                    room.scores[first + place],
                )
            at = 0
        while at > 0:
            at -= 1
            row, points = room.rows[first], room.scores[first]
            _sink(
                first, at, room.priorities[first + at], room.scores[first + at],
                room.ranks[first + at], room.rows[first + at], room,
            )  # fmt: skip
            rows[n_before + at], scores[n_before + at] = row, points
        for place in range(n_before, n_before + kept):  # one of several groups is told once
            row, points = rows[place], scores[place]
            bit = _ONE << np.uint64(row & 63)
            if len(choice.groups.starts) == 0 or room.seen[row >> 6] & bit:
                room.seen[row >> 6] &= ~bit
                rows[n], scores[n] = row, points
                n += 1
        room.n_kept[group] = 0
    for i in range(room.counts[N_SCORED]):
        room.seen[room.scored[i] >> 6] = np.uint64(0)
    room.counts[N_USED], room.counts[N_SCORED] = 0, 0
    take_away(room.event, asked.starts[event], asked.starts[event + 1], choice.dim_of_space)
    if len(asked.weight_starts):
        for i in range(asked.weight_starts[event], asked.weight_starts[event + 1]):
            room.attribute_weights[asked.weight_attributes[i]] = 1.0
    return rows, scores, n


@kernel
def choose(
    hit_starts: Longs, hits: Ints, owned: Owned, choice: Choice, asked: Asked, room: Room
) -> tuple[Longs, Ints, Floats]:
    """The best of each event among the owners of the clauses that hold."""
    starts = np.zeros(len(hit_starts), np.int64)
    rows, scores, n = np.empty(1024, np.int32), np.empty(1024), np.int64(0)
    for event in range(len(hit_starts) - 1):
        factor = enter_event(event, choice, asked, room)
        for i in range(hit_starts[event], hit_starts[event + 1]):
            if clause_may_enter(hits[i], event, factor, owned, choice, asked, room):
                consider(hits[i], event, factor, owned, choice, asked, room)
            else:
                room.counts[N_LEFT] += 1
        rows, scores, n = leave_event(event, choice, asked, room, rows, scores, n)
        starts[event + 1] = n
    return starts, rows[:n].copy(), scores[:n].copy()
