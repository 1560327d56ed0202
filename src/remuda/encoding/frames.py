"""Data frames as Arrow tables, whatever their columns hold."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from datetime import date, datetime
from decimal import Decimal
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa

from remuda.arrays import starts_of
from remuda.model.values import instant, tidy

Array: TypeAlias = Any  # pyarrow has no types of its own

_REFUSED = (pa.ArrowException, TypeError, ValueError)
_DIGITS = 38  # before and behind the point of Arrow's widest decimal
_STRANGE = type  # stands for the kinds that satisfy nothing


def table_of(frame: Any) -> pa.Table:
    """A data frame as a table; a column that Arrow refuses is a union of what its values are."""
    try:
        return pa.table(frame)
    except _REFUSED:
        is_pandas = hasattr(frame, "iloc")
        if not is_pandas and not hasattr(frame, "get_columns"):
            raise
    names = list(frame.columns)
    columns = [frame.iloc[:, i] for i in range(len(names))] if is_pandas else frame.get_columns()
    pairs = zip(map(str, names), map(_column, columns), strict=True)
    return pa.table(dict(pairs))


def _column(series: Any) -> Array:
    try:
        return pa.array(series, from_pandas=True) if hasattr(series, "iloc") else series.to_arrow()
    except _REFUSED:
        values = map(tidy, series)
        return _mixed([None if _is_nan(value) else value for value in values])


def _is_nan(value: Any) -> bool:
    """Whether it is what pandas has in the place of null."""
    return type(value) is float and math.isnan(value)


def _mixed(values: Sequence[Any]) -> Array:
    places: dict[Any, list[int]] = {}
    for i, value in enumerate(values):
        places.setdefault(_kind(value), []).append(i)
    codes, offsets = np.empty(len(values), np.int8), np.empty(len(values), np.int32)
    children = []
    for code, (kind, at) in enumerate(places.items()):
        codes[at], offsets[at] = code, np.arange(len(at))
        children.append(_ARRAYS[kind]([values[i] for i in at]))
    return pa.UnionArray.from_dense(pa.array(codes), pa.array(offsets), children or [pa.nulls(0)])


def _kind(value: Any) -> Any:
    """The kind of array that can hold the value."""
    kind = type(value)
    if kind is int and value.bit_length() > 63:
        return Decimal if abs(value) < 10**_DIGITS else _STRANGE
    if kind is Decimal and not (value.is_finite() and _fits(value)):
        return _STRANGE
    if kind is str and not value.isascii() and value.encode("utf-8", "replace").decode() != value:
        return _STRANGE
    if kind is dict and not all(_kind(name) is str for name in value):
        return _STRANGE
    return kind if kind in _ARRAYS else _STRANGE


def _fits(value: Decimal) -> bool:
    exponent = value.as_tuple().exponent
    return value.adjusted() < _DIGITS and isinstance(exponent, int) and exponent >= -_DIGITS


def _lists(values: list[list[Any]]) -> Array:
    inner = [one if type(one) is list else tidy(one) for value in values for one in value]
    return pa.ListArray.from_arrays(_starts(values), _mixed(inner))


def _objects(values: list[dict[str, Any]]) -> Array:
    names = [name for value in values for name in value]
    inner = [one if type(one) is list else tidy(one) for value in values for one in value.values()]
    return pa.MapArray.from_arrays(_starts(values), pa.array(names, pa.string()), _mixed(inner))


def _starts(values: Sequence[Any]) -> Array:
    return pa.array(starts_of([len(value) for value in values]), pa.int32())


def _decimals(values: list[Any]) -> Array:
    return pa.array([Decimal(one) for one in values], pa.decimal256(76, _DIGITS))


def _moments(values: list[datetime]) -> Array:
    return pa.array([instant(one) for one in values], pa.timestamp("us", "UTC"))


_ARRAYS: dict[Any, Callable[[list[Any]], Array]] = {
    type(None): lambda values: pa.nulls(len(values)),
    bool: pa.array,
    int: pa.array,
    float: pa.array,
    str: pa.array,
    date: pa.array,
    datetime: _moments,
    Decimal: _decimals,
    list: _lists,
    dict: _objects,
    _STRANGE: lambda values: pa.array([b""] * len(values)),
}
