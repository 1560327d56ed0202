"""From the clauses that events hit to the criteria that own them.

`Plan.owners` lists the owners of each clause, those with several clauses as ~criterion and behind
the others. Most clauses have one owner, who has no other clause: he stands in one array here, and
nothing need be looked up where clause i is criterion i's.
"""

from __future__ import annotations

from collections import deque
from contextlib import suppress
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from remuda.arrays import Floats, Ints, Longs, Ragged, Words, frozen
from remuda.encoding.bounds import most_of
from remuda.encoding.plan import Plan
from remuda.index.choosing import NO_BOOLS
from remuda.index.ranking import criteria_bounds, promises, stand_best_first
from remuda.jit import kernel
from remuda.matchers.contract import Hits
from remuda.matchers.kernels.best import Choice, Room, room_for
from remuda.matchers.kernels.promises import Promises
from remuda.model.lazily import lazily
from remuda.pointers import addresses

_ONE = np.uint64(1)
_OFTEN = 0.25  # of all predicates
_ROOMS = 4  # that are kept: as many calls at once find one


class Owners(NamedTuple):
    """Who owns the clauses of one kind."""

    sole: Ints  # of each clause its one owner, if he has no other clause, or -1
    rows: Ragged
    n_criteria: int
    same: bool  # clause i is criterion i's alone
    each_one: bool  # no -1
    once: bool  # nobody has several clauses

    @classmethod
    def of(cls, rows: Ragged, n_criteria: int) -> Owners:
        counts = np.diff(rows.starts)
        sole = np.full(len(counts), -1, np.int32)
        sole[counts == 1] = np.maximum(rows.items[rows.starts[:-1][counts == 1]], -1)
        same = len(sole) == n_criteria and bool((sole == np.arange(n_criteria)).all())
        each_one = bool((sole >= 0).all())
        return cls(frozen(sole), rows, n_criteria, same, each_one, bool((rows.items >= 0).all()))

    def hit(self, hits: Hits) -> Hits:
        """The owners of the clauses that were hit, each once."""
        if self.same:
            return hits
        most, several = len(hits.rows), False
        if not self.each_one:
            most, several = _extent(hits.rows, self.sole, *self.rows)
        starts = np.zeros(len(hits.starts), np.int64)
        rows = np.empty(most, np.int32)  # NumPy's own: large ones get huge pages, Numba's do not
        if several:
            seen = np.zeros((self.n_criteria >> 6) + 1, np.uint64)
            most = _copy_once(hits.starts, hits.rows, self.sole, *self.rows, seen, starts, rows)
        else:
            _copy(hits.starts, hits.rows, self.sole, *self.rows, starts, rows)
        return Hits(starts, rows[:most], hits.candidates)  # no copy: few come twice

    @property
    def weights(self) -> Ints | None:
        """How many owners each clause has, None where it is one throughout."""
        return None if self.each_one else np.diff(self.rows.starts).astype(np.int32)

    def reach(self, per_clause: Longs) -> Longs:
        """How many events satisfy each criterion, given that of clauses, if nobody has several."""
        reach = np.zeros(self.n_criteria, np.int64)
        reach[self.rows.items] = np.repeat(per_clause, np.diff(self.rows.starts))
        return reach


class Checking(NamedTuple):
    """Room to check criteria in, clean but for the stack."""

    first: Longs
    last: Longs
    stack: Ints


_NO_CHECKING = Checking(np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0, np.int32))


class Alone(NamedTuple):
    """Room to tell the owners of what one event hits; clean but for `out` and the stack."""

    out: Ints
    where: Longs  # all that `own_alone` takes
    kept: tuple[NDArray[Any], ...]


