"""Generated columns in encoded form."""

from __future__ import annotations

import numpy as np

from matchers.tables import intervals
from remuda.arrays import starts_of
from remuda.encoding.generated import cnf_table, dnf_table, event_batch
from remuda.encoding.table import events_of_values
from remuda.workload.begen import BEGen, Loosening, Operator
from remuda.workload.columns import Columns
from remuda.workload.mustang import Mustang


def columns(*predicates: tuple[int, bool, bool, list[tuple[int, int]]]) -> Columns:
    """Criteria of one predicate each, on two dimensions of ten values."""
    dims, negated, strong, spans = zip(*predicates, strict=True)
    one_each = np.arange(len(dims) + 1, dtype=np.int64)
    return Columns(
        np.full(2, 10, np.int32),
        one_each,
        np.zeros(len(dims), np.bool_),
        one_each,
        np.array(dims, np.int32),
        np.array(negated),
        np.array(strong),
        starts_of([len(of_one) for of_one in spans]),
        np.array([lo for of_one in spans for lo, _ in of_one], np.int32),
        np.array([hi for of_one in spans for _, hi in of_one], np.int32),
    )


def test_equal_predicates_are_one_however_their_spans_are_cut() -> None:
    table = dnf_table(
        columns(
            (0, False, False, [(1, 3), (7, 7)]),
            (0, False, False, [(1, 1), (2, 2), (3, 3), (7, 7)]),
            (0, False, False, [(1, 3)]),
            (1, False, False, [(1, 3)]),
            (0, True, False, [(1, 3)]),
            (0, True, True, [(1, 3)]),
            (0, False, False, [(1, 3), (7, 8)]),
        )
    )
    assert len(table.predicates.dim) == 6
    assert table.clauses.items[0] == table.clauses.items[1]
    assert len(set(table.clauses.items.tolist())) == 6


def test_negated_predicates_accept_the_gaps() -> None:
    table = dnf_table(
        columns(
            (0, True, False, [(0, 1), (4, 4), (8, 9)]),
            (1, True, True, [(3, 5)]),
            (1, True, False, [(0, 9)]),
        )
    )
    predicates = table.predicates
    accepted = [
        [
            (int(predicates.span_lo[span]), int(predicates.span_hi[span]))
            for span in range(*predicates.span_starts[predicate : predicate + 2])
        ]
        for predicate in table.clauses.items
    ]
    # the values 0 to 9 are the spaces 1 to 10 of the first dimension, 12 to 21 of the second
    assert accepted == [[(3, 5), (6, 9)], [(12, 15), (18, 22)], []]
    assert predicates.every.all()
    assert predicates.on_missing[table.clauses.items].tolist() == [True, False, True]


def test_single_intervals_give_the_table_of_intervals() -> None:
    operators = (Operator.BETWEEN, Operator.NOT_EQUAL, Operator.AT_MOST)
    workload = BEGen(n_subscriptions=500, loosening=Loosening(operators=operators)).draw()
    drawn, events = workload.criteria, workload.events
    table = dnf_table(drawn)
    same = intervals(
        drawn.n_values,
        drawn.clause_starts,
        drawn.dims,
        drawn.lo,
        drawn.hi,
        negated=drawn.negated,
        n_dims=drawn.n_dims,
    )
    assert table.space_starts.tolist() == same.space_starts.tolist()
    assert len(table.predicates.dim) == len(same.predicates.dim)
    for predicate, other in zip(table.clauses.items, same.clauses.items, strict=True):
        for mine, theirs in zip(_fields(table, predicate), _fields(same, other), strict=True):
            assert np.array_equal(mine, theirs)
    batch = event_batch(drawn, events)
    expected = events_of_values(same.space_starts, events.starts, events.dims, events.values)
    assert np.array_equal(batch.spaces, expected.spaces)


def _fields(table, predicate):
    predicates = table.predicates
    spans = slice(*predicates.span_starts[predicate : predicate + 2])
    return (
        predicates.dim[predicate],
        predicates.on_missing[predicate],
        predicates.every[predicate],
        predicates.span_lo[spans],
        predicates.span_hi[spans],
    )


def test_mixed_forms_are_told_apart() -> None:
    criteria = Mustang(n_criteria=101).draw().criteria
    assert dnf_table(criteria).n_clauses == 50
    cnf = cnf_table(criteria)
    assert cnf.n_rows == 51
    assert cnf.rows.items.tolist() == list(range(51))
    assert set(np.diff(cnf.table.clauses.starts).tolist()) == {1, 2}
