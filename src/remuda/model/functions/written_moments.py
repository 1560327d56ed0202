"""Moments written as text by Spark's patterns, in English and in UTC."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from functools import lru_cache
from typing import Any

from remuda.errors import InvalidCriterion
from remuda.model.functions.arguments import day, integer, moment, moment_at, text
from remuda.model.functions.function import Function, table, taking
from remuda.model.moments import DAYS, MONTHS, pattern_parts

_DEFAULT_FORMAT = "yyyy-MM-dd HH:mm:ss"
_NUMBERS: dict[str, Callable[[datetime], int]] = {
    "M": lambda at: at.month,
    "L": lambda at: at.month,
    "d": lambda at: at.day,
    "H": lambda at: at.hour,
    "k": lambda at: at.hour or 24,
    "h": lambda at: at.hour % 12 or 12,
    "K": lambda at: at.hour % 12,
    "m": lambda at: at.minute,
    "s": lambda at: at.second,
    "Q": lambda at: (at.month + 2) // 3,
    "q": lambda at: (at.month + 2) // 3,
}
_QUARTERS = ("1st", "2nd", "3rd", "4th")
_ZONES = {  # of UTC, by letter and width
    **{("X", width): "Z" for width in range(1, 6)},
    **{("x", width): "+00" + (":00" if width in (3, 5) else "00") for width in range(2, 6)},
    ("x", 1): "+00",
    **{("Z", width): "+0000" for width in range(1, 4)},
    ("Z", 4): "GMT",
    ("Z", 5): "Z",
    ("O", 1): "GMT",
    ("O", 4): "GMT",
    **{("z", width): "UTC" for width in range(1, 4)},
    ("z", 4): "Coordinated Universal Time",
    ("V", 2): "UTC",
}
_Part = Callable[[datetime], str]


def _field(letter: str, width: int) -> _Part | None:
    """How a run of letters is written; None where that is not known here."""
    if letter == "y" and width <= 6:
        return (
            (lambda at: f"{at.year % 100:02}") if width == 2 else lambda at: f"{at.year:0{width}}"
        )
    if letter in "ML" and width in (3, 4):
        return lambda at: MONTHS[at.month - 1][: 3 if width == 3 else None]
    if letter == "E" and width <= 4:
        return lambda at: DAYS[at.weekday()][: 3 if width < 4 else None]
    if letter in "Qq" and width in (3, 4):
        return lambda at: _quarter((at.month - 1) // 3, width)
    if letter in _NUMBERS and width <= 2:
        return lambda at: f"{_NUMBERS[letter](at):0{width}}"
    if letter == "D" and width in (1, 3):
        return lambda at: f"{at.timetuple().tm_yday:0{width}}"
    if letter == "S" and width <= 9:
        return lambda at: f"{at.microsecond:06}000"[:width]
    if letter == "a" and width == 1:
        return lambda at: "AM" if at.hour < 12 else "PM"
    if letter == "G" and width <= 4:
        return lambda _: "AD" if width < 4 else "Anno Domini"
    zone = _ZONES.get((letter, width))
    return None if zone is None else lambda _: zone


def _quarter(i: int, width: int) -> str:
    return f"Q{i + 1}" if width == 3 else f"{_QUARTERS[i]} quarter"


@lru_cache(maxsize=1024)
def _parts(pattern: str) -> tuple[str | _Part, ...] | None:
    """What the pattern writes, in turn; None where it is none, or not known here."""
    found = pattern_parts(pattern)
    if found is None:
        return None
    parts: list[str | _Part] = []
    for letter, spelt in found:
        part = _field(letter, len(spelt)) if letter else spelt
        if part is None:
            return None
        parts.append(part)
    return tuple(parts)


def _written(at: datetime, pattern: str = _DEFAULT_FORMAT) -> str | None:
    parts = _parts(pattern)
    if parts is None:
        return None
    return "".join(part if isinstance(part, str) else part(at) for part in parts)


def _second(value: Any) -> datetime | None:
    """The timestamp so many seconds after 1970."""
    found = integer(value)
    return None if found is None else moment_at(found * 1_000_000)


def _check_format(arguments: Sequence[Any]) -> None:
    pattern = arguments[1] if len(arguments) > 1 else None
    if pattern is not None and (not isinstance(pattern, str) or _parts(pattern) is None):
        raise InvalidCriterion(
            f"{pattern!r} is no pattern that writes dates; such are yyyy-MM-dd and EEEE, HH:mm"
        )


FUNCTIONS = table(
    [
        Function("date_format", taking(moment, text)(_written), 2, 2, check=_check_format),
        Function("from_unixtime", taking(_second, text)(_written), 1, 2, check=_check_format),
        Function("dayname", taking(day)(lambda value: DAYS[value.weekday()][:3]), 1, 1),
        Function("monthname", taking(day)(lambda value: MONTHS[value.month - 1][:3]), 1, 1),
    ]
)
