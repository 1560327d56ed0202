"""What a service costs beside its framework and beside an index in process; on loopback alone.

Server and client share the machine, so CPU time of the server is what is compared, by turns.
REMUDA_PARTS has the names of the parts that are wanted: requests, workers, arrow, writing.
"""

from __future__ import annotations

import asyncio
import io
import json
import os
import shutil
import socket
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pyarrow as pa
from rich.console import Console
from rich.table import Table

import remuda as rm
from benchmarks.report import RESULTS
from remuda.workload.begen import BEGen

_CONNECTIONS = 8
_REQUESTS = 3_000  # in a turn
_TURNS = 7
_BATCH, _BATCHES = 1_000, 20
_CHANGES = 100  # a second
_SECONDS = 6.0  # of each turn in which changes are written or not
_READY = 180.0

_FRAMEWORK = """
import socket, sys
from typing import Any
import msgspec, uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

class Asked(msgspec.Struct):
    event: Any

class Ids(msgspec.Struct):
    ids: list[str]

decoder = msgspec.json.Decoder(Asked)

async def match(request: Request) -> Response:
    decoder.decode(await request.body())
    return Response(msgspec.json.encode(Ids([])), media_type="application/json")

async def ready(_: Request) -> Response:
    return Response(b"")

app = Starlette(routes=[
    Route("/v1/indexes/{index}/match", match, methods=["POST"]), Route("/readyz", ready),
])
uvicorn.run(app, port=int(sys.argv[1]), lifespan="off", access_log=False, log_level="warning")
"""


@dataclass(frozen=True, slots=True)
class Row:
    """A figure, and what it should be."""

    what: str
    measured: float
    unit: str = ""
    wanted: str = ""

    def shown(self) -> str:
        return f"{self.measured:.2f} {self.unit}".strip()


def main() -> None:
    """Measure, print, and keep what was measured today."""
    workload = BEGen(n_subscriptions=100_000, n_dims=400, match_probability=1e-4, seed=1).draw()
    criteria = [rm.Criterion(f"c{i}", one) for i, one in enumerate(workload.expressions())]
    events = workload.event_dicts(1_000)
    with TemporaryDirectory() as directory, ExitStack() as stack:
        root = str(Path(directory) / "engine")
        with rm.Engine(root) as engine:
            engine.add("all", criteria)
        index = rm.Engine(root, read_only=True).index("all")  # as the service has it
        ours = stack.enter_context(_server([*_REMUDA, "serve", root, "--port"]))
        _check(ours, index, events[:50])
        if _wanted("requests"):
            framework = stack.enter_context(_server([sys.executable, "-c", _FRAMEWORK]))
            bare = stack.enter_context(_server([*_WITHOUT_MATCH, "serve", "--port"]))
            _tell("requests", _requests(framework, bare, ours, index, events))
        if _wanted("workers"):
            other = f"{root}2"
            shutil.copytree(root, other)
            command = [*_REMUDA, "serve", other, "--workers", "2", "--port"]
            two = stack.enter_context(_server(command, n_workers=2))
            _tell("workers", _workers(ours, two, events))
        if _wanted("arrow"):
            _tell("arrow", _arrow(ours, index, events))
        if _wanted("writing"):
            _tell("writing", _while_writing(ours, events))


def _tell(part: str, rows: Sequence[Row]) -> None:
    """Print a part at once, and keep it beside the others of today."""
    table = Table("what", "measured", "wanted", title=f"{part}, 100,000 criteria (BEGen)")
    for row in rows:
        table.add_row(row.what, row.shown(), row.wanted)
    Console().print(table)
    path = RESULTS / f"service-{datetime.now(UTC):%Y-%m-%d}.json"
    before = json.loads(path.read_text()) if path.exists() else {}
    content = before | {part: [asdict(row) for row in rows]}
    path.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")


def _wanted(part: str) -> bool:
    return part in os.environ.get("REMUDA_PARTS", part)


_REMUDA = [sys.executable, "-c", "from remuda.cli import main; main()"]
_NO_MATCH = "from remuda.engine.engine import Engine; Engine.search = lambda *_, **__: []\n"
_WITHOUT_MATCH = [sys.executable, "-c", f"{_NO_MATCH}from remuda.cli import main; main()"]


@dataclass(frozen=True, slots=True)
class Server:
    """A server under way."""

    process: subprocess.Popen[bytes]
    port: int

    def cpu(self) -> float:
        """CPU seconds of the server and of the processes that it has started, to the nanosecond."""
        return sum(_cpu(one) for one in [self.process.pid, *self.children()])

    def children(self) -> list[int]:
        path = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children")
        return [int(one) for one in path.read_text().split()]


