"""`remuda bench`: the benchmarks of the source tree."""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path
from typing import Annotated

import typer

from remuda.cli.files import FileError

_TREE = Path(__file__).parents[3]


def bench(
    names: Annotated[
        list[str] | None, typer.Argument(help="Experiments or groups; none lists them.")
    ] = None,
    only: Annotated[
        list[str] | None, typer.Option("--matcher", help="Only this matcher; may be repeated.")
    ] = None,
    plots: Annotated[bool, typer.Option(help="Draw the curves as PNG and SVG.")] = True,
    against: Annotated[
        str | None,
        typer.Option(help="A commit: run by turns there and here, and print the ratios."),
    ] = None,
    scale: Annotated[
        str, typer.Option(help="Of `papers`: small (minutes), paper (as printed) or tiny.")
    ] = "small",
    jobs: Annotated[int, typer.Option(min=1, help="Of `papers`: how many processes measure.")] = 1,
    rounds: Annotated[
        int, typer.Option(min=1, help="Of `papers`: how often each figure is measured.")
    ] = 5,
    within: Annotated[
        float | None, typer.Option(help="Of `papers`: seconds after which nothing is begun.")
    ] = None,
    into: Annotated[
        str | None, typer.Option(help="Of `papers`: a folder for the results, not the tree's.")
    ] = None,
    anew: Annotated[
        bool, typer.Option("--anew", help="Of `papers`: measure all of it again, and report it.")
    ] = False,
) -> None:
    """Measure, after checking that what is measured answers right."""
    if not (_TREE / "benchmarks" / "runner.py").exists():
        raise FileError("the benchmarks are in the source tree, not in an installed package")
    sys.path.insert(0, str(_TREE))
    runner = import_module("benchmarks.runner")
    ways = {"only": only or (), "plots": plots, "against": against}
    papers = {"scale": scale, "jobs": jobs, "rounds": rounds, "within": within, "into": into}
    raise typer.Exit(runner.main(names or (), **ways, **papers, anew=anew))
