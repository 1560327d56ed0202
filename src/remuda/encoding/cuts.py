"""Cuts in the order of a kind, where those at whole numbers take eight bytes each."""

from __future__ import annotations

import math
from array import array
from bisect import bisect_left
from collections.abc import Sequence
from decimal import Decimal
from typing import Any, overload

import numpy as np

from remuda.arrays import Floats, Longs
from remuda.model.values import number

Cut = tuple[Any, int]  # a value, and 0 for the cut right before it or 1 for right after

BEFORE, AFTER = 0, 1
_INT64 = np.iinfo(np.int64)
_MOST = 1 << 61  # twice of it has room in 64 bits
_EXACT = 1 << 52  # whole numbers up to here are floats, and what follows them lies within one


class WholeCuts(Sequence[Cut]):
    """Ascending cuts at whole numbers: of each, twice the number, and one more behind it.

    As pairs they would take ten times as much, in every process that asks an index with millions.
    """

    __slots__ = ("_codes",)

    def __init__(self, codes: Longs) -> None:
        self._codes = array("q", codes.tobytes())

    def __len__(self) -> int:
        return len(self._codes)

    @overload
    def __getitem__(self, at: int) -> Cut: ...
    @overload
    def __getitem__(self, at: slice) -> list[Cut]: ...
    def __getitem__(self, at: int | slice) -> Cut | list[Cut]:
        found = self._codes[at]
        return _pair(found) if isinstance(found, int) else list(map(_pair, found))

    def n_before(self, cut: Cut) -> int:
        """How many cuts lie before this one, which may be at any number."""
        value, side = cut
        if type(value) is not int:
            if not -_MOST < value < _MOST:
                return len(self) if value > 0 else 0
            whole = math.floor(value)
            value, side = (whole, side) if whole == value else (whole + 1, BEFORE)
        return bisect_left(self._codes, 2 * value + side)

    def first_beyond(self) -> tuple[Longs, Floats]:
        """The smallest integer, and the smallest float, that lies beyond each cut."""
        codes = np.frombuffer(self._codes, np.int64)
        values, sides = codes >> 1, codes & 1
        if len(codes) and not -_EXACT < values[0] <= values[-1] < _EXACT:
            return _first_beyond(self)
        floats = values.astype(np.float64)
        return values + sides, np.where(sides == AFTER, np.nextafter(floats, np.inf), floats)


def _pair(code: int) -> Cut:
    return code >> 1, code & 1


def packed(cuts: Sequence[Cut]) -> Sequence[Cut]:
    """The same cuts of numbers, in less room where all are at whole ones that fit."""
    if isinstance(cuts, WholeCuts) or not cuts:
        return cuts
    values = [value for value, _ in cuts]
    return of_whole(values, [side for _, side in cuts]) or cuts


def of_whole(values: list[Any], sides: list[int]) -> WholeCuts | None:
    """Cuts at these numbers, unless one is not whole or is too large."""
    if {*map(type, values)} != {int} or not {*sides} <= {BEFORE, AFTER}:
        return None
    if not -_MOST < min(values) <= max(values) < _MOST:
        return None
    return WholeCuts(2 * np.array(values, np.int64) + np.array(sides, np.int64))


def n_before(cuts: Sequence[Cut], cut: Cut) -> int:
    """How many of ascending cuts lie before this one."""
    return cuts.n_before(cut) if isinstance(cuts, WholeCuts) else bisect_left(cuts, cut)


def n_up_to(cuts: Sequence[Cut], cut: Cut) -> int:
    """How many of ascending cuts lie before this one, or are this one."""
    at = n_before(cuts, cut)
    return at + (at < len(cuts) and cuts[at] == cut)


def first_beyond(cuts: Sequence[Cut]) -> tuple[Longs, Floats]:
    """The smallest integer, and the smallest float, that lies beyond each of the numbers' cuts.

    Those that lie beyond all integers, or beyond all floats, have none.
    """
    return cuts.first_beyond() if isinstance(cuts, WholeCuts) else _first_beyond(cuts)


def _first_beyond(cuts: Sequence[Cut]) -> tuple[Longs, Floats]:
    integers = map(_first_integer, cuts)
    reachable = [max(value, _INT64.min) for value in integers if value <= _INT64.max]
    floats = [at for at in map(_first_float, cuts) if not math.isnan(at)]
    return np.array(reachable, np.int64), np.array(floats, np.float64)


def _first_integer(cut: Cut) -> int:
    value, side = cut
    if isinstance(value, float) or (isinstance(value, Decimal) and value.is_infinite()):
        return _INT64.max + 1 if value > 0 else _INT64.min
    if (
        isinstance(value, Decimal) and abs(value.adjusted()) > 400
    ):  # another is as good, and quicker
        far = 10**400 if value.adjusted() > 0 else Decimal("0.5")
        value = far * (value > 0) - far * (value < 0)
    whole: int = math.ceil(value)
    return whole + 1 if side == AFTER and whole == value else whole


def _first_float(cut: Cut) -> float:
    value, side = cut
    try:
        as_float = float(value)
    except OverflowError:
        as_float = math.inf if value > 0 else -math.inf
    while _beyond(as_float, value, side) and as_float > -math.inf:
        as_float = math.nextafter(as_float, -math.inf)
    while not _beyond(as_float, value, side):
        if as_float == math.inf:
            return math.nan  # no float lies beyond
        as_float = math.nextafter(as_float, math.inf)
    return as_float


def _beyond(at: float, value: Any, side: int) -> bool:
    exact = number(at)
    return exact is not None and (exact > value or (exact == value and side == BEFORE))
