"""Columns of machine numbers, each cut into the spaces of a dimension in one call.

Arrow's functions, and NumPy's one after the other, take longer to call than a short column to cut.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from remuda.arrays import Bytes, Ints, Longs
from remuda.encoding.spaces import OTHER, ValueSpaces
from remuda.jit import kernel
from remuda.model.values import Kind

_ALL_VALID = np.empty(0, np.uint8)
_ALL_VALID.flags.writeable = False


def cut_numbers(values: pa.Array, spaces: ValueSpaces, start: int) -> tuple[Longs, Ints]:
    """The rows that have a number, and the spaces of these in a dimension that starts there."""
    n, begin = len(values), values.offset
    whole = pa.types.is_integer(values.type)
    validity, data = values.buffers()
    numbers = np.frombuffer(data, values.type.to_pandas_dtype())[begin : begin + n]
    numbers = numbers.astype(np.int64 if whole else np.float64, copy=False)
    numbers.flags.writeable = False  # as Arrow's own are: one kernel for all
    valid = np.frombuffer(validity, np.uint8) if values.null_count else _ALL_VALID
    valid.flags.writeable = False
    first, thresholds = OTHER, spaces.thresholds[0 if whole else 1]
    if Kind.NUMBER in spaces.first:
        first = spaces.first[Kind.NUMBER]
    rows, found = np.empty(n, np.int64), np.empty(n, np.int32)
    n = _cut(numbers, valid, begin, thresholds, start + first, start + OTHER, rows, found)
    return rows[:n], found[:n]


@kernel
def _cut(
    numbers: NDArray[np.int64] | NDArray[np.float64],
    valid: Bytes,
    begin: int,
    thresholds: NDArray[np.int64] | NDArray[np.float64],
    first: int,
    other: int,
    rows: Longs,
    spaces: Ints,
) -> int:
    """Note the rows and spaces of numbers that are valid, by bits from `begin` on, or all."""
    n = 0
    for i in range(len(numbers)):
        bit = begin + i
        if len(valid) > 0 and (valid[bit >> 3] >> (bit & 7)) & 1 == 0:
            continue
        value, n_reached, left = numbers[i], 0, len(thresholds)
        while left > 0:  # how many thresholds it reaches
            half = left >> 1
            if thresholds[n_reached + half] <= value:
                n_reached += half + 1
                left -= half + 1
            else:
                left = half
        rows[n] = i
        spaces[n] = first + n_reached if value == value else other  # noqa: PLR0124 - NaN is not
        n += 1
    return n
