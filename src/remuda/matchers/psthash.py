"""PSTHash: pairs of access predicates lead to clauses, through a hash table of 2-dim spaces.

A 2-dim predicate space is a leaf of one dimension's PS-Tree and one of another's, the lower
dimension first. A clause with two access predicates is listed in every such space that these
cover; the trees have no other predicates. An event looks up all pairs of its leaves. Clauses with
fewer access predicates, or with ones that cover too many pairs, are listed as in PSTBloom.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from remuda.arrays import Bools, Ints, Longs, Ragged, frozen, take_rows
from remuda.encoding.table import ClauseTable, EventBatch, Predicates
from remuda.jit import bare, inlined, kernel
from remuda.matchers.contract import Features, Hits, Literal
from remuda.matchers.kernels.access import Selectivity, access_predicates, most_selective_first
from remuda.matchers.kernels.bits import prefetch
from remuda.matchers.kernels.growth import grown
from remuda.matchers.kernels.hashing import Hashed, hashed, place
from remuda.matchers.kernels.needs import lacking, needs_of
from remuda.matchers.kernels.nodes import Breadth, each_once, gather, n_listed, narrow
from remuda.matchers.kernels.pairs import LEAF, Paired, PairLists, pair_of
from remuda.matchers.kernels.pooled_lists import Listed
from remuda.matchers.kernels.records import taken
from remuda.matchers.kernels.verify import Arrived, arrive
from remuda.matchers.pstforest import (
    Forest,
    OnForest,
    Standing,
    Trees,
    flat,
    has_access,
    room_for_visits,
    standing,
    verify,
    visit,
)

_MOST_PAIRS = 64  # of leaves, that two access predicates may cover
_N_LOOKED_UP = 512  # pairs at once
_ZERO = np.uint64(0)


@dataclass(slots=True)
class PSTHash(OnForest):
    """Clauses listed in 2-dim predicate spaces by two access predicates each."""

    features: ClassVar[Features] = Features(
        layout=1,
        takes_sample=True,
        changes=True,
        takes_gap=True,
        parameters=("n", "most_pairs", "span"),
    )

    pairs: PairLists
    most_pairs: int = _MOST_PAIRS

    @classmethod
    def build(
        cls,
        table: ClauseTable,
        *,
        sample: EventBatch | None = None,
        n: int = 2,
        most_pairs: int = _MOST_PAIRS,
        span: int | None = None,
        gap: int = 1,
    ) -> Self:
        """From a table and, if there is one, a sample of events to come.

        `n` is the paper's N, one or two access predicates; two that cover more than `most_pairs`
        pairs of spaces are one. With a `span`, predicates of so many spaces may be such.
        """
        if n > 2:
            raise ValueError(f"pst-hash has one or two access predicates a clause, not {n}")
        most = most_pairs if n == 2 else 0
        breadth = Breadth.of(span, gap)
        return cls._build(*Forest.beginning(table, sample, breadth), most, breadth)

    @classmethod
    def _build(
        cls, table: ClauseTable, rows: Ints, rule: Selectivity, most_pairs: int, breadth: Breadth
    ) -> Self:
        predicates = table.predicates
        is_narrow = narrow(predicates, table.space_starts, breadth)
        clauses = most_selective_first(table.clauses, rule.ranks(predicates))
        clauses, is_paired = _paired(clauses, predicates, is_narrow, most_pairs, breadth.gap)
        first = access_predicates(clauses, ~predicates.on_missing)
        second = _seconds(clauses, is_paired)
        uses = np.bincount(np.append(first, second[is_paired]), minlength=len(is_narrow) + 1)
        trees = Trees.of(table, is_narrow, uses[:-1])
        # the clauses of a pair lie together, so that candidates are read one after the other
        node = trees.lists.items[trees.lists.starts[:-1]]
        order = np.lexsort((np.where(is_paired, node[second], 0), node[first]))
        clauses, rows, is_paired = take_rows(clauses, order), rows[order], is_paired[order]
        first, second = first[order], second[order]
        slots, paired = (np.flatnonzero(kind).astype(np.int32) for kind in (~is_paired, is_paired))
        forest = Forest.of(table, rule, trees, clauses, rows, slots, first[slots], breadth)
        pairs, listed = _in_pairs(
            paired, first, second, predicates.dim, trees.lists, trees.nodes.first_leaf
        )
        needs = needs_of(clauses, predicates, forest.dim_bits)
        return cls(forest, PairLists.of(pairs, listed, needs), most_pairs)

    def match(self, events: EventBatch) -> Hits:
        """MatchEvent: pairs of leaves give candidates, which are verified."""
        if self._arrays is None:
            self._arrays = flat((self.forest.arrays, self.pairs.arrays))
        return Hits(*_match(events.starts, events.spaces, *self._arrays))

    def insert(self, row: int, clause: Sequence[Literal]) -> None:
        """InsertSubscription: list the clause in all pairs that its access predicates cover."""
        forest = self.forest
        predicates, n_access = self._access(forest.clause(clause))
        slot = forest.records.add(row, predicates, forest.is_narrow(predicates))
        leaves = [forest.plant(predicates, i, self.pairs) for i in range(n_access)]
        if n_access == 2:
            needs = forest.needs(predicates)
            for pair in _pairs(predicates, leaves):
                self.pairs.add(pair, slot, needs)
        else:
            forest.hang(slot, predicates)
        self._settle()

    def delete(self, row: int) -> None:
        """Take a clause away, and what only it needed of the trees."""
        forest = self.forest
        slot = forest.records.remove(row)
        predicates, n_access = self._access(forest.records.clause(slot))
        if n_access == 2:
            leaves = [forest.covered(predicates, i) for i in range(2)]
            for pair in _pairs(predicates, leaves):
                self.pairs.remove(pair, slot)
        else:
            forest.unhang(slot, predicates)
        for i in range(n_access):
            forest.uproot(predicates, i, self.pairs)
        self._settle()

    @property
    def nbytes(self) -> int:
        return self.forest.nbytes + self.pairs.nbytes

    def _renew(self, table: ClauseTable, rows: Ints, rule: Selectivity) -> None:
        fresh = self._build(table, rows, rule, self.most_pairs, self.forest.breadth)
        self.forest, self.pairs, self._arrays = fresh.forest, fresh.pairs, None

    def _access(self, predicates: Predicates) -> tuple[Predicates, int]:
        """The predicates of a clause, those that its trees have first, and how many these are."""
        is_narrow, gap = self.forest.is_narrow(predicates), self.forest.breadth.gap
        n = len(is_narrow)
        clause = Ragged(np.array([0, n], np.int64), np.arange(n, dtype=np.int32))
        paired, is_paired = _paired(frozen(clause), predicates, is_narrow, self.most_pairs, gap)
        if is_paired[0]:
            return taken(predicates, paired.items), 2
        return predicates, int(has_access(predicates) and is_narrow[0])


def _pairs(predicates: Predicates, leaves: list[list[int]]) -> list[int]:
    """The 2-dim predicate spaces of two access predicates that cover these leaves."""
    first, second = leaves if predicates.dim[0] < predicates.dim[1] else leaves[::-1]
    return [pair_of(leaf, partner) for leaf in first for partner in second]


def _paired(
    clauses: Ragged, predicates: Predicates, is_narrow: Bools, most_pairs: int, gap: int
) -> tuple[Ragged, Bools]:
    """The clauses with their second access predicate moved up, and which ones have one."""
    usable = is_narrow & ~predicates.on_missing
    n_spaces = -(-predicates.n_accepted // gap)
    items, is_paired = _move_up(*clauses, usable, n_spaces, most_pairs)
    return Ragged(clauses.starts, items), is_paired


def _seconds(clauses: Ragged, is_paired: Bools) -> Ints:
    """The second predicate of the clauses that are paired."""
    second = np.zeros(len(is_paired), np.int32)
    second[is_paired] = clauses.items[clauses.starts[:-1][is_paired] + 1]
    return second


@kernel
def _move_up(
    starts: Longs, items: Ints, usable: Bools, n_accepted: Longs, most_pairs: int
) -> tuple[Ints, Bools]:
    items, is_paired = items.copy(), np.zeros(len(starts) - 1, np.bool_)
    for clause in range(len(starts) - 1):
        begin, end = starts[clause], starts[clause + 1]
        if begin == end or not usable[items[begin]]:
            continue
        most = most_pairs // max(n_accepted[items[begin]], 1)
        for i in range(begin + 1, end):
            item = items[i]
            if usable[item] and n_accepted[item] <= most:
                for j in range(i, begin + 1, -1):
                    items[j] = items[j - 1]
                items[begin + 1] = item
                is_paired[clause] = True
                break
    return items, is_paired


@kernel
def _in_pairs(
    paired: Ints, first: Ints, second: Ints, dims: Ints, lists: Ragged, first_leaf: int
) -> tuple[Longs, Ints]:
    """The pairs of leaves that the access predicates of each slot cover, and the slots."""
    n, starts = 0, lists.starts
    for slot in paired:
        a, b = first[slot], second[slot]
        n += (starts[a + 1] - starts[a]) * (starts[b + 1] - starts[b])
    pairs, slots = np.empty(n, np.int64), np.empty(n, np.int32)
    n = 0
    for slot in paired:
        a, b = first[slot], second[slot]
        if dims[a] > dims[b]:
            a, b = b, a
        for i in range(starts[a], starts[a + 1]):
            for j in range(starts[b], starts[b + 1]):
                leaf = np.int64(lists.items[i] - first_leaf)
                pairs[n] = leaf << LEAF | (lists.items[j] - first_leaf)
                slots[n] = slot
                n += 1
    return pairs, slots


@bare
def _leaves_met(event: Arrived, forest: Standing, leaves: Ints, higher: Ints) -> int:
    """Note the leaves of an event that access predicates cover; return how many they are.

    Of each is also noted which is the first of a higher dimension.
    """
    n, n_before, last_dim = 0, 0, -1
    for i in range(event.begin, event.end):
        space = event.spaces[i]
        leaf, dim = forest.leaf_of[space], forest.dim_of_space[space]
        if dim != last_dim:
            higher[n_before:n] = n
            n_before, last_dim = n, dim
        if forest.counter[leaf] > 0 and (n == n_before or leaves[n - 1] != leaf):
            leaves[n] = leaf
            n += 1
    higher[n_before:n] = n
    return n


@inlined
def _look_up(asked: Longs, n: int, pairs: Paired, numbers: Ints, n_found: int) -> tuple[Ints, int]:
    """Add the lists that n pairs of leaves have to the numbers that were found.

    Nothing that is read lies near anything else: all of it is asked for in advance.
    """
    keys, values = pairs.numbers.keys, pairs.numbers.values
    for i in range(n):
        prefetch(keys, np.uint64(hashed(asked[i], len(keys))))
    numbers = grown(numbers, n_found + n)
    for i in range(n):
        at = place(keys, asked[i])
        if keys[at] == asked[i]:
            numbers[n_found] = values[at]
            prefetch(pairs.lists.begins, np.uint64(values[at]))
            prefetch(pairs.lists.ends, np.uint64(values[at]))
            n_found += 1
    return numbers, n_found


@inlined
def _lists_of_pairs(
    leaves: Ints, higher: Ints, n_leaves: int, pairs: Paired, asked: Longs, numbers: Ints
) -> tuple[Ints, int]:
    """ConstructSpaces: the lists of all pairs of an event's leaves, and how many they are."""
    n, n_found = 0, 0
    for i in range(n_leaves):
        for j in range(higher[i], n_leaves):
            asked[n] = np.int64(leaves[i]) << LEAF | leaves[j]
            n += 1
            if n == len(asked):
                numbers, n_found = _look_up(asked, n, pairs, numbers, n_found)
                n = 0
    numbers, n_found = _look_up(asked, n, pairs, numbers, n_found)
    return numbers, n_found


