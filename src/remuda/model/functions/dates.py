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
    day,
    day_or_moment,
    integer,
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
from remuda.model.functions.function import Function, table

EPOCH_DAY = date(1970, 1, 1)
_DEFAULT_FORMAT = "yyyy-MM-dd HH:mm:ss"


def _of_day(field: Callable[[date], Any]) -> Callable[[Any], Any]:
    def apply(value: Any) -> Any:
        found = day(value)
        return None if found is None else field(found)

    return apply


def _of_moment(field: Callable[[datetime], Any]) -> Callable[[Any], Any]:
    def apply(value: Any) -> Any:
        found = moment(value)
        return None if found is None else field(found)

    return apply


def _week(value: date) -> int:
    return value.isocalendar().week


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


def _date_trunc(unit: Any, value: Any) -> datetime | None:
    name, found = text(unit), moment(value)
    if name is None or found is None:
        return None
    name = name.lower()
    if name in _DAYS:
        return midnight(_DAYS[name](found.date()))
    if name not in _TIMES:
        return None
    return found - microseconds_of(found) % _TIMES[name] * MICROSECOND


def _trunc(value: Any, unit: Any) -> date | None:
    name, found = text(unit), day(value)
    if name is None or found is None or name.lower() not in _DAYS:
        return None
    return _DAYS[name.lower()](found)


def _check_unit(unit: Any, units: Sequence[str]) -> None:
    if unit is not None and (not isinstance(unit, str) or unit.lower() not in units):
        raise InvalidCriterion(f"{unit!r} is no unit to cut off at; such are {', '.join(units)}")


def _date_add(value: Any, days: Any) -> date | None:
    found, count = day(value), short(days)
    return None if found is None or count is None else _later(found, count)


def _date_sub(value: Any, days: Any) -> date | None:
    count = short(days)
    return None if count is None else _date_add(value, -count)


def _later(value: date, days: int) -> date | None:
    try:
        return value + timedelta(days=days)
    except OverflowError:  # beyond the years 1 to 9999
        return None


def _date_diff(end: Any, start: Any) -> int | None:
    last, first = day(end), day(start)
    return None if last is None or first is None else (last - first).days


def _add_months(value: Any, months: Any) -> date | None:
    found, count = day(value), short(months)
    return None if found is None or count is None else months_later(found, count)


def months_later(value: date, months: int) -> date | None:
    """The same day so many months later, or the last of that month."""
    years, month = divmod(value.month - 1 + months, 12)
    year = value.year + years
    if not 1 <= year <= 9999:
        return None
    last = calendar.monthrange(year, month + 1)[1]
    return value.replace(year=year, month=month + 1, day=min(value.day, last))


def _add_interval(value: Any, months: Any, days: Any, microseconds: Any) -> date | None:
    """The value with an interval added, whose days have 24 hours.

    A date stays a date unless there are microseconds.
    """
    found, count = day_or_moment(value), short(months)
    span, finer = integer(days), integer(microseconds)
    if found is None or count is None or span is None or finer is None:
        return None
    if finer and type(found) is date:
        found = midnight(found)
    moved = months_later(found, count)
    try:
        return None if moved is None else moved + timedelta(days=span, microseconds=finer)
    except OverflowError:
        return None


def _check_interval(arguments: Sequence[Any]) -> None:
    for part in arguments[1:]:
        if part is not None and type(part) is not int:
            raise InvalidCriterion(f"an interval has whole numbers, not {part!r}")


def last_day(value: date) -> date:
    return value.replace(day=calendar.monthrange(value.year, value.month)[1])


def _make_date(year: Any, month: Any, number: Any) -> date | None:
    parts = short(year), short(month), short(number)
    try:
        return date(*parts)  # type: ignore[arg-type]
    except (TypeError, ValueError):
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


def _timestamp_seconds(value: Any) -> datetime | None:
    found = number(value)
    if found is None or (type(found) is Decimal and found != round(found, 6)):
        return None
    return timestamp(found)


def _timestamp_of(micros: int) -> Callable[[Any], datetime | None]:
    def apply(value: Any) -> datetime | None:
        found = integer(value)
        return None if found is None else moment_at(found * micros)

    return apply


def _unix(micros: int) -> Callable[[Any], int | None]:
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
        Function("weekofyear", _of_day(_week), 1, 1),
        Function("hour", _of_moment(lambda value: value.hour), 1, 1),
        Function("minute", _of_moment(lambda value: value.minute), 1, 1),
        Function("second", _of_moment(lambda value: value.second), 1, 1),
        Function("second_with_fraction", _of_moment(_second_with_fraction), 1, 1),
        Function(
            "date_trunc",
            _date_trunc,
            2,
            2,
            check=lambda arguments: _check_unit(arguments[0], (*_DAYS, *_TIMES)),
        ),
        Function(
            "trunc", _trunc, 2, 2, check=lambda arguments: _check_unit(arguments[1], (*_DAYS,))
        ),
        Function("date_add", _date_add, 2, 2),
        Function("date_sub", _date_sub, 2, 2),
        Function("date_diff", _date_diff, 2, 2),
        Function("add_months", _add_months, 2, 2),
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
