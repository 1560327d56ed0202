"""Casts, under the names that Spark has for them as functions: `int(x)` is CAST(x AS INT)."""

from __future__ import annotations

import math
import re
import struct
from collections.abc import Callable, Sequence
from datetime import date, datetime
from decimal import Decimal, DecimalException
from typing import Any

from remuda.errors import InvalidCriterion
from remuda.model.functions.arguments import (
    BLANKS,
    DIGITS,
    LONG,
    day,
    fitted,
    in_utc,
    microseconds_of,
    moment,
    moment_at,
    number,
    rounded,
    short,
    text,
)
from remuda.model.functions.function import Function, table, taking
from remuda.model.values import tidy

_JAVA_BLANKS = BLANKS[:-1]  # what Java's trim cuts off
_INTEGER = re.compile(r"([+-]?)0*(\d{1,19})", re.ASCII)
_DECIMAL = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d{1,9})?", re.IGNORECASE)
_DOUBLE = re.compile(_DECIMAL.pattern.replace("{1,9}", "+") + "[fd]?", re.ASCII | re.IGNORECASE)
_HEX = re.compile(
    r"[+-]?0x(?:[0-9a-f]+\.?[0-9a-f]*|\.[0-9a-f]+)p[+-]?\d+[fd]?", re.ASCII | re.IGNORECASE
)
_SPECIAL = {"nan": math.nan, "inf": math.inf, "+inf": math.inf, "-inf": -math.inf}
_SPECIAL |= {"infinity": math.inf, "+infinity": math.inf, "-infinity": -math.inf}
_TRUE, _FALSE = {"t", "true", "y", "yes", "1"}, {"f", "false", "n", "no", "0"}
_MICROSECONDS = 1_000_000


def _string(value: Any) -> str | None:
    plain = tidy(value)
    if isinstance(plain, bool):
        return "true" if plain else "false"
    if isinstance(plain, datetime):
        moment = in_utc(plain)
        return None if moment is None else _text_of_moment(moment)
    if isinstance(plain, date):
        return plain.isoformat()
    found = number(plain)
    if found is None:
        return text(plain)
    if type(found) is float:
        return double_text(found)
    return f"{found:f}" if type(found) is Decimal else str(found)


def _text_of_moment(value: datetime) -> str:
    spelt = value.replace(tzinfo=None).isoformat(" ")
    return spelt.rstrip("0") if value.microsecond else spelt


def double_text(value: float) -> str:
    """As Java spells doubles since version 19: the shortest digits, at least one behind a point."""
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "Infinity" if value > 0 else "-Infinity"
    if value == 0 or 1e-3 <= abs(value) < 1e7:
        return repr(value)
    mantissa, _, exponent = _scientific(value).partition("e")
    return f"{mantissa}E{int(exponent)}"


def _scientific(value: float) -> str:
    digits = len(Decimal(repr(value)).normalize().as_tuple().digits)
    return f"{value:.{max(digits - 1, 1)}e}"


def _integral(bound: int) -> Callable[[Any], int | None]:
    def apply(value: Any) -> int | None:
        found = _whole(tidy(value))
        return found if found is not None and -bound <= found < bound else None

    return apply


def _whole(value: Any) -> int | None:
    """The number without its fraction, the second of a timestamp, 1 and 0 for true and false."""
    if isinstance(value, bool):
        return int(value)
    if isinstance(value, str):
        spelt = _INTEGER.fullmatch(value.strip(BLANKS))
        return None if spelt is None else int(spelt[1] + spelt[2])
    if isinstance(value, datetime):
        moment = in_utc(value)
        return None if moment is None else microseconds_of(moment) // _MICROSECONDS
    found = number(value)
    if type(found) is not float:
        return None if found is None else int(found)
    if not math.isfinite(found):
        return None
    return LONG - 1 if found == LONG else int(found)  # Java's cast, within Spark's check


def _double(value: Any) -> float | None:
    plain = tidy(value)
    if isinstance(plain, str):
        return _double_of_text(plain.strip(_JAVA_BLANKS))
    if isinstance(plain, datetime):
        moment = in_utc(plain)
        return None if moment is None else microseconds_of(moment) / _MICROSECONDS
    found = int(plain) if isinstance(plain, bool) else number(plain)
    return None if found is None else float(found)


