"""Claims beside results: what ratio each speaks of, what ours is, and whether chance decides."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import StrEnum
from statistics import median
from typing import Any

from benchmarks.papers.measuring import Row
from benchmarks.papers.panels import Case, Panel
from benchmarks.papers.results import Results

BEYOND = ("auto",)  # curves that no paper has: no claim is about them

CLOSE = 1.03  # times that two timings may differ by however often they are repeated
TIMED = ("match_us", "build_s")

Rows = dict[str, list[Row]]  # by curve: a row for each point
Rounds = list[Rows]
Measured = dict[str, tuple[Panel, Rounds]]  # panels by their names


class Outcome(StrEnum):
    """What became of a claim."""

    HOLDS = "holds"
    FAILS = "does not hold"
    CHANCE = "undecided"
    UNKNOWN = "not measured"


@dataclass(frozen=True, slots=True)
class Judged:
    """A claim with our ratio in each round.

    It holds where all rounds are within its bounds, and fails where all are outside. Chance decides
    where they do not agree, or are as close to a bound as timings of one thing are to each other.
    """

    claim: dict[str, Any]
    ratios: tuple[float, ...]
    timed: bool = True

    @property
    def ratio(self) -> float:
        return median(self.ratios)

    @property
    def range(self) -> tuple[float, float]:
        return min(self.ratios), max(self.ratios)

    @property
    def outcome(self) -> Outcome:
        if math.isnan(self.ratio):
            return Outcome.UNKNOWN
        close = CLOSE if self.timed else 1.0
        low, high = self.range[0] / close, self.range[1] * close
        least, most = bounds(self.claim)
        if least <= low and high <= most:
            return Outcome.HOLDS
        return Outcome.FAILS if high < least or low > most else Outcome.CHANCE

    @property
    def holds(self) -> bool:
        return self.outcome is Outcome.HOLDS

    @property
    def fails(self) -> bool:
        return self.outcome is Outcome.FAILS


def bounds(claim: dict[str, Any]) -> tuple[float, float]:
    """What the ratio must be within; a spread has nothing below."""
    least = claim.get("least", 0.0 if "spread" in claim else 1.0)
    return float(least), float(claim.get("most", math.inf))


def rounds_of(panel: Panel, results: Results) -> Rounds | None:
    """The results of a panel by curve, in each round that has all; None where there is none.

    What is counted was so once, and is the same in all.
    """
    cases = list(panel.cases())
    own = [results.rounds.get(case.key, {}) for case in cases if not case.counts]
    whole = sorted(set(own[0]).intersection(*own[1:])) if own else [0]
    if not all(results.has(case, nth) for nth in whole for case in cases):
        whole = []
    return [_rows(panel, results, nth) for nth in whole] or None


def _rows(panel: Panel, results: Results, nth: int) -> Rows:
    def row(case: Case) -> Row:
        return results.rounds[case.key][0 if case.counts else nth]

    return {
        line.label: [row(panel.case(line, point)) for point in panel.points] for line in panel.lines
    }


def middle(rounds: Rounds) -> Rows:
    """The median of every figure over the rounds."""
    return {
        label: [_median_row([rows[label][i] for rows in rounds]) for i in range(len(own))]
        for label, own in rounds[0].items()
    }


def _median_row(rows: list[Row]) -> Row:
    return {
        name: median(row[name] for row in rows) if isinstance(first, int | float) else first
        for name, first in rows[0].items()
    }


def judged(panel: Panel, rounds: Rounds, others: Measured | None = None) -> list[Judged]:
    """All claims of the panel; `others` are panels that some of them are `of`.

    Where the other panel is not measured, or not in this respect, the ratio is not a number.
    """
    found = []
    for claim in panel.claims:
        at = others.get(claim["of"]) if others is not None and "of" in claim else (panel, rounds)
        asked = {"metric": panel.metric, **claim}
        timed = any(name in TIMED for name in asked["metric"].split(" / "))
        try:
            ratios = () if at is None else tuple(_ratio(at[0], rows, asked) for rows in at[1])
        except KeyError:
            ratios = ()
        found.append(Judged(claim, ratios or (math.nan,), timed))
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
