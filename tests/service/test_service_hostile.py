"""What strangers send: refused with a reason, and the service goes on."""

from __future__ import annotations

import asyncio
import io
import json
import threading
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from server_processes import PATIENCE, until

import remuda as rm
from asking import Asker
from remuda.model.expressions import MAX_LEVELS
from remuda.service import app as app_module
from remuda.service import batches
from remuda.service.app import ENDPOINTS, application
from remuda.service.calls import ARROW, JSON, NDJSON, Service
from remuda.service.limits import Limits

DEEP = 100_000
NESTED = b'{"a":' * DEEP + b"1" + b"}" * DEEP


def arrow() -> bytes:
    table = pa.table({"age": [1, 2, 3], "platform": ["a", "bb", "ccc"]})
    sink = io.BytesIO()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return sink.getvalue()


def forged() -> bytes:
    """A stream whose strings reach beyond their buffer."""
    body = bytearray(arrow())
    at = body.rindex((3).to_bytes(4, "little") + (6).to_bytes(4, "little"))
    body[at + 4 : at + 8] = (2**30).to_bytes(4, "little")
    return bytes(body)


MATCH, MANY, TOP, PUT = (
    f"/v1/indexes/ads/{one}" for one in ("match", "match_many", "top", "criteria")
)

BODIES = {
    "empty": (MATCH, JSON, b"", 400),
    "cut short": (MATCH, JSON, b'{"event": {"age"', 400),
    "two documents": (MATCH, JSON, b'{"event": {}} {"event": {}}', 400),
    "an array": (MATCH, JSON, b"[]", 400),
    "a misspelt option": (MATCH, JSON, b'{"event": {}, "tag": ["x"]}', 400),
    "no event": (MATCH, JSON, b"{}", 400),
    "tags as text": (MATCH, JSON, b'{"event": {}, "tags": "x"}', 400),
    "a negative limit": (MATCH, JSON, b'{"event": {}, "limit": -1}', 400),
    "a limit beyond 64 bits": (MATCH, JSON, b'{"event": {}, "limit": 1e400}', 400),
    "no moment": (MATCH, JSON, b'{"event": {}, "now": "yesterday"}', 400),
    "a moment beyond the calendar": (MATCH, JSON, b'{"event": {}, "now": 9e99}', 400),
    "a whole moment beyond it": (MATCH, JSON, b'{"event": {}, "now": 99999999999999999999}', 400),
    "Latin-1": (MATCH, JSON, '{"event": {"a": "ü"}}'.encode("latin-1"), 400),
    "UTF-16": (MATCH, JSON, '{"event": {}}'.encode("utf-16"), 400),
    "half a surrogate pair": (MATCH, JSON, b'{"event": {"a": "\\ud800"}}', 400),
    "nested objects": (MATCH, JSON, b'{"event":' + NESTED + b"}", 400),
    "nested arrays": (MATCH, JSON, b'{"event":' + b"[" * DEEP, 400),
    "nested in a batch": (MANY, JSON, b"[" * DEEP + b"]" * DEEP, 400),
    "weights that are none": (TOP, JSON, b'{"event":{},"n":1,"weights":{"[":1}}', 422),
    "a weight beyond all": (TOP, JSON, b'{"event":{},"n":1,"weights":{"a":1e300}}', 422),
    "too many of the best": (TOP, JSON, b'{"event":{},"n":10001}', 400),
    "half of the best": (TOP, JSON, b'{"event":{},"n":0.5}', 400),
    "nearest of too many": ("/v1/indexes/ads/nearest", JSON, b'{"event":{},"n":9999999999}', 400),
    "no such criterion": ("/v1/indexes/ads/explain", JSON, b'{"event":{},"id":"?"}', 404),
    "no such index": ("/v1/indexes/none/match", JSON, b'{"event":{}}', 404),
    "text": (MATCH, "text/plain", b'{"event": {}}', 415),
    "a form": (MATCH, "application/x-www-form-urlencoded", b"event=1", 415),
    "lines for one event": (MATCH, NDJSON, b'{"event": {}}', 415),
    "no Arrow": (MANY, ARROW, b"ARROW1" * 100, 400),
    "no Arrow at all": (MANY, ARROW, b"", 400),
    "Arrow cut short": (MANY, ARROW, arrow()[:-80], 400),
    "forged Arrow": (MANY, ARROW, forged(), 400),
    "an unknown option": (MANY + "?color=red", NDJSON, b"", 400),
    "a wrong option": (MANY + "?limit=many", NDJSON, b"", 400),
    "an index that is no array": ("/v1/indexes/new/load", JSON, b"{}", 422),
    "an index of nothing": ("/v1/indexes/new/load", JSON, b"[1]", 422),
    "an index nested": ("/v1/indexes/new/load", JSON, b"[" * DEEP, 400),
    "an index not UTF-8": ("/v1/indexes/new/load", JSON, b"[\xff]", 422),
    "a wrong mode": (PUT + "?mode=replace", NDJSON, b"", 400),
    "ids that are none": ("/v1/indexes/ads/enable", JSON, b'{"ids": [1]}', 400),
    "a name that is empty": ("/v1/indexes/ads/replace", JSON, b'{"new": ""}', 400),
    "a path that is not UTF-8": ("/v1/indexes/%ff/match", JSON, b'{"event": {}}', 400),
}  # fmt: skip


