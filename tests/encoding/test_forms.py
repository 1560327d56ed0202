"""Criteria of any width are indexed, and found exactly where they hold."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from remuda.encoding.forms import Form, form_of
from remuda.index.index import Index
from remuda.index.segment import Segment
from remuda.language.criterion import Criterion
from remuda.language.python import attr
from remuda.logic.normal import flat
from remuda.matchers.contract import NAMES
from remuda.model.expressions import And, Expression, Or
from strategies import NOW, count, events, expressions, expressions_of_terms


def _grid(outer: type, inner: type, width: int, depth: int = 3) -> Expression:
    """`width` parts of `depth` predicates, on attributes that many of them share."""
    return outer(
        *(
            inner(*(attr(f"x{(7 * i + 3 * j) % 11}") == (i + j) % 13 for j in range(depth)))
            for i in range(width)
        )
    )


def _exploding(width: int) -> Expression:
    """An And of Ors of Ands, whose normal forms both explode."""
    return And(*(_grid(Or, And, 12, 2 + i) for i in range(2)), *(_pair(i) for i in range(width)))


def _pair(i: int) -> Expression:
    first, second = attr(f"y{i % 19}"), attr(f"z{i % 17}")
    return (first <= i) & (second >= -i) | (first >= i) & (second <= 2 * i)


FORMS: dict[str, tuple[Expression, Form, Form]] = {
    # by a matcher that takes conjunctions alone, by one that takes a CNF too
    "one predicate": (attr("x") == 1, Form.DNF, Form.DNF),
    "true": (And(), Form.DNF, Form.CNF),
    "false": (Or(), Form.DNF, Form.DNF),
    "64 conjunctions": (_grid(Or, And, 64), Form.DNF, Form.DNF),
    "65 conjunctions": (_grid(Or, And, 65), Form.DNF, Form.DNF),
    "1,000 conjunctions": (_grid(Or, And, 1000), Form.DNF, Form.DNF),
    "6 disjunctions": (_grid(And, Or, 6), Form.TREE, Form.CNF),
    "1,000 disjunctions": (_grid(And, Or, 1000), Form.TREE, Form.CNF),
    "1,000 alternatives and one demand": (
        And(attr("k") == 1, _grid(Or, And, 1000, 1)), Form.DNF, Form.CNF,
    ),
    "both explode": (_exploding(40), Form.TREE, Form.TREE),
}  # fmt: skip


@pytest.mark.parametrize("name", FORMS)
def test_the_form(name: str) -> None:
    expression, plain, with_cnf = FORMS[name]
    assert form_of(flat(expression), takes_cnf=False) is plain
    assert form_of(flat(expression), takes_cnf=True) is with_cnf


WIDE = {
    "60 conjunctions": _grid(Or, And, 60),
    "70 conjunctions": _grid(Or, And, 70),
    "300 conjunctions": _grid(Or, And, 300),
    "70 disjunctions": _grid(And, Or, 70),
    "300 disjunctions": _grid(And, Or, 300),
    "denied conjunctions": ~_grid(Or, And, 90),
    "strongly denied": _grid(Or, And, 90).strong(),
    "both explode": _exploding(40),
    "nothing to filter by": Or(*(~(attr(f"x{i}") == i) & _pair(i) for i in range(40))) & _pair(3),
}


def _events(rng: np.random.Generator) -> list[dict[str, object]]:
    names = [f"{letter}{i}" for letter in "xyz" for i in range(20)]
    found: list[dict[str, object]] = [{}, dict.fromkeys(names, 3)]
    for _ in range(60):
        own = rng.choice(len(names), rng.integers(1, len(names)), replace=False)
        found.append({names[i]: int(rng.integers(0, 13)) for i in own})
    found.append({f"x{i}": list(range(13)) for i in range(11)})
    return found


@pytest.fixture(scope="module")
def wide() -> tuple[list[Criterion], list[tuple[dict[str, object], dict[str, float]]]]:
    """Wide criteria, and events with the scores of those that hold."""
    criteria = [Criterion(name, expression) for name, expression in WIDE.items()]
    batch = _events(np.random.default_rng(5))
    scores = [{one.id: one.score(event) for one in criteria if one.holds(event)} for event in batch]
    return criteria, list(zip(batch, scores, strict=True))


@pytest.mark.parametrize("matcher", NAMES)
def test_every_matcher_finds_wide_criteria(matcher: str, wide) -> None:
    criteria, cases = wide
    index = Index.build(criteria, matcher=matcher)
    matches = index.match_many([event for event, _ in cases])
    for i, (event, scores) in enumerate(cases):
        assert matches.ids(i) == list(scores)
        assert all(found.score == scores[found.id] for found in index.top(event, 3))


def test_the_filter_of_a_tree_is_its_most_selective_demand() -> None:
    rare = (attr("id") == 7) & (attr("a") <= 3) | (attr("id") == 8) & (attr("b") <= 3)
    tree = Criterion("tree", And(_exploding(40), rare))
    others = [Criterion(f"c{i}", attr("id") == i) for i in range(50)]
    segment = Index.build([tree, *others]).parts[0].segment
    owned = segment.plan.owners
    rows = [row for row in range(len(owned.starts) - 1) if -1 in _row(owned, row)]
    dimensions = segment.words.vocabulary.dimensions
    for row in rows:
        predicates = _row(segment.plan.conjunctions.clauses, row)
        dims = segment.plan.conjunctions.predicates.dim[list(predicates)]
        assert "id" in {str(dimensions[dim].attribute) for dim in dims}


def _row(ragged, row: int) -> list[int]:
    return ragged.items[ragged.starts[row] : ragged.starts[row + 1]].tolist()


@pytest.mark.soak
@settings(max_examples=count(200, 20_000))
@given(
    criteria=st.lists(expressions | expressions_of_terms, max_size=6),
    batch=st.lists(events, max_size=5),
)
def test_programs_hold_exactly_where_they_should(criteria, batch) -> None:
    segment = Segment.build(criteria, matcher="scan")
    places = np.arange(len(criteria), dtype=np.int32)
    found = segment.match_among(segment.encoder.encode(batch, NOW), places)
    for i, event in enumerate(batch):
        rows = found.rows[found.starts[i] : found.starts[i + 1]].tolist()
        assert rows == [k for k, one in enumerate(criteria) if one.holds(event, now=NOW)]
