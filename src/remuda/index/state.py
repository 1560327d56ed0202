"""States: what an index holds at one moment; never changed, only followed by another."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from remuda.arrays import Bools, Ints, Longs, frozen
from remuda.encoding.events import Portion
from remuda.encoding.table import EventBatch
from remuda.index.hits import best, only
from remuda.index.question import Question
from remuda.index.roster import Column, Roster, StoredIds, checksum, in_force
from remuda.index.segment import Segment
from remuda.index.text_arrays import taken
from remuda.language.criterion import Criterion
from remuda.matchers.contract import Hits
from remuda.matchers.kernels.programs import NEVER

_LOG = logging.getLogger(__name__)
_FEW = 64  # a share of a part below which its criteria are tried one by one
_PLAIN = 1 << 12  # evaluations of a tail; they take as long as making a segment of it


@dataclass(frozen=True, slots=True)
class Part:
    """A segment with its roster, and which of its criteria are still there."""

    segment: Segment
    roster: Roster
    alive: Bools | None = None  # None: all of them

    def __len__(self) -> int:
        return len(self.roster) if self.alive is None else int(self.alive.sum())

    def find(self, id: str, mark: int) -> int | None:
        """The place of a criterion that is still there, given the checksum of its id."""
        place = self.roster.find(id, mark)
        return place if place is not None and self.has(place) else None

    def has(self, place: int) -> bool:
        return self.alive is None or bool(self.alive[place])

    def without(self, places: Sequence[int]) -> Part:
        """The same without some of its criteria."""
        alive = np.ones(len(self.roster), np.bool_) if self.alive is None else self.alive.copy()
        alive[places] = False
        return replace(self, alive=frozen(alive))

    def places(self) -> Longs:
        """The places of those still there."""
        n = len(self.roster)
        return np.arange(n) if self.alive is None else np.flatnonzero(self.alive)

    def criteria(self) -> Iterator[tuple[int, Criterion]]:
        """Those still there, with their orders."""
        orders = self.roster.orders.tolist()
        for place, criterion in enumerate(self.roster.criteria):
            if self.has(place):
                yield orders[place], criterion

    def match(self, events: EventBatch, question: Question) -> Hits:
        """The places of those that each event satisfies."""
        if question.tags is None:
            return self._standing(self.segment.match(events), question.now)
        places = self.roster.tags.of_any(question.tags)
        if len(places) * _FEW <= len(self.roster):
            found = self.segment.match_among(events, places)
        else:
            found = self.segment.match(events)
            found = only(found, np.isin(found.rows, places))
        return self._standing(found, question.now)

    def hits(self, portion: Portion, question: Question) -> Hits:
        """The places that answer the question, for each event."""
        events = self.segment.encode(portion, question.now)
        return self.match(events, question) if question.n is None else self._best(events, question)

    def count(self, portion: Portion, question: Question) -> Longs:
        """How many of them each event satisfies."""
        events = self.segment.encode(portion, question.now)
        if self.adds_up(question):
            return self.segment.count(events)
        return np.diff(self.match(events, question).starts)

    def reach(self, portion: Portion, question: Question) -> Longs:
        """How many of the events satisfy each."""
        events = self.segment.encode(portion, question.now)
        if self.adds_up(question):
            return self.segment.reach(events)
        return np.bincount(self.match(events, question).rows, minlength=len(self.roster))

    def adds_up(self, question: Question) -> bool:
        """Whether all that a clause stands for is wanted, so that hits are counted and not kept."""
        return self._is_whole(question) and self.segment.adds_up

    def _is_whole(self, question: Question) -> bool:
        """Whether all that the segment finds stands."""
        whole = self.alive is None and question.tags is None and not len(self.roster.terms)
        return whole and self.aside() is None

    def aside(self) -> Bools | None:
        """Those that fail, and so match nothing; a warning names them once."""
        aside = self.segment.aside
        words = self.segment.words
        if aside is not None and len(words.aside) > words.reported:
            words.reported = len(words.aside)
            names = self.roster.names(np.flatnonzero(aside).astype(np.int32))
            _LOG.warning("set aside, since they fail: %s (%s)", _few(names), self.why())
        return aside

    def why(self) -> str:
        """Why some are set aside."""
        return "; ".join(dict.fromkeys(self.segment.words.aside.values()))

    def _standing(self, found: Hits, now: int) -> Hits:
        """Those of the hits that were not removed and are in force."""
        if self.alive is not None:
            found = only(found, self.alive[found.rows])
        if self.segment.words.aside and (aside := self.aside()) is not None:
            found = only(found, ~aside[found.rows])
        if len(self.roster.terms):
            found = only(found, in_force(self.roster.terms[found.rows], now))
        return found

    def nearest(self, events: EventBatch, n: int, question: Question) -> list[tuple[int, int]]:
        """The n that the one event fails by the fewest predicates: how many, and which place."""
        places = self.places()
        if question.tags is not None:
            places = np.intersect1d(places, self.roster.tags.of_any(question.tags))
        aside = self.aside()
        if aside is not None:
            places = places[~aside[places]]
        if len(self.roster.terms):
            places = places[in_force(self.roster.terms[places], question.now)]
        lacking = self.segment.lacking(events, frozen(places.astype(np.int32)))
        failing = (lacking > 0) & (lacking < NEVER)
        places, lacking = places[failing], lacking[failing]
        first = np.lexsort((self.roster.ranks[places], lacking))[:n]
        return list(zip(lacking[first].tolist(), places[first].tolist(), strict=True))

    def _best(self, events: EventBatch, question: Question) -> Hits:
        """The best of each event."""
        n, weights, ranks = question.n or 0, question.by_attribute, self.roster.ranks
        if self._is_whole(question):
            return self.segment.best(events, n, weights, ranks)
        hits = self.match(events, question)
        return best(hits, self.segment.scores(events, hits, weights), n, ranks[hits.rows])


@dataclass(frozen=True, slots=True)
class Late:
    """A criterion in the tail, with its order."""

    order: int
    criterion: Criterion
    failures: list[str] = field(default_factory=list, repr=False, compare=False)

    def fail(self, error: Exception) -> None:
        """Remember that evaluating it failed, so that it matched nothing; a warning names it."""
        if not self.failures:
            self.failures.append(f"{type(error).__name__}: {error}")
            _LOG.warning("set aside, since it fails: %r (%s)", self.criterion.id, self.failures[0])


class Tail:
    """Criteria that are not yet in a part: evaluated plainly, until a part of them is worth it."""

    def __init__(self, late: Iterable[Late] = ()) -> None:
        self.late = tuple(late)
        self.made: Part | None = None  # of them, once it was worth making
        self._n_evaluated = 0

    def __len__(self) -> int:
        return len(self.late)

    def __iter__(self) -> Iterator[Late]:
        return iter(self.late)

    def plain(self, portion: Portion) -> bool:
        """Whether to evaluate them one by one for these events, rather than to make a part."""
        if self.made is not None or not isinstance(portion.events, list):
            return False
        self._n_evaluated += len(portion) * len(self)
        return self._n_evaluated <= _PLAIN

    def hits(self, portion: Portion, question: Question) -> Hits:
        """The places that answer the question for each event, be they the best or not."""
        asked = [
            (place, late)
            for place, late in enumerate(self.late)
            if question.tags is None or question.admits(late.criterion)
        ]
        rows: list[int] = []
        scores: list[float | None] = []
        starts = [0]
        how: dict[str, Any] = {"weights": question.weights, "now": question.now}
        for event in portion.objects():
            for place, late in asked:
                try:
                    if late.criterion.holds(event, now=question.now):
                        if question.n is not None:
                            scores.append(late.criterion.score(event, **how))
                        rows.append(place)
                except MemoryError:
                    raise
                except Exception as error:
                    late.fail(error)
            starts.append(len(rows))
        return Hits(
            np.array(starts, np.int64),
            np.array(rows, np.int32),
            len(portion) * len(asked),
            None if question.n is None else np.array(scores, np.float64),
        )

    def count(self, portion: Portion, question: Question) -> Longs:
        """How many of them each event satisfies."""
        return np.diff(self.hits(portion, question).starts)

    def reach(self, portion: Portion, question: Question) -> Longs:
        """How many of the events satisfy each."""
        return np.bincount(self.hits(portion, question).rows, minlength=len(self))


@dataclass(frozen=True, slots=True)
class State:
    """Parts, and a small tail of criteria that are not yet in one."""

    parts: tuple[Part, ...] = ()
    tail: Tail = field(default_factory=Tail)
    next_order: int = 0

    def __len__(self) -> int:
        return sum(map(len, self.parts)) + len(self.tail)

    def find(self, id: str) -> tuple[int, int] | None:
        """The part (the tail being one behind the last) and the place of a criterion."""
        for place, late in enumerate(self.tail):
            if late.criterion.id == id:
                return len(self.parts), place
        mark = checksum(id)
        for number, part in enumerate(self.parts):
            place_there = part.find(id, mark)
            if place_there is not None:
                return number, place_there
        return None

    def get(self, where: tuple[int, int]) -> Late:
        """The criterion at a place, with its order."""
        number, place = where
        if number == len(self.parts):
            return self.tail.late[place]
        roster = self.parts[number].roster
        return Late(int(roster.orders[place]), roster.criteria[place])

    def order(self, where: tuple[int, int]) -> int:
        """The order of the criterion at a place."""
        number, place = where
        if number == len(self.parts):
            return self.tail.late[place].order
        return int(self.parts[number].roster.orders[place])

    def without(self, wheres: Iterable[tuple[int, int]]) -> State:
        """The same without some criteria."""
        gone: dict[int, list[int]] = {}
        for number, place in wheres:
            gone.setdefault(number, []).append(place)
        late = set(gone.pop(len(self.parts), ()))
        tail = self.tail
        if late:
            tail = Tail(one for place, one in enumerate(self.tail) if place not in late)
        parts = list(self.parts)
        for number, places in gone.items():
            parts[number] = parts[number].without(places)
        return replace(self, parts=tuple(filter(len, parts)), tail=tail)

    def plus(self, late: Iterable[Late]) -> State:
        """The same with more criteria in the tail."""
        more = tuple(late)
        next_order = max([self.next_order, *(one.order + 1 for one in more)])
        return replace(self, tail=Tail(self.tail.late + more), next_order=next_order)

    def positions(self, tags: frozenset[str] | None = None) -> Longs:
        """Where those are that are still there and have any of the tags, in insertion order."""
        found, first = [], 0
        for part in self.parts:
            places = part.places()
            if tags is not None:
                places = np.intersect1d(places, part.roster.tags.of_any(tags))
            found.append(places + first)
            first += len(part.roster)
        late = [tags is None or not tags.isdisjoint(one.criterion.tags) for one in self.tail]
        positions = np.concatenate([*found, first + np.flatnonzero(late)]).astype(np.int64)
        return positions[np.argsort(self.orders()[positions], kind="stable")]

    def criteria(self) -> list[Criterion]:
        """All criteria, in their order of insertion."""
        found = [pair for part in self.parts for pair in part.criteria()]
        found += [(late.order, late.criterion) for late in self.tail]
        return [criterion for _, criterion in sorted(found, key=lambda pair: pair[0])]

    def orders(self) -> Longs:
        """The order of every place: the parts one after the other, then the tail."""
        if len(self.parts) == 1 and not self.tail:
            return self.parts[0].roster.orders
        own = np.array([late.order for late in self.tail], np.int64)
        return np.concatenate([*(part.roster.orders for part in self.parts), own])


class Names(Sequence[str]):
    """The ids of a state by position: the parts one after the other, then the tail."""

    def __init__(self, state: State) -> None:
        self.state = state
        sequences: list[Sequence[str]] = [part.roster.ids for part in state.parts]
        if state.tail:
            sequences.append([late.criterion.id for late in state.tail])
        self.sequences = sequences
        self.starts: Longs = np.concatenate([[0], np.cumsum([len(one) for one in sequences])])

    def __len__(self) -> int:
        return int(self.starts[-1])

    def __getitem__(self, position: Any) -> Any:
        number = int(np.searchsorted(self.starts, position, side="right")) - 1
        return self.sequences[number][int(position - self.starts[number])]

    def criterion(self, position: int) -> Criterion:
        """The criterion at the position, read where it is not in memory."""
        number = int(np.searchsorted(self.starts, position, side="right")) - 1
        return self.state.get((number, int(position - self.starts[number]))).criterion

    @cached_property
    def orders(self) -> Longs:
        """Of each position: its criterion's order of insertion."""
        return self.state.orders()

    def at(self, positions: NDArray[Any]) -> Any:
        """The ids at the positions as an Arrow array, without a Python string for each."""
        arrays = [
            one.array if isinstance(one, StoredIds) else pa.array(one, pa.string())
            for one in self.sequences
        ]
        return taken(arrays, positions)

    def ranks(self, positions: Ints) -> Longs:
        """The places of the ids at the positions among themselves, by code point."""
        distinct, inverse = np.unique(positions, return_inverse=True)
        names = [self[position] for position in distinct.tolist()]
        ranks = np.empty(len(names), np.int64)
        ranks[sorted(range(len(names)), key=names.__getitem__)] = np.arange(len(names))
        return ranks[inverse]


class Ids(Column[str]):
    """Ids in insertion order, and the position of each in the names that matches refer to."""

    def __init__(self, array: Any, positions: Longs) -> None:
        super().__init__(array)
        self.positions = positions


def _few(names: Sequence[str]) -> str:
    shown = ", ".join(map(repr, names[:10]))
    return shown if len(names) <= 10 else f"{shown} and {len(names) - 10} more"
