"""2-dim predicate spaces: pairs of leaves, each with a list of the clauses found there."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from remuda.arrays import Ints, Longs, Words, starts_of
from remuda.matchers.kernels.hashing import NO_KEY, Hashed, HashTable
from remuda.matchers.kernels.pooled_lists import Listed, Lists

LEAF = 32  # a pair is its first leaf shifted by this, and its second

_SECOND = (1 << LEAF) - 1


class Paired(NamedTuple):
    """The arrays of PairLists."""

    numbers: Hashed
    lists: Listed


@dataclass(slots=True)
class PairLists:
    """The clauses of each 2-dim predicate space, in the list that the hash table numbers."""

    numbers: HashTable
    lists: Lists  # of slots, and of what their clauses need
    n_lists: int
    _partners: Lists | None = field(init=False, default=None)

    @classmethod
    def of(cls, pairs: Longs, slots: Ints, needs: Words) -> PairLists:
        """A list for each distinct pair, of the slots beside it; what all slots need comes last."""
        order = np.argsort(pairs, kind="stable")
        pairs, slots = pairs[order], slots[order]
        begins = np.flatnonzero(np.diff(pairs, prepend=NO_KEY))
        numbers = HashTable.of(pairs[begins], np.arange(len(begins), dtype=np.int32))
        lists = Lists.of(np.append(begins, len(pairs)), slots, needs[slots])
        return cls(numbers, lists, len(begins))

    @property
    def arrays(self) -> Paired:
        """What kernels read."""
        return Paired(self.numbers.arrays, self.lists.arrays)

    @property
    def nbytes(self) -> int:
        partners = self._partners.nbytes if self._partners else 0
        return self.numbers.nbytes + self.lists.nbytes + partners

    @property
    def partners(self) -> Lists:
        """The leaves that each leaf is paired with, ~leaf where that is the first of the pair.

        Made when something changes: only then all pairs of one leaf are asked for.
        """
        if self._partners is None:
            pairs = self.numbers.keys[self.numbers.keys != NO_KEY]
            first, second = pairs >> LEAF, pairs & _SECOND
            leaves = np.concatenate((first, second))
            order = np.argsort(leaves, kind="stable")
            partners = np.concatenate((second, ~first))[order].astype(np.int32)
            self._partners = Lists.of(starts_of(np.bincount(leaves)), partners)
        return self._partners

    def add(self, pair: int, slot: int, needs: np.uint64) -> None:
        number = self.numbers[pair] if pair in self.numbers else self._open(pair)
        self.lists.add(number, slot, needs)

    def remove(self, pair: int, slot: int) -> None:
        number = self.numbers[pair]
        self.lists.remove(number, slot)
        if len(self.lists.row(number)) == 0:
            self._close(pair)

    def copy(self, source: int, target: int) -> None:
        """Copy the lists of one leaf to the same pairs of another, as Algorithm 6 asks."""
        for partner in self.partners.row(source).tolist():
            number = self.numbers[pair_of(source, partner)]
            self.lists.copy(number, self._open(pair_of(target, partner)))

    def clear(self, leaf: int) -> None:
        """Drop the lists of a leaf."""
        for partner in self.partners.row(leaf).tolist():
            self._close(pair_of(leaf, partner))

    def _open(self, pair: int) -> int:
        first, second = divmod(pair, 1 << LEAF)
        self.partners.add(first, second)
        self.partners.add(second, ~first)
        number, self.n_lists = self.n_lists, self.n_lists + 1
        self.numbers[pair] = number
        return number

    def _close(self, pair: int) -> None:
        first, second = divmod(pair, 1 << LEAF)
        self.partners.remove(first, second)
        self.partners.remove(second, ~first)
        self.lists.clear(self.numbers[pair])
        del self.numbers[pair]


def pair_of(leaf: int, partner: int) -> int:
    """A leaf and its partner, or ~partner where that comes first, in one number."""
    return leaf << LEAF | partner if partner >= 0 else ~partner << LEAF | leaf
