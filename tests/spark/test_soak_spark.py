"""Builds and a stream, killed at any moment: versions are complete, every event is there once."""

from __future__ import annotations

import random
import sys
import time
from collections import Counter
from pathlib import Path

import pipeline_child
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from children import kill, numbers, processes, said, started, wait_until

from remuda.index.index import Index, load
from remuda.index.storage import current_version, read_version
from remuda.spark.building import sweep
from remuda.spark.streaming import Batch, batches
from strategies import SEED, count

N_EVENTS = 30  # in a file


@pytest.mark.soak
def test_pipeline_killed_at_any_moment(spark, tmp_path):
    rng = random.Random(SEED)
    home = tmp_path
    n_files = n_workers = 0
    for round_ in range(count(1, 20)):
        n_batches, n_files = finished(home), arrive(home / "events", n_files, 3)
        words = [sys.executable, pipeline_child.__file__, home, 1000 * round_]
        with started(words, log := home / "log") as child:
            wait_until(lambda n=n_batches: numbers(log) and finished(home) > n, child, log)
            for _ in range(3):
                time.sleep(rng.uniform(0, 1.5))
                n_workers += kill_a_worker(child.pid, rng)
                n_files = arrive(home / "events", n_files, 1)
            time.sleep(rng.uniform(0, 1.5))
            assert child.poll() is None, said(log)
        whole(load(home / "index"))
    n_files = arrive(home / "events", n_files, 1)  # for the last version
    pipeline_child.build(spark, home / "index", 10**6)
    pipeline_child.stream(spark, home, trigger={"availableNow": True}).awaitTermination()
    n_versions = check_versions(home / "index")
    told = check_output(home, n_files * N_EVENTS)
    check_swaps(home / "index", told)
    sys.stdout.write(
        f"\n{count(1, 20)} drivers and {n_workers} workers killed: {n_versions} versions, all "
        f"complete; {n_files * N_EVENTS} events in {len(told)} batches, each once\n"
    )


def finished(home: Path) -> int:
    """How many batches are published."""
    return len(list((home / "out").glob("batch_id=*")))


def arrive(folder: Path, n_files: int, more: int) -> int:
    """Some files of events more; each appears complete."""
    folder.mkdir(exist_ok=True)
    for number in range(n_files, n_files + more):
        ids = range(number * N_EVENTS, (number + 1) * N_EVENTS)
        aside = folder / f"_{number}.parquet"
        pq.write_table(pa.table({"id": ids, "a": [i % 11 for i in ids]}), aside)
        aside.rename(folder / f"{number}.parquet")
    return n_files + more


def kill_a_worker(session: int, rng: random.Random) -> int:
    """Kill a Python worker, if there is one; how many were killed."""
    found = processes(session)
    daemons = {pid for pid, (_, command) in found.items() if "pyspark.daemon" in command}
    workers = sorted(pid for pid in daemons if found[pid][0] in daemons)
    return sum(kill(pid) for pid in rng.sample(workers, min(1, len(workers))))


def whole(index: Index) -> None:
    """It has one variant, and all of it."""
    (name,) = (one.id for one in index if one.id.startswith("variant"))
    expected = pipeline_child.variant(int(name.removeprefix("variant")))
    found = {one.id: one.to_json() for one in index}
    assert found == {one.id: one.to_json() for one in expected}


def check_versions(home: Path) -> int:
    """Every version is complete, and after a sweep there is nothing that none of them names."""
    names = [one.name for one in (home / "versions").iterdir() if one.name[0] == "v"]
    for name in names:
        whole(load(home, version=name))
    sweep(home)
    named = {entry["segment"] for name in names for entry in read_version(home, name).segments}
    assert {one.name for one in (home / "segments").iterdir()} == named
    return len(names)


def check_output(home: Path, n_events: int) -> list[Batch]:
    """Every event is there once, with the version of its batch and what that version finds."""
    told = list(batches(home / "out"))
    versions = {one.batch_id: one.version for one in told}
    sizes = {one.batch_id: (one.rows, one.matches) for one in told}
    indexes = {name: load(home / "index", version=name) for name in set(versions.values())}
    seen: Counter[int] = Counter()
    for batch_id, version in versions.items():
        rows = pq.read_table(home / "out" / f"batch_id={batch_id}").to_pylist()
        seen.update(row["id"] for row in rows)
        assert sizes[batch_id] == (len(rows), sum(len(row["matches"]) for row in rows))
        for row in rows:
            assert row["index_version"] == version
            assert set(row["matches"]) == set(indexes[version].match({"a": row["a"]}))
    assert seen == Counter(range(n_events))
    assert not list((home / "out" / "_writing").iterdir())
    return told


def check_swaps(index: Path, told: list[Batch]) -> None:
    """No batch uses an older version than the one before; the last one uses the newest."""
    versions = [one.version for one in told]
    assert versions == sorted(versions)
    assert versions[0] < versions[-1] == current_version(index)
