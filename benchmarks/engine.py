"""What an engine costs: adding one by one and in bulk, in memory and durably; opening."""

from __future__ import annotations

import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from rich.console import Console
from rich.table import Table

import remuda as rm
from remuda.engine.engine import Engine

_SINGLES = 20_000  # criteria that are added one by one, to an index that has all others
_SEEN = 1_000  # of these are looked for as soon as they are added
_THREADS = 8
_LATE, _QUESTIONS = 150, 50  # criteria in the tail, and questions while they are there
_OPENING = """
import sys, time
from benchmarks.engine import private_bytes
from remuda.engine.engine import Engine
before, start = private_bytes(), time.perf_counter()
engine = Engine(sys.argv[1])
print(time.perf_counter() - start, private_bytes() - before)
"""


def main(n: int = 1_000_000) -> None:
    """Measure with n criteria and print."""
    table = Table("what", "measured", "wanted", title=f"engine, {n:,} criteria")
    criteria = [criterion_of(i) for i in range(n)]
    later = [criterion_of(i) for i in range(n, n + 2 * _SINGLES + 10)]
    _warm_up()
    with TemporaryDirectory() as directory:
        path = Path(directory) / "engine"
        _in_memory(table, criteria, later[:_SINGLES])
        with Engine(path) as durable:
            _row(table, "bulk add, durable", n, lambda: durable.add("all", criteria), 30_000)
            one = later[: _SINGLES // _THREADS]
            _row(table, "single adds, durable, 1 thread", len(one), _adding(durable, one), None)
            many = later[len(one) :][:_SINGLES]
            name = f"single adds, durable, {_THREADS} threads"
            _row(table, name, len(many), _together(durable, many), 1_000)
            expected = n + len(one) + len(many)
            if (found := durable.snapshot("all").totals["criteria"]) != expected:
                raise AssertionError(f"{found:,} criteria are there, not {expected:,}")
            start = time.perf_counter()
            durable.checkpoint()
            table.add_row("checkpoint", f"{time.perf_counter() - start:.1f} s", "")
        seconds, size = _opening(path)
        table.add_row("open", f"{seconds:.2f} s", "")
        table.add_row("private memory once open", f"{size / 2**20:,.0f} MiB", "")
    Console().print(table)


def _in_memory(
    table: Table, criteria: Sequence[rm.Criterion], later: Sequence[rm.Criterion]
) -> None:
    engine = Engine()
    _row(table, "bulk add, in memory", len(criteria), lambda: engine.add("all", criteria), 30_000)
    start = time.perf_counter()
    for criterion in later[:_SEEN]:
        engine.add("all", criterion)
        if criterion.id not in engine.search("all", event_of(int(criterion.id[1:]))):
            raise AssertionError(f"{criterion.id} was added and is not found")
    each = (time.perf_counter() - start) / _SEEN
    table.add_row("add one and find it, in memory", f"{each * 1e6:,.0f} µs", "under 1,000 µs")
    rest = later[_SEEN:]
    _row(table, "single adds, in memory", len(rest), _adding(engine, rest), 10_000)
    _with_tail(table, engine.index("all"), rest)


def _with_tail(table: Table, index: rm.Index, late: Sequence[rm.Criterion]) -> None:
    """Questions about one event, each the first since the tail changed."""
    index.remove(*(one.id for one in late[:_LATE]))
    index.merge()
    events = [event_of(i) for i in range(_QUESTIONS)]
    plain = _median(lambda event: [one.holds(event) for one in late[:_LATE]], events)
    asked: dict[str, Callable[[rm.Index, Any], object]] = {
        "top": lambda index, event: index.top(event, 5),
        "match_many of one event": lambda index, event: index.match_many([event]),
    }
    bare = {name: _median(partial(ask, index), events) for name, ask in asked.items()}
    index.add(late[:_LATE])
    for name, ask in asked.items():
        seconds = _median(partial(ask, index), events, lambda: index.update(late[0]))
        wanted = f"at most {2 * (bare[name] + plain) * 1e6:,.0f}"
        table.add_row(f"{name}, {_LATE} in the tail", f"{seconds * 1e6:,.0f} µs", wanted)


def _median(
    call: Callable[[Any], object], events: Sequence[Any], before: Callable[[], object] | None = None
) -> float:
    """The median of the seconds that the events take, after something that is not timed."""
    call(events[0])
    seconds = []
    for event in events:
        if before is not None:
            before()
        start = time.perf_counter()
        call(event)
        seconds.append(time.perf_counter() - start)
    return statistics.median(seconds)


def private_bytes() -> int:
    """The memory that this process shares with no file and no other process."""
    lines = Path("/proc/self/smaps_rollup").read_text(encoding="ascii").splitlines()
    return sum(int(line.split()[1]) for line in lines if line.startswith("Private_Dirty")) * 1024


def criterion_of(i: int) -> rm.Criterion:
    """A rule as one would target an advertisement, each a little different."""
    age, country, tier = rm.attr("age"), rm.attr("country"), rm.attr("tier")
    expression = (
        age.between(i % 60, i % 60 + 10)
        & country.isin(f"C{i % 200}", f"C{i % 191}")
        & (tier == i % 97)
        & ~rm.attr("platform").eq(f"p{i % 7}")
    )
    return rm.Criterion(f"c{i}", expression)


def event_of(i: int) -> dict[str, object]:
    """An event that satisfies the criterion of that number."""
    return {"age": i % 60, "country": f"C{i % 200}", "tier": i % 97, "platform": f"p{(i + 1) % 7}"}


def _warm_up() -> None:
    """Compile what will be measured."""
    engine = Engine()
    for i in range(200):
        engine.add("few", criterion_of(i))
    engine.add("few", [criterion_of(i) for i in range(1_000, 2_000)])
    engine.search("few", {"age": 20})


def _row(table: Table, what: str, n: int, call: Callable[[], None], wanted: int | None) -> None:
    start = time.perf_counter()
    call()
    rate = n / (time.perf_counter() - start)
    table.add_row(what, f"{rate:,.0f} a second", f"{wanted:,} or more" if wanted else "")


def _adding(engine: Engine, criteria: Sequence[rm.Criterion]) -> Callable[[], None]:
    def call() -> None:
        for one in criteria:
            engine.add("all", one)

    return call


def _together(engine: Engine, criteria: Sequence[rm.Criterion]) -> Callable[[], None]:
    def call() -> None:
        threads = [
            threading.Thread(target=_adding(engine, criteria[number::_THREADS]))
            for number in range(_THREADS)
        ]
        for one in threads:
            one.start()
        for one in threads:
            one.join()

    return call


def _opening(path: Path) -> tuple[float, int]:
    """Seconds to open in a process of its own, and the private memory that it takes."""
    ran = subprocess.run(
        [sys.executable, "-c", _OPENING, str(path)], capture_output=True, text=True, check=True
    )
    seconds, size = ran.stdout.split()
    return float(seconds), int(size)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