class Owning:
    """The owners of a plan's clauses and rows, made when they are first asked for, and room."""

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self.checking: deque[Checking] = deque(maxlen=_ROOMS)  # as many calls at once find one
        self.alone: deque[Alone] = deque(maxlen=_ROOMS)
        self._promises: Promises | None = None
        self._best_first: tuple[Ints, bool] | None = None
        self._rooms: deque[Room] = deque()

    @lazily
    def clauses(self) -> Owners:
        """The owners of its conjunctions."""
        return Owners.of(self._plan.owners, self._plan.n_criteria)

    @lazily
    def rows(self) -> Owners:
        """The owners of its CNF rows."""
        return Owners.of(self._plan.cnf_owners, self._plan.n_criteria)

    @lazily
    def doubtful(self) -> bool:
        """Whether a criterion must be checked beyond that."""
        return bool(self._plan.checked.any())

    @lazily
    def plain(self) -> bool:
        """Whether clause i is criterion i's alone, and need not be checked."""
        return self.clauses.same and not self.doubtful

    @lazily
    def absolute_bounds(self) -> Floats:
        """The most that each criterion scores, whatever the signs of weights."""
        predicates = self._plan.conjunctions.predicates
        return frozen(most_of(self._plan.programs, predicates, absolute=True))

    @lazily
    def _values_weigh(self) -> bool:
        """Whether the values of many predicates have weights."""
        by_value = np.diff(self._plan.programs.value_starts) > 0
        return bool(len(by_value) and by_value.mean() >= _OFTEN)

    @lazily
    def _longest(self) -> int:
        return int(np.diff(self._plan.programs.starts).max(initial=0))

    def promises(self, attribute_of_dim: Ints) -> Promises | None:
        """What clauses promise to events; None where the values of few predicates have weights.

        All that match are read for it, so that a few such criteria must not decide for all others.
        """
        if self._values_weigh and self._promises is None:
            self._promises = promises(self._plan, attribute_of_dim)
        return self._promises

    def best_first(self, ranks: Ints) -> bool:
        """Whether the owners of each clause stand best first; those of older indexes may not."""
        known = self._best_first
        if known is None or known[0] is not ranks:
            best = self.clauses.each_one or bool(
                stand_best_first(self._plan.owners, criteria_bounds(self._plan), ranks)
            )
            known = self._best_first = ranks, best
        return known[1]

    def lend(self, choice: Choice, n_attributes: int) -> Room:
        """Room to choose in, for one call at a time; clean, and of the sizes that are wanted."""
        with suppress(IndexError):  # another thread took the last one
            room = self._rooms.pop()
            wanted = int(choice.heaps[-1]), len(choice.heaps) - 1
            if (len(room.scores), len(room.n_kept)) == wanted:
                return room
        return room_for(choice, n_attributes, self._longest)

    def lend_to_check(self) -> Checking:
        """Room to check criteria in, for one call at a time; it is put back clean."""
        with suppress(IndexError):
            return self.checking.pop()
        n_dims = self._plan.conjunctions.n_dims
        empty = np.zeros(n_dims, np.int64), np.zeros(n_dims, np.int64)
        return Checking(*empty, np.empty(2 * self._longest + 2, np.int32))

    def lend_alone(self, dim_of_space: Ints) -> Alone:
        """Room for one event, for one call at a time; it is put back clean."""
        try:
            return self.alone.pop()
        except IndexError:
            pass
        plan, owners = self._plan, self.clauses
        checking = self.lend_to_check() if self.doubtful else _NO_CHECKING
        out = np.empty(plan.n_criteria, np.int32)
        seen = np.zeros((plan.n_criteria >> 6) + 1, np.uint64)
        kept = (
            owners.sole, *owners.rows, seen, out, plan.checked if self.doubtful else NO_BOOLS,
            dim_of_space, *checking, *plan.programs[:3], *plan.conjunctions.predicates,
        )  # fmt: skip
        return Alone(out, addresses(*kept), kept)

    def give_back(self, room: Room) -> None:
        """Take back what was lent, if the call that had it did not fail."""
        if len(self._rooms) < _ROOMS:
            self._rooms.append(room)


@kernel
def _extent(hits: Ints, sole: Ints, owner_starts: Longs, owners: Ints) -> tuple[int, bool]:
    """How many owners there are, and whether one of them has several clauses."""
    most, several = len(hits), False
    for i in range(len(hits)):
        clause = np.uint64(hits[i])
        if sole[clause] < 0:
            begin, end = owner_starts[clause], owner_starts[clause + _ONE]
            most += end - begin - 1
            several |= begin < end and owners[end - 1] < 0
    return most, several


@kernel
def _copy(
    hit_starts: Longs,
    hits: Ints,
    sole: Ints,
    owner_starts: Longs,
    owners: Ints,
    starts: Longs,
    rows: Ints,
) -> None:
    n = np.uint64(0)
    for event in range(len(hit_starts) - 1):
        for i in range(hit_starts[event], hit_starts[event + 1]):
            clause = np.uint64(hits[i])
            owner = sole[clause]
            if owner >= 0:
                rows[n] = owner
                n += _ONE
                continue
            for j in range(np.uint64(owner_starts[clause]), np.uint64(owner_starts[clause + _ONE])):
                rows[n] = owners[j]
                n += _ONE
        starts[event + 1] = n


@kernel
def _copy_once(
    hit_starts: Longs,
    hits: Ints,
    sole: Ints,
    owner_starts: Longs,
    owners: Ints,
    seen: Words,
    starts: Longs,
    rows: Ints,
) -> int:
    """Write the owners; how many they are. `seen` is 0 before and after."""
    n = np.uint64(0)
    for event in range(len(hit_starts) - 1):
        first = n
        for i in range(hit_starts[event], hit_starts[event + 1]):
            clause = np.uint64(hits[i])
            if sole[clause] >= 0:
                rows[n] = sole[clause]
                n += _ONE
                continue
            for j in range(np.uint64(owner_starts[clause]), np.uint64(owner_starts[clause + _ONE])):
                owner = owners[j]
                if owner >= 0:
                    rows[n] = owner
                    n += _ONE
                else:  # without a branch on what was seen: it is hard to foretell
                    place, bit = np.uint64(~owner) >> np.uint64(6), np.uint64(~owner & 63)
                    word = seen[place]
                    seen[place] = word | _ONE << bit
                    rows[n] = ~owner
                    n += _ONE - (word >> bit & _ONE)
        if n - first > np.uint64(len(seen) >> 3):
            seen[:] = 0
        else:
            for i in range(first, n):
                seen[rows[i] >> 6] = 0
        starts[event + 1] = n
    return np.int64(n)  # type: ignore[return-value]
