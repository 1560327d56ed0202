"""Generated workloads in encoded form: value v is the present space v + 1 of its dimension."""

from __future__ import annotations

import numpy as np

from remuda.arrays import Bools, Ints, Longs, Ragged, frozen, starts_of, take_rows
from remuda.encoding.table import (
    ClauseTable,
    CnfTable,
    EventBatch,
    Predicates,
    events_of_values,
)
from remuda.workload.columns import Columns, EventColumns


def dnf_table(columns: Columns) -> ClauseTable:
    """The clauses of the criteria that are in DNF."""
    every = _all_clauses(columns)
    if not columns.cnf.any():
        return every
    clauses = take_rows(every.clauses, _clauses_of(columns, ~columns.cnf).items)
    return ClauseTable(every.space_starts, every.predicates, frozen(clauses))


def cnf_table(columns: Columns) -> CnfTable:
    """The criteria that are in CNF, as rows over their clauses."""
    every = _all_clauses(columns)
    rows = _clauses_of(columns, columns.cnf)
    clauses = frozen(take_rows(every.clauses, rows.items))
    renumbered = Ragged(rows.starts, np.arange(len(rows.items), dtype=np.int32))
    return CnfTable(frozen(renumbered), ClauseTable(every.space_starts, every.predicates, clauses))


def event_batch(columns: Columns, events: EventColumns) -> EventBatch:
    """The events in the spaces of the tables."""
    return events_of_values(_space_starts(columns), events.starts, events.dims, events.values)


def _clauses_of(columns: Columns, criteria: Bools) -> Ragged:
    n_clauses = len(columns.clause_starts) - 1
    every = Ragged(columns.criterion_starts, np.arange(n_clauses, dtype=np.int32))
    return take_rows(every, np.flatnonzero(criteria))


def _space_starts(columns: Columns) -> Ints:
    starts = starts_of(columns.n_values.astype(np.int64) + 1)
    if starts[-1] > np.iinfo(np.int32).max:
        raise ValueError("more than 2^31 spaces")
    return frozen(starts.astype(np.int32))


def _all_clauses(columns: Columns) -> ClauseTable:
    starts, lo, hi = _joined_spans(columns)
    first, inverse = _distinct(columns, starts, lo, hi)
    space_starts = _space_starts(columns)
    distinct = take_rows(Ragged(starts, lo), first), take_rows(Ragged(starts, hi), first)
    return ClauseTable(
        space_starts,
        _predicates(columns, first, *distinct, space_starts),
        frozen(Ragged(columns.clause_starts, inverse.astype(np.int32))),
    )


def _joined_spans(columns: Columns) -> tuple[Longs, Ints, Ints]:
    """The spans of each predicate, those that touch joined into one."""
    starts, lo, hi = columns.span_starts, columns.lo, columns.hi
    begins = np.ones(len(lo), np.bool_)
    begins[1:] = lo[1:] > hi[:-1] + 1
    begins[starts[:-1]] = True
    ends = np.append(begins[1:], True)
    return starts_of(begins)[starts], lo[begins], hi[ends]


def _distinct(columns: Columns, starts: Longs, lo: Ints, hi: Ints) -> tuple[Longs, Longs]:
    """One of each kind of equal predicates, and the kind of each predicate.

    Each step numbers the pairs of what was seen so far and the next span.
    """
    keys = columns.dims.astype(np.int64) * 4 + columns.negated * 2 + columns.strong
    counts, size = np.diff(starts), int(columns.n_values.max())
    following = 0
    for i in range(counts.max(initial=0)):
        rows = np.flatnonzero(counts > i)
        at = starts[rows] + i
        pairs = (keys[rows] * size + lo[at]) * size + hi[at]
        _, seen = np.unique(pairs, return_inverse=True)
        keys[rows] = seen + following
        following += int(seen.max()) + 1  # those that end here keep numbers of their own
    _, first, inverse = np.unique(keys, return_index=True, return_inverse=True)
    return first, inverse


def _predicates(
    columns: Columns, rows: Longs, lo: Ragged, hi: Ragged, space_starts: Ints
) -> Predicates:
    dim, negated, strong = columns.dims[rows], columns.negated[rows], columns.strong[rows]
    first, last = space_starts[dim] + 1, space_starts[dim + 1]
    counts = np.diff(lo.starts)
    owner = np.repeat(np.arange(len(rows)), counts)
    from_, to = first[owner] + lo.items, first[owner] + hi.items + 1
    # a negated predicate accepts the gaps: before its spans, between them and after them
    starts = starts_of(counts + negated)
    at = np.arange(len(owner)) - lo.starts[owner] + starts[owner]
    refused = negated[owner]
    span_lo, span_hi = np.empty(starts[-1], np.int32), np.empty(starts[-1], np.int32)
    span_lo[at + refused] = np.where(refused, to, from_)
    span_hi[at] = np.where(refused, from_, to)
    span_lo[starts[:-1][negated]] = first[negated]
    span_hi[starts[1:][negated] - 1] = last[negated]
    kept = span_lo < span_hi
    span_starts = starts_of(kept)[starts].astype(np.int32)
    return frozen(
        Predicates(dim, negated & ~strong, negated, span_starts, span_lo[kept], span_hi[kept])
    )
