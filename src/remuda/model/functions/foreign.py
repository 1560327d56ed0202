"""Functions that other systems' rules are made of: their coercions and their orders."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import datetime
from decimal import Decimal
from typing import Any

from remuda.model.functions.function import Function, table
from remuda.model.values import number

_VERSION_BREAK = re.compile(r"[-.]")
_NOT_OF_VERSION = re.compile(r"(^v|\+.*$)")
_NUMBER = re.compile(r"[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d{1,3})?", re.ASCII)
_INSTANT = re.compile(
    r"(\d{4}-\d\d-\d\d)[Tt](\d\d:\d\d:\d\d)(?:\.(\d{1,18}))?([Zz]|[-+]\d\d:\d\d)", re.ASCII
)
_WHOLE = re.compile(r"[-+]?[0-9]{1,10}")
_LARGE = 2**63
_DIGITS = re.compile(r"[0-9]+")


def _boxed(value: Any) -> Any:
    """A list as one value: the only element of another."""
    return [value] if isinstance(value, list) else value


def _json_type(value: Any) -> str | None:
    if isinstance(value, str):
        return "string"
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, Mapping):
        return "object"
    if isinstance(value, list):
        return "array"
    return "number" if number(value) is not None else None


def _growthbook_number(value: Any) -> Any:
    """The number that a value is in a comparison with a number."""
    return int(value) if isinstance(value, bool) else number_in(value)


def growthbook_version(value: Any) -> str:
    """The padded text that GrowthBook compares in the place of a version."""
    text = scalar_text(value) if isinstance(value, str) or _is_number(value) else ""
    parts = _VERSION_BREAK.split(_NOT_OF_VERSION.sub("", text or "0"))
    if len(parts) == 3:  # a release comes after what leads to it
        parts.append("~")
    return "-".join(part.rjust(5) if _DIGITS.fullmatch(part) else part for part in parts)


def _is_number(value: Any) -> bool:
    return number(value) is not None


def scalar_text(value: Any) -> str | None:
    """A scalar as text: numbers by their shortest, truth values as JSON has them."""
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    exact = number(value)
    if isinstance(exact, int):
        return str(Decimal(exact))  # Python writes no integers of more than 4,300 digits
    return None if exact is None else str(exact)


def number_in(value: Any) -> Any:
    """The number that a text is, or that the value is."""
    if isinstance(value, str):
        return Decimal(value.strip()) if _NUMBER.fullmatch(value.strip()) else None
    exact = number(value)
    return exact if not isinstance(exact, int) or abs(exact) < _LARGE else Decimal(exact)


def instant_in(value: Any) -> Any:
    """Milliseconds since 1970: a number of them, or a date and time as RFC 3339 writes it."""
    if not isinstance(value, str):
        return number_in(value)
    match = _INSTANT.fullmatch(value)
    if match is None:
        return None
    try:
        moment = datetime.fromisoformat(f"{match[1]}T{match[2]}{match[4].upper()}")
    except ValueError:
        return None
    fraction = Decimal(f"0.{match[3] or 0}")
    return Decimal(int(moment.timestamp()) * 1000) + fraction * 1000


def _instant_or_now(now: int, value: Any) -> Any:
    return instant_in(now if value is None else value)


def cesql_boolean(value: Any) -> bool | None:
    if isinstance(value, str):
        return {"true": True, "false": False}.get(value.lower())
    return bool(value) if isinstance(value, int) else None


def cesql_integer(value: Any) -> int | None:
    """A whole number of 32 bits."""
    if isinstance(value, str):
        value = int(value) if _WHOLE.fullmatch(value) else None
    if not isinstance(value, int):
        return None
    return int(value) if -(2**31) <= value < 2**31 else None


def cesql_string(value: Any) -> str | None:
    if isinstance(value, bool):
        return "true" if value else "false"
    whole = isinstance(value, int) and abs(value) < _LARGE
    return value if isinstance(value, str) else str(value) if whole else None


def _cesql_equal(first: Any, second: Any) -> bool | None:
    """Whether the first, cast to the kind of the second, is equal to it."""
    for kind, cast in ((bool, cesql_boolean), (int, cesql_integer), (str, cesql_string)):
        if isinstance(second, kind):
            found = cast(first)
            return None if found is None else found == second
    return None


def _cesql_trim(text: Any) -> str | None:
    return text.strip() if isinstance(text, str) else None


def _cesql_left(text: Any, n: Any) -> str | None:
    return str(text[:n]) if _is_part(text, n) else None


def _cesql_right(text: Any, n: Any) -> str | None:
    return str(text[max(len(text) - n, 0) :]) if _is_part(text, n) else None


def _is_part(text: Any, n: Any) -> bool:
    """Whether it is a text and a number of characters."""
    return isinstance(text, str) and isinstance(n, int) and n >= 0


def _cesql_substring(text: Any, position: Any, n: Any = None) -> str | None:
    """From the position on, which counts from 1, or from the end where it is negative."""
    if not _is_part(text, 0 if n is None else n) or not isinstance(position, int):
        return None
    if abs(position) > len(text):
        return None
    if position == 0:
        return ""
    start = position - 1 if position > 0 else len(text) + position
    return str(text[start : None if n is None else start + n])


FUNCTIONS = table(
    (
        Function("boxed", _boxed, 1, 1, whole=True),
        Function("json_type", _json_type, 1, 1, whole=True),
        Function("scalar_text", scalar_text, 1, 1),
        Function("number_in", number_in, 1, 1),
        Function("instant_in", instant_in, 1, 1),
        Function("instant_or_now", _instant_or_now, 1, 1, on_missing=True, clock=True),
        Function("growthbook_number", _growthbook_number, 1, 1, whole=True),
        Function("growthbook_version", growthbook_version, 1, 1, on_missing=True, whole=True),
        Function("cesql_boolean", cesql_boolean, 1, 1),
        Function("cesql_integer", cesql_integer, 1, 1),
        Function("cesql_string", cesql_string, 1, 1),
        Function("cesql_is_boolean", lambda value: cesql_boolean(value) is not None, 1, 1),
        Function("cesql_is_integer", lambda value: cesql_integer(value) is not None, 1, 1),
        Function("cesql_equal", _cesql_equal, 2, 2),
        Function("cesql_left", _cesql_left, 2, 2),
        Function("cesql_right", _cesql_right, 2, 2),
        Function("cesql_substring", _cesql_substring, 2, 3),
        Function("cesql_trim", _cesql_trim, 1, 1),
    )
)
