"""The matcher `gpu` on the workloads of GPU.md, beside `auto` on all cores of the same machine.

Each figure is taken after the matches of all events were counted and found as many as is known.
REMUDA_WORKLOADS=ads1m,m1m_01 chooses workloads; ads10m is ten million clauses, drawn in ten parts.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from datetime import UTC, datetime
from multiprocessing import get_context
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from rich.console import Console
from rich.table import Table

from benchmarks import prototype
from benchmarks.measure import WrongAnswer
from benchmarks.report import RESULTS
from remuda.arrays import Ragged, frozen, starts_of
from remuda.encoding.device_columns import DeviceRows, rows_of_columns
from remuda.encoding.encoder import Encoder
from remuda.encoding.events import AT_ONCE, Portion, Source
from remuda.encoding.generated import dnf_table
from remuda.encoding.spaces import ValueSpaces
from remuda.encoding.table import ClauseTable, EventBatch, Predicates, events_of_values
from remuda.encoding.vocabulary import Dimension, View, Vocabulary
from remuda.index.portions import Size, in_order, n_threads
from remuda.matchers.auto import Auto
from remuda.matchers.gpu import Gpu
from remuda.matchers.gpu.device import kernels
from remuda.model.attributes import Attribute
from remuda.model.values import Kind
from remuda.workload.columns import EventColumns, Workload

_MATCHES = {  # of the 4,000 events of each of GPU.md's workloads; the shape of ads, ten times
    "m100k_01": 400_000, "m1m_01": 4_000_013, "ads1m": 119_740, "dense1m": 4_076_773,
    "ads3m": 361_128, "ads10m": None,
}  # fmt: skip
_EVENTS = 1 << 19  # they are repeated up to so many
_ROUNDS = 5
_COPIES = 20  # on the device, timed together
_PARTS = 10  # of the largest workload
_FIRST_NUMBER = 3  # value 0 of a dimension: behind "missing", "other" and "below all"

_console = Console(width=max(140, Console().width))


class Drawn(NamedTuple):
    """A workload in numbers, with an encoder of its own for events in columns."""

    table: ClauseTable
    n_values: Any
    events: EventColumns


def main() -> None:
    """Measure, print and keep."""
    if not prototype.there():
        _console.print(f"no prototype in {prototype.FOLDER}: its workloads are those of GPU.md")
        return
    names = os.environ.get("REMUDA_WORKLOADS", ",".join(_MATCHES)).split(",")
    cuda: Any = kernels().numba.cuda
    name = cuda.get_current_device().name
    figures = {
        "device": name.decode() if isinstance(name, bytes) else name,
        "cores": n_threads(None),
        "copies": _copies(cuda),
        "workloads": {},
    }
    with ProcessPoolExecutor(n_threads(None), get_context("spawn")) as pool:
        parts = {one: _parts(one, pool) for one in names}
        for one in names:
            drawn = _joined([part.result() for part in parts.pop(one)])
            figures["workloads"][one] = _measured(one, drawn)
            _console.print(one, figures["workloads"][one])
            _keep(figures)
    _show(figures)


def _keep(figures: dict[str, Any]) -> None:
    """The figures so far as JSON, with the day."""
    RESULTS.mkdir(exist_ok=True)
    day = f"{datetime.now(UTC):%Y-%m-%d}"
    text = json.dumps({"date": day, **figures}, indent=1)
    (RESULTS / f"gpu-{day}.json").write_text(f"{text}\n")


def _parts(name: str, pool: ProcessPoolExecutor) -> list[Any]:
    if name == "ads10m":
        return [pool.submit(_drawn, "ads", seed) for seed in range(1, _PARTS + 1)]
    return [pool.submit(_drawn, name, None)]


def _drawn(name: str, seed: int | None) -> Drawn:
    """One of the prototype's workloads; with a seed, a million clauses of the shape."""
    data = prototype.drawn(name) if seed is None else prototype.ads(1_000_000, 4_000, seed)
    found = prototype.workload(data)
    return Drawn(_renumbered(found), found.criteria.n_values, found.events)


def _renumbered(workload: Workload) -> ClauseTable:
    """The clauses in the spaces that an encoder of numbers has."""
    old = dnf_table(workload.criteria)
    starts = _starts(workload.criteria.n_values)
    predicates = old.predicates
    shift = (starts[:-1] + _FIRST_NUMBER - 1 - old.space_starts[:-1]).astype(np.int32)
    moved = np.repeat(shift[predicates.dim], np.diff(predicates.span_starts))
    spans = predicates._replace(
        span_lo=predicates.span_lo + moved, span_hi=predicates.span_hi + moved
    )
    return ClauseTable(frozen(starts), frozen(spans), old.clauses)


