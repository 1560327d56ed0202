"""`remuda possible`: which criteria hold for some event, or for every event, of a region."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated

import typer

from remuda.cli import options
from remuda.cli.explaining import index_of
from remuda.cli.screen import warn

if TYPE_CHECKING:
    from remuda.index.matches import Matches


def possible(
    criteria: Annotated[str, typer.Argument(help="A saved index, or a file of criteria.")],
    where: Annotated[
        list[str],
        typer.Argument(help="Regions: conditions on attributes joined by AND, such as price < 30."),
    ],
    missing: Annotated[
        list[str] | None, typer.Option(help="An attribute that no event has; repeat.")
    ] = None,
    present: Annotated[
        list[str] | None, typer.Option(help="An attribute that every event has; repeat.")
    ] = None,
    tags: options.Tags = None,
    now: options.Now = None,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object a region.")] = False,
) -> None:
    """Find the criteria that some event within a region satisfies, and those that every one does.

    A line has the criterion, and `every` or `some`. What a region does not mention may be anything.
    """
    index = index_of(criteria)
    how = {"missing": missing or (), "present": present or (), "tags": tags}
    moment = options.moment(now)
    some = index.possible(where, now=moment, **how)  # type: ignore[arg-type]
    every = index.certain(where, now=moment, **how)  # type: ignore[arg-type]
    for i, text in enumerate(where):
        _show(i, text, some, every, as_json)


def _show(i: int, where: str, some: Matches, every: Matches, as_json: bool) -> None:
    assert some.exact is not None
    assert every.exact is not None
    ids, always = some.ids(i), every.ids(i)
    exact = bool(some.exact[i] and every.exact[i])
    if as_json:
        row = {"where": where, "possible": ids, "certain": always, "exact": exact}
        print(json.dumps(row, ensure_ascii=False))
        return
    certain = set(always)
    for name in ids:
        print(f"{name}\t{'every' if name in certain else 'some'}")
    if not exact:
        warn(f"not exact for {where}: some may be impossible, and some hold for every event")
