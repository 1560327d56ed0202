"""Whatever form an event has, Spark finds what plain evaluation finds."""

from __future__ import annotations

import json
from datetime import timedelta
from pathlib import Path
from typing import Any, get_args

import pyarrow as pa
import pytest
from drawn import N_CRITERIA, criteria, holding, rows, saved, table, texts

from remuda.errors import RemudaError
from remuda.index.index import Index
from remuda.language.criterion import Criterion
from remuda.language.python import attr
from remuda.language.text import parse
from remuda.model.conditions import Condition
from remuda.spark.matching import match
from strategies import NOW

BATCH = "spark.sql.execution.arrow.maxRecordsPerBatch"


@pytest.fixture(scope="module")
def rules() -> list[Criterion]:
    return criteria()


@pytest.fixture(scope="module")
def home(rules, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return saved(rules, tmp_path_factory.mktemp("index"))


@pytest.fixture(params=[1, 50_000])
def batch_size(spark, request):
    before = spark.conf.get(BATCH)
    spark.conf.set(BATCH, request.param)
    yield request.param
    spark.conf.set(BATCH, before)


def found(frame: Any) -> dict[Any, list[str]]:
    """The ids of each row, sorted, by its key."""
    return {row["key"]: sorted(row["matches"]) for row in frame.collect()}


def assert_same(rules: list[Criterion], frame: Any, expected: dict[Any, list[str]]) -> None:
    """Say which criteria differ, and where, instead of thousands that do not."""
    answered = found(frame)
    assert answered.keys() == expected.keys()
    differ = {row: set(answered[row]) ^ set(expected[row]) for row in answered}
    wrong = {rule.id: rule for rule in rules for ids in differ.values() if rule.id in ids}
    assert not wrong, {row: ids for row, ids in differ.items() if ids}


def test_the_rules_are_of_every_kind(rules) -> None:
    assert len(rules) == N_CRITERIA
    kinds = {type(leaf.condition) for one in rules for leaf in leaves(one.expression)}
    assert kinds == set(get_args(Condition))


def leaves(expression: Any) -> list[Any]:
    if hasattr(expression, "condition"):
        return [expression]
    parts = expression.parts if hasattr(expression, "parts") else (expression.part,)
    return [leaf for part in parts for leaf in leaves(part)]


@pytest.mark.usefixtures("batch_size")
def test_typed_columns(spark, rules, home) -> None:
    drawn = table(0, 40)
    expected = {row["key"]: holding(rules, row) for row in rows(drawn)}
    assert_same(rules, match(spark.createDataFrame(drawn), home, now=NOW), expected)


@pytest.mark.parametrize("first", [4, 10, 14])
def test_columns_of_other_types(spark, rules, home, first: int) -> None:
    drawn = table(first, 60)
    expected = {row["key"]: holding(rules, row) for row in rows(drawn)}
    assert_same(rules, match(spark.createDataFrame(drawn), home, now=NOW), expected)


def test_a_struct_that_may_be_null(spark, rules, home) -> None:
    drawn = table(12, 60)
    events = [None if i % 7 == 0 else row for i, row in enumerate(rows(drawn))]
    structs = drawn.drop_columns(["key"]).to_struct_array().combine_chunks()
    column = pa.StructArray.from_arrays(
        structs.flatten(), fields=list(structs.type), mask=pa.array([e is None for e in events])
    )
    frame = spark.createDataFrame(pa.table({"key": drawn["key"], "payload": column}))
    answered = match(frame, home, event="payload", now=NOW)
    for event in events:
        if event is not None:
            del event["key"]
    assert_same(rules, answered, {i: holding(rules, event) for i, event in enumerate(events)})
    errors = {row["key"]: row["event_error"] for row in answered.collect()}
    assert errors == {i: None if e else "the event is null" for i, e in enumerate(events)}


MAPS = {
    pa.int64(): [{"a": 1, "b": 2}, {}, None, {"a": None, "zz": 1}, {"odd name": 2, "c": 3}],
    pa.string(): [{"a": "a", "b": "ab"}, {}, None, {"tags": "1.2-rc1"}, {"c": "", "user": "é"}],
    pa.list_(pa.string()): [{"tags": ["a", "b"], "a": []}, None, {"b": [None]}],
    pa.struct({"age": pa.int64()}): [{"user": {"age": 1}}, {"user": {"age": None}, "a": None}],
}


@pytest.mark.parametrize("kind", MAPS, ids=str)
def test_a_map(spark, rules, home, kind) -> None:
    maps = MAPS[kind] * 3
    column = pa.array([m and list(m.items()) for m in maps], pa.map_(pa.string(), kind))
    frame = spark.createDataFrame(pa.table({"key": range(len(maps)), "payload": column}))
    answered = match(frame.repartition(2), home, event="payload", now=NOW)
    assert_same(rules, answered, {i: holding(rules, event) for i, event in enumerate(maps)})


def test_a_map_by_its_columns(spark, tmp_path) -> None:
    """Where no path is of whole events, maps are read column by column."""
    one = Criterion("one", attr("a").eq(1) & attr("b").missing())
    two = Criterion("two", attr("a").exists() | attr("b.0").exists())
    Index.build([one, two]).save(tmp_path)
    maps = [{"a": 1}, {"b": 1, "a": 1}, {}, None, {"z": 1}, {"a": None}]
    column = pa.array([m and list(m.items()) for m in maps], pa.map_(pa.string(), pa.int64()))
    frame = spark.createDataFrame(pa.table({"key": range(len(maps)), "payload": column}))
    for some in (frame, frame.where("key > 2"), frame.where("key = 4")):
        expected = {row["key"]: holding([one, two], row["payload"]) for row in some.collect()}
        assert found(match(some, tmp_path, event="payload")) == expected


def test_keys_that_are_no_names(spark, tmp_path) -> None:
    Index.build([Criterion("none", attr("a").missing())]).save(tmp_path)
    frame = spark.sql("SELECT 1 AS key, map(1, 2) AS payload")
    assert found(match(frame, tmp_path, event="payload")) == {1: ["none"]}


@pytest.mark.parametrize("kind", ["string", "binary"])
def test_json_texts_and_what_is_wrong_with_some(spark, rules, home, kind: str) -> None:
    broken = ['{"a": 1', "", "nonsense", None, "[1, 2]", '"a"', "5", "true", "null", "{}{}"]
    all_of = [*texts(60), *broken, "[" * 5000]
    schema = "key long, payload string"
    frame = spark.createDataFrame(list(enumerate(all_of)), schema)
    frame = frame.withColumn("payload", frame["payload"].cast(kind))
    answered = match(frame, home, event="payload", now=NOW)
    events = [_read(text) for text in all_of]
    assert_same(rules, answered, {i: holding(rules, event) for i, event in enumerate(events)})
    errors = [row["event_error"] for row in answered.orderBy("key").collect()]
    assert errors[:60] == [None] * 60
    assert errors[60] == "the event is not JSON: Input data was truncated"
    assert errors[63] == "the event is null"
    assert errors[64:69] == [
        "the event is an array, not an object",
        "the event is a string, not an object",
        "the event is a number, not an object",
        "the event is a boolean, not an object",
        "the event is null, not an object",
    ]
    assert all(errors[60:])


def _read(text: str | None) -> Any:
    try:
        return json.loads(text or "")
    except (ValueError, RecursionError):
        return None


def test_bytes_that_are_not_unicode(spark, home) -> None:
    (row,) = match(spark.sql("SELECT X'22ff22' AS payload"), home, event="payload").collect()
    assert row["event_error"].startswith("the event is not JSON")


def test_no_such_column(spark, home) -> None:
    with pytest.raises(RemudaError, match=r"no column 'payload' .* there are \['id'\]"):
        match(spark.range(1), home, event="payload")


def test_a_column_that_is_no_event(spark, home) -> None:
    with pytest.raises(RemudaError, match="id is of type bigint: an event is a struct, a map or"):
        match(spark.range(1), home, event="id")


def test_a_type_that_does_not_go_to_python(spark, home) -> None:
    frame = spark.sql("SELECT struct(array(INTERVAL '1-2' YEAR TO MONTH) AS b) AS a")
    with pytest.raises(RemudaError, match=r"column a.b\[\] is of type interval year to month"):
        match(frame, home)


def test_strange_types_satisfy_nothing_and_stay(spark, tmp_path) -> None:
    Index.build([Criterion("there", attr("x").exists()), Criterion("one", attr("x").eq(1))]).save(
        tmp_path
    )
    frame = spark.sql("SELECT INTERVAL '1' DAY AS x, X'01' AS y, TIME'12:00:00' AS z, NULL AS n")
    (row,) = match(frame, tmp_path).collect()
    assert (row["x"], row["y"], row["matches"]) == (timedelta(1), b"\x01", ["there"])


VARIANTS = {
    "a column": ("SELECT parse_json('1') AS a, 2 AS b", None),
    "within a list": ("SELECT array(parse_json('1')) AS a, 2 AS b", None),
    "a field of the event": ("SELECT struct(parse_json('1') AS a, 2 AS b) AS payload", "payload"),
}


@pytest.mark.parametrize("case", VARIANTS)
def test_a_variant_that_a_criterion_looks_at_is_refused_by_name(
    spark, tmp_path: Path, case: str
) -> None:
    query, event = VARIANTS[case]
    Index.build([Criterion("b", attr("b") == 2)]).save(tmp_path)
    (row,) = match(spark.sql(query), tmp_path, event=event).collect()
    assert row["matches"] == ["b"]
    Index.build([Criterion("a", attr("a") == 1)]).save(tmp_path)
    with pytest.raises(Exception, match="may look at a, which is of type variant"):
        match(spark.sql(query), tmp_path, event=event).collect()


SPARKS_OWN = {
    "a timestamp without zone": (
        "TIMESTAMP_NTZ'2024-05-01 12:00:00'",
        "a > TIMESTAMP '2024-05-01T11:59:59Z'",
    ),
    "char": ("CAST('x ' AS CHAR(3))", "a LIKE 'x%'"),
    "varchar": ("CAST('xy' AS VARCHAR(3))", "a = 'xy'"),
    "a collated text": ("'xy' COLLATE UTF8_LCASE", "a = 'xy'"),
    "a collated text of another case": ("'XY' COLLATE UTF8_LCASE", "NOT a = 'xy' AND a = 'XY'"),
    "an interval of days": ("INTERVAL '1' DAY", "a IS NOT NULL"),
}


@pytest.mark.parametrize("case", SPARKS_OWN)
def test_types_of_sparks_own_are_read(spark, tmp_path: Path, case: str) -> None:
    value, text = SPARKS_OWN[case]
    Index.build([Criterion("it", parse(text))]).save(tmp_path)
    (row,) = match(spark.sql(f"SELECT {value} AS a"), tmp_path).collect()
    assert row["matches"] == ["it"]
