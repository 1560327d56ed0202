"""Several workers are one service: what one acknowledged, all answer; kills lose nothing."""

from __future__ import annotations

import os
import random
import re
import signal
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from server_processes import PATIENCE, Started, served, until, workers_of

import remuda as rm
from strategies import SEED, count

ONCE = {"connection": "close"}  # the next request may come to another worker
SEQUENCE = "x-remuda-sequence"
CRITERIA = "/v1/indexes/ads/criteria"
MATCH = "/v1/indexes/ads/match"
AGAIN = {503, 504}  # the writer is on its way back, or the machine is busy: nothing is said


@pytest.fixture(scope="module")
def both() -> Iterator[tuple[Started, httpx.Client]]:
    with served("--workers", "2", "--hits") as (process, http):
        until(lambda: len(workers_of(process)) == 2)
        yield process, http


def seen_by_all(http: httpx.Client, change: httpx.Response) -> None:
    """Wait until both workers have told that they are as far as a change."""
    number = int(change.headers[SEQUENCE])

    def told() -> bool:
        text = http.get("/metrics", headers=ONCE).text
        found = re.findall(r"^remuda_log_position_bytes{.*} (\d+)$", text, re.MULTILINE)
        return len(found) == 2 and min(map(int, found)) >= number

    until(told)


def test_a_change_is_seen_by_all_who_ask_with_its_number(both: Any) -> None:
    _, http = both
    for i in range(30):
        put = http.put(f"{CRITERIA}/c{i}", json={"expression": f"a = {i}"}, headers=ONCE)
        assert put.status_code == 201
        number = {SEQUENCE: put.headers[SEQUENCE], **ONCE}
        for _ in range(3):
            found = http.post(MATCH, json={"event": {"a": i}}, headers=number)
            assert found.json() == {"ids": [f"c{i}"]}, found.headers


def test_others_see_it_without_its_number(both: Any) -> None:
    _, http = both
    seen_by_all(http, http.put(f"{CRITERIA}/soon", json={"expression": "b = 1"}, headers=ONCE))
    for _ in range(10):
        assert http.post(MATCH, json={"event": {"b": 1}}, headers=ONCE).json() == {"ids": ["soon"]}


def test_refusals_come_from_the_writer_as_they_are(both: Any) -> None:
    _, http = both
    for i in range(6):
        headers = {"x-request-id": f"r-{i}", **ONCE}
        found = http.put(f"{CRITERIA}/x", json={"expression": "a ="}, headers=headers)
        assert found.status_code == 422
        assert found.headers.get_list("content-type") == ["application/problem+json"]
        assert found.headers.get_list("x-request-id") == [f"r-{i}"]
        assert found.json()["instance"] == f"urn:remuda:request:r-{i}"
        assert found.json()["error"] == "InvalidCriterion"


def test_a_number_that_none_has_given_is_refused_where_it_is_waited_for(both: Any) -> None:
    _, http = both
    body = {"expression": "number = 1"}
    seen_by_all(http, http.put(f"{CRITERIA}/number", json=body, headers=ONCE))
    headers = {SEQUENCE: "never", **ONCE}
    seen = {http.post(MATCH, json={"event": {}}, headers=headers).status_code for _ in range(20)}
    assert seen <= {200, 400}  # the writer has no one to wait for


def test_jobs_are_the_same_to_all(both: Any) -> None:
    _, http = both
    http.put(f"{CRITERIA}/job", json={"expression": "c = 1"}, headers=ONCE)
    found = http.post("/v1/indexes/ads/ratify", json={"full": False}, headers=ONCE)
    assert found.status_code == 202
    at = found.headers["location"]
    until(lambda: http.get(at, headers=ONCE).json()["ended"] is not None)
    job = http.get(at, headers=ONCE).json()
    assert job["status"] == "done"
    assert job["result"]["ok"]
    with rm.Client(str(http.base_url)) as client:
        assert client.ratify("ads", full=False).ok


def test_whichever_is_asked_tells_of_all(both: Any) -> None:
    _, http = both
    seen_by_all(http, http.put(f"{CRITERIA}/hit", json={"expression": "hit = 1"}, headers=ONCE))
    for _ in range(10):
        http.post(MATCH, json={"event": {"hit": 1}}, headers=ONCE)
    wanted = {
        'remuda_criterion_hits_total{index="ads",criterion="hit"} 10',
        'remuda_log_lag_bytes{worker="1"} 0',
    }

    def told() -> bool:
        """Whether six who were asked have all said so; each tells of itself now and then."""
        texts = [http.get("/metrics", headers=ONCE).text for _ in range(6)]
        return all(wanted <= set(text.splitlines()) for text in texts)

    until(told)


def test_all_know_the_trees(tmp_path: Path) -> None:
    tree = tmp_path / "geo.json"
    tree.write_text('{"Berlin": "Germany", "Germany": "Europe", "Europe": null}')
    rule = {"expression": "under(place, 'geo', 'Europe')"}
    with served("--workers", "2", "--tree", f"geo={tree}") as (process, http):
        until(lambda: len(workers_of(process)) == 2)
        put = http.put(f"{CRITERIA}/near", json=rule, headers=ONCE)
        assert put.status_code == 201, put.text
        number = {SEQUENCE: put.headers[SEQUENCE], **ONCE}
        for _ in range(6):
            found = http.post(MATCH, json={"event": {"place": "Berlin"}}, headers=number)
            assert found.json() == {"ids": ["near"]}


