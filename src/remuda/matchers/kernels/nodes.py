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
from remuda.jit import kernel
from remuda.matchers.kernels.bits import prefetch
from remuda.matchers.kernels.growth import Words
from remuda.matchers.kernels.hashing import hashed
from remuda.matchers.kernels.output import grown

ALWAYS = 0
MOST_MET = 16  # lists by one space, beside its leaf's: "present", and blocks on every level

_LONG_SPAN = 32  # spaces; a clause in more lists costs more than it saves
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


def narrow(predicates: Predicates, space_starts: Ints) -> Bools:
    """Which predicates have short spans only, and no more than half of their dimension."""
    n_present = np.diff(space_starts)[predicates.dim] - 1
    n_long = starts_of(predicates.span_hi - predicates.span_lo > _LONG_SPAN)
    has_long = n_long[predicates.span_starts[1:]] > n_long[predicates.span_starts[:-1]]
    is_narrow: Bools = ~has_long & (2 * predicates.n_accepted <= n_present)
    return is_narrow


def lists_of(
    predicates: Predicates, is_narrow: Bools, nodes: Nodes, leaf_of: Ints, leaf_hi: Ints
) -> Ragged:
    """The lists that each predicate leads from; one more row, the last, has the list ALWAYS."""
    return Ragged(
        *_find_lists(*predicates, predicates.n_accepted, is_narrow, *nodes, leaf_of, leaf_hi)
    )


def hung(slots: Ints, access: Ints, found: Ragged, n_lists: int) -> Ragged:
    """The slots in each list, given the access predicate of each slot and the lists of each."""
    return Ragged(*_hang(slots, access, *found, n_lists))


@kernel
def _find_lists(
    dims: Ints,
    _on_missing: Bools,
    _every: Bools,
    span_starts: Ints,
    span_lo: Ints,
    span_hi: Ints,
    n_accepted: Longs,
    is_narrow: Bools,
    space_starts: Ints,
    block_starts: Ints,
    leaf_of: Ints,
    leaf_hi: Ints,
) -> tuple[Longs, Ints]:
    starts = np.zeros(len(dims) + 2, np.int64)
    lists = np.empty(1024, np.int32)
    n, first_leaf = 0, block_starts[-1]
    for p in range(len(dims)):
        missing = space_starts[dims[p]]
        n_present = space_starts[dims[p] + 1] - missing - 1
        begin, end = span_starts[p], span_starts[p + 1]
        # no predicate has more leaves than spaces, or more blocks than this
        lists = grown(lists, n + min(n_accepted[p], 2 * _N_BLOCKS * (end - begin)) + 1)
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
            level, base, beyond = _FINEST, block_starts[dims[p]], 0
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
def _hang(
    slots: Ints, access: Ints, list_starts: Longs, lists: Ints, n_lists: int
) -> tuple[Longs, Ints]:
    starts = np.zeros(n_lists + 2, np.int64)  # one too long: writing shifts it
    for predicate in access:
        for i in range(list_starts[predicate], list_starts[predicate + 1]):
            starts[lists[i] + 2] += 1
    for i in range(2, len(starts)):
        starts[i] += starts[i - 1]
    items = np.empty(starts[-1], np.int32)
    for k in range(len(slots)):
        for i in range(list_starts[access[k]], list_starts[access[k] + 1]):
            at = lists[i] + 1
            items[starts[at]] = slots[k]
            starts[at] += 1
    return starts[:-1], items


@kernel
def meet(
    spaces: Ints,
    begin: int,
    end: int,
    dim_of_space: Ints,
    space_starts: Ints,
    block_starts: Ints,
    leaf_of: Ints,
    leaves: Ints,
    others: Ints,
) -> tuple[int, int]:
    """Note the lists that an event meets, each once; return how many are of leaves, and others."""
    first_leaf = block_starts[-1]
    others[0] = ALWAYS
    n_leaves, n_others, before = 0, 1, -1
    for i in range(begin, end):
        space, dim = spaces[i], dim_of_space[spaces[i]]
        missing = space_starts[dim]
        is_first = before < missing
        if is_first:
            others[n_others] = first_leaf + leaf_of[missing]
            n_others += 1
        if is_first or leaf_of[space] != leaf_of[before]:
            leaves[n_leaves] = first_leaf + leaf_of[space]
            n_leaves += 1
        level, base = _FINEST, block_starts[dim]
        while base < block_starts[dim + 1]:
            block = space - missing - 1 >> level
            if is_first or block != before - missing - 1 >> level:
                others[n_others] = base + block
                n_others += 1
            base += (space_starts[dim + 1] - missing - 2 >> level) + 1
            level += 2
        before = space
    return n_leaves, n_others


@kernel
def gather(
    lists: Ints,
    n_lists: int,
    begins: Longs,
    ends: Longs,
    slots: Ints,
    needs: Words,
    lacks: np.uint64,
    starts: Longs,
    queue: Ints,
    n: np.uint64,
) -> tuple[Ints, np.uint64, np.int64]:
    """Add the candidates of some lists to a queue of n, but for those that need what is lacking.

    Lists lie far apart, and so do clauses: what will be read is asked for in advance.
    """
    for k in range(n_lists):
        prefetch(slots, np.uint64(begins[lists[k]]))
        prefetch(needs, np.uint64(begins[lists[k]]))
    n_candidates = np.int64(0)
    for k in range(n_lists):
        at, last = np.uint64(begins[lists[k]]), np.uint64(ends[lists[k]])
        n_candidates += np.int64(last - at)
        queue = grown(queue, np.int64(n + last - at))
        n_before = n
        for i in range(at, last):
            queue[n] = slots[i]
            n += np.uint64(needs[i] & lacks == 0)
        for i in range(n_before, n):
            prefetch(starts, np.uint64(queue[i]))
    return queue, n, n_candidates


@kernel
def each_once(rows: Ints, begin: int, end: int) -> int:
    """Drop what occurs again among the rows from `begin` to `end`; return where they now end.

    Several values on one dimension may lead to a clause several times.
    """
    n_places = 2 * (end - begin) + 1
    table = np.full(n_places, -1, np.int32)
    n = begin
    for i in range(begin, end):
        at = hashed(rows[i], n_places)
        while table[at] >= 0 and table[at] != rows[i]:
            at = (at + 1) % n_places
        if table[at] < 0:
            table[at] = rows[n] = rows[i]
            n += 1
    return n
