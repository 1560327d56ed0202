"""`remuda explain`: why criteria hold for an event, or why not, and which nearly do."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from remuda.cli import options
from remuda.cli.files import STDIN, FileError, Reject, read_criteria
from remuda.cli.screen import SHOWN, warn

if TYPE_CHECKING:
    from remuda.index.index import Index
    from remuda.index.question import Now
    from remuda.language.criterion import Criterion
    from remuda.model.explanations import Explanation


def explain(
    criteria: Annotated[str, typer.Argument(help="A saved index, or a file of criteria.")],
    event: Annotated[str, typer.Argument(help="An event: JSON, a file with one, or - for stdin.")],
    ids: Annotated[
        list[str] | None,
        typer.Argument(help="These criteria; else those of an index that hold, all of a file."),
    ] = None,
    nearest: Annotated[
        int | None,
        typer.Option(min=1, help="So many that fail by the fewest predicates, and by which."),
    ] = None,
    now: options.Now = None,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object a criterion.")] = False,
) -> None:
    """Say why criteria hold for an event, or why not, predicate by predicate."""
    if nearest is not None and ids:
        raise typer.BadParameter("--nearest looks for criteria itself: name none, or leave it out")
    seen, moment = _event(event), options.moment(now)
    if nearest is not None:
        _show_nearest(index_of(criteria), seen, nearest, moment, as_json)
        return
    wanted = list(dict.fromkeys(ids or ()))
    if Path(criteria).is_dir():
        chosen, n_more = _of_index(criteria, seen, wanted, moment)
    else:
        chosen, n_more = _of_file(criteria, wanted)
    for one in chosen:
        _show(one.id, one.explain(seen, now=moment), as_json)
    if n_more:
        warn(f"and {n_more:,} more; name one to see it")
    missing = set(ids or ()) - {one.id for one in chosen}
    if missing:
        raise FileError(
            f"there is no criterion {', '.join(sorted(map(repr, missing)))} in {criteria}"
        )


def _of_index(path: str, event: Any, ids: Sequence[str], now: Now) -> tuple[list[Criterion], int]:
    """Those that were named, or the first that hold; and how many more there are."""
    from remuda.index.index import load

    index = load(path)
    wanted = ids or index.match(event, now=now)
    shown = wanted if ids else wanted[:SHOWN]
    return [index[name] for name in shown if name in index], len(wanted) - len(shown)


def _of_file(path: str, ids: Sequence[str]) -> tuple[list[Criterion], int]:
    """Those that were named, or the first; and how many more there are."""
    criteria: list[Criterion] = []
    n_more = 0
    for row in _criteria(path):
        if row.id in ids or (not ids and len(criteria) < SHOWN):
            criteria.append(row)
        else:
            n_more += not ids
    return criteria, n_more


def _criteria(path: str) -> list[Criterion]:
    """The criteria of a file; what is wrong with the others is said."""
    criteria = []
    for row in read_criteria([path]):
        if isinstance(row, Reject):
            warn(f"{row.file}, row {row.row}: {row.reason}")
        else:
            criteria.append(row)
    return criteria


def index_of(path: str) -> Index:
    """A saved index, or one of the criteria in a file."""
    from remuda.index.index import Index, load

    return load(path) if Path(path).is_dir() else Index.build(_criteria(path))


def _show_nearest(index: Index, event: Any, n: int, now: Now, as_json: bool) -> None:
    for near in index.nearest(event, n, now=now):
        if as_json:
            failures = [one.to_dict() for one in near.failures]
            print(json.dumps({"id": near.id, "failures": failures}, ensure_ascii=False))
        else:
            print(f"{near.id} fails by {len(near.failures)}")
            _indented("\n".join(map(str, near.failures)))


def _show(id: str, explanation: Explanation, as_json: bool) -> None:
    if as_json:
        print(json.dumps({"id": id, **explanation.to_dict()}, ensure_ascii=False))
    else:
        print(f"{id} {'holds' if explanation.holds else 'does not hold'}")
        _indented(str(explanation))


def _indented(text: str) -> None:
    print("\n".join("  " + line for line in text.split("\n")))


def _event(source: str) -> Any:
    """The event that the argument is, or names."""
    from remuda.cli.events import each_event
    from remuda.errors import ParseError
    from remuda.language.json_form import read_event

    if source.lstrip()[:1] in ("{", "["):
        try:
            return read_event(source)
        except ParseError as error:
            raise FileError(error.reason) from None
    if source != STDIN and not Path(source).exists():
        raise FileError(f"the event is neither JSON nor a file: {source}")
    found = next(each_event(source), None)
    if found is None:
        raise FileError(f"{source}: there is no event in it")
    return found
