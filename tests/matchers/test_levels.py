"""Levels: where clauses stand, and what a signature has room for of it."""

from __future__ import annotations

import numpy as np
import pytest

from remuda.matchers.auto.layout import SIGNATURE_LEVEL
from remuda.matchers.contract import Merits
from remuda.matchers.levels import first_level, in_signature, in_signatures, standing_of

SIZES = [1, 2, 40, 300, 5_000, 70_000]


@pytest.mark.parametrize("n", SIZES)
def test_what_stands_before_another_has_no_later_level(n: int) -> None:
    rng = np.random.default_rng(n)
    merits = Merits(rng.integers(0, 1 + n // 2, n).astype(float), np.arange(n, dtype=np.int32))
    standing, levels = standing_of(n, merits)
    coarse = in_signatures(standing.levels, len(levels.scores))
    for known in (standing.levels, coarse):
        assert (np.diff(known[np.argsort(standing.places)].astype(np.int64)) >= 0).all()
    assert coarse.max() <= SIGNATURE_LEVEL.mask


@pytest.mark.parametrize("n_levels", [1, 2, 63, 64, 65, 127, 128, 200, 256])
def test_a_level_in_a_signature(n_levels: int) -> None:
    every = np.arange(n_levels, dtype=np.uint8)
    coarse = in_signatures(every, n_levels).tolist()
    assert coarse == [in_signature(level, n_levels) for level in range(n_levels)]
    assert in_signature(255, n_levels) == coarse[-1]  # beyond the last is as the last
    firsts = [first_level(known, n_levels) for known in coarse]
    for level, (known, first) in enumerate(zip(coarse, firsts, strict=True)):
        assert first <= level
        # whoever stops at a signature goes on beyond all that had another before it
        assert all(before < first for before in range(n_levels) if coarse[before] < known)
