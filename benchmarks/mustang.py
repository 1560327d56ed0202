"""The shape of Mustang's own benchmark: 26 attributes, half CNF, half DNF, 18 % of all match."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

from benchmarks import clock
from remuda.index.segment import Segment
from remuda.workload.mustang import Mustang

_CRITERIA, _EVENTS = 100_000, 1_000


def main() -> None:
    """Measure and print, after a sample was compared with plain evaluation."""
    drawn = Mustang(n_criteria=_CRITERIA, n_events=_EVENTS).draw()
    expressions, events = drawn.expressions(), drawn.event_dicts()
    start = time.thread_time()
    segment = Segment.build(expressions, matcher="auto")
    built = time.thread_time() - start
    batch = segment.encoder.encode(events, 0)
    found = segment.match(batch)
    for i in range(0, _EVENTS, _EVENTS // 5):
        rows = np.sort(found.rows[found.starts[i] : found.starts[i + 1]]).tolist()
        if rows != [j for j, one in enumerate(expressions) if one.holds(events[i])]:
            raise AssertionError(f"event {i} was answered wrongly")
    table = Table("what", "measured", title="Mustang's shape, 100,000 criteria, one thread")
    table.add_row("build from expressions", f"{built:.1f} s")
    table.add_row("criteria that match an event", f"{len(found.rows) / _EVENTS / _CRITERIA:.1%}")
    table.add_row(
        "encode, from dicts", f"{_EVENTS / clock.best(_encode(segment, events)):,.0f} events/s"
    )
    table.add_row(
        "match, encoded", f"{_EVENTS / clock.best(lambda: segment.match(batch)):,.0f} events/s"
    )
    Console().print(table)


def _encode(segment: Segment, events: list[Any]) -> Callable[[], Any]:
    return lambda: segment.encoder.encode(events, 0)
