"""Witnesses: a value between two cuts of an order, where there is one."""

from __future__ import annotations

from collections.abc import Hashable
from datetime import UTC, date, datetime, timedelta
from decimal import MAX_EMAX, MIN_EMIN, Context
from typing import Any

from remuda.encoding.cuts import Cut
from remuda.model.values import Kind

_AFTER = 1
_INFINITE: Any = float("inf")
_DIGITS = 10_000  # of a number between two others


def is_scalar(point: Hashable) -> bool:
    """Whether the key is that of a scalar without an order; others are of lists and objects."""
    return isinstance(point, tuple) and point[0] == "boolean"


def value_between(kind: Kind, lower: Cut | None, upper: Cut | None) -> Any:
    """A value after the one cut and before the other; None where there is none."""
    if lower is not None and upper is not None and lower >= upper:
        return None
    match kind:
        case Kind.NUMBER:
            return _number(lower, upper)
        case Kind.STRING:
            return _string(lower, upper)
        case Kind.DATE:
            return _stepped(lower, upper, date.min, date.max, timedelta(days=1))
        case Kind.TIMESTAMP:
            first, last = datetime.min.replace(tzinfo=UTC), datetime.max.replace(tzinfo=UTC)
            return _stepped(lower, upper, first, last, timedelta(microseconds=1))


def _number(lower: Cut | None, upper: Cut | None) -> Any:
    if lower is not None and lower[1] != _AFTER:
        return lower[0]
    if upper is not None and upper[1] == _AFTER:
        return upper[0]
    low = -_INFINITE if lower is None else lower[0]
    high = _INFINITE if upper is None else upper[0]
    if (low == _INFINITE) or (high == -_INFINITE):
        return None
    exact = Context(prec=_DIGITS, Emax=MAX_EMAX, Emin=MIN_EMIN)
    if low == -_INFINITE:
        return 0 if high == _INFINITE else exact.subtract(high, 1)
    return exact.add(low, 1) if high == _INFINITE else exact.divide(exact.add(low, high), 2)


def _string(lower: Cut | None, upper: Cut | None) -> str | None:
    found = "" if lower is None else lower[0]
    if lower is not None and lower[1] == _AFTER:
        found += "\0"  # the next one in the order
    return found if upper is None or (found, 0.5) < upper else None


def _stepped(lower: Cut | None, upper: Cut | None, first: Any, last: Any, step: timedelta) -> Any:
    try:
        if lower is not None:
            first = lower[0] + step if lower[1] == _AFTER else lower[0]
    except OverflowError:
        return None
    return first if first <= last and (upper is None or (first, 0.5) < upper) else None
