"""`remuda stats` and `remuda prune`: what a saved index has, and old versions of it."""

from __future__ import annotations

import json
from typing import Annotated

import typer

from remuda.cli import options
from remuda.cli.screen import show_table, working
from remuda.index.stores import VERSIONS, store_of


def stats(
    index: options.IndexPath,
    version: options.Version = None,
    as_json: Annotated[bool, typer.Option("--json", help="As one JSON object.")] = False,
) -> None:
    """Show the sizes of an index, and how its segments are laid out."""
    from remuda.index.index import load
    from remuda.index.storage import read_version

    opened = load(index, version=version)
    home = store_of(index)
    saved_version = read_version(home, opened.version)
    kept = [name for name in home.names(VERSIONS) if not name.startswith(".")]
    figures = {
        "version": opened.version,
        "versions kept": len(kept),
        **opened.stats(),
        "scalars": ", ".join(saved_version.facts["scalars"]),
        "bytes on disk": saved_version.nbytes,
    }
    if as_json:
        print(json.dumps(figures, ensure_ascii=False))
        return
    chosen, failing = figures.pop("chosen"), figures.pop("set_aside")
    show_table(
        ("what", "how much"),
        [
            (name, f"{value:,}" if isinstance(value, int) else value)
            for name, value in figures.items()
        ],
    )
    entries = [
        (
            one["segment"], one["criteria"], one["bytes"], "some" if one["alive"] else "all",
            how.get("why", ""),
        )
        for one, how in zip(saved_version.segments, chosen, strict=True)
    ]  # fmt: skip
    show_table(("segment", "criteria", "bytes", "in use", "layout"), entries)
    if failing:
        show_table(("set aside", "since it fails"), list(failing.items()))


def prune(
    index: options.IndexPath,
    keep: Annotated[int, typer.Option(min=1, help="How many versions stay, the newest.")] = 3,
) -> None:
    """Remove old versions of an index, and what only they need."""
    from remuda.index.storage import current_version
    from remuda.index.storage import prune as pruned

    home = store_of(index)
    current_version(home)  # says so where there is no index
    with working(f"pruning {index}"):
        gone = pruned(home, keep)
    print(f"{index}: {', '.join(gone)} removed" if gone else f"{index}: nothing to remove")
