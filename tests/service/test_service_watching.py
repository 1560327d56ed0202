"""What a watcher sees: metrics, log lines, spans; and what is told of long work."""

from __future__ import annotations

import json
import logging
import re
import socket
import threading
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from server_processes import PATIENCE, served, until

import remuda as rm
from asking import Asker
from remuda.service import logs
from remuda.service.app import application
from remuda.service.calls import NDJSON, Service
from remuda.service.connections import bounded
from remuda.service.limits import Limits
from remuda.service.metrics import Counts
from remuda.service.tokens import Tokens
from remuda.service.tracing import traced

MATCH = "/v1/indexes/ads/match"
SAMPLE = re.compile(r'(\w+)(?:\{(?:\w+="(?:[^"\\]|\\.)*",?)*\})? (\S+)')


def samples(text: str) -> dict[str, float]:
    """The samples of an exposition; every line must be one, or a comment that goes before."""
    found, named = {}, set()
    for line in text.splitlines():
        if line.startswith("# "):
            named.add(line.split()[2])
            continue
        whole = SAMPLE.fullmatch(line)
        assert whole, line
        base = re.sub(r"_(bucket|sum|count)$", "", whole[1])
        assert {whole[1], base} & named, line
        found[line.rpartition(" ")[0]] = float(whole[2])
    return found


def test_what_was_asked_is_counted(engine: rm.Engine, asking: Any) -> None:
    http = asking(engine, count_hits=True)
    for age in (20, 70, 70):
        http.post(MATCH, json={"event": {"age": age}})
    http.post(MATCH, json={"event": {}, "limit": -1})
    body = b'{"age": 70}\n{"age": 20}'
    http.post("/v1/indexes/ads/match_many", content=body, headers={"content-type": NDJSON})
    http.get("/nothing")
    found = samples(http.get("/metrics").text)
    assert found['remuda_requests_total{operation="match",status="2xx"}'] == 3
    assert found['remuda_requests_total{operation="match",status="4xx"}'] == 1
    assert found['remuda_requests_total{operation="none",status="4xx"}'] == 1
    assert found['remuda_matches_total{operation="match"}'] == 5
    assert found['remuda_matches_total{operation="match_many"}'] == 3
    assert found['remuda_request_seconds_count{operation="match"}'] == 4
    assert found['remuda_request_seconds_bucket{operation="match",le="+Inf"}'] == 4
    assert found['remuda_index_criteria{index="ads"}'] == 3
    assert found['remuda_criterion_hits_total{index="ads",criterion="adult"}'] == 5
    assert found['remuda_criterion_hits_total{index="ads",criterion="odd/name?#%"}'] == 3


def test_buckets_only_grow(engine: rm.Engine, asking: Any) -> None:
    http = asking(engine)
    for _ in range(5):
        http.post(MATCH, json={"event": {}})
    found = samples(http.get("/metrics").text)
    buckets = [n for name, n in found.items() if 'bucket{operation="match"' in name]
    assert buckets == sorted(buckets)
    assert buckets[-1] == 5


def test_names_are_escaped(engine: rm.Engine, asking: Any) -> None:
    engine.add('a "b"\\\n', [])
    assert 'index="a \\"b\\"\\\\\\n"' in asking(engine).get("/metrics").text
    samples(asking(engine).get("/metrics").text)


def test_those_who_may_read_see_metrics(engine: rm.Engine, asking: Any, tmp_path: Path) -> None:
    (tmp_path / "tokens").write_text("read a-token-for-reading\n")
    http = asking(engine, tokens=Tokens(tmp_path / "tokens"))
    assert http.get("/metrics").status_code == 401
    headers = {"authorization": "Bearer a-token-for-reading"}
    assert http.get("/metrics", headers=headers).status_code == 200


def test_counts_are_shared_and_outlive_their_process(tmp_path: Path) -> None:
    first, second = (Counts(["match"], tmp_path / f"{i}.counts") for i in range(2))
    first.count("match", 200, 0.002, 3)
    second.count("match", 404, 0.002, 0)
    again = Counts(["match"], tmp_path / "0.counts")
    again.count("match", 200, 0.002, 4)
    for one in (again, second):
        assert sum(map(sum, zip(*one.everybody(), strict=True))) > 0
        row = one.rows["match"]
        assert [sum(cells[row : row + 5]) for cells in one.everybody()] == [2, 1]


