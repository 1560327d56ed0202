"""The walk of one event through a cluster: what surely holds, and what is left to verify.

An event without lists has a byte for each dimension (words.py), which chooses one row of each
column of a slice; one with lists (`ListedSpaces`) may choose several. All else is the same.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from remuda.arrays import Bytes, Halves, Ints, Longs, Words
from remuda.jit import apart, bare
from remuda.matchers.auto import layout as fields
from remuda.matchers.auto.layout import ONE, PLAIN, RECORDS, TWO, ZERO, get
from remuda.matchers.auto.words import SPAN, accepts_cell, next_exact
from remuda.matchers.kernels.bits import prefetch, trailing_zeros

LINE = np.uint64(8)  # words in a cache line
_WORD = np.uint64(64)


class ListedSpaces(NamedTuple):
    """The spaces of an event with lists: a byte of it has `spaces[first[byte] : last[byte]]`."""

    spaces: Ints
    places: Words
    traits: Words
    first: Longs
    last: Longs


@bare
def prefetch_chunk(arena: Words, at: np.uint64) -> None:
    """Ask for the first lines of a chunk: the machine guesses the others when it sees some read."""
    for line in range(8):
        prefetch(arena, at + np.uint64(line) * LINE)


@bare
def walk(
    cluster: np.uint64,
    arena: Words,
    octets: Bytes,
    quarters: NDArray[np.uint16],
    halves: Halves,
    absent: np.uint64,
    state: Bytes,
    listed: ListedSpaces | None,
    n: np.uint64,
    n_queued: np.uint64,
    out: Ints,
    queue: Words,
) -> tuple[np.uint64, np.uint64]:
    """Add the clauses of a cluster that hold to `out`, and to `queue` the records that may."""
    chunk, left = get(cluster, fields.CLUSTER_AT), get(cluster, fields.CLUSTER_ENTRIES)
    while left > ZERO:
        header = arena[chunk]
        n, n_queued = walk_chunk(
            chunk, header, left, arena, octets, quarters, halves, absent, state, listed, n,
            n_queued, out, queue,
        )  # fmt: skip
        left -= get(header, fields.CHUNK_N)
        chunk += get(header, fields.CHUNK_WORDS)
    return n, n_queued


@bare
def walk_chunk(
    at: np.uint64,
    header: np.uint64,
    left: np.uint64,
    arena: Words,
    octets: Bytes,
    quarters: NDArray[np.uint16],
    halves: Halves,
    absent: np.uint64,
    state: Bytes,
    listed: ListedSpaces | None,
    n: np.uint64,
    n_queued: np.uint64,
    out: Ints,
    queue: Words,
) -> tuple[np.uint64, np.uint64]:
    """The same of one chunk, `left` being the entries from it to the end of its cluster."""
    n_here, kind = get(header, fields.CHUNK_N), get(header, fields.CHUNK_KIND)
    if kind == np.uint64(RECORDS):
        first = at + ONE
        records = (first + n_here) * TWO
        for j in range(n_here):
            if (arena[first + j] & absent) == ZERO:
                record = np.uint64(halves[records + j])
                queue[n_queued] = record
                n_queued += ONE
                prefetch(arena, record)
                prefetch(arena, record + LINE)
    elif kind == np.uint64(PLAIN):
        ids = (at + ONE) * TWO
        for j in range(n_here):
            out[n + j] = halves[ids + j]
        n += n_here
    else:
        if left > n_here:
            prefetch_chunk(arena, at + get(header, fields.CHUNK_WORDS))
        n, n_queued = _walk_slices(
            at, arena, octets, quarters, halves, state, listed, n, n_queued, out, queue
        )
    return n, n_queued


@bare
def _walk_slices(
    at: np.uint64,
    arena: Words,
    octets: Bytes,
    quarters: NDArray[np.uint16],
    halves: Halves,
    state: Bytes,
    listed: ListedSpaces | None,
    n: np.uint64,
    n_queued: np.uint64,
    out: Ints,
    queue: Words,
) -> tuple[np.uint64, np.uint64]:
    shape = arena[at + ONE]
    if listed is None:
        a, b, c, d = content(at, shape, arena, octets, state, ZERO)
    else:
        a, b, c, d = content_with_lists(at, shape, arena, octets, listed)
    if (a | b | c | d) == ZERO:
        return n, n_queued
    ids, records = ids_of(at, shape), records_of(at, shape, get(arena[at], fields.CHUNK_N))
    for _ in range(get(shape, fields.SHAPE_WIDTH)):
        held = a
        if get(shape, fields.SHAPE_HAS_RECORDS) == ZERO:
            while held:
                out[n] = halves[ids + trailing_zeros(held)]
                n += ONE
                held &= held - ONE
        else:
            while held:
                bit = trailing_zeros(held)
                record = np.uint64(quarters[records + bit])
                if record:
                    queue[n_queued] = at + record
                    n_queued += ONE
                    prefetch(arena, at + record)
                else:
                    out[n] = halves[ids + bit]
                    n += ONE
                held &= held - ONE
        a, b, c = b, c, d
        ids += _WORD
        records += _WORD
    return n, n_queued


@bare
def ids_of(at: np.uint64, shape: np.uint64) -> np.uint64:
    """The half word from which on a sliced chunk has the ids of its clauses."""
    return np.uint64((at + TWO + get(shape, fields.SHAPE_COLUMNS)) * TWO)


@bare
def records_of(at: np.uint64, shape: np.uint64, n: np.uint64) -> np.uint64:
    """The quarter from which on it says where their records lie."""
    return np.uint64(TWO * ids_of(at, shape) + ((n + ONE) >> ONE) * np.uint64(4))


@bare
def content(
    at: np.uint64,
    shape: np.uint64,
    arena: Words,
    octets: Bytes,
    state: Bytes,
    base: np.uint64,
) -> tuple[np.uint64, np.uint64, np.uint64, np.uint64]:
    """The clauses of a sliced chunk that an event contents, whose bytes begin at `base`."""
    columns, n_columns = at + TWO, get(shape, fields.SHAPE_COLUMNS)
    width = get(shape, fields.SHAPE_WIDTH)
    a, b, c, d = ~ZERO, ~ZERO, ~ZERO, ~ZERO
    if width == np.uint64(4):
        for j in range(n_columns):
            row = _row_of(at, arena[columns + j], octets, state, base, width)
            a &= arena[row]
            b &= arena[row + ONE]
            c &= arena[row + TWO]
            d &= arena[row + np.uint64(3)]
            if (a | b | c | d) == ZERO:
                break
        return a, b, c, d
    b, c, d = ZERO, ZERO, ZERO
    if width == ONE:
        for j in range(n_columns):
            a &= arena[_row_of(at, arena[columns + j], octets, state, base, ONE)]
            if a == ZERO:
                break
        return a, b, c, d
    for y in range(width):
        held = ~ZERO
        for j in range(n_columns):
            held &= arena[_row_of(at, arena[columns + j], octets, state, base, width) + y]
            if held == ZERO:
                break
        if y == ZERO:
            a = held
        elif y == ONE:
            b = held
        else:
            c = held
    return a, b, c, d


@bare
def _row_of(
    at: np.uint64,
    column: np.uint64,
    octets: Bytes,
    state: Bytes,
    base: np.uint64,
    width: np.uint64,
) -> np.uint64:
    """Where the row lies that the event's cell chooses in a column."""
    cells = at + get(column, fields.COLUMN_CELLS)
    cell = np.uint64(state[base + get(column, fields.COLUMN_BYTE)])
    row = np.uint64(octets[cells * LINE + cell])
    return np.uint64(cells + get(column, fields.COLUMN_ROWS) + row * width)


