"""What holds of every generator: its seed decides, and its columns mean its expressions."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from remuda.workload.ads import Ads
from remuda.workload.begen import HIGH, BEGen, Loosening
from remuda.workload.mustang import Mustang
from remuda.workload.qgrams import Keywords, QGrams
from remuda.workload.vldb import VLDB
from workload.measure import arrays_of, ascend, matched

SMALL = {
    "begen": BEGen(n_subscriptions=400, n_events=20, match_probability=0.1),
    "begen, all operators": BEGen(
        n_subscriptions=400,
        n_events=20,
        n_dims=20,
        cardinality=(1, 2, 3, 4) * 5,
        alpha=1.0,
        match_probability=0.1,
        loosening=Loosening(operators=HIGH, equality_share=0.1),
    ),
    "begen, strong": BEGen(
        n_subscriptions=400,
        n_events=20,
        match_probability=0.2,
        loosening=Loosening(operators=HIGH, equality_share=0.0, strong=True),
    ),
    "vldb": VLDB(n_criteria=300, n_assignments=10, n_months=1, excluded_portion=0.3),
    "vldb, cnf": VLDB(n_criteria=300, n_assignments=10, cnf=True, n_months=2, weighted=True),
    "q-grams": QGrams(n_subscriptions=300, n_events=20, match_probability=0.1),
    "keywords": Keywords(n_queries=300, n_documents=20, n_words=50),
    "ads": Ads(n_subscriptions=400, n_events=20),
    "mustang": Mustang(n_criteria=400, n_events=20),
}
every_generator = pytest.mark.parametrize("name", SMALL)


@every_generator
def test_the_seed_decides(name: str) -> None:
    generator = SMALL[name]
    first, again, other = (
        arrays_of(one.draw()) for one in (generator, generator, replace(generator, seed=2))
    )
    assert all(map(np.array_equal, first, again))
    assert not all(map(np.array_equal, first, other))


@every_generator
def test_columns_mean_the_same_as_expressions(name: str) -> None:
    workload = SMALL[name].draw()
    found = matched(workload)
    expressions = workload.expressions()
    assert found.any()
    assert not found.all()
    for event, row in zip(workload.event_dicts(), found, strict=True):
        assert [one.holds(event) for one in expressions] == row.tolist()


@every_generator
def test_columns_are_in_order_and_in_their_domains(name: str) -> None:
    workload = SMALL[name].draw()
    criteria, events = workload.criteria, workload.events
    assert ascend(criteria.clause_starts, criteria.dims)
    assert ascend(events.starts, events.dims)
    assert ascend(criteria.span_starts, criteria.lo)
    last = criteria.n_values[np.repeat(criteria.dims, np.diff(criteria.span_starts))] - 1
    assert (criteria.lo >= 0).all()
    assert (criteria.lo <= criteria.hi).all()
    assert (criteria.hi <= last).all()
    assert (events.values >= 0).all()
    assert (events.values < criteria.n_values[events.dims]).all()
    assert (np.diff(criteria.span_starts) > 0).all()


def test_some_expressions_and_events_can_be_asked_for() -> None:
    workload = SMALL["mustang"].draw()
    assert workload.expressions(3) == workload.expressions()[:3]
    assert workload.event_dicts(3) == workload.event_dicts()[:3]
    assert len(workload.expressions(10_000)) == 400
