"""Workloads drawn on Spark: the same for the same seed, and events meet their criteria."""

from __future__ import annotations

import pytest

from remuda.errors import RemudaError
from remuda.language.criterion import Criterion
from remuda.spark import generating
from remuda.spark.generating import generate
from remuda.workload import KINDS
from remuda.workload.mustang import Mustang


@pytest.fixture(autouse=True)
def small_chunks(monkeypatch):
    monkeypatch.setattr(generating, "_CHUNK", 40)


def rows(frame) -> list[tuple]:
    return sorted(tuple(row) for row in frame.collect())


def test_the_same_rows_however_many_tasks_draw(spark):
    one = generate(spark, "mustang", criteria=100, events=70, seed=5)
    before = rows(one.criteria), rows(one.events)
    spark.conf.set("spark.sql.leafNodeDefaultParallelism", "7")
    try:
        other = generate(spark, "mustang", criteria=100, events=70, seed=5)
        assert (rows(other.criteria), rows(other.events)) == before
    finally:
        spark.conf.unset("spark.sql.leafNodeDefaultParallelism")
    assert rows(generate(spark, "mustang", criteria=100, events=70, seed=6).criteria) != before[0]
    assert [row[0] for row in sorted(before[0], key=lambda row: row[2])] == [
        f"c{i}" for i in range(100)
    ]
    assert [row[0] for row in before[1]] == list(range(70))


def test_a_chunk_is_what_the_generator_draws(spark):
    drawn = Mustang(n_criteria=40, n_events=1, seed=3).draw().expressions()
    made = generate(spark, "mustang", criteria=40, events=1, seed=3).criteria
    found = [Criterion.from_json(row["json"]) for row in made.orderBy("order").collect()]
    events = Mustang(n_criteria=1, n_events=50, seed=4).draw().event_dicts()
    assert [[one.holds(event) for one in found] for event in events] == [
        [one.holds(event) for one in drawn] for event in events
    ]


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_events_meet_criteria_of_their_kind(spark, kind):
    fewer = {"n_words": 500} if kind in ("keywords", "qgrams") else {}
    made = generate(spark, kind, criteria=160, events=40, **fewer)
    criteria = [Criterion.from_json(row["json"]) for row in made.criteria.collect()]
    events = [row["event"] for row in made.events.collect()]
    assert len({one.id for one in criteria}) == 160
    assert len(events) == 40
    assert any(one.holds(event) for one in criteria for event in events)


def test_what_is_not_known_is_refused(spark):
    with pytest.raises(RemudaError, match="there is no 'weather'"):
        generate(spark, "weather")
    with pytest.raises(RemudaError, match="'n_horses' is no parameter of ads"):
        generate(spark, "ads", n_horses=3)
    assert generate(spark, "nested", criteria=0, events=0, n_scopes=3).events.count() == 0
