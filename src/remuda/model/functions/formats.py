"""Moments read from text by the patterns of Spark: all of Java's strictness, few of its letters."""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import UTC, date, datetime, timedelta, tzinfo
from functools import lru_cache

from remuda.errors import InvalidCriterion
from remuda.model.moments import MONTHS, NUMBERS, OFFSETS, digits_of_year, pattern_regex, zone_of
from remuda.model.patterns import groups_of

_WORDS = {"AM": 0, "PM": 1, "AD": 0, "ANNO DOMINI": 0}
_WORDS |= {text.upper(): i for i, name in enumerate(MONTHS, 1) for text in (name, name[:3])}
# A year that digits follow takes them up to a field of fixed width, which a fraction is not
_GREEDY = re.compile(r"y(?:[MdDHhkKms])*S")
_REGION = r"Z|(?:UTC|UT|GMT)(?:[+-][\d:]+)?|[+-][\d:]+|[A-Za-z]+(?:/[A-Za-z0-9_+\-]+)+"


def moment_by(pattern: str, text: str) -> datetime | None:
    """The timestamp in UTC; what the pattern lacks is of midnight, 1 January 1970, in UTC."""
    reader = _reader(pattern)
    groups = None if reader is None else groups_of(reader[0], text)
    if reader is None or groups is None:
        return None
    try:
        numbers, zone = _fields(zip(reader[1], groups, strict=True))
        time = _hour(numbers), numbers.get("minute", 0), numbers.get("second", 0)
        day = _day(numbers)
        micros = numbers.get("fraction", 0)
        return datetime(day.year, day.month, day.day, *time, micros, zone).astimezone(UTC)
    except (ValueError, OverflowError, OSError):
        return None


def check_format(pattern: str) -> None:
    """InvalidCriterion for a pattern that reads nothing."""
    if not isinstance(pattern, str) or _reader(pattern) is None:
        raise InvalidCriterion(
            f"{pattern!r} is no pattern that reads dates; such are yyyy-MM-dd and dd/MM/yy HH:mm"
        )


@lru_cache(maxsize=1024)
def _reader(pattern: str) -> tuple[str, tuple[str, ...]] | None:
    built = None if _GREEDY.search(pattern) else pattern_regex(pattern, _field)
    return None if built is None else (f"(?i){built[0]}", built[1])


def _field(letter: str, width: int) -> tuple[str, str] | None:
    """The field that a run of letters stands for, and the text that it reads."""
    if letter == "y" and width <= 6:
        return ("year2", r"\d\d") if width == 2 else ("year", digits_of_year(width))
    if letter == "M" and width in (3, 4):
        return "month", "|".join(name[:3] if width == 3 else name for name in MONTHS)
    if letter in NUMBERS and width <= 2:
        return NUMBERS[letter], r"\d\d" if width == 2 else r"\d{1,19}"
    if letter == "D" and width <= 3:
        return "day_of_year", r"\d{1,19}" if width == 1 else rf"\d{{{width},3}}"
    if letter == "S" and width <= 9:
        return "fraction", rf"\d{{1,{width}}}"
    if letter == "a" and width == 1:
        return "half", "AM|PM"
    if letter == "G" and width <= 4:
        return "era", "AD" if width < 4 else "Anno Domini"
    if width in OFFSETS.get(letter, ()):
        return "zone", OFFSETS[letter][width]
    if (letter == "z" and width <= 4) or (letter == "V" and width == 2):
        return "zone", _REGION
    return None


def _fields(fields: Iterable[tuple[str, str | None]]) -> tuple[dict[str, int], tzinfo]:
    """The fields that the text had, and its zone; ValueError where one has two values."""
    numbers: dict[str, int] = {}
    zone: tzinfo = UTC
    for name, text in fields:
        if not text:
            continue
        if name == "zone":
            zone = zone_of(text if "/" in text else text.upper())
            continue
        digits = (text + "000000")[:6] if name == "fraction" else text
        number = _WORDS[digits.upper()] if digits.upper() in _WORDS else int(digits)
        if numbers.setdefault(name, number) != number:
            raise ValueError(name)
    return numbers, zone


def _day(numbers: dict[str, int]) -> date:
    year = numbers["year2"] + 2000 if "year2" in numbers else numbers.get("year", 1970)
    if numbers.get("year", year) != year:
        raise ValueError("year")
    if "day_of_year" not in numbers:
        return date(year, numbers.get("month", 1), numbers.get("day", 1))
    day = date(year, 1, 1) + timedelta(days=numbers["day_of_year"] - 1)
    if (day.year, numbers.get("month", day.month), numbers.get("day", day.day)) != (
        year,
        day.month,
        day.day,
    ):
        raise ValueError("day of year")
    return day


def _hour(numbers: dict[str, int]) -> int:
    for name, first in (("hour24", 1), ("hour12", 1), ("hour11", 0)):
        if not first <= numbers.get(name, first) < first + (24 if name == "hour24" else 12):
            raise ValueError(name)
    if "hour" in numbers or "hour24" in numbers:
        hour = numbers["hour"] if "hour" in numbers else numbers["hour24"] % 24
        if numbers.get("half", hour // 12) != hour // 12:
            raise ValueError("half")
        return hour
    half = numbers.get("hour11", numbers.get("hour12", 0) % 12)
    return half + 12 * numbers.get("half", 0)
