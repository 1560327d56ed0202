"""Moments read from text by the patterns of Java's DateTimeFormatter."""

from __future__ import annotations

import calendar
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta, timezone, tzinfo
from functools import lru_cache
from zoneinfo import ZoneInfo

from remuda.errors import InvalidCriterion
from remuda.model.patterns import groups_of, regex

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_LONGEST_OFFSET = timedelta(hours=18)

MONTHS = (  # in English, whatever the locale
    *("January", "February", "March", "April", "May", "June", "July"),
    *("August", "September", "October", "November", "December"),
)
DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_WORDS = {"AM": 0, "PM": 1}
for _names in (MONTHS, DAYS):
    _WORDS |= {text: i for i, name in enumerate(_names, 1) for text in (name, name[:3])}
_ERAS = {1: ("AD", "BC"), 4: ("Anno Domini", "Before Christ"), 5: ("A", "B")}
_WORDS |= {text: i for names in _ERAS.values() for i, text in enumerate(names)}
# The letters on which Java and the time zone database agree; on IST and the like they do not
_REGIONS = {
    "Africa/Johannesburg": ("SAST",),
    "Africa/Lagos": ("WAT",),
    "Africa/Maputo": ("CAT",),
    "Africa/Nairobi": ("EAT",),
    "America/Chicago": ("CST", "CDT"),
    "America/Denver": ("MST", "MDT"),
    "America/Halifax": ("AST", "ADT"),
    "America/Juneau": ("AKST", "AKDT"),
    "America/Los_Angeles": ("PST", "PDT"),
    "America/New_York": ("EST", "EDT"),
    "America/St_Johns": ("NST", "NDT"),
    "Asia/Hong_Kong": ("HKT",),
    "Asia/Jakarta": ("WIB",),
    "Asia/Jayapura": ("WIT",),
    "Asia/Karachi": ("PKT",),
    "Asia/Makassar": ("WITA",),
    "Asia/Seoul": ("KST",),
    "Asia/Tokyo": ("JST",),
    "Atlantic/Canary": ("WET", "WEST"),
    "Australia/Perth": ("AWST",),
    "Australia/Sydney": ("AEST", "AEDT"),
    "Europe/Bucharest": ("EET", "EEST"),
    "Europe/Moscow": ("MSK",),
    "Europe/Paris": ("CET", "CEST"),
    "Pacific/Auckland": ("NZST", "NZDT"),
    "Pacific/Guam": ("ChST",),
    "Pacific/Honolulu": ("HST",),
    "Pacific/Pago_Pago": ("SST",),
}
_ABBREVIATIONS = {short: region for region, names in _REGIONS.items() for short in names}

