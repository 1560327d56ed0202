"""Literals of the text form: the values that nodes of sqlglot's tree spell."""

from __future__ import annotations

import math
import re
import struct
from collections.abc import Callable
from datetime import date, datetime
from decimal import Decimal, DecimalException
from typing import Any

from sqlglot import exp

from remuda.language.nodes import Refused, arguments, bare, function
from remuda.model.readings import read_date, read_timestamp

_FINER = re.compile(r"\.\d{6}0*[1-9]")  # than a microsecond
_LONG = 4000  # digits; Python's int() refuses to read some more


def is_literal(node: exp.Expr) -> bool:
    """Whether the node is a value by itself."""
    node = bare(node)
    if type(node) is exp.Neg:
        inner = bare(node.this)
        while type(inner) is exp.Neg:
            inner = bare(inner.this)
        return type(inner) in _NUMBERS and is_literal(inner)
    if type(node) in _CASTS:
        return _cast_reader(node) is not None
    if function(node) == "plain":
        return len(node.expressions) == 1 and is_literal(node.expressions[0])
    if function(node) == "double":
        return len(node.expressions) == 1 and _is_no_number(bare(node.expressions[0]))
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
    if spelt.isdecimal() and len(spelt) < _LONG:
        return int(spelt)
    return _double(spelt, node) if "e" in spelt.lower() else _exact(spelt, node)


def _exact(spelt: str, node: exp.Expr) -> Decimal:
    try:
        return Decimal(spelt)
    except DecimalException:
        raise Refused(f"{spelt} is no number", node) from None


def _double(spelt: str, node: exp.Expr) -> float:
    try:
        number = float(spelt)
    except ValueError:
        raise Refused(f"{spelt} is no number", node) from None
    if math.isinf(number):
        raise Refused(f"{spelt} is too large for a double; {spelt}BD is a decimal", node)
    return number


def _negative(node: exp.Expr) -> Any:
    number = literal(node.this)
    if type(number) not in (int, float, Decimal):
        raise Refused("only a number can be negative", node)
    # minus would round a decimal to the digits of Python's context
    return number.copy_negate() if type(number) is Decimal else -number


# Typed literals: DATE '...', 5L, 1.5D, CAST('...' AS DATE)


def _cast(node: exp.Expr) -> Any:
    read = _cast_reader(node)
    if read is None:
        raise Refused("a literal is needed here", node)
    return read(bare(node.this).this, node)


def _cast_reader(node: exp.Expr) -> Callable[[str, exp.Expr], Any] | None:
    """How a typed literal is read; None for a cast that computes something."""
    inner = bare(node.this)
    if type(inner) is not exp.Literal:
        return None
    kind = node.args["to"].this
    if inner.args["is_string"]:
        return _FROM_TEXT.get(kind)
    computes = kind in _WHOLE and not inner.this.isdecimal()  # CAST(1.5 AS INT) is 1
    return None if computes else _FROM_NUMBER.get(kind)


def _sized(bits: int) -> Callable[[str, exp.Expr], int]:
    def read(spelt: str, node: exp.Expr) -> int:
        if not spelt.isdecimal() or len(spelt) > _LONG or int(spelt) > 2 ** (bits - 1):
            raise Refused(f"{spelt} is no integer of {bits} bits", node)
        return int(spelt)

    return read


def _single(spelt: str, node: exp.Expr) -> float:
    try:
        return float(struct.unpack("f", struct.pack("f", _double(spelt, node)))[0])
    except OverflowError:
        raise Refused(f"{spelt} is too large for a float", node) from None


def _decimal(spelt: str, node: exp.Expr) -> Decimal:
    """A decimal that its type holds as it is; Spark would round any other."""
    sizes = [int(size.name) for size in node.args["to"].expressions]
    try:
        number = Decimal(spelt)
    except DecimalException:
        number = Decimal("NaN")
    if len(sizes) != 2 or not number.is_finite() or not _fits(number, *sizes):
        raise Refused(f"{spelt!r} does not fit its type, decimal{tuple(sizes)}", node)
    return number


def _fits(number: Decimal, precision: int, scale: int) -> bool:
    _, digits, exponent = number.as_tuple()
    zeros = len(digits) - len("".join(map(str, digits)).rstrip("0"))
    return not number or (
        number.adjusted() < precision - scale and -(int(exponent) + zeros) <= scale
    )


def _date(spelt: str, node: exp.Expr) -> date:
    found = read_date(spelt)
    if found is None:
        raise Refused(f"{spelt!r} is no date such as 2024-02-29", node)
    return found


def _timestamp(spelt: str, node: exp.Expr) -> datetime:
    found = read_timestamp(spelt)
    if found is None or _FINER.search(spelt):
        raise Refused(f"{spelt!r} is no timestamp such as 2024-02-29 12:30:00.000001", node)
    return found


_FROM_TEXT: dict[object, Callable[[str, exp.Expr], Any]] = {
    exp.DType.DATE: _date,
    exp.DType.DECIMAL: _decimal,
    exp.DType.TIMESTAMP: _timestamp,
    exp.DType.TIMESTAMPLTZ: _timestamp,
    exp.DType.TIMESTAMPNTZ: _timestamp,
    exp.DType.TIMESTAMPTZ: _timestamp,
}
_WHOLE = frozenset({exp.DType.TINYINT, exp.DType.SMALLINT, exp.DType.INT, exp.DType.BIGINT})
_FROM_NUMBER: dict[object, Callable[[str, exp.Expr], Any]] = {
    exp.DType.TINYINT: _sized(8),
    exp.DType.SMALLINT: _sized(16),
    exp.DType.INT: _sized(32),
    exp.DType.BIGINT: _sized(64),
    exp.DType.DOUBLE: _double,
    exp.DType.FLOAT: _single,
}


# Functions that spell values which SQL has no literals for


_NO_NUMBERS = {"infinity": math.inf, "-infinity": -math.inf, "nan": math.nan}


def _is_no_number(node: exp.Expr) -> bool:
    return type(node) is exp.Literal and str(node.this).lower() in _NO_NUMBERS


def _no_number(node: exp.Expr) -> float:
    return _NO_NUMBERS[text(*arguments(node, 1)).lower()]


def _itself(node: exp.Expr) -> Any:
    """A literal that has no reading but itself."""
    return literal(*arguments(node, 1))


def _list(node: exp.Expr) -> list[Any]:
    return [literal(part) for part in node.expressions]


def _object(node: exp.Expr) -> dict[Any, Any]:
    parts = _list(node)
    try:
        return dict(zip(parts[::2], parts[1::2], strict=True))
    except (TypeError, ValueError):  # a list for a name, or a name without a value
        raise Refused("object() takes names and values in turn", node) from None


_CASTS = frozenset({exp.Cast, exp.TryCast})
_NUMBERS = frozenset({exp.Literal, *_CASTS})
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
    "plain": _itself,
}
