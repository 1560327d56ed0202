"""Propagation: clauses in clusters by access predicate, checked against a vector of predicates.

Le Subscribe's algorithm (Fabret et al., SIGMOD 2001), as the VLDB'09, BE-Tree and PS-Tree papers
have it for a baseline. Phase one finds the predicates that an event satisfies and sets their bits
in the predicate bit vector. Phase two goes through the clusters of those that are access
predicates: a cluster has the clauses of one access predicate and one size, each an array of
references into the bit vector, all of which must be set.

For denials, the VLDB'09 paper gives a reference a sign: the bit of a predicate that holds on
missing says that it does not hold, so that a bit is only ever set for what the event has.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from remuda.arrays import Bools, Floats, Ints, Longs, Ragged, frozen, starts_of
from remuda.encoding.table import ClauseTable, EventBatch
from remuda.jit import bare, kernel
from remuda.matchers.contract import Features, Hits
from remuda.matchers.kernels.access import access_predicates, most_selective_first
from remuda.matchers.kernels.growth import grown
from remuda.matchers.kernels.postings import (
    ALL,
    EventKeys,
    Keys,
    event_keys,
    place,
    post,
    room_for_keys,
)

Bits = NDArray[np.uint8]


class Clusters(NamedTuple):
    """Access predicate a has the clusters from `access_starts[a]`; the last are of none.

    Cluster c has the clauses `rows[row_starts[c]]` and following, and their references, the access
    predicate left out, from `ref_starts[c]`: the first one of each clause, then the second one of
    each. ~p stands for "p's bit is not set".
    """

    access_starts: Ints
    row_starts: Ints
    rows: Ints
    ref_starts: Longs
    refs: Ints


@dataclass(frozen=True, slots=True)
class Propagation:
    """The predicate index, and the clusters that it leads to.

    Predicates are numbered anew, access predicates first.
    """

    features: ClassVar[Features] = Features(layout=1)

    keys: Keys
    lists: Ragged  # list `4 * key + mark` has the predicates with that mark
    clusters: Clusters
    n_predicates: int

    @classmethod
    def build(cls, table: ClauseTable, *, equalities: bool = False) -> Self:
        """The most selective predicate gives access, as in the VLDB'09 paper.

        With `equalities` only an equality does, as the BE-Tree paper describes the algorithm, and
        a clause without one is looked at for every event.
        """
        predicates = table.predicates
        usable = ~predicates.on_missing & ((predicates.n_accepted <= 1) | (not equalities))
        clauses = most_selective_first(table.clauses, _selectivity(table, usable))
        first = access_predicates(clauses, usable)
        has_access = first < len(usable)
        access = first[has_access]
        number, n_access = _numbers(access, len(usable))
        key = np.full(table.n_clauses, n_access, np.int32)
        key[has_access] = number[access]
        refs = np.where(predicates.on_missing, ~number, number)[clauses.items]
        clusters = _clusters(Ragged(clauses.starts, refs), has_access, key, n_access)
        return cls(*_predicate_index(table, number), clusters, len(number))

    def match(self, events: EventBatch) -> Hits:
        longest = int(np.diff(events.starts).max(initial=0))
        starts, rows, candidates = _propagate(
            events.starts, events.spaces, self.keys, self.lists, self.clusters,
            longest * self.keys.most_per_space,
            np.zeros(self.n_predicates // 8 + 1, np.uint8), np.zeros(self.n_predicates, np.int32),
        )  # fmt: skip
        return Hits(starts, rows, candidates)

    @property
    def nbytes(self) -> int:
        return sum(array.nbytes for array in (*self.keys, *self.lists, *self.clusters))


def _selectivity(table: ClauseTable, usable: Bools) -> Floats:
    """How likely each usable predicate is to hold: its share of a dimension that an event has.

    How often events have a dimension is taken to be how often clauses ask for it.
    """
    predicates = table.predicates
    n_present = np.diff(table.space_starts)[predicates.dim] - 1
    asked = np.bincount(predicates.dim[table.clauses.items], minlength=table.n_dims)
    likely = predicates.n_accepted / np.maximum(n_present, 1) * asked[predicates.dim]
    return np.where(usable, likely, np.inf)


def _numbers(access: Ints, n_predicates: int) -> tuple[Ints, int]:
    """New numbers for all predicates, those of access predicates first."""
    is_access = np.zeros(n_predicates, np.bool_)
    is_access[access] = True
    number = np.empty(n_predicates, np.int32)
    number[np.argsort(~is_access, kind="stable")] = np.arange(n_predicates)
    return number, int(is_access.sum())


def _predicate_index(table: ClauseTable, number: Ints) -> tuple[Keys, Ragged]:
    """The predicates under the keys of the spaces that decide them, in order of their number."""
    n = len(number)
    used = np.flatnonzero(np.bincount(table.clauses.items, minlength=n)).astype(np.int32)
    once = Ragged(np.array([0, len(used)]), used)  # so a predicate is posted
    keys, posted = post(table, once, conjunctive=False)
    each = Ragged(np.arange(n + 1), np.arange(n, dtype=np.int32))
    order = np.argsort(number).astype(np.int32)
    lists, _ = place(posted, each, order, number[order], keys.n_keys, by_mark=True)
    return keys, lists


def _clusters(refs: Ragged, has_access: Bools, access: Ints, n_access: int) -> Clusters:
    """The clauses of one access predicate and one size together."""
    sizes = np.diff(refs.starts) - has_access
    order = np.lexsort((sizes, access))
    access, sizes = access[order], sizes[order]
    is_first = np.ones(len(order), np.bool_)
    is_first[1:] = (np.diff(access) != 0) | (np.diff(sizes) != 0)
    first = np.flatnonzero(is_first)
    row_starts = np.append(first, len(order))
    ref_starts = starts_of(sizes)[row_starts]
    cluster = np.repeat(np.arange(len(first)), np.diff(row_starts))
    nth = np.arange(len(order)) - first[cluster]
    n_rows = np.diff(row_starts)[cluster]
    # reference i of the clause lies i columns further on
    column = np.arange(ref_starts[-1]) - np.repeat(starts_of(sizes)[:-1], sizes)
    at = np.repeat(ref_starts[cluster] + nth, sizes) + column * np.repeat(n_rows, sizes)
    source = np.repeat((refs.starts[:-1] + has_access)[order], sizes) + column
    placed = np.empty(len(at), np.int32)
    placed[at] = refs.items[source]
    access_starts = starts_of(np.bincount(access[first], minlength=n_access + 1))
    return frozen(
        Clusters(
            access_starts.astype(np.int32),
            row_starts.astype(np.int32),
            order.astype(np.int32),
            ref_starts,
            placed,
        )
    )


@kernel
def _propagate(
    event_starts: Longs,
    spaces: Ints,
    keys: Keys,
    lists: Ragged,
    clusters: Clusters,
    most_keys: int,
    bits: Bits,
    votes: Ints,
) -> tuple[Longs, Ints, int]:
    n_events, n_access = len(event_starts) - 1, len(clusters.access_starts) - 2
    starts = np.zeros(n_events + 1, np.int64)
    rows, satisfied = np.empty(1024, np.int32), np.empty(n_access + 1, np.int32)
    met = room_for_keys(most_keys)
    n, n_candidates = 0, 0
    for event in range(n_events):
        n_keys = event_keys(spaces, event_starts[event], event_starts[event + 1], keys, met)
        n_satisfied, n_set = 0, 0
        for k in range(n_keys):
            alone = met.sizes[met.groups[k]] == 1
            for mark in range(4):
                at = 4 * met.keys[k] + mark
                begin, end = lists.starts[at], lists.starts[at + 1]
                n_set += end - begin
                if alone or not mark & ALL:
                    n_satisfied = _set(
                        lists.items, begin, end, n_access, bits, satisfied, n_satisfied
                    )
            if not alone and (k == 0 or met.groups[k] != met.groups[k - 1]):
                n_satisfied = _set_agreed(
                    k, n_keys, met, lists, n_access, bits, votes, satisfied, n_satisfied
                )
        satisfied[n_satisfied] = n_access  # the clusters of clauses without an access predicate
        for k in range(n_satisfied + 1):
            first = clusters.access_starts[satisfied[k]]
            for cluster in range(first, clusters.access_starts[satisfied[k] + 1]):
                n_here = clusters.row_starts[cluster + 1] - clusters.row_starts[cluster]
                rows = grown(rows, n + n_here)
                n = _check(cluster, clusters, bits, rows, n)
                n_candidates += n_here
        _clear(n_keys, met.keys, lists, n_set, bits)
        starts[event + 1] = n
    return starts, rows[:n].copy(), n_candidates


@bare
def _set(
    met: Ints, begin: int, end: int, n_access: int, bits: Bits, satisfied: Ints, n: int
) -> int:
    """Set the bits of the predicates; list the access predicates, which come first."""
    i = begin
    while i < end and met[i] < n_access:
        predicate = np.uint32(met[i])
        bit = np.uint8(1 << (predicate & 7))
        satisfied[n] = predicate
        n += bits[predicate >> 3] & bit == 0  # a list of values may meet a predicate twice
        bits[predicate >> 3] |= bit
        i += 1
    while i < end:
        predicate = np.uint32(met[i])
        bits[predicate >> 3] |= np.uint8(1 << (predicate & 7))
        i += 1
    return n


@bare
def _set_agreed(
    begin: int,
    n_keys: int,
    met: EventKeys,
    lists: Ragged,
    n_access: int,
    bits: Bits,
    votes: Ints,
    satisfied: Ints,
    n: int,
) -> int:
    """Likewise for the predicates on which all the spaces of one dimension must agree."""
    size, end = met.sizes[met.groups[begin]], begin
    while end < n_keys and met.groups[end] == met.groups[begin]:
        for mark in range(ALL, 4, 2):
            which = 4 * met.keys[end] + mark
            for i in range(lists.starts[which], lists.starts[which + 1]):
                votes[lists.items[i]] += met.shares[end]
                if votes[lists.items[i]] == size:
                    n = _set(lists.items, i, i + 1, n_access, bits, satisfied, n)
        end += 1
    for k in range(begin, end):
        for mark in range(ALL, 4, 2):
            which = 4 * met.keys[k] + mark
            for i in range(lists.starts[which], lists.starts[which + 1]):
                votes[lists.items[i]] = 0
    return n


@bare
def _check(cluster: int, clusters: Clusters, bits: Bits, rows: Ints, n: int) -> int:
    """List the clauses of a cluster whose references are all as they should be."""
    begin, end = clusters.row_starts[cluster], clusters.row_starts[cluster + 1]
    ref_begin, ref_end = clusters.ref_starts[cluster], clusters.ref_starts[cluster + 1]
    n_rows = end - begin
    for i in range(n_rows):
        holds = True
        for at in range(ref_begin + i, ref_end, n_rows):
            ref = clusters.refs[at]
            predicate = np.uint32(ref if ref >= 0 else ~ref)
            if (bits[predicate >> 3] >> (predicate & 7) & 1 != 0) != (ref >= 0):
                holds = False
                break
        rows[n] = clusters.rows[begin + i]
        n += holds
    return n


@kernel
def _clear(n_keys: int, keys: Ints, lists: Ragged, n_set: int, bits: Bits) -> None:
    """Reset what was set, or all where that is less work."""
    if 8 * n_set > len(bits):
        bits[:] = 0
        return
    for k in range(n_keys):
        for i in range(lists.starts[4 * keys[k]], lists.starts[4 * keys[k] + 4]):
            bits[np.uint32(lists.items[i]) >> 3] = 0
