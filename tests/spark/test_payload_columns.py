"""Payloads on Spark: those of the criteria that match, in the order of the matches."""

from __future__ import annotations

import json

import pytest

import remuda as rm
from remuda.errors import RemudaError
from remuda.spark import build_index, match, top, with_payloads
from strategies import count

CRITERIA = [
    rm.Criterion("a", rm.attr("n") >= 1, payload={"bids": [3, "é"]}),
    rm.Criterion("b", rm.attr("n") >= 2, payload=False),
    rm.Criterion("c", rm.attr("n") >= 2),
]
TOLD = {one.id: one.payload for one in CRITERIA}


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory):
    home = tmp_path_factory.mktemp("index")
    index = rm.Index.build(CRITERIA[:2])
    index.save(home)
    index.add(CRITERIA[2])
    index.save(home)
    return home


@pytest.fixture(scope="module")
def frame(spark):
    return spark.createDataFrame([(0,), (1,), (2,), (3,)], "n int").repartition(2)


def told(ids: list[str]) -> list[object]:
    return [TOLD[one] for one in ids]


def read(texts: list[str | None]) -> list[object]:
    return [None if text is None else json.loads(text) for text in texts]


@pytest.mark.parametrize("shards", [None, 2])
def test_they_stand_beside_the_matches(frame, home, shards: int | None) -> None:
    found = match(frame, home, shards=shards).transform(with_payloads, home).collect()
    assert sorted(len(row["matches"]) for row in found) == [0, 1, 3, 3]
    for row in found:
        assert read(row["payloads"]) == told(row["matches"])


def test_those_of_the_best_and_of_one_row_a_match(frame, home) -> None:
    for row in with_payloads(top(frame, home, 2), home, column="p").collect():
        assert read(row["p"]) == told([one["id"] for one in row["matches"]])
    found = with_payloads(match(frame, home, explode=True, column="id"), home, matches="id")
    rows = found.collect()
    assert len(rows) == 7
    assert [read([row["payloads"]]) for row in rows] == [told([row["id"]]) for row in rows]


def test_each_row_has_those_of_its_version(frame, home) -> None:
    both = match(frame, home).unionByName(match(frame, home, version="v000001"))
    found = both.coalesce(1).transform(with_payloads, home).collect()
    assert sorted(len(row["payloads"]) for row in found) == [0, 0, 1, 1, 2, 2, 3, 3]
    for row in found:
        assert read(row["payloads"]) == told(row["matches"])


def test_what_lacks_is_told(frame, home) -> None:
    with pytest.raises(RemudaError, match="no column index_version"):
        with_payloads(frame.withColumnRenamed("n", "matches"), home)
    with pytest.raises(RemudaError, match="a column n already"):
        with_payloads(match(frame, home), home, column="n")


@pytest.mark.soak
def test_a_megabyte_on_each(spark, tmp_path) -> None:
    """Built on Spark and found there, each beside its own matches."""
    criteria = [
        rm.Criterion(f"c{i}", rm.attr("n") == i, payload=[i, f"{i % 10}" * 2**20])
        for i in range(count(8, 1000))
    ]
    rows = [(one.id, one.document().decode()) for one in criteria]
    table = spark.createDataFrame(rows, "id string, json string")
    build_index(table, tmp_path / "index", shards=2)
    assert {one.id: one.payload for one in rm.load(tmp_path / "index")} == {
        one.id: one.payload for one in criteria
    }
    frame = spark.range(len(criteria) + 1).withColumnRenamed("id", "n").repartition(4)
    found = match(frame, tmp_path / "index").transform(with_payloads, tmp_path / "index")
    for row in found.toLocalIterator():
        wanted = [criteria[row["n"]].payload] if row["n"] < len(criteria) else []
        assert read(row["payloads"]) == wanted
