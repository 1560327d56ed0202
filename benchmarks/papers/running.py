"""Runs panels: what is not among the results yet is measured and kept, workload by workload."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Sequence
from concurrent.futures import Executor, Future, ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from multiprocessing import get_context, parent_process
from multiprocessing.connection import wait
from pathlib import Path
from threading import Thread
from typing import Any

from benchmarks.measure import WrongAnswer
from benchmarks.papers import cores
from benchmarks.papers.measuring import PATIENCE, ROUNDS, Row, measured
from benchmarks.papers.panels import EVERYTHING, SCALES, Case, Panel, name_of, panels
from benchmarks.papers.results import Results, commit
from benchmarks.report import RESULTS


@dataclass(frozen=True, slots=True)
class Task:
    """What is left of one workload in one round."""

    panel: str
    nth: int
    cases: list[Case]

    @property
    def weight(self) -> int:
        """Roughly how long it takes."""
        workload = self.cases[0].workload
        sizes = (workload.get(name, 0) for name in ("n_subscriptions", "n_criteria", "n_queries"))
        slow = sum(5 for case in self.cases if case.algorithm.endswith(("/live", "/top")))
        return max(sizes) * (len(self.cases) + slow) * (1 + workload.get("step", 0))


@dataclass(frozen=True, slots=True)
class Effort:
    """How much is measured, and how: rounds, processes, seconds for a figure and for all."""

    rounds: int = ROUNDS
    jobs: int = 1
    patience: float = PATIENCE
    within: float | None = None  # seconds after which nothing more is begun


def main(
    papers: Sequence[str],
    *,
    scale: str = "small",
    anew: bool = False,
    into: str | Path | None = None,
    rounds: int = ROUNDS,
    jobs: int = 1,
    within: float | None = None,
) -> int:
    """Measure what is left; 1 if an answer was wrong, 2 if a name was, 3 if time did not suffice.

    `anew` measures everything, and takes the place of the results when nothing is left. `into` is
    another folder for them.
    """
    strange = [name for name in papers if name not in EVERYTHING]
    if strange or scale not in SCALES:
        print(f"papers are {', '.join(EVERYTHING)}; scales {', '.join(SCALES)}", file=sys.stderr)
        return 2
    results = Results(scale, RESULTS if into is None else Path(into), anew=anew)
    if anew and (papers or results.commits not in ([], [commit()])):
        print(_refusal(papers, results), file=sys.stderr)
        return 2
    chosen = panels(tuple(papers) or EVERYTHING, scale)
    patience = 0.0 if scale == "tiny" else PATIENCE
    wrong = run(chosen, results, Effort(rounds, jobs, patience, within))
    n_left = sum(len(task.cases) for task in _tasks(chosen, results, rounds))
    if anew and n_left == 0:
        results.replace()
    n_cases = len({case.key for panel in chosen for case in panel.cases()})
    print(
        f"{len(chosen)} panels, {n_cases} measurements in {rounds} rounds, "
        f"{n_left} not made: {results.path}"
    )
    for name, reason in wrong.items():
        print(f"{name} stopped: {reason}")
    return 1 if wrong else 3 if n_left else 0


def _refusal(papers: Sequence[str], results: Results) -> str:
    if papers:
        return "--anew measures all papers: name none"
    return (
        f"{results.path} was begun on {', '.join(results.commits)}, and this is {commit()}: "
        "go on there, or delete the file to begin here"
    )


def run(chosen: Sequence[Panel], results: Results, effort: Effort | None = None) -> dict[str, str]:
    """Measure and keep, round after round; why panels were stopped."""
    effort = effort or Effort()
    tasks = _tasks(chosen, results, effort.rounds)
    if not tasks:
        return {}
    own = cores.available()[: effort.jobs]
    pinned = effort.jobs > 1 and len(own) == effort.jobs
    results.begin(effort.jobs, pinned)
    if effort.jobs > 1:
        context = get_context("spawn")
        free: Any = context.SimpleQueue()
        for core in own if pinned else [None] * effort.jobs:
            free.put(core)
        with ProcessPoolExecutor(effort.jobs, context, _settle, (free,)) as pool:
            try:
                return _run_together(tasks, results, pool, effort)
            except BaseException:  # what was not begun is left for the next run
                pool.shutdown(wait=False, cancel_futures=True)
                raise
    return _run_alone(tasks, results, effort)


def _run_alone(tasks: list[Task], results: Results, effort: Effort) -> dict[str, str]:
    wrong: dict[str, str] = {}
    deadline = _deadline(effort)
    for i, task in enumerate(tasks):
        if task.panel in wrong or time.time() > deadline:
            continue
        start = time.monotonic()
        try:
            known = results.answers(task.cases[0].workload)
            results.keep(measured(task.cases, known, task.nth, effort.patience))
        except WrongAnswer as error:
            wrong[task.panel] = str(error)
        _tell(i, tasks, start)
    return wrong


def _run_together(
    tasks: list[Task], results: Results, pool: Executor, effort: Effort
) -> dict[str, str]:
    """The same with a workload in each process; in a round, slow ones should not come last."""
    futures: dict[Future[list[Row]], int] = {}
    deadline = _deadline(effort)
    for i in sorted(range(len(tasks)), key=lambda i: (tasks[i].nth, -tasks[i].weight)):
        known = results.answers(tasks[i].cases[0].workload)
        futures[pool.submit(_rows_of, tasks[i], known, effort.patience, deadline)] = i
    wrong: dict[str, str] = {}
    start = time.monotonic()
    for future in as_completed(futures):
        if future.cancelled():
            continue
        i = futures[future]
        try:
            rows = future.result()
        except WrongAnswer as error:
            wrong[tasks[i].panel] = str(error)
            for other, j in futures.items():
                if tasks[j].panel == tasks[i].panel:
                    other.cancel()
        else:
            if not rows:
                continue
            results.keep(rows)
        _tell(i, tasks, start)
    return wrong


def _settle(free: Any) -> None:
    """Take a core of its own, and end with the process that began it, however that ends."""
    cores.pin(free.get())
    Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    parent = parent_process()
    if parent is not None:
        wait([parent.sentinel])
        os._exit(1)


def _rows_of(task: Task, known: str | None, patience: float, deadline: float) -> list[Row]:
    """What is measured, in another process; nothing where it is too late to begin."""
    if time.time() > deadline:
        return []
    return measured(task.cases, known, task.nth, patience)


def _deadline(effort: Effort) -> float:
    return float("inf") if effort.within is None else time.time() + effort.within


def _tasks(chosen: Sequence[Panel], results: Results, rounds: int) -> list[Task]:
    """What is left, the cases of one workload together, none twice."""
    tasks: dict[tuple[int, str], Task] = {}
    seen: set[tuple[int, str]] = set()
    for nth in range(rounds):
        for panel in chosen:
            for case in panel.cases():
                if (nth, case.key) in seen or (nth > 0 and case.counts) or results.has(case, nth):
                    continue
                seen.add((nth, case.key))
                at = (nth, name_of(case.workload))
                tasks.setdefault(at, Task(panel.name, nth, [])).cases.append(case)
    return list(tasks.values())


def _tell(i: int, tasks: list[Task], start: float) -> None:
    task = tasks[i]
    done = f"{task.panel}, round {task.nth + 1}: {len(task.cases)}"
    on = name_of(task.cases[0].workload)
    print(
        f"[{i + 1}/{len(tasks)}] {time.monotonic() - start:.1f} s, {done} on {on}", file=sys.stderr
    )
