"""The same functions under Spark Connect, where there is no JVM at hand."""

from __future__ import annotations

import importlib.util
import os
import sys
from pathlib import Path

import pytest
from children import said, started, wait_for

from remuda.index.index import Index
from remuda.language.criterion import Criterion
from remuda.language.python import attr

NEEDED = ("grpc", "grpc_status", "google.rpc", "zstandard")

# A server beside the classic session of the other tests has to be another process's.
CLIENT = """
import sys
from pyspark.sql import SparkSession
from remuda.language.criterion import Criterion
from remuda.language.python import attr
from remuda.spark.checking import ratify, similar
from remuda.spark.functions import register
from remuda.spark.generating import generate
from remuda.spark.matching import match, top
from remuda.spark.reaching import reach
from remuda.spark.starting import ensure_java
from remuda.spark.transformer import Matcher

home, model = sys.argv[1:]
ensure_java()
builder = SparkSession.builder.remote("local[2]").config("spark.ui.enabled", "false")
quick = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
spark = builder.config("spark.driver.extraJavaOptions", quick).getOrCreate()
assert "connect" in type(spark).__module__
spark.conf.set("spark.sql.shuffle.partitions", "2")
frame = spark.range(4).selectExpr("id", "to_json(struct(id)) AS payload")
ids = {0: ["c0"], 1: ["c0", "c1"], 2: ["c0", "c1", "c2"], 3: ["c0", "c1", "c2"]}


def found(answered, column="matches"):
    return {row["id"]: sorted(row[column]) for row in answered.collect()}


assert found(frame.transform(match, home)) == ids
assert found(match(frame, home, event="payload")) == ids
assert found(match(frame, home, shards=3)) == ids
assert found(match(frame, home, ship=True)) == ids
other = match(frame.withColumnRenamed("id", "Id"), home, case_sensitive=False)
assert found(other.withColumnRenamed("Id", "id")) == ids
assert match(frame, home, explode=True, tags=["t1"]).count() == 3
best = top(frame, home, 1, shards=2).collect()
assert {row["id"]: [tuple(one) for one in row["matches"]] for row in best} == {
    i: [("c0", 1.0)] for i in range(4)
}
counted = reach(frame, home, user="id").collect()
assert sorted(map(tuple, counted)) == [("c0", 4, 4), ("c1", 3, 3), ("c2", 2, 2)]
register(spark, {"ads": home})
frame.createOrReplaceTempView("visits")
assert found(spark.sql("SELECT *, remuda_match('ads', struct(*)) AS m FROM visits"), "m") == ids
matcher = Matcher(index=home, n=2)
matcher.save(model)
assert Matcher.load(model).transform(frame).collect() == top(frame, home, 2).collect()
held = ratify(home)
assert (held.n_disagreements, held.n_criteria) == (0, 3) and held.n_events > 0
over = ratify(home, frame, spark=spark)
assert (over.n_disagreements, over.n_events) == (0, 4)
alike = similar(frame, home, Criterion("new", attr("id") >= 1), n=2)
assert [(one.id, one.score) for one in alike.similar] == [("c1", 1.0), ("c0", 0.75)]
drawn = generate(spark, "begen", criteria=30, events=20)
assert (drawn.criteria.count(), drawn.events.count()) == (30, 20)
spark.stop()
print("all is well")
"""


@pytest.mark.spark
def test_everything_under_connect(tmp_path: Path) -> None:
    absent = [name for name in NEEDED if not _installed(name)]
    if absent:
        pytest.skip(f"Spark Connect needs {', '.join(absent)}: install the extra `spark`")
    index = Index()
    for i in range(3):
        index.add([Criterion(f"c{i}", attr("id") >= i, tags={f"t{i}"})])
        index.save(tmp_path / "index")  # which makes the tail a segment
    environment = {name: value for name, value in os.environ.items() if name != "SPARK_REMOTE"}
    environment |= {"PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1"}
    log = tmp_path / "log"
    words = [sys.executable, "-c", CLIENT, tmp_path / "index", tmp_path / "model"]
    with started(words, log, env=environment, cwd=tmp_path) as child:
        wait_for(child, log)
    assert "all is well" in said(log)


def _installed(name: str) -> bool:
    try:
        return importlib.util.find_spec(name) is not None
    except ModuleNotFoundError:
        return False