@pytest.mark.parametrize(("path", "kind", "body", "status"), BODIES.values(), ids=BODIES)
def test_bad_bodies_are_refused_with_a_reason(
    http: Any, path: str, kind: str, body: bytes, status: int
) -> None:
    found = http.post(path, content=body, headers={"content-type": kind, "x-request-id": "r-1"})
    assert found.status_code == status, found.text
    assert found.headers["content-type"] == "application/problem+json"
    assert found.headers["x-request-id"] == "r-1"
    problem = found.json()
    assert problem["status"] == status
    assert problem["detail"]
    assert problem["instance"] == "urn:remuda:request:r-1"
    assert http.post(MATCH, json={"event": {"age": 30}}).json() == {"ids": ["adult"]}


def test_lines_that_nest_are_rejects(http: Any) -> None:
    deep = b'{"form":"UNF","id":"d","type":"AND","predicates":[],"criterias":['
    body = deep * 1_000 + b"\n" + b"[" * DEEP + b'\n{"id": "ok", "expression": "a = 1"}'
    found = http.post(PUT, content=body, headers={"content-type": NDJSON}).json()
    assert found["accepted"] == 1
    assert [one["line"] for one in found["rejects"]] == [1, 2]


def test_the_deepest_criterion_that_the_engine_takes_passes(http: Any) -> None:
    leaf = {"type": "INCLUDED", "lhs": "$.a", "values": [1]}
    deep: dict[str, Any] = {}
    for level in range(MAX_LEVELS):
        kind = "OR" if level % 2 else "AND"
        inner = [deep] if deep else []
        deep = {"form": "UNF", "id": "d", "type": kind, "predicates": [leaf], "criterias": inner}
    assert http.put(f"{PUT}/d", json=deep).status_code == 201
    assert http.post(MATCH, json={"event": {"a": 1}}).json() == {"ids": ["d"]}
    body = {"event": {"a": 1}, "id": "d"}
    assert http.post("/v1/indexes/ads/explain", json=body).json()["explanation"]["holds"]
    asked = {"criteria": deep, "requestContext": {"node": {"a": 1}}}
    assert http.post("/mustang/v1/debug", json=asked).json()["data"]["result"]


def test_large_bodies_are_refused_before_they_are_read(engine: rm.Engine, asking: Any) -> None:
    http = asking(engine, limits=Limits(body=100))
    headers = {"content-type": JSON}
    body = json.dumps({"event": {"a": "x" * 200}}).encode()
    assert http.post(MATCH, content=body, headers=headers).status_code == 413
    lying = headers | {"content-length": "1"}  # as one that sends pieces tells no length
    found = http.post(MATCH, content=body, headers=lying)
    assert found.status_code == 413
    assert "100 bytes at most" in found.json()["detail"]


def test_bodies_are_not_unpacked(http: Any) -> None:
    headers = {"content-type": JSON, "content-encoding": "gzip"}
    assert http.post(MATCH, content=b"x", headers=headers).status_code == 415


def test_what_takes_too_long_is_told_so(engine: rm.Engine, asking: Any, monkeypatch: Any) -> None:
    release = threading.Event()
    http = asking(engine, limits=Limits(seconds=0.1))
    monkeypatch.setattr(engine, "scan", lambda *_, **__: release.wait())
    found = http.post("/v1/indexes/ads/scan", json={"event": {}})
    release.set()
    assert found.status_code == 504
    assert http.post(MATCH, json={"event": {"age": 30}}).json() == {"ids": ["adult"]}


def test_searches_that_nobody_waits_for_keep_their_threads(
    engine: rm.Engine, asking: Any, monkeypatch: Any
) -> None:
    begun: list[int] = []
    release = threading.Event()

    def scan(*_: Any, **__: Any) -> None:
        begun.append(1)
        release.wait()

    monkeypatch.setattr(engine, "scan", scan)
    http = asking(engine, limits=Limits(seconds=0.1, threads=2))
    try:
        for _ in range(6):
            found = http.post("/v1/indexes/ads/scan", json={"event": {}})
            assert found.status_code == 504
        until(lambda: len(begun) >= 2)
        assert len(begun) == 2
    finally:
        release.set()


