"""The page at `/`: what it is made of, and what a browser makes of it."""

from __future__ import annotations

import json
import re
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
import uvicorn

import remuda as rm
from remuda.service.app import application
from remuda.service.calls import Service
from remuda.service.tokens import Tokens


def test_it_needs_nothing_from_elsewhere(http: Any) -> None:
    page = http.get("/")
    assert page.headers["content-type"].startswith("text/html")
    assert "default-src 'self'" in page.headers["content-security-policy"]
    parts = re.findall(r'(?:src|href)="([^"]+)"', page.text)
    texts = [page.text]
    for part in parts:
        if not part.startswith("data:"):
            found = http.get(f"/{part}")
            assert found.status_code == 200, part
            texts.append(found.text)
    assert not any(re.search(r"https?://|innerHTML|\beval\(", text) for text in texts)


def test_every_element_that_the_script_looks_for_is_there(http: Any) -> None:
    page, script = http.get("/").text, http.get("/page/script.js").text
    wanted = set(re.findall(r'find\("([\w-]+)"\)', script))
    assert wanted
    assert wanted <= set(re.findall(r'id="([\w-]+)"', page))


class Listening:
    """A server in a thread of this process."""

    def __init__(self, service: Service) -> None:
        config = uvicorn.Config(application(service), port=0, lifespan="off", log_level="error")
        self._server = uvicorn.Server(config)
        self._thread = threading.Thread(target=self._server.run)

    def __enter__(self) -> str:
        self._thread.start()
        while not self._server.started:
            time.sleep(0.01)
        port = self._server.servers[0].sockets[0].getsockname()[1]
        return f"http://127.0.0.1:{port}/"

    def __exit__(self, *_: object) -> None:
        self._server.should_exit = True
        self._thread.join()


HOSTILE = "<img src=x onerror=document.title='taken'>"


@pytest.fixture
def tab(tmp_path: Path) -> Iterator[Any]:
    from browser import browser

    with browser(tmp_path / "profile") as opened:
        yield opened


@pytest.mark.outside
def test_an_event_is_tried_and_explained(engine: rm.Engine, tab: Any) -> None:
    engine.add(HOSTILE, rm.Criterion(HOSTILE, rm.parse("age >= 18")))
    with Listening(Service(engine)) as url:
        tab.open(url)
        tab.until("document.querySelectorAll('#indexes tbody tr').length === 2")
        assert tab.run("document.getElementById('version').textContent")
        assert "ads" in tab.run("document.getElementById('indexes').innerText")
        tab.run("document.getElementById('index').value = 'ads'")
        tab.run("document.getElementById('event').value = '{\"age\": 70}'")
        tab.run("document.getElementById('match').click()")
        tab.until("document.getElementById('outcome').textContent.startsWith('2 criteria hold')")
        tab.run("document.querySelector('#answers summary').click()")
        assert "age >= 18: saw 70" in tab.until("document.querySelector('#answers pre')?.innerText")
        tab.run("document.getElementById('nearest').click()")
        tab.until("document.getElementById('outcome').textContent === 'The nearest misses'")
        tab.run("document.getElementById('event').value = '{\"age\":'")
        tab.run("document.getElementById('match').click()")
        tab.until(
            "document.getElementById('notice').textContent.startsWith('The event is not JSON')"
        )
        tab.run(f"document.getElementById('index').value = {json.dumps(HOSTILE)}")
        tab.run("document.getElementById('event').value = '{\"age\": 70}'")
        tab.run("document.getElementById('match').click()")
        tab.until("document.getElementById('outcome').textContent.startsWith('1 criterion holds')")
        assert tab.run("document.title") == "remuda"


@pytest.mark.outside
def test_an_example_is_made_and_matched(engine: rm.Engine, tab: Any) -> None:
    with Listening(Service(engine)) as url:
        tab.open(url)
        tab.until("document.querySelectorAll('#indexes tbody tr').length === 1")
        tab.run("document.getElementById('event').value = ''")
        tab.run("document.getElementById('example').click()")
        outcome = tab.until("document.getElementById('outcome').textContent")
        event = json.loads(tab.run("document.getElementById('event').value"))
        expected = len(engine.scan("ads", event))
        assert expected
        assert outcome.startswith(f"{expected} criteri")


@pytest.mark.outside
def test_the_api_is_told_and_searched(engine: rm.Engine, tab: Any) -> None:
    shown = "[...document.querySelectorAll('#operations details')].filter((one) => !one.hidden)"
    with Listening(Service(engine)) as url:
        tab.open(f"{url}api#match")
        tab.until("document.querySelectorAll('#operations details').length")
        paths = httpx.get(f"{url}openapi.json").json()["paths"]
        assert tab.run(f"{shown}.length") == sum(map(len, paths.values()))
        assert tab.run("document.getElementById('match').open")
        assert "event: anything" in tab.run("document.getElementById('match').innerText")
        tab.run("document.getElementById('filter').value = 'nearest'")
        tab.run("document.getElementById('filter').dispatchEvent(new Event('input'))")
        assert tab.run(f"{shown}.map((one) => one.id)") == ["nearest"]


@pytest.mark.outside
def test_a_token_is_asked_for(engine: rm.Engine, tab: Any, tmp_path: Path) -> None:
    file = tmp_path / "tokens"
    file.write_text("read a-token-for-reading\n")
    with Listening(Service(engine, tokens=Tokens(file))) as url:
        tab.open(url)
        tab.until("!document.getElementById('entry').hidden")
        tab.run("document.getElementById('token').value = 'a-token-for-reading'")
        tab.run("document.querySelector('#entry button').click()")
        tab.until("document.querySelectorAll('#indexes tbody tr').length === 1")
        assert tab.run("document.getElementById('entry').hidden")
