"""The k-index ranks criteria by its upper bounds, and exactly as their scores do."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from remuda.index.index import Index, load
from remuda.index.segment import Segment
from remuda.language.criterion import Criterion
from remuda.language.python import attr
from remuda.model.expressions import And, Or
from strategies import count

weights = st.sampled_from((0.0, 0.1, 0.2, 0.3, 1.0, 2.5, 1e9))
predicates = st.builds(
    lambda name, value, weight: attr(name).eq(value).weight(weight),
    st.sampled_from("abc"),
    st.integers(0, 2),
    weights,
)
valued = st.builds(
    lambda weight: attr("a").isin(0, 1).weight({0: weight}),
    weights,
)
denied = st.builds(lambda value: ~attr("c").eq(value), st.integers(0, 2))
conjunctions = st.lists(predicates | valued | denied, min_size=1, max_size=3).map(
    lambda parts: And(*parts)
)
alternatives = st.lists(conjunctions | predicates, min_size=1, max_size=3).map(
    lambda parts: Or(*parts)
)
visits = st.fixed_dictionaries({}, optional={name: st.integers(0, 2) for name in "abc"})


factors = st.sampled_from(({}, {"a": 0}, {"a": 0.7}, {"a": 3, "b": 2}))


@settings(max_examples=count(150, 5_000))
@given(
    st.lists(conjunctions | alternatives, max_size=12),
    visits,
    st.integers(1, 3),
    factors,
)
def test_the_best_by_bounds_are_the_best_by_score(parts, visit, n, factors) -> None:
    criteria = [Criterion(f"c{i}", one) for i, one in enumerate(parts)]
    index = Index.build(criteria, matcher="kindex")
    scored = [(one.score(visit, weights=factors), one.id) for one in criteria]
    best = sorted((-score, name) for score, name in scored if score is not None)[:n]
    assert [(-m.score, m.id) for m in index.top(visit, n, weights=factors)] == best


@pytest.fixture
def many() -> list[Criterion]:
    rng = np.random.default_rng(5)
    return [
        Criterion(
            f"c{i:04}",
            attr("a").eq(int(rng.integers(0, 3))).weight(float(rng.random()))
            & (attr("b") >= i).weight(float(rng.random())),
        )
        for i in range(3000)
    ]


def test_few_are_scored_where_weights_tell_them_apart(many, tmp_path, monkeypatch) -> None:
    built = Index.build(many, matcher="kindex")
    built.save(tmp_path)
    scored = []
    plain = Segment.scores
    monkeypatch.setattr(
        Segment,
        "scores",
        lambda self, events, found, given: (
            scored.append(len(found.rows)) or plain(self, events, found, given)
        ),
    )
    visit = {"a": 1, "b": 9000}
    for index in (built, load(tmp_path)):
        scored.clear()
        found = index.top(visit, 5)
        expected = sorted((-one.score(visit), one.id) for one in many if one.holds(visit))
        assert [(-one.score, one.id) for one in found] == expected[:5]
        assert len(expected) > 500
        assert sum(scored) <= 20, "most were never scored"
