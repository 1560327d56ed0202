"""Intervals as Spark writes them: `INTERVAL 7 DAYS`, `INTERVAL '1-6' YEAR TO MONTH`."""

from __future__ import annotations

import re
from collections.abc import Sequence
from decimal import Decimal
from typing import NamedTuple

from sqlglot.tokenizer_core import Token, TokenType

from remuda.errors import ParseError


class Interval(NamedTuple):
    """A span of time: months and days differ in length."""

    months: int
    days: int
    microseconds: int


_MONTHS = {"month": 1, "year": 12}
_DAYS = {"day": 1, "week": 7}
_MICROSECONDS = {
    "microsecond": 1, "millisecond": 1_000, "second": 1_000_000, "minute": 60_000_000,
    "hour": 3_600_000_000,
}  # fmt: skip
_UNITS = {*_MONTHS, *_DAYS, *_MICROSECONDS}
_PAIR = re.compile(r"\s*([+-]?\d+(?:\.\d+)?)\s*([a-z]+)\s*", re.IGNORECASE | re.ASCII)
_FIELDS = ("day", "hour", "minute", "second")
_NUMBER = re.compile(r"[+-]?\d+(?:\.\d+)?", re.ASCII)


def read_interval(found: Sequence[Token], at: int, text: str) -> tuple[Interval, int]:
    """The interval whose first token behind INTERVAL is at this place, and the place behind it."""
    start = found[at].start if at < len(found) else len(text)
    months = days = 0
    micros = Decimal(0)
    n_parts = 0
    while at < len(found):
        sign, value, unit, end = _part(found, at)
        if value is None or (n_parts and unit is None):
            break
        spans = _spans(value, unit, _range_end(found, end))
        if spans is None:
            raise ParseError("an interval is such as INTERVAL '7' DAY", text, found[at].start)
        if _range_end(found, end) is not None:
            end += 2
        for amount, name in spans:
            months += sign * int(amount) * _MONTHS.get(name, 0)
            days += sign * int(amount) * _DAYS.get(name, 0)
            micros += sign * amount * _MICROSECONDS.get(name, 0)
        at, n_parts = end, n_parts + 1
    if not n_parts:
        raise ParseError("an interval is such as INTERVAL '7' DAY", text, start)
    return Interval(months, days, int(micros)), at


def _part(found: Sequence[Token], at: int) -> tuple[int, str | None, str | None, int]:
    """A sign, a number or a text, its unit, and the place behind them."""
    sign = -1 if found[at].token_type is TokenType.DASH else 1
    at += sign < 0
    kinds = (TokenType.NUMBER, TokenType.STRING)
    if at >= len(found) or found[at].token_type not in kinds:
        return sign, None, None, at
    unit = _unit(found[at + 1]) if at + 1 < len(found) else None
    return sign, found[at].text, unit, at + 1 + (unit is not None)


def _unit(token: Token) -> str | None:
    if token.token_type is TokenType.STRING:
        return None
    word = token.text.lower()
    return next((one for one in (word, word.removesuffix("s")) if one in _UNITS), None)


def _range_end(found: Sequence[Token], at: int) -> str | None:
    """The unit behind TO."""
    if at + 1 < len(found) and found[at].text.upper() == "TO":
        return _unit(found[at + 1])
    return None


def _spans(value: str, unit: str | None, last: str | None) -> list[tuple[Decimal, str]] | None:
    """How much of which units; None where that cannot be read."""
    if last is not None:
        return _ranged(value.strip(), unit, last)
    if unit is not None:
        return [(Decimal(value.strip()), unit)] if _is_amount(value.strip(), unit) else None
    pairs = list(_PAIR.finditer(value.lower().removeprefix("interval ")))
    if not pairs or "".join(one[0] for one in pairs) != value.lower().removeprefix("interval "):
        return None
    spans = [(Decimal(one[1]), one[2].removesuffix("s")) for one in pairs]
    return spans if all(_is_amount(str(amount), name) for amount, name in spans) else None


def _is_amount(value: str, unit: str) -> bool:
    return (
        unit in _UNITS and bool(_NUMBER.fullmatch(value)) and ("." not in value or unit == "second")
    )


def _ranged(value: str, unit: str | None, last: str) -> list[tuple[Decimal, str]] | None:
    """`'1-6' YEAR TO MONTH`, `'1 12:30:00' DAY TO SECOND` and what lies between."""
    sign = -1 if value.startswith("-") else 1
    plain = value.lstrip("+-")
    if (unit, last) == ("year", "month"):
        names: Sequence[str] = ("year", "month")
        parts = plain.split("-")
    elif unit in _FIELDS and last in _FIELDS:
        names = _FIELDS[_FIELDS.index(unit) : _FIELDS.index(last) + 1]
        parts = re.split("[ :]", plain)
    else:
        return None
    if len(parts) != len(names) or not all(map(_is_amount, parts, names)):
        return None
    return [(sign * Decimal(part), name) for part, name in zip(parts, names, strict=True)]
