"""Mustang's benchmark: its two forms, its sizes, its alphabet."""

from __future__ import annotations

import numpy as np
import pytest

from remuda.model.expressions import And, Or
from remuda.workload.mustang import Mustang


def test_the_shape_is_that_of_mustangs_benchmark() -> None:
    workload = Mustang(n_criteria=20_000).draw()
    criteria = workload.criteria
    sizes = np.diff(criteria.clause_starts)
    assert criteria.cnf.mean() == 0.5
    assert set(sizes[criteria.cnf].tolist()) == {1, 2}
    assert set(sizes[~criteria.cnf].tolist()) == {1, 2, 3}
    assert criteria.negated.mean() == pytest.approx(0.2, abs=0.01)
    assert not criteria.strong.any()
    assert (criteria.lo == criteria.hi).all()
    assert (criteria.lo.min(), criteria.hi.max()) == (0, 99)
    event_sizes = np.diff(workload.events.starts)
    assert (event_sizes.min(), event_sizes.max()) == (0, 25)


def test_forms_become_their_expressions() -> None:
    workload = Mustang(n_criteria=200).draw()
    kinds = [type(one) for one in workload.expressions()]
    cnf = workload.criteria.cnf.tolist()
    assert {kind for kind, form in zip(kinds, cnf, strict=True) if form} >= {Or}
    assert And not in {kind for kind, form in zip(kinds, cnf, strict=True) if form}
    assert And in {kind for kind, form in zip(kinds, cnf, strict=True) if not form}
    assert set("".join(workload.event_dicts(50)[3])) <= set("abcdefghijklmnopqrstuvwxyz")
