"""Odd values, alone and in columns: an index answers as plain evaluation does."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from decimal import Decimal

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import remuda as rm
from strategies import NOW

a = rm.attr("a")


def answers(expressions, events) -> tuple[list[list[str]], list[list[str]]]:
    """What an index says of the events, one after the other, and what plain evaluation does."""
    criteria = [rm.Criterion(str(i), one) for i, one in enumerate(expressions)]
    index = rm.Index.build(criteria)
    rows = events.to_pylist() if isinstance(events, pa.Table) else events
    if isinstance(events, pa.Table):
        found = index.match_many(events, now=NOW)
        said = [found.ids(i) for i in range(len(rows))]
    else:
        said = [index.match(event, now=NOW) for event in rows]
    return said, [[c.id for c in criteria if c.holds(row, now=NOW)] for row in rows]


def bounds(*numbers: str) -> list[rm.Expression]:
    found = [Decimal(text) for text in numbers]
    return [one for n in found for one in (a < n, a <= n, a > n, a >= n, a.eq(n))]


INTEGERS = pa.table({"a": [-(2**63), -1, 0, 1, 2**63 - 1]})
FLOATS = pa.table({"a": [-1e308, -5e-324, 0.0, 5e-324, 1e308]})
TINY, VAST = ("0E-500", "1E-500", "-1E-500", "0E+500"), ("1E+500", "-1E+500", "1E+401")
DIFFERED = {
    "a tuple like one that was seen": ([a.eq([1, 1])], [{"a": [(1, 1)]}, {"a": [(1, True)]}]),
    "a tuple like one inside another": (
        [a.eq([1, [1]])],
        [{"a": [(1, (1,))]}, {"a": [(1, (True,))]}],
    ),
    "integers and bounds near zero": (bounds(*TINY), INTEGERS),
    "integers and bounds far out": (bounds(*VAST), INTEGERS),
    "floats and bounds near zero": (bounds(*TINY), FLOATS),
    "floats and bounds far out": (bounds(*VAST), FLOATS),
}


@pytest.mark.parametrize(("expressions", "events"), DIFFERED.values(), ids=DIFFERED)
def test_the_index_says_what_holds(expressions, events) -> None:
    said, true = answers(expressions, events)
    assert said == true


def test_the_largest_weights_have_finite_scores() -> None:
    parts = [rm.attr(f"a{i}").eq(1).weight(w) for i, w in enumerate((1e100, 1e100, -1e100, -1e100))]
    criterion = rm.Criterion("c", rm.And(*parts) | rm.attr("a0").eq(1).weight(5))
    event = {f"a{i}": 1 for i in range(4)}
    weights = {f"a{i}": 1e100 for i in range(4)}
    score = criterion.score(event, weights=weights)
    assert score == 5e100
    assert rm.Index.build([criterion]).top(event, 1, weights=weights) == [rm.Match("c", score)]


MIDNIGHT = datetime(2024, 1, 1, tzinfo=UTC)
t = rm.attr("t")
EARLIER = [t < MIDNIGHT, t <= MIDNIGHT, t.eq(MIDNIGHT), t > MIDNIGHT]
MOMENTS = {  # of the values, which lie at or about midnight, those that hold
    "pandas' timestamp": (pd.Timestamp("2024-01-01"), ["1", "2"]),
    "in another zone": (pd.Timestamp("2024-01-01 05:30", tz="Asia/Kolkata"), ["1", "2"]),
    "a nanosecond later": (pd.Timestamp("2024-01-01 00:00:00.000000001"), ["1", "2"]),
    "a nanosecond earlier": (pd.Timestamp("2023-12-31 23:59:59.999999999"), ["0", "1"]),
    "a microsecond later": (pd.Timestamp("2024-01-01 00:00:00.000001"), ["3"]),
    "NumPy's, a nanosecond later": (np.datetime64("2024-01-01T00:00:00.000000001"), ["1", "2"]),
    "NumPy's, a nanosecond earlier": (np.datetime64("2023-12-31T23:59:59.999999999"), ["0", "1"]),
    "NumPy's, a picosecond earlier": (
        np.datetime64("2023-12-31T23:59:59.999999999999"),
        ["0", "1"],
    ),
    "NumPy's, beyond Python's calendar": (np.datetime64("20000-01-01", "us"), []),
    "NumPy's span of time": (np.timedelta64(5, "ns"), []),
    "pandas' span of time": (pd.Timedelta(5), []),
    "no time": (pd.NaT, []),
    "no value": (pd.NA, []),
    "no time of NumPy's": (np.datetime64("NaT", "ns"), []),
}


@pytest.mark.parametrize(("value", "true"), MOMENTS.values(), ids=MOMENTS)
@pytest.mark.parametrize("listed", [False, True], ids=["alone", "in a list"])
def test_moments_have_microseconds(value, true, listed) -> None:
    said, holds = answers(EARLIER, [{"t": [value] if listed else value}])
    assert said == holds == [true]


@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
@pytest.mark.parametrize("zone", [None, "UTC", "Asia/Kolkata"])
def test_moments_of_columns_are_those_of_objects(unit, zone) -> None:
    moments = [datetime(1969, 12, 31, 23, 59, 59), datetime(1970, 1, 1), None, MIDNIGHT]
    column = pa.array(moments, pa.timestamp(unit, zone))
    if unit == "ns":
        near = [-1_000_000_001, -1001, -1000, -1, 1, 999, 1000]
        column = pa.concat_arrays([column, pa.array(near, pa.int64()).cast(column.type)])
    dawn = datetime(1970, 1, 1, tzinfo=UTC)
    asked = [*EARLIER, t < dawn, t.eq(dawn), t > dawn, t.eq(dawn - timedelta(microseconds=1))]
    table = pa.table({"t": column})
    for events in (
        table,
        pa.table({"t": pa.array([[one] for one in column], pa.list_(column.type))}),
    ):
        said, holds = answers(asked, events)
        assert said == holds


INTERVAL = pa.scalar((1, 2, 3), pa.month_day_nano_interval()).as_py()
REFUSED = {
    "a nanosecond": lambda: t < pd.Timestamp("2024-01-01 00:00:00.000000001"),
    "a nanosecond of NumPy's": lambda: t.eq(np.datetime64(1, "ns")),
    "no time": lambda: t.eq(pd.NaT),
    "no value": lambda: t.isin(pd.NA),
    "no time as a bound": lambda: t < pd.NaT,
    "an interval of Arrow's": lambda: t.eq(
        pa.scalar((1, 2, 3), pa.month_day_nano_interval()).as_py()
    ),
}


@pytest.mark.parametrize("make", REFUSED.values(), ids=REFUSED)
def test_refuses_operands_that_no_value_equals(make) -> None:
    with pytest.raises(rm.InvalidCriterion):
        make()