@pytest.mark.parametrize("spec", ["2.3", "2.4"])  # of ASGI: answers are sent in other ways
def test_an_answer_that_takes_too_long_stays_without_its_end(
    engine: rm.Engine, monkeypatch: Any, spec: str
) -> None:
    release = threading.Event()

    def pieces(*_: Any) -> Any:
        yield batches.Piece(b"first")
        release.wait()
        yield batches.Piece(b"last")

    class Passing(app_module._Deadline):  # once something was sent, on however slow a machine
        def __init__(self, _: float) -> None:
            super().__init__(PATIENCE)
            deadlines.append(self)

    monkeypatch.setattr(batches, "answers", pieces)
    monkeypatch.setattr(app_module, "_Deadline", Passing)
    app = application(Service(engine))
    sent: list[Any] = []
    deadlines: list[Passing] = []

    async def ask() -> None:
        headers = [(b"content-type", NDJSON.encode()), (b"host", b"localhost")]
        scope = {"type": "http", "method": "POST", "path": MANY, "raw_path": MANY.encode()}
        scope |= {"headers": headers, "query_string": b"", "asgi": {"spec_version": spec}}

        whole = [{"type": "http.request", "body": b"", "more_body": False}]

        async def receive() -> Any:
            return whole.pop() if whole else await asyncio.Event().wait()

        async def send(message: Any) -> None:
            sent.append(message)
            if message.get("body"):
                asyncio.get_running_loop().call_soon(deadlines[0]._pass)

        await app(scope, receive, send)

    try:
        asyncio.run(ask())
    finally:
        release.set()
    assert [one.get("body") for one in sent[1:]] == [b"first"]
    assert sent[-1]["more_body"]


def test_a_fault_of_our_own_says_nothing_of_the_inside(
    engine: rm.Engine, asking: Any, monkeypatch: Any, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(*_: Any, **__: Any) -> Any:
        raise ZeroDivisionError("the secret")

    monkeypatch.setattr(engine, "search", fail)
    found = asking(engine).post(MATCH, json={"event": {}}, headers={"x-request-id": "r-2"})
    assert found.status_code == 500
    assert "secret" not in found.text
    assert "the secret" in caplog.text
    assert "r-2" in caplog.text


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/v1/nothing", 404),
        ("GET", "/v1/indexes/", 404),
        ("GET", "/v1/indexes/a/b/c/d", 404),
        ("PATCH", "/v1/indexes", 405),
        ("GET", "/v1/indexes/ads/match", 405),
        ("GET", "/../../etc/passwd", 404),
        ("GET", "/page/..%2f__init__.py", 404),
    ],
)
def test_what_is_not_there_is_a_problem_too(http: Any, method: str, path: str, status: int) -> None:
    found = http.request(method, path)
    assert found.status_code == status
    assert found.headers["content-type"] == "application/problem+json"
    if status == 405:
        assert found.headers["allow"]


@pytest.mark.parametrize("given_id", ["", "x" * 65, "a b", "ü"])
def test_odd_request_ids_are_replaced(http: Any, given_id: str) -> None:
    found = http.get("/healthz", headers={"x-request-id": given_id.encode()})
    assert len(found.headers["x-request-id"]) == 16


SERVED = rm.Engine(matcher="scan")
SERVED.add("ads", rm.Criterion("adult", rm.parse("age >= 18")))
HTTP = Asker(application(Service(SERVED, Limits(seconds=PATIENCE))))
values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3)
    ),
    max_leaves=8,
)  # fmt: skip
names = st.sampled_from(
    ["event", "n", "id", "ids", "tags", "now", "limit", "weights", "new", "form", "expression",
     "indexName", "requestContext", "node", "criterias", "criteria", "predicates", "type"],
)  # fmt: skip


@given(
    endpoint=st.sampled_from([one for one in ENDPOINTS if one.method != "DELETE"]),
    name=st.sampled_from(["ads", "none", "x y"]),
    body=st.dictionaries(names, values, max_size=5) | values,
    raw=st.none() | st.binary(max_size=50),
    kind=st.sampled_from([JSON, JSON, NDJSON, ARROW]),
)
def test_nothing_that_is_sent_is_a_fault_of_ours(
    endpoint: Any, name: str, body: Any, raw: bytes | None, kind: str
) -> None:
    path = endpoint.path.replace("{index}", name).replace("{id}", "c")
    content = json.dumps(body).encode() if raw is None else raw
    found = HTTP.request(endpoint.method, path, content=content, headers={"content-type": kind})
    assert found.status_code < 500, found.text
    if found.status_code >= 400 and not path.startswith("/mustang"):
        assert found.headers["content-type"] == "application/problem+json"
