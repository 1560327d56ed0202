"""Matching on Spark beside the ways in which one would write it without an index.

Also ids as numbers beside those as text, and `explode=True` beside exploding afterwards.
REMUDA_PARTS=dense-100000,dense-1000000 chooses shapes and numbers of criteria.
"""

from __future__ import annotations

import os
import shutil
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import lru_cache, partial, reduce
from operator import and_
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as sf
from rich.console import Console
from rich.table import Table

from benchmarks.processes import cpu
from remuda.index.index import Index, load
from remuda.index.question import Question
from remuda.language.criterion import Criterion
from remuda.language.python import attr
from remuda.model.expressions import And
from remuda.spark.matching import match
from remuda.spark.starting import session
from remuda.spark.tasks import Task as Asking

_ATTRIBUTES, _PREDICATES = 15, 6
_BATCH = 10_000  # rows, as Spark sends them
_REPEATS = 3
_ROUNDS = 7  # where Spark is compared with this process, by turns: neighbours weigh on both alike
_WARMING, _WARM_S = 6, 20.0  # whole runs, seconds
_COMPILING, _COMPILE_S = 20, 60.0  # the same there: so long the JVM goes on compiling
_CORES = len(os.sched_getaffinity(0))


@dataclass(frozen=True, slots=True)
class Shape:
    """How values are spread: so many for each attribute, evenly or by Zipf's law."""

    name: str
    n_values: int
    alpha: float

    def shares(self) -> np.ndarray:
        weights = np.arange(1, self.n_values + 1) ** -self.alpha
        return weights / weights.sum()


SHAPES = (Shape("dense", 4, 0.0), Shape("skewed", 100, 1.5))


@dataclass(frozen=True, slots=True)
class Task:
    """Criteria (the value that each asks of an attribute, -1 for none) and events."""

    shape: Shape
    criteria: np.ndarray
    events: np.ndarray
    home: Path

    @property
    def index(self) -> str:
        return str(self.home / "index")

    def table(self, n: int) -> pa.Table:
        columns = {f"a{i}": self.events[:n, i] for i in range(_ATTRIBUTES)}
        return pa.table({"event": np.arange(n), **columns})

    def frame(self, spark: SparkSession, n: int) -> DataFrame:
        """The first n events, in files enough for every core."""
        path = self.home / f"events-{n}"
        if not path.exists():
            path.mkdir()
            for i, some in enumerate(np.array_split(np.arange(n), 2 * _CORES)):
                if len(some):
                    part = self.table(n).slice(int(some[0]), len(some))
                    pq.write_table(part, path / f"{i}.parquet")
        return spark.read.parquet(str(path))


@dataclass(frozen=True, slots=True)
class Way:
    """One way to match: given a number of events it counts the matches; it is tried on `share`."""

    name: str
    run: Callable[[SparkSession, Task, int], DataFrame]
    share: float  # of the events; the slow ones are not asked about all of them
    large: bool = False  # whether it is fit for a million criteria
    masks: bool = False  # whether it needs that all values fit into a word
    beside: bool = False  # whether it is compared with this process


@dataclass(frozen=True, slots=True)
class Cost:
    """What one more event costs, in microseconds; not above 0 where the events were too few."""

    way: Way
    events: int
    matches: int
    wall_us: float
    cpu_us: float
    above_us: float  # than in this process by turns; all of it where that is not compared

    def row(self, ours: Cost) -> tuple[str, ...]:
        known = self.wall_us > 0 and ours.wall_us > 0
        return (
            self.way.name,
            f"{self.events:,}",
            f"{self.matches:,}",
            f"{1e6 / self.wall_us:,.0f}" if self.wall_us > 0 else "too few to tell",
            f"{self.cpu_us:,.1f}",
            f"{self.wall_us / ours.wall_us:,.1f}×" if known else "–",
            f"{self.cpu_us / ours.cpu_us:,.1f}×" if known else "–",
        )


def main(n_criteria: int = 100_000, n_large: int = 1_000_000, n_events: int = 200_000) -> None:
    """Measure and print; a way that counts other matches than the index does is refused."""
    wanted = os.environ.get("REMUDA_PARTS")
    for shape in SHAPES:
        for n, large in ((n_criteria, False), (n_large, True)):
            if n and (wanted is None or f"{shape.name}-{n}" in wanted.split(",")):
                _compare(shape, n, n_events, large=large)


