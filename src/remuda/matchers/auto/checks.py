"""Checks of a stored arena: whatever its words say, no kernel is led outside of an array.

What follows from the table is made anew and compared. Then every cluster is walked once, as an
event would. Beside places and lengths, that sees to it that an event without lists meets no clause
twice: rows are written to an array with room for each clause once.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from remuda.arrays import Ints, Longs, Ragged, Words
from remuda.encoding.checks import check, check_ragged, check_starts, check_within
from remuda.encoding.plan import MAX_PREDICATES
from remuda.encoding.table import ClauseTable
from remuda.jit import bare, inlined, kernel
from remuda.matchers.auto import layout as fields
from remuda.matchers.auto.arena import LEVEL_BITS, MOST_RECORDS, places_of, traits_of
from remuda.matchers.auto.denials import Denials
from remuda.matchers.auto.layout import PLAIN, RECORDS, SLICES, ZERO, Field, get
from remuda.matchers.auto.slices import LARGEST_DOMAIN, MOST_CLAUSES
from remuda.matchers.auto.words import CELLS, SPAN, SPANS, bytes_of

_MOST_MASKS = 4 * MAX_PREDICATES  # a predicate has a word for each of at most four pages
_NOWHERE, _EVERYWHERE = -2, -1  # homes of a clause, beside the dimension of its key


class Walk(NamedTuple):
    """What is known beforehand, and what was met on the way: all of these are of each clause."""

    dim_bits: int
    n_masked: int
    n_wide: int
    cells: Ints  # but these, which are of each byte of an event
    homes: Longs  # under which key it has its entries
    met: Longs  # the cluster that it was met in last
    records: Longs  # the record that was looked at


class Chunk(NamedTuple):
    """A chunk of n clauses, whose home is that of its cluster."""

    at: int
    n: int
    end: int
    cluster: int
    home: np.int64


def check_arena(table: ClauseTable, arena: Words, places: Words, traits: Words) -> Longs:
    """Refuse an arena that is not sound for the table; where each clause has its entries."""
    layout = bytes_of(table.space_starts)
    check(arena.ndim == 1 and places.shape == (2 * table.n_spaces + 2,), "places")
    directory = np.ascontiguousarray(places[::2])
    check(places[-1] in (ZERO, LEVEL_BITS), "places")
    check(np.array_equal(places, places_of(table, directory, layout, places[-1])), "places")
    check(traits.shape == (table.n_dims,), "traits")
    known = traits_of(table, layout, np.zeros(table.n_dims))
    check(
        not ((traits ^ known) & ~(fields.TRAIT_BIT.mask << fields.TRAIT_BIT.shift)).any(), "traits"
    )
    sizes = (np.diff(table.space_starts) - 1).astype(np.int32)
    walk = Walk(
        layout.dim_bits,
        layout.n_masked,
        layout.n_wide,
        _cells(sizes, layout.wide, layout.n_masked),
        *(np.full(table.n_clauses, nothing, np.int64) for nothing in (_NOWHERE, -1, -1)),
    )
    check(_sound(arena, directory, table.dim_of_space(), table.space_starts, walk), "clusters")
    return walk.homes


def check_denials(denials: Denials, table: ClauseTable, homes: Longs) -> None:
    """Refuse denials that are not sound for the table, or of clauses that have entries."""
    n = len(denials.clauses)
    if n == 0:  # nothing else is read
        return
    check_within(denials.clauses, 0, table.n_clauses, "denied clauses")
    distinct = np.bincount(denials.clauses, minlength=table.n_clauses).max() == 1
    check(distinct and (homes[denials.clauses] == _NOWHERE).all(), "denied clauses")
    levels = denials.level_starts
    check(levels.ndim == 1 and 2 <= len(levels) <= 9, "levels")
    check_starts(levels, len(levels) - 1, len(denials.slots), "levels")
    needed = [(max(table.n_spaces - 1, 0) >> (4 * level)) + 1 for level in range(len(levels) - 1)]
    check((np.diff(levels) >= needed).all(), "levels")
    n_rows, width = len(denials.bitmap_of), (n + 63) // 64
    check_within(denials.slots, 0, n_rows + 1, "slots")
    check_ragged(Ragged(denials.list_starts, denials.lists), n_rows, n, "lists")
    check(denials.bitmaps.ndim == 1, "bitmaps")
    check_within(denials.bitmap_of, -1, len(denials.bitmaps) // width, "bitmaps")
    rows = Ragged(denials.any_starts, denials.any_clauses)
    check_ragged(rows, table.n_dims, n, "clauses of lists")


def _cells(sizes: Ints, wide: Ints, n_masked: int) -> Ints:
    """How many cells a column of slices has for each byte of an event; 0 where it has none."""
    cells = np.zeros(n_masked + int(wide.max(initial=-1)) + 1, np.int32)
    narrow = np.flatnonzero(wide < 0)
    cells[narrow] = sizes[narrow] + 1
    is_wide = np.flatnonzero(wide >= 0)
    large = sizes[is_wide] > LARGEST_DOMAIN
    cells[n_masked + wide[is_wide]] = np.where(large, 2, sizes[is_wide] + 1)
    return cells


@inlined
def _number(word: np.uint64, field: Field) -> int:
    """What the field has in the word, to be reckoned with."""
    return np.int64(get(word, field))  # type: ignore[return-value]


@kernel
def _sound(
    arena: Words, directory: Words, dim_of_space: Ints, space_starts: Ints, walk: Walk
) -> bool:
    """Walk the chunks of all clusters, and learn where each clause is met."""
    left_of_all = 2 * np.int64(len(arena))  # an entry takes half a word at least
    for cluster in range(len(directory)):
        begin = _number(directory[cluster], fields.CLUSTER_AT)
        left = _number(directory[cluster], fields.CLUSTER_ENTRIES)
        home = np.int64(_EVERYWHERE)
        if cluster < len(dim_of_space):
            dim = np.int64(dim_of_space[cluster])
            home = 2 * dim + (space_starts[dim] != cluster)
        left_of_all -= left
        if left_of_all < 0:
            return False
        while left > 0:
            if begin >= len(arena):
                return False
            n = _number(arena[begin], fields.CHUNK_N)
            kind = _number(arena[begin], fields.CHUNK_KIND)
            end = begin + _number(arena[begin], fields.CHUNK_WORDS)
            if not 1 <= n <= left or not begin < end <= len(arena):
                return False
            chunk = Chunk(begin, n, end, cluster, home)
            if kind == RECORDS:
                sound = _records_sound(arena, chunk, walk)
            elif kind == PLAIN:
                sound = _plain_sound(arena, chunk, walk)
            elif kind == SLICES:
                sound = _slices_sound(arena, chunk, walk)
            else:
                sound = False
            if not sound:
                return False
            left -= n
            begin = end
    return True


@bare
def _note(clause: int, chunk: Chunk, walk: Walk) -> bool:
    """Whether the clause may be met here: once in a cluster, and under one key alone."""
    homes, met = walk.homes, walk.met
    if not 0 <= clause < len(homes) or met[clause] == chunk.cluster:
        return False
    if homes[clause] != chunk.home and homes[clause] != _NOWHERE:
        return False
    homes[clause], met[clause] = chunk.home, chunk.cluster
    return True


@kernel
def _plain_sound(arena: Words, chunk: Chunk, walk: Walk) -> bool:
    if chunk.at + 1 + (chunk.n + 1) // 2 > chunk.end:
        return False
    halves = arena.view(np.uint32)
    for j in range(chunk.n):  # noqa: SIM110 - a kernel
        if not _note(np.int64(halves[2 * (chunk.at + 1) + j]), chunk, walk):
            return False
    return True


@kernel
def _records_sound(arena: Words, chunk: Chunk, walk: Walk) -> bool:
    begin, n, records = chunk.at, chunk.n, walk.records
    if n > MOST_RECORDS or begin + 1 + n + (n + 1) // 2 > chunk.end:
        return False
    halves = arena.view(np.uint32)
    for j in range(n):
        record = np.int64(halves[2 * (begin + 1 + n) + j])
        if record >= len(arena):
            return False
        clause = _number(arena[record], fields.RECORD_CLAUSE)
        if not _note(clause, chunk, walk):
            return False
        if records[clause] != record:  # a clause has one record, under however many spaces
            if not _record_sound(arena, record, walk):
                return False
            records[clause] = record
    return True


@kernel
def _record_sound(arena: Words, record: int, walk: Walk) -> bool:
    header = arena[record]
    n_masks = _number(header, fields.RECORD_MASKS)
    n_every = _number(header, fields.RECORD_EVERY)
    w, stop = record + 1, record + 1 + n_masks
    if n_masks > _MOST_MASKS or n_every > n_masks or stop > len(arena):
        return False
    dim_mask = (np.uint64(1) << np.uint64(walk.dim_bits)) - np.uint64(1)
    while w < stop:
        if np.int64(arena[w] & dim_mask) >= walk.n_masked:
            return False
        w += 1
    if get(header, fields.RECORD_HAS_TAIL) == ZERO:
        return True
    return bool(_tail_sound(arena, w, walk.n_wide))


@kernel
def _tail_sound(arena: Words, w: int, n_wide: int) -> bool:
    """Whether the exact words from `w` on come to an end, and lie in the arena with their lists."""
    for _ in range(MAX_PREDICATES):
        if w >= len(arena) or _number(arena[w], fields.EXACT_WIDE) >= n_wide:
            return False
        form = _number(arena[w], fields.EXACT_FORM)
        payload = _number(arena[w], fields.EXACT_PAYLOAD)
        n_words = (payload + 3) // 4 if form == CELLS else np.int64(form == SPANS)
        if form not in (SPAN, CELLS, SPANS) or w + 1 + n_words > len(arena):
            return False
        if form == SPANS:
            first = arena[w + 1]
            if first > np.uint64(len(arena)) or np.int64(first) + payload > len(arena):
                return False
        if get(arena[w], fields.EXACT_LAST):
            return True
        w += 1 + int(n_words)
    return False


@kernel
def _slices_sound(arena: Words, chunk: Chunk, walk: Walk) -> bool:
    begin, n, end = chunk.at, chunk.n, chunk.end
    if n > MOST_CLAUSES or begin + 2 > end:
        return False
    shape, width = arena[begin + 1], (n + 63) // 64
    n_columns = _number(shape, fields.SHAPE_COLUMNS)
    has_records = get(shape, fields.SHAPE_HAS_RECORDS) != ZERO
    ids = begin + 2 + n_columns
    places = ids + (n + 1) // 2
    if n_columns < 1 or _number(shape, fields.SHAPE_WIDTH) != width:
        return False
    if places + ((n + 3) // 4 if has_records else 0) > end:
        return False
    for j in range(n_columns):
        # who is behind the last clause must be refused by some column; it is the first
        spare = n % 64 if j == 0 else 0
        if not _column_sound(arena, begin, end, arena[begin + 2 + j], width, spare, walk.cells):
            return False
    halves, quarters = arena.view(np.uint32), arena.view(np.uint16)
    for j in range(n):
        clause = np.int64(halves[2 * ids + j])
        if not _note(clause, chunk, walk):
            return False
        place = np.int64(quarters[4 * places + j]) if has_records else 0
        if place == 0:
            continue
        record = begin + place
        if record >= len(arena) or _number(arena[record], fields.RECORD_CLAUSE) != clause:
            return False
        if not _record_sound(arena, record, walk):
            return False
    return True


@kernel
def _column_sound(
    arena: Words, at: int, end: int, column: np.uint64, width: int, spare: int, cells: Ints
) -> bool:
    """Whether each cell chooses a row of the chunk, which refuses whatever is beyond `spare`."""
    byte = _number(column, fields.COLUMN_BYTE)
    if byte >= len(cells) or cells[byte] == 0:
        return False
    first = at + _number(column, fields.COLUMN_CELLS)
    to_rows = _number(column, fields.COLUMN_ROWS)
    if first + (cells[byte] + 7) // 8 > end or first + to_rows > end:
        return False
    if get(column, fields.COLUMN_HAS_EVERY) and to_rows < width:
        return False
    octets = arena.view(np.uint8)
    for cell in range(cells[byte]):
        row = first + to_rows + np.int64(octets[8 * first + cell]) * width
        if row + width > end:
            return False
        if spare and arena[row + width - 1] >> np.uint64(spare):
            return False
    return True
