"""One event: visit the clusters of its spaces, scan signatures, verify what survives."""

from __future__ import annotations

import numpy as np
from numba import carray  # type: ignore[attr-defined]
from numpy.typing import NDArray

from remuda.arrays import Ints, Longs
from remuda.jit import inlined, kernel
from remuda.matchers.auto.arena import (
    FIRST_PAGE_SHIFT,
    HAS_TAIL,
    LARGE,
    NUMBER,
    PAGES,
    PAGES_SHIFT,
    PLAIN,
    RECORDS,
    SIGNATURE_BIT,
    WIDE,
    WIDE_SHIFT,
)
from remuda.matchers.auto.slices import WITH_RECORDS
from remuda.matchers.auto.words import (
    DIM,
    FORM_SHIFT,
    LAST,
    ON_MISSING,
    REFUSES,
    SPAN,
    U64,
    accepts_cell,
    next_exact,
)
from remuda.matchers.kernels.bits import pointer, prefetch, trailing_zeros

LISTED = -1  # the event has a list: lists.py

ZERO, ONE, TWO = np.uint64(0), np.uint64(1), np.uint64(2)
LOW16, LOW32 = np.uint64(0xFFFF), np.uint64(0xFFFFFFFF)


@kernel
def find(  # noqa: C901, PLR0912, PLR0915 - the hot loop stands in one piece
    spaces: Ints,
    begin: int,
    end: int,
    arena: U64,
    places: U64,
    traits: U64,
    dim_bits: int,
    n_masked: int,
    state: NDArray[np.uint8],
    cells: NDArray[np.uint32],
    visits: U64,
    queue: U64,
    out: Ints,
) -> tuple[np.int64, np.int64]:
    """Write the clauses that hold to `out`; how many they are, and how many were verified.

    An event without lists meets a clause once, so that `out` and `queue` need room for all clauses
    and no more; one with lists is left alone, and the number is LISTED. `state` has the bytes that
    mask words ask for (words.py), and behind them the cells of wide dimensions as slices know them;
    `cells` has those cells themselves. All is 0 before and after.
    """
    octets, quarters = arena.view(np.uint8), arena.view(np.uint16)
    halves = arena.view(np.uint32)
    shift = np.uint64(dim_bits)
    dim_mask = (ONE << shift) - ONE
    n_visits, present = ZERO, ZERO
    listed = False
    everywhere = places[len(places) - 2]
    if everywhere:
        visits[0] = everywhere
        n_visits = ONE
    for i in range(begin, end):
        at = np.uint64(spaces[i]) * TWO
        place = places[at + ONE]
        dim, cell = place & DIM, place >> np.uint64(32)
        if state[dim]:
            listed = True
            break
        trait = traits[dim]
        state[dim] = (place >> np.uint64(26)) & np.uint64(0x3F)
        if trait & WIDE:
            enter_wide(trait, cell, dim_bits, n_masked, state, ZERO, cells, ZERO)
        present |= ONE << (trait & SIGNATURE_BIT)
        cluster = places[at - cell * TWO]
        if cluster:
            visits[n_visits] = cluster
            n_visits += ONE
            prefetch_chunk(arena, cluster & LOW32)
        cluster = places[at]
        if cluster:
            visits[n_visits] = cluster
            n_visits += ONE
            prefetch_chunk(arena, cluster & LOW32)
    n, n_queued = ZERO, ZERO
    if listed:
        n_visits = ZERO
    absent = ~present
    for v in range(n_visits):
        at, left = visits[v] & LOW32, visits[v] >> np.uint64(32)
        while left > ZERO:
            header = arena[at]
            n_here = header & LOW16
            kind = (header >> np.uint64(16)) & np.uint64(0xFF)
            if kind == np.uint64(RECORDS):
                first = at + ONE
                records = (first + n_here) << ONE
                for j in range(n_here):
                    if (arena[first + j] & absent) == ZERO:
                        record = np.uint64(halves[records + j])
                        queue[n_queued] = record
                        n_queued += ONE
                        prefetch(arena, record)
                        prefetch(arena, record + np.uint64(8))
            elif kind == np.uint64(PLAIN):
                ids = (at + ONE) << ONE
                for j in range(n_here):
                    out[n + j] = halves[ids + j]
                n += n_here
            else:
                if left > n_here:
                    prefetch_chunk(arena, at + (header >> np.uint64(32)))
                n, n_queued = _find_in_slices(
                    arena, octets, quarters, halves, at, state, n, n_queued, out, queue
                )
            left -= n_here
            at += header >> np.uint64(32)
    for q in range(n_queued):
        record = queue[q]
        header = arena[record]
        w = record + ONE
        stop = w + ((header >> np.uint64(32)) & LOW16)
        while w < stop:
            word = arena[w]
            if ((word >> (shift + np.uint64(state[word & dim_mask]))) & ONE) == ZERO:
                break
            w += ONE
        if w == stop and (
            (header & HAS_TAIL) == ZERO or tail_holds(arena, quarters, w, cells, ZERO)
        ):
            out[n] = header & np.uint64(0x7FFFFFFF)
            n += ONE
    for i in range(begin, end):
        place = places[np.uint64(spaces[i]) * TWO + ONE]
        trait = traits[place & DIM]
        state[place & DIM] = 0
        if trait & WIDE:
            leave_wide(trait, place >> np.uint64(32), dim_bits, n_masked, state, cells)
    if listed:
        return np.int64(LISTED), np.int64(0)
    return np.int64(n), np.int64(n_queued)


