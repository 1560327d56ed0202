"""Many events: each cluster is read once for all events of a batch that visit it."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from remuda.arrays import Bools, Ints, Longs
from remuda.jit import kernel
from remuda.matchers.auto.arena import HAS_TAIL, PLAIN, RECORDS
from remuda.matchers.auto.blocks import FULL, SIZE, append, next_block
from remuda.matchers.auto.single import (
    LARGE,
    LISTED,
    LOW16,
    LOW32,
    ONE,
    POSITION,
    TWO,
    ZERO,
    find,
    row_of,
    tail_holds,
)
from remuda.matchers.auto.slices import WITH_RECORDS
from remuda.matchers.auto.words import DIM, U64
from remuda.matchers.kernels.bits import prefetch, trailing_zeros

QUEUE = 64  # records are verified when so many wait: enough for their prefetching to pay


@kernel
def find_each(
    starts: Longs,
    spaces: Ints,
    first: int,
    last: int,
    arena: U64,
    places: U64,
    traits: NDArray[np.uint8],
    dim_bits: int,
    bits: NDArray[np.uint8],
    choices: NDArray[np.uint8],
    cells: NDArray[np.uint32],
    visits: U64,
    queue: U64,
    out: Ints,
    listed: Bools,
    rows: Ints,
    links: Ints,
    heads: Ints,
    cursors: Longs,
    n_used: Longs,
) -> int:
    """One event after the other, into blocks; how many were verified, -1 for too few blocks."""
    n_verified = 0
    for event in range(first, last):
        n, verified = find(
            spaces, starts[event], starts[event + 1], arena, places, traits, dim_bits, bits,
            choices, cells, visits, queue, out,
        )  # fmt: skip
        listed[event - first] = n == LISTED
        n_verified += verified
        if not append(event - first, out, max(n, 0), rows, links, heads, cursors, n_used):
            return -1
    return n_verified


@kernel
def find_together(
    starts: Longs,
    spaces: Ints,
    first: int,
    last: int,
    arena: U64,
    places: U64,
    traits: NDArray[np.uint8],
    dim_bits: int,
    bits: NDArray[np.uint8],
    choices: NDArray[np.uint8],
    cells: NDArray[np.uint32],
    absent: U64,
    visitors: NDArray[np.uint32],
    clusters: NDArray[np.uint32],
    visiting: NDArray[np.uint32],
    waiting: U64,
    waiting_events: NDArray[np.uint32],
    listed: Bools,
    rows: Ints,
    links: Ints,
    heads: Ints,
    cursors: Longs,
    n_used: Longs,
) -> int:
    """Cluster after cluster, into blocks; how many were verified, -1 for too few blocks.

    `bits`, `choices` and `cells` are as in `find`, for each event of the batch; `visitors` has a
    zero for each cluster. All are left as they were found, unless blocks were too few.
    """
    n_dims = np.uint64(len(traits))
    n_clusters = _register(
        starts, spaces, first, last, places, traits, bits, choices, cells, absent, visitors,
        clusters, visiting, listed,
    )  # fmt: skip
    begin, n_verified, n_waiting, enough = 0, 0, 0, True
    for c in range(n_clusters):
        end = np.int64(visitors[clusters[c]])
        visitors[clusters[c]] = 0
        if c + 4 < n_clusters:
            prefetch(arena, places[2 * np.int64(clusters[c + 4])] & LOW32)
        cluster = places[2 * np.int64(clusters[c])]
        at, left = cluster & LOW32, cluster >> np.uint64(32)
        while left > ZERO and enough:
            header = arena[at]
            kind = (header >> np.uint64(16)) & np.uint64(0xFF)
            if kind == np.uint64(RECORDS):
                n_waiting, verified = _scan_records(
                    at, begin, end, visiting, n_dims, arena, dim_bits, bits, cells, absent,
                    waiting, waiting_events, n_waiting, rows, links, heads, cursors, n_used,
                )  # fmt: skip
                n_verified += verified
            elif kind == np.uint64(PLAIN):
                _copy_plain(
                    at, begin, end, visiting, arena, rows, links, heads, cursors, n_used
                )
            else:
                n_waiting, verified = _scan_slices(
                    at, begin, end, visiting, n_dims, arena, dim_bits, bits, choices, cells,
                    waiting, waiting_events, n_waiting, rows, links, heads, cursors, n_used,
                )  # fmt: skip
                n_verified += verified
            enough = n_used[0] < len(links)
            left -= header & LOW16
            at += header >> np.uint64(32)
        begin = end
    n_verified += n_waiting
    _verify(
        n_waiting, waiting, waiting_events, n_dims, arena, dim_bits, bits, cells,
        rows, links, heads, cursors, n_used,
    )  # fmt: skip
    _take_leave(starts, spaces, first, last, places, n_dims, bits, choices, cells)
    return n_verified if n_used[0] < len(links) else -1


@kernel
def _register(
    starts: Longs,
    spaces: Ints,
    first: int,
    last: int,
    places: U64,
    traits: NDArray[np.uint8],
    bits: NDArray[np.uint8],
    choices: NDArray[np.uint8],
    cells: NDArray[np.uint32],
    absent: U64,
    visitors: NDArray[np.uint32],
    clusters: NDArray[np.uint32],
    visiting: NDArray[np.uint32],
    listed: Bools,
) -> int:
    """Note the spaces of each event, and for each cluster its visitors; how many clusters.

    The visitors of the c-th of `clusters` stand in `visiting`, behind those of the one before,
    up to `visitors[clusters[c]]`.
    """
    n_dims, n_clusters = np.uint64(len(traits)), 0
    everywhere = len(places) // 2 - 1
    for event in range(first, last):
        k = np.uint64(event - first)
        base, present = k * n_dims, ZERO
        listed[k] = False
        for i in range(starts[event], starts[event + 1]):
            place = places[np.uint64(spaces[i]) * TWO + ONE]
            dim, cell = place & DIM, place >> np.uint64(32)
            if cells[base + dim]:
                listed[k] = True
            trait = traits[dim]
            cells[base + dim] = cell
            bits[base + dim] = (place >> np.uint64(26)) & np.uint64(0x3F)
            choices[base + dim] = ONE if trait & LARGE else cell
            present |= ONE << np.uint64(trait & POSITION)
        absent[k] = ~present
        if listed[k]:
            continue
        n_clusters = _count(everywhere, places, visitors, clusters, n_clusters)
        for i in range(starts[event], starts[event + 1]):
            cell = places[np.uint64(spaces[i]) * TWO + ONE] >> np.uint64(32)
            n_clusters = _count(spaces[i], places, visitors, clusters, n_clusters)
            n_clusters = _count(
                spaces[i] - np.int64(cell), places, visitors, clusters, n_clusters
            )
    place = np.uint32(0)
    for c in range(n_clusters):
        n = visitors[clusters[c]]
        visitors[clusters[c]] = place
        place += n
    for event in range(first, last):
        k = np.uint64(event - first)
        if listed[k]:
            continue
        _enlist(k, everywhere, places, visitors, visiting)
        for i in range(starts[event], starts[event + 1]):
            cell = places[np.uint64(spaces[i]) * TWO + ONE] >> np.uint64(32)
            _enlist(k, spaces[i], places, visitors, visiting)
            _enlist(k, spaces[i] - np.int64(cell), places, visitors, visiting)
    return n_clusters


@kernel
def _count(
    space: int,
    places: U64,
    visitors: NDArray[np.uint32],
    clusters: NDArray[np.uint32],
    n_clusters: int,
) -> int:
    cluster = np.uint64(space)
    if places[cluster * TWO] == ZERO:
        return n_clusters
    if visitors[cluster] == 0:
        clusters[n_clusters] = space
        n_clusters += 1
    visitors[cluster] += np.uint32(1)
    return n_clusters


@kernel
def _enlist(
    k: np.uint64,
    space: int,
    places: U64,
    visitors: NDArray[np.uint32],
    visiting: NDArray[np.uint32],
) -> None:
    cluster = np.uint64(space)
    if places[cluster * TWO]:
        visiting[visitors[cluster]] = k
        visitors[cluster] += np.uint32(1)


@kernel
def _take_leave(
    starts: Longs,
    spaces: Ints,
    first: int,
    last: int,
    places: U64,
    n_dims: np.uint64,
    bits: NDArray[np.uint8],
    choices: NDArray[np.uint8],
    cells: NDArray[np.uint32],
) -> None:
    for event in range(first, last):
        base = np.uint64(event - first) * n_dims
        for i in range(starts[event], starts[event + 1]):
            dim = places[np.uint64(spaces[i]) * TWO + ONE] & DIM
            bits[base + dim] = 0
            choices[base + dim] = 0
            cells[base + dim] = 0


@kernel
def _scan_records(
    at: np.uint64,
    begin: int,
    end: int,
    visiting: NDArray[np.uint32],
    n_dims: np.uint64,
    arena: U64,
    dim_bits: int,
    bits: NDArray[np.uint8],
    cells: NDArray[np.uint32],
    absent: U64,
    waiting: U64,
    waiting_events: NDArray[np.uint32],
    n_waiting: int,
    rows: Ints,
    links: Ints,
    heads: Ints,
    cursors: Longs,
    n_used: Longs,
) -> tuple[int, int]:
    """Queue the records whose signature the visitors have; how many wait, how many were verified."""
    quarters = arena.view(np.uint16)
    n_here = arena[at] & LOW16
    signatures = at + ONE
    offsets = (signatures + n_here) << TWO
    n, n_verified = np.uint64(n_waiting), 0
    for v in range(begin, end):
        k = visiting[v]
        lacks = absent[k]
        for j in range(n_here):
            if (arena[signatures + j] & lacks) == ZERO:
                record = at + np.uint64(quarters[offsets + j])
                waiting[n] = record
                waiting_events[n] = k
                n += ONE
                prefetch(arena, record)
        if n >= np.uint64(QUEUE):
            n_verified += np.int64(n)
            _verify(
                np.int64(n), waiting, waiting_events, n_dims, arena, dim_bits, bits, cells,
                rows, links, heads, cursors, n_used,
            )  # fmt: skip
            n = ZERO
    return np.int64(n), n_verified


@kernel
def _copy_plain(
    at: np.uint64,
    begin: int,
    end: int,
    visiting: NDArray[np.uint32],
    arena: U64,
    rows: Ints,
    links: Ints,
    heads: Ints,
    cursors: Longs,
    n_used: Longs,
) -> None:
    halves = arena.view(np.uint32)
    ids = (at + ONE) << ONE
    n_here = arena[at] & LOW16
    for v in range(begin, end):
        k = visiting[v]
        cursor = cursors[k]
        if n_used[0] + np.int64(n_here) // SIZE + 2 > len(links):
            n_used[0] = len(links)
            return
        for j in range(n_here):
            if cursor & FULL == 0:
                cursor = next_block(np.int64(k), cursor, links, heads, n_used)
            rows[cursor] = halves[ids + j]
            cursor += 1
        cursors[k] = cursor


@kernel
def _verify(
    n_waiting: int,
    waiting: U64,
    waiting_events: NDArray[np.uint32],
    n_dims: np.uint64,
    arena: U64,
    dim_bits: int,
    bits: NDArray[np.uint8],
    cells: NDArray[np.uint32],
    rows: Ints,
    links: Ints,
    heads: Ints,
    cursors: Longs,
    n_used: Longs,
) -> None:
    """Verify the records that wait, as in `find`; all blocks are used up where they may not do."""
    quarters = arena.view(np.uint16)
    shift = np.uint64(dim_bits)
    dim_mask = (ONE << shift) - ONE
    if n_used[0] + n_waiting > len(links):
        n_used[0] = len(links)
        return
    for q in range(np.uint64(n_waiting)):
        record, k = waiting[q], np.uint64(waiting_events[q])
        base = k * n_dims
        header = arena[record]
        w = record + ONE
        stop = w + ((header >> np.uint64(32)) & LOW16)
        while w < stop:
            word = arena[w]
            if ((word >> (shift + np.uint64(bits[base + (word & dim_mask)]))) & ONE) == ZERO:
                break
            w += ONE
        if w == stop and (
            (header & HAS_TAIL) == ZERO or tail_holds(arena, quarters, w, cells, base)
        ):
            cursor = cursors[k]
            if cursor & FULL == 0:
                cursor = next_block(np.int64(k), cursor, links, heads, n_used)
            rows[cursor] = header & np.uint64(0x7FFFFFFF)
            cursors[k] = cursor + 1


@kernel
def _scan_slices(
    at: np.uint64,
    begin: int,
    end: int,
    visiting: NDArray[np.uint32],
    n_dims: np.uint64,
    arena: U64,
    dim_bits: int,
    bits: NDArray[np.uint8],
    choices: NDArray[np.uint8],
    cells: NDArray[np.uint32],
    waiting: U64,
    waiting_events: NDArray[np.uint32],
    n_waiting: int,
    rows: Ints,
    links: Ints,
    heads: Ints,
    cursors: Longs,
    n_used: Longs,
) -> tuple[int, int]:
    """Add the chunk's clauses that hold for its visitors; queue those with a record to verify."""
    octets, quarters = arena.view(np.uint8), arena.view(np.uint16)
    halves = arena.view(np.uint32)
    shape, n_here = arena[at + ONE], arena[at] & LOW16
    n_columns, width = shape & LOW16, (shape >> np.uint64(16)) & np.uint64(0xFF)
    columns = at + TWO
    first_id = (columns + n_columns) << ONE
    first_record = ((first_id >> ONE) + ((n_here + ONE) >> ONE)) << TWO
    n, n_verified = np.uint64(n_waiting), 0
    for v in range(begin, end):
        k = np.uint64(visiting[v])
        base = k * n_dims
        a, b, c, d = ~ZERO, ~ZERO, ~ZERO, ~ZERO
        if width == np.uint64(4):
            for j in range(n_columns):
                row = row_of(arena, octets, at, columns + j, choices, base, width)
                a &= arena[row]
                b &= arena[row + ONE]
                c &= arena[row + TWO]
                d &= arena[row + np.uint64(3)]
                if (a | b | c | d) == ZERO:
                    break
            if (a | b | c | d) == ZERO:
                continue
        if n_used[0] + 6 > len(links):  # a chunk has at most 256 clauses
            n_used[0] = len(links)
            return 0, n_verified
        cursor = cursors[k]
        ids, records = first_id, first_record
        for y in range(width):
            held = a
            if width < np.uint64(4):
                held = ~ZERO
                for j in range(n_columns):
                    held &= arena[row_of(arena, octets, at, columns + j, choices, base, width) + y]
                    if held == ZERO:
                        break
            while held:
                bit = trailing_zeros(held)
                held &= held - ONE
                record = ZERO
                if shape & WITH_RECORDS:
                    record = np.uint64(quarters[records + bit])
                if record:
                    waiting[n] = at + record
                    waiting_events[n] = k
                    n += ONE
                    prefetch(arena, at + record)
                else:
                    if cursor & FULL == 0:
                        cursor = next_block(np.int64(k), cursor, links, heads, n_used)
                    rows[cursor] = halves[ids + bit]
                    cursor += 1
            a, b, c = b, c, d
            ids += np.uint64(64)
            records += np.uint64(64)
        cursors[k] = cursor
        if n >= np.uint64(QUEUE):
            n_verified += np.int64(n)
            _verify(
                np.int64(n), waiting, waiting_events, n_dims, arena, dim_bits, bits, cells,
                rows, links, heads, cursors, n_used,
            )  # fmt: skip
            n = ZERO
    return np.int64(n), n_verified
