"""Choices among values, where what is missing counts."""

from __future__ import annotations

from datetime import date
from typing import Any

from remuda.model.functions.arguments import moment
from remuda.model.functions.function import Function, table
from remuda.model.values import key, tidy


def _coalesce(*values: Any) -> Any:
    """The first that is there."""
    return next((one for one in values if one is not None), None)


def _nullif(value: Any, other: Any) -> Any:
    """The value, unless it equals the other."""
    return None if value is not None and other is not None and _equal(value, other) else value


def _equal(value: Any, other: Any) -> bool:
    """As values equal, and a date as its midnight; next to a date, text is what it reads as."""
    kinds = type(tidy(value)), type(tidy(other))
    if kinds[0] is not kinds[1] and any(issubclass(kind, date) for kind in kinds):
        one = moment(value)
        return one is not None and one == moment(other)
    return key(value) == key(other)


def _nvl2(value: Any, present: Any, missing: Any) -> Any:
    return missing if value is None else present


def _decode(value: Any, *cases: Any) -> Any:
    """What stands behind the first case that the value equals, or the last if it stands alone."""
    for case, given in zip(cases[::2], cases[1::2], strict=False):
        if (value is None and case is None) or (
            value is not None and case is not None and _equal(value, case)
        ):
            return given
    return cases[-1] if len(cases) % 2 else None


FUNCTIONS = table(
    [
        Function("coalesce", _coalesce, 1, None, on_missing=True, whole=True),
        Function("nvl", _coalesce, 2, 2, on_missing=True, whole=True),
        Function("nvl2", _nvl2, 3, 3, on_missing=True, whole=True),
        Function("nullif", _nullif, 2, 2, on_missing=True),
        Function("decode", _decode, 3, None, on_missing=True, whole=True),
    ],
    ifnull="nvl",
)
