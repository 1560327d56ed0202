"""What one matcher costs on one workload, once its answer is known to be right."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks import clock
from remuda.encoding.generated import cnf_table, dnf_table, event_batch
from remuda.encoding.table import EventBatch
from remuda.matchers.contract import cnf_matcher, conjunction_matcher
from remuda.workload.columns import Columns, Workload

_SINGLE = 200  # events that are matched one by one
_PATIENCE = 3.0  # seconds that a figure may take


class WrongAnswer(Exception):
    """A matcher found another number of matches than there are: it is not timed."""


@dataclass(frozen=True, slots=True)
class Cost:
    """The figures of one matcher at one point; times are of one thread's CPU."""

    matcher: str
    label: str
    criteria: int
    build_s: float
    single_us: float
    batch_us: float
    bytes_per_criterion: float
    candidates_per_event: float
    matches: int

    @property
    def events_per_s(self) -> float:
        return 1e6 / self.batch_us


def measure(matcher: str, label: str, workload: Workload, expected: int | None) -> Cost:
    """Build, check the number of matches, then time."""
    columns = workload.criteria
    build = builder(matcher, columns)
    start = time.process_time()
    built = build()
    build_s = time.process_time() - start
    events = event_batch(columns, workload.events)
    hits, first_s = clock.timed(lambda: built.match(events))
    if len(hits.rows) != expected:
        known = f"not {expected:,}" if expected is not None else "and the true number is not set"
        raise WrongAnswer(f"{matcher} found {len(hits.rows):,} matches, {known}")
    n = max(columns.n_criteria if columns.cnf.any() else len(columns.clause_starts) - 1, 1)
    repeats = int(np.clip(_PATIENCE / max(first_s, 1e-6), 1, 7))
    batch_s = min(clock.timed(lambda: built.match(events))[1] for _ in range(repeats))
    return Cost(
        matcher,
        label,
        n,
        build_s,
        _single(built, events) * 1e6,
        batch_s / len(events) * 1e6,
        built.nbytes / n,
        hits.candidates / len(events),
        len(hits.rows),
    )


def warm_up(matcher: str, workload: Workload) -> None:
    """Compile the matcher's kernels on a few criteria, so that no figure holds it."""
    built = builder(matcher, workload.criteria)()
    events = event_batch(workload.criteria, workload.events)
    built.match(events)
    built.match(events.one(0))  # which may have kernels of its own


def builder(matcher: str, columns: Columns) -> Callable[[], Any]:
    """What builds the matcher of that name over the columns."""
    if columns.cnf.any():
        cnf = cnf_table(columns)
        return lambda: cnf_matcher(matcher).build(cnf)
    table = dnf_table(columns)
    return lambda: conjunction_matcher(matcher).build(table)


def _single(built: Any, events: EventBatch) -> float:
    """Seconds for one event by itself: the best of several rounds over some of them."""
    ones = [events.one(i) for i in range(min(_SINGLE, len(events)))]
    return clock.best_within(lambda: [built.match(one) for one in ones], _PATIENCE) / len(ones)
