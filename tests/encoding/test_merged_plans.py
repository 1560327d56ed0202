"""Merged plans equal plain evaluation, and are no larger than plans made afresh."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from remuda.encoding import uniting
from remuda.encoding.checks import check_plan
from remuda.encoding.merged_plans import merge
from remuda.encoding.narrowing import GONE
from remuda.encoding.plan import Plan, plan
from remuda.index.choosing import Wanted
from remuda.index.hits import of_event
from remuda.index.segment import Lazy, Segment
from remuda.language.python import attr
from remuda.language.text import parse
from remuda.model.conditions import In
from remuda.model.expressions import Expression, Predicate
from remuda.workload.begen import BEGen
from strategies import (
    NOW,
    attributes,
    count,
    events,
    expressions_over,
    predicates,
    scalars,
    weights,
)


@st.composite
def weighted(draw) -> Predicate:
    """A predicate with weights of single values."""
    values = draw(st.lists(scalars, min_size=1, max_size=4))
    pairs = [(value, draw(weights)) for value in values[: draw(st.integers(1, 3))]]
    return Predicate(
        draw(attributes), In(tuple(values)), own_weight=draw(weights), value_weights=tuple(pairs)
    )


expressions = expressions_over(st.one_of(predicates, predicates, weighted()))
lots = st.lists(st.lists(expressions, max_size=4), min_size=1, max_size=4)


def _merged(lots, stay, takes_cnf=False):
    """The merged plan of those of the lots that stay, and these, in the order of `stay`."""
    plans = [plan(lot, takes_cnf=takes_cnf) for lot in lots]
    numbers = [np.full(len(lot), GONE, np.int64) for lot in lots]
    for number, (lot, place) in enumerate(stay):
        numbers[lot][place] = number
    return merge(plans, numbers), [lots[lot][place] for lot, place in stay]


def _check(made, kept: list[Expression], batch) -> None:
    plan, vocabulary = made
    check_plan(plan, len(kept), plan.conjunctions.n_spaces)
    ranks = np.arange(plan.n_criteria, dtype=np.int32)
    segment = Segment.over(plan, Lazy(lambda: vocabulary), "scan", ranks)
    encoded = segment.encoder.encode(batch, NOW)
    found = segment.match(encoded)
    best = segment.best(encoded, Wanted(len(kept), ranks))
    for i, event in enumerate(batch):
        here = slice(best.starts[i], best.starts[i + 1])
        pairs = sorted(zip(best.rows[here].tolist(), best.scores[here].tolist(), strict=True))
        assert sorted(of_event(found, i).rows.tolist()) == [position for position, _ in pairs]
        assert pairs == [
            (position, one.score(event, now=NOW))
            for position, one in enumerate(kept)
            if one.holds(event, now=NOW)
        ]


def _sizes(made: Plan) -> tuple[int, ...]:
    table = made.conjunctions
    literals, leaves = len(table.predicates.dim), len(made.programs.leaf_literal)
    rows = made.cnf.n_rows, made.cnf.table.n_clauses
    return table.n_clauses, *rows, literals, table.n_dims, table.n_spaces, leaves


@pytest.mark.soak
@settings(max_examples=count(100, 20_000))
@given(
    lots=lots, draw=st.data(), takes_cnf=st.booleans(), batch=st.lists(events, max_size=5),
    piece=st.sampled_from((1, 2, 4096)),
)  # fmt: skip
def test_what_stays_holds_and_scores_as_before(lots, draw, takes_cnf, batch, piece) -> None:
    every = [(lot, place) for lot, own in enumerate(lots) for place in range(len(own))]
    stay = draw.draw(st.lists(st.sampled_from(every), unique=True)) if every else []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(uniting, "_PIECE", piece)
        made, kept = _merged(lots, stay, takes_cnf)
        _check(made, kept, batch)
        fresh = plan(kept, takes_cnf=takes_cnf)
        both = zip(_sizes(made[0]), _sizes(fresh[0]), strict=True)
        assert all(own <= other for own, other in both)
        numbers = [np.arange(len(kept)), np.arange(len(kept), 2 * len(kept))]
        twice = merge([made, fresh], numbers)
        _check(twice, kept * 2, batch)


def test_no_larger_than_a_plan_of_the_same_criteria() -> None:
    drawn = BEGen(n_subscriptions=1200, n_events=1, n_dims=20, seed=3).draw().expressions()
    lots = [drawn[i::4] for i in range(4)]
    stay = [(i % 4, i // 4) for i in range(0, 1200, 3)]
    made, kept = _merged(lots, stay)
    assert kept == drawn[::3]
    assert _sizes(made[0]) == _sizes(plan(kept)[0])


def test_what_nobody_asks_for_any_more_goes() -> None:
    made = plan([attr("steady") == 0])
    for day in range(5):
        news = [attr("id") == f"{day}-{i}" for i in range(50)]
        news += [attr(f"of-{day}").isin(True, [day]), attr("app").version() > f"{day}.0"]
        numbers = np.full(made[0].n_criteria, GONE)
        numbers[0] = 0  # all but the first go
        made = merge([made, plan(news)], [numbers, np.arange(1, 1 + len(news))])
    assert _sizes(made[0]) == _sizes(plan([attr("steady") == 0, *news])[0])
    made = merge([made], [np.array([0] + [GONE] * len(news))])
    assert _sizes(made[0]) == _sizes(plan([attr("steady") == 0])[0])
    made = merge([made], [np.array([GONE])])
    assert made[0].n_criteria == made[0].conjunctions.n_clauses == made[1].space_starts[-1] == 0


ROWS = {
    "the other way round": ("a IN (1, 2) AND a IN (2, 3)", "a IN (2, 3) AND a IN (1, 2)"),
    "another spelling": ("a = 1 AND b = 2", "a BETWEEN 1 AND 1 AND b >= 2 AND b <= 2"),
    "a missing attribute": ("missing(a)", "NOT exists(a)"),
    "versions": ("version(a) > '1.0'", "version(a) > '1.0'"),
    "nothing": ("a IN (1) AND false", "false"),
}


@pytest.mark.parametrize("texts", ROWS.values(), ids=ROWS)
def test_equal_clauses_become_one(texts) -> None:
    made, kept = _merged([[parse(text)] for text in texts], [(1, 0), (0, 0)])
    table = made[0].conjunctions
    if texts[0].count("AND") == texts[1].count("AND"):
        assert table.n_clauses <= 1
    values = [1, 2, 3, "1.0", "1.1", [1, 3], [2], None]
    _check(made, kept, [{"a": value, "b": value} for value in values])


def test_other_values_stay_other_where_points_and_kinds_meet() -> None:
    texts = ("a IN (true)", "NOT a IN (false)", "a < 'x'", "(a = 3) IS NOT TRUE", "exists(a)")
    values = [True, False, "w", "x", 3, 4, None, [True, "y"], [3, False], {"k": 1}]
    made, kept = _merged([[parse(text)] for text in texts], [(i, 0) for i in range(5)])
    _check(made, kept, [{"a": value} for value in values])
