"""Versions that travel with the job: workers need not reach the index."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest
from pyspark import SparkFiles

import remuda as rm
from remuda.index.archives import archive_name, write_archive
from remuda.language.criterion import Criterion
from remuda.language.text import parse
from remuda.spark import (
    batches,
    checking,
    match,
    match_stream,
    positions,
    ratify,
    reach,
    register,
    similar,
    top,
    with_payloads,
)
from remuda.spark.transformer import Matcher


@pytest.fixture
def home(tmp_path: Path) -> Path:
    index = rm.Index.build(Criterion(f"r{i}", parse(f"a >= {i}"), payload=i) for i in range(3))
    index.save(tmp_path / "index")
    index.remove("r1")
    index.save(tmp_path / "index")
    return tmp_path / "index"


def found(answers: Any) -> list[list[str]]:
    return [sorted(row["matches"]) for row in answers.collect()]


def test_an_archive_is_an_index(home: Path, tmp_path: Path) -> None:
    write_archive(home, "v000001", tmp_path / "archive.zip")
    shutil.unpack_archive(tmp_path / "archive.zip", tmp_path / "elsewhere")
    shutil.rmtree(home)
    assert rm.load(tmp_path / "elsewhere", version="v000001").match({"a": 1}) == ["r0", "r1"]


def test_workers_open_what_they_were_sent(spark, home: Path) -> None:
    events = spark.range(2).selectExpr("id AS a")
    sent = match(events, home, ship=True)
    best = top(events, home, 1, ship=True)
    counted = reach(events, home, ship=True)
    shards = match(events, home, ship=True, shards=2, version="v000002")
    transformed = Matcher(index=home, ship=True).transform(events)
    register(spark, {"sent": home}, ship=True)
    asked = events.selectExpr("remuda_match('sent', struct(*)) AS matches")
    beside = with_payloads(sent, home, ship=True)
    places = positions(spark, home, ship=True)
    names = {archive_name(home, "v000002")}
    home.rename(home.with_name("moved"))  # where no worker finds it
    assert found(transformed) == found(asked) == [["r0"], ["r0"]]
    assert sorted(row["id"] for row in places.collect()) == ["r0", "r2"]
    assert [row["payloads"] for row in beside.collect()] == [["0"], ["0"]]
    assert found(sent) == [["r0"], ["r0"]]
    assert found(shards) == [["r0"], ["r0"]]
    assert [[one["id"] for one in row["matches"]] for row in best.collect()] == [["r0"]] * 2
    assert {row["id"]: row["events"] for row in counted.collect()} == {"r0": 2, "r2": 0}
    assert names <= {one.name for one in Path(SparkFiles.getRootDirectory()).iterdir()}


def test_what_is_sent_is_ratified(spark, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Workers are told of the archive alone."""
    places = []

    def over_segments(spark, trial, segments):
        places.append(trial.path)
        return run(spark, trial, segments)

    run = checking._over_segments
    monkeypatch.setattr(checking, "_over_segments", over_segments)
    held = ratify(home, spark=spark, ship=True)
    assert (held.n_disagreements, held.n_criteria) == (0, 2)
    assert places == [f"shipped:{archive_name(home, 'v000002')}"]
    events = spark.range(3).selectExpr("id AS a")
    held = ratify(home, events, ship=True)
    assert (held.n_disagreements, held.n_events) == (0, 3)
    alike = similar(events, home, Criterion("new", parse("a >= 1")), ship=True)
    assert [one.id for one in alike.similar] == ["r0", "r2"]


def test_a_version_is_sent_once(spark, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    events = spark.range(1).selectExpr("id AS a")
    assert found(match(events, home, ship=True)) == [["r0"]]
    monkeypatch.setattr("remuda.spark.shipping.write_archive", None)
    assert found(match(events, home, ship=True)) == [["r0"]]


def test_another_index_under_the_same_name_is_another_archive(spark, home: Path) -> None:
    events = spark.range(1).selectExpr("id AS a")
    assert found(match(events, home, ship=True, version="v000001")) == [["r0"]]
    shutil.rmtree(home)
    rm.Index.build([Criterion("new", parse("a >= 0"))]).save(home)
    assert found(match(events, home, ship=True)) == [["new"]]


def test_a_stream_sends_what_is_newest(spark, home: Path, tmp_path: Path) -> None:
    source = tmp_path / "in"
    source.mkdir()
    stream = spark.readStream.schema("a long").parquet(str(source))

    def run() -> None:
        spark.range(1).selectExpr("id AS a").write.mode("append").parquet(str(source))
        match_stream(
            stream, home, tmp_path / "out", checkpoint=tmp_path / "checkpoint",
            trigger={"availableNow": True}, ship=True,
        ).awaitTermination()  # fmt: skip

    run()
    index = rm.load(home)
    index.add(Criterion("late", parse("a <= 0")))
    index.save(home)
    run()
    told = [(one.version, one.matches) for one in batches(tmp_path / "out")]
    assert told == [("v000002", 1), ("v000003", 2)]
