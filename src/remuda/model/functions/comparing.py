"""The order of two values, as a value: what a comparison of two terms looks at."""

from __future__ import annotations

import math
from typing import Any

from remuda.model.functions.function import Function
from remuda.model.values import key, ordered

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


COMPARING = (Function("compare", _compare, 2, 2),)
