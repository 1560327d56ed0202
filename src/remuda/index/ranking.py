"""The best without scoring every match: a matcher that ranks clauses by upper bounds helps.

A clause is stored once for all criteria that own it, so it is ranked by the largest weights that
any of them gives its predicates. The owners of the best clauses are then scored exactly; when the
worst of the best beats the clauses that were cut off, no other criterion can be among them.
"""

from __future__ import annotations

import numpy as np

from remuda.arrays import Bools, Floats, Ints, Longs, starts_of
from remuda.encoding.plan import Plan
from remuda.jit import kernel
from remuda.matchers.contract import Hits, Ranked

_SLACK = 1e-9  # sums in another order differ by less


def bounds(plan: Plan) -> Floats | None:
    """For each item of the plan's clauses the most that it scores for an owner, where known.

    It is known if every criterion's clauses are the conjunctions that were written (not fewer, for
    one is within another, nor other ones), and no weight is below zero. Single values must not
    have weights of their own: bounds would be so far above the scores that they save nothing.
    """
    if plan.cnf.n_rows or plan.checked.any() or len(plan.programs.value_weight):
        return None
    programs, clauses = plan.programs, plan.conjunctions.clauses
    criteria = np.where(plan.owners.items < 0, ~plan.owners.items, plan.owners.items)
    order = np.argsort(criteria, kind="stable")
    rows = np.repeat(np.arange(len(clauses.starts) - 1), np.diff(plan.owners.starts))
    owned_starts = starts_of(np.bincount(criteria, minlength=plan.n_criteria))
    found = np.zeros(len(clauses.items))
    known = _bounds(
        owned_starts, rows[order], *clauses, programs.starts, programs.codes,
        programs.leaf_literal, programs.leaf_weight, found,
    )  # fmt: skip
    return found if known else None


def settled(ranked: Ranked, n_asked: int, best: Hits, n: int) -> Bools:
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
    owned_starts: Longs,
    owned: Longs,
    clause_starts: Longs,
    items: Ints,
    program_starts: Longs,
    codes: Ints,
    leaf_literal: Ints,
    leaf_weight: Floats,
    found: Floats,
) -> bool:
    """Each conjunction of each program, a leaf by itself being one, noted at its clause."""
    leaves = np.empty(64, np.int32)
    for criterion in range(len(owned_starts) - 1):
        own = owned[owned_starts[criterion] : owned_starts[criterion + 1]]
        end, n, n_groups = program_starts[criterion + 1], 0, 0
        for at in range(program_starts[criterion], end):
            code = codes[at]
            if code >= 0:
                if n == len(leaves):
                    leaves = np.concatenate((leaves, leaves))
                leaves[n] = code
                n += 1
                continue
            n_parts, either = (-code - 1) >> 1, (-code - 1) & 1
            if either and (at < end - 1 or n_parts != n_groups + n):
                return False  # an Or in an And
            if not either and (n_parts > n or (at == end - 1 and n_groups > 0)):
                return False  # an And in an And
            for i in range(n if either else 1):  # what is left are conjunctions of one each
                first, last = (i, i + 1) if either else (n - n_parts, n)
                if not _note(
                    leaves[first:last], own, clause_starts, items,
                    leaf_literal, leaf_weight, found,
                ):  # fmt: skip
                    return False
            n = 0 if either else n - n_parts
            n_groups += 1
        if n > 1 or (n == 1 and n_groups > 0):
            return False
        if n == 1 and not _note(
            leaves[:1], own, clause_starts, items,
            leaf_literal, leaf_weight, found,
        ):  # fmt: skip
            return False
    return True


@kernel
def _note(
    leaves: Ints,
    own: Longs,
    clause_starts: Longs,
    items: Ints,
    leaf_literal: Ints,
    leaf_weight: Floats,
    found: Floats,
) -> bool:
    """Raise the bounds of the clause that has just these leaves; False where there is none."""
    for clause in own:
        begin, end = clause_starts[clause], clause_starts[clause + 1]
        if end - begin != len(leaves):
            continue
        n_met = 0  # items that some leaf is
        for place in range(begin, end):
            for leaf in leaves:
                if items[place] == leaf_literal[leaf]:
                    n_met += 1
                    break
        if n_met < len(leaves):
            continue
        for leaf in leaves:
            if leaf_weight[leaf] < 0:
                return False
            for place in range(begin, end):
                if items[place] == leaf_literal[leaf]:
                    found[place] = max(found[place], leaf_weight[leaf])
        return True
    return False
