"""Events with lists: several spaces on one dimension, of which any or every must be accepted.

The same clusters as in single.py are visited. A clause may be met under several of a list's
spaces, so what was found already is marked in a bitmap.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from remuda.arrays import Bools, Ints, Longs
from remuda.jit import kernel
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
from remuda.matchers.auto.blocks import append
from remuda.matchers.auto.slices import EVERY_ROW, WITH_RECORDS
from remuda.matchers.auto.words import DIM, EVERY, LAST, ON_MISSING, U64, accepts_cell, next_exact
from remuda.matchers.kernels.bits import trailing_zeros

_ZERO, _ONE, _TWO = np.uint64(0), np.uint64(1), np.uint64(2)
_LOW16, _LOW32 = np.uint64(0xFFFF), np.uint64(0xFFFFFFFF)


@kernel
def find_listed(
    spaces: Ints,
    begin: int,
    end: int,
    arena: U64,
    places: U64,
    traits: U64,
    dim_bits: int,
    n_masked: int,
    positions: U64,
    first: Longs,
    last: Longs,
    seen: U64,
    out: Ints,
) -> tuple[int, int]:
    """Write the clauses that hold to `out`; how many they are, and how many were verified.

    Instead of a byte, the event has a word in `positions`, with a bit for each position its list
    has there; bit 0 stands for none. `first` and `last` say where the spaces of a dimension stand,
    under its own number and, for slices, where a wide one has its byte. `positions` is left 1,
    all others 0.
    """
    n, n_verified, present = 0, 0, _ZERO
    for i in range(begin, end):
        dim = np.int64(places[2 * spaces[i] + 1] & DIM)
        if last[dim] == 0:
            first[dim] = i
            present |= _ONE << (traits[dim] & SIGNATURE_BIT)
        last[dim] = i + 1
        _enter(places[2 * spaces[i] + 1], traits, dim_bits, n_masked, positions, first, last)
    n, n_verified = _visit(
        places[len(places) - 2], spaces, arena, places, traits, dim_bits, n_masked, ~present,
        positions, first, last, seen, out, n, n_verified,
    )  # fmt: skip
    for i in range(begin, end):
        place = places[2 * spaces[i] + 1]
        if first[np.int64(place & DIM)] == i:
            n, n_verified = _visit(
                places[2 * (spaces[i] - np.int64(place >> np.uint64(32)))], spaces, arena, places,
                traits, dim_bits, n_masked, ~present, positions, first, last, seen, out, n,
                n_verified,
            )  # fmt: skip
        n, n_verified = _visit(
            places[2 * spaces[i]], spaces, arena, places, traits, dim_bits, n_masked, ~present,
            positions, first, last, seen, out, n, n_verified,
        )  # fmt: skip
    for i in range(begin, end):
        _leave(places[2 * spaces[i] + 1], traits, n_masked, positions, first, last)
    for i in range(n):
        seen[out[i] >> 6] = _ZERO
    return n, n_verified


@kernel
def _enter(
    place: np.uint64,
    traits: U64,
    dim_bits: int,
    n_masked: int,
    positions: U64,
    first: Longs,
    last: Longs,
) -> None:
    dim = np.int64(place & DIM)
    trait, cell, n_positions = traits[dim], place >> np.uint64(32), np.uint64(63 - dim_bits)
    position = _ONE << ((place >> np.uint64(26)) & np.uint64(0x3F))
    positions[dim] = (positions[dim] & ~_ONE) | position
    if trait & WIDE:
        byte = n_masked + np.int64((trait >> WIDE_SHIFT) & NUMBER)
        first[byte], last[byte] = first[dim], last[dim]
        if (trait >> PAGES_SHIFT) & PAGES and cell >= n_positions:
            page = (trait >> FIRST_PAGE_SHIFT) + cell // n_positions - _ONE
            position = _ONE << (cell % n_positions + _ONE)
            positions[page] = (positions[page] & ~_ONE) | position


@kernel
def _leave(
    place: np.uint64, traits: U64, n_masked: int, positions: U64, first: Longs, last: Longs
) -> None:
    dim = np.int64(place & DIM)
    trait = traits[dim]
    first[dim], last[dim], positions[dim] = 0, 0, _ONE
    if trait & WIDE:
        byte = n_masked + np.int64((trait >> WIDE_SHIFT) & NUMBER)
        first[byte], last[byte] = 0, 0
        for page in range((trait >> PAGES_SHIFT) & PAGES):
            positions[(trait >> FIRST_PAGE_SHIFT) + page] = _ONE


@kernel
def _visit(
    cluster: np.uint64,
    spaces: Ints,
    arena: U64,
    places: U64,
    traits: U64,
    dim_bits: int,
    n_masked: int,
    absent: np.uint64,
    positions: U64,
    first: Longs,
    last: Longs,
    seen: U64,
    out: Ints,
    n: int,
    n_verified: int,
) -> tuple[int, int]:
    quarters, halves = arena.view(np.uint16), arena.view(np.uint32)
    at, left = cluster & _LOW32, cluster >> np.uint64(32)
    while left > _ZERO:
        header = arena[at]
        n_here = header & _LOW16
        kind = (header >> np.uint64(16)) & np.uint64(0xFF)
        if kind == np.uint64(RECORDS):
            records = (at + _ONE + n_here) << _ONE
            for j in range(n_here):
                if (arena[at + _ONE + j] & absent) == _ZERO:
                    record = np.uint64(halves[records + j])
                    n_verified += 1
                    if _record_holds(
                        record, spaces, arena, quarters, places, traits, dim_bits, n_masked,
                        positions, first, last,
                    ):  # fmt: skip
                        clause = np.int64(arena[record] & np.uint64(0x7FFFFFFF))
                        n = _note(clause, seen, out, n)
        elif kind == np.uint64(PLAIN):
            for j in range(n_here):
                n = _note(np.int64(halves[((at + _ONE) << _ONE) + j]), seen, out, n)
        else:
            n, n_verified = _visit_slices(
                at, spaces, arena, places, traits, dim_bits, n_masked, positions, first, last,
                seen, out, n, n_verified,
            )  # fmt: skip
        left -= n_here
        at += header >> np.uint64(32)
    return n, n_verified


@kernel
def _note(clause: int, seen: U64, out: Ints, n: int) -> int:
    bit = _ONE << np.uint64(clause & 63)
    if seen[clause >> 6] & bit:
        return n
    seen[clause >> 6] |= bit
    out[n] = clause
    return n + 1


@kernel
def _record_holds(
    record: np.uint64,
    spaces: Ints,
    arena: U64,
    quarters: NDArray[np.uint16],
    places: U64,
    traits: U64,
    dim_bits: int,
    n_masked: int,
    positions: U64,
    first: Longs,
    last: Longs,
) -> bool:
    shift = np.uint64(dim_bits)
    header = arena[record]
    w = record + _ONE
    stop = w + ((header >> np.uint64(32)) & _LOW16)
    every_from = stop - (header >> np.uint64(48))
    while w < stop:
        word = arena[w]
        byte = np.int64(word & ((_ONE << shift) - _ONE))
        if w >= every_from:
            if positions[byte] & ~(word >> shift):
                return False
        elif byte < len(traits) and (traits[byte] >> PAGES_SHIFT) & PAGES:
            after = _end_of_pages(w, stop, arena, shift, traits[byte])
            if not _pages_accept(w, after, arena, shift, traits[byte], positions):
                return False
            w = after - _ONE
        elif (positions[byte] & (word >> shift)) == _ZERO:
            return False
        w += _ONE
    if (header & HAS_TAIL) == _ZERO:
        return True
    while True:
        word = arena[w]
        if not _exact_word_holds(w, word, spaces, arena, quarters, places, n_masked, first, last):
            return False
        if word & LAST:
            return True
        w = next_exact(w, word)


@kernel
def _end_of_pages(
    w: np.uint64, stop: np.uint64, arena: U64, shift: np.uint64, trait: np.uint64
) -> np.uint64:
    """Where the words of the predicate end whose first is at `w`."""
    first_page = trait >> FIRST_PAGE_SHIFT
    n_pages = (trait >> PAGES_SHIFT) & PAGES
    w += _ONE
    while w < stop:
        byte = arena[w] & ((_ONE << shift) - _ONE)
        if byte < first_page or byte >= first_page + n_pages:
            break
        w += _ONE
    return w


@kernel
def _pages_accept(
    w: np.uint64,
    after: np.uint64,
    arena: U64,
    shift: np.uint64,
    trait: np.uint64,
    positions: U64,
) -> bool:
    """Whether a predicate with pages accepts any of the event's positions.

    One byte decides for one space; of a list, each page may have some. A page without a word is
    accepted as a whole, if any is.
    """
    word, elsewhere = arena[w], _ONE << (np.uint64(63) - shift)
    mine = positions[word & ((_ONE << shift) - _ONE)]
    accepted = word >> shift
    if mine & accepted & ~elsewhere:
        return True
    if (mine & accepted & elsewhere) == _ZERO:
        return False
    for i in range((trait >> PAGES_SHIFT) & PAGES):
        page = (trait >> FIRST_PAGE_SHIFT) + i
        if positions[page] == _ONE:
            continue
        accepted = ~_ZERO
        for at in range(w + _ONE, after):
            if (arena[at] & ((_ONE << shift) - _ONE)) == page:
                accepted = arena[at] >> shift
        if positions[page] & accepted:
            return True
    return False


@kernel
def _exact_word_holds(
    w: np.uint64,
    word: np.uint64,
    spaces: Ints,
    arena: U64,
    quarters: NDArray[np.uint16],
    places: U64,
    n_masked: int,
    first: Longs,
    last: Longs,
) -> bool:
    byte = n_masked + np.int64(word & DIM)
    if last[byte] == 0:
        return bool((word & ON_MISSING) != _ZERO)
    wanted = bool((word & EVERY) == _ZERO)  # any accepted space decides, or any refused one
    for i in range(first[byte], last[byte]):
        cell = places[2 * spaces[i] + 1] >> np.uint64(32)
        if accepts_cell(arena, quarters, w, word, cell) == wanted:
            return wanted
    return not wanted


@kernel
def _visit_slices(
    at: np.uint64,
    spaces: Ints,
    arena: U64,
    places: U64,
    traits: U64,
    dim_bits: int,
    n_masked: int,
    positions: U64,
    first: Longs,
    last: Longs,
    seen: U64,
    out: Ints,
    n: int,
    n_verified: int,
) -> tuple[int, int]:
    quarters, halves = arena.view(np.uint16), arena.view(np.uint32)
    shape, n_here = arena[at + _ONE], arena[at] & _LOW16
    n_columns, width = shape & _LOW16, (shape >> np.uint64(16)) & np.uint64(0xFF)
    ids = (at + _TWO + n_columns) << _ONE
    records = ((ids >> _ONE) + ((n_here + _ONE) >> _ONE)) << _TWO
    for y in range(width):
        held = ~_ZERO
        for j in range(n_columns):
            held &= _column(at, at + _TWO + j, y, width, spaces, arena, places, traits, first, last)
            if held == _ZERO:
                break
        while held:
            bit = np.uint64(64) * y + trailing_zeros(held)
            held &= held - _ONE
            record = at
            if shape & WITH_RECORDS:
                record += np.uint64(quarters[records + bit])
            if record != at:
                n_verified += 1
                if not _record_holds(
                    record, spaces, arena, quarters, places, traits, dim_bits, n_masked,
                    positions, first, last,
                ):  # fmt: skip
                    continue
            n = _note(np.int64(halves[ids + bit]), seen, out, n)
    return n, n_verified


@kernel
def _column(
    at: np.uint64,
    place: np.uint64,
    y: np.uint64,
    width: np.uint64,
    spaces: Ints,
    arena: U64,
    places: U64,
    traits: U64,
    first: Longs,
    last: Longs,
) -> np.uint64:
    """Word y of the clauses that the event's spaces content in one column."""
    octets = arena.view(np.uint8)
    column = arena[place]
    byte = np.int64(column & DIM)
    lut = at + (column >> np.uint64(39))
    rows = lut + ((column >> np.uint64(27)) & np.uint64(0xFFF)) + y
    if last[byte] == 0:
        return np.uint64(arena[rows + np.uint64(octets[lut << np.uint64(3)]) * width])
    some, all_ = _ZERO, ~_ZERO
    for i in range(first[byte], last[byte]):
        space = places[2 * spaces[i] + 1]
        cell = space >> np.uint64(32)
        if traits[np.int64(space & DIM)] & LARGE:
            cell = _ONE
        row = arena[rows + np.uint64(octets[(lut << np.uint64(3)) + cell]) * width]
        some |= row
        all_ &= row
    if column & EVERY_ROW:
        every = arena[rows - width]
        return np.uint64((all_ & every) | (some & ~every))
    return some


@kernel
def find_listed_many(
    starts: Longs,
    spaces: Ints,
    first_event: int,
    listed: Bools,
    arena: U64,
    places: U64,
    traits: U64,
    dim_bits: int,
    n_masked: int,
    positions: U64,
    first: Longs,
    last: Longs,
    seen: U64,
    out: Ints,
    rows: Ints,
    links: Ints,
    heads: Ints,
    cursors: Longs,
    n_used: Longs,
) -> int:
    """The same for events with lists, into blocks; how many verified, -1 for too few blocks."""
    n_verified = 0
    for k in range(len(listed)):
        if listed[k]:
            event = first_event + k
            n, verified = find_listed(
                spaces, starts[event], starts[event + 1], arena, places, traits, dim_bits,
                n_masked, positions, first, last, seen, out,
            )  # fmt: skip
            n_verified += verified
            if not append(k, out, n, rows, links, heads, cursors, n_used):
                return -1
    return n_verified
