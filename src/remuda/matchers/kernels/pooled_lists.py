"""Lists of numbers that grow and shrink one by one, all in one pool."""

from __future__ import annotations

from dataclasses import dataclass, field
from sys import getsizeof
from typing import NamedTuple

import numpy as np

from remuda.arrays import Ints, Longs, Ragged, Words, frozen, starts_of
from remuda.matchers.kernels.growth import thawed


class Listed(NamedTuple):
    """The arrays of Lists."""

    begins: Longs
    ends: Longs
    items: Ints
    notes: Words


@dataclass(slots=True)
class Lists:
    """List i is `items[begins[i] : ends[i]]`; each item has a note beside it, or none has.

    A list without room moves to the end of the pool. What it leaves behind is lost until the
    lists are made anew.
    """

    begins: Longs
    ends: Longs
    items: Ints
    notes: Words
    has_notes: bool
    n_items: int
    _limits: dict[int, int] = field(init=False, default_factory=dict)  # where moved lists have room

    @classmethod
    def of(cls, starts: Longs, items: Ints, notes: Words | None = None) -> Lists:
        """Lists that lie one after the other, without room."""
        has_notes, n_items = notes is not None, len(items)
        notes = np.empty(0, np.uint64) if notes is None else notes
        parts = frozen((starts[:-1].copy(), starts[1:].copy(), items, notes))
        return cls(*parts, has_notes, n_items)

    @property
    def arrays(self) -> Listed:
        """What kernels read."""
        return frozen(Listed(self.begins, self.ends, self.items, self.notes))

    @property
    def nbytes(self) -> int:
        return sum(array.nbytes for array in self.arrays) + getsizeof(self._limits)

    def row(self, at: int) -> Ints:
        """The items of a list; lists beyond the last are empty."""
        if at >= len(self.ends):
            return self.items[:0]
        return self.items[self.begins[at] : self.ends[at]]

    def rows(self, which: Ints) -> Ragged:
        """The items of some lists."""
        counts = self.ends[which] - self.begins[which]
        starts = starts_of(counts)
        shift = np.repeat(self.begins[which] - starts[:-1], counts)
        return Ragged(starts, self.items[np.arange(starts[-1]) + shift])

    def add(self, at: int, item: int, note: int | np.uint64 = 0) -> None:
        """Append an item to a list."""
        self._thaw(at)
        begin, end = int(self.begins[at]), int(self.ends[at])
        if end == self._limits.get(at, end):
            self._move(at, (end - begin) * 3 // 2 + 2)
            self._fill(at, begin, end)
            end = int(self.ends[at])
        self.items[end] = item
        if self.has_notes:
            self.notes[end] = note
        self.ends[at] = end + 1

    def add_sorted(self, at: int, item: int, note: int) -> None:
        """Add an item to a list that is sorted by its notes."""
        self.add(at, item, note)
        begin, last = int(self.begins[at]), int(self.ends[at]) - 1
        place = begin + int(np.searchsorted(self.notes[begin:last], np.uint64(note)))
        for column, value in ((self.items, item), (self.notes, note)):
            column[place + 1 : last + 1] = column[place:last]
            column[place] = value

    def remove(self, at: int, item: int) -> None:
        """Take an item out of a list; those behind it move up."""
        self._thaw(at)
        found = int(self.begins[at]) + int(np.flatnonzero(self.row(at) == item)[0])
        end = int(self.ends[at])
        self.items[found : end - 1] = self.items[found + 1 : end]
        if self.has_notes:
            self.notes[found : end - 1] = self.notes[found + 1 : end]
        self.ends[at] = end - 1

    def copy(self, source: int, target: int) -> None:
        """Give the second list what the first has."""
        self._thaw(max(source, target))
        begin, end = int(self.begins[source]), int(self.ends[source])
        if self._limits.get(target, int(self.ends[target])) - self.begins[target] < end - begin:
            self._move(target, end - begin)
        self._fill(target, begin, end)

    def clear(self, at: int) -> None:
        self._thaw(at)
        self.ends[at] = self.begins[at]

    def _thaw(self, last: int) -> None:
        """Prepare for a change of lists up to the last."""
        self.begins, self.ends = thawed(self.begins, last + 1), thawed(self.ends, last + 1)
        self.items, self.notes = thawed(self.items), thawed(self.notes)

    def _move(self, at: int, room: int) -> None:
        """Let a list begin anew at the end of the pool."""
        self.begins[at], self.n_items = self.n_items, self.n_items + room
        self._limits[at] = self.n_items
        self.items = thawed(self.items, self.n_items)
        if self.has_notes:
            self.notes = thawed(self.notes, self.n_items)

    def _fill(self, at: int, begin: int, end: int) -> None:
        start = int(self.begins[at])
        self.ends[at] = start + end - begin
        self.items[start : start + end - begin] = self.items[begin:end]
        if self.has_notes:
            self.notes[start : start + end - begin] = self.notes[begin:end]
