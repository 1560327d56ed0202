"""Display ads: the shape of the data set behind Table 2 of the PS-Tree paper.

Advertisements are subscriptions, sessions are events, and neither is derived from the other: a
few attributes and a few of their values are far more frequent than the rest.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from remuda.arrays import Floats, Ints, Longs, starts_of
from remuda.workload.begen import Loosening, Operator, loosened
from remuda.workload.columns import EventColumns, Workload, conjunctions, spans
from remuda.workload.draws import distinct_ranks, zipf_weights

_CARDINALITIES = (2, 3, 5, 8, 12, 24, 48, 100, 250, 1_000, 5_000, 20_000)
_TARGETING = Loosening(
    equality_share=0.35,
    operators=(
        *[Operator.IN] * 8,
        *[Operator.NOT_IN] * 2,
        *[Operator.BETWEEN] * 2,
        Operator.AT_MOST,
        Operator.AT_LEAST,
        Operator.NOT_EQUAL,
    ),
    max_set_size=12,
)


@dataclass(frozen=True, slots=True)
class Ads:
    """Section 7.4's figures: 122 dimensions, 8 predicates (1 to 56), 20 attributes an event.

    Numbers of predicates are log-normal: with a `size_sigma` of one half, three million draws
    around 8 run from 1 to about 56. About two subscriptions in a thousand match an event.
    """

    n_subscriptions: int = 100_000
    n_events: int = 1_000
    n_dims: int = 122
    subscription_size: float = 8.0
    size_sigma: float = 0.5
    max_size: int = 56
    event_size: int = 20
    alpha: float = 0.7
    seed: int = 1

    def __post_init__(self) -> None:
        if max(self.max_size, self.event_size) > self.n_dims:
            raise ValueError(f"{self.n_dims} dimensions are fewer than the predicates wanted")

    def draw(self) -> Workload:
        rng = np.random.default_rng(self.seed)
        n_values = rng.permutation(np.resize(_CARDINALITIES, self.n_dims)).astype(np.int32)
        weights = zipf_weights(self.n_dims, self.alpha)
        sizes = self._sizes(rng)
        dims = self._dims(rng, weights, sizes)
        negated, lo, hi, owners, owned = loosened(
            rng, _skewed_values(rng, n_values[dims]), n_values[dims], _TARGETING
        )
        criteria = conjunctions(
            n_values, starts_of(sizes), dims, negated, spans(lo, hi, owners, owned)
        )
        return Workload(criteria, self._events(rng, n_values, weights))

    def _sizes(self, rng: np.random.Generator) -> Longs:
        mean_log = np.log(self.subscription_size) - self.size_sigma**2 / 2
        drawn = rng.lognormal(mean_log, self.size_sigma, self.n_subscriptions)
        return np.rint(drawn).astype(np.int64).clip(1, self.max_size)

    def _dims(self, rng: np.random.Generator, weights: Floats, sizes: Longs) -> Ints:
        """Distinct dimensions for each subscription; those of one size are drawn together."""
        starts, dims = starts_of(sizes), np.empty(sizes.sum(), np.int32)
        for size in np.unique(sizes):
            rows = np.flatnonzero(sizes == size)
            drawn = distinct_ranks(rng, weights, len(rows), int(size))
            dims[starts[rows][:, None] + np.arange(size)] = np.sort(drawn, axis=1)
        return dims

    def _events(self, rng: np.random.Generator, n_values: Ints, weights: Floats) -> EventColumns:
        drawn = distinct_ranks(rng, weights, self.n_events, self.event_size)
        dims = np.sort(drawn, axis=1).ravel()
        starts = np.arange(self.n_events + 1, dtype=np.int64) * self.event_size
        return EventColumns(starts, dims, _skewed_values(rng, n_values[dims]))


def _skewed_values(rng: np.random.Generator, n_values: Ints) -> Ints:
    """A value for each domain, as likely as the inverse of its rank."""
    drawn = np.floor((n_values + 1.0) ** rng.random(len(n_values))).astype(np.int32) - 1
    return np.minimum(drawn, n_values - 1)
