"""Workers: several processes behind one port, one of which writes.

The one that starts them serves nothing: it hands the socket on, starts again what ends, and stops
the writer last. When it is gone, its workers end by themselves.
"""

from __future__ import annotations

import logging
import os
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec

from remuda.engine.engine import Engine
from remuda.errors import RemudaError
from remuda.index.trees import listed_trees, trees_of
from remuda.model.hierarchies import Hierarchies
from remuda.service import logs
from remuda.service.serving import Terms, listen, made, port_of, run

_LOOK = 0.05  # seconds between two looks at the workers
_SHORT = 2.0  # seconds: a worker that ends sooner is not started again at once
_PAUSE = 1.0
_WRITER = "writer.sock"
_TREES = "trees.json"

_logger = logging.getLogger("remuda.service")


class NotStarted(Exception):
    """The writer ended before it served; it has said why."""


class Part(msgspec.Struct, frozen=True):
    """What one worker is told: the first is the writer."""

    number: int
    root: str
    home: str  # the directory of the workers' own files
    address: int  # the socket's descriptor
    leash: int  # the descriptor that ends when the one who starts them does
    terms: Terms


def supervise(
    root: str | None,
    terms: Terms,
    n_workers: int,
    *,
    trees: Hierarchies | None = None,
    listening: Callable[[int], None] = lambda _: None,
) -> None:
    """Serve with several processes until SIGTERM or SIGINT; without a root, nothing is kept.

    Indexes that are made know the trees.
    """
    terms.check()
    logs.configure(terms.log, visits=terms.visits)
    with tempfile.TemporaryDirectory(prefix="remuda-") as home, listen(terms) as address:
        where = str(Path(home, "engine")) if root is None else root
        if trees:
            Path(home, _TREES).write_bytes(msgspec.json.encode(listed_trees(trees)))
        port = port_of(address)
        _Herd(where, home, terms, n_workers, address, lambda: listening(port)).run()


class _Herd:
    """The workers, as the one who starts them sees them."""

    def __init__(
        self,
        root: str,
        home: str,
        terms: Terms,
        n_workers: int,
        address: socket.socket,
        listening: Callable[[], None],
    ) -> None:
        self._root, self._home, self._terms = root, Path(home), terms
        self._address, self._listening = address, listening
        self._leash, self._hand = os.pipe()
        self._n_workers, self._workers = n_workers, list[_Worker]()  # those that were started
        self._stopping = threading.Event()

    def run(self) -> None:
        ends = signal.SIGTERM, signal.SIGINT
        before = {one: signal.signal(one, lambda *_: self._stopping.set()) for one in ends}
        try:
            self._workers.append(self._started(0))
            self._wait_for_writer()
            self._workers += map(self._started, range(1, self._n_workers))
            if not self._stopping.is_set():
                self._listening()
            while not self._stopping.wait(_LOOK):
                for worker in self._workers:
                    self._look_after(worker)
        finally:
            self._stop()
            os.close(self._leash)
            os.close(self._hand)
            for one, handler in before.items():
                signal.signal(one, handler)

    def _wait_for_writer(self) -> None:
        """The writer makes the directory that others read."""
        while not (self._home / _WRITER).exists() and not self._stopping.wait(_LOOK):
            if self._workers[0].ended():
                raise NotStarted

    def _started(self, number: int) -> _Worker:
        address = self._address.fileno()
        part = Part(number, self._root, str(self._home), address, self._leash, self._terms)
        told = msgspec.json.encode(part).decode()
        command = [sys.executable, "-m", "remuda.service.workers", told]
        # in a session of its own: Ctrl-C is for the one who stops them in order
        how: dict[str, Any] = {"pass_fds": (address, self._leash), "start_new_session": True}
        return _Worker(number, subprocess.Popen(command, **how))  # noqa: S603

    def _look_after(self, worker: _Worker) -> None:
        if not worker.ended():
            return
        lasted = time.monotonic() - worker.started
        if worker.again is None:
            worker.again = time.monotonic() + (_PAUSE if lasted < _SHORT else 0.0)
            what = "the writer" if worker.number == 0 else f"worker {worker.number}"
            code = worker.process.returncode
            _logger.warning("%s has ended (%s) and is started again", what, code)
        elif time.monotonic() >= worker.again:
            self._workers[worker.number] = self._started(worker.number)

    def _stop(self) -> None:
        """End all workers, the writer last: others may wait for it."""
        patience = self._terms.limits.seconds + 10.0
        for some in (self._workers[1:], self._workers[:1]):
            for worker in some:
                worker.end()
            until = time.monotonic() + patience
            for worker in some:
                worker.wait(max(0.1, until - time.monotonic()))


@dataclass(slots=True)
class _Worker:
    """A process that serves."""

    number: int
    process: subprocess.Popen[bytes]
    started: float = field(default_factory=time.monotonic)
    again: float | None = None  # when it is started again

    def ended(self) -> bool:
        return self.process.poll() is not None

    def end(self) -> None:
        if not self.ended():
            self.process.send_signal(signal.SIGTERM)

    def wait(self, seconds: float) -> None:
        try:
            self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


def work(part: Part) -> None:
    """Be a worker until the end."""
    threading.Thread(target=_end_with, args=(part.leash,), daemon=True).start()
    home = Path(part.home)
    counts, writer = home / f"{part.number:04d}.counts", home / _WRITER
    with socket.socket(fileno=part.address) as address:
        if part.number == 0:
            with Engine(part.root, hierarchies=_trees(home / _TREES)) as engine:
                service = made(engine, part.terms, counts)
                run(service, part.terms, address, fellows=writer)
        else:
            engine = _following(part.root)
            run(made(engine, part.terms, counts, writer), part.terms, address)


def _trees(path: Path) -> Hierarchies | None:
    """The trees that the writer gives to new indexes; from the log, those who follow have them."""
    return trees_of(msgspec.json.decode(path.read_bytes())) if path.exists() else None


def _following(root: str) -> Engine:
    engine = Engine(root, read_only=True)
    engine.follow()
    return engine


def _end_with(leash: int) -> None:
    """Stop when the one that started this process has ended."""
    os.read(leash, 1)
    os.kill(os.getpid(), signal.SIGTERM)


if __name__ == "__main__":  # one worker as a process, told its part as JSON
    try:
        work(msgspec.json.decode(sys.argv[1], type=Part))
    except RemudaError as error:
        sys.exit(str(error))
