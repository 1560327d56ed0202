"""Moments read from text by the patterns of Java's DateTimeFormatter."""

from __future__ import annotations

import calendar
import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta, timezone, tzinfo
from functools import lru_cache
from zoneinfo import ZoneInfo

from remuda.errors import InvalidCriterion
from remuda.model.patterns import groups_of, regex

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_LONGEST_OFFSET = timedelta(hours=18)

_MONTHS = (  # in English, whatever the locale
    *("January", "February", "March", "April", "May", "June", "July"),
    *("August", "September", "October", "November", "December"),
)
_DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_WORDS = {"AM": 0, "PM": 1}
for _names in (_MONTHS, _DAYS):
    _WORDS |= {text: i for i, name in enumerate(_names, 1) for text in (name, name[:3])}
_REGIONS = {
    "America/New_York": ("EST", "EDT"),
    "America/Chicago": ("CST", "CDT"),
    "America/Denver": ("MST", "MDT"),
    "America/Los_Angeles": ("PST", "PDT"),
    "Europe/Paris": ("CET", "CEST"),
}
_ABBREVIATIONS = {short: region for region, names in _REGIONS.items() for short in names}

_TOKEN = re.compile(r"'((?:[^']|'')*)'|([A-Za-z])\2*|(\[)|(\])|([^A-Za-z'\[\]{}#])")
_NUMBERS = {"M": "month", "L": "month", "d": "day", "H": "hour", "h": "hour12"}
_NUMBERS |= {"m": "minute", "s": "second", "k": "hour24", "K": "hour11"}
_OFFSETS = {
    "X": {1: r"Z|[+-]\d\d(?:\d\d)?", 2: r"Z|[+-]\d{4}", 3: r"Z|[+-]\d\d:\d\d"},
    "x": {1: r"[+-]\d\d(?:\d\d)?", 2: r"[+-]\d{4}", 3: r"[+-]\d\d:\d\d"},
    "Z": {1: r"[+-]\d{4}", 2: r"[+-]\d{4}", 3: r"[+-]\d{4}", 4: r"GMT(?:[+-]\d\d:\d\d)?"},
    "O": {1: r"GMT(?:[+-]\d\d?(?::\d\d)?)?", 4: r"GMT(?:[+-]\d\d:\d\d)?"},
}
_OFFSETS["X"] |= {4: r"Z|[+-]\d{4}(?:\d\d)?", 5: r"Z|[+-]\d\d:\d\d(?::\d\d)?"}
_OFFSETS["x"] |= {4: r"[+-]\d{4}(?:\d\d)?", 5: r"[+-]\d\d:\d\d(?::\d\d)?"}
_OFFSETS["Z"] |= {5: r"Z|[+-]\d\d:\d\d(?::\d\d)?"}
_OFFSET = re.compile(
    r"Z|(?:UTC|UT|GMT)?(?:([+-])(\d\d?)(?::?([0-5]\d))?(?::?([0-5]\d))?)?", re.ASCII
)
_REGION = r"(?:UTC|UT|GMT)?[+-]\d\d:\d\d|[A-Za-z][A-Za-z0-9_+\-/]*"


@dataclass(frozen=True, slots=True)
class _Reader:
    """A regular expression for RE2, since formats are as little to be trusted as patterns."""

    regex: str
    fields: tuple[str, ...]
    strict: bool = False


# ISO 8601 with an offset, as DateTimeFormatter.ISO_OFFSET_DATE_TIME reads it
_ISO = _Reader(
    r"(\d{4})-(\d\d)-(\d\d)[Tt](\d\d):(\d\d)(?::(\d\d)(?:\.(\d{0,9}))?)?"
    r"([Zz]|[+-]\d\d(?::\d\d(?::\d\d)?)?)",
    ("year", "month", "day", "hour", "minute", "second", "fraction", "offset"),
    strict=True,
)


def parse_instant(text: str, pattern: str | None) -> int | None:
    """Milliseconds since 1970, whole seconds only; None where the text does not fit.

    The text must name an offset or a zone. A pattern that Java would refuse, or none, means
    ISO 8601 with an offset.
    """
    reader = (_reader(pattern) if pattern is not None else None) or _ISO
    groups = groups_of(reader.regex, text)
    if groups is None:
        return None
    try:
        numbers, zone = _read(zip(reader.fields, groups, strict=True))
        moment = _local(numbers, reader.strict).replace(tzinfo=zone)
        return (moment.astimezone(UTC) - _EPOCH) // timedelta(seconds=1) * 1000
    except (ValueError, KeyError, OverflowError, OSError):
        return None


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
    try:
        regex("".join(parts))
    except InvalidCriterion:  # too large for RE2
        return None
    return _Reader("".join(parts), tuple(fields))


