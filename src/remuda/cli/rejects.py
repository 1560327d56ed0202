"""Rejects: rows that are no criteria, counted, shown and kept."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from remuda.cli.files import Reject
from remuda.cli.screen import SHOWN, Figures, show_table, warn

if TYPE_CHECKING:
    from remuda.language.criterion import Criterion

_COLUMNS = ("file", "row", "id", "place", "reason")


@dataclass(slots=True)
class Sieve:
    """Criteria pass, rejects stay; all of them are counted."""

    file: str | None = None  # where rejects are kept
    rejects: list[Reject] = field(default_factory=list)
    figures: Figures = field(default_factory=lambda: Figures("criteria"))

    def good(self, rows: Iterable[Criterion | Reject]) -> Iterator[Criterion]:
        for self.figures.rows, row in enumerate(rows, start=1):
            if isinstance(row, Reject):
                self.rejects.append(row)
            else:
                yield row

    def told(self) -> Figures:
        """What there was, once the rejects are kept and shown."""
        self.figures.rejects = len(self.rejects)
        keep_rejects(self.rejects, self.file)
        show_rejects(self.rejects, len(self.rejects), self.file)
        return self.figures


def show_rejects(rejects: Iterable[Any], n_all: int, file: str | None = None) -> None:
    """A table of the first few on standard error."""
    first = list(rejects)[:SHOWN]
    if not first:
        return
    rows = [[getattr(one, name) or "–" for name in _COLUMNS] for one in first]
    show_table(_COLUMNS, rows, title="Rejected", stderr=True)
    if n_all > len(first):
        advice = f"all of them are in {file}" if file else "--rejects FILE keeps them all"
        warn(f"and {n_all - len(first):,} more; {advice}")


def keep_rejects(rejects: Iterable[Any], file: str | None) -> None:
    """All of them as JSON lines, where a file is given for them."""
    if file is not None:
        from remuda.cli.outputs import write_lines

        write_lines(file, ({name: getattr(one, name) for name in _COLUMNS} for one in rejects))
