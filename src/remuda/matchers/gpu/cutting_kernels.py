"""What the device runs to cut columns into spaces; cutting.py has the words."""

from __future__ import annotations

from typing import Any

import numpy as np

from remuda.matchers.gpu.cutting import BITS, CODE, Step
from remuda.matchers.gpu.kernels import Array, Number, cuda, device
from remuda.matchers.gpu.lanes import VIEWS

_FIELDS = len(Step._fields)
_WHOLE, _SHORT = VIEWS.index("i8"), VIEWS.index("i4")
_SINGLE, _DOUBLE = VIEWS.index("f4"), VIEWS.index("f8")
_I1, _I2, _U1, _U2 = map(VIEWS.index, ("i1", "i2", "u1", "u2"))


@device
def _integer(view: Number, i: Number, data: Any) -> Any:
    """The integer at a place of a view."""
    if view == _I1:
        return np.int64(data[0][i])
    if view == _I2:
        return np.int64(data[1][i])
    if view == _SHORT:
        return np.int64(data[2][i])
    if view == _WHOLE:
        return np.int64(data[3][i])
    if view == _U1:
        return np.int64(data[4][i])
    if view == _U2:
        return np.int64(data[5][i])
    return np.int64(data[6][i])


@device
def _reached(value: Number, begin: Number, end: Number, thresholds: Array) -> Any:
    """How many of the ascending thresholds the value reaches."""
    low, high = begin, end
    while low < high:
        middle = (low + high) >> 1
        if thresholds[middle] <= value:
            low = middle + 1
        else:
            high = middle
    return low - begin


@device
def _bit(at: Number, data: Any) -> Any:
    return (data[_U1][at >> 3] >> (at & 7)) & 1


@device
def _space(row: Number, step: Number, plan: Array, data: Any) -> Any:
    """The space of a row's number."""
    view, i = plan[step], plan[step + 1] + row
    first, begin, end, other = plan[step + 3], plan[step + 4], plan[step + 5], plan[step + 6]
    if view < _SINGLE:
        value = _integer(view, i, data)
        if value < plan[step + 7] or value > plan[step + 8]:
            return other
        return first + _reached(value, begin, end, data[_WHOLE])
    number = np.float64(data[_SINGLE][i]) if view == _SINGLE else data[_DOUBLE][i]
    if number != number:  # noqa: PLR0124 - NaN
        return other
    return first + _reached(number, begin, end, data[_DOUBLE])


@device
def _code(row: Number, step: Number, plan: Array, data: Any) -> Any:
    """The code of a row, that of null where it is none."""
    view, i, null = plan[step], plan[step + 1] + row, plan[step + 6]
    code = np.int64(_bit(i, data)) if view == BITS else _integer(view - CODE, i, data)
    return code if 0 <= code < null else null


@device
def _put(space: Number, begin: Number, n: Number, spaces: Array) -> None:
    """Add a space to a row's, which ascend."""
    at = begin + n
    while at > begin and spaces[at - 1] > space:
        spaces[at] = spaces[at - 1]
        at -= 1
    spaces[at] = space


def _cut_rows(
    n_rows: Number, plan: Array, data: Any, counts: Array, starts: Array, spaces: Array,
    writes: Any,
) -> None:  # fmt: skip
    """Count the spaces of each row; or write them, once it is known where they start."""
    row = cuda.grid(1)
    while row < n_rows:
        n, begin = 0, starts[row] if writes else 0
        for step in range(0, len(plan), _FIELDS):
            if plan[step + 2] >= 0 and _bit(plan[step + 2] + row, data) == 0:
                continue
            if plan[step] < CODE:
                if writes:
                    _put(_space(row, step, plan, data), begin, n, spaces)
                n += 1
                continue
            code = plan[step + 4] + _code(row, step, plan, data)
            for i in range(data[_WHOLE][code], data[_WHOLE][code + 1]):
                if writes:
                    _put(data[_SHORT][plan[step + 5] + i], begin, n, spaces)
                n += 1
        if not writes:
            counts[row] = n
        row += cuda.gridsize(1)


cut_rows: Any = cuda.jit(_cut_rows)
