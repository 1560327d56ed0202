"""SCAN: every clause is evaluated for every event.

Most predicates accept one span, and most events have one space on a dimension: then two
comparisons decide. `tests` has what they need, a row an item: the dimension, the first and the
last of the accepted spaces, and the predicate, as ~predicate where they are not all between.
Before that, `heads` has a dimension for each clause without which it is false: most clauses end
there, and their tests are not even read.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np

from remuda.arrays import Ints, Longs, Ragged, frozen
from remuda.encoding.table import ClauseTable, CnfTable, EventBatch, Predicates
from remuda.jit import kernel
from remuda.matchers.contract import Features, Hits
from remuda.matchers.kernels.access import access_predicates
from remuda.matchers.kernels.disjunctions import all_hold
from remuda.matchers.kernels.growth import grown
from remuda.matchers.kernels.truth import accepts, holds, lay_out, no_event, take_away

_MISSING, _SEVERAL = -1, -2  # instead of a space


@dataclass(frozen=True, slots=True)
class Scan:
    """Conjunctions in their order, each with its most selective predicate first."""

    features: ClassVar[Features] = Features(layout=1)

    predicates: Predicates
    starts: Longs  # of the tests of each clause
    heads: Ints
    tests: Ints
    dim_of_space: Ints
    n_dims: int

    @classmethod
    def build(cls, table: ClauseTable) -> Self:
        clauses = _most_selective_first(table)
        tests = _tests(table.predicates)[clauses.items]
        # the dimension of each clause's first predicate; `n_dims`, always there, if it may lack
        first = access_predicates(clauses, ~table.predicates.on_missing)
        heads = np.append(table.predicates.dim, np.int32(table.n_dims))[first]
        return cls(
            table.predicates, clauses.starts, frozen(heads), frozen(tests),
            frozen(table.dim_of_space()), table.n_dims,
        )  # fmt: skip

    def match(self, events: EventBatch) -> Hits:
        starts, rows = _scan(
            events.starts, events.spaces, self.starts, self.heads, self.tests,
            self.dim_of_space, self.n_dims, self.predicates,
        )  # fmt: skip
        return Hits(starts, rows, len(events) * (len(self.starts) - 1))

    @property
    def nbytes(self) -> int:
        own = (*self.predicates, self.starts, self.heads, self.tests)
        return sum(array.nbytes for array in own)


@dataclass(frozen=True, slots=True)
class CnfScan:
    """Conjunctions of disjunctions, evaluated one after the other."""

    features: ClassVar[Features] = Features(layout=1)

    cnf: CnfTable
    dim_of_space: Ints

    @classmethod
    def build(cls, cnf: CnfTable) -> Self:
        return cls(cnf, frozen(cnf.table.dim_of_space()))

    def match(self, events: EventBatch) -> Hits:
        table = self.cnf.table
        starts, rows = _scan_cnf(
            events.starts, events.spaces, self.cnf.rows, table.clauses, self.dim_of_space,
            table.n_dims, table.predicates,
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


def _tests(predicates: Predicates) -> Ints:
    """The row of each predicate; one that holds on missing accepts from before all spaces on."""
    starts, numbers = predicates.span_starts, np.arange(len(predicates.dim))
    some = np.flatnonzero(np.diff(starts))
    tests = np.zeros((len(numbers), 4), np.int32)
    tests[:, 0] = predicates.dim
    tests[some, 1] = predicates.span_lo[starts[some]]
    tests[some, 2] = predicates.span_hi[starts[some + 1] - 1]
    tests[predicates.on_missing, 1:3] = _SEVERAL, np.iinfo(np.int32).max
    simple = (np.diff(starts) <= 1) & ~predicates.on_missing
    tests[:, 3] = np.where(simple, numbers, ~numbers)
    return tests


@kernel
def _scan(
    event_starts: Longs,
    spaces: Ints,
    clause_starts: Longs,
    heads: Ints,
    tests: Ints,
    dim_of_space: Ints,
    n_dims: int,
    predicates: Predicates,
) -> tuple[Longs, Ints]:
    n_events, n_clauses = len(event_starts) - 1, len(clause_starts) - 1
    starts = np.zeros(n_events + 1, np.int64)
    rows = np.empty(1024, np.int32)
    laid_out = no_event(spaces, n_dims)
    only = np.full(n_dims + 1, _MISSING, np.int32)  # the space of an event where it has just one
    only[n_dims] = 0
    n = 0
    for event in range(n_events):
        begin, end = event_starts[event], event_starts[event + 1]
        lay_out(laid_out, begin, end, dim_of_space)
        for i in range(begin, end):
            dim = dim_of_space[spaces[i]]
            only[dim] = spaces[i] if laid_out.last[dim] - laid_out.first[dim] == 1 else _SEVERAL
        for clause in range(n_clauses):
            if only[heads[clause]] == _MISSING:
                continue
            matches = True
            for i in range(clause_starts[clause], clause_starts[clause + 1]):
                space, predicate = only[tests[i, 0]], tests[i, 3]
                inside = tests[i, 1] <= space < tests[i, 2]
                if space != _SEVERAL and (predicate >= 0 or not inside):
                    matches = inside
                elif space >= 0:
                    starts_ = predicates.span_starts
                    matches = accepts(
                        space, starts_[~predicate], starts_[~predicate + 1],
                        predicates.span_lo, predicates.span_hi,
                    )  # fmt: skip
                else:
                    matches = holds(max(predicate, ~predicate), predicates, laid_out)
                if not matches:
                    break
            if matches:
                rows = grown(rows, n + 1)
                rows[n] = clause
                n += 1
        for i in range(begin, end):
            only[dim_of_space[spaces[i]]] = _MISSING
        take_away(laid_out, begin, end, dim_of_space)
        starts[event + 1] = n
    return starts, rows[:n].copy()


@kernel
def _scan_cnf(
    event_starts: Longs,
    spaces: Ints,
    cnf_rows: Ragged,
    clauses: Ragged,
    dim_of_space: Ints,
    n_dims: int,
    predicates: Predicates,
) -> tuple[Longs, Ints]:
    n_events = len(event_starts) - 1
    starts = np.zeros(n_events + 1, np.int64)
    rows = np.empty(1024, np.int32)
    laid_out = no_event(spaces, n_dims)
    n = 0
    for event in range(n_events):
        begin, end = event_starts[event], event_starts[event + 1]
        lay_out(laid_out, begin, end, dim_of_space)
        for row in range(len(cnf_rows.starts) - 1):
            if all_hold(row, cnf_rows, clauses, predicates, laid_out):
                rows = grown(rows, n + 1)
                rows[n] = row
                n += 1
        take_away(laid_out, begin, end, dim_of_space)
        starts[event + 1] = n
    return starts, rows[:n].copy()
