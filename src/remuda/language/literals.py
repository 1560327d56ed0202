"""Literals of the text form: the values that nodes of sqlglot's tree spell."""

from __future__ import annotations

import math
import re
import struct
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta, timezone, tzinfo
from decimal import Decimal
from typing import Any
from zoneinfo import ZoneInfo

from sqlglot import exp

from remuda.language.nodes import Refused, arguments, bare, function


def is_literal(node: exp.Expr) -> bool:
    """Whether the node is a value by itself."""
    node = bare(node)
    while type(node) is exp.Neg:
        node = bare(node.this)
    return type(node) in _LITERALS or function(node) in LITERAL_FUNCTIONS


def literal(node: exp.Expr) -> Any:
    """The value that the node spells; None for NULL."""
    node = bare(node)
    read = _LITERALS.get(type(node)) or LITERAL_FUNCTIONS.get(function(node))
    if read is None:
        raise Refused("a literal is needed here", node)
    return read(node)


def text(node: exp.Expr) -> str:
    """The string that the node spells."""
    found = literal(node)
    if type(found) is not str:
        raise Refused("a string is needed here", node)
    return found


def integer(node: exp.Expr) -> int:
    """The integer that the node spells."""
    found = literal(node)
    if type(found) is not int:
        raise Refused("an integer is needed here", node)
    return found


def _plain(node: exp.Expr) -> Any:
    spelt: str = node.this
    if node.args["is_string"]:
        return spelt
    if spelt.isdecimal() and len(spelt) < 4000:  # beyond, Python's int() refuses
        return int(spelt)
    return _double(spelt, node) if "e" in spelt.lower() else Decimal(spelt)


def _double(spelt: str, node: exp.Expr) -> float:
    number = float(spelt)
    if math.isinf(number):
        raise Refused(f"{spelt} is too large for a double; write {spelt}BD", node)
    return number


def _negative(node: exp.Expr) -> Any:
    number = literal(node.this)
    if type(number) not in (int, float, Decimal):
        raise Refused("only a number can be negative", node)
    return number.copy_negate() if type(number) is Decimal else -number


def _cast(node: exp.Expr) -> Any:
    """A typed literal: DATE '...', 5L, 1.5D, or CAST of a literal; nothing else is cast."""
    inner, kind = bare(node.this), node.args["to"]
    spelt = inner.this if type(inner) is exp.Literal else None
    if spelt is None:
        raise Refused("only literals can be cast", node)
    if inner.args["is_string"]:
        read = _FROM_TEXT.get(kind.this)
        if read is not None:
            return read(spelt, node)
    elif kind.this in _BITS:
        return _sized(inner, _BITS[kind.this])
    elif kind.this is exp.DType.DOUBLE:
        return _double(spelt, inner)
    elif kind.this is exp.DType.FLOAT:
        return _single(inner)
    raise Refused(f"this literal cannot be cast to {kind.sql().lower()}", node)


def _sized(node: exp.Expr, bits: int) -> int:
    number = _plain(node)
    if type(number) is not int or number > 2 ** (bits - 1):
        raise Refused(f"{node.this} is no integer of {bits} bits", node)
    return number


def _single(node: exp.Expr) -> float:
    try:
        return float(struct.unpack("f", struct.pack("f", float(node.this)))[0])
    except OverflowError:
        raise Refused(f"{node.this} is too large for a float", node) from None


def _decimal(spelt: str, node: exp.Expr) -> Decimal:
    """A decimal that its type holds exactly; Spark would round others."""
    sizes = [int(size.name) for size in node.args["to"].expressions]
    try:
        number = Decimal(spelt)
        digits, scale = sizes if len(sizes) == 2 else (sizes[0], 0)
        fits = number.is_finite() and (
            not number
            or (number.adjusted() < digits - scale and -_exponent(number) <= scale)
        )
    except (ArithmeticError, IndexError):
        fits = False
    if not fits:
        raise Refused(f"{spelt!r} does not fit its decimal type", node)
    return number


def _exponent(number: Decimal) -> int:
    """The exponent of the last digit that is not 0."""
    _, digits, exponent = number.as_tuple()
    zeros = len(digits) - len("".join(map(str, digits)).rstrip("0"))
    return int(exponent) + zeros


