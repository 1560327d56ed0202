"""The best without scoring every match: a matcher that ranks clauses by upper bounds helps.

A clause is stored once for all criteria that own it, so it is ranked by the largest weights that
any of them gives its predicates. The owners of the best clauses are then scored exactly; when the
worst of the best beats the clauses that were cut off, no other criterion can be among them.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np

from remuda.arrays import Bools, Floats, Ints, Longs
from remuda.encoding.plan import Plan
from remuda.encoding.table import EventBatch
from remuda.index.found import Found
from remuda.jit import kernel
from remuda.matchers.kernels.ranking import Ranked

_SLACK = 1e-9  # sums in another order differ by less


class RankingMatcher(Protocol):
    """A matcher that gives the best clauses of each event by the weights of their items."""

    weights: Floats  # of each item of the clauses; empty where it was built without

    def top(self, events: EventBatch, n: int, event_weights: Floats | None = None) -> Ranked: ...


def bounds(plan: Plan) -> Floats | None:
    """For each item of the plan's clauses the most that it scores for an owner, where known.

    It is known if every criterion is a conjunction as written, and no weight is below zero.
    """
    programs = plan.programs
    found = np.zeros(len(plan.conjunctions.clauses.items))
    known = _bounds(
        *plan.conjunctions.clauses, *plan.owners, programs.starts, programs.codes,
        programs.leaf_literal, programs.leaf_weight, programs.value_starts, programs.value_weight,
        found,
    )  # fmt: skip
    return found if known and plan.cnf.n_rows == 0 and not plan.checked.any() else None


def settled(ranked: Ranked, n_asked: int, best: Found, n: int) -> Bools:
    """Whether the best of each event are the best of all, so many clauses having been asked for."""
    assert best.scores is not None
    cut = _last(ranked.starts, ranked.scores, n_asked)
    worst = _last(best.starts, best.scores, n)
    slack = _SLACK * np.maximum(np.abs(worst), 1.0)
    settled: Bools = np.isneginf(cut) | (cut < worst - np.where(np.isfinite(slack), slack, 0.0))
    return settled


def _last(starts: Longs, scores: Floats, n: int) -> Floats:
    """The n-th score of each event; minus infinity where it has fewer."""
    last = np.full(len(starts) - 1, -np.inf)
    full = np.diff(starts) >= n
    last[full] = scores[starts[1:][full] - 1]
    return last


@kernel
def _bounds(
    clause_starts: Longs,
    items: Ints,
    owner_starts: Longs,
    owners: Ints,
    program_starts: Longs,
    codes: Ints,
    leaf_literal: Ints,
    leaf_weight: Floats,
    value_starts: Ints,
    value_weight: Floats,
    found: Floats,
) -> bool:
    for clause in range(len(clause_starts) - 1):
        begin, end = clause_starts[clause], clause_starts[clause + 1]
        for o in range(owner_starts[clause], owner_starts[clause + 1]):
            owner = owners[o]
            if owner < 0 or program_starts[owner + 1] - program_starts[owner] != end - begin + 1:
                return False  # it has several clauses, or is more than a conjunction
            for at in range(program_starts[owner], program_starts[owner + 1] - 1):
                leaf = codes[at]
                if leaf < 0:
                    return False
                most = leaf_weight[leaf]
                for v in range(value_starts[leaf], value_starts[leaf + 1]):
                    most = max(most, value_weight[v])
                place = begin
                while place < end and items[place] != leaf_literal[leaf]:
                    place += 1
                if place == end or most < 0:
                    return False
                found[place] = max(found[place], most)
    return True
