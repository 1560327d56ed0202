"""The table of clauses: what every matcher is built from, and what no operator or type reaches.

An event is a set of spaces. Dimension d owns the spaces `space_starts[d]` to
`space_starts[d + 1] - 1`; the first of them stands for "missing" and is never listed in an event,
the others are present. A scalar gives one present space on a dimension, a list perhaps several.

A predicate accepts some of its dimension's spaces. It holds when any of the event's spaces there
is accepted, or, where it is `every` (a negated one), when all of them are; on a missing dimension
it holds when `on_missing`. Only a predicate that does not hold on missing may be an access
predicate: whenever it holds, one of its spans has one of the event's spaces.

Within one clause, no dimension occurs twice.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from remuda.arrays import Bools, Ints, Longs, Ragged, frozen, starts_of


class Predicates(NamedTuple):
    """Distinct encoded predicates; predicate p accepts spans `span_starts[p]` and following.

    A span is `span_lo` to `span_hi - 1`, in present spaces; spans are disjoint and ascending.
    """

    dim: Ints
    on_missing: Bools
    every: Bools
    span_starts: Ints
    span_lo: Ints
    span_hi: Ints

    @classmethod
    def of(
        cls, dim: Any, on_missing: Any, every: Any, n_spans: Sequence[int] | Longs, lo: Any, hi: Any
    ) -> Predicates:
        """Predicates of plain columns; each has so many of the spans."""
        starts = starts_of(n_spans).astype(np.int32)
        dim, lo, hi = (np.ascontiguousarray(one, np.int32) for one in (dim, lo, hi))
        missing, all_of = (np.ascontiguousarray(one, np.bool_) for one in (on_missing, every))
        return frozen(cls(dim, missing, all_of, starts, lo, hi))

    @property
    def n_accepted(self) -> Longs:
        """How many present spaces each predicate accepts."""
        widths = starts_of(self.span_hi - self.span_lo)
        return widths[self.span_starts[1:]] - widths[self.span_starts[:-1]]


@dataclass(frozen=True, slots=True)
class ClauseTable:
    """Clauses of one kind over shared predicates: row i of `clauses` lists its predicates."""

    space_starts: Ints
    predicates: Predicates
    clauses: Ragged

    @property
    def n_dims(self) -> int:
        return len(self.space_starts) - 1

    @property
    def n_spaces(self) -> int:
        return int(self.space_starts[-1])

    @property
    def n_clauses(self) -> int:
        return len(self.clauses.starts) - 1

    def dim_of_space(self) -> Ints:
        """The dimension that each space belongs to."""
        return np.repeat(np.arange(self.n_dims, dtype=np.int32), np.diff(self.space_starts))


@dataclass(frozen=True, slots=True)
class CnfTable:
    """Conjunctions of disjunctions: row i of `rows` lists the clauses of `table` it asks for."""

    rows: Ragged
    table: ClauseTable

    @property
    def n_rows(self) -> int:
        return len(self.rows.starts) - 1


@dataclass(frozen=True, slots=True)
class EventBatch:
    """Events as the present spaces they have, ascending within each event."""

    starts: Longs
    spaces: Ints

    def __len__(self) -> int:
        return len(self.starts) - 1

    def one(self, i: int) -> EventBatch:
        """Event i as a batch of its own."""
        spaces = self.spaces[self.starts[i] : self.starts[i + 1]]
        return EventBatch(np.array([0, len(spaces)], np.int64), spaces)

    def some(self, first: int, last: int) -> EventBatch:
        """The events from `first` to `last - 1`."""
        starts = self.starts[first : last + 1]
        return EventBatch(starts - starts[0], self.spaces[starts[0] : starts[-1]])


def events_of_values(space_starts: Ints, starts: Longs, dims: Ints, values: Ints) -> EventBatch:
    """Events of plain columns: value v is space v + 1 of its dimension; dimensions ascend."""
    return EventBatch(starts.astype(np.int64), (space_starts[dims] + 1 + values).astype(np.int32))
