"""Names without regard to case, as Spark reads them unless it is told otherwise."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import PythonException
from pyspark.sql import functions as sf

import remuda as rm
from remuda.errors import RemudaError
from remuda.language.criterion import Criterion
from remuda.language.text import parse
from remuda.spark import match, match_stream, ratify, reach, register, similar, top
from remuda.spark.transformer import Matcher

SCHEMA = """Age int, user struct<Name: string, Zip: struct<Code: int>>,
    legs array<struct<Airport: string, stops: array<struct<N: int>>>>, more map<string, int>"""
ROWS: list[Any] = [
    (20, ("Ann", (1,)), [("SFO", [(1,)]), ("JFK", None)], {"Key": 1}),
    (30, ("Bob", None), None, {"key": 1}),
    (None, None, [], None),
]
TEXTS = (
    "age >= 20",
    "AGE >= 25 AND Age < 40",
    "USER.name = 'Ann'",
    "user.ZIP.code = 1",
    "array_contains(legs.AIRPORT, 'JFK')",
    "exists(LEGS, l -> l.airport = 'SFO' AND exists(l.STOPS, s -> s.n = 1))",
    "lower(User.NAME) = 'bob'",
    "age IS NULL",
    "user.name IS NOT NULL",
    "More['key'] = 1",
    "MORE['Key'] = 1",
)


@pytest.fixture
def home(tmp_path: Path) -> str:
    rm.Index.build(Criterion(one, parse(one)) for one in TEXTS).save(tmp_path / "index")
    return str(tmp_path / "index")


def found(answers: Any) -> list[set[str]]:
    return [set(row["matches"]) for row in answers.collect()]


@pytest.mark.parametrize("form", ["rows", "slices", "struct"])
def test_names_mean_what_spark_reads_them_as(spark, home: str, form: str) -> None:
    """Spark, which is not told otherwise, is the referee."""
    frame = spark.createDataFrame(ROWS, SCHEMA)
    wanted = [
        {text for text, holds in zip(TEXTS, row, strict=True) if holds}
        for row in frame.select(*[sf.expr(one) for one in TEXTS]).collect()
    ]
    assert all(any(text in row for row in wanted) for text in TEXTS)
    if form == "struct":
        frame = frame.select(sf.struct("*").alias("event"))
        answers = match(frame, home, event="event", case_sensitive=False)
    else:
        if form == "slices":
            frame = frame.coalesce(1)
            spark.conf.set("spark.sql.execution.arrow.maxRecordsPerBatch", "2")
        answers = match(frame, home, case_sensitive=False)
    try:
        assert found(answers) == wanted
    finally:
        spark.conf.unset("spark.sql.execution.arrow.maxRecordsPerBatch")


def test_rows_come_out_as_they_were(spark, home: str) -> None:
    frame = spark.createDataFrame(ROWS, SCHEMA)
    answers = match(frame, home, case_sensitive=False)
    assert answers.drop("matches", "index_version").collect() == frame.collect()
    assert answers.schema.fields[: len(frame.schema)] == frame.schema.fields


def test_every_door_has_it(spark, home: str, tmp_path: Path) -> None:
    frame = spark.createDataFrame([(20,)], "aGe int")
    assert found(match(frame, home)) == [{"age IS NULL"}]
    best = top(frame, home, 5, case_sensitive=False).collect()[0]["matches"]
    assert [one["id"] for one in best] == ["age >= 20"]
    counted = reach(frame, home, case_sensitive=False).where("events > 0").collect()
    assert [row["id"] for row in counted] == ["age >= 20"]
    held = ratify(home, frame, case_sensitive=False)
    assert (held.n_disagreements, held.n_events) == (0, 1)
    alike = similar(frame, home, Criterion("new", parse("AgE = 20")), case_sensitive=False)
    assert [one.id for one in alike.similar] == ["age >= 20"]
    transformed = Matcher(index=home, caseSensitive=False).transform(frame)
    assert found(transformed) == [{"age >= 20"}]
    register(spark, {"small": home}, case_sensitive=False)
    asked = frame.selectExpr("remuda_match('small', struct(*)) AS matches")
    assert found(asked) == [{"age >= 20"}]
    register(spark, {"small": home})
    assert found(asked.selectExpr("*")) == [{"age >= 20"}], "it is what it was when it was made"
    frame.write.parquet(str(tmp_path / "in"))
    stream = spark.readStream.schema(frame.schema).parquet(str(tmp_path / "in"))
    match_stream(
        stream, home, tmp_path / "out", checkpoint=tmp_path / "checkpoint",
        trigger={"availableNow": True}, case_sensitive=False,
    ).awaitTermination()  # fmt: skip
    assert found(spark.read.parquet(str(tmp_path / "out"))) == [{"age >= 20"}]


AMBIGUOUS = {
    "columns": ("a int, A int", None, "^a and A differ in case only"),
    "fields": ("s struct<b: int, B: int>", None, "^s: b and B differ"),
    "elements": ("s array<struct<b: int, B: int>>", None, r"^s\[\]: b and B differ"),
    "an event": ("e struct<b: int, B: int>", "e", "^b and B differ"),
}


@pytest.mark.parametrize("case", AMBIGUOUS)
def test_names_that_differ_in_case_only_are_refused(spark, home: str, case: str) -> None:
    schema, event, reason = AMBIGUOUS[case]
    spark.conf.set("spark.sql.caseSensitive", "true")
    try:
        frame = spark.createDataFrame([], schema)
        with pytest.raises(RemudaError, match=reason):
            match(frame, home, event=event, case_sensitive=False)
        match(frame, home, event=event)
        register(spark, {"small": home}, case_sensitive=False)
        one = spark.createDataFrame([[None]] if event else [[None] * len(frame.columns)], schema)
        asked = one.selectExpr(f"remuda_match('small', {event or 'struct(*)'})")
        with pytest.raises(PythonException, match=reason.lstrip("^")):
            asked.collect()
    finally:
        spark.conf.unset("spark.sql.caseSensitive")


def test_beside_the_event_names_may_differ_in_case_only(spark, home: str) -> None:
    spark.conf.set("spark.sql.caseSensitive", "true")
    try:
        frame = spark.sql("SELECT 1 AS a, 2 AS A, named_struct('AGE', 20) AS e")
        assert found(match(frame, home, event="e", case_sensitive=False)) == [{"age >= 20"}]
    finally:
        spark.conf.unset("spark.sql.caseSensitive")
