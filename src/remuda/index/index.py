"""Indexes: criteria that come and go, and can be asked which of them an event satisfies.

A change makes a new state from the old one and puts it in its place, so that a reader sees the
one or the other. New criteria wait in a small tail; a full tail becomes a segment, and segments
of like size become a larger one in the background.
"""

from __future__ import annotations

import itertools
import logging
import operator
import threading
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from remuda.arrays import Longs, frozen
from remuda.encoding import arrow
from remuda.encoding.encoder import Encoder
from remuda.encoding.plan import plan
from remuda.encoding.table import EventBatch
from remuda.errors import CriterionNotFound, DuplicateCriterion, StorageError
from remuda.index import storage
from remuda.index.found import Found
from remuda.index.matches import Match, Matches
from remuda.index.merging import merged, worth_merging
from remuda.index.nearest import Near, shortfall
from remuda.index.roster import Roster
from remuda.index.segment import Segment
from remuda.index.state import Asked, Late, Names, Part, State
from remuda.language.criterion import Criterion
from remuda.language.json import read_event
from remuda.matchers.contract import NAMES
from remuda.model.attributes import Attribute
from remuda.model.explanations import Explanation
from remuda.model.expressions import Or, attribute_weights, clock

Now = datetime | int | None
Weights = Mapping[str, float] | None
Tags = Iterable[str] | None

_LOG = logging.getLogger(__name__)
_AT_ONCE = 1 << 14  # rows of a batch that are encoded and matched together
_TAIL = 192  # criteria that wait before they become a segment


class Published(NamedTuple):
    """A version on disk, and the state that it is of."""

    path: Path
    version: str
    state: State


