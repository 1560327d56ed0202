"""Many events: each cluster is read once for all events of a batch that visit it."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from remuda.arrays import Bools, Ints, Longs
from remuda.jit import inlined, kernel
from remuda.matchers.auto.arena import HAS_TAIL, PLAIN, RECORDS, SIGNATURE_BIT, WIDE
from remuda.matchers.auto.blocks import FULL, SIZE, append, next_block
from remuda.matchers.auto.single import (
    LISTED,
    LOW16,
    LOW32,
    ONE,
    TWO,
    ZERO,
    enter_wide,
    find,
    prefetch_chunk,
    row_of,
    tail_holds,
)
from remuda.matchers.auto.slices import MOST_CLAUSES, WITH_RECORDS
from remuda.matchers.auto.words import DIM, U64
from remuda.matchers.kernels.bits import prefetch, trailing_zeros

MOST_EVENTS = 2048  # of a batch
_SAMPLED = 8  # one event in so many tells how much all of them read
QUEUE = 64  # records are verified when so many wait: enough for their prefetching to pay


@kernel
def entries_met(starts: Longs, spaces: Ints, first: int, last: int, places: U64) -> int:
    """About how many entries the clusters have that the events visit, one after the other."""
    n, n_sampled = np.uint64(0), 0
    for event in range(first, last, _SAMPLED):
        n_sampled += 1
        n += places[len(places) - 2] >> np.uint64(32)
        for i in range(starts[event], starts[event + 1]):
            at = np.uint64(spaces[i]) * TWO
            n += places[at] >> np.uint64(32)
            n += places[at - (places[at + ONE] >> np.uint64(32)) * TWO] >> np.uint64(32)
    return np.int64(n) * (last - first) // n_sampled  # type: ignore[return-value]


@kernel
def find_each(
    starts: Longs,
    spaces: Ints,
    first: int,
    last: int,
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
            spaces, starts[event], starts[event + 1], arena, places, traits, dim_bits,
            n_masked, state, cells, visits, queue, out,
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
    traits: U64,
    dim_bits: int,
    n_masked: int,
    state: NDArray[np.uint8],
    cells: NDArray[np.uint32],
    absent: U64,
    visitors: NDArray[np.uint32],
    clusters: NDArray[np.uint32],
    begins: NDArray[np.uint32],
    visits: NDArray[np.uint32],
    visiting: NDArray[np.uint32],
    waiting: U64,
    waiting_events: NDArray[np.uint32],
    listed: Bools,
    rows: Ints,
    links: Ints,
    heads: Ints,
    cursors: Longs,
    n_used: Longs,
) -> np.int64:
    """Cluster after cluster, into blocks; how many were verified, -1 for too few blocks.

    `state` and `cells` are as in `find`, for each event of the batch. The visitors of the c-th of
    `clusters` stand in `visiting`, from `begins[c]` up to `visitors[clusters[c]]`; all of
    `visitors` is 0 before and after.
    """
    n_bytes, n_cells = np.uint64(len(state) // MOST_EVENTS), np.uint64(len(cells) // MOST_EVENTS)
    state[: np.uint64(last - first) * n_bytes] = 0
    cells[: np.uint64(last - first) * n_cells] = 0
    n_clusters = _register(
        starts, spaces, first, last, places, traits, dim_bits, n_masked, state, n_bytes,
        cells, n_cells, absent, visitors, clusters, begins, visits, visiting, listed,
    )  # fmt: skip
    halves, found = arena.view(np.uint32), np.empty(MOST_CLAUSES, np.int32)
    n_verified, n_waiting, enough = np.int64(0), ZERO, True
    for c in range(n_clusters):
        begin, end = np.uint64(begins[c]), np.uint64(visitors[clusters[c]])
        visitors[clusters[c]] = 0
        if c + 4 < n_clusters:
            prefetch(arena, places[2 * np.int64(clusters[c + 4])] & LOW32)
        cluster = places[2 * np.int64(clusters[c])]
        at, left = cluster & LOW32, cluster >> np.uint64(32)
        while left > ZERO and enough:
            header = arena[at]
            kind = (header >> np.uint64(16)) & np.uint64(0xFF)
            if kind == np.uint64(RECORDS):  # written out here: the call would cost as much
                n_here, signatures = header & LOW16, at + ONE
                records = (signatures + n_here) << ONE
                for v in range(begin, end):
                    k = visiting[v]
                    lacks = absent[k]
                    for j in range(n_here):
                        if (arena[signatures + j] & lacks) == ZERO:
                            record = np.uint64(halves[records + j])
                            waiting[n_waiting] = record
                            waiting_events[n_waiting] = k
                            n_waiting += ONE
                            prefetch(arena, record)
                            prefetch(arena, record + np.uint64(8))
                    if n_waiting >= np.uint64(QUEUE):
                        n_verified += np.int64(n_waiting)
                        n_waiting = _verify(
                            n_waiting, waiting, waiting_events, arena, dim_bits, state,
                            n_bytes, cells, n_cells, rows, links, heads, cursors, n_used,
                        )  # fmt: skip
            elif kind == np.uint64(PLAIN):
                _copy_plain(at, begin, end, visiting, arena, rows, links, heads, cursors, n_used)
            else:
                if left > header & LOW16:
                    prefetch_chunk(arena, at + (header >> np.uint64(32)))
                n_waiting, verified = _scan_slices(
                    at, begin, end, visiting, found, arena, dim_bits, state, n_bytes, cells,
                    n_cells, waiting, waiting_events, n_waiting, rows, links, heads, cursors,
                    n_used,
                )  # fmt: skip
                n_verified += verified
            enough = n_used[0] < len(links)
            left -= header & LOW16
            at += header >> np.uint64(32)
    n_verified += np.int64(n_waiting)
    _verify(
        n_waiting, waiting, waiting_events, arena, dim_bits, state, n_bytes, cells, n_cells,
        rows, links, heads, cursors, n_used,
    )  # fmt: skip
    return n_verified if n_used[0] < len(links) else np.int64(-1)


@kernel
def _register(
    starts: Longs,
    spaces: Ints,
    first: int,
    last: int,
    places: U64,
    traits: U64,
    dim_bits: int,
    n_masked: int,
    state: NDArray[np.uint8],
    n_bytes: np.uint64,
    cells: NDArray[np.uint32],
    n_cells: np.uint64,
    absent: U64,
    visitors: NDArray[np.uint32],
    clusters: NDArray[np.uint32],
    begins: NDArray[np.uint32],
    visits: NDArray[np.uint32],
    visiting: NDArray[np.uint32],
    listed: Bools,
) -> np.int64:
    """Note the spaces of each event, and the visitors of each cluster; how many clusters."""
    n_clusters, n_visits = ZERO, ZERO
    n_events = np.uint64(last - first)
    everywhere = np.uint64(len(places) // 2 - 1)
    ends = absent[n_events:]  # of each event's visits; the same array has room for both
    for k in range(n_events):
        base, present = k * n_bytes, ZERO
        listed[k] = False
        if places[everywhere * TWO]:
            n_clusters = _count(everywhere, visitors, clusters, n_clusters)
            visits[n_visits] = everywhere
            n_visits += ONE
        for i in range(starts[first + np.int64(k)], starts[first + np.int64(k) + 1]):
            space = np.uint64(spaces[i])
            place = places[space * TWO + ONE]
            dim, cell = place & DIM, place >> np.uint64(32)
            if state[base + dim]:
                listed[k] = True
            trait = traits[dim]
            state[base + dim] = (place >> np.uint64(26)) & np.uint64(0x3F)
            if trait & WIDE:
                enter_wide(trait, cell, dim_bits, n_masked, state, base, cells, k * n_cells)
            present |= ONE << (trait & SIGNATURE_BIT)
            if places[space * TWO]:
                n_clusters = _count(space, visitors, clusters, n_clusters)
                visits[n_visits] = space
                n_visits += ONE
            space -= cell
            if places[space * TWO]:
                n_clusters = _count(space, visitors, clusters, n_clusters)
                visits[n_visits] = space
                n_visits += ONE
        absent[k] = ~present
        ends[k] = n_visits
    place = np.uint32(0)
    for c in range(n_clusters):
        n = visitors[clusters[c]]
        begins[c] = place
        visitors[clusters[c]] = place
        place += n
    v = ZERO
    for k in range(n_events):
        while v < ends[k]:
            if not listed[k]:  # lists are counted, and do not come
                cluster = visits[v]
                visiting[visitors[cluster]] = k
                visitors[cluster] += np.uint32(1)
            v += ONE
    return np.int64(n_clusters)


@inlined
def _count(
    cluster: np.uint64,
    visitors: NDArray[np.uint32],
    clusters: NDArray[np.uint32],
    n_clusters: np.uint64,
) -> np.uint64:
    if visitors[cluster] == 0:
        clusters[n_clusters] = cluster
        n_clusters += ONE
    visitors[cluster] += np.uint32(1)
    return n_clusters


@inlined
def _copy_plain(
    at: np.uint64,
    begin: np.uint64,
    end: np.uint64,
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
    n_waiting: np.uint64,
    waiting: U64,
    waiting_events: NDArray[np.uint32],
    arena: U64,
    dim_bits: int,
    state: NDArray[np.uint8],
    n_bytes: np.uint64,
    cells: NDArray[np.uint32],
    n_cells: np.uint64,
    rows: Ints,
    links: Ints,
    heads: Ints,
    cursors: Longs,
    n_used: Longs,
) -> np.uint64:
    """Verify the records that wait, as in `find`, so that none is left.

    All blocks count as used where they may be too few.
    """
    quarters = arena.view(np.uint16)
    shift = np.uint64(dim_bits)
    dim_mask = (ONE << shift) - ONE
    if n_used[0] + np.int64(n_waiting) > len(links):
        n_used[0] = len(links)
        return ZERO
    for q in range(n_waiting):
        record, k = waiting[q], np.uint64(waiting_events[q])
        base = k * n_bytes
        header = arena[record]
        w = record + ONE
        stop = w + ((header >> np.uint64(32)) & LOW16)
        while w < stop:
            word = arena[w]
            if ((word >> (shift + np.uint64(state[base + (word & dim_mask)]))) & ONE) == ZERO:
                break
            w += ONE
        if w == stop and (
            (header & HAS_TAIL) == ZERO or tail_holds(arena, quarters, w, cells, k * n_cells)
        ):
            cursor = cursors[k]
            if cursor & FULL == 0:
                cursor = next_block(np.int64(k), cursor, links, heads, n_used)
            rows[cursor] = header & np.uint64(0x7FFFFFFF)
            cursors[k] = cursor + 1
    return ZERO


@inlined
def _scan_slices(  # noqa: C901, PLR0912, PLR0915 - the hot loop stands in one piece
    at: np.uint64,
    begin: np.uint64,
    end: np.uint64,
    visiting: NDArray[np.uint32],
    found: Ints,
    arena: U64,
    dim_bits: int,
    state: NDArray[np.uint8],
    n_bytes: np.uint64,
    cells: NDArray[np.uint32],
    n_cells: np.uint64,
    waiting: U64,
    waiting_events: NDArray[np.uint32],
    n_waiting: np.uint64,
    rows: Ints,
    links: Ints,
    heads: Ints,
    cursors: Longs,
    n_used: Longs,
) -> tuple[np.uint64, np.int64]:
    """Add the chunk's clauses that hold for its visitors; queue those with a record to verify."""
    octets, quarters = arena.view(np.uint8), arena.view(np.uint16)
    halves = arena.view(np.uint32)
    shape, n_here = arena[at + ONE], arena[at] & LOW16
    n_columns, width = shape & LOW16, (shape >> np.uint64(16)) & np.uint64(0xFF)
    columns = at + TWO
    first_id = (columns + n_columns) << ONE
    first_record = ((first_id >> ONE) + ((n_here + ONE) >> ONE)) << TWO
    n, n_verified = n_waiting, np.int64(0)
    for v in range(begin, end):
        k = np.uint64(visiting[v])
        base = k * n_bytes
        a, b, c, d = ~ZERO, ~ZERO, ~ZERO, ~ZERO
        if width == np.uint64(4):
            for j in range(n_columns):
                row = row_of(arena, octets, at, columns + j, state, base, width)
                a &= arena[row]
                b &= arena[row + ONE]
                c &= arena[row + TWO]
                d &= arena[row + np.uint64(3)]
                if (a | b | c | d) == ZERO:
                    break
            if (a | b | c | d) == ZERO:
                continue
        n_found = ZERO
        ids, records = first_id, first_record
        for y in range(width):
            held = a
            if width < np.uint64(4):
                held = ~ZERO
                for j in range(n_columns):
                    held &= arena[row_of(arena, octets, at, columns + j, state, base, width) + y]
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
                    found[n_found] = halves[ids + bit]
                    n_found += ONE
            a, b, c = b, c, d
            ids += np.uint64(64)
            records += np.uint64(64)
        if n_found and not append(
            np.int64(k), found, np.int64(n_found), rows, links, heads, cursors, n_used
        ):
            n_used[0] = len(links)
            return ZERO, n_verified
        if n >= np.uint64(QUEUE):
            n_verified += np.int64(n)
            n = _verify(
                n, waiting, waiting_events, arena, dim_bits, state, n_bytes, cells, n_cells,
                rows, links, heads, cursors, n_used,
            )  # fmt: skip
    return n, n_verified
