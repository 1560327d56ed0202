"""`scan`, `sift` and `pst-bloom` beside the same algorithms of CORE.md, on the same data."""

from __future__ import annotations

from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

from benchmarks import clock, prototype
from benchmarks.measure import WrongAnswer
from remuda.encoding.generated import dnf_table, event_batch
from remuda.encoding.table import ClauseTable, EventBatch
from remuda.matchers.contract import conjunction_matcher

_CELLS = {  # CORE.md's column: our matcher, its workloads with how many events are timed
    "brute": ("scan", {"m100k_1": 100}),
    "counting": ("sift", {"m100k_1": 1000, "m1m_1": 500, "m1m_01": 500, "dense1m": 300}),
    "chasing": ("pst-bloom", {"m100k_1": 1000, "m1m_1": 500, "m1m_01": 1000, "ads1m": 1000}),
}

_console = Console()


def main() -> None:
    """Measure and print one table."""
    if not prototype.there():
        _console.print(f"no prototype in {prototype.FOLDER}: nothing to compare with")
        return
    table = Table(title="one event, wanted at most 2", title_justify="left")
    for name in ("algorithm", "matcher", "workload", "CORE µs", "ours µs", "ratio"):
        table.add_column(name, justify="right" if name[-1] in "so" else "left")
    for workload in dict.fromkeys(name for _, cells in _CELLS.values() for name in cells):
        data = prototype.drawn(workload)
        drawn = prototype.workload(data)
        clauses = dnf_table(drawn.criteria)
        events = event_batch(drawn.criteria, drawn.events)
        for algorithm, (matcher, cells) in _CELLS.items():
            if workload in cells:
                theirs, per_event = prototype.algorithm(algorithm, data, cells[workload])
                ours = _ours(matcher, clauses, events, per_event)
                figures = (f"{theirs:.0f}", f"{ours:.0f}", f"{ours / theirs:.2f}")
                table.add_row(algorithm, matcher, workload, *figures)
    _console.print(table)


def _ours(matcher: str, clauses: ClauseTable, events: EventBatch, per_event: Any) -> float:
    """µs for one event by itself, once every event's number of matches is right."""
    built = conjunction_matcher(matcher).build(clauses)
    few = events.some(0, len(per_event))
    if not np.array_equal(np.diff(built.match(few).starts), per_event):
        raise WrongAnswer(f"{matcher} and the prototype differ")
    ones = [few.one(i) for i in range(len(few))]
    return clock.best(lambda: [built.match(one) for one in ones]) / len(ones) * 1e6
