"""PS-Tree: a dimension divided into disjoint predicate spaces, the leaves of the tree.

The paper's inner nodes lead from a value to its leaf, element by element. Values here are
ordinals, and one step leads there: `leaf_of`, in 2 to 3 ns. A value becomes an ordinal by a binary
search among the cuts, in 33 to 107 ns where inner nodes take 49 to 92, and 21 times the memory
(`bench onedim`). A cut lies before an ordinal; it stays as long as a predicate begins or ends
there. What hangs on leaves is the caller's, who is told when a leaf splits (both parts then have
what it had) and when two merge (both have the same).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from remuda.arrays import Ints, Ragged, frozen, invert, starts_of
from remuda.matchers.kernels.growth import thawed
from remuda.matchers.kernels.pooled_lists import Lists

_NO_LEAF = -1


@dataclass(slots=True)
class PSTree:
    """Predicate spaces: leaf i is `lo[i]` to `hi[i] - 1`, covered by `counter[i]` predicates.

    Dimensions may lie one after the other in one tree: their ends are cuts that stay.
    """

    leaf_of: Ints
    uses: Ints  # of the cut before each ordinal; that of an end is one more than its predicates'
    lo: Ints
    hi: Ints
    counter: Ints
    n_leaves: int
    free: int = _NO_LEAF  # the first leaf not in use; `hi` leads to the next

    @classmethod
    def build(cls, ends: Ints, lo: Ints, hi: Ints, times: NDArray[Any]) -> PSTree:
        """The tree of predicates `lo` to `hi - 1`, each inserted so many times.

        The ends of all dimensions ascend from 0.
        """
        n = int(ends[-1])
        begun = np.bincount(lo, times, n + 1).astype(np.int32)
        ended = np.bincount(hi, times, n + 1).astype(np.int32)
        uses = begun + ended
        uses[ends] += 1
        cuts = np.flatnonzero(uses).astype(np.int32)
        leaf_of = np.cumsum(uses[:-1] > 0, dtype=np.int32) - 1
        counter = np.cumsum(begun - ended, dtype=np.int32)[cuts[:-1]]
        parts = frozen((leaf_of, uses, cuts[:-1].copy(), cuts[1:].copy(), counter))
        return cls(*parts, len(counter))

    @property
    def nbytes(self) -> int:
        arrays = (self.leaf_of, self.uses, self.lo, self.hi, self.counter)
        return sum(array.nbytes for array in arrays)

    def covered(self, lo: int, hi: int) -> Ints:
        """The leaves from `lo` to `hi - 1`, both of which are cuts."""
        return self.leaf_of[lo:hi][self.uses[lo:hi] > 0]

    def insert(self, lo: int, hi: int, split: Callable[[int, int], None]) -> Ints:
        """InsertPredicate: the leaves that the predicate covers, one more predicate on each."""
        self._thaw()
        for cut in (lo, hi):
            if self.uses[cut] == 0:
                split(*self._partition(cut))
            self.uses[cut] += 1
        leaves = self.covered(lo, hi)
        self.counter[leaves] += 1
        return leaves

    def delete(self, lo: int, hi: int, merged: Callable[[int], None]) -> None:
        """DeletePredicate: one predicate less on its leaves; spaces that none divides merge."""
        self._thaw()
        self.counter[self.covered(lo, hi)] -= 1
        for cut in (lo, hi):
            self.uses[cut] -= 1
            if self.uses[cut] == 0:
                merged(self._merge(cut))

    def _partition(self, cut: int) -> tuple[int, int]:
        """Split the space around a cut; the leaf that it was, and the one for its smaller part."""
        old, new = int(self.leaf_of[cut]), self._new_leaf()
        lo, hi = self.lo[old], self.hi[old]
        if cut - lo < hi - cut:
            self.lo[new], self.hi[new], self.lo[old] = lo, cut, cut
        else:
            self.lo[new], self.hi[new], self.hi[old] = cut, hi, cut
        self.counter[new] = self.counter[old]
        self.leaf_of[self.lo[new] : self.hi[new]] = new
        return old, new

    def _merge(self, cut: int) -> int:
        """Merge the spaces on both sides of a cut; the leaf, of the smaller one, that is gone."""
        left, right = int(self.leaf_of[cut - 1]), int(self.leaf_of[cut])
        lo, hi = self.lo[left], self.hi[right]
        kept, gone = (right, left) if cut - lo < hi - cut else (left, right)
        self.leaf_of[self.lo[gone] : self.hi[gone]] = kept
        self.lo[kept], self.hi[kept] = lo, hi
        self.hi[gone], self.free = self.free, gone
        return gone

    def _new_leaf(self) -> int:
        if self.free != _NO_LEAF:
            new, self.free = self.free, int(self.hi[self.free])
            return new
        new, self.n_leaves = self.n_leaves, self.n_leaves + 1
        self.lo, self.hi = thawed(self.lo, new + 1), thawed(self.hi, new + 1)
        self.counter = thawed(self.counter, new + 1)
        return new

    def _thaw(self) -> None:
        self.leaf_of, self.uses = thawed(self.leaf_of), thawed(self.uses)
        self.lo, self.hi, self.counter = thawed(self.lo), thawed(self.hi), thawed(self.counter)


@dataclass(slots=True)
class PSTreeB:
    """The paper's PS-Tree_B in one dimension: each leaf lists the intervals that cover it."""

    tree: PSTree
    lists: Lists

    @classmethod
    def build(cls, n_values: int, lo: Ints, hi: Ints) -> Self:
        """Over the ordinals below `n_values`: interval i is `lo[i]` to `hi[i] - 1`."""
        tree = PSTree.build(np.array([0, n_values]), lo, hi, np.ones(len(lo), np.int32))
        first, counts = tree.leaf_of[lo], tree.leaf_of[hi - 1] - tree.leaf_of[lo] + 1
        starts = starts_of(counts)
        leaves = np.arange(starts[-1]) + np.repeat(first - starts[:-1], counts)
        covering = invert(Ragged(starts, leaves.astype(np.int32)), tree.n_leaves)
        return cls(tree, Lists.of(*covering))

    @property
    def nbytes(self) -> int:
        return self.tree.nbytes + self.lists.nbytes

    def insert(self, which: int, lo: int, hi: int) -> None:
        for leaf in self.tree.insert(lo, hi, self.lists.copy).tolist():
            self.lists.add(leaf, which)

    def delete(self, which: int, lo: int, hi: int) -> None:
        for leaf in self.tree.covered(lo, hi).tolist():
            self.lists.remove(leaf, which)
        self.tree.delete(lo, hi, self.lists.clear)

    def stab(self, values: Ints) -> Ragged:
        """The intervals that contain each value."""
        return self.lists.rows(self.tree.leaf_of[values])
