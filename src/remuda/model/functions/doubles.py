"""Functions of doubles; what mathematics has no number for is missing or NaN, as in Spark."""

from __future__ import annotations

import math
from collections.abc import Callable
from decimal import ROUND_HALF_EVEN, Decimal
from typing import Any

from remuda.model.functions.arguments import EXACT, LONG, Numeric, double, integer, number, short
from remuda.model.functions.arithmetic import remainder, rounding
from remuda.model.functions.function import Function, table, taking

_EXACT_EVEN = EXACT.copy()
_EXACT_EVEN.rounding = ROUND_HALF_EVEN  # halves go to the even neighbour


def _of_double(function: Callable[..., float], n: int = 1) -> Callable[..., float | None]:
    """Of so many doubles: NaN where there is no result, infinite where it is too large."""

    @taking(*[double] * n)
    def apply(*values: float) -> float:
        try:
            return function(*values)
        except ValueError:
            return math.nan
        except OverflowError:
            return math.inf

    return apply


def _logarithm(
    function: Callable[[float], float], beyond: float = 0.0
) -> Callable[..., float | None]:
    """A logarithm, which is missing where there is none."""
    return taking(double)(lambda value: None if value <= beyond else function(value))


def _log(base: Any, value: Any = None) -> float | None:
    """The logarithm to a base, or the natural one of a single argument."""
    if value is None:
        return _ln(base)
    one, two = _ln(value), _ln(base)
    if one is None or two is None:
        return None
    return one / two if two else math.nan if one == 0 or math.isnan(one) else math.inf * one


_ln = _logarithm(math.log)


@taking(double)
def _sign(value: float) -> float:
    return value if value == 0 or math.isnan(value) else math.copysign(1.0, value)


def _power(base: float, exponent: float) -> float:
    """As Java has it: one to the NaN is NaN, as is one to infinity."""
    if math.isnan(exponent) or (abs(base) == 1 and math.isinf(exponent)):
        return math.nan
    try:
        return math.pow(base, exponent)
    except ValueError:  # 0 to a negative number, or a root of a negative one
        if base != 0:
            return math.nan
        odd = exponent.is_integer() and exponent % 2 == 1
        return math.copysign(math.inf, base) if odd else math.inf
    except OverflowError:
        return -math.inf if base < 0 and exponent % 2 == 1 else math.inf


def _pmod(value: Any, by: Any) -> Numeric | None:
    """The remainder that is not negative, where the divisor is not."""
    rest = remainder(value, by)
    other = number(by)
    if rest is None or other is None or not rest < 0:
        return rest
    if isinstance(rest, float):
        return remainder(rest + float(other), float(other))
    if isinstance(rest, int) and isinstance(other, int):
        return remainder(rest + other, other)
    return remainder(EXACT.add(Decimal(rest), Decimal(other)), other)


def _rint(value: float) -> float:
    return math.copysign(float(round(value)), value) if math.isfinite(value) else value


def _nanvl(value: Any, other: Any) -> float | None:
    """The first double, or the second where the first is NaN."""
    found = double(value)
    return double(other) if found is not None and math.isnan(found) else found


@taking(short)
def _factorial(value: int) -> int | None:
    return math.factorial(value) if 0 <= value <= 20 else None


@taking(double, double, double, integer)
def _width_bucket(x: float, start: float, end: float, n: int) -> int | None:
    """The bucket, from 1, of those equally wide between two ends; 0 and n + 1 lie outside."""
    if not 0 < n < LONG - 1 or math.isnan(x) or start == end or not _finite(start, end):
        return None
    if start > end:
        x, start, end = -x, -start, -end
    if x < start or x >= end:
        return 0 if x < start else n + 1
    bucket = n * (x - start) / (end - start)
    if math.isnan(bucket):
        return 1  # as Java makes an integer of it
    return int(bucket) + 1 if bucket < LONG else -LONG  # which is what Java's next one is


def _finite(*values: float) -> bool:
    return all(map(math.isfinite, values))


FUNCTIONS = table(
    [
        Function("sqrt", _of_double(math.sqrt), 1, 1),
        Function("cbrt", _of_double(math.cbrt), 1, 1),
        Function("exp", _of_double(math.exp), 1, 1),
        Function("ln", _ln, 1, 1),
        Function("log", _log, 1, 2),
        Function("log10", _logarithm(math.log10), 1, 1),
        Function("log2", _logarithm(math.log2), 1, 1),
        Function("log1p", _logarithm(math.log1p, -1.0), 1, 1),
        Function("power", _of_double(_power, 2), 2, 2),
        Function("sign", _sign, 1, 1),
        Function("pmod", _pmod, 2, 2),
        Function("bround", rounding(_EXACT_EVEN), 1, 2),
        Function("rint", _of_double(_rint), 1, 1),
        Function("hypot", _of_double(math.hypot, 2), 2, 2),
        Function("degrees", _of_double(lambda value: value * (180.0 / math.pi)), 1, 1),
        Function("radians", _of_double(lambda value: value * (math.pi / 180.0)), 1, 1),
        Function("sin", _of_double(math.sin), 1, 1),
        Function("cos", _of_double(math.cos), 1, 1),
        Function("tan", _of_double(math.tan), 1, 1),
        Function("asin", _of_double(math.asin), 1, 1),
        Function("acos", _of_double(math.acos), 1, 1),
        Function("atan", _of_double(math.atan), 1, 1),
        Function("atan2", _of_double(lambda y, x: math.atan2(y + 0.0, x + 0.0), 2), 2, 2),
        Function("nanvl", _nanvl, 2, 2, on_missing=True),
        Function("factorial", _factorial, 1, 1),
        Function("width_bucket", _width_bucket, 4, 4),
        Function("pi", lambda: math.pi, 0, 0),
        Function("e", lambda: math.e, 0, 0),
    ],
    pow="power",
    signum="sign",
)