def _starts(n_values: Any) -> Any:
    return starts_of(n_values.astype(np.int64) + _FIRST_NUMBER + 1).astype(np.int32)


def _joined(parts: list[Drawn]) -> Drawn:
    """The clauses of all parts, whose dimensions are the same, over the first one's events."""
    if len(parts) == 1:
        return parts[0]
    tables = [part.table for part in parts]
    predicates = [table.predicates for table in tables]
    firsts = np.cumsum([0, *(len(one.dim) for one in predicates)])
    spans = np.cumsum([0, *(len(one.span_lo) for one in predicates)])
    items = [table.clauses.items + int(first) for table, first in zip(tables, firsts, strict=False)]
    span_starts = [
        one.span_starts[:-1] + int(first) for one, first in zip(predicates, spans, strict=False)
    ]
    whole = Predicates(
        *(np.concatenate([one[i] for one in predicates]) for i in range(3)),
        np.append(np.concatenate(span_starts), spans[-1]).astype(np.int32),
        *(np.concatenate([one[i] for one in predicates]) for i in (4, 5)),
    )
    counts = np.concatenate([np.diff(table.clauses.starts) for table in tables])
    clauses = Ragged(starts_of(counts), np.concatenate(items).astype(np.int32))
    return parts[0]._replace(
        table=ClauseTable(tables[0].space_starts, frozen(whole), frozen(clauses))
    )


