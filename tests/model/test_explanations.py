from __future__ import annotations

import json
import math
from datetime import UTC, date, datetime
from decimal import Decimal

import numpy as np
import pytest
from hypothesis import given

from remuda.language.python import attr
from remuda.model.explanations import Explanation, describe, explain
from remuda.model.expressions import And, Expression, Not, Or
from strategies import NOW, events, expressions, expressions_of_terms, predicates

a, b = attr("a"), attr("b")
YOUNG = attr("age").between(18, 25) & (
    attr("platform").eq("android") | ~attr("user.country").isin("IN", "SG")
)


def test_prints_as_a_tree():
    found = explain(YOUNG, {"age": 30, "user": {"country": "IN"}}, NOW)
    assert str(found) == (
        "✗ all of\n"
        "├── ✗ age between 18 and 25: saw 30\n"
        "└── ✗ any of\n"
        "    ├── ✗ platform = 'android': it is missing\n"
        "    └── ✗ user.country not in {'IN', 'SG'}: saw 'IN'"
    )


def test_prints_what_operations_made_of_the_value():
    found = explain(Not(attr("id").add(1).modulo(10).eq(0)), {"id": 7}, NOW)
    assert str(found) == ("✓ not\n└── ✗ id = 0: saw 7, after addition 1 and modulo 10 8")


def test_prints_constants():
    assert str(explain(And(), {}, NOW)) == "✓ always true"
    assert str(explain(Or(), {}, NOW)) == "✗ never true"


def test_names_the_predicates_to_blame():
    event = {"age": 30, "platform": "ios", "user": {"country": "IN"}}
    blamed = [one.attribute for one in explain(YOUNG, event, NOW).failures()]
    assert blamed == ["age", "platform", "user.country"]
    assert explain(YOUNG, event | {"age": 20, "platform": "android"}, NOW).failures() == []
    (whole,) = explain(And(a.exists(), Not(And(a.eq(1)))), {"a": 1}, NOW).failures()
    assert whole.kind == "not"


def test_as_a_dictionary():
    found = explain(a.length().eq(2).strong() | b.missing(), {"a": "xy", "b": None}, NOW)
    assert found.to_dict() == {
        "holds": True,
        "kind": "or",
        "parts": [
            {
                "holds": False,
                "kind": "predicate",
                "attribute": "a",
                "wanted": "present and not = 2",
                "missing": False,
                "seen": "xy",
                "operations": ["length"],
                "after": 2,
            },
            {
                "holds": True,
                "kind": "predicate",
                "attribute": "b",
                "wanted": "missing",
                "missing": True,
                "seen": None,
            },
        ],
    }


WORDS = {
    "one value": (a.eq("x"), "a = 'x'"),
    "values": (a.isin(1, 2), "a in {1, 2}"),
    "many values": (a.isin(*range(10)), "a in {0, 1, 2, 3, 4, 5, 6, 7, … 2 more}"),
    "a lower bound": (a > 1, "a > 1"),
    "an upper bound": (a <= Decimal("1.50"), "a <= 1.50"),
    "both": (a.between(1, 2), "a between 1 and 2"),
    "both, one open": (a.within(1, 2, upper_closed=True), "a > 1 and <= 2"),
    "a number": (a.within(), "a is a number"),
    "a date": (a < date(2024, 1, 1), "a < 2024-01-01"),
    "a timestamp": (a > datetime(2024, 1, 1, tzinfo=UTC), "a > 2024-01-01T00:00:00+00:00"),
    "a pattern": (a.matches("x+"), "a matches 'x+'"),
    "a pattern to find": (a.finds("x+"), "a finds 'x+'"),
    "a version": (a.version() >= "1.2", "a version >= 1.2"),
    "a like": (a.like("x%"), "a like 'x%'"),
    "a prefix": (a.prefix("x"), "a starts with 'x'"),
    "a suffix": (a.suffix("x"), "a ends with 'x'"),
    "a part": (a.contains("x"), "a contains 'x'"),
    "a set": (a.subset("x", "y"), "a subset {'x', 'y'}"),
    "presence": (a.exists(), "a exists"),
    "denied": (~a.missing(), "a not missing"),
    "an operation": (a.substring(1).eq("x"), "a after substring 1 to its end = 'x'"),
    "a moment": (
        a.datetime("HOUR_OF_DAY", zone="Asia/Tokyo") > 5,
        "a after hour of day in Asia/Tokyo > 5",
    ),
    "a text read": (a.to_datetime() > 5, "a after date-time ISO 8601 > 5"),
    "bits and size": (a.size().binary().eq("x"), "a after size and binary conversion = 'x'"),
    "an odd name": (attr("$['x y']").exists(), "$['x y'] exists"),
}


@pytest.mark.parametrize(("predicate", "words"), WORDS.values(), ids=WORDS)
def test_words(predicate, words):
    assert describe(predicate) == words


@given(predicates)
def test_every_predicate_has_words(predicate):
    assert describe(predicate).startswith(str(predicate.attribute))


@given(expressions | expressions_of_terms, events)
def test_every_node_is_explained_and_can_be_written(expression, event):
    found = explain(expression, event, NOW)
    assert found.holds == expression.holds(event, now=NOW)
    assert bool(found.failures()) <= (not found.holds)
    assert str(found).count("\n") + 1 == n_nodes(found)
    json.dumps(found.to_dict(), allow_nan=False)


def n_nodes(explanation: Explanation) -> int:
    return 1 + sum(map(n_nodes, explanation.parts))


class Unprintable:
    def __repr__(self) -> str:
        raise RuntimeError


def a_deep_list() -> list[object]:
    found: list[object] = []
    for _ in range(20_000):
        found = [found]
    return found


STRANGE = {
    "thousands of digits": 10**5000,
    "NaN": math.nan,
    "numbers of NumPy": [np.float64(2.5), np.float64(math.inf)],
    "bytes": b"x",
    "a set": {1},
    "no words of its own": Unprintable(),
    "lists in lists": a_deep_list(),
    "inside a list": [1, {"k": {2}}, math.inf, 10**5000],
    "a long text": "x" * 10_000,
}


@pytest.mark.parametrize("value", STRANGE.values(), ids=STRANGE)
def test_strange_values_are_explained(value):
    found = explain(a.eq(1) & a.add(1).eq(2), {"a": value}, NOW)
    assert not found.holds
    assert len(str(found)) < 1000
    json.dumps(found.to_dict(), allow_nan=False)


def test_thousands_of_levels():
    deep: Expression = a.eq(1)
    for _ in range(5000):
        deep = And(deep, b.exists())
    found = explain(deep, {}, NOW)
    assert len(found.failures()) == 5001
    assert str(found).count("✗") == 10001
    inner = found.to_dict()
    for _ in range(5000):
        inner = inner["parts"][0]
    assert inner["wanted"] == "= 1"