def _cpu(process: int) -> float:
    """CPU seconds of a process and all its threads, those that have ended, too."""
    return time.clock_gettime((~process << 3) | 2)  # as clock_getcpuclockid has it


@contextmanager
def _server(command: Sequence[str], n_workers: int = 1) -> Iterator[Server]:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        port = one.getsockname()[1]
    process = subprocess.Popen([*command, str(port)], stderr=subprocess.DEVNULL)
    try:
        server = Server(process, port)
        until = time.monotonic() + _READY
        while time.monotonic() < until:
            several = n_workers == 1 or len(server.children()) >= n_workers
            if several and asyncio.run(_ready(port)):
                break
            time.sleep(0.1)
        else:
            raise TimeoutError("the server is not ready")
        time.sleep(2.0 if n_workers > 1 else 0.2)
        yield server
    finally:
        process.terminate()
        process.wait()


async def _ready(port: int) -> bool:
    try:
        head, _ = await _Connection(port).ask(_request("GET", "/readyz", b"", "text/plain"))
    except OSError:
        return False
    return b" 200 " in head


def _request(method: str, path: str, body: bytes, kind: str) -> bytes:
    head = (
        f"{method} {path} HTTP/1.1\r\nhost: localhost\r\ncontent-type: {kind}\r\n"
        f"content-length: {len(body)}\r\n\r\n"
    )
    return head.encode() + body