def _measured(name: str, drawn: Drawn) -> dict[str, Any]:
    """Figures of one workload, in events a second."""
    start = time.perf_counter()
    gpu = Gpu.build(drawn.table)
    built = time.perf_counter() - start
    first = _batch(drawn, 1)
    start = time.perf_counter()
    gpu.warm()
    warmed = time.perf_counter() - start
    _check(name, gpu, first)
    repeats = max(1, _EVENTS // len(first))
    events = _batch(drawn, repeats)
    found: dict[str, Any] = {
        "clauses": drawn.table.n_clauses,
        "matches_per_event": float(gpu.count(first).mean()),
        "build_s": built,
        "upload_and_compile_s": warmed,
        "bytes_per_clause": gpu.nbytes / drawn.table.n_clauses,
        "gpu": {
            "kernel, counted": len(events) / _kernel_seconds(gpu, events),
            "encoded to counts": _rate(lambda: gpu.count(events), len(events)),
            "encoded to ids": _rate(lambda: gpu.match(events), len(events)),
        },
    }
    found["gpu"]["kernel, bytes of signatures an event"] = _signature_bytes(gpu, drawn.table, first)
    found["gpu"]["kernel, bytes of signatures a second"] = (
        found["gpu"]["kernel, bytes of signatures an event"] * found["gpu"]["kernel, counted"]
    )
    columns, encoder = _columns(drawn, repeats), _encoder(drawn)
    threads = n_threads(None)
    _check_encoding(columns.slice(0, len(first)), encoder, gpu, first)
    there = {name: _There(columns, name) for name in columns.column_names}
    _check_encoding(rows_of_columns(there).slice(0, len(first)), encoder, gpu, first)
    found["gpu"]["Arrow, the host's steps"] = _rate(
        lambda: _described(columns, encoder, threads, gpu), len(events), 3
    )
    found["gpu"]["Arrow, bytes an event"] = columns.nbytes / len(events)
    for which, rows in (("Arrow", columns), ("device columns", there)):
        for what, ask in (("spaces", len), ("counts", gpu.count), ("ids", gpu.match)):
            found["gpu"][f"{which} to {what}"] = _rate(
                lambda rows=rows, ask=ask: _through(rows, encoder, ask, threads, gpu),
                len(events),
                3,
            )
    found["gpu"]["ids, written for the first time a second"] = _first_written()
    if name == "ads10m":  # to arrange it for `auto`, too, would take minutes
        return found
    auto = Auto.build(drawn.table)
    few = events.some(0, min(len(events), 16 * len(first)))
    rows = columns.slice(0, len(few))
    found["auto"] = {
        "one core, counted": _rate(lambda: auto.count(first), len(first), 1),
        "encoded to ids": _rate(lambda: auto.match(few, threads), len(few), 2),
        "Arrow to spaces": _rate(lambda: _through(rows, encoder, len, threads), len(few), 2),
        "Arrow to ids": _rate(lambda: _through(rows, encoder, auto.match, threads), len(few), 1),
    }
    return found


def _check(name: str, gpu: Gpu, events: EventBatch) -> None:
    """Refuse to time wrong answers."""
    counts, matches = gpu.count(events), gpu.match(events)
    if (
        not np.array_equal(counts, np.diff(matches.starts))
        or gpu.reach(events).sum() != counts.sum()
    ):
        raise WrongAnswer(f"{name}: counts, ids and reach differ")
    if _MATCHES[name] is not None and counts.sum() != _MATCHES[name]:
        raise WrongAnswer(f"{name}: {counts.sum():,} matches, not {_MATCHES[name]:,}")


def _rate(call: Callable[[], Any], n_events: int, rounds: int = _ROUNDS) -> float:
    """Events a second by the clock, the best of several rounds after one that warms up."""
    call()
    seconds = []
    for _ in range(rounds):
        start = time.perf_counter()
        call()
        seconds.append(time.perf_counter() - start)
    return n_events / min(seconds)


def _kernel_seconds(gpu: Gpu, events: EventBatch) -> float:
    """Seconds of the counting kernel alone, all events on the device."""
    here = kernels()
    cuda: Any = here.numba.cuda
    index = gpu._home.placed()
    nothing = {kind: cuda.to_device(np.zeros(1, kind)) for kind in ("u1", "u4", "i4")}
    output = here.Output(
        cuda.device_array(len(events), np.int64), nothing["u4"], nothing["u4"], nothing["u4"],
        nothing["i4"], nothing["i4"], nothing["i4"], nothing["u1"],
    )  # fmt: skip
    batch = here.Events(
        *map(cuda.to_device, (events.starts.astype(np.uint32), events.spaces.astype(np.uint32)))
    )
    n_dims, seconds = len(gpu.arranged.bit_of_dim), []
    shared = 4 * n_dims if n_dims <= here.MOST_DIMS else 4
    for _ in range(_ROUNDS + 1):
        begin, end = cuda.event(), cuda.event()
        begin.record()
        here.answering[here.COUNT][len(events), here.THREADS, 0, shared](
            index, batch, np.uint32(len(events)), np.uint32(n_dims), np.int32(0), output
        )
        end.record()
        end.synchronize()
        seconds.append(cuda.event_elapsed_time(begin, end) / 1e3)
    return min(seconds[1:])


def _signature_bytes(gpu: Gpu, table: ClauseTable, events: EventBatch) -> float:
    """What an event reads of signatures alone, which is most of what it reads."""
    n_entries = np.diff(gpu.arranged.first_entry.astype(np.int64))
    present = table.space_starts[:-1][table.dim_of_space()[events.spaces]]  # one a dimension here
    met = n_entries[events.spaces].sum() + n_entries[present].sum()
    return 8.0 * (float(met) / len(events) + float(n_entries[-1]))


def _copies(cuda: Any, n: int = 1 << 28) -> dict[str, float]:
    """Bytes a second from and to pinned memory."""
    on_host, on_device = cuda.pinned_array(n, np.uint8), cuda.device_array(n, np.uint8)
    on_host[:] = 1

    def there() -> None:
        on_device.copy_to_device(on_host)
        cuda.synchronize()

    def back() -> None:
        on_device.copy_to_host(on_host)
        cuda.synchronize()

    another = cuda.device_array(n, np.uint8)

    def within() -> None:
        for _ in range(_COPIES):
            another.copy_to_device(on_device)
        cuda.synchronize()

    return {
        "to the device": _rate(there, n),
        "back": _rate(back, n),
        "on the device, read and written": 2 * _COPIES * _rate(within, n),
    }


def _batch(drawn: Drawn, repeats: int) -> EventBatch:
    """The events in the spaces of the table, over and over."""
    events = drawn.events
    once = events_of_values(
        drawn.table.space_starts, events.starts, events.dims, events.values + _FIRST_NUMBER - 1
    )
    counts = np.tile(np.diff(once.starts), repeats)
    return EventBatch(starts_of(counts), np.tile(once.spaces, repeats))


def _encoder(drawn: Drawn) -> Encoder:
    """What turns numbers into these spaces: a cut before each value."""
    spaces = tuple(
        ValueSpaces.restored((), {Kind.NUMBER: [(value, 0) for value in range(int(n) + 1)]})
        for n in drawn.n_values
    )
    dimensions = tuple(
        Dimension(Attribute.parse(f"a{dim}"), View.VALUE) for dim in range(len(spaces))
    )
    starts = drawn.table.space_starts
    return Encoder(Vocabulary(dimensions, spaces, starts, drawn.table.predicates))


def _columns(drawn: Drawn, repeats: int) -> pa.Table:
    """The events as columns of 32-bit integers, null where they say nothing."""
    events, n = drawn.events, len(drawn.events)
    rows = np.repeat(np.arange(n), np.diff(events.starts))
    columns = {}
    for dim in range(len(drawn.n_values)):
        here = events.dims == dim
        values, lacking = np.zeros(n, np.int32), np.ones(n, np.bool_)
        values[rows[here]] = events.values[here]
        lacking[rows[here]] = False
        columns[f"a{dim}"] = pa.array(np.tile(values, repeats), mask=np.tile(lacking, repeats))
    return pa.table(columns)


class _There:
    """A column on the device as `__cuda_array_interface__` tells of it, with a bit a row."""

    def __init__(self, columns: pa.Table, name: str) -> None:
        column = columns.column(name).combine_chunks()
        cuda: Any = kernels().numba.cuda
        self._values = cuda.to_device(column.fill_null(0).to_numpy())
        bits = np.packbits(column.is_valid().to_numpy(zero_copy_only=False), bitorder="little")
        self._bits = cuda.to_device(bits)
        self.__cuda_array_interface__ = {
            **self._values.__cuda_array_interface__,
            "mask": _Described({**self._bits.__cuda_array_interface__, "typestr": "<t1"}),
        }


class _Described:
    def __init__(self, interface: dict[str, Any]) -> None:
        self.__cuda_array_interface__ = interface


def _first_written(n: int = 1 << 28) -> float:
    """Bytes a second that one core writes to memory that it was just given."""
    ones = np.ones(n, np.uint8)

    def write() -> None:
        np.empty(n, np.uint8)[:] = ones

    return _rate(write, n, 3)


def _described(columns: pa.Table, encoder: Encoder, threads: int, gpu: Gpu) -> None:
    """What the host does before a device has anything to do: Python's steps a column."""
    n, at_once = _way(threads, gpu)
    source = Source(columns)
    for _ in in_order(source, lambda portion: portion.columns(encoder, 0), n,
                      Size.shared(source, n, at_once)):  # fmt: skip
        pass


def _way(threads: int, gpu: Gpu | None) -> tuple[int, int]:
    """How many threads ask, and how many events at once."""
    if gpu is None:
        return threads, AT_ONCE
    return min(threads, gpu.features.callers or threads), gpu.features.at_once or AT_ONCE


def _through(
    columns: pa.Table | dict[str, _There],
    encoder: Encoder,
    ask: Callable[[EventBatch], Any],
    threads: int,
    gpu: Gpu | None = None,
) -> None:
    """Encode, on the device or not, and ask portion by portion on all cores, as an index does."""

    def work(portion: Portion) -> Any:
        if gpu is None:
            return ask(portion.encode(encoder, 0))
        described = portion.columns(encoder, 0)
        assert described is not None
        return ask(gpu.encode(described))

    n, at_once = _way(threads, gpu)
    source = Source(columns)
    for _ in in_order(source, work, n, Size.shared(source, n, at_once)):
        pass


def _check_encoding(
    columns: pa.Table | DeviceRows, encoder: Encoder, gpu: Gpu, events: EventBatch
) -> None:
    described = Portion(columns).columns(encoder, 0)
    assert described is not None
    found = gpu.encode(described)
    if not all(map(np.array_equal, (found.starts, found.spaces), (events.starts, events.spaces))):
        raise WrongAnswer("the device cuts columns into other spaces")


def _show(figures: dict[str, Any]) -> None:
    table = Table(title=f"{figures['device']}, {figures['cores']} cores; M events a second")
    for name in ("workload", "matches", "B/clause"):
        table.add_column(name, justify="right")
    ways = (
        "kernel, counted",
        "encoded to counts",
        "encoded to ids",
        "Arrow to counts",
        "Arrow to ids",
        "device columns to ids",
    )
    for name in (*ways, "auto, encoded to ids", "auto, Arrow to ids"):
        table.add_column(name, justify="right")
    for name, found in figures["workloads"].items():
        rates = [found["gpu"][way] for way in ways]
        rates += [
            found["auto"][way] if "auto" in found else 0.0
            for way in ("encoded to ids", "Arrow to ids")
        ]
        table.add_row(
            name, f"{found['matches_per_event']:.1f}", f"{found['bytes_per_clause']:.0f}",
            *(f"{rate / 1e6:.2f}" for rate in rates),
        )  # fmt: skip
    _console.print(table)
