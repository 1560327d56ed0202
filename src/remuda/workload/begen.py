"""BEGen: the generator of the BE-Tree paper (its section 7.1), which PS-Tree's paper uses too.

Base expressions are conjunctions of equalities; they model events. Subscriptions are derived from
them: each keeps some predicates of one base expression and loosens some of those it keeps, so
that the event still satisfies it. An event therefore matches the subscriptions of its own base
expression, and next to none of the others: the number of base expressions is the inverse of the
match probability.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from remuda.arrays import Bools, Ints, Longs, starts_of
from remuda.workload.columns import Columns, EventColumns, Workload, conjunctions, spans
from remuda.workload.draws import (
    ascending_ranks,
    below,
    first_occurrences,
    ranks,
    sizes_around,
    within_limits,
    zipf_weights,
)


class Operator(StrEnum):
    """What an equality is loosened to."""

    LESS = "<"
    AT_MOST = "<="
    AT_LEAST = ">="
    MORE = ">"
    BETWEEN = "between"
    IN = "in"
    NOT_EQUAL = "!="
    NOT_IN = "not in"


MIN: tuple[Operator, ...] = ()
LOW = (Operator.IN,)
_BELOW, _ABOVE = (Operator.LESS, Operator.AT_MOST), (Operator.AT_LEAST, Operator.MORE)
MED = (*_BELOW, *_ABOVE, Operator.IN, Operator.BETWEEN)
HIGH = (*MED, Operator.NOT_EQUAL, Operator.NOT_IN)


@dataclass(frozen=True, slots=True)
class Loosening:
    """How the predicates of base expressions become those of subscriptions (Table 2).

    The papers' names: `equality_share` is "% Equality Pred" or "Equal. Operator Ratio" (the rest
    is transformed, with probability Pr_trans), `operators` "Op Class" (MIN, LOW, MED or HIGH;
    drawn evenly, an operator that is named twice twice as often), `range_size` "Pred Avg. Range
    Size" as a share of the cardinality, and `strong` the strong semantics of inequality.
    """

    equality_share: float = 0.3
    operators: Sequence[Operator] = MED
    range_size: float = 0.12
    max_set_size: int = 6
    strong: bool = False


AS_PUBLISHED = Loosening()


@dataclass(frozen=True, slots=True)
class BEGen:
    """The parameters of Table 3 (and of PS-Tree's Table 1), with the papers' defaults.

    The papers' names: `n_subscriptions` is "Size" or "Subscription Number", `n_dims` "Number of
    Dim" or "Dimension Number", `cardinality` "Dimension Cardinality" (one for all dimensions or
    one for each), `subscription_size` "Avg. Sub Size", `event_size` "Avg. Event Size",
    `match_probability` "Match Prob", and `alpha` the exponent of the attributes' distribution: 0
    is uniform, more is Zipf, with dimension 0 the most frequent.

    Sizes are drawn evenly from the mean less the spread to the mean plus the spread: dropping
    predicates one by one (with Pr_pred) would leave subscriptions so short that they match
    anything. None is longer than its base expression. `extra_size` of an event's attributes are
    strange to its base expression, so that events of one base expression differ.
    """

    n_subscriptions: int = 100_000
    n_events: int = 1_000
    n_dims: int = 400
    cardinality: int | Sequence[int] = 48
    subscription_size: int = 7
    subscription_spread: int = 3
    event_size: int = 15
    event_spread: int = 3
    extra_size: int = 2
    alpha: float = 0.0
    match_probability: float = 0.01
    loosening: Loosening = AS_PUBLISHED
    seed: int = 1

    def __post_init__(self) -> None:
        base_size = self.event_size - self.extra_size
        if not 0 < self.match_probability <= 1:
            raise ValueError(f"a match probability of {self.match_probability} is not in (0, 1]")
        if not isinstance(self.cardinality, int) and len(self.cardinality) != self.n_dims:
            raise ValueError(f"{len(self.cardinality)} cardinalities for {self.n_dims} dimensions")
        if base_size + self.event_spread > self.n_dims:
            raise ValueError(f"{self.n_dims} dimensions are fewer than an event's attributes")
        if not self.subscription_spread < self.subscription_size <= base_size:
            raise ValueError(
                f"subscriptions of {self.subscription_size} ± {self.subscription_spread} "
                f"predicates do not fit base expressions of {base_size}"
            )

    def draw(self) -> Workload:
        rng = np.random.default_rng(self.seed)
        n_values = np.broadcast_to(np.asarray(self.cardinality, np.int32), (self.n_dims,))
        bases = self._bases(rng, n_values)
        criteria = derived(
            rng,
            bases,
            n_values,
            sizes_around(
                rng, self.subscription_size, self.subscription_spread, self.n_subscriptions
            ),
            self.loosening,
        )
        return Workload(criteria, self._events(rng, bases, n_values))

    def _bases(self, rng: np.random.Generator, n_values: Ints) -> EventColumns:
        n = n_bases(self.match_probability)
        base_size = self.event_size - self.extra_size
        sizes = sizes_around(rng, base_size, self.event_spread, n).clip(min=1)
        widest = base_size + self.event_spread
        dims = ascending_ranks(rng, zipf_weights(self.n_dims, self.alpha), sizes, widest)
        values = below(rng, n_values[dims]).astype(np.int32)
        return EventColumns(starts_of(sizes), dims, values)

    def _events(
        self, rng: np.random.Generator, bases: EventColumns, n_values: Ints
    ) -> EventColumns:
        """Base expressions in turn, each with its strange attributes."""
        chosen = chosen_bases(rng, len(bases), self.n_events)
        rows, dims, values = taken(bases, chosen)
        strange_rows = np.repeat(np.arange(self.n_events), self.extra_size)
        weights = zipf_weights(self.n_dims, self.alpha)
        strange = ranks(rng, weights, len(strange_rows)).astype(np.int32)
        rows, dims = np.concatenate([rows, strange_rows]), np.concatenate([dims, strange])
        values = np.concatenate([values, below(rng, n_values[strange]).astype(np.int32)])
        kept = first_occurrences(rows, dims)  # where a strange attribute is not, after all
        return EventColumns.of(rows[kept], dims[kept], values[kept], self.n_events)


def n_bases(match_probability: float) -> int:
    """How many base expressions give the match probability."""
    return max(1, round(1 / match_probability))


def chosen_bases(rng: np.random.Generator, n: int, n_rows: int) -> Longs:
    """A base expression for each row, all of them equally often, in random order."""
    return rng.permutation(np.arange(max(n, n_rows)) % n)[:n_rows]


def taken(bases: EventColumns, chosen: Longs) -> tuple[Longs, Ints, Ints]:
    """The row, dimension and value of each predicate of the chosen base expressions."""
    sizes = np.diff(bases.starts)[chosen]
    rows = np.repeat(np.arange(len(chosen)), sizes)
    at = np.arange(len(rows)) - starts_of(sizes)[rows] + bases.starts[chosen[rows]]
    return rows, bases.dims[at], bases.values[at]


def derived(
    rng: np.random.Generator,
    bases: EventColumns,
    n_values: Ints,
    sizes: Longs,
    loosening: Loosening,
    names: tuple[str, ...] = (),
) -> Columns:
    """Subscriptions of the given sizes, derived from the base expressions equally often."""
    chosen = chosen_bases(rng, len(bases), len(sizes))
    sizes = np.minimum(sizes, np.diff(bases.starts)[chosen])
    rows, dims, values = taken(bases, chosen)
    kept = _some_of_each(rng, rows, sizes)
    dims, values = dims[kept], values[kept]
    negated, lo, hi, owners, owned = loosened(rng, values, n_values[dims], loosening)
    return conjunctions(
        n_values,
        starts_of(sizes),
        dims,
        negated,
        spans(lo, hi, owners, owned),
        strong=loosening.strong,
        names=names,
    )


def _some_of_each(rng: np.random.Generator, rows: Longs, sizes: Longs) -> Bools:
    """A mask with `sizes[i]` entries of row i set, at random; rows ascend."""
    order = np.argsort(rows + rng.random(len(rows)))  # shuffled within each row
    mask = np.zeros(len(rows), np.bool_)
    mask[order] = within_limits(rows, sizes)
    return mask


def loosened(
    rng: np.random.Generator, values: Ints, n_values: Ints, loosening: Loosening
) -> tuple[Bools, Longs, Longs, Longs, Longs]:
    """Predicates that the values satisfy (Table 2b): one interval each, or owned values."""
    value, size = values.astype(np.int64), n_values.astype(np.int64)
    lo, hi = value.copy(), value.copy()
    kinds = _kinds(rng, size, loosening)

    def those(*operators: Operator) -> Longs:
        codes = [i for i, one in enumerate(loosening.operators) if one in operators]
        return np.flatnonzero(np.isin(kinds, codes))

    rows = those(*_BELOW)  # over integers, "less than" is "at most one less"
    lo[rows], hi[rows] = 0, value[rows] + below(rng, size[rows] - value[rows])
    rows = those(*_ABOVE)
    lo[rows], hi[rows] = below(rng, value[rows] + 1), size[rows] - 1
    rows = those(Operator.BETWEEN)
    lo[rows], hi[rows] = _interval_around(rng, value[rows], size[rows], loosening.range_size)
    rows = those(Operator.NOT_EQUAL)
    lo[rows] = hi[rows] = _other(rng, value[rows], size[rows])
    owners, owned = _sets(rng, those(Operator.IN), those(Operator.NOT_IN), value, size, loosening)
    negated = np.zeros(len(value), np.bool_)
    negated[those(Operator.NOT_EQUAL, Operator.NOT_IN)] = True
    return negated, lo, hi, owners, owned


def _kinds(rng: np.random.Generator, size: Longs, loosening: Loosening) -> Longs:
    """Which operator each predicate gets, as its place in the class; -1 for equality."""
    if not loosening.operators:
        return np.full(len(size), -1)
    kinds = rng.integers(0, len(loosening.operators), len(size))
    equal = rng.random(len(size)) < loosening.equality_share
    return np.where(equal | (size == 1), -1, kinds)


def _interval_around(
    rng: np.random.Generator, value: Longs, size: Longs, share: float
) -> tuple[Longs, Longs]:
    """An interval with the value in it, `share` of the domain wide on average."""
    mean = np.maximum(1, np.rint(share * size).astype(np.int64))
    width = np.minimum(1 + below(rng, 2 * mean - 1), size)
    lo = (value - below(rng, width)).clip(0, size - width)
    return lo, lo + width - 1


def _other(rng: np.random.Generator, value: Longs, size: Longs) -> Longs:
    """Another value of the domain."""
    return (value + 1 + below(rng, size - 1)) % size


def _sets(
    rng: np.random.Generator,
    asked: Longs,
    denied: Longs,
    value: Longs,
    size: Longs,
    loosening: Loosening,
) -> tuple[Longs, Longs]:
    """The owners and their values: the one that is satisfied and others, or others alone."""
    sets = np.concatenate([asked, denied])
    drawn = rng.integers(1, loosening.max_set_size, len(sets))
    owners = np.repeat(sets, drawn)
    others = _other(rng, value[owners], size[owners])
    return np.concatenate([asked, owners]), np.concatenate([value[asked], others])
