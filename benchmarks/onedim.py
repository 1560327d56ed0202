"""One dimension: the PS-Tree beside the Interval-Tree and the Segment-Tree, as in its Table 3.

Beside that, three ways from a value to its leaf: the paper's inner nodes, which ours does without,
a binary search among the cuts, and the one step that ordinals need.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table

from benchmarks import clock
from remuda.arrays import Ints
from remuda.jit import kernel
from remuda.matchers.onedim import IntervalTree, SegmentTree, Stabbing
from remuda.matchers.pstree import PSTreeB

_INTERVALS, _QUERIES, _DOMAIN = 100_000, 100_000, 400_000
_TREES: dict[str, type[Stabbing]] = {
    "Interval-Tree": IntervalTree,
    "Segment-Tree": SegmentTree,
    "PS-Tree": PSTreeB,
}


def main() -> None:
    """Measure and print; all three must find the same number of intervals."""
    table = Table("index", title="100,000 intervals, 100,000 queries, one thread")
    for name in ("width", "build ms", "query ms", "MB", "found"):
        table.add_column(name, justify="right")
    rng = np.random.default_rng(1)
    for width in (20, 1_000):
        lo = rng.integers(0, _DOMAIN - width, _INTERVALS).astype(np.int32)
        hi = (lo + rng.integers(1, width + 1, _INTERVALS)).astype(np.int32)
        values = rng.integers(0, _DOMAIN, _QUERIES).astype(np.int32)
        true = int(np.searchsorted(np.sort(lo), values, "right").sum())
        true -= int(np.searchsorted(np.sort(hi), values, "right").sum())
        for name, kind in _TREES.items():
            built = kind.build(_DOMAIN, lo, hi)
            found = built.stab(values)
            if len(found.items) != true:
                raise AssertionError(f"{name} found {len(found.items):,} intervals, not {true:,}")
            build_s = clock.best(lambda kind=kind, lo=lo, hi=hi: kind.build(_DOMAIN, lo, hi))
            query_s = clock.best(lambda built=built, values=values: built.stab(values))
            table.add_row(
                name,
                f"{width:,}",
                f"{build_s * 1e3:.0f}",
                f"{query_s * 1e3:.1f}",
                f"{built.nbytes / 1e6:.1f}",
                f"{true:,}",
            )
    Console().print(table)
    Console().print(_ways(rng))


def _ways(rng: np.random.Generator) -> Table:
    """From values to their leaves in three ways."""
    table = Table("way", title=f"{_QUERIES:,} values to their leaves")
    for name in ("cuts", "ns a value", "MB"):
        table.add_column(name, justify="right")
    for n in (100, 10_000, 200_000):
        cuts = np.unique(np.append(0, rng.integers(1, _DOMAIN, n))).astype(np.int32)
        values = rng.integers(0, _DOMAIN, _QUERIES).astype(np.int32)
        expected = np.searchsorted(cuts, values, "right") - 1
        for name, (way, nbytes) in _ways_to_leaves(cuts, values).items():
            if not np.array_equal(way(), expected):
                raise AssertionError(f"{name} leads to other leaves")
            ns = clock.best(way) / _QUERIES * 1e9
            table.add_row(name, f"{len(cuts):,}", f"{ns:.1f}", f"{nbytes / 1e6:.2f}")
    return table


def _ways_to_leaves(cuts: Ints, values: Ints) -> dict[str, tuple[Callable[[], Ints], int]]:
    """Each way, with the bytes that it needs."""
    leaf_of = np.cumsum(np.bincount(cuts, minlength=_DOMAIN), dtype=np.int32) - 1
    nodes = InnerNodes.build(cuts)
    return {
        "inner nodes": (lambda: match_pairs(values, *nodes), sum(a.nbytes for a in nodes)),
        "binary search": (lambda: np.searchsorted(cuts, values, "right") - 1, cuts.nbytes),
        "one step": (lambda: leaf_of[values], leaf_of.nbytes),
    }


class InnerNodes(NamedTuple):
    """The paper's inner nodes over values of 20 bits, elements of 4: links to nodes and leaves."""

    below: NDArray[np.int32]  # p of each node; 0 where there is none, and the root is node 0
    less: Ints  # l of the node of a cut: the leaf before it
    equal: Ints  # e: the leaf that begins with it

    @classmethod
    def build(cls, cuts: Ints) -> Self:
        return cls(*_partition(cuts))


@kernel
def _partition(cuts: Ints) -> tuple[NDArray[np.int32], Ints, Ints]:
    """Algorithm 2 for ascending cuts, leaf i beginning with cut i."""
    below = np.zeros((5 * len(cuts) + 1, 16), np.int32)
    less, equal = np.zeros(len(below), np.int32), np.zeros(len(below), np.int32)
    n = 1
    for i in range(len(cuts)):
        node = 0
        for shift in range(16, -1, -4):
            element = (cuts[i] >> shift) & 15
            if below[node, element] == 0:
                below[node, element] = n
                n += 1
            node = below[node, element]
        less[node], equal[node] = i - 1, i
    return below[:n].copy(), less[:n].copy(), equal[:n].copy()


@kernel
def match_pairs(values: Ints, below: NDArray[np.int32], less: Ints, equal: Ints) -> Ints:
    """Algorithm 3: down by the elements, or to the next cut to the right, and the leaf before."""
    leaves, last = np.empty(len(values), np.int32), equal.max()
    path = np.empty(5, np.int32)
    for i in range(len(values)):
        node, level = 0, 0
        while level < 5:
            path[level] = node
            following = below[node, (values[i] >> (16 - 4 * level)) & 15]
            if following == 0:
                break
            node = following
            level += 1
        leaves[i] = equal[node]
        if level < 5:
            leaves[i] = _left_of_next(values[i], level, path, below, less, last)
    return leaves


@kernel
def _left_of_next(
    value: int, level: int, path: Ints, below: NDArray[np.int32], less: Ints, last: int
) -> int:
    """GetRNode and GetLNode: the leaf before the least cut above the value, or the last leaf."""
    while level >= 0:
        for element in range(((value >> (16 - 4 * level)) & 15) + 1, 16):
            node = below[path[level], element]
            if node:
                for _ in range(level + 1, 5):
                    first = 0
                    while below[node, first] == 0:
                        first += 1
                    node = below[node, first]
                return int(less[node])
        level -= 1
    return last
