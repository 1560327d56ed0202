"""Turns at something that changes in place: many readers at once, or one writer."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager


class Turns:
    """A writer that waits goes before readers that come later. No turn is taken within another."""

    def __init__(self) -> None:
        self._free = threading.Condition(threading.Lock())
        self._n_reading = self._n_waiting = 0
        self.writing = False

    @contextmanager
    def reading(self) -> Iterator[None]:
        """A turn that others may share."""
        with self._free:
            while self.writing or self._n_waiting:
                self._free.wait()
            self._n_reading += 1
        try:
            yield
        finally:
            with self._free:
                self._n_reading -= 1
                if not self._n_reading:
                    self._free.notify_all()

    @contextmanager
    def alone(self) -> Iterator[None]:
        """A turn that nobody shares."""
        with self._free:
            self._n_waiting += 1
            try:
                while self.writing or self._n_reading:
                    self._free.wait()
            finally:
                self._n_waiting -= 1
            self.writing = True
        try:
            yield
        finally:
            with self._free:
                self.writing = False
                self._free.notify_all()
