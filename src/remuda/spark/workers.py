"""Machines before a job: what driver and executors have, what they lack, and what to do."""

from __future__ import annotations

import json
import os
import platform
import socket
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from importlib.metadata import version as installed
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from remuda.errors import RemudaError
from remuda.index.cache import cache_home
from remuda.index.storage import current_version, read_version
from remuda.index.stores import Location, address, store_of
from remuda.jit import kept_in

_SPREAD = 16  # tasks, so that every executor has one; each takes a moment
_MOMENT = 0.2  # seconds


@dataclass(frozen=True, slots=True)
class Machine:
    """The driver or an executor: facts by name, and what keeps it from working, with advice."""

    role: str
    facts: dict[str, str]
    problems: tuple[str, ...]


def doctor(spark: SparkSession, index: Location | None = None) -> list[Machine]:
    """Look at the driver and at every executor that takes a task.

    With an index, also whether it is seen there and fits into memory.
    """
    where = None if index is None else address(index)
    own = here(where)
    driver = Machine("driver", own, tuple(_own_problems(own, where)))
    found: dict[str, Machine] = {}
    for facts in _surveyed(spark, where):
        problems = tuple(_problems(facts, own, where))
        found[f"{facts['host']}{facts['directory']}"] = Machine("executor", facts, problems)
    return [driver, *(found[key] for key in sorted(found))]


def check_workers(spark: SparkSession, index: Location | None = None) -> None:
    """Refuse a job that no executor could do, in one line that says why and what to do."""
    for machine in doctor(spark, index):
        if machine.problems:
            where = f"{machine.role} on {machine.facts['host']}"
            raise RemudaError(f"{where}: {machine.problems[0]}")


def here(index: str | None) -> dict[str, str]:
    """What this process has; it runs on the driver and on executors alike."""
    facts = {
        "host": socket.gethostname(),
        "directory": str(Path.cwd()),
        "python": platform.python_version(),
        "executable": sys.executable,
        "remuda": installed("remuda"),
        "arrow": installed("pyarrow"),
        "kernels": str(kept_in() or ""),
        "cache": str(cache_home()),
        "memory": str(_available()),
    }
    if index is not None:
        facts |= _index_facts(index)
    return facts


def _index_facts(index: str) -> dict[str, str]:
    try:
        store = store_of(index)
        if not store.exists():
            is_place = not isinstance(getattr(store, "path", None), Path) or Path(index).is_dir()
            return {"index": "" if is_place else f"there is no directory {index}"}
        version = read_version(store, current_version(store))
    except Exception as error:  # said, not raised: there may be more to say
        return {"index": " ".join(str(error).split())}
    return {"index": version.name, "bytes": str(version.nbytes)}


def _surveyed(spark: SparkSession, index: str | None) -> Iterator[dict[str, str]]:
    """The facts of each executor, some of them several times."""
    moment = _MOMENT

    def look(batches: Iterable[Any]) -> Iterator[Any]:  # sent as it is: remuda may be missing there
        import json
        import os
        import socket
        import sys
        import time

        import pyarrow as pa

        for _ in batches:
            pass
        time.sleep(moment)
        facts = {
            "host": socket.gethostname(),
            "directory": os.path.realpath(os.curdir),
            "executable": sys.executable,
        }
        try:
            from remuda.spark.workers import here

            facts |= here(index)
        except Exception as error:
            facts["error"] = f"{type(error).__name__}: {error}"
        yield pa.RecordBatch.from_pydict({"facts": [json.dumps(facts)]})

    rows = spark.range(0, _SPREAD, 1, _SPREAD).mapInArrow(look, "facts string").collect()
    for row in rows:
        yield json.loads(row["facts"])


def _own_problems(own: dict[str, str], index: str | None) -> Iterator[str]:
    if index is not None and "bytes" not in own and own["index"]:
        yield own["index"]


def _problems(facts: dict[str, str], own: dict[str, str], index: str | None) -> Iterator[str]:
    if "error" in facts:
        python = facts["executable"]
        yield (
            f"{python} cannot load remuda ({facts['error']}): install it there, or name another "
            "Python by spark.pyspark.python or PYSPARK_PYTHON"
        )
        return
    if facts["remuda"] != own["remuda"]:
        yield f"it has remuda {facts['remuda']}, the driver {own['remuda']}: install the same"
    if not facts["kernels"]:
        yield (
            "compiled kernels cannot be kept, so every worker compiles for some tens of seconds: "
            "set spark.executorEnv.NUMBA_CACHE_DIR to a directory that can be written"
        )
    if index is None:
        return
    if facts["index"] != own["index"]:
        yield (
            f"it does not see {index} as the driver does ({facts['index'] or 'nothing is there'}): "
            "name a directory that all machines share, or a URI such as s3://bucket/ads"
        )
    elif int(facts.get("bytes", 0)) > int(facts["memory"]):
        yield (
            f"the index takes {int(facts['bytes']):,} bytes and {int(facts['memory']):,} of memory "
            "are free: match with shards=, or on larger machines"
        )


def _available() -> int:
    """Bytes of memory that are free, or could be."""
    try:
        lines = Path("/proc/meminfo").read_text().splitlines()
        facts = dict(line.split(":", 1) for line in lines)
        return int(facts["MemAvailable"].split()[0]) << 10
    except (OSError, KeyError, ValueError):
        return int(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
