"""Moments in milliseconds, and the fields that calendars give them.

Fields are those of Java's GregorianCalendar, whose days before 15 October 1582 are Julian ones.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta, tzinfo
from enum import StrEnum

from remuda.model.values import instant
from remuda.model.zones import has_another_standard, has_other_clocks

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MILLISECOND, _HOUR = timedelta(milliseconds=1), timedelta(hours=1)
_DAY = 86_400_000  # milliseconds
_LONGEST = 2**63  # milliseconds that a Java long does not hold

_FIRST_GREGORIAN = -141_427  # 1582-10-15, in days since 1970
_GREGORIAN_CYCLE, _JULIAN_CYCLE = 146_097, 1_461  # days of 400 and of 4 years
_GREGORIAN_MARCH, _JULIAN_MARCH = -719_468, -719_470  # 1 March of the year 0, in days since 1970

_YEAR_1900 = -2_208_988_800_000  # before it, Java's zones keep the standard time of today
_YEAR_2400 = 13_569_465_600_000  # by then every zone follows a rule, and years repeat after 400


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


@dataclass(frozen=True, slots=True)
class _Local:
    """A day and a time of day, as calendar and clock show them; the year 0 is 1 BC."""

    day: int  # since 1970
    time: int  # milliseconds
    year: int
    month: int
    day_of_month: int

    @classmethod
    def of(cls, milliseconds: int) -> _Local:
        day, time = divmod(milliseconds, _DAY)
        return cls(day, time, *_civil(day))

    @property
    def first_of_year(self) -> int:
        return _day(self.year, 1, 1)

    @property
    def first_of_month(self) -> int:
        return _day(self.year, self.month, 1)

    @property
    def week_of_year(self) -> int:
        if _sunday(_day(self.year + 1, 1, 1)) <= self.day:  # its week reaches into the next year
            return 1
        return _week(self.first_of_year, self.day)


_FIELDS: dict[Extract, Callable[[_Local], int | str]] = {
    Extract.ERA: lambda local: "AD" if local.year > 0 else "BC",
    Extract.YEAR: lambda local: local.year if local.year > 0 else 1 - local.year,
    Extract.MONTH: lambda local: local.month,
    Extract.WEEK_OF_YEAR: lambda local: local.week_of_year,
    Extract.WEEK_OF_MONTH: lambda local: _week(local.first_of_month, local.day),
    Extract.DATE: lambda local: local.day_of_month,
    Extract.DAY_OF_YEAR: lambda local: local.day - local.first_of_year + 1,
    Extract.DAY_OF_MONTH: lambda local: local.day_of_month,
    Extract.DAY_OF_WEEK: lambda local: local.day - _sunday(local.day) + 1,
    Extract.DAY_OF_WEEK_IN_MONTH: lambda local: (local.day - local.first_of_month) // 7 + 1,
    Extract.AM_PM: lambda local: "AM" if local.time < _DAY // 2 else "PM",
    Extract.HOUR: lambda local: local.time // 3_600_000 % 12,
    Extract.HOUR_OF_DAY: lambda local: local.time // 3_600_000,
    Extract.MINUTE: lambda local: local.time // 60_000 % 60,
    Extract.SECOND: lambda local: local.time // 1000 % 60,
    Extract.MILLISECOND: lambda local: local.time % 1000,
}


def extract(milliseconds: int, zone: tzinfo, field: Extract) -> int | str | None:
    """One field of the moment in the zone, with US weeks: Sunday first, one day suffices.

    None for a moment that is none of Java's, or that Java's zones have otherwise than ours.
    """
    if not -_LONGEST <= milliseconds < _LONGEST:
        return None
    name, year = getattr(zone, "key", ""), _civil(milliseconds // _DAY)[0]
    if has_other_clocks(name, year):
        return None
    offset = _offset(milliseconds, zone)
    if field in _FIELDS:
        return _FIELDS[field](_Local.of(milliseconds + offset))
    if has_another_standard(name, year):
        return None
    saving = _saving(milliseconds, zone)
    return saving if field is Extract.DST_OFFSET else offset - saving


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


def _offset(milliseconds: int, zone: tzinfo) -> int:
    """How far the clocks of the zone are ahead of UTC."""
    if milliseconds < _YEAR_1900:
        return _offset(_YEAR_2400, zone) - _saving(_YEAR_2400, zone)
    return (_at(milliseconds, zone).utcoffset() or timedelta()) // _MILLISECOND


def _saving(milliseconds: int, zone: tzinfo) -> int:
    """How much of the offset is daylight saving: what the other half of the year lacks.

    So Java has it where the database has a winter time below the standard, as in Dublin. A zone
    whose standard time changes meanwhile lacks nothing or too much; there, the database's hour is.
    """
    if milliseconds < _YEAR_1900:
        return 0
    now = _at(milliseconds, zone)
    saves, own = now.dst() or timedelta(), now.utcoffset() or timedelta()
    for weeks in range(1, 54):
        later = _at(milliseconds + 7 * weeks * _DAY, zone)
        if bool(later.dst()) is not bool(saves):
            lacks = max(own - (later.utcoffset() or timedelta()), timedelta())
            if saves != _HOUR or lacks not in (timedelta(), 2 * _HOUR):
                saves = lacks
            break
    return saves // _MILLISECOND


def _at(milliseconds: int, zone: tzinfo) -> datetime:
    if milliseconds >= _YEAR_2400:
        milliseconds = (milliseconds - _YEAR_2400) % (_GREGORIAN_CYCLE * _DAY) + _YEAR_2400
    return (_EPOCH + timedelta(milliseconds=milliseconds)).astimezone(zone)


def _civil(day: int) -> tuple[int, int, int]:
    """Year, month and day of a day since 1970; counted from March, years end in leap days."""
    if day >= _FIRST_GREGORIAN:
        cycles, rest = divmod(day - _GREGORIAN_MARCH, _GREGORIAN_CYCLE)
        year = (rest - rest // 1460 + rest // 36_524 - rest // 146_096) // 365
        since_march = rest - (365 * year + year // 4 - year // 100)
        year += 400 * cycles
    else:
        cycles, rest = divmod(day - _JULIAN_MARCH, _JULIAN_CYCLE)
        year = min(rest // 365, 3)
        since_march = rest - 365 * year
        year += 4 * cycles
    month = (5 * since_march + 2) // 153
    return (
        year + (month >= 10),
        month - 9 if month >= 10 else month + 3,
        since_march - (153 * month + 2) // 5 + 1,
    )


def _day(year: int, month: int, day: int) -> int:
    """The day since 1970 that has this date."""
    months, years = (month - 3) % 12, year - (month < 3)
    within = (153 * months + 2) // 5 + day - 1 + 365 * years + years // 4
    if (year, month, day) < (1582, 10, 15):
        return _JULIAN_MARCH + within
    return _GREGORIAN_MARCH + within - years // 100 + years // 400


def _sunday(day: int) -> int:
    """The Sunday on or before the day."""
    return day - (day + 4) % 7


def _week(first: int, day: int) -> int:
    """The week of the day, that of the first day being 1."""
    return (day - _sunday(first)) // 7 + 1
