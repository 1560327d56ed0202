"""The VLDB generator: the averages of its Table 1, and the weights of its section 7."""

from __future__ import annotations

import numpy as np
import pytest

from remuda.workload.columns import Workload
from remuda.workload.vldb import VLDB
from workload.measure import match_share


@pytest.mark.parametrize(("exponent", "size"), [(3.0, 1.6), (2.5, 2.3), (2.0, 3.5)])
def test_sizes_are_those_of_table_1(exponent: float, size: float) -> None:
    workload = VLDB(n_criteria=20_000, exponent=exponent).draw()
    criteria = workload.criteria
    n_clauses = np.diff(criteria.criterion_starts)
    assert n_clauses.mean() == pytest.approx(size, abs=0.1)
    assert (n_clauses.min(), n_clauses.max()) == (1, 20)
    assert np.diff(criteria.clause_starts).mean() == pytest.approx(3.65, abs=0.05)
    assert np.diff(workload.events.starts).mean() == pytest.approx(91, abs=1)
    assert criteria.n_dims == 1461


def test_conjunctive_forms_have_the_month_in_a_clause_of_its_own() -> None:
    criteria = VLDB(n_criteria=5_000, cnf=True).draw().criteria
    assert criteria.cnf.all()
    assert np.diff(criteria.criterion_starts).mean() == pytest.approx(3.3, abs=0.1)
    last = criteria.criterion_starts[1:] - 1
    sizes = np.diff(criteria.clause_starts)
    month = criteria.dims == criteria.n_dims - 1
    assert (sizes[last] == 1).all()
    assert month[criteria.clause_starts[last]].all()
    assert month.sum() == 5_000
    assert np.delete(sizes, last).mean() == pytest.approx(2.65, abs=0.05)


def test_conjunctions_of_one_criterion_have_the_same_month() -> None:
    criteria = VLDB(n_criteria=2_000).draw().criteria
    month = np.flatnonzero(criteria.dims == criteria.n_dims - 1)
    assert len(month) == len(criteria.clause_starts) - 1
    months = criteria.lo[criteria.span_starts[month]]
    owners = np.repeat(np.arange(2_000), np.diff(criteria.criterion_starts))
    assert len(set(zip(owners.tolist(), months.tolist(), strict=True))) == 2_000
    assert set(months.tolist()) == set(range(12))


def test_months_set_the_selectivity() -> None:
    one, twelve = (
        match_share(VLDB(n_criteria=5_000, n_assignments=300, n_months=n).draw()) for n in (1, 12)
    )
    assert one == pytest.approx(0.12, abs=0.02)
    assert twelve == pytest.approx(one / 12, rel=0.25)


def test_conjunctions_copy_from_those_before_them() -> None:
    assert _shared(VLDB(n_criteria=5_000, exponent=1.5, copy_probability=0.0)) < 0.1
    assert _shared(VLDB(n_criteria=5_000, exponent=1.5, copy_probability=1.0)) > 0.35


def _shared(generator: VLDB) -> float:
    """The share of predicates, months aside, that the conjunction before has too."""
    criteria = generator.draw().criteria
    clause = np.repeat(np.arange(len(criteria.clause_starts) - 1), np.diff(criteria.clause_starts))
    first = np.isin(np.arange(clause[-1] + 1), criteria.criterion_starts)
    seen = {
        (int(c), int(d), int(lo))
        for c, d, lo in zip(
            clause, criteria.dims, criteria.lo[criteria.span_starts[:-1]], strict=True
        )
        if d < criteria.n_dims - 1
    }
    later = [one for one in seen if not first[one[0]]]
    return sum((c - 1, d, lo) in seen for c, d, lo in later) / len(later)


def test_the_portion_excluded_is_as_asked_for() -> None:
    criteria = VLDB(n_criteria=10_000, excluded_portion=0.3).draw().criteria
    month = criteria.dims == criteria.n_dims - 1
    assert not criteria.negated[month].any()
    assert criteria.negated[~month].mean() == pytest.approx(0.3, abs=0.02)


def test_weights_stay_below_the_inverse_of_the_frequency() -> None:
    workload = VLDB(n_criteria=2_000, weighted=True).draw()
    criteria, events = workload.criteria, workload.events
    bounds = _upper_bounds(workload)
    assert criteria.weights is not None
    assert (criteria.weights >= 0).all()
    assert (criteria.weights <= bounds).all()
    assert (criteria.weights == bounds).any()
    rare = bounds == 1.0
    assert criteria.weights[rare].mean() == pytest.approx(0.77, abs=0.03)  # 0.8, cut at 1
    assert events.weights is not None
    assert events.weights.mean() == pytest.approx(0.5, abs=0.01)


def _upper_bounds(workload: Workload) -> np.ndarray:
    criteria, events = workload.criteria, workload.events
    counts: dict[tuple[int, int], int] = {}
    for key in zip(events.dims.tolist(), events.values.tolist(), strict=True):
        counts[key] = counts.get(key, 0) + 1
    dims = np.repeat(criteria.dims, np.diff(criteria.span_starts)).tolist()
    return np.array(
        [1 / counts.get(key, 1) for key in zip(dims, criteria.lo.tolist(), strict=True)]
    )


def test_weights_reach_expressions_and_events() -> None:
    workload = VLDB(n_criteria=200, n_assignments=20, n_months=1, weighted=True).draw()
    event, weights = workload.event_dicts(1)[0], workload.event_weights(0)
    assert weights.keys() == event.keys()
    scores = [one.score(event, weights=weights) for one in workload.expressions()]
    found = [score for score in scores if score is not None]
    assert any(0 < score < 1 for score in found)
    assert VLDB(n_criteria=5, n_assignments=1).draw().event_weights(0) == {}


@pytest.mark.parametrize(
    ("wrong", "reason"),
    [
        ({"conjunction_size": 1.5}, "a mean of 1.5 predicates"),
        ({"conjunction_size": 9.0}, "a mean of 9.0 predicates"),
        ({"assignment_size": 800}, "assignments of 800 keys"),
        ({"n_dims": 20, "assignment_size": 5}, "20 dimensions are fewer than 25"),
    ],
)
def test_impossible_parameters_are_refused(wrong: dict[str, float], reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        VLDB(**wrong)
