"""Null and absent: the two predicates that tell them apart, in events of every form."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import remuda as rm
from remuda.encoding.events import in_column
from remuda.errors import NoMustangEquivalent, NoSqlEquivalent
from remuda.model.attributes import Attribute, Lack

EVENTS: dict[str, tuple[str, Any, Lack | None]] = {
    "a value": ("a", {"a": 0}, None),
    "no such key": ("a", {"b": 1}, Lack.ABSENT),
    "null": ("a", {"a": None}, Lack.NULL),
    "an empty list": ("a", {"a": []}, Lack.EMPTY),
    "an empty tuple": ("a", {"a": ()}, Lack.EMPTY),
    "an empty array": ("a", {"a": np.array([])}, Lack.EMPTY),
    "an empty object": ("a", {"a": {}}, None),
    "a list of null": ("a", {"a": [None]}, None),
    "pandas' NaT": ("a", {"a": pd.NaT}, Lack.NULL),
    "pandas' NA": ("a", {"a": pd.NA}, Lack.NULL),
    "NumPy's NaT": ("a", {"a": np.datetime64("NaT")}, Lack.NULL),
    "through null": ("a.b", {"a": None}, Lack.ABSENT),
    "through a number": ("a.b", {"a": 1}, Lack.ABSENT),
    "null inside": ("a.b", {"a": {"b": None}}, Lack.NULL),
    "absent inside": ("a.b", {"a": {}}, Lack.ABSENT),
    "an element that is null": ("a[1]", {"a": [0, None]}, Lack.NULL),
    "beyond the end": ("a[2]", {"a": [0, None]}, Lack.ABSENT),
    "an element of nothing": ("a[0]", {"a": []}, Lack.ABSENT),
    "collected from an empty list": ("a[*]", {"a": []}, Lack.EMPTY),
    "collected from null": ("a[*]", {"a": None}, Lack.ABSENT),
    "collected from a number": ("a[*].k", {"a": 1}, Lack.ABSENT),
    "collected, none found": ("a[*].k", {"a": [{}]}, Lack.EMPTY),
    "collected, null found": ("a[*].k", {"a": [{"k": None}]}, None),
    "a query that finds nothing": ("$..k", {"a": 1}, Lack.EMPTY),
    "an event that is no object": ("a", 1, Lack.ABSENT),
    "an event that is null": ("a", None, Lack.ABSENT),
}


@pytest.mark.parametrize(("path", "event", "lack"), EVENTS.values(), ids=EVENTS)
def test_why_it_is_missing(path: str, event: Any, lack: Lack | None) -> None:
    a = rm.attr(path)
    assert Attribute.parse(path).lack(event) is lack
    assert a.is_null_value().holds(event) is (lack is Lack.NULL)
    assert a.is_absent().holds(event) is (lack is Lack.ABSENT)
    assert a.missing().holds(event) is (lack is not None)
    index = rm.Index.build(_both(path))
    assert index.match(event) == index.match_many([event]).ids(0) == _expected(path, event)


def _both(path: str) -> list[rm.Criterion]:
    asked = {"null": rm.attr(path).is_null_value(), "absent": rm.attr(path).is_absent()}
    asked |= {"missing": rm.attr(path).missing()}
    asked |= {f"not {name}": ~one for name, one in asked.items()}
    return [rm.Criterion(name, one) for name, one in asked.items()]


def _expected(path: str, event: Any) -> list[str]:
    return [one.id for one in _both(path) if one.holds(event)]


def _table(kind: pa.DataType, *values: Any) -> pa.Table:
    return pa.table({"a": pa.array(values, kind)})


STRUCT = pa.struct({"b": pa.int64(), "c": pa.list_(pa.int64())})
TABLES = {
    "a column": ("a", _table(pa.int64(), 1, None)),
    "a column of nulls": ("a", _table(pa.null(), None, None)),
    "a column of lists": ("a", _table(pa.list_(pa.int64()), [1], [], None, [None])),
    "a column of texts": ("a", _table(pa.dictionary(pa.int8(), pa.string()), "x", None)),
    "no such column": ("b", _table(pa.int64(), 1, None)),
    "a struct": ("a.b", _table(STRUCT, {"b": 1}, {"b": None}, None)),
    "a list in a struct": ("a.c", _table(STRUCT, {"c": [1]}, {"c": []}, {"c": None}, None)),
    "no such field": ("a.x", _table(STRUCT, {"b": 1}, None)),
    "a map": ("a.k", _table(pa.map_(pa.string(), pa.int64()), {"k": 1}, {"k": None}, {}, None)),
    "an element": ("a[1]", _table(pa.list_(pa.int64()), [1, 2], [1, None], [1], [], None)),
    "collected": ("a[*].b", _table(pa.list_(STRUCT), [{"b": 1}], [{"b": None}], [None], [], None)),
    "a query": ("$..b", _table(STRUCT, {"b": 1}, {"b": None}, None)),
    "a union": (
        "a",
        pa.table({"a": pa.UnionArray.from_dense(
            pa.array([0, 1], pa.int8()), pa.array([0, 0], pa.int32()), [pa.array([1]), pa.nulls(1)]
        )}),
    ),
}  # fmt: skip


@pytest.mark.parametrize(("path", "table"), TABLES.values(), ids=TABLES)
def test_a_table_is_what_its_rows_are(path: str, table: pa.Table) -> None:
    index = rm.Index.build(_both(path))
    rows = [dict(one) for one in table.to_pylist(maps_as_pydicts="strict")]
    found = index.match_many(table)
    assert [found.ids(i) for i in range(len(rows))] == [_expected(path, row) for row in rows]


def test_in_a_typed_column_null_is_a_null_value_and_a_lacking_key_is_absent() -> None:
    index = rm.Index.build(_both("a"))
    assert "null" in index.match_many(pa.table({"a": pa.nulls(1)})).ids(0)
    assert "absent" in index.match_many(pa.table({"b": pa.nulls(1)})).ids(0)
    inside = rm.Index.build(_both("a.k"))
    maps = _table(pa.map_(pa.string(), pa.int64()), {"j": 1}, {"k": None})
    found = inside.match_many(maps)
    assert "absent" in found.ids(0)
    assert "null" in found.ids(1)


def test_an_index_says_whether_maps_must_be_read_as_objects() -> None:
    """As columns, a key that some maps lack would be null."""
    plain = rm.Index.build([rm.Criterion("c", rm.attr("a").missing())])
    assert not plain.tells_null_from_absent()
    plain.add(rm.Criterion("late", (rm.attr("b") == 1) | rm.attr("a").is_absent()))
    assert plain.tells_null_from_absent()
    index = rm.Index.build(_both("a"))
    assert index.tells_null_from_absent()
    maps = pa.array([{"a": 1}, {"a": None}, {}, None], pa.map_(pa.string(), pa.int64()))
    portion = in_column(maps, maps, lambda: None)
    found = index.match_many(portion.objects())
    rows = [{"a": 1}, {"a": None}, {}, None]
    assert [found.ids(i) for i in range(4)] == [_expected("a", row) for row in rows]


FORMS = {
    "null": (rm.attr("a").is_null_value(), "null_value(a)", "NULL_VALUE"),
    "absent": (rm.attr("a").is_absent(), "absent(a)", "ABSENT"),
}


@pytest.mark.parametrize(("asked", "text", "caveat"), FORMS.values(), ids=FORMS)
def test_the_three_forms(asked: rm.Expression, text: str, caveat: str) -> None:
    criterion = rm.Criterion("c", asked)
    assert criterion.to_text() == text
    assert rm.parse(text) == asked
    assert rm.parse(f"NOT {text}") == ~asked == asked.strong()
    assert caveat in str(criterion.to_json())
    assert rm.Criterion.from_json(criterion.to_json()) == criterion
    with pytest.raises(NoMustangEquivalent, match=caveat):
        criterion.to_json(mustang=True)


def test_spark_says_null_of_a_column_alone() -> None:
    assert rm.Criterion("c", rm.attr("a").is_null_value()).to_sql() == "a IS NULL"
    for asked in (rm.attr("a.b").is_null_value(), rm.attr("a").is_absent()):
        with pytest.raises(NoSqlEquivalent, match="not there"):
            rm.Criterion("c", asked).to_sql()


def test_an_explanation_says_why_it_is_missing() -> None:
    asked = rm.Criterion("c", rm.attr("a").is_absent())
    assert str(asked.explain({"a": None})) == "✗ a absent: it is null"
    assert str(asked.explain({"a": []})) == "✗ a absent: it is an empty list"
    assert str(asked.explain({})) == "✓ a absent: it is absent"
    assert asked.explain({"a": None}).to_dict()["lack"] == "null"
