"""Lanes to the device: a stream each, with buffers that are lent to one call at a time.

Events go up from pinned memory and answers come back to it. A batch goes in chunks over two lanes,
so that copies of one overlap the kernels of the other.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from queue import Empty, LifoQueue
from typing import Any, NamedTuple, TypeVar

import numpy as np

from remuda import cuda
from remuda.arrays import Bytes, Halves, Ints, Longs
from remuda.encoding.device_columns import OnDevice
from remuda.encoding.table import EventBatch
from remuda.matchers.gpu.device import kernels
from remuda.matchers.gpu.layout import Arranged

T = TypeVar("T")

MOST_EVENTS = 1 << 16  # of a chunk
MOST_SPACES = 1 << 21
MOST_ROWS = 1 << 24  # that a lane holds, unless one event alone may have more
_FEWEST_ROWS = 1 << 20
_BLOCKS = 2  # of the simulator, which runs one after the other
_LANES = 4
_PER_CALL = 2
_PLAIN_THREADS = 128  # of a block of a kernel whose threads have nothing in common

# the kinds of numbers as which bytes on the device are seen
VIEWS = ("i1", "i2", "i4", "i8", "u1", "u2", "u4", "f4", "f8")

_launching = threading.Lock()  # the simulator runs one kernel at a time


class Chunk(NamedTuple):
    """Some events of a batch."""

    first: int  # of them, in the batch
    events: EventBatch

    def part(self, first: int, last: int) -> Chunk:
        """Some of them."""
        return Chunk(self.first + first, self.events.some(first, last))


class Ranking(NamedTuple):
    """What is asked of a kernel that brings back what may be among the best."""

    n: int
    limits: Ints  # of each event of the batch: the last level of which a clause is of use
    sure: Bytes  # of each clause: whether it has an owner of its own who scores so much


class Lane:
    """A stream and its buffers; they grow with what is asked of them."""

    def __init__(self) -> None:
        self.cuda, self.number = cuda.api(), cuda.chosen()
        self.stream = self.cuda.stream()
        self._host: dict[str, Any] = {}
        self._device: dict[str, Any] = {}
        self._nothing = {
            kind: self.cuda.to_device(np.zeros(1, kind)) for kind in ("u1", "u4", "i4", "i8")
        }

    def submit(
        self,
        index: Arranged,
        chunk: Chunk,
        mode: int,
        weights: Any = None,
        ranking: Ranking | None = None,
    ) -> None:
        """Send the events up and start the kernel; what was counted is under way when it ends."""
        here, events = kernels(), chunk.events
        n = len(events)
        starts = self.upload("starts", events.starts - events.starts[0], "u4")
        spaces = self.upload("spaces", events.spaces, "u4")
        counts = self.device("counts", "i8", n)[:n]
        nothing = self._nothing
        rows, extents, totals, reach = nothing["u4"], nothing["u4"], nothing["u4"], nothing["i4"]
        limits, sure, n_best = nothing["i4"], nothing["u1"], 0
        if ranking is not None:
            limits = self.upload("limits", ranking.limits[chunk.first : chunk.first + n])
            n_best = ranking.n
            if len(ranking.sure):
                sure = self.upload("sure", ranking.sure)
        if mode in (here.KEEP, here.BEST):
            totals = self.upload("totals", np.zeros(2, np.uint32))
            rows = self.device("rows", "u4", self.room(index))
            extents = self.device("extents", "u4", 4 * (n + len(rows) // here.HELD + 1))
        if mode == here.REACH:
            reach = self.device("reach", "i4", len(index.keys))
        output = here.Output(
            counts, rows, extents, totals, reach, nothing["i4"] if weights is None else weights,
            limits, sure,
        )  # fmt: skip
        n_dims = len(index.bit_of_dim)
        shared = 4 * n_dims if n_dims <= here.MOST_DIMS else 4
        blocks = min(n, _BLOCKS) if here.SIMULATED else n
        with _launching:
            here.answering[mode][blocks, here.THREADS, self.stream, shared](
                index, here.Events(starts, spaces), np.uint32(n), np.uint32(n_dims),
                np.int32(n_best), output,
            )  # fmt: skip
        if mode != here.REACH:
            self._fetch("counts", "i8", n)

    def counts(self, n: int) -> Longs:
        """What the kernel counted for each event."""
        self.stream.synchronize()
        found: Longs = self._host["counts"][:n].copy()
        return found

    def gather(self, starts: Longs, into: Halves) -> None:
        """The rows that were kept, in the order of events."""
        here, total = kernels(), int(starts[-1])
        ordered_starts = self.upload("ordered_starts", starts, "u4")
        ordered = self.device("ordered", "u4", total)
        self._fetch("totals", "u4", 2)
        self.stream.synchronize()
        n_extents = int(self._host["totals"][1])
        if n_extents:
            blocks = min(n_extents, _BLOCKS if here.SIMULATED else MOST_EVENTS)
            with _launching:
                here.gather[blocks, here.THREADS, self.stream](
                    self._device["extents"], self._device["rows"], ordered_starts,
                    np.uint32(n_extents), ordered,
                )  # fmt: skip
        self._fetch("ordered", "u4", total)
        self.stream.synchronize()
        into[:] = self._host_buffer("ordered", "u4", total)

    def clear_reach(self, n: int) -> None:
        """Begin to add up."""
        self.upload("reach", np.zeros(n, np.int32))

    def reach(self, n: int) -> Ints:
        """What was added up."""
        self._fetch("reach", "i4", n)
        self.stream.synchronize()
        found: Ints = self._host["reach"][:n]
        return found

    def upload(self, name: str, array: Any, kind: str | None = None) -> Any:
        """An array on the device, of one item where it has none: that has an address."""
        n = max(len(array), 1)
        kind = kind or array.dtype.str[1:]
        on_device, on_host = self.device(name, kind, n)[:n], self._host_buffer(name, kind, n)
        on_host[: len(array)] = array
        on_device.copy_to_device(on_host, stream=self.stream)
        return on_device

    def assemble(
        self,
        name: str,
        n_sent: int,
        n_bytes: int,
        sent: Sequence[tuple[int, Any]],
        there: Sequence[tuple[int, OnDevice]],
    ) -> Any:
        """Arrays at their bytes of one buffer on the device, seen as each kind of number.

        The first bytes are sent at once; others are copied from where they lie on the device.
        """
        on_device = self.device(name, "u1", n_bytes)[:n_bytes]
        on_host = self._host_buffer(name, "u1", n_sent)
        for at, array in sent:
            on_host[at : at + array.nbytes] = array.view(np.uint8)
        if n_sent:
            on_device[:n_sent].copy_to_device(on_host, stream=self.stream)
        parts = ((at, array.address, array.nbytes) for at, array in there if array.nbytes)
        cuda.gather(on_device, parts, self.stream)
        return tuple(on_device.view(np.dtype(kind)) for kind in VIEWS)

    def download(self, name: str, kind: str, n: int) -> Any:
        """The first items of a buffer of the device."""
        self._fetch(name, kind, n)
        self.stream.synchronize()
        return self._host_buffer(name, kind, n).copy()

    def run(self, kernel: Any, n: int, arguments: tuple[Any, ...]) -> None:
        """Start a kernel with a thread for each of n items."""
        here = kernels()
        blocks = _BLOCKS if here.SIMULATED else -(-n // _PLAIN_THREADS)
        threads = here.THREADS if here.SIMULATED else _PLAIN_THREADS
        with _launching:
            kernel[blocks, threads, self.stream](n, *arguments)

    def room(self, index: Arranged, wanted: int = 0) -> int:
        """How many rows the lane can hold; more, within the bound, where more are wanted."""
        most = max(MOST_ROWS, len(index.keys))
        held = len(self._device.get("rows", ()))
        return min(max(held, wanted, min(_FEWEST_ROWS, most)), max(most, held))

    def grow(self, index: Arranged, wanted: int) -> int:
        """Make room for more rows, as far as the bound goes; how many there may be."""
        return len(self.device("rows", "u4", self.room(index, wanted)))

    def device(self, name: str, kind: str, n: int) -> Any:
        """A buffer of the device, of at least so many items."""
        held = self._device.get(name)
        if held is None or len(held) < n:
            self._device.pop(name, None)
            held = self.cuda.device_array(max(_rounded(n), 1), np.dtype(kind))
            self._device[name] = held
        return held

    def _host_buffer(self, name: str, kind: str, n: int) -> Any:
        held = self._host.get(name)
        if held is None or len(held) < n:
            held = self.cuda.pinned_array(max(_rounded(n), 1), np.dtype(kind))
            self._host[name] = held
        return held[:n]

    def _fetch(self, name: str, kind: str, n: int) -> None:
        """Copy so many items to the host, some time."""
        if n:
            on_host = self._host_buffer(name, kind, n)
            self._device[name][:n].copy_to_host(on_host, stream=self.stream)


def _rounded(n: int) -> int:
    """A little more than was asked for: buffers grow seldom."""
    return n if n < 1024 else n + n // 4


class Lanes:
    """The lanes of this process; each is made when it is first needed."""

    def __init__(self) -> None:
        self._free: LifoQueue[Lane] = LifoQueue()
        self._making = threading.Lock()
        self._n_made = 0
        self._number = cuda.chosen()

    def take(self, *, wait: bool) -> Lane | None:
        """A lane; None where all are lent and nobody shall wait."""
        cuda.api()  # which gives the thread its device
        if self._number != cuda.chosen():
            self._move()
        with suppress(Empty):
            return self._free.get_nowait()
        with self._making:
            if self._n_made < _LANES:
                lane = Lane()
                self._n_made += 1
                return lane
        return self._free.get() if wait else None

    def give_back(self, lane: Lane) -> None:
        if lane.number == self._number:
            self._free.put(lane)

    def _move(self) -> None:
        """Forget the lanes of another device."""
        with self._making:
            self._free, self._n_made, self._number = LifoQueue(), 0, cuda.chosen()


_lanes = Lanes()


@contextmanager
def borrowed() -> Iterator[Lane]:
    """A lane for a while."""
    lanes = _lanes
    lane = lanes.take(wait=True)
    assert lane is not None
    try:
        yield lane
    finally:
        lane.stream.synchronize()
        lanes.give_back(lane)


def each(
    events: EventBatch,
    most: int,
    submit: Callable[[Lane, Chunk], None],
    collect: Callable[[Lane, Chunk], T],
) -> list[T]:
    """What is collected for each chunk of at most so many events, over two lanes if there are."""
    lanes, busy, results = _lanes, deque[tuple[Lane, Chunk]](), []
    idle = list[Lane]()
    n_lanes = 0
    try:
        for chunk in _chunks(events, most):
            if not idle and n_lanes < _PER_CALL and (more := lanes.take(wait=n_lanes == 0)):
                idle.append(more)
                n_lanes += 1
            if not idle:
                results.append(collect(*busy[0]))
                idle.append(busy.popleft()[0])
            busy.append((idle.pop(), chunk))
            submit(*busy[-1])
        while busy:
            results.append(collect(*busy[0]))
            idle.append(busy.popleft()[0])
    finally:
        for lane, _ in busy:  # an error, or Ctrl-C
            lane.stream.synchronize()
            idle.append(lane)
        for lane in idle:
            lanes.give_back(lane)
    return results


def _chunks(events: EventBatch, most: int) -> Iterator[Chunk]:
    """The events in order, so many at a time as a lane takes."""
    first, n = 0, len(events)
    while first < n:
        full = events.starts[first] + MOST_SPACES
        beyond = int(np.searchsorted(events.starts, full, side="right")) - 1
        last = min(n, first + most, max(beyond, first + 1))
        yield Chunk(first, events.some(first, last))
        first = last
