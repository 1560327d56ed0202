"""The arena: all clusters in one array of words, and the tables that lead to them (layout.py)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from remuda.arrays import Bytes, Floats, Halves, Ints, Longs, Ragged, Words, starts_of
from remuda.encoding.table import ClauseTable
from remuda.jit import bare, kernel
from remuda.matchers.auto import layout as fields
from remuda.matchers.auto.layout import ONE, PLAIN, RECORDS, SLICES, get, packed, put
from remuda.matchers.auto.runs import LARGE, bring_together
from remuda.matchers.auto.slices import (
    BUCKETS,
    FEWEST_CLAUSES,
    LARGEST_DOMAIN,
    MOST_CLAUSES,
    Counters,
    best_cut,
    columns_of,
    sort_similar,
    write_column,
)
from remuda.matchers.auto.words import EventBytes, Material, PredicateWords
from remuda.matchers.kernels.bits import prefetch
from remuda.matchers.kernels.keys import Remainder
from remuda.matchers.kernels.search import put as put_in_order
from remuda.matchers.kernels.search import sort_by
from remuda.matchers.levels import Standing

_PART_WORDS = 1 << 25
LEVEL_BITS = fields.SIGNATURE_LEVEL.mask << fields.SIGNATURE_LEVEL.shift
MOST_RECORDS = 1024
_FARTHEST = 65_000  # a record's place in its chunk has 16 bits
_SELECTIVE = 3  # such a predicate accepts at most one in so many spaces
_ASKED = 64  # clauses whose predicates are read ahead together
_FEW = 32  # clauses that are sorted one by one
_MOST_PREDICATES = 16_000  # a record's numbers of words have 16 bits


class Arena(NamedTuple):
    """The words, and what they hold: entries and chunks by kind."""

    words: Words
    places: Words
    entries_by_kind: tuple[int, ...]
    chunks_by_kind: tuple[int, ...]


def lay_out(
    table: ClauseTable,
    clusters: Ragged,
    rest: Remainder,
    words: PredicateWords,
    standing: Standing,
) -> Arena:
    """Write every cluster, in the order of their spaces."""
    predicates, clauses = table.predicates, rest.clauses
    lengths = _record_lengths(clauses, words)
    if np.diff(clauses.starts).max(initial=0) > _MOST_PREDICATES:
        raise ValueError(f"a clause of more than {_MOST_PREDICATES} predicates")
    # what a cluster takes as records, thrice: slices that need more are given up
    room = 3 * starts_of(lengths[clusters.items] + 3)[clusters.starts]
    directory = np.zeros(len(clusters.starts) - 1, np.uint64)
    tally = np.zeros((2, 3), np.int64)
    record_of = np.zeros(table.n_clauses, np.uint32)
    sizes = (np.diff(table.space_starts) - 1).astype(np.int32)
    selective = predicates.n_accepted * _SELECTIVE <= sizes[predicates.dim]
    material = Material(
        clauses, predicates.dim[clauses.items], lengths, rest.signatures, words, predicates,
        selective, table.space_starts, sizes, standing,
    )  # fmt: skip
    sorted_clusters = Ragged(clusters.starts, clusters.items.copy())
    parts, base, first = [words.spilled], len(words.spilled), 0
    part = np.empty(0, np.uint64)
    while first < len(directory):
        last = int(np.searchsorted(room, room[first] + _PART_WORDS, side="right")) - 1
        last = min(max(last, first + 1), len(directory))
        n_words = room[last] - room[first] + 64
        if len(part) < n_words:
            part = np.zeros(n_words, np.uint64)
        end = _write_clusters(
            part, base, first, last, directory, tally, record_of, sorted_clusters, material
        )
        parts.append(part[:end].copy())
        base, first = base + end, last
    level_bits = LEVEL_BITS if len(standing.places) else np.uint64(0)
    places = places_of(table, directory, words.bytes, level_bits)
    return Arena(np.concatenate(parts), places, *map(tuple, tally.tolist()))


def traits_of(table: ClauseTable, layout: EventBytes, present: Floats, n_bits: int = 64) -> Words:
    """What an event must know of dimensions; the commonest have a signature bit of their own."""
    traits = np.empty(table.n_dims, np.uint64)
    traits[np.argsort(-present, kind="stable")] = np.arange(table.n_dims) % n_bits
    traits |= packed(layout.wide >= 0, fields.TRAIT_WIDE)
    traits |= packed(np.diff(table.space_starts) - 1 > LARGEST_DOMAIN, fields.TRAIT_LARGE)
    traits |= packed(layout.n_pages, fields.TRAIT_PAGES)
    traits |= packed(np.maximum(layout.wide, 0), fields.TRAIT_NUMBER)
    return traits | packed(layout.first_page, fields.TRAIT_FIRST_PAGE)


def places_of(
    table: ClauseTable, directory: Words, layout: EventBytes, level_bits: np.uint64
) -> Words:
    """The two words of each space; a missing one stands for its dimension's presence."""
    places = np.zeros((table.n_spaces + 1, 2), np.uint64)
    places[:, 0], places[-1, 1] = directory, level_bits
    _write_places(places, table.space_starts, layout)
    return places.ravel()