@kernel
def find_alone(
    spaces: Ints, where: Longs, dim_bits: int, n_masked: int
) -> tuple[np.int64, np.int64]:
    """`find` for an event by itself; `where` has the addresses of all arrays that it takes."""
    return find(  # type: ignore[no-any-return]
        spaces,
        0,
        len(spaces),
        carray(pointer(where[0]), (where[1],), np.uint64),
        carray(pointer(where[2]), (where[3],), np.uint64),
        carray(pointer(where[4]), (where[5],), np.uint64),
        dim_bits,
        n_masked,
        carray(pointer(where[6]), (where[7],), np.uint8),
        carray(pointer(where[8]), (where[9],), np.uint32),
        carray(pointer(where[10]), (where[11],), np.uint64),
        carray(pointer(where[12]), (where[13],), np.uint64),
        carray(pointer(where[14]), (where[15],), np.int32),
    )


@inlined
def prefetch_chunk(arena: U64, at: np.uint64) -> None:
    """Ask for the first lines of a chunk: the machine guesses the others when it sees some read."""
    for line in range(8):
        prefetch(arena, at + (np.uint64(line) << np.uint64(3)))


@inlined
def enter_wide(
    trait: np.uint64,
    cell: np.uint64,
    dim_bits: int,
    n_masked: int,
    state: NDArray[np.uint8],
    base: np.uint64,
    cells: NDArray[np.uint32],
    first_cell: np.uint64,
) -> None:
    """Note the cell of a wide dimension, for tails, for slices and on its page."""
    wide, n_positions = (trait >> WIDE_SHIFT) & NUMBER, np.uint64(63 - dim_bits)
    cells[first_cell + wide] = cell
    state[base + np.uint64(n_masked) + wide] = ONE if trait & LARGE else cell
    if (trait >> PAGES_SHIFT) & PAGES and cell >= n_positions:
        page = (trait >> FIRST_PAGE_SHIFT) + cell // n_positions - ONE
        state[base + page] = cell % n_positions + ONE


