"""Texts read as other kinds of values, as Spark's CAST reads them, the session being in UTC."""

from __future__ import annotations

import math
import re
from datetime import UTC, date, datetime, timedelta, timezone, tzinfo
from zoneinfo import ZoneInfo

_SPACE = "".join(map(chr, range(0x21))) + "\x7f"
_WHOLE = re.compile(r"[+-]?\d{1,19}", re.ASCII)
_DOUBLE = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?(?=[dDfF]?\Z)", re.ASCII)
_INFINITE = {"inf": math.inf, "infinity": math.inf}
_INFINITE |= {f"{sign}{name}": float(f"{sign}inf") for sign in "+-" for name in _INFINITE}
_BOOLEANS = dict.fromkeys(("t", "true", "y", "yes", "1"), True)
_BOOLEANS |= dict.fromkeys(("f", "false", "n", "no", "0"), False)
_DAY = re.compile(r"\+?(\d{4,7})(?:-(\d\d?)(?:-(\d\d?)(?P<rest>[ T].*)?)?)?", re.ASCII | re.DOTALL)
_CLOCK = re.compile(
    r"[ T](\d\d?)(?::(\d\d?)(?::(\d\d?)(?:\.(\d*))?(?P<zone>.*))?)?", re.ASCII | re.DOTALL
)
_OFFSET = re.compile(
    r"(?:UTC|GMT|UT)?([+-])(?:(\d\d?)|(\d\d?):(\d\d?)|(\d\d):?(\d\d)(?::?(\d\d))?)", re.ASCII
)
_UTC = frozenset({"", "Z", "UTC", "GMT", "UT"})
_FARTHEST = timedelta(hours=18)  # of a zone from UTC, in Java


def read_number(text: str) -> int | float | None:
    """An integer of 64 bits as BIGINT reads it, anything else as DOUBLE does; None for NaN."""
    text = text.strip(_SPACE)
    if _WHOLE.fullmatch(text) and -(2**63) <= int(text) < 2**63:
        return int(text)
    found = _DOUBLE.match(text)
    return float(found[0]) if found else _INFINITE.get(text.lower())


def read_boolean(text: str) -> bool | None:
    """`true`, `f`, `1` and the like."""
    return _BOOLEANS.get(text.strip(_SPACE).lower())


def read_date(text: str) -> date | None:
    """`2024-02-29`, `2024-2` or `2024`; what follows a day does not count."""
    found = _DAY.fullmatch(text.strip(_SPACE))
    return _day(found) if found else None


def read_timestamp(text: str) -> datetime | None:
    """A date, and perhaps a time of day and a zone; what is finer than a microsecond is cut off.

    A time without a date, which for Spark is one of today, is none.
    """
    found = _DAY.fullmatch(text.strip(_SPACE))
    day = _day(found) if found else None
    if found is None or day is None:
        return None
    clock = _CLOCK.fullmatch(found["rest"] or " 0")
    if clock is None:
        return None
    hour, minute, second, fraction, _ = (part or "0" for part in clock.groups())
    try:
        zone = _zone((clock["zone"] or "").strip(_SPACE))
        moment = datetime(
            day.year, day.month, day.day, int(hour), int(minute), int(second),
            int(fraction[:6].ljust(6, "0")),
        )  # fmt: skip
        return moment.replace(tzinfo=zone).astimezone(UTC)
    except (LookupError, OSError, OverflowError, ValueError):
        return None


def _day(found: re.Match[str]) -> date | None:
    year, month, day = found.groups()[:3]
    try:
        return date(int(year), int(month or 1), int(day or 1))
    except ValueError:
        return None


def _zone(name: str) -> tzinfo:
    if name in _UTC:
        return UTC
    found = _OFFSET.fullmatch(name)
    if found is None:
        return ZoneInfo(name)
    sign, *parts = found.groups()
    hours, minutes, seconds = parts[0] or parts[1] or parts[3], parts[2] or parts[4], parts[5]
    span = timedelta(hours=int(hours), minutes=int(minutes or 0), seconds=int(seconds or 0))
    if span > _FARTHEST:
        raise ValueError(name)
    return timezone(-span if sign == "-" else span)
