"""Bits of integers; `&` is `bitwise_and`, `|` is `bitwise_or`, `^` and `~` are the others."""

from __future__ import annotations

import operator
from typing import Any

from remuda.model.functions.arguments import integer
from remuda.model.functions.function import Function, table, taking


def _bit_count(value: Any) -> int | None:
    if isinstance(value, bool):
        return int(value)
    found = integer(value)
    return None if found is None else (found % 2**64).bit_count()


@taking(integer, integer)
def _bit_get(value: int, place: int) -> int | None:
    """The bit of that number, from 0, which is the lowest."""
    return value >> place & 1 if 0 <= place < 64 else None


FUNCTIONS = table(
    [
        Function("bitwise_and", taking(integer, integer)(operator.and_), 2, 2),
        Function("bitwise_or", taking(integer, integer)(operator.or_), 2, 2),
        Function("bitwise_xor", taking(integer, integer)(operator.xor), 2, 2),
        Function("bitwise_not", taking(integer)(operator.invert), 1, 1),
        Function("bit_count", _bit_count, 1, 1),
        Function("bit_get", _bit_get, 2, 2),
    ],
    getbit="bit_get",
)
