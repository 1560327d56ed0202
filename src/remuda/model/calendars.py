"""Calendar fields of a moment, and moments read from text by Java's patterns."""

from __future__ import annotations

import calendar
import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta, timezone, tzinfo
from enum import StrEnum
from functools import lru_cache
from zoneinfo import ZoneInfo

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


def parse_instant(text: str, pattern: str | None) -> int | None:
    """Milliseconds since 1970, whole seconds only; None where the text does not fit.

    The text must name an offset or a zone. A pattern that Java would refuse, or none, means
    ISO 8601 with an offset.
    """
    reader = (_reader(pattern) if pattern is not None else None) or _reader(_ISO)
    found = reader.regex.fullmatch(text) if reader else None
    if reader is None or found is None:
        return None
    try:
        moment = _resolve(dict(zip(reader.fields, found.groups(), strict=True)))
    except (ValueError, KeyError, OverflowError, OSError):
        return None
    return None if moment is None else (moment - _EPOCH) // timedelta(seconds=1) * 1000


def _weekday(day: date) -> int:
    """Days since Sunday."""
    return day.isoweekday() % 7


def _week_of_year(day: date) -> int:
    days_left = (date(day.year, 12, 31) - day).days
    if days_left < 6 - _weekday(day):  # its week reaches into the next year
        return 1
    first = date(day.year, 1, 1)
    return ((day - first).days + _weekday(first)) // 7 + 1


_ISO = "yyyy-MM-dd'T'HH:mm[:ss[.SSSSSSSSS]]XXXXX"
_MONTHS = {name.lower(): i for i, name in enumerate(calendar.month_name) if name}
_SHORT_MONTHS = {name[:3]: i for name, i in _MONTHS.items()}
_DAYS = "|".join(calendar.day_name)
_SHORT_DAYS = "|".join(name[:3] for name in calendar.day_name)
_ABBREVIATIONS = {"EST": -5, "EDT": -4, "CST": -6, "CDT": -5, "MST": -7, "MDT": -6}
_ABBREVIATIONS |= {"PST": -8, "PDT": -7, "GMT": 0, "UTC": 0, "UT": 0, "Z": 0}
_TOKEN = re.compile(r"'((?:[^']|'')*)'|([A-Za-z])\2*|(\[)|(\])|([^A-Za-z'\[\]{}#])")
_TWO_DIGITS = {"M": "month", "L": "month", "d": "day", "H": "hour", "h": "hour12"}
_TWO_DIGITS |= {"m": "minute", "s": "second", "k": "hour24", "K": "hour11"}
_OFFSETS = {
    "X": {1: r"Z|[+-]\d\d(?:\d\d)?", 2: r"Z|[+-]\d{4}", 3: r"Z|[+-]\d\d:\d\d"},
    "x": {1: r"[+-]\d\d(?:\d\d)?", 2: r"[+-]\d{4}", 3: r"[+-]\d\d:\d\d"},
    "Z": {1: r"[+-]\d{4}", 2: r"[+-]\d{4}", 3: r"[+-]\d{4}", 4: r"GMT(?:[+-]\d\d:\d\d)?"},
}
_OFFSETS["X"] |= {4: r"Z|[+-]\d{4}(?:\d\d)?", 5: r"Z|[+-]\d\d:\d\d(?::\d\d)?"}
_OFFSETS["x"] |= {4: r"[+-]\d{4}(?:\d\d)?", 5: r"[+-]\d\d:\d\d(?::\d\d)?"}
_OFFSETS["Z"] |= {5: r"Z|[+-]\d\d:\d\d(?::\d\d)?"}


@dataclass(frozen=True, slots=True)
class _Reader:
    regex: re.Pattern[str]
    fields: tuple[str, ...]


