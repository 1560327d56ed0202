"""Benchmarks as data: experiments, each a question, and points with the matches they must find."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from remuda.workload import KINDS
from remuda.workload.begen import Loosening

HERE = Path(__file__).parent

_SIZES = {
    "n_subscriptions": 200, "n_criteria": 200, "n_queries": 200,
    "n_events": 20, "n_assignments": 20, "n_documents": 20,
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Point:
    """One workload: the parameters of its generator, and how many matches its events have."""

    workload: dict[str, Any]
    matches: int | None  # None: not known yet, so nothing is timed
    label: str


@dataclass(frozen=True, slots=True)
class Experiment:
    """One question, asked of several matchers over several points."""

    name: str
    group: str
    question: str
    x: str
    matchers: tuple[str, ...]
    points: tuple[Point, ...]


def experiments() -> list[Experiment]:
    """All experiments of all files beside this one."""
    found = []
    for path in sorted(HERE.glob("*.toml")):
        entries = tomllib.loads(path.read_text(encoding="utf-8"))["experiment"]
        found += [_experiment(path.stem, entry) for entry in entries]
    return found


def chosen(name: str) -> list[Experiment]:
    """The experiments of that name or group."""
    return [one for one in experiments() if name in (one.name, one.group)]


def generator(parameters: dict[str, Any]) -> Any:
    """What draws the workload of a point."""
    own = {key: value for key, value in parameters.items() if key != "label"}
    loosening = {one.name: own.pop(one.name) for one in fields(Loosening) if one.name in own}
    if loosening:
        own["loosening"] = Loosening(**loosening)
    return KINDS[own.pop("kind")](**own)


def small(point: Point) -> dict[str, Any]:
    """The same parameters with few criteria and events, to compile what will be timed."""
    sizes = {field.name for field in fields(KINDS[point.workload["kind"]])} & _SIZES.keys()
    return {**point.workload, **{size: _SIZES[size] for size in sizes}}


def _experiment(group: str, entry: dict[str, Any]) -> Experiment:
    x = entry.get("x", "")
    points = []
    for given in entry["points"]:
        own = {key: value for key, value in given.items() if key != "matches"}
        label = str(own.get(x, own.get("kind", entry["name"])))
        points.append(Point({**entry.get("workload", {}), **own}, given.get("matches"), label))
    return Experiment(
        entry["name"], group, entry["question"], x, tuple(entry["matchers"]), tuple(points)
    )
