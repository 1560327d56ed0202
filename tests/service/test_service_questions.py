"""Questions over HTTP are answered as the engine answers them."""

from __future__ import annotations

import io
import json
from typing import Any

import msgspec
import pyarrow as pa
import pytest

import remuda as rm
from remuda.service.calls import ARROW, JSON, NDJSON
from remuda.service.limits import Limits

EVENTS: list[dict[str, Any]] = [
    {"age": 20, "platform": "web"}, {"age": 70}, {}, {"age": [17, 90], "platform": "ios"},
]  # fmt: skip


@pytest.mark.parametrize("event", EVENTS, ids=str)
@pytest.mark.parametrize("way", ["match", "scan"])
def test_an_event_matches_what_the_engine_finds(
    http: Any, engine: rm.Engine, event: Any, way: str
) -> None:
    found = http.post(f"/v1/indexes/ads/{way}", json={"event": event})
    assert found.status_code == 200
    assert found.json() == {"ids": engine.search("ads", event)}


def test_tags_moments_and_limits_narrow_it(http: Any) -> None:
    def ids(**options: Any) -> Any:
        body = {"event": {"age": 70, "platform": "web"}, **options}
        return http.post("/v1/indexes/ads/match", json=body).json()

    assert ids() == {"ids": ["adult", "odd/name?#%"]}
    assert ids(tags=["t2"]) == {"ids": ["adult"]}
    assert ids(limit=1) == {"ids": ["adult"], "more": True}
    assert ids(limit=2) == {"ids": ["adult", "odd/name?#%"]}


@pytest.mark.parametrize(
    ("now", "expected"),
    [
        (None, []),
        (0, []),
        (1_577_836_800_000, ["brief"]),
        ("2020-01-01T12:00:00Z", ["brief"]),
        ("2020-01-01", ["brief"]),
        ("1577836800000", ["brief"]),
        ("2020-01-02", []),
    ],
)
def test_the_moment_is_milliseconds_or_a_timestamp(
    http: Any, engine: rm.Engine, now: Any, expected: list[str]
) -> None:
    bounds = {"validFrom": "2020-01-01T00:00:00Z", "validUntil": "2020-01-02T00:00:00Z"}
    document = rm.Criterion("brief", rm.parse("a = 1")).to_json() | bounds
    engine.add("terms", rm.Criterion.from_json(document))
    found = http.post("/v1/indexes/terms/match", json={"event": {"a": 1}, "now": now})
    assert found.json() == {"ids": expected}


def test_the_best_have_scores(http: Any, engine: rm.Engine) -> None:
    event = {"age": 20, "platform": "web"}
    body = {"event": event, "n": 2, "weights": {"platform": 5.0}}
    found = http.post("/v1/indexes/ads/top", json=body).json()
    best = engine.top("ads", event, 2, weights={"platform": 5.0})
    assert found == {"matches": [{"id": one.id, "score": one.score} for one in best]}


def test_it_says_why(http: Any, engine: rm.Engine) -> None:
    body = {"event": {"age": 31}, "id": "young"}
    found = http.post("/v1/indexes/ads/explain", json=body).json()
    told = engine.explain("ads", {"age": 31}, "young")
    assert found == {"explanation": told.to_dict(), "text": str(told)}


def test_near_misses_name_what_fails(http: Any, engine: rm.Engine) -> None:
    found = http.post("/v1/indexes/ads/nearest", json={"event": {"age": 20}, "n": 1}).json()
    (near,) = engine.nearest("ads", {"age": 20}, 1)
    failures = [one.to_dict() for one in near.failures]
    assert found == {"near": [{"id": near.id, "failures": failures}]}


def test_regions(http: Any, engine: rm.Engine) -> None:
    body = {"where": "age BETWEEN 18 AND 40", "missing": ["platform"]}
    found = http.post("/v1/indexes/ads/possible", json=body).json()
    index, how = engine.index("ads"), {"missing": ["platform"]}
    assert found == {
        "possible": index.possible(body["where"], **how).ids(0),
        "certain": index.certain(body["where"], **how).ids(0),
        "exact": True,
    }
    refused = http.post("/v1/indexes/ads/possible", json={"where": "age < 3 OR platform = 'a'"})
    assert (refused.status_code, "conjunction" in refused.text) == (422, True)


def batch(kind: str) -> bytes:
    if kind == JSON:
        return json.dumps(EVENTS).encode()
    if kind == NDJSON:
        return b"\n".join(json.dumps(event).encode() for event in EVENTS)
    sink = io.BytesIO()
    rows = [event if not isinstance(event.get("age"), list) else {} for event in EVENTS]
    table = pa.Table.from_pylist(rows, pa.schema([("age", pa.int64()), ("platform", pa.string())]))
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table, max_chunksize=2)
    return sink.getvalue()


def rows_of(kind: str, body: bytes) -> list[Any]:
    if kind == JSON:
        return list(json.loads(body))
    if kind == NDJSON:
        return [json.loads(line) for line in body.splitlines()]
    return [
        {name: value for name, value in row.items() if value is not None}
        for row in pa.ipc.open_stream(body).read_all().to_pylist()
    ]


