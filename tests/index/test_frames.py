"""Batches that are data frames."""

from __future__ import annotations

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import remuda as rm


@pytest.fixture
def index() -> rm.Index:
    return rm.Index.build(
        [rm.Criterion("a", rm.parse("x > 1 AND s = 'u'")), rm.Criterion("b", ~rm.attr("x").eq(2.5))]
    )


COLUMNS = {"x": [1.0, 2.5, None], "s": ["u", "u", None]}


@pytest.mark.parametrize(
    "events",
    [
        pd.DataFrame(COLUMNS),
        pl.DataFrame(COLUMNS),
        pa.table(COLUMNS),
        pa.RecordBatch.from_pydict(COLUMNS),
        pa.table(COLUMNS).to_pylist(),
    ],
    ids=["pandas", "polars", "table", "batch", "list"],
)
def test_every_kind_of_batch_says_the_same(index: rm.Index, events: object) -> None:
    found = index.match_many(events)
    assert [found.ids(i) for i in range(len(found))] == [["b"], ["a"], ["b"]]
    assert found.to_arrow().column("ids").to_pylist() == [["b"], ["a"], ["b"]]


def test_nested_columns_of_polars() -> None:
    index = rm.Index.build(
        [rm.Criterion("a", rm.attr("u.tags").isin("x")), rm.Criterion("b", rm.attr("k").eq("p"))]
    )
    frame = pl.DataFrame(
        {"u": [{"tags": ["x", "y"]}, {"tags": []}, None], "k": ["p", "q", None]},
        schema_overrides={"k": pl.Categorical},
    )
    found = index.match_many(frame)
    assert [found.ids(i) for i in range(3)] == [["a", "b"], [], []]


def test_what_is_no_batch_is_refused(index: rm.Index) -> None:
    with pytest.raises(TypeError, match="events are a list"):
        index.match_many({"x": 1})