class _Connection:
    """A connection that is kept, and asked one thing after the other."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def ask(self, request: bytes) -> tuple[bytes, bytes]:
        if self._streams is None:
            self._streams = await asyncio.open_connection("127.0.0.1", self._port, limit=1 << 26)
        reader, writer = self._streams
        writer.write(request)
        head = await reader.readuntil(b"\r\n\r\n")
        lower = head.lower()
        if b"chunked" not in lower:
            size = int(lower.partition(b"content-length: ")[2].partition(b"\r\n")[0])
            return head, await reader.readexactly(size)
        pieces = []
        while size := int((await reader.readline()).strip(), 16):
            pieces.append(await reader.readexactly(size))
            await reader.readexactly(2)
        await reader.readexactly(2)
        return head, b"".join(pieces)

    def close(self) -> None:
        if self._streams is not None:
            self._streams[1].close()


def _match_requests(events: Sequence[Any]) -> list[bytes]:
    kind, path = "application/json", "/v1/indexes/all/match"
    return [_request("POST", path, json.dumps({"event": one}).encode(), kind) for one in events]


async def _load(port: int, requests: Sequence[bytes], n: int) -> list[float]:
    """The seconds of each of n requests, over a few connections at once."""
    took: list[float] = []
    numbers = iter(range(n))

    async def ask() -> None:
        connection = _Connection(port)
        for i in numbers:
            start = time.perf_counter()
            head, _ = await connection.ask(requests[i % len(requests)])
            took.append(time.perf_counter() - start)
            if b" 200 " not in head[:20]:
                raise AssertionError(head)
        connection.close()

    await asyncio.gather(*(ask() for _ in range(_CONNECTIONS)))
    return took


def _check(server: Server, index: rm.Index, events: Sequence[Any]) -> None:
    async def ask() -> None:
        connection = _Connection(server.port)
        for event, request in zip(events, _match_requests(events), strict=True):
            _, body = await connection.ask(request)
            if json.loads(body)["ids"] != index.match(event):
                raise AssertionError(f"the service answers wrongly for {event}")

    asyncio.run(ask())


def _cost(server: Server, load: Callable[[], Any], n: int) -> float:
    """CPU microseconds of the server for each of n requests."""
    before = server.cpu()
    load()
    return (server.cpu() - before) / n * 1e6


def _requests(
    framework: Server, bare: Server, ours: Server, index: rm.Index, events: Sequence[Any]
) -> list[Row]:
    """The service beside the framework alone, and beside itself where nothing is matched.

    A match among requests finds its caches taken by them, and takes longer than one in a loop.
    """
    requests = _match_requests(events)

    def cost(server: Server) -> float:
        return _cost(
            server, lambda: asyncio.run(_load(server.port, requests, _REQUESTS)), _REQUESTS
        )

    def alone() -> float:
        return _in_process(lambda: [index.match(one) for one in events], len(events), 3)

    for one in (framework, bare, ours):
        cost(one)
    turns = [(cost(framework), alone(), cost(bare), cost(ours)) for _ in range(_TURNS)]
    above = statistics.median(whole - own for own, _, _, whole in turns)
    besides = statistics.median(without - own for own, _, without, _ in turns)
    inside = statistics.median(whole - without for _, _, without, whole in turns)
    return [
        Row("the framework's own, CPU a request", _middle(turns, 0), "µs"),
        Row("ours", _middle(turns, 3), "µs"),
        Row("ours above the framework", above, "µs", "at most 20 µs"),
        Row("of it, all but the match", besides, "µs"),
        Row("of it, the match among requests", inside, "µs"),
        Row("the same match in process, in a loop", _middle(turns, 1), "µs"),
    ]


def _middle(turns: Sequence[tuple[float, ...]], side: int) -> float:
    return statistics.median(turn[side] for turn in turns)


def _in_process(work: Callable[[], Any], n: int, turns: int = _TURNS) -> float:
    work()
    costs = []
    for _ in range(turns):
        start = time.process_time()
        work()
        costs.append((time.process_time() - start) / n * 1e6)
    return statistics.median(costs)


def _arrow(ours: Server, index: rm.Index, events: Sequence[Any]) -> list[Row]:
    names = sorted({name for event in events[:_BATCH] for name in event})
    rows = pa.table({name: [event.get(name) for event in events[:_BATCH]] for name in names})
    sink = io.BytesIO()
    with pa.ipc.new_stream(sink, rows.schema) as writer:
        writer.write_table(rows)
    kind = "application/vnd.apache.arrow.stream"
    request = _request("POST", "/v1/indexes/all/match_many", sink.getvalue(), kind)

    async def ask() -> None:
        connection = _Connection(ours.port)
        for _ in range(_BATCHES):
            _, body = await connection.ask(request)
        connection.close()
        found = pa.ipc.open_stream(body).read_all()["ids"].to_pylist()
        if found[:20] != [index.match(one) for one in events[:20]]:
            raise AssertionError("the service answers a batch wrongly")

    def alone() -> None:
        for _ in range(_BATCHES):
            index.match_many(rows).to_arrow()

    asyncio.run(ask())
    n = _BATCHES * _BATCH
    pairs = [(_in_process(alone, n), _cost(ours, lambda: asyncio.run(ask()), n)) for _ in range(3)]
    share = statistics.median(a / b for a, b in pairs)
    return [
        Row("batch of 1,000 over Arrow, CPU an event", _middle(pairs, 1), "µs"),
        Row("the same in process, ids included", _middle(pairs, 0), "µs"),
        Row("throughput beside in process", 100 * share, "%", "at least 70 %"),
    ]


def _while_writing(ours: Server, events: Sequence[Any]) -> list[Row]:
    requests = _match_requests(events)

    async def ask(*, writing: bool) -> list[float]:
        until = time.monotonic() + _SECONDS
        took: list[float] = []

        async def change() -> None:
            connection, i = _Connection(ours.port), 0
            begin = time.monotonic()
            while time.monotonic() < until:
                i += 1
                body = json.dumps({"expression": f"d{i % 400} = {i % 48}"}).encode()
                path = f"/v1/indexes/all/criteria/new-{os.getpid()}-{i}"
                head, _ = await connection.ask(_request("PUT", path, body, "application/json"))
                if b" 20" not in head[:20]:
                    raise AssertionError(head)
                await asyncio.sleep(max(0.0, begin + i / _CHANGES - time.monotonic()))
            connection.close()

        async def question() -> None:
            connection, i = _Connection(ours.port), 0
            while time.monotonic() < until:
                i += 1
                start = time.perf_counter()
                await connection.ask(requests[i % len(requests)])
                took.append(time.perf_counter() - start)
                await asyncio.sleep(0.002)  # it must not be the queue that is measured
            connection.close()

        await asyncio.gather(question(), *([change()] if writing else []))
        return took

    pairs = []
    for _ in range(3):
        quiet, busy = (asyncio.run(ask(writing=one)) for one in (False, True))
        pairs.append((_late(quiet), _late(busy)))
    return [
        Row("p99 without changes", _middle(pairs, 0) * 1e3, "ms"),
        Row(f"p99 with {_CHANGES} changes a second", _middle(pairs, 1) * 1e3, "ms"),
        Row("ratio", statistics.median(b / a for a, b in pairs), wanted="at most 3"),
    ]


def _late(took: Sequence[float]) -> float:
    return statistics.quantiles(took, n=100)[98]


def _workers(one: Server, two: Server, events: Sequence[Any]) -> list[Row]:
    requests = _match_requests(events)

    def cost(server: Server) -> float:
        return _cost(
            server, lambda: asyncio.run(_load(server.port, requests, _REQUESTS)), _REQUESTS
        )

    cost(one), cost(two)
    pairs = [(cost(one), cost(two)) for _ in range(_TURNS)]
    return [
        Row("one worker, CPU a request", _middle(pairs, 0), "µs"),
        Row("two workers, CPU a request", _middle(pairs, 1), "µs"),
        Row("ratio", statistics.median(b / a for a, b in pairs), wanted="at most 1.1"),
    ]


if __name__ == "__main__":
    main()
