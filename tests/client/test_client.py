"""A client answers as the engine does that its service has."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import httpx
import polars as pl
import pyarrow as pa
import pytest

import remuda as rm
from asking import OURSELVES, Sync
from remuda.client import client as module
from remuda.service import jobs
from remuda.service.app import application
from remuda.service.calls import Service
from remuda.service.tokens import Tokens

RULES = [
    rm.Criterion("young", rm.parse("age < 25 AND platform = 'web'"), tags=frozenset({"t1"})),
    rm.Criterion("adult", rm.parse("age >= 18").weight(3.0), tags=frozenset({"t2"})),
    rm.Criterion("odd/ü ?", rm.parse("length(name) > 3 OR name = 'x'")),
    rm.Criterion("brief", rm.attr("age").exists(), valid_until=datetime(2020, 1, 1, tzinfo=UTC)),
]
EVENT = {"age": 20, "name": "long name", "platform": "web"}


class Lasting(Sync):
    """An application whose answers are lost on their way while there are failures."""

    def __init__(self, app: Any) -> None:
        super().__init__(app)
        self.failures: list[Exception] = []

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        found = super().handle_request(request)
        if self.failures:
            raise self.failures.pop(0)
        return found


@pytest.fixture
def engine() -> rm.Engine:
    engine = rm.Engine(matcher="scan")
    engine.add("ads", RULES)
    return engine


@pytest.fixture
def client(engine: rm.Engine) -> rm.Client:
    return rm.Client(OURSELVES, transport=Lasting(application(Service(engine))))


THEN = datetime(2019, 5, 1, 12, tzinfo=UTC)
ASKED: dict[str, tuple[str, tuple[Any, ...], dict[str, Any]]] = {
    "names": ("names", (), {}),
    "search": ("search", ("ads", EVENT), {}),
    "search with tags": ("search", ("ads", EVENT), {"tags": {"t1"}}),
    "search then": ("search", ("ads", EVENT), {"now": THEN}),
    "search at a millisecond": ("search", ("ads", EVENT), {"now": 0}),
    "scan": ("scan", ("ads", EVENT), {"tags": ["t2"]}),
    "top": ("top", ("ads", EVENT, 2), {"weights": {"age": 7.5}}),
    "top by values": ("top", ("ads", EVENT, 2), {"weights": {"age": {"5": 2.0}}}),
    "top by priority": ("top", ("ads", EVENT, 2), {"by": "priority", "per": "by"}),
    "top of none": ("top", ("ads", {}, 2), {}),
    "nearest": ("nearest", ("ads", {"age": 30}, 3), {}),
    "undecided": ("undecided", ("ads", {"age": 20}, ["platform"]), {}),
    "undecided with tags": ("undecided", ("ads", EVENT, ["age", "name"]), {"tags": ["t1"]}),
    "explain": ("explain", ("ads", EVENT, "young"), {}),
    "explain operations": ("explain", ("ads", EVENT, "odd/ü ?"), {}),
    "explain a term": ("explain", ("ads", EVENT, "brief"), {}),
    "get": ("get", ("ads", "odd/ü ?"), {}),
    "export": ("export", ("ads",), {}),
    "snapshot": ("snapshot", ("ads",), {}),
    "stats": ("stats", ("ads",), {}),
}


@pytest.mark.parametrize(("method", "arguments", "named"), ASKED.values(), ids=ASKED)
def test_it_answers_as_the_engine_does(
    engine: rm.Engine, client: rm.Client, method: str, arguments: Any, named: Any
) -> None:
    found = getattr(client, method)(*arguments, **named)
    expected = getattr(engine, method)(*arguments, **named)
    assert found == expected
    assert str(found) == str(expected)


REGIONS: dict[str, Any] = {
    "text": "age BETWEEN 18 AND 20 AND platform = 'web'",
    "an expression": rm.parse("age < 18"),
    "JSON": rm.Criterion("any", rm.parse("age = 3")).to_json(),
}


@pytest.mark.parametrize("where", REGIONS.values(), ids=REGIONS)
@pytest.mark.parametrize("method", ["possible", "certain"])
@pytest.mark.parametrize("how", [{}, {"missing": ["name"], "tags": ["t1", "t2"]}], ids=str)
def test_regions_are_those_of_the_engine(
    engine: rm.Engine, client: rm.Client, method: str, where: Any, how: Any
) -> None:
    found = getattr(client, method)("ads", where, **how)
    expected = getattr(engine, method)("ads", where, **how)
    assert found.ids == expected.ids(0)
    assert not found.exact or expected.exact[0]


@pytest.mark.parametrize("form", ["objects", "lines", "Arrow", "batch", "Polars"])
def test_batches_of_every_form(engine: rm.Engine, client: rm.Client, form: str) -> None:
    rows: list[dict[str, Any]] = [{"age": 20, "platform": "web"}, {"age": 3}, {}]
    forms: dict[str, Any] = {
        "objects": rows,
        "lines": b'{"age": 20, "platform": "web"}\n{"age": 3}\n{}',
        "Arrow": pa.Table.from_pylist(rows),
        "batch": pa.RecordBatch.from_pylist(rows),
        "Polars": pl.from_dicts(rows, infer_schema_length=None),
    }
    found = client.match_many("ads", forms[form])
    assert found["ids"].to_pylist() == [engine.search("ads", event) for event in rows]
    best = client.match_many("ads", forms[form], n=1, tags=["t2"])
    expected = [[one.score for one in engine.top("ads", event, 1, tags=["t2"])] for event in rows]
    assert best["scores"].to_pylist() == expected


def test_it_changes_what_the_service_has(engine: rm.Engine, client: rm.Client) -> None:
    more = [rm.Criterion("n1", rm.parse("a = 1")), rm.Criterion("n2", rm.parse("a = 2"))]
    client.add("new", more)
    assert engine.search("new", {"a": 2}) == ["n2"]
    client.update("new", rm.Criterion("n2", rm.parse("a = 1")))
    assert client.search("new", {"a": 1}) == ["n1", "n2"]
    client.disable("new", "n1")
    assert client.search("new", {"a": 1}) == ["n2"]
    client.enable("new", "n1")
    client.delete("new", "n2")
    assert client.search("new", {"a": 1}) == ["n1"]
    client.load("copy", client.export("new"))
    client.replace("ads", "copy")
    client.drop("new")
    assert client.names() == ["ads"] == engine.names()
    assert client.search("ads", {"a": 1}) == ["n1"]


def test_long_work_is_waited_for(engine: rm.Engine, client: rm.Client) -> None:
    found, expected = client.ratify("ads", full=False), engine.ratify("ads", full=False)
    assert found.ok
    assert replace(found, seconds=0) == replace(expected, seconds=0)
    candidate = rm.Criterion("young too", rm.parse("age < 20 AND platform = 'web'"))
    assert client.similarity("ads", candidate, n=2) == engine.similarity("ads", candidate, n=2)
    with pytest.raises(rm.IndexNotFound):
        client.ratify("none")


class AtOnce(ThreadPoolExecutor):
    """Work that is done before anybody asks for it."""

    def submit(self, fn: Any, /, *args: Any, **kwargs: Any) -> Any:
        done = super().submit(fn, *args, **kwargs)
        wait([done])
        return done


def test_work_that_is_done_at_once(engine: rm.Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jobs, "ThreadPoolExecutor", AtOnce)
    with rm.Client(OURSELVES, transport=Lasting(application(Service(engine)))) as client:
        assert client.ratify("ads", full=False).ok


REFUSED: dict[str, Any] = {
    "index": lambda asked: asked.search("none", {}),
    "criterion": lambda asked: asked.get("ads", "none"),
    "delete": lambda asked: asked.delete("ads", "young", "none"),
    "duplicate": lambda asked: asked.add("ads", RULES[:1]),
    "twice": lambda asked: asked.add("ads", [rm.Criterion("x", rm.parse("a = 1"))] * 2),
    "exists": lambda asked: asked.load("ads", "[]"),
    "no criteria": lambda asked: asked.load("new", '[{"form": "DNF"}]'),
    "mustang": lambda asked: asked.export("ads", mustang=True),
    "no region": lambda asked: asked.possible("ads", "age < 3 OR name = 'x'"),
    "weights": lambda asked: asked.top("ads", {}, 1, weights={"a": 1e300}),
}


@pytest.mark.parametrize("way", REFUSED.values(), ids=REFUSED)
def test_errors_are_those_of_the_engine(engine: rm.Engine, client: rm.Client, way: Any) -> None:
    with pytest.raises(rm.RemudaError) as expected:
        way(engine)
    with pytest.raises(type(expected.value)) as found:
        way(client)
    assert type(found.value) is type(expected.value)
    assert found.value.args == expected.value.args
    assert len(engine.index("ads")) == len(RULES)


def test_what_the_engine_has_no_error_for_says_its_status(client: rm.Client) -> None:
    with pytest.raises(rm.ServiceError, match="10,000 are the most") as found:
        client.top("ads", {}, 10_001)
    assert found.value.status == 400
    assert found.value.request


def test_it_brings_its_token(engine: rm.Engine, tmp_path: Any) -> None:
    file = tmp_path / "tokens"
    file.write_text("read a-token-for-reading\n")
    app = application(Service(engine, tokens=Tokens(file)))
    with rm.Client(OURSELVES, token="a-token-for-reading", transport=Lasting(app)) as reader:
        assert reader.names() == ["ads"]
        with pytest.raises(rm.ServiceError, match="needs the role write"):
            reader.delete("ads", "young")
    with (
        rm.Client(OURSELVES, transport=Lasting(app)) as stranger,
        pytest.raises(rm.ServiceError, match="401"),
    ):
        stranger.names()


def test_only_what_does_no_harm_is_sent_again(
    engine: rm.Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_PAUSES", (0.0, 0.0))
    transport = Lasting(application(Service(engine)))
    client = rm.Client(OURSELVES, transport=transport)
    transport.failures = [httpx.ReadError("lost"), httpx.ConnectError("refused")]
    assert client.search("ads", {"age": 30}) == ["adult"]
    transport.failures = [httpx.ReadError("lost")] * 3
    with pytest.raises(rm.ServiceError, match="cannot be reached: ReadError"):
        client.search("ads", {})
    transport.failures = [httpx.ReadError("lost")]
    with pytest.raises(rm.ServiceError, match="may have been made"):
        client.delete("ads", "young")
    assert "young" not in engine.index("ads")


def test_another_version_is_told_once(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(module, "_SAID", set())

    def answer(_: httpx.Request) -> httpx.Response:
        return httpx.Response(200, headers={"x-remuda-version": "99.1"}, json={"indexes": []})

    client = rm.Client(OURSELVES, transport=httpx.MockTransport(answer))
    assert client.names() == client.names() == []
    assert caplog.text.count("the service 99.1") == 1


def test_another_version_is_told_by_the_service_too(
    engine: rm.Engine, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    transport = Lasting(application(Service(engine)))
    assert rm.Client(OURSELVES, transport=transport).names() == ["ads"]
    assert not caplog.text
    monkeypatch.setattr(module, "_OWN", "99.2")
    monkeypatch.setattr(module, "_SAID", set())
    for _ in range(2):
        rm.Client(OURSELVES, transport=transport).names()
    assert caplog.text.count("a client 99.2") == 1


@pytest.mark.parametrize(
    "answer", [b"", b"<html>", b"[]", b'{"error": "Engine"}', b'{"error": "IndexNotFound"}']
)
def test_an_answer_of_something_else_is_told(answer: bytes) -> None:
    client = rm.Client(
        OURSELVES, transport=httpx.MockTransport(lambda _: httpx.Response(502, content=answer))
    )
    with pytest.raises(rm.ServiceError, match="502"):
        client.names()


def test_the_same_can_be_awaited(engine: rm.Engine) -> None:
    async def ask() -> None:
        transport = httpx.ASGITransport(application(Service(engine)))
        async with rm.AsyncClient(OURSELVES, transport=transport) as client:
            assert await client.search("ads", EVENT) == engine.search("ads", EVENT)
            await client.add("new", RULES)
            assert (await client.ratify("new", full=False)).ok
            with pytest.raises(rm.IndexNotFound):
                await client.search("none", {})
        assert engine.names() == ["ads", "new"]

    asyncio.run(ask())


def test_both_clients_have_the_same_methods() -> None:
    def public(kind: type) -> set[str]:
        return {name for name in dir(kind) if not name.startswith("_")}

    assert public(rm.Client) == public(rm.AsyncClient)
    assert public(rm.Client) - {"close"} <= public(rm.Engine)


def test_without_httpx_it_says_what_to_install() -> None:
    code = (
        "import sys; sys.modules['httpx'] = None\n"
        "import remuda\n"
        "try: remuda.Client('http://127.0.0.1')\n"
        "except ImportError as error: print(error)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "pip install 'remuda[client]'" in done.stdout
