"""Clauses without a key: each of their predicates also holds where its dimension is missing.

Such a clause holds unless some space of the event refuses it, so every space has a list of the
clauses it refuses, and an event strikes the lists of its spaces from a bitmap of all of them. A
refused span is posted not under each of its spaces but under the fewest nodes of a tree over all
spaces, 16 to a node, which an event climbs from each space; whoever refuses a dimension's presence
is posted under its missing space. A list longer than a bitmap is written as one.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import carray  # type: ignore[attr-defined]

from remuda.arrays import Bools, Ints, Longs, Ragged, Words, frozen, invert, starts_of
from remuda.encoding.table import ClauseTable, Predicates
from remuda.jit import bare, inlined, kernel
from remuda.matchers.auto.blocks import Blocks, append
from remuda.matchers.auto.layout import ONE, PLACE_CELL, PLACE_DIM, ZERO, get
from remuda.matchers.auto.words import refused_span
from remuda.matchers.kernels.bits import trailing_zeros
from remuda.matchers.kernels.growth import copy_into
from remuda.pointers import pointer

_SHIFT = 4


class Denials(NamedTuple):
    """The clauses, numbered here by their order, and who is refused where."""

    clauses: Ints
    level_starts: Longs  # of the tree's nodes; level 0 are the spaces
    slots: Ints  # for each node 1 + the row of its lists, or 0
    list_starts: Longs
    lists: Ints
    bitmaps: Words
    bitmap_of: Ints  # for each row of lists its bitmap, or -1
    any_starts: Longs  # for each dimension the clauses that any accepted space of a list contents
    any_clauses: Ints


_NO_INTS, _NO_LONGS = np.zeros(0, np.int32), np.zeros(0, np.int64)
_NONE: Denials = frozen(
    Denials(
        _NO_INTS, _NO_LONGS, _NO_INTS, _NO_LONGS, _NO_INTS, np.zeros(0, np.uint64), _NO_INTS,
        _NO_LONGS, _NO_INTS,
    )
)  # fmt: skip


def denials(table: ClauseTable, clauses: Ints) -> Denials:
    """Arrange the given clauses of the table, all of whose predicates hold on missing."""
    if not len(clauses):  # as often: nothing to compile for
        return _NONE
    predicates = table.predicates
    sizes = np.diff(table.space_starts)
    n_levels = 1
    while sizes.max(initial=0) >> (_SHIFT * n_levels):
        n_levels += 1
    per_level = [(table.n_spaces >> (_SHIFT * level)) + 1 for level in range(n_levels)]
    level_starts = starts_of(per_level)
    arguments = (clauses, level_starts, table.clauses, table.space_starts, predicates)
    n = _post(*arguments, np.zeros(0, np.int32), np.zeros(0, np.int32))
    nodes, refused = np.empty(n, np.int32), np.empty(n, np.int32)
    _post(*arguments, nodes, refused)
    counts = np.bincount(nodes, minlength=level_starts[-1])
    slots = np.where(counts > 0, np.cumsum(counts > 0), 0).astype(np.int32)
    lists = Ragged(starts_of(counts[counts > 0]), refused[np.argsort(nodes, kind="stable")])
    lists, bitmaps, bitmap_of = _long_as_bitmaps(lists, len(clauses))
    odd = ~predicates.every & (predicates.n_accepted > 0)
    any_dims = _chosen_dims(clauses, table.clauses, predicates.dim, odd)
    any_rows = invert(Ragged(*any_dims), table.n_dims)
    return frozen(Denials(clauses, level_starts, slots, *lists, bitmaps, bitmap_of, *any_rows))


def _long_as_bitmaps(lists: Ragged, n_clauses: int) -> tuple[Ragged, Words, Ints]:
    width = (n_clauses + 63) // 64
    counts = np.diff(lists.starts)
    long = counts >= 2 * width  # the bitmap is the smaller of the two
    bitmap_of = np.where(long, np.cumsum(long) - 1, -1).astype(np.int32)
    bitmaps = np.zeros(int(long.sum()) * width, np.uint64)
    _set_bits(lists, bitmap_of, width, bitmaps)
    short = lists.items[~np.repeat(long, counts)]
    return Ragged(starts_of(np.where(long, 0, counts)), short), bitmaps, bitmap_of


@kernel
def _set_bits(lists: Ragged, bitmap_of: Ints, width: int, bitmaps: Words) -> None:
    for row in range(len(bitmap_of)):
        if bitmap_of[row] >= 0:
            for i in range(lists.starts[row], lists.starts[row + 1]):
                place = bitmap_of[row] * width + (lists.items[i] >> 6)
                bitmaps[place] |= ONE << np.uint64(lists.items[i] & 63)


@kernel
def _chosen_dims(denied: Ints, clauses: Ragged, dims: Ints, chosen: Bools) -> tuple[Longs, Ints]:
    """For each of the clauses the dimensions of its chosen predicates."""
    starts = np.zeros(len(denied) + 1, np.int64)
    chosen_dims, n = np.empty(len(clauses.items), np.int32), 0
    for c in range(len(denied)):
        clause = denied[c]
        for i in range(clauses.starts[clause], clauses.starts[clause + 1]):
            if chosen[clauses.items[i]]:
                chosen_dims[n] = dims[clauses.items[i]]
                n += 1
        starts[c + 1] = n
    return starts, chosen_dims[:n].copy()


@kernel
def _post(
    denied: Ints,
    level_starts: Longs,
    clauses: Ragged,
    space_starts: Ints,
    predicates: Predicates,
    nodes: Ints,
    refused: Ints,
) -> int:
    """Post each clause under the nodes that refuse it, if there is room; how many postings."""
    n, n_levels = 0, len(level_starts) - 1
    writes = len(nodes) > 0
    for c in range(len(denied)):
        for i in range(clauses.starts[denied[c]], clauses.starts[denied[c] + 1]):
            p = clauses.items[i]
            dim = predicates.dim[p]
            first, high = space_starts[dim], space_starts[dim + 1]
            n_spans = predicates.span_starts[p + 1] - predicates.span_starts[p]
            if n_spans == 0:
                if writes:
                    nodes[n], refused[n] = first, c
                n += 1
                continue
            for gap in range(n_spans + 1):
                lo, hi = refused_span(gap, p, predicates, first + 1, high)
                level = 0
                while lo < hi:
                    top = level == n_levels - 1
                    while lo < hi and (top or lo & 15):
                        if writes:
                            nodes[n], refused[n] = level_starts[level] + lo, c
                        n += 1
                        lo += 1
                    while lo < hi and hi & 15:
                        hi -= 1
                        if writes:
                            nodes[n], refused[n] = level_starts[level] + hi, c
                        n += 1
                    lo, hi, level = lo >> _SHIFT, hi >> _SHIFT, level + 1
    return n


@kernel
def find_undenied(
    spaces: Ints,
    begin: int,
    end: int,
    places: Words,
    held: Words,
    out: Ints,
    n: int,
    denials: Denials,
) -> int:
    """Write the clauses that no space of the event refuses to `out`, from n on; the new n."""
    clauses = denials.clauses
    strike_all(spaces, begin, end, places, held, denials)
    for y in range(len(held)):
        word = held[y]
        if word == ~ZERO:
            for bit in range(64):
                out[n + bit] = clauses[64 * y + bit]
            n += 64
        else:
            while word:
                out[n] = clauses[64 * y + np.int64(trailing_zeros(word))]
                n += 1
                word &= word - ONE
    return n


@kernel
def find_undenied_alone(spaces: Ints, where: Longs, n: int) -> int:
    """`find_undenied` for an event by itself, given where all arrays lie that it takes."""
    return find_undenied(  # type: ignore[no-any-return]
        spaces,
        np.int64(0),
        len(spaces),
        carray(pointer(where[0]), (where[1],), np.uint64),
        carray(pointer(where[2]), (where[3],), np.uint64),
        carray(pointer(where[4]), (where[5],), np.int32),
        n,
        Denials(
            carray(pointer(where[6]), (where[7],), np.int32),
            carray(pointer(where[8]), (where[9],), np.int64),
            carray(pointer(where[10]), (where[11],), np.int32),
            carray(pointer(where[12]), (where[13],), np.int64),
            carray(pointer(where[14]), (where[15],), np.int32),
            carray(pointer(where[16]), (where[17],), np.uint64),
            carray(pointer(where[18]), (where[19],), np.int32),
            carray(pointer(where[20]), (where[21],), np.int64),
            carray(pointer(where[22]), (where[23],), np.int32),
        ),
    )


@inlined
def strike_all(
    spaces: Ints, begin: int, end: int, places: Words, held: Words, denials: Denials
) -> None:
    """Leave those clauses in `held` that no space of the event refuses."""
    clauses, any_starts = denials.clauses, denials.any_starts
    for y in range(len(held)):
        held[y] = ~ZERO
    if len(clauses) % 64:
        held[len(held) - 1] = (ONE << np.uint64(len(clauses) % 64)) - ONE
    i = begin
    while i < end:
        place = places[2 * spaces[i] + 1]
        dim = np.int64(get(place, PLACE_DIM))
        stop = i + 1
        while stop < end and np.int64(get(places[2 * spaces[stop] + 1], PLACE_DIM)) == dim:
            stop += 1
        first = spaces[i] - np.int64(get(place, PLACE_CELL))
        _strike(denials.slots[first], held, denials)
        if stop > i + 1 and any_starts[dim] < any_starts[dim + 1]:
            content = denials.any_clauses[any_starts[dim] : any_starts[dim + 1]]
            _strike_list(spaces[i:stop], held, content, denials)
        else:
            for j in range(i, stop):
                _strike_space(spaces[j], held, denials)
        i = stop


@bare
def _strike_space(space: int, held: Words, denials: Denials) -> None:
    """Strike whom the space and the nodes above it refuse."""
    for level in range(len(denials.level_starts) - 1):
        at = denials.level_starts[level] + (space >> (_SHIFT * level))
        _strike(denials.slots[at], held, denials)


@bare
def _strike(slot: int, held: Words, denials: Denials) -> None:
    if slot == 0:
        return
    bitmap = denials.bitmap_of[slot - 1]
    if bitmap >= 0:
        for y in range(len(held)):
            held[y] &= ~denials.bitmaps[bitmap * len(held) + y]
    for i in range(denials.list_starts[slot - 1], denials.list_starts[slot]):
        held[denials.lists[i] >> 6] &= ~(ONE << np.uint64(denials.lists[i] & 63))


@kernel
def _strike_list(spaces: Ints, held: Words, any_clauses: Ints, denials: Denials) -> None:
    """Strike by a list: most clauses are refused by any of its spaces, some only by all."""
    before, contented = held.copy(), np.zeros(len(any_clauses), np.bool_)
    after = held.copy()
    for j in range(len(spaces)):
        copy_into(held, before)
        _strike_space(spaces[j], held, denials)
        for c in range(len(any_clauses)):
            word = held[any_clauses[c] >> 6] >> np.uint64(any_clauses[c] & 63)
            contented[c] |= (word & ONE) != ZERO
        for y in range(len(held)):
            after[y] &= held[y]
    copy_into(held, after)
    for c in range(len(any_clauses)):
        if contented[c]:
            held[any_clauses[c] >> 6] |= ONE << np.uint64(any_clauses[c] & 63)


@kernel
def find_undenied_many(
    starts: Longs,
    spaces: Ints,
    first: int,
    last: int,
    places: Words,
    held: Words,
    out: Ints,
    blocks: Blocks,
    denials: Denials,
) -> bool:
    """The same for events `first` to `last`, into blocks; False where those are too few."""
    for event in range(first, last):
        n = find_undenied(
            spaces, starts[event], starts[event + 1], places, held, out, np.int64(0), denials
        )
        if not append(event - first, out, n, blocks):
            return False
    return True
