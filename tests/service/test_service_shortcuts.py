"""Shortcuts: what is answered where it arrives, just as the long way answers it."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import uvicorn
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol
from uvicorn.server import ServerState

import remuda as rm
from remuda.service import shortcuts as module
from remuda.service.app import application
from remuda.service.calls import Service
from remuda.service.connections import bounded
from remuda.service.shortcuts import Shortcuts
from remuda.service.tokens import Tokens

ADS = "/v1/indexes/ads"
OLD, YOUNG = {"event": {"age": 70}}, {"event": {"age": 20, "platform": "web"}}
OWN = re.compile(rb"(x-request-id: |urn:remuda:request:)([\w.:-]+)")


def request(
    path: str = f"{ADS}/match",
    body: Any = OLD,
    *,
    line: str = "POST {} HTTP/1.1",
    kind: str = "application/json",
    more: str = "",
) -> bytes:
    text = json.dumps(body).encode()
    head = f"{line.format(path)}\r\nhost: localhost\r\ncontent-type: {kind}\r\n{more}"
    return f"{head}content-length: {len(text)}\r\n\r\n".encode() + text


class Wire(asyncio.Transport):
    """The other end of a connection."""

    def __init__(self, make: Callable[[], Any]) -> None:
        super().__init__()
        self.said, self._closing = b"", False
        self.protocol = make()
        self.protocol.connection_made(self)

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        return {"sockname": ("127.0.0.1", 1), "peername": ("127.0.0.1", 2)}.get(name, default)

    def write(self, data: Any) -> None:
        self.said += data

    def close(self) -> None:
        self._closing = True

    def is_closing(self) -> bool:
        return self._closing

    def pause_reading(self) -> None:
        pass

    resume_reading = pause_reading

    async def ask(self, *pieces: bytes, n: int = 1) -> tuple[bytes, bool]:
        """The answers to n requests, and whether they were there at once."""
        self.said = b""
        for piece in pieces:
            self.protocol.data_received(piece)
        at_once = bool(self.said)
        while n_answers(self.said) < n:
            await asyncio.sleep(0.001)
        while self.protocol.server_state.tasks:  # an answer is learnt from after it was sent
            await asyncio.sleep(0.001)
        return OWN.sub(rb"\1its own", self.said), at_once


def n_answers(said: bytes) -> int:
    """How many whole answers there are."""
    n = 0
    while (end := said.find(b"\r\n\r\n")) >= 0:
        length = re.search(rb"\r\ncontent-length: (\d+)", said[:end])
        if length is None:  # it says 100, and goes on
            said = said[end + 4 :]
            continue
        if len(said) < end + 4 + int(length[1]):
            break
        said, n = said[end + 4 + int(length[1]) :], n + 1
    return n


class Serving:
    """A service, and connections to it."""

    def __init__(self, service: Service, *, taken: bool = True, most: int = 100) -> None:
        self.service, shortcuts = service, Shortcuts()
        app: Any = application(service, shortcuts)
        how: Any = {"lifespan": "off", "log_config": None, "access_log": False}
        self._config = uvicorn.Config(app, limit_concurrency=most, **how)
        self._config.load()
        self.state = ServerState()
        self.state.default_headers = [(b"date", b"today")]
        self._kind = bounded(HttpToolsProtocol, 60.0, shortcuts if taken else None)

    def connected(self) -> Wire:
        made = {"config": self._config, "server_state": self.state, "app_state": {}}
        return Wire(lambda: self._kind(**made, _loop=asyncio.get_running_loop()))


class Row(NamedTuple):
    request: bytes
    at_once: bool


ROWS = {
    "match": Row(request(), True),
    "limits, tags and a moment": Row(
        request(body=YOUNG | {"limit": 1, "tags": ["t1"], "now": "2026-01-01T00:00:00Z"}), True
    ),
    "top": Row(request(f"{ADS}/top", OLD | {"n": 2}), True),
    "an option that means nothing": Row(request(f"{ADS}/match?a=b"), True),
    "a coded name": Row(request("/v1/indexes/%61ds/match"), True),
    "kept alive in so many words": Row(request(more="connection: keep-alive\r\n"), True),
    "a type with its encoding": Row(request(kind="application/json; charset=utf-8"), True),
    "payloads": Row(request(body=OLD | {"payloads": True}), False),
    "scan": Row(request(f"{ADS}/scan"), False),
    "an id of its own": Row(request(more="x-request-id: mine\r\n"), False),
    "a number to be seen": Row(request(more="x-remuda-sequence: 0\r\n"), False),
    "to be told to go on": Row(request(more="expect: 100-continue\r\n"), False),
    "another index": Row(request("/v1/indexes/none/match"), False),
    "another type": Row(request(kind="text/plain"), False),
    "another host": Row(request(more="host: example.org\r\n"), False),
    "a misspelt option": Row(request(body=OLD | {"tag": []}), False),
    "no moment": Row(request(body=OLD | {"now": "yesterday"}), False),
    "a long head": Row(request(more=f"x-more: {'a' * 5_000}\r\n"), False),
    "the last one": Row(request(more="connection: close\r\n"), False),
    "an older version": Row(request(line="POST {} HTTP/1.0"), False),
    "another method": Row(request(line="PUT {} HTTP/1.1"), False),
}


@pytest.mark.parametrize("row", ROWS.values(), ids=ROWS)
def test_the_short_way_says_what_the_long_way_does(engine: rm.Engine, row: Row) -> None:
    async def answers(*, taken: bool) -> list[tuple[bytes, bool]]:
        serving = Serving(Service(engine), taken=taken)
        wire, found = serving.connected(), []
        for _ in range(3):
            if wire.is_closing():
                wire = serving.connected()
            found.append(await wire.ask(row.request))
        return found

    long, short = asyncio.run(answers(taken=False)), asyncio.run(answers(taken=True))
    assert [said for said, _ in short] == [said for said, _ in long]
    assert not any(at_once for _, at_once in long)
    assert [at_once for _, at_once in short] == [False, row.at_once, row.at_once]


@pytest.fixture
def known(engine: rm.Engine) -> Callable[..., Any]:
    """Run something with a connection on which OLD's head is known."""

    def run(work: Callable[[Serving, Wire, bytes], Any], **terms: Any) -> Any:
        async def meet() -> Any:
            serving = Serving(Service(engine, **terms))
            wire = serving.connected()
            said, _ = await wire.ask(request())
            assert await wire.ask(request()) == (said, True)
            return await work(serving, wire, said)

        return asyncio.run(meet())

    return run


