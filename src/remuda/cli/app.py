"""The command `remuda` and what its commands share: errors on one line, exit codes."""

from __future__ import annotations

import functools
import gc
import inspect
import os
import platform
import sys
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import is_dataclass
from importlib.metadata import version
from inspect import Parameter
from typing import Annotated, Any

import typer

from remuda.cli.benchmarks import bench
from remuda.cli.building import build
from remuda.cli.checking import check
from remuda.cli.demo import demo
from remuda.cli.doctor import doctor
from remuda.cli.explaining import explain
from remuda.cli.files import FileError
from remuda.cli.generating import generate
from remuda.cli.matching import match, top
from remuda.cli.possible import possible
from remuda.cli.proof import ratify, similar
from remuda.cli.reaching import reach
from remuda.cli.saved_index import prune, stats
from remuda.cli.screen import verbosity
from remuda.cli.serving import serve
from remuda.cli.streaming import stream
from remuda.cli.warming import warmup
from remuda.errors import RemudaError

_INTERRUPTED = 130  # as a shell says it

Verbose = Annotated[
    bool, typer.Option("--verbose", "-v", help="Show the whole of an error, with its traces.")
]

app = typer.Typer(
    name="remuda",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="markdown",
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _show_version(wanted: bool) -> None:
    if wanted:
        print(f"remuda {version('remuda')}, Python {platform.python_version()}")
        raise typer.Exit


@app.callback()
def remuda(
    show: Annotated[
        bool,
        typer.Option("--version", callback=_show_version, is_eager=True, help="Say which this is."),
    ] = False,
) -> None:
    """Which of millions of Boolean expressions are true for an event?"""


def _told(command: Callable[..., None]) -> Callable[..., None]:
    """The command with its errors on one line: exit 1 for bad data, 130 when interrupted.

    It gets one more option, which shows all that is behind such a line.
    """
    parameters = _parameters(command)

    @functools.wraps(command)
    def run(*, verbose: bool, **given: Any) -> None:
        verbosity.set(verbose)
        try:
            command(**_gathered(parameters, given))
        except (RemudaError, FileError) as error:
            if verbose:
                traceback.print_exception(error)
            _end(" ".join(str(error).split("\n", 1)[0].split()), 1)
        except KeyboardInterrupt:
            _end("interrupted; nothing is half-written", _INTERRUPTED)

    verbose = Parameter("verbose", Parameter.KEYWORD_ONLY, default=False, annotation=Verbose)
    run.__signature__ = inspect.Signature([*_spread(parameters), verbose])  # type: ignore[attr-defined]
    return run


def _parameters(function: Callable[..., Any]) -> list[Parameter]:
    return list(inspect.signature(function, eval_str=True).parameters.values())


def _group(parameter: Parameter) -> Callable[..., Any] | None:
    """The group of options that a parameter is, None where it is one by itself."""
    kind = parameter.annotation
    return kind if isinstance(kind, type) and is_dataclass(kind) else None


def _spread(parameters: Iterable[Parameter]) -> Iterator[Parameter]:
    """The parameters as typer takes them: in the place of a group of options, its fields."""
    for one in parameters:
        group = _group(one)
        if group is None:
            yield one.replace(kind=Parameter.KEYWORD_ONLY)
        else:
            yield from _spread(_parameters(group))


def _gathered(parameters: Iterable[Parameter], given: Mapping[str, Any]) -> dict[str, Any]:
    """What is given for the parameters, with groups of options made of theirs."""
    found = {}
    for one in parameters:
        group = _group(one)
        own = given[one.name] if group is None else group(**_gathered(_parameters(group), given))
        found[one.name] = own
    return found


def _end(message: str, code: int) -> None:
    print(f"remuda: {message}", file=sys.stderr)
    raise typer.Exit(code)


for _command in (
    build, match, top, reach, stream, explain, possible, check, ratify, similar, stats, prune,
    generate, serve, doctor, demo, bench, warmup,
):  # fmt: skip
    app.command()(_told(_command))


def main() -> None:
    """Run the command line; exit 0, 1 for bad data, 2 for wrong usage."""
    gc.set_threshold(100_000, 20, 100)  # criteria are small and many: half their time went there
    try:
        app()
    except BrokenPipeError:  # the reader of our output left
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(0)
