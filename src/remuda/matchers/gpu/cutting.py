"""Columns cut into spaces by the device: a thread a row.

The columns go up side by side as bytes, as they lie in Arrow's buffers; those that lie on the
device already are copied there. What is to be done with them is a list of steps: of a number, how
many sorted thresholds it reaches; of a code, which spaces its value has. The events that come back
are those that the encoder gives.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from remuda.arrays import Longs, starts_of
from remuda.encoding.columns import Codes, Columns, Numbers
from remuda.encoding.device_columns import Bits, OnDevice
from remuda.encoding.table import EventBatch
from remuda.matchers.gpu.lanes import VIEWS, Lane, borrowed

CODE = len(VIEWS)  # above it, codes in each of the views
BITS = 2 * CODE  # codes that are bits
_ALIGNED = 8


class Step(NamedTuple):
    """What a row's value on one dimension takes, or a code's on all of them."""

    view: int
    values: int  # the first one's place in its view, or its bit
    valid: int  # the first one's bit, or -1
    first: int  # space of numbers; the least of codes, by which steps are sorted
    begin: int  # of the thresholds, or of the starts of codes' spaces, in 64-bit places
    end: int  # of the thresholds; or where the codes' spaces begin, in 32-bit places
    other: int  # the space of what is no number within bounds; or the code of null
    least: int
    most: int


def cut(columns: Columns) -> EventBatch:
    """The rows as events."""
    if not columns.columns:
        return EventBatch(np.zeros(columns.n_rows + 1, np.int64), np.empty(0, np.int32))
    staged = _Staged(sum(_room(one) for column in columns.columns for one in _sent(column)))
    for column in columns.columns:
        if isinstance(column, Numbers):
            staged.add_numbers(column)
        else:
            staged.add_codes(column)
    with borrowed() as lane:
        return _run(lane, columns.n_rows, staged)


def _sent(column: Numbers | Codes) -> Iterator[NDArray[Any]]:
    """The arrays of a column that have to be sent to the device."""
    own: tuple[Any, ...]
    if isinstance(column, Numbers):
        own = column.values, column.valid, *(one.thresholds for one in column.cuts)
    else:
        own = column.codes, column.valid, column.spaces.starts, column.spaces.items
    for one in own:
        array = one.bytes if isinstance(one, Bits) else one
        if isinstance(array, np.ndarray):
            yield array


def _room(array: NDArray[Any] | OnDevice) -> int:
    return -(-array.nbytes // _ALIGNED) * _ALIGNED


class _Staged:
    """The bytes of a lane's buffer, each array at an aligned place, and the steps.

    What is to be sent lies before what is on the device.
    """

    def __init__(self, n_sent: int) -> None:
        self.sent: list[tuple[int, NDArray[Any]]] = []
        self.there: list[tuple[int, OnDevice]] = []
        self.steps: list[Step] = []
        self.n_sent, self.n_bytes = n_sent, n_sent
        self._at = 0

    def add_numbers(self, column: Numbers) -> None:
        kind = column.values.dtype
        view, values = VIEWS.index(kind.str[1:]), self._put(column.values) // kind.itemsize
        valid = self._put_bits(column.valid)
        for one in column.cuts:
            begin = self._put(one.thresholds) // _ALIGNED
            bounds = begin, begin + len(one.thresholds), one.other, one.least, one.most
            self.steps.append(Step(view, values, valid, one.first, *bounds))

    def add_codes(self, column: Codes) -> None:
        if isinstance(column.codes, Bits):
            view, codes = BITS, self._put_bits(column.codes)
        else:
            kind = column.codes.dtype
            view = CODE + VIEWS.index(kind.str[1:])
            codes = self._put(column.codes) // kind.itemsize
        valid = self._put_bits(column.valid)
        starts = self._put(column.spaces.starts) // _ALIGNED
        spaces = self._put(column.spaces.items) // 4
        least, null = int(column.spaces.items.min(initial=0)), len(column.spaces.starts) - 2
        self.steps.append(Step(view, codes, valid, least, starts, spaces, null, 0, 0))

    def _put_bits(self, bits: Bits | None) -> int:
        return -1 if bits is None else 8 * self._put(bits.bytes) + bits.first

    def _put(self, array: NDArray[Any] | OnDevice) -> int:
        """Take up an array; the byte where it will lie."""
        if isinstance(array, OnDevice):
            at, self.n_bytes = self.n_bytes, self.n_bytes + _room(array)
            self.there.append((at, array))
        else:
            at, self._at = self._at, self._at + _room(array)
            self.sent.append((at, array))
        return at


def _run(lane: Lane, n_rows: int, staged: _Staged) -> EventBatch:
    from remuda.matchers.gpu.cutting_kernels import cut_rows  # which imports CUDA

    data = lane.assemble("columns", staged.n_sent, staged.n_bytes, staged.sent, staged.there)
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
