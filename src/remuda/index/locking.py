"""The writer's lock on a directory: one process has it at a time, and it dies with that one."""

from __future__ import annotations

import os
import time
from contextlib import suppress
from io import FileIO
from pathlib import Path

from filelock import lock_descriptor, unlock_descriptor

from remuda.errors import StorageError
from remuda.index.files import make_directory
from remuda.index.forking import in_child

_PAUSE = 0.01  # seconds between two tries


class Lock(FileIO):
    """A lock that is held from here on until it is closed, or the process ends.

    It is an open file in the directory, which the operating system locks. So `with` leaves it in
    C: Ctrl-C could fall into an `__exit__` of our own before that does anything. A forked process
    closes its copy, which leaves the lock with the one that took it.
    """

    def __init__(self, directory: Path, wait: float = 0.0) -> None:
        """Take the lock, waiting so many seconds for another that has it."""
        path = directory / "LOCK"
        try:
            make_directory(directory)
            super().__init__(path, "r+", opener=_open)
            in_child(self, Lock.close)
            self._take(path, time.monotonic() + wait)
        except BaseException as error:
            self.close()
            if isinstance(error, OSError) and not isinstance(error, StorageError):
                raise StorageError(str(path), error.strerror or str(error)) from None
            raise

    def release(self) -> None:
        """Give the lock back, even if a process that was forked just now has not closed it yet."""
        if not self.closed:
            unlock_descriptor(self.fileno())
        self.close()

    def _take(self, path: Path, give_up: float) -> None:
        while not lock_descriptor(self.fileno(), blocking=False):
            if time.monotonic() >= give_up:
                reason = f"another writer has it open (process {self._holder()})"
                raise StorageError(str(path), f"{reason}; close that one first")
            time.sleep(_PAUSE)
        with suppress(OSError):  # who holds it is good to know, and no more
            self.truncate(0)
            self.write(f" {os.getpid()}\n".encode())

    def _holder(self) -> str:
        self.seek(1)  # Windows lets no one read the first byte, which is the one that it locks
        return self.read(32).decode("ascii", "replace").strip() or "unknown"


def _open(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_CREAT, 0o644)
