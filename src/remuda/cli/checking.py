"""`remuda check`: criteria validated, nothing built."""

from __future__ import annotations

from typing import Annotated

import typer

from remuda.cli import options
from remuda.cli.events import events_schema
from remuda.cli.files import read_criteria
from remuda.cli.rejects import Sieve
from remuda.cli.screen import counted, finish, working
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
    *,
    rules: options.Rules,
    place: options.Place,
) -> None:
    """Validate criteria; list those that cannot be understood, with the reason."""
    kind = rules.kind()
    schema = None if events is None else events_schema(events)
    if place.local:
        sieve = Sieve(rules.rejects)
        with working("checking") as progress:
            for _ in sieve.good(counted(read_criteria(files, kind, schema), progress)):
                pass
        figures = sieve.told()
    else:
        need_spark(*files)
        from remuda.cli import spark_jobs

        figures = spark_jobs.check(files, rules, place.spark, schema)
    finish(figures)