_MOMENT = re.compile(
    r"""\s*(?P<year>\d{4})(?:-(?P<month>\d\d?)(?:-(?P<day>\d\d?)
    (?P<clock>[ T](?P<hour>\d\d?):(?P<minute>\d\d?)(?::(?P<second>\d\d?)(?:\.(?P<fraction>\d+))?)?
    \s*(?P<zone>\S+)?)?)?)?\s*""",
    re.VERBOSE | re.ASCII,
)
_OFFSET = re.compile(r"(?:UTC|GMT)?([+-])(\d\d?)(?::(\d\d))?", re.ASCII)


def _date(spelt: str, node: exp.Expr) -> date:
    found = _MOMENT.fullmatch(spelt)
    try:
        if found is None or found["clock"]:
            raise ValueError(spelt)
        return date(*(int(found[part] or 1) for part in ("year", "month", "day")))
    except ValueError:
        raise Refused(f"{spelt!r} is no date such as 2024-02-29", node) from None


def _timestamp(spelt: str, node: exp.Expr) -> datetime:
    """An instant; one without a zone is in UTC."""
    found = _MOMENT.fullmatch(spelt)
    try:
        if found is None:
            raise ValueError(spelt)
        day = (int(found[part] or 1) for part in ("year", "month", "day"))
        clock = (int(found[part] or 0) for part in ("hour", "minute", "second"))
        fraction = (found["fraction"] or "").rstrip("0")
        if len(fraction) > 6:
            raise Refused("timestamps are no finer than microseconds", node)
        microsecond = int(fraction.ljust(6, "0"))
        return datetime(*day, *clock, microsecond, _zone(found["zone"])).astimezone(UTC)
    except (OverflowError, OSError, ValueError):
        reason = f"{spelt!r} is no timestamp such as 2024-02-29 12:30:00"
        raise Refused(reason, node) from None


def _zone(name: str | None) -> tzinfo:
    if name in (None, "Z", "UTC"):
        return UTC
    offset = _OFFSET.fullmatch(name or "")
    if offset is None:
        return ZoneInfo(name or "")
    span = timedelta(hours=int(offset[2]), minutes=int(offset[3] or 0))
    return timezone(-span if offset[1] == "-" else span)


_FROM_TEXT: dict[object, Callable[[str, exp.Expr], Any]] = {
    exp.DType.DATE: _date,
    exp.DType.DECIMAL: _decimal,
    exp.DType.TIMESTAMP: _timestamp,
    exp.DType.TIMESTAMPLTZ: _timestamp,
    exp.DType.TIMESTAMPNTZ: _timestamp,
    exp.DType.TIMESTAMPTZ: _timestamp,
}
_BITS: dict[object, int] = {
    exp.DType.TINYINT: 8,
    exp.DType.SMALLINT: 16,
    exp.DType.INT: 32,
    exp.DType.BIGINT: 64,
}
_NO_NUMBERS = {"infinity": math.inf, "-infinity": -math.inf, "nan": math.nan}


def _no_number(node: exp.Expr) -> float:
    (name,) = arguments(node, 1)
    number = _NO_NUMBERS.get(text(name).lower())
    if number is None:
        raise Refused("double() is for 'Infinity', '-Infinity' and 'NaN'", name)
    return number


def _list(node: exp.Expr) -> list[Any]:
    return [literal(part) for part in node.expressions]


def _object(node: exp.Expr) -> dict[Any, Any]:
    parts = _list(node)
    if len(parts) % 2:
        raise Refused("object() takes names and values in turn", node)
    try:
        return dict(zip(parts[::2], parts[1::2], strict=True))
    except TypeError:
        raise Refused("a list or an object is no name", node) from None


_LITERALS: dict[type[exp.Expr], Callable[[exp.Expr], Any]] = {
    exp.Boolean: lambda node: bool(node.this),
    exp.Cast: _cast,
    exp.Literal: _plain,
    exp.Neg: _negative,
    exp.Null: lambda _: None,
    exp.RawString: lambda node: str(node.this),
    exp.TryCast: _cast,
}
LITERAL_FUNCTIONS: dict[str, Callable[[exp.Expr], Any]] = {
    "double": _no_number,
    "list": _list,
    "object": _object,
}
