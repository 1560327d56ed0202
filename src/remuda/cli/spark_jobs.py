"""The commands' work where it runs on Spark."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from remuda.cli.files import Reject
from remuda.cli.rejects import keep_rejects, show_rejects
from remuda.cli.screen import SHOWN, Figures, warn
from remuda.cli.spark_files import frame_of, mode, placed, printed, seen_by, stream_of, written
from remuda.cli.spark_session import started, waiting
from remuda.index.files import is_local, local, make_directory

if TYPE_CHECKING:
    from remuda.cli.building import Plan
    from remuda.cli.matching import Job
    from remuda.proof.ratifying import Ratification
    from remuda.spark.workers import Machine

Conf = Sequence[str] | None


def check(
    files: Sequence[str],
    format: str | None,
    kept: str | None,
    master: str,
    conf: Conf,
    schema: Any = None,
) -> Figures:
    """Validate criteria on the executors."""
    with (
        started(master, conf) as spark,
        _validated(spark, files, format, Figures("criteria"), kept, schema) as (_, figures),
    ):
        return figures


def build(plan: Plan, master: str, conf: Conf) -> Figures:
    """Validate criteria and build their index on the executors."""
    from remuda.spark.building import build_index

    if not master.startswith("local") and is_local(plan.index):
        make_directory(local(plan.index))  # which the executors are then asked for
    with (
        started(master, conf, plan.index) as spark,
        _validated(spark, plan.criteria, plan.input_format, Figures("criteria"), plan.rejects) as (
            criteria,
            figures,
        ),
    ):
        if figures.rejects and plan.strict:
            warn("nothing was built: --strict allows no rejects")
            return figures
        how: dict[str, Any] = {"matcher": plan.matcher, "scalars": plan.scalars}
        with waiting(spark, f"building {plan.index}"):
            built = build_index(
                criteria,
                plan.index,
                shards=plan.shards,
                allow_shrink=plan.allow_shrink,
                hierarchies=plan.trees,
                **how,
            )
        print(f"{plan.index}, {built}")
        return figures


@contextmanager
def _validated(
    spark: Any,
    files: Sequence[str],
    format: str | None,
    figures: Figures,
    kept: str | None,
    schema: Any = None,
) -> Iterator[tuple[Any, Figures]]:
    """The criteria of files, with what is wrong counted, shown and kept."""
    from remuda.spark.criteria import read_criteria

    with waiting(spark, "reading criteria"):
        named = "json" if format == "jsonl" else format
        criteria = read_criteria(spark, list(files), named, schema=schema)
    try:
        counts = criteria.summary()
        figures.rows, figures.rejects = counts.rows, counts.bad
        if counts.bad:
            rows = criteria.bad.orderBy("file", "row")
            keep_rejects(_rejects(rows.toLocalIterator()) if kept else (), kept)
            show_rejects(_rejects(rows.limit(SHOWN).collect()), counts.bad, kept)
        yield criteria, figures
    finally:
        criteria.release()


def _rejects(rows: Any) -> Iterator[Reject]:
    for row in rows:
        file = (row["file"] or "").removeprefix("file:").replace("///", "/")
        yield Reject(file, row["row"], row["id"], row["place"] or "", row["reason"])


def answer(job: Job, master: str, conf: Conf) -> Figures:
    """Match a table of events, or find the best for each, and write them."""
    from remuda.spark.matching import answered

    with started(master, conf, _seen(job.index, job.spark)) as spark:
        figures = Figures("events", matches=0)
        with waiting(spark, "matching"):
            events = frame_of(spark, job.events, job.input_format, job.text)
            how: dict[str, Any] = {"version": job.version, "event": events.event, **job.spark}
            found = answered(events.good, job.index, job.question, **how)
            observed = seen_by(found, events.event)
            put = printed if job.output == "-" else written
            put(observed.frame, job)
        n_bad = events.told()
        figures.rows = observed.rows() + n_bad
        figures.matches = observed.matches()
        figures.rejects = observed.errors() + n_bad
        if observed.errors():
            warn("event_error says of each event that is no object why; it is in the output")
        return figures


def _seen(index: str, how: Mapping[str, Any]) -> str | None:
    """The index, where executors must see it."""
    return None if how["ship"] else index


def doctor(index: str | None, master: str, conf: Conf) -> tuple[list[Machine], str]:
    """What driver and executors have, and the version of the driver's Java."""
    from remuda.spark.workers import doctor as examined

    with started(master, conf) as spark, waiting(spark, "looking at the executors"):
        java = spark.sql("SELECT java_method('java.lang.System', 'getProperty', 'java.version')")
        return examined(spark, index), str(java.collect()[0][0])


def reach(
    index: str,
    events: str,
    format: str | None,
    text: Sequence[str],
    how: dict[str, Any],
    master: str,
    conf: Conf,
) -> tuple[Any, Figures]:
    """A table with id, events and perhaps users, the widest first."""
    from remuda.cli.reaching import widest_first
    from remuda.spark.reaching import reach as reached

    with started(master, conf, _seen(index, how)) as spark:
        figures = Figures("events")
        with waiting(spark, "counting"):
            frame = frame_of(spark, events, format, text)
            seen = frame.observed()
            table = reached(seen.frame, index, event=frame.event, **how).toArrow()
        figures.matches = int(table["events"].to_numpy().sum())
        n_bad = frame.told()
        figures.rows, figures.rejects = seen.rows() + n_bad, n_bad
        return widest_first(table), figures


def ratify(
    index: str,
    version: str | None,
    events: str | None,
    format: str | None,
    how: dict[str, Any],
    master: str,
    conf: Conf,
) -> Ratification:
    """Compare an index with plain evaluation on the executors."""
    from remuda.spark.checking import ratify as ratified

    with started(master, conf, index) as spark, waiting(spark, "comparing with plain evaluation"):
        given = None if events is None else frame_of(spark, events, format, ())
        if given is not None:
            how |= {"events": given.good, "event": given.event}
        return ratified(index, spark=spark, version=version, **how)


def stream(
    index: str,
    events: str,
    format: str | None,
    output: str,
    how: dict[str, Any],
    master: str,
    conf: Conf,
) -> None:
    """Match files as they arrive, until there is no end, or an end was asked for."""
    from remuda.spark.streaming import match_stream

    with started(master, conf, _seen(index, how)) as spark:
        frame, event = stream_of(spark, events, format)
        query = match_stream(frame, index, output, event=event, **how)
        try:
            while not query.awaitTermination(1):
                pass
        finally:
            query.stop()


def generate(
    kind: str,
    criteria: str,
    events: str | None,
    parameters: dict[str, Any],
    overwrite: bool,
    master: str,
    conf: Conf,
) -> None:
    """Draw a workload on the executors, into directories of JSON lines."""
    from remuda.spark.generating import generate as drawn

    with started(master, conf) as spark, waiting(spark, "drawing"):
        tables = drawn(spark, kind, **parameters)
        with placed(criteria) as path:
            tables.criteria.select("json").write.mode(mode(overwrite)).text(path)
        print(f"{criteria}: {parameters['criteria']:,} criteria")
        if events is not None:
            with placed(events) as path:
                drawn_events = tables.events.selectExpr("to_json(event)")
                drawn_events.write.mode(mode(overwrite)).text(path)
            print(f"{events}: {parameters['events']:,} events")
