"""Bits of integers; `&` is `bitwise_and`, `|` is `bitwise_or`, `^` and `~` are the others."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

from remuda.model.functions.arguments import integer
from remuda.model.functions.function import Function, table


def _of_two(operation: Callable[[int, int], int]) -> Callable[[Any, Any], int | None]:
    def apply(left: Any, right: Any) -> int | None:
        one, other = integer(left), integer(right)
        return None if one is None or other is None else operation(one, other)

    return apply


def _not(value: Any) -> int | None:
    found = integer(value)
    return None if found is None else ~found


def _bit_count(value: Any) -> int | None:
    if isinstance(value, bool):
        return int(value)
    found = integer(value)
    return None if found is None else (found % 2**64).bit_count()


def _bit_get(value: Any, place: Any) -> int | None:
    """The bit of that number, from 0, which is the lowest."""
    found, n = integer(value), integer(place)
    return None if found is None or n is None or not 0 <= n < 64 else found >> n & 1


FUNCTIONS = table(
    [
        Function("bitwise_and", _of_two(operator.and_), 2, 2),
        Function("bitwise_or", _of_two(operator.or_), 2, 2),
        Function("bitwise_xor", _of_two(operator.xor), 2, 2),
        Function("bitwise_not", _not, 1, 1),
        Function("bit_count", _bit_count, 1, 1),
        Function("bit_get", _bit_get, 2, 2),
    ],
    getbit="bit_get",
)
