"""Builds on Spark at a URI: whoever dies or comes second, the published version is complete."""

from __future__ import annotations

import random
import sys
import time
from pathlib import Path

import pytest
from children import numbers, started, wait_until

import remuda as rm
from remuda.errors import StorageError
from remuda.index import storage
from remuda.index.stores import SEGMENTS, store_of
from remuda.language.criterion import Criterion
from remuda.language.text import parse
from remuda.spark import building, match, read_criteria
from remuda.spark.building import build_index

pytestmark = pytest.mark.outside
CHILD = Path(__file__).with_name("building_child.py")


@pytest.fixture(autouse=True)
def _cached(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REMUDA_CACHE", str(tmp_path / "cache"))


def killed_builder(uri: str, first: int, seconds: float, log: Path) -> int:
    """Let a builder build for some time, kill it; the round that it was at."""
    with started([sys.executable, CHILD, uri, first], log) as child:
        wait_until(lambda: numbers(log), child, log)
        time.sleep(seconds)
    return numbers(log)[-1]


def test_a_driver_that_is_killed_leaves_a_whole_version(bucket: str, tmp_path: Path) -> None:
    uri, number = f"{bucket}/ads", 1
    rm.Index.build(Criterion(str(i), parse("a >= 0")) for i in range(60)).save(uri)
    rng = random.Random(1)
    for i in range(2):
        seconds = 1.0 + 4.0 * rng.random()
        number = killed_builder(uri, number, seconds, tmp_path / f"builder{i}.log") + 1
        index = rm.load(uri)
        held = {i for i in range(number + 1) if index.match({"a": i})}
        least = min(held)
        assert len(index) == len(index.match({"a": least})) == 60
        assert least < number
    storage.swept(uri, 0.0)
    entries = storage.read_version(uri).segments
    assert {one["segment"] for one in entries} <= set(store_of(uri).names(SEGMENTS))


def test_of_two_builders_on_spark_one_is_told(
    spark, bucket: str, s3_server: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    uri = f"{bucket}/ads"
    for name, value in s3_server.items():  # of the workers of a session that runs already
        monkeypatch.setitem(spark.sparkContext.environment, name, value)
    rules = spark.createDataFrame([("a", "b = 1")], "id string, expression string")
    build_index(read_criteria(spark, rules), uri)
    run = building._run

    def meanwhile(*arguments):
        reports = run(*arguments)
        rm.Index.build([Criterion("a", parse("b = 2")), Criterion("c", parse("b = 2"))]).save(uri)
        return reports

    changed = rules.selectExpr("id", "'b = 3' AS expression")
    with monkeypatch.context() as patch:
        patch.setattr(building, "_run", meanwhile)
        with pytest.raises(StorageError, match="another builder has published it meanwhile"):
            build_index(read_criteria(spark, changed), uri)
    rows = match(spark.createDataFrame([(2,), (3,)], "b int"), uri).collect()
    assert [sorted(row["matches"]) for row in rows] == [["a", "c"], []]
