"""The arena: all clusters in one array of 64-bit words, each a run of chunks.

    chunk   header n : 16 | kind : 8 | - : 8 | size in words : 32, then by kind
    RECORDS the signatures of n clauses together, to be scanned first; where in the arena their
            records lie, 32 bits each; those of the records that are not in an earlier cluster
    SLICES  bitmaps over n similar clauses: slices.py
    PLAIN   n clause ids, 32 bits each: nothing is left to verify once the key is met
    record  clause : 31 | has tail : 1 | mask words : 16 | of which every : 16,
            the mask words, the exact words of the tail: words.py

`places` has two words for each space: its cluster (offset : 32 | entries : 32) and what an event
that has it must know: dim : 26 | mask position : 6 | cell : 32. One more stands behind the last
space, for the cluster that every event visits. `traits` has a word for each dimension:
signature bit : 6 | wide : 1 | large : 1 | pages : 8 | wide number : 24 | first page : 24.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from remuda.arrays import Bools, Floats, Ints, Longs, Ragged, starts_of
from remuda.encoding.table import ClauseTable
from remuda.jit import inlined, kernel
from remuda.matchers.auto.keys import Remainder
from remuda.matchers.auto.runs import bring_together
from remuda.matchers.auto.slices import (
    EVERY_ROW,
    FEWEST_CLAUSES,
    LARGEST_DOMAIN,
    MOST_CLAUSES,
    WITH_RECORDS,
    best_cut,
    columns_of,
    sort_similar,
    write_column,
)
from remuda.matchers.auto.words import LAST, U64, Bytes, Words
from remuda.matchers.kernels.bits import prefetch

RECORDS, SLICES, PLAIN = 0, 1, 2
_PART_WORDS = 1 << 25
MOST_RECORDS = 1024
_FARTHEST = 65_000  # a record's place in its chunk has 16 bits
_SELECTIVE = 3  # such a predicate accepts at most one in so many spaces
_ASKED = 64  # clauses whose predicates are read ahead together
_MOST_PREDICATES = 16_000  # a record's numbers of words have 16 bits
HAS_TAIL = np.uint64(1 << 31)

SIGNATURE_BIT = np.uint64(0x3F)
WIDE = np.uint64(0x40)
LARGE = np.uint64(0x80)  # too large for the cells of a slice
PAGES_SHIFT, WIDE_SHIFT, FIRST_PAGE_SHIFT = np.uint64(8), np.uint64(16), np.uint64(40)
PAGES, NUMBER = np.uint64(0xFF), np.uint64(0xFFFFFF)


class Arena(NamedTuple):
    """The words, and what they hold: entries and chunks by kind."""

    words: U64
    places: U64
    entries_by_kind: tuple[int, ...]
    chunks_by_kind: tuple[int, ...]


def lay_out(table: ClauseTable, clusters: Ragged, rest: Remainder, words: Words) -> Arena:
    """Write every cluster, in the order of their spaces."""
    predicates, clauses = table.predicates, rest.clauses
    lengths = _record_lengths(*clauses, words.mask_starts, words.tail_starts)
    if np.diff(clauses.starts).max(initial=0) > _MOST_PREDICATES:
        raise ValueError(f"a clause of more than {_MOST_PREDICATES} predicates")
    # what a cluster takes as records, thrice: slices that need more are given up
    room = 3 * starts_of(lengths[clusters.items] + 3)[clusters.starts]
    directory = np.zeros(len(clusters.starts) - 1, np.uint64)
    tally = np.zeros((2, 3), np.int64)
    record_of = np.zeros(table.n_clauses, np.uint32)
    sizes = (np.diff(table.space_starts) - 1).astype(np.int32)
    item_dims = predicates.dim[clauses.items]
    selective = predicates.n_accepted * _SELECTIVE <= sizes[predicates.dim]
    entries = clusters.items.copy()
    parts, base, first = [words.spilled], len(words.spilled), 0
    part = np.empty(0, np.uint64)
    while first < len(directory):
        last = int(np.searchsorted(room, room[first] + _PART_WORDS, side="right")) - 1
        last = min(max(last, first + 1), len(directory))
        n_words = room[last] - room[first] + 64
        if len(part) < n_words:
            part = np.zeros(n_words, np.uint64)
        end = _write_clusters(
            part, base, first, last, directory, tally, record_of, clusters.starts, entries, lengths,
            *clauses, rest.signatures, words.mask_starts, words.masks, words.tail_starts,
            words.tails, item_dims, selective, predicates.on_missing, predicates.every,
            predicates.span_starts, predicates.span_lo, predicates.span_hi, table.space_starts,
            sizes, words.bytes.wide, words.bytes.n_masked,
        )  # fmt: skip
        parts.append(part[:end].copy())
        base, first = base + end, last
    places = places_of(table, directory, words.bytes)
    return Arena(np.concatenate(parts), places, *map(tuple, tally.tolist()))


def traits_of(table: ClauseTable, layout: Bytes, present: Floats) -> U64:
    """What an event must know of dimensions; the commonest have a signature bit of their own."""
    traits = np.empty(table.n_dims, np.uint64)
    traits[np.argsort(-present, kind="stable")] = np.arange(table.n_dims) % 64
    large = np.diff(table.space_starts) - 1 > LARGEST_DOMAIN
    traits |= np.where(layout.wide >= 0, WIDE, np.uint64(0))
    traits |= np.where(large, LARGE, np.uint64(0))
    traits |= layout.n_pages.astype(np.uint64) << PAGES_SHIFT
    traits |= np.maximum(layout.wide, 0).astype(np.uint64) << WIDE_SHIFT
    return traits | layout.first_page.astype(np.uint64) << FIRST_PAGE_SHIFT


def places_of(table: ClauseTable, directory: U64, layout: Bytes) -> U64:
    """The two words of each space; a missing one stands for its dimension's presence."""
    dims = table.dim_of_space()
    cells = np.arange(table.n_spaces) - table.space_starts[dims]
    n_positions = layout.n_positions
    positions = np.where(cells == 0, 0, (cells - 1) % n_positions + 1)
    paged = layout.n_pages[dims] > 0
    positions[paged] = np.minimum(cells[paged], n_positions)  # the last one is "on another page"
    places = np.zeros((table.n_spaces + 1, 2), np.uint64)
    places[:, 0] = directory
    places[:-1, 1] = (
        dims.astype(np.uint64)
        | positions.astype(np.uint64) << np.uint64(26)
        | cells.astype(np.uint64) << np.uint64(32)
    )
    return places.ravel()


