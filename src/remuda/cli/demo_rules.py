"""`remuda demo sigma FOLDER` and `remuda demo adblock FOLDER`: rules that others wrote."""

from __future__ import annotations

import time
from collections import Counter
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer
from rich.console import Console
from rich.markup import escape

from remuda.cli.rule_folders import WANTED, RuleFolder, read_folder
from remuda.cli.screen import show_table

if TYPE_CHECKING:
    from remuda.index.index import Index
    from remuda.language.criterion import Criterion

_SHOWN = 5
_CHECKED = 5  # events that are tried on every rule, plainly


def demo_rules(what: str, folder: str | None) -> None:
    """Read the rules of a folder, find those that its events satisfy, and check a sample."""
    from remuda.index.index import Index

    if what not in WANTED:
        raise typer.BadParameter(f"there is no demo {what!r}; there are {', '.join(WANTED)}")
    if folder is None:
        raise typer.BadParameter(f"demo {what} wants a folder with {WANTED[what]}")
    console = Console(highlight=False)
    start = time.monotonic()
    rules = read_folder(what, Path(folder))
    console.print(
        f"{len(rules.criteria):,} rules read, {len(rules.errors):,} refused ({_since(start):.1f} s)"
    )
    reasons = Counter(error.reason for error in rules.errors)
    if reasons:
        show_table(("refused because", "rules"), reasons.most_common(_SHOWN))
    start = time.monotonic()
    index = Index.build(rules.criteria)
    console.print(f"an index of them ({_since(start):.1f} s)")
    events = list(chain.from_iterable(rules.events.values()))
    start = time.monotonic()
    matches = index.match_many(events)
    counts = matches.counts()
    seconds = _since(start)
    console.print(
        f"{int(counts.sum()):,} matches of {len(events):,} events "
        f"({seconds:.1f} s, {len(events) / seconds:,.0f} events a second)"
    )
    hits = Counter(chain.from_iterable(matches.ids(i) for i in range(len(events))))
    named = {one.id: one for one in rules.criteria}
    rows = [(_title(named[name]), n) for name, n in hits.most_common(_SHOWN)]
    show_table(("found most often", "events"), rows)
    _explain(console, index, events, counts)
    n_checked = _check(rules, index, events)
    console.print(f"{n_checked:,} pairs of a rule and an event: all as they should be")


def _since(start: float) -> float:
    return max(time.monotonic() - start, 1e-9)


def _title(criterion: Criterion) -> str:
    return str(criterion.payload["title"]) if criterion.payload else criterion.id


def _explain(console: Console, index: Index, events: list[Any], counts: Any) -> None:
    """Why the first event with a match has it."""
    first = next((i for i, n in enumerate(counts) if n), None)
    if first is not None:
        name = index.match(events[first])[0]
        console.print(f"why {escape(name)}:")
        console.print(escape(str(index.explain(events[first], name))))


def _check(found: RuleFolder, index: Index, events: list[Any]) -> int:
    """How many pairs were tried plainly; all of them must be as the index has them."""
    chosen = events[:: max(1, len(events) // _CHECKED)][:_CHECKED]
    for event in chosen:
        plainly = {one.id for one in found.criteria if one.holds(event)}
        if set(index.match(event)) != plainly:
            raise AssertionError(f"the index differs from plain evaluation on {event}")
    return len(chosen) * len(found.criteria)
