"""Programs: criteria as their scores are reckoned."""

from __future__ import annotations

from typing import NamedTuple

from remuda.arrays import Floats, Ints, Longs


class Programs(NamedTuple):
    """Each criterion's negation normal form in postfix: And and Or of so many, and leaves.

    A code below zero joins the results before it (see `joint`); any other is a leaf.
    """

    starts: Longs
    codes: Ints
    leaf_literal: Ints
    leaf_attribute: Ints
    leaf_weight: Floats
    value_starts: Ints  # of each leaf: the spaces of values that have weights of their own
    value_space: Ints
    value_weight: Floats


def joint(n_parts: int, kind: int) -> int:
    """The code of an And or Or of so many parts; `-code - 1` is twice the number, plus the kind."""
    return -(2 * n_parts + kind) - 1