@kernel
def _record_lengths(
    clause_starts: Longs, items: Ints, mask_starts: Longs, tail_starts: Longs
) -> Longs:
    lengths = np.ones(len(clause_starts) - 1, np.int64)
    for clause in range(len(lengths)):
        for i in range(clause_starts[clause], clause_starts[clause + 1]):
            p = items[i]
            lengths[clause] += mask_starts[p + 1] - mask_starts[p]
            lengths[clause] += tail_starts[p + 1] - tail_starts[p]
    return lengths


@kernel
def _write_clusters(
    arena: U64,
    base: int,
    first: int,
    last: int,
    directory: U64,
    tally: NDArray[np.int64],
    record_of: NDArray[np.uint32],
    cluster_starts: Longs,
    entries: Ints,
    lengths: Longs,
    clause_starts: Longs,
    items: Ints,
    signatures: U64,
    mask_starts: Longs,
    masks: U64,
    tail_starts: Longs,
    tails: U64,
    item_dims: Ints,
    selective: Bools,
    on_missing: Bools,
    every: Bools,
    span_starts: Ints,
    span_lo: Ints,
    span_hi: Ints,
    space_starts: Ints,
    sizes: Ints,
    wide: Ints,
    n_masked: int,
) -> np.int64:
    octets = arena.view(np.uint8)
    quarters, halves = arena.view(np.uint16), arena.view(np.uint32)
    counts = np.zeros(len(sizes), np.int32)
    uses = np.zeros(len(on_missing), np.int32)
    largest = 0
    for cluster in range(first, last):
        largest = max(largest, cluster_starts[cluster + 1] - cluster_starts[cluster])
    stops = np.empty(largest, np.int64)
    together, listed = np.zeros(len(sizes), np.int32), np.zeros(len(sizes), np.int32)
    rows = np.zeros((LARGEST_DOMAIN + 1) * 4, np.uint64)
    at = np.int64(0)
    for cluster in range(first, last):
        begin, end = cluster_starts[cluster], cluster_starts[cluster + 1]
        if begin == end:
            continue
        directory[cluster] = np.uint64(base + at) | np.uint64(end - begin) << np.uint64(32)
        n_plain = _plain_first(entries, begin, end, clause_starts)
        at = _write_plain(arena, halves, at, entries, begin, begin + n_plain, tally)
        begin += n_plain
        n_stops, n_shared = bring_together(
            entries, begin, end, clause_starts, items, item_dims, selective, counts, uses, stops
        )
        for r in range(n_stops):
            stop, share = stops[r], r < n_shared
            _ask_for(entries, begin, stop, clause_starts, item_dims, signatures, record_of)
            while stop - begin >= FEWEST_CLAUSES:
                most = min(stop - begin, MOST_CLAUSES) if share else stop - begin
                if not share:
                    sort_similar(
                        entries, begin, stop, clause_starts, item_dims, counts, together, listed
                    )
                n = best_cut(
                    entries, begin, begin + most, clause_starts, item_dims, sizes, counts, listed
                )
                if n == 0 and share:
                    share = False
                    continue
                if n == 0:
                    break
                n = most if share else n
                after = _write_slices(
                    arena, octets, quarters, halves, at, entries, begin, n, lengths,
                    clause_starts, items, mask_starts, masks, tail_starts, tails, item_dims,
                    on_missing, every, span_starts, span_lo, span_hi, space_starts, sizes, wide,
                    n_masked, counts, listed, rows,
                )  # fmt: skip
                if after == 0:
                    break
                tally[0, SLICES] += n
                tally[1, SLICES] += 1
                at = after
                begin += n
            at = _write_records(
                arena, halves, base, at, entries, begin, stop, record_of, clause_starts, items,
                signatures, mask_starts, masks, tail_starts, tails, every, sizes, item_dims, tally,
            )  # fmt: skip
            begin = stop
    return at


