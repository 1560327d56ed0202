"""Columns for a device to cut into spaces: what is to be done for each row, and with what."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

from numpy.typing import NDArray

from remuda.arrays import Ints, Ragged


class Cut(NamedTuple):
    """The partition of one dimension by numbers.

    A number's space is `first` plus how many of the thresholds it reaches; NaN's is `other`.
    """

    first: int
    thresholds: NDArray[Any]  # int64 for integers, float64 for floats
    other: int


@dataclass(frozen=True, slots=True)
class Numbers:
    """A column of numbers, and the dimensions that look at it."""

    values: NDArray[Any]
    valid: NDArray[Any] | None  # a bit a row, from `bit` on; None where all are there
    bit: int
    cuts: tuple[Cut, ...]


@dataclass(frozen=True, slots=True)
class Codes:
    """A column of which each distinct value was looked at; the last row of `spaces` is null's."""

    codes: Ints
    spaces: Ragged


@dataclass(frozen=True, slots=True)
class Columns:
    """All columns that matter of so many rows."""

    n_rows: int
    columns: tuple[Numbers | Codes, ...]