def _double_of_text(value: str) -> float | None:
    if value.lower() in _SPECIAL:
        return _SPECIAL[value.lower()]
    if value in ("-NaN", "+NaN"):  # Java reads the sign, Spark's own spellings have none
        return math.nan
    if _DOUBLE.fullmatch(value):
        return float(value.rstrip("fdFD"))
    if _HEX.fullmatch(value) is None:
        return None
    try:
        mantissa, _, exponent = value.lower().partition("p")
        return float.fromhex(f"{mantissa}p{exponent.rstrip('fd')}")
    except OverflowError:
        return -math.inf if value.startswith("-") else math.inf


@taking(_double)
def _float(value: float) -> float:
    """The nearest number of 32 bits."""
    try:
        (single,) = struct.unpack("f", struct.pack("f", value))
    except OverflowError:
        return math.copysign(math.inf, value)
    return float(single)


def _exact(value: Any) -> Decimal | None:
    plain = tidy(value)
    if isinstance(plain, bool):
        return Decimal(int(plain))
    if isinstance(plain, str):
        spelt = plain.strip(_JAVA_BLANKS)
        try:
            return Decimal(spelt) if _DECIMAL.fullmatch(spelt) else None
        except DecimalException:
            return None
    if isinstance(plain, datetime):
        moment = in_utc(plain)
        return None if moment is None else Decimal(microseconds_of(moment)).scaleb(-6)
    found = number(plain)
    if type(found) is float:
        return Decimal(repr(found)) if math.isfinite(found) else None
    return None if found is None else Decimal(found)


@taking(_exact, short, short)
def _decimal(value: Decimal, precision: int = 10, scale: int = 0) -> Decimal | None:
    """With `scale` digits behind the point, halves away from zero, and `precision` in all."""
    if not 0 <= scale <= precision <= DIGITS or value.adjusted() > DIGITS:
        return None
    result = fitted(rounded(value, scale))
    if result is None or (result and result.adjusted() >= precision - scale):
        return None
    return result


def _check_decimal(arguments: Sequence[Any]) -> None:
    precision, scale = (*arguments[1:], 10, 0)[:2] if len(arguments) > 1 else (10, 0)
    given = [one for one in (precision, scale) if one is not None]
    if any(type(one) is not int or not 0 <= one <= DIGITS for one in given) or given != sorted(
        given, reverse=True
    ):
        raise InvalidCriterion(
            f"a decimal has up to {DIGITS} digits, some of them behind the point,"
            f" and not ({precision}, {scale})"
        )


def _boolean(value: Any) -> bool | None:
    plain = tidy(value)
    if isinstance(plain, bool):
        return plain
    if isinstance(plain, str):
        spelt = plain.strip(BLANKS).lower()
        return True if spelt in _TRUE else False if spelt in _FALSE else None
    found = number(plain)
    return None if found is None else found != 0


def timestamp(value: Any) -> datetime | None:
    """The moment, or so many seconds since 1970."""
    plain = tidy(value)
    seconds = None if isinstance(plain, bool) else number(plain)
    if seconds is None:
        return moment(plain)
    if type(seconds) is float:
        micros = seconds * _MICROSECONDS
        return moment_at(int(micros)) if math.isfinite(micros) else None
    return moment_at(int(seconds * _MICROSECONDS))


FUNCTIONS = table(
    [
        Function("string", _string, 1, 1),
        Function("tinyint", _integral(2**7), 1, 1),
        Function("smallint", _integral(2**15), 1, 1),
        Function("int", _integral(2**31), 1, 1),
        Function("bigint", _integral(LONG), 1, 1),
        Function("float", _float, 1, 1),
        Function("double", _double, 1, 1),
        Function("decimal", _decimal, 1, 3, check=_check_decimal),
        Function("boolean", _boolean, 1, 1),
        Function("date", day, 1, 1),
        Function("timestamp", timestamp, 1, 1),
    ]
)
