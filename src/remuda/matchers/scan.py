"""SCAN: every clause is evaluated for every event."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np

from remuda.arrays import Bools, Ints, Longs, Ragged, frozen
from remuda.encoding.table import ClauseTable, CnfTable, EventBatch, Predicates
from remuda.jit import kernel
from remuda.matchers.contract import Hits
from remuda.matchers.kernels.output import grown
from remuda.matchers.kernels.truth import holds, lay_out, take_away


@dataclass(frozen=True, slots=True)
class Scan:
    """Conjunctions in their order, each with its most selective predicate first."""

    predicates: Predicates
    clauses: Ragged
    dims: Ints  # of each item of `clauses`; ~dim where the predicate holds on missing
    dim_of_space: Ints
    n_dims: int

    @classmethod
    def build(cls, table: ClauseTable) -> Self:
        predicates = table.predicates
        clauses = _most_selective_first(table)
        dims = predicates.dim[clauses.items]
        dims = np.where(predicates.on_missing[clauses.items], ~dims, dims)
        return cls(predicates, clauses, frozen(dims), frozen(table.dim_of_space()), table.n_dims)

    def match(self, events: EventBatch) -> Hits:
        starts, rows = _scan(
            events.starts, events.spaces, *self.clauses, self.dims, self.dim_of_space,
            self.n_dims, *self.predicates,
        )  # fmt: skip
        return Hits(starts, rows, len(events) * (len(self.clauses.starts) - 1))

    @property
    def nbytes(self) -> int:
        return sum(array.nbytes for array in (*self.predicates, *self.clauses, self.dims))


@dataclass(frozen=True, slots=True)
class CnfScan:
    """Conjunctions of disjunctions, evaluated one after the other."""

    cnf: CnfTable
    dim_of_space: Ints

    @classmethod
    def build(cls, cnf: CnfTable) -> Self:
        return cls(cnf, frozen(cnf.table.dim_of_space()))

    def match(self, events: EventBatch) -> Hits:
        table = self.cnf.table
        starts, rows = _scan_cnf(
            events.starts, events.spaces, *self.cnf.rows, *table.clauses, self.dim_of_space,
            table.n_dims, *table.predicates,
        )  # fmt: skip
        return Hits(starts, rows, len(events) * self.cnf.n_rows)

    @property
    def nbytes(self) -> int:
        table = self.cnf.table
        return sum(a.nbytes for a in (*self.cnf.rows, *table.clauses, *table.predicates))


def _most_selective_first(table: ClauseTable) -> Ragged:
    """The clauses with the predicates sorted so that a false one is met early."""
    predicates, clauses = table.predicates, table.clauses
    sizes = np.diff(table.space_starts)[predicates.dim]
    share = predicates.n_accepted / np.maximum(sizes - 1, 1)
    cost = np.where(predicates.on_missing, 2.0, 0.0) + share
    rows = np.repeat(np.arange(table.n_clauses), np.diff(clauses.starts))
    order = np.lexsort((cost[clauses.items], rows))
    return frozen(Ragged(clauses.starts, clauses.items[order]))


@kernel
def _scan(
    event_starts: Longs,
    spaces: Ints,
    clause_starts: Longs,
    items: Ints,
    item_dims: Ints,
    dim_of_space: Ints,
    n_dims: int,
    dims: Ints,
    on_missing: Bools,
    every: Bools,
    span_starts: Ints,
    span_lo: Ints,
    span_hi: Ints,
) -> tuple[Longs, Ints]:
    n_events, n_clauses = len(event_starts) - 1, len(clause_starts) - 1
    starts = np.zeros(n_events + 1, np.int64)
    rows = np.empty(1024, np.int32)
    first, last = np.zeros(n_dims, np.int64), np.zeros(n_dims, np.int64)
    n = 0
    for event in range(n_events):
        begin, end = event_starts[event], event_starts[event + 1]
        lay_out(spaces, begin, end, dim_of_space, first, last)
        for clause in range(n_clauses):
            found = True
            for i in range(clause_starts[clause], clause_starts[clause + 1]):
                dim = item_dims[i]
                if dim >= 0 and last[dim] == 0:  # missing, as most are: decided without a look
                    found = False
                    break
                if not holds(
                    items[i], spaces, first, last,
                    dims, on_missing, every, span_starts, span_lo, span_hi,
                ):  # fmt: skip
                    found = False
                    break
            if found:
                if n == len(rows):
                    rows = grown(rows, n + 1)
                rows[n] = clause
                n += 1
        take_away(spaces, begin, end, dim_of_space, first, last)
        starts[event + 1] = n
    return starts, rows[:n].copy()


@kernel
def _scan_cnf(
    event_starts: Longs,
    spaces: Ints,
    row_starts: Longs,
    row_clauses: Ints,
    clause_starts: Longs,
    items: Ints,
    dim_of_space: Ints,
    n_dims: int,
    dims: Ints,
    on_missing: Bools,
    every: Bools,
    span_starts: Ints,
    span_lo: Ints,
    span_hi: Ints,
) -> tuple[Longs, Ints]:
    n_events, n_rows = len(event_starts) - 1, len(row_starts) - 1
    starts = np.zeros(n_events + 1, np.int64)
    rows = np.empty(1024, np.int32)
    first, last = np.zeros(n_dims, np.int64), np.zeros(n_dims, np.int64)
    n = 0
    for event in range(n_events):
        begin, end = event_starts[event], event_starts[event + 1]
        lay_out(spaces, begin, end, dim_of_space, first, last)
        for row in range(n_rows):
            found = True
            for j in range(row_starts[row], row_starts[row + 1]):
                clause = row_clauses[j]
                some = False
                for i in range(clause_starts[clause], clause_starts[clause + 1]):
                    if holds(
                        items[i], spaces, first, last,
                        dims, on_missing, every, span_starts, span_lo, span_hi,
                    ):  # fmt: skip
                        some = True
                        break
                if not some:
                    found = False
                    break
            if found:
                if n == len(rows):
                    rows = grown(rows, n + 1)
                rows[n] = row
                n += 1
        take_away(spaces, begin, end, dim_of_space, first, last)
        starts[event + 1] = n
    return starts, rows[:n].copy()
