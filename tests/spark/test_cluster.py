"""A standalone cluster: a master and two workers that share nothing but a store at a URI."""

from __future__ import annotations

import json
import os
import random
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import remuda as rm
from remuda.errors import RemudaError
from remuda.language.criterion import Criterion
from remuda.language.text import parse
from remuda.spark import workers
from remuda.spark.starting import ensure_java
from strategies import SOAK

CHILD = Path(__file__).with_name("cluster_child.py")
SHIPPING = Path(__file__).with_name("shipping_child.py")
BUILDING = Path(__file__).with_name("building_child.py")
N_KILLED = 20 if SOAK else 2


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


def listens(port: int) -> bool:
    with socket.socket() as one:
        return one.connect_ex(("127.0.0.1", port)) == 0


@dataclass(frozen=True)
class Cluster:
    """A master and two workers, and the directories that they work in."""

    url: str
    home: Path
    workers: tuple[int, ...]

    def executors(self) -> list[int]:
        """The processes of the executors that run now."""
        told = {}
        for path in Path("/proc").glob("[0-9]*"):
            try:
                parent = int((path / "stat").read_text().rpartition(")")[2].split()[1])
                told[int(path.name)] = parent, (path / "cmdline").read_bytes()
            except OSError:  # it has just ended
                continue
        backend = b"CoarseGrainedExecutorBackend"
        return [
            pid
            for pid, (parent, said) in told.items()
            if parent in self.workers and backend in said
        ]


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """Processes with working directories, homes and caches of their own."""
    import pyspark

    ensure_java()
    root = tmp_path_factory.mktemp("cluster")
    launcher = Path(pyspark.__file__).parent / "bin" / "spark-class"
    port, started = free_port(), []

    def start(name: str, *words: str) -> None:
        home = root / name
        home.mkdir()
        env = {
            **{key: value for key, value in os.environ.items() if "AWS" not in key},
            "HOME": str(home),
            "REMUDA_CACHE": str(home / "cache"),
            "SPARK_LOCAL_IP": "127.0.0.1",
            "SPARK_DAEMON_MEMORY": "256m",
        }
        env.pop("PYTHONPATH", None)
        with (home / "log").open("wb") as log:
            started.append(
                subprocess.Popen([launcher, *words], cwd=home, env=env, stdout=log, stderr=log)
            )

    deploy, at = "org.apache.spark.deploy", ["--host", "127.0.0.1", "--webui-port", "0"]
    try:
        start("master", f"{deploy}.master.Master", *at, "--port", str(port))
        while not listens(port):
            assert started[0].poll() is None
            time.sleep(0.2)
        url = f"spark://127.0.0.1:{port}"
        for i in range(2):
            size = "--cores", "1", "--memory", "1g"
            work = "--work-dir", str(root / f"worker{i}" / "work")
            start(f"worker{i}", f"{deploy}.worker.Worker", *at, *size, *work, url)
        yield Cluster(url, root, tuple(one.pid for one in started[1:]))
    finally:
        for one in started:
            one.terminate()
        for one in started:
            one.wait(30)


def driver(tmp_path: Path, *words: object) -> subprocess.Popen[str]:
    home = tmp_path / "driver"
    home.mkdir()
    env = {**os.environ, "REMUDA_CACHE": str(home / "cache")}
    command = [sys.executable, *map(str, words)]
    pipe = subprocess.PIPE
    return subprocess.Popen(command, cwd=home, env=env, stdout=pipe, stderr=pipe, text=True)


def answers_of(running: subprocess.Popen[str], out: Path) -> dict[str, Any]:
    """What a driver has written when it ended well."""
    try:
        stderr = running.communicate(timeout=300)[1]
    except subprocess.TimeoutExpired:
        running.kill()
        stderr = running.communicate()[1]
    assert running.returncode == 0, stderr[-3000:]
    told: dict[str, Any] = json.loads(out.read_text())
    return told


@pytest.mark.outside
def test_everything_with_nothing_shared_but_a_bucket(
    cluster: Cluster, bucket: str, tmp_path: Path
) -> None:
    out = tmp_path / "answers.json"
    words = CHILD, cluster.url, bucket, tmp_path / "checkpoint", out
    told = answers_of(driver(tmp_path, *words), out)
    assert told["built"] == ["v000001", 200, "v000002", 1, 199]
    index = rm.Index.build(
        Criterion(f"r{i}", parse(f"a >= {i % 50}")) for i in range(200) if i != 7
    )
    counts = index.count_many([{"a": a} for a in range(60)])
    assert told["counted"] == {str(a): n for a, n in enumerate(counts.tolist())}
    best = {a: [one.id for one in index.top({"a": int(a)}, 2)] for a in told["best"]}
    assert (told["best"], len(best)) == (best, 5)
    reached = index.reach([{"a": i % 60} for i in range(300)])
    assert told["reached"] == dict(zip(index.ids(), reached.tolist(), strict=True))
    assert [rows for rows, _ in told["batches"]] == [50, 50, 50]
    asked = ([{"a": i % 60} for i in range(first, first + 50)] for first in (0, 50, 100))
    assert [n for _, n in told["batches"]] == [int(index.count_many(one).sum()) for one in asked]
    assert told["problems"] == []
    homes = {str(cluster.home / name / "cache") for name in ("worker0", "worker1")}
    assert set(told["caches"]) == homes | {str(tmp_path / "driver" / "cache")}
    assert {one.name for one in tmp_path.iterdir()} == {"driver", "checkpoint", "answers.json"}
    assert {one.name for one in cluster.home.iterdir()} == {"master", "worker0", "worker1"}