def _compare(shape: Shape, n: int, n_events: int, *, large: bool) -> None:
    spark = session(f"local[{_CORES}]", **{"spark.sql.shuffle.partitions": str(2 * _CORES)})
    spark.conf.set("spark.sql.autoBroadcastJoinThreshold", str(1 << 30))
    home = Path(tempfile.mkdtemp(prefix="remuda-bench-"))
    try:
        task = _draw(shape, n, n_events, home)
        table = Table("way", title=f"{shape.name}: {n:,} criteria on {_CORES} cores")
        names = ("events", "matches", "events/s", "CPU-µs an event", "ours is faster by", "in CPU")
        for name in names:
            table.add_column(name, justify="right")
        load(task.index).match_many(task.table(64)).to_arrow()  # workers find the kernels compiled
        here = Here(load(task.index), task.table(n_events).to_batches(max_chunksize=_BATCH))
        ours, *more = [_measured(spark, task, own, here) for own in OURS]
        memory = _memory(spark, task)  # while workers hold nothing of the other ways
        for way in WAYS:
            if (way.large or not large) and not (way.masks and shape.n_values > 4):
                table.add_row(*_measured(spark, task, way, here).row(ours))
        for one in (ours, *more):
            table.add_row(*one.row(ours))
        Console(width=max(120, Console().width)).print(table)
        _show_overhead(here, [ours, *more], *memory)
    finally:
        spark.stop()
        shutil.rmtree(home, ignore_errors=True)


def _draw(shape: Shape, n: int, n_events: int, home: Path) -> Task:
    rng = np.random.default_rng(1)
    values = rng.choice(shape.n_values, (n, _ATTRIBUTES), p=shape.shares()).astype(np.int32)
    asked = np.argsort(rng.random((n, _ATTRIBUTES)), axis=1) < _PREDICATES
    criteria = np.where(asked, values, -1).astype(np.int32)
    events = rng.choice(shape.n_values, (n_events, _ATTRIBUTES), p=shape.shares())
    task = Task(shape, criteria, events.astype(np.int32), home)
    names = [attr(f"a{i}") for i in range(_ATTRIBUTES)]
    expressions = (
        And(*[name.eq(value) for name, value in zip(names, row, strict=True) if value >= 0])
        for row in criteria.tolist()
    )
    Index.build(Criterion(str(i), one) for i, one in enumerate(expressions)).save(task.index)
    np.save(home / "criteria.npy", criteria)
    return task


def _measured(spark: SparkSession, task: Task, way: Way, here: Here) -> Cost:
    """The cost of one more event: all of them less a quarter, so that no start-up is in it."""
    n = max(4, int(len(task.events) * way.share))
    part = n // 4
    index = load(task.index)
    expected = {some: int(index.count_many(task.table(some)).sum()) for some in (n, part)}
    warming, warm_s = (_COMPILING, _COMPILE_S) if way.beside else (_WARMING, _WARM_S)
    begin = time.perf_counter()
    for _ in range(warming):
        _count(way, spark, task, n)
        if time.perf_counter() - begin > warm_s:
            break
    rounds = []
    for _ in range(_ROUNDS if way.beside else _REPEATS):
        runs = {some: _count(way, spark, task, some) for some in (n, part)}
        for some, (found, *_) in runs.items():
            if found != expected[some]:
                raise AssertionError(f"{way.name} found {found:,} matches, not {expected[some]:,}")
        wall_us, cpu_us = (np.subtract(runs[n], runs[part])[1:] * 1e6 / (n - part)).tolist()
        rounds.append((wall_us, cpu_us, cpu_us - (here.at_once_us() if way.beside else 0.0)))
    return Cost(way, n, expected[n], *np.median(rounds, axis=0).tolist())


def _count(way: Way, spark: SparkSession, task: Task, n: int) -> tuple[int, float, float]:
    frame = way.run(spark, task, n)
    begin, spent = time.perf_counter(), cpu()
    found = frame.collect()[0][0]
    return found or 0, time.perf_counter() - begin, cpu() - spent


def _counting_join(spark: SparkSession, task: Task, n: int) -> DataFrame:
    """Postings by attribute and value; a criterion holds where all its predicates were met."""
    pairs = _unpivoted(task.frame(spark, n))
    met = pairs.join(_postings(spark, task), ["attribute", "value"]).groupBy("event", "criterion")
    return met.count().where(sf.col("count") == _PREDICATES).agg(sf.count("*"))


def _cross_join(spark: SparkSession, task: Task, n: int) -> DataFrame:
    """Every event with every criterion, and a filter."""
    pairs = task.frame(spark, n).crossJoin(sf.broadcast(_wide(spark, task)))
    return pairs.where(_asked_is_met()).agg(sf.count("*"))


def _pivot_join(spark: SparkSession, task: Task, n: int) -> DataFrame:
    """Criteria under their rarest predicate, then a filter for the others."""
    n_values = task.shape.n_values
    counts = np.stack([np.bincount(row[row >= 0], minlength=n_values) for row in task.criteria.T])
    frequency = counts[np.arange(_ATTRIBUTES), task.criteria].astype(float)
    rarest = np.where(task.criteria < 0, np.inf, frequency).argmin(axis=1)
    value = task.criteria[np.arange(len(rarest)), rarest]
    keyed = _wide(spark, task, attribute=rarest.astype(np.int32), value=value)
    pairs = _unpivoted(task.frame(spark, n)).join(sf.broadcast(keyed), ["attribute", "value"])
    return pairs.where(_asked_is_met()).agg(sf.count("*"))


