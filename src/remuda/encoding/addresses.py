"""Columns of addresses: those of IPv4 are read by a kernel, all others one by one."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from remuda.arrays import Bytes, Longs, frozen
from remuda.encoding.spaces import OTHER, OrderSpaces
from remuda.encoding.texts import buffers_of
from remuda.jit import kernel

_NONE, _OTHER_FAMILY = -1, -2  # what the kernel says of a text that is no address of IPv4


def spaces_of(spaces: OrderSpaces, values: Any) -> NDArray[Any]:
    """The space of each text of a column without nulls, among networks."""
    numbers = _numbers(values)
    space_of = OTHER + 1 + np.searchsorted(spaces.fours, 2 * numbers, side="right")
    space_of[numbers < 0] = OTHER
    others = np.flatnonzero(numbers == _OTHER_FAMILY)
    if len(others):
        texts = values.take(pa.array(others)).to_pylist()
        space_of[others] = [spaces.of(text) for text in texts]
    return space_of


def _numbers(values: Any) -> Longs:
    data, edges = buffers_of(values)
    found = np.empty(len(values), np.int64)
    _read(frozen(data), edges, found)
    return found


@kernel
def _read(letters: Bytes, starts: Longs, numbers: Longs) -> None:
    """Each text as the number of its address: four parts of one to three digits, none begun by 0.

    As Python's `ipaddress` reads them; a colon leaves the text to it.
    """
    for row in range(len(numbers)):
        number, part, n_digits, n_parts = 0, 0, 0, 0
        place, end = starts[row], starts[row + 1]
        while place < end:
            letter = letters[place]
            if 48 <= letter <= 57:
                if n_digits == 3 or (n_digits > 0 and part == 0):
                    break
                part = part * 10 + (letter - 48)
                n_digits += 1
            elif letter == 46 and n_digits > 0 and n_parts < 3 and part < 256:
                number, part, n_digits, n_parts = number * 256 + part, 0, 0, n_parts + 1
            else:
                break
            place += 1
        if place == end and n_parts == 3 and n_digits > 0 and part < 256:
            numbers[row] = number * 256 + part
            continue
        numbers[row] = _NONE
        for i in range(starts[row], end):
            if letters[i] == 58:
                numbers[row] = _OTHER_FAMILY
                break