@kernel
def _write_places(places: Words, space_starts: Ints, layout: EventBytes) -> None:
    n_positions = 63 - layout.dim_bits
    for dim in range(len(space_starts) - 1):
        first, paged = space_starts[dim], layout.n_pages[dim] > 0
        own, position = put(dim, fields.PLACE_DIM), 0
        for cell in range(space_starts[dim + 1] - first):
            place = put(position, fields.PLACE_POSITION) | put(cell, fields.PLACE_CELL)
            places[first + cell, 1] = own | place
            if position < n_positions:
                position += 1
            elif not paged:  # else the last one is "on another page"
                position = 1


@kernel
def _record_lengths(clauses: Ragged, words: PredicateWords) -> Longs:
    lengths = np.ones(len(clauses.starts) - 1, np.int64)
    for clause in range(len(lengths)):
        for i in range(clauses.starts[clause], clauses.starts[clause + 1]):
            p = clauses.items[i]
            lengths[clause] += words.mask_starts[p + 1] - words.mask_starts[p]
            lengths[clause] += words.tail_starts[p + 1] - words.tail_starts[p]
    return lengths


@kernel
def _write_clusters(  # noqa: C901, PLR0912, PLR0915 - what is called for each cluster is seldom needed
    arena: Words,
    base: int,
    first: int,
    last: int,
    directory: Words,
    tally: NDArray[np.int64],
    record_of: Halves,
    clusters: Ragged,
    material: Material,
) -> np.int64:
    entries, n_dims = clusters.items, len(material.sizes)
    octets, quarters, halves = arena.view(np.uint8), arena.view(np.uint16), arena.view(np.uint32)
    largest = 0
    for cluster in range(first, last):
        largest = max(largest, clusters.starts[cluster + 1] - clusters.starts[cluster])
    stops = np.empty(largest, np.int64)
    counters = Counters(
        np.zeros(n_dims, np.int32), np.zeros(n_dims, np.int32),
        np.zeros(len(material.predicates.dim), np.int32), np.zeros(n_dims, np.int32),
        np.empty(largest, np.int32), np.empty(largest, np.int32),
        np.empty(BUCKETS + 1, np.int32),
    )  # fmt: skip
    rows = np.zeros((LARGEST_DOMAIN + 1) * 4, np.uint64)
    chunk = np.int64(0)
    for cluster in range(first, last):
        begin, end = clusters.starts[cluster], clusters.starts[cluster + 1]
        if begin == end:
            continue
        directory[cluster] = put(base + chunk, fields.CLUSTER_AT)
        directory[cluster] |= put(end - begin, fields.CLUSTER_ENTRIES)
        first_chunk = chunk
        n_plain = _plain_first(entries, begin, end, material.clauses.starts)
        if not _few_best_first(entries, begin, begin + n_plain, material.standing):
            _best_first(entries[begin : begin + n_plain], material.standing)
        chunk = _write_plain(arena, halves, chunk, entries, begin, begin + n_plain, material, tally)
        begin += n_plain
        # what is sorted by likeness from here on keeps this order among equals
        if not _few_best_first(entries, begin, end, material.standing):
            _best_first(entries[begin:end], material.standing)
        n_stops, n_shared = int(begin < end), 0
        stops[0] = end
        if end - begin > LARGE:  # asked here: a call counts a reference to each array
            n_stops, n_shared = bring_together(entries, begin, end, material, counters, stops)
        for r in range(n_stops):
            stop, share = stops[r], r < n_shared
            _ask_for(entries, begin, stop, material, record_of)
            while stop - begin >= FEWEST_CLAUSES:
                most = min(stop - begin, MOST_CLAUSES) if share else stop - begin
                if not share:
                    sort_similar(entries, begin, stop, material, counters)
                n = best_cut(entries, begin, begin + most, material, counters)
                if n == 0 and share:
                    share = False
                    continue
                if n == 0:
                    break
                n = most if share else n
                if not _few_best_first(entries, begin, begin + n, material.standing):
                    _best_first(entries[begin : begin + n], material.standing)
                columns = columns_of(entries, begin, n, material, counters)
                after = _write_slices(
                    arena, octets, quarters, halves, chunk, entries, begin, n, columns,
                    material, counters.listed, rows,
                )  # fmt: skip
                if after == 0:
                    break
                tally[0, SLICES] += n
                tally[1, SLICES] += 1
                chunk = after
                begin += n
            if not _few_best_first(entries, begin, stop, material.standing):
                _best_first(entries[begin:stop], material.standing)
            chunk = _write_records(
                arena, halves, base, chunk, entries, begin, stop, record_of, material, tally
            )
            begin = stop
        if len(material.standing.places):
            _note_rest(arena, first_chunk, chunk, stops)
    return chunk


