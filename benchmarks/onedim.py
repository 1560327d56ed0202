"""One dimension: the PS-Tree beside the Interval-Tree and the Segment-Tree, as in its Table 3."""

from __future__ import annotations

import numpy as np
from rich.console import Console
from rich.table import Table

from benchmarks import clock
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