@inlined
def _ask_for(
    entries: Ints,
    begin: int,
    end: int,
    clause_starts: Longs,
    item_dims: Ints,
    signatures: U64,
    record_of: NDArray[np.uint32],
) -> None:
    """Clauses of a cluster lie anywhere: ask for all of them, and wait for memory but once."""
    for e in range(begin, end):
        prefetch(clause_starts, entries[e])
        prefetch(signatures, entries[e])
        prefetch(record_of, entries[e])
    for e in range(begin, end):
        prefetch(item_dims, clause_starts[entries[e]])


@inlined
def _ask_for_predicates(
    entries: Ints,
    begin: int,
    end: int,
    record_of: NDArray[np.uint32],
    clause_starts: Longs,
    items: Ints,
    mask_starts: Longs,
    masks: U64,
    tail_starts: Longs,
) -> None:
    """The same for what goes to the records that are not yet written."""
    for e in range(begin, end):
        if record_of[entries[e]] == 0:
            prefetch(items, clause_starts[entries[e]])
    for e in range(begin, end):
        if record_of[entries[e]] == 0:
            for i in range(clause_starts[entries[e]], clause_starts[entries[e] + 1]):
                prefetch(mask_starts, items[i])
                prefetch(tail_starts, items[i])
    for e in range(begin, end):
        if record_of[entries[e]] == 0:
            for i in range(clause_starts[entries[e]], clause_starts[entries[e] + 1]):
                prefetch(masks, mask_starts[items[i]])


