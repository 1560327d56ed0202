"""Checks of arrays that come from a disk: none leads a kernel outside of another.

Checksums tell damage; these hold whoever wrote the file. They are linear and few, since a saved
index is checked each time it is loaded. What they let through may be a wrong plan, but never one
that makes a kernel read elsewhere: every invariant that builders and kernels rely on is here.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from remuda.arrays import Bools, Ints, Longs, Ragged
from remuda.encoding.plan import MAX_PREDICATES, Plan
from remuda.encoding.programs import Programs
from remuda.encoding.table import ClauseTable, CnfTable, Predicates
from remuda.jit import kernel

Numbers = NDArray[Any]


class Unsound(ValueError):
    """Arrays whose numbers lead outside of one another."""


def check(claim: Any, what: str) -> None:
    """Refuse arrays of which the claim is not true."""
    if not claim:
        raise Unsound(f"the {what} are not those of an index")


def check_starts(starts: Numbers, n_rows: int, end: int, what: str) -> None:
    """Starts of so many rows that share out `end` items."""
    check(starts.shape == (n_rows + 1,), what)
    check(starts[0] == 0 and starts[-1] == end and (starts[:-1] <= starts[1:]).all(), what)


def check_within(items: Numbers, first: int, end: int, what: str, n: int | None = None) -> None:
    """Numbers from `first` to `end - 1`, and so many of them where that is known."""
    check(items.ndim == 1 and n in (None, len(items)), what)
    check(len(items) == 0 or (items.min() >= first and items.max() < end), what)


def check_bools(flags: Bools, n: int, what: str) -> None:
    """So many flags: a byte that is neither 0 nor 1 makes NumPy count wrongly."""
    check_within(flags.view(np.uint8), 0, 2, what, n)


def check_floats(weights: Numbers, n: int, what: str) -> None:
    """So many numbers of any size."""
    check(weights.shape == (n,), what)


def check_ragged(rows: Ragged, n_rows: int, end: int, what: str, first: int = 0) -> None:
    """Rows of numbers from `first` to `end - 1`."""
    check_starts(rows.starts, n_rows, len(rows.items), what)
    check_within(rows.items, first, end, what)


def check_plan(plan: Plan, n_criteria: int, most_spaces: int) -> None:
    """A plan of so many criteria over no more than so many spaces; Unsound if it is none."""
    _check_table(plan.conjunctions, most_spaces)
    longest = np.diff(plan.conjunctions.clauses.starts).max(initial=0)
    check(longest <= MAX_PREDICATES, "conjunctions")
    _check_owners(plan.owners, plan.conjunctions.n_clauses, n_criteria)
    check_cnf(plan.cnf, most_spaces)
    _check_owners(plan.cnf_owners, plan.cnf.n_rows, n_criteria)
    same = plan.cnf.table.space_starts, plan.conjunctions.space_starts
    check(np.array_equal(*same), "spaces of the disjunctions")
    check_bools(plan.checked, n_criteria, "checked criteria")
    table = plan.conjunctions
    _check_programs(plan.programs, n_criteria, len(table.predicates.dim), table.n_spaces)
    _check_bounds(plan)


def check_cnf(cnf: CnfTable, most_spaces: int) -> None:
    """Rows of disjunctions."""
    _check_table(cnf.table, most_spaces)
    check(cnf.rows.starts.ndim == 1 and len(cnf.rows.starts) > 0, "rows")
    check_ragged(cnf.rows, cnf.n_rows, cnf.table.n_clauses, "rows")


def _check_table(table: ClauseTable, most_spaces: int) -> None:
    starts, clauses = table.space_starts, table.clauses
    check(starts.ndim == clauses.starts.ndim == 1 and len(starts) and len(clauses.starts), "sizes")
    check(0 <= starts[-1] <= most_spaces, "spaces")
    check_starts(starts, table.n_dims, table.n_spaces, "spaces")
    check((np.diff(starts) > 0).all(), "spaces")
    _check_predicates(table.predicates, table)
    check_ragged(clauses, table.n_clauses, len(table.predicates.dim), "clauses")
    check(_once(*clauses, table.predicates.dim, table.n_dims), "dimensions of the clauses")


def _check_predicates(predicates: Predicates, table: ClauseTable) -> None:
    n = len(predicates.dim)
    check_within(predicates.dim, 0, table.n_dims, "dimensions")
    check_bools(predicates.on_missing, n, "predicates")
    check_bools(predicates.every, n, "predicates")
    check_starts(predicates.span_starts, n, len(predicates.span_lo), "spans")
    check(predicates.span_lo.shape == predicates.span_hi.shape, "spans")
    check(_ascending(table.space_starts, predicates), "spans")


def _check_owners(owners: Ragged, n_rows: int, n_criteria: int) -> None:
    check_ragged(owners, n_rows, n_criteria, "owners", -n_criteria)
    check(_marked_last(*owners), "owners")


def _check_bounds(plan: Plan) -> None:
    bounds = plan.bounds
    sizes = plan.n_criteria, plan.conjunctions.n_clauses, plan.cnf.n_rows
    if not len(bounds.criteria):
        sizes = 0, 0, 0
    check(tuple(map(len, bounds[:3])) == sizes, "bounds")


def _check_programs(programs: Programs, n_criteria: int, n_predicates: int, n_spaces: int) -> None:
    n_leaves = len(programs.leaf_literal)
    check_starts(programs.starts, n_criteria, len(programs.codes), "programs")
    check_within(programs.codes, np.iinfo(np.int32).min, n_leaves, "programs")
    check(_balanced(programs.starts, programs.codes), "programs")
    check_within(programs.leaf_literal, 0, n_predicates, "leaves")
    check_within(programs.leaf_attribute, 0, np.iinfo(np.int32).max, "leaves", n_leaves)
    check_floats(programs.leaf_weight, n_leaves, "weights")
    check_starts(programs.value_starts, n_leaves, len(programs.value_space), "weights of values")
    check_within(programs.value_space, 0, n_spaces, "weights of values")
    check_floats(programs.value_weight, len(programs.value_space), "weights of values")


@kernel
def _once(starts: Longs, items: Ints, dims: Ints, n_dims: int) -> bool:
    """Whether no clause has a dimension twice."""
    last = np.full(n_dims, -1, np.int64)
    for clause in range(len(starts) - 1):
        for i in range(starts[clause], starts[clause + 1]):
            dim = dims[items[i]]
            if last[dim] == clause:
                return False
            last[dim] = clause
    return True


@kernel
def _ascending(space_starts: Ints, predicates: Predicates) -> bool:
    """Whether the spans of each predicate ascend within the present spaces of its dimension."""
    dims, _, _, span_starts, span_lo, span_hi = predicates
    for predicate in range(len(dims)):
        before, end = space_starts[dims[predicate]] + 1, space_starts[dims[predicate] + 1]
        for i in range(span_starts[predicate], span_starts[predicate + 1]):
            if not before <= span_lo[i] < span_hi[i] <= end:
                return False
            before = span_hi[i]
    return True


@kernel
def _marked_last(starts: Longs, owners: Ints) -> bool:
    """Whether in each row those with several clauses stand behind the others."""
    for row in range(len(starts) - 1):
        for i in range(starts[row] + 1, starts[row + 1]):
            if owners[i - 1] < 0 <= owners[i]:
                return False
    return True


@kernel
def _balanced(starts: Longs, codes: Ints) -> bool:
    """Whether each program takes from its stack only what it put there, and leaves one result."""
    for program in range(len(starts) - 1):
        depth = 0
        for i in range(starts[program], starts[program + 1]):
            if codes[i] < 0:
                depth -= int((-np.int64(codes[i]) - 1) >> 1)
            if depth < 0:
                return False
            depth += 1
        if depth != 1:
            return False
    return True
