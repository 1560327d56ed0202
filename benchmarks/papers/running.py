"""Runs panels: what is not among the results yet is measured and kept, workload by workload."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from concurrent.futures import Executor, Future, ProcessPoolExecutor, as_completed
from multiprocessing import get_context

from benchmarks.measure import WrongAnswer
from benchmarks.papers.measuring import PATIENCE, Row, measured
from benchmarks.papers.panels import EVERYTHING, SCALES, Case, Panel, name_of, panels
from benchmarks.papers.results import Results, commit

Task = tuple[Panel, list[Case]]  # what is left of one workload


def main(papers: Sequence[str], *, scale: str = "small", jobs: int = 1, anew: bool = False) -> int:
    """Measure what is left; 1 if an answer was wrong, 2 if a name was.

    `anew` measures everything, and takes the place of the results when nothing is left.
    """
    strange = [name for name in papers if name not in EVERYTHING]
    if strange or scale not in SCALES:
        print(f"papers are {', '.join(EVERYTHING)}; scales {', '.join(SCALES)}", file=sys.stderr)
        return 2
    results = Results(scale, anew=anew)
    if anew and (papers or results.commits not in ([], [commit()])):
        print(_refusal(papers, results), file=sys.stderr)
        return 2
    chosen = panels(tuple(papers) or EVERYTHING, scale)
    wrong = run(chosen, results, jobs, 0.0 if scale == "tiny" else PATIENCE)
    n_cases = {case.key for panel in chosen for case in panel.cases()}
    n_left = len(n_cases - results.rows.keys())
    if anew and n_left == 0:
        results.replace()
    print(f"{len(chosen)} panels, {len(n_cases)} measurements, {n_left} not made: {results.path}")
    for name, reason in wrong.items():
        print(f"{name} stopped: {reason}")
    return 1 if wrong else 0


def _refusal(papers: Sequence[str], results: Results) -> str:
    if papers:
        return "--anew measures all papers: name none"
    return (
        f"{results.path} was begun on {', '.join(results.commits)}, and this is {commit()}: "
        "go on there, or delete the file to begin here"
    )


def run(
    chosen: Sequence[Panel], results: Results, jobs: int = 1, patience: float = PATIENCE
) -> dict[str, str]:
    """Measure and keep; why panels were stopped."""
    tasks = _tasks(chosen, results)
    if not tasks:
        return {}
    results.begin(jobs)
    if jobs > 1:
        with ProcessPoolExecutor(jobs, get_context("spawn")) as pool:
            return _run_together(tasks, results, pool, patience)
    wrong: dict[str, str] = {}
    for i, (panel, cases) in enumerate(tasks):
        if panel.name in wrong:
            continue
        start = time.monotonic()
        try:
            for row in measured(cases, results.answers(cases[0].workload), patience):
                results.keep([row])
        except WrongAnswer as error:
            wrong[panel.name] = str(error)
        _tell(i, tasks, start)
    return wrong


def _run_together(
    tasks: list[Task], results: Results, pool: Executor, patience: float
) -> dict[str, str]:
    """The same with a workload in each process; slow ones should not come last."""
    futures: dict[Future[list[Row]], int] = {}
    for i in sorted(range(len(tasks)), key=lambda i: -_weight(tasks[i][1])):
        cases = tasks[i][1]
        known = results.answers(cases[0].workload)
        futures[pool.submit(_all_of, cases, known, patience)] = i
    wrong: dict[str, str] = {}
    start = time.monotonic()
    for future in as_completed(futures):
        i = futures[future]
        name = tasks[i][0].name
        if future.cancelled():
            continue
        try:
            results.keep(future.result())
        except WrongAnswer as error:
            wrong[name] = str(error)
            for other, j in futures.items():
                if tasks[j][0].name == name:
                    other.cancel()
        _tell(i, tasks, start)
    return wrong


def _all_of(cases: list[Case], known: str | None, patience: float) -> list[Row]:
    return list(measured(cases, known, patience))


def _tasks(chosen: Sequence[Panel], results: Results) -> list[Task]:
    """What is left, the cases of one workload together, none twice."""
    seen: set[str] = set()
    tasks: dict[str, Task] = {}
    for panel in chosen:
        for case in panel.cases():
            if not results.has(case) and case.key not in seen:
                seen.add(case.key)
                tasks.setdefault(name_of(case.workload), (panel, []))[1].append(case)
    return list(tasks.values())


def _weight(cases: list[Case]) -> int:
    """Roughly how long it takes."""
    workload = cases[0].workload
    sizes = (workload.get(name, 0) for name in ("n_subscriptions", "n_criteria", "n_queries"))
    slow = sum(5 for case in cases if case.algorithm.endswith(("/live", "/top")))
    return max(sizes) * (len(cases) + slow) * (1 + workload.get("step", 0))


def _tell(i: int, tasks: list[Task], start: float) -> None:
    panel, cases = tasks[i]
    done = f"{panel.name}: {len(cases)} on {name_of(cases[0].workload)}"
    print(f"[{i + 1}/{len(tasks)}] {time.monotonic() - start:.1f} s, {done}", file=sys.stderr)