@kernel
def _plain_first(entries: Ints, begin: int, end: int, clause_starts: Longs) -> int:
    """Move entries with nothing to verify to the front; how many they are."""
    n = 0
    for e in range(begin, end):
        clause = entries[e]
        if clause_starts[clause] == clause_starts[clause + 1]:
            entries[e] = entries[begin + n]
            entries[begin + n] = clause
            n += 1
    return n


@kernel
def _write_plain(
    arena: U64,
    halves: NDArray[np.uint32],
    at: int,
    entries: Ints,
    begin: int,
    end: int,
    tally: NDArray[np.int64],
) -> int:
    while begin < end:
        n = min(end - begin, MOST_RECORDS)
        size = 1 + (n + 1) // 2
        arena[at] = np.uint64(n) | np.uint64(PLAIN << 16) | np.uint64(size) << np.uint64(32)
        for j in range(n):
            halves[2 * (at + 1) + j] = entries[begin + j]
        tally[0, PLAIN] += n
        tally[1, PLAIN] += 1
        at += size
        begin += n
    return at


@kernel
def _write_records(
    arena: U64,
    halves: NDArray[np.uint32],
    base: int,
    at: int,
    entries: Ints,
    begin: int,
    end: int,
    record_of: NDArray[np.uint32],
    clause_starts: Longs,
    items: Ints,
    signatures: U64,
    mask_starts: Longs,
    masks: U64,
    tail_starts: Longs,
    tails: U64,
    every: Bools,
    sizes: Ints,
    item_dims: Ints,
    tally: NDArray[np.int64],
) -> int:
    """Write chunks of records; a clause has one, wherever it has entries. 0: not yet written."""
    while begin < end:
        n = min(end - begin, MOST_RECORDS)
        places, w = 2 * (at + 1 + n), at + 1 + n + (n + 1) // 2
        for j in range(n):
            if j % _ASKED == 0:
                _ask_for_predicates(
                    entries, begin + j, begin + min(j + _ASKED, n), record_of, clause_starts,
                    items, mask_starts, masks, tail_starts,
                )  # fmt: skip
            clause = entries[begin + j]
            arena[at + 1 + j] = signatures[clause]
            if record_of[clause] == 0:
                record_of[clause] = base + w
                w = _write_record(
                    arena, w, clause, np.int64(-1), clause_starts, items, mask_starts, masks,
                    tail_starts, tails, every, sizes, item_dims,
                )  # fmt: skip
            halves[places + j] = record_of[clause]
        arena[at] = np.uint64(n) | np.uint64(RECORDS << 16) | np.uint64(w - at) << np.uint64(32)
        tally[0, RECORDS] += n
        tally[1, RECORDS] += 1
        at = w
        begin += n
    return at


@kernel
def _write_record(
    arena: U64,
    at: int,
    clause: int,
    beyond: int,
    clause_starts: Longs,
    items: Ints,
    mask_starts: Longs,
    masks: U64,
    tail_starts: Longs,
    tails: U64,
    every: Bools,
    sizes: Ints,
    item_dims: Ints,
) -> int:
    """Write a record of the predicates on dimensions beyond that size; where it ends."""
    first, last = clause_starts[clause], clause_starts[clause + 1]
    n_masks, n_every, w = 0, 0, at + 1
    for i in range(first, last):
        p = items[i]
        if sizes[item_dims[i]] <= beyond:
            continue
        for m in range(mask_starts[p], mask_starts[p + 1]):
            arena[w] = masks[m]
            w += 1
            n_masks += 1
            n_every += every[p]
    header = np.uint64(clause) | np.uint64(n_masks) << np.uint64(32)
    last_tail = -1
    for lists in (
        False,
        True,
    ):  # spans, of one word each, come first: a loop of their own reads them
        for i in range(first, last):
            p = items[i]
            n = tail_starts[p + 1] - tail_starts[p]
            if n == 0 or (n > 1) != lists or sizes[item_dims[i]] <= beyond:
                continue
            last_tail = w
            for t in range(n):
                arena[w + t] = tails[tail_starts[p] + t]
            w += n
    if last_tail >= 0:
        header |= HAS_TAIL
        arena[last_tail] |= LAST
    arena[at] = header | np.uint64(n_every) << np.uint64(48)
    return w


