"""Answers: which criteria each event of a batch satisfies."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import pyarrow as pa

from remuda.arrays import Bools, Floats, Ints, Longs
from remuda.index.state import Names
from remuda.matchers.contract import Hits

Array: TypeAlias = Any  # pyarrow has no types of its own

_AT_ONCE = 1 << 22  # matches in one chunk of a table


class Match(NamedTuple):
    """A criterion that holds, and its score."""

    id: str
    score: float


@dataclass(frozen=True, slots=True)
class Matches:
    """A ragged array: event i satisfies `positions[offsets[i] : offsets[i + 1]]`.

    Positions are places in `names`, the ids that the index had when it answered, and are in no
    order unless there are scores, which are best first. `errors` is an Arrow array where events
    were JSON texts, and says of each that is no object why, null of the others. `exact` is there
    where regions were asked about, and says of each whether its answer is exact: where not, there
    may be too many that are possible, or too few that are certain. No Python object is built unless
    it is asked for.
    """

    offsets: Longs
    positions: Ints
    names: Names
    scores: Floats | None = None
    errors: Array | None = None
    exact: Bools | None = None

    @classmethod
    def of(cls, hits: Hits, names: Names, errors: Array | None = None) -> Matches:
        """Hits whose rows are positions."""
        return cls(hits.starts, hits.rows, names, hits.scores, errors)

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def ids(self, i: int) -> list[str]:
        """The ids of event i: in insertion order, or best first where there are scores."""
        return [self.names[position] for position in self._own(i)]

    def payloads(self, i: int) -> list[Any]:
        """The payloads of what event i satisfies, in the order of `ids`; read when asked for."""
        return [self.names.criterion(position).payload for position in self._own(i)]

    def _own(self, i: int) -> list[int]:
        own = self.positions[self.offsets[i] : self.offsets[i + 1]]
        if self.scores is None:
            own = own[np.argsort(self.names.orders[own])]
        found: list[int] = own.tolist()
        return found

    def best(self, i: int) -> list[Match]:
        """The ids of event i with their scores, best first."""
        if self.scores is None:
            raise ValueError("these matches have no scores: ask with top_many")
        own = self.scores[self.offsets[i] : self.offsets[i + 1]]
        return list(map(Match, self.ids(i), own.tolist()))

    def counts(self) -> Longs:
        """How many criteria each event satisfies."""
        return np.diff(self.offsets)

    def in_order(self) -> Matches:
        """The same with the positions of each event in insertion order."""
        if self.scores is not None:
            return self
        orders = self.names.orders
        if len(orders) > 1 and np.any(orders[1:] < orders[:-1]):
            by_order = np.argsort(orders)
            ranks = np.empty(len(orders), np.int64)
            ranks[by_order] = np.arange(len(orders))
        else:
            by_order = ranks = np.arange(len(orders))
        events = np.repeat(np.arange(len(self)), self.counts())
        keys = np.sort(events << 32 | ranks[self.positions])  # faster than sorting by two keys
        return replace(self, positions=by_order[keys & 0xFFFFFFFF].astype(np.int32))

    def to_arrow(self) -> pa.Table:
        """A table with a row an event: `ids`, and `scores` where there are any."""
        ids, scores = [], []
        for first, last in self._spans():
            offsets = self.offsets[first : last + 1]
            own, starts = slice(offsets[0], offsets[-1]), pa.array(offsets - offsets[0], pa.int32())
            names = self.names.at(self.positions[own])
            ids.append(pa.ListArray.from_arrays(starts, names))
            if self.scores is not None:
                scores.append(pa.ListArray.from_arrays(starts, pa.array(self.scores[own])))
        columns = {"ids": pa.chunked_array(ids, pa.list_(pa.string()))}
        if self.scores is not None:
            columns["scores"] = pa.chunked_array(scores, pa.list_(pa.float64()))
        return pa.table(columns)

    def _spans(self) -> list[tuple[int, int]]:
        """Events in runs of so few matches that Arrow's short offsets suffice, or of one event."""
        spans, first = [], 0
        while first < len(self):
            most = self.offsets[first] + _AT_ONCE
            last = int(np.searchsorted(self.offsets, most, side="right")) - 1
            spans.append((first, max(last, first + 1)))
            first = spans[-1][1]
        return spans
