"""What `auto` must show: beside the papers' matchers, the prototype, `scan`, and itself on threads.

Each figure is taken after the matches were counted and found right. REMUDA_PARTS=papers,threads
chooses parts: papers, prototype, scan, threads, index, mustang.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pyarrow as pa
from rich.console import Console
from rich.table import Table

from benchmarks import clock, mustang, prototype
from benchmarks.definitions import Point, chosen, generator, small
from benchmarks.engine import criterion_of, event_of
from benchmarks.measure import WrongAnswer
from remuda.encoding.generated import dnf_table, event_batch
from remuda.encoding.table import ClauseTable, EventBatch
from remuda.index.index import Index
from remuda.jit import kernel
from remuda.matchers.auto import Auto
from remuda.matchers.auto.single import find_at
from remuda.matchers.contract import conjunction_matcher
from remuda.workload.begen import BEGen

_RIVALS = ("sift", "propagation", "opindex", "betree", "pst-bloom", "pst-hash")
_FEWEST_CLAUSES = 100_000
_SINGLES = 200  # events that are matched one by one
_PATIENCE = 0.3  # seconds that a figure of one matcher may take
_LIKE_THE_PROTOTYPE = {  # its names: how many events are timed
    "m1m_1": 2000, "m1m_01": 4000, "dense1m": 2000, "sparse1m": 4000, "ads1m": 4000,
}  # fmt: skip
_SCANNED = 5
_CRITERIA, _ROWS = 1_020_000, 65_536  # through an index; some criteria share a clause
_PAPER = 1_800  # PSTHash against SCAN, in the PS-Tree paper

_console = Console(width=max(120, Console().width))


def main() -> None:
    """Measure and print part after part."""
    parts = {
        "papers": _beside_papers,
        "prototype": _beside_prototype,
        "scan": _beside_scan,
        "threads": _on_two_threads,
        "index": _through_an_index,
        "mustang": mustang.main,
    }
    wanted = os.environ.get("REMUDA_PARTS")
    _warm_up(BEGen(n_subscriptions=2_000, n_events=50))
    for name in wanted.split(",") if wanted else parts:
        parts[name]()


def _beside_papers() -> None:
    """Every workload of the matchers' benchmark, against whoever is the fastest there."""
    table = Table(title="the fastest of the papers' matchers beside auto", title_justify="left")
    table.add_column("workload")
    for way in ("single", "batch"):
        table.add_column(f"{way}: the fastest")
        for name in ("µs", "auto µs", "ratio"):
            table.add_column(name, justify="right")
    ratios = []
    for name, point in _points():
        workload = generator(point.workload).draw()
        clauses = dnf_table(workload.criteria)
        events = event_batch(workload.criteria, workload.events)
        own, *rivals = (_cost(one, clauses, events, point.matches) for one in ("auto", *_RIVALS))
        row = [name]
        for way in (0, 1):
            us, rival = min((one[way], rival) for one, rival in zip(rivals, _RIVALS, strict=True))
            row += [rival, f"{us:.1f}", f"{own[way]:.1f}", f"{us / own[way]:.2f}"]
            ratios.append(us / own[way])
        table.add_row(*row)
    table.add_section()
    by_way = np.array(ratios).reshape(-1, 2).T
    for name, figures in (
        ("geometric mean, wanted 3", np.exp(np.log(by_way).mean(axis=1))),
        ("least, wanted 1", by_way.min(axis=1)),
    ):
        table.add_row(name, "", "", "", f"{figures[0]:.2f}", "", "", "", f"{figures[1]:.2f}")
    _console.print(table)


def _points() -> Iterator[tuple[str, Point]]:
    """The points with enough clauses, those that draw the same but once."""
    seen = set()
    for experiment in chosen("matchers"):
        for point in experiment.points:
            if point.workload.get("cnf") or _n_clauses(point.workload) < _FEWEST_CLAUSES:
                continue
            key = repr(generator(point.workload))
            if key not in seen:
                seen.add(key)
                yield f"{experiment.name} {point.label}", point


def _n_clauses(parameters: dict[str, Any]) -> int:
    given = [value for key, value in parameters.items() if key in ("n_subscriptions", "n_criteria")]
    return int(given[0]) if given else _FEWEST_CLAUSES


def _cost(
    matcher: str, clauses: ClauseTable, events: EventBatch, expected: int | None
) -> tuple[float, float]:
    """µs an event, single and in a batch."""
    built: Any = conjunction_matcher(matcher).build(clauses)
    found = len(built.match(events).rows)
    if found != expected:
        raise WrongAnswer(f"{matcher} found {found:,} matches, not {expected}")
    ones = [events.one(i) for i in range(min(_SINGLES, len(events)))]
    single = clock.best_within(lambda: [built.match(one) for one in ones], _PATIENCE) / len(ones)
    batch = clock.best_within(lambda: built.match(events), _PATIENCE) / len(events)
    return single * 1e6, batch * 1e6


