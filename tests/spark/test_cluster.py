"""A standalone cluster: a master and two workers that share nothing but a store at a URI."""

from __future__ import annotations

import json
import os
import random
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from children import kill, numbers, started, wait_for, wait_until

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
DEVICES = Path(__file__).with_name("device_child.py")
N_KILLED = 20 if SOAK else 2


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
    deploy, at = "org.apache.spark.deploy", ["--host", "127.0.0.1", "--webui-port", "0"]
    with ExitStack() as running:

        def start(name: str, *words: str) -> int:
            """Start a process; the port that it has chosen to listen at is known when it does."""
            home = root / name
            home.mkdir()
            env = {
                **{key: value for key, value in os.environ.items() if "AWS" not in key},
                "HOME": str(home),
                "REMUDA_CACHE": str(home / "cache"),
                "SPARK_LOCAL_IP": "127.0.0.1",
                "SPARK_DAEMON_MEMORY": "256m",
                "SPARK_WORKER_OPTS": _devices(home),
            }
            env.pop("PYTHONPATH", None)
            log = home / "log"
            one = running.enter_context(started([launcher, *words], log, cwd=home, env=env))
            wait_until(lambda: listening(log), one, log)
            return one.pid

        start("master", f"{deploy}.master.Master", *at, "--port", "0")
        url = listening(root / "master" / "log")
        size = "--cores", "1", "--memory", "1g"
        workers = []
        for name in ("worker0", "worker1"):
            more = "--work-dir", str(root / name / "work"), "--port", "0"
            workers.append(start(name, f"{deploy}.worker.Worker", *at, *size, *more, url))
        yield Cluster(url, root, tuple(workers))


def _devices(home: Path) -> str:
    """What a worker is told so that it has one device, whose address is 7."""
    script = home / "devices.sh"
    script.write_text("""#!/bin/sh\necho '{"name": "gpu", "addresses": ["7"]}'\n""")
    script.chmod(0o755)
    own = "-Dspark.worker.resource.gpu"
    return f"{own}.amount=1 {own}.discoveryScript={script}"


def listening(log: Path) -> str:
    """The address of a master, or of the master that a worker is registered with."""
    told = re.search(r"(?:Spark master at|registered with master) (spark://\S+)", log.read_text())
    return told[1] if told else ""


@contextmanager
def driver(tmp_path: Path, *words: object) -> Iterator[subprocess.Popen[bytes]]:
    """A driver in a directory of its own, which says in `log` what it does."""
    home = tmp_path / "driver"
    home.mkdir()
    env = {**os.environ, "REMUDA_CACHE": str(home / "cache")}
    with started([sys.executable, *words], home / "log", cwd=home, env=env) as running:
        yield running


def answers_of(tmp_path: Path, out: Path, *words: object) -> dict[str, Any]:
    """What a driver has written when it ended well."""
    with driver(tmp_path, *words) as running:
        wait_for(running, tmp_path / "driver" / "log")
    told: dict[str, Any] = json.loads(out.read_text())
    return told


@pytest.mark.outside
def test_everything_with_nothing_shared_but_a_bucket(
    cluster: Cluster, bucket: str, tmp_path: Path
) -> None:
    out = tmp_path / "answers.json"
    words = CHILD, cluster.url, bucket, tmp_path / "checkpoint", out
    told = answers_of(tmp_path, out, *words)
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
    told = answers_of(tmp_path, out, SHIPPING, cluster.url, f"{bucket}/ads", out)
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
    log, n_killed = tmp_path / "driver" / "log", 0

    def rounds(n: int) -> bool:
        return len(numbers(log)) >= n

    with driver(tmp_path, BUILDING, uri, 1, cluster.url) as running:
        while n_killed < N_KILLED:
            n_rounds = len(numbers(log)) + 1
            wait_until(partial(rounds, n_rounds), running, log)
            assert complete(uri) >= n_rounds - 1, "every round before it was published"
            time.sleep(0.2 + 3 * rng.random())
            for pid in cluster.executors()[:1]:
                n_killed += kill(pid)
        n_rounds = len(numbers(log)) + 1
        wait_until(partial(rounds, n_rounds), running, log)  # it went on
        time.sleep(3 * rng.random())
    last = complete(uri)
    assert last >= n_rounds - 1
    print(f"{n_killed} executors and a driver killed: {last} versions, all complete")


def complete(uri: str) -> int:
    """The round that the published version is of, which has all of its criteria."""
    index = rm.load(uri)
    held = next(a for a in range(200) if index.match({"a": a}))
    assert len(index) == len(index.match({"a": held})) == 60
    return held


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


@pytest.mark.outside
def test_a_task_uses_the_device_that_spark_gave_it(cluster: Cluster, tmp_path: Path) -> None:
    """Under Numba's simulator, which has one device; the other cannot be there."""
    rm.Index.build(Criterion(f"r{i}", parse(f"a >= {i}")) for i in range(3)).save(tmp_path / "ads")
    out = tmp_path / "answers.json"
    told = answers_of(tmp_path, out, DEVICES, cluster.url, tmp_path / "ads", out)
    assert told["7"] == {
        "0": ["r0"],
        "1": ["r0", "r1"],
        "2": ["r0", "r1", "r2"],
        "3": ["r0", "r1", "r2"],
    }
    assert "there is no CUDA device 7: this process sees 1" in told["5,6"]
