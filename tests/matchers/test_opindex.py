"""OpIndex: pivots, operators, and what an event visits."""

from __future__ import annotations

import numpy as np
import pytest

from matchers.tables import intervals, random_case
from matchers.test_propagation import batch_of, table_of
from remuda.matchers.contract import Literal
from remuda.matchers.opindex import AGAINST, ALL, N_MANNERS, OpIndex
from remuda.matchers.scan import Scan

# three dimensions of four values: spaces 1 to 4, 6 to 9, 11 to 14
A_IS_1 = Literal(0, False, False, ((1, 2),))
A_UP_TO_3 = Literal(0, False, False, ((1, 4),))
B_IS_6 = Literal(1, False, False, ((6, 7),))
B_NOT_6 = Literal(1, True, True, ((7, 10),))
B_PRESENT_NOT_6 = Literal(1, False, True, ((7, 10),))
B_MISSING_OR_6 = Literal(1, True, False, ((6, 7),))
C_IN = Literal(2, False, False, ((11, 12), (13, 15)))


def test_the_pivot_is_the_rarest_attribute_that_a_clause_needs() -> None:
    clauses = [
        [A_IS_1, C_IN],  # A is asked for four times, B three times, C twice
        [A_UP_TO_3, B_IS_6],
        [A_IS_1, B_NOT_6],  # B is rarer, but a missing B will do
        [A_IS_1],
        [B_NOT_6],
        [C_IN],
    ]
    matcher = OpIndex.build(table_of([4, 4, 4], clauses))
    partitions = [
        set(matcher.rows[begin:end].tolist())
        for begin, end in zip(matcher.partition_starts, matcher.partition_starts[1:], strict=False)
    ]
    assert partitions == [{2, 3}, {1}, {0, 5}, {4}]


def test_predicates_lie_under_their_operators() -> None:
    clauses = [[A_IS_1, C_IN], [A_UP_TO_3, B_NOT_6], [A_UP_TO_3, B_PRESENT_NOT_6, C_IN]]
    clauses += [[A_IS_1, B_MISSING_OR_6]]
    matcher = OpIndex.build(table_of([4, 4, 4], clauses))
    of = matcher.operators
    assert _entries(of.equal) == {0: 4, AGAINST: 1}
    # two of C's three values are one span, to the end of C; of B, all that is wide is from 7 on:
    # what "missing or 6" refuses is one, and all must be
    assert _entries(of.at_least) == {0: 4, ALL: 1, AGAINST | ALL: 1}
    assert _entries(of.at_most) == _entries(of.between) == {}
    assert len(of.equal.last) == 0
    assert matcher.sizes.tolist() == [_asked(clauses[row]) for row in matcher.rows]


OPERATORS = {
    # spans of one dimension of nine values, spaces 1 to 9: the operator that each lies under
    "from the first and to the last": {
        (1, 4): "at_most", (1, 7): "at_most", (3, 10): "at_least", (5, 10): "at_least",
        (4, 5): "equal", (4, 7): "between",
    },
    "numbers between texts": {  # where most begin and end is what one-sided means
        (3, 4): "equal", (3, 5): "at_most", (3, 6): "at_most", (4, 8): "at_least",
        (6, 8): "at_least", (7, 10): "between", (1, 3): "between",
    },
    "all of them": {(1, 10): "at_least"},
}  # fmt: skip


@pytest.mark.parametrize("spans", OPERATORS.values(), ids=OPERATORS)
def test_an_operator_is_where_a_span_begins_and_ends(spans: dict[tuple[int, int], str]) -> None:
    clauses = [[Literal(0, False, False, (span,))] for span in spans]
    table = table_of([9], clauses)
    matcher = OpIndex.build(table)
    for name in ("equal", "at_least", "at_most", "between"):
        under = getattr(matcher.operators, name).clauses
        assert {[*spans][matcher.rows[i]] for i in under} == {
            span for span, operator in spans.items() if operator == name
        }
    for event in ([1], [2], [3], [4], [5], [6], [7], [8], [9], [2, 7], [1, 5, 9]):
        found = matcher.match(batch_of(event)).rows.tolist()
        held = [any(lo <= one < hi for one in event) for lo, hi in spans]
        assert sorted(found) == [i for i, holds in enumerate(held) if holds]


def _entries(operands) -> dict[int, int]:
    """How many entries there are under each operator."""
    counts = np.diff(operands.starts).reshape(-1, N_MANNERS).sum(axis=0)
    return {operator: int(n) for operator, n in enumerate(counts) if n}


def _asked(clause: list[Literal]) -> int:
    return sum(not one.on_missing for one in clause)


def test_only_the_partitions_of_an_events_attributes_are_visited() -> None:
    clauses = [[A_IS_1, C_IN], [A_IS_1, B_IS_6], [B_NOT_6], [A_UP_TO_3, C_IN]]
    matcher = OpIndex.build(table_of([4, 4, 4], clauses))
    for event, candidates, rows in (
        ([1], 1, {2}),  # the clause without a pivot alone: A is no pivot
        ([1, 6], 2, {1}),
        ([1, 7, 13], 4, {0, 2, 3}),  # B's partition too, where A counts for the second
        ([2, 12], 2, {2}),
        ([4, 12], 1, {2}),
    ):
        hits = matcher.match(batch_of(event))
        assert (hits.candidates, set(hits.rows.tolist())) == (candidates, rows), event


def test_a_list_counts_a_predicate_once_and_needs_all_its_values_where_all_are_needed() -> None:
    clauses = [[A_UP_TO_3, C_IN], [A_IS_1, B_PRESENT_NOT_6], [A_IS_1, B_MISSING_OR_6]]
    matcher = OpIndex.build(table_of([4, 4, 4], clauses))
    for event, rows in (
        ([1, 2, 3], {2}),  # not C twice over by counting A three times
        ([1, 2, 11, 13], {0, 2}),
        ([1, 7, 8], {1}),
        ([1, 6, 7], {2}),
        ([1, 7, 9], {1}),
    ):
        assert set(matcher.match(batch_of(event)).rows.tolist()) == rows, event


def test_no_predicate_is_listed_more_often_than_it_has_spans() -> None:
    rng = np.random.default_rng(1)
    n, n_values = 2_000, 100_000
    lo, hi = np.sort(rng.integers(0, n_values, (2, n)), axis=0).astype(np.int32)
    starts = np.arange(n + 1, dtype=np.int64)
    table = intervals(n_values, starts, np.zeros(n, np.int32), lo, hi)
    matcher = OpIndex.build(table)
    assert sum(len(one.keys) for one in matcher.operators[:4]) == n
    events = batch_of(*([int(space)] for space in rng.integers(1, n_values + 1, 50)))
    found, expected = matcher.match(events), Scan.build(table).match(events)
    assert found.starts.tolist() == expected.starts.tolist()
    assert sorted(found.rows.tolist()) == sorted(expected.rows.tolist())


def test_every_clause_is_in_one_partition() -> None:
    case = random_case(7, n_clauses=300)
    assert sorted(OpIndex.build(case.table).rows.tolist()) == list(range(300))
