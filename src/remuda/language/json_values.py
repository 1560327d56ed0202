"""Values in the JSON form, and those that JSON lacks: dates, decimals, quoted literals."""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from msgspec import Struct

from remuda.errors import InvalidCriterion
from remuda.model.quoted import Moment, Quoted
from remuda.model.values import instant, number, tidy

_LONG = 2**63
_MAX_BITS = 13_000  # Python, and so msgspec, reads no integer of more than 4300 digits


class Typed(Struct, frozen=True, forbid_unknown_fields=True, rename="camel"):
    """A value under the name of its type, such as `{"date": "2024-02-29"}`.

    `list` and `object` are for what holds such values inside; the literals are those of the text
    form, which stand for several values.
    """

    date: dt.date | None = None
    timestamp: dt.datetime | None = None
    decimal: Decimal | None = None
    list: tuple[Nested, ...] | None = None
    object: dict[str, Nested] | None = None
    quoted: str | None = None
    date_literal: dt.date | None = None
    timestamp_literal: dt.datetime | None = None

    def value(self) -> Any:
        """The value itself."""
        fields = [name for name in self.__struct_fields__ if getattr(self, name) is not None]
        if len(fields) != 1:
            names = ", ".join(self.__struct_encode_fields__)
            raise InvalidCriterion(f"a typed value has exactly one of {names}")
        if self.list is not None:
            return [_inside(part) for part in self.list]
        if self.object is not None:
            return {name: _inside(part) for name, part in self.object.items()}
        if self.quoted is not None:
            return Quoted(self.quoted)
        literal = self.date_literal or self.timestamp_literal
        return Moment(literal) if literal else getattr(self, fields[0])


Nested = None | bool | int | float | str | Typed


def value_of(written: Any) -> Any:
    """What stands for itself as it is, what is typed as its value."""
    return written.value() if type(written) is Typed else written


def _inside(written: Any) -> Any:
    value = value_of(written)
    if isinstance(value, Quoted | Moment):
        raise InvalidCriterion("a list or an object has no literals inside: they have many values")
    return value


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
        case Quoted(text):
            return {"quoted": text}
        case Moment(at):
            ((name, written),) = _scalar(at).items()
            return {f"{name}Literal": written}
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