def _beside_prototype() -> None:
    """The same data, in one run; both sides on one thread."""
    if not prototype.there():
        _console.print(f"no prototype in {prototype.FOLDER}: nothing to compare with")
        return
    table = Table(title="the prototype, auto: ratio; wanted at most 1.1", title_justify="left")
    table.add_column("workload")
    for name in ("single µs", "called µs", "batch µs", "counted µs", "build s", "bytes a clause"):
        table.add_column(name, justify="right")
    prototype.timed(prototype.drawn("m100k_1"), 100)  # compiles it
    for name, n_events in _LIKE_THE_PROTOTYPE.items():
        table.add_row(name, *_pairs(name, n_events))
    _console.print(table)
    _console.print(
        "Single: a kernel loops over the events, as the prototype's does; called: each event is a "
        "call from Python, with rows of its own.\nThe prototype's batch keeps no rows, as `count` "
        "(counted); our other batch keeps them. A build of 1 M: at most 6 s."
    )


def _pairs(name: str, n_events: int) -> list[str]:
    """Their figures and ours on one workload."""
    data = prototype.drawn(name)
    theirs, workload = prototype.timed(data, n_events), prototype.workload(data)
    clauses = dnf_table(workload.criteria)
    events = event_batch(workload.criteria, workload.events).some(0, n_events)
    auto, build_s = clock.timed(lambda: Auto.build(clauses))
    if auto.count(events).tolist() != theirs.per_event.tolist():
        raise WrongAnswer(f"auto and the prototype differ on {name}")
    ones = [events.one(i).spaces for i in range(n_events)]
    scratch = auto._lend()
    single, called, batch, counted = (
        clock.best(call) / n_events * 1e6
        for call in (
            lambda: _find_each(events, scratch.where, auto),
            lambda: [auto.match_one(one) for one in ones],
            lambda: auto.match(events),
            lambda: auto.count(events),
        )
    )
    return [
        _pair(theirs.single_us, single),
        _pair(theirs.single_us, called),
        _pair(theirs.batch_us, batch),
        _pair(theirs.batch_us, counted),
        _pair(theirs.build_s, build_s),
        _pair(theirs.bytes_per_clause, auto.nbytes / clauses.n_clauses),
    ]


def _find_each(events: EventBatch, where: Any, auto: Auto) -> int:
    """Match all events one by one, and keep none of what they find."""
    return _count_each(events.starts, events.spaces, where, auto.dim_bits, auto.n_masked)  # type: ignore[no-any-return]


@kernel
def _count_each(starts, spaces, where, dim_bits, n_masked) -> int:  # type: ignore[no-untyped-def]
    n = 0
    for event in range(len(starts) - 1):
        n += find_at(spaces, starts[event], starts[event + 1], where, dim_bits, n_masked)[0]
    return n


def _beside_scan() -> None:
    """Three million ads."""
    [experiment] = chosen("ads-3m")
    [point] = experiment.points
    _warm_up(generator(small(point)))
    workload = generator(point.workload).draw()
    clauses = dnf_table(workload.criteria)
    events = event_batch(workload.criteria, workload.events)
    auto, build_s = clock.timed(lambda: Auto.build(clauses))
    hits = auto.match(events)
    if len(hits.rows) != point.matches:
        raise WrongAnswer(f"auto found {len(hits.rows):,} matches, not {point.matches}")
    scan, few = conjunction_matcher("scan").build(clauses), events.some(0, _SCANNED)
    if len(scan.match(few).rows) != hits.starts[_SCANNED]:
        raise WrongAnswer("auto and scan differ")
    ones = [events.one(i) for i in range(len(events))]
    single = clock.best(lambda: [auto.match(one) for one in ones]) / len(ones)
    batch = clock.best(lambda: auto.match(events)) / len(events)
    scanned = clock.best(lambda: scan.match(few), 2) / _SCANNED
    table = Table("what", "measured", "wanted", title="3 M ads", title_justify="left")
    table.add_row("scan", f"{scanned * 1e6:,.0f} µs an event", "")
    table.add_row("auto, single", f"{single * 1e6:,.0f} µs an event", "")
    table.add_row("auto, batch", f"{batch * 1e6:,.0f} µs an event", "")
    ratios = f"{scanned / single:,.0f}, {scanned / batch:,.0f} in a batch"
    table.add_row("scan / auto", ratios, f"beside the PS-Tree paper's {_PAPER:,}")
    table.add_row("build", f"{build_s:.1f} s", "at most 15")
    table.add_row("memory", f"{auto.nbytes / clauses.n_clauses:.0f} bytes a clause", "at most 170")
    _console.print(table)