def _field(letter: str, width: int) -> tuple[str, str] | None:
    """The field that a run of pattern letters stands for, and the text that it reads."""
    if letter in "yu" and width <= 19:
        longer = "," if width < 4 else ""
        return ("year2", r"\d\d") if width == 2 else ("year", rf"\d{{{width}{longer}}}")
    if letter in "ML" and width in (3, 4):
        return "month", "|".join(name[:3] if width == 3 else name for name in _MONTHS)
    if letter in _NUMBERS and width <= 2:
        return _NUMBERS[letter], r"\d\d" if width == 2 else r"\d\d?"
    if letter == "D" and width <= 3:
        return "day_of_year", rf"\d{{{width},3}}"
    if letter == "S" and width <= 9:
        return "fraction", rf"\d{{{width}}}"
    if letter == "a" and width == 1:
        return "half", "AM|PM"
    if letter == "E" and width <= 4:
        return "weekday", "|".join(name if width == 4 else name[:3] for name in _DAYS)
    if width in _OFFSETS.get(letter, ()):
        return "offset", _OFFSETS[letter][width]
    if (letter == "z" and width <= 4) or (letter == "V" and width == 2):
        return "name" if letter == "z" else "region", _REGION
    return None


def _read(fields: Iterable[tuple[str, str | None]]) -> tuple[dict[str, int], tzinfo]:
    """The fields that the text had, and its zone; ValueError where one has two values."""
    numbers: dict[str, int] = {}
    zones: dict[str, str] = {}
    for name, text in fields:
        if not text:
            continue
        if name in ("offset", "region", "name"):
            zones[name] = text
        else:
            number = _WORDS[text] if text in _WORDS else int(text)
            if numbers.setdefault(name, number) != number:
                raise ValueError(name)
    if "offset" in zones:
        return numbers, _offset(zones["offset"].upper())
    if "name" in zones:
        return numbers, _region(_ABBREVIATIONS.get(zones["name"], zones["name"]))
    return numbers, _region(zones["region"])


def _local(numbers: dict[str, int], strict: bool) -> datetime:
    """What the clocks there show, as Java resolves the fields."""
    day = _day(numbers, strict)
    if numbers.get("weekday", day.isoweekday()) != day.isoweekday():
        raise ValueError("weekday")
    hour, minute, second = _hour(numbers), numbers.get("minute", 0), numbers.get("second", 0)
    if "second" in numbers and "minute" not in numbers:
        raise ValueError("second")
    midnight = (minute, second, numbers.get("fraction", 0)) == (0, 0, 0)
    if hour == 24 and midnight and not strict:  # the end of the day
        return datetime(day.year, day.month, day.day) + timedelta(days=1)
    return datetime(day.year, day.month, day.day, hour, minute, second)


def _day(numbers: dict[str, int], strict: bool) -> date:
    year = numbers["year"] if "year" in numbers else 2000 + numbers["year2"]
    if "day_of_year" in numbers:
        day = date(year, 1, 1) + timedelta(days=numbers["day_of_year"] - 1)
        if day.year != year:
            raise ValueError("day of year")
        return day
    month, number = numbers["month"], numbers["day"]
    if not strict and number <= 31:  # the 30th of February is its last day
        number = min(number, calendar.monthrange(year, month)[1])
    return date(year, month, number)


def _hour(numbers: dict[str, int]) -> int:
    for name, most in (("hour24", 24), ("hour12", 12), ("hour11", 11)):
        if numbers.get(name, 0) > most:
            raise ValueError(name)
    if "hour" in numbers:
        hour = numbers["hour"]
        if numbers.get("half", hour // 12) != hour // 12:
            raise ValueError("half")
        return hour
    if "hour24" in numbers:
        return numbers["hour24"] % 24
    half = numbers["hour11"] if "hour11" in numbers else numbers["hour12"] % 12
    return half + 12 * numbers["half"]


def _offset(text: str) -> tzinfo:
    found = _OFFSET.fullmatch(text)
    if found is None:
        raise ValueError(text)
    sign, hours, minutes, seconds = found.groups(default="0")
    span = timedelta(hours=int(hours), minutes=int(minutes), seconds=int(seconds))
    if span > _LONGEST_OFFSET:
        raise ValueError(text)
    return timezone(-span if sign == "-" else span)


def _region(text: str) -> tzinfo:
    if ":" in text or text in ("Z", "UTC", "UT", "GMT"):
        return _offset(text)
    if text in ("EST", "MST", "HST"):  # Java knows them as abbreviations alone
        raise ValueError(text)
    return ZoneInfo(text)