def test_a_request_in_pieces_is_one_request(known: Any) -> None:
    async def work(_: Serving, wire: Wire, said: bytes) -> None:
        whole = request()
        for cut in range(1, len(whole)):
            assert (await wire.ask(whole[:cut], whole[cut:]))[0] == said, cut
        assert await wire.ask(whole) == (said, True)

    known(work)


def test_a_body_is_read_to_its_end(known: Any) -> None:
    async def work(serving: Serving, wire: Wire, said: bytes) -> None:
        long = request().replace(b"length: 22", b"length: 25") + b"   "
        assert (await wire.ask(long[:-3], long[-3:]))[0] == said
        assert await wire.ask(long) == (said, False)  # what came in pieces was not learnt
        assert await wire.ask(long) == (said, True)
        wire.said = b""
        wire.protocol.data_received(long[:-3])
        assert not wire.said
        assert await wire.ask(long[-3:]) == (said, False)

    known(work)


NONE = "POST /v1/indexes/none/scan HTTP/1.1\r\nhost: localhost\r\n"
INSIDE = {
    "a body": f"{NONE}content-length: {len(request())}\r\n\r\n",
    "a head": f"{NONE}x-more: ",
}


@pytest.mark.parametrize("before", INSIDE.values(), ids=INSIDE)
def test_a_request_inside_another_is_none(known: Any, before: str) -> None:
    async def work(_: Serving, wire: Wire, __: bytes) -> None:
        found, at_once = await wire.ask(before.encode(), request())
        assert found.startswith(b"HTTP/1.1 4")
        assert (n_answers(wire.said), at_once) == (1, False)

    known(work)


def test_requests_in_one_piece_are_answered_one_after_the_other(known: Any) -> None:
    async def work(_: Serving, wire: Wire, said: bytes) -> None:
        young, _ = await wire.ask(request(body=YOUNG))
        assert await wire.ask(request() + request(body=YOUNG), n=2) == (said + young, False)
        found, _ = await wire.ask(request() + request()[:30], request()[30:], n=2)
        assert found == 2 * said
        assert await wire.ask(request()) == (said, True)

    known(work)


def test_no_answer_overtakes_another(known: Any) -> None:
    async def work(_: Serving, wire: Wire, said: bytes) -> None:
        young = request(f"{ADS}/scan", YOUNG)
        first, _ = await wire.ask(young)
        assert await wire.ask(young, request(), n=2) == (first + said, False)
        assert await wire.ask(request()) == (said, True)

    known(work)


