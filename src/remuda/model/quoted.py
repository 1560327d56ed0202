"""Literals of the text form that stand for several values, each for the values of its own kind.

In a WHERE clause `n = '1'` asks for the number where n is one, and for the text where it is text:
Spark casts the literal to the type of the column. An event has no types, so the literal keeps all
of its readings.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time
from typing import Any

from remuda.model.readings import read_boolean, read_date, read_number, read_timestamp
from remuda.model.values import Kind, checked_text, instant, key, ordered

_FIRST = frozenset("0123456789+-.iItTyYfFnN\x7f").union(map(chr, range(0x21)))

Bound = tuple[Any, bool]  # a value, and whether it belongs to the range


@dataclass(frozen=True, slots=True)
class Quoted:
    """A quoted literal: its text, and the number, Boolean, date and timestamp that it reads as."""

    text: str
    readings: tuple[Any, ...] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        checked_text(self.text, "a quoted literal")
        read = (read_number, read_boolean, read_date, read_timestamp)
        found = (one(self.text) for one in read)
        object.__setattr__(
            self, "readings", (self.text, *(one for one in found if one is not None))
        )

    def bound(self, kind: Kind, lower: bool, closed: bool) -> Bound | None:
        """What bounds a range of this kind; None where no reading is of it."""
        for reading in self.readings:
            found = ordered(reading)
            if found is not None and found[0] is kind:
                return reading, closed
        return None


@dataclass(frozen=True, slots=True)
class Moment:
    """A typed literal, DATE or TIMESTAMP: dates and timestamps compare as midnights in UTC do."""

    at: date
    readings: tuple[Any, ...] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if isinstance(self.at, datetime):
            object.__setattr__(self, "at", instant(self.at))
        both = (self._day, self._instant)
        object.__setattr__(self, "readings", (self.at,) if self._is_between_days else both)

    @property
    def _day(self) -> date:
        return self.at.date() if isinstance(self.at, datetime) else self.at

    @property
    def _instant(self) -> datetime:
        return self.at if isinstance(self.at, datetime) else datetime.combine(self.at, time(), UTC)

    @property
    def _is_between_days(self) -> bool:
        return self._instant.time() != time()

    def bound(self, kind: Kind, lower: bool, closed: bool) -> Bound | None:
        """What bounds a range of this kind; None for what is no date and no timestamp."""
        if kind is Kind.TIMESTAMP:
            return self._instant, closed
        if kind is not Kind.DATE:
            return None
        return self._day, not lower if self._is_between_days else closed


def quoted(text: str) -> Quoted | str:
    """The quoted literal; the text itself where it reads as nothing else."""
    if not text or text[0] not in _FIRST:
        return text
    found = Quoted(text)
    return found if len(found.readings) > 1 else text


def keys(value: Any) -> tuple[Hashable, ...]:
    """What equals what: the keys of all readings, or of the value itself."""
    if isinstance(value, Quoted | Moment):
        return tuple(map(key, value.readings))
    return (key(value),)


def readings(value: Any) -> tuple[Any, ...]:
    """The plain values that the value stands for."""
    return value.readings if isinstance(value, Quoted | Moment) else (value,)
