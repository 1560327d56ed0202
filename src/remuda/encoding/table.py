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

from dataclasses import dataclass
from typing import NamedTuple

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


def intervals(
    n_values: int | Ints,
    clause_starts: Longs,
    dims: Ints,
    lo: Ints,
    hi: Ints,
    *,
    negated: Bools | None = None,
    strong: Bools | None = None,
    n_dims: int | None = None,
) -> ClauseTable:
    """A table from plain columns: clause i asks for lo <= value <= hi on each of its dimensions.

    Values run from 0 to `n_values - 1` and each is a space of its own (value v is the present
    space v + 1 of its dimension). This is how generated workloads enter, without a Python loop.
    """
    n_dims = int(dims.max()) + 1 if n_dims is None else n_dims
    sizes = np.broadcast_to(np.asarray(n_values, np.int64), (n_dims,))
    space_starts = starts_of(sizes + 1)
    if space_starts[-1] > np.iinfo(np.int32).max:
        raise ValueError("more than 2^31 spaces")
    negated = np.zeros(len(dims), np.bool_) if negated is None else negated
    strong = np.zeros(len(dims), np.bool_) if strong is None else strong
    columns = np.stack([dims, lo, hi, negated, strong], axis=1).astype(np.int64)
    shape = [n_dims, int(sizes.max()) + 1, int(sizes.max()) + 1, 2, 2]
    packed = np.zeros(len(dims), np.int64)
    for column, size in zip(columns.T, shape, strict=True):
        packed = packed * size + column
    _, first, inverse = np.unique(packed, return_index=True, return_inverse=True)
    distinct = columns[first]
    return ClauseTable(
        frozen(space_starts.astype(np.int32)),
        _interval_predicates(distinct, space_starts),
        frozen(Ragged(clause_starts.astype(np.int64), inverse.astype(np.int32).ravel())),
    )


def events_of_values(space_starts: Ints, starts: Longs, dims: Ints, values: Ints) -> EventBatch:
    """Events of plain columns, as in `intervals`; dimensions ascend within each event."""
    return EventBatch(starts.astype(np.int64), (space_starts[dims] + 1 + values).astype(np.int32))


def _interval_predicates(distinct: np.ndarray, space_starts: Longs) -> Predicates:
    dim, lo, hi, negated, strong = distinct.T
    first, last = space_starts[dim] + 1, space_starts[dim + 1]
    negated = negated.astype(np.bool_)
    from_, to = first + lo, first + hi + 1
    # a negated predicate accepts what lies below and above its interval
    spans = np.stack(
        [np.where(negated, first, from_), np.where(negated, from_, to), to, last], axis=1
    )
    spans[~negated, 2:] = 0
    spans = spans.reshape(-1, 2)
    kept = spans[:, 0] < spans[:, 1]
    counts = kept.reshape(-1, 2).sum(axis=1)
    return frozen(
        Predicates(
            dim.astype(np.int32),
            negated & ~strong.astype(np.bool_),
            negated,
            starts_of(counts).astype(np.int32),
            spans[kept, 0].astype(np.int32),
            spans[kept, 1].astype(np.int32),
        )
    )