class Index:
    """Criteria under their ids. Many threads may search while others change it."""

    def __init__(self, *, matcher: str = "auto", scalars: Iterable[str] = ()) -> None:
        if matcher not in NAMES:
            raise ValueError(f"there is no matcher {matcher!r}; there are {', '.join(NAMES)}")
        self.matcher = matcher
        self.scalars = frozenset(map(Attribute.parse, scalars))
        self._state = State()
        self._published: Published | None = None
        self._writing = threading.RLock()
        self._merging: threading.Thread | None = None
        self._aside: dict[str, tuple[Criterion, str]] = {}  # failed outside of a segment

    @classmethod
    def build(
        cls,
        criteria: Iterable[Criterion],
        *,
        matcher: str = "auto",
        scalars: Iterable[str] = (),
        sample: Any = None,
    ) -> Index:
        """Index the criteria at once; `scalars` are attributes that are never lists.

        A `sample` of the events to come, in any form that `match_many` takes, makes `auto` and
        the PS-Trees faster: criteria hang where such events seldom look. A few thousand suffice.
        """
        index = cls(matcher=matcher, scalars=scalars)
        found = _given(criteria)
        if found:
            part = index._part(found, np.arange(len(found), dtype=np.int64), sample)
            index._state = State((part,), (), len(found))
        return index

    def __len__(self) -> int:
        return len(self._state)

    def __contains__(self, id: object) -> bool:
        return isinstance(id, str) and self._state.find(id) is not None

    def __iter__(self) -> Iterator[Criterion]:
        return iter(self._state.criteria())

    def __getitem__(self, id: str) -> Criterion:
        state = self._state
        return state.get(_found(state, id)).criterion

    @property
    def parts(self) -> tuple[Part, ...]:
        """The segments of this moment with their rosters, and the tail as one more."""
        return self._parts(self._state)

    def add(self, criteria: Criterion | Iterable[Criterion]) -> None:
        """One criterion more, or many in one step; DuplicateCriterion if an id is taken."""
        found = _given(criteria)
        with self._writing:
            state = self._state
            for criterion in found:
                if state.find(criterion.id) is not None:
                    raise DuplicateCriterion(criterion.id)
            orders = range(state.next_order, state.next_order + len(found))
            self._follow(state.plus(map(Late, orders, found)))

    def update(self, criteria: Criterion | Iterable[Criterion]) -> None:
        """Put each criterion in the place of the one with its id, or add it; all in one step."""
        found = _given(criteria)
        with self._writing:
            state = self._state
            wheres = [state.find(criterion.id) for criterion in found]
            there = [where for where in wheres if where is not None]
            fresh = itertools.count(state.next_order)
            orders = [next(fresh) if where is None else state.order(where) for where in wheres]
            self._follow(state.without(there).plus(map(Late, orders, found)))

    def remove(self, *ids: str) -> None:
        """Take criteria away in one step; CriterionNotFound if there is no such one."""
        with self._writing:
            state = self._state
            self._follow(state.without([_found(state, name) for name in ids]))

    def enable(self, *ids: str) -> None:
        """Switch criteria on."""
        self._switch(ids, enabled=True)

    def disable(self, *ids: str) -> None:
        """Switch criteria off: they stay, and hold for no event."""
        self._switch(ids, enabled=False)

    def _switch(self, ids: Iterable[str], *, enabled: bool) -> None:
        with self._writing:
            self.update([replace(self[name], enabled=enabled) for name in dict.fromkeys(ids)])

    def match(self, event: Any, *, tags: Tags = None, now: Now = None) -> list[str]:
        """The ids of the criteria that the event satisfies, in insertion order.

        With `tags`, only of criteria that have any of them.
        """
        state, asked = self._state, Asked.of(now, tags)
        found: list[tuple[int, str]] = []
        for part in state.parts:
            rows = part.match(part.segment.encoder.encode((event,), asked.now), asked).rows
            orders = part.roster.orders[rows].tolist()
            found += zip(orders, part.roster.names(rows), strict=True)
        for late in state.tail:
            criterion = late.criterion
            try:
                if asked.admits(criterion) and criterion.holds(event, now=asked.now):
                    found.append((late.order, criterion.id))
            except MemoryError:
                raise
            except Exception as error:  # one that fails must not fail the others
                self._set_aside(criterion, error)
        return [name for _, name in sorted(found)]

    def match_json(self, event: str | bytes, *, tags: Tags = None, now: Now = None) -> list[str]:
        """The same for an event in JSON text; ParseError where it is not JSON."""
        return self.match(read_event(event), tags=tags, now=now)

    def match_many(self, events: Any, *, tags: Tags = None, now: Now = None) -> Matches:
        """The same for many: a list of objects, an Arrow table, a pandas or Polars frame."""
        state, asked = self._state, Asked.of(now, tags)
        found = self._ask(
            state, events, asked, lambda part, batch: Found.of(part.match(batch, asked))
        )
        return Matches(found.starts, found.rows, Names(state))

    def top(
        self, event: Any, n: int, *, weights: Weights = None, tags: Tags = None, now: Now = None
    ) -> list[Match]:
        """The n best by score, ties by id in code-point order."""
        best = self.top_many([event], n, weights=weights, tags=tags, now=now)
        assert best.scores is not None
        return [Match(*pair) for pair in zip(best.ids(0), best.scores.tolist(), strict=True)]

    def top_many(
        self, events: Any, n: int, *, weights: Weights = None, tags: Tags = None, now: Now = None
    ) -> Matches:
        """The n best of each event."""
        n = _count(n)
        state, asked, by_attribute = self._state, Asked.of(now, tags), attribute_weights(weights)

        names = Names(state)
        found = self._ask(
            state, events, asked, lambda part, batch: part.best(batch, n, by_attribute, asked)
        )
        if len(names.sequences) > 1:  # the best of all parts among the best of each
            found = found.best(n, names.ranks(found.rows))
        return Matches(found.starts, found.rows, names, found.scores)

    def count_many(self, events: Any, *, tags: Tags = None, now: Now = None) -> Longs:
        """How many criteria each event satisfies."""
        asked = Asked.of(now, tags)
        total = np.zeros(_n_rows(events), np.int64)
        for part in self._parts(self._state):
            at = 0
            for batch in _batches(part, events, asked):
                total[at : at + len(batch)] += part.count(batch, asked)
                at += len(batch)
        return total

    def reach(self, events: Any, *, tags: Tags = None, now: Now = None) -> Longs:
        """How many of the events each criterion holds for, in insertion order."""
        asked = Asked.of(now, tags)
        counts, orders = [np.empty(0, np.int64)], [np.empty(0, np.int64)]
        for part in self._parts(self._state):
            reach = np.zeros(len(part.roster), np.int64)
            for batch in _batches(part, events, asked):
                reach += part.reach(batch, asked)
            counts.append(reach[part.places()])
            orders.append(part.roster.orders[part.places()])
        return np.concatenate(counts)[np.argsort(np.concatenate(orders))]

    def nearest(self, event: Any, n: int, *, tags: Tags = None, now: Now = None) -> list[Near]:
        """The n criteria that fail by the fewest predicates, and those predicates.

        Ties go by id. Those that hold are not among them, nor are those that never could.
        """
        asked, n = Asked.of(now, tags), _count(n)
        found = []
        for part in self._parts(self._state):
            batch = part.segment.encoder.encode((event,), asked.now)
            for lacking, place in part.nearest(batch, n, asked):
                found.append((lacking, part.roster.ids[place], part, place))
        found.sort(key=lambda one: one[:2])
        return [
            Near(name, shortfall(part.roster.criteria[place].expression, event, asked.now))
            for _, name, part, place in found[:n]
        ]

    def explain(self, event: Any, id: str, *, now: Now = None) -> Explanation:
        """Why the criterion holds for the event, or why not."""
        return self[id].explain(event, now=now)

    def stats(self) -> dict[str, Any]:
        """Sizes: criteria, clauses, dimensions, spaces, bytes, matcher, fill of tail and graves.

        `chosen` says for each segment which layout the matcher took, and why; `set_aside` which
        criteria fail, so that they match nothing, and why.
        """
        state = self._state
        plans = [part.segment.plan for part in state.parts]
        return {
            "criteria": len(state),
            "segments": len(state.parts),
            "tail": len(state.tail),
            "tombstones": sum(len(part.roster) - len(part) for part in state.parts),
            "clauses": sum(one.conjunctions.n_clauses + one.cnf.table.n_clauses for one in plans),
            "dimensions": sum(one.conjunctions.n_dims for one in plans),
            "spaces": sum(one.conjunctions.n_spaces for one in plans),
            "bytes": sum(part.segment.nbytes for part in state.parts),
            "matcher": self.matcher,
            "chosen": [part.segment.stats() for part in state.parts],
            "set_aside": self._failures(state),
        }

    def _set_aside(self, criterion: Criterion, error: Exception) -> None:
        """Remember that a criterion fails; a warning names it once."""
        known = self._aside.get(criterion.id)
        if known is None or known[0] is not criterion:
            reason = f"{type(error).__name__}: {error}"
            self._aside[criterion.id] = criterion, reason
            _LOG.warning("set aside, since it fails: %r (%s)", criterion.id, reason)

    def _failures(self, state: State) -> dict[str, str]:
        """The criteria that are set aside, and why."""
        found = {}
        for name, (criterion, reason) in list(self._aside.items()):
            where = state.find(name)
            if where is not None and state.get(where).criterion == criterion:
                found[name] = reason
        for part in state.parts:
            aside = part.aside()
            if aside is not None:
                places = part.places()[aside[part.places()]]
                found |= dict.fromkeys(part.roster.names(places.astype(np.int32)), part.why())
        return found

    def save(self, path: str | PathLike[str]) -> str:
        """Write a new version into the directory; only what changed is written. Its name."""
        with self._writing:
            self._state = replace(self._state, parts=self._parts(self._state), tail=())
            state = self._state
        facts = {"matcher": self.matcher, "scalars": sorted(map(str, self.scalars))}
        version = storage.save(state, facts, Path(path))
        self._published = Published(Path(path), version, state)
        return version

    @property
    def version(self) -> str | None:
        """The name of the version that was loaded or saved last."""
        return self._published.version if self._published else None

    def refresh(self) -> bool:
        """Take over the version that was published last; whether it is another one.

        StorageError where the index is not from a directory, or was changed since.
        """
        with self._writing:
            old = self._published
            if old is None:
                raise StorageError("refresh", "this index was neither loaded nor saved")
            if self._state is not old.state:
                raise StorageError(str(old.path), "this index has changes that were not saved")
            version = storage.current_version(old.path)
            if version == old.version:
                return False
            known = {part.segment.home: part for part in self._state.parts if part.segment.home}
            state, _ = storage.load(old.path, version, known=known)
            self._state, self._published = state, Published(old.path, version, state)
            return True

    def merge(self) -> None:
        """Make one segment of all there is, and wait for it."""
        with self._writing:
            state = self._state
            parts = (merged(self._parts(state), self.matcher),) if len(state) else ()
            self._state = replace(state, parts=parts, tail=())

    def _follow(self, state: State) -> None:
        """Put a new state in the place of the old; the writer's lock is held."""
        before = self._state.parts
        if len(state.tail) >= _TAIL:
            late = sorted(
                ((one.order, one.criterion) for one in state.tail), key=lambda pair: pair[0]
            )
            state = replace(state, parts=(*state.parts, self._part_of(late)), tail=())
        self._state = state
        changed = state.parts is not before
        if changed and self._merging is None and worth_merging(state.parts):
            self._merging = threading.Thread(target=self._merge_all, daemon=True)
            self._merging.start()

    def _merge_all(self) -> None:
        """Merge segments of like size until there is nothing more to merge."""
        try:
            while True:
                with self._writing:
                    sources = worth_merging(self._state.parts)
                    if not sources:
                        self._merging = None  # the next change may begin anew
                        return
                made = merged(sources, self.matcher) if any(map(len, sources)) else None
                with self._writing:
                    self._replace(sources, made)
        except BaseException:
            self._merging = None
            raise

    def _replace(self, sources: Sequence[Part], made: Part | None) -> None:
        """Put the merged part in the place of its sources, less what was removed meanwhile."""
        segments = {id(part.segment) for part in sources}
        kept = [part for part in self._state.parts if id(part.segment) not in segments]
        still = {
            order
            for part in self._state.parts
            if id(part.segment) in segments
            for order in part.roster.orders[part.places()].tolist()
        }
        if made is not None:
            alive = np.isin(made.roster.orders, np.array(sorted(still), np.int64))
            if not alive.all():
                made = replace(made, alive=frozen(alive))
            if alive.any():
                kept.append(made)
        self._state = replace(self._state, parts=tuple(kept))

    def _part_of(self, found: Sequence[tuple[int, Criterion]]) -> Part:
        """A part of criteria that are there already: one that cannot be planned is set aside."""
        orders = np.array([order for order, _ in found], np.int64)
        criteria = [criterion for _, criterion in found]
        try:
            return self._part(criteria, orders)
        except MemoryError:
            raise
        except Exception:
            sound = [self._is_plannable(criterion) for criterion in criteria]
            if all(sound):
                raise
            expressions = [
                criterion.expression if is_sound else Or()
                for criterion, is_sound in zip(criteria, sound, strict=True)
            ]
            segment = Segment.build(expressions, matcher=self.matcher, scalars=self.scalars)
            return Part(segment, Roster.of(criteria, orders))

    def _is_plannable(self, criterion: Criterion) -> bool:
        try:
            plan([criterion.expression], scalars=self.scalars)
        except MemoryError:
            raise
        except Exception as error:
            self._set_aside(criterion, error)
            return False
        return True

    def _part(self, criteria: Sequence[Criterion], orders: Longs, sample: Any = None) -> Part:
        expressions = [criterion.expression for criterion in criteria]
        seen = None if sample is None else lambda encoder: _encoded(encoder, sample, clock(None))
        segment = Segment.build(
            expressions, matcher=self.matcher, scalars=self.scalars, sample=seen
        )
        return Part(segment, Roster.of(criteria, orders))

    def _parts(self, state: State) -> tuple[Part, ...]:
        """The parts, and the tail as one more."""
        if not state.tail:
            return state.parts
        late = [(one.order, one.criterion) for one in state.tail]
        return (*state.parts, self._part_of(late))

    def _ask(
        self, state: State, events: Any, asked: Asked, ask: Callable[[Part, EventBatch], Found]
    ) -> Found:
        """What all parts answer for all events, in positions."""
        answers = []
        start = 0
        for part in self._parts(state):
            own = Found.joined([ask(part, batch) for batch in _batches(part, events, asked)])
            answers.append(replace(own, rows=own.rows + np.int32(start)) if start else own)
            start += len(part.roster)
        return Found.side_by_side(answers, _n_rows(events))


