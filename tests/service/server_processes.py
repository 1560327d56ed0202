"""Servers as processes of their own."""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx

PATIENCE = 300.0  # seconds: kernels may have to be compiled, on a machine that is busy
COMMAND = [sys.executable, "-c", "from remuda.cli import main; main()", "serve"]


class Started(subprocess.Popen[str]):
    """A server that was started at a port that was free."""

    def __init__(self, *arguments: str) -> None:
        # a file, not a pipe: nobody reads while it writes
        with tempfile.NamedTemporaryFile(delete=False) as file:
            self._told = Path(file.name)
            super().__init__([*COMMAND, "--port", "0", *arguments], stderr=file, text=True)

    def told(self) -> str:
        """What it has said so far."""
        return self._told.read_text()

    def url(self) -> str | None:
        """Where it listens, once it does."""
        found = re.search(r"^(https?://\S+)/ serves ", self.told(), re.MULTILINE)
        return found and found[1]

    def end(self) -> None:
        if self.poll() is None:
            self.kill()
        self.wait()
        self._told.unlink()


def until(true: Callable[[], object]) -> None:
    """Wait for something to be so; a failure if it takes longer than anything should."""
    end = time.monotonic() + PATIENCE
    while not true():
        assert time.monotonic() < end, "it has taken too long"
        time.sleep(0.02)


@contextmanager
def served(*arguments: str) -> Iterator[tuple[Started, httpx.Client]]:
    """A server that is ready or has ended, and a client of it; ended if it has not ended itself."""
    process = Started(*arguments)
    try:
        until(lambda: process.url() or process.poll() is not None)
        with httpx.Client(base_url=process.url() or "", timeout=PATIENCE) as client:
            until(lambda: process.poll() is not None or _ready(client))
            yield process, client
    finally:
        process.end()


def _ready(client: httpx.Client) -> bool:
    try:
        return client.get("/readyz").status_code == 200
    except httpx.TransportError:
        return False


def workers_of(process: Started) -> dict[int, int]:
    """The processes of a server's workers by their number; the first writes."""
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
    found = {}
    for child in children:
        try:
            told = Path(f"/proc/{child}/cmdline").read_bytes()
        except OSError:
            continue
        if b'{"number":' in told:
            found[int(told.partition(b'{"number":')[2].partition(b",")[0])] = int(child)
    return found
