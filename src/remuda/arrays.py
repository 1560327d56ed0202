"""Flat arrays: ragged rows, their making and their freezing."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

T = TypeVar("T")

Ints = NDArray[np.int32]
Longs = NDArray[np.int64]
Bools = NDArray[np.bool_]
Floats = NDArray[np.float64]
Bytes = NDArray[np.uint8]
Halves = NDArray[np.uint32]  # of words
Words = NDArray[np.uint64]


class Ragged(NamedTuple):
    """Rows of different lengths: row i is `items[starts[i] : starts[i + 1]]`."""

    starts: Longs
    items: Ints

    def row(self, i: int) -> Ints:
        return self.items[self.starts[i] : self.starts[i + 1]]


def starts_of(counts: NDArray[Any] | Sequence[int]) -> Longs:
    """Where each row starts, and where the last one ends."""
    starts = np.zeros(len(counts) + 1, np.int64)
    np.cumsum(counts, out=starts[1:])
    return starts


def ragged(rows: Iterable[Sequence[int]]) -> Ragged:
    """Python rows as a Ragged."""
    rows = list(rows)
    items = [item for row in rows for item in row]
    return frozen(Ragged(starts_of([len(row) for row in rows]), np.array(items, np.int32)))


def take_rows(source: Ragged, rows: NDArray[Any]) -> Ragged:
    """The given rows of `source`, in that order, repeated where asked."""
    counts = (source.starts[1:] - source.starts[:-1])[rows]
    starts = starts_of(counts)
    shift = np.repeat(source.starts[:-1][rows] - starts[:-1], counts)
    return Ragged(starts, source.items[np.arange(starts[-1]) + shift])


def invert(source: Ragged, n_items: int) -> Ragged:
    """For each item, the rows that it occurs in, ascending."""
    rows = np.repeat(np.arange(len(source.starts) - 1, dtype=np.int32), np.diff(source.starts))
    order = np.argsort(source.items, kind="stable")
    return Ragged(starts_of(np.bincount(source.items, minlength=n_items)), rows[order])


def frozen(value: T) -> T:
    """The same arrays, read-only: built and memory-mapped ones share one kernel signature."""
    if isinstance(value, np.ndarray):
        value.setflags(write=False)
    elif isinstance(value, tuple):
        for part in value:
            frozen(part)
    return value
