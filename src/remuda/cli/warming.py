"""`remuda warmup`: kernels compiled ahead, so that no first search waits for it."""

from __future__ import annotations

import tempfile
import time
from typing import Annotated

import typer
from rich.console import Console

from remuda.cli.options import checked_matcher


def warmup(
    matchers: Annotated[
        list[str] | None, typer.Option("--matcher", help="These; by default auto alone.")
    ] = None,
    every: Annotated[bool, typer.Option("--all", help="All matchers there are.")] = False,
) -> None:
    """Compile the kernels; what is compiled is kept on disk."""
    import numpy as np

    from remuda.cli.demo_data import draw_day
    from remuda.errors import DeviceError
    from remuda.index.first_questions import ask_first
    from remuda.index.index import Index, load
    from remuda.matchers.contract import NAMES

    console = Console(highlight=False)
    campaigns, visits = draw_day(np.random.default_rng(0), 300, 50)
    for name in NAMES if every else matchers or ["auto"]:
        checked_matcher(name)
        start = time.perf_counter()
        with console.status(f"compiling {name} …"):
            index = Index.build(campaigns, matcher=name)
            try:
                index.match_many(visits)
            except DeviceError as error:
                if not every:
                    raise
                console.print(f"{name}: left out, {error}")
                continue
            index.match(visits.slice(0, 1).to_pylist()[0])
            index.top_many(visits, 3)
            index.nearest({}, 1)
            index.remove(campaigns[0].id)
            index.merge()
            ask_first(name)
            with tempfile.TemporaryDirectory() as home:  # what is loaded is checked by kernels
                index.save(home)
                load(home).match({})
        console.print(f"{name}: {time.perf_counter() - start:.1f} s")
