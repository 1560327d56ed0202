"""BEGen: sizes, distributions and match probabilities as asked for."""

from __future__ import annotations

import numpy as np
import pytest

from remuda.workload.begen import HIGH, LOW, MED, MIN, BEGen, Loosening, Operator
from workload.measure import match_share

SHAPES = {
    "as published": {},
    "one in a thousand": {"match_probability": 0.001},
    "one in four": {"match_probability": 0.25},
    "zipf": {"alpha": 1.0},
    "few dimensions": {"n_dims": 100, "event_size": 32, "match_probability": 0.01},
    "many dimensions": {"n_dims": 5_000, "event_size": 35},
    "high cardinality": {"cardinality": 10_000},
    "equality alone": {"loosening": Loosening(operators=MIN)},
    "all operators, strong": {"loosening": Loosening(operators=HIGH, strong=True)},
}


@pytest.mark.parametrize("shape", SHAPES)
def test_the_match_probability_is_as_asked_for(shape: str) -> None:
    generator = BEGen(n_subscriptions=20_000, n_events=100, **SHAPES[shape])
    assert match_share(generator.draw()) == pytest.approx(generator.match_probability, rel=0.1)


def test_sizes_are_as_asked_for() -> None:
    generator = BEGen(n_subscriptions=20_000, subscription_size=9, event_size=20, event_spread=4)
    workload = generator.draw()
    sizes = np.diff(workload.criteria.clause_starts)
    assert sizes.mean() == pytest.approx(9, abs=0.1)
    assert (sizes.min(), sizes.max()) == (6, 12)
    assert np.diff(workload.events.starts).mean() == pytest.approx(20, abs=0.5)
    assert workload.criteria.n_criteria == 20_000
    assert len(workload.events) == 1_000


def test_attributes_are_uniform_or_zipf() -> None:
    even = BEGen(n_dims=50, match_probability=0.001).draw()
    counts = np.bincount(even.events.dims, minlength=50)
    assert counts.max() < 1.3 * counts.min()
    zipf = BEGen(n_dims=50, match_probability=0.001, alpha=2.0, extra_size=0).draw()
    counts = np.bincount(zipf.events.dims, minlength=50)
    assert counts[0] == 1_000  # in every event, where attributes are distinct
    assert counts[0] > 1.3 * counts[10] > 1.3 * counts[49]


@pytest.mark.parametrize("share", [0.0, 0.3, 1.0])
def test_the_share_of_equalities_is_as_asked_for(share: float) -> None:
    loosening = Loosening(equality_share=share, operators=(Operator.BETWEEN,), range_size=0.3)
    criteria = BEGen(cardinality=100, loosening=loosening).draw().criteria
    widths = criteria.hi - criteria.lo + 1
    assert (widths == 1).mean() == pytest.approx(share + (1 - share) / 59, abs=0.02)
    if share < 1:
        assert widths[widths > 1].mean() == pytest.approx(30, rel=0.05)


def test_operator_classes_have_their_operators() -> None:
    assert _shapes(MIN) == {"="}
    assert _shapes(LOW) == {"=", "in"}
    assert _shapes(MED) == {"=", "in", "<=", ">=", "between"}
    assert _shapes(HIGH) == {"=", "in", "<=", ">=", "between", "!=", "not in"}


def _shapes(operators: tuple[Operator, ...]) -> set[str]:
    criteria = (
        BEGen(n_subscriptions=2_000, loosening=Loosening(operators=operators)).draw().criteria
    )
    shapes = set()
    for p in range(len(criteria.dims)):
        begin, end = criteria.span_starts[p : p + 2]
        lo, hi = criteria.lo[begin], criteria.hi[begin]
        if end - begin > 1:
            shapes.add("not in" if criteria.negated[p] else "in")
        elif lo == hi:
            shapes.add("!=" if criteria.negated[p] else "=")
        elif lo == 0:
            shapes.add("<=")
        else:
            shapes.add(">=" if hi == 47 else "between")
    return shapes


def test_sets_have_up_to_six_values() -> None:
    loosening = Loosening(equality_share=0.0, operators=LOW)
    criteria = BEGen(cardinality=1_000, loosening=loosening).draw().criteria
    assert set(np.diff(criteria.span_starts).tolist()) == {2, 3, 4, 5, 6}


@pytest.mark.parametrize(
    ("wrong", "reason"),
    [
        ({"match_probability": 0.0}, r"not in \(0, 1\]"),
        ({"cardinality": (2, 3)}, "2 cardinalities for 400 dimensions"),
        ({"n_dims": 10}, "10 dimensions are fewer"),
        ({"subscription_size": 20}, "do not fit base expressions of 13"),
        ({"subscription_spread": 7}, "7 ± 7 predicates"),
    ],
)
def test_impossible_parameters_are_refused(wrong: dict[str, float], reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        BEGen(**wrong)