@pytest.mark.parametrize("accept", [None, JSON, NDJSON, ARROW])
@pytest.mark.parametrize("kind", [JSON, NDJSON, ARROW])
@pytest.mark.parametrize("query", ["", "n=1", "tags=t1&tags=t2", "limit=1", "now=2020-01-01"])
def test_batches_of_every_form_are_answered_in_every_form(
    http: Any, engine: rm.Engine, kind: str, accept: str | None, query: str
) -> None:
    headers = {"content-type": kind} | ({"accept": accept} if accept else {"accept": "*/*"})
    path = f"/v1/indexes/ads/match_many?{query}"
    found = http.post(path, content=batch(kind), headers=headers)
    assert found.headers["content-type"].partition(";")[0] == (accept or kind)
    expected: list[Any] = []
    for event in EVENTS[:3]:
        if query == "n=1":
            best = engine.top("ads", event, 1)
            expected.append({"ids": [one.id for one in best], "scores": [s for _, s in best]})
        else:
            tags = {"t1", "t2"} if "tags" in query else None
            ids = engine.search("ads", event, tags=tags)
            expected.append({"ids": ids[:1] if "limit" in query else ids})
    assert rows_of(accept or kind, found.content)[:3] == expected
    assert len(rows_of(accept or kind, found.content)) == 4


@pytest.mark.parametrize("kind", [JSON, NDJSON, ARROW])
def test_no_events_have_no_answers(http: Any, kind: str) -> None:
    sink = io.BytesIO()
    pa.ipc.new_stream(sink, pa.schema([("age", pa.int64())])).close()
    body = {JSON: b"[]", NDJSON: b"", ARROW: sink.getvalue()}[kind]
    headers = {"content-type": kind}
    found = http.post("/v1/indexes/ads/match_many", content=body, headers=headers)
    assert found.status_code == 200
    assert rows_of(kind, found.content) == []


def test_a_line_that_is_no_event_is_named_and_the_others_answered(http: Any) -> None:
    body = b'{"age": 70}\n[1]\n{"age":\n\n{"age": 20}\n'
    headers = {"content-type": NDJSON}
    found = http.post("/v1/indexes/ads/match_many", content=body, headers=headers)
    first, second, third, last = rows_of(NDJSON, found.content)
    assert first == {"ids": ["adult", "odd/name?#%"]}
    assert last == {"ids": ["adult"]}
    assert second == {"ids": [], "error": "the event is an array, not an object"}
    assert "not JSON" in third["error"]


def test_long_batches_come_in_pieces(http: Any, engine: rm.Engine) -> None:
    n = 50_000
    headers = {"content-type": NDJSON}
    body = b'{"age": 70}\n' * n
    path = "/v1/indexes/ads/match_many"
    lines = http.post(path, content=body, headers=headers).text.splitlines()
    assert lines == [msgspec.json.encode({"ids": ["adult", "odd/name?#%"]}).decode()] * n


def test_too_many_events_are_refused(engine: rm.Engine, asking: Any) -> None:
    http = asking(engine, limits=Limits(batch=3))
    for kind in (JSON, NDJSON, ARROW):
        body = batch(kind) + (b"\n" if kind == NDJSON else b"")
        headers = {"content-type": kind}
        found = http.post("/v1/indexes/ads/match_many", content=body, headers=headers)
        assert found.status_code == 413, kind
        assert "the most is 3" in found.json()["detail"]


@pytest.mark.parametrize("codec", ["lz4", "zstd"])
@pytest.mark.parametrize("encoded", [False, True], ids=["plain", "dictionary"])
def test_compressed_streams_are_refused_before_they_grow(
    http: Any, codec: str, encoded: bool
) -> None:
    column = pa.array(["x" * 1000] * 1000)
    table = pa.table({"a": column.dictionary_encode() if encoded else column})
    sink = io.BytesIO()
    options = pa.ipc.IpcWriteOptions(compression=codec)
    with pa.ipc.new_stream(sink, table.schema, options=options) as writer:
        writer.write_table(table)
    headers = {"content-type": ARROW}
    path = "/v1/indexes/ads/match_many"
    found = http.post(path, content=sink.getvalue(), headers=headers)
    assert found.status_code == 415
    assert "without compression" in found.json()["detail"]


def test_indexes_and_criteria_can_be_looked_at(http: Any, engine: rm.Engine) -> None:
    assert http.get("/v1/indexes").json() == {"indexes": [{"name": "ads", "criteria": 3}]}
    assert http.get("/v1/indexes/ads").json() == {"name": "ads", "criteria": 3}
    found = http.get("/v1/indexes/ads/criteria/odd%2Fname%3F%23%25").json()
    assert found == engine.get("ads", "odd/name?#%").to_json()
    assert http.get("/v1/indexes/ads/stats").json()["criteria"] == 3
    snapshot = http.get("/v1/indexes/ads/snapshot").json()
    assert {one["attribute"] for one in snapshot["dimensions"]} == {"age", "platform"}
    assert http.get("/v1/indexes/ads/export").text == engine.export("ads")
    refused = http.get("/v1/indexes/ads/export?mustang=true")
    assert refused.status_code == 422
    assert refused.json()["error"] == "NoMustangEquivalent"