def test_what_the_same_head_brings_may_be_wrong(known: Any) -> None:
    async def work(_: Serving, wire: Wire, said: bytes) -> None:
        for bad in (b'{"event": {"age": 7}', b'{"evemt": {"age": 70}}', b"\xff"):
            wrong = request()[: -len(json.dumps(OLD))] + bad.ljust(len(json.dumps(OLD)))
            found, at_once = await wire.ask(wrong)
            assert b" 400 " in found.partition(b"\r\n")[0]
            assert not at_once
        assert await wire.ask(request()) == (said, True)

    known(work)


def test_an_index_that_is_gone_is_not_found(known: Any) -> None:
    async def work(serving: Serving, wire: Wire, _: bytes) -> None:
        serving.service.engine.drop("ads")
        assert (await wire.ask(request()))[0].startswith(b"HTTP/1.1 404 ")

    known(work)


def test_a_token_that_is_taken_back_is_refused(engine: rm.Engine, tmp_path: Path) -> None:
    file = tmp_path / "tokens"
    file.write_text("read 0123456789abcdef\n")
    tokens = Tokens(file)
    asked = request(more="authorization: Bearer 0123456789abcdef\r\n")

    async def work() -> None:
        wire = Serving(Service(engine, tokens=tokens)).connected()
        said, _ = await wire.ask(asked)
        assert await wire.ask(asked) == (said, True)
        tokens._roles.clear()
        assert (await wire.ask(asked))[0].startswith(b"HTTP/1.1 401 ")

    asyncio.run(work())


def test_all_ways_count(known: Any) -> None:
    async def work(serving: Serving, wire: Wire, _: bytes) -> None:
        await wire.ask(request(), n=1)
        await wire.ask(request() + request(), n=2)
        scraped, _ = await wire.ask(b"GET /metrics HTTP/1.1\r\nhost: localhost\r\n\r\n")
        told = scraped.decode()
        assert 'remuda_requests_total{operation="match",status="2xx"} 5\n' in told
        assert 'remuda_matches_total{operation="match"} 10\n' in told
        assert 'remuda_criterion_hits_total{index="ads",criterion="adult"} 5\n' in told
        assert serving.state.total_requests == 6

    known(work, count_hits=True)


def test_too_many_connections_are_refused_on_every_way(engine: rm.Engine) -> None:
    async def work() -> None:
        serving = Serving(Service(engine), most=2)
        wire = serving.connected()
        said, _ = await wire.ask(request())
        assert await wire.ask(request()) == (said, True)
        serving.connected()
        assert (await wire.ask(request()))[0].startswith(b"HTTP/1.1 503 ")

    asyncio.run(work())


def test_a_reader_that_lags_is_waited_for(known: Any) -> None:
    async def work(_: Serving, wire: Wire, said: bytes) -> None:
        wire.said = b""
        wire.protocol.pause_writing()
        wire.protocol.data_received(request())
        assert not wire.said
        wire.protocol.resume_writing()
        assert await wire.ask(n=1) == (said, False)

    known(work)


def test_few_heads_are_remembered(known: Any, monkeypatch: Any) -> None:
    monkeypatch.setattr(module, "_MOST", 2)

    async def work(_: Serving, wire: Wire, said: bytes) -> None:
        for path in ("match?1", "match?2"):
            assert (await wire.ask(request(f"{ADS}/{path}")))[1] is False
            assert await wire.ask(request(f"{ADS}/{path}")) == (said, True)
        assert await wire.ask(request()) == (said, False)

    known(work)


def test_ids_of_requests_differ(known: Any) -> None:
    async def work(_: Serving, wire: Wire, __: bytes) -> None:
        found = set()
        for _ in range(5):
            await wire.ask(request())
            found |= {name for _, name in OWN.findall(wire.said)}
        assert len(found) == 5

    known(work)


def test_a_connection_on_which_only_shortcuts_are_taken_is_kept(known: Any) -> None:
    async def work(_: Serving, wire: Wire, __: bytes) -> None:
        one = wire.protocol
        for _ in range(3):
            await wire.ask(request())
            one._watch()
            one.timeout_keep_alive_handler()
            assert not wire.is_closing()
        one._asked -= one.timeout_keep_alive
        one.timeout_keep_alive_handler()
        assert wire.is_closing()

    known(work)


def test_a_connection_that_only_ever_took_shortcuts_is_closed_when_it_is_idle(known: Any) -> None:
    async def work(serving: Serving, _: Wire, said: bytes) -> None:
        wire = serving.connected()
        assert await wire.ask(request()) == (said, True)
        assert wire.protocol.timeout_keep_alive_task is not None
        wire.protocol._watch()
        assert not wire.is_closing()
        wire.protocol._watch()
        assert wire.is_closing()

    known(work)
