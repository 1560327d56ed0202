"""Scores and upper bounds: which rows need no look because they cannot be among the best."""

from __future__ import annotations

import numpy as np

from remuda.arrays import Floats, Ints, frozen
from remuda.encoding.table import ClauseTable, Predicates
from remuda.jit import bare
from remuda.matchers.kernels.truth import Event, accepts


def item_weights(weights: Floats | None, table: ClauseTable) -> Floats:
    """The weights of a table's items, 0 for those that never score; none where all weigh 1."""
    if weights is None:
        return frozen(np.empty(0))
    silent = table.predicates.on_missing | table.predicates.every
    return frozen(np.where(silent[table.clauses.items], 0.0, weights))


@bare
def weigh_groups(
    n_groups: int, begin: int, sizes: Ints, event_weights: Floats, group_weights: Floats
) -> None:
    """Note the largest weight, whatever its sign, that the event gives to each group of keys."""
    for group in range(n_groups):
        group_weights[group] = 0.0
        for i in range(begin, begin + sizes[group]):
            group_weights[group] = max(group_weights[group], abs(event_weights[i]))
        begin += sizes[group]


@bare
def predicate_score(
    predicate: int, weight: float, predicates: Predicates, event: Event, event_weights: Floats
) -> float:
    """The largest score among the event's accepted spaces; minus infinity where there is none."""
    best, dim = -np.inf, predicates.dim[predicate]
    begin, end = predicates.span_starts[predicate], predicates.span_starts[predicate + 1]
    for i in range(event.first[dim], event.last[dim]):
        if accepts(event.spaces[i], begin, end, predicates.span_lo, predicates.span_hi):
            best = max(best, weight * event_weights[i])
    return best
