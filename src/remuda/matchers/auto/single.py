"""One event: visit the clusters of its spaces, scan signatures, verify what survives."""

from __future__ import annotations

import numpy as np
from numba import carray  # type: ignore[attr-defined]

from remuda.arrays import Bytes, Halves, Ints, Longs, Words
from remuda.jit import bare, kernel
from remuda.matchers.auto import layout as fields
from remuda.matchers.auto.denials import find_undenied_alone
from remuda.matchers.auto.layout import ONE, TWO, ZERO, get
from remuda.matchers.auto.listed_events import find_listed_alone
from remuda.matchers.auto.walk import prefetch_chunk, record_holds, walk
from remuda.matchers.kernels.alone import own_alone
from remuda.pointers import pointer

LISTED = -1  # the event has a list: listed_events.py


@kernel
def find(  # noqa: PLR0912 - the hot loop stands in one piece
    spaces: Ints,
    begin: int,
    end: int,
    arena: Words,
    places: Words,
    traits: Words,
    dim_bits: int,
    n_masked: int,
    state: Bytes,
    cells: Halves,
    visits: Words,
    queue: Words,
    out: Ints,
) -> tuple[np.int64, np.int64]:
    """Write the clauses that hold to `out`; how many they are, and how many were verified.

    An event without lists meets a clause once, so that `out` and `queue` need room for all clauses
    and no more; one with lists is left alone, and the number is LISTED. `state` has the bytes that
    mask words ask for (words.py), and behind them the cells of wide dimensions as slices know them;
    `cells` has those cells themselves. All is 0 before and after. The arrays come one by one, as
    `find_alone` has their addresses.
    """
    octets, quarters = arena.view(np.uint8), arena.view(np.uint16)
    halves = arena.view(np.uint32)
    n_visits, present = ZERO, ZERO
    listed = False
    everywhere = places[len(places) - 2]
    if everywhere:
        visits[0] = everywhere
        n_visits = ONE
    for i in range(begin, end):
        word = np.uint64(spaces[i]) * TWO
        place = places[word + ONE]
        dim, cell = get(place, fields.PLACE_DIM), get(place, fields.PLACE_CELL)
        if state[dim]:
            listed = True
            break
        trait = traits[dim]
        state[dim] = get(place, fields.PLACE_POSITION)
        if get(trait, fields.TRAIT_WIDE):
            enter_wide(trait, cell, dim_bits, n_masked, state, ZERO, cells, ZERO)
        present |= ONE << get(trait, fields.TRAIT_BIT)
        cluster = places[word - cell * TWO]
        if cluster:
            visits[n_visits] = cluster
            n_visits += ONE
            prefetch_chunk(arena, get(cluster, fields.CLUSTER_AT))
        cluster = places[word]
        if cluster:
            visits[n_visits] = cluster
            n_visits += ONE
            prefetch_chunk(arena, get(cluster, fields.CLUSTER_AT))
    n, n_queued = ZERO, ZERO
    if listed:
        n_visits = ZERO
    absent = ~(present | places[len(places) - 1])
    for v in range(n_visits):
        n, n_queued = walk(
            visits[v], arena, octets, quarters, halves, absent, state, None, n, n_queued, out, queue
        )
    for q in range(n_queued):
        record = queue[q]
        if record_holds(record, arena, quarters, np.uint64(dim_bits), state, ZERO, cells, ZERO):
            out[n] = get(arena[record], fields.RECORD_CLAUSE)
            n += ONE
    for i in range(begin, end):
        place = places[np.uint64(spaces[i]) * TWO + ONE]
        trait = traits[get(place, fields.PLACE_DIM)]
        state[get(place, fields.PLACE_DIM)] = 0
        if get(trait, fields.TRAIT_WIDE):
            leave_wide(trait, get(place, fields.PLACE_CELL), dim_bits, n_masked, state, cells)
    if listed:
        return np.int64(LISTED), np.int64(0)
    return np.int64(n), np.int64(n_queued)


@kernel
def find_alone(
    spaces: Ints, where: Longs, dim_bits: int, n_masked: int
) -> tuple[np.int64, np.int64]:
    """`find_at` for an event by itself: a call from Python that hands over so few is fast."""
    return find_at(spaces, np.int64(0), len(spaces), where, dim_bits, n_masked)  # type: ignore[no-any-return]


@kernel
def find_at(
    spaces: Ints, begin: int, end: int, where: Longs, dim_bits: int, n_masked: int
) -> tuple[np.int64, np.int64]:
    """`find`, given where all arrays lie that it takes.

    What is built comes frozen, as in batches: so all that they share is compiled but once.
    """
    return find(  # type: ignore[no-any-return]
        spaces,
        begin,
        end,
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


@kernel
def find_owned(
    spaces: Ints,
    where: Longs,
    where_listed: Longs,
    where_denied: Longs,
    owners: Longs,
    dim_bits: int,
    n_masked: int,
) -> int:
    """Write the owners; how many they are. `LISTED` where lists need room that is not there."""
    n, _ = find_at(spaces, np.int64(0), len(spaces), where, dim_bits, n_masked)
    if n == LISTED:
        if len(where_listed) == 0:
            return LISTED
        n, _ = find_listed_alone(spaces, where_listed, dim_bits, n_masked)
    if where_denied[7]:
        n = find_undenied_alone(spaces, where_denied, n)
    return own_alone(carray(pointer(where[14]), (n,), np.int32), spaces, owners)  # type: ignore[no-any-return]


@bare
def enter_wide(
    trait: np.uint64,
    cell: np.uint64,
    dim_bits: int,
    n_masked: int,
    state: Bytes,
    base: np.uint64,
    cells: Halves,
    first_cell: np.uint64,
) -> None:
    """Note the cell of a wide dimension, for tails, for slices and on its page."""
    wide, n_positions = get(trait, fields.TRAIT_NUMBER), np.uint64(63 - dim_bits)
    cells[first_cell + wide] = cell
    state[base + np.uint64(n_masked) + wide] = ONE if get(trait, fields.TRAIT_LARGE) else cell
    if get(trait, fields.TRAIT_PAGES) and cell >= n_positions:
        page = get(trait, fields.TRAIT_FIRST_PAGE) + cell // n_positions - ONE
        state[base + page] = cell % n_positions + ONE


@bare
def leave_wide(
    trait: np.uint64,
    cell: np.uint64,
    dim_bits: int,
    n_masked: int,
    state: Bytes,
    cells: Halves,
) -> None:
    """Undo `enter_wide`."""
    wide, n_positions = get(trait, fields.TRAIT_NUMBER), np.uint64(63 - dim_bits)
    cells[wide] = 0
    state[np.uint64(n_masked) + wide] = 0
    if get(trait, fields.TRAIT_PAGES) and cell >= n_positions:
        state[get(trait, fields.TRAIT_FIRST_PAGE) + cell // n_positions - ONE] = 0
