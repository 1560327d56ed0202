"""Functions of dates and timestamps, in UTC; text that reads as a date or timestamp is one."""

from __future__ import annotations

import calendar
from collections.abc import Callable, Sequence
from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import Any

from remuda.errors import InvalidCriterion
from remuda.model.functions.arguments import (
    MICROSECOND,
    Numeric,
    day,
    day_or_moment,
    integer,
    later,
    microseconds_of,
    midnight,
    moment,
    moment_at,
    number,
    short,
    text,
)
from remuda.model.functions.casts import timestamp
from remuda.model.functions.formats import check_format, moment_by
from remuda.model.functions.function import Function, table, taking

EPOCH_DAY = date(1970, 1, 1)
_DEFAULT_FORMAT = "yyyy-MM-dd HH:mm:ss"


_of_day, _of_moment = taking(day), taking(moment)


def _second_with_fraction(value: datetime) -> Decimal:
    return Decimal(value.second * 1_000_000 + value.microsecond).scaleb(-6)


def _first_of_quarter(value: date) -> date:
    return value.replace(month=(value.month - 1) // 3 * 3 + 1, day=1)


def _monday(value: date) -> date:
    return value - timedelta(days=value.weekday())


_DAYS: dict[str, Callable[[date], date]] = {
    **dict.fromkeys(("year", "yyyy", "yy"), lambda value: value.replace(month=1, day=1)),
    "quarter": _first_of_quarter,
    **dict.fromkeys(("month", "mm", "mon"), lambda value: value.replace(day=1)),
    "week": _monday,
}
MICROSECONDS = {
    "microsecond": 1,
    "millisecond": 1_000,
    "second": 1_000_000,
    "minute": 60_000_000,
    "hour": 3_600_000_000,
    "day": 86_400_000_000,
}
_TIMES = {**MICROSECONDS, "dd": MICROSECONDS["day"]}


@taking(text, moment)
def _date_trunc(unit: str, value: datetime) -> datetime | None:
    name = unit.lower()
    if name in _DAYS:
        return midnight(_DAYS[name](value.date()))
    if name not in _TIMES:
        return None
    return value - microseconds_of(value) % _TIMES[name] * MICROSECOND


@taking(day, text)
def _trunc(value: date, unit: str) -> date | None:
    return _DAYS[unit.lower()](value) if unit.lower() in _DAYS else None


def unit_check(place: int, units: Sequence[str], what: str) -> Callable[[Sequence[Any]], None]:
    """Refuse a literal at that place among the arguments that is no such unit."""

    def check(arguments: Sequence[Any]) -> None:
        unit = arguments[place]
        if unit is not None and (not isinstance(unit, str) or unit.lower() not in units):
            raise InvalidCriterion(f"{unit!r} is no {what}; such are {', '.join(units)}")

    return check


_CUT_AT_ANY = unit_check(0, (*_DAYS, *_TIMES), "unit to cut off at")
_CUT_AT_DAY = unit_check(1, (*_DAYS,), "unit to cut off at")


def months_later(value: date, months: int) -> date | None:
    """The same day so many months later, or the last of that month."""
    years, month = divmod(value.month - 1 + months, 12)
    year = value.year + years
    if not 1 <= year <= 9999:
        return None
    last = calendar.monthrange(year, month + 1)[1]
    return value.replace(year=year, month=month + 1, day=min(value.day, last))


@taking(day_or_moment, short, integer, integer)
def _add_interval(value: date, months: int, days: int, microseconds: int) -> date | None:
    """The value with an interval added, whose days have 24 hours.

    A date stays a date unless there are microseconds.
    """
    if microseconds and type(value) is date:
        value = midnight(value)
    moved = months_later(value, months)
    return None if moved is None else later(moved, days, microseconds)


def _check_interval(arguments: Sequence[Any]) -> None:
    for part in arguments[1:]:
        if part is not None and type(part) is not int:
            raise InvalidCriterion(f"an interval has whole numbers, not {part!r}")


def last_day(value: date) -> date:
    return value.replace(day=calendar.monthrange(value.year, value.month)[1])


@taking(short, short, short)
def _make_date(year: int, month: int, number: int) -> date | None:
    try:
        return date(year, month, number)
    except ValueError:
        return None


def _to_timestamp(value: Any, pattern: Any = None) -> datetime | None:
    found = text(value)
    if found is None or pattern is None:
        return timestamp(value)
    wanted = text(pattern)
    return None if wanted is None else moment_by(wanted, found)


def _to_date(value: Any, pattern: Any = None) -> date | None:
    if pattern is None or text(value) is None:
        return day(value)
    found = _to_timestamp(value, pattern)
    return None if found is None else found.date()


def _check_format(arguments: Sequence[Any]) -> None:
    if len(arguments) > 1 and arguments[1] is not None:
        check_format(arguments[1])


def _unix_timestamp(value: Any, pattern: Any = _DEFAULT_FORMAT) -> int | None:
    """Whole seconds since 1970, towards it."""
    found = moment(value) if text(value) is None else _to_timestamp(value, pattern)
    if found is None:
        return None
    micros = microseconds_of(found)
    return abs(micros) // 1_000_000 * (1 if micros > 0 else -1)


@taking(number)
def _timestamp_seconds(value: Numeric) -> datetime | None:
    return None if type(value) is Decimal and value != round(value, 6) else timestamp(value)


def _timestamp_of(micros: int) -> Callable[..., datetime | None]:
    return taking(integer)(lambda value: moment_at(value * micros))


def _unix(micros: int) -> Callable[..., int | None]:
    return _of_moment(lambda value: microseconds_of(value) // micros)


def _now(now: int) -> datetime | None:
    return moment_at(now * 1000)


def _current_date(now: int) -> date | None:
    return day(_now(now))


FUNCTIONS = table(
    [
        Function("year", _of_day(lambda value: value.year), 1, 1),
        Function("quarter", _of_day(lambda value: (value.month + 2) // 3), 1, 1),
        Function("month", _of_day(lambda value: value.month), 1, 1),
        Function("day", _of_day(lambda value: value.day), 1, 1),
        Function("dayofweek", _of_day(lambda value: value.isoweekday() % 7 + 1), 1, 1),
        Function("weekday", _of_day(date.weekday), 1, 1),
        Function("dayofyear", _of_day(lambda value: value.timetuple().tm_yday), 1, 1),
        Function("weekofyear", _of_day(lambda value: value.isocalendar().week), 1, 1),
        Function("hour", _of_moment(lambda value: value.hour), 1, 1),
        Function("minute", _of_moment(lambda value: value.minute), 1, 1),
        Function("second", _of_moment(lambda value: value.second), 1, 1),
        Function("second_with_fraction", _of_moment(_second_with_fraction), 1, 1),
        Function("date_trunc", _date_trunc, 2, 2, check=_CUT_AT_ANY),
        Function("trunc", _trunc, 2, 2, check=_CUT_AT_DAY),
        Function("date_add", taking(day, short)(later), 2, 2),
        Function("date_sub", taking(day, short)(lambda value, days: later(value, -days)), 2, 2),
        Function("date_diff", taking(day, day)(lambda end, start: (end - start).days), 2, 2),
        Function("add_months", taking(day, short)(months_later), 2, 2),
        Function("add_interval", _add_interval, 4, 4, check=_check_interval),
        Function("last_day", _of_day(last_day), 1, 1),
        Function("make_date", _make_date, 3, 3),
        Function("to_date", _to_date, 1, 2, check=_check_format),
        Function("to_timestamp", _to_timestamp, 1, 2, check=_check_format),
        Function("unix_timestamp", _unix_timestamp, 1, 2, check=_check_format),
        Function("unix_seconds", _unix(1_000_000), 1, 1),
        Function("unix_millis", _unix(1_000), 1, 1),
        Function("unix_micros", _unix(1), 1, 1),
        Function("timestamp_seconds", _timestamp_seconds, 1, 1),
        Function("timestamp_millis", _timestamp_of(1_000), 1, 1),
        Function("timestamp_micros", _timestamp_of(1), 1, 1),
        Function("current_date", _current_date, 0, 0, clock=True),
        Function("now", _now, 0, 0, clock=True),
    ],
    dayofmonth="day",
    datediff="date_diff",
    dateadd="date_add",
    try_to_date="to_date",
    try_to_timestamp="to_timestamp",
    to_unix_timestamp="unix_timestamp",
    curdate="current_date",
    current_timestamp="now",
    localtimestamp="now",
)
