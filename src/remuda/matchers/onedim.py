"""One-dimensional indexes to measure the PS-Tree against: the Interval-Tree and the Segment-Tree.

Like PSTreeB they have intervals of ordinals, which come and go under ids, and find those that
contain a value. Both are binary trees over all ordinals, so they need no balancing.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, Self

import numpy as np

from remuda.arrays import Ints, Longs, Ragged, starts_of
from remuda.jit import kernel
from remuda.matchers.kernels.growth import grown
from remuda.matchers.kernels.pooled_lists import Listed, Lists


class Stabbing(Protocol):
    """Intervals under ids, each from `lo` to `hi - 1`; those built are numbered from 0."""

    @classmethod
    def build(cls, n_values: int, lo: Ints, hi: Ints) -> Self: ...
    @property
    def nbytes(self) -> int: ...
    def insert(self, which: int, lo: int, hi: int) -> None: ...
    def delete(self, which: int, lo: int, hi: int) -> None: ...
    def stab(self, values: Ints) -> Ragged: ...


@dataclass(slots=True)
class SegmentTree:
    """A node is a segment of 1, 2, 4 … ordinals; an interval is listed on the fewest that make it.

    Node 1 is the root, nodes 2i and 2i + 1 are below node i, ordinal v is node `n_leaves + v`.
    """

    lists: Lists
    n_leaves: int

    @classmethod
    def build(cls, n_values: int, lo: Ints, hi: Ints) -> Self:
        n_leaves = 1 << max(n_values - 1, 0).bit_length()
        which = np.arange(len(lo))
        first, end = lo + n_leaves, hi + n_leaves
        nodes, ids = [np.empty(0, np.int64)], [which[:0]]
        while len(which):
            for node, ends in ((first, first & 1), (end - 1, end & 1)):
                nodes.append(node[ends == 1])
                ids.append(which[ends == 1])
            first, end = first + 1 >> 1, end >> 1
            going = first < end
            which, first, end = which[going], first[going], end[going]
        return cls(_lists(np.concatenate(nodes), np.concatenate(ids), 2 * n_leaves), n_leaves)

    @property
    def nbytes(self) -> int:
        return self.lists.nbytes

    def insert(self, which: int, lo: int, hi: int) -> None:
        for node in self._nodes(lo, hi):
            self.lists.add(node, which)

    def delete(self, which: int, lo: int, hi: int) -> None:
        for node in self._nodes(lo, hi):
            self.lists.remove(node, which)

    def stab(self, values: Ints) -> Ragged:
        """The intervals that contain each value: those on the way from its leaf to the root."""
        return Ragged(*_climb(values, self.n_leaves, self.lists.arrays))

    def _nodes(self, lo: int, hi: int) -> list[int]:
        nodes, first, end = [], lo + self.n_leaves, hi + self.n_leaves
        while first < end:
            if first & 1:
                nodes.append(first)
            if end & 1:
                nodes.append(end - 1)
            first, end = first + 1 >> 1, end >> 1
        return nodes


@dataclass(slots=True)
class IntervalTree:
    """An interval is on the highest node whose value it contains, by its low and by its high end.

    Nodes are the values 1, 2 …, an odd one a leaf, one divisible by a higher power of two further
    up; ordinal v is node v + 1. The lists of a node are sorted, the highest end first, so that a
    stab stops at the first interval that ends before its value.
    """

    by_low: Lists
    by_high: Lists
    n_values: int

    @classmethod
    def build(cls, n_values: int, lo: Ints, hi: Ints) -> Self:
        which = np.arange(len(lo))
        nodes = _highest(lo.astype(np.int64), hi.astype(np.int64))
        by_low, by_high = (_lists(nodes, which, n_values + 1, ends) for ends in (lo, n_values - hi))
        return cls(by_low, by_high, n_values)

    @property
    def nbytes(self) -> int:
        return self.by_low.nbytes + self.by_high.nbytes

    def insert(self, which: int, lo: int, hi: int) -> None:
        node = int(_highest(np.array([lo]), np.array([hi]))[0])
        self.by_low.add_sorted(node, which, lo)
        self.by_high.add_sorted(node, which, self.n_values - hi)

    def delete(self, which: int, lo: int, hi: int) -> None:
        node = int(_highest(np.array([lo]), np.array([hi]))[0])
        self.by_low.remove(node, which)
        self.by_high.remove(node, which)

    def stab(self, values: Ints) -> Ragged:
        """The intervals that contain each value: some of those on the way from the root to it."""
        return Ragged(*_descend(values, self.n_values, self.by_low.arrays, self.by_high.arrays))


def _lists(nodes: Longs, ids: Longs, n_nodes: int, keys: Ints | None = None) -> Lists:
    """The ids of each node, by their keys if they have some."""
    starts = starts_of(np.bincount(nodes, minlength=n_nodes))
    if keys is None:
        return Lists.of(starts, ids[np.argsort(nodes, kind="stable")].astype(np.int32))
    order = np.lexsort((keys, nodes))
    return Lists.of(starts, ids[order].astype(np.int32), keys[order].astype(np.uint64))


def _highest(lo: Longs, hi: Longs) -> Longs:
    """Of the nodes from lo + 1 to hi, the one divisible by the highest power of two."""
    _, n_bits = np.frexp(lo ^ hi)  # the bits from which on both agree
    shift = n_bits - 1
    return hi >> shift << shift  # type: ignore[no-any-return]


@kernel
def _climb(values: Ints, n_leaves: int, lists: Listed) -> tuple[Longs, Ints]:
    starts, intervals, n = np.zeros(len(values) + 1, np.int64), np.empty(1024, np.int32), 0
    for v in range(len(values)):
        node = values[v] + n_leaves
        while node > 0:
            intervals = grown(intervals, n + lists.ends[node] - lists.begins[node])
            for i in range(lists.begins[node], lists.ends[node]):
                intervals[n] = lists.items[i]
                n += 1
            node >>= 1
        starts[v + 1] = n
    return starts, intervals[:n].copy()


@kernel
def _descend(values: Ints, n_values: int, low: Listed, high: Listed) -> tuple[Longs, Ints]:
    starts, intervals, n = np.zeros(len(values) + 1, np.int64), np.empty(1024, np.int32), 0
    step = 1
    while step <= n_values:
        step *= 2
    for v in range(len(values)):
        goal, node, half = values[v] + 1, step, step
        while True:
            if node <= n_values:
                if goal <= node:
                    intervals = grown(intervals, n + low.ends[node] - low.begins[node])
                    for i in range(low.begins[node], low.ends[node]):
                        if low.notes[i] >= goal:
                            break
                        intervals[n] = low.items[i]
                        n += 1
                else:
                    intervals = grown(intervals, n + high.ends[node] - high.begins[node])
                    for i in range(high.begins[node], high.ends[node]):
                        if n_values - np.int64(high.notes[i]) < goal:
                            break
                        intervals[n] = high.items[i]
                        n += 1
            if goal == node:
                break
            half //= 2
            node = node - half if goal < node else node + half
        starts[v + 1] = n
    return starts, intervals[:n].copy()
