"""Texts read as other kinds of values, as Spark's CAST reads them, the session being in UTC."""

from __future__ import annotations

import math
from typing import Any

from remuda.model.functions import FUNCTIONS
from remuda.model.functions.arguments import day_of_text as read_date
from remuda.model.functions.arguments import moment_of_text as read_timestamp

__all__ = ["read_boolean", "read_date", "read_number", "read_timestamp"]

_BIGINT, _DOUBLE, _BOOLEAN = (FUNCTIONS[name].apply for name in ("bigint", "double", "boolean"))


def read_number(text: str) -> int | float | None:
    """An integer of 64 bits as BIGINT reads it, anything else as DOUBLE does; None for NaN."""
    whole: int | None = _BIGINT(text)
    double: float | None = _DOUBLE(text) if whole is None else None
    return whole if double is None or math.isnan(double) else double


def read_boolean(text: str) -> bool | None:
    """`true`, `f`, `1` and the like."""
    found: Any = _BOOLEAN(text)
    return None if found is None else bool(found)
