"""Ranking: the k-index's two prunings beside scoring every match, on the VLDB paper's workload."""

from __future__ import annotations

from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

from benchmarks import clock
from remuda.index.segment import Segment
from remuda.model.expressions import And
from remuda.workload.vldb import VLDB

_CRITERIA, _EVENTS, _CHECKED = 100_000, 200, 4


def main() -> None:
    """Measure and print, after the best were compared with those of plain evaluation."""
    table = Table(
        "n", "pruned, µs", "all scored, µs", "candidates", "skipped by bounds",
        title=f"The best n of {_CRITERIA:,} weighted criteria, one thread",
    )  # fmt: skip
    drawn = VLDB(n_criteria=_CRITERIA, n_assignments=_EVENTS, n_months=1, max_clauses=1).draw()
    rng = np.random.default_rng(1)
    expressions = [_weighted(rng, one) for one in drawn.expressions()]
    events = drawn.event_dicts()
    kindex = Segment.build(expressions, matcher="kindex")
    ranks = np.arange(_CRITERIA, dtype=np.int32)
    batch = kindex.encoder.encode(events, 0)
    for n in (1, 10, 100):
        best = kindex.best(batch, n, {}, ranks)
        _check(best, expressions, events, n)
        ranked: Any = kindex.matcher.top(batch, 2 * n)  # type: ignore[attr-defined]
        pruned = clock.best(lambda n=n: kindex.best(batch, n, {}, ranks), 3)
        whole = clock.best(lambda n=n: kindex._best_of(kindex.match(batch), batch, n, {}, ranks), 3)
        table.add_row(
            str(n), f"{pruned / _EVENTS * 1e6:,.0f}", f"{whole / _EVENTS * 1e6:,.0f}",
            f"{ranked.candidates / _EVENTS:,.0f}", f"{ranked.pruned / _EVENTS:,.0f}",
        )  # fmt: skip
    Console().print(table)


def _weighted(rng: np.random.Generator, conjunction: Any) -> And:
    parts = conjunction.parts or (conjunction,)
    return And(*(part.weight(float(rng.random())) for part in parts))


def _check(best: Any, expressions: list[Any], events: list[Any], n: int) -> None:
    for i in range(0, _EVENTS, _EVENTS // _CHECKED):
        scores = ((one.score(events[i]), j) for j, one in enumerate(expressions))
        expected = sorted((-score, j) for score, j in scores if score is not None)[:n]
        rows = slice(best.starts[i], best.starts[i + 1])
        if (
            list(zip((-best.scores[rows]).tolist(), best.rows[rows].tolist(), strict=True))
            != expected
        ):
            raise AssertionError(f"event {i} was answered wrongly")
