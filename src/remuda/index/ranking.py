"""What matchers are told of scores when they are built."""

from __future__ import annotations

import numpy as np

from remuda.arrays import Floats, Ints
from remuda.encoding.bounds import largest, merits_of, most_of
from remuda.encoding.plan import Plan
from remuda.matchers.contract import Merits


def merits(plan: Plan, ranks: Ints) -> Merits:
    """Of each clause the most that it scores for an owner, and the first rank of such owners."""
    of_owners = _of_owners(plan)
    who = np.where(plan.owners.items < 0, ~plan.owners.items, plan.owners.items)
    scores = largest(plan.owners, of_owners)
    rows = np.repeat(np.arange(len(scores)), np.diff(plan.owners.starts))
    first = np.full(len(scores), np.iinfo(np.int32).max, np.int32)
    best = of_owners == scores[rows]
    np.minimum.at(first, rows[best], ranks[who[best]])
    return Merits(scores, first)


def _of_owners(plan: Plan) -> Floats:
    criteria = plan.bounds.criteria
    if not len(criteria):
        criteria = most_of(plan.programs, plan.conjunctions.predicates)
    return merits_of(
        plan.programs, plan.conjunctions, plan.owners, plan.checked, criteria
    ).of_owners