def test_hits_are_bounded() -> None:
    counts = Counts([], hits=True)
    counts.count_hits("ads", (f"c{i}" for i in range(10_010)))
    counts.count_hits("ads", ["c0"])
    assert counts.hits is not None
    assert len(counts.hits) == 10_001
    assert counts.hits["", ""] == 10
    assert counts.hits["ads", "c0"] == 2


def test_a_request_is_a_line(
    engine: rm.Engine, asking: Any, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.INFO, "remuda.access"):
        asking(engine).post(MATCH, json={"event": {"age": 70}}, headers={"x-request-id": "r-7"})
    (record,) = [one for one in caplog.records if one.name == "remuda.access"]
    told = json.loads(logs.Objects().format(record))
    assert told["request"] == "r-7"
    assert (told["method"], told["path"], told["status"]) == ("POST", MATCH, 200)
    assert (told["operation"], told["matches"]) == ("match", 2)
    assert told["seconds"] >= 0
    assert told["time"].endswith("+00:00")
    assert "r-7" not in logs.Lines().format(record)


def test_a_fault_is_told_with_its_request(
    engine: rm.Engine, asking: Any, caplog: pytest.LogCaptureFixture, monkeypatch: Any
) -> None:
    monkeypatch.setattr(engine, "search", lambda *_, **__: 1 / 0)
    found = asking(engine).post(MATCH, json={"event": {}}, headers={"x-request-id": "r-8"})
    assert found.status_code == 500
    (record,) = [one for one in caplog.records if one.name == "remuda.service"]
    told = json.loads(logs.Objects().format(record))
    assert told["request"] == "r-8"
    assert "ZeroDivisionError" in told["trace"]


def test_ids_of_requests_are_their_own(http: Any) -> None:
    sent = [{}, {}, {"x-request-id": "mine"}, {"x-request-id": "not\tmine"}]
    found = [http.get("/healthz", headers=one).headers["x-request-id"] for one in sent]
    assert len(set(found)) == 4
    assert found[2] == "mine"


def test_a_request_is_a_span_of_its_senders_trace(engine: rm.Engine) -> None:
    kept, provider = InMemorySpanExporter(), TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(kept))
    http = Asker(traced(application(Service(engine)), provider))
    parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
    http.post(MATCH, json={"event": {"age": 70}}, headers={"traceparent": parent})
    http.get("/v1/indexes/none")
    first, second = kept.get_finished_spans()
    assert first.name == "POST match"
    assert f"{first.context.trace_id:032x}" == parent.split("-")[1]
    assert first.attributes["http.response.status_code"] == 200
    assert first.attributes["remuda.matches"] == 2
    assert (second.name, second.attributes["http.response.status_code"]) == ("GET get_index", 404)


def ended(http: Any, job: str) -> Any:
    until(lambda: http.get(f"/v1/jobs/{job}").json()["ended"] is not None)
    return http.get(f"/v1/jobs/{job}").json()


def test_long_work_tells_how_far_it_is(engine: rm.Engine, asking: Any, monkeypatch: Any) -> None:
    http = asking(engine)
    half, go_on = threading.Event(), threading.Event()
    ratify = engine.ratify

    def slow(*arguments: Any, progress: Any, **named: Any) -> Any:
        progress(1, 2)
        half.set()
        go_on.wait(PATIENCE)
        return ratify(*arguments, progress=progress, **named)

    monkeypatch.setattr(engine, "ratify", slow)
    begun = http.post("/v1/indexes/ads/ratify", json={"seed": 3})
    assert begun.status_code == 202
    job = begun.json()["id"]
    assert begun.headers["location"] == f"/v1/jobs/{job}"
    assert half.wait(PATIENCE)
    found = http.get(f"/v1/jobs/{job}").json()
    assert (found["status"], found["done"], found["of"]) == ("running", 1, 2)
    go_on.set()
    found = ended(http, job)
    assert (found["status"], found["done"], found["of"]) == ("done", 3, 3)
    assert found["result"]["ok"]
    assert [one["id"] for one in http.get("/v1/jobs").json()["jobs"]] == [job]


