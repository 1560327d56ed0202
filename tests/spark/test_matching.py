"""Matching on Spark gives what plain evaluation gives."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from remuda.cli.demo import draw_day
from remuda.index.index import Index
from remuda.spark.matching import match, top


@pytest.fixture(scope="module")
def day(tmp_path_factory: pytest.TempPathFactory):
    campaigns, visits = draw_day(np.random.default_rng(3), 200, 300)
    home = tmp_path_factory.mktemp("index")
    Index.build(campaigns).save(home)
    return campaigns, visits, home


def test_ids_and_version_are_added_to_each_row(spark, day) -> None:
    campaigns, visits, home = day
    rows = visits.to_pylist()
    frame = spark.createDataFrame(visits).repartition(3)
    for row in match(frame, home).collect():
        event = rows[row["user"]["id"]]
        expected = sorted(one.id for one in campaigns if one.holds(event))
        assert sorted(row["matches"]) == expected
        assert row["index_version"] == "v000001"


def test_exploded_there_is_one_row_a_match(spark, day) -> None:
    campaigns, visits, home = day
    found = match(spark.createDataFrame(visits), home, explode=True)
    pairs = {(row["user"]["id"], row["matches"]) for row in found.collect()}
    rows = visits.to_pylist()
    assert pairs == {
        (i, one.id) for i, event in enumerate(rows) for one in campaigns if one.holds(event)
    }


def test_the_best_come_first(spark, day) -> None:
    campaigns, visits, home = day
    rows = visits.to_pylist()
    for row in top(spark.createDataFrame(visits), home, 3).collect():
        event = rows[row["user"]["id"]]
        scored = [(one.score(event), one.id) for one in campaigns]
        best = sorted((-score, name) for score, name in scored if score is not None)[:3]
        assert [(-pair["score"], pair["id"]) for pair in row["matches"]] == best


def test_an_empty_table(spark, day) -> None:
    _, visits, home = day
    empty = spark.createDataFrame(visits).limit(0)
    assert match(empty, home).count() == 0


def test_where_there_is_no_index(spark, day, tmp_path: Path) -> None:
    from remuda.errors import StorageError

    with pytest.raises(StorageError, match="no index here"):
        match(spark.createDataFrame(day[1]), tmp_path)
