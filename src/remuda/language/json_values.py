"""Values in the JSON form, and those that JSON lacks: dates, timestamps, exact decimals."""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from msgspec import Struct

from remuda.errors import InvalidCriterion
from remuda.model.values import instant, number, tidy

_LONG = 2**63
_MAX_BITS = 13_000  # Python, and so msgspec, reads no integer of more than 4300 digits


class Typed(Struct, frozen=True, forbid_unknown_fields=True):
    """A value under the name of its type, such as `{"date": "2024-02-29"}`.

    `list` and `object` are for what holds such values inside.
    """

    date: dt.date | None = None
    timestamp: dt.datetime | None = None
    decimal: Decimal | None = None
    list: tuple[Nested, ...] | None = None
    object: dict[str, Nested] | None = None

    def value(self) -> Any:
        """The value itself."""
        written = (self.date, self.timestamp, self.decimal, self.list, self.object)
        given = [one for one in written if one is not None]
        if len(given) != 1:
            raise InvalidCriterion("one of date, timestamp, decimal, list and object is needed")
        if self.list is not None:
            return [value_of(part) for part in self.list]
        if self.object is not None:
            return {name: value_of(part) for name, part in self.object.items()}
        return given[0]


Nested = None | bool | int | float | str | Typed


def value_of(written: Any) -> Any:
    """What stands for itself as it is, what is typed as its value."""
    return written.value() if type(written) is Typed else written


def is_simple(value: Any) -> bool:
    """Whether it is one of the most, which JSON has as they are."""
    return type(value) is str or (type(value) is int and -_LONG < value < _LONG)


def is_plain(value: Any) -> bool:
    """Whether JSON has the value, and all values inside it."""
    if is_simple(value):
        return True
    if isinstance(value, list | tuple):
        return all(map(is_plain, value))
    if isinstance(value, Mapping):
        return all(map(is_plain, value.values()))
    return not isinstance(_scalar(value), dict)


def plain(value: Any) -> Any:
    """The JSON of a value that is plain."""
    if is_simple(value):
        return value
    if isinstance(value, list | tuple):
        return [plain(part) for part in value]
    if isinstance(value, Mapping):
        return {_name(name): plain(part) for name, part in value.items()}
    return _scalar(value)


def typed(value: Any) -> Any:
    """The JSON of any value: plain scalars as they are, all others under their type."""
    if is_simple(value):
        return value
    if isinstance(value, list | tuple):
        return {"list": [typed(part) for part in value]}
    if isinstance(value, Mapping):
        return {"object": {_name(name): typed(part) for name, part in value.items()}}
    return _scalar(value)


def _scalar(value: Any) -> Any:
    match tidy(value):
        case None | str() | bool() as same:
            return same
        case int() as whole:
            return whole if whole.bit_length() < _MAX_BITS else {"decimal": str(Decimal(whole))}
        case float() as double:
            return double if math.isfinite(double) else {"decimal": str(Decimal(double))}
        case Decimal() as decimal:
            return _decimal(decimal)
        case dt.datetime() as moment:
            return {"timestamp": instant(moment).isoformat().replace("+00:00", "Z")}
        case dt.date() as day:
            return {"date": day.isoformat()}
    raise InvalidCriterion(f"a value of type {type(value).__name__} cannot be written as JSON")


def _decimal(value: Decimal) -> Any:
    """A number where its shortest decimal is the value, else the decimal's own text."""
    if value.is_finite():
        nearest = float(value)
        exact = number(nearest)
        if exact == value:
            return exact if isinstance(exact, int) else nearest
    return {"decimal": str(value)}


def _name(name: Any) -> str:
    if not isinstance(name, str):
        raise InvalidCriterion(f"an object in JSON has no property {name!r}: names are strings")
    return name
