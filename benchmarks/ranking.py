"""Ranking: the best N beside all matches, and what was never looked at for it.

REMUDA_PARTS chooses workloads by their names (mustang, vldb, begen, ads), REMUDA_CRITERIA says how
many criteria the last two have: a million, which takes minutes and nine gigabytes for each matcher.
Of the smallest ads fewer than a hundred match.
"""

from __future__ import annotations

import os
import statistics
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

from benchmarks import clock
from benchmarks.measure import WrongAnswer
from remuda.encoding.events import Portion
from remuda.index.choosing import Wanted
from remuda.index.segment import Segment
from remuda.index.weighing import Weighed, Weighing
from remuda.model.expressions import And, Expression, Not, Or, Predicate, fold
from remuda.workload.ads import Ads
from remuda.workload.begen import BEGen
from remuda.workload.columns import Workload
from remuda.workload.mustang import Mustang
from remuda.workload.vldb import VLDB

_BEST = (1, 5, 10, 100)
_PAIRS = 9  # of a match and a top, by turns: the median of their ratios is told
_FEW_PAIRS, _LONG = 3, 1.0  # seconds of a match, from which on so many do
_CHECKED = 5
_MATCHES = {  # that all events have together: a run that finds another number is not timed
    "mustang 20 k": 1_861_264, "mustang 100 k": 9_244_667,
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Case:
    """A workload, how its criteria are weighted, and the matchers that are asked."""

    name: str
    draw: Callable[[], Workload]
    matchers: tuple[str, ...] = ("auto", "kindex")
    weighted: bool = True  # by a draw for each predicate, unless the workload has weights


def _cases() -> Iterator[Case]:
    n = int(os.environ.get("REMUDA_CRITERIA", "1000000"))
    for size in (20_000, 100_000):
        name, drawn = f"mustang {size // 1000} k", Mustang(n_criteria=size, n_events=500)
        yield Case(f"{name}, no weights", drawn.draw, weighted=False)
        yield Case(name, drawn.draw)
    for cnf in (False, True):
        drawn = VLDB(n_criteria=100_000, n_assignments=200, cnf=cnf, weighted=True)
        yield Case(f"vldb {'CNF' if cnf else 'DNF'}", drawn.draw)
    yield Case(f"begen m 1 %, {n:,}", BEGen(n_subscriptions=n, n_events=300).draw)
    for size in (50_000, n):
        yield Case(f"ads, {size:,}", Ads(n_subscriptions=size, n_events=300).draw)


def main() -> None:
    """Measure and print case after case, after some answers were compared with all scores."""
    table = Table(title="The best n beside all matches: µs an event on one thread, and ratios")
    columns = ("workload", "matcher", "matches", "match µs")
    for name in (*columns, *(f"top {n}" for n in _BEST), "never looked at, top 10"):
        table.add_column(name, justify="left" if name in columns[:2] else "right")
    parts = os.environ.get("REMUDA_PARTS", "").split(",")
    for case in _cases():
        if any(case.name.startswith(part) for part in parts):
            workload = case.draw()
            for matcher in case.matchers:
                table.add_row(case.name, matcher, *_measured(case, workload, matcher))
    Console(width=max(120, Console().width)).print(table)


def _measured(case: Case, workload: Workload, matcher: str) -> list[str]:
    expressions, events = workload.expressions(), workload.event_dicts()
    if case.weighted and workload.criteria.weights is None:
        rng = np.random.default_rng(1)
        expressions = [_weighted(rng, one) for one in expressions]
    segment = Segment.build(expressions, matcher=matcher)
    batch = segment.encoder.encode(events, 0)
    weighed = _weighed(segment, workload, events)
    ranks = np.arange(len(expressions), dtype=np.int32)
    matches = segment.match(batch)
    known = _MATCHES.get(case.name.removesuffix(", no weights"))
    if known not in (None, len(matches.rows)):
        raise WrongAnswer(f"{case.name} has {len(matches.rows):,} matches, not {known:,}")
    n_events = len(events)
    row = [f"{len(matches.rows) / n_events:,.0f}"]
    shown, matching = [], []
    for n in _BEST:
        wanted = Wanted(n, ranks)
        _check(segment, batch, weighed, wanted, workload, expressions, events)
        ratios, seconds = [], []
        for turn in range(_PAIRS):
            if turn >= _FEW_PAIRS and matching[-1] > _LONG:
                break
            _, alone = clock.timed(lambda: segment.match(batch))
            _, best = clock.timed(lambda wanted=wanted: segment.best(batch, wanted, weighed))
            matching.append(alone)
            seconds.append(best)
            ratios.append(best / alone)
        micro = min(seconds) / n_events * 1e6
        shown.append(f"{micro:,.1f} ({statistics.median(ratios):.2f})")
    left = _never_looked_at(segment, batch, weighed, Wanted(10, ranks))
    return [*row, f"{min(matching) / n_events * 1e6:,.1f}", *shown, left]


def _weighted(rng: np.random.Generator, expression: Expression) -> Expression:
    def visit(node: Expression, parts: Any) -> Expression:
        if isinstance(node, Predicate):
            return node.weight(float(rng.random()))
        if isinstance(node, Not):
            return Not(parts[0])
        return And(*parts) if isinstance(node, And) else Or(*parts)

    return fold(expression, visit)


def _weighed(segment: Segment, workload: Workload, events: list[Any]) -> Weighed | None:
    if workload.events.weights is None:
        return None
    each = [workload.event_weights(i) for i in range(len(events))]
    positions = segment.words.vocabulary.weighed
    return Weighing(Portion(events), each).numbers(positions, absolute=False)


def _never_looked_at(segment: Segment, batch: Any, weighed: Weighed | None, wanted: Wanted) -> str:
    """The share of the clauses and rows that an event meets and the bounds leave."""
    ranked = segment._ranked(batch, wanted, weighed, None)
    looked, left = sum(one.candidates for one in ranked), sum(one.pruned for one in ranked)
    return f"{left / max(looked + left, 1):.1%}"


def _check(
    segment: Segment,
    batch: Any,
    weighed: Weighed | None,
    wanted: Wanted,
    workload: Workload,
    expressions: list[Expression],
    events: list[Any],
) -> None:
    """Compare the answers to a few events with the scores of all that match them."""
    best = segment.best(batch, wanted, weighed)
    assert best.scores is not None
    for i in range(0, len(events), len(events) // _CHECKED):
        weights = None if weighed is None else workload.event_weights(i)
        matches = segment.match(batch.one(i)).rows.tolist()
        scores = sorted((-_score(expressions[j], events[i], weights), j) for j in matches)
        rows = slice(best.starts[i], best.starts[i + 1])
        found = zip((-best.scores[rows]).tolist(), best.rows[rows].tolist(), strict=True)
        if list(found) != scores[: wanted.n]:
            raise WrongAnswer(f"event {i} was answered wrongly")


def _score(expression: Expression, event: Any, weights: Any) -> float:
    score = expression.score(event, weights=weights)
    assert score is not None
    return score
