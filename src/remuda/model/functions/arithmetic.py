"""Arithmetic: exact for integers and decimals, IEEE doubles as soon as one operand is a double."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from datetime import date
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from typing import Any

from remuda.model.functions.arguments import (
    EXACT,
    LONG,
    Exact,
    Numeric,
    day_or_moment,
    fitted,
    integer,
    later,
    number,
    rounded,
    short,
)
from remuda.model.functions.comparing import as_moment
from remuda.model.functions.function import Function, table, taking
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
    return later(found, sign * count) if type(found) is date else None


def _divide(left: Any, right: Any) -> float | None:
    one, other = number(left), number(right)
    if one is None or other is None or other == 0:
        return None
    return float(one) / float(other)


def remainder(left: Any, right: Any) -> Numeric | None:
    """The remainder, with the sign of the dividend."""
    dividend, divisor = number(left), number(right)
    if dividend is None or divisor is None or divisor == 0:
        return None
    if type(dividend) is float or type(divisor) is float:
        dividend, divisor = float(dividend), float(divisor)
        return math.nan if math.isinf(dividend) else math.fmod(dividend, divisor)
    return _exactly(dividend, divisor, _rest, EXACT.remainder)


def _rest(left: int, right: int) -> int:
    rest = abs(left) % abs(right)
    return -rest if left < 0 else rest


def _div(left: Any, right: Any) -> int | None:
    """The whole part of the quotient; doubles have none in Spark."""
    amount, divisor = number(left), number(right)
    if amount is None or divisor is None or divisor == 0 or float in (type(amount), type(divisor)):
        return None
    if type(amount) is int and type(divisor) is int:
        quotient = abs(amount) // abs(divisor)
        return within(-quotient if (amount < 0) != (divisor < 0) else quotient)
    return within(int(EXACT.divide_int(Decimal(amount), Decimal(divisor))))


@taking(number)
def _negative(value: Numeric) -> Numeric | None:
    return -value if type(value) is float else _difference(0, value)


@taking(number)
def _abs(value: Numeric) -> Numeric | None:
    if type(value) is float:
        return abs(value)
    return within(abs(value)) if type(value) is int else fitted(Decimal(value).copy_abs())


def rounding(context: Context) -> Callable[..., Numeric | None]:
    """The function that rounds to some digits, halves as the context has it."""

    def shortened(value: Decimal, scale: int) -> Decimal:
        return Decimal(0) if scale < -_LONGEST_DOUBLE else rounded(value, scale, context)

    @taking(number, short)
    def apply(value: Numeric, scale: int = 0) -> Numeric | None:
        if type(value) is int:
            return value if scale >= 0 else within(int(shortened(Decimal(value), scale)))
        if type(value) is float:
            if not math.isfinite(value) or scale > _LONGEST_DOUBLE:
                return value
            return float(shortened(Decimal(repr(value)), scale)) + 0.0  # -0.0 becomes 0.0
        exact = Decimal(value)
        kept = min(scale, -int(exact.as_tuple().exponent))
        return fitted(rounded(shortened(exact, kept), max(kept, 0)))

    return apply


def _towards(whole: Callable[[float], int], rounding: str) -> Callable[..., Exact | None]:
    @taking(number)
    def apply(value: Numeric) -> Exact | None:
        if type(value) is Decimal:
            return fitted(value.to_integral_value(rounding, context=EXACT))
        if type(value) is not float:
            return integer(value)
        if math.isnan(value):
            return 0  # as in Java
        return within(whole(value)) if math.isfinite(value) else None

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
        Function("round", rounding(EXACT), 1, 2),
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
