"""Sliced chunks: up to 256 similar clauses, verified together by bitmaps.

For each dimension that a clause of the chunk asks about there is a column: a byte per cell of the
dimension says which of its distinct rows applies, and a row has a bit for each clause that is
content with that cell. The rows that an event's cells choose, AND-ed, are the clauses that hold.

    header | shape | columns, a word each
    clause ids, 32 bits each | where records lie, 16 bits each
    each column: a byte per cell | every row | rows, `width` words each
    records of the predicates on large dimensions, of which a column knows the presence alone

The every row marks clauses whose predicate asks for all spaces of a list; only lists look at it.
A cluster is sliced where its clauses share dimensions, so that bitmaps stay about as small as the
records they replace.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from remuda.arrays import Bytes, Ints, Longs, Words
from remuda.encoding.table import Predicates
from remuda.jit import bare, inlined
from remuda.matchers.auto.words import Material, refused_span
from remuda.matchers.kernels.search import put as put_in_order

MOST_CLAUSES = 256
FEWEST_CLAUSES = 16
LARGEST_DOMAIN = 255  # cells choose rows by a byte
_WORST_RATIO = 2.0  # bytes of bitmaps against bytes of records
BUCKETS = 256


class Counters(NamedTuple):
    """Numbers for each dimension or predicate, all 0 between one use and the next."""

    counts: Ints  # of dimensions
    together: Ints  # of dimensions
    uses: Ints  # of predicates
    listed: Ints  # the dimensions that have any
    buckets: Ints  # room for the entries of a cluster
    unsorted: Ints
    cursors: Ints  # one more than there are buckets


@bare
def sort_similar(  # noqa: C901, PLR0912 - three passes over the same entries
    entries: Ints, begin: int, end: int, material: Material, counters: Counters
) -> None:
    """Sort entries by how much they resemble those that ask about the commonest dimension."""
    clause_starts, item_dims = material.clauses.starts, material.item_dims
    counts, together, listed = counters.counts, counters.together, counters.listed
    n_listed, commonest = 0, 0
    for e in range(begin, end):
        for i in range(clause_starts[entries[e]], clause_starts[entries[e] + 1]):
            dim = item_dims[i]
            if counts[dim] == 0:
                listed[n_listed] = dim
                n_listed += 1
            counts[dim] += 1
            if counts[dim] > counts[commonest]:
                commonest = dim
    for e in range(begin, end):
        first, last = clause_starts[entries[e]], clause_starts[entries[e] + 1]
        asks = False
        for i in range(first, last):
            asks |= item_dims[i] == commonest
        if asks:
            for i in range(first, last):
                together[item_dims[i]] += 1
    buckets, unsorted, cursors = counters.buckets, counters.unsorted, counters.cursors
    for bucket in range(BUCKETS + 1):
        cursors[bucket] = 0
    for e in range(begin, end):
        first, last = clause_starts[entries[e]], clause_starts[entries[e] + 1]
        shared = 0
        for i in range(first, last):
            shared += together[item_dims[i]]
        bucket = shared * (BUCKETS - 1) // (counts[commonest] * (last - first))
        buckets[e - begin] = BUCKETS - 1 - bucket
        cursors[BUCKETS - bucket] += 1
    for bucket in range(BUCKETS):
        cursors[bucket + 1] += cursors[bucket]
    for j in range(end - begin):
        unsorted[j] = entries[begin + j]
    for j in range(end - begin):
        entries[begin + cursors[buckets[j]]] = unsorted[j]
        cursors[buckets[j]] += 1
    for j in range(n_listed):
        counts[listed[j]] = 0
        together[listed[j]] = 0


@bare
def best_cut(entries: Ints, begin: int, end: int, material: Material, counters: Counters) -> int:
    """How many of the sorted entries to slice together; 0 where records are better."""
    clause_starts, item_dims, sizes = material.clauses.starts, material.item_dims, material.sizes
    counts, listed = counters.counts, counters.listed
    n_listed, n_best, best = 0, 0, np.inf
    record_bytes, cell_bytes, n_rows, large_bytes = 0.0, 0.0, 0.0, 0.0
    most = min(MOST_CLAUSES, end - begin)
    for n in range(1, most + 1):
        clause = entries[begin + n - 1]
        record_bytes += 18
        for i in range(clause_starts[clause], clause_starts[clause + 1]):
            record_bytes += 8
            dim = item_dims[i]
            count = counts[dim]
            if count == 0:
                listed[n_listed] = dim
                n_listed += 1
            counts[dim] += 1
            if sizes[dim] > LARGEST_DOMAIN:
                large_bytes += 24
                n_rows += 2 if count == 0 else 0
                cell_bytes += 16 if count == 0 else 0
            else:  # a predicate adds one or two distinct rows, as long as there are cells for them
                cells = sizes[dim] + 1.0
                before = min(cells, 1 + 1.5 * count) if count else 0.0
                n_rows += min(cells, 2.5 + 1.5 * count) - before
                cell_bytes += (sizes[dim] + 8) // 8 * 8 + 8 if count == 0 else 0
        if n >= FEWEST_CLAUSES and (n % 16 == 0 or n == most):
            width = (n + 63) // 64
            ratio = (cell_bytes + n_rows * width * 8 + large_bytes + n * 6) / record_bytes
            if ratio < best * (0.98 if n < 64 else 1.02):  # larger chunks are better ones
                best, n_best = ratio, n
    for j in range(n_listed):
        counts[listed[j]] = 0
    return n_best if best <= _WORST_RATIO else 0


@inlined
def columns_of(
    entries: Ints, begin: int, n: int, material: Material, counters: Counters
) -> tuple[int, Longs, Ints, Ints]:
    """The dimensions asked about, commonest first into `listed`; for each, who asks and what."""
    clause_starts, items = material.clauses.starts, material.clauses.items
    item_dims, counts, listed = material.item_dims, counters.counts, counters.listed
    n_columns, n_asked = 0, 0
    for e in range(begin, begin + n):
        for i in range(clause_starts[entries[e]], clause_starts[entries[e] + 1]):
            dim = item_dims[i]
            if counts[dim] == 0:
                listed[n_columns] = dim
                n_columns += 1
            counts[dim] -= 1  # below zero: so the commonest come first
            n_asked += 1
    for j in range(1, n_columns):
        put_in_order(listed[j], listed, 0, j, counts)
    starts = np.zeros(n_columns + 1, np.int64)
    for j in range(n_columns):
        starts[j + 1] = starts[j] - counts[listed[j]]
        counts[listed[j]] = starts[j]
    bits, predicates = np.empty(n_asked, np.int32), np.empty(n_asked, np.int32)
    for bit in range(n):
        clause = entries[begin + bit]
        for i in range(clause_starts[clause], clause_starts[clause + 1]):
            dim = item_dims[i]
            bits[counts[dim]], predicates[counts[dim]] = bit, items[i]
            counts[dim] += 1
    for j in range(n_columns):
        counts[listed[j]] = 0
    return n_columns, starts, bits, predicates


@bare
def write_column(  # noqa: C901, PLR0912 - layout in the order in which it lies there
    arena: Words,
    octets: Bytes,
    at: int,
    limit: int,
    n: int,
    bits: Ints,
    asked: Ints,
    dim: int,
    material: Material,
    rows: Words,
) -> tuple[int, int, bool]:
    """Write one column at `at`; where it ends (0 beyond the limit), its rows' place, every row."""
    every, size = material.predicates.every, material.sizes[dim]
    width = (n + 63) // 64
    large = size > LARGEST_DOMAIN
    n_cells = 2 if large else size + 1
    first = material.space_starts[dim]
    _fill_rows(rows, width, n, n_cells, large, bits, asked, first, material.predicates)
    to_rows = (n_cells + 7) // 8
    has_every = False
    for j in range(len(asked)):
        has_every |= every[asked[j]]
    if has_every:
        to_rows += width
    if at + to_rows + n_cells * width > limit:
        return 0, 0, False
    for j in range(to_rows):
        arena[at + j] = np.uint64(0)
    if has_every:
        for j in range(len(asked)):
            if every[asked[j]]:
                place = at + to_rows - width + bits[j] // 64
                arena[place] |= np.uint64(1) << np.uint64(bits[j] % 64)
    base, n_rows = at + to_rows, 0
    for cell in range(n_cells):
        row = n_rows - 1
        while row >= 0:
            same = True
            for y in range(width):
                if arena[base + row * width + y] != rows[cell * width + y]:
                    same = False
                    break
            if same:
                break
            row -= 1
        if row < 0:
            row = n_rows
            n_rows += 1
            for y in range(width):
                arena[base + row * width + y] = rows[cell * width + y]
        octets[at * 8 + cell] = row
    return base + n_rows * width, to_rows, has_every


@bare
def _fill_rows(
    rows: Words,
    width: int,
    n: int,
    n_cells: int,
    large: bool,
    bits: Ints,
    asked: Ints,
    first: int,
    predicates: Predicates,
) -> None:
    """One row per cell: who is content with it, among the n clauses of the chunk."""
    for cell in range(n_cells):
        for y in range(width):
            rows[cell * width + y] = ~np.uint64(0)
        if n % 64:
            rows[cell * width + width - 1] = (np.uint64(1) << np.uint64(n % 64)) - np.uint64(1)
    for j in range(len(asked)):
        p, y = asked[j], bits[j] // 64
        others = ~(np.uint64(1) << np.uint64(bits[j] % 64))
        if not predicates.on_missing[p]:
            rows[y] &= others
        if large:
            continue
        for gap in range(predicates.span_starts[p + 1] - predicates.span_starts[p] + 1):
            lo, hi = refused_span(gap, p, predicates, first + 1, first + n_cells)
            for cell in range(lo - first, hi - first):
                rows[cell * width + y] &= others