def _on_two_threads() -> None:
    """Wall-clock time of the same batch, beside what two threads gain where memory is no matter."""
    table = Table(title="two threads, wanted 1.8", title_justify="left")
    for name in ("workload", "one: µs", "two: µs", "gain"):
        table.add_column(name, justify="left" if name == "workload" else "right")
    for probability in (0.001, 0.01):
        drawn = BEGen(
            n_subscriptions=1_000_000, n_events=8 * 1024, match_probability=probability
        ).draw()
        auto = Auto.build(dnf_table(drawn.criteria))
        events = event_batch(drawn.criteria, drawn.events)
        half = len(events) // 2
        halves = [events.some(0, half), events.some(half, len(events))]
        found = np.concatenate([auto.match(part).rows for part in halves])
        if not np.array_equal(auto.match(events).rows, found):
            raise WrongAnswer("two threads found something else than one")
        del found
        shares = {1: [events], 2: halves}
        with ThreadPoolExecutor(2) as pool:
            one, two = _wall(
                lambda n, pool=pool, auto=auto, shares=shares: list(pool.map(auto.match, shares[n]))
            )
        figures = (one / len(events) * 1e6, two / len(events) * 1e6, one / two)
        table.add_row(f"m {probability:.1%}", *(f"{figure:.2f}" for figure in figures))
    table.add_row("arithmetic alone, at this moment", "", "", f"{_arithmetic_gain():.2f}")
    _console.print(table)


def _arithmetic_gain() -> float:
    """What two threads gain where memory is no matter."""
    with ThreadPoolExecutor(2) as pool:
        one, two = _wall(lambda n: list(pool.map(_multiply, [100_000_000 // n] * n)))
    return one / two


def _through_an_index() -> None:
    """A table through an index of the engine's criteria: encoded, matched and put together."""
    index = Index.build(map(criterion_of, range(_CRITERIA)))
    numbers = np.random.default_rng(1).integers(0, _CRITERIA, _ROWS).tolist()
    rows = pa.Table.from_pylist([event_of(number) for number in numbers])
    one, two = (index.match_many(rows, threads=threads) for threads in (1, 2))
    same = np.array_equal(one.offsets, two.offsets) and np.array_equal(one.positions, two.positions)
    if not same:
        raise WrongAnswer("two threads found something else than one")
    for row in range(0, _ROWS, _ROWS // 20):
        if one.ids(row) != index.match(rows.slice(row, 1).to_pylist()[0]):
            raise WrongAnswer(f"row {row} is answered otherwise by itself")
    n_clauses, n_matches = index.stats()["clauses"], len(one.positions) / _ROWS
    del one, two
    seconds = _wall(lambda n: index.match_many(rows, threads=n))
    title = f"{n_clauses:,} clauses, {_ROWS:,} rows of Arrow, {n_matches:,.0f} matches a row"
    table = Table("through an index", "µs a row", title=title, title_justify="left")
    for threads, taken in zip((1, 2), seconds, strict=True):
        table.add_row(f"threads={threads}", f"{taken / _ROWS * 1e6:.2f}")
    table.add_row("gain, wanted 1.7", f"{seconds[0] / seconds[1]:.2f}")
    table.add_row("of arithmetic alone, at this moment", f"{_arithmetic_gain():.2f}")
    _console.print(table)


def _wall(call: Callable[[int], Any]) -> tuple[float, float]:
    """Seconds with one thread and with two, the least of several rounds by turns."""
    seconds: dict[int, list[float]] = {1: [], 2: []}
    for _ in range(9):
        for n, found in seconds.items():
            start = time.perf_counter()
            call(n)
            found.append(time.perf_counter() - start)
    return min(seconds[1]), min(seconds[2])


@kernel
def _multiply(n: int) -> float:
    product = 1.0
    for _ in range(n):
        product = product * 1.0000001 + 1e-9
    return product


def _warm_up(drawing: Any) -> None:
    """Compile what will be timed."""
    drawn = drawing.draw()
    auto = Auto.build(dnf_table(drawn.criteria))
    events = event_batch(drawn.criteria, drawn.events)
    auto.match(events)
    auto.count(events)
    auto.match_one(events.one(0).spaces)
    scratch = auto._lend()  # held while its arrays are written to by address
    _find_each(events, scratch.where, auto)


def _pair(theirs: float | None, ours: float) -> str:
    if theirs is None:
        return f"-, {ours:.1f}"
    return f"{theirs:.1f}, {ours:.1f}: {ours / theirs:.2f}"
