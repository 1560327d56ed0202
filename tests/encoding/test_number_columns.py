"""Columns of numbers that are cut in one call have the spaces that each number has by itself."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from remuda.encoding.number_columns import cut_numbers
from remuda.encoding.spaces import ValueSpaces
from remuda.model.conditions import Condition, Exists, In, Range

_KINDS = [
    pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.uint8(), pa.uint16(), pa.uint32(),
    pa.float32(), pa.float64(),
]  # fmt: skip
_NUMBERS: list[Any] = [3, None, 0, 7, 100, None, None, 5, 4, 6, 1, None, 2, 8, 9, 127, None]
_FLOATS: list[Any] = [0.5, float("nan"), -0.0, float("inf"), float("-inf"), 4.5, None, 7.25]
_SPACES: dict[str, list[Condition]] = {
    "ranges": [Range(2, 5), Range(lower=7, lower_closed=False)],
    "points": [In((1, 4, 6.5)), In((100,))],
    "fractions": [Range(lower=0.1), In((0.5, 7.25))],
    "far": [Range(upper=10**30), In((-(2**63), 2**64))],
    "no numbers": [In(("a", "b"))],
    "anything": [Exists()],
}


@pytest.mark.parametrize("kind", _KINDS, ids=str)
@pytest.mark.parametrize("name", _SPACES)
def test_as_one_by_one(kind: pa.DataType, name: str) -> None:
    spaces = ValueSpaces(_SPACES[name])
    floats = _FLOATS if pa.types.is_floating(kind) else []
    every = pa.array([*_NUMBERS, *floats], kind)
    for values in (every, every.slice(3), every.slice(5, 9), every.drop_null(), every.slice(1, 1)):
        rows, found = cut_numbers(values, spaces, 10)
        each = enumerate(values.to_pylist())
        own = [(row, 10 + spaces.of(one)) for row, one in each if one is not None]
        assert list(zip(rows.tolist(), found.tolist(), strict=True)) == own


def test_of_a_buffer_that_may_be_written() -> None:
    values = pa.Array.from_buffers(pa.int64(), 3, [None, pa.py_buffer(bytearray(24))])
    rows, found = cut_numbers(values, ValueSpaces([Range(lower=0)]), 0)
    assert rows.tolist() == [0, 1, 2]
    assert len(set(found.tolist())) == 1
    assert np.issubdtype(found.dtype, np.int32)
