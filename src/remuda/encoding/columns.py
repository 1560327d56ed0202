"""Columns for a device to cut into spaces: what is to be done for each row, and with what."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from remuda.arrays import Ragged
from remuda.encoding.device_columns import Bits, OnDevice

_WHOLE = np.iinfo(np.int64)


class Cut(NamedTuple):
    """The partition of one dimension by numbers.

    A number's space is `first` plus how many of the thresholds it reaches; that of NaN, and of an
    integer below `least` or above `most`, is `other`.
    """

    first: int
    thresholds: NDArray[Any]  # int64 for integers, float64 for floats
    other: int
    least: int = _WHOLE.min
    most: int = _WHOLE.max


@dataclass(frozen=True, slots=True)
class Numbers:
    """A column of numbers, days or microseconds, and the dimensions that look at it."""

    values: NDArray[Any] | OnDevice
    valid: Bits | None  # None where all are there
    cuts: tuple[Cut, ...]


@dataclass(frozen=True, slots=True)
class Codes:
    """A column of which each distinct value was looked at; the last row of `spaces` is null's.

    Codes are numbers, or the bits of booleans. One that there is not is null, too.
    """

    codes: NDArray[Any] | OnDevice | Bits
    valid: Bits | None
    spaces: Ragged


@dataclass(frozen=True, slots=True)
class Columns:
    """All columns that matter of so many rows."""

    n_rows: int
    columns: tuple[Numbers | Codes, ...]
