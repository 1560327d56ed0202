"""PSTBloom: an access predicate leads to each clause, Bloom signatures refuse most of the others.

Every dimension has a PS-Tree. The leaves that a clause's access predicate covers list the clause;
the leaves that its other predicates cover have it in their signatures. A candidate is refused if
a leaf that the event is in does not have it in its signature; what remains is verified.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from remuda.arrays import Bools, Ints, Longs, Ragged, frozen, starts_of, take_rows
from remuda.encoding.table import ClauseTable, EventBatch, Predicates
from remuda.jit import kernel
from remuda.matchers.contract import Hits, Literal
from remuda.matchers.kernels.access import (
    ALWAYS,
    MOST_MET,
    Nodes,
    Selectivity,
    lists_of,
    meet,
    most_selective_first,
    narrow,
    nodes_of,
    selectivity,
)
from remuda.matchers.kernels.growth import thawed
from remuda.matchers.kernels.lists import Lists
from remuda.matchers.kernels.output import grown
from remuda.matchers.kernels.records import (
    DIM_SHIFT,
    EVERY,
    NARROW,
    ON_MISSING,
    Records,
    Words,
    arrive,
    leave,
    satisfied,
)
from remuda.matchers.pstree import PSTree

_BITS = 6  # of a signature, for each clause in it
_QUEUE = 1024
_U6, _U32, _U63, _ONE = (np.uint64(n) for n in (6, 32, 63, 1))
_GOLDEN = np.uint64(0x9E3779B1)
_LOW_HALF = np.uint64(0xFFFFFFFF)


@dataclass(slots=True)
class Signatures:
    """Bloom filters over slots, one for each leaf: `n_bits` from word `starts` on.

    A leaf without clauses has the first word, which stays zero.
    """

    starts: Longs
    n_bits: Ints
    words: Words
    n_words: int

    @classmethod
    def of(cls, counts: Longs) -> Signatures:
        n_words = (counts * _BITS + 63) // 64
        starts = 1 + starts_of(n_words)
        total = int(starts[-1])
        starts = np.where(n_words > 0, starts[:-1], 0)
        return cls(starts, (64 * np.maximum(n_words, 1)).astype(np.int32), np.zeros(total, np.uint64), total)

    @property
    def arrays(self):
        return frozen((self.starts, self.n_bits, self.words))

    @property
    def nbytes(self) -> int:
        return sum(array.nbytes for array in self.arrays)


@dataclass(slots=True)
class PSTBloom:
    """Clauses on the leaves of PS-Trees, which come and go with them."""

    nodes: Nodes
    dim_of_space: Ints
    dim_bits: Words
    selectivity: Selectivity
    tree: PSTree
    lists: Lists
    signatures: Signatures
    records: Records

    @classmethod
    def build(cls, table: ClauseTable, seen: Longs | None = None) -> Self:
        return cls._build(table, np.arange(table.n_clauses, dtype=np.int32), seen)

    @classmethod
    def _build(cls, table: ClauseTable, rows: Ints, seen: Longs | None) -> Self:
        import time
        T = [time.time()]
        def tick(s):
            T.append(time.time())
            if VERBOSE: print('   ', s, round(T[-1]-T[-2], 3))
        predicates, space_starts = table.predicates, table.space_starts
        is_narrow = narrow(predicates, space_starts)
        rule = selectivity(table, is_narrow, seen)
        clauses = most_selective_first(table.clauses, rule.ranks(predicates))
        tick('sorted')
        nodes = nodes_of(space_starts)
        uses = np.bincount(clauses.items, minlength=len(is_narrow))
        tree = planted(table, is_narrow, uses)
        tick('tree')
        access = access_predicates(clauses, predicates)
        found = lists_of(np.arange(len(is_narrow), dtype=np.int32), predicates, is_narrow, nodes, tree.leaf_of, tree.hi)
        tick('lists_of')
        order, entries = _arranged(access, *found, nodes.first_leaf + tree.n_leaves)
        tick('arranged')
        clauses = take_rows(clauses, order)
        records = Records.of(predicates, is_narrow, clauses, rows[order])
        tick('records')
        dim_bits = bits_of_dims(table)
        needs = _needs(*clauses, predicates.dim, predicates.on_missing, dim_bits)
        lists = Lists.of(entries.starts, entries.items, needs[entries.items])
        tick('lists')
        signed = uses - np.bincount(access[access >= 0], minlength=len(uses))
        sig = Signatures.of(_covering(table, is_narrow, signed)[tree.lo])
        _sign(records.starts, records.words, access[order] >= 0, *found, nodes.first_leaf, clauses.items, *sig.arrays[:2], sig.words) if False else None
        sig.words.setflags(write=True)
        _sign(records.starts, clauses.items, is_narrow, access[order] >= 0, *found, nodes.first_leaf, sig.starts, sig.n_bits, sig.words)
        tick('signatures')
        return cls(nodes, frozen(table.dim_of_space()), frozen(dim_bits), rule, tree, lists, sig, records)

    def match(self, events: EventBatch) -> Hits:
        return Hits(*_match(
            events.starts, events.spaces, self.dim_of_space, self.dim_bits, *self.nodes, self.tree.leaf_of,
            *self.lists.arrays, *self.signatures.arrays, *self.records.arrays,
        ))

    @property
    def nbytes(self) -> int:
        return self.tree.nbytes + self.lists.nbytes + self.signatures.nbytes + self.records.nbytes

VERBOSE = False
def planted(table, is_narrow, uses):
    p = table.predicates
    ends = np.unique(np.concatenate((table.space_starts, table.space_starts[:-1] + 1)))
    times = np.repeat(uses * is_narrow, np.diff(p.span_starts))
    return PSTree.build(ends, p.span_lo, p.span_hi, times)

def _covering(table, is_narrow, uses):
    p = table.predicates
    times = np.repeat(uses * is_narrow, np.diff(p.span_starts))
    n = table.n_spaces
    return np.cumsum(np.bincount(p.span_lo, times, n + 1) - np.bincount(p.span_hi, times, n + 1)).astype(np.int64)

def access_predicates(clauses, predicates):
    access = np.full(len(clauses.starts) - 1, -1, np.int32)
    some = np.flatnonzero(np.diff(clauses.starts))
    first = clauses.items[clauses.starts[some]]
    ok = ~predicates.on_missing[first]
    access[some[ok]] = first[ok]
    return access

def bits_of_dims(table):
    uses = np.bincount(table.predicates.dim[table.clauses.items], minlength=table.n_dims)
    bits = np.empty(table.n_dims, np.uint64)
    bits[np.argsort(-uses, kind='stable')] = np.uint64(1) << (np.arange(table.n_dims) % 64).astype(np.uint64)
    return bits

def _arranged(access, list_starts, lists, n_lists):
    has = access >= 0
    first = np.full(len(access), -1, np.int32)
    n = np.diff(list_starts)
    some = has.copy(); some[has] = n[access[has]] > 0
    first[some] = lists[list_starts[access[some]]]
    order = np.argsort(first, kind='stable').astype(np.int32)
    starts, slots = _place(access[order], list_starts, lists, n_lists)
    return order, Ragged(starts, slots)

@kernel
def _place(access, list_starts, lists, n_lists):
    starts = np.zeros(n_lists + 2, np.int64)
    for slot in range(len(access)):
        if access[slot] < 0:
            starts[ALWAYS + 2] += 1
        else:
            for i in range(list_starts[access[slot]], list_starts[access[slot] + 1]):
                starts[lists[i] + 2] += 1
    for i in range(2, len(starts)):
        starts[i] += starts[i - 1]
    slots = np.empty(starts[-1], np.int32)
    for slot in range(len(access)):
        if access[slot] < 0:
            slots[starts[ALWAYS + 1]] = slot
            starts[ALWAYS + 1] += 1
        else:
            for i in range(list_starts[access[slot]], list_starts[access[slot] + 1]):
                at = lists[i] + 1
                slots[starts[at]] = slot
                starts[at] += 1
    return starts[:-1], slots

@kernel
def _needs(starts, items, dims, on_missing, dim_bits):
    needs = np.zeros(len(starts) - 1, np.uint64)
    for clause in range(len(starts) - 1):
        for i in range(starts[clause], starts[clause + 1]):
            if not on_missing[items[i]]:
                needs[clause] |= dim_bits[dims[items[i]]]
    return needs

@kernel
def _sign(starts, items, is_narrow, has_access, list_starts, lists, first_leaf, sig_starts, sig_bits, words):
    for slot in range(len(starts) - 1):
        mixed = np.uint64(slot) * _GOLDEN & _LOW_HALF
        for i in range(starts[slot] + has_access[slot], starts[slot + 1]):
            p = items[i]
            if is_narrow[p]:
                for j in range(list_starts[p], list_starts[p + 1]):
                    leaf = lists[j] - first_leaf
                    bit = mixed * np.uint64(sig_bits[leaf]) >> _U32
                    words[np.uint64(sig_starts[leaf]) + (bit >> _U6)] |= _ONE << (bit & _U63)

@kernel
def _in_signatures(mixed, first, last, words, where, leaf_of, sig_starts, sig_bits, sigs):
    for i in range(first, last):
        head = words[i, 0]
        if head & NARROW:
            space = where[head >> DIM_SHIFT]
            if space > 0:
                leaf = leaf_of[space]
                bit = mixed * np.uint64(sig_bits[leaf]) >> _U32
                if (sigs[np.uint64(sig_starts[leaf]) + (bit >> _U6)] >> (bit & _U63)) & _ONE == 0:
                    return False
            elif space == 0 and head & ON_MISSING == 0:
                return False
    return True

@kernel
def _match(event_starts, spaces, dim_of_space, dim_bits, space_starts, block_starts, leaf_of,
           begins, ends, slots, needs, sig_starts, sig_bits, sigs, rows_of, starts_of_slot, words, span_lo, span_hi):
    n_events = len(event_starts) - 1
    starts = np.zeros(n_events + 1, np.int64)
    rows = np.empty(1024, np.int32)
    longest = 0
    for event in range(n_events):
        longest = max(longest, event_starts[event + 1] - event_starts[event])
    met = np.empty(1 + MOST_MET * longest, np.int32)
    where = np.zeros(len(dim_bits), np.int32)
    queue = np.empty(_QUEUE, np.int32)
    n = 0
    n_candidates = 0
    for event in range(n_events):
        begin, end = event_starts[event], event_starts[event + 1]
        several = arrive(spaces, begin, end, dim_of_space, where)
        lacking = np.uint64(0)
        for i in range(begin, end):
            lacking |= dim_bits[dim_of_space[spaces[i]]]
        lacking = ~lacking
        n_met = meet(spaces, begin, end, dim_of_space, space_starts, block_starts, leaf_of, met)
        for k in range(n_met):
            which = met[k]
            skip = 0 if several or which < 0 else 1
            which = which if which >= 0 else ~which
            i, last = begins[which], ends[which]
            n_candidates += last - i
            while i < last:
                stop = min(last, i + _QUEUE)
                n_queued = 0
                for j in range(i, stop):
                    queue[n_queued] = slots[j]
                    n_queued += needs[j] & lacking == 0
                i = stop
                if n + n_queued > len(rows):
                    rows = grown(rows, n + n_queued)
                for q in range(n_queued):
                    slot = queue[q]
                    mixed = np.uint64(slot) * _GOLDEN & _LOW_HALF
                    first, beyond = starts_of_slot[slot], starts_of_slot[slot + 1]
                    if BLOOM and not _in_signatures(mixed, first + 1, beyond, words, where, leaf_of, sig_starts, sig_bits, sigs):
                        continue
                    if satisfied(first + skip, beyond, words, span_lo, span_hi, where, spaces, begin, end, dim_of_space):
                        rows[n] = rows_of[slot]
                        n += 1
        leave(spaces, begin, end, dim_of_space, where)
        starts[event + 1] = n
    return starts, rows[:n].copy(), n_candidates
import os
BLOOM = True
