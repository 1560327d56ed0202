"""What a person sees: progress, tables, warnings, the figures at the end."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence, Sized
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any, TypeVar

import typer
from rich.console import Console
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.table import Table

T = TypeVar("T", bound=Sized)

verbosity: ContextVar[bool] = ContextVar("verbosity", default=False)  # of errors, by -v
SHOWN = 20  # rejects and other rows that are shown of many


@dataclass(slots=True)
class Figures:
    """What a job did, for its last line; it counts its time from when it is made."""

    what: str = "rows"
    rows: int = 0
    rejects: int = 0
    matches: int | None = None
    began: float = field(default_factory=time.perf_counter)

    def reject(self, reason: str, kept: bool) -> None:
        """Count a row that is wrong, be it among the others or not; name the first ones."""
        if self.rejects < SHOWN:
            warn(reason)
        self.rejects += 1
        self.rows += not kept

    def counted(self, portions: Iterable[T], progress: Callable[[str], None]) -> Iterator[T]:
        """The portions, their rows counted as they are read."""
        for portion in portions:
            self.rows += len(portion)
            matches = f", {self.matches:,} matches" if self.matches else ""
            progress(f"{self.rows:,} {self.what}{matches}")
            yield portion

    def __str__(self) -> str:
        seconds = time.perf_counter() - self.began
        parts = [f"{self.rows:,} {self.what} in", f"{self.rejects:,} rejected"]
        if self.matches is not None:
            parts.append(f"{self.matches:,} matches")
        rate = self.rows / seconds if seconds else 0.0
        return f"{', '.join(parts)}; {seconds:.1f} s, {rate:,.0f} {self.what} a second"


def finish(figures: Figures) -> None:
    """Say at the end what was done; exit 1 where anything was rejected."""
    warn(figures)
    if figures.rejects:
        raise typer.Exit(1)


def warn(message: object) -> None:
    print(message, file=sys.stderr)


@contextmanager
def working(what: str) -> Iterator[Callable[[str], None]]:
    """A line on the terminal that says what is done; call the result to say how far it is."""
    console = Console(stderr=True)
    columns = SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn()
    shown = console.is_terminal
    with Progress(*columns, console=console, transient=True, disable=not shown) as progress:
        task = progress.add_task(what)
        yield lambda how_far: progress.update(task, description=f"{what}: {how_far}")


def counted(rows: Iterable[Any], progress: Callable[[str], None]) -> Iterator[Any]:
    """The rows, telling now and then how many there were."""
    for n, row in enumerate(rows, start=1):
        yield row
        if n % 1_000 == 0:
            progress(f"{n:,} rows")


def show_table(
    columns: Sequence[str],
    rows: Iterable[Sequence[object]],
    title: str | None = None,
    *,
    stderr: bool = False,
) -> None:
    """A table for people; numbers stand to the right."""
    table = Table(title=title, title_justify="left")
    shown = [list(row) for row in rows]
    for place, name in enumerate(columns):
        numeric = all(isinstance(row[place], int | float) for row in shown)
        table.add_column(name, justify="right" if shown and numeric else "left")
    for row in shown:
        table.add_row(*map(_cell, row))
    Console(stderr=stderr).print(table, markup=False)


def _cell(value: object) -> str:
    if isinstance(value, int) and not isinstance(value, bool):
        return f"{value:,}"
    return f"{value:,.3f}" if isinstance(value, float) else str(value)
