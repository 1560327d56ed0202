"""The one sort of many that kernels have, beside NumPy's."""

from __future__ import annotations

import numpy as np
import pytest

from remuda.matchers.kernels.search import sort_by


@pytest.mark.parametrize("n", [0, 1, 2, 3, 7, 8, 9, 1000])
@pytest.mark.parametrize("n_kinds", [1, 3, 10_000])
def test_keys_and_items_are_sorted_and_equal_ones_stay(n: int, n_kinds: int) -> None:
    rng = np.random.default_rng(n)
    keys = rng.integers(-n_kinds, n_kinds, n)
    if n:
        keys[n // 2] = np.iinfo(np.int64).max
    items = np.arange(n, dtype=np.int32)
    order = np.argsort(keys, kind="stable")
    wanted = keys[order]
    sort_by(keys, items)
    assert keys.tolist() == wanted.tolist()
    assert items.tolist() == order.tolist()
