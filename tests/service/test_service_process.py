"""A server of its own: asked, stopped and killed; what it acknowledged is there."""

from __future__ import annotations

import signal
import socket
import subprocess
import threading
from contextlib import suppress
from pathlib import Path
from typing import Any

import httpx
import pytest
from server_processes import COMMAND, PATIENCE, served, until

import remuda as rm
from remuda.service.calls import NDJSON


def test_it_is_asked_and_stopped_and_goes_on_where_it_was(tmp_path: Path) -> None:
    root = str(tmp_path / "engine")
    with served(root) as (process, http):
        body = (
            b'{"id": "adult", "expression": "age >= 18"}\n{"id": "old", "expression": "age > 60"}'
        )
        put = http.post("/v1/indexes/ads/criteria", content=body, headers={"content-type": NDJSON})
        assert put.json() == {"accepted": 2, "rejects": []}
        found = http.post("/v1/indexes/ads/match", json={"event": {"age": 70}})
        assert found.json() == {"ids": ["adult", "old"]}
        assert found.headers["x-request-id"]
        process.send_signal(signal.SIGTERM)
        assert process.wait(PATIENCE) == 0
        assert "stopped" in process.told()
    with rm.Engine(root) as engine:
        assert engine.search("ads", {"age": 30}) == ["adult"]
    with served(root) as (_, http):
        assert http.get("/v1/indexes").json() == {"indexes": [{"name": "ads", "criteria": 2}]}


def test_what_was_accepted_is_answered_before_it_stops(tmp_path: Path) -> None:
    with served(str(tmp_path / "engine"), "--seconds", str(PATIENCE)) as (process, http):
        http.put("/v1/indexes/ads/criteria/adult", json={"expression": "age >= 18"})
        n = 200_000
        answers: list[Any] = []

        def ask() -> None:
            headers = {"content-type": NDJSON}
            body = b'{"age": 20}\n' * n
            path = "/v1/indexes/ads/match_many"
            with http.stream("POST", path, content=body, headers=headers) as found:
                process.send_signal(signal.SIGTERM)  # its answer has begun
                answers.append(sum(line == '{"ids":["adult"]}' for line in found.iter_lines()))

        thread = threading.Thread(target=ask)
        thread.start()
        thread.join(PATIENCE)
        assert answers == [n]
        assert process.wait(PATIENCE) == 0


def test_killed_under_load_it_loses_nothing_that_it_acknowledged(tmp_path: Path) -> None:
    root = str(tmp_path / "engine")
    n_threads = 3
    done: list[set[str]] = [set() for _ in range(n_threads)]
    with served(root) as (process, http):

        def put(thread: int) -> None:
            for i in range(10_000):
                name = f"c{thread}-{i}"
                path = f"/v1/indexes/ads/criteria/{name}"
                try:
                    found = http.put(path, json={"expression": f"a = {i}"})
                except httpx.TransportError:
                    return
                assert found.status_code == 201
                done[thread].add(name)

        threads = [threading.Thread(target=put, args=(i,)) for i in range(n_threads)]
        for one in threads:
            one.start()
        until(lambda: min(map(len, done)) >= 20)
        process.kill()
        for one in threads:
            one.join(PATIENCE)
    acknowledged = set().union(*done)
    assert len(acknowledged) >= 60
    with served(root) as (_, http):
        there = {one["id"] for one in http.get("/v1/indexes/ads/export").json()}
        assert acknowledged <= there
        assert len(there - acknowledged) <= n_threads  # each thread had one under way
        found = http.post("/v1/indexes/ads/match", json={"event": {"a": 3}}).json()
        assert {f"c{i}-3" for i in range(n_threads)} <= set(found["ids"])


HEAD = (
    b"POST /v1/indexes/ads/match HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
)
STRANGE = {
    "no HTTP": (b"\x16\x03\x01\r\n\r\n", b" 400 "),
    "a head without end": (b"GET / HTTP/1.1\r\nHost: localhost\r\nX: " + b"a" * 200_000, b" 400 "),
    "a length that is none": (HEAD + b"Content-Length: -5\r\n\r\n", b" 400 "),
    "a length beyond all": (HEAD + b"Content-Length: 99999999999999\r\n\r\n", b" 413 "),
    "chunks that are none": (HEAD + b"Transfer-Encoding: chunked\r\n\r\nZZ\r\n", b" 400 "),
    "a body that never comes": (HEAD + b"Content-Length: 50\r\n\r\n{", b" 504 "),
}


def test_strange_connections_are_answered_and_it_goes_on(tmp_path: Path) -> None:
    # on a busy machine, a second may be too short for an answer: it is asked for again
    with served("--seconds", "1") as (_, http):
        rule = {"expression": "age >= 18"}
        until(lambda: http.put("/v1/indexes/ads/criteria/adult", json=rule).status_code < 300)
        address = "127.0.0.1", http.base_url.port
        for name, (request, status) in STRANGE.items():
            with socket.create_connection(address, PATIENCE) as one:
                with suppress(ConnectionError):  # it was answered before all was sent
                    one.sendall(request)
                assert status in one.recv(1000), name
        for _ in range(20):  # left in the middle
            with socket.create_connection(address, PATIENCE) as one:
                one.sendall(HEAD + b"Content-Length: 50\r\n\r\n{")
        asked = {"event": {"age": 20}}
        until(lambda: http.post("/v1/indexes/ads/match", json=asked).status_code == 200)


@pytest.mark.parametrize(
    ("arguments", "code", "reason"),
    [
        (("--host", "0.0.0.0"), 2, "give a file of tokens"),
        (("--tokens", "no-such-file"), 1, "no-such-file"),
    ],
)
def test_it_does_not_start_unsafely(arguments: tuple[str, ...], code: int, reason: str) -> None:
    with served(*arguments) as (process, _):
        assert process.wait(PATIENCE) == code
        assert reason in " ".join(process.told().replace("│", " ").split())


def test_a_port_that_is_taken_is_an_error_and_nothing_is_said_to_be_served() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        found = subprocess.run(
            [*COMMAND, "--port", port],
            capture_output=True,
            text=True,
            check=False,
            timeout=PATIENCE,
        )
    assert found.returncode == 1
    assert "cannot be listened on" in found.stderr
    assert "serves" not in found.stderr
    assert "Traceback" not in found.stderr
