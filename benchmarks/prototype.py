"""The measured prototype of the fast core beside us: its data as ours, its kernels timed."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from typing import Any, NamedTuple

import numba
import numpy as np

from benchmarks import clock
from remuda import jit
from remuda.arrays import Longs
from remuda.workload.columns import EventColumns, Workload, conjunctions, spans

FOLDER = Path(__file__).parents[2] / "shared" / "prototype"
_NE, _LT, _LE, _GT, _GE, _IN, _NIN, _BTW = range(1, 9)  # its operator codes; 0 is equality
_BATCH = 1024


class _SameDimensions(np.random.Generator):
    """A generator that chooses as that of the seed 1 does: so the shape draws its dimensions."""

    def choice(self, *arguments: Any, **options: Any) -> Any:
        return np.random.default_rng(1).choice(*arguments, **options)


class Timed(NamedTuple):
    """What the prototype takes, and what it finds."""

    single_us: float
    batch_us: float | None  # it has none for thousands of dimensions
    build_s: float
    bytes_per_clause: float
    per_event: Longs


def there() -> bool:
    """Whether there is a prototype to compare with."""
    return (FOLDER / "core8.py").is_file()


def drawn(name: str) -> dict[str, Any]:
    """Its arrays for one of its workloads."""
    return dict(_module("gen").W[name]())


def ads(n_clauses: int, n_events: int, seed: int) -> dict[str, Any]:
    """Its ads shape at another size; its dimensions are the same for every seed."""
    return dict(
        _module("gen").ads(n_clauses, n_events, seed=_SameDimensions(np.random.PCG64(seed)))
    )


def _module(name: str) -> Any:
    """One of its modules; nothing is written to its folder."""
    config: Any = numba.config
    before = sys.dont_write_bytecode, config.CACHE_DIR
    sys.path.append(str(FOLDER))
    sys.dont_write_bytecode = True
    config.CACHE_DIR = str(Path(jit.__file__).parent / "__pycache__" / "prototype")
    try:
        return importlib.import_module(name)
    finally:
        sys.path.remove(str(FOLDER))
        sys.dont_write_bytecode, config.CACHE_DIR = before


def workload(data: dict[str, Any]) -> Workload:
    """The same subscriptions and events in our columns; absent attributes satisfy nothing."""
    op, n_values = data["p_op"], data["card"][data["p_attr"]]
    bound = data["p_lo"].astype(np.int64)
    lo, hi = bound.copy(), bound.copy()
    lo[np.isin(op, (_LT, _LE))] = 0
    hi[op == _LT] -= 1
    lo[op == _GT] += 1
    hi[op == _BTW] = data["p_hi"][op == _BTW]
    above = np.isin(op, (_GT, _GE))
    hi[above] = n_values[above] - 1
    counts = np.where(np.isin(op, (_IN, _NIN)), data["p_vlen"], 0)
    owners = np.repeat(np.arange(len(op)), counts)
    within = np.arange(len(owners)) - np.repeat(np.cumsum(counts) - counts, counts)
    values = data["vals"][data["p_voff"][owners] + within].astype(np.int64)
    negated = np.isin(op, (_NE, _NIN))
    criteria = conjunctions(
        data["card"], data["s_off"], data["p_attr"], negated, spans(lo, hi, owners, values),
        strong=True,
    )  # fmt: skip
    return Workload(criteria, EventColumns(data["e_off"], data["e_attr"], data["e_val"]))


def timed(data: dict[str, Any], n_events: int) -> Timed:
    """Build it as its own benchmark does, then time its two kernels on the first events."""
    bench, core8, core_nb, nbk8 = map(_module, ("bench", "core8", "core_nb", "nbk8"))
    n_clauses, n_dims = len(data["s_off"]) - 1, len(data["card"])
    to_space, spaces, sizes, space_starts, predicates = bench.encode(data)
    clauses = (data["s_off"], data["p_attr"], *predicates)
    often = core_nb.space_freq(*clauses, space_starts, 12)
    commonest = np.argsort(-np.bincount(data["p_attr"], minlength=n_dims), kind="stable")
    signature = np.zeros(n_dims, np.uint64)
    signature[commonest] = np.uint64(1) << (np.arange(n_dims) % 64).astype(np.uint64)

    def build() -> tuple[Any, Any]:
        entries = core8.entries8(*clauses, space_starts, often, 12)
        words, directory, _ = core8.build8(
            *entries, *clauses, sizes, space_starts, signature, often, 256, 1024, 2.0, 16
        )
        return words.copy(), directory.copy()

    (arena, directory), build_s = clock.timed(build)
    views = (arena.view(np.uint8), arena.view(np.uint16), arena.view(np.uint32))
    events = (data["e_off"], data["e_attr"], data["e_val"])
    heads = (arena, *views, directory, signature, sizes, space_starts, to_space, spaces, *events)
    out, found = np.zeros(n_clauses + 1, np.uint32), np.zeros(2 * n_events, np.int64)
    scratch = (
        np.zeros(1 << 16, np.uint8), np.zeros(1 << 16, np.uint16),
        np.zeros(2 * n_clauses + 64, np.uint64), np.zeros((8192, 2), np.uint32),
    )  # fmt: skip
    single = clock.best(lambda: nbk8.run8(*heads, 0, n_events, *scratch, out, found))
    per_event = found[:n_events].copy()
    batch = None
    if n_dims <= 2048:
        most = int(per_event.max()) + 8
        buffers = (
            np.zeros(_BATCH * n_dims, np.uint8), np.zeros(_BATCH * n_dims, np.uint16),
            np.zeros(int(space_starts[-1]), np.uint32), np.zeros(_BATCH * 128, np.uint32),
            np.zeros(_BATCH * 128, np.uint32), np.zeros(1 << 21, np.uint64),
            np.zeros(1 << 21, np.uint32), np.zeros(_BATCH * most, np.uint32), most,
        )  # fmt: skip
        span = (0, n_events, _BATCH, n_dims)
        batch = clock.best(lambda: nbk8.batch8(*heads, *span, *buffers, found))
    return Timed(
        single / n_events * 1e6,
        None if batch is None else batch / n_events * 1e6,
        build_s,
        (arena.nbytes + directory.nbytes) / n_clauses,
        per_event,
    )


def algorithm(name: str, data: dict[str, Any], n_events: int) -> tuple[float, Longs]:
    """µs an event of one of its plain algorithms (CORE.md's columns), and matches per event."""
    bench, core = _module("bench"), _module("core_nb")
    to_space, spaces, sizes, space_starts, predicates = bench.encode(data)
    kind, lo, hi, _, *values = predicates
    clauses = (data["s_off"], data["p_attr"], *predicates)
    n_clauses, n_dims = len(data["s_off"]) - 1, len(data["card"])
    events = (to_space, spaces, data["e_off"], data["e_attr"], data["e_val"])
    out, found = np.zeros(2 * n_clauses, np.uint32), np.zeros(2 * len(data["e_off"]), np.int64)
    if name == "brute":
        plain = (data["s_off"], data["p_attr"], kind, lo, hi, *values, *events, n_dims)
        seconds = clock.best(lambda: core.brute(*plain, 0, n_events, out, found))
    elif name == "counting":
        lists = core.build_count(*clauses, sizes, space_starts)
        counters = np.zeros(n_clauses, np.uint8)
        seconds = clock.best(
            lambda: core.count_run(*lists, space_starts, *events, 0, n_events, counters, out, found)
        )
    else:
        often = core.space_freq(*clauses, space_starts, 12)
        access, entries = core.choose_access(*clauses, space_starts, often, 12)
        clusters = core.build_cluster(*clauses, sizes, space_starts, access, entries, often)
        plain = (data["s_off"], data["p_attr"], kind, lo, hi, *values)
        records = core.build_suborder(*plain, sizes, space_starts, often)
        seen = np.zeros(n_dims, np.uint64), np.zeros(n_dims, np.int32)
        seconds = clock.best(
            lambda: core.chase_run(
                1, *clusters[:2], *records, *plain[1:], sizes, space_starts, *events,
                0, n_events, *seen, out, found,
            )
        )  # fmt: skip
    return seconds / n_events * 1e6, found[:n_events].copy()
