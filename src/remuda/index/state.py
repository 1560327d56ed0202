"""States: what an index holds at one moment; never changed, only followed by another."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from remuda.arrays import Bools, Floats, Ints, Longs, Ragged, frozen, ragged
from remuda.encoding.encoder import alone
from remuda.encoding.events import Portion
from remuda.encoding.table import EventBatch
from remuda.index.choosing import NO_BOOLS, NO_FLOATS, NO_GROUPS, Bars, Wanted
from remuda.index.hits import joined, of_event, only
from remuda.index.question import Question
from remuda.index.roster import Column, Roster, StoredIds, checksum, in_force, moment, ranks_of
from remuda.index.segment import Segment
from remuda.index.text_arrays import taken
from remuda.index.weighing import Weighing
from remuda.language.criterion import Criterion
from remuda.matchers.contract import Hits
from remuda.matchers.kernels.programs import NEVER
from remuda.model.lazily import lazily

_LOG = logging.getLogger(__name__)
_FEW = 64  # a share of a part below which its criteria are tried one by one
_PLAIN = 1 << 12  # evaluations of a tail; they take as long as making a segment of it


@dataclass(frozen=True, slots=True)
class Part:
    """A segment with its roster, and which of its criteria are still there."""

    chooses: ClassVar[bool] = True  # whether `best` gives the best alone, or all that match
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
        if question.tags is not None:
            places = self.roster.tags.of_any(question.tags)
            if len(places) * _FEW <= len(self.roster):
                return self._standing(self.segment.match_among(events, places), question.now)
        return self.admitted(self.segment.match(events), question)

    def admitted(self, found: Hits, question: Question) -> Hits:
        """Those of the hits that are still there, in force, and have one of the tags."""
        if question.tags is not None:
            found = only(found, np.isin(found.rows, self.roster.tags.of_any(question.tags)))
        return self._standing(found, question.now)

    def every(self, question: Question) -> Ints:
        """The places of all that are still there, in force, and have one of the tags."""
        places = np.arange(len(self.roster), dtype=np.int32)
        return self.admitted(Hits(np.array([0, len(places)]), places, 0), question).rows

    def hits(self, portion: Portion, question: Question) -> Hits:
        """The places of those that each event satisfies."""
        return self.match(self.segment.encode(portion, question.now), question)

    def match_one(self, event: Any, question: Question) -> Ints:
        """The same for one event, with less ado."""
        spaces = self.segment.encoder.spaces_of_one(event, question.now)
        if question.tags is None and self._stands:
            return self.segment.match_one(spaces)
        return self.match(alone(spaces), question).rows

    def stats(self) -> dict[str, int]:
        """Sizes."""
        plan = self.segment.plan
        return {
            "clauses": plan.conjunctions.n_clauses + plan.cnf.table.n_clauses,
            "dimensions": plan.conjunctions.n_dims,
            "spaces": plan.conjunctions.n_spaces,
            "bytes": self.segment.nbytes,
        }

    def chosen(self) -> dict[str, Any]:
        """Which layout the matcher took, and why, if it chooses at all."""
        return self.segment.stats()

    def best(
        self,
        portion: Portion,
        question: Question,
        weighing: Weighing | None = None,
        bars: Bars | None = None,
    ) -> Hits:
        """The places of the best of each event, with their scores; none that is below its bar."""
        events = self.segment.encode(portion, question.now)
        wanted, weighed = self.wanted(question), None
        if weighing is not None:
            positions = self.segment.words.vocabulary.weighed
            weighed = weighing.numbers(positions, absolute=self.segment.plan.bounds.negative)
        hits = self.segment.best(events, wanted, weighed, bars)
        if weighed is None or not weighed.odd or weighing is None:
            return hits
        objects, pieces = portion.objects(), [of_event(hits, i) for i in range(len(events))]
        for i in set(weighed.odd):  # whose matches are all scored by plain evaluation
            one, found = Portion([objects[i]]), self.match(events.one(i), question)
            own = Weighing(one, weighing.at(i))
            pieces[i] = scored(found, self.roster.criteria, one, question, own)
        return wanted.best(joined(pieces))

    def wanted(self, question: Question) -> Wanted:
        """Who may be among the best, and in which order."""
        roster, n = self.roster, len(self.roster)
        alive = NO_BOOLS if self.alive is None else self.alive
        aside = self.aside()
        if aside is not None:
            alive = frozen(~aside & alive) if len(alive) else frozen(~aside)
        tagged = NO_BOOLS if question.tags is None else roster.tags.mask(question.tags, n)
        groups, n_groups = NO_GROUPS, 1
        if question.per is not None:
            groups = roster.tags.groups(question.per, n).of_places
            n_groups = len(roster.tags.groups(question.per, n).names)
        return Wanted(
            question.n or 0,
            roster.ranks,
            roster.priorities if question.by == "priority" else NO_FLOATS,
            alive,
            tagged,
            roster.terms,
            moment(question.now),
            groups,
            n_groups,
        )

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
        return question.tags is None and self._stands and self.segment.adds_up

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

    @property
    def _stands(self) -> bool:
        """Whether all that is found was not removed, does not fail, and is in force."""
        return self.alive is None and not self.segment.words.aside and not len(self.roster.terms)

    def _standing(self, found: Hits, now: int) -> Hits:
        """Those of the hits that were not removed and are in force."""
        if self.alive is not None:
            found = only(found, self.alive[found.rows])
        if (aside := self.aside()) is not None:
            found = only(found, ~aside[found.rows])
        if len(self.roster.terms):
            found = only(found, in_force(self.roster.terms[found.rows], now))
        return found

    def nearest(self, events: EventBatch, n: int, question: Question) -> list[tuple[int, int]]:
        """The n that the one event fails by the fewest predicates: how many, and which place."""
        places = self.every(question)
        lacking = self.segment.lacking(events, frozen(places))
        failing = (lacking > 0) & (lacking < NEVER)
        places, lacking = places[failing], lacking[failing]
        first = np.lexsort((self.roster.ranks[places], lacking))[:n]
        return list(zip(lacking[first].tolist(), places[first].tolist(), strict=True))


@dataclass(frozen=True, slots=True)
class Late:
    """A criterion in the tail, with its order."""

    order: int
    criterion: Criterion
    failures: list[str] = field(default_factory=list, repr=False, compare=False)  # one at most


class Tail:
    """Criteria that are not yet in a part: evaluated plainly, until a part of them is worth it.

    Where one of them raises, a part tells whether it or the event is at fault, as for all others.
    """

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

    def asked(self, question: Question) -> list[tuple[int, Late]]:
        """Those that the question is about and that do not fail, with their places."""
        return [
            (place, late)
            for place, late in enumerate(self.late)
            if question.admits(late.criterion) and not late.failures
        ]

    def satisfied(self, event: Any, question: Question) -> list[tuple[int, str]]:
        """The orders and ids of those that the event satisfies."""
        now, asked = question.now, self.late
        if question.tags is not None:
            asked = tuple(late for late in asked if question.admits(late.criterion))
        return [
            (late.order, late.criterion.id)
            for late in asked
            if not late.failures and late.criterion.holds(event, now=now)
        ]

    def hits(self, portion: Portion, question: Question) -> Hits:
        """The places of those that each event satisfies."""
        pairs = self.asked(question)
        rows: list[int] = []
        starts = [0]
        for event in portion.objects():
            rows += [place for place, one in pairs if one.criterion.holds(event, now=question.now)]
            starts.append(len(rows))
        n_evaluated = len(portion) * len(pairs)
        return Hits(np.array(starts, np.int64), np.array(rows, np.int32), n_evaluated)

    def best(self, portion: Portion, question: Question, weighing: Weighing | None) -> Hits:
        """The same with scores, be they the best or not."""
        criteria = [late.criterion for late in self.late]
        return scored(self.hits(portion, question), criteria, portion, question, weighing)

    def note_failures(self) -> None:
        """Let those that its part has set aside be so in the tails that follow."""
        aside = None if self.made is None else self.made.aside()
        if self.made is not None and aside is not None:
            for place in np.flatnonzero(aside).tolist():
                self.late[place].failures[:] = [self.made.why()]


@dataclass(frozen=True, slots=True)
class Plain:
    """A tail that answers by plain evaluation, or by a part of it where that fails."""

    chooses: ClassVar[bool] = False
    tail: Tail
    part: Callable[[], Part]

    def hits(self, portion: Portion, question: Question) -> Hits:
        """The places of those that each event satisfies."""
        try:
            return self.tail.hits(portion, question)
        except MemoryError:
            raise
        except Exception:
            return self.part().hits(portion, question)

    def best(
        self,
        portion: Portion,
        question: Question,
        weighing: Weighing | None = None,
        bars: Bars | None = None,
    ) -> Hits:
        """The same with scores, be they the best or not."""
        try:
            return self.tail.best(portion, question, weighing)
        except MemoryError:
            raise
        except Exception:
            return self.part().best(portion, question, weighing, bars)

    def count(self, portion: Portion, question: Question) -> Longs:
        """How many of them each event satisfies."""
        return np.diff(self.hits(portion, question).starts)

    def reach(self, portion: Portion, question: Question) -> Longs:
        """How many of the events satisfy each."""
        return np.bincount(self.hits(portion, question).rows, minlength=len(self.tail))


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
            tail.note_failures()
            tail = Tail(one for place, one in enumerate(self.tail) if place not in late)
        parts = list(self.parts)
        for number, places in gone.items():
            parts[number] = parts[number].without(places)
        return replace(self, parts=tuple(filter(len, parts)), tail=tail)

    def plus(self, late: Iterable[Late]) -> State:
        """The same with more criteria in the tail."""
        more = tuple(late)
        next_order = max([self.next_order, *(one.order + 1 for one in more)])
        self.tail.note_failures()
        return replace(self, tail=Tail(self.tail.late + more), next_order=next_order)

    def positions(self, tags: frozenset[str] | None = None) -> Longs:
        """Where those are that are still there and have any of the tags, in insertion order."""
        pieces, first = [], 0
        for part in self.parts:
            places = part.places()
            if tags is not None:
                places = np.intersect1d(places, part.roster.tags.of_any(tags))
            pieces.append(places + first)
            first += len(part.roster)
        late = [tags is None or not tags.isdisjoint(one.criterion.tags) for one in self.tail]
        positions = np.concatenate([*pieces, first + np.flatnonzero(late)]).astype(np.int64)
        return positions[np.argsort(self.orders()[positions], kind="stable")]

    def criteria(self) -> list[Criterion]:
        """All criteria, in their order of insertion."""
        return [late.criterion for late in self.late()]

    def late(self) -> list[Late]:
        """The same with their orders."""
        found = [Late(*pair) for part in self.parts for pair in part.criteria()]
        return sorted([*found, *self.tail], key=lambda late: late.order)

    def orders(self) -> Longs:
        """The order of every place: the parts one after the other, then the tail."""
        if len(self.parts) == 1 and not self.tail:
            return self.parts[0].roster.orders
        own = np.array([late.order for late in self.tail], np.int64)
        return np.concatenate([*(part.roster.orders for part in self.parts), own])


def scored(
    hits: Hits,
    criteria: Sequence[Criterion],
    portion: Portion,
    question: Question,
    weighing: Weighing | None,
) -> Hits:
    """The hits with what each scores for its event by plain evaluation."""
    scores: list[float | None] = []
    for i, event in enumerate(portion.objects()):
        weights = None if weighing is None else weighing.at(i)
        own = [criteria[at] for at in hits.rows[hits.starts[i] : hits.starts[i + 1]].tolist()]
        scores += [one.score(event, weights=weights, now=question.now) for one in own]
    return hits._replace(scores=np.array(scores, np.float64))


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

    @lazily
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

    def priorities(self, positions: Ints) -> Floats:
        """The priorities of the criteria at the positions."""
        each = [
            one.roster.priorities if len(one.roster.priorities) else np.zeros(len(one.roster))
            for one in self.state.parts
        ]
        late = np.array([one.criterion.priority for one in self.state.tail], np.float64)
        return np.concatenate([*each, late])[positions]

    def groups(self, positions: Ints, question: Question) -> Ragged:
        """The groups of the criteria at the positions, whatever part they are in."""
        if question.per is None:
            return NO_GROUPS
        known: dict[str | None, int] = {}
        names = self.group_names(positions, question)
        return ragged([[known.setdefault(one, len(known)) for one in row] for row in names])

    def group_names(self, positions: Ints, question: Question) -> list[list[str | None]]:
        """The names of those groups; none where the question asks for none."""
        if question.per is None:
            return [[] for _ in positions]
        names = []
        numbers = np.searchsorted(self.starts, positions, side="right") - 1
        for number, position in zip(numbers.tolist(), positions.tolist(), strict=True):
            place = position - int(self.starts[number])
            if number == len(self.state.parts):
                names.append(question.groups(self.state.tail.late[place].criterion.tags))
            else:
                roster = self.state.parts[number].roster
                groups = roster.tags.groups(question.per, len(roster))
                names.append([groups.names[one] for one in groups.of_places.row(place).tolist()])
        return names

    def ranks(self, positions: Ints) -> Ints:
        """The places of the ids at the positions among themselves, by code point."""
        distinct, inverse = np.unique(positions, return_inverse=True)
        return ranks_of([self[position] for position in distinct.tolist()])[inverse]


class Ids(Column[str]):
    """Ids in insertion order, and the position of each in the names that matches refer to."""

    def __init__(self, array: Any, positions: Longs) -> None:
        super().__init__(array)
        self.positions = positions


def _few(names: Sequence[str]) -> str:
    shown = ", ".join(map(repr, names[:10]))
    return shown if len(names) <= 10 else f"{shown} and {len(names) - 10} more"
