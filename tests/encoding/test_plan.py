"""Criteria of every kind, encoded and matched, equal plain evaluation."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from remuda.index.choosing import Wanted
from remuda.index.hits import of_event
from remuda.index.index import Index
from remuda.index.segment import Segment
from remuda.language.criterion import Criterion
from remuda.language.python import attr
from remuda.model.expressions import And, Or
from strategies import NOW, count, events
from strategies import expressions_of_terms as expressions


@pytest.mark.soak
@pytest.mark.parametrize("matcher", ["scan"])
@settings(max_examples=count(200, 20_000))
@given(criteria=st.lists(expressions, max_size=6), batch=st.lists(events, max_size=5))
def test_encoded_criteria_hold_exactly_where_they_should(matcher, criteria, batch) -> None:
    segment = Segment.build(criteria, matcher=matcher)
    encoded = segment.encoder.encode(batch, NOW)
    found = segment.match(encoded)
    ranks = np.arange(len(criteria), dtype=np.int32)
    best = segment.best(encoded, Wanted(len(criteria), ranks))
    for i, event in enumerate(batch):
        here = slice(best.starts[i], best.starts[i + 1])
        pairs = sorted(zip(best.rows[here].tolist(), best.scores[here].tolist(), strict=True))
        assert sorted(of_event(found, i).rows.tolist()) == [position for position, _ in pairs]
        assert pairs == [
            (position, one.score(event, now=NOW))
            for position, one in enumerate(criteria)
            if one.holds(event, now=NOW)
        ]


def test_a_scalar_and_a_list_of_it_are_remembered_apart() -> None:
    index = Index.build([Criterion("c", attr("c").divide(2).between(0, 2))])
    for event in ({"c": 2.5}, {"c": [2.5]}, {"c": True}, {"c": [True]}):
        assert (index.match(event) == ["c"]) is index["c"].holds(event)


@pytest.mark.parametrize("n", [1024, 1025, 3000])
@pytest.mark.parametrize("junction", [And, Or])
def test_a_clause_of_very_many_predicates(n: int, junction) -> None:
    index = Index.build([Criterion("c", junction(*(attr(f"x{i}") == i for i in range(n))))])
    whole = {f"x{i}": i for i in range(n)}
    for event in (whole, whole | {f"x{n - 1}": -1}, {"x0": -1}, {"x0": 0}):
        assert (index.match(event) == ["c"]) is index["c"].holds(event)
