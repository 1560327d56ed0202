"""A simulation of large jobs, from what `./run bench scale` measured of small ones.

Costs are fitted to all sizes, each weighing the same, and held against each: where the simulation
is further from a measured case than a factor of 1.5, nothing is planned. What a fit without the
largest size has for that one is shown beside it: so far may a plan for larger ones be off. Then
jobs are scheduled as Spark does it: tasks group by group, each on the core that is free first; a
machine fetches a group once, a worker opens it once, machines and tasks differ a little in speed.
"""

from __future__ import annotations

import heapq
import json
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from rich.console import Console
from rich.table import Table

from benchmarks.report import RESULTS
from benchmarks.scale import SHARDS, SIZES, Figures

_FAR = 1.5  # times what was measured
_SHARD = 250_000  # criteria of a segment
_SPREAD = 0.1  # of the logarithm of what tasks and machines take
_BANDWIDTH = 500e6  # bytes a second from the store to a machine
_TASK_S = 0.05  # seconds that Spark takes for a task
_REACH, _MATCH = "reach", "match"


class NotAsMeasured(AssertionError):
    """The simulation is too far from what was measured."""


@dataclass(frozen=True, slots=True)
class Costs:
    """What the ads shape takes: CPU-microseconds, and bytes."""

    start_s: float  # a build, whatever its size
    build_us: float  # a criterion
    event_us: float  # an event, whatever the index
    criterion_us: float  # a criterion, for each event
    copy_us: float  # an event that is sent to a group, and its answer back
    open_us: float  # a criterion, when a worker opens the index
    worker_bytes: float
    own_bytes: float  # a criterion, in a worker's own memory
    stored_bytes: float  # a criterion, on disk


@dataclass(frozen=True, slots=True)
class Job:
    """Events asked about by machines, against criteria in groups."""

    criteria: int
    events: int
    machines: int
    cores: int
    groups: int = 1
    partitions: int = 0  # of the events; 0: four for each core

    @property
    def group_criteria(self) -> float:
        return self.criteria / self.groups


@dataclass(frozen=True, slots=True)
class Outcome:
    """How long it takes, and what is busy meanwhile."""

    wall_s: float
    cpu_s: float
    worker_bytes: float
    machine_bytes: float  # of all workers, with one group mapped

    def row(self) -> tuple[str, ...]:
        return (
            f"{self.wall_s / 60:,.0f}",
            f"{self.cpu_s / 3600:,.0f}",
            f"{self.worker_bytes / 1e9:,.1f}",
            f"{self.machine_bytes / 1e9:,.0f}",
        )


def simulated(job: Job, costs: Costs, seed: int = 1) -> Outcome:
    """The job, task by task."""
    rng = np.random.default_rng(seed)
    n_cores = job.machines * job.cores
    n_tasks = job.partitions or 4 * n_cores
    copying = costs.copy_us if job.groups > 1 else 0.0
    event_us = costs.event_us + copying + costs.criterion_us * job.group_criteria
    task_s = job.events / n_tasks * event_us / 1e6
    open_s = costs.open_us * job.group_criteria / 1e6
    fetch_s = costs.stored_bytes * job.group_criteria / _BANDWIDTH if job.machines > 1 else 0.0
    speed = np.exp(rng.normal(0, _SPREAD / 2, job.machines))
    free = [(0.0, core) for core in range(n_cores)]
    has = np.full(n_cores, -1)  # the group that each worker has open
    fetched: dict[tuple[int, int], float] = {}  # when a machine has a group
    cpu_s = 0.0
    for group in range(job.groups):
        for slow in np.exp(rng.normal(0, _SPREAD, n_tasks)).tolist():
            now, core = heapq.heappop(free)
            machine = core // job.cores
            there = fetched.setdefault((machine, group), now + fetch_s)
            opening = 0.0 if has[core] == group else open_s
            has[core] = group
            spent = (opening + task_s * slow) * speed[machine] + _TASK_S
            cpu_s += spent
            heapq.heappush(free, (max(now, there) + spent, core))
    own = costs.worker_bytes + costs.own_bytes * job.group_criteria
    mapped = costs.stored_bytes * job.group_criteria
    return Outcome(max(free)[0], cpu_s, own, own * job.cores + mapped)


def fitted(figures: Sequence[Figures]) -> Costs:
    """The costs that are nearest to those measured, each case weighing the same."""
    reached = _sizes(figures, _REACH)
    criteria = [one.criteria for one in reached]
    event_us, criterion_us = _line(criteria, [one.cpu_s / one.n * 1e6 for one in reached])
    worker_bytes, own_bytes = _line(criteria, [float(one.worker_bytes) for one in reached])
    built = _sizes(figures, "build")
    start_s, build_s = _line([one.criteria for one in built], [one.cpu_s for one in built])
    whole = {one.criteria: one for one in _sizes(figures, _MATCH)}
    split = next((one for one in figures if one.part.endswith("-shards")), None)
    copying = 0.0
    if split is not None:
        copying = (split.cpu_s - whole[split.criteria].cpu_s) / split.n / SHARDS * 1e6
    return Costs(
        start_s=start_s,
        build_us=build_s * 1e6,
        event_us=max(0.0, event_us),
        criterion_us=criterion_us,
        copy_us=copying,
        open_us=OPEN_US,
        worker_bytes=worker_bytes,
        own_bytes=own_bytes,
        stored_bytes=reached[-1].index_bytes / reached[-1].criteria,
    )


