"""SIFT and Propagation beside the k-index where conjunctions repeat, on VLDB's workload.

The paper splits criteria into conjunctions for both, and has each distinct one once in the k-index.
Here every conjunction is given so many times to the two, and once to the k-index, which then writes
down all its owners.
"""

from __future__ import annotations

import numpy as np
from rich.console import Console
from rich.table import Table

from benchmarks import clock
from benchmarks.measure import WrongAnswer
from remuda.arrays import Ints, Longs, Ragged, frozen, take_rows
from remuda.encoding.generated import dnf_table, event_batch
from remuda.encoding.table import ClauseTable, EventBatch
from remuda.jit import kernel
from remuda.matchers.contract import Matcher
from remuda.matchers.kindex import KIndex
from remuda.matchers.propagation import Propagation
from remuda.matchers.sift import Sift
from remuda.workload.vldb import VLDB

_CRITERIA, _EVENTS = 3_000, 20
_TIMES = (1, 4, 16, 64, 112, 224)


def main() -> None:
    """Measure and print one table."""
    drawn = VLDB(n_criteria=_CRITERIA, n_assignments=_EVENTS, n_months=1).draw()
    table, events = dnf_table(drawn.criteria), event_batch(drawn.criteria, drawn.events)
    index = KIndex.build(table)
    shown = Table(title=f"{_CRITERIA:,} criteria of VLDB's, µs an event", title_justify="left")
    columns = ("times", "k-index", "with owners", "SIFT", "entries", "Propagation", "candidates")
    for name in (*columns, "SIFT / k-index", "Propagation / k-index"):
        shown.add_column(name, justify="right")
    for times in _TIMES:
        found = index.match(events)
        alone = clock.best(lambda: index.match(events)) / _EVENTS * 1e6
        owners = frozen(np.arange(times * table.n_clauses, dtype=np.int32))
        more = clock.best(lambda: _owners(found.rows, owners, times)) / _EVENTS * 1e6  # noqa: B023
        row, ratios = [f"{alone:,.0f}", f"{alone + more:,.0f}"], []
        for kind in (Sift, Propagation):
            us, seen = _measured(kind, repeated(table, times), events, times * len(found.rows))
            row += [f"{us:,.0f}", f"{seen:,.0f}"]
            ratios.append(f"{us / (alone + more):.2f}")
        shown.add_row(str(times), *row, *ratios)
    Console(width=120).print(shown)


def repeated(table: ClauseTable, times: int) -> ClauseTable:
    """All clauses so many times."""
    every = np.tile(np.arange(table.n_clauses), times)
    starts, items = take_rows(table.clauses, every)
    clauses = frozen(Ragged(starts, items.astype(np.int32)))
    return ClauseTable(table.space_starts, table.predicates, clauses)


def _measured(
    kind: type[Matcher], table: ClauseTable, events: EventBatch, n_matches: int
) -> tuple[float, float]:
    """µs an event and what was looked at, once the number of matches is right."""
    built = kind.build(table)
    found = built.match(events)
    if len(found.rows) != n_matches:
        raise WrongAnswer(f"{kind.__name__} found {len(found.rows):,}, not {n_matches:,}")
    return clock.best(lambda: built.match(events)) / _EVENTS * 1e6, found.candidates / _EVENTS


@kernel
def _owners(rows: Ints, owners: Ints, times: int) -> Longs:
    """Write down the owners of the conjunctions that were found."""
    result = np.empty(len(rows) * times, np.int64)
    n = 0
    for row in rows:
        for i in range(times * row, times * row + times):
            result[n] = owners[i]
            n += 1
    return result
