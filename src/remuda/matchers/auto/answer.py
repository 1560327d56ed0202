"""The answer to a batch, to which several threads add.

Each thread takes a few events at a time. The rows it found go straight to their place, which is
known as soon as those before are counted: so no parts are left to be joined.
"""

from __future__ import annotations

import threading
from types import TracebackType
from typing import Self

import numpy as np

from remuda.arrays import Ints, Longs
from remuda.matchers.auto.blocks import Blocks, gather
from remuda.matchers.contract import Hits


class Answer:
    """Rows of all events, in their order; `with` it, a failure in one thread ends the others."""

    def __init__(self, n_events: int, at_once: int, threads: int) -> None:
        n_turns = -(-n_events // (at_once * threads)) * threads
        self._at_once = -(-n_events // max(n_turns, 1))
        self._starts = np.zeros(n_events + 1, np.int64)
        self._rows: Ints = np.empty(0, np.int32)
        self._n_taken, self._n_counted, self._n_verified = 0, 0, 0
        self._n_writing, self._failed = 0, False
        self._changed = threading.Condition()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, _: BaseException | None, __: TracebackType | None
    ) -> None:
        if kind is not None:
            with self._changed:
                self._failed = True
                self._changed.notify_all()

    def take(self) -> tuple[int, int] | None:
        """The next events to answer for, first and last; None where nothing is left to do."""
        with self._changed:
            first = self._n_taken
            self._n_taken = min(first + self._at_once, len(self._starts) - 1)
            done = self._failed or first == self._n_taken
            return None if done else (first, self._n_taken)

    def put(self, first: int, per_event: Longs, n_verified: int, blocks: Blocks) -> None:
        """Add what the blocks hold for the events from `first` on."""
        here = self._starts[first : first + len(per_event) + 1]
        with self._changed:
            self._changed.wait_for(lambda: self._n_counted == first or self._failed)
            if self._failed:
                return
            np.cumsum(per_event, out=here[1:])
            here[1:] += here[0]
            if here[-1] > len(self._rows):
                self._changed.wait_for(lambda: self._n_writing == 0)
                self._enlarge(int(here[0]), int(here[-1]), first + len(per_event))
            rows = self._rows
            self._n_counted = first + len(per_event)
            self._n_verified += n_verified
            self._n_writing += 1
            self._changed.notify_all()
        gather(here, rows, blocks)
        with self._changed:
            self._n_writing -= 1
            self._changed.notify_all()

    def hits(self) -> Hits:
        """All of it, once every event is answered for."""
        self._rows.resize(self._starts[-1], refcheck=False)  # what was never touched costs nothing
        return Hits(self._starts, self._rows, self._n_verified)

    def _enlarge(self, n_kept: int, n: int, n_events: int) -> None:
        """Make room for n rows, and for more where these events are not the last."""
        n_all = len(self._starts) - 1
        larger = np.empty(n if n_events == n_all else 5 * n * n_all // (4 * n_events), np.int32)
        larger[:n_kept] = self._rows[:n_kept]
        self._rows = larger
