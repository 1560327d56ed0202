"""Columns give what the functions give value by value."""

from __future__ import annotations

import math
from datetime import UTC, date, datetime, timedelta
from typing import Any

import numpy as np
import pytest

from remuda.encoding.term_columns import COLUMNS, Column
from remuda.model.functions import FUNCTIONS
from remuda.model.values import Kind

MOST, LEAST = 2**63 - 1, -(2**63)
INTEGERS = (0, 1, -1, 2, 3, -7, 10, 2**31, -(2**31), 2**31 - 1, 3037000500, 2**32, 2**53 + 1)
INTEGERS += (2**62, -(2**62), MOST, MOST - 1, LEAST, LEAST + 1)
DOUBLES = (0.0, -0.0, 1.0, -1.5, 0.1, 2.5, 1e18, 2.0**63, -(2.0**63), 9.3e18, 1e300, 5e-324)
DOUBLES += (math.nan, math.inf, -math.inf)
FIRST, LAST = date(1, 1, 1).toordinal(), date(9999, 12, 31).toordinal()
EPOCH = date(1970, 1, 1).toordinal()
DAYS = (FIRST, FIRST + 1, EPOCH - 1, EPOCH, date(2000, 2, 29).toordinal(), LAST - 1, LAST)
MIDNIGHT = datetime(1970, 1, 1, tzinfo=UTC)
N_ROWS = 3_000


def drawn(kind: str, rng: np.random.Generator) -> Column:
    """A column with every extreme, and many others."""
    valid = rng.random(N_ROWS) < 0.9
    if kind == "integers":
        values = np.concatenate(
            [
                rng.choice(np.array(INTEGERS), N_ROWS // 2),
                rng.integers(LEAST, MOST, N_ROWS // 4, endpoint=True),
                rng.integers(-5, 5, N_ROWS // 4),
            ]
        )
    elif kind == "small":
        values = rng.integers(-(2**20), 2**20, N_ROWS)
    elif kind == "doubles":
        some = rng.choice(np.array(DOUBLES), N_ROWS // 2)
        values = np.concatenate([some, rng.normal(0, 10.0 ** rng.integers(-5, 19, N_ROWS // 2))])
    else:
        some = rng.choice(np.array(DAYS), N_ROWS // 2)
        values = np.concatenate([some, rng.integers(FIRST, LAST, N_ROWS // 2)]) - EPOCH
    if kind == "moments":
        return Column(
            values * 86_400_000_000 + rng.integers(0, 86_400_000_000, N_ROWS), valid, Kind.TIMESTAMP
        )
    order = rng.permutation(N_ROWS)
    return Column(values[order], valid, Kind.DATE if kind == "days" else Kind.NUMBER)


def spoken(column: Column) -> list[Any]:
    values = column.values.tolist()
    if column.kind is Kind.DATE:
        values = [date.fromordinal(min(max(one + EPOCH, FIRST), LAST)) for one in values]
    elif column.kind is Kind.TIMESTAMP:
        values = [MIDNIGHT + timedelta(microseconds=one) for one in values]
    return [one if there else None for one, there in zip(values, column.valid, strict=True)]


def value_by_value(name: str, columns: list[Column]) -> list[Any]:
    function = FUNCTIONS[name]
    return [
        function.apply(*row) if function.on_missing or None not in row else None
        for row in zip(*map(spoken, columns), strict=True)
    ]


NUMBERS = ("integers", "small", "doubles")
MOMENTS = ("days", "moments")
CASES = [
    *(
        (name, (one, other))
        for name in ("add", "subtract", "multiply", "divide", "mod", "div", "greatest", "least")
        for one in NUMBERS
        for other in NUMBERS
    ),
    *((name, (one,)) for name in ("negative", "abs", "floor", "ceil") for one in NUMBERS),
    *((name, (one, one)) for name in ("greatest", "least", "coalesce", "nvl") for one in MOMENTS),
    *(("coalesce", (one, one, one)) for one in NUMBERS),
    *(("greatest", (one, one, one)) for one in NUMBERS),
    *(
        (name, (one,))
        for name in COLUMNS
        if name.startswith(("unix", "year", "quarter", "month", "day", "week"))
        or name in ("hour", "minute", "second")
        for one in MOMENTS
    ),
    *(("date_diff", (one, other)) for one in MOMENTS for other in MOMENTS),
    *((name, (one, "small")) for name in ("date_add", "date_sub") for one in MOMENTS),
    *((name, (one, "integers")) for name in ("date_add", "date_sub") for one in MOMENTS),
    *((name, ("days", "integers")) for name in ("add", "subtract")),
    ("add", ("small", "days")),
]
BY_VALUE = {  # what columns leave to the functions
    *(
        (name, (one, other))
        for name in ("greatest", "least")
        for one, other in (
            ("integers", "doubles"),
            ("small", "doubles"),
            ("doubles", "integers"),
            ("doubles", "small"),
        )
    ),
    *(
        ("div", pair)
        for pair in (
            ("integers", "doubles"),
            ("small", "doubles"),
            ("doubles", "integers"),
            ("doubles", "small"),
            ("doubles", "doubles"),
        )
    ),
}


@pytest.mark.parametrize(
    ("name", "kinds"), CASES, ids=lambda part: "-".join(part) if isinstance(part, tuple) else part
)
def test_a_column_has_what_the_function_gives(name: str, kinds: tuple[str, ...]) -> None:
    rng = np.random.default_rng(len(name) + 31 * len(kinds[0]))
    columns = [drawn(kind, rng) for kind in kinds]
    found = COLUMNS[name](columns)
    if (name, kinds) in BY_VALUE:
        assert found is None
        return
    assert found is not None
    assert list(map(repr, spoken(found))) == list(map(repr, value_by_value(name, columns)))


@pytest.mark.parametrize("name", COLUMNS)
def test_what_is_no_such_column_is_left_to_the_function(name: str) -> None:
    rng = np.random.default_rng(7)
    numeric = name in (
        "add",
        "subtract",
        "multiply",
        "divide",
        "mod",
        "div",
        "negative",
        "abs",
    ) or (name in ("floor", "ceil"))
    n = FUNCTIONS[name].least if FUNCTIONS[name].least == FUNCTIONS[name].most else 2
    kinds = ["days" if numeric else "doubles", "days"][:n]
    assert COLUMNS[name]([drawn(kind, rng) for kind in kinds]) is None


@pytest.mark.parametrize("name", sorted({name for name, kinds in CASES if "small" in kinds}))
def test_an_empty_column_gives_one(name: str) -> None:
    n = FUNCTIONS[name].least if FUNCTIONS[name].least == FUNCTIONS[name].most else 2
    empty = Column(np.empty(0, np.int64), np.empty(0, np.bool_))
    dated = Column(empty.values, empty.valid, Kind.DATE)
    columns = [dated, empty] if name.startswith("date") else [empty] * n
    found = COLUMNS[name](columns)
    assert found is not None
    assert len(found.values) == len(found.valid) == 0
