"""Odd values, alone and in columns: an index answers as plain evaluation does."""

from __future__ import annotations

from decimal import Decimal

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
