"""The PS-Trees of all dimensions with the clauses on them: what PSTBloom and PSTHash share."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from remuda.arrays import Bools, Ints, Longs, Ragged, Words, frozen
from remuda.encoding.table import ClauseTable, EventBatch, Predicates
from remuda.jit import bare, inlined, kernel
from remuda.matchers.contract import Literal
from remuda.matchers.kernels.access import Selectivity, selectivity
from remuda.matchers.kernels.needs import bits_of_dims, needs_of
from remuda.matchers.kernels.nodes import (
    MOST_MET,
    Breadth,
    Nodes,
    hung,
    lists_of,
    meet,
    n_listed,
    narrow,
    nodes_of,
)
from remuda.matchers.kernels.pooled_lists import Listed, Lists
from remuda.matchers.kernels.records import DIM_SHIFT, NARROW, Records, Slots, predicates_of, taken
from remuda.matchers.kernels.verify import (
    REFUSED,
    Arrived,
    all_hold,
    bits_hold,
    leave,
    read_ahead,
)
from remuda.matchers.pstree import PSTree

_WORTH = 1.25  # candidates, of those with the best access predicates, that are worth a new choice
_ONE, _WORD, _HALF, _IN_WORD = (np.uint64(n) for n in (1, 6, 32, 63))
_LOW_HALF = np.uint64(0xFFFFFFFF)
_GOLDEN = np.uint64(0x9E3779B1)


class OnLeaves(Protocol):
    """What else hangs on leaves, and follows when they split and merge."""

    def copy(self, source: int, target: int) -> None: ...
    def clear(self, leaf: int) -> None: ...


class Standing(NamedTuple):
    """The arrays of a Forest."""

    dim_of_space: Ints
    dim_bits: Words
    nodes: Nodes
    leaf_of: Ints
    counter: Ints
    lists: Listed
    records: Slots


@inlined
def standing(arrays: Any) -> Standing:
    """A forest whose arrays came one by one, as `flat` has them: so a call from Python is faster.

    For 17 arrays in named tuples it takes 4 µs more.
    """
    return Standing(
        arrays[0], arrays[1], Nodes(arrays[2], arrays[3]), arrays[4], arrays[5],
        Listed(arrays[6], arrays[7], arrays[8], arrays[9]),
        Slots(arrays[10], arrays[11], arrays[12], arrays[13], arrays[14]),
    )  # fmt: skip


def flat(arrays: Any) -> tuple[NDArray[Any], ...]:
    """All arrays of named tuples of arrays, in their order."""
    parts = ((part,) if isinstance(part, np.ndarray) else flat(part) for part in arrays)
    return tuple(array for part in parts for array in part)


@dataclass(slots=True)
class Forest:
    """Clauses in lists on the nodes of PS-Trees, which lie one after the other in one tree."""

    nodes: Nodes
    dim_of_space: Ints
    dim_bits: Words
    selectivity: Selectivity
    tree: PSTree
    lists: Lists  # of slots, and of what their clauses need
    records: Records
    breadth: Breadth

    @classmethod
    def of(
        cls,
        table: ClauseTable,
        rule: Selectivity,
        trees: Trees,
        clauses: Ragged,
        rows: Ints,
        slots: Ints,
        access: Ints,
        breadth: Breadth,
    ) -> Self:
        """The clauses in slots in their order, some slots listed by their access predicates."""
        dim_bits = bits_of_dims(table)
        needs = needs_of(clauses, table.predicates, dim_bits)
        lists = hung(slots, access, trees.lists, trees.n_lists)
        return cls(
            trees.nodes,
            frozen(table.dim_of_space()),
            frozen(dim_bits),
            rule,
            trees.tree,
            Lists.of(lists.starts, lists.items, needs[lists.items]),
            Records.of(table.predicates, trees.is_narrow, clauses, rows),
            breadth,
        )

    @property
    def arrays(self) -> Standing:
        """What kernels read."""
        leaf_of, counter = frozen((self.tree.leaf_of, self.tree.counter))
        return Standing(
            self.dim_of_space, self.dim_bits, self.nodes, leaf_of, counter,
            self.lists.arrays, self.records.arrays,
        )  # fmt: skip

    @property
    def nbytes(self) -> int:
        fixed = (*self.nodes, self.dim_of_space, self.dim_bits, self.selectivity.weights)
        return sum(part.nbytes for part in (*fixed, self.tree, self.lists, self.records))

    @staticmethod
    def beginning(
        table: ClauseTable, sample: EventBatch | None, breadth: Breadth
    ) -> tuple[ClauseTable, Ints, Selectivity]:
        """What `contents` gives, for clauses that are in no forest yet."""
        rule = selectivity(table, narrow(table.predicates, table.space_starts, breadth), sample)
        return table, np.arange(table.n_clauses, dtype=np.int32), rule

    def contents(self, seen: EventBatch | None = None) -> tuple[ClauseTable, Ints, Selectivity]:
        """All clauses, the rows that they stand for, and how to choose among their predicates.

        The choice is for events like those that were seen, if there are any.
        """
        slots = self.records.alive()
        table = ClauseTable(self.nodes.space_starts, *self.records.clauses(slots))
        rule = self.selectivity
        if seen is not None or not rule.from_events:
            rule = selectivity(table, self.is_narrow(table.predicates), seen)
        return table, self.records.rows[slots], rule

    def n_ill_placed(self, seen: EventBatch) -> int:
        """How many clauses another access predicate suits better; 0 where that is worth little."""
        if len(seen) == 0:
            return 0
        table, _, rule = self.contents(seen)
        starts, items = table.clauses
        begins = starts[:-1][np.diff(starts) > 0]
        ranks = rule.ranks(table.predicates)[items]
        if not len(begins):
            return 0
        now, best = ranks[begins], np.minimum.reduceat(ranks, begins)
        usable = np.isfinite(best)
        now, best = now[usable], best[usable]
        return int((now > best).sum()) if now.sum() > _WORTH * best.sum() else 0

    def clause(self, literals: Sequence[Literal]) -> Predicates:
        """The predicates of a clause, the most selective one first."""
        predicates = predicates_of(literals, self.nodes.space_starts)
        ranks = self.selectivity.ranks(predicates)
        return taken(predicates, np.argsort(ranks, kind="stable"))

    def is_narrow(self, predicates: Predicates) -> Bools:
        return narrow(predicates, self.nodes.space_starts, self.breadth)

    def needs(self, predicates: Predicates) -> np.uint64:
        """What a clause of these predicates needs."""
        dims = predicates.dim[~predicates.on_missing]
        return np.uint64(np.bitwise_or.reduce(self.dim_bits[dims], initial=0))

    def plant(self, predicates: Predicates, which: int, others: OnLeaves) -> list[int]:
        """Insert a predicate into its tree; the leaves that it covers."""

        def split(leaf: int, new: int) -> None:
            self.lists.copy(self.nodes.first_leaf + leaf, self.nodes.first_leaf + new)
            others.copy(leaf, new)

        spans = _spans(predicates, which)
        return [leaf for lo, hi in spans for leaf in self.tree.insert(lo, hi, split).tolist()]

    def covered(self, predicates: Predicates, which: int) -> list[int]:
        """The leaves that a predicate, which is in its tree, covers."""
        spans = _spans(predicates, which)
        return [leaf for lo, hi in spans for leaf in self.tree.covered(lo, hi).tolist()]

    def uproot(self, predicates: Predicates, which: int, others: OnLeaves) -> None:
        """Delete a predicate from its tree."""

        def merged(leaf: int) -> None:
            self.lists.clear(self.nodes.first_leaf + leaf)
            others.clear(leaf)

        for lo, hi in _spans(predicates, which):
            self.tree.delete(lo, hi, merged)

    def hang(self, slot: int, predicates: Predicates) -> None:
        """Add the clause in a slot to the lists that its first predicate leads from."""
        needs = self.needs(predicates)
        for at in self._lists(predicates):
            self.lists.add(at, slot, needs)

    def unhang(self, slot: int, predicates: Predicates) -> None:
        """Undo `hang`."""
        for at in self._lists(predicates):
            self.lists.remove(at, slot)

    def _lists(self, predicates: Predicates) -> list[int]:
        leaves = frozen((self.tree.leaf_of, self.tree.hi))
        found = lists_of(predicates, self.is_narrow(predicates), self.nodes, *leaves)
        lists: list[int] = found.row(0 if has_access(predicates) else len(predicates.dim)).tolist()
        return lists


@dataclass(frozen=True, slots=True)
class Trees:
    """The nodes that predicates lead from: row p of `lists` has those of predicate p."""

    is_narrow: Bools
    nodes: Nodes
    tree: PSTree
    lists: Ragged

    @classmethod
    def of(cls, table: ClauseTable, is_narrow: Bools, uses: Longs) -> Self:
        """Trees of the narrow predicates, each used so many times."""
        predicates, starts = table.predicates, table.space_starts
        nodes = nodes_of(starts)
        ends = np.unique(np.concatenate((starts, starts[:-1] + 1)))
        times = np.repeat(uses * is_narrow, np.diff(predicates.span_starts))
        tree = PSTree.build(ends, predicates.span_lo, predicates.span_hi, times)
        lists = lists_of(predicates, is_narrow, nodes, tree.leaf_of, tree.hi)
        return cls(is_narrow, nodes, tree, lists)

    @property
    def n_lists(self) -> int:
        return self.nodes.first_leaf + self.tree.n_leaves


def has_access(predicates: Predicates) -> bool:
    """Whether the first predicate of a clause may be its access predicate."""
    return len(predicates.dim) > 0 and not predicates.on_missing[0]


def _spans(predicates: Predicates, which: int) -> list[tuple[int, int]]:
    begin, end = predicates.span_starts[which : which + 2]
    lo, hi = predicates.span_lo[begin:end], predicates.span_hi[begin:end]
    return list(zip(lo.tolist(), hi.tolist(), strict=True))


@dataclass(slots=True)
class OnForest(ABC):
    """A matcher of a forest, and of what else hangs on its leaves: how it follows changes."""

    forest: Forest
    _arrays: tuple[NDArray[Any], ...] | None = field(init=False, default=None)  # what `match` reads

    @abstractmethod
    def _renew(self, table: ClauseTable, rows: Ints, rule: Selectivity) -> None:
        """Arrange the clauses anew."""

    def adjust(self, seen: EventBatch) -> int:
        """Choose access predicates anew where events of late make others much better."""
        n = self.forest.n_ill_placed(seen)
        if n:
            self._renew(*self.forest.contents(seen))
        return n

    def _settle(self) -> None:
        """After a change; after many, arrange everything anew."""
        self._arrays = None
        if self.forest.records.is_stale:
            self._renew(*self.forest.contents())


class Visits(NamedTuple):
    """What one event after the other is noted in."""

    where: Ints
    leaves: Ints
    others: Ints


@kernel
def room_for_visits(event_starts: Longs, forest: Standing) -> Visits:
    """Room for the longest of the events."""
    longest = 0
    for event in range(len(event_starts) - 1):
        longest = max(longest, event_starts[event + 1] - event_starts[event])
    return Visits(
        np.zeros(len(forest.dim_bits), np.int32),
        np.empty(longest, np.int32),
        np.empty(1 + MOST_MET * longest, np.int32),
    )


@bare
def visit(event: Arrived, forest: Standing, visits: Visits) -> tuple[int, int, np.int64]:
    """Note the lists that the event meets: how many of leaves, of others, and of candidates."""
    n_leaves, n_others = meet(
        event, forest.dim_of_space, forest.nodes, forest.leaf_of, visits.leaves, visits.others
    )
    n_met = n_listed(visits.leaves, n_leaves, forest.lists)
    return n_leaves, n_others, n_met + n_listed(visits.others, n_others, forest.lists)


class SignedLeaves(NamedTuple):
    """Of each dimension that an event has, the Bloom filter of the leaf that it is in."""

    filter_at: Words
    words: Words


@bare
def _bit(slot: int, n_bits: np.uint64) -> np.uint64:
    """The bit of a slot in a filter of so many."""
    return (np.uint64(slot) * _GOLDEN & _LOW_HALF) * n_bits >> _HALF


@bare
def add_to(words: Words, filter_: np.uint64, slot: int) -> None:
    """Add a slot to a filter: where in `words` it begins (upper half), its bits (lower half)."""
    bit = _bit(slot, filter_ & _LOW_HALF)
    words[(filter_ >> _HALF) + (bit >> _WORD)] |= _ONE << (bit & _IN_WORD)


@bare
def contains(words: Words, filter_: np.uint64, slot: int) -> bool:
    """Whether a slot was added to the filter, or others that look like it."""
    bit = _bit(slot, filter_ & _LOW_HALF)
    return bool((words[(filter_ >> _HALF) + (bit >> _WORD)] >> (bit & _IN_WORD)) & _ONE != 0)


@bare
def _is_signed(slot: np.uint64, records: Slots, where: Ints, signed: SignedLeaves) -> bool:
    """Whether the event's leaves have the slot, as far as the clause's predicates put it there."""
    i, last = np.uint64(records.starts[slot]) + _ONE, np.uint64(records.starts[slot + _ONE])
    while i < last:
        head = records.words[i, 0]
        dim = head >> DIM_SHIFT
        if (
            head & NARROW != 0
            and where[dim] > 0  # on a missing dimension or a list, verification decides
            and not contains(signed.words, signed.filter_at[dim], slot)
        ):
            return False
        i += _ONE
    return True


@bare
def verify(
    queue: Ints,
    n_paired: np.uint64,
    n_known: np.uint64,
    n_queued: np.uint64,
    has_several: bool,
    event: Arrived,
    forest: Standing,
    signed: SignedLeaves | None,
    rows: Ints,
    n: int,
) -> int:
    """Let the event leave, and add the rows of the queued clauses that hold for it.

    First come those that pairs of leaves list, then those of leaves (`n_known` with them), then
    others. Where leaves are signed, those that are not in the event's signatures are refused
    without a look.
    """
    records = forest.records
    for i in range(n_queued):
        read_ahead(queue, i, n_queued, records)
        slot = np.uint64(queue[i])
        if signed is not None and not _is_signed(slot, records, event.where, signed):
            continue
        first, beyond = np.uint64(records.starts[slot]), np.uint64(records.starts[slot + _ONE])
        if not has_several:  # then access predicates hold for all that leaves list
            first += np.uint64(i < n_paired) + np.uint64(i < n_known)
        undecided = bits_hold(first, beyond, records.words, event.where)
        if undecided == beyond or (
            undecided != REFUSED
            and all_hold(undecided, beyond, records, event, forest.dim_of_space)
        ):
            rows[n] = records.rows[slot]
            n += 1
    leave(event, forest.dim_of_space)
    return n