@bare
def _few_best_first(entries: Ints, begin: int, end: int, standing: Standing) -> bool:
    """Sort a few clauses by where they stand; whether all are sorted, as most are by now."""
    places = standing.places
    if len(places) == 0:  # all are alike
        return True
    if end - begin <= _FEW:
        for e in range(begin + 1, end):
            put_in_order(entries[e], entries, begin, e, places)
        return True
    e = begin + 1
    while e < end and places[entries[e - 1]] < places[entries[e]]:
        e += 1
    return e == end


@kernel
def _best_first(entries: Ints, standing: Standing) -> None:
    """Sort many clauses by where they stand."""
    places = np.empty(len(entries), np.int64)
    for j in range(len(entries)):
        places[j] = standing.places[entries[j]]
    sort_by(places, entries)


@bare
def _note_rest(arena: Words, first: int, end: int, chunks: Longs) -> None:
    """Note in each chunk of a cluster the best level from it on."""
    n, chunk = 0, first
    while chunk < end:
        chunks[n] = chunk
        n += 1
        chunk += int(get(arena[chunk], fields.CHUNK_WORDS))
    best = np.uint64(255)
    for i in range(n - 1, -1, -1):
        best = min(best, get(arena[chunks[i]], fields.CHUNK_LEVEL))
        arena[chunks[i]] |= put(best, fields.CHUNK_REST)


@bare
def _ask_for(entries: Ints, begin: int, end: int, material: Material, record_of: Halves) -> None:
    """Clauses of a cluster lie anywhere: ask for all of them, and wait for memory but once."""
    starts = material.clauses.starts
    for e in range(begin, end):
        prefetch(starts, entries[e])
        prefetch(material.signatures, entries[e])
        prefetch(record_of, entries[e])
    for e in range(begin, end):
        prefetch(material.item_dims, starts[entries[e]])


@bare
def _ask_for_predicates(
    entries: Ints, begin: int, end: int, material: Material, record_of: Halves
) -> None:
    """The same for what goes to the records that are not yet written."""
    clauses, words = material.clauses, material.words
    for e in range(begin, end):
        if record_of[entries[e]] == 0:
            prefetch(clauses.items, clauses.starts[entries[e]])
    for e in range(begin, end):
        if record_of[entries[e]] == 0:
            for i in range(clauses.starts[entries[e]], clauses.starts[entries[e] + 1]):
                prefetch(words.mask_starts, clauses.items[i])
                prefetch(words.tail_starts, clauses.items[i])
    for e in range(begin, end):
        if record_of[entries[e]] == 0:
            for i in range(clauses.starts[entries[e]], clauses.starts[entries[e] + 1]):
                prefetch(words.masks, words.mask_starts[clauses.items[i]])


@bare
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


@bare
def _chunk_header(n: int, kind: int, n_words: int, best: int, material: Material) -> np.uint64:
    """The header of a chunk of n clauses, the best of which is given."""
    header = put(n, fields.CHUNK_N) | put(kind, fields.CHUNK_KIND)
    header |= put(material.standing.levels[best], fields.CHUNK_LEVEL)
    return np.uint64(header | put(n_words, fields.CHUNK_WORDS))


@bare
def _write_plain(
    arena: Words,
    halves: Halves,
    at: int,
    entries: Ints,
    begin: int,
    end: int,
    material: Material,
    tally: NDArray[np.int64],
) -> int:
    while begin < end:
        n = min(end - begin, MOST_RECORDS)
        size = 1 + (n + 1) // 2
        arena[at] = _chunk_header(n, np.int64(PLAIN), size, entries[begin], material)
        for j in range(n):
            halves[2 * (at + 1) + j] = entries[begin + j]
        tally[0, PLAIN] += n
        tally[1, PLAIN] += 1
        at += size
        begin += n
    return at


