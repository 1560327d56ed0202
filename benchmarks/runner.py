"""Runs experiments by name: draws, checks, measures, reports."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

from benchmarks import language
from benchmarks.definitions import Experiment, Point, chosen, experiments
from benchmarks.measure import Cost, WrongAnswer, measure, warm_up
from benchmarks.report import keep, plot, show
from remuda.workload import KINDS
from remuda.workload.columns import Workload


def main(names: Sequence[str], *, only: Sequence[str] = (), plots: bool = True) -> int:
    """Run the experiments; 1 if an answer was wrong or not known, 2 if a name was."""
    if not names:
        for experiment in experiments():
            print(f"{experiment.group}/{experiment.name}: {experiment.question}")
        print("language: How fast are criteria read, and plain evaluations made?")
        return 0
    failed = 0
    for name in names:
        if name == "language":
            language.main()
            continue
        found = chosen(name)
        if not found:
            print(
                f"there is no benchmark {name!r}; without a name they are listed", file=sys.stderr
            )
            return 2
        for experiment in found:
            failed += not run(experiment, only, plots)
    return 1 if failed else 0


def run(experiment: Experiment, only: Sequence[str], plots: bool) -> bool:
    """One experiment; False if something was not timed because its answer is wrong."""
    costs: list[Cost] = []
    right = True
    matchers = [name for name in experiment.matchers if not only or name in only]
    for point in experiment.points:
        workload = draw(point.workload)
        for matcher in matchers:
            warm_up(matcher, _small(point))
            try:
                cost = measure(matcher, point.label, workload, point.matches)
            except WrongAnswer as error:
                right = False
                print(f"{experiment.name}, {point.label}: {error}", file=sys.stderr)
                continue
            costs.append(cost)
            print(
                f"  {experiment.name} {point.label} {matcher}: {cost.single_us:,.1f} µs an event",
                file=sys.stderr,
            )
    if costs:
        show(experiment, costs)
        path = keep(experiment, costs)
        if plots and len(experiment.points) > 1:
            plot(experiment, costs, path)
    return right


def draw(parameters: dict[str, Any]) -> Workload:
    """The workload of a point."""
    own = dict(parameters)
    return KINDS[own.pop("kind")](**own).draw()


def _small(point: Point) -> Workload:
    small = {"n_subscriptions": 200, "n_events": 20, "n_criteria": 200}
    return draw({key: small.get(key, value) for key, value in point.workload.items()})
