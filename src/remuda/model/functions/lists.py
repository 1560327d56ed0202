"""Functions of whole lists, and of maps where Spark has them for maps."""

from __future__ import annotations

from typing import Any

from remuda.model.functions.arguments import short
from remuda.model.functions.extremes import Pick, extreme
from remuda.model.functions.function import Function, table
from remuda.model.values import key, tidy


def _size(value: Any) -> int | None:
    return len(value) if isinstance(value, list | dict) else None


def _array_size(value: Any) -> int | None:
    return len(value) if isinstance(value, list) else None


def _element_at(value: Any, position: Any) -> Any:
    """The element of that number, from 1, or from the end where it is negative."""
    if isinstance(value, dict):
        return _value_at(value, position)
    n = short(position)
    if not isinstance(value, list) or n is None or n == 0 or abs(n) > len(value):
        return None
    return tidy(value[n - 1 if n > 0 else n])


def _value_at(value: dict[Any, Any], name: Any) -> Any:
    wanted = key(name)
    return next((tidy(part) for own, part in value.items() if key(own) == wanted), None)


def _get(value: Any, position: Any) -> Any:
    """The element of that number, from 0."""
    n = short(position)
    if not isinstance(value, list) or n is None or not 0 <= n < len(value):
        return None
    return tidy(value[n])


def _of_list(value: Any, pick: Pick) -> Any:
    return extreme(value, pick) if isinstance(value, list) else None


FUNCTIONS = table(
    [
        Function("size", _size, 1, 1, whole=True),
        Function("array_size", _array_size, 1, 1, whole=True),
        Function("element_at", _element_at, 2, 2, whole=True),
        Function("get", _get, 2, 2, whole=True),
        Function("array_min", lambda value: _of_list(value, min), 1, 1, whole=True),
        Function("array_max", lambda value: _of_list(value, max), 1, 1, whole=True),
    ],
    cardinality="size",
    try_element_at="element_at",
)
