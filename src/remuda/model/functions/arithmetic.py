"""Arithmetic: exact for integers and decimals, IEEE doubles as soon as one operand is a double."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from datetime import date, timedelta
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal
from typing import Any

from remuda.model.functions.arguments import (
    EXACT,
    LONG,
    Exact,
    Numeric,
    day_or_moment,
    fitted,
    integer,
    number,
    rounded,
    short,
)
from remuda.model.functions.comparing import as_moment
from remuda.model.functions.function import Function, table
from remuda.model.functions.spans import elapsed

_LONGEST_DOUBLE = 400  # no double has a digit further than this from its point


def within(value: int) -> int | None:
    """The integer; None where it takes more than 64 bits."""
    return value if -LONG <= value < LONG else None


def _exactly(
    left: Numeric,
    right: Numeric,
    integers: Callable[[int, int], int],
    decimals: Callable[[Decimal, Decimal], Decimal],
) -> Exact | None:
    if type(left) is int and type(right) is int:
        return within(integers(left, right))
    return fitted(decimals(Decimal(left), Decimal(right)))


def _arithmetic(
    plain: Callable[[Any, Any], Any], decimals: Callable[[Decimal, Decimal], Decimal]
) -> Callable[[Any, Any], Any]:
    def apply(left: Any, right: Any) -> Numeric | None:
        one, other = number(left), number(right)
        if one is None or other is None:
            return None
        if type(one) is float or type(other) is float:
            return float(plain(float(one), float(other)))
        return _exactly(one, other, plain, decimals)

    return apply


_sum = _arithmetic(operator.add, EXACT.add)
_difference = _arithmetic(operator.sub, EXACT.subtract)
_product = _arithmetic(operator.mul, EXACT.multiply)


def _add(left: Any, right: Any) -> Any:
    found = _sum(left, right)
    if found is None:
        found = shifted(left, right, 1)
    return shifted(right, left, 1) if found is None else found


def _subtract(left: Any, right: Any) -> Any:
    found = _difference(left, right)
    if found is None:
        found = shifted(left, right, -1)
    return _between(left, right) if found is None else found


def _between(end: Any, start: Any) -> int | None:
    """The microseconds between two moments, or texts of ISO's form that are some."""
    last, first = as_moment(end), as_moment(start)
    return elapsed(last, first) if isinstance(last, date) and isinstance(first, date) else None


def shifted(value: Any, days: Any, sign: int) -> date | None:
    """The date so many days later; only dates and their full texts are shifted by numbers."""
    count = short(days)
    if count is None:
        return None
    found = day_or_moment(value)
    if type(found) is not date:
        return None
    try:
        return found + timedelta(days=sign * count)
    except OverflowError:
        return None


def _divide(left: Any, right: Any) -> float | None:
    one, other = number(left), number(right)
    if one is None or other is None or other == 0:
        return None
    return float(one) / float(other)


def remainder(left: Any, right: Any) -> Numeric | None:
    """The remainder, with the sign of the dividend."""
    one, other = number(left), number(right)
    if one is None or other is None or other == 0:
        return None
    if type(one) is float or type(other) is float:
        one, other = float(one), float(other)
        return math.nan if math.isinf(one) else math.fmod(one, other)
    return _exactly(one, other, _rest, EXACT.remainder)


def _rest(left: int, right: int) -> int:
    rest = abs(left) % abs(right)
    return -rest if left < 0 else rest


def _div(left: Any, right: Any) -> int | None:
    """The whole part of the quotient; doubles have none in Spark."""
    one, other = number(left), number(right)
    if one is None or other is None or other == 0 or float in (type(one), type(other)):
        return None
    if type(one) is int and type(other) is int:
        quotient = abs(one) // abs(other)
        return within(-quotient if (one < 0) != (other < 0) else quotient)
    return within(int(EXACT.divide_int(Decimal(one), Decimal(other))))


def _negative(value: Any) -> Numeric | None:
    found = number(value)
    if type(found) is float:
        return -found
    return None if found is None else _difference(0, found)


def _abs(value: Any) -> Numeric | None:
    found = number(value)
    if found is None or type(found) is float:
        return None if found is None else abs(found)
    return within(abs(found)) if type(found) is int else fitted(Decimal(found).copy_abs())


def _round(value: Any, digits: Any = 0) -> Numeric | None:
    """Halves are rounded away from zero."""
    found, scale = number(value), short(digits)
    if found is None or scale is None:
        return None
    if type(found) is float:
        return _rounded_double(found, scale)
    if type(found) is int:
        return found if scale >= 0 else within(int(_rounded(Decimal(found), scale)))
    exact = Decimal(found)
    own = -int(exact.as_tuple().exponent)
    return fitted(rounded(_rounded(exact, min(scale, own)), max(min(scale, own), 0)))


def _rounded_double(value: float, scale: int) -> float:
    if not math.isfinite(value) or scale > _LONGEST_DOUBLE:
        return value
    return float(_rounded(Decimal(repr(value)), scale)) + 0.0  # -0.0 becomes 0.0


def _rounded(value: Decimal, scale: int) -> Decimal:
    return Decimal(0) if scale < -_LONGEST_DOUBLE else rounded(value, scale)


def _towards(whole: Callable[[float], int], rounding: str) -> Callable[[Any], int | Decimal | None]:
    def apply(value: Any) -> Exact | None:
        found = number(value)
        if type(found) is Decimal:
            return fitted(found.to_integral_value(rounding, context=EXACT))
        if type(found) is not float:
            return integer(found)
        if math.isnan(found):
            return 0  # as in Java
        return within(whole(found)) if math.isfinite(found) else None

    return apply


def _isnan(value: Any) -> bool | None:
    if value is None:
        return False
    found = number(value)
    return None if found is None else math.isnan(found)


FUNCTIONS = table(
    [
        Function("add", _add, 2, 2),
        Function("subtract", _subtract, 2, 2),
        Function("multiply", _product, 2, 2),
        Function("divide", _divide, 2, 2),
        Function("mod", remainder, 2, 2),
        Function("div", _div, 2, 2),
        Function("negative", _negative, 1, 1),
        Function("positive", number, 1, 1),
        Function("abs", _abs, 1, 1),
        Function("round", _round, 1, 2),
        Function("floor", _towards(math.floor, ROUND_FLOOR), 1, 1),
        Function("ceil", _towards(math.ceil, ROUND_CEILING), 1, 1),
        Function("isnan", _isnan, 1, 1, on_missing=True),
    ],
    try_add="add",
    try_subtract="subtract",
    try_multiply="multiply",
    try_divide="divide",
    try_mod="mod",
    ceiling="ceil",
)
