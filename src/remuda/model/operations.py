"""Pre-operations: what is done to a value before a predicate looks at it.

What an operation does not apply to passes through unchanged, and only SIZE applies to lists.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import date, datetime
from decimal import Context, Decimal, DecimalException, Inexact, InvalidOperation, Overflow
from enum import StrEnum
from functools import lru_cache
from typing import Any, ClassVar
from zoneinfo import ZoneInfo

from remuda.errors import InvalidCriterion
from remuda.model.calendars import Extract, epoch_milliseconds, extract
from remuda.model.moments import check_pattern, parse_instant
from remuda.model.values import Number, number

_DIGITS = 2000  # exact results longer than this are out of range, and the value passes through
_EXACT = Context(prec=_DIGITS, traps=[Inexact, InvalidOperation, Overflow])


class Arithmetic(StrEnum):
    """The operations on exact decimals."""

    ADDITION = "ADDITION"
    SUBTRACTION = "SUBTRACTION"
    MULTIPLICATION = "MULTIPLICATION"


_EXACTLY = {
    Arithmetic.ADDITION: _EXACT.add,
    Arithmetic.SUBTRACTION: _EXACT.subtract,
    Arithmetic.MULTIPLICATION: _EXACT.multiply,
}


class Integral(StrEnum):
    """The operations on integers, which truncate toward zero."""

    DIVISION = "DIVISION"
    MODULO = "MODULO"


@dataclass(frozen=True, slots=True)
class Calculate:
    """Exact decimal arithmetic with `rhs`."""

    reads_clock: ClassVar[bool] = False
    operator: Arithmetic
    rhs: Number = field(compare=False)
    exact: Decimal = field(init=False, repr=False)  # compared in its place: 0.1 == Decimal(0.1)

    def __post_init__(self) -> None:
        object.__setattr__(self, "exact", _finite(self.rhs, self.operator))

    def apply(self, value: Any, now: int) -> Any:
        left, right = _decimal(value), self.exact
        if left is None:
            return value
        try:
            return _EXACTLY[self.operator](left, right)
        except DecimalException:
            return value


@dataclass(frozen=True, slots=True)
class Divide:
    """Integer division by `rhs`, or its remainder, which has the sign of the dividend."""

    reads_clock: ClassVar[bool] = False
    operator: Integral
    rhs: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "rhs", int(_finite(self.rhs, self.operator)))

    def apply(self, value: Any, now: int) -> Any:
        whole = _integer(value)
        if whole is None or self.rhs == 0:
            return value
        quotient = abs(whole) // abs(self.rhs)
        if (whole < 0) != (self.rhs < 0):
            quotient = -quotient
        return quotient if self.operator is Integral.DIVISION else whole - quotient * self.rhs


def calculation(operator: Arithmetic | Integral, rhs: Any) -> Calculate | Divide:
    """The operation with `rhs` that an operator stands for."""
    return Divide(operator, rhs) if isinstance(operator, Integral) else Calculate(operator, rhs)


@dataclass(frozen=True, slots=True)
class BinaryConversion:
    """An integer of 32 bits as their text; 5.0 is no integer here."""

    reads_clock: ClassVar[bool] = False

    def apply(self, value: Any, now: int) -> Any:
        if type(value) is not int or not -(2**31) <= value < 2**31:
            return value
        return f"{value & 0xFFFFFFFF:032b}"


@dataclass(frozen=True, slots=True)
class Length:
    """How many characters a string has."""

    reads_clock: ClassVar[bool] = False

    def apply(self, value: Any, now: int) -> Any:
        return len(value) if isinstance(value, str) else value


@dataclass(frozen=True, slots=True)
class Size:
    """How many elements a list has."""

    reads_clock: ClassVar[bool] = False

    def apply(self, value: Any, now: int) -> Any:
        return len(value) if isinstance(value, list) else value


@dataclass(frozen=True, slots=True)
class Substring:
    """The characters from `begin` up to `end`, both clipped to the text; no end is its end."""

    reads_clock: ClassVar[bool] = False
    begin: int = 0
    end: int | None = None

    def __post_init__(self) -> None:
        for bound in (self.begin, self.end):
            if bound is not None and type(bound) is not int:
                raise InvalidCriterion(f"SUBSTRING counts in whole numbers, not {bound!r}")

    def apply(self, value: Any, now: int) -> Any:
        if not isinstance(value, str):
            return value
        begin = min(max(self.begin, 0), len(value))
        end = len(value) if self.end is None else min(max(self.end, 0), len(value))
        return value[begin:end] if begin <= end else value


@dataclass(frozen=True, slots=True)
class DateTime:
    """One field of a timestamp, a date, or a number of milliseconds since 1970."""

    extract: Extract
    zone: str = "UTC"

    def __post_init__(self) -> None:
        _zone(self.zone)

    @property
    def reads_clock(self) -> bool:
        return self.extract is Extract.DIFF_WITH_EPOCH

    def apply(self, value: Any, now: int) -> Any:
        moment = _moment(value)
        if moment is None:
            return value
        if self.extract is Extract.DIFF_WITH_EPOCH:
            return now - moment
        found = extract(moment, _zone(self.zone), self.extract)
        return value if found is None else found


@dataclass(frozen=True, slots=True)
class ToDateTime:
    """Text as milliseconds since 1970, by a pattern of Java's DateTimeFormatter."""

    reads_clock: ClassVar[bool] = False
    format: str | None = None

    def __post_init__(self) -> None:
        if self.format is not None and not isinstance(self.format, str):
            raise InvalidCriterion(f"a date-time pattern is a string, not {self.format!r}")
        if self.format is not None:
            check_pattern(self.format)

    def apply(self, value: Any, now: int) -> Any:
        if not isinstance(value, str):
            return value
        found = parse_instant(value, self.format)
        return value if found is None else found


Operation = (
    Calculate | Divide | BinaryConversion | Length | Size | Substring | DateTime | ToDateTime
)


def _decimal(value: Any) -> Decimal | None:
    exact = number(value)
    if isinstance(exact, int):
        return Decimal(exact) if exact.bit_length() < 3 * _DIGITS else None
    return exact if isinstance(exact, Decimal) and exact.is_finite() else None


def _integer(value: Any) -> int | None:
    exact = number(value)
    if isinstance(exact, Decimal) and exact.is_finite() and exact.adjusted() <= _DIGITS:
        return int(exact)
    return exact if isinstance(exact, int) else None


def _moment(value: Any) -> int | None:
    """Milliseconds since 1970 of a value that is a moment."""
    if isinstance(value, datetime | date):
        return epoch_milliseconds(value)
    return _integer(value)


@lru_cache(maxsize=256)
def _zone(name: str) -> ZoneInfo:
    try:
        return ZoneInfo(name)
    except (KeyError, OSError, ValueError, TypeError):
        raise InvalidCriterion(f"there is no time zone {name!r}") from None


def _finite(rhs: Any, operator: str) -> Decimal:
    exact = _decimal(rhs)
    if exact is None or exact.adjusted() > _DIGITS:
        shown = repr(rhs) if number(rhs) is None else "one that is infinite or too long"
        raise InvalidCriterion(f"{operator} needs a finite number, not {shown}")
    return exact
