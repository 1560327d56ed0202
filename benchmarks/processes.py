"""The processes that this one has started: their CPU time, and the memory that is their own."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

_TICK = os.sysconf("SC_CLK_TCK")
_OFTEN = 0.2  # seconds between two looks at the memory


def cpu() -> float:
    """CPU-seconds of all that this process started and that is still there: JVM and workers."""
    ticks = {pid: sum(map(int, fields[11:15])) for pid, fields in _started().items()}
    return sum(ticks.values()) / _TICK  # with the ended children of each


@dataclass(slots=True)
class Peak:
    """The largest memory of its own that a worker, and that the JVM, was seen to have, in bytes."""

    worker: int = 0
    jvm: int = 0

    def look(self) -> None:
        for pid in _started():
            try:
                lines = Path(f"/proc/{pid}/status").read_text().splitlines()
            except OSError:  # it has just ended
                continue
            facts = dict(line.split(":\t", 1) for line in lines if ":\t" in line)
            own = int(facts.get("RssAnon", "0 kB").split()[0]) << 10
            if facts["Name"] == "java":
                self.jvm = max(self.jvm, own)
            else:
                self.worker = max(self.worker, own)


@contextmanager
def watched() -> Iterator[Peak]:
    """Look at the memory of all that was started for as long as this lasts."""
    peak, done = Peak(), threading.Event()

    def watch() -> None:
        while not done.wait(_OFTEN):
            peak.look()

    thread = threading.Thread(target=watch, daemon=True)
    thread.start()
    try:
        yield peak
    finally:
        done.set()
        thread.join()


def _started() -> dict[int, list[str]]:
    """Of each process that this one or one of those started, what /proc says."""
    fields: dict[int, list[str]] = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields[int(path.parent.name)] = path.read_text().rpartition(")")[2].split()
        except OSError:  # it has just ended
            continue

    def ours(pid: int) -> bool:
        while pid in fields:
            pid = int(fields[pid][1])
            if pid == os.getpid():
                return True
        return False

    return {pid: told for pid, told in fields.items() if ours(pid)}