def _line(sizes: Sequence[int], values: Sequence[float]) -> tuple[float, float]:
    """Where the line begins, and how it rises, whose errors are the smallest shares of values."""
    weights = 1 / np.array(values)
    columns = np.stack([weights, np.array(sizes) * weights], axis=1)
    begin, rise = np.linalg.lstsq(columns, np.ones(len(values)))[0].tolist()
    return begin, rise


OPEN_US = 2.8  # a criterion of ads, when a worker opens an index: 1 M in 2.8 CPU-s


def _sizes(figures: Sequence[Figures], what: str) -> list[Figures]:
    """The parts of that kind with the ads shape, the smallest first."""
    names = {f"{size.name}-{what}" for size in SIZES if size.kind == "ads"}
    return sorted((one for one in figures if one.part in names), key=lambda one: one.criteria)


Case = tuple[str, float, float]  # what it is, as measured, as simulated


def held_out(figures: Sequence[Figures]) -> list[Case]:
    """The largest size as measured, and as a fit to all smaller ones has it."""
    largest = max(one.criteria for one in _sizes(figures, _REACH))
    smaller = [one for one in figures if one.criteria < largest]
    alone = [one for one in figures if one.criteria == largest]
    return compared(alone, fitted(smaller))


def check(cases: Sequence[Case]) -> None:
    """Refuse a simulation that is far from what was measured."""
    for what, measured, expected in cases:
        if not 1 / _FAR < expected / measured < _FAR:
            raise NotAsMeasured(f"{what}: measured {measured:,.1f}, simulated {expected:,.1f}")


def compared(figures: Sequence[Figures], costs: Costs) -> list[Case]:
    """What was measured of each case, and what the simulation has for it."""
    found: list[Case] = []
    open_already = replace(costs, open_us=0.0)  # workers were asked before, as parts of scale are
    for one in _sizes(figures, _REACH):
        job = Job(one.criteria, one.n, machines=1, cores=2, partitions=4)
        found.append((f"{one.part}, CPU-s", one.cpu_s, simulated(job, open_already).cpu_s))
        own = costs.worker_bytes + costs.own_bytes * one.criteria
        found.append((f"{one.part}, worker MB", one.worker_bytes / 1e6, own / 1e6))
    found += [
        (f"{one.part}, CPU-s", one.cpu_s, costs.start_s + costs.build_us * one.criteria / 1e6)
        for one in _sizes(figures, "build")
    ]
    return found


PLANS = (
    Job(10_000_000, 1_000_000_000, 8, 16),
    Job(10_000_000, 1_000_000_000, 8, 16, groups=4),
    Job(100_000_000, 100_000_000, 100, 16, groups=10),
    Job(100_000_000, 100_000_000, 100, 16, groups=25),
    Job(100_000_000, 100_000_000, 100, 16, groups=50),
    Job(100_000_000, 100_000_000, 100, 16, groups=100),
)


def main() -> None:
    """Fit, check, and show what large jobs would take."""
    newest = max(RESULTS.glob("scale-*.json"))
    figures = [Figures(**one) for one in json.loads(newest.read_text())]
    costs = fitted(figures)
    _show("the largest size, beside a fit to the smaller ones", held_out(figures))
    _show(f"{newest.name} beside the simulation", compared(figures, costs))
    check(compared(figures, costs))
    Console().print(costs)
    plans = Table(title="large jobs", title_justify="left")
    names = ("criteria", "events", "machines × cores", "groups", "minutes", "core-hours")
    for name in (*names, "GB a worker", "GB a machine", "core-hours to build"):
        plans.add_column(name, justify="right")
    for job in PLANS:
        what = f"{job.criteria:,}", f"{job.events:,}", f"{job.machines} × {job.cores}"
        building = costs.build_us * job.criteria / 3.6e9
        plans.add_row(*what, str(job.groups), *simulated(job, costs).row(), f"{building:,.0f}")
    Console(width=max(130, Console().width)).print(plans)


def _show(title: str, cases: Sequence[Case]) -> None:
    table = Table(title=title, title_justify="left")
    for name in ("case", "measured", "simulated", "ratio"):
        table.add_column(name, justify="left" if name == "case" else "right")
    for what, measured, expected in cases:
        table.add_row(what, f"{measured:,.0f}", f"{expected:,.0f}", f"{expected / measured:.2f}")
    Console().print(table)
