"""Access predicates: how selective each predicate of a clause is, for the choice among them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from remuda.arrays import Bools, Floats, Ints, Longs, Ragged, frozen
from remuda.encoding.table import ClauseTable, EventBatch, Predicates
from remuda.jit import kernel
from remuda.matchers.kernels.search import put

_NEXT_OPERATOR = 2.0**44  # more than any sum of weights


class Selectivity(NamedTuple):
    """How many events of a sample were in each space, or how many predicates are, if none is known.

    `weights` has the sums of that up to each space.
    """

    weights: Floats
    from_events: bool

    def ranks(self, predicates: Predicates) -> Floats:
        """A number for each predicate: the lower, the more selective; infinite if never access.

        Without events the operator comes first, as in the PS-Tree paper: = then ∈ then intervals
        then ∉ and ≠. Among equals it is how wide the predicate is, in how crowded spaces.
        """
        widths = self.weights[predicates.span_hi] - self.weights[predicates.span_lo]
        sums = np.append(0.0, np.cumsum(widths))
        ranks = sums[predicates.span_starts[1:]] - sums[predicates.span_starts[:-1]]
        if not self.from_events:
            has_several = np.diff(predicates.span_starts) > 1
            operator = np.where(predicates.every, 3, np.where(has_several, 1, 2))
            ranks += np.where(predicates.n_accepted <= 1, 0, operator) * _NEXT_OPERATOR
        return np.where(predicates.on_missing, np.inf, ranks)


def selectivity(table: ClauseTable, counted: Bools, sample: EventBatch | None) -> Selectivity:
    """From the events of a sample in each space, or from the predicates that are `counted`."""
    predicates, n = table.predicates, table.n_spaces
    uses = np.bincount(table.clauses.items, minlength=len(counted)) * counted
    uses = np.repeat(uses, np.diff(predicates.span_starts))
    begun = np.bincount(predicates.span_lo, uses, n + 1)
    weights = 1 + np.cumsum(begun - np.bincount(predicates.span_hi, uses, n + 1))[:n]
    if sample is not None:
        seen = np.bincount(sample.spaces, minlength=n)
        weights = seen + weights / weights.max(initial=1)  # predicates break ties
    return Selectivity(frozen(np.append(0.0, np.cumsum(weights))), sample is not None)


def most_selective_first(clauses: Ragged, ranks: Floats) -> Ragged:
    """The clauses with their predicates in the order of their ranks."""
    return Ragged(clauses.starts, _sorted(*clauses, ranks))


def access_predicates(clauses: Ragged, usable: Bools) -> Ints:
    """The first predicate of each clause; one beyond the last where that is not usable, or none."""
    none = len(usable)
    access = np.full(len(clauses.starts) - 1, none, np.int32)
    some = np.flatnonzero(np.diff(clauses.starts))
    first = clauses.items[clauses.starts[some]]
    access[some] = np.where(usable[first], first, none)
    return access


@kernel
def _sorted(starts: Longs, items: Ints, ranks: Floats) -> Ints:
    result = items.copy()
    for clause in range(len(starts) - 1):
        for i in range(starts[clause], starts[clause + 1]):
            put(items[i], result, starts[clause], i, ranks)
    return result
