"""Ratification and similarity over tasks give what they give in process."""

from __future__ import annotations

import pytest

from remuda.index.index import load
from remuda.language import json_form
from remuda.language.criterion import Criterion
from remuda.language.text import parse
from remuda.proof.similarity import similarity
from remuda.spark.building import build_index
from remuda.spark.checking import ratify, similar
from remuda.workload.mustang import Mustang


@pytest.fixture(scope="module")
def drawn(spark, tmp_path_factory):
    made = Mustang(n_criteria=30, n_events=200).draw()
    criteria = [Criterion(f"c{i}", one) for i, one in enumerate(made.expressions())]
    rows = [(one.id, json_form.encode(one.to_json()).decode()) for one in criteria]
    home = tmp_path_factory.mktemp("index")
    build_index(spark.createDataFrame(rows, "id string, json string"), home, shards=2)
    dicts = made.event_dicts()
    events = spark.createDataFrame([(one,) for one in dicts], "event map<string, bigint>")
    return home, events, dicts


def test_an_index_agrees_with_plain_evaluation(spark, drawn):
    home, events, _ = drawn
    derived = ratify(home, spark=spark, full=False, seconds=60)
    assert derived.ok
    assert (derived.n_criteria, derived.cut_short) == (30, False)
    assert derived.n_clauses >= 30
    given = ratify(home, events, event="event")
    assert given.ok
    assert (given.n_events, given.n_criteria) == (200, 30)


def test_the_most_similar_are_those_that_are_found_in_process(drawn):
    home, events, dicts = drawn
    candidate = Criterion("candidate", parse("a < 50 OR b > 20"), enabled=False)
    found = similar(events.repartition(3), home, candidate, n=5, event="event")
    expected = similarity(load(home), candidate, events=dicts, n=5)
    assert (found.n_events, found.n_holding, found.overlap) == (
        expected.n_events,
        expected.n_holding,
        expected.overlap,
    )
    figures = [(one.id, one.score, one.covers, one.covered) for one in found.similar]
    assert figures == [(one.id, one.score, one.covers, one.covered) for one in expected.similar]


def test_no_events_and_a_candidate_that_never_holds(drawn):
    home, events, _ = drawn
    nothing = similar(events.limit(0), home, Criterion("c", parse("a = 1")), event="event")
    assert (nothing.n_events, nothing.similar) == (0, ())
    never = similar(events, home, Criterion("c", parse("a IN ()")), event="event")
    assert never.never
    assert never.similar == ()
    with pytest.raises(ValueError, match="make no sense"):
        similar(events, home, Criterion("c", parse("a = 1")), n=-1)
