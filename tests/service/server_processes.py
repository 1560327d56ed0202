"""Servers as processes of their own."""

from __future__ import annotations

import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx

PATIENCE = 120.0  # seconds: kernels may have to be compiled
COMMAND = [sys.executable, "-c", "from remuda.cli import main; main()", "serve"]


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


@contextmanager
def served(*arguments: str) -> Iterator[tuple[subprocess.Popen[str], httpx.Client]]:
    """A server that is ready, and a client of it; ended if it has not ended itself."""
    port = free_port()
    process = subprocess.Popen(
        [*COMMAND, *arguments, "--port", str(port)], stderr=subprocess.PIPE, text=True
    )
    try:
        with httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=PATIENCE) as client:
            until = time.monotonic() + PATIENCE
            while time.monotonic() < until and process.poll() is None:
                try:
                    if client.get("/readyz").status_code == 200:
                        break
                except httpx.TransportError:
                    pass
                time.sleep(0.05)
            yield process, client
    finally:
        if process.poll() is None:
            process.kill()
        process.wait()
        assert process.stderr is not None
        process.stderr.close()


def workers_of(process: subprocess.Popen[str]) -> dict[int, int]:
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
