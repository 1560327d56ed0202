"""`remuda ratify` and `remuda similar`: an index held against the truth, and against itself."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from remuda.cli import options
from remuda.cli.files import FileError, Reject, read_criteria
from remuda.cli.screen import SHOWN, show_table, warn, working
from remuda.cli.spark_session import need_spark

if TYPE_CHECKING:
    from remuda.language.criterion import Criterion
    from remuda.proof.redundancy import Redundancy
    from remuda.proof.similarity import Similarity

_MOST = 10  # similar criteria

Seconds = Annotated[
    float | None, typer.Option("--seconds", min=0.0, help="How long it may take, about.")
]
Seed = Annotated[int, typer.Option("--seed", help="Draws other events.")]
Given = Annotated[
    str | None, typer.Option("--events", help="Take these events, rather than make some.")
]


def ratify(
    index: options.IndexPath,
    seconds: Seconds = None,
    seed: Seed = 0,
    full: Annotated[
        bool, typer.Option("--full/--sample", help="Events from all criteria, or from a few.")
    ] = True,
    events: Given = None,
    input_format: options.InputFormat = None,
    now: options.Now = None,
    version: options.Version = None,
    *,
    place: options.Place,
) -> None:
    """Compare an index with plain evaluation, on events made from its own criteria."""
    options.check_input_format(input_format)
    options.check_threads()
    how: dict[str, Any] = {
        "full": full, "seed": seed, "seconds": seconds, "now": options.moment(now)
    }  # fmt: skip
    if place.local:
        from remuda.index.index import load
        from remuda.proof.ratifying import ratify as ratified

        given = _given(events, input_format)
        with working("comparing with plain evaluation"):
            ratification = ratified(load(index, version=version), events=given, **how)
    else:
        need_spark(events or "")
        from remuda.cli import spark_jobs

        ratification = spark_jobs.ratify(index, version, events, input_format, how, place.spark)
    print(ratification)
    if not ratification.ok:
        raise typer.Exit(1)


def similar(
    index: options.IndexPath,
    criterion: Annotated[
        str | None, typer.Argument(help="Its text or JSON, a file with it, or its id in the index.")
    ] = None,
    redundant: Annotated[
        bool, typer.Option("--redundant", help="What the whole index could do without.")
    ] = False,
    n: Annotated[int, typer.Option("-n", min=1, help="How many are shown.")] = _MOST,
    seconds: Annotated[
        float | None, typer.Option(min=0.0, help="How long --redundant may take, about.")
    ] = None,
    seed: Seed = 0,
    events: Given = None,
    input_format: options.InputFormat = None,
    now: options.Now = None,
) -> None:
    """Show which criteria hold where one does; or which are the same, shadowed or never true."""
    from remuda.index.index import load
    from remuda.proof.redundancy import redundancy
    from remuda.proof.similarity import similarity

    if redundant == (criterion is not None):
        raise typer.BadParameter("name one criterion, or ask for --redundant")
    options.check_input_format(input_format)
    options.check_threads()
    opened, moment = load(index), options.moment(now)
    if criterion is None:
        with working("looking for what is redundant"):
            told = redundancy(opened, seed=seed, seconds=seconds, now=moment)
        _show_redundancy(told)
        return
    candidate = opened[criterion] if criterion in opened else _candidate(criterion)
    with working("comparing"):
        given = _given(events, input_format)
        found = similarity(opened, candidate, events=given, seed=seed, n=n, now=moment)
    _show_similarity(found)


def _given(path: str | None, format: str | None) -> Any:
    from remuda.cli.events import strict_portions

    return None if path is None else strict_portions(path, format)


def _candidate(source: str) -> Criterion:
    """A criterion that is given as a file, as JSON, or as text."""
    from remuda.errors import ParseError
    from remuda.language.criterion import Criterion
    from remuda.language.rows import criterion_of
    from remuda.language.text import parse

    if source.lstrip().startswith("{"):
        return criterion_of(source.encode())
    if _is_file(source):
        row = next(read_criteria([source]), None)
        if row is None or isinstance(row, Reject):
            raise FileError(f"{source}: {row.reason if row else 'there is no criterion in it'}")
        return row
    try:
        return Criterion("candidate", parse(source))
    except ParseError as error:
        reason = f"{error.reason} at column {error.column + 1} of {source!r}"
        raise FileError(f"this is no id, no file and no criterion: {reason}") from None


def _is_file(source: str) -> bool:
    try:
        return Path(source).is_file()
    except (OSError, ValueError):  # too long for a name
        return False


def _show_similarity(found: Similarity) -> None:
    if found.never:
        print("the criterion never holds, so it resembles none")
        return
    rows = [
        (one.id, one.score, f"{one.covers:.0%}", f"{one.covered:.0%}", one.events[0])
        for one in found.similar
    ]
    show_table(("id", "score", "covers", "covered", "an event of both"), rows)
    print(
        f"{found.n_events:,} events, {found.n_holding:,} of them the criterion's; "
        f"{found.overlap:.0%} of these are also of others"
    )


def _show_redundancy(found: Redundancy) -> None:
    groups = [(", ".join(ids[:SHOWN]), len(ids)) for ids in found.duplicates]
    _show_some(("the same", "how many"), groups)
    _show_some(("criterion", "holds only where"), [(one.id, one.by) for one in found.shadowed])
    _show_some(("never holds",), [(name,) for name in found.never])
    print(
        f"{found.n_criteria:,} criteria: {len(groups):,} groups of duplicates, "
        f"{len(found.shadowed):,} shadowed, {len(found.never):,} never true"
    )
    if found.n_unclear:
        warn(f"{found.n_unclear:,} were too large to be looked at for what they imply")
    if found.cut_short:
        warn("cut short by its time")


def _show_some(columns: tuple[str, ...], rows: list[Any]) -> None:
    if rows:
        show_table(columns, rows[:SHOWN])
    if len(rows) > SHOWN:
        print(f"and {len(rows) - SHOWN:,} more")
