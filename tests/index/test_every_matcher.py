"""Every matcher's name serves every criterion: one contract test over all of them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from matchers.tables import affordable
from remuda.cli.demo_data import draw_day
from remuda.index.index import Index
from remuda.language.criterion import Criterion
from remuda.matchers.contract import NAMES
from strategies import NOW, TREES, count, events
from strategies import expressions_of_trees as expressions

every_matcher = pytest.mark.parametrize("matcher", NAMES)


@pytest.mark.soak
@every_matcher
@settings(max_examples=count(30, 3_000))
@given(criteria=st.lists(expressions, max_size=6), batch=st.lists(events, max_size=5))
def test_finds_exactly_what_plain_evaluation_finds(matcher, criteria, batch) -> None:
    named = [Criterion(f"c{i}", one) for i, one in enumerate(criteria)]
    index = Index.build(named, matcher=matcher, hierarchies=TREES)
    found = index.match_many(batch, now=NOW)
    for i, event in enumerate(batch):
        expected = [one.id for one in named if one.holds(event, now=NOW)]
        assert found.ids(i) == expected
        assert index.match(event, now=NOW) == expected
        scores = {one.id: one.score(event, now=NOW) for one in named if one.id in expected}
        best = sorted(scores, key=lambda name: (-scores[name], name))[:3]
        assert [(m.id, m.score) for m in index.top(event, 3, now=NOW)] == [
            (name, scores[name]) for name in best
        ]


@pytest.fixture(scope="module")
def day():
    """A day of advertising, with its truth told by `scan`, which the other test holds to it."""
    campaigns, visits = draw_day(np.random.default_rng(7), 1500, 3000)
    return campaigns, visits, _rows(Index.build(campaigns, matcher="scan"), visits)


def _rows(index: Index, visits) -> list[list[str]]:
    found = index.match_many(visits)
    return [found.ids(i) for i in range(len(found))]


def test_the_day_is_told_truly(day) -> None:
    campaigns, visits, rows = day
    for i in range(0, 3000, 300):
        visit = visits.slice(i, 1).to_pylist()[0]
        assert rows[i] == [one.id for one in campaigns if one.holds(visit)]
    assert sum(map(len, rows)) > 3000


@every_matcher
def test_a_whole_day_in_one_batch(matcher, day) -> None:
    campaigns, visits, rows = day
    n = affordable(matcher, len(rows))
    assert _rows(Index.build(campaigns, matcher=matcher), visits.slice(0, n)) == rows[:n]
