"""Streams: every event once, each batch with one version, a retried batch with the same."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest

from remuda.errors import StorageError
from remuda.index.index import Index
from remuda.language.criterion import Criterion
from remuda.language.text import parse
from remuda.spark.streaming import batches, match_stream

ONCE = {"availableNow": True}
SCHEMA = "id bigint, a bigint"


def publish(home: Path, threshold: int) -> str:
    """A version whose only criterion holds from a number on, and is named for it."""
    rule = Criterion(f"from{threshold}", parse(f"a >= {threshold}"), frozenset({"all"}))
    extra = Criterion("even", parse("a % 2 = 0"))
    return Index.build([rule, extra]).save(home)


def arrive(spark, folder: Path, n: int, first: int = 0) -> None:
    """So many files of ten events each."""
    for number in range(first, first + n):
        rows = spark.range(number * 10, number * 10 + 10).selectExpr("id", "id % 10 AS a")
        rows.coalesce(1).write.mode("append").parquet(str(folder))


def stream(spark, folder: Path):
    reader = spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", 1)
    return reader.parquet(str(folder))


@pytest.fixture
def places(tmp_path):
    return tmp_path / "in", tmp_path / "index", tmp_path / "out", tmp_path / "checkpoint"


def check(spark, out: Path, n_events: int) -> dict[int, str]:
    """Every event is there once, matched as its version has it; the version of each batch."""
    rows = spark.read.parquet(str(out)).collect()
    assert Counter(row["id"] for row in rows) == Counter(range(n_events))
    told = {one.batch_id: one for one in batches(out)}
    for row in rows:
        version = row["index_version"]
        assert version == told[row["batch_id"]].version
        threshold = 5 if version == "v000001" else 7
        expected = {f"from{threshold}"} if row["a"] >= threshold else set()
        assert set(row["matches"]) - {"even"} == expected
    for batch_id, one in told.items():
        own = [row for row in rows if row["batch_id"] == batch_id]
        assert (one.rows, one.matches) == (len(own), sum(len(row["matches"]) for row in own))
    return {batch_id: one.version for batch_id, one in told.items()}


def test_a_new_version_is_used_from_the_next_batch_on(spark, places):
    source, index, out, checkpoint = places
    arrive(spark, source, 3)
    publish(index, 5)
    seen = []

    def swap(batch) -> None:
        seen.append(batch)
        if batch.batch_id == 0:
            publish(index, 7)

    query = match_stream(
        stream(spark, source), index, out, checkpoint=checkpoint, trigger=ONCE, on_batch=swap
    )
    query.awaitTermination()
    assert check(spark, out, 30) == {0: "v000001", 1: "v000002", 2: "v000002"}
    assert seen == list(batches(out))
    assert all(one.seconds > 0 and one.errors == 0 for one in seen)


def test_a_batch_that_is_tried_again_is_neither_doubled_nor_changed(spark, places):
    source, index, out, checkpoint = places
    arrive(spark, source, 2)
    publish(index, 5)

    def fail(batch) -> None:
        raise RuntimeError("struck by lightning")  # published, but not known to Spark

    def start(on_batch=None):
        return match_stream(
            stream(spark, source), index, out, checkpoint=checkpoint, trigger=ONCE,
            on_batch=on_batch,
        )  # fmt: skip

    with pytest.raises(Exception, match="struck by lightning"):
        start(fail).awaitTermination()
    publish(index, 7)
    start().awaitTermination()
    assert check(spark, out, 20) == {0: "v000001", 1: "v000002"}
    assert not list((out / "_writing").iterdir())


def test_a_batch_keeps_the_version_of_its_first_try(spark, places):
    source, index, out, checkpoint = places
    arrive(spark, source, 2)
    publish(index, 5)
    publish(index, 7)
    (checkpoint / "remuda").mkdir(parents=True)
    pin = {"version": "v000001", "now": 0}
    (checkpoint / "remuda" / "0.json").write_text(json.dumps(pin))
    (out / "_writing" / "0-deadbeef").mkdir(parents=True)  # left by a try that was killed
    match_stream(
        stream(spark, source), index, out, checkpoint=checkpoint, trigger=ONCE
    ).awaitTermination()
    assert check(spark, out, 20) == {0: "v000001", 1: "v000002"}
    assert next(batches(out)).now == 0
    assert not list((out / "_writing").iterdir())


def test_the_output_of_another_stream_is_not_mixed_in(spark, places):
    source, index, out, checkpoint = places
    arrive(spark, source, 1)
    publish(index, 5)
    (out / "batch_id=0").mkdir(parents=True)
    query = match_stream(stream(spark, source), index, out, checkpoint=checkpoint, trigger=ONCE)
    with pytest.raises(Exception, match="another stream wrote it"):
        query.awaitTermination()


def test_the_best_of_tagged_criteria_a_row_each(spark, places):
    source, index, out, checkpoint = places
    arrive(spark, source, 1)
    publish(index, 5)
    match_stream(
        stream(spark, source), index, out, checkpoint=checkpoint, trigger=ONCE,
        columns=["id"], top=1, explode=True, tags={"all"}, weights={"a": 3.0}, name="best",
    ).awaitTermination()  # fmt: skip
    rows = spark.read.parquet(str(out)).collect()
    assert set(rows[0].asDict()) == {"id", "matches", "index_version", "batch_id"}
    found = {(row["id"], row["matches"]["id"], row["matches"]["score"]) for row in rows}
    assert found == {(i, "from5", 3.0) for i in range(5, 10)}
    assert [(one.rows, one.matches) for one in batches(out)] == [(10, 5)]


def test_events_that_are_none_are_counted(spark, places):
    source, index, out, checkpoint = places
    publish(index, 5)
    rows = [('{"a": 9}',), ("{",), ("3",), (None,)]
    spark.createDataFrame(rows, "body string").coalesce(1).write.parquet(str(source))
    events = spark.readStream.schema("body string").parquet(str(source))
    match_stream(
        events, index, out, checkpoint=checkpoint, trigger=ONCE, event="body"
    ).awaitTermination()
    (one,) = batches(out)
    assert (one.rows, one.errors) == (4, 3)


def test_what_cannot_work_is_refused_before_the_stream_starts(spark, places):
    source, index, out, checkpoint = places
    arrive(spark, source, 1)
    events = stream(spark, source)
    with pytest.raises(StorageError, match="there is no index here"):
        match_stream(events, index, out, checkpoint=checkpoint)
    publish(index, 5)
    with pytest.raises(StorageError, match="nil: is not a file system"):
        match_stream(events, index, "nil://bucket/out", checkpoint=checkpoint)
    with pytest.raises(Exception, match="nosuch"):
        match_stream(events, index, out, checkpoint=checkpoint, columns=["nosuch"])