@apart
def content_with_lists(
    at: np.uint64, shape: np.uint64, arena: Words, octets: Bytes, listed: ListedSpaces
) -> tuple[np.uint64, np.uint64, np.uint64, np.uint64]:
    """The same for an event with lists."""
    a, b, c, d = ZERO, ZERO, ZERO, ZERO  # no array: who calls this makes none
    for y in range(get(shape, fields.SHAPE_WIDTH)):
        held = ~ZERO
        for j in range(get(shape, fields.SHAPE_COLUMNS)):
            held &= _content_in_column(at, arena[at + TWO + j], y, shape, arena, octets, listed)
            if held == ZERO:
                break
        if y == 0:
            a = held
        elif y == 1:
            b = held
        elif y == 2:
            c = held
        else:
            d = held
    return a, b, c, d


@bare
def _content_in_column(
    at: np.uint64,
    column: np.uint64,
    y: np.uint64,
    shape: np.uint64,
    arena: Words,
    octets: Bytes,
    listed: ListedSpaces,
) -> np.uint64:
    """Word y of the clauses that the event's spaces content in one column."""
    byte, width = np.int64(get(column, fields.COLUMN_BYTE)), get(shape, fields.SHAPE_WIDTH)
    cells = at + get(column, fields.COLUMN_CELLS)
    rows = cells + get(column, fields.COLUMN_ROWS) + y
    if listed.last[byte] == 0:
        return np.uint64(arena[rows + np.uint64(octets[cells * LINE]) * width])
    some, all_ = ZERO, ~ZERO
    for i in range(listed.first[byte], listed.last[byte]):
        place = listed.places[2 * listed.spaces[i] + 1]
        cell = get(place, fields.PLACE_CELL)
        if get(listed.traits[np.int64(get(place, fields.PLACE_DIM))], fields.TRAIT_LARGE):
            cell = ONE
        row = arena[rows + np.uint64(octets[cells * LINE + cell]) * width]
        some |= row
        all_ &= row
    if get(column, fields.COLUMN_HAS_EVERY):
        every = arena[rows - width]
        return np.uint64((all_ & every) | (some & ~every))
    return some


