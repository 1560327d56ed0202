"""`remuda doctor`: what the machines of a cluster have, before a job fails for what they lack."""

from __future__ import annotations

from typing import Annotated

import typer

from remuda.cli import options
from remuda.cli.screen import show_table, warn
from remuda.cli.spark_session import need_spark

_SHOWN = ("python", "executable", "remuda", "arrow", "kernels", "cache", "memory", "index", "bytes")


def doctor(
    index: Annotated[
        str | None, typer.Argument(metavar="INDEX", help="An index that all must see.")
    ] = None,
    *,
    spark: options.Spark,
) -> None:
    """Look at the driver and the executors: Python, packages, Java, kernels, memory, the index."""
    need_spark()
    from remuda.cli import spark_jobs

    machines, java = spark_jobs.doctor(index, spark)
    rows = [("Java", *[java if one.role == "driver" else "" for one in machines])]
    rows += [(name, *[one.facts.get(name, "") for one in machines]) for name in _SHOWN]
    show_table(("", *[f"{one.role} {one.facts['host']}" for one in machines]), rows)
    problems = [(one, problem) for one in machines for problem in one.problems]
    for machine, problem in problems:
        warn(f"{machine.role} on {machine.facts['host']}: {problem}")
    if problems:
        raise typer.Exit(1)
    print(f"{len(machines) - 1} executors are ready")
