"""Arguments of functions: each kind as the functions made for it take it, None for all others."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta, tzinfo
from decimal import ROUND_HALF_UP, Context, Decimal
from typing import Any, TypeAlias, TypeVar

from remuda.model.moments import zone_of
from remuda.model.values import instant, is_text, tidy

Exact: TypeAlias = int | Decimal
Numeric: TypeAlias = int | float | Decimal
Day = TypeVar("Day", bound=date)

SHORT, LONG = 2**31, 2**63  # the first integers that 32 and 64 bits do not hold
DIGITS = 38  # of Spark's decimals
LONGEST_TEXT = 1 << 24  # characters that a function makes; in functions, they would grow unbounded
LONGEST_LIST = 100_000  # elements that a function makes of none
# More digits than any result has, so that none is rounded but where it is asked for
EXACT = Context(prec=1000, rounding=ROUND_HALF_UP)
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MICROSECOND = timedelta(microseconds=1)
BLANKS = "".join(map(chr, range(33))) + "\x7f"  # what Spark's casts trim

_DAY = re.compile(r"\+?(\d{4,7})(?:-(\d\d?)(?:-(\d\d?)(?:[ T].*)?)?)?", re.ASCII | re.DOTALL)
_TIME = r"(\d\d?)(?::(\d\d?)(?::(\d\d?)(?:\.(\d*))?(\D.*)?)?)?"
_MOMENT = re.compile(rf"\+?(\d{{4,6}})(?:-(\d\d?)(?:-(\d\d?)(?:[ T]{_TIME})?)?)?", re.ASCII)
_PLAIN_DAY = re.compile(r"\d{4}-\d\d-\d\d", re.ASCII)


def instance(*kinds: type) -> Callable[[Any], Any]:
    """The argument that is a value of one of these types, as it is."""
    return lambda value: value if isinstance(value, kinds) else None


def integer(value: Any) -> int | None:
    """An integer of 64 bits; booleans and 5.0 are none."""
    if type(value) is int:
        return value if -LONG <= value < LONG else None
    plain = tidy(value)
    return None if type(plain) is type(value) else integer(plain)


def short(value: Any) -> int | None:
    """An integer of 32 bits, with which Spark counts characters, elements, days and months."""
    found = integer(value)
    return found if found is not None and -SHORT <= found < SHORT else None


def number(value: Any) -> Numeric | None:
    """A number that Spark's BIGINT, DOUBLE or DECIMAL holds; booleans are none."""
    kind = type(value)
    if kind is int:
        return value if -LONG <= value < LONG else None
    if kind is float:
        return value  # type: ignore[no-any-return]
    if kind is Decimal:
        return fitted(value)
    plain = tidy(value)
    return None if type(plain) is kind else number(plain)


def double(value: Any) -> float | None:
    """The double nearest to a number."""
    found = number(value)
    return None if found is None else float(found)


def fitted(value: Decimal) -> Decimal | None:
    """The decimal, with fewer zeros at its end if need be; None where it has over 38 digits."""
    exponent = value.as_tuple().exponent
    if not isinstance(exponent, int):
        return None  # infinite, or not a number
    if not value:
        return Decimal((0, (0,), min(max(exponent, -DIGITS), 0)))  # Spark has no -0
    whole, scale = max(value.adjusted() + 1, 0), max(-exponent, 0)
    if whole + scale <= DIGITS:
        return value
    if whole > DIGITS or value.adjusted() < -DIGITS:
        return None
    shorter = rounded(value, DIGITS - whole)
    return shorter if shorter == value else None


def rounded(value: Decimal, scale: int, context: Context = EXACT) -> Decimal:
    """The decimal with `scale` digits behind its point, halves away from zero by default."""
    return value.quantize(Decimal((0, (1,), -scale)), context=context)


def text(value: Any) -> str | None:
    """Unicode text."""
    if type(value) is str:
        return value if is_text(value) else None
    plain = tidy(value)
    return None if type(plain) is type(value) else text(plain)


def day(value: Any) -> date | None:
    """A date, that of a timestamp in UTC, or the one that a text begins with."""
    kind = type(value)
    if kind is date:
        return value  # type: ignore[no-any-return]
    if kind is datetime:
        moment = in_utc(value)
        return None if moment is None else moment.date()
    if kind is str:
        return day_of_text(value)
    plain = tidy(value)
    return None if type(plain) is kind else day(plain)


def moment(value: Any) -> datetime | None:
    """A timestamp in UTC, a date's midnight, or what a text reads as."""
    kind = type(value)
    if kind is datetime:
        return in_utc(value)
    if kind is date:
        return midnight(value)
    if kind is str:
        return moment_of_text(value)
    plain = tidy(value)
    return None if type(plain) is kind else moment(plain)


def day_or_moment(value: Any) -> date | datetime | None:
    """A date or a timestamp, as the value or its text is."""
    plain = tidy(value)
    if isinstance(plain, str):
        return day(plain) if _PLAIN_DAY.fullmatch(plain) else moment(plain)
    return plain if type(plain) is date else moment(plain)


def in_utc(value: datetime) -> datetime | None:
    try:
        return instant(value)
    except (OverflowError, ValueError):  # a zone leads it out of the calendar
        return None


def midnight(value: date) -> datetime:
    return datetime(value.year, value.month, value.day, tzinfo=UTC)


def microseconds_of(value: datetime) -> int:
    """Microseconds since 1970 of a timestamp in UTC."""
    return (value - EPOCH) // MICROSECOND


def moment_at(microseconds: int) -> datetime | None:
    """The timestamp so many microseconds after 1970; None beyond the years 1 to 9999."""
    return later(EPOCH, microseconds=microseconds)


def later(value: Day, days: int = 0, microseconds: int = 0) -> Day | None:
    """The date or timestamp so much later; None beyond the years 1 to 9999."""
    try:
        return value + timedelta(days=days, microseconds=microseconds)
    except OverflowError:
        return None


def day_of_text(value: str) -> date | None:
    """The date as Spark's cast reads it: `2024`, `2024-2`, `2024-2-3`, `2024-02-03 whatever`."""
    found = _DAY.fullmatch(value.strip(BLANKS))
    if found is None:
        return None
    year, month, number = found.groups(default="1")
    try:
        return date(int(year), int(month), int(number))
    except ValueError:
        return None


def moment_of_text(value: str) -> datetime | None:
    """The timestamp as Spark's cast reads it; a zone may follow seconds, and UTC is the default."""
    found = _MOMENT.fullmatch(value.strip(BLANKS))
    if found is None:
        return None
    *numbers, fraction, zone = found.groups()
    year, month, number = (int(part or 1) for part in numbers[:3])
    hour, minute, second = (int(part or 0) for part in numbers[3:])
    micros = int(((fraction or "") + "000000")[:6])
    try:
        local = datetime(year, month, number, hour, minute, second, micros, _zone(zone))
        return local.astimezone(UTC)
    except (ValueError, OverflowError, OSError):
        return None


_SHORT_HOUR, _SHORT_MINUTE = re.compile(r"([+-])(\d):"), re.compile(r"([+-]\d\d:)(\d)$")


def _zone(spelt: str | None) -> tzinfo:
    if spelt is None:
        return UTC
    spelt = _SHORT_HOUR.sub(r"\g<1>0\2:", spelt.strip(BLANKS), count=1)
    return zone_of(_SHORT_MINUTE.sub(r"\g<1>0\2", spelt))
