"""PSTBloom: access predicates lead to clauses, Bloom signatures refuse most that do not match.

Every dimension has a PS-Tree. A clause is listed on the leaves that its access predicate covers,
and is in the signatures of the leaves that its other predicates cover. An event refuses a
candidate that is not in the signature of a leaf it is in; candidates that remain are verified.

Predicates that are not narrow cover too many leaves to be worth a place in their signatures.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from remuda.arrays import Bools, Ints, Longs, Ragged, Words, frozen, starts_of, take_rows
from remuda.encoding.table import ClauseTable, EventBatch
from remuda.jit import kernel
from remuda.matchers.contract import Features, Hits, Literal
from remuda.matchers.kernels.access import Selectivity, access_predicates, most_selective_first
from remuda.matchers.kernels.growth import grown, thawed
from remuda.matchers.kernels.needs import lacking
from remuda.matchers.kernels.nodes import Breadth, each_once, gather, narrow
from remuda.matchers.kernels.verify import Arrived, arrive
from remuda.matchers.pstforest import (
    Forest,
    OnForest,
    SignedLeaves,
    Trees,
    add_to,
    flat,
    has_access,
    room_for_visits,
    standing,
    verify,
    visit,
)

_BITS_EACH = 6  # in a signature, for each clause there
_FRESH_BITS = 256  # in the signature of a leaf that had no clause
_ZERO, _HALF = np.uint64(0), np.uint64(32)


class Signed(NamedTuple):
    """The arrays of Signatures."""

    filters: Words
    words: Words


@dataclass(slots=True)
class Signatures:
    """The signature of each leaf, a Bloom filter over slots with one bit for each.

    `filters` says where in `words` it begins (upper half) and how many bits it has (lower half).
    A leaf without clauses has the first word, which is zero.
    """

    filters: Words
    words: Words
    n_words: int

    @classmethod
    def of(cls, counts: Longs, bits: int) -> Signatures:
        """Empty signatures for so many slots each, with so many bits for each slot."""
        n_words = (counts * bits + 63) // 64
        starts = 1 + starts_of(n_words)
        begins = np.where(n_words > 0, starts[:-1], 0)
        filters = (begins << 32 | 64 * np.maximum(n_words, 1)).astype(np.uint64)
        return cls(filters, np.zeros(starts[-1], np.uint64), int(starts[-1]))

    @property
    def arrays(self) -> Signed:
        """What kernels read."""
        return frozen(Signed(self.filters, self.words))

    @property
    def nbytes(self) -> int:
        return self.filters.nbytes + self.words.nbytes

    def add(self, leaf: int, slot: int) -> None:
        self._thaw(leaf)
        if self.filters[leaf] >> _HALF == 0:
            self._make_room(leaf, _FRESH_BITS)
        add_to(self.words, self.filters[leaf], slot)

    def copy(self, source: int, target: int) -> None:
        """Give the second leaf the signature of the first."""
        self._thaw(max(source, target))
        begin, n_bits = divmod(int(self.filters[source]), 1 << 32)
        self.clear(target)
        if begin:
            self._make_room(target, n_bits)
            end = self.n_words
            self.words[end - n_bits // 64 : end] = self.words[begin : begin + n_bits // 64]

    def clear(self, leaf: int) -> None:
        self._thaw(leaf)
        self.filters[leaf] = 64

    def _make_room(self, leaf: int, n_bits: int) -> None:
        self.filters[leaf] = self.n_words << 32 | n_bits
        self.n_words += n_bits // 64
        self.words = thawed(self.words, self.n_words)

    def _thaw(self, leaf: int) -> None:
        self.filters, self.words = thawed(self.filters, leaf + 1), thawed(self.words)


@dataclass(slots=True)
class PSTBloom(OnForest):
    """Clauses listed on leaves by their access predicates, and signed there by the others."""

    features: ClassVar[Features] = Features(
        layout=1, takes_sample=True, changes=True, takes_gap=True, parameters=("bits", "span")
    )

    signatures: Signatures
    bits: int = _BITS_EACH

    @classmethod
    def build(
        cls,
        table: ClauseTable,
        *,
        sample: EventBatch | None = None,
        bits: int = _BITS_EACH,
        span: int | None = None,
        gap: int = 1,
    ) -> Self:
        """From a table and, if there is one, a sample of events to come.

        `bits` are those of a signature for each clause in it. With a `span`, predicates of so many
        spaces are in the trees, as the paper has all of them.
        """
        breadth = Breadth.of(span, gap)
        return cls._build(*Forest.beginning(table, sample, breadth), bits, breadth)

    @classmethod
    def _build(
        cls, table: ClauseTable, rows: Ints, rule: Selectivity, bits: int, breadth: Breadth
    ) -> Self:
        is_narrow = narrow(table.predicates, table.space_starts, breadth)
        clauses = most_selective_first(table.clauses, rule.ranks(table.predicates))
        uses = np.bincount(clauses.items, minlength=len(is_narrow))
        trees = Trees.of(table, is_narrow, uses)
        access = access_predicates(clauses, ~table.predicates.on_missing)
        # the clauses of a leaf lie together, so that candidates are read one after the other
        order = np.argsort(trees.lists.items[trees.lists.starts[access]], kind="stable")
        clauses, access = take_rows(clauses, order), access[order]
        slots = np.arange(len(order), dtype=np.int32)
        forest = Forest.of(table, rule, trees, clauses, rows[order], slots, access, breadth)
        return cls(forest, _signatures(trees, forest, clauses, access, bits), bits)

    def match(self, events: EventBatch) -> Hits:
        """MatchEvent: leaves give candidates, signatures refuse most, the rest is verified."""
        if self._arrays is None:
            self._arrays = flat((self.forest.arrays, self.signatures.arrays))
        return Hits(*_match(events.starts, events.spaces, *self._arrays))

    def insert(self, row: int, clause: Sequence[Literal]) -> None:
        """InsertSubscription: list the clause by its access predicate, sign it by the others."""
        forest = self.forest
        predicates = forest.clause(clause)
        is_narrow = forest.is_narrow(predicates)
        slot = forest.records.add(row, predicates, is_narrow)
        for i in np.flatnonzero(is_narrow).tolist():
            leaves = forest.plant(predicates, i, self.signatures)
            if i > 0 or not has_access(predicates):
                for leaf in leaves:
                    self.signatures.add(leaf, slot)
        forest.hang(slot, predicates)
        self._settle()

    def delete(self, row: int) -> None:
        """Take a clause away, and what only it needed of the trees."""
        forest = self.forest
        slot = forest.records.remove(row)
        predicates = forest.records.clause(slot)
        forest.unhang(slot, predicates)
        for i in np.flatnonzero(forest.is_narrow(predicates)).tolist():
            forest.uproot(predicates, i, self.signatures)
        self._settle()

    @property
    def nbytes(self) -> int:
        return self.forest.nbytes + self.signatures.nbytes

    def _renew(self, table: ClauseTable, rows: Ints, rule: Selectivity) -> None:
        fresh = self._build(table, rows, rule, self.bits, self.forest.breadth)
        self.forest, self.signatures, self._arrays = fresh.forest, fresh.signatures, None


def _signatures(
    trees: Trees, forest: Forest, clauses: Ragged, access: Ints, bits: int
) -> Signatures:
    """The signatures of all leaves, with the clauses that their predicates put there."""
    first_leaf = trees.nodes.first_leaf
    n_listed = (forest.lists.ends - forest.lists.begins)[first_leaf:]
    signatures = Signatures.of(np.maximum(trees.tree.counter - n_listed, 0), bits)
    n_access = (access < len(trees.is_narrow)).astype(np.int64)
    _sign(
        clauses, n_access, trees.is_narrow, trees.lists, first_leaf,
        Signed(signatures.filters, signatures.words),
    )  # fmt: skip
    return signatures


@kernel
def _sign(
    clauses: Ragged,
    n_access: Longs,
    is_narrow: Bools,
    lists: Ragged,
    first_leaf: int,
    signatures: Signed,
) -> None:
    """Add each clause to the signatures of the leaves that its narrow predicates cover."""
    for slot in range(len(clauses.starts) - 1):
        for i in range(clauses.starts[slot] + n_access[slot], clauses.starts[slot + 1]):
            p = clauses.items[i]
            if is_narrow[p]:
                for j in range(lists.starts[p], lists.starts[p + 1]):
                    leaf = lists.items[j] - first_leaf
                    add_to(signatures.words, signatures.filters[leaf], slot)


@kernel
def _match(event_starts: Longs, spaces: Ints, *arrays: NDArray[Any]) -> tuple[Longs, Ints, int]:
    forest, signatures = standing(arrays), Signed(arrays[15], arrays[16])
    starts = np.zeros(len(event_starts), np.int64)
    rows, queue = np.empty(1024, np.int32), np.empty(1024, np.int32)
    visits = room_for_visits(event_starts, forest)
    dim_of_space, filter_at = forest.dim_of_space, np.empty(len(forest.dim_bits), np.uint64)
    signed, slots = SignedLeaves(filter_at, signatures.words), forest.records.starts
    n, n_candidates = 0, 0
    for e in range(len(starts) - 1):
        event = Arrived(spaces, event_starts[e], event_starts[e + 1], visits.where)
        has_several = arrive(event, dim_of_space)
        lacks = lacking(event, dim_of_space, forest.dim_bits)
        for i in range(event.begin, event.end):
            leaf = forest.leaf_of[spaces[i]]
            filter_at[dim_of_space[spaces[i]]] = signatures.filters[leaf]
        n_leaves, n_others, n_met = visit(event, forest, visits)
        queue = grown(queue, n_met)
        n_listed = gather(visits.leaves, n_leaves, forest.lists, lacks, slots, queue, _ZERO)
        n_queued = gather(visits.others, n_others, forest.lists, lacks, slots, queue, n_listed)
        rows = grown(rows, n + np.int64(n_queued))
        n = verify(queue, _ZERO, n_listed, n_queued, has_several, event, forest, signed, rows, n)
        if has_several:
            n = each_once(rows, starts[e], n)
        n_candidates += n_met
        starts[e + 1] = n
    return starts, rows[:n].copy(), n_candidates
