"""Columns cut into spaces by the device: a thread a row.

The columns go up side by side as bytes, as they lie in Arrow's buffers. What is to be done with
them is a list of steps: of a number, how many sorted thresholds it reaches; of a code, which spaces
its value has. The events that come back are those that the encoder gives.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from remuda.arrays import Longs, starts_of
from remuda.encoding.columns import Codes, Columns, Numbers
from remuda.encoding.table import EventBatch
from remuda.matchers.gpu.lanes import VIEWS, Lane, borrowed

CODE = len(VIEWS)
_ALIGNED = 8


class Step(NamedTuple):
    """What a row's value on one dimension takes, or a code's on all of them."""

    view: int
    values: int  # the first one's place in its view
    valid: int  # the byte that has the first one's bit, or -1
    bit: int
    first: int  # space, or row of the codes' spaces
    begin: int  # of the thresholds, in 64-bit places
    end: int
    other: int


def cut(columns: Columns) -> EventBatch:
    """The rows as events."""
    if not columns.columns:
        return EventBatch(np.zeros(columns.n_rows + 1, np.int64), np.empty(0, np.int32))
    staged = _Staged()
    for column in columns.columns:
        if isinstance(column, Numbers):
            staged.add_numbers(column)
        else:
            staged.add_codes(column)
    with borrowed() as lane:
        return _run(lane, columns.n_rows, staged)


class _Staged:
    """The bytes to send, each array at an aligned place, and the steps."""

    def __init__(self) -> None:
        self.arrays: list[tuple[int, NDArray[Any]]] = []
        self.steps: list[Step] = []
        self.n_bytes = 0

    def add_numbers(self, column: Numbers) -> None:
        kind = column.values.dtype
        values = self._put(column.values) // kind.itemsize
        valid = -1 if column.valid is None else self._put(column.valid)
        view = VIEWS.index(kind.str[1:])
        for one in column.cuts:
            begin = self._put(one.thresholds) // _ALIGNED
            end = begin + len(one.thresholds)
            self.steps.append(
                Step(view, values, valid, column.bit, one.first, begin, end, one.other)
            )

    def add_codes(self, column: Codes) -> None:
        codes = self._put(column.codes) // 4
        starts = self._put(column.spaces.starts) // _ALIGNED
        spaces = self._put(column.spaces.items) // 4
        least = int(column.spaces.items.min(initial=0))
        self.steps.append(Step(CODE, codes, -1, 0, least, starts, spaces, 0))

    def _put(self, array: NDArray[Any]) -> int:
        """Take up an array; the byte where it will lie."""
        at = self.n_bytes
        self.arrays.append((at, array))
        self.n_bytes = -(-(at + array.nbytes) // _ALIGNED) * _ALIGNED
        return at


def _run(lane: Lane, n_rows: int, staged: _Staged) -> EventBatch:
    from remuda.matchers.gpu.cutting_kernels import cut_rows  # which imports CUDA

    data = lane.upload_all("columns", staged.n_bytes, staged.arrays)
    # in the order of spaces, so that a row's seldom have to change places
    steps = np.array(sorted(staged.steps, key=lambda step: step.first), np.int64)
    plan = lane.upload("steps", steps.ravel())
    counts = lane.device("row_counts", "i4", n_rows)
    nothing_starts, nothing = lane.device("row_starts", "i8", 1), lane.device("row_spaces", "i4", 1)
    lane.run(cut_rows, n_rows, (plan, data, counts, nothing_starts, nothing, False))
    starts: Longs = starts_of(lane.download("row_counts", "i4", n_rows))
    spaces = lane.device("row_spaces", "i4", max(int(starts[-1]), 1))
    lane.run(
        cut_rows, n_rows, (plan, data, counts, lane.upload("row_starts", starts), spaces, True)
    )
    return EventBatch(starts, lane.download("row_spaces", "i4", int(starts[-1])))
