"""Generated columns to tables and batches, without a Python loop.

Each value of a dimension is a space of its own: value v is the present space v + 1.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from remuda.arrays import Ints, Longs, Ragged, frozen, starts_of, take_rows
from remuda.encoding.table import ClauseTable, CnfTable, EventBatch, Predicates
from remuda.workload.columns import Columns, EventColumns


def conjunctions_of(columns: Columns) -> ClauseTable:
    """The table of the conjunctions of criteria that are alternatives of them."""
    if columns.cnf.any():
        raise ValueError("these criteria are in conjunctive form")
    return _table(columns)


def cnf_of(columns: Columns) -> CnfTable:
    """The table of criteria that are disjunctions to hold together."""
    if not columns.cnf.all():
        raise ValueError("these criteria are not in conjunctive form")
    clauses = np.arange(len(columns.clause_starts) - 1, dtype=np.int32)
    return CnfTable(frozen(Ragged(columns.criterion_starts, clauses)), _table(columns))


def batch_of(space_starts: Ints, events: EventColumns) -> EventBatch:
    """The events in numbers."""
    spaces = space_starts[events.dims] + 1 + events.values
    return EventBatch(events.starts, spaces.astype(np.int32))


def _table(columns: Columns) -> ClauseTable:
    space_starts = starts_of(columns.n_values.astype(np.int64) + 1)
    if space_starts[-1] > np.iinfo(np.int32).max:
        raise ValueError("more than 2^31 spaces")
    firsts, same = _distinct(columns)
    return ClauseTable(
        frozen(space_starts.astype(np.int32)),
        _predicates(columns, firsts, space_starts),
        frozen(Ragged(columns.clause_starts, same.astype(np.int32))),
    )


def _distinct(columns: Columns) -> tuple[NDArray[Any], NDArray[Any]]:
    """One predicate for each distinct one, and which of them each is."""
    starts = columns.span_starts
    place = np.arange(len(columns.lo)) - np.repeat(starts[:-1], np.diff(starts))
    marks = _mixed(1, place, columns.lo, columns.hi)
    sums = np.zeros(len(marks) + 1, np.uint64)
    np.cumsum(marks, out=sums[1:])
    spans = sums[starts[1:]] - sums[starts[:-1]]
    prints = _mixed(2, columns.dims, columns.negated * 2 + columns.strong, spans)
    _, firsts, same = np.unique(prints, return_index=True, return_inverse=True)
    alike = firsts[same]
    rows = [Ragged(starts, bound) for bound in (columns.lo, columns.hi)]
    if all(np.array_equal(take_rows(row, alike).items, row.items) for row in rows) and all(
        np.array_equal(one[alike], one) for one in (columns.dims, columns.negated, columns.strong)
    ):
        return firsts, same.ravel()
    every = np.arange(len(columns.dims))  # two had one print: none is shared
    return every, every


def _mixed(seed: int, *numbers: NDArray[Any]) -> NDArray[np.uint64]:
    """A print of the numbers that stand side by side."""
    found = np.full(len(numbers[0]), seed, np.uint64)
    for one in numbers:
        found = (found ^ one.astype(np.uint64)) * np.uint64(0x9E3779B97F4A7C15)
        found ^= found >> np.uint64(29)
        found = found * np.uint64(0xBF58476D1CE4E5B9)
        found ^= found >> np.uint64(32)
    return found


def _predicates(columns: Columns, chosen: NDArray[Any], space_starts: Longs) -> Predicates:
    dims, negated = columns.dims[chosen].astype(np.int64), columns.negated[chosen]
    lows = take_rows(Ragged(columns.span_starts, columns.lo), chosen)
    highs = take_rows(Ragged(columns.span_starts, columns.hi), chosen)
    counts = np.diff(lows.starts)
    first = space_starts[dims] + 1
    last = space_starts[dims + 1]
    lo = lows.items + np.repeat(first, counts)
    hi = highs.items + np.repeat(first, counts) + 1
    # a negated predicate accepts what lies between: its edges are those of the spans, shifted
    edges = np.empty(2 * len(lo) + 2 * len(dims), np.int64)
    at = 2 * np.arange(len(lo)) + 1 + 2 * np.repeat(np.arange(len(dims)), counts)
    edges[at], edges[at + 1] = lo, hi
    ends = 2 * lows.starts + 2 * np.arange(len(dims) + 1)
    edges[ends[:-1]], edges[ends[1:] - 1] = first, last
    between = edges.reshape(-1, 2)
    n_between = counts + 1
    take = np.where(negated, n_between, counts)
    spans = np.empty((int(take.sum()), 2), np.int64)
    owner_negated = np.repeat(negated, take)
    spans[owner_negated] = between[np.repeat(negated, n_between)]
    spans[~owner_negated] = np.stack([lo, hi], axis=1)[np.repeat(~negated, counts)]
    kept = spans[:, 0] < spans[:, 1]
    owners = np.repeat(np.arange(len(dims)), take)[kept]
    return frozen(
        Predicates(
            dims.astype(np.int32),
            negated & ~columns.strong[chosen],
            negated.copy(),
            starts_of(np.bincount(owners, minlength=len(dims))).astype(np.int32),
            spans[kept, 0].astype(np.int32),
            spans[kept, 1].astype(np.int32),
        )
    )
