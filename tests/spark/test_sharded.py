"""Split over groups of segments, an index answers as it does whole."""

from __future__ import annotations

from pathlib import Path

import pytest
from drawn import best, criteria, holding, rows, saved, table, texts

from remuda.index.question import Question
from remuda.index.storage import read_version
from remuda.language import json_form
from remuda.language.criterion import Criterion
from remuda.spark.matching import match, top
from remuda.spark.sharded import groups
from remuda.spark.tasks import Task
from strategies import NOW

BATCH = "spark.sql.execution.arrow.maxRecordsPerBatch"


@pytest.fixture(scope="module")
def rules() -> list[Criterion]:
    return criteria()


@pytest.fixture(scope="module")
def home(rules, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return saved(rules, tmp_path_factory.mktemp("index"), 7)


@pytest.mark.parametrize("shards", [1, 2, 7])
def test_the_same_as_plain_evaluation(spark, rules, home, shards: int) -> None:
    drawn = table(12, 40)
    frame = spark.createDataFrame(drawn).repartition(3)
    plain = {row["key"]: holding(rules, row) for row in rows(drawn)}
    found = match(frame, home, now=NOW, shards=shards)
    assert found.schema == match(frame, home, now=NOW, shards=None).schema
    assert {row["key"]: sorted(row["matches"]) for row in found.collect()} == plain
    ranked = top(frame, home, 5, now=NOW, shards=shards).collect()
    assert {row["key"]: [tuple(pair) for pair in row["matches"]] for row in ranked} == {
        row["key"]: best(rules, row, 5) for row in rows(drawn)
    }


def test_the_rows_come_back_as_they_were(spark, home) -> None:
    frame = spark.createDataFrame(table(4, 20)).repartition(3)
    sharded = match(frame, home, shards=3).drop("matches", "index_version")
    assert sorted(map(str, sharded.collect())) == sorted(map(str, frame.collect()))


def test_exploded(spark, rules, home) -> None:
    drawn = table(0, 30)
    frame = spark.createDataFrame(drawn)
    found = match(frame, home, explode=True, now=NOW, shards=2).select("key", "matches")
    assert sorted(map(tuple, found.collect())) == sorted(
        (row["key"], name) for row in rows(drawn) for name in holding(rules, row)
    )
    ranked = top(frame, home, 2, explode=True, now=NOW, shards=2).select("key", "matches.*")
    assert sorted(map(tuple, ranked.collect())) == sorted(
        (row["key"], *pair) for row in rows(drawn) for pair in best(rules, row, 2)
    )


def test_batches_of_one_row(spark, rules, home) -> None:
    drawn = texts(12)
    frame = spark.createDataFrame(
        [(i, text) for i, text in enumerate([*drawn, "{"])], "key int, e string"
    )
    before = spark.conf.get(BATCH)
    spark.conf.set(BATCH, 1)
    try:
        found = match(frame, home, event="e", now=NOW, shards=7).orderBy("key").collect()
    finally:
        spark.conf.set(BATCH, before)
    assert [sorted(row["matches"]) for row in found] == [
        *(holding(rules, json_form.read_event(text)) for text in drawn),
        holding(rules, None),
    ]
    assert [bool(row["event_error"]) for row in found] == [False] * 12 + [True]


def test_an_empty_table(spark, home) -> None:
    empty = spark.createDataFrame(table(0, 5)).limit(0)
    assert match(empty, home, shards=7).count() == 0
    assert top(empty, home, 3, explode=True, shards=2).count() == 0


def task(home: Path) -> Task:
    return Task(str(home), read_version(home).name, Question.of())


def test_split_by_size(home) -> None:
    sizes = {one["segment"]: one["bytes"] for one in read_version(home).segments}
    total = sum(sizes.values())
    assert len(sizes) == 7
    assert len(groups(task(home), "auto", total, streaming=False)) < 2
    assert len(groups(task(home), None, 1, streaming=False)) < 2
    assert len(groups(task(home), "auto", 1, streaming=True)) < 2
    two = groups(task(home), "auto", total - 1, streaming=False)
    assert sorted(name for group in two for name in group) == sorted(sizes)
    heavier = max(sum(sizes[name] for name in group) for group in two)
    assert heavier < total * 0.65
    assert len(groups(task(home), "auto", 1, streaming=False)) == 7
    assert len(groups(task(home), 100, total, streaming=False)) == 7