@kernel
def _write_slices(
    arena: U64,
    octets: NDArray[np.uint8],
    quarters: NDArray[np.uint16],
    halves: NDArray[np.uint32],
    at: int,
    entries: Ints,
    begin: int,
    n: int,
    lengths: Longs,
    clause_starts: Longs,
    items: Ints,
    mask_starts: Longs,
    masks: U64,
    tail_starts: Longs,
    tails: U64,
    item_dims: Ints,
    on_missing: Bools,
    every: Bools,
    span_starts: Ints,
    span_lo: Ints,
    span_hi: Ints,
    space_starts: Ints,
    sizes: Ints,
    wide: Ints,
    n_masked: int,
    counts: Ints,
    listed: Ints,
    rows: U64,
) -> int:
    """Write a sliced chunk; where it ends, or 0 where it would be too large."""
    n_columns, starts, bits, asked = columns_of(
        entries, begin, n, clause_starts, items, item_dims, counts, listed
    )
    has_records, limit = False, at
    for j in range(n_columns):
        has_records |= sizes[listed[j]] > LARGEST_DOMAIN
    for e in range(begin, begin + n):
        limit += 3 * (lengths[entries[e]] + 3)
        limit -= lengths[entries[e]] if has_records else 0
    ids = at + 2 + n_columns
    places = ids + (n + 1) // 2
    w = places + ((n + 3) // 4 if has_records else 0)
    if w >= limit:
        return 0
    for j in range(w - at):
        arena[at + j] = np.uint64(0)
    for j in range(n_columns):
        dim = listed[j]
        after, to_rows, has_every = write_column(
            arena, octets, w, limit, n, bits[starts[j] : starts[j + 1]],
            asked[starts[j] : starts[j + 1]], space_starts[dim], sizes[dim], on_missing, every,
            span_starts, span_lo, span_hi, rows,
        )  # fmt: skip
        if after == 0 or after - at >= _FARTHEST:
            return 0
        byte = dim if wide[dim] < 0 else n_masked + wide[dim]
        column = np.uint64(byte) | np.uint64(to_rows) << np.uint64(27)
        column |= np.uint64(w - at) << np.uint64(39)
        arena[at + 2 + j] = column | (EVERY_ROW if has_every else np.uint64(0))
        w = after
    for j in range(n):
        clause = entries[begin + j]
        halves[2 * ids + j] = clause
        large = False
        for i in range(clause_starts[clause], clause_starts[clause + 1]):
            large |= sizes[item_dims[i]] > LARGEST_DOMAIN
        if large:
            if w - at > _FARTHEST:
                return 0
            quarters[4 * places + j] = w - at
            w = _write_record(
                arena, w, clause, np.int64(LARGEST_DOMAIN), clause_starts, items, mask_starts,
                masks, tail_starts, tails, every, sizes, item_dims,
            )  # fmt: skip
    header = np.uint64(n_columns) | np.uint64((n + 63) // 64) << np.uint64(16)
    arena[at + 1] = header | (WITH_RECORDS if has_records else np.uint64(0))
    arena[at] = np.uint64(n) | np.uint64(SLICES << 16) | np.uint64(w - at) << np.uint64(32)
    return int(w)
