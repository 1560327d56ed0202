"""The command `remuda` and what its commands share: errors on one line, exit codes."""

from __future__ import annotations

import os
import sys

import typer

from remuda.cli.benchmarks import bench
from remuda.cli.checking import check, explain
from remuda.cli.demo import demo
from remuda.cli.files import FileError
from remuda.cli.generating import generate
from remuda.cli.warming import warmup
from remuda.errors import RemudaError

app = typer.Typer(
    name="remuda",
    help="Which of millions of Boolean expressions are true for an event?",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
app.command()(check)
app.command()(explain)
app.command()(generate)
app.command()(demo)
app.command()(bench)
app.command()(warmup)


def main() -> None:
    """Run the command line; exit 0, 1 for bad data, 2 for wrong usage."""
    try:
        app()
    except (RemudaError, FileError) as error:
        print(f"remuda: {error}", file=sys.stderr)
        sys.exit(1)
    except BrokenPipeError:  # the reader of our output left
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(0)