def _mask_join(spark: SparkSession, task: Task, n: int) -> DataFrame:
    """Every value of every attribute is a bit: all with all, but only a word to compare."""
    shift = np.arange(_ATTRIBUTES) * task.shape.n_values
    bits = np.where(task.criteria >= 0, np.int64(1) << (task.criteria + shift), 0)
    masks = spark.createDataFrame(pa.table({"mask": np.bitwise_or.reduce(bits, axis=1)}))
    set_bits = [sf.expr(f"shiftleft(1L, a{i} + {shift[i]})") for i in range(_ATTRIBUTES)]
    word = reduce(lambda one, other: one.bitwiseOR(other), set_bits)
    events = task.frame(spark, n).select(word.alias("word"))
    met = sf.col("word").bitwiseAND(sf.col("mask")) == sf.col("mask")
    return events.crossJoin(sf.broadcast(masks)).where(met).agg(sf.count("*"))


def _bitset(spark: SparkSession, task: Task, n: int) -> DataFrame:
    """For every value of every attribute, the criteria that it does not rule out, as bits."""
    source, n_values = str(task.home / "criteria.npy"), task.shape.n_values

    def work(batches: Iterable[Any]) -> Iterator[Any]:
        bits, shift = _bits(source, n_values), np.arange(_ATTRIBUTES) * n_values
        for batch in batches:
            columns = [batch.column(f"a{i}").to_numpy() for i in range(_ATTRIBUTES)]
            rows = np.stack(columns, axis=1) + shift
            found = [
                np.flatnonzero(np.unpackbits(np.bitwise_and.reduce(bits[row]))) for row in rows
            ]
            yield pa.RecordBatch.from_pydict({"matches": pa.array(found, pa.list_(pa.int64()))})

    found = task.frame(spark, n).mapInArrow(work, "matches array<long>")
    return found.agg(sf.sum(sf.size("matches")))


@lru_cache(maxsize=1)
def _bits(source: str, n_values: int) -> np.ndarray:
    criteria = np.load(source)
    rows = [
        np.packbits((criteria[:, i] < 0) | (criteria[:, i] == value))
        for i in range(_ATTRIBUTES)
        for value in range(n_values)
    ]
    return np.stack(rows)


def _ours(spark: SparkSession, task: Task, n: int) -> DataFrame:
    return match(task.frame(spark, n), task.index).agg(sf.sum(sf.size("matches")))


def _ours_in_numbers(spark: SparkSession, task: Task, n: int) -> DataFrame:
    return match(task.frame(spark, n), task.index, ids="int").agg(sf.sum(sf.size("matches")))


def _exploding(spark: SparkSession, task: Task, n: int) -> DataFrame:
    answers = match(task.frame(spark, n), task.index, explode=True)
    return answers.agg(sf.count("matches"), sf.max("matches"), sf.max("event"))


def _exploded_afterwards(spark: SparkSession, task: Task, n: int) -> DataFrame:
    answers = match(task.frame(spark, n), task.index)
    answers = answers.withColumn("matches", sf.explode("matches"))
    return answers.agg(sf.count("matches"), sf.max("matches"), sf.max("event"))


def _unpivoted(events: DataFrame) -> DataFrame:
    """A row for each attribute of each event, which keeps its columns."""
    pairs = [
        sf.struct(sf.lit(i).alias("attribute"), sf.col(f"a{i}").alias("value"))
        for i in range(_ATTRIBUTES)
    ]
    return events.withColumn("pair", sf.explode(sf.array(*pairs))).select("*", "pair.*")


def _postings(spark: SparkSession, task: Task) -> DataFrame:
    criterion, attribute = np.nonzero(task.criteria >= 0)
    value = task.criteria[criterion, attribute]
    columns = {"criterion": criterion, "attribute": attribute.astype(np.int32), "value": value}
    return _stored(spark, task, "postings", pa.table(columns))


def _wide(spark: SparkSession, task: Task, **more: Any) -> DataFrame:
    """A row for each criterion, with the value that it asks of each attribute, or null."""
    columns = {
        f"c{i}": pa.array(task.criteria[:, i], mask=task.criteria[:, i] < 0)
        for i in range(_ATTRIBUTES)
    }
    return _stored(spark, task, f"wide-{len(more)}", pa.table({**more, **columns}))


