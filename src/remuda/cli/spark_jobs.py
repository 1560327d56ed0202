"""The commands' work where it runs on Spark."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from remuda.cli.files import Reject
from remuda.cli.options import Asking, Rules, Spark, Workers
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


def check(files: Sequence[str], rules: Rules, spark: Spark, schema: Any = None) -> Figures:
    """Validate criteria on the executors."""
    with started(spark) as session, _validated(session, files, rules, schema) as (_, figures):
        return figures


def build(plan: Plan, how: dict[str, Any], spark: Spark) -> Figures:
    """Validate criteria and build their index on the executors."""
    from remuda.spark.building import build_index

    if not spark.master.startswith("local") and is_local(plan.index):
        make_directory(local(plan.index))  # which the executors are then asked for
    with (
        started(spark, plan.index) as session,
        _validated(session, plan.criteria, plan.rules) as (criteria, figures),
    ):
        if figures.rejects and plan.strict:
            warn("nothing was built: --strict allows no rejects")
            return figures
        with waiting(session, f"building {plan.index}"):
            sizes: dict[str, Any] = {"shards": plan.shards, "allow_shrink": plan.allow_shrink}
            built = build_index(criteria, plan.index, **sizes, **how)
        print(f"{plan.index}, {built}")
        return figures


@contextmanager
def _validated(
    session: Any, files: Sequence[str], rules: Rules, schema: Any = None
) -> Iterator[tuple[Any, Figures]]:
    """The criteria of files, with what is wrong counted, shown and kept."""
    from remuda.spark.criteria import read_criteria

    figures, kept, kind = Figures("criteria"), rules.rejects, rules.kind()
    with waiting(session, "reading criteria"):
        named = "json" if kind == "jsonl" else kind
        criteria = read_criteria(session, list(files), named, schema=schema)
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


def answer(job: Job) -> Figures:
    """Match a table of events, or find the best for each, and write them."""
    from remuda.spark.matching import answered

    asking = job.asking
    with started(asking.place.spark, asking.workers.seen(job.index)) as session:
        figures = Figures("events", matches=0)
        with waiting(session, "matching"):
            events = frame_of(session, job.events, asking.input_format, asking.text or ())
            how: dict[str, Any] = {"version": asking.version, "event": events.event}
            found = answered(events.good, job.index, job.question, **how, **asking.workers.how())
            observed = seen_by(found, events.event)
            put = printed if job.output == "-" else written
            put(observed.frame, job)
        n_bad = events.told()
        n_errors = observed.count("errors")
        figures.rows, figures.rejects = observed.count("rows") + n_bad, n_errors + n_bad
        figures.matches = observed.count("matches")
        if n_errors:
            warn("event_error says of each event that is no object why; it is in the output")
        return figures


def doctor(index: str | None, spark: Spark) -> tuple[list[Machine], str]:
    """What driver and executors have, and the version of the driver's Java."""
    from remuda.spark.workers import doctor as examined

    with started(spark) as session, waiting(session, "looking at the executors"):
        java = session.sql("SELECT java_method('java.lang.System', 'getProperty', 'java.version')")
        return examined(session, index), str(java.collect()[0][0])


def reach(index: str, events: str, asking: Asking, how: dict[str, Any]) -> tuple[Any, Figures]:
    """A table with id, events and perhaps users, the widest first."""
    from remuda.cli.reaching import widest_first
    from remuda.spark.reaching import reach as reached

    how |= {"version": asking.version, **asking.workers.how()}
    with started(asking.place.spark, asking.workers.seen(index)) as session:
        figures = Figures("events")
        with waiting(session, "counting"):
            frame = frame_of(session, events, asking.input_format, asking.text or ())
            seen = frame.observed()
            table = reached(seen.frame, index, event=frame.event, **how).toArrow()
        figures.matches = int(table["events"].to_numpy().sum())
        n_bad = frame.told()
        figures.rows, figures.rejects = seen.count("rows") + n_bad, n_bad
        return widest_first(table), figures


def ratify(
    index: str,
    version: str | None,
    events: str | None,
    format: str | None,
    how: dict[str, Any],
    spark: Spark,
) -> Ratification:
    """Compare an index with plain evaluation on the executors."""
    from remuda.spark.checking import ratify as ratified

    with started(spark, index) as session, waiting(session, "comparing with plain evaluation"):
        given = None if events is None else frame_of(session, events, format, ())
        if given is not None:
            how |= {"events": given.good, "event": given.event}
        return ratified(index, spark=session, version=version, **how)


def stream(
    index: str,
    events: str,
    format: str | None,
    output: str,
    how: dict[str, Any],
    spark: Spark,
    workers: Workers,
) -> None:
    """Match files as they arrive, until there is no end, or an end was asked for."""
    from remuda.spark.streaming import match_stream

    with started(spark, workers.seen(index)) as session:
        frame, event = stream_of(session, events, format)
        query = match_stream(frame, index, output, event=event, **how, **workers.how())
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
    spark: Spark,
) -> None:
    """Draw a workload on the executors, into directories of JSON lines."""
    from remuda.spark.generating import generate as drawn

    with started(spark) as session, waiting(session, "drawing"):
        tables = drawn(session, kind, **parameters)
        lines = {"criteria": tables.criteria.select("json")}
        lines["events"] = tables.events.selectExpr("to_json(event)")
        for what, output in {"criteria": criteria, "events": events}.items():
            if output is not None:
                with placed(output) as path:
                    lines[what].write.mode(mode(overwrite)).text(path)
                print(f"{output}: {parameters[what]:,} {what}")
