"""The SQL functions answer as the index does."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from pyspark.errors import PythonException

from remuda.cli.demo_data import draw_day
from remuda.errors import StorageError
from remuda.index.index import Index, load
from remuda.language.criterion import Criterion
from remuda.language.python import attr
from remuda.spark.functions import register


@pytest.fixture(scope="module")
def day(spark, tmp_path_factory: pytest.TempPathFactory):
    campaigns, visits = draw_day(np.random.default_rng(5), 100, 60)
    visits = visits.append_column("key", pa.array(range(60)))
    ads, few = tmp_path_factory.mktemp("ads"), tmp_path_factory.mktemp("few")
    Index.build(campaigns).save(ads)
    past = Criterion("past", attr("user.id").exists(), valid_until=datetime(2020, 1, 1))
    Index.build([*campaigns[:10], past]).save(few)
    spark.createDataFrame(visits).createOrReplaceTempView("visits")
    assert register(spark, {"ads": ads, "few": few}) == {"ads": "v000001", "few": "v000001"}
    return load(ads), load(few), visits.to_pylist()


def test_match_takes_a_whole_row(spark, day) -> None:
    ads, _, visits = day
    found = spark.sql("SELECT *, remuda_match('ads', struct(*)) AS ids FROM visits").collect()
    assert {row["key"]: sorted(row["ids"]) for row in found} == {
        i: sorted(ads.match(visit)) for i, visit in enumerate(visits)
    }


def test_top_takes_a_number(spark, day) -> None:
    ads, _, visits = day
    found = spark.sql("SELECT key, remuda_top('ads', struct(*), 3) AS best FROM visits")
    assert {row["key"]: [tuple(one) for one in row["best"]] for row in found.collect()} == {
        i: [tuple(one) for one in ads.top(visit, 3)] for i, visit in enumerate(visits)
    }


def test_names_and_numbers_may_differ_by_row(spark, day) -> None:
    ads, few, visits = day
    found = spark.sql(
        "SELECT key,"
        " remuda_match(if(key % 3 = 0, 'few', 'ads'), to_json(struct(*))) AS ids,"
        " remuda_top('ads', struct(*), cast(key % 4 AS int)) AS best FROM visits"
    )
    for row in found.collect():
        visit = visits[row["key"]]
        index = few if row["key"] % 3 == 0 else ads
        assert sorted(row["ids"]) == sorted(index.match(visit))
        assert [one["id"] for one in row["best"]] == [
            one.id for one in ads.top(visit, row["key"] % 4)
        ]


def test_the_moment_can_be_given(spark, day) -> None:
    asked = "remuda_match('few', named_struct('user', named_struct('id', 1))"
    (row,) = spark.sql(
        f"SELECT {asked}) AS a, {asked}, now => timestamp'2019-01-01') AS b"
    ).collect()
    assert (row["a"], row["b"]) == ([], ["past"])


def test_a_map(spark, tmp_path: Path) -> None:
    index = Index.build([Criterion("one", attr("a").eq(1))])
    index.save(tmp_path)
    register(spark, {"maps": tmp_path})
    ask = "SELECT remuda_match('maps', map('a', 1)) AS ids"
    assert spark.sql(ask).collect()[0]["ids"] == ["one"]
    index.add(Criterion("two", attr("a").exists()))
    index.save(tmp_path)
    assert spark.sql(ask).collect()[0]["ids"] == ["one"]
    assert register(spark, {"maps": tmp_path}) == {"maps": "v000002"}
    assert sorted(spark.sql(ask).collect()[0]["ids"]) == ["one", "two"]


def test_an_empty_table(spark, day) -> None:
    empty = spark.sql("SELECT remuda_match('few', struct(*)) FROM visits WHERE key < 0")
    assert empty.collect() == []


@pytest.mark.parametrize(
    ("call", "reason"),
    [
        ("remuda_match('no', struct(1 AS a))", "there is no index 'no'"),
        ("remuda_match('few', array(1))", "an event is a struct, a map or a JSON string"),
        ("remuda_top('few', struct(1 AS a), cast(NULL AS int))", "a top of -1"),
        (
            "remuda_match('few', struct(parse_json('1') AS a))",
            "at a, which is of type variant",
        ),
    ],
)
def test_what_is_wrong_is_said(spark, tmp_path, call: str, reason: str) -> None:
    Index.build([Criterion("a", attr("a").exists())]).save(tmp_path)
    register(spark, {"few": tmp_path})
    with pytest.raises(PythonException, match=reason):
        spark.sql(f"SELECT {call}").collect()


def test_no_index(spark, tmp_path: Path) -> None:
    with pytest.raises(StorageError, match="no index here"):
        register(spark, {"ads": tmp_path})
