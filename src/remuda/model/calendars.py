"""Moments in milliseconds, and the fields that calendars give them."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta, tzinfo
from enum import StrEnum

from remuda.model.values import instant

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MILLISECOND = timedelta(milliseconds=1)


class Extract(StrEnum):
    """The fields that Mustang's DATETIME takes out of a moment."""

    ERA = "ERA"
    YEAR = "YEAR"
    MONTH = "MONTH"
    WEEK_OF_YEAR = "WEEK_OF_YEAR"
    WEEK_OF_MONTH = "WEEK_OF_MONTH"
    DATE = "DATE"
    DAY_OF_YEAR = "DAY_OF_YEAR"
    DAY_OF_MONTH = "DAY_OF_MONTH"
    DAY_OF_WEEK = "DAY_OF_WEEK"
    DAY_OF_WEEK_IN_MONTH = "DAY_OF_WEEK_IN_MONTH"
    AM_PM = "AM_PM"
    HOUR = "HOUR"
    HOUR_OF_DAY = "HOUR_OF_DAY"
    MINUTE = "MINUTE"
    SECOND = "SECOND"
    MILLISECOND = "MILLISECOND"
    ZONE_OFFSET = "ZONE_OFFSET"
    DST_OFFSET = "DST_OFFSET"
    DIFF_WITH_EPOCH = "DIFF_WITH_EPOCH"


_FIELDS: dict[Extract, Callable[[datetime], int | str]] = {
    Extract.ERA: lambda _: "AD",
    Extract.YEAR: lambda moment: moment.year,
    Extract.MONTH: lambda moment: moment.month,
    Extract.WEEK_OF_YEAR: lambda moment: _week_of_year(moment.date()),
    Extract.WEEK_OF_MONTH: lambda moment: (
        (moment.day - 1 + _weekday(moment.date().replace(day=1))) // 7 + 1
    ),
    Extract.DATE: lambda moment: moment.day,
    Extract.DAY_OF_YEAR: lambda moment: moment.timetuple().tm_yday,
    Extract.DAY_OF_MONTH: lambda moment: moment.day,
    Extract.DAY_OF_WEEK: lambda moment: _weekday(moment.date()) + 1,
    Extract.DAY_OF_WEEK_IN_MONTH: lambda moment: (moment.day - 1) // 7 + 1,
    Extract.AM_PM: lambda moment: "AM" if moment.hour < 12 else "PM",
    Extract.HOUR: lambda moment: moment.hour % 12,
    Extract.HOUR_OF_DAY: lambda moment: moment.hour,
    Extract.MINUTE: lambda moment: moment.minute,
    Extract.SECOND: lambda moment: moment.second,
    Extract.MILLISECOND: lambda moment: moment.microsecond // 1000,
    Extract.ZONE_OFFSET: lambda moment: (
        ((moment.utcoffset() or timedelta()) - (moment.dst() or timedelta())) // _MILLISECOND
    ),
    Extract.DST_OFFSET: lambda moment: (moment.dst() or timedelta()) // _MILLISECOND,
}


def extract(moment: datetime, field: Extract) -> int | str:
    """One field of the moment, in its own zone, with US weeks: Sunday first, one day suffices."""
    return _FIELDS[field](moment)


def at(milliseconds: int, zone: tzinfo) -> datetime:
    """The moment, as the clocks of `zone` show it."""
    return (_EPOCH + timedelta(milliseconds=milliseconds)).astimezone(zone)


def epoch_milliseconds(value: datetime | date) -> int | None:
    """Milliseconds since 1970, a date being its midnight in UTC; None beyond the calendar."""
    try:
        if not isinstance(value, datetime):
            value = datetime(value.year, value.month, value.day, tzinfo=UTC)
        return (instant(value) - _EPOCH) // _MILLISECOND
    except (OverflowError, ValueError, TypeError):
        return None


def microseconds(moment: datetime) -> int:
    """Microseconds since 1970."""
    return (instant(moment) - _EPOCH) // timedelta(microseconds=1)


def _weekday(day: date) -> int:
    """Days since Sunday."""
    return day.isoweekday() % 7


def _week_of_year(day: date) -> int:
    days_left = (date(day.year, 12, 31) - day).days
    if days_left < 6 - _weekday(day):  # its week reaches into the next year
        return 1
    first = date(day.year, 1, 1)
    return ((day - first).days + _weekday(first)) // 7 + 1
