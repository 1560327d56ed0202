"""Indexes: criteria that can be asked which of them an event satisfies."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

import numpy as np
import pyarrow as pa

from remuda.arrays import Ints, Longs
from remuda.encoding import arrow
from remuda.encoding.table import EventBatch
from remuda.errors import CriterionNotFound, DuplicateCriterion
from remuda.index.matches import Match, Matches
from remuda.index.segment import Segment
from remuda.language.criterion import Criterion
from remuda.matchers.contract import Hits
from remuda.model.attributes import Attribute
from remuda.model.explanations import Explanation
from remuda.model.expressions import attribute_weights, clock

_AT_ONCE = 1 << 14  # rows of a table that are encoded and matched together


@dataclass(frozen=True, slots=True)
class Index:
    """Criteria under their ids, with the segment that finds them."""

    criteria: tuple[Criterion, ...]
    segment: Segment
    matcher: str
    _places: dict[str, int] = field(repr=False)
    _names: tuple[str, ...] = field(repr=False)
    _ranks: Ints = field(repr=False)  # the place of each id among all, by code point

    @classmethod
    def build(
        cls, criteria: Iterable[Criterion], *, matcher: str = "scan", scalars: Iterable[str] = ()
    ) -> Index:
        """Index the criteria; `scalars` are attributes that are never lists."""
        found = tuple(criteria)
        places: dict[str, int] = {}
        for place, criterion in enumerate(found):
            if places.setdefault(criterion.id, place) != place:
                raise DuplicateCriterion(criterion.id)
        segment = Segment.build(
            [criterion.expression for criterion in found],
            matcher=matcher,
            scalars=frozenset(map(Attribute.parse, scalars)),
        )
        names = tuple(places)
        ranks = np.empty(len(names), np.int32)
        ranks[sorted(range(len(names)), key=names.__getitem__)] = np.arange(len(names))
        return cls(found, segment, matcher, places, names, ranks)

    def __len__(self) -> int:
        return len(self.criteria)

    def __contains__(self, id: object) -> bool:
        return id in self._places

    def __getitem__(self, id: str) -> Criterion:
        if id not in self._places:
            raise CriterionNotFound(id)
        return self.criteria[self._places[id]]

    def match(self, event: Any, *, now: datetime | int | None = None) -> list[str]:
        """The ids of the criteria that the event satisfies, in insertion order."""
        rows = self.segment.match(self._encode_one(event, now)).rows
        rows.sort()
        return [self._names[row] for row in rows.tolist()]

    def match_many(self, events: Any, *, now: datetime | int | None = None) -> Matches:
        """The same for many: a list of objects, an Arrow table, a pandas or Polars frame."""
        found = [self.segment.match(batch) for batch in self._batches(events, now)]
        starts, rows = _joined(found)
        return Matches(starts, rows, self._names)

    def top(
        self,
        event: Any,
        n: int,
        *,
        weights: Mapping[str, float] | None = None,
        now: datetime | int | None = None,
    ) -> list[Match]:
        """The n best by score, ties by id in code-point order."""
        best = self.top_many([event], n, weights=weights, now=now)
        assert best.scores is not None
        return [Match(*pair) for pair in zip(best.ids(0), best.scores.tolist(), strict=True)]

    def top_many(
        self,
        events: Any,
        n: int,
        *,
        weights: Mapping[str, float] | None = None,
        now: datetime | int | None = None,
    ) -> Matches:
        """The n best of each event."""
        if n < 0:
            raise ValueError(f"a top of {n} makes no sense")
        by_attribute = attribute_weights(weights)
        kept, scores = [], []
        for batch in self._batches(events, now):
            found = self.segment.match(batch)
            scored = self.segment.scores(batch, found, by_attribute)
            best, starts = self._best(found, scored, n)
            kept.append(Hits(starts, found.rows[best], found.candidates))
            scores.append(scored[best])
        starts, rows = _joined(kept)
        return Matches(starts, rows, self._names, np.concatenate([np.empty(0), *scores]))

    def count_many(self, events: Any, *, now: datetime | int | None = None) -> Longs:
        """How many criteria each event satisfies."""
        counts = [np.diff(self.segment.match(b).starts) for b in self._batches(events, now)]
        return np.concatenate([np.empty(0, np.int64), *counts])

    def reach(self, events: Any, *, now: datetime | int | None = None) -> Longs:
        """How many of the events each criterion holds for, in insertion order."""
        reach = np.zeros(len(self), np.int64)
        for batch in self._batches(events, now):
            reach += np.bincount(self.segment.match(batch).rows, minlength=len(self))
        return reach

    def explain(self, event: Any, id: str, *, now: datetime | int | None = None) -> Explanation:
        """Why the criterion holds for the event, or why not."""
        return self[id].explain(event, now=now)

    def stats(self) -> dict[str, Any]:
        """Sizes: criteria, clauses, dimensions, spaces, bytes, matcher."""
        made = self.segment.plan
        return {
            "criteria": len(self),
            "clauses": made.conjunctions.n_clauses + made.cnf.table.n_clauses,
            "dimensions": made.conjunctions.n_dims,
            "spaces": made.conjunctions.n_spaces,
            "bytes": self.segment.matcher.nbytes + self.segment.cnf.nbytes,
            "matcher": self.matcher,
        }

    def _encode_one(self, event: Any, now: datetime | int | None) -> EventBatch:
        return self.segment.encoder.encode((event,), clock(now))

    def _batches(self, events: Any, now: datetime | int | None) -> Iterator[EventBatch]:
        moment = clock(now)
        encoder = self.segment.encoder
        table = _table(events)
        if table is None:
            for start in range(0, len(events), _AT_ONCE):
                yield encoder.encode(events[start : start + _AT_ONCE], moment)
        else:
            for start in range(0, table.num_rows, _AT_ONCE):
                yield arrow.encode(encoder, table.slice(start, _AT_ONCE), moment)

    def _best(self, found: Hits, scores: Any, n: int) -> tuple[Longs, Longs]:
        """Which of those found are among the n best of their event, best first."""
        counts = np.diff(found.starts)
        events = np.repeat(np.arange(len(counts)), counts)
        order = np.lexsort((self._ranks[found.rows], -scores, events))
        place = np.arange(len(order)) - np.repeat(found.starts[:-1], counts)
        starts = np.zeros(len(counts) + 1, np.int64)
        np.cumsum(np.minimum(counts, n), out=starts[1:])
        return order[place < n], starts


def _table(events: Any) -> pa.Table | pa.RecordBatch | None:
    """The events as an Arrow table, or None for a sequence of objects."""
    if isinstance(events, pa.Table | pa.RecordBatch):
        return events
    if hasattr(events, "__arrow_c_stream__"):  # pandas, Polars and others
        return pa.table(events)
    if isinstance(events, Sequence):
        return None
    raise TypeError(f"events are a list, an Arrow table or a data frame, not {type(events)}")


def _joined(found: Sequence[Hits]) -> tuple[Longs, Ints]:
    """Batches one after the other."""
    counts = np.concatenate([np.empty(0, np.int64), *(np.diff(hits.starts) for hits in found)])
    starts = np.zeros(len(counts) + 1, np.int64)
    np.cumsum(counts, out=starts[1:])
    return starts, np.concatenate([np.empty(0, np.int32), *(hits.rows for hits in found)])