@lru_cache(maxsize=1024)
def _reader(pattern: str) -> _Reader | None:
    """The pattern as a regular expression with one group a field; None where it is none."""
    parts: list[str] = []
    fields: list[str] = []
    depth = at = 0
    while at < len(pattern):
        token = _TOKEN.match(pattern, at)
        if token is None:
            return None
        at = token.end()
        quoted, letter, opens, closes, other = token.groups()
        if letter:
            found = _field(letter, len(token[0]))
            if found is None:
                return None
            fields.append(found[0])
            parts.append(f"({found[1]})")
        elif opens:
            depth += 1
            parts.append("(?:")
        elif closes:
            if depth == 0:
                return None
            depth -= 1
            parts.append(")?")
        else:
            text = other if quoted is None else quoted.replace("''", "'") or "'"
            parts.append(re.escape(text))
    parts.extend(")?" for _ in range(depth))
    return _Reader(re.compile("".join(parts)), tuple(fields))


def _field(letter: str, width: int) -> tuple[str, str] | None:
    """The field that a run of pattern letters stands for, and the text that it reads."""
    if letter in "yu":
        return (
            ("year2", r"\d\d")
            if width == 2
            else ("year", rf"\d{{{width},}}" if width < 4 else rf"\d{{{width}}}")
        )
    if letter in "ML" and width in (3, 4):
        names = _SHORT_MONTHS if width == 3 else _MONTHS
        return "month_name", "|".join(name.capitalize() for name in names)
    if letter in _TWO_DIGITS and width <= 2:
        return _TWO_DIGITS[letter], r"\d\d" if width == 2 else r"\d{1,2}"
    if letter == "D" and width <= 3:
        return "day_of_year", r"\d{3}" if width == 3 else r"\d{1,3}"
    if letter == "S":
        return "fraction", rf"\d{{1,{width}}}" if width == 9 else rf"\d{{{width}}}"
    if letter == "a" and width == 1:
        return "half", "AM|PM"
    if letter == "E" and width <= 4:
        return "weekday", _DAYS if width == 4 else _SHORT_DAYS
    if letter in _OFFSETS and width in _OFFSETS[letter]:
        return "zone", _OFFSETS[letter][width]
    if (letter == "z" and width <= 4) or (letter == "V" and width == 2):
        return "zone", r"[A-Za-z][A-Za-z0-9_+\-/:]*"
    return None


def _resolve(fields: dict[str, str | None]) -> datetime | None:
    """The moment that the fields name, as Java's SMART style resolves them."""
    text = {name: value for name, value in fields.items() if value is not None}
    if "zone" not in text:
        return None
    year = int(text["year"]) if "year" in text else 2000 + int(text["year2"])
    if "day_of_year" in text:
        day = date(year, 1, 1) + timedelta(days=int(text["day_of_year"]) - 1)
        if day.year != year:
            return None
    else:
        month = _month(text)
        number = int(text["day"])
        if not 1 <= number <= 31:
            return None
        day = date(year, month, min(number, calendar.monthrange(year, month)[1]))
    zone = _read_zone(text["zone"])
    if zone is None:
        return None
    clock = datetime(day.year, day.month, day.day, _hour(text), int(text.get("minute", 0)))
    return clock.replace(second=int(text.get("second", 0)), tzinfo=zone).astimezone(UTC)


def _month(text: dict[str, str]) -> int:
    if "month_name" in text:
        return _SHORT_MONTHS[text["month_name"].lower()[:3]]
    return int(text["month"])


def _hour(text: dict[str, str]) -> int:
    if "hour" in text:
        return int(text["hour"])
    if "hour24" in text:
        return int(text["hour24"]) % 24
    half = int(text["hour11"]) if "hour11" in text else int(text["hour12"]) % 12
    return half + (12 if text["half"] == "PM" else 0)


def _read_zone(text: str) -> tzinfo | None:
    if text in _ABBREVIATIONS:
        return timezone(timedelta(hours=_ABBREVIATIONS[text]))
    offset = re.fullmatch(r"(?:GMT|UTC|UT)?([+-])(\d\d):?(\d\d)?:?(\d\d)?", text)
    if offset is None:
        return ZoneInfo(text)
    sign, hours, minutes, seconds = offset.groups(default="0")
    span = timedelta(hours=int(hours), minutes=int(minutes), seconds=int(seconds))
    return timezone(-span if sign == "-" else span) if span <= timedelta(hours=18) else None
