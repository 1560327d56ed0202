"""Values of events and criteria: what equals what, and what comes before what."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping
from datetime import UTC, date, datetime
from decimal import Decimal
from enum import StrEnum
from typing import Any

from remuda.errors import InvalidCriterion

Number = int | float | Decimal
Ordered = int | float | Decimal | str | date | datetime

_TRUE, _FALSE = ("boolean", True), ("boolean", False)
_EXACT_FLOAT = 2**53  # below it, a float that is whole is its own shortest decimal
_PLAIN = frozenset({str, int, float, bool, type(None), dict, Decimal, datetime, date})


class Kind(StrEnum):
    """The kinds of values that have an order, each among its own."""

    NUMBER = "number"
    STRING = "string"
    DATE = "date"
    TIMESTAMP = "timestamp"


def tidy(value: Any) -> Any:
    """The value as an event's path gives it: None where it is missing, lists as lists."""
    kind = type(value)
    if kind in _PLAIN:
        return value
    if kind is list:
        return value or None
    if isinstance(value, list | tuple):
        return list(value) or None
    return _foreign(value)


def is_text(value: str) -> bool:
    """Whether the string is Unicode text: one with half of a surrogate pair satisfies nothing."""
    if value.isascii():
        return True
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True


def checked_text(value: str, what: str) -> str:
    """The string, or InvalidCriterion where it is no text: nothing could write it down."""
    if not is_text(value):
        raise InvalidCriterion(f"{what} must be text, and {value!r} has half of a surrogate pair")
    return value


def number(value: Any) -> Number | None:
    """The exact number that `value` stands for; None where it is none, or not a number (NaN).

    A float counts as the shortest decimal that reads back as it.
    """
    kind = type(value)
    if kind is int:
        return value  # type: ignore[no-any-return]
    if kind is float:
        if value.is_integer() and -_EXACT_FLOAT < value < _EXACT_FLOAT:
            return int(value)
        if math.isfinite(value):
            return Decimal(repr(value))
        return None if math.isnan(value) else value
    if kind is Decimal:
        return None if value.is_nan() else value
    if kind is bool or kind is str or value is None:
        return None
    plain = _foreign(value)
    return None if type(plain) is type(value) else number(plain)


def instant(value: datetime) -> datetime:
    """The timestamp in UTC; a naive one is UTC already."""
    return value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)


def ordered(value: Any) -> tuple[Kind, Ordered] | None:
    """The kind and the comparable form of a value that has an order; None for all others."""
    kind = type(value)
    if kind is str:
        return (Kind.STRING, value) if is_text(value) else None
    if kind is bool or value is None:
        return None
    exact = number(value)
    if exact is not None:
        return Kind.NUMBER, exact
    try:
        if isinstance(value, datetime):
            return Kind.TIMESTAMP, instant(value)
    except (OverflowError, ValueError):
        return None
    if isinstance(value, date):
        return Kind.DATE, value
    plain = _foreign(value)
    return None if type(plain) is type(value) else ordered(plain)


def key(value: Any) -> Hashable:
    """What equals what: two values are equal exactly when their keys are.

    NaN, and values of types that we do not know, get a key that equals nothing.
    """
    kind = type(value)
    if kind is str or kind is int or value is None:
        return value  # type: ignore[no-any-return]
    if kind is bool:
        return _TRUE if value else _FALSE
    try:
        if isinstance(value, Mapping):
            return "object", frozenset((name, key(part)) for name, part in value.items())
        if isinstance(value, list | tuple):
            return "list", tuple(key(part) for part in value)
    except (RecursionError, TypeError):
        return object()
    found = ordered(value)
    if found is not None:
        return found[1]
    plain = _foreign(value)
    return object() if type(plain) is type(value) else key(plain)


def checked(value: Any) -> Any:
    """`value` as an operand of a predicate, or InvalidCriterion where it can equal nothing."""
    if value is None:
        raise InvalidCriterion("null is not a value to compare with; use exists or missing")
    if type(value) is float and math.isnan(value):
        raise InvalidCriterion("NaN equals nothing, so it is no value to compare with")
    if type(key(value)) is object:
        raise InvalidCriterion(f"a value of type {type(value).__name__} cannot be compared")
    _check_texts(value)
    return value if isinstance(value, list | tuple | Mapping) else tidy(value)


def _check_texts(value: Any) -> None:
    """Refuse a string that is no text, however deep it stands."""
    if isinstance(value, str):
        checked_text(value, "a value")
    elif isinstance(value, Mapping):
        for name, part in value.items():
            _check_texts(name)
            _check_texts(part)
    elif isinstance(value, list | tuple):
        for part in value:
            _check_texts(part)


def _foreign(value: Any) -> Any:
    """The plain Python value of a NumPy scalar or array or of a subclass; else `value` itself."""
    if hasattr(value, "tolist") and hasattr(value, "dtype"):
        if str(value.dtype) == "datetime64[ns]":  # whose list is one of plain integers
            value = value.astype("datetime64[us]")
        plain = value.tolist()
        return tidy(plain) if type(plain) is not type(value) else value
    for kind in (bool, int, float, str):
        if isinstance(value, kind):
            return getattr(kind, "__str__" if kind is str else f"__{kind.__name__}__")(value)
    return value