@kernel
def _match(event_starts: Longs, spaces: Ints, *arrays: NDArray[Any]) -> tuple[Longs, Ints, int]:
    forest = standing(arrays)
    lists = Listed(arrays[17], arrays[18], arrays[19], arrays[20])
    pairs = Paired(Hashed(arrays[15], arrays[16]), lists)
    starts = np.zeros(len(event_starts), np.int64)
    rows, queue = np.empty(1024, np.int32), np.empty(1024, np.int32)
    visits = room_for_visits(event_starts, forest)
    higher, keys = np.empty(len(visits.leaves), np.int32), np.empty(_N_LOOKED_UP, np.int64)
    numbers, slots = np.empty(_N_LOOKED_UP, np.int32), forest.records.starts
    n, n_candidates = 0, 0
    for e in range(len(starts) - 1):
        event = Arrived(spaces, event_starts[e], event_starts[e + 1], visits.where)
        has_several = arrive(event, forest.dim_of_space)
        lacks = lacking(event, forest.dim_of_space, forest.dim_bits)
        n_leaves = _leaves_met(event, forest, visits.leaves, higher)
        numbers, n_found = _lists_of_pairs(visits.leaves, higher, n_leaves, pairs, keys, numbers)
        n_in_pairs = n_listed(numbers, n_found, pairs.lists)
        queue = grown(queue, n_in_pairs)
        n_paired = gather(numbers, n_found, pairs.lists, lacks, slots, queue, _ZERO)
        n_leaves, n_others, n_met = visit(event, forest, visits)
        queue = grown(queue, np.int64(n_paired) + n_met)
        n_known = gather(visits.leaves, n_leaves, forest.lists, lacks, slots, queue, n_paired)
        n_queued = gather(visits.others, n_others, forest.lists, lacks, slots, queue, n_known)
        rows = grown(rows, n + np.int64(n_queued))
        n = verify(queue, n_paired, n_known, n_queued, has_several, event, forest, None, rows, n)
        if has_several:
            n = each_once(rows, starts[e], n)
        n_candidates += n_in_pairs + n_met
        starts[e + 1] = n
    return starts, rows[:n].copy(), n_candidates
