"""Indexes looked at in parallel: held against plain evaluation, or against one more criterion."""

from __future__ import annotations

import pickle
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from os import PathLike
from typing import Unpack

import numpy as np
import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf
from pyspark.sql.pandas.types import from_arrow_schema

from remuda.encoding.events import Source
from remuda.errors import RemudaError
from remuda.index.index import Index
from remuda.index.question import Question
from remuda.index.storage import current_version, read_version
from remuda.index.stores import address
from remuda.language.criterion import Criterion
from remuda.model.expressions import clock
from remuda.proof import ratifying
from remuda.proof.deriving import clauses_of, draws
from remuda.proof.ratifying import Ratification
from remuda.proof.similarity import Similar, Similarity
from remuda.spark.shipping import shipped
from remuda.spark.tasks import Rows, Task, opened

_SHOWN = 20  # disagreements that are kept
_COMPARED = 1_024  # events of a report
_SPREAD = 1_000_003  # between the seeds of two tasks
_REPORT = pa.schema({"seeing": pa.bool_(), "report": pa.binary()})
_TALLY = pa.schema(
    {"id": pa.string(), "both": pa.int64(), "held": pa.int64(), "events": pa.int64()}
)


@dataclass(frozen=True, slots=True)
class _Trial:
    """What every task of a ratification needs to know."""

    path: str  # or what was sent
    version: str
    full: bool
    seed: int
    seconds: float | None
    now: int


def ratify(
    index: str | PathLike[str],
    events: DataFrame | None = None,
    *,
    spark: SparkSession | None = None,
    version: str | None = None,
    event: str | None = None,
    full: bool = True,
    seed: int = 0,
    seconds: float | None = None,
    now: datetime | int | None = None,
    ship: bool = False,
    case_sensitive: bool = True,
) -> Ratification:
    """Compare a saved index with plain evaluation, a task for each segment or part of the events.

    Without events they are made from the criteria: from those of each segment for that segment,
    and from a few hundred for the index as a whole. `event`, `ship` and `case_sensitive` are those
    of `match`; `seconds` bounds each task.
    """
    began = time.monotonic()
    path = address(index)
    named = version or current_version(path)
    trial = _Trial(path, named, full, seed, seconds, clock(now))
    if events is None:
        started = _session(spark)
        segments = [one["segment"] for one in read_version(path, named).segments]
        sent = replace(trial, path=shipped(started, path, named)) if ship else trial
        tasks = _over_segments(started, sent, segments)
    else:
        task = Task.of(
            events, path, Question(trial.now),
            version=named, event=event, ship=ship, case_sensitive=case_sensitive,
        )  # fmt: skip
        tasks = _over_events(events, task, trial)
    rows = tasks.collect()
    reports = [pickle.loads(bytes(row["report"])) for row in rows]  # noqa: S301 - our own words
    seeing = [report for row, report in zip(rows, reports, strict=True) if row["seeing"]]
    whole = _merged(reports, seeing)
    n_criteria = len(opened(trial.path, trial.version))
    return replace(whole, n_criteria=n_criteria, seconds=time.monotonic() - began)


