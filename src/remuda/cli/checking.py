"""`remuda check`: criteria validated, nothing built."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

import typer

from remuda.cli import options
from remuda.cli.events import events_schema
from remuda.cli.files import read_criteria
from remuda.cli.rejects import Sieve, keep_rejects, show_rejects
from remuda.cli.screen import Figures, counted, warn, working
from remuda.cli.spark_session import need_spark


def check(
    files: Annotated[
        list[str],
        typer.Argument(
            help="JSON lines, a JSON array, or CSV, TSV or Parquet with columns id and expression; "
            "- reads standard input."
        ),
    ],
    events: Annotated[
        str | None,
        typer.Option(
            help="Events, as JSON lines, CSV, TSV or Parquet: criteria whose attributes they lack, "
            "or that can never be true for their types, are listed as well."
        ),
    ] = None,
    rejects: options.Rejects = None,
    input_format: options.InputFormat = None,
    format: options.RuleFormat = None,
    local: options.Local = False,
    master: options.Master = "local[*]",
    conf: options.Conf = None,
) -> None:
    """Validate criteria; list those that cannot be understood, with the reason."""
    input_format = options.rule_format(format, input_format)
    schema = None if events is None else events_schema(events)
    if local:
        figures = _in_process(files, input_format, rejects, schema)
    else:
        need_spark(*files)
        from remuda.cli import spark_jobs

        figures = spark_jobs.check(files, input_format, rejects, master, conf, schema)
    warn(figures)
    if figures.rejects:
        raise typer.Exit(1)


def _in_process(files: Sequence[str], format: str | None, kept: str | None, schema: Any) -> Figures:
    figures, sieve = Figures("criteria"), Sieve()
    with working("checking") as progress:
        for _ in sieve.good(counted(read_criteria(files, format, schema), progress)):
            pass
    figures.rows, figures.rejects = sieve.n_rows, len(sieve.rejects)
    keep_rejects(sieve.rejects, kept)
    show_rejects(sieve.rejects, len(sieve.rejects), kept)
    return figures
