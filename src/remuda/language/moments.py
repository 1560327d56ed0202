"""Dates and timestamps, read from text as Spark reads its typed literals."""

from __future__ import annotations

import re
from datetime import UTC, date, datetime, timedelta, timezone, tzinfo
from zoneinfo import ZoneInfo

_DATE = re.compile(r"(\d{4})(?:-(\d\d?)(?:-(\d\d?))?)?", re.ASCII)
_CLOCK = re.compile(r"(\d\d?):(\d\d?)(?::(\d\d?)(?:\.(\d+))?)?\s*(\S+)?", re.ASCII)
_OFFSET = re.compile(r"(?:UTC|GMT)?([+-])(\d\d?)(?::(\d\d))?", re.ASCII)


def read_date(text: str) -> date | None:
    """`2024-02-29`; None where the text is no date."""
    found = _DATE.fullmatch(text.strip())
    try:
        return date(*(int(part or 1) for part in found.groups())) if found else None
    except ValueError:
        return None


def read_timestamp(text: str) -> datetime | None:
    """`2024-02-29 12:30:00`, in UTC unless a zone follows; None where it is no instant.

    Nothing finer than a microsecond is read, so nothing is ever cut off.
    """
    day_text, _, clock_text = text.strip().replace("T", " ", 1).partition(" ")
    day = read_date(day_text)
    found = _CLOCK.fullmatch(clock_text.strip() or "00:00")
    if day is None or found is None:
        return None
    hour, minute, second, fraction, zone = found.groups(default="")
    fraction = fraction.rstrip("0")
    try:
        clock = int(hour), int(minute), int(second or 0), int(fraction.ljust(6, "0"))
        moment = datetime(day.year, day.month, day.day, *clock, _zone(zone))
        return moment.astimezone(UTC) if len(fraction) <= 6 else None
    except (OSError, OverflowError, ValueError):
        return None


def _zone(name: str) -> tzinfo:
    if name in ("", "Z", "UTC"):
        return UTC
    offset = _OFFSET.fullmatch(name)
    if offset is None:
        return ZoneInfo(name)
    span = timedelta(hours=int(offset[2]), minutes=int(offset[3] or 0))
    return timezone(-span if offset[1] == "-" else span)