@pytest.mark.outside
def test_an_index_is_sent_to_executors_without_credentials(
    cluster: Cluster, bucket: str, tmp_path: Path
) -> None:
    index = rm.Index.build(Criterion(f"r{i}", parse(f"a >= {i}")) for i in range(20))
    index.save(f"{bucket}/ads")
    out = tmp_path / "answers.json"
    told = answers_of(driver(tmp_path, SHIPPING, cluster.url, f"{bucket}/ads", out), out)
    assert told["counted"] == {str(a): a + 1 for a in range(20)}
    assert told["reached"] == 3 * sum(range(1, 21))
    own, *executors = told["problems"]
    assert (own, len(executors), all(executors)) == (0, 2, True), "they do not see the bucket"


@pytest.mark.outside
@pytest.mark.soak
def test_executors_and_drivers_that_are_killed_leave_whole_versions(
    cluster: Cluster, bucket: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Executors die in mid-build, tasks are tried again; at last the driver dies."""
    monkeypatch.setenv("REMUDA_CACHE", str(tmp_path / "cache"))
    uri, rng = f"{bucket}/ads", random.Random(1)
    rm.Index.build(Criterion(str(i), parse("a >= 0")) for i in range(60)).save(uri)
    running = driver(tmp_path, BUILDING, uri, 1, cluster.url)
    assert running.stdout is not None
    published = n_killed = 0
    try:
        while n_killed < N_KILLED:
            round_ = int(running.stdout.readline())  # every round before it was published
            assert len(rm.load(uri).match({"a": round_ - 1})) == 60
            published = round_ - 1
            time.sleep(0.2 + 3 * rng.random())
            for pid in cluster.executors()[:1]:
                os.kill(pid, signal.SIGKILL)
                n_killed += 1
        assert int(running.stdout.readline()) == published + 2, "it went on"
        time.sleep(3 * rng.random())
    finally:
        running.kill()
        rest = running.communicate()[0].split()
    index = rm.load(uri)
    held = [i for i in range(published + len(rest) + 3) if index.match({"a": i})]
    assert len(index) == len(index.match({"a": held[0]})) == 60
    assert held[0] >= published + 1
    print(f"{n_killed} executors and a driver killed: {held[0]} versions, all complete")


def own(**facts: str) -> dict[str, str]:
    return {**workers.here(None), "index": "v000001", "bytes": "100", **facts}


WRONG = {
    "no remuda": ({"error": "ModuleNotFoundError: no"}, "cannot load remuda"),
    "another remuda": ({"remuda": "0.0.1"}, "it has remuda 0.0.1, the driver"),
    "no place for kernels": ({"kernels": ""}, "NUMBA_CACHE_DIR"),
    "no index": ({"index": ""}, "does not see /ads as the driver does .nothing is there"),
    "another version": ({"index": "v000002"}, "does not see"),
    "too little memory": ({"memory": "10"}, "takes 100 bytes and 10 of memory"),
    "nothing": ({}, None),
}


@pytest.mark.parametrize("case", WRONG)
def test_what_an_executor_lacks_is_said_with_what_to_do(case: str) -> None:
    facts, said = WRONG[case]
    problems = list(workers._problems(own(**facts), own(), "/ads"))
    if said is None:
        assert problems == []
    else:
        assert len(problems) == 1
        assert re.search(said, problems[0])


def test_a_healthy_machine(spark, tmp_path: Path) -> None:
    rm.Index.build([Criterion("a", parse("b = 1"))]).save(tmp_path)
    driver, *executors = workers.doctor(spark, tmp_path)
    assert executors
    assert [one.problems for one in (driver, *executors)] == [()] * (1 + len(executors))
    assert driver.facts["index"] == executors[0].facts["index"] == "v000001"
    workers.check_workers(spark, tmp_path)


def test_a_directory_that_is_not_there(spark, tmp_path: Path) -> None:
    with pytest.raises(RemudaError, match=r"driver on .*: there is no directory"):
        workers.check_workers(spark, tmp_path / "nowhere")
