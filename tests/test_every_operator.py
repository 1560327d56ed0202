"""Every condition and every pre-operation in every place that has to know it.

A new one fails here until it has a row, and then until each of these places knows it.
"""

from __future__ import annotations

import random
from contextlib import suppress
from datetime import date, datetime
from typing import Any, get_args

import pytest

import remuda as rm
from derived import derive
from remuda.errors import NoSqlEquivalent
from remuda.language.criterion import Criterion
from remuda.language.python import attr
from remuda.model import conditions, operations
from remuda.model.attributes import Attribute
from remuda.model.calendars import Extract
from remuda.model.conditions import Comparison, Condition, Relation
from remuda.model.explanations import describe
from remuda.model.expressions import Polarity, Predicate
from remuda.model.operations import Arithmetic, Integral, Operation
from remuda.model.quoted import Moment, Quoted
from remuda.model.terms import Applied
from strategies import NOW

CONDITIONS: dict[type, Any] = {
    conditions.In: conditions.In((1, "b")),
    conditions.Range: conditions.Range(1, 5, lower_closed=True),
    conditions.QuotedRange: conditions.QuotedRange(Quoted("1"), 5, lower_closed=True),
    conditions.Regex: conditions.Regex("b+"),
    conditions.Version: conditions.Version("1.2", above=True),
    conditions.SemVer: conditions.SemVer("1.2.0-rc.1", Comparison.AT_MOST, parts=True),
    conditions.Network: conditions.Network(("10.0.0.0/8", "2001:db8::/32")),
    conditions.Under: conditions.Under("letters", "b"),
    conditions.Like: conditions.Like("%b%"),
    conditions.Prefix: conditions.Prefix("b"),
    conditions.Suffix: conditions.Suffix("b"),
    conditions.Contains: conditions.Contains("b"),
    conditions.Related: conditions.Related(Relation.SUPERSET, (1,)),
    conditions.AnyElement: conditions.AnyElement((attr("k") == 1) & (attr("n") > 2)),
    conditions.EveryElement: conditions.EveryElement((attr("k") == 1) & (attr("n") > 2)),
    conditions.Exists: conditions.Exists(),
    conditions.Missing: conditions.Missing(),
    conditions.NullValue: conditions.NullValue(),
    conditions.Absent: conditions.Absent(),
}
OPERATIONS: dict[type, Any] = {
    operations.Calculate: operations.Calculate(Arithmetic.ADDITION, 2),
    operations.Divide: operations.Divide(Integral.MODULO, 3),
    operations.BinaryConversion: operations.BinaryConversion(),
    operations.Length: operations.Length(),
    operations.Size: operations.Size(),
    operations.Substring: operations.Substring(0, 1),
    operations.DateTime: operations.DateTime(Extract.YEAR),
    operations.ToDateTime: operations.ToDateTime(),
}
ODD: list[Any] = [
    conditions.AnyElement(~rm.And(attr("k").isin(1).strong())),
    conditions.EveryElement(~(attr("k").isin(1).strong() | (attr("n") > 2))),
]
QUOTED: list[Any] = [
    conditions.In((Quoted("1"), "b", Quoted("true"))),
    conditions.In((Moment(date(1970, 1, 2)), Moment(datetime(2024, 2, 29, 12)))),
    conditions.In(("1", date(1970, 1, 2), datetime(1970, 1, 2))),
    conditions.Related(Relation.OVERLAPS, (Quoted("1"), Moment(date(1970, 1, 2)), "1")),
    conditions.Related(Relation.SUBSET, ("1", date(1970, 1, 2))),
    conditions.QuotedRange(Quoted("1970-01-02"), None),
    conditions.QuotedRange(None, Moment(datetime(1970, 1, 2, 1)), upper_closed=True),
    conditions.QuotedRange(Moment(date(1970, 1, 2)), Quoted("1970-01-03"), True, True),
    conditions.Range("1", "2"),
    conditions.Range(date(1970, 1, 1), date(1970, 1, 3)),
]
A = Attribute.parse("a")
TREES = {"letters": rm.Hierarchy.of({"abc": "b", "b": "z", 1: "b", 2: "z"})}
PREDICATES = [
    *(
        Predicate(A, condition, polarity)
        for condition in CONDITIONS.values()
        for polarity in Polarity
    ),
    *(Predicate(A, condition) for condition in (*ODD, *QUOTED)),
    *(
        Predicate(Applied(operation, A), conditions.Range(0, 3000))
        for operation in OPERATIONS.values()
    ),
]
EVENTS: list[dict[str, Any]] = [
    {}, {"a": None}, {"a": []}, {"a": 1}, {"a": 2.5}, {"a": "b"}, {"a": "1.3"}, {"a": "abc"},
    {"a": [1, "b"]}, {"a": [1, 2]}, {"a": True}, {"a": 86_400_000}, {"a": "1970-01-02T00:00:00Z"},
    {"a": {"k": 1}}, {"a": "1.2"}, {"a": ["1.2.0-rc.1+b", None]}, {"a": "v1.2.0-alpha"},
    {"a": [{"k": 1, "n": 3}, {"k": 2}]}, {"a": [{"k": 1}, {"n": 3}]}, {"a": [{"k": 1, "n": 3}]},
    {"a": date(1970, 1, 2)}, {"a": datetime(1970, 1, 2)}, {"a": datetime(1970, 1, 2, 1)},
    {"a": date(1970, 1, 3)}, {"a": "1"}, {"a": "1970-01-02"}, {"a": ["15", 7]}, {"a": False},
    {"a": "10.1.2.3"}, {"a": ["2001:db8::1", "x"]}, {"a": "::10.1.2.3"},
]  # fmt: skip


