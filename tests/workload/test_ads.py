"""Ads: the figures of PS-Tree's section 7.4."""

from __future__ import annotations

import numpy as np
import pytest

from remuda.workload.ads import Ads
from workload.measure import match_share


def test_sizes_are_those_of_the_paper() -> None:
    workload = Ads(n_subscriptions=100_000).draw()
    sizes = np.diff(workload.criteria.clause_starts)
    assert sizes.mean() == pytest.approx(8, abs=0.1)
    assert sizes.min() == 1
    assert 35 < sizes.max() <= 56
    assert (np.diff(workload.events.starts) == 20).all()
    assert workload.criteria.n_dims == 122


def test_few_attributes_and_values_are_frequent() -> None:
    workload = Ads(n_subscriptions=20_000).draw()
    counts = np.bincount(workload.criteria.dims, minlength=122)
    assert counts[0] > 5 * counts[121]
    wide = workload.events.values[workload.criteria.n_values[workload.events.dims] == 1_000]
    assert (wide < 31).mean() == pytest.approx(0.5, abs=0.05)


@pytest.mark.parametrize("seed", [1, 2])
def test_about_two_in_a_thousand_match(seed: int) -> None:
    share = match_share(Ads(n_subscriptions=20_000, n_events=200, seed=seed).draw())
    assert share == pytest.approx(0.002, abs=0.001)


def test_impossible_parameters_are_refused() -> None:
    with pytest.raises(ValueError, match="30 dimensions are fewer"):
        Ads(n_dims=30)
