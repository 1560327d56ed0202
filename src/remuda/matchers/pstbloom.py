"""PSTBloom: access predicates lead to clauses, Bloom signatures refuse most that do not match.

Every dimension has a PS-Tree. A clause is listed on the leaves that its access predicate covers,
and is in the signatures of the leaves that its other predicates cover. An event refuses a
candidate that is not in the signature of a leaf it is in; candidates that remain are verified.

Predicates that are not narrow cover too many leaves to be worth a place in their signatures.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from remuda.arrays import Bools, Ints, Longs, Ragged, frozen, starts_of, take_rows
from remuda.encoding.table import ClauseTable, EventBatch
from remuda.jit import kernel
from remuda.matchers.contract import Features, Hits, Literal
from remuda.matchers.kernels.access import Selectivity, most_selective_first, selectivity
from remuda.matchers.kernels.growth import Words, thawed
from remuda.matchers.kernels.needs import lacking
from remuda.matchers.kernels.nodes import MOST_MET, each_once, gather, meet, narrow
from remuda.matchers.kernels.output import grown
from remuda.matchers.kernels.records import DIM_SHIFT, NARROW
from remuda.matchers.kernels.verify import (
    REFUSED,
    all_hold,
    arrive,
    bits_hold,
    leave,
    read_ahead,
)
from remuda.matchers.pstforest import Forest, Trees, access_predicates, has_access

_BITS_EACH = 6  # in a signature, for each clause there
_FRESH_BITS = 256  # in the signature of a leaf that had no clause
_ZERO, _ONE, _WORD, _HALF, _IN_WORD = (np.uint64(n) for n in (0, 1, 6, 32, 63))
_LOW_HALF = np.uint64(0xFFFFFFFF)
_GOLDEN = np.uint64(0x9E3779B1)


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
    def of(cls, counts: Longs) -> Signatures:
        """Empty signatures for so many slots each."""
        n_words = (counts * _BITS_EACH + 63) // 64
        starts = 1 + starts_of(n_words)
        begins = np.where(n_words > 0, starts[:-1], 0)
        filters = (begins << 32 | 64 * np.maximum(n_words, 1)).astype(np.uint64)
        return cls(filters, np.zeros(starts[-1], np.uint64), int(starts[-1]))

    @property
    def arrays(self) -> tuple[NDArray[Any], ...]:
        """What kernels read."""
        return frozen((self.filters, self.words))

    @property
    def nbytes(self) -> int:
        return self.filters.nbytes + self.words.nbytes

    def add(self, leaf: int, slot: int) -> None:
        self._thaw(leaf)
        if self.filters[leaf] >> _HALF == 0:
            self._make_room(leaf, _FRESH_BITS)
        _add(self.words, self.filters[leaf], slot)

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
class PSTBloom:
    """Clauses listed on leaves by their access predicates, and signed there by the others."""

    features: ClassVar[Features] = Features(layout=1, takes_sample=True, changes=True)

    forest: Forest
    signatures: Signatures
    _arrays: tuple[Any, ...] | None = field(init=False, default=None)  # what `match` reads

    @classmethod
    def build(cls, table: ClauseTable, *, sample: EventBatch | None = None) -> Self:
        """From a table and, if there is one, a sample of events to come."""
        rule = selectivity(table, narrow(table.predicates, table.space_starts), sample)
        return cls._build(table, np.arange(table.n_clauses, dtype=np.int32), rule)

    @classmethod
    def _build(cls, table: ClauseTable, rows: Ints, rule: Selectivity) -> Self:
        is_narrow = narrow(table.predicates, table.space_starts)
        clauses = most_selective_first(table.clauses, rule.ranks(table.predicates))
        uses = np.bincount(clauses.items, minlength=len(is_narrow))
        trees = Trees.of(table, is_narrow, uses)
        access = access_predicates(clauses, table.predicates)
        # the clauses of a leaf lie together, so that candidates are read one after the other
        order = np.argsort(trees.lists.items[trees.lists.starts[access]], kind="stable")
        clauses, access = take_rows(clauses, order), access[order]
        slots = np.arange(len(order), dtype=np.int32)
        forest = Forest.of(table, rule, trees, clauses, rows[order], slots, access)
        return cls(forest, _signatures(trees, forest, clauses, access))

    def match(self, events: EventBatch) -> Hits:
        """MatchEvent: leaves give candidates, signatures refuse most, the rest is verified."""
        if self._arrays is None:
            self._arrays = self.forest.arrays + self.signatures.arrays
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

    def _settle(self) -> None:
        """After a change; after many, arrange everything anew."""
        self._arrays = None
        if self.forest.records.is_stale:
            fresh = self._build(*self.forest.contents())
            self.forest, self.signatures = fresh.forest, fresh.signatures


def _signatures(trees: Trees, forest: Forest, clauses: Ragged, access: Ints) -> Signatures:
    """The signatures of all leaves, with the clauses that their predicates put there."""
    first_leaf = trees.nodes.first_leaf
    n_listed = (forest.lists.ends - forest.lists.begins)[first_leaf:]
    signatures = Signatures.of(np.maximum(trees.tree.counter - n_listed, 0))
    n_access = (access < len(trees.is_narrow)).astype(np.int64)
    _sign(
        *clauses, n_access, trees.is_narrow, *trees.lists, first_leaf,
        signatures.filters, signatures.words,
    )  # fmt: skip
    return signatures


@kernel
def _bit(slot: int, n_bits: np.uint64) -> np.uint64:
    """The bit of a slot in a filter of so many."""
    return (np.uint64(slot) * _GOLDEN & _LOW_HALF) * n_bits >> _HALF


@kernel
def _add(words: Words, filter_: np.uint64, slot: int) -> None:
    bit = _bit(slot, filter_ & _LOW_HALF)
    words[(filter_ >> _HALF) + (bit >> _WORD)] |= _ONE << (bit & _IN_WORD)


@kernel
def _contains(words: Words, filter_: np.uint64, slot: int) -> bool:
    bit = _bit(slot, filter_ & _LOW_HALF)
    return bool((words[(filter_ >> _HALF) + (bit >> _WORD)] >> (bit & _IN_WORD)) & _ONE != 0)


@kernel
def _sign(
    starts: Longs,
    items: Ints,
    n_access: Longs,
    is_narrow: Bools,
    list_starts: Longs,
    lists: Ints,
    first_leaf: int,
    filters: Words,
    words: Words,
) -> None:
    """Add each clause to the signatures of the leaves that its narrow predicates cover."""
    for slot in range(len(starts) - 1):
        for i in range(starts[slot] + n_access[slot], starts[slot + 1]):
            if is_narrow[items[i]]:
                for j in range(list_starts[items[i]], list_starts[items[i] + 1]):
                    _add(words, filters[lists[j] - first_leaf], slot)


@kernel
def _is_signed(
    slot: int, first: int, last: int, literals: Words, where: Ints, filter_at: Words, words: Words
) -> bool:
    """Whether the event's leaves have the slot, as far as the clause's predicates put it there."""
    i = np.uint64(first)
    while i < last:
        dim = literals[i, 0] >> DIM_SHIFT
        if (
            literals[i, 0] & NARROW != 0
            and where[dim] > 0  # on a missing dimension or a list, verification decides
            and not _contains(words, filter_at[dim], slot)
        ):
            return False
        i += _ONE
    return True


@kernel
def _match(
    event_starts: Longs,
    spaces: Ints,
    dim_of_space: Ints,
    dim_bits: Words,
    space_starts: Ints,
    block_starts: Ints,
    leaf_of: Ints,
    begins: Longs,
    ends: Longs,
    slots: Ints,
    needs: Words,
    row_of: Ints,
    literal_starts: Longs,
    literals: Words,
    span_lo: Ints,
    span_hi: Ints,
    filters: Words,
    words: Words,
) -> tuple[Longs, Ints, int]:
    n_events = len(event_starts) - 1
    starts = np.zeros(n_events + 1, np.int64)
    rows = np.empty(1024, np.int32)
    longest = 0
    for event in range(n_events):
        longest = max(longest, event_starts[event + 1] - event_starts[event])
    lists, others = np.empty(longest, np.int32), np.empty(1 + MOST_MET * longest, np.int32)
    where, filter_at = np.zeros(len(dim_bits), np.int32), np.empty(len(dim_bits), np.uint64)
    queue = np.empty(1024, np.int32)
    n, n_candidates = 0, 0
    for event in range(n_events):
        begin, end = event_starts[event], event_starts[event + 1]
        has_several = arrive(spaces, begin, end, dim_of_space, where)
        lacks = lacking(spaces, begin, end, dim_of_space, dim_bits)
        for i in range(begin, end):
            filter_at[dim_of_space[spaces[i]]] = filters[leaf_of[spaces[i]]]
        n_lists, n_others = meet(
            spaces, begin, end, dim_of_space, space_starts, block_starts, leaf_of, lists, others
        )
        queue, n_listed, n_in_lists = gather(
            lists, n_lists, begins, ends, slots, needs, lacks, literal_starts, queue, _ZERO
        )
        queue, n_queued, n_in_others = gather(
            others, n_others, begins, ends, slots, needs, lacks, literal_starts, queue, n_listed
        )
        n_candidates += n_in_lists + n_in_others
        rows = grown(rows, n + np.int64(n_queued))
        for i in range(n_queued):
            read_ahead(queue, i, n_queued, literal_starts, literals)
            slot = np.uint64(queue[i])
            first = np.uint64(literal_starts[slot])
            beyond = np.uint64(literal_starts[slot + _ONE])
            if not _is_signed(slot, first + _ONE, beyond, literals, where, filter_at, words):
                continue
            # the access predicate holds for all that leaves list, unless the event has lists
            n_known = _ONE if i < n_listed and not has_several else _ZERO
            undecided = bits_hold(first + n_known, beyond, literals, where)
            if undecided == beyond or (
                undecided != REFUSED
                and all_hold(
                    undecided, beyond, literals, span_lo, span_hi,
                    where, spaces, begin, end, dim_of_space,
                )
            ):  # fmt: skip
                rows[n] = row_of[slot]
                n += 1
        leave(spaces, begin, end, dim_of_space, where)
        if has_several:
            n = each_once(rows, starts[event], n)
        starts[event + 1] = n
    return starts, rows[:n].copy(), n_candidates
