"""Quoted and typed literals: which values they stand for, and which they bound."""

from __future__ import annotations

from datetime import UTC, date, datetime

import pytest

from remuda.errors import InvalidCriterion
from remuda.language.criterion import Criterion
from remuda.language.text import parse
from remuda.model.conditions import In, Related, Relation
from remuda.model.expressions import Predicate
from remuda.model.quoted import Quoted

DAY, NEXT = date(2024, 1, 1), date(2024, 1, 2)
MIDNIGHT, TEN = datetime(2024, 1, 1, tzinfo=UTC), datetime(2024, 1, 1, 10, tzinfo=UTC)

# text, values that satisfy it, values that do not
TRUTHS = [
    ("x = '1'", [1, 1.0, "1", True, [0, 1]], [2, "1.0", False, DAY]),
    ("x <> '1'", [2, "1.0", False, DAY], [1, 1.0, "1", True, None]),
    ("x > '9'", [10, "95", "a"], [9, 8, "10", "1", True, DAY]),
    ("x > 'b'", ["c"], ["a", 5, DAY]),
    ("x BETWEEN '1' AND 5", [1, 3, 5], [0, 6, "3"]),
    ("x BETWEEN '1' AND 'b'", ["1", "3", "a"], [1, 3]),
    ("x BETWEEN '1x' AND '5'", ["1x", "3"], [1, 3]),
    ("x > '2024-01-01'", [NEXT, TEN, "2024-01-01T"], [DAY, MIDNIGHT, "2024-01-01", 2025]),
    ("x >= '2024-01-01 10:00'", [DAY, TEN, NEXT], [MIDNIGHT, date(2023, 12, 31)]),
    ("x > DATE '2024-01-01'", [NEXT, TEN], [DAY, MIDNIGHT, 9999]),
    ("x = DATE '2024-01-01'", [DAY, MIDNIGHT], [TEN, NEXT]),
    ("x < TIMESTAMP '2024-01-01 10:00:00'", [DAY, MIDNIGHT], [TEN, NEXT]),
    ("x <= TIMESTAMP '2024-01-01'", [DAY, MIDNIGHT], [TEN, NEXT]),
    ("x < TIMESTAMP '2024-01-01'", [date(2023, 12, 31)], [DAY, MIDNIGHT, TEN]),
    ("x >= TIMESTAMP '2024-01-01 10:00:00'", [NEXT, TEN], [DAY, MIDNIGHT]),
    ("x = TIMESTAMP '2024-01-01 10:00:00'", [TEN], [DAY, MIDNIGHT]),
    ("x = plain('1')", ["1"], [1, True]),
    ("x >= plain(DATE '2024-01-01')", [DAY], [MIDNIGHT, TEN]),
]  # fmt: skip


@pytest.mark.parametrize(("text", "satisfying", "others"), TRUTHS, ids=[one[0] for one in TRUTHS])
def test_stands_for_each_of_its_readings(text, satisfying, others):
    expression = parse(text)
    assert [value for value in satisfying if not expression.holds({"x": value})] == []
    assert [value for value in others if expression.holds({"x": value})] == []


def test_values_of_python_and_json_mean_themselves_alone():
    plain = Predicate(parse("x = 1").attribute, In(("1",)))
    assert not plain.holds({"x": 1})
    predicate = {"type": "INCLUDED", "lhs": "$.x", "values": ["1"]}
    assert not Criterion.from_json(_form(predicate)).holds({"x": 1})


def test_weights_of_single_values_count_for_every_reading():
    predicate = parse("x IN ('1', '2')").weight({Quoted("1"): 3, "2": 5})
    assert [predicate.score({"x": value}) for value in (1, "1", "2", 2)] == [3, 3, 5, 1]


def test_sets_have_no_quoted_values():
    with pytest.raises(InvalidCriterion, match="several readings"):
        Related(Relation.SUBSET, (Quoted("1"),))


@pytest.mark.parametrize(
    "nested", [{"list": [{"quoted": "1"}]}, {"object": {"k": {"dateLiteral": "2024-01-01"}}}]
)
def test_lists_and_objects_have_none_inside(nested):
    detail = {"caveat": "EQUALITY", "values": [], "typedValues": [nested]}
    predicate = {"type": "INCLUDED", "lhs": "$.x", "detail": detail}
    with pytest.raises(InvalidCriterion, match="no literals inside"):
        Criterion.from_json(_form(predicate))


def _form(predicate):
    clauses = [{"type": "AND", "predicates": [predicate]}]
    return {"form": "DNF", "id": "c", "conjunctions": clauses}
