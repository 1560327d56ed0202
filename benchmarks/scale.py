"""Millions of criteria on Spark, and ten million matches: what do they take, of time and memory?

Resumable, in parts: each leaves its figures in REMUDA_SCALE (by default `scale` in the tree), and
one that did is not done again. REMUDA_PARTS=ads-1m-build,ads-1m-reach chooses parts; others follow
in their order. A part that finds other matches than the index does in this process is refused.
"""

from __future__ import annotations

import json
import os
import shutil
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any, Literal

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf
from rich.console import Console
from rich.table import Table

from benchmarks.definitions import HERE
from benchmarks.processes import cpu, watched
from benchmarks.report import RESULTS
from remuda.index.index import load
from remuda.index.storage import read_version
from remuda.language import json_form
from remuda.language.criterion import Criterion
from remuda.language.text import parse
from remuda.spark import build_index, match, reach, read_criteria
from remuda.spark.generating import generate
from remuda.spark.starting import session

_CORES = len(os.sched_getaffinity(0))
_HEAP = "2g"
SPLIT, SHARDS = 1_000_000, 4  # so many criteria are also asked in groups of segments; how many
_CHECKED = 64  # events whose matches are counted in this process, too
_WARMING = 1_000  # events that are asked about before: the JVM compiles, workers open the index


@dataclass(frozen=True, slots=True)
class Size:
    """So many criteria of a shape, and the events that they are asked about."""

    name: str
    kind: str
    criteria: int
    reached: int
    matched: int

    @property
    def home(self) -> Path:
        return _home() / self.name

    @property
    def index(self) -> str:
        return str(self.home / "index")


SIZES = (
    Size("ads-30k", "ads", 30_000, 200_000, 20_000),
    Size("ads-100k", "ads", 100_000, 200_000, 20_000),
    Size("ads-300k", "ads", 300_000, 200_000, 20_000),
    Size("ads-1m", "ads", 1_000_000, 200_000, 20_000),
    Size("ads-3m", "ads", 3_000_000, 200_000, 20_000),
    Size("mustang-500k", "mustang", 500_000, 2_000, 0),
    Size("mustang-5m", "mustang", 5_000_000, 2_000, 0),
    Size("ads-10m", "ads", 10_000_000, 200_000, 20_000),
)


@dataclass(frozen=True, slots=True)
class Figures:
    """What a part took: `n` criteria built or events asked about, seconds, and bytes."""

    part: str
    criteria: int
    n: int
    matches: int
    wall_s: float
    cpu_s: float
    worker_bytes: int  # the largest worker's own memory
    jvm_bytes: int
    index_bytes: int
    date: str = ""

    def row(self) -> tuple[str, ...]:
        return (
            self.part,
            f"{self.n:,}",
            f"{self.matches:,}",
            f"{self.wall_s:,.1f}",
            f"{self.cpu_s:,.1f}",
            f"{self.cpu_s / self.n * 1e6:,.1f}",
            f"{self.worker_bytes / 1e6:,.0f}",
            f"{self.jvm_bytes / 1e6:,.0f}",
            f"{self.index_bytes / 1e6:,.0f}",
        )


def main() -> None:
    """Do the parts that are not done, then show all that are."""
    wanted = os.environ.get("REMUDA_PARTS")
    parts = _parts()
    for name in wanted.split(",") if wanted else parts:
        note = _home() / f"{name}.json"
        if not note.exists():
            note.parent.mkdir(parents=True, exist_ok=True)
            note.write_text(json.dumps(asdict(_measured(name, *parts[name])), indent=1) + "\n")
    _show([name for name in parts if (_home() / f"{name}.json").exists()])


Work = Callable[[SparkSession, Size, int], int]  # with so many events; how many match


def _parts() -> dict[str, tuple[Size, Work, int]]:
    """Of each: what it is about, what is done, and with how many."""
    return {name: (size, *how) for size in (*SIZES, MANY) for name, *how in _of_size(size)}


def _of_size(size: Size) -> Iterator[tuple[str, Work, int]]:
    yield f"{size.name}-build", _build, size.criteria
    if size.reached:
        yield f"{size.name}-reach", _reach, size.reached
    if size.matched:
        yield f"{size.name}-match", _match, size.matched
    if size.matched and size.criteria >= SPLIT:
        yield f"{size.name}-shards", partial(_match, shards=SHARDS), size.matched
    if size is MANY:
        for name, how in _WAYS.items():
            yield f"{size.name}-{name}", partial(_listed, **how), 1


def _measured(part: str, size: Size, work: Work, n: int) -> Figures:
    """One part in a session of its own, so that no memory of another is counted."""
    scratch = size.home / f"spark-{part}"
    conf = {"spark.driver.memory": _HEAP, "spark.local.dir": str(scratch)}
    spark = session(f"local[{_CORES}]", **conf)
    spark.conf.set("spark.sql.shuffle.partitions", str(2 * _CORES))
    try:
        _drawn(spark, size)
        if n > _WARMING and work is not _build:
            work(spark, size, _WARMING)
        with watched() as peak:
            began, spent = time.perf_counter(), cpu()
            matches = work(spark, size, n)
            wall, spent = time.perf_counter() - began, cpu() - spent
    finally:
        spark.stop()
        shutil.rmtree(scratch, ignore_errors=True)
    nbytes = read_version(size.index).nbytes
    now = datetime.now(UTC).isoformat(timespec="seconds")
    return Figures(part, size.criteria, n, matches, wall, spent, peak.worker, peak.jvm, nbytes, now)


