"""One contract for all matchers: each finds exactly what plain evaluation finds."""

from __future__ import annotations

import inspect

import numpy as np
import pytest

from matchers.tables import Case, affordable, cnf_of, random_case
from remuda.encoding.table import EventBatch
from remuda.matchers.contract import (
    NAMES,
    Hits,
    cnf_matcher,
    conjunction_matcher,
    has_own_cnf,
)

every_matcher = pytest.mark.parametrize("name", NAMES)

SHAPES = {
    "mixed": {},
    "no lists": {"lists": 0.0},
    "all lists": {"lists": 1.0},
    "positive only": {"negated": 0.0, "empty_clauses": False},
    "negated only": {"negated": 1.0},
    "one dimension": {"n_dims": 1},
    "many dimensions": {"n_dims": 300, "present": 0.05, "n_clauses": 400},
    "large domains": {"max_spaces": 400, "n_dims": 5, "n_clauses": 500},
    "huge domains": {"max_spaces": 3000, "n_dims": 3, "n_clauses": 1000},
    "binary domains": {"max_spaces": 1, "n_dims": 20},
    "long clauses": {"n_dims": 70, "max_predicates": 70, "negated": 0.1, "present": 0.95},
    "no clauses": {"n_clauses": 0},
    "no dimensions": {"n_dims": 0},
    "no events": {"n_events": 0},
    "empty events": {"present": 0.0},
    "thousands": {"n_clauses": 3000, "n_events": 40, "n_dims": 25},
}


def rows_of(hits: Hits) -> list[list[int]]:
    return [
        sorted(hits.rows[hits.starts[i] : hits.starts[i + 1]].tolist())
        for i in range(len(hits.starts) - 1)
    ]


@every_matcher
@pytest.mark.parametrize("shape", SHAPES)
def test_finds_exactly_what_plain_evaluation_finds(name: str, shape: str) -> None:
    for seed in range(3):
        case = random_case(seed, **SHAPES[shape])
        n = affordable(name, len(case.events))
        matcher = conjunction_matcher(name).build(case.table)
        assert rows_of(matcher.match(_slice(case, 0, n))) == case.expected()[:n], seed


@every_matcher
@pytest.mark.parametrize("size", [1, 7, 1000])
def test_batches_of_any_size_give_the_same(name: str, size: int) -> None:
    n = affordable(name, 1000)
    case = random_case(5, n_events=n, n_clauses=40)
    matcher = conjunction_matcher(name).build(case.table)
    whole = rows_of(matcher.match(case.events))
    parts = [
        row
        for start in range(0, min(n, 20 * size), size)
        for row in rows_of(matcher.match(_slice(case, start, start + size)))
    ]
    assert parts == whole[: len(parts)]


@pytest.mark.parametrize("name", [*filter(has_own_cnf, NAMES)])
@pytest.mark.parametrize("shape", SHAPES)
def test_finds_the_conjunctions_of_disjunctions(name: str, shape: str) -> None:
    if shape == "no clauses":
        return  # rows without clauses are in every other shape
    for seed in range(3):
        case = random_case(seed, **SHAPES[shape])
        cnf, expected = cnf_of(case, seed)
        assert rows_of(cnf_matcher(name).build(cnf).match(case.events)) == expected, seed


def _slice(case: Case, start: int, end: int) -> EventBatch:
    starts = case.events.starts[start : end + 1]
    spaces = case.events.spaces[starts[0] : starts[-1]]
    return EventBatch((starts - starts[0]).astype(np.int64), spaces)


METHODS = {  # of each feature, what it promises beyond `build` and `match`
    "maps": {"check"},
    "ranks": {"best"},
    "counts": {"count", "reach"},
    "describes": {"stats"},
    "changes": {"insert", "delete"},
    "warms": {"warm"},
    "encodes": {"encode"},
}
KEYWORDS = {  # of each feature, the method and its keyword
    "takes_sample": ("build", "sample"),
    "takes_merits": ("build", "merits"),
    "takes_bounds": ("build", "bounds"),
}


@every_matcher
@pytest.mark.parametrize("resolve", [conjunction_matcher, cnf_matcher])
def test_a_matcher_has_what_it_claims_and_claims_what_it_has(name: str, resolve) -> None:
    kind = resolve(name)
    for feature, methods in METHODS.items():
        assert {one for one in methods if hasattr(kind, one)} == (
            methods if getattr(kind.features, feature) else set()
        ), feature
    for feature, (method, keyword) in KEYWORDS.items():
        accepted = keyword in inspect.signature(getattr(kind, method)).parameters
        assert accepted == getattr(kind.features, feature), feature