def test_all_end_when_they_are_told_to(tmp_path: Path) -> None:
    with served(str(tmp_path / "engine"), "--workers", "2") as (process, http):
        http.put(f"{CRITERIA}/kept", json={"expression": "a = 1"})
        workers = workers_of(process)
        process.send_signal(signal.SIGINT)
        assert process.wait(PATIENCE) == 0
        assert not any(Path(f"/proc/{one}").exists() for one in workers.values())
    with rm.Engine(tmp_path / "engine") as engine:
        assert engine.search("ads", {"a": 1}) == ["kept"]


def test_without_the_one_who_started_them_they_end(tmp_path: Path) -> None:
    with served(str(tmp_path / "engine"), "--workers", "2") as (process, _):
        workers = workers_of(process)
        process.kill()
        until(lambda: not any(_runs(one) for one in workers.values()))


def _runs(process: int) -> bool:
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


class Load:
    """Threads that change and ask, and remember what was acknowledged."""

    def __init__(self, url: str, n_threads: int) -> None:
        self.url, self.ending = url, threading.Event()
        self.done: list[dict[str, int]] = [{} for _ in range(n_threads)]
        self.tried: list[set[str]] = [set() for _ in range(n_threads)]
        self.n_asked = 0
        self.faults: list[str] = []
        self.threads = [threading.Thread(target=self._work, args=(i,)) for i in range(n_threads)]

    def n_done(self) -> int:
        return sum(map(len, self.done))

    def _work(self, thread: int) -> None:
        rng = random.Random(f"{SEED} {thread}")
        with httpx.Client(base_url=self.url, timeout=PATIENCE) as http:
            i = 0
            while not self.ending.is_set():
                i += 1
                try:
                    self._change(http, thread, i)
                    self._ask(http, thread, rng)
                except httpx.TransportError:
                    time.sleep(0.02)  # its worker was killed
                except Exception as error:
                    self.faults.append(repr(error))
                    return

    def _change(self, http: httpx.Client, thread: int, i: int) -> None:
        name = f"c{thread}-{i}"
        self.tried[thread].add(name)
        body = {"expression": f"t = {thread} AND k < {i % 50}"}
        found = http.put(f"{CRITERIA}/{name}", json=body, headers=ONCE)
        if found.status_code == 201:
            self.done[thread][name] = int(found.headers[SEQUENCE])
        elif found.status_code not in {200, *AGAIN}:
            self.faults.append(found.text)

    def _ask(self, http: httpx.Client, thread: int, rng: random.Random) -> None:
        """A thread's own criteria: all that were acknowledged, and none that cannot be there."""
        k, own = rng.randrange(50), self.done[thread]
        number = {SEQUENCE: str(max(own.values())), **ONCE} if own else ONCE
        found = http.post(MATCH, json={"event": {"t": thread, "k": k}}, headers=number)
        if found.status_code in AGAIN or (found.status_code == 404 and not own):
            return
        ids = set(found.json()["ids"])
        self.n_asked += 1
        expected = {name for name in own if k < int(name.partition("-")[2]) % 50}
        allowed = {name for name in self.tried[thread] if k < int(name.partition("-")[2]) % 50}
        if not expected <= ids <= allowed:
            self.faults.append(
                f"{thread}, {k}: {expected - ids} are missing, {ids - allowed} wrong"
            )


@pytest.mark.soak
def test_service_kills(tmp_path: Path) -> None:
    """kill -9 of a worker and of the writer, by turns and under load."""
    root, n_kills, rng = str(tmp_path / "engine"), count(2, 20), random.Random(SEED)
    slowest = {"the writer": 0.0, "a worker": 0.0}
    with served(root, "--workers", "3") as (process, http):
        load = Load(str(http.base_url), 3)
        for one in load.threads:
            one.start()
        try:
            for kill in range(n_kills):
                until(lambda: len(workers_of(process)) == 3)
                before = load.n_done()
                until(lambda before=before: load.n_done() >= before + 20)  # type: ignore[misc]
                time.sleep(rng.uniform(0.0, 0.3))
                number = 0 if kill % 2 == 0 else rng.choice((1, 2))
                killed = workers_of(process)[number]
                os.kill(killed, signal.SIGKILL)
                start, before = time.monotonic(), load.n_done()
                until(
                    lambda killed=killed, number=number, before=before: (  # type: ignore[misc]
                        workers_of(process).get(number, killed) != killed and load.n_done() > before
                    )
                )
                which = "the writer" if number == 0 else "a worker"
                slowest[which] = max(slowest[which], time.monotonic() - start)
                assert not load.faults, load.faults[:3]
        finally:
            load.ending.set()
            for one in load.threads:
                one.join(PATIENCE)
        assert not load.faults, load.faults[:3]
        acknowledged = {name: at for own in load.done for name, at in own.items()}
        seen = {SEQUENCE: str(max(acknowledged.values()))}  # whichever worker it is that answers
        until(lambda: http.get("/v1/indexes/ads", headers=seen).status_code == 200)
        there = {one["id"] for one in http.get("/v1/indexes/ads/export", headers=seen).json()}
        assert acknowledged.keys() <= there <= {name for own in load.tried for name in own}
        process.send_signal(signal.SIGTERM)
        assert process.wait(PATIENCE) == 0
    with rm.Engine(root) as engine:
        assert acknowledged.keys() <= {one.id for one in engine.index("ads")}
    back = ", ".join(f"{which} back within {seconds:.1f} s" for which, seconds in slowest.items())
    sys.stdout.write(
        f"{n_kills} kills, {len(acknowledged):,} acknowledged changes, all there; "
        f"{load.n_asked:,} answers, all right; {back}\n"
    )