@inlined
def leave_wide(
    trait: np.uint64,
    cell: np.uint64,
    dim_bits: int,
    n_masked: int,
    state: NDArray[np.uint8],
    cells: NDArray[np.uint32],
) -> None:
    """Undo `enter_wide`."""
    wide, n_positions = (trait >> WIDE_SHIFT) & NUMBER, np.uint64(63 - dim_bits)
    cells[wide] = 0
    state[np.uint64(n_masked) + wide] = 0
    if (trait >> PAGES_SHIFT) & PAGES and cell >= n_positions:
        state[(trait >> FIRST_PAGE_SHIFT) + cell // n_positions - ONE] = 0


@inlined
def _find_in_slices(  # noqa: PLR0912 - the hot loop stands in one piece
    arena: U64,
    octets: NDArray[np.uint8],
    quarters: NDArray[np.uint16],
    halves: NDArray[np.uint32],
    at: np.uint64,
    state: NDArray[np.uint8],
    n: np.uint64,
    n_queued: np.uint64,
    out: Ints,
    queue: U64,
) -> tuple[np.uint64, np.uint64]:
    """Add the chunk's clauses that hold; queue those with a record to verify."""
    shape = arena[at + ONE]
    n_columns, width = shape & LOW16, (shape >> np.uint64(16)) & np.uint64(0xFF)
    columns = at + TWO
    ids = (columns + n_columns) << ONE
    n_ids = arena[at] & LOW16
    records = ((ids >> ONE) + ((n_ids + ONE) >> ONE)) << TWO
    a, b, c, d = ~ZERO, ~ZERO, ~ZERO, ~ZERO
    if width == np.uint64(4):
        for j in range(n_columns):
            row = row_of(arena, octets, at, columns + j, state, ZERO, width)
            a &= arena[row]
            b &= arena[row + ONE]
            c &= arena[row + TWO]
            d &= arena[row + np.uint64(3)]
            if (a | b | c | d) == ZERO:
                return n, n_queued
    for y in range(width):
        held = a
        if width < np.uint64(4):
            held = ~ZERO
            for j in range(n_columns):
                held &= arena[row_of(arena, octets, at, columns + j, state, ZERO, width) + y]
                if held == ZERO:
                    break
        if (shape & WITH_RECORDS) == ZERO:
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
        ids += np.uint64(64)
        records += np.uint64(64)
    return n, n_queued


@inlined
def row_of(
    arena: U64,
    octets: NDArray[np.uint8],
    at: np.uint64,
    place: np.uint64,
    state: NDArray[np.uint8],
    base: np.uint64,
    width: np.uint64,
) -> np.uint64:
    """Where the row lies that the event's cell chooses in a column; its bytes begin at `base`."""
    column = arena[place]
    lut = at + (column >> np.uint64(39))
    cell = np.uint64(state[base + (column & DIM)])
    row = np.uint64(octets[(lut << np.uint64(3)) + cell])
    rows = lut + ((column >> np.uint64(27)) & np.uint64(0xFFF))
    return np.uint64(rows + row * width)


@kernel
def tail_holds(
    arena: U64,
    quarters: NDArray[np.uint16],
    w: np.uint64,
    cells: NDArray[np.uint32],
    first_cell: np.uint64,
) -> bool:
    """Whether all exact words of the tail at `w` hold; the event's cells begin at `first_cell`."""
    while True:  # spans, which come first
        word = arena[w]
        if (word >> FORM_SHIFT) & np.uint64(3) != np.uint64(SPAN):
            break
        cell = np.uint64(cells[first_cell + (word & DIM)])
        lo = (word >> np.uint64(32)) & LOW16
        listed = (cell >= lo) & (cell < lo + (word >> np.uint64(48)))
        if cell == ZERO:
            if (word & ON_MISSING) == ZERO:
                return False
        elif listed == ((word & REFUSES) != ZERO):
            return False
        if word & LAST:
            return True
        w += ONE
    while True:
        word = arena[w]
        cell = np.uint64(cells[first_cell + (word & DIM)])
        if cell == ZERO:
            if (word & ON_MISSING) == ZERO:
                return False
        elif not accepts_cell(arena, quarters, w, word, cell):
            return False
        if word & LAST:
            return True
        w = next_exact(w, word)
