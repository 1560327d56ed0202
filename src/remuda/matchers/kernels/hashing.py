"""A hash table from numbers to numbers: open addressing in two flat arrays."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from remuda.arrays import Ints, Longs, frozen
from remuda.jit import bare, kernel
from remuda.matchers.kernels.growth import thawed

NO_KEY = -1
_QUARTER, _HALF, _LOW_HALF = np.uint64(16), np.uint64(32), np.uint64(0xFFFFFFFF)
_FACTORS = np.uint64(0x9E3779B1), np.uint64(0x85EBCA77), np.uint64(0xC2B2AE3D)


class Hashed(NamedTuple):
    """The value of the key at `keys[i]` is `values[i]`; NO_KEY is a free place."""

    keys: Longs
    values: Ints


@dataclass(slots=True)
class HashTable:
    """Keys, which are not negative, in places that their hashes lead to, each with its value."""

    keys: Longs
    values: Ints
    n: int

    @classmethod
    def of(cls, keys: Longs, values: Ints) -> HashTable:
        """A table of distinct keys."""
        return cls(*_filled(keys, values, len(keys)), len(keys))

    @property
    def arrays(self) -> Hashed:
        """What kernels read."""
        return frozen(Hashed(self.keys, self.values))

    @property
    def nbytes(self) -> int:
        return self.keys.nbytes + self.values.nbytes

    def __contains__(self, key: int) -> bool:
        return bool(self.keys[self._place(key)] == key)

    def __getitem__(self, key: int) -> int:
        at = self._place(key)
        if self.keys[at] != key:
            raise KeyError(key)
        return int(self.values[at])

    def __setitem__(self, key: int, value: int) -> None:
        if key not in self:
            self.n += 1
        if 5 * self.n > 4 * len(self.keys):
            kept = self.keys != NO_KEY
            self.keys, self.values = _filled(self.keys[kept], self.values[kept], self.n * 5 // 4)
        at = self._place(key)
        self.keys[at], self.values[at] = key, value

    def __delitem__(self, key: int) -> None:
        _close(self.keys, self.values, self._place(key))
        self.n -= 1

    def _place(self, key: int) -> int:
        # thawed even to be read, for kernels are compiled for arrays of one kind
        self.keys, self.values = thawed(self.keys), thawed(self.values)
        return place(self.keys, key)  # type: ignore[no-any-return]


def _filled(keys: Longs, values: Ints, n: int) -> tuple[Longs, Ints]:
    """Places for n keys, a third of them free, with these keys and values in them."""
    n_places = n + n // 2 + 8
    table = np.full(n_places, NO_KEY, np.int64), np.zeros(n_places, np.int32)
    _fill(*table, *frozen((keys, values)))
    return table


@bare
def hashed(key: int, n_places: int) -> np.int64:
    """The place where the search for a key begins."""
    low, high = np.uint64(key) & _LOW_HALF, np.uint64(key) >> _HALF
    mixed = low * _FACTORS[0] ^ high * _FACTORS[1]  # never more than 64 bits
    mixed = (mixed ^ mixed >> _HALF) & _LOW_HALF
    mixed = (mixed ^ mixed >> _QUARTER) * _FACTORS[2] & _LOW_HALF
    return np.int64(mixed * np.uint64(n_places) >> _HALF)


@bare
def place(keys: Longs, key: int) -> np.int64:
    """Where the key is, or would be."""
    at = hashed(key, len(keys))
    while keys[at] != key and keys[at] != NO_KEY:
        at = at + 1 if at + 1 < len(keys) else 0
    return np.int64(at)


@kernel
def _fill(keys: Longs, values: Ints, new_keys: Longs, new_values: Ints) -> None:
    for i in range(len(new_keys)):
        at = place(keys, new_keys[i])
        keys[at] = new_keys[i]
        values[at] = new_values[i]


@kernel
def _close(keys: Longs, values: Ints, gap: int) -> None:
    """Take away the key at `gap`, and move up those behind it that could not be found any more."""
    n = len(keys)
    slot = gap
    while True:
        slot = slot + 1 if slot + 1 < n else 0
        if keys[slot] == NO_KEY:
            keys[gap] = NO_KEY
            return
        from_home = (slot - hashed(keys[slot], n) + n) % n
        if from_home >= (slot - gap + n) % n:
            keys[gap] = keys[slot]
            values[gap] = values[slot]
            gap = slot
