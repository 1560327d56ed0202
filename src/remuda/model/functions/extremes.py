"""The greatest and the least of several values of one kind."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from datetime import date, datetime
from typing import Any

from remuda.model.functions.arguments import day_or_moment, moment, number, text
from remuda.model.functions.function import Function, table
from remuda.model.values import tidy

Pick = Callable[..., Any]  # max or min


def extreme(values: Iterable[Any], pick: Pick) -> Any:
    """The first of the greatest or least, what is missing aside; None where kinds do not compare.

    A double makes all of them doubles, among which NaN is the greatest; a timestamp makes dates
    timestamps.
    """
    plain = [one for one in map(tidy, values) if one is not None]
    if not plain:
        return None
    for kind, among in _KINDS:
        if any(isinstance(one, kind) for one in plain):
            return among(plain, pick)
    numbers = [number(one) for one in plain]
    if None in numbers:
        return None
    if any(type(one) is float for one in numbers):
        return pick(map(float, numbers), key=_nan_last)  # type: ignore[arg-type]
    return pick(numbers)


def _nan_last(value: float) -> tuple[bool, float]:
    return (True, 0.0) if math.isnan(value) else (False, value)


def _of_moments(values: list[Any], pick: Pick) -> Any:
    found = [day_or_moment(one) for one in values]
    if any(type(one) is datetime for one in found):
        found = [moment(one) for one in values]
    return None if None in found else pick(found)


def _of_texts(values: list[Any], pick: Pick) -> Any:
    found = [text(one) for one in values]
    return None if None in found else pick(found)


def _of_booleans(values: list[Any], pick: Pick) -> Any:
    return pick(values) if all(type(one) is bool for one in values) else None


_KINDS: tuple[tuple[type, Callable[[list[Any], Pick], Any]], ...] = (
    (date, _of_moments),  # and timestamps, which are dates to Python
    (str, _of_texts),
    (bool, _of_booleans),
)


FUNCTIONS = table(
    [
        Function("greatest", lambda *values: extreme(values, max), 2, None, on_missing=True),
        Function("least", lambda *values: extreme(values, min), 2, None, on_missing=True),
    ]
)
