"""Runs: entries of a large cluster that share a predicate lie together.

An event that fails the predicate is done with their slices after one column. It is as selective a
one as many entries have. Where the entries of a cluster ask about many dimensions there are no
runs, for it is better to have few dimensions in each slice.
"""

from __future__ import annotations

import numpy as np

from remuda.arrays import Ints, Longs, Ragged
from remuda.jit import inlined, kernel
from remuda.matchers.auto.slices import MOST_CLAUSES, Counters
from remuda.matchers.auto.words import Material
from remuda.matchers.kernels.search import sort_by

_SEGMENT = 4096  # larger clusters are sliced piecewise: the sorting is quadratic
LARGE = 1024  # entries of a cluster in which it pays to look for what they share
_MANY = 128  # entries with a predicate, so that it is worth sharing
_FEWEST_SHARE = 193  # entries of a chunk: of four words, as the fast path has it
_FEW_DIMS = 32  # that all entries of a cluster ask about: so few that most slices have them all
_NOTHING_SHARED = np.int64((1 << 63) - 1)  # sorts behind all others


@inlined
def bring_together(
    entries: Ints, begin: int, end: int, material: Material, counters: Counters, stops: Longs
) -> tuple[int, int]:
    """Sort the entries of a LARGE cluster, and say where to cut it: how many cuts, into `stops`.

    First come runs; how many cuts are theirs comes second.
    """
    n_stops = 0
    if _n_dims(entries, begin, end, material) <= _FEW_DIMS:
        keys = _shared_keys(entries, begin, end, material, counters.uses)
        sort_by(keys, entries[begin:end])
        _leave_whole_chunks(keys)
        sort_by(keys, entries[begin:end])
        n_stops, first = _cut(keys, stops)
        for r in range(n_stops):
            stops[r] += begin
        begin += first
    n_shared = n_stops
    if end - begin > _SEGMENT:
        _group(entries, begin, end, material, counters.counts)
    for stop in range(begin + _SEGMENT, end, _SEGMENT):
        stops[n_stops] = stop
        n_stops += 1
    if begin < end:
        stops[n_stops] = end
        n_stops += 1
    return n_stops, n_shared


@kernel
def _n_dims(entries: Ints, begin: int, end: int, material: Material) -> int:
    """How many dimensions the entries ask about; some that are too many, where they are."""
    clause_starts, item_dims = material.clauses.starts, material.item_dims
    dims, n = np.empty(_FEW_DIMS + 1, np.int32), 0
    for e in range(begin, end):
        for i in range(clause_starts[entries[e]], clause_starts[entries[e] + 1]):
            known = False
            for j in range(n):
                known |= dims[j] == item_dims[i]
            if not known:
                dims[n] = item_dims[i]
                n += 1
            if n > _FEW_DIMS:
                return n
    return n


@kernel
def _leave_whole_chunks(keys: Longs) -> None:
    """Take the last of each run of sorted keys out of it, where they would be a chunk of few."""
    first = 0
    while first < len(keys) and keys[first] != _NOTHING_SHARED:
        last = first
        while last < len(keys) and keys[last] >> 32 == keys[first] >> 32:
            last += 1
        n_over = (last - first) % MOST_CLAUSES
        if n_over < _FEWEST_SHARE:
            keys[last - n_over : last] = _NOTHING_SHARED
        first = last


@kernel
def _cut(keys: Longs, stops: Longs) -> tuple[int, int]:
    """Cut sorted keys into runs: how many, and where the last one ends."""
    n_stops, first = 0, 0
    while first < len(keys) and keys[first] != _NOTHING_SHARED:
        last = first
        while last < len(keys) and keys[last] >> 32 == keys[first] >> 32:
            last += 1
        for stop in range(first + _SEGMENT, last, _SEGMENT):
            stops[n_stops] = stop
            n_stops += 1
        stops[n_stops] = last
        n_stops += 1
        first = last
    return n_stops, first


@kernel
def _shared_keys(entries: Ints, begin: int, end: int, material: Material, uses: Ints) -> Longs:
    """For each entry the first two selective predicates that many others have, as one number."""
    clauses = material.clauses
    for e in range(begin, end):
        for i in range(clauses.starts[entries[e]], clauses.starts[entries[e] + 1]):
            uses[clauses.items[i]] += material.selective[clauses.items[i]]
    keys = np.empty(end - begin, np.int64)
    for e in range(begin, end):
        keys[e - begin] = _two_shared(entries[e], clauses, uses)
    for e in range(begin, end):
        for i in range(clauses.starts[entries[e]], clauses.starts[entries[e] + 1]):
            uses[clauses.items[i]] = 0
    return keys


@kernel
def _two_shared(clause: int, clauses: Ragged, uses: Ints) -> np.int64:
    key = _NOTHING_SHARED
    for i in range(clauses.starts[clause], clauses.starts[clause + 1]):
        item = clauses.items[i]
        if uses[item] >= _MANY:
            if key != _NOTHING_SHARED:
                return key | np.int64(item)
            key = np.int64(item) << np.int64(32)
    return key


@kernel
def _group(entries: Ints, begin: int, end: int, material: Material, counts: Ints) -> None:
    """Bring entries together whose most widespread dimension is the same."""
    clause_starts, item_dims = material.clauses.starts, material.item_dims
    for e in range(begin, end):
        for i in range(clause_starts[entries[e]], clause_starts[entries[e] + 1]):
            counts[item_dims[i]] += 1
    groups = np.empty(end - begin, np.int32)
    cursors = np.zeros(len(counts) + 1, np.int64)
    for e in range(begin, end):
        first, last = clause_starts[entries[e]], clause_starts[entries[e] + 1]
        group = item_dims[first]
        for i in range(first, last):
            if counts[item_dims[i]] > counts[group]:
                group = item_dims[i]
        groups[e - begin] = group
        cursors[group + 1] += 1
    for dim in range(len(counts)):
        cursors[dim + 1] += cursors[dim]
        counts[dim] = 0
    unsorted = entries[begin:end].copy()
    for j in range(end - begin):
        entries[begin + cursors[groups[j]]] = unsorted[j]
        cursors[groups[j]] += 1
