"""The order of two values, as a value: what a comparison of two terms looks at."""

from __future__ import annotations

import math
import re
from datetime import date, datetime
from typing import Any

from remuda.model.functions.arguments import day_or_moment, in_utc, moment
from remuda.model.functions.function import Function
from remuda.model.values import key, ordered, tidy

BELOW, EQUAL, ABOVE = -1, 0, 1


def _compare(first: Any, second: Any) -> int | float:
    """How the first stands to the second; NaN, which satisfies nothing, where it does not."""
    mine, yours = ordered(first), ordered(second)
    if mine is None or yours is None:
        return EQUAL if key(first) == key(second) else math.nan
    if mine[0] is not yours[0]:
        return math.nan
    one: Any = mine[1]
    other: Any = yours[1]
    return EQUAL if one == other else BELOW if one < other else ABOVE


def _ordering(first: Any, second: Any) -> int | float:
    """As Spark compares: dates and timestamps as midnights in UTC, texts in ISO form as moments."""
    mine, yours = as_moment(first), as_moment(second)
    if isinstance(mine, date) and isinstance(yours, date):
        if type(mine) is not type(yours):
            mine, yours = moment(mine), moment(yours)
        if not (isinstance(first, str) and isinstance(second, str)):
            return _compare(mine, yours)
    return _compare(first, second)


def as_moment(value: Any) -> Any:
    """The date or timestamp that a text in ISO form is; anything else as it is."""
    plain = tidy(value)
    if isinstance(plain, datetime):
        return in_utc(plain)
    if not isinstance(plain, str) or not _ISO.fullmatch(plain):
        return plain
    found = day_or_moment(plain)
    return plain if found is None else found


_ISO = re.compile(
    r"\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:\.\d{1,9})?(?:Z|[+-]\d\d(?::?\d\d)?)?)?)?",
    re.ASCII,
)
COMPARING = (
    Function("compare", _compare, 2, 2),
    Function("ordering", _ordering, 2, 2),
    Function("as_moment", as_moment, 1, 1),
)