def load(
    path: str | PathLike[str],
    *,
    version: str | None = None,
    segments: Collection[str] | None = None,
) -> Index:
    """Open a saved index, by default its newest version; its arrays are memory-mapped.

    With `segments`, only those are opened.
    """
    state, found = storage.load(Path(path), version, segments)
    index = Index(matcher=found.facts["matcher"], scalars=found.facts["scalars"])
    index._state = state
    index._published = Published(Path(path), found.name, state)
    return index


def _batches(part: Part, events: Any, asked: Asked) -> Iterator[EventBatch]:
    """The events in numbers, so many at a time."""
    table = _table(events)
    for start in range(0, _n_rows(events), _AT_ONCE):
        some = events[start : start + _AT_ONCE] if table is None else table.slice(start, _AT_ONCE)
        yield _encoded(part.segment.encoder, some, asked.now)


def _encoded(encoder: Encoder, events: Any, now: int) -> EventBatch:
    table = _table(events)
    return encoder.encode(events, now) if table is None else arrow.encode(encoder, table, now)


def _table(events: Any) -> Any:
    """The events as an Arrow table, or None for a sequence of objects."""
    if isinstance(events, pa.Table | pa.RecordBatch):
        return events
    if hasattr(events, "__arrow_c_stream__"):  # pandas, Polars and others
        return pa.table(events)
    if isinstance(events, Sequence) and not isinstance(events, str | bytes):
        return None
    raise TypeError(f"events are a list, an Arrow table or a data frame, not {type(events)}")


def _n_rows(events: Any) -> int:
    table = _table(events)
    return len(events) if table is None else int(table.num_rows)


def _count(n: Any) -> int:
    """How many are wanted, checked."""
    try:
        whole = operator.index(n)
    except TypeError:
        raise TypeError(f"n is how many are wanted, a whole number, not {n!r}") from None
    if whole < 0:
        raise ValueError(f"a top of {n} makes no sense")
    return whole


def _found(state: State, id: str) -> tuple[int, int]:
    where = state.find(id)
    if where is None:
        raise CriterionNotFound(id)
    return where


def _given(criteria: Criterion | Iterable[Criterion]) -> tuple[Criterion, ...]:
    """One or many as many, no id twice."""
    found = (criteria,) if isinstance(criteria, Criterion) else tuple(criteria)
    _no_duplicates(found)
    return found


def _no_duplicates(criteria: Sequence[Criterion]) -> None:
    seen: set[str] = set()
    for criterion in criteria:
        if criterion.id in seen:
            raise DuplicateCriterion(criterion.id)
        seen.add(criterion.id)
