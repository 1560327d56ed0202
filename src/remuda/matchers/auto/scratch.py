"""Scratch: what one call writes to while it works; lent, and clean when it comes back."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from remuda.arrays import Bytes, Halves, Longs
from remuda.encoding.table import EventBatch
from remuda.matchers.auto.arena import MOST_RECORDS
from remuda.matchers.auto.batch import MOST_EVENTS, QUEUE, Together
from remuda.matchers.auto.blocks import SIZE, Blocks
from remuda.matchers.auto.denials import Denials
from remuda.matchers.auto.layout import Built
from remuda.matchers.auto.listed_events import Listing
from remuda.matchers.auto.ranked import N_STEPS, Alone
from remuda.model.lazily import lazily
from remuda.pointers import addresses

_MOST_SPACES = 1 << 17  # of a batch's events
_FEWEST_ROWS, _MOST_ROWS = 1 << 20, 1 << 25  # in blocks: 4 to 128 MB


class Scratch:
    """Arrays that the kernels share; those that not every call needs are made when asked for."""

    def __init__(self, built: Built, denials: Denials, n_clauses: int, n_wide: int) -> None:
        self._n_clauses, self._n_spaces = n_clauses, len(built.places) // 2 - 1
        self._n_masked, self._n_wide = built.n_masked, n_wide
        self.out = np.empty(n_clauses, np.int32)
        self.held = np.empty((len(denials.clauses) + 63) // 64, np.uint64)
        visits = np.empty(2 * len(built.traits) + 1, np.uint64)
        self.span, self.queue = np.zeros(2, np.int64), np.empty(n_clauses, np.uint64)
        self.alone = Alone(
            *self._events(1),
            visits,
            self.queue,
            self.out,
            self.held,
            np.empty(len(visits), np.int64),
            np.zeros(N_STEPS, np.int64),
        )
        self._kept: tuple[NDArray[Any], ...] = (*built[:3], *self.alone[:5])
        self.where = addresses(*self._kept)  # all that one event's kernel takes
        self.where_listed_if_made = np.zeros(0, np.int64)
        self.where_denied = addresses(built.places, self.held, self.out, *denials)

    @lazily
    def together(self) -> Together:
        return Together(
            *self._events(MOST_EVENTS),
            np.empty(2 * MOST_EVENTS, np.uint64),
            np.zeros(self._n_spaces + 1, np.uint32),
            np.empty(2 * _MOST_SPACES + 1, np.uint32),
            np.empty(2 * _MOST_SPACES + 1, np.uint32),
            np.empty(2 * _MOST_SPACES + MOST_EVENTS, np.uint32),
            np.empty(2 * _MOST_SPACES + MOST_EVENTS, np.uint32),
            np.empty(QUEUE + MOST_RECORDS, np.uint64),
            np.empty(QUEUE + MOST_RECORDS, np.uint32),
        )

    @lazily
    def lists(self) -> Listing:
        n = self._n_masked + self._n_wide
        first, last = np.zeros(n, np.int64), np.zeros(n, np.int64)
        seen = np.zeros((self._n_clauses + 63) // 64, np.uint64)
        sure, nothing = np.empty(self._n_clauses, np.int32), np.empty(0, np.uint8)
        return Listing(
            np.ones(self._n_masked, np.uint64), first, last, seen, nothing, sure,
            self.queue, self.out,
        )  # fmt: skip

    @lazily
    def where_listed(self) -> Longs:
        """The same for an event with lists."""
        self.where_listed_if_made = addresses(*self._kept[:3], *self.lists)
        return self.where_listed_if_made

    @lazily
    def listed(self) -> np.ndarray:
        return np.zeros(MOST_EVENTS, np.bool_)

    @lazily
    def blocks(self) -> Blocks:
        return Blocks.make(_FEWEST_ROWS, MOST_EVENTS)

    def _events(self, n: int) -> tuple[Bytes, Halves]:
        """The bytes and the cells of n events."""
        n_wide = max(self._n_wide, 1)
        state = np.zeros(n * (self._n_masked + self._n_wide), np.uint8)
        return state, np.zeros(n * n_wide, np.uint32)

    def enlarge(self, n_events: int) -> int:
        """Make more blocks, which were too few for so many events; how many to try next."""
        n_rows = len(self.blocks.rows)
        if n_rows < _MOST_ROWS:
            self.blocks = Blocks.make(min(4 * n_rows, _MOST_ROWS), MOST_EVENTS)
            return n_events
        if n_events == 1:
            self.blocks = Blocks.make(self._n_clauses + 4 * SIZE, MOST_EVENTS)
        return max(n_events // 2, 1)


def together_until(events: EventBatch, first: int, last: int) -> int:
    """Up to which event there is room for their spaces; at least one, alone if it must be."""
    most = int(np.searchsorted(events.starts, events.starts[first] + _MOST_SPACES, side="right"))
    return max(min(last, most - 1), first + 1)
