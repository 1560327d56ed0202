"""Propagation: what its clusters are made of, and which of them an event visits."""

from __future__ import annotations

import numpy as np

from matchers.tables import intervals, predicates_of, random_case
from remuda.arrays import frozen, ragged
from remuda.encoding.table import ClauseTable, EventBatch
from remuda.matchers.contract import Literal
from remuda.matchers.propagation import Propagation
from remuda.matchers.scan import Scan


def table_of(n_values: list[int], clauses: list[list[Literal]]) -> ClauseTable:
    literals = list(dict.fromkeys(one for clause in clauses for one in clause))
    space_starts = np.cumsum([0, *(n + 1 for n in n_values)], dtype=np.int32)
    rows = [[literals.index(one) for one in clause] for clause in clauses]
    return ClauseTable(frozen(space_starts), predicates_of(literals), ragged(rows))


def batch_of(*events: list[int]) -> EventBatch:
    return EventBatch(*ragged(events))


# dimension 0 has the spaces 1 to 4, dimension 1 the spaces 6 to 9
IS_1 = Literal(0, False, False, ((1, 2),))
UP_TO_3 = Literal(0, False, False, ((1, 4),))
IS_6 = Literal(1, False, False, ((6, 7),))
NOT_6 = Literal(1, True, True, ((7, 10),))
NEVER = Literal(1, False, False, ())


def test_only_the_clusters_of_satisfied_access_predicates_are_visited() -> None:
    clauses = [[UP_TO_3, IS_6], [IS_1, NOT_6], [UP_TO_3], [UP_TO_3, NEVER]]
    matcher = Propagation.build(table_of([4, 4], clauses))
    for event, candidates, rows in (
        ([1, 7], 2, {1, 2}),
        ([2, 6], 2, {0, 2}),
        ([6], 1, set()),  # not the second clause: it needs IS_1
        ([4], 0, set()),
        ([], 0, set()),
    ):
        hits = matcher.match(batch_of(event))
        assert (hits.candidates, set(hits.rows.tolist())) == (candidates, rows), event


def test_clauses_without_an_access_predicate_are_always_candidates() -> None:
    matcher = Propagation.build(table_of([4, 4], [[NOT_6], [], [IS_1]]))
    hits = matcher.match(batch_of([6], [7], []))
    assert hits.candidates == 6
    assert [
        set(hits.rows[a:b].tolist()) for a, b in zip(hits.starts, hits.starts[1:], strict=False)
    ] == [
        {1},
        {0, 1},
        {0, 1},
    ]


def test_a_cluster_has_one_access_predicate_and_one_size() -> None:
    case = random_case(3, n_clauses=500, negated=0.2)
    clusters = Propagation.build(case.table).clusters
    sizes = {
        access: [
            (clusters.ref_starts[c + 1] - clusters.ref_starts[c])
            / (clusters.row_starts[c + 1] - clusters.row_starts[c])
            for c in range(*clusters.access_starts[access : access + 2])
        ]
        for access in range(len(clusters.access_starts) - 1)
    }
    assert all(row == sorted(set(row)) for row in sizes.values())
    assert sorted(clusters.rows.tolist()) == list(range(500))
    lengths = np.diff(case.table.clauses.starts)
    always = clusters.rows[clusters.row_starts[clusters.access_starts[-2]] :]
    assert len(clusters.refs) == lengths.sum() - (500 - len(always))
    assert {
        row for row, clause in enumerate(case.clauses) if all(one.on_missing for one in clause)
    } == set(always.tolist())


def test_wide_predicates_on_a_large_domain_take_little_room() -> None:
    rng = np.random.default_rng(1)
    n, n_values = 2_000, 100_000
    lo, hi = np.sort(rng.integers(0, n_values, (2, n)), axis=0).astype(np.int32)
    starts = np.arange(n + 1, dtype=np.int64)
    table = intervals(n_values, starts, np.zeros(n, np.int32), lo, hi)
    matcher = Propagation.build(table)
    assert len(matcher.lists.items) < 2 * 17 * n  # twice the logarithm of the spaces
    events = batch_of(*([int(space)] for space in rng.integers(1, n_values + 1, 50)))
    found, expected = matcher.match(events), Scan.build(table).match(events)
    assert found.starts.tolist() == expected.starts.tolist()
    assert sorted(found.rows.tolist()) == sorted(expected.rows.tolist())


def test_with_equalities_alone_other_clauses_are_always_candidates() -> None:
    clauses = [[UP_TO_3, IS_6], [UP_TO_3], [IS_1]]
    matcher = Propagation.build(table_of([4, 4], clauses), equalities=True)
    for event, candidates, rows in (([2], 1, {1}), ([4, 6], 2, set()), ([1, 6], 3, {0, 1, 2})):
        hits = matcher.match(batch_of(event))
        assert (hits.candidates, set(hits.rows.tolist())) == (candidates, rows), event


def test_equalities_alone_find_what_scan_finds() -> None:
    case = random_case(4, n_clauses=500, negated=0.2)
    hits = Propagation.build(case.table, equalities=True).match(case.events)
    plain = Scan.build(case.table).match(case.events)
    for i in range(len(case.events)):
        found, true = (
            set(one.rows[slice(*one.starts[i : i + 2])].tolist()) for one in (hits, plain)
        )
        assert found == true
