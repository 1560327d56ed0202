"""The parallel search tree beyond the contract: what its clauses share."""

from __future__ import annotations

import numpy as np
import pytest

from matchers.tables import predicates_of, random_case
from matchers.test_contract import rows_of
from remuda.arrays import frozen, ragged
from remuda.encoding.table import ClauseTable, EventBatch
from remuda.matchers.contract import Literal
from remuda.matchers.gryphon import Gryphon

SPACE_STARTS = frozen(np.array([0, 11, 22, 33], np.int32))  # three dimensions of ten spaces


def between(dim: int, low: int, high: int) -> Literal:
    """The values `low` to `high` of a dimension whose values count from 0."""
    first = int(SPACE_STARTS[dim]) + 1
    return Literal(dim, False, False, ((first + low, first + high + 1),))


def tree_of(literals: list[Literal], rows: list[list[int]]) -> Gryphon:
    return Gryphon.build(ClauseTable(SPACE_STARTS, predicates_of(literals), ragged(rows)))


def match(tree: Gryphon, *values: tuple[int, int]) -> list[int]:
    """The rows that hold for one event of (dimension, value) pairs."""
    spaces = sorted(int(SPACE_STARTS[dim]) + 1 + value for dim, value in values)
    batch = EventBatch(np.array([0, len(spaces)], np.int64), np.array(spaces, np.int32))
    return sorted(tree.match(batch).rows.tolist())


def n_edges(tree: Gryphon) -> int:
    return len(tree.tree.edge_predicate)


def test_clauses_share_the_nodes_of_what_they_begin_with() -> None:
    a, b, b_too, c = between(0, 1, 1), between(1, 1, 1), between(1, 2, 2), between(2, 3, 5)
    tree = tree_of([a, b, b_too, c], [[1, 0], [0, 2], [3, 0], [0, 1, 3]])
    assert tree.dim_of_level.tolist() == [0, 1, 2]  # the most frequent attribute is tested first
    # one edge for a; beneath it one for each b and one for c; beneath the first b one for c
    assert n_edges(tree) == 5
    assert match(tree, (0, 1), (1, 1), (2, 4)) == [0, 2, 3]
    assert match(tree, (0, 1), (1, 2)) == [1]
    assert match(tree, (1, 1), (2, 4)) == []


def test_a_clause_alone_is_a_leaf_that_keeps_its_predicates() -> None:
    tree = tree_of([between(0, 1, 1), between(1, 0, 4)], [[0, 1]])
    assert n_edges(tree) == 0
    assert match(tree, (0, 1), (1, 4)) == [0]
    assert match(tree, (0, 1), (1, 5)) == []


def test_equal_clauses_end_in_one_leaf() -> None:
    tree = tree_of([between(0, 1, 1), between(1, 0, 4)], [[0, 1], [1, 0], [0, 1]])
    assert n_edges(tree) == 2
    assert match(tree, (0, 1), (1, 4)) == [0, 1, 2]


def test_a_predicate_that_is_listed_twice_is_found_twice() -> None:
    same = between(0, 1, 1)
    tree = tree_of([same, same, between(1, 0, 0)], [[0, 2], [1, 2], [1]])
    assert match(tree, (0, 1), (1, 0)) == [0, 1, 2]


def test_wide_predicates_are_tested_after_narrow_ones() -> None:
    wide, narrow = between(0, 0, 8), between(1, 2, 2)
    tree = tree_of([wide, narrow], [[0, 1], [0, 1], [0]])
    root_tests = tree.tree.test_level[tree.tree.test_starts[0] : tree.tree.test_starts[1]]
    assert root_tests.tolist() == [1, 3]  # dimension 1 in the first turn, dimension 0 in the next
    assert match(tree, (0, 3), (1, 2)) == [0, 1, 2]


def test_a_list_meets_each_edge_once() -> None:
    tree = tree_of([between(0, 1, 3), between(1, 0, 0)], [[0], [0, 1]])
    assert match(tree, (0, 1), (0, 2), (0, 3), (1, 0)) == [0, 1]


@pytest.mark.parametrize("seed", range(4))
def test_the_version_for_equality_finds_the_same_by_values_alone(seed: int) -> None:
    case = random_case(seed, n_clauses=300, n_events=40, n_dims=12, present=0.8, lists=0.1)
    full, equal = Gryphon.build(case.table), Gryphon.build(case.table, equality=1)
    assert rows_of(equal.match(case.events)) == rows_of(full.match(case.events))
    labels = equal.tree.edge_predicate
    assert (equal.predicates.n_accepted[labels] == 1).all()
    assert not equal.predicates.on_missing[labels].any()
    assert 0 < len(labels) < len(full.tree.edge_predicate)
