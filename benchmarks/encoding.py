"""What it costs to turn events into numbers: dicts, Arrow columns, 100,000 patterns or sets."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import pyarrow as pa
from rich.console import Console
from rich.table import Table

from benchmarks import clock
from remuda.encoding import arrow
from remuda.encoding.encoder import Encoder
from remuda.encoding.plan import plan
from remuda.language.python import attr
from remuda.model.expressions import Expression
from remuda.workload.begen import BEGen

_MANY = 100_000


def main() -> None:
    """Measure and print; each count of spaces is checked against plain evaluation first."""
    table = Table("what", "measured", title="encoding, one thread")
    _plain_events(table)
    rng = np.random.default_rng(1)
    words = ["".join(row) for row in rng.choice(list("abcdefghij"), (_MANY, 8))]
    texts = [f"{words[i]}{words[i + 1]}" for i in range(0, 2_000, 2)]
    patterns = [attr("t").finds(f"{word[:4]}[a-z]*{word[5:]}") for word in words]
    _many(table, "regular expressions", patterns, [{"t": text} for text in texts])
    sets = [attr("t").superset(*rng.integers(0, 2_000, 3).tolist()) for _ in range(_MANY)]
    lists = [{"t": rng.integers(0, 2_000, 20).tolist()} for _ in range(1_000)]
    _many(table, "sets", sets, lists)
    Console().print(table)


def _plain_events(table: Table) -> None:
    workload = BEGen(n_subscriptions=10_000, n_events=10_000).draw()
    encoder = Encoder(plan(workload.expressions())[1])
    events = workload.event_dicts()
    n_pairs = len(workload.events.dims)
    expected = encoder.encode(events, 0)
    seconds = clock.best(lambda: encoder.encode(events, 0))
    table.add_row("dicts of 15 attributes", f"{seconds / len(events) * 1e6:.1f} µs an event")
    names = [workload.criteria.name(dim) for dim in range(workload.criteria.n_dims)]
    columns = pa.table({name: [event.get(name) for event in events] for name in names})
    found = arrow.encode(encoder, columns, 0)
    if not np.array_equal(found.spaces, expected.spaces):
        raise AssertionError("columns and dicts give different spaces")
    seconds = clock.best(lambda: arrow.encode(encoder, columns, 0))
    cells = columns.num_rows * columns.num_columns
    table.add_row(
        f"Arrow, {columns.num_columns} typed columns",
        f"{seconds / n_pairs * 1e9:.0f} ns a pair, {seconds / cells * 1e9:.1f} ns a cell",
    )


def _many(table: Table, what: str, criteria: list[Expression], events: list[Any]) -> None:
    start = time.thread_time()
    encoder = Encoder(plan(criteria)[1])
    found = encoder.encode(events[:1], 0)
    built = time.thread_time() - start
    held = sum(criterion.holds(events[0]) for criterion in criteria)
    if len(found.spaces) != held:
        raise AssertionError(f"{len(found.spaces)} spaces for {held} {what} that hold")
    first = clock.timed(lambda: encoder.encode(events, 0))[1]
    again = clock.best(lambda: encoder.encode(events, 0))
    table.add_row(f"{_MANY:,} {what} on one attribute", f"{built:.1f} s to build")
    table.add_row("  a value seen for the first time", f"{first / len(events) * 1e6:.0f} µs")
    table.add_row("  seen before", f"{again / len(events) * 1e6:.1f} µs")
