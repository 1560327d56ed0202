"""Spans of time between moments, and moments that are so far from others, in UTC."""

from __future__ import annotations

import math
from collections.abc import Sequence
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any

from remuda.errors import InvalidCriterion
from remuda.model.functions.arguments import (
    day,
    integer,
    microseconds_of,
    moment,
    moment_at,
    number,
    short,
    text,
)
from remuda.model.functions.dates import EPOCH_DAY, MICROSECONDS, last_day, months_later
from remuda.model.functions.function import Function, table
from remuda.model.moments import DAYS, zone_of

_MONTHS = {"month": 1, "quarter": 3, "year": 12}
_MICROSECONDS = {**MICROSECONDS, "week": 7 * MICROSECONDS["day"]}
UNITS = (*_MICROSECONDS, *_MONTHS)
_SECONDS_OF_DAY, _SECONDS_OF_MONTH = 86_400, 31 * 86_400  # as months_between counts
_NAMES = {name[:n].upper(): i for i, name in enumerate(DAYS) for n in (2, 3, len(name))}


def elapsed(end: Any, start: Any) -> int | None:
    """Microseconds from the one moment to the other."""
    last, first = moment(end), moment(start)
    return None if last is None or first is None else microseconds_of(last) - microseconds_of(first)


def _timestampdiff(unit: Any, start: Any, end: Any) -> int | None:
    """Whole units from the one moment to the other."""
    name, first, last = text(unit), moment(start), moment(end)
    if name is None or first is None or last is None:
        return None
    if name.lower() in _MICROSECONDS:
        return _whole(microseconds_of(last) - microseconds_of(first), _MICROSECONDS[name.lower()])
    if name.lower() not in _MONTHS:
        return None
    return _whole(_whole_months(first, last), _MONTHS[name.lower()])


def _whole(span: int, unit: int) -> int:
    return span // unit if span >= 0 else -(-span // unit)


def _whole_months(first: datetime, last: datetime) -> int:
    """As Java counts: an end whose time is not reached yet is a day nearer."""
    end = last.date()
    if end > first.date() and last.time() < first.time():
        end -= timedelta(days=1)
    elif end < first.date() and last.time() > first.time():
        end += timedelta(days=1)
    months = (end.year - first.year) * 12 + end.month - first.month
    return _whole(months * 32 + end.day - first.day, 32)


def _timestampadd(unit: Any, count: Any, value: Any) -> datetime | None:
    """The moment so many units later."""
    name, n, at = text(unit), integer(count), moment(value)
    if name is None or n is None or at is None:
        return None
    if name.lower() in _MICROSECONDS:
        return moment_at(microseconds_of(at) + n * _MICROSECONDS[name.lower()])
    months = short(n * _MONTHS[name.lower()]) if name.lower() in _MONTHS else None
    later = None if months is None else months_later(at, months)
    return None if later is None else datetime.combine(later, at.timetz())


def _check_unit(arguments: Sequence[Any]) -> None:
    unit = arguments[0]
    if unit is not None and (not isinstance(unit, str) or unit.lower() not in UNITS):
        raise InvalidCriterion(f"{unit!r} is no unit of time; such are {', '.join(UNITS)}")


def _months_between(end: Any, start: Any, rounds: Any = True) -> float | None:
    """Months and parts of 31 days; whole where both are the same or the last day of a month."""
    last, first = moment(end), moment(start)
    if last is None or first is None or not isinstance(rounds, bool):
        return None
    months = (last.year - first.year) * 12 + last.month - first.month
    ends = all(one.date() == last_day(one.date()) for one in (last, first))
    if last.day == first.day or ends:
        return float(months)
    seconds = (last.day - first.day) * _SECONDS_OF_DAY + _second(last) - _second(first)
    found = months + seconds / _SECONDS_OF_MONTH
    return math.floor(found * 1e8 + 0.5) / 1e8 if rounds else found


def _second(value: datetime) -> int:
    return value.hour * 3600 + value.minute * 60 + value.second


def _next_day(value: Any, name: Any) -> date | None:
    """The first such day of the week behind the date."""
    found, wanted = day(value), text(name)
    weekday = None if wanted is None else _NAMES.get(wanted.upper())
    if found is None or weekday is None:
        return None
    try:
        return found + timedelta(days=(weekday - found.weekday() - 1) % 7 + 1)
    except OverflowError:
        return None


def _make_timestamp(
    year: Any, month: Any, day: Any, hour: Any, minute: Any, second: Any
) -> datetime | None:
    at = _make_moment(year, month, day, hour, minute)
    seconds = number(second)
    if at is None or seconds is None or (type(seconds) is float and not math.isfinite(seconds)):
        return None
    micros = round(Decimal(str(seconds)) * 1_000_000)
    if not 0 <= micros <= MICROSECONDS["minute"]:  # 60 is the next minute
        return None
    return moment_at(microseconds_of(at) + micros)


def _make_moment(*parts: Any) -> datetime | None:
    numbers = [found for one in parts if (found := short(one)) is not None]
    try:
        year, month, day, hour, minute = numbers
        return datetime(year, month, day, hour, minute, tzinfo=UTC)
    except ValueError:  # one is no number, or no such moment is
        return None


def _from_utc_timestamp(value: Any, zone: Any) -> datetime | None:
    """The clock of a zone at the moment, as if it were that of UTC."""
    at, name = moment(value), text(zone)
    try:
        return (
            None if at is None or name is None else at.astimezone(zone_of(name)).replace(tzinfo=UTC)
        )
    except (ValueError, OSError, OverflowError):
        return None


def _to_utc_timestamp(value: Any, zone: Any) -> datetime | None:
    """The moment at which the clock of a zone shows what that of UTC does."""
    at, name = moment(value), text(zone)
    try:
        return (
            None if at is None or name is None else at.replace(tzinfo=zone_of(name)).astimezone(UTC)
        )
    except (ValueError, OSError, OverflowError):
        return None


def _unix_date(value: Any) -> int | None:
    found = day(value)
    return None if found is None else (found - EPOCH_DAY).days


def _date_from_unix_date(days: Any) -> date | None:
    count = short(days)
    try:
        return None if count is None else EPOCH_DAY + timedelta(days=count)
    except OverflowError:
        return None


FUNCTIONS = table(
    [
        Function("elapsed", elapsed, 2, 2),
        Function("timestampdiff", _timestampdiff, 3, 3, check=_check_unit),
        Function("timestampadd", _timestampadd, 3, 3, check=_check_unit),
        Function("months_between", _months_between, 2, 3),
        Function("next_day", _next_day, 2, 2),
        Function("make_timestamp", _make_timestamp, 6, 6),
        Function("from_utc_timestamp", _from_utc_timestamp, 2, 2),
        Function("to_utc_timestamp", _to_utc_timestamp, 2, 2),
        Function("unix_date", _unix_date, 1, 1),
        Function("date_from_unix_date", _date_from_unix_date, 1, 1),
    ]
)
