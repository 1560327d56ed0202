"""Runs experiments by name: draws, checks, measures, reports."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

from benchmarks import against as by_turns
from benchmarks import (
    auto,
    core,
    drift,
    duplicates,
    encoding,
    engine,
    gpu,
    language,
    mustang,
    onedim,
    others,
    planning,
    ranking,
    regions,
    scale,
    service,
    shapes,
    spark,
    text,
)
from benchmarks.definitions import Experiment, chosen, experiments, generator, small
from benchmarks.measure import Cost, WrongAnswer, measure, warm_up
from benchmarks.papers import evidence
from benchmarks.papers import running as papers
from benchmarks.report import keep, plot, show

_OTHERS = {
    "auto": ("auto beside the papers' matchers, the prototype and scan; threads.", auto.main),
    "core": ("scan, sift and pst-bloom beside the same algorithms of CORE.md.", core.main),
    "language": ("How fast are criteria read, and plain evaluations made?", language.main),
    "mustang": ("How many events a second on Mustang's own benchmark?", mustang.main),
    "onedim": ("The PS-Tree beside the Interval-Tree and the Segment-Tree.", onedim.main),
    "ranking": ("What do the best N cost beside all matches?", ranking.main),
    "duplicates": (
        "SIFT, Propagation and the k-index where conjunctions repeat.",
        duplicates.main,
    ),
    "regions": ("What do questions about regions cost beside a match?", regions.main),
    "engine": ("Adds a second, alone and together, durable and not; opening.", engine.main),
    "service": ("What does HTTP cost beside the framework, and in process?", service.main),
    "shapes": ("What does an event cost as criteria grow wide?", shapes.main),
    "spark": ("Ours beside the ways a user would write it on Spark.", spark.main),
    "drift": ("How soon does a live tree follow events that change?", drift.main),
    "scale": ("How do build and match grow to millions of criteria on Spark?", scale.main),
    "plan": ("What would larger jobs take, by a simulation of them?", planning.main),
    "gpu": ("The matcher gpu on a device, beside auto on all cores.", gpu.main),
    "text": ("Rules of texts, others' and made up, on new values and old; the scan.", text.main),
    "encoding": ("What does it cost to turn events into numbers?", encoding.main),
    "evidence": ("docs/evidence.md from what `papers` measured.", evidence.main),
}
_PAPERS = "papers: Every figure of the papers; vldb, betree, pstree or reasons may follow."
_FOLDERS = {
    "sigma": "Sigma's detection rules on events of Windows; a folder may follow.",
    "adblock": "EasyList's filters on requests of browsers; a folder may follow.",
}


def main(
    names: Sequence[str],
    *,
    only: Sequence[str] = (),
    plots: bool = True,
    against: str | None = None,
    **of_papers: Any,
) -> int:
    """Run the experiments; 1 if an answer was wrong or not known, 2 if a name was.

    What else is said is about the papers' figures.
    """
    if not names:
        for experiment in experiments():
            print(f"{experiment.group}/{experiment.name}: {experiment.question}")
        for name, (question, _) in _OTHERS.items():
            print(f"{name}: {question}")
        for name, question in _FOLDERS.items():
            print(f"{name}: {question}")
        print(_PAPERS)
        return 0
    if against is not None:
        return max(by_turns.main(name, against, only) for name in names)
    if names[0] == "papers":
        return _papers(names[1:], **of_papers)
    if names[0] in _FOLDERS:
        others.main(*names[:2])
        return 0
    failed = 0
    for name in names:
        if name in _OTHERS:
            _OTHERS[name][1]()
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


def _papers(names: Sequence[str], **ways: Any) -> int:
    """The papers' figures; all of them anew, in their place, are also reported."""
    code = papers.main(names, **ways)
    here = ways.get("into") is None and ways.get("scale", "small") == "small"
    if code == 0 and ways.get("anew") and here:
        evidence.main()
    return code


def run(experiment: Experiment, only: Sequence[str], plots: bool) -> bool:
    """One experiment; False if something was not timed because its answer is wrong."""
    costs: list[Cost] = []
    right = True
    matchers = [name for name in experiment.matchers if not only or name in only]
    for point in experiment.points:
        workload = generator(point.workload).draw()
        for matcher in matchers:
            warm_up(matcher, generator(small(point)).draw())
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
