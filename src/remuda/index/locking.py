"""The writer's lock on a directory: one process has it at a time, and it dies with that one."""

from __future__ import annotations

import fcntl
import os
import time
from contextlib import suppress
from pathlib import Path
from types import TracebackType

from remuda.errors import StorageError
from remuda.index.files import make_directory

_PAUSE = 0.01  # seconds between two tries


class Lock:
    """A lock on a file of its own in the directory; the operating system takes it back."""

    def __init__(self, directory: Path) -> None:
        self.path = directory / "LOCK"
        self._handle: int | None = None

    def acquire(self, wait: float = 0.0) -> None:
        """Take the lock, waiting so many seconds for another that has it."""
        try:
            make_directory(self.path.parent)
            handle = os.open(self.path, os.O_RDWR | os.O_CREAT, 0o644)
        except OSError as error:
            raise StorageError(str(self.path), error.strerror or str(error)) from None
        give_up = time.monotonic() + wait
        while not _locked(handle):
            if time.monotonic() >= give_up:
                holder = os.pread(handle, 32, 0).decode("ascii", "replace").strip() or "unknown"
                os.close(handle)
                reason = f"another writer has it open (process {holder}); close that one first"
                raise StorageError(str(self.path), reason)
            time.sleep(_PAUSE)
        self._handle = handle
        with suppress(OSError):  # who holds it is good to know, and no more
            os.ftruncate(handle, 0)
            os.pwrite(handle, f"{os.getpid()}\n".encode(), 0)

    def release(self) -> None:
        """Give the lock back."""
        if self._handle is not None:
            os.close(self._handle)
            self._handle = None

    def __enter__(self) -> Lock:
        self.acquire()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.release()


def _locked(handle: int) -> bool:
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
