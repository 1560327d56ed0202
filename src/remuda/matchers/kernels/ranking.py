"""Scores and upper bounds: which rows need no look because they cannot be among the best."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from remuda.arrays import Floats, Ints, Longs, frozen
from remuda.encoding.table import ClauseTable
from remuda.jit import kernel
from remuda.matchers.kernels.plists import id_of, list_of
from remuda.matchers.kernels.truth import accepts

SLACK = 1 + 1e-9  # a bound is summed in another order than the score, and may round below it


class Ranked(NamedTuple):
    """The best rows of each event with their scores, best first, ties by row: a ragged array.

    `candidates` is how many rows were looked at one by one; `pruned` how many were not because of
    their upper bound, and `pruned_partitions` how many K-indexes were not entered because of theirs.
    """

    starts: Longs
    rows: Ints
    scores: Floats
    candidates: int
    pruned: int
    pruned_partitions: int


def item_weights(weights: Floats | None, table: ClauseTable) -> Floats:
    """The weights of a table's items, 0 for those that never score; none where all weigh 1."""
    if weights is None:
        return frozen(np.empty(0))  # type: ignore[no-any-return]
    silent = table.predicates.on_missing | table.predicates.every
    return frozen(np.where(silent[table.clauses.items], 0.0, weights))  # type: ignore[no-any-return]


@kernel
def weigh_groups(
    n_keys: int,
    begin: int,
    groups: Ints,
    sizes: Ints,
    event_weights: Floats,
    group_weights: Floats,
) -> None:
    """Note the largest weight, whatever its sign, that the event gives to each group of keys."""
    for group in range(groups[n_keys - 1] + 1 if n_keys else 0):
        group_weights[group] = 0.0
        for i in range(begin, begin + sizes[group]):
            group_weights[group] = max(group_weights[group], abs(event_weights[i]))
        begin += sizes[group]


@kernel
def bound_up_to(row: int, n: int, heads: Longs, list_bounds: Floats) -> tuple[float, int]:
    """The paper's first upper bound: of the lists that have or might have the row, all summed.

    The second number is how many lists those are.
    """
    bound, at = 0.0, 0
    while at < n and id_of(heads[at]) <= row:
        bound += list_bounds[list_of(heads[at])]
        at += 1
    return bound * SLACK, at


@kernel
def bound_of_partition(size: int, n: int, list_bounds: Floats, largest: Floats) -> float:
    """The paper's second upper bound: the sum of the `size` largest."""
    largest[:size] = 0.0
    for i in range(n):
        bound = list_bounds[i]
        for at in range(size):
            if bound > largest[at]:
                largest[at], bound = bound, largest[at]
    return np.sum(largest[:size]) * SLACK


@kernel
def predicate_score(
    weight: float,
    begin: int,
    end: int,
    spaces: Ints,
    event_weights: Floats,
    span_begin: int,
    span_end: int,
    span_lo: Ints,
    span_hi: Ints,
) -> float:
    """The largest score among the event's accepted spaces; minus infinity where there is none."""
    best = -np.inf
    for i in range(begin, end):
        if accepts(spaces[i], span_begin, span_end, span_lo, span_hi):
            best = max(best, weight * event_weights[i])
    return best