def _stored(spark: SparkSession, task: Task, name: str, table: pa.Table) -> DataFrame:
    path = task.home / f"{name}.parquet"
    if not path.exists():
        pq.write_table(table, path)
    return spark.read.parquet(str(path))


def _asked_is_met() -> Column:
    each = [
        sf.col(f"c{i}").isNull() | (sf.col(f"c{i}") == sf.col(f"a{i}")) for i in range(_ATTRIBUTES)
    ]
    return reduce(and_, each)


@dataclass(frozen=True, slots=True)
class Here:
    """The same events in this process, in batches as Spark sends them."""

    index: Index
    batches: list[Any]

    def alone_us(self) -> float:
        return self._us(_timed(lambda: self._match(self.batches)))

    def texts_us(self) -> float:
        return self._us(_timed(lambda: [_ids(self.index, one) for one in self.batches]))

    def at_once_us(self) -> float:
        """As Spark has it: cores share caches and memory."""
        with ThreadPoolExecutor(_CORES) as pool:
            shares = [self.batches[i::_CORES] for i in range(_CORES)]
            spent = [pool.submit(_timed, partial(self._match, share)) for share in shares]
            return self._us(sum(one.result() for one in spent))

    def _match(self, batches: list[Any]) -> None:
        for one in batches:
            self.index.match_many(one, threads=1)

    def _us(self, seconds: float) -> float:
        return seconds / sum(map(len, self.batches)) * 1e6


def _show_overhead(here: Here, costs: list[Cost], own: int, mapped: int) -> None:
    """What Spark adds to the same batches in this process, and what a worker holds."""
    alone_us = float(np.median([here.alone_us() for _ in range(_REPEATS)]))
    texts_us = float(np.median([here.texts_us() for _ in range(_REPEATS)]))
    texts, numbers, exploding, afterwards = costs
    here_us = texts.cpu_us - texts.above_us
    shown = Table("what", "measured", title="what Spark adds")
    shown.add_row("in this process, Arrow batches, alone", f"{alone_us:.1f} CPU-µs an event")
    shown.add_row("the same on all cores at once", f"{here_us:.1f} CPU-µs an event")
    shown.add_row("alone, with ids as text", f"{texts_us:.1f} CPU-µs an event")
    shown.add_row("on Spark, JVM and workers", f"{texts.cpu_us:.1f} CPU-µs an event")
    shown.add_row("above all cores at once", f"{texts.above_us:.1f} CPU-µs an event")
    shown.add_row("the same with ids as numbers", f"{numbers.above_us:.1f} CPU-µs an event")
    shown.add_row("share of its throughput a core", f"{here_us / texts.cpu_us:.0%}")
    shown.add_row(
        "explode=True / exploding afterwards", f"{exploding.cpu_us / afterwards.cpu_us:.2f}"
    )
    shown.add_row("memory of a worker that is its own", f"{own / 1e6:,.0f} MB")
    shown.add_row("the index that it maps", f"{mapped / 1e6:,.0f} MB")
    Console().print(shown)


def _ids(index: Index, events: Any) -> Any:
    found = index.match_many(events, threads=1)
    return found.names.at(found.positions)


def _timed(call: Callable[[], Any]) -> float:
    start = time.thread_time()
    call()
    return time.thread_time() - start


def _memory(spark: SparkSession, task: Task) -> tuple[int, int]:
    """Bytes that the largest worker has written itself, and bytes of the files of the index."""
    frame = task.frame(spark, len(task.events))
    asking = Asking.of(frame, task.index, Question.of())

    def work(batches: Iterable[Any]) -> Iterator[Any]:
        for _ in asking.answers(batches):
            pass
        told = Path("/proc/self/smaps_rollup").read_text().splitlines()
        own = sum(int(line.split()[1]) for line in told if line.startswith("Private_Dirty"))
        yield pa.RecordBatch.from_pydict({"own": [own * 1024]})

    largest = frame.mapInArrow(work, "own long").agg(sf.max("own")).collect()[0][0]
    files = (path for path in Path(task.index, "segments").rglob("*") if path.is_file())
    return largest, sum(path.stat().st_size for path in files)


WAYS = (
    Way("counting join on postings", _counting_join, 0.001),
    Way("cross join with a filter", _cross_join, 0.002),
    Way("pivot join on the rarest predicate", _pivot_join, 0.01),
    Way("cross join on masks", _mask_join, 0.01, masks=True),
    Way("bitset AND in mapInArrow", _bitset, 0.1, large=True),
)
OURS = (
    Way("remuda.spark.match", _ours, 1.0, beside=True),
    Way("the same, ids as numbers", _ours_in_numbers, 1.0, beside=True),
    Way("the same, explode=True", _exploding, 0.25),
    Way("the same, exploded afterwards", _exploded_afterwards, 0.25),
)


if __name__ == "__main__":
    main()
