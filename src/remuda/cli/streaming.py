"""`remuda stream`: files of events matched as they arrive."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from remuda.cli import options
from remuda.cli.screen import Figures, finish
from remuda.cli.spark_session import need_spark

if TYPE_CHECKING:
    from remuda.spark.streaming import Batch


def stream(
    index: options.IndexPath,
    events: Annotated[
        str, typer.Argument(help="A directory into which files of events are put, all alike.")
    ],
    output: Annotated[str, typer.Option("--output", "-o", help="A directory for the matches.")],
    checkpoint: Annotated[
        str, typer.Option("--checkpoint", help="A directory where the stream keeps its place.")
    ],
    n: Annotated[
        int | None, typer.Option("--top", min=0, help="So many of the best, rather than all.")
    ] = None,
    explode: Annotated[bool, typer.Option("--explode", help="One row a match.")] = False,
    once: Annotated[bool, typer.Option("--once", help="Take what is there, then end.")] = False,
    every: Annotated[
        str | None, typer.Option("--every", help="How often it looks, such as '10 seconds'.")
    ] = None,
    tags: options.Tags = None,
    input_format: options.InputFormat = None,
    *,
    spark: options.Spark,
    workers: options.Workers,
) -> None:
    """Match events as they arrive, each batch with the newest version of the index.

    A directory a batch, batch_id=N, in Parquet. Started again, it goes on where it was.
    """
    options.check_input_format(input_format)
    if once and every is not None:
        raise typer.BadParameter("--once looks once: leave --every out")
    trigger = {"availableNow": True} if once else {"processingTime": every} if every else None
    need_spark(events)
    from remuda.cli import spark_jobs

    figures = Figures("events", matches=0)

    def told(batch: Batch) -> None:
        figures.rows += batch.rows
        figures.rejects += batch.errors
        figures.matches = (figures.matches or 0) + batch.matches
        print(
            f"batch {batch.batch_id}: {batch.rows:,} events, {batch.matches:,} matches, "
            f"{batch.errors:,} rejected, {batch.version}, {batch.seconds:.1f} s",
            flush=True,
        )

    how: dict[str, Any] = {
        "checkpoint": checkpoint,
        "top": n,
        "explode": explode,
        "tags": frozenset(tags) if tags else None,
        "trigger": trigger,
        "on_batch": told,
    }
    spark_jobs.stream(index, events, input_format, output, how, spark, workers)
    finish(figures)