def test_long_work_is_called_off(engine: rm.Engine, asking: Any, monkeypatch: Any) -> None:
    http = asking(engine, limits=Limits(jobs=2))
    begun, go_on = threading.Event(), threading.Event()

    def slow(*_: Any, progress: Any, **__: Any) -> Any:
        begun.set()
        go_on.wait(PATIENCE)
        progress(1, 1)
        raise AssertionError("it should have been called off")

    monkeypatch.setattr(engine, "ratify", slow)
    first, second = (http.post("/v1/indexes/ads/ratify", json={}).json()["id"] for _ in range(2))
    assert http.post("/v1/indexes/ads/ratify", json={}).status_code == 503
    assert begun.wait(PATIENCE)
    for job in (first, second):
        assert http.delete(f"/v1/jobs/{job}").status_code == 204
    go_on.set()
    assert {ended(http, job)["status"] for job in (first, second)} == {"cancelled"}


def test_what_fails_says_why(engine: rm.Engine, asking: Any, monkeypatch: Any) -> None:
    http = asking(engine)
    monkeypatch.setattr(engine, "ratify", lambda *_, **__: 1 / 0)
    found = ended(http, http.post("/v1/indexes/ads/ratify", json={}).json()["id"])
    assert (found["status"], found["error"]) == ("failed", "division by zero")
    assert http.post("/v1/indexes/none/ratify", json={}).status_code == 404
    bad = {"criterion": {"expression": "a ="}}
    assert http.post("/v1/indexes/ads/similarity", json=bad).status_code == 422
    assert http.get("/v1/jobs/none").status_code == 404


def test_resemblance_is_work_too(http: Any) -> None:
    asked = {"criterion": {"expression": "age >= 18 AND age < 30"}, "n": 1}
    found = ended(http, http.post("/v1/indexes/ads/similarity", json=asked).json()["id"])
    assert found["result"]["similar"][0]["id"] == "adult"
    assert found["done"] == found["result"]["n_events"] > 0


def test_payloads_come_with_matches(engine: rm.Engine, http: Any) -> None:
    engine.add("ads", rm.Criterion("paid", rm.parse("age > 1"), payload={"price": 3}))
    found = http.post(MATCH, json={"event": {"age": 30}, "payloads": True})
    assert found.json() == {"ids": ["adult", "paid"], "payloads": [None, {"price": 3}]}
    found = http.post(MATCH, json={"event": {"age": 30}, "payloads": True, "limit": 1})
    assert found.json() == {"ids": ["adult"], "more": True, "payloads": [None]}


def test_sample_events_are_about_the_criteria(engine: rm.Engine, http: Any) -> None:
    found = http.get("/v1/indexes/ads/events?n=3&seed=5").json()["events"]
    assert len(found) == 3
    assert all(engine.scan("ads", one) for one in found)


HALVES = {"nothing": b"", "half a head": b"GET /healthz HTTP/1.1\r\nhost: loc"}


def test_a_connection_that_asks_nothing_is_closed() -> None:
    with served("--idle", "0.5") as (_, http):
        for name, said in HALVES.items():
            with socket.create_connection(("127.0.0.1", http.base_url.port), PATIENCE) as one:
                one.sendall(said)
                assert one.recv(100) == b"", name


class Connection:
    """As much of uvicorn's as is looked at."""

    def __init__(self) -> None:
        self.loop, self.transport, self.cycle = Mock(), Mock(), None

    def connection_made(self, _: Any) -> None:
        pass


def test_a_connection_that_asks_now_and_then_is_kept() -> None:
    one = bounded(Connection, 0.5)()
    one.connection_made(None)
    for _ in range(3):
        ((_, look), _) = one.loop.call_later.call_args
        one.cycle = Mock(response_complete=True)  # another request was answered
        look()
        assert not one.transport.close.called
    one.cycle = Mock(response_complete=False)  # one takes its time
    for _ in range(3):
        look()
        assert not one.transport.close.called
    one.cycle.response_complete = True
    look()
    assert one.transport.close.called
