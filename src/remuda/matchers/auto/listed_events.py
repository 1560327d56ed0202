"""Events with lists: several spaces on one dimension, of which any or every must be accepted.

The same clusters as in single.py are visited. A clause may be met under several of a list's
spaces, so what was found already is marked in a bitmap.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import carray  # type: ignore[attr-defined]
from numpy.typing import NDArray

from remuda.arrays import Bools, Bytes, Halves, Ints, Longs, Words
from remuda.jit import apart, bare, kernel
from remuda.matchers.auto import layout as fields
from remuda.matchers.auto.blocks import Blocks, append
from remuda.matchers.auto.layout import ONE, ZERO, Built, get
from remuda.matchers.auto.walk import ListedSpaces, walk
from remuda.matchers.auto.words import accepts_cell, next_exact
from remuda.pointers import pointer


class Listing(NamedTuple):
    """What `find_listed` writes to.

    Instead of a byte, the event has a word in `positions`, with a bit for each position its list
    has there; bit 0 stands for none. `first` and `last` say where the spaces of a dimension stand,
    under its own number and, for slices, where a wide one has its byte. `positions` is left 1,
    `first`, `last` and `seen` 0. What one cluster has goes to `sure` and `queue`.
    """

    positions: Words
    first: Longs
    last: Longs
    seen: Words  # a bit for each clause
    state: Bytes  # nothing: what events without lists have
    sure: Ints
    queue: Words
    out: Ints


@kernel
def find_listed(
    spaces: Ints, begin: int, end: int, built: Built, listing: Listing
) -> tuple[np.int64, np.int64]:
    """Write the clauses that hold to `out`; how many they are, and how many were verified."""
    places, first, last = built.places, listing.first, listing.last
    octets, quarters = built.arena.view(np.uint8), built.arena.view(np.uint16)
    halves = built.arena.view(np.uint32)
    n, n_verified = np.int64(0), np.int64(0)  # not literals: compiled but once
    present = places[len(places) - 1]
    for i in range(begin, end):
        place = places[2 * spaces[i] + 1]
        dim = np.int64(get(place, fields.PLACE_DIM))
        if last[dim] == 0:
            first[dim] = i
            present |= ONE << get(built.traits[dim], fields.TRAIT_BIT)
        last[dim] = i + 1
        _enter(place, built, listing)
    n, n_verified = _visit(
        places[len(places) - 2], spaces, built, octets, quarters, halves, ~present, listing, n,
        n_verified,
    )  # fmt: skip
    for i in range(begin, end):
        place = places[2 * spaces[i] + 1]
        if first[np.int64(get(place, fields.PLACE_DIM))] == i:
            cluster = places[2 * (spaces[i] - np.int64(get(place, fields.PLACE_CELL)))]
            n, n_verified = _visit(
                cluster, spaces, built, octets, quarters, halves, ~present, listing, n, n_verified
            )
        cluster = places[2 * spaces[i]]
        n, n_verified = _visit(
            cluster, spaces, built, octets, quarters, halves, ~present, listing, n, n_verified
        )
    for i in range(begin, end):
        _leave(places[2 * spaces[i] + 1], built, listing)
    for i in range(n):
        listing.seen[listing.out[i] >> 6] = ZERO
    return n, n_verified


@kernel
def find_listed_alone(
    spaces: Ints, where: Longs, dim_bits: int, n_masked: int
) -> tuple[np.int64, np.int64]:
    """`find_listed` for an event by itself, given where all arrays lie that it takes."""
    built = Built(
        carray(pointer(where[0]), (where[1],), np.uint64),
        carray(pointer(where[2]), (where[3],), np.uint64),
        carray(pointer(where[4]), (where[5],), np.uint64),
        dim_bits,
        n_masked,
    )
    listing = Listing(
        carray(pointer(where[6]), (where[7],), np.uint64),
        carray(pointer(where[8]), (where[9],), np.int64),
        carray(pointer(where[10]), (where[11],), np.int64),
        carray(pointer(where[12]), (where[13],), np.uint64),
        carray(pointer(where[14]), (where[15],), np.uint8),
        carray(pointer(where[16]), (where[17],), np.int32),
        carray(pointer(where[18]), (where[19],), np.uint64),
        carray(pointer(where[20]), (where[21],), np.int32),
    )
    return find_listed(spaces, np.int64(0), len(spaces), built, listing)  # type: ignore[no-any-return]


@bare
def _enter(place: np.uint64, built: Built, listing: Listing) -> None:
    positions, first, last = listing.positions, listing.first, listing.last
    dim, cell = np.int64(get(place, fields.PLACE_DIM)), get(place, fields.PLACE_CELL)
    trait, n_positions = built.traits[dim], np.uint64(63 - built.dim_bits)
    positions[dim] = (positions[dim] & ~ONE) | ONE << get(place, fields.PLACE_POSITION)
    if get(trait, fields.TRAIT_WIDE):
        byte = built.n_masked + np.int64(get(trait, fields.TRAIT_NUMBER))
        first[byte], last[byte] = first[dim], last[dim]
        if get(trait, fields.TRAIT_PAGES) and cell >= n_positions:
            page = get(trait, fields.TRAIT_FIRST_PAGE) + cell // n_positions - ONE
            positions[page] = (positions[page] & ~ONE) | ONE << (cell % n_positions + ONE)


@bare
def _leave(place: np.uint64, built: Built, listing: Listing) -> None:
    dim = np.int64(get(place, fields.PLACE_DIM))
    trait = built.traits[dim]
    listing.first[dim], listing.last[dim], listing.positions[dim] = 0, 0, ONE
    if get(trait, fields.TRAIT_WIDE):
        byte = built.n_masked + np.int64(get(trait, fields.TRAIT_NUMBER))
        listing.first[byte], listing.last[byte] = 0, 0
        for page in range(get(trait, fields.TRAIT_PAGES)):
            listing.positions[get(trait, fields.TRAIT_FIRST_PAGE) + page] = ONE


@apart
def _visit(
    cluster: np.uint64,
    spaces: Ints,
    built: Built,
    octets: Bytes,
    quarters: NDArray[np.uint16],
    halves: Halves,
    absent: np.uint64,
    listing: Listing,
    n: np.int64,
    n_verified: np.int64,
) -> tuple[np.int64, np.int64]:
    """Note what the cluster has; a clause is in it but once, and so in `sure` and `queue`."""
    arena = built.arena
    listed = ListedSpaces(spaces, built.places, built.traits, listing.first, listing.last)
    n_sure, n_queued = walk(
        cluster, arena, octets, quarters, halves, absent, listing.state, listed, ZERO, ZERO,
        listing.sure, listing.queue,
    )  # fmt: skip
    for i in range(n_sure):
        n = _note(np.int64(listing.sure[i]), listing, n)
    for q in range(n_queued):
        record = listing.queue[q]
        if _record_holds(record, spaces, built, quarters, listing):
            n = _note(np.int64(get(arena[record], fields.RECORD_CLAUSE)), listing, n)
    return n, n_verified + np.int64(n_queued)


@bare
def _note(clause: np.int64, listing: Listing, n: np.int64) -> np.int64:
    bit = ONE << np.uint64(clause & 63)
    if listing.seen[clause >> 6] & bit:
        return n
    listing.seen[clause >> 6] |= bit
    listing.out[n] = clause
    return n + np.int64(1)


@apart
def _record_holds(
    record: np.uint64,
    spaces: Ints,
    built: Built,
    quarters: NDArray[np.uint16],
    listing: Listing,
) -> bool:
    """As `walk.record_holds`, where a byte is a set of positions."""
    arena, traits, positions = built.arena, built.traits, listing.positions
    shift = np.uint64(built.dim_bits)
    header = arena[record]
    w = record + ONE
    stop = w + get(header, fields.RECORD_MASKS)
    every_from = stop - get(header, fields.RECORD_EVERY)
    while w < stop:
        word = arena[w]
        byte = np.int64(word & ((ONE << shift) - ONE))
        if w >= every_from:
            if positions[byte] & ~(word >> shift):
                return False
        elif byte < len(traits) and get(traits[byte], fields.TRAIT_PAGES):
            after = _end_of_pages(w, stop, arena, shift, traits[byte])
            if not _pages_accept(w, after, arena, shift, traits[byte], positions):
                return False
            w = after - ONE
        elif (positions[byte] & (word >> shift)) == ZERO:
            return False
        w += ONE
    if get(header, fields.RECORD_HAS_TAIL) == ZERO:
        return True
    while True:
        word = arena[w]
        if not _exact_word_holds(w, word, spaces, built, quarters, listing):
            return False
        if get(word, fields.EXACT_LAST):
            return True
        w = next_exact(w, word)


@bare
def _end_of_pages(
    w: np.uint64, stop: np.uint64, arena: Words, shift: np.uint64, trait: np.uint64
) -> np.uint64:
    """Where the words of the predicate end whose first is at `w`."""
    first_page = get(trait, fields.TRAIT_FIRST_PAGE)
    n_pages = get(trait, fields.TRAIT_PAGES)
    w += ONE
    while w < stop:
        byte = arena[w] & ((ONE << shift) - ONE)
        if byte < first_page or byte >= first_page + n_pages:
            break
        w += ONE
    return w


@bare
def _pages_accept(
    w: np.uint64,
    after: np.uint64,
    arena: Words,
    shift: np.uint64,
    trait: np.uint64,
    positions: Words,
) -> bool:
    """Whether a predicate with pages accepts any of the event's positions.

    One byte decides for one space; of a list, each page may have some. A page without a word is
    accepted as a whole, if any is.
    """
    word, elsewhere = arena[w], ONE << (np.uint64(63) - shift)
    mine = positions[word & ((ONE << shift) - ONE)]
    accepted = word >> shift
    if mine & accepted & ~elsewhere:
        return True
    if (mine & accepted & elsewhere) == ZERO:
        return False
    for i in range(get(trait, fields.TRAIT_PAGES)):
        page = get(trait, fields.TRAIT_FIRST_PAGE) + i
        if positions[page] == ONE:
            continue
        accepted = ~ZERO
        for at in range(w + ONE, after):
            if (arena[at] & ((ONE << shift) - ONE)) == page:
                accepted = arena[at] >> shift
        if positions[page] & accepted:
            return True
    return False


@apart
def _exact_word_holds(
    w: np.uint64,
    word: np.uint64,
    spaces: Ints,
    built: Built,
    quarters: NDArray[np.uint16],
    listing: Listing,
) -> bool:
    byte = built.n_masked + np.int64(get(word, fields.EXACT_WIDE))
    if listing.last[byte] == 0:
        return bool(get(word, fields.EXACT_ON_MISSING))
    wanted = not get(word, fields.EXACT_EVERY)  # any accepted space decides, or any refused one
    for i in range(listing.first[byte], listing.last[byte]):
        cell = get(built.places[2 * spaces[i] + 1], fields.PLACE_CELL)
        if accepts_cell(built.arena, quarters, w, word, cell) == wanted:
            return wanted
    return not wanted


@kernel
def find_listed_many(
    starts: Longs,
    spaces: Ints,
    first_event: int,
    listed: Bools,
    built: Built,
    listing: Listing,
    blocks: Blocks,
) -> int:
    """The same for events with lists, into blocks; how many verified, -1 for too few blocks."""
    n_verified = 0
    for k in range(len(listed)):
        if listed[k]:
            event = first_event + k
            n, verified = find_listed(spaces, starts[event], starts[event + 1], built, listing)
            n_verified += verified
            if not append(k, listing.out, n, blocks):
                return -1
    return n_verified
