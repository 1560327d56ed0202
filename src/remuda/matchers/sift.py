"""SIFT: the predicates that hold are counted, clause by clause, over inverted lists.

Yan and Garcia-Molina's counting algorithm, as the VLDB'09 paper extends it to ∉ and to sets of
values: a clause is found when as many of its ∈ predicates are met as it has, and no ∉ is violated.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from remuda.arrays import Ints, Longs, Ragged, frozen
from remuda.encoding.table import ClauseTable, EventBatch
from remuda.jit import bare, kernel
from remuda.matchers.contract import Features, Hits
from remuda.matchers.kernels.growth import grown
from remuda.matchers.kernels.postings import (
    ALL,
    IN,
    EventKeys,
    Keys,
    event_keys,
    n_asked,
    place,
    post,
    room_for_keys,
    satisfiable,
)

Counts = NDArray[np.uint8] | NDArray[np.uint16] | NDArray[np.uint32]


@dataclass(frozen=True, slots=True)
class Sift:
    """Inverted lists, four per key: list `4 * key + mark` has the clauses with that mark."""

    features: ClassVar[Features] = Features(layout=1)

    keys: Keys
    lists: Ragged
    needed: Counts  # ∈ predicates of each clause; the highest bit is free for a veto
    always: Ints  # the clauses without any: the Z list

    @classmethod
    def build(cls, table: ClauseTable) -> Self:
        keys, posted = post(table, table.clauses, conjunctive=True)
        sizes, kept = n_asked(table), satisfiable(table)
        lists, _ = place(posted, table.clauses, kept, kept, keys.n_keys, by_mark=True)
        needed = sizes.astype(np.min_scalar_type(2 * int(sizes.max(initial=0)) + 1))
        return cls(keys, lists, frozen(needed), frozen(kept[sizes[kept] == 0]))

    def match(self, events: EventBatch) -> Hits:
        longest = int(np.diff(events.starts).max(initial=0))
        starts, rows, candidates = _sift(
            events.starts, events.spaces, self.keys, self.lists, self.needed, self.always,
            longest * self.keys.most_per_space,
            self.needed.copy(), np.zeros(len(self.needed), np.int32),
        )  # fmt: skip
        return Hits(starts, rows, candidates)

    @property
    def nbytes(self) -> int:
        return sum(a.nbytes for a in (*self.keys, *self.lists, self.needed, self.always))


@kernel
def _sift(
    event_starts: Longs,
    spaces: Ints,
    keys: Keys,
    lists: Ragged,
    needed: Counts,
    always: Ints,
    most_keys: int,
    lacking: Counts,
    votes: Ints,
) -> tuple[Longs, Ints, int]:
    n_events, n, n_scanned = len(event_starts) - 1, 0, 0
    starts, rows = np.zeros(n_events + 1, np.int64), np.empty(1024, np.int32)
    met = room_for_keys(most_keys)
    for event in range(n_events):
        n_keys = event_keys(spaces, event_starts[event], event_starts[event + 1], keys, met)
        touched = len(always)
        for k in range(n_keys):
            touched += lists.starts[4 * met.keys[k] + 4] - lists.starts[4 * met.keys[k]]
        rows = grown(rows, n + touched)
        # all vetoes before any count: a clause is found as soon as nothing is lacking
        for mark in (0, IN):
            for k in range(n_keys):
                if met.sizes[met.groups[k]] == 1:
                    begin = lists.starts[4 * met.keys[k] + mark]
                    end = lists.starts[4 * met.keys[k] + mark + 2]
                    n = _tell(mark, lists.items, begin, end, lacking, rows, n)
                elif k == 0 or met.groups[k] != met.groups[k - 1]:
                    merged = _merged(k, n_keys, mark, met, lists, votes)
                    n = _tell(mark, merged, np.int64(0), len(merged), lacking, rows, n)
        for clause in always:
            if lacking[clause] == 0:
                rows[n] = clause
                n += 1
        _forget(touched, n_keys, met, lists, needed, lacking)
        n_scanned += touched
        starts[event + 1] = n
    return starts, rows[:n].copy(), n_scanned


@bare
def _tell(
    mark: int, clauses: Ints, begin: int, end: int, lacking: Counts, rows: Ints, n: int
) -> int:
    """Veto the clauses, or count one more of their predicates and list those that lack none."""
    if mark == 0:
        veto = 1 << (8 * lacking.itemsize - 1)
        for i in range(begin, end):
            lacking[np.uint32(clauses[i])] |= veto
        return n
    for i in range(begin, end):
        clause = np.uint32(clauses[i])
        lacking[clause] -= 1
        rows[n] = clause  # kept only where n moves on: no branch to mispredict
        n += lacking[clause] == 0
    return n


@kernel
def _merged(begin: int, n_keys: int, mark: int, met: EventKeys, lists: Ragged, votes: Ints) -> Ints:
    """The lists of a dimension with several spaces as one: each clause that is met, once."""
    size, end, n = met.sizes[met.groups[begin]], begin, 0
    merged = np.empty(1024, np.int32)
    while end < n_keys and met.groups[end] == met.groups[begin]:
        for which in range(4 * met.keys[end] + mark, 4 * met.keys[end] + mark + 2):
            share = met.shares[end] if which & ALL else size
            merged = grown(merged, n + lists.starts[which + 1] - lists.starts[which])
            for i in range(lists.starts[which], lists.starts[which + 1]):
                clause = np.uint32(lists.items[i])
                if votes[clause] < size <= votes[clause] + share:
                    merged[n] = clause
                    n += 1
                votes[clause] += share
        end += 1
    for k in range(begin, end):
        which = 4 * met.keys[k] + mark
        for i in range(lists.starts[which], lists.starts[which + 2]):
            votes[np.uint32(lists.items[i])] = 0
    return merged[:n]


@bare
def _forget(
    touched: int, n_keys: int, met: EventKeys, lists: Ragged, needed: Counts, lacking: Counts
) -> None:
    """Undo the counts and vetoes of an event."""
    if touched > len(needed) // 8:  # then one long copy is less work
        for i in range(len(needed)):
            lacking[i] = needed[i]
        return
    for k in range(n_keys):
        for i in range(lists.starts[4 * met.keys[k]], lists.starts[4 * met.keys[k] + 4]):
            clause = np.uint32(lists.items[i])
            lacking[clause] = needed[clause]
