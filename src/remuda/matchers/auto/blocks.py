"""Blocks: rows found for many events at a time, in bounded memory and in any order of events.

Each event owns a chain of blocks of 64 rows out of one pool; `cursors` says where its next row
goes, and a multiple of 64 there asks for a new block.
"""

from __future__ import annotations

from typing import NamedTuple, Self

import numpy as np

from remuda.arrays import Ints, Longs
from remuda.jit import bare, kernel

SIZE = 64
FULL = SIZE - 1  # a cursor with none of these bits stands behind a full block


class Blocks(NamedTuple):
    """The pool and its chains."""

    rows: Ints
    links: Ints  # the block after each block
    heads: Ints  # the first block of each event
    cursors: Longs
    n_used: Longs  # one number

    @classmethod
    def make(cls, n_rows: int, n_events: int) -> Self:
        n_blocks = n_rows // SIZE
        heads, cursors = np.zeros(n_events, np.int32), np.zeros(n_events, np.int64)
        links = np.zeros(n_blocks, np.int32)
        return cls(
            np.empty(n_blocks * SIZE, np.int32), links, heads, cursors, np.zeros(1, np.int64)
        )

    def clear(self) -> None:
        self.cursors[:] = 0
        self.n_used[:] = 0


@bare
def next_block(event: int, cursor: int, blocks: Blocks) -> int:
    """Chain a new block to the event whose last one is full; where it begins."""
    block = blocks.n_used[0]
    blocks.n_used[0] = block + 1
    if cursor == 0:
        blocks.heads[event] = block
    else:
        blocks.links[cursor // SIZE - 1] = block
    return block * SIZE  # type: ignore[no-any-return]


@kernel
def append(event: int, found: Ints, n: int, blocks: Blocks) -> bool:
    """Add the first n of `found` to the event's rows; False where the pool may be too small."""
    if blocks.n_used[0] + n // SIZE + 2 > len(blocks.links):
        return False
    cursor, done = blocks.cursors[event], 0
    while done < n:
        if cursor & FULL == 0:
            cursor = next_block(event, cursor, blocks)
        n_here = min(n - done, SIZE - (cursor & FULL))
        to, source = np.uint64(cursor), np.uint64(done)
        for i in range(np.uint64(n_here)):  # unsigned: so it becomes wide moves
            blocks.rows[to + i] = found[source + i]
        cursor += n_here
        done += n_here
    blocks.cursors[event] = cursor
    return True


@kernel
def counts(n_events: int, blocks: Blocks) -> Longs:
    """How many rows each event has."""
    result = np.zeros(n_events, np.int64)
    for event in range(n_events):
        cursor = blocks.cursors[event]
        if cursor > 0:
            last, block = (cursor - 1) // SIZE, blocks.heads[event]
            while block != last:
                result[event] += SIZE
                block = blocks.links[block]
            result[event] += cursor - last * SIZE
    return result


@kernel
def gather(starts: Longs, into: Ints, blocks: Blocks) -> None:
    """Write each event's rows to `into`, from its start on."""
    for event in range(len(starts) - 1):
        at, end, block = np.uint64(starts[event]), np.uint64(starts[event + 1]), blocks.heads[event]
        while at < end:
            source, n = np.uint64(block) * np.uint64(SIZE), min(np.uint64(SIZE), end - at)
            for i in range(n):  # unsigned: so it becomes wide moves
                into[at + i] = blocks.rows[source + i]
            at += n
            block = blocks.links[block]


@kernel
def tally(per_event: Longs, per_row: Longs, blocks: Blocks) -> None:
    """Add one for each row of each event."""
    for event in range(len(per_event)):
        left, block = per_event[event], blocks.heads[event]
        while left > 0:
            for i in range(min(SIZE, left)):
                per_row[blocks.rows[block * SIZE + i]] += 1
            left -= SIZE
            block = blocks.links[block]


@kernel
def weigh(per_event: Longs, weights: Ints, blocks: Blocks) -> Longs:
    """The sum of the weights of each event's rows."""
    sums = np.zeros(len(per_event), np.int64)
    for event in range(len(per_event)):
        left, block = per_event[event], blocks.heads[event]
        while left > 0:
            for i in range(min(SIZE, left)):
                sums[event] += weights[blocks.rows[block * SIZE + i]]
            left -= SIZE
            block = blocks.links[block]
    return sums
