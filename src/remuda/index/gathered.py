"""Sequences of two kinds of items: stored ones, read when asked for, and Python objects."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar

from remuda.arrays import Longs

T = TypeVar("T")


class Gathered(Sequence[T]):
    """Stored items and made ones: item i is `stored[at[i]]`, or `made[~at[i]]` below zero."""

    def __init__(self, stored: Sequence[T], made: list[T], at: Longs) -> None:
        self.stored, self.made, self.at = stored, made, at

    def __len__(self) -> int:
        return len(self.at)

    def __getitem__(self, place: Any) -> Any:
        at = int(self.at[place])
        return self.stored[at] if at >= 0 else self.made[~at]
