"""Claims beside results: what ratio each claim speaks of, what ours is, and whether it holds."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from benchmarks.papers.measuring import Row
from benchmarks.papers.panels import Panel
from benchmarks.papers.results import Results

BEYOND = ("auto",)  # curves that no paper has: no claim is about them

Rows = dict[str, list[Row]]  # by curve: a row for each point
Measured = dict[str, tuple[Panel, Rows]]  # panels by their names


@dataclass(frozen=True, slots=True)
class Judged:
    """A claim with our ratio; it holds where that is within the claim's bounds."""

    claim: dict[str, Any]
    ratio: float

    @property
    def holds(self) -> bool:
        return self.claim.get("least", 1.0) <= self.ratio <= self.claim.get("most", math.inf)


def rows_of(panel: Panel, results: Results) -> Rows | None:
    """The results of a panel by curve; None where some are not there yet."""
    rows: Rows = {}
    for line in panel.lines:
        cases = [panel.case(line, point) for point in panel.points]
        if not all(results.has(case) for case in cases):
            return None
        rows[line.label] = [results.rows[case.key] for case in cases]
    return rows


def judged(panel: Panel, rows: Rows, others: Measured | None = None) -> list[Judged]:
    """All claims of the panel; `others` are panels that some of them are `of`.

    Where the other panel is not measured, or not in this respect, the ratio is not a number.
    """
    found = []
    for claim in panel.claims:
        at = others.get(claim["of"]) if others is not None and "of" in claim else (panel, rows)
        asked = {"metric": panel.metric, **claim}
        try:
            found.append(Judged(claim, math.nan if at is None else _ratio(*at, asked)))
        except KeyError:
            found.append(Judged(claim, math.nan))
    return found


def value(row: Row, metric: str) -> float:
    """A figure of a row, or one divided by another."""
    above, _, below = metric.partition(" / ")
    return float(row[above] / row[below] if below else row[above])


def _ratio(panel: Panel, rows: Rows, claim: dict[str, Any]) -> float:
    """The ratio that a claim is about."""
    curves = {
        label: [value(row, claim["metric"]) for row in found] for label, found in rows.items()
    }
    if "fast" in claim:
        return _slower(panel, curves, claim)
    if "spread" in claim:
        return float(max(curves[claim["spread"]]) / min(curves[claim["spread"]]))
    if "best_of" in claim:
        one, other = (_best_at(panel, curves[claim[key]]) for key in ("best_of", "beside"))
        return one / other
    growth = _growth(curves[claim["grows"]])
    return growth / _growth(curves[claim["beside"]]) if "beside" in claim else growth


def _slower(panel: Panel, curves: dict[str, list[float]], claim: dict[str, Any]) -> float:
    """How many times one curve is above another, where the claim looks."""
    named = [claim[key] for key in ("slow", "fast") if claim[key] in curves]
    slow, fast = (_curve(panel, curves, claim[key], named) for key in ("slow", "fast"))
    ratios = [one / other for one, other in zip(slow, fast, strict=True)]
    at = claim.get("at", "mean")
    if at in _SUMMARIES:
        return _SUMMARIES[at](ratios)
    return ratios[_ENDS[at] if at in _ENDS else panel.labels.index(at)]


def _curve(
    panel: Panel, curves: dict[str, list[float]], label: str, named: list[str]
) -> list[float]:
    """A curve, or at each point the lowest (`rest`) or highest (`worst`) of those not named."""
    if label in curves:
        return curves[label]
    families = {_family(one) for one in named}
    others = [
        curves[line.label]
        for line in panel.lines
        if line.algorithm not in BEYOND and _family(line.label) not in families
    ]
    choose = {"rest": min, "worst": max}[label]
    return [choose(values) for values in zip(*others, strict=True)]


def _family(label: str) -> str:
    return label.partition("/")[0]


def _growth(curve: list[float]) -> float:
    return curve[-1] / curve[0]


def _best_at(panel: Panel, curve: list[float]) -> float:
    """The x of the point where the curve is lowest."""
    return float(panel.points[curve.index(min(curve))][panel.x])


def _geometric_mean(ratios: Iterable[float]) -> float:
    logs = [math.log(ratio) for ratio in ratios]
    return math.exp(sum(logs) / len(logs))


_ENDS = {"first": 0, "last": -1}
_SUMMARIES: dict[str, Callable[[Iterable[float]], float]] = {
    "every": min,
    "any": max,
    "mean": _geometric_mean,
}
