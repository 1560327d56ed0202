"""The shape of Mustang's own search benchmark: short criteria in both forms over 26 attributes."""

from __future__ import annotations

import string
from dataclasses import dataclass

import numpy as np

from remuda.arrays import Longs, starts_of
from remuda.workload.columns import Columns, EventColumns, Workload
from remuda.workload.draws import ascending_ranks, zipf_weights

_NAMES = tuple(string.ascii_lowercase)
_N_VALUES = 100


@dataclass(frozen=True, slots=True)
class Mustang:
    """Every other criterion is a CNF of one disjunction, the others a DNF of one conjunction.

    A disjunction has 1 or 2 predicates and a conjunction 1 to 3, each an equality that is
    excluded with the probability `excluded_share`; an event has 0 to 25 attributes.
    """

    n_criteria: int = 10_000
    n_events: int = 1_000
    max_disjunction: int = 2
    max_conjunction: int = 3
    excluded_share: float = 0.2
    seed: int = 1

    def draw(self) -> Workload:
        rng = np.random.default_rng(self.seed)
        cnf = np.arange(self.n_criteria) % 2 == 0
        sizes = rng.integers(1, np.where(cnf, self.max_disjunction, self.max_conjunction) + 1)
        dims, values = _pairs(rng, sizes)
        negated = rng.random(len(dims)) < self.excluded_share
        one_each = np.arange(self.n_criteria + 1, dtype=np.int64)
        criteria = Columns(
            np.full(len(_NAMES), _N_VALUES, np.int32),
            one_each,
            cnf,
            starts_of(sizes),
            dims,
            negated,
            np.zeros(len(dims), np.bool_),
            np.arange(len(dims) + 1, dtype=np.int64),
            values,
            values,
            names=_NAMES,
        )
        event_sizes = rng.integers(0, len(_NAMES), self.n_events)
        return Workload(criteria, EventColumns(starts_of(event_sizes), *_pairs(rng, event_sizes)))


def _pairs(rng: np.random.Generator, sizes: Longs) -> tuple[np.ndarray, np.ndarray]:
    """Distinct attributes for each row, ascending, with a value each."""
    dims = ascending_ranks(rng, zipf_weights(len(_NAMES), 0), sizes, int(sizes.max(initial=0)))
    return dims, rng.integers(0, _N_VALUES, len(dims), np.int32)
