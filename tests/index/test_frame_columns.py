"""Columns of data frames, whatever they hold: an index says what their values say."""

from __future__ import annotations

from datetime import datetime, time, timedelta
from decimal import Decimal

import pandas as pd
import polars as pl
import pytest

import remuda as rm

MIXED = [1, "x", 2.5, None, True, [1, "x", [2]], {"k": 1, "l": ["x"]}, 2**80, b"x", object()]
PANDAS = {
    "mixed objects": lambda: pd.Series(MIXED, dtype=object),
    "periods": lambda: pd.Series(pd.period_range("2024-01", periods=3, freq="M")),
    "intervals": lambda: pd.Series(pd.interval_range(0, 3)),
    "categories": lambda: pd.Series(["x", None, "y"], dtype="category"),
    "integers that may be null": lambda: pd.Series([1, None, 2], dtype="Int64"),
    "truths that may be null": lambda: pd.Series([True, None, False], dtype="boolean"),
    "moments and none": lambda: pd.Series([pd.Timestamp(1), pd.NaT, pd.Timestamp("2024-01-01")]),
    "moments in a zone": lambda: pd.Series([pd.Timestamp("2024-01-01", tz="Asia/Kolkata")] * 2),
    "spans of time": lambda: pd.Series([pd.Timedelta(1), pd.NaT]),
    "complex numbers": lambda: pd.Series([1j, 1]),
    "sparse numbers": lambda: pd.Series(pd.arrays.SparseArray([0, 1, 2])),
    "objects of two shapes": lambda: pd.Series([{"k": 1}, {"k": "x"}, {"k": [1]}, {1: 2}]),
}
POLARS = {
    "arrays": lambda: pl.Series([[1, 2], None, [2, 3]], dtype=pl.Array(pl.Int64, 2)),
    "an enumeration": lambda: pl.Series(["x", None, "y"], dtype=pl.Enum(["x", "y"])),
    "categories": lambda: pl.Series(["x", None, "y"], dtype=pl.Categorical),
    "spans of time": lambda: pl.Series([timedelta(1), None]),
    "times of day": lambda: pl.Series([time(1), None]),
    "decimals": lambda: pl.Series([Decimal("2.5"), None, Decimal(1)]),
    "128 bits": lambda: pl.Series([1, None, 2**100], dtype=pl.Int128),
    "nulls": lambda: pl.Series([None, None]),
    "bytes": lambda: pl.Series([b"x", None]),
    "structs": lambda: pl.Series([{"k": 1, "l": ["x"]}, {"k": None, "l": []}, None]),
    "Python objects": lambda: pl.Series([object(), None, object()], dtype=pl.Object),
}
a = rm.attr("a")
ASKED = [
    *(a.exists(), a.eq(1), a.eq("x"), a.eq(True), a > 1, a < 3, a.eq(2**80), a.eq(2**100)),
    *(a.eq([2]), a.eq({"k": 1, "l": ["x"]}), a.superset("x"), a.size() > 2, a.prefix("x")),
    *(a < datetime(2023, 1, 1), a.eq(datetime(2024, 1, 1)), rm.attr("a.k").eq(1)),
    *(rm.attr("a[0]").eq(1), rm.attr("a.l").eq("x"), rm.attr("a.left") >= 1),
]


def said(events: object) -> list[list[str]]:
    criteria = [rm.Criterion(str(i), one) for i, one in enumerate(ASKED)]
    found = rm.Index.build(criteria).match_many(events, now=0)
    return [found.ids(i) for i in range(len(found))]


@pytest.mark.parametrize("make", PANDAS.values(), ids=PANDAS)
def test_columns_of_pandas_say_what_their_values_say(make) -> None:
    series = make()
    kept = [None if pd.api.types.is_scalar(one) and pd.isna(one) else one for one in series]
    if series.dtype.name.startswith("interval"):
        kept = [{"left": one.left, "right": one.right} for one in kept]
    elif series.dtype.name.startswith("period"):
        kept = [one.ordinal for one in kept]
    assert said(pd.DataFrame({"a": series, "b": 1})) == said([{"a": one} for one in kept])


@pytest.mark.parametrize("make", POLARS.values(), ids=POLARS)
def test_columns_of_polars_say_what_their_values_say(make) -> None:
    series = make()
    frame = pl.DataFrame({"a": series, "b": [1] * len(series)})
    assert said(frame) == said([{"a": one} for one in series.to_list()])