@bare
def record_holds(
    record: np.uint64,
    arena: Words,
    quarters: NDArray[np.uint16],
    shift: np.uint64,
    state: Bytes,
    base: np.uint64,
    cells: Halves,
    first_cell: np.uint64,
) -> bool:
    """Whether a record holds for an event, whose bytes and cells begin at these places."""
    header = arena[record]
    w, byte = record + ONE, (ONE << shift) - ONE
    stop = w + get(header, fields.RECORD_MASKS)
    while w < stop:
        word = arena[w]
        if ((word >> (shift + np.uint64(state[base + (word & byte)]))) & ONE) == ZERO:
            return False
        w += ONE
    if get(header, fields.RECORD_HAS_TAIL) == ZERO:
        return True
    return tail_holds(arena, quarters, w, cells, first_cell)  # type: ignore[no-any-return]


@apart
def tail_holds(
    arena: Words,
    quarters: NDArray[np.uint16],
    w: np.uint64,
    cells: Halves,
    first_cell: np.uint64,
) -> bool:
    """Whether all exact words of the tail at `w` hold; the event's cells begin at `first_cell`."""
    while True:  # spans, which come first
        word = arena[w]
        if get(word, fields.EXACT_FORM) != np.uint64(SPAN):
            break
        cell = np.uint64(cells[first_cell + get(word, fields.EXACT_WIDE)])
        lo = get(word, fields.SPAN_FIRST)
        listed = (cell >= lo) & (cell < lo + get(word, fields.SPAN_N))
        if cell == ZERO:
            if get(word, fields.EXACT_ON_MISSING) == ZERO:
                return False
        elif listed == (get(word, fields.EXACT_REFUSES) != ZERO):
            return False
        if get(word, fields.EXACT_LAST):
            return True
        w += ONE
    while True:
        word = arena[w]
        cell = np.uint64(cells[first_cell + get(word, fields.EXACT_WIDE)])
        if cell == ZERO:
            if get(word, fields.EXACT_ON_MISSING) == ZERO:
                return False
        elif not accepts_cell(arena, quarters, w, word, cell):
            return False
        if get(word, fields.EXACT_LAST):
            return True
        w = next_exact(w, word)
