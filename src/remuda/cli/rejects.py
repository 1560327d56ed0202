"""Rejects: rows that are no criteria, counted, shown and kept."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from remuda.cli.files import Reject
from remuda.cli.screen import SHOWN, show_table, warn

if TYPE_CHECKING:
    from remuda.language.criterion import Criterion

_COLUMNS = ("file", "row", "id", "place", "reason")


@dataclass(slots=True)
class Sieve:
    """Criteria pass, rejects stay."""

    n_good: int = 0
    rejects: list[Reject] = field(default_factory=list)

    @property
    def n_rows(self) -> int:
        return self.n_good + len(self.rejects)

    def good(self, rows: Iterable[Criterion | Reject]) -> Iterator[Criterion]:
        for row in rows:
            if isinstance(row, Reject):
                self.rejects.append(row)
            else:
                self.n_good += 1
                yield row


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
