"""Reach counts what plain evaluation finds."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from drawn import criteria, holding, rows, saved, table, texts

from remuda.errors import RemudaError
from remuda.index.index import Index
from remuda.language import json_form
from remuda.language.criterion import Criterion
from remuda.language.python import attr
from remuda.spark.reaching import reach
from strategies import NOW

BATCH = "spark.sql.execution.arrow.maxRecordsPerBatch"


@pytest.fixture(scope="module")
def rules() -> list[Criterion]:
    return criteria(150)


@pytest.fixture(scope="module")
def home(rules, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return saved(rules, tmp_path_factory.mktemp("index"), 2)


@pytest.fixture(scope="module")
def visits() -> pa.Table:
    who = [None if i % 11 == 0 else f"u{i * i % 13}" for i in range(90)]
    return table(12, 90).append_column("who", pa.array(who, pa.string()))


def expected(rules: list[Criterion], events: list[Any], users: list[Any]) -> dict[str, Any]:
    held = [holding(rules, event) for event in events]
    return {
        one.id: (
            sum(one.id in ids for ids in held),
            len({user for user, ids in zip(users, held, strict=True) if one.id in ids} - {None}),
        )
        for one in rules
    }


def test_events_of_each_criterion(spark, rules, home, visits) -> None:
    frame = spark.createDataFrame(visits).repartition(3)
    counts = {row["id"]: row["events"] for row in reach(frame, home, now=NOW).collect()}
    plain = expected(rules, rows(visits), [None] * 90)
    assert counts == {name: events for name, (events, _) in plain.items()}
    assert 0 in counts.values()


@pytest.mark.parametrize("size", [1, 7])
def test_users_of_each_criterion(spark, rules, home, visits, size: int) -> None:
    """A user's rows may lie in several batches."""
    frame = spark.createDataFrame(visits).repartition(3)
    before = spark.conf.get(BATCH)
    spark.conf.set(BATCH, size)
    try:
        found = reach(frame, home, user="who", now=NOW).collect()
    finally:
        spark.conf.set(BATCH, before)
    plain = expected(rules, rows(visits), visits["who"].to_pylist())
    assert {row["id"]: (row["events"], row["users"]) for row in found} == plain


def test_users_by_a_sketch(spark, tmp_path) -> None:
    n = np.arange(4_000)
    Index.build([Criterion("all", attr("n").exists()), Criterion("few", attr("n") < 40)]).save(
        tmp_path
    )
    frame = spark.createDataFrame(
        pa.table(
            {
                "n": n,
                "user": pa.StructArray.from_arrays(
                    [pa.array(n % 2_000, mask=n % 100 == 0)], ["id"]
                ),
            }
        )
    )
    found = reach(frame, tmp_path, user="user.id", approximate=True).collect()
    by_id = {row["id"]: row for row in found}
    assert (by_id["all"]["events"], by_id["few"]["events"]) == (4_000, 40)
    assert abs(by_id["all"]["users"] - 1_980) < 0.15 * 1_980
    assert abs(by_id["few"]["users"] - 39) <= 4


def test_texts_and_tags(spark, rules, home) -> None:
    drawn = texts(40)
    frame = spark.createDataFrame([(text,) for text in [*drawn, "{"]], "payload string")
    found = reach(frame, home, event="payload", tags=["even"], now=NOW).collect()
    even = [one for one in rules if "even" in one.tags]
    plain = expected(even, [*map(json_form.read_event, drawn), None], [None] * 41)
    assert {row["id"]: row["events"] for row in found} == {
        name: events for name, (events, _) in plain.items()
    }


def test_what_was_removed_is_not_listed(spark, tmp_path) -> None:
    index = Index.build([Criterion(f"c{i}", attr("id") >= i) for i in range(3)])
    index.save(tmp_path)
    index.remove("c1")
    index.update(Criterion("c2", attr("id").eq(0)))
    index.save(tmp_path)
    found = reach(spark.range(2), tmp_path).collect()
    assert sorted(map(tuple, found)) == [("c0", 2), ("c2", 1)]


def test_an_empty_table_and_an_empty_index(spark, home, tmp_path) -> None:
    none = reach(spark.range(0), home, user="id").collect()
    assert len(none) == 150
    assert {(row["events"], row["users"]) for row in none} == {(0, 0)}
    Index().save(tmp_path)
    assert reach(spark.range(3), tmp_path).collect() == []


def test_what_makes_no_sense(spark, home) -> None:
    stream = spark.readStream.format("rate").load()
    with pytest.raises(RemudaError, match="a stream has no end"):
        reach(stream, home)
    with pytest.raises(ValueError, match="say which column has them"):
        reach(spark.range(1), home, approximate=True)
    with pytest.raises(RemudaError, match="a user is one value, and u is of type array<int>"):
        reach(spark.sql("SELECT array(1) AS u"), home, user="u")