# What Java reads and we do not: weeks, quarters, moments of a day, narrow names, padding
_UNREAD = frozenset("YwWQqecFAnNgBvp")
_NARROW = frozenset("MLE")
_MOST_YEARS = 999_999_999
_TOKEN = re.compile(r"'((?:[^']|'')*)'|([A-Za-z])\2*|(\[)|(\])|([^A-Za-z'\[\]{}#])")
NUMBERS = {"M": "month", "L": "month", "d": "day", "H": "hour", "h": "hour12"}
NUMBERS |= {"m": "minute", "s": "second", "k": "hour24", "K": "hour11"}
OFFSETS = {
    "X": {1: r"Z|[+-]\d\d(?:\d\d)?", 2: r"Z|[+-]\d{4}", 3: r"Z|[+-]\d\d:\d\d"},
    "x": {1: r"[+-]\d\d(?:\d\d)?", 2: r"[+-]\d{4}", 3: r"[+-]\d\d:\d\d"},
    "Z": {1: r"[+-]\d{4}", 2: r"[+-]\d{4}", 3: r"[+-]\d{4}", 4: r"GMT(?:[+-]\d\d:\d\d)?"},
    "O": {1: r"GMT(?:[+-]\d\d?(?::\d\d)?)?", 4: r"GMT(?:[+-]\d\d:\d\d)?"},
}
OFFSETS["X"] |= {4: r"Z|[+-]\d{4}(?:\d\d)?", 5: r"Z|[+-]\d\d:\d\d(?::\d\d)?"}
OFFSETS["x"] |= {4: r"[+-]\d{4}(?:\d\d)?", 5: r"[+-]\d\d:\d\d(?::\d\d)?"}
OFFSETS["Z"] |= {5: r"Z|[+-]\d\d:\d\d(?::\d\d)?"}
_OFFSET = re.compile(
    r"Z|(?:UTC|UT|GMT)?(?:([+-])(\d\d?)(?::?([0-5]\d))?(?::?([0-5]\d))?)?", re.ASCII
)
_JAVA_OFFSET = re.compile(
    r"Z|UTC|UT|GMT|(?:UTC|UT|GMT)?[+-](?:\d|\d\d(?:[0-5]\d){0,2}|\d\d:[0-5]\d(?::[0-5]\d)?)",
    re.ASCII,
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
    r"(\d{4}|\+\d{5,10}|-\d{4,10})-(\d\d)-(\d\d)[Tt](\d\d):(\d\d)(?::(\d\d)(?:\.(\d{0,9}))?)?"
    r"([Zz]|[+-]\d\d(?::\d\d(?::\d\d)?)?)",
    ("proleptic", "month", "day", "hour", "minute", "second", "fraction", "offset"),
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
        cycles = _into_reach(numbers)
        moment = _local(numbers, reader.strict).replace(tzinfo=zone).astimezone(UTC)
    except (ValueError, KeyError, OverflowError, OSError):
        return None
    found = ((moment - _EPOCH) // timedelta(seconds=1) + cycles * _CYCLE) * 1000
    return found if -(2**63) <= found < 2**63 else None  # where Java's count overflows


def zone_of(text: str) -> tzinfo:
    """The zone that Java's ZoneId has for an offset or a region; ValueError or OSError for none.

    Letters such as PST, on which Java and the time zone database differ, are none.
    """
    if _JAVA_OFFSET.fullmatch(text):
        return _offset(text)
    if "/" not in text or text.startswith(("posix/", "right/")):
        raise ValueError(text)
    try:
        return ZoneInfo(text)
    except KeyError:
        raise ValueError(text) from None


def check_pattern(pattern: str) -> None:
    """InvalidCriterion for a pattern that Java reads and we do not."""
    _reader(pattern)


@lru_cache(maxsize=1024)
def _reader(pattern: str) -> _Reader | None:
    """The pattern as a regular expression with one group a field; None where it is none."""
    unread: list[str] = []

    def field(letter: str, width: int) -> tuple[str, str] | None:
        if letter in _UNREAD or (letter in _NARROW and width == 5):
            unread.append(letter * width)
            return "unread", ""
        return _field(letter, width)

    built = pattern_regex(pattern, field)
    if built is not None and unread:
        raise InvalidCriterion(
            f"{unread[-1]} is not read in a date-time pattern, as in {pattern!r}"
        )
    return None if built is None else _Reader(*built)


def pattern_regex(
    pattern: str, field_of: Callable[[str, int], tuple[str, str] | None]
) -> tuple[str, tuple[str, ...]] | None:
    """A date-time pattern as a regular expression, and the fields that its groups hold.

    `field_of` names the field of a run of letters, and the text that it reads. None where it
    knows none, and where the pattern is none.
    """
    parts: list[str] = []
    fields: list[str] = []
    depth = 0
    for token in _tokens(pattern):
        if token is None:
            return None
        _, letter, opens, closes, _ = token.groups()
        if letter:
            found = field_of(letter, len(token[0]))
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
            parts.append(re.escape(_text_of(token)))
    parts.extend(")?" for _ in range(depth))
    try:
        regex("".join(parts))
    except InvalidCriterion:  # too large for RE2
        return None
    return "".join(parts), tuple(fields)


def pattern_parts(pattern: str) -> list[tuple[str, str]] | None:
    """The letters of a pattern with their runs, and with no letter the text between them.

    None where it is none; brackets mean nothing to who writes.
    """
    parts: list[tuple[str, str]] = []
    depth = 0
    for token in _tokens(pattern):
        if token is None:
            return None
        _, letter, opens, closes, _ = token.groups()
        depth += bool(opens) - bool(closes)
        if depth < 0:
            return None
        if not opens and not closes:
            parts.append((letter, token[0]) if letter else ("", _text_of(token)))
    return parts


def _tokens(pattern: str) -> Iterator[re.Match[str] | None]:
    """The tokens of a pattern, None for what is none."""
    offset = 0
    while offset < len(pattern):
        token = _TOKEN.match(pattern, offset)
        yield token
        if token is None:
            return
        offset = token.end()


def _text_of(token: re.Match[str]) -> str:
    """The text that stands for itself."""
    quoted, *_, other = token.groups()
    return str(other) if quoted is None else quoted.replace("''", "'") or "'"


def _field(letter: str, width: int) -> tuple[str, str] | None:
    """The field that a run of pattern letters stands for, and the text that it reads."""
    if letter in "yu" and width <= 19:
        field = "year" if letter == "y" else "proleptic"
        return (field + "2", r"\d\d") if width == 2 else (field, digits_of_year(width))
    if letter == "G" and width <= 5:
        return "era", "|".join(_ERAS[width if width > 3 else 1])
    if letter in "ML" and width in (3, 4):
        return "month", "|".join(name[:3] if width == 3 else name for name in MONTHS)
    if letter in NUMBERS and width <= 2:
        return NUMBERS[letter], r"\d\d" if width == 2 else r"\d\d?"
    if letter == "D" and width <= 3:
        return "day_of_year", rf"\d{{{width},3}}"
    if letter == "S" and width <= 9:
        return "fraction", rf"\d{{{width}}}"
    if letter == "a" and width == 1:
        return "half", "AM|PM"
    if letter == "E" and width <= 4:
        return "weekday", "|".join(name if width == 4 else name[:3] for name in DAYS)
    if width in OFFSETS.get(letter, ()):
        return "offset", OFFSETS[letter][width]
    if (letter == "z" and width <= 4) or (letter == "V" and width == 2):
        return "name" if letter == "z" else "region", _REGION
    return None


def digits_of_year(width: int) -> str:
    """From 4 on, more digits than the width have a plus before them."""
    if width < 4:
        return rf"-?\d{{{width},19}}"
    longer = rf"|\+\d{{{width + 1},19}}" if width < 19 else ""
    return rf"\d{{{width}}}{longer}|-\d{{{width},19}}"


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
            if number == 0 and text[0] == "-":
                raise ValueError(text)
            if numbers.setdefault(name, number) != number:
                raise ValueError(name)
    if "offset" in zones:
        return numbers, _offset(zones["offset"].upper())
    if "name" in zones:
        return numbers, _region(_ABBREVIATIONS.get(zones["name"], zones["name"]))
    return numbers, _region(zones["region"])


_CYCLE = 146_097 * 86_400  # seconds of 400 years, after which days and rules repeat


def _into_reach(numbers: dict[str, int]) -> int:
    """Put the year of the era, or any, as one that Python's calendar has: 400 years so often off.

    Far ahead zones follow a rule, long ago the sun, so that another year of the cycle will do.
    """
    year = _proleptic(numbers)
    if abs(year) > _MOST_YEARS:
        raise ValueError(year)
    cycles = 0
    if not 1 < year < 9999:
        cycles = (year - (2400 if year > 1 else 400)) // 400
    numbers["proleptic"] = year - 400 * cycles
    return cycles


def _proleptic(numbers: dict[str, int]) -> int:
    """The year, 0 being 1 BC; ValueError where fields do not agree."""
    before = numbers.get("era", 0) == 1
    years = set()
    for name, past in (("proleptic", 0), ("proleptic2", 2000), ("year", 0), ("year2", 2000)):
        if name in numbers:
            year = numbers[name] + past
            if name.startswith("year"):
                if year < 1:
                    raise ValueError(name)
                year = 1 - year if before else year
            years.add(year)
    (year,) = years
    if "era" in numbers and before is not (year < 1):
        raise ValueError("era")
    return year


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
    year = numbers["proleptic"]
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