@bare
def _write_records(
    arena: Words,
    halves: Halves,
    base: int,
    at: int,
    entries: Ints,
    begin: int,
    end: int,
    record_of: Halves,
    material: Material,
    tally: NDArray[np.int64],
) -> int:
    """Write chunks of records; a clause has one, wherever it has entries. 0: not yet written."""
    while begin < end:
        n = min(end - begin, MOST_RECORDS)
        places, w = 2 * (at + 1 + n), at + 1 + n + (n + 1) // 2
        for j in range(n):
            if j % _ASKED == 0:
                _ask_for_predicates(
                    entries, begin + j, begin + min(j + _ASKED, n), material, record_of
                )
            clause = entries[begin + j]
            arena[at + 1 + j] = material.signatures[clause]
            if record_of[clause] == 0:
                record_of[clause] = base + w
                w = _write_record(arena, w, clause, np.int64(-1), material)
            halves[places + j] = record_of[clause]
        arena[at] = _chunk_header(n, np.int64(RECORDS), w - at, entries[begin], material)
        tally[0, RECORDS] += n
        tally[1, RECORDS] += 1
        at = w
        begin += n
    return at


@bare
def _write_record(arena: Words, at: int, clause: int, beyond: int, material: Material) -> int:
    """Write a record of the predicates on dimensions beyond that size; where it ends."""
    items, words = material.clauses.items, material.words
    sizes, item_dims, every = material.sizes, material.item_dims, material.predicates.every
    first, last = material.clauses.starts[clause], material.clauses.starts[clause + 1]
    n_masks, n_every, w = 0, 0, at + 1
    for i in range(first, last):
        p = items[i]
        if sizes[item_dims[i]] <= beyond:
            continue
        for m in range(words.mask_starts[p], words.mask_starts[p + 1]):
            arena[w] = words.masks[m]
            w += 1
            n_masks += 1
            n_every += every[p]
    last_tail = -1
    # spans, of one word each, come first: a loop of their own reads them
    for lists in (False, True):
        for i in range(first, last):
            p = items[i]
            n = words.tail_starts[p + 1] - words.tail_starts[p]
            if n == 0 or (n > 1) != lists or sizes[item_dims[i]] <= beyond:
                continue
            last_tail = w
            for t in range(n):
                arena[w + t] = words.tails[words.tail_starts[p] + t]
            w += n
    if last_tail >= 0:
        arena[last_tail] |= put(ONE, fields.EXACT_LAST)
    header = put(clause, fields.RECORD_CLAUSE) | put(last_tail >= 0, fields.RECORD_HAS_TAIL)
    arena[at] = header | put(n_masks, fields.RECORD_MASKS) | put(n_every, fields.RECORD_EVERY)
    return w


@bare
def _write_slices(
    arena: Words,
    octets: Bytes,
    quarters: NDArray[np.uint16],
    halves: Halves,
    at: int,
    entries: Ints,
    begin: int,
    n: int,
    columns: tuple[int, Longs, Ints, Ints],
    material: Material,
    listed: Ints,
    rows: Words,
) -> int:
    """Write a sliced chunk; where it ends, or 0 where it would be too large."""
    lengths, sizes, layout = material.lengths, material.sizes, material.words.bytes
    starts_of_clauses = material.clauses.starts
    n_columns, starts, bits, items = columns
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
        dim, first, last = listed[j], starts[j], starts[j + 1]
        after, to_rows, has_every = write_column(
            arena, octets, w, limit, n, bits[first:last], items[first:last], dim, material, rows
        )
        if after == 0 or after - at >= _FARTHEST:
            return 0
        wide = layout.wide[dim]
        byte = dim if wide < 0 else layout.n_masked + wide
        column = put(byte, fields.COLUMN_BYTE) | put(has_every, fields.COLUMN_HAS_EVERY)
        column |= put(to_rows, fields.COLUMN_ROWS) | put(w - at, fields.COLUMN_CELLS)
        arena[at + 2 + j] = column
        w = after
    for j in range(n):
        clause = entries[begin + j]
        halves[2 * ids + j] = clause
        large = False
        for i in range(starts_of_clauses[clause], starts_of_clauses[clause + 1]):
            large |= sizes[material.item_dims[i]] > LARGEST_DOMAIN
        if large:
            if w - at > _FARTHEST:
                return 0
            quarters[4 * places + j] = w - at
            w = _write_record(arena, w, clause, np.int64(LARGEST_DOMAIN), material)
    shape = put(n_columns, fields.SHAPE_COLUMNS) | put((n + 63) // 64, fields.SHAPE_WIDTH)
    arena[at + 1] = shape | put(has_records, fields.SHAPE_HAS_RECORDS)
    arena[at] = _chunk_header(n, np.int64(SLICES), w - at, entries[begin], material)
    return int(w)
