"""`remuda check` and `remuda explain`: criteria looked at one by one."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated, Any

import msgspec
import typer
from rich.console import Console
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.table import Table

from remuda.cli.files import STDIN, FileError, Reject, read_criteria, read_events
from remuda.language.criterion import Criterion

_SHOWN = 20  # criteria that `explain` shows when none is named


def check(
    files: Annotated[
        list[str],
        typer.Argument(
            help="JSON lines, CSV or Parquet with columns id and expression; - reads stdin."
        ),
    ],
    as_json: Annotated[bool, typer.Option("--json", help="Rejects as JSON lines.")] = False,
) -> None:
    """Validate criteria; list those that cannot be understood, with the reason."""
    rejects: list[Reject] = []
    n_good = 0
    with _progress() as progress:
        task = progress.add_task("reading", total=None)
        for file in files:
            for row in read_criteria(file):
                if isinstance(row, Reject):
                    rejects.append(row)
                else:
                    n_good += 1
                if (n_good + len(rejects)) % 1000 == 0:
                    progress.update(task, description=f"{n_good + len(rejects):,} rows")
    if as_json:
        for reject in rejects:
            print(msgspec.json.encode(reject).decode())
    else:
        _show_rejects(rejects)
        total = n_good + len(rejects)
        print(f"{total:,} rows: {n_good:,} good, {len(rejects):,} rejected")
    if rejects:
        raise typer.Exit(1)


def explain(
    criteria: Annotated[str, typer.Argument(help="A file of criteria.")],
    event: Annotated[str, typer.Argument(help="An event: JSON, a file with one, or - for stdin.")],
    ids: Annotated[
        list[str] | None, typer.Option("--id", help="Only this criterion; may be repeated.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object a criterion.")] = False,
) -> None:
    """Say why criteria hold for an event, or why not, predicate by predicate."""
    seen = _event(event)
    wanted = set(ids or ())
    n_shown = n_more = 0
    for row in read_criteria(criteria):
        if isinstance(row, Reject):
            _warn(f"{row.file}, row {row.row}: {row.reason}")
        elif not ids or row.id in wanted:
            wanted.discard(row.id)
            if ids or n_shown < _SHOWN:
                n_shown += 1
                _show_explanation(row, seen, as_json)
            else:
                n_more += 1
    if n_more:
        _warn(f"and {n_more:,} more; --id shows one of them")
    if wanted:
        _warn(f"there is no criterion {', '.join(sorted(map(repr, wanted)))} in {criteria}")
        raise typer.Exit(1)


def _show_explanation(criterion: Criterion, event: Any, as_json: bool) -> None:
    explanation = criterion.explain(event)
    if as_json:
        print(json.dumps({"id": criterion.id, **explanation.to_dict()}, ensure_ascii=False))
    else:
        print(f"{criterion.id} {'holds' if explanation.holds else 'does not hold'}")
        print("\n".join("  " + line for line in str(explanation).split("\n")))


def _show_rejects(rejects: list[Reject]) -> None:
    if not rejects:
        return
    table = Table("file", "row", "id", "place", "reason", title="Rejected")
    for reject in rejects:
        table.add_row(
            reject.file, f"{reject.row:,}", reject.id or "–", reject.place or "–", reject.reason
        )
    console = Console(soft_wrap=False)
    console.print(table, markup=False)


def _event(source: str) -> Any:
    """The event that the argument is, or names."""
    if source.lstrip()[:1] in ("{", "["):
        try:
            return msgspec.json.decode(source)
        except (msgspec.DecodeError, RecursionError) as error:
            raise FileError(f"the event is not JSON: {error}") from None
    if source != STDIN and not Path(source).exists():
        raise FileError(f"the event is neither JSON nor a file: {source}")
    found = next(iter(read_events(source)), None)
    if found is None:
        raise FileError(f"{source}: there is no event in it")
    return found


def _progress() -> Progress:
    """A line of progress on a terminal, nothing elsewhere."""
    columns = SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn()
    console = Console(stderr=True)
    return Progress(*columns, console=console, transient=True, disable=not console.is_terminal)


def _warn(message: str) -> None:
    print(message, file=sys.stderr)
