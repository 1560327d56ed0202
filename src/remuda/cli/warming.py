"""`remuda warmup`: kernels compiled ahead, so that no first search waits for it."""

from __future__ import annotations

import time
from typing import Annotated

import typer
from rich.console import Console

from remuda.cli.options import check_threads, checked_matcher


def warmup(
    matchers: Annotated[
        list[str] | None, typer.Option("--matcher", help="These; by default auto alone.")
    ] = None,
    every: Annotated[bool, typer.Option("--all", help="All matchers there are.")] = False,
) -> None:
    """Compile the kernels, on all cores; what is compiled is kept on disk."""
    import numpy as np

    from remuda.cli.demo_data import draw_day
    from remuda.errors import DeviceError
    from remuda.index.first_questions import compiled_ahead
    from remuda.matchers.contract import NAMES

    console = Console(highlight=False)
    check_threads()
    campaigns, visits = draw_day(np.random.default_rng(0), 300, 50)
    for name in NAMES if every else matchers or ["auto"]:
        checked_matcher(name)
        start = time.perf_counter()
        with (
            compiled_ahead(campaigns, visits, name) as steps,
            console.status(f"compiling {name} …"),
        ):
            try:
                for step in steps:
                    step.result()
            except DeviceError as error:
                if not every:
                    raise
                console.print(f"{name}: left out, {error}")
                continue
        console.print(f"{name}: {time.perf_counter() - start:.1f} s")
