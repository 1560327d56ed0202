"""Many events: each cluster is read once for all events of a batch that visit it."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from remuda.arrays import Bools, Bytes, Halves, Ints, Longs, Words
from remuda.jit import bare, inlined, kernel
from remuda.matchers.auto import layout as fields
from remuda.matchers.auto.blocks import FULL, Blocks, append, next_block
from remuda.matchers.auto.layout import ONE, PLAIN, RECORDS, TWO, ZERO, Built, get
from remuda.matchers.auto.single import LISTED, enter_wide, find_at
from remuda.matchers.auto.slices import MOST_CLAUSES
from remuda.matchers.auto.walk import (
    LINE,
    content,
    ids_of,
    prefetch_chunk,
    record_holds,
    records_of,
)
from remuda.matchers.kernels.bits import prefetch, trailing_zeros

MOST_EVENTS = 2048  # of a batch
_SAMPLED = 8  # one event in so many tells how much all of them read
QUEUE = 64  # records are verified when so many wait: enough for their prefetching to pay
_WORD = np.uint64(64)


class Together(NamedTuple):
    """What `find_together` writes to; `state` and `cells` are as in `find`, for each event.

    The visitors of the c-th of `clusters` stand in `visiting`, from `begins[c]` up to
    `visitors[clusters[c]]`; all of `visitors` is 0 before and after.
    """

    state: Bytes
    cells: Halves
    absent: Words  # of each event, the signature bits that it lacks
    visitors: Halves
    clusters: Halves
    begins: Halves
    visits: Halves
    visiting: Halves
    waiting: Words  # records to verify,
    waiting_events: Halves  # for these events


@kernel
def entries_met(starts: Longs, spaces: Ints, first: int, last: int, places: Words) -> int:
    """About how many entries the clusters have that the events visit, one after the other."""
    n, n_sampled = np.uint64(0), 0
    for event in range(first, last, _SAMPLED):
        n_sampled += 1
        n += get(places[len(places) - 2], fields.CLUSTER_ENTRIES)
        for i in range(starts[event], starts[event + 1]):
            word = np.uint64(spaces[i]) * TWO
            n += get(places[word], fields.CLUSTER_ENTRIES)
            missing = word - get(places[word + ONE], fields.PLACE_CELL) * TWO
            n += get(places[missing], fields.CLUSTER_ENTRIES)
    return np.int64(n) * (last - first) // n_sampled  # type: ignore[return-value]


@kernel
def find_each(
    starts: Longs,
    spaces: Ints,
    first: int,
    last: int,
    where: Longs,
    dim_bits: int,
    n_masked: int,
    out: Ints,
    listed: Bools,
    blocks: Blocks,
) -> int:
    """One event after the other, into blocks; how many were verified, -1 for too few blocks."""
    n_verified = 0
    for event in range(first, last):
        n, verified = find_at(spaces, starts[event], starts[event + 1], where, dim_bits, n_masked)
        listed[event - first] = n == LISTED
        n_verified += verified
        if not append(event - first, out, max(n, 0), blocks):
            return -1
    return n_verified


@kernel
def find_together(
    starts: Longs,
    spaces: Ints,
    first: int,
    last: int,
    built: Built,
    batch: Together,
    listed: Bools,
    blocks: Blocks,
) -> np.int64:
    """Cluster after cluster, into blocks; how many were verified, -1 for too few blocks.

    Chunk by chunk for all its visitors, not visitor by visitor as in `walk`: so it stays in cache.
    """
    arena, places, visitors, clusters = built.arena, built.places, batch.visitors, batch.clusters
    n_bytes = np.uint64(len(batch.state) // MOST_EVENTS)
    n_cells = np.uint64(len(batch.cells) // MOST_EVENTS)
    batch.state[: np.uint64(last - first) * n_bytes] = 0
    batch.cells[: np.uint64(last - first) * n_cells] = 0
    n_clusters = _register(starts, spaces, first, last, built, batch, n_bytes, n_cells, listed)
    quarters, halves = arena.view(np.uint16), arena.view(np.uint32)
    clauses = np.empty(MOST_CLAUSES, np.int32)
    n_verified, n_waiting, enough = np.int64(0), ZERO, True
    for c in range(n_clusters):
        begin, end = np.uint64(batch.begins[c]), np.uint64(visitors[clusters[c]])
        visitors[clusters[c]] = 0
        if c + 4 < n_clusters:
            prefetch(arena, get(places[2 * np.int64(clusters[c + 4])], fields.CLUSTER_AT))
        cluster = places[2 * np.int64(clusters[c])]
        chunk, left = get(cluster, fields.CLUSTER_AT), get(cluster, fields.CLUSTER_ENTRIES)
        while left > ZERO and enough:
            header = arena[chunk]
            n_here, kind = get(header, fields.CHUNK_N), get(header, fields.CHUNK_KIND)
            after = chunk + get(header, fields.CHUNK_WORDS)
            if kind == np.uint64(RECORDS):  # written out here: the call would cost as much
                signatures = chunk + ONE
                records = (signatures + n_here) * TWO
                for v in range(begin, end):
                    k = batch.visiting[v]
                    lacks = batch.absent[k]
                    for j in range(n_here):
                        if (arena[signatures + j] & lacks) == ZERO:
                            record = np.uint64(halves[records + j])
                            batch.waiting[n_waiting] = record
                            batch.waiting_events[n_waiting] = k
                            n_waiting += ONE
                            prefetch(arena, record)
                            prefetch(arena, record + LINE)
                    if n_waiting >= np.uint64(QUEUE):
                        n_verified += np.int64(n_waiting)
                        n_waiting = _verify(
                            n_waiting, built, quarters, batch, n_bytes, n_cells, blocks
                        )
            elif kind == np.uint64(PLAIN):
                _copy_plain(chunk, begin, end, batch.visiting, arena, blocks)
            else:
                if left > n_here:
                    prefetch_chunk(arena, after)
                n_waiting, verified = _scan_slices(
                    chunk, begin, end, clauses, built, batch, n_bytes, n_cells, n_waiting, blocks
                )
                n_verified += verified
            enough = blocks.n_used[0] < len(blocks.links)
            left -= n_here
            chunk = after
    n_verified += np.int64(n_waiting)
    _verify(n_waiting, built, quarters, batch, n_bytes, n_cells, blocks)
    return n_verified if blocks.n_used[0] < len(blocks.links) else np.int64(-1)


@kernel
def _register(
    starts: Longs,
    spaces: Ints,
    first: int,
    last: int,
    built: Built,
    batch: Together,
    n_bytes: np.uint64,
    n_cells: np.uint64,
    listed: Bools,
) -> np.int64:
    """Note the spaces of each event, and the visitors of each cluster; how many clusters."""
    places, state, visits, visitors = built.places, batch.state, batch.visits, batch.visitors
    clusters, absent = batch.clusters, batch.absent
    n_clusters, n_visits = ZERO, ZERO
    n_events = np.uint64(last - first)
    everywhere = np.uint64(len(places) // 2 - 1)
    ends = absent[n_events:]  # of each event's visits; the same array has room for both
    for k in range(n_events):
        base, present = k * n_bytes, places[everywhere * TWO + ONE]
        listed[k] = False
        if places[everywhere * TWO]:
            n_clusters = _count(everywhere, visitors, clusters, n_clusters)
            visits[n_visits] = everywhere
            n_visits += ONE
        for i in range(starts[first + np.int64(k)], starts[first + np.int64(k) + 1]):
            space = np.uint64(spaces[i])
            place = places[space * TWO + ONE]
            dim, cell = get(place, fields.PLACE_DIM), get(place, fields.PLACE_CELL)
            if state[base + dim]:
                listed[k] = True
            trait = built.traits[dim]
            state[base + dim] = get(place, fields.PLACE_POSITION)
            if get(trait, fields.TRAIT_WIDE):
                enter_wide(
                    trait, cell, built.dim_bits, built.n_masked, state, base,
                    batch.cells, k * n_cells,
                )  # fmt: skip
            present |= ONE << get(trait, fields.TRAIT_BIT)
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
        batch.begins[c] = place
        visitors[clusters[c]] = place
        place += n
    v = ZERO
    for k in range(n_events):
        while v < ends[k]:
            if not listed[k]:  # lists are counted, and do not come
                cluster = visits[v]
                batch.visiting[visitors[cluster]] = k
                visitors[cluster] += np.uint32(1)
            v += ONE
    return np.int64(n_clusters)


@bare
def _count(
    cluster: np.uint64, visitors: Halves, clusters: Halves, n_clusters: np.uint64
) -> np.uint64:
    if visitors[cluster] == 0:
        clusters[n_clusters] = cluster
        n_clusters += ONE
    visitors[cluster] += np.uint32(1)
    return n_clusters


@inlined
def _copy_plain(
    at: np.uint64, begin: np.uint64, end: np.uint64, visiting: Halves, arena: Words, blocks: Blocks
) -> None:
    first, n = 2 * (np.int64(at) + 1), np.int64(get(arena[at], fields.CHUNK_N))
    clauses = arena.view(np.int32)[first : first + n]
    for v in range(begin, end):
        if not append(np.int64(visiting[v]), clauses, n, blocks):
            blocks.n_used[0] = len(blocks.links)
            return


@bare
def _verify(
    n_waiting: np.uint64,
    built: Built,
    quarters: NDArray[np.uint16],
    batch: Together,
    n_bytes: np.uint64,
    n_cells: np.uint64,
    blocks: Blocks,
) -> np.uint64:
    """Verify the records that wait, as in `find`, so that none is left.

    All blocks count as used where they may be too few.
    """
    arena, shift = built.arena, np.uint64(built.dim_bits)
    if blocks.n_used[0] + np.int64(n_waiting) > len(blocks.links):
        blocks.n_used[0] = len(blocks.links)
        return ZERO
    for q in range(n_waiting):
        record, k = batch.waiting[q], np.uint64(batch.waiting_events[q])
        if record_holds(
            record, arena, quarters, shift, batch.state, k * n_bytes, batch.cells, k * n_cells
        ):
            cursor = blocks.cursors[k]
            if cursor & FULL == 0:
                cursor = next_block(np.int64(k), cursor, blocks)
            blocks.rows[cursor] = get(arena[record], fields.RECORD_CLAUSE)
            blocks.cursors[k] = cursor + 1
    return ZERO


@inlined
def _scan_slices(
    at: np.uint64,
    begin: np.uint64,
    end: np.uint64,
    found: Ints,
    built: Built,
    batch: Together,
    n_bytes: np.uint64,
    n_cells: np.uint64,
    n_waiting: np.uint64,
    blocks: Blocks,
) -> tuple[np.uint64, np.int64]:
    """Add the chunk's clauses that hold for its visitors; queue those with a record to verify."""
    arena = built.arena
    octets, quarters = arena.view(np.uint8), arena.view(np.uint16)
    halves = arena.view(np.uint32)
    shape = arena[at + ONE]
    first_id = ids_of(at, shape)
    first_record = records_of(at, shape, get(arena[at], fields.CHUNK_N))
    n, n_verified = n_waiting, np.int64(0)
    for v in range(begin, end):
        k = np.uint64(batch.visiting[v])
        a, b, c, d = content(at, shape, arena, octets, batch.state, k * n_bytes)
        if (a | b | c | d) == ZERO:
            continue
        n_found = ZERO
        ids, records = first_id, first_record
        for _ in range(get(shape, fields.SHAPE_WIDTH)):
            held = a
            while held:
                bit = trailing_zeros(held)
                held &= held - ONE
                record = ZERO
                if get(shape, fields.SHAPE_HAS_RECORDS):
                    record = np.uint64(quarters[records + bit])
                if record:
                    batch.waiting[n] = at + record
                    batch.waiting_events[n] = k
                    n += ONE
                    prefetch(arena, at + record)
                else:
                    found[n_found] = halves[ids + bit]
                    n_found += ONE
            a, b, c = b, c, d
            ids += _WORD
            records += _WORD
        if n_found and not append(np.int64(k), found, np.int64(n_found), blocks):
            blocks.n_used[0] = len(blocks.links)
            return ZERO, n_verified
        if n >= np.uint64(QUEUE):
            n_verified += np.int64(n)
            n = _verify(n, built, quarters, batch, n_bytes, n_cells, blocks)
    return n, n_verified
