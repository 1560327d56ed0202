"""Values of events and criteria: what equals what, and what comes before what."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping
from datetime import UTC, date, datetime
from decimal import Decimal
from enum import StrEnum
from typing import Any

from remuda.errors import InvalidCriterion
from remuda.model.stacks import on_any_stack

MAX_LEVELS = 100  # of lists and objects inside a value: what is deeper equals nothing

Number = int | float | Decimal
Ordered = int | float | Decimal | str | date | datetime

_TRUE, _FALSE = ("boolean", True), ("boolean", False)
_EXACT_FLOAT = 2**53  # below it, a float that is whole is its own shortest decimal
_PLAIN = frozenset({str, int, float, bool, type(None), dict, Decimal, datetime, date})
_NO_VALUES = frozenset({"NaTType", "NAType"})  # pandas has two more spellings of null
_BEYOND_PYTHON = ("ns]", "ps]", "fs]", "as]")  # NumPy's timestamps that Python gets as integers


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
    if _is_list(value):
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
    if kind in _PLAIN:
        return None
    plain = _foreign(value)
    return None if type(plain) is type(value) else number(plain)


def instant(value: datetime) -> datetime:
    """The timestamp in UTC, in whole microseconds; a naive one is UTC already."""
    value = value if type(value) is datetime else _python_moment(value)
    return value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)


def ordered(value: Any) -> tuple[Kind, Ordered] | None:
    """The kind and the comparable form of a value that has an order; None for all others."""
    kind = type(value)
    if kind is str:
        return (Kind.STRING, value) if is_text(value) else None
    if kind is bool or value is None:
        return None
    if kind is datetime:
        try:
            return Kind.TIMESTAMP, instant(value)
        except (OverflowError, ValueError):
            return None
    if kind is date:
        return Kind.DATE, value
    exact = number(value)
    if exact is not None:
        return Kind.NUMBER, exact
    plain = _foreign(value)
    return None if type(plain) is kind else ordered(plain)


def key(value: Any) -> Hashable:
    """What equals what: two values are equal exactly when their keys are.

    NaN, values of types that we do not know, and what is nested deeper than MAX_LEVELS get a key
    that equals nothing.
    """
    kind = type(value)
    if kind is str or kind is int or value is None:
        return value  # type: ignore[no-any-return]
    if kind is bool:
        return _TRUE if value else _FALSE
    if isinstance(value, Mapping) or _is_list(value):
        try:
            return on_any_stack(lambda: _nested_key(value, MAX_LEVELS))
        except (RecursionError, TypeError):
            return object()
    found = ordered(value)
    if found is not None:
        return found[1]
    plain = _foreign(value)
    return object() if type(plain) is type(value) else key(plain)


def _nested_key(value: Any, levels: int) -> Hashable:
    if levels == 0:
        raise TypeError  # what it would be on any stack
    if isinstance(value, Mapping):
        parts = [(name, _part_key(part, levels)) for name, part in value.items()]
        return "object", frozenset(parts)
    return "list", tuple([_part_key(part, levels) for part in value])


def _part_key(part: Any, levels: int) -> Hashable:
    nested = isinstance(part, Mapping) or _is_list(part)
    return _nested_key(part, levels - 1) if nested else key(part)


def checked(value: Any) -> Any:
    """`value` as an operand of a predicate, or InvalidCriterion where it can equal nothing."""
    compared = key(value)
    if compared is None:
        raise InvalidCriterion("null is not a value to compare with; use exists or missing")
    if type(value) is float and math.isnan(value):
        raise InvalidCriterion("NaN equals nothing, so it is no value to compare with")
    if type(compared) is object:
        deep = f", or is nested more than {MAX_LEVELS} levels deep"
        nested = deep if isinstance(value, Mapping | list | tuple) else ""
        raise InvalidCriterion(f"a value of type {type(value).__name__} cannot be compared{nested}")
    _check_texts(value)
    return value if isinstance(value, list | tuple | Mapping) else whole(value)


def whole(value: Any) -> Any:
    """The plain value of an operand; InvalidCriterion for a moment between two microseconds."""
    plain = tidy(value)
    if isinstance(plain, datetime) and type(value) is not datetime and _is_finer(value):
        raise InvalidCriterion(f"{value!r} is finer than a microsecond")
    return plain


def _is_finer(value: Any) -> bool:
    if isinstance(value, datetime):
        return bool(getattr(value, "nanosecond", 0))
    return bool(value != value.astype("datetime64[us]"))


def _is_list(value: Any) -> bool:
    """Whether it stands for a list; a struct sequence, such as Arrow's interval, is a record."""
    return isinstance(value, list | tuple) and not hasattr(value, "n_sequence_fields")


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
    own = type(value)
    if own.__name__ in _NO_VALUES and own.__module__.startswith("pandas."):
        return None
    if isinstance(value, date):
        try:
            return _python_moment(value) if isinstance(value, datetime) else _python_date(value)
        except (OverflowError, ValueError):
            return value
    if hasattr(value, "tolist") and hasattr(value, "dtype"):
        return _of_array(value)
    for kind in (bool, int, float, str):
        if isinstance(value, kind):
            return getattr(kind, "__str__" if kind is str else f"__{kind.__name__}__")(value)
    return value


def _python_moment(value: datetime) -> datetime:
    """Python's own timestamp: what is finer than a microsecond, as pandas has it, is cut off."""
    day = value.year, value.month, value.day
    time = value.hour, value.minute, value.second, value.microsecond
    return datetime(*day, *time, tzinfo=value.tzinfo, fold=value.fold)


def _python_date(value: date) -> date:
    return date(value.year, value.month, value.day)


def _of_array(value: Any) -> Any:
    """The plain value of what NumPy holds; spans of time, and moments beyond Python's, stay."""
    kind = getattr(value.dtype, "kind", "")
    if kind not in ("m", "M"):
        plain = value.tolist()
        return tidy(plain) if type(plain) is not type(value) else value
    if getattr(value, "ndim", 0):
        return [_foreign(one) for one in value] or None
    if kind == "M" and value.dtype.name.endswith(_BEYOND_PYTHON):
        value = value.astype("datetime64[us]")
    plain = value.tolist() if kind == "M" else value
    return value if isinstance(plain, int) else plain
