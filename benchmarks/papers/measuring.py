"""The figures of one algorithm on one setting, once its answer is known to be right."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from functools import cache
from typing import Any

from benchmarks import clock
from benchmarks.measure import WrongAnswer
from benchmarks.papers.counting import COUNTS
from benchmarks.papers.panels import Case
from benchmarks.papers.settings import REFEREE, Built, Setting, drawn, fingerprint

PATIENCE = 0.1  # seconds that a figure may take, beyond the first call
_BUILDS = 2  # at most; the least is kept
_CALLS = 2  # at least
_ONCE = ("/live", "/unadjusted", "/top", *COUNTS)  # are not built again

_SUBSCRIPTIONS = {"n_subscriptions": 200, "n_events": 10}
_FEW: dict[str, dict[str, Any]] = {
    "begen": _SUBSCRIPTIONS,
    "qgrams": _SUBSCRIPTIONS,
    "switch": {**_SUBSCRIPTIONS, "step": 1},
    "keywords": {"n_queries": 200, "n_documents": 10, "n_words": 500},
    "vldb": {"n_criteria": 200, "n_assignments": 10},
}

Row = dict[str, Any]


def measured(cases: Sequence[Case], known: str | None, patience: float = PATIENCE) -> Iterator[Row]:
    """A row for each case; all have the same workload, and each figure some seconds of patience.

    `known` is the fingerprint of the answers if an algorithm has given them before; else the
    referee is asked. One that answers otherwise ends it with WrongAnswer.
    """
    setting = drawn(cases[0].workload)
    if known is None:
        known = _fingerprint(setting.build(REFEREE, {}))
    for case in cases:
        _warm_up(case.algorithm, _shape(case.workload), tuple(sorted(case.tuning.items())))
        yield _row(case, setting, known, patience)


def _row(case: Case, setting: Setting, known: str, patience: float) -> Row:
    begin = time.thread_time()
    built, build_s = clock.timed(lambda: setting.build(case.algorithm, case.tuning))
    (starts, rows, candidates), _ = clock.timed(built.answer)
    if not case.algorithm.endswith("/top"):  # whose answers were compared with plain scores
        found = fingerprint(starts, rows)
        if found != known:
            raise WrongAnswer(
                f"{case.key} found {found}, others {known} (number of matches: which ones)"
            )
    n = setting.n_events
    match_s = _best(built, 0.0 if case.algorithm in COUNTS else patience)
    for _ in range(_BUILDS - 1):
        if build_s < patience and not case.algorithm.endswith(_ONCE):
            again = clock.timed(lambda: setting.build(case.algorithm, case.tuning))[1]
            build_s = min(build_s, again)
    return {
        "case": case.key,
        "build_s": _rounded(build_s),
        "match_us": _rounded(match_s / n * 1e6),
        "nbytes": built.nbytes,
        "list_bytes": built.nbytes - built.record_bytes,
        "predicates": built.n_predicates,
        "candidates": _rounded(candidates / n),
        "matches": _rounded(len(rows) / n),
        "criteria": setting.n_criteria,
        "events": n,
        "answers": known,
        "took_s": _rounded(time.thread_time() - begin),
    }


def _best(built: Built, patience: float) -> float:
    """The least seconds of several calls; patience is CPU time: others may use the machine."""
    seconds: list[float] = []
    while len(seconds) < _CALLS or sum(seconds) < patience:
        seconds.append(clock.timed(built.answer)[1])
    return min(seconds)


def _fingerprint(built: Built) -> str:
    starts, rows, _ = built.answer()
    return fingerprint(starts, rows)


def _rounded(value: float) -> float:
    return float(f"{value:.4g}")


def _shape(workload: dict[str, Any]) -> tuple[tuple[str, Any], ...]:
    """A few criteria of the same kind, to compile by."""
    kept = ("kind", "cnf", "weighted", "operators", "strong", "steps", "alpha_from", "alpha_to")
    few = {key: workload[key] for key in kept if key in workload}
    return tuple(sorted((few | _FEW[workload["kind"]]).items()))


@cache
def _warm_up(algorithm: str, workload: Any, tuning: Any) -> None:
    """Compile what will be timed, once for each kind of workload."""
    setting = drawn(dict(workload))
    setting.build(algorithm, dict(tuning)).answer()
