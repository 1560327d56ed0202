"""Pre-operations undone: raw values that a chain of operations turns into wanted ones."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, datetime, timedelta
from decimal import Decimal, DecimalException
from functools import lru_cache
from typing import Any

from remuda.model import operations
from remuda.model.calendars import Extract
from remuda.model.values import key, number

_MANY = 400  # raw values of one chain
_LONG_TEXT, _LONG_LIST = 10_000, 1_000
_LAST_MOMENT = 6 * 10**13  # milliseconds: the year 9999 is 2.5e14 away, the year 1 6.2e13
_BITS = re.compile("[01]{32}")
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_TOKEN = re.compile(r"'((?:[^']|'')*)'|(([A-Za-z])\3*)|[\[\]]|([^'])")


def raw_values(chain: Iterable[operations.Operation], values: Iterable[Any], now: int) -> list[Any]:
    """Candidates for raw values: those that undo the operations, and the values themselves.

    An operation passes through what it does not apply to, so each value may be its own.
    """
    found = list(values)
    for operation in reversed(tuple(chain)):
        undone = [raw for value in found for raw in _undone(operation, value, now)]
        found = [*undone, *found][:_MANY]
    return found


def _undone(operation: operations.Operation, value: Any, now: int) -> Iterator[Any]:
    """Values that the operation may turn into `value`."""
    match operation:
        case operations.Calculate():
            yield from _uncalculated(operation, value)
        case operations.Divide():
            yield from _undivided(operation, value)
        case operations.BinaryConversion() if isinstance(value, str) and _BITS.fullmatch(value):
            bits = int(value, 2)
            yield bits - 2**32 if bits >= 2**31 else bits
        case operations.Length() if type(value) is int and 0 <= value <= _LONG_TEXT:
            yield "x" * value
        case operations.Size() if type(value) is int and 0 < value <= _LONG_LIST:
            yield list(range(value))
        case operations.Substring(begin, end) if isinstance(value, str) and begin <= _LONG_TEXT:
            whole = "x" * max(begin, 0) + value
            yield from (whole, whole + "y" if end is not None else whole)
        case operations.DateTime():
            yield from _moments_of(operation, value, now)
        case operations.ToDateTime(format):
            milliseconds = number(value)
            if milliseconds is not None and -_LAST_MOMENT < milliseconds < _LAST_MOMENT:
                yield _written(format, _EPOCH + timedelta(milliseconds=int(milliseconds)))


def _uncalculated(operation: operations.Calculate, value: Any) -> Iterator[Any]:
    wanted = number(value)
    if wanted is None or isinstance(wanted, float):  # no number, or an infinity
        return
    try:
        match operation.operator:
            case operations.Arithmetic.ADDITION:
                yield _handy(wanted - operation.exact)
            case operations.Arithmetic.SUBTRACTION:
                yield _handy(wanted + operation.exact)
            case operations.Arithmetic.MULTIPLICATION:
                yield _handy(wanted / operation.exact) if operation.exact else 1
    except DecimalException:
        return


def _handy(exact: Decimal) -> Any:
    """The number as JSON would have it, where that is the same."""
    if exact == exact.to_integral_value() and exact.adjusted() < 30:
        return int(exact)
    return float(exact) if Decimal(repr(float(exact))) == exact else exact


def _undivided(operation: operations.Divide, value: Any) -> Iterator[Any]:
    wanted = number(value)
    if not isinstance(wanted, int) or operation.rhs == 0:
        return
    if operation.operator is operations.Integral.MODULO:
        yield from (wanted, wanted + operation.rhs, wanted - operation.rhs)
        yield wanted + operation.rhs * 7
    else:
        first = wanted * operation.rhs
        away = abs(operation.rhs) - 1
        yield from (first, first + away, first - away)


def _moments_of(operation: operations.DateTime, value: Any, now: int) -> Iterator[Any]:
    if operation.extract is Extract.DIFF_WITH_EPOCH:
        if type(value) is int:
            yield now - value
    elif operation.extract is Extract.YEAR:
        if type(value) is int and 1 < value < 9999:
            middle = datetime(value, 7, 1, tzinfo=UTC)
            yield from ((middle - _EPOCH) // timedelta(milliseconds=1), middle)
    else:
        yield from _by_field(operation).get(key(value), ())


@lru_cache(maxsize=128)
def _by_field(operation: operations.DateTime) -> dict[Any, list[int]]:
    """A few moments of each value that the field can have."""
    start = (datetime(2023, 12, 24, tzinfo=UTC) - _EPOCH) // timedelta(milliseconds=1)
    steps = ((86_400_000, 400), (3_600_000, 24), (60_000, 60), (1_000, 60), (1, 1_000))
    moments: dict[Any, list[int]] = {}
    for step, n in steps:
        for i in range(n):
            moment = start + i * step
            several = moments.setdefault(key(operation.apply(moment, 0)), [])
            if len(several) < 2:
                several.append(moment)
    return moments


# What the letters of Java's DateTimeFormatter write, of a moment in UTC.
_LETTERS: dict[str, Callable[[datetime, int], str]] = {
    "y": lambda at, n: f"{at.year:04d}"[-2:] if n == 2 else f"{at.year:0{n}d}",
    "M": lambda at, n: at.strftime("%b" if n == 3 else "%B") if n > 2 else f"{at.month:0{n}d}",
    "d": lambda at, n: f"{at.day:0{n}d}",
    "D": lambda at, n: f"{at.timetuple().tm_yday:0{n}d}",
    "H": lambda at, n: f"{at.hour:0{n}d}",
    "k": lambda at, n: f"{at.hour or 24:0{n}d}",
    "h": lambda at, n: f"{at.hour % 12 or 12:0{n}d}",
    "K": lambda at, n: f"{at.hour % 12:0{n}d}",
    "m": lambda at, n: f"{at.minute:0{n}d}",
    "s": lambda at, n: f"{at.second:0{n}d}",
    "S": lambda at, n: f"{at.microsecond:06d}000"[:n],
    "a": lambda at, _: "AM" if at.hour < 12 else "PM",
    "E": lambda at, n: at.strftime("%A" if n == 4 else "%a"),
    "X": lambda _, __: "Z",
    "x": lambda _, n: ("+00", "+0000", "+00:00", "+0000", "+00:00")[min(n, 5) - 1],
    "Z": lambda _, n: "GMT" if n == 4 else "Z" if n == 5 else "+0000",
    "O": lambda _, __: "GMT",
    "z": lambda _, __: "UTC",
}
_LETTERS |= {"u": _LETTERS["y"], "L": _LETTERS["M"], "V": _LETTERS["z"]}


def _written(format: str | None, moment: datetime) -> str:
    if format is None:
        return moment.strftime("%Y-%m-%dT%H:%M:%SZ")

    def write(token: re.Match[str]) -> str:
        quoted, run, letter, other = token.groups()
        if run:
            return _LETTERS[letter](moment, len(run)) if letter in _LETTERS else run
        return (quoted.replace("''", "'") or "'") if quoted is not None else other or ""

    return _TOKEN.sub(write, format)
