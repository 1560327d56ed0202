"""Metrics: what is counted while requests come, and how Prometheus reads it.

Every worker counts in a file of its own that all of them map, so whichever is asked can tell of
all, and a worker that is started again counts on. Only one thread of a process counts.
"""

from __future__ import annotations

import mmap
import time
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec

from remuda.engine.engine import Engine

ELSEWHERE = "none"  # the operation of requests for which there is no endpoint

# seconds, upper ends; a last bucket has the rest
BUCKETS = (
    0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5,
    10.0, 60.0,
)  # fmt: skip

_CLASSES = ("2xx", "3xx", "4xx", "5xx", "none")  # the last: gone before there was an answer
_BUCKETS_AT = len(_CLASSES)
_SECONDS = _BUCKETS_AT + len(BUCKETS) + 1
_MATCHES = _SECONDS + 1
_WIDTH = _MATCHES + 1
_GAUGES = ("started", "position", "seen", "cpu")  # of a worker, before its rows
_MOST_HITS = 10_000  # criteria whose hits are counted; others are "other"
_OTHER = ("", "")

KIND = "text/plain; version=0.0.4; charset=utf-8"


class Counts:
    """Counts of one process by operation, alone or in a file beside those of others."""

    def __init__(
        self, operations: Iterable[str], path: Path | None = None, *, hits: bool = False
    ) -> None:
        names = list(dict.fromkeys([*operations, ELSEWHERE]))
        self.rows = {name: len(_GAUGES) + i * _WIDTH for i, name in enumerate(names)}
        self.path = path
        self.hits: Counter[tuple[str, str]] | None = Counter() if hits else None
        self._cells = self._mapped(8 * (len(_GAUGES) + len(names) * _WIDTH))
        self._told = 0.0
        self.gauge("started", time.time())

    def _mapped(self, size: int) -> memoryview[float]:
        if self.path is None:
            return memoryview(bytearray(size)).cast("d")
        with self.path.open("a+b") as file:
            file.truncate(size)
            return memoryview(mmap.mmap(file.fileno(), size)).cast("d")

    def count(self, operation: str, status: int, seconds: float, matches: int) -> None:
        """One request that was answered."""
        cells, row = self._cells, self.rows[operation]
        cells[row + (status // 100 - 2 if status >= 200 else len(_CLASSES) - 1)] += 1
        cells[row + _BUCKETS_AT + bisect_left(BUCKETS, seconds)] += 1
        cells[row + _SECONDS] += seconds
        cells[row + _MATCHES] += matches

    def gauge(self, name: str, value: float) -> None:
        """How something stands in this process."""
        self._cells[_GAUGES.index(name)] = value

    def count_hits(self, index: str, ids: Iterable[str]) -> None:
        """Criteria that held, where that is counted."""
        hits = self.hits
        if hits is not None:
            for one in ids:
                key = index, one
                hits[key if key in hits or len(hits) < _MOST_HITS else _OTHER] += 1

    def tell(self, position: int) -> None:
        """Write down, for those who are asked, what is not in the shared cells yet."""
        self.gauge("position", position)
        self.gauge("seen", time.time())
        self.gauge("cpu", time.process_time())
        if self.path is not None and self.hits and time.monotonic() - self._told > 1.0:
            self._told = time.monotonic()
            aside = self.path.with_suffix(".new")
            aside.write_bytes(msgspec.json.encode([(*key, n) for key, n in self.hits.items()]))
            aside.replace(self.path.with_suffix(".hits"))

    def everybody(self) -> list[list[float]]:
        """The cells of all processes that count beside this one; its own are among them."""
        if self.path is None:
            return [list(self._cells)]
        found = []
        for path in sorted(self.path.parent.glob("*.counts")):
            cells = memoryview(path.read_bytes())
            if len(cells) == self._cells.nbytes:  # else it is being made
                found.append(list(cells.cast("d")))
        return found

    def all_hits(self) -> Counter[tuple[str, str]]:
        """The hits by index and criterion, of all processes."""
        total = Counter(self.hits)
        if self.path is not None:
            own = self.path.with_suffix(".hits")
            for path in self.path.parent.glob("*.hits"):
                if path != own:
                    found = msgspec.json.decode(path.read_bytes(), type=list[tuple[str, str, int]])
                    total.update({(index, name): n for index, name, n in found})
        return total


def exposition(counts: Counts, engine: Engine) -> str:
    """All metrics in Prometheus's text form."""
    counts.tell(engine.position)
    everybody = counts.everybody()
    lines = [
        *_requests(counts, everybody),
        *_workers(everybody),
        *_indexes(engine),
    ]
    if counts.hits is not None:
        lines += _hits(counts.all_hits())
    return "\n".join(lines) + "\n"


def _requests(counts: Counts, everybody: Sequence[Sequence[float]]) -> Iterator[str]:
    sums = [sum(column) for column in zip(*everybody, strict=True)]
    used = {
        name: sums[row : row + _WIDTH]
        for name, row in counts.rows.items()
        if any(sums[row : row + _BUCKETS_AT])
    }
    yield from _head("remuda_requests_total", "counter", "Requests by operation and status.")
    for name, row in used.items():
        for kind, n in zip(_CLASSES, row, strict=False):
            if n:
                yield _line("remuda_requests_total", n, operation=name, status=kind)
    yield from _head("remuda_request_seconds", "histogram", "From the head to the last byte.")
    for name, row in used.items():
        total = 0.0
        for bound, n in zip((*map(str, BUCKETS), "+Inf"), row[_BUCKETS_AT:], strict=False):
            total += n
            yield _line("remuda_request_seconds_bucket", total, operation=name, le=bound)
        yield _line("remuda_request_seconds_sum", row[_SECONDS], operation=name)
        yield _line("remuda_request_seconds_count", total, operation=name)
    yield from _head("remuda_matches_total", "counter", "Criteria found, by operation.")
    for name, row in used.items():
        if row[_MATCHES]:
            yield _line("remuda_matches_total", row[_MATCHES], operation=name)


def _workers(everybody: Sequence[Sequence[float]]) -> Iterator[str]:
    now = time.time()
    columns = list(zip(*everybody, strict=True))
    by_name = {name: list(columns[i]) for i, name in enumerate(_GAUGES)}
    ahead = max(by_name["position"])
    shown = {
        "remuda_worker_start_time_seconds": ("When it was started.", by_name["started"]),
        "remuda_worker_cpu_seconds_total": ("CPU time, as told last.", by_name["cpu"]),
        "remuda_log_position_bytes": ("How far in the log it is.", by_name["position"]),
        "remuda_log_lag_bytes": (
            "How much of the log it has not seen.", [ahead - one for one in by_name["position"]],
        ),
        "remuda_worker_told_seconds": (
            "How long ago it told of itself.", [now - one for one in by_name["seen"]],
        ),
    }  # fmt: skip
    for name, (what, values) in shown.items():
        yield from _head(name, "counter" if name.endswith("total") else "gauge", what)
        for i, value in enumerate(values):
            yield _line(name, value, worker=str(i))


_SIZES = {
    "criteria": "Criteria.",
    "bytes": "Bytes of its segments.",
    "segments": "Segments; many are merges that lag.",
    "tail": "Criteria that are in no segment yet.",
    "tombstones": "Removed criteria that a merge has not dropped yet.",
    "age_seconds": "How long ago it was changed here.",
}


def _indexes(engine: Engine) -> Iterator[str]:
    sizes: dict[str, dict[str, Any]] = {}
    for name in engine.names():
        if name in engine:
            sizes[name] = engine.stats(name) | {"age_seconds": engine.age(name)}
    for what, words in _SIZES.items():
        yield from _head(f"remuda_index_{what}", "gauge", words)
        for name, found in sizes.items():
            yield _line(f"remuda_index_{what}", found[what], index=name)
    yield from _head("remuda_log_bytes", "gauge", "Bytes of log since the last checkpoint.")
    yield _line("remuda_log_bytes", engine.log_size)


def _hits(hits: Counter[tuple[str, str]]) -> Iterator[str]:
    yield from _head("remuda_criterion_hits_total", "counter", "Events that it held for.")
    for (index, name), n in sorted(hits.items()):
        yield _line("remuda_criterion_hits_total", n, index=index, criterion=name)


def _head(name: str, kind: str, words: str) -> Iterator[str]:
    yield f"# HELP {name} {words}"
    yield f"# TYPE {name} {kind}"


def _line(name: str, value: float, **labels: str) -> str:
    told = ",".join(f'{key}="{_escaped(text)}"' for key, text in labels.items())
    whole = int(value) if float(value).is_integer() else value
    return f"{name}{{{told}}} {whole}" if told else f"{name} {whole}"


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