def _drawn(spark: SparkSession, size: Size) -> None:
    """Criteria as JSON lines, events as Parquet; not part of what is measured."""
    built = Path(size.index, "CURRENT").exists()
    done = size.home / "events" / "_SUCCESS"
    if built and done.exists():
        return
    if size is MANY:
        criteria, events = _alike(spark)
    else:
        n_events = max(size.reached, size.matched)
        criteria, events = generate(spark, size.kind, criteria=size.criteria, events=n_events)
    if not done.exists():
        events.write.mode("overwrite").parquet(str(size.home / "events"))
    if not built and not (size.home / "criteria" / "_SUCCESS").exists():
        criteria.select("json").write.mode("overwrite").text(str(size.home / "criteria"))


def _alike(spark: SparkSession) -> tuple[DataFrame, DataFrame]:
    """Criteria that all hold for one event."""
    document = Criterion("ID", parse("a >= 0")).to_json()
    before, _, after = json_form.encode(document).decode().partition("ID")
    each = sf.concat(sf.lit(before), sf.col("id"), sf.lit(after))
    event = sf.create_map(sf.lit("a"), sf.lit(1).cast("bigint")).alias("event")
    return spark.range(MANY.criteria).select(each.alias("json")), spark.range(1).select("id", event)


def _build(spark: SparkSession, size: Size, n: int) -> int:
    criteria = read_criteria(spark, str(size.home / "criteria"), format="json")
    built = build_index(criteria, size.index)
    criteria.release()
    if built.added != n:
        raise AssertionError(f"{built.added:,} criteria were built, not {n:,}")
    shutil.rmtree(size.home / "criteria")
    return 0


def _reach(spark: SparkSession, size: Size, n: int) -> int:
    found = reach(_events(spark, size, n), size.index, event="event")
    return int(found.agg(sf.sum("events")).collect()[0][0])


def _match(spark: SparkSession, size: Size, n: int, *, shards: int | None = None) -> int:
    answers = match(_events(spark, size, n), size.index, event="event", shards=shards)
    counted = answers.select("id", sf.size("matches").alias("n"))
    if n == _WARMING:
        _check(spark, size, counted)
    return int(counted.agg(sf.sum("n")).collect()[0][0])


def _check(spark: SparkSession, size: Size, counted: DataFrame) -> None:
    some = {row["id"]: row["n"] for row in counted.where(f"id < {_CHECKED}").collect()}
    table = _events(spark, size, _CHECKED).toArrow()
    rows = [dict(event) for event in table["event"].to_pylist()]
    counts = load(size.index).count_many(rows).tolist()
    if some != dict(zip(table["id"].to_pylist(), counts, strict=True)):
        raise AssertionError(f"{size.name}: Spark found other matches than the index does here")


def _listed(
    spark: SparkSession, size: Size, n: int, *, explode: bool, ids: Literal["text", "int"]
) -> int:
    """All matches of an event, handed over and counted."""
    events = _events(spark, size, n)
    answers = match(events, size.index, event="event", explode=explode, ids=ids)
    each = sf.hash("matches") if explode else sf.size("matches")  # so that it is looked at
    n_matches, total = answers.agg(sf.count(each), sf.sum(each)).collect()[0]
    found = int(n_matches if explode else total)
    if found != size.criteria:
        raise AssertionError(f"{found:,} matches were handed over, not {size.criteria:,}")
    return found


def _events(spark: SparkSession, size: Size, n: int) -> DataFrame:
    return spark.read.parquet(str(size.home / "events")).where(f"id < {n}")


MANY = Size("many", "alike", 10_000_000, 0, 0)
_WAYS: dict[str, dict[str, Any]] = {
    "explode": {"explode": True, "ids": "text"},
    "explode-int": {"explode": True, "ids": "int"},
    "int": {"explode": False, "ids": "int"},
    "text": {"explode": False, "ids": "text"},
}


def _show(names: list[str]) -> None:
    """All figures that there are, and as dated JSON."""
    found = [Figures(**json.loads((_home() / f"{name}.json").read_text())) for name in names]
    if not found:
        return
    table = Table(title=f"on {_CORES} cores, a heap of {_HEAP}", title_justify="left")
    table.add_column("part")
    for name in ("n", "matches", "s", "CPU-s", "CPU-µs each", "worker MB", "JVM MB", "index MB"):
        table.add_column(name, justify="right")
    for one in found:
        table.add_row(*one.row())
    Console(width=max(120, Console().width)).print(table)
    RESULTS.mkdir(exist_ok=True)
    path = RESULTS / f"scale-{datetime.now(UTC):%Y-%m-%d}.json"
    path.write_text(json.dumps([asdict(one) for one in found], indent=1) + "\n", encoding="utf-8")


def _home() -> Path:
    return Path(os.environ.get("REMUDA_SCALE") or HERE.parent / "scale")
