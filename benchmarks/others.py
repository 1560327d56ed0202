"""Rules that nobody here wrote: Sigma's and EasyList's, on events that others made."""

from __future__ import annotations

import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

import remuda as rm
from benchmarks import clock
from benchmarks.measure import WrongAnswer
from remuda.cli.files import FileError
from remuda.cli.rule_folders import RuleFolder, read_folder

SUITES = Path(__file__).parents[2] / "shared" / "suites"
_CHECKED = 5  # events of each file that are tried on every rule, plainly
_ONE_BY_ONE = 500


def main(name: str, folder: str | None = None) -> None:
    """Read, build, check a sample, measure and print."""
    console = Console()
    try:
        found, reading = clock.timed(lambda: read_folder(name, Path(folder or SUITES / name)))
    except FileError as error:
        console.print(f"{error}; ./run bench {name} FOLDER")
        return
    index, building = clock.timed(lambda: rm.Index.build(found.criteria))
    console.print(
        f"{len(found.criteria):,} rules ({len(found.errors)} refused) read in {reading:.1f} s, "
        f"built in {building:.1f} s"
    )
    table = Table("events", "number", "matches", "batch, µs an event", "single, µs", title=name)
    for lane, events in found.events.items():
        _check(found, index, events)
        table.add_row(lane, *_measured(index, events))
    console.print(table)


def _measured(index: rm.Index, events: Sequence[Any]) -> tuple[str, ...]:
    """How many events and matches, and the least of several times a call takes for each event."""
    n_matches = int(index.match_many(events, threads=1).counts().sum())
    batch = clock.best(lambda: index.match_many(events, threads=1), 3) / len(events)
    few = events[:_ONE_BY_ONE]
    single = clock.best(lambda: [index.match(event) for event in few], 3) / len(few)
    times = f"{batch * 1e6:,.1f}", f"{single * 1e6:,.1f}"
    return f"{len(events):,}", f"{n_matches:,}", *times


def _check(found: RuleFolder, index: rm.Index, events: Sequence[Any]) -> None:
    """Refuse to time what differs from plain evaluation on a sample."""
    for event in random.Random(1).sample(list(events), min(_CHECKED, len(events))):
        plainly = {one.id for one in found.criteria if one.holds(event)}
        if set(index.match(event)) != plainly:
            raise WrongAnswer(f"the index differs from plain evaluation on {event}")
