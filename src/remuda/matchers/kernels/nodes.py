"""Where clauses hang on PS-Trees: the lists that a predicate leads to them from, and events meet.

A narrow predicate leads to clauses from the leaves that it covers. One that accepts more than half
of its dimension does so from "present", the leaf of the missing space, which no event has itself.
Any other does so from blocks, the inner nodes over 8, 32, 128 … neighbouring spaces, so coarse
that a few suffice; they may reach beyond what the predicate accepts.

Lists are numbered: 0 has the clauses without an access predicate, then come blocks, then leaves.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from remuda.arrays import Bools, Ints, Longs, Ragged, frozen, starts_of
from remuda.encoding.table import Predicates
from remuda.jit import bare, kernel
from remuda.matchers.kernels.bits import prefetch
from remuda.matchers.kernels.growth import grown
from remuda.matchers.kernels.hashing import NO_KEY, place
from remuda.matchers.kernels.pooled_lists import Listed
from remuda.matchers.kernels.verify import Arrived

ALWAYS = 0
MOST_MET = 16  # lists by one space, beside its leaf's: "present", and blocks on every level

LONG_SPAN = 32  # spaces; a clause in more lists costs more than it saves
_FINEST = 3  # blocks of 2^3 spaces; each level has four of them in one
_N_BLOCKS = 16  # of one level for one predicate, give or take its ends


class Nodes(NamedTuple):
    """The blocks of dimension d are the lists from `block_starts[d]` on, finest first."""

    space_starts: Ints
    block_starts: Ints

    @property
    def first_leaf(self) -> int:
        """The list of leaf 0."""
        return int(self.block_starts[-1])


def nodes_of(space_starts: Ints) -> Nodes:
    n_present = np.diff(space_starts).astype(np.int64) - 1
    n_blocks = np.zeros(len(n_present), np.int64)
    level = _FINEST
    # wider blocks than this are for predicates that accept more than half
    while (large := n_present > 8 << level).any():
        n_blocks[large] += (n_present[large] - 1 >> level) + 1
        level += 2
    return Nodes(space_starts, frozen((1 + starts_of(n_blocks)).astype(np.int32)))


class Breadth(NamedTuple):
    """Which predicates are narrow: those of spans of at most `longest` spaces.

    They accept no more than half of their dimension unless they may be `broad`. `gap` is how many
    numbers a space has.
    """

    longest: int = LONG_SPAN
    broad: bool = False
    gap: int = 1

    @classmethod
    def of(cls, span: int | None, gap: int) -> Breadth:
        """The usual one, or that of the PS-Tree paper for spans of so many spaces."""
        return cls(gap=gap) if span is None else cls(span, True, gap)


def narrow(predicates: Predicates, space_starts: Ints, breadth: Breadth) -> Bools:
    """Which predicates have short spans only, and no more than half of their dimension."""
    n_present = np.diff(space_starts)[predicates.dim] - 1
    n_long = starts_of(predicates.span_hi - predicates.span_lo > breadth.longest * breadth.gap)
    has_long = n_long[predicates.span_starts[1:]] > n_long[predicates.span_starts[:-1]]
    is_narrow: Bools = ~has_long & (breadth.broad | (2 * predicates.n_accepted <= n_present))
    return is_narrow


def lists_of(
    predicates: Predicates, is_narrow: Bools, nodes: Nodes, leaf_of: Ints, leaf_hi: Ints
) -> Ragged:
    """The lists that each predicate leads from; one more row, the last, has the list ALWAYS."""
    return Ragged(
        *_find_lists(predicates, predicates.n_accepted, is_narrow, nodes, leaf_of, leaf_hi)
    )


@kernel
def _find_lists(
    predicates: Predicates,
    n_accepted: Longs,
    is_narrow: Bools,
    nodes: Nodes,
    leaf_of: Ints,
    leaf_hi: Ints,
) -> tuple[Longs, Ints]:
    span_lo, span_hi = predicates.span_lo, predicates.span_hi
    starts = np.zeros(len(predicates.dim) + 2, np.int64)
    lists = np.empty(1024, np.int32)
    n, first_leaf = 0, nodes.block_starts[-1]
    for p in range(len(predicates.dim)):
        dim = predicates.dim[p]
        missing = nodes.space_starts[dim]
        n_present = nodes.space_starts[dim + 1] - missing - 1
        begin, end = predicates.span_starts[p], predicates.span_starts[p + 1]
        # no predicate has more leaves than spaces, or more blocks than this
        n_most = n_accepted[p] if is_narrow[p] else 2 * _N_BLOCKS * (end - begin)
        lists = grown(lists, n + min(n_accepted[p], n_most) + 1)
        if is_narrow[p]:
            for i in range(begin, end):
                space = span_lo[i]
                while space < span_hi[i]:
                    lists[n] = first_leaf + leaf_of[space]
                    space = leaf_hi[leaf_of[space]]
                    n += 1
        elif 2 * n_accepted[p] > n_present:
            lists[n] = first_leaf + leaf_of[missing]
            n += 1
        else:
            level, base, beyond = _FINEST, nodes.block_starts[dim], 0
            while _N_BLOCKS << level < n_accepted[p]:
                base += (n_present - 1 >> level) + 1
                level += 2
            for i in range(begin, end):
                first = max(span_lo[i] - missing - 1 >> level, beyond)
                beyond = (span_hi[i] - missing - 2 >> level) + 1
                for block in range(first, beyond):
                    lists[n] = base + block
                    n += 1
        starts[p + 1] = n
    lists = grown(lists, n + 1)
    lists[n], starts[-1] = ALWAYS, n + 1
    return starts, lists[: n + 1].copy()


@kernel
def hung(slots: Ints, access: Ints, found: Ragged, n_lists: int) -> Ragged:
    """The slots in each list, given the access predicate of each slot and the lists of each."""
    starts = np.zeros(n_lists + 2, np.int64)  # one too long: writing shifts it
    for predicate in access:
        for i in range(found.starts[predicate], found.starts[predicate + 1]):
            starts[found.items[i] + 2] += 1
    for i in range(2, len(starts)):
        starts[i] += starts[i - 1]
    items = np.empty(starts[-1], np.int32)
    for k in range(len(slots)):
        for i in range(found.starts[access[k]], found.starts[access[k] + 1]):
            at = found.items[i] + 1
            items[starts[at]] = slots[k]
            starts[at] += 1
    return Ragged(starts[:-1], items)


@bare
def meet(
    event: Arrived, dim_of_space: Ints, nodes: Nodes, leaf_of: Ints, leaves: Ints, others: Ints
) -> tuple[int, int]:
    """Note the lists that an event meets, each once; return how many are of leaves, and others."""
    first_leaf = nodes.block_starts[-1]
    others[0] = ALWAYS
    n_leaves, n_others, before = 0, 1, -1
    for i in range(event.begin, event.end):
        space = event.spaces[i]
        dim = dim_of_space[space]
        missing = nodes.space_starts[dim]
        is_first = before < missing
        if is_first:
            others[n_others] = first_leaf + leaf_of[missing]
            n_others += 1
        if is_first or leaf_of[space] != leaf_of[before]:
            leaves[n_leaves] = first_leaf + leaf_of[space]
            n_leaves += 1
        level, base = _FINEST, nodes.block_starts[dim]
        while base < nodes.block_starts[dim + 1]:
            block = space - missing - 1 >> level
            if is_first or block != before - missing - 1 >> level:
                others[n_others] = base + block
                n_others += 1
            base += (nodes.space_starts[dim + 1] - missing - 2 >> level) + 1
            level += 2
        before = space
    return n_leaves, n_others


@bare
def n_listed(which: Ints, n_lists: int, lists: Listed) -> np.int64:
    """How many candidates some lists have; what will be read of them is asked for in advance."""
    n = np.int64(0)
    for k in range(n_lists):
        begin = lists.begins[which[k]]
        prefetch(lists.items, np.uint64(begin))
        prefetch(lists.notes, np.uint64(begin))
        n += lists.ends[which[k]] - begin
    return n


@bare
def gather(
    which: Ints,
    n_lists: int,
    lists: Listed,
    lacks: np.uint64,
    starts: Longs,
    queue: Ints,
    n: np.uint64,
) -> np.uint64:
    """Add the candidates of some lists to a queue of n, but for those that need what is lacking.

    The notes beside slots are what their clauses need; `starts` has where their predicates lie,
    which is asked for in advance. The queue has room: `n_listed`.
    """
    for k in range(n_lists):
        n_before = n
        for i in range(np.uint64(lists.begins[which[k]]), np.uint64(lists.ends[which[k]])):
            queue[n] = lists.items[i]
            n += np.uint64(lists.notes[i] & lacks == 0)
        for i in range(n_before, n):
            prefetch(starts, np.uint64(queue[i]))
    return n


@kernel
def each_once(rows: Ints, begin: int, end: int) -> int:
    """Drop what occurs again among the rows from `begin` to `end`; return where they now end.

    Several values on one dimension may lead to a clause several times.
    """
    seen, n = np.full(2 * (end - begin) + 1, NO_KEY, np.int64), begin
    for i in range(begin, end):
        at = place(seen, rows[i])
        if seen[at] == NO_KEY:
            seen[at] = rows[n] = rows[i]
            n += 1
    return n
