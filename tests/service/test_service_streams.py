"""Bodies that are asked about while they arrive: the same answers, and none waits for the end."""

from __future__ import annotations

import asyncio
import io
import json
from typing import Any

import pyarrow as pa
import pytest
from server_processes import PATIENCE

import remuda as rm
from remuda.service import batches
from remuda.service.app import application
from remuda.service.calls import ARROW, JSON, NDJSON, Service
from remuda.service.limits import Limits
from remuda.service.problems import Refused

MANY = "/v1/indexes/ads/match_many"
ROWS = [{"age": i % 90, "platform": "web" if i % 3 else "tv"} for i in range(200)]


def stream(rows: list[dict[str, Any]], size: int) -> bytes:
    table = pa.Table.from_pylist(rows)
    platforms = table["platform"].dictionary_encode()
    table = table.set_column(1, "platform", platforms)
    sink = io.BytesIO()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table, max_chunksize=size)
    return sink.getvalue()


LINES = b"\n".join(json.dumps(one).encode() for one in ROWS)
SENT = {"lines": (NDJSON, LINES), "a last line": (NDJSON, LINES + b"\n"),
        "Arrow": (ARROW, stream(ROWS, 70)), "one batch": (ARROW, stream(ROWS, 10_000))}  # fmt: skip


def in_pieces(engine: rm.Engine, kind: str, accept: str, pieces: list[bytes]) -> tuple[int, bytes]:
    """The status and the body of the answer to a request that arrives bit by bit."""
    arriving = [{"type": "http.request", "body": one, "more_body": True} for one in pieces]
    arriving.append({"type": "http.request", "body": b"", "more_body": False})
    told: list[Any] = []

    async def receive() -> Any:
        return arriving.pop(0)

    async def send(message: Any) -> None:
        told.append(message)

    headers = {b"content-type": kind.encode(), b"accept": accept.encode(), b"host": b"localhost"}
    scope = {"type": "http", "method": "POST", "path": MANY, "raw_path": MANY.encode()}
    scope |= {"headers": list(headers.items()), "query_string": b"stream=true"}
    scope |= {"asgi": {"spec_version": "2.4"}}
    asyncio.run(application(Service(engine))(scope, receive, send))  # type: ignore[arg-type]
    return told[0]["status"], b"".join(one.get("body", b"") for one in told[1:])


@pytest.mark.parametrize(("kind", "body"), SENT.values(), ids=SENT)
@pytest.mark.parametrize("accept", [NDJSON, ARROW, JSON])
@pytest.mark.parametrize("size", [13, 997, 1 << 20])
def test_the_answers_are_the_same(
    engine: rm.Engine, monkeypatch: Any, kind: str, body: bytes, accept: str, size: int
) -> None:
    monkeypatch.setattr(batches, "_TOGETHER", 1_000)
    pieces = [body[i : i + size] for i in range(0, len(body), size)]
    status, found = in_pieces(engine, kind, accept, pieces)
    assert status == 200, found
    if accept == ARROW:
        ids = pa.ipc.open_stream(found).read_all()["ids"].to_pylist()
    elif accept == NDJSON:
        ids = [json.loads(line)["ids"] for line in found.splitlines()]
    else:
        ids = [one["ids"] for one in json.loads(found)]
    assert ids == [engine.scan("ads", row) for row in ROWS]


@pytest.mark.parametrize("kind", [NDJSON, ARROW])
def test_nothing_is_answered(http: Any, kind: str) -> None:
    body = b"" if kind == NDJSON else stream(ROWS[:1], 1)[:0]
    found = http.post(f"{MANY}?stream=true", content=body, headers={"content-type": kind})
    assert found.status_code == 200
    assert found.content == b"" or not pa.ipc.open_stream(found.content).read_all().num_rows


REFUSED = {
    "an array": (JSON, b"[]", 400),
    "no stream": (ARROW, b"no Arrow at all", 400),
    "a stream that is cut": (ARROW, stream(ROWS, 10_000)[:-100], 400),
    "a negative length": (ARROW, b"\xff\xff\xff\xff\xff\xff\xff\xff", 400),
    "a length beyond all": (ARROW, b"\xff\xff\xff\xff\xff\xff\xff\x7f", 400),
}


@pytest.mark.parametrize(("kind", "body", "status"), REFUSED.values(), ids=REFUSED)
def test_what_is_none_is_refused(http: Any, kind: str, body: bytes, status: int) -> None:
    found = http.post(f"{MANY}?stream=true", content=body, headers={"content-type": kind})
    assert found.status_code == status, found.content[:100]


def test_what_is_held_is_bounded(monkeypatch: Any) -> None:
    monkeypatch.setattr(batches, "_TOGETHER", 10)
    lines = batches.CutLines(100)
    assert lines.take(b"12345\n7890\n1") == [b"12345\n7890\n"]
    assert lines.take(b"x" * 90) == []
    with pytest.raises(Refused, match="a line has 100 bytes"):
        lines.take(b"x" * 10)
    with pytest.raises(Refused, match="at most"):
        batches.CutArrow(1_000).take(stream(ROWS, 10_000))


def test_the_first_answer_does_not_wait_for_the_last_event(
    engine: rm.Engine, monkeypatch: Any
) -> None:
    monkeypatch.setattr(batches, "_TOGETHER", 1)
    app = application(Service(engine, Limits(seconds=PATIENCE)))
    sent: asyncio.Queue[Any] = asyncio.Queue()
    told: asyncio.Queue[Any] = asyncio.Queue()

    async def talk() -> None:
        headers = [(b"content-type", NDJSON.encode()), (b"host", b"localhost")]
        scope = {"type": "http", "method": "POST", "path": MANY, "raw_path": MANY.encode()}
        scope |= {"headers": headers, "query_string": b"stream=true"}
        scope |= {"asgi": {"spec_version": "2.4"}}
        running = asyncio.create_task(app(scope, sent.get, told.put))  # type: ignore[arg-type]
        for age in (20, 70, 3):
            line = b'{"age": %d}\n' % age
            await sent.put({"type": "http.request", "body": line, "more_body": True})
            answer = {"body": b""}
            while not answer.get("body"):
                answer = await asyncio.wait_for(told.get(), PATIENCE)
            assert json.loads(answer["body"])["ids"] == engine.scan("ads", {"age": age})
        await sent.put({"type": "http.request", "body": b"", "more_body": False})
        await asyncio.wait_for(running, PATIENCE)

    asyncio.run(talk())
