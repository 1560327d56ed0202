"""Panels as data: the figures of the papers, each a sweep over a workload with what it claims.

Reasons are panels too: where a claim of a paper does not hold, they say why, and claim what must
come out if that is so.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.papers.counting import COUNTS

HERE = Path(__file__).parent
PAPERS = ("vldb", "betree", "pstree")
REASONS = "reasons"
EVERYTHING = (*PAPERS, REASONS)
SCALES = ("small", "paper", "tiny")

_SIZES = ("n_subscriptions", "n_criteria", "n_queries")
_N_EVENTS = ("n_events", "n_assignments", "n_documents")
_TUNING = ("max_cap",)  # parameters of an algorithm, not of a workload
_TINY = 100  # so many times fewer criteria than at the small scale


@dataclass(frozen=True, slots=True)
class Case:
    """One measurement: an algorithm on a workload."""

    workload: dict[str, Any]
    algorithm: str
    tuning: dict[str, Any]

    @property
    def key(self) -> str:
        """What it is called among the results."""
        words = [self.algorithm, *map(_assignment, sorted(self.tuning.items()))]
        return f"{' '.join(words)} on {name_of(self.workload)}"

    @property
    def counts(self) -> bool:
        """Whether operations are counted, which are the same in every round."""
        return self.algorithm in COUNTS


@dataclass(frozen=True, slots=True)
class Line:
    """One curve: an algorithm, and what it has of its own."""

    label: str
    algorithm: str
    own: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Panel:
    """One panel of a figure: curves over points, a metric, and the claims of the paper."""

    paper: str
    figure: str
    title: str
    x: str
    metric: str
    lines: tuple[Line, ...]
    points: tuple[dict[str, Any], ...]
    workload: dict[str, Any]
    claims: tuple[dict[str, Any], ...]
    note: str

    @property
    def name(self) -> str:
        return f"{self.paper}-{self.figure}"

    @property
    def labels(self) -> list[str]:
        """What the points are called on the axis."""
        return [str(point.get("label", point.get(self.x, self.figure))) for point in self.points]

    def case(self, line: Line, point: dict[str, Any]) -> Case:
        """What is measured for one point of a curve."""
        everything = {**self.workload, **line.own, **point}
        everything.pop("label", None)
        tuning = {key: everything.pop(key) for key in _TUNING if key in everything}
        return Case(everything, line.algorithm, tuning)

    def cases(self) -> Iterator[Case]:
        """All measurements, those of one workload together."""
        for point in self.points:
            yield from (self.case(line, point) for line in self.lines)


def panels(papers: tuple[str, ...] = PAPERS, scale: str = "small") -> list[Panel]:
    """The panels of the papers, in their order."""
    return [panel for paper in papers for panel in _read(paper, scale)]


def name_of(workload: dict[str, Any]) -> str:
    """A workload in one line; equal workloads have equal names."""
    return " ".join(map(_assignment, sorted(workload.items())))


def _assignment(item: tuple[str, Any]) -> str:
    return f"{item[0]}={item[1]}"


def _read(paper: str, scale: str) -> Iterator[Panel]:
    text = (HERE / f"{paper}.toml").read_text(encoding="utf-8")
    file = tomllib.loads(text)
    size = "small" if scale == "tiny" or paper == REASONS else scale
    for entry in file["panel"]:
        shared = file["workloads"][entry["workload"]] if "workload" in entry else {}
        base = {**_at_scale(shared, size), **_at_scale(entry.get("with", {}), size)}
        points = [_point(entry["x"], one) for one in _points(entry.get("points", ()), size)]
        if scale == "tiny":
            base, points = _shrunk(base), [_shrunk(point) for point in points]
        yield Panel(
            paper,
            entry["figure"],
            entry["title"],
            entry.get("x", ""),
            entry.get("metric", "match_us"),
            tuple(_line(one) for one in _lines(entry, file)),
            tuple(points),
            base,
            tuple(entry["claims"]),
            entry.get("note", ""),
        )


def _at_scale(workload: dict[str, Any], scale: str) -> dict[str, Any]:
    """The workload with what it has of its own at that scale."""
    shared = {key: value for key, value in workload.items() if key not in SCALES}
    return {**shared, **workload.get(scale, {})}


def _points(points: Any, scale: str) -> list[Any]:
    return points[scale] if isinstance(points, dict) else points  # type: ignore[no-any-return]


def _point(x: str, point: Any) -> dict[str, Any]:
    return point if isinstance(point, dict) else {x: point}


def _lines(entry: dict[str, Any], file: dict[str, Any]) -> list[Any]:
    """The curves of a panel, its own or named; a reason may look at those of panels alone."""
    lines = entry.get("lines", [])
    return file["lines"][lines] if isinstance(lines, str) else lines  # type: ignore[no-any-return]


def _line(line: Any) -> Line:
    if isinstance(line, str):
        return Line(line, line, {})
    own = {key: value for key, value in line.items() if key not in ("label", "algorithm")}
    return Line(line["label"], line["algorithm"], own)


def _shrunk(parameters: dict[str, Any]) -> dict[str, Any]:
    """The same with few criteria and events: all that a test of the machinery needs."""
    few = dict(parameters)
    for key in parameters.keys() & set(_SIZES):
        few[key] = max(parameters[key] // _TINY, 20)
    for key in parameters.keys() & set(_N_EVENTS):
        few[key] = 10
    return few
