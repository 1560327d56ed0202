"""The figures of algorithms on one setting by turns, once their answers are known to be right."""

from __future__ import annotations

import gc
import math
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from typing import Any

from benchmarks import clock
from benchmarks.measure import WrongAnswer
from benchmarks.papers.panels import Case
from benchmarks.papers.settings import REFEREE, Built, Setting, drawn, fingerprint

PATIENCE = 0.04  # seconds that a figure may take in a round, beyond the first call
ROUNDS = 5  # in which each figure is measured, drawn and built anew
_TURNS = 2  # that the algorithms of a workload take in a round
_BUILDS = 2  # at most in a round; the least is kept
_ONCE = ("/live", "/unadjusted", "/top")  # are not built again in the same round

_SUBSCRIPTIONS = {"n_subscriptions": 200, "n_events": 10}
_FEW: dict[str, dict[str, Any]] = {
    "begen": _SUBSCRIPTIONS,
    "qgrams": _SUBSCRIPTIONS,
    "switch": {**_SUBSCRIPTIONS, "step": 1},
    "keywords": {"n_queries": 200, "n_documents": 10, "n_words": 500},
    "vldb": {"n_criteria": 200, "n_assignments": 10},
}

Row = dict[str, Any]


def measured(
    cases: Sequence[Case], known: str | None, nth: int = 0, patience: float = PATIENCE
) -> list[Row]:
    """A row for each case in the nth round; all have the same workload.

    `known` is the fingerprint of the answers if an algorithm has given them before; else the
    referee is asked. One that answers otherwise ends it with WrongAnswer.
    """
    for case in cases:
        _warm_up(case.algorithm, _shape(case.workload), tuple(sorted(case.tuning.items())))
    with _no_collector():
        setting = drawn(cases[0].workload)
        if known is None:
            known = _fingerprint(setting.build(REFEREE, {}))
        rivals = [_Rival.of(case, setting, known, patience) for case in cases]
        for turn in range(_TURNS):  # the second the other way round: what ran before matters
            for one in rivals if turn % 2 == 0 else reversed(rivals):
                one.take_turn(patience / _TURNS)
        return [one.row(setting, known, nth) for one in rivals]


@contextmanager
def _no_collector() -> Iterator[None]:
    """No garbage is collected within."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()
        gc.collect()


@dataclass(slots=True)
class _Rival:
    """An algorithm that was built, and the least seconds that it took so far.

    The least of a round: whatever disturbs a call makes it longer. What chance is left is between
    rounds.
    """

    case: Case
    built: Built
    build_s: float
    candidates: int
    n_matches: int
    took_s: float
    match_s: float = math.inf

    @classmethod
    def of(cls, case: Case, setting: Setting, known: str, patience: float) -> _Rival:
        """The algorithm, if it answers what is known."""
        begin = time.thread_time()
        built, build_s = clock.timed(lambda: setting.build(case.algorithm, case.tuning))
        starts, rows, candidates = built.answer()
        if not case.algorithm.endswith("/top"):  # whose answers were compared with plain scores
            found = fingerprint(starts, rows)
            if found != known:
                raise WrongAnswer(
                    f"{case.key} found {found}, others {known} (number of matches: which ones)"
                )
        for _ in range(_BUILDS - 1):
            if build_s < patience and not (case.counts or case.algorithm.endswith(_ONCE)):
                again = clock.timed(lambda: setting.build(case.algorithm, case.tuning))[1]
                build_s = min(build_s, again)
        took_s = time.thread_time() - begin
        return cls(case, built, build_s, candidates, len(rows), took_s)

    def take_turn(self, patience: float) -> None:
        """Answer as often as fits, at least once; patience is CPU time: others may be there."""
        spent = 0.0
        while spent == 0.0 or (spent < patience and not self.case.counts):
            seconds = clock.timed(self.built.answer)[1]
            self.match_s = min(self.match_s, seconds)
            spent += max(seconds, 1e-9)
        self.took_s += spent

    def row(self, setting: Setting, known: str, nth: int) -> Row:
        """What is kept of it."""
        n = setting.n_events
        return {
            "case": self.case.key,
            "round": nth,
            "build_s": _rounded(self.build_s),
            "match_us": _rounded(self.match_s / n * 1e6),
            "nbytes": self.built.nbytes,
            "list_bytes": self.built.nbytes - self.built.record_bytes,
            "predicates": self.built.n_predicates,
            "candidates": _rounded(self.candidates / n),
            "matches": _rounded(self.n_matches / n),
            "criteria": setting.n_criteria,
            "events": n,
            "answers": known,
            "took_s": _rounded(self.took_s),
        }


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
