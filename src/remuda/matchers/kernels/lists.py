"""Lists of candidates that grow and shrink one by one, all in one pool."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from remuda.arrays import Longs, frozen
from remuda.matchers.kernels.growth import thawed


@dataclass(slots=True)
class Lists:
    """List i has the entries `begins[i]` to `ends[i] - 1` of all columns, and room to `limits[i]`.

    A list without room moves to the end of the pool; what it leaves behind is lost until the
    lists are made anew. `limits` is empty as long as nothing was written.
    """

    begins: Longs
    ends: Longs
    limits: Longs
    columns: tuple[NDArray[Any], ...]
    n_entries: int

    @classmethod
    def of(cls, starts: Longs, *columns: NDArray[Any]) -> Lists:
        """Lists that lie one after the other, without room."""
        begins, ends, limits = starts[:-1].copy(), starts[1:].copy(), starts[:0].copy()
        return cls(frozen(begins), frozen(ends), frozen(limits), frozen(columns), int(starts[-1]))

    @property
    def arrays(self) -> tuple[NDArray[Any], ...]:
        """What kernels read."""
        return frozen((self.begins, self.ends, *self.columns))

    @property
    def nbytes(self) -> int:
        return sum(array.nbytes for array in (self.begins, self.ends, self.limits, *self.columns))

    def items(self, at: int) -> NDArray[Any]:
        """What the first column has in a list."""
        if at >= len(self.begins):  # a list that was never written
            return self.columns[0][:0]
        return self.columns[0][self.begins[at] : self.ends[at]]

    def add(self, at: int, *entry: Any) -> None:
        """Append an entry, which has a value for each column, to a list."""
        self._thaw(at)
        begin, end = self.begins[at], self.ends[at]
        if end == self.limits[at]:
            self._make_room(at, (end - begin) * 3 // 2 + 2)
            self._fill(at, begin, end)
        for column, value in zip(self.columns, entry, strict=True):
            column[self.ends[at]] = value
        self.ends[at] += 1

    def remove(self, at: int, item: int) -> None:
        """Take away the entry with this item in the first column; the last takes its place."""
        self._thaw(at)
        begin, last = self.begins[at], self.ends[at] - 1
        found = begin + np.flatnonzero(self.columns[0][begin : last + 1] == item)[0]
        for column in self.columns:
            column[found] = column[last]
        self.ends[at] = last

    def copy(self, source: int, target: int) -> None:
        """Give the second list what the first has."""
        self._thaw(max(source, target))
        begin, end = self.begins[source], self.ends[source]
        if self.limits[target] - self.begins[target] < end - begin:
            self._make_room(target, end - begin)
        self._fill(target, begin, end)

    def clear(self, at: int) -> None:
        self._thaw(at)
        self.ends[at] = self.begins[at]

    def _thaw(self, last: int) -> None:
        """Prepare for a change of lists up to the last."""
        if len(self.limits) == 0:
            self.limits = self.ends.copy()
        self.begins, self.ends = thawed(self.begins, last + 1), thawed(self.ends, last + 1)
        self.limits = thawed(self.limits, last + 1)
        self.columns = tuple(thawed(column) for column in self.columns)

    def _make_room(self, at: int, n: int) -> None:
        """Let the list begin anew at the end of the pool."""
        self.begins[at] = self.n_entries
        self.n_entries += int(n)
        self.limits[at] = self.n_entries
        self.columns = tuple(thawed(column, self.n_entries) for column in self.columns)

    def _fill(self, at: int, begin: int, end: int) -> None:
        start = self.begins[at]
        for column in self.columns:
            column[start : start + end - begin] = column[begin:end]
        self.ends[at] = start + end - begin