def test_every_kind_has_a_row() -> None:
    assert set(CONDITIONS) == set(get_args(Condition))
    assert set(OPERATIONS) == set(get_args(Operation))


@pytest.mark.parametrize("predicate", PREDICATES, ids=describe)
def test_is_written_and_read_in_every_form(predicate: Predicate) -> None:
    criterion = Criterion("c", predicate).bound(TREES)
    from_json = Criterion.from_json(criterion.to_json()).bound(TREES)
    from_text = Criterion("c", rm.parse(criterion.to_text())).bound(TREES)
    for event in EVENTS:
        assert from_json.score(event, now=NOW) == criterion.score(event, now=NOW)
        assert from_text.holds(event, now=NOW) == criterion.holds(event, now=NOW)
    with suppress(NoSqlEquivalent):
        assert criterion.to_sql()


@pytest.mark.parametrize("predicate", PREDICATES, ids=describe)
def test_is_explained_and_derived(predicate: Predicate) -> None:
    criterion = Criterion("c", predicate).bound(TREES)
    for event in EVENTS:
        assert criterion.explain(event, now=NOW).holds == criterion.holds(event, now=NOW)
    index = rm.Index.build([criterion], hierarchies=TREES)
    found = {criterion.holds(event, now=NOW) for event in derive(index, now=NOW)}
    assert found == {True, False}


def test_is_found_by_an_index_built_merged_and_loaded(tmp_path) -> None:
    criteria = [Criterion(f"c{i}", predicate) for i, predicate in enumerate(PREDICATES)]
    random.Random(1).shuffle(criteria)
    index = rm.Index.build(criteria[::2], hierarchies=TREES)
    index.add(criteria[1::2])
    index.merge()
    index.save(tmp_path)
    for event in EVENTS:
        expected = {one.id for one in criteria if one.holds(event, now=NOW, hierarchies=TREES)}
        for asked in (index, rm.load(tmp_path)):
            assert set(asked.match(event, now=NOW)) == expected
            assert set(asked.match_many([event], now=NOW).ids(0)) == expected
