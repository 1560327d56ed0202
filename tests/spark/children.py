"""Processes that tests start: their output goes into a file, and none outlives its test.

A pipe would stay open for as long as anybody lives who has it, as a Java does whose driver was
killed. Limits are for a machine that is many times slower than it should be.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

PATIENCE = 500.0  # seconds; after 600 pytest itself ends a test
_OFTEN = 0.1
# settings of Spark for a cluster of two: no job begins before both executors are there
BOTH = {
    "spark.cores.max": "2",
    "spark.scheduler.minRegisteredResourcesRatio": "1",
    "spark.scheduler.maxRegisteredResourcesWaitingTime": "300s",
}


@contextmanager
def started(words: list[object], log: Path, **how: Any) -> Iterator[subprocess.Popen[bytes]]:
    """A process in a session of its own, with all that it starts, until the block ends."""
    with log.open("wb") as out:
        child = subprocess.Popen(
            [*map(str, words)], stdout=out, stderr=out, start_new_session=True, **how
        )
    try:
        yield child
    finally:
        end(child)


def wait_until(claim: Callable[[], object], child: subprocess.Popen[bytes], log: Path) -> None:
    """Wait for what the child brings about; fail with what it wrote where it ends before."""
    give_up = time.monotonic() + PATIENCE
    while not claim():
        if child.poll() is not None:
            assert claim(), f"it ended with {child.returncode}:\n{said(log)}"
            return
        assert time.monotonic() < give_up, f"it takes too long:\n{said(log)}"
        time.sleep(_OFTEN)


def wait_for(child: subprocess.Popen[bytes], log: Path) -> None:
    """Wait until the child has ended well."""
    wait_until(lambda: child.poll() is not None, child, log)
    assert child.returncode == 0, said(log)


def said(log: Path) -> str:
    return log.read_text(errors="replace")[-3000:]


def numbers(log: Path) -> list[int]:
    """The lines of a log that are numbers."""
    whole = log.read_text(errors="replace").rpartition("\n")[0]  # the last may be half written
    return [int(line) for line in whole.splitlines() if line.isdecimal()]


def end(child: subprocess.Popen[bytes]) -> None:
    """Kill the child first, then all that is left of its session."""
    kill(child.pid)
    while found := processes(child.pid).keys() - {child.pid}:
        for pid in found:
            kill(pid)
        time.sleep(0.02)
    child.wait()


def processes(session: int) -> dict[int, tuple[int, str]]:
    """The processes of a session that have not ended: the parent and the command of each."""
    found = {}
    for one in Path("/proc").iterdir():
        if one.name.isdecimal():
            try:
                stat = re.sub(r".*\)", "", (one / "stat").read_text(), count=1, flags=re.DOTALL)
                command = (one / "cmdline").read_text()
            except OSError:  # it has ended meanwhile
                continue
            state, parent, _, own, *_ = stat.split()
            if int(own) == session and state not in "ZX":
                found[int(one.name)] = int(parent), command
    return found


def kill(pid: int) -> bool:
    """Kill a process, if it is there; whether it was."""
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        return False
    return True
