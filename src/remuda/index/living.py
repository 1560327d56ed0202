"""Criteria in one tree that is changed in place, and moments of it.

A criterion has a place, which is never another's. So a moment is how many places there were and
how many removals: who asks an older one is answered by the tree, less what came since, and what
was removed since is evaluated plainly. `docs/live.md` has the user's side,
`docs/decisions/live-trees.md` the reasons.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Collection, Iterable, Iterator, Sequence
from copy import deepcopy
from typing import Any, ClassVar, TypeVar

import numpy as np

from remuda.arrays import Bools, Floats, Ints, Longs, frozen, starts_of
from remuda.encoding.events import Portion
from remuda.encoding.growing import Growing
from remuda.encoding.plan import clauses_of, no_collection
from remuda.encoding.splitting import NoRoom
from remuda.encoding.table import EventBatch
from remuda.encoding.vocabulary import PredicatePool
from remuda.index.choosing import Bars
from remuda.index.forking import in_child
from remuda.index.hits import only
from remuda.index.question import Question
from remuda.index.roster import Roster, Tags, checksum, in_force, ranks_of, slots_of
from remuda.index.segment import ElementIndex, Segment
from remuda.index.state import Late, Part, scored
from remuda.index.turns import Turns
from remuda.index.weighing import Weighing
from remuda.language.criterion import FOREVER, Criterion
from remuda.logic.normal import Clause
from remuda.matchers.contract import (
    Chosen,
    DynamicMatcher,
    Hits,
    Literal,
    changing,
    conjunction_matcher,
)
from remuda.matchers.kernels.growth import thawed
from remuda.model.attributes import Attribute
from remuda.model.lazily import lazily

T = TypeVar("T")

WINDOW = 4096  # events after which the tree is adjusted to them, as many of which are remembered
_GRAVES = 1024  # places of removed criteria that are no matter, however few the others are

_HALF = 0.5  # the share of events that a predicate lets by of which nothing is known

Row = tuple[int, ...]  # a clause: its predicates by number
Journal = list[tuple[int, list[Literal] | None]]  # rows that were inserted, or deleted


class First(Sequence[T]):
    """The first items of a list that only grows."""

    def __init__(self, items: list[T], n: int) -> None:
        self._items, self._n = items, n

    def __len__(self) -> int:
        return self._n

    def __getitem__(self, at: Any) -> Any:
        return self._items[: self._n][at] if isinstance(at, slice) else self._items[at]

    def __iter__(self) -> Iterator[T]:
        return iter(self._items[: self._n])


class Living:
    """Criteria by place, and the tree that finds them."""

    def __init__(self, matcher: str, scalars: Collection[Attribute], given: Iterable[Late]) -> None:
        self.chosen, self.scalars = Chosen.of(matcher), scalars
        self.ids: list[str] = []
        self.criteria: list[Criterion] = []
        self.orders: Longs = np.empty(0, np.int64)
        self.terms: Longs = np.empty((0, 2), np.int64)
        self.priorities: Floats = np.empty(0, np.float64)
        self.places: dict[str, int] = {}  # of those that are there
        self.removed: list[int] = []  # places, in the order of removal
        self.n_timed = self.n_prior = 0  # that have terms, or a priority
        self._tree: DynamicMatcher
        self.torn = False  # a change was broken off, so that the tree may be anything
        self._rows: dict[Row, int] = {}
        self._clauses: dict[int, Row] = {}  # of each row
        self._owners: dict[int, list[int]] = {}
        self._rows_of: dict[int, list[int]] = {}  # of each place that is there
        self._free: list[int] = []  # rows
        self._sole: Ints = np.empty(0, np.int32)  # of each row: its only owner, or -1
        self._several: Bools = np.empty(0, np.bool_)  # of each place: whether it has several rows
        self._checked: Bools = np.empty(0, np.bool_)  # of each place: rows are only necessary
        self._aside: tuple[int, Bools | None] = 0, None
        self._alone()
        in_child(self, Living._fork)
        with no_collection():
            self._grow(given)

    def _grow(self, given: Iterable[Late]) -> None:
        """Take up the first criteria, all at once."""
        self._growing = Growing(asker=ElementIndex)
        trees = []
        for late in given:
            place = self._enter(late)
            try:
                self._own(place, *clauses_of(late.criterion.expression, _later, self.scalars))
            except _Later:
                trees.append(place)
        self._lay_out()
        for place in trees:
            self._insert(place)

    def _alone(self) -> None:
        self._turns = Turns()
        self._counting = threading.Lock()
        self._adjusting: threading.Thread | None = None
        # what changes while the tree that will follow is made; another tree has another
        self._journal: Journal | None = None
        self._seen: deque[tuple[Growing, EventBatch]] = deque()
        self._n_seen = self._n_kept = 0  # since it was adjusted; of those that are remembered

    def _fork(self) -> None:
        """In a forked process no other thread ends what it was changing."""
        self.torn |= self._turns.writing
        self._alone()

    def __len__(self) -> int:
        return len(self.places)

    @property
    def is_stale(self) -> bool:
        """Whether it is mostly graves, or broken, and should be made anew."""
        return self.torn or len(self.removed) > _GRAVES + len(self)

    def now(self) -> LivePart:
        """This moment."""
        return LivePart(self, len(self.ids), len(self.removed), len(self.places))

    def change(self, gone: Iterable[str], late: Iterable[Late]) -> LivePart:
        """Remove some criteria and add others, in one step; the moment after it."""
        with self._turns.alone():
            try:
                for name in gone:
                    self._remove(self.places.pop(name))
                for one in late:
                    self._insert(self._enter(one))
                return self.now()
            except BaseException:
                self.torn = True
                raise

    def adjust(self) -> int:
        """Let the tree move what hangs ill for the events of late; how many clauses."""
        with self._counting:
            seen = list(self._seen)
        with self._turns.reading():
            if self.torn:
                return 0
            words, twin = self._growing, deepcopy(self._tree)
            journal: Journal = []
            self._journal = journal
        n = twin.adjust(_joined([events for own, events in seen if own is words]))
        with self._turns.alone():
            if self._journal is journal and not self.torn:
                for row, clause in journal:
                    if clause is None:
                        twin.delete(row)
                    else:
                        twin.insert(row, clause)
                self._tree, self._journal = twin, None
        return n

    def settle(self) -> None:
        """Wait until the tree is adjusted, where that is being done."""
        adjusting = self._adjusting
        if adjusting is not None:
            adjusting.join()

    def stats(self) -> dict[str, int]:
        """Sizes of the tree."""
        with self._turns.reading():
            return {
                "clauses": len(self._rows),
                "dimensions": len(self._growing.pool.dimensions),
                "spaces": int(self._growing.space_starts[-1]),
                "bytes": self._tree.nbytes,
            }

    def hits(self, portion: Portion, question: Question, part: LivePart) -> Hits:
        """The places that each event satisfied at that moment; an error if the tree is broken."""
        with self._turns.reading():
            if self.torn:
                raise RuntimeError("a change of the tree was broken off")
            words = self._growing
            events = portion.encode(words.encoder, question.now)
            if not isinstance(portion.events, list):
                events = words.batch(events)
            answer = self._owned(self._tree.match(events))
            since = self.removed[part.n_removed :]
            aside = self.aside()
        self._note(words, events)
        if len(answer.rows) and answer.rows.max() >= part.n:
            answer = only(answer, answer.rows < part.n)
        if self._checked[answer.rows].any():
            answer = only(answer, self._verified(answer, portion, question.now))
        since = [place for place in since if place < part.n]
        if since:
            answer = self._with(answer, since, portion, question.now)
        if aside is not None:
            answer = only(answer, ~aside[answer.rows])
        if self.n_timed:
            answer = only(answer, in_force(self.terms[answer.rows], question.now))
        if question.tags is not None:
            tagged = [question.admits(self.criteria[place]) for place in answer.rows.tolist()]
            answer = only(answer, np.array(tagged, np.bool_))
        return answer

    def aside(self) -> Bools | None:
        """The places that depend on a dimension that fails, so that they match nothing."""
        failing = self._growing.encoder.aside
        if not failing:
            return None
        n, known = self._aside
        if n != len(failing) or known is None or len(known) < len(self.ids):
            known = np.zeros(len(self.ids), np.bool_)
            for place, rows in self._rows_of.items():
                used = (number for row in rows for number in self._clauses[row])
                known[place] = not failing.keys().isdisjoint(self._growing.dims_of(used))
            self._aside = len(failing), known
        return known

    def why(self) -> str:
        """Why some are set aside."""
        return "; ".join(dict.fromkeys(self._growing.encoder.aside.values()))

    def _note(self, words: Growing, events: EventBatch) -> None:
        """Count events and remember some; after many, adjust the tree in the background."""
        with self._counting:
            self._n_seen += len(events)
            some = events if len(events) <= WINDOW else events.some(0, WINDOW)
            self._seen.append((words, some))
            self._n_kept += len(some)
            while self._n_kept - len(self._seen[0][1]) >= WINDOW:
                self._n_kept -= len(self._seen.popleft()[1])
            window = max(WINDOW, len(self._clauses) // 8)
            due = self._n_seen >= window and self._adjusting is None
            if due:
                self._n_seen = 0
                self._adjusting = threading.Thread(target=self._adjust, daemon=True)
        if due and self._adjusting is not None:
            self._adjusting.start()

    def _adjust(self) -> None:
        try:
            self.adjust()
        finally:
            self._adjusting = None

    def _enter(self, late: Late) -> int:
        """Give a criterion its place."""
        place, criterion = len(self.ids), late.criterion
        self.orders = thawed(self.orders, place + 1)
        self.terms = thawed(self.terms, place + 1)
        self.priorities = thawed(self.priorities, place + 1)
        self._several = thawed(self._several, place + 1)
        self._checked = thawed(self._checked, place + 1)
        self.orders[place], self.terms[place] = late.order, criterion.term
        self.priorities[place] = criterion.priority
        self.n_timed += criterion.term != FOREVER
        self.n_prior += criterion.priority != 0
        self.criteria.append(criterion)
        self.ids.append(criterion.id)
        self.places[criterion.id] = place
        return place

    def _insert(self, place: int) -> None:
        try:
            for row in self._own(place, *self._clauses_of(self.criteria[place])):
                encoded = [self._growing.encoded(number) for number in self._clauses[row]]
                self._put(row, [Literal(*one) for one in encoded])
        except NoRoom as error:
            self._lay_out(error)

    def _put(self, row: int, clause: list[Literal] | None) -> None:
        """Insert a clause, or delete it, here and in a tree that will follow this one."""
        if clause is None:
            self._tree.delete(row)
        else:
            self._tree.insert(row, clause)
        if self._journal is not None:
            self._journal.append((row, clause))

    def _clauses_of(self, criterion: Criterion) -> tuple[list[Clause], bool]:
        try:
            return clauses_of(criterion.expression, self._growing.share, self.scalars)
        except NoRoom:  # for what only a choice among filters needs
            return clauses_of(criterion.expression, lambda _: _HALF, self.scalars)

    def _own(self, place: int, clauses: list[Clause], checked: bool) -> list[int]:
        """Note which clauses the criterion has; the rows of those that are new."""
        fresh, rows = [], []
        for clause in dict.fromkeys(map(self._growing.add, clauses)):
            row = self._rows.get(clause)
            if row is None:
                row = self._free.pop() if self._free else len(self._clauses)
                self._rows[clause], self._clauses[row], self._owners[row] = row, clause, []
                self._sole = thawed(self._sole, row + 1)
                fresh.append(row)
            owners = self._owners[row]
            owners.append(place)
            self._sole[row] = place if len(owners) == 1 else -1
            rows.append(row)
        self._rows_of[place] = rows
        self._several[place], self._checked[place] = len(rows) > 1, checked
        return fresh

    def _remove(self, place: int) -> None:
        self.removed.append(place)
        for row in self._rows_of.pop(place):
            owners = self._owners[row]
            owners.remove(place)
            self._sole[row] = owners[0] if len(owners) == 1 else -1
            if not owners:
                self._put(row, None)
                del self._rows[self._clauses.pop(row)], self._owners[row]
                self._free.append(row)

    def _lay_out(self, lacking: NoRoom | None = None) -> None:
        """Number all predicates and rows anew, without what is not used, and build the tree."""
        old, pool = self._growing.pool, PredicatePool()
        rows = {row: number for number, row in enumerate(self._clauses)}
        clauses = [
            pool.apart([pool.add(old.predicates[number]) for number in clause])
            for clause in self._clauses.values()
        ]
        self._growing = Growing(pool, ElementIndex, lacking)
        self._clauses = dict(enumerate(clauses))
        self._rows = {clause: row for row, clause in self._clauses.items()}
        self._owners = {rows[row]: owners for row, owners in self._owners.items()}
        for place, own in self._rows_of.items():
            self._rows_of[place] = [rows[row] for row in own]
        self._sole = self._sole[np.array(list(rows), np.int64)]
        self._free = []
        kind = conjunction_matcher(self.chosen.name)
        tree = kind.build(self._growing.table(clauses), **self._parameters())
        assert changing(tree)
        self._tree, self._journal = tree, None

    def _parameters(self) -> dict[str, Any]:
        gap = {"gap": self._growing.gap}
        takes_gap = conjunction_matcher(self.chosen.name).features.takes_gap
        return {**self.chosen.parameters, **(gap if takes_gap else {})}

    def _owned(self, hits: Hits) -> Hits:
        """The owners of the rows, each once for an event."""
        places = self._sole[hits.rows]
        if (places < 0).any():
            hits, places = self._shared(hits, places)
        if not self._several[places].any():
            return hits._replace(rows=places)
        events = np.repeat(np.arange(len(hits.starts) - 1), np.diff(hits.starts))
        keys = np.unique(events * len(self.ids) + places)
        events, places = np.divmod(keys, len(self.ids))
        starts = starts_of(np.bincount(events, minlength=len(hits.starts) - 1))
        return Hits(starts, places.astype(np.int32), hits.candidates)

    def _shared(self, hits: Hits, places: Ints) -> tuple[Hits, Ints]:
        """The same where rows have several owners."""
        owners = [
            [place] if place >= 0 else self._owners[row]
            for row, place in zip(hits.rows.tolist(), places.tolist(), strict=True)
        ]
        starts = starts_of([len(one) for one in owners])[hits.starts]
        return hits._replace(starts=starts), np.array(
            [place for one in owners for place in one], np.int32
        )

    def _verified(self, found: Hits, portion: Portion, now: int) -> Bools:
        """Which of the hits hold, where clauses are only necessary."""
        held, objects = ~self._checked[found.rows], portion.objects()
        for i, event in enumerate(objects):
            for at in range(found.starts[i], found.starts[i + 1]):
                if not held[at]:
                    held[at] = self.criteria[found.rows[at]].expression.holds(event, now=now)
        return held

    def _with(self, found: Hits, since: list[int], portion: Portion, now: int) -> Hits:
        """The hits with those of places that were removed since."""
        rows, starts = [], [0]
        for i, event in enumerate(portion.objects()):
            own = [at for at in since if self.criteria[at].expression.holds(event, now=now)]
            rows += [*found.rows[found.starts[i] : found.starts[i + 1]].tolist(), *own]
            starts.append(len(rows))
        return Hits(np.array(starts, np.int64), np.array(rows, np.int32), found.candidates)


class _Later(Exception):
    """Shares are not known yet."""


def _later(_: object) -> float:
    raise _Later


def _joined(batches: Sequence[EventBatch]) -> EventBatch:
    counts = [np.diff(one.starts) for one in batches]
    starts = starts_of(np.concatenate([np.empty(0, np.int64), *counts]))
    spaces = [np.empty(0, np.int32), *(one.spaces for one in batches)]
    return EventBatch(starts, np.concatenate(spaces))


class LiveRoster(Roster):
    """The criteria of one moment; what is seldom asked for is made when it is."""

    def __init__(self, living: Living, n: int) -> None:
        self._living, self._n = living, n

    @property
    def ids(self) -> Sequence[str]:
        return First(self._living.ids, self._n)

    @property
    def criteria(self) -> Sequence[Criterion]:
        return First(self._living.criteria, self._n)

    @property
    def orders(self) -> Longs:
        return self._living.orders[: self._n]

    @property
    def ascends(self) -> bool:
        return False  # each moment would have to look

    @property
    def terms(self) -> Longs:
        return self._living.terms[: self._n if self._living.n_timed else 0]

    @property
    def priorities(self) -> Floats:
        return self._living.priorities[: self._n if self._living.n_prior else 0]

    @lazily
    def ranks(self) -> Ints:
        return frozen(ranks_of(list(self.ids)))

    @lazily
    def slots(self) -> Ints:
        marks = [checksum(name) for name in self.ids]
        return frozen(slots_of(np.array(marks, np.uint32)))

    @lazily
    def tags(self) -> Tags:
        return Tags.of(self.criteria)


class LivePart(Part):
    """A moment of a tree that changes.

    What the tree is not made for (regions, near misses, storage) is asked of a segment, which is
    built when it is first needed.
    """

    chooses: ClassVar[bool] = False
    __setattr__ = object.__setattr__  # the frozen one of a class with slots is not for heirs

    def __init__(self, living: Living, n: int, n_removed: int, n_alive: int) -> None:
        self.living, self.n, self.n_removed, self.n_alive = living, n, n_removed, n_alive

    @lazily
    def roster(self) -> Roster:
        return LiveRoster(self.living, self.n)

    @lazily
    def segment(self) -> Segment:
        chosen = Chosen(self.living.chosen.name, self.living.chosen.parameters)
        expressions = [one.expression for one in self.roster.criteria]
        return Segment.build(
            expressions, matcher=str(chosen), scalars=self.living.scalars,
            ranks=lambda: self.roster.ranks,
        )  # fmt: skip

    @lazily
    def alive(self) -> Bools | None:
        if self.n_alive == self.n:
            return None
        alive = np.ones(self.n, np.bool_)
        alive[[place for place in self.living.removed[: self.n_removed] if place < self.n]] = False
        return frozen(alive)

    def __len__(self) -> int:
        return self.n_alive

    def find(self, id: str, mark: int) -> int | None:
        place = self.living.places.get(id)
        if place is not None and place < self.n:
            return place
        since = self.living.removed[self.n_removed :]
        return next((one for one in since if one < self.n and self.living.ids[one] == id), None)

    def match_one(self, event: Any, question: Question) -> Ints:
        return self.hits(Portion([event]), question).rows

    def stats(self) -> dict[str, int]:
        return self.living.stats()

    def chosen(self) -> dict[str, Any]:
        return {}

    def hits(self, portion: Portion, question: Question) -> Hits:
        try:
            return self.living.hits(portion, question, self)
        except MemoryError:
            raise
        except Exception:  # of a criterion that is evaluated plainly, or of a broken tree
            return super().hits(portion, question)

    def best(
        self,
        portion: Portion,
        question: Question,
        weighing: Weighing | None = None,
        bars: Bars | None = None,
    ) -> Hits:
        """All that each event satisfies with their scores, be they the best or not."""
        found = self.hits(portion, question)
        try:
            return scored(found, self.living.criteria, portion, question, weighing)
        except MemoryError:
            raise
        except Exception:  # an event on which a score cannot be told
            return super().best(portion, question, weighing, bars)

    def count(self, portion: Portion, question: Question) -> Longs:
        return np.diff(self.hits(portion, question).starts)

    def reach(self, portion: Portion, question: Question) -> Longs:
        return np.bincount(self.hits(portion, question).rows, minlength=self.n)

    def adds_up(self, question: Question) -> bool:
        return False

    def aside(self) -> Bools | None:
        found = self.living.aside()
        return None if found is None else found[: self.n]

    def why(self) -> str:
        return self.living.why()
