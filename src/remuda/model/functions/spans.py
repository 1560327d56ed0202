"""Spans of time between moments, and moments that are so far from others, in UTC."""

from __future__ import annotations

import math
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta, tzinfo
from decimal import Decimal
from typing import Any

from remuda.model.functions.arguments import (
    day,
    instance,
    integer,
    later,
    microseconds_of,
    moment,
    moment_at,
    number,
    short,
    text,
)
from remuda.model.functions.dates import EPOCH_DAY, MICROSECONDS, last_day, months_later, unit_check
from remuda.model.functions.function import Function, table, taking
from remuda.model.moments import DAYS, zone_of

_MONTHS = {"month": 1, "quarter": 3, "year": 12}
_MICROSECONDS = {**MICROSECONDS, "week": 7 * MICROSECONDS["day"]}
UNITS = (*_MICROSECONDS, *_MONTHS)
_SECONDS_OF_DAY, _SECONDS_OF_MONTH = 86_400, 31 * 86_400  # as months_between counts
_NAMES = {name[:n].upper(): i for i, name in enumerate(DAYS) for n in (2, 3, len(name))}


@taking(moment, moment)
def elapsed(end: datetime, start: datetime) -> int:
    """Microseconds from the one moment to the other."""
    return microseconds_of(end) - microseconds_of(start)


@taking(text, moment, moment)
def _timestampdiff(unit: str, start: datetime, end: datetime) -> int | None:
    """Whole units from the one moment to the other."""
    name = unit.lower()
    if name in _MICROSECONDS:
        return _whole(microseconds_of(end) - microseconds_of(start), _MICROSECONDS[name])
    return _whole(_whole_months(start, end), _MONTHS[name]) if name in _MONTHS else None


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


@taking(text, integer, moment)
def _timestampadd(unit: str, n: int, at: datetime) -> datetime | None:
    """The moment so many units later."""
    name = unit.lower()
    if name in _MICROSECONDS:
        return moment_at(microseconds_of(at) + n * _MICROSECONDS[name])
    months = short(n * _MONTHS[name]) if name in _MONTHS else None
    moved = None if months is None else months_later(at, months)
    return None if moved is None else datetime.combine(moved, at.timetz())


_check_unit = unit_check(0, UNITS, "unit of time")


@taking(moment, moment, instance(bool))
def _months_between(last: datetime, first: datetime, rounds: bool = True) -> float:
    """Months and parts of 31 days; whole where both are the same or the last day of a month."""
    months = (last.year - first.year) * 12 + last.month - first.month
    ends = all(one.date() == last_day(one.date()) for one in (last, first))
    if last.day == first.day or ends:
        return float(months)
    seconds = (last.day - first.day) * _SECONDS_OF_DAY + _second(last) - _second(first)
    found = months + seconds / _SECONDS_OF_MONTH
    return math.floor(found * 1e8 + 0.5) / 1e8 if rounds else found


def _second(value: datetime) -> int:
    return value.hour * 3600 + value.minute * 60 + value.second


@taking(day, text)
def _next_day(value: date, name: str) -> date | None:
    """The first such day of the week behind the date."""
    weekday = _NAMES.get(name.upper())
    return None if weekday is None else later(value, (weekday - value.weekday() - 1) % 7 + 1)


def _make_timestamp(
    year: Any, month: Any, day: Any, hour: Any, minute: Any, second: Any
) -> datetime | None:
    start = _make_moment(year, month, day, hour, minute)
    seconds = number(second)
    if start is None or seconds is None or (type(seconds) is float and not math.isfinite(seconds)):
        return None
    micros = round(Decimal(str(seconds)) * 1_000_000)
    if not 0 <= micros <= MICROSECONDS["minute"]:  # 60 is the next minute
        return None
    return moment_at(microseconds_of(start) + micros)


def _make_moment(*parts: Any) -> datetime | None:
    numbers = [found for one in parts if (found := short(one)) is not None]
    try:
        year, month, day, hour, minute = numbers
        return datetime(year, month, day, hour, minute, tzinfo=UTC)
    except ValueError:  # one is no number, or no such moment is
        return None


def _in_zone(shown: Callable[[datetime, tzinfo], datetime]) -> Callable[..., datetime | None]:
    @taking(moment, text)
    def apply(at: datetime, zone: str) -> datetime | None:
        try:
            return shown(at, zone_of(zone))
        except (ValueError, OSError, OverflowError):
            return None

    return apply


def _from_utc(at: datetime, zone: tzinfo) -> datetime:
    """The clock of a zone at the moment, as if it were that of UTC."""
    return at.astimezone(zone).replace(tzinfo=UTC)


def _to_utc(at: datetime, zone: tzinfo) -> datetime:
    """The moment at which the clock of a zone shows what that of UTC does."""
    return at.replace(tzinfo=zone).astimezone(UTC)


FUNCTIONS = table(
    [
        Function("elapsed", elapsed, 2, 2),
        Function("timestampdiff", _timestampdiff, 3, 3, check=_check_unit),
        Function("timestampadd", _timestampadd, 3, 3, check=_check_unit),
        Function("months_between", _months_between, 2, 3),
        Function("next_day", _next_day, 2, 2),
        Function("make_timestamp", _make_timestamp, 6, 6),
        Function("from_utc_timestamp", _in_zone(_from_utc), 2, 2),
        Function("to_utc_timestamp", _in_zone(_to_utc), 2, 2),
        Function("unix_date", taking(day)(lambda value: (value - EPOCH_DAY).days), 1, 1),
        Function("date_from_unix_date", taking(short)(lambda n: later(EPOCH_DAY, n)), 1, 1),
    ]
)
