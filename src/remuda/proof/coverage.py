"""Coverage: how much of the clauses of criteria some events have shown."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from random import Random
from typing import Any

from remuda.language.criterion import Criterion
from remuda.logic.normal import Clause
from remuda.proof.deriving import Probe, clauses_of


@dataclass(slots=True)
class Coverage:
    """Clauses and their predicates; how many were seen true, and seen as the only one to fail."""

    n_clauses: int = 0
    n_predicates: int = 0
    n_true: int = 0
    n_missed: int = 0
    _watched: list[tuple[Clause, set[int]]] = field(default_factory=list)

    @property
    def true_share(self) -> float:
        return self.n_true / self.n_clauses if self.n_clauses else 1.0

    @property
    def miss_share(self) -> float:
        return self.n_missed / self.n_predicates if self.n_predicates else 1.0

    def count(self, probe: Probe) -> None:
        """What a probe was made to show."""
        self.n_clauses += 1
        self.n_predicates += len(probe.clause)
        self.n_true += probe.satisfying is not None
        self.n_missed += len(probe.near_misses)

    def watch(self, criteria: Iterable[Criterion], rng: Random) -> None:
        """Look for the clauses of these criteria in the events to come."""
        for criterion in criteria:
            for clause in clauses_of(criterion.expression, rng):
                self.n_clauses += 1
                self.n_predicates += len(clause)
                self._watched.append((clause, set()))

    def look(self, event: Any, now: int) -> None:
        """What the event shows of the clauses that are looked for."""
        for clause, shown in self._watched:
            failing = [i for i, one in enumerate(clause) if not one.truth(event, now)]
            what = failing[0] if failing else len(clause)  # which one failed, or none
            if len(failing) <= 1 and what not in shown:
                shown.add(what)
                self.n_true += not failing
                self.n_missed += len(failing)