def similar(
    events: DataFrame,
    index: str | PathLike[str],
    criterion: Criterion,
    *,
    n: int = 10,
    now: datetime | int | None = None,
    **rows: Unpack[Rows],
) -> Similarity:
    """The n indexed criteria that resemble the candidate most over a table of events.

    The shares are those of `similarity`; no sample events are kept. `version`, `event`, `ship` and
    `case_sensitive`, which is for the candidate's names as well, are those of `match`.
    """
    if n < 0:
        raise ValueError(f"the {n} most similar make no sense")
    task = Task.of(events, index, Question.of(now), **rows)
    candidate = Criterion(criterion.id, criterion.expression)  # as if it were in force
    if not task.case_sensitive:
        trees = opened(task.path, task.version).hierarchies
        alone = Index.build([candidate], hierarchies=trees)
        task = replace(task, names=tuple(sorted(alone.field_names())))
    document = candidate.to_json()

    def work(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        yield _tally(task, Criterion.from_json(document), batches)

    tallies = events.mapInArrow(work, from_arrow_schema(_TALLY))
    counted = tallies.groupBy("id").sum("both", "held", "events").toDF(*_TALLY.names).persist()
    try:
        total = counted.filter("id IS NULL").first()
        _, holding, overlapping, n_events = total or (None, 0, 0, 0)
        score = sf.col("both") / (sf.lit(holding) + sf.col("held") - sf.col("both"))
        scored = counted.filter("id IS NOT NULL AND both > 0").withColumn("score", score)
        best = scored.orderBy(sf.col("score").desc(), "id").limit(n).collect()
    finally:
        counted.unpersist()
    return Similarity(
        n_events=n_events,
        n_holding=holding,
        overlap=overlapping / holding if holding else 0.0,
        never=not clauses_of(candidate.expression, draws(0)),
        similar=tuple(
            Similar(row["id"], row["score"], row["both"] / holding, row["both"] / row["held"], ())
            for row in best
        ),
    )


def _session(spark: SparkSession | None) -> SparkSession:
    found = spark or SparkSession.getActiveSession()
    if found is None:
        raise RemudaError("there is no Spark session: start one with session(), or pass `spark`")
    return found


def _over_segments(spark: SparkSession, trial: _Trial, segments: Sequence[str]) -> DataFrame:
    """A task for each segment by itself, and one, a light one, for all of them together."""
    units = [*((segment,) for segment in segments), (None,)]
    table = spark.createDataFrame(units, "segment string").repartition(len(units))

    def work(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for segment in batch["segment"].to_pylist():
                alone = (segment,) if segment is not None else None
                index = opened(trial.path, trial.version, alone)
                report = ratifying.ratify(
                    index,
                    full=trial.full and alone is not None,
                    seed=trial.seed,
                    seconds=trial.seconds,
                    now=trial.now,
                )
                yield _row(report, seeing=alone is not None)

    return table.mapInArrow(work, from_arrow_schema(_REPORT))


def _over_events(events: DataFrame, task: Task, trial: _Trial) -> DataFrame:
    """A task for each partition of the events."""

    def work(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        context = TaskContext.get()
        partition = context.partitionId() if context else 0
        index, source = task.opened(), Source(task.portions(batches))
        began = time.monotonic()
        for number, portion in enumerate(iter(lambda: source.take(_COMPARED), None)):
            left = trial.seconds
            if left is not None:
                left -= time.monotonic() - began
                if number and left <= 0:
                    return
            seed = trial.seed + _SPREAD * partition + number
            report = ratifying.ratify(
                index, seed=seed, seconds=left, events=[portion], now=trial.now
            )
            yield _row(report, seeing=True)

    return events.mapInArrow(work, from_arrow_schema(_REPORT))


def _row(report: Ratification, *, seeing: bool) -> pa.RecordBatch:
    row = {"seeing": seeing, "report": pickle.dumps(report)}
    return pa.RecordBatch.from_pylist([row], schema=_REPORT)


def _merged(reports: Sequence[Ratification], seeing: Sequence[Ratification]) -> Ratification:
    """One report of many; what was covered is told by those that were to see all of their own."""
    n_clauses = sum(one.n_clauses for one in seeing)

    def share(name: str) -> float:
        parts = sum(getattr(one, name) * one.n_clauses for one in seeing)
        return parts / n_clauses if n_clauses else 1.0

    return Ratification(
        n_criteria=sum(one.n_criteria for one in seeing),
        n_events=sum(one.n_events for one in reports),
        n_comparisons=sum(one.n_comparisons for one in reports),
        n_clauses=n_clauses,
        true_share=share("true_share"),
        miss_share=share("miss_share"),
        sampled=any(one.sampled for one in reports),
        cut_short=any(one.cut_short for one in reports),
        seconds=sum(one.seconds for one in reports),
        n_disagreements=sum(one.n_disagreements for one in reports),
        disagreements=tuple(found for one in reports for found in one.disagreements)[:_SHOWN],
    )


def _tally(task: Task, candidate: Criterion, batches: Iterable[pa.RecordBatch]) -> pa.RecordBatch:
    """How often each criterion held, and held with the candidate; under no id, the totals."""
    index = task.opened()
    alone = Index.build([candidate], hierarchies=index.hierarchies)
    names = index.match_many([]).names
    held, both = (np.zeros(len(names), np.int64) for _ in range(2))
    n_events = n_holding = n_overlapping = 0
    for portion, matches in task.answers(batches):
        holding = alone.count_many([portion], now=task.question.now, threads=1) > 0
        counts = matches.counts()
        together = matches.positions[np.repeat(holding, counts)]
        held += np.bincount(matches.positions, minlength=len(held))
        both += np.bincount(together, minlength=len(held))
        n_events += len(holding)
        n_holding += int(holding.sum())
        n_overlapping += int((holding & (counts > 0)).sum())
    met = np.flatnonzero(held)
    ids = pa.concat_arrays([names.at(met), pa.nulls(1, pa.string())])
    columns = [
        np.append(both[met], n_holding),
        np.append(held[met], n_overlapping),
        np.append(np.zeros(len(met), np.int64), n_events),
    ]
    return pa.RecordBatch.from_arrays([ids, *map(pa.array, columns)], schema=_TALLY)
