"""What the device runs: a block an event, in rounds of scanning signatures and verifying entries.

A block lays its event out in shared memory, notes the clusters that the event meets, and goes
through their entries as if they were one array. Few entries pass by their signature; they wait in
a queue until there is one for each thread, for a warp of which one thread verifies takes as long
as one of which all do. Blocks share nothing, and no warp intrinsic is used: Numba's simulator runs
the same kernels.

Numbers that index are unsigned: Numba would else look for negative ones, and signed with unsigned
of 64 bits makes a float.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, TypeAlias, cast

import numba
import numba.cuda
import numpy as np
from numba import types

from remuda.encoding.table import Predicates
from remuda.matchers.gpu.layout import (
    DIM_MASK,
    DIM_SHIFT,
    EVERY,
    FIRST_SHIFT,
    FORM,
    MASK,
    N_SHIFT,
    NUMBER_MASK,
    ON_MISSING,
    REFUSES,
    SPACE_MASK,
    TABLE,
    Arranged,
)
from remuda.matchers.gpu.simulating import share_arrays_safely

Array: TypeAlias = Any  # on the device
Number: TypeAlias = Any  # of NumPy's types

cuda: Any = numba.cuda
config: Any = numba.config
SIMULATED = bool(config.ENABLE_CUDASIM)
if SIMULATED:
    share_arrays_safely()
config.CUDA_LOW_OCCUPANCY_WARNINGS = 0  # one event is one block, and nothing to warn of

# the simulator's threads are Python's: few of them, and sizes that small tests exceed
THREADS = 2 if SIMULATED else 64
MOST_DIMS = 256 if SIMULATED else 4096  # of more, what an event has is searched for
_WINDOW = 2 if SIMULATED else 32  # spaces of an event whose clusters are met together
_ROUND = 4  # entries that a thread scans before those that passed are verified
_REGISTERS = 32  # so that a processor holds all the warps it can: ads at 20.3 M/s, with 48 at 16.8
_CLUSTERS = 2 * _WINDOW + 1
_QUEUE = (_ROUND + 1) * THREADS
_FOUND = 2 * _QUEUE  # rows that a block holds back
HELD = _FOUND - _QUEUE  # what it has when it writes an extent before the last, or more

COUNT, KEEP, REACH, BEST = range(4)
_LEVELS = 256  # at most: matchers/levels.py

_STEP, _ROUND_STEP = np.uint32(THREADS), np.uint32(_ROUND * THREADS)
_WINDOW_STEP = np.uint32(_WINDOW)
_FULL = np.uint32(HELD)
_ZERO, _ONE, _TWO, _THREE, _FOUR = (np.uint32(i) for i in range(5))
_NOTHING, _LOWEST, _WIDTH = np.uint64(0), np.uint64(1), np.uint64(64)
_PRESENT, _TALLY = 0, 1  # of a block's words
_WAITING, _KEPT, _PLACE = 0, 1, 2  # of its numbers
_LIMIT, _WITHIN = 0, 1  # of its limits
_CLUSTER_SHIFT = np.uint64(40)  # of the tally: clusters above, their entries below
_ENTRIES, _CLUSTER = np.uint64((1 << 40) - 1), np.uint64(1 << 40)


def device(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function that kernels call; the compiler writes it out in them."""
    return cast("Callable[..., Any]", cuda.jit(device=True)(function))


class Events(NamedTuple):
    """A batch on the device."""

    starts: Array  # uint32
    spaces: Array  # uint32


class Output(NamedTuple):
    """Where a kernel writes; what it does not write has one item."""

    counts: Array  # int64, of each event: how many rows, or what they weigh
    rows: Array  # uint32, one extent after the other, in no order
    extents: Array  # uint32, four of each: event, place within it, place in `rows`, number
    totals: Array  # uint32: how many rows there would be if there was room; how many extents
    reach: Array  # int32, of each clause
    weights: Array  # int32, of each clause and one item more; that alone where each weighs 1
    limits: Array  # int32, of each event: the last level of which a clause is of use
    sure: Array  # uint8, of each clause: whether it has an owner of its own who scores its bound


class Block(NamedTuple):
    """What the threads of a block share.

    `table` has for each dimension what the event has there: a space, counted within the dimension,
    or ~place of the first one of a list; 0 where it is missing. Of each cluster that is met there
    is where its entries start among all that are, its first entry, its first column, and, where a
    list may have led to it before, the place of the space that does, plus 1.
    """

    table: Array
    starts: Array
    firsts: Array
    columns: Array
    lists: Array
    waiting: Array  # entries that passed, counted within their clusters
    waiting_in: Array  # their clusters
    found: Array  # rows that were kept and not yet written
    words: Array  # the signature of what is present; the tally
    numbers: Array  # how many wait; how many were kept; where they are written
    of_level: Array  # how many sure clauses of each level were kept
    limits: Array  # the last level that is of use, and how many sure ones there are up to it


@device
def _value(
    i: Number, dim: Number, begin: Number, end: Number, events: Events, index: Arranged
) -> Any:
    """What the event has on the dimension whose first space is its i-th."""
    following = i + _ONE
    if following < end and events.spaces[following] < index.space_starts[dim + _ONE]:
        return np.int32(-1) - np.int32(i - begin)
    return np.int32(events.spaces[i] - index.space_starts[dim])


@device
def _searched(dim: Number, begin: Number, end: Number, events: Events, index: Arranged) -> Any:
    """What the event has on a dimension, without the table."""
    first, beyond = index.space_starts[dim], index.space_starts[dim + _ONE]
    low, high = begin, end
    while low < high:
        middle = (low + high) >> _ONE
        if events.spaces[middle] < first:
            low = middle + _ONE
        else:
            high = middle
    if low < end and events.spaces[low] < beyond:
        return _value(low, dim, begin, end, events, index)
    return np.int32(0)


@device
def _listed(predicate: Number, space: Number, predicates: Predicates) -> Any:
    """Whether one of the spans of the predicate has the space."""
    low, high = predicates.span_starts[predicate], predicates.span_starts[predicate + 1]
    end = high
    while low < high:
        middle = (low + high) >> 1
        if predicates.span_hi[middle] <= space:
            low = middle + 1
        else:
            high = middle
    return low < end and predicates.span_lo[low] <= space


@device
def _accepts(word: Number, mask: Number, space: Number, first: Number, index: Arranged) -> Any:
    """Whether a word accepts a space of its dimension, whose spaces begin with `first`."""
    if word & FORM == TABLE:
        return _listed(np.int64(word & NUMBER_MASK), np.int64(space), index.predicates)
    local, low = np.uint64(space - first), (word >> FIRST_SHIFT) & SPACE_MASK
    inside = local >= low
    if inside:
        if word & FORM == MASK:
            inside = local - low < _WIDTH and (mask >> (local - low)) & _LOWEST != _NOTHING
        else:
            inside = local - low < (word >> N_SHIFT) & SPACE_MASK
    return inside != (word & REFUSES != _NOTHING)


@device
def _holds(
    word: Number, mask: Number, dim: Number, on_missing: Any, every: Any, value: Number,
    begin: Number, end: Number, events: Events, index: Arranged,
) -> Any:  # fmt: skip
    """Whether a predicate holds, given what the event has on its dimension."""
    if value == 0:
        return on_missing
    first = index.space_starts[dim]
    if value > 0:
        return _accepts(word, mask, first + np.uint32(value), first, index)
    i, beyond = begin + np.uint32(-1 - value), index.space_starts[dim + _ONE]
    while i < end and events.spaces[i] < beyond:
        if _accepts(word, mask, events.spaces[i], first, index) != every:
            return not every
        i += _ONE
    return every


@device
def _verified(
    i: Number, column: Number, table: Array, direct: Any,
    begin: Number, end: Number, events: Events, index: Arranged,
) -> Any:  # fmt: skip
    """Whether all words of the i-th entry of a cluster hold, given its first column."""
    start = index.columns[column]
    while True:
        column += _ONE
        beyond = index.columns[column]
        if start + i >= beyond:
            return True
        word, mask = index.words[start + i], _NOTHING
        start = beyond
        dim = np.uint32((word >> DIM_SHIFT) & DIM_MASK)
        on_missing, every = word & ON_MISSING != _NOTHING, word & EVERY != _NOTHING
        if word & FORM == TABLE:
            predicate = np.int64(word & NUMBER_MASK)
            dim = np.uint32(index.predicates.dim[predicate])
            on_missing = index.predicates.on_missing[predicate]
            every = index.predicates.every[predicate]
        elif word & FORM == MASK:
            mask = index.words[start + i]
            column += _ONE
            start = index.columns[column]
        value = table[dim] if direct else _searched(dim, begin, end, events, index)
        if not _holds(word, mask, dim, on_missing, every, value, begin, end, events, index):
            return False


@device
def _met_before(clause: Number, i: Number, begin: Number, events: Events, index: Arranged) -> Any:
    """Whether an earlier space of the list that has the i-th one leads to the clause, too."""
    first = index.space_starts[index.dim_of_space[events.spaces[i]]]
    key = np.int64(index.keys[clause])
    while i > begin:
        i -= _ONE
        if events.spaces[i] < first:
            return False
        if _listed(key, np.int64(events.spaces[i]), index.predicates):
            return True
    return False


@device
def _lay_out(
    thread: Number, direct: Any, begin: Number, end: Number,
    block: Block, events: Events, index: Arranged,
) -> None:  # fmt: skip
    """Note what the event has on each dimension."""
    for i in range(begin + thread, end, _STEP):
        dim = index.dim_of_space[events.spaces[i]]
        if i == begin or events.spaces[i - _ONE] < index.space_starts[dim]:
            cuda.atomic.or_(block.words, _PRESENT, index.bit_of_dim[dim])
            if direct:
                block.table[dim] = _value(i, dim, begin, end, events, index)


@device
def _take_away(
    thread: Number, begin: Number, end: Number, block: Block, events: Events, index: Arranged
) -> None:
    """Empty the table again."""
    for i in range(begin + thread, end, _STEP):
        block.table[index.dim_of_space[events.spaces[i]]] = 0


@device
def _note(cluster: Number, listed: Number, block: Block, index: Arranged) -> None:
    """Add a cluster to those that are met, unless it is empty."""
    first = index.first_entry[cluster]
    n = index.first_entry[cluster + _ONE] - first
    if n > _ZERO:  # one addition tells both places: starts ascend in the order of clusters
        before = cuda.atomic.add(block.words, _TALLY, _CLUSTER + np.uint64(n))
        place = before >> _CLUSTER_SHIFT
        block.starts[place] = before & _ENTRIES
        block.firsts[place] = first
        block.columns[place] = index.first_column[cluster]
        block.lists[place] = listed


@device
def _meet(
    thread: Number, window: Number, begin: Number, end: Number,
    block: Block, events: Events, index: Arranged,
) -> None:  # fmt: skip
    """Note the clusters of the next spaces, and of the dimensions that begin with them."""
    for i in range(window + thread, min(window + _WINDOW_STEP, end), _STEP):
        space = events.spaces[i]
        first = index.space_starts[index.dim_of_space[space]]
        if i == begin or events.spaces[i - _ONE] < first:
            _note(space, _ZERO, block, index)
            _note(first, _ZERO, block, index)
        else:
            _note(space, i + _ONE, block, index)
    if thread == _ZERO and window == begin:
        _note(np.uint32(len(index.first_column) - 1), _ZERO, block, index)


@device
def _is_of_use(mode: int, entry: Number, block: Block, index: Arranged) -> Any:
    """Whether an entry may be among the best, where these are wanted."""
    return mode != BEST or np.int32(index.levels[entry]) <= block.limits[_LIMIT]


@device
def _lower(n_best: Number, block: Block) -> None:
    """Leave the last levels, as long as there are enough sure clauses before them."""
    limit, within = block.limits[_LIMIT], block.limits[_WITHIN]
    while limit >= 0 and within - block.of_level[limit] >= n_best:
        within -= block.of_level[limit]
        limit -= 1
    block.limits[_LIMIT], block.limits[_WITHIN] = limit, within


@device
def _scan(
    mode: int, at: Number, cluster: Number, absent: Number, block: Block, index: Arranged
) -> Any:
    """Queue those of the next entries that need nothing absent; the cluster of the last one.

    Those of a thread lie apart by the number of threads, so that neighbours read neighbours.
    """
    n_clusters = np.uint32(block.words[_TALLY] >> _CLUSTER_SHIFT)
    n_entries = np.uint32(block.words[_TALLY] & _ENTRIES)
    for _ in range(_ROUND):
        if at < n_entries:
            while cluster + _ONE < n_clusters and block.starts[cluster + _ONE] <= at:
                cluster += _ONE
            i = at - block.starts[cluster]
            entry = block.firsts[cluster] + i
            if index.signatures[entry] & absent == _NOTHING and _is_of_use(
                mode, entry, block, index
            ):
                place = cuda.atomic.add(block.numbers, _WAITING, _ONE)
                block.waiting[place] = i
                block.waiting_in[place] = cluster
            at += _STEP
    return cluster


@device
def _answer_one(
    mode: int, i: Number, cluster: Number, direct: Any, begin: Number, end: Number,
    block: Block, events: Events, index: Arranged, output: Output,
) -> Any:  # fmt: skip
    """Verify one entry and keep it, or add it up; what it counts."""
    entry = block.firsts[cluster] + i
    if not _is_of_use(mode, entry, block, index):
        return np.int64(0)
    if not _verified(i, block.columns[cluster], block.table, direct, begin, end, events, index):
        return np.int64(0)
    listed = block.lists[cluster]
    if listed > _ZERO and _met_before(index.clauses[entry], listed - _ONE, begin, events, index):
        return np.int64(0)
    if mode in (KEEP, BEST):
        place = cuda.atomic.add(block.numbers, _KEPT, _ONE)
        block.found[place] = index.clauses[entry]
        if mode == BEST and output.sure[index.clauses[entry]]:
            cuda.atomic.add(block.of_level, np.int64(index.levels[entry]), np.int32(1))
            cuda.atomic.add(block.limits, _WITHIN, np.int32(1))
    elif mode == REACH:
        cuda.atomic.add(output.reach, index.clauses[entry], np.int32(1))
    elif len(output.weights) > 1:
        return np.int64(output.weights[index.clauses[entry]])
    return np.int64(1)


@device
def _write(
    n: Number, before: Number, event: Number, thread: Number, block: Block, output: Output
) -> None:
    """Write the n rows that were kept as one extent; all threads come here."""
    if thread == _ZERO:
        place = cuda.atomic.add(output.totals, 0, n)
        first = cuda.atomic.add(output.totals, 1, _ONE) * _FOUR
        if first < np.uint32(len(output.extents)):
            output.extents[first] = event
            output.extents[first + _ONE] = before
            output.extents[first + _TWO] = place
            output.extents[first + _THREE] = n
        block.numbers[_PLACE] = place
    cuda.syncthreads()
    place = block.numbers[_PLACE]
    for i in range(thread, n, _STEP):
        if place + i < np.uint32(len(output.rows)):
            output.rows[place + i] = block.found[i]
    cuda.syncthreads()
    if thread == _ZERO:
        block.numbers[_KEPT] = _ZERO


@device
def _go_through(
    mode: int, thread: Number, direct: Any, event: Number, begin: Number, end: Number,
    before: Number, n_best: Number, block: Block, events: Events, index: Arranged, output: Output,
) -> Any:  # fmt: skip
    """Scan and verify the entries that are met; what they count, and how many rows are written."""
    absent, n_entries = ~block.words[_PRESENT], np.uint32(block.words[_TALLY] & _ENTRIES)
    counted, cluster, scanned = np.int64(0), _ZERO, _ZERO
    while scanned < n_entries:
        cluster = _scan(mode, scanned + thread, cluster, absent, block, index)
        scanned += _ROUND_STEP
        cuda.syncthreads()
        n_waiting = block.numbers[_WAITING]
        while n_waiting >= _STEP or (n_waiting > _ZERO and scanned >= n_entries):
            n = min(n_waiting, _STEP)
            n_waiting -= n
            if thread < n:
                place = n_waiting + thread
                counted += _answer_one(
                    mode, block.waiting[place], block.waiting_in[place], direct, begin, end,
                    block, events, index, output,
                )  # fmt: skip
        cuda.syncthreads()
        if thread == _ZERO:
            block.numbers[_WAITING] = n_waiting
            if mode == BEST:
                _lower(n_best, block)
        if mode in (KEEP, BEST):
            n = block.numbers[_KEPT]
            if n > _FULL:
                _write(n, before, event, thread, block, output)
                before += n
        cuda.syncthreads()
    return counted, before


@device
def _begin(mode: int, thread: Number, event: Number, block: Block, output: Output) -> None:
    """Begin with an event."""
    if thread == _ZERO:
        block.words[_PRESENT] = _NOTHING
        block.numbers[_KEPT] = _ZERO
    if mode == BEST:
        for level in range(thread, np.uint32(_LEVELS), _STEP):
            block.of_level[level] = 0
        if thread == _ZERO:
            block.limits[_LIMIT], block.limits[_WITHIN] = output.limits[event], 0


def _made(mode: int) -> Any:
    """The kernel that counts, keeps or adds up."""
    n_found = _FOUND if mode in (KEEP, BEST) else 1
    n_levels = _LEVELS if mode == BEST else 1

    def answer(
        index: Arranged, events: Events, n_events: Number, n_dims: Number, n_best: Number,
        output: Output,
    ) -> None:  # fmt: skip
        block = Block(
            cuda.shared.array(0, types.int32),
            cuda.shared.array(_CLUSTERS, types.uint32),
            cuda.shared.array(_CLUSTERS, types.uint32),
            cuda.shared.array(_CLUSTERS, types.uint32),
            cuda.shared.array(_CLUSTERS, types.uint32),
            cuda.shared.array(_QUEUE, types.uint32),
            cuda.shared.array(_QUEUE, types.uint32),
            cuda.shared.array(n_found, types.uint32),
            cuda.shared.array(2, types.uint64),
            cuda.shared.array(3, types.uint32),
            cuda.shared.array(n_levels, types.int32),
            cuda.shared.array(2, types.int32),
        )
        sums = cuda.shared.array(1, types.int64)
        thread, event = np.uint32(cuda.threadIdx.x), np.uint32(cuda.blockIdx.x)
        direct = n_dims <= np.uint32(MOST_DIMS)
        if direct:
            for dim in range(thread, n_dims, _STEP):
                block.table[dim] = 0
        while event < n_events:
            begin, end = events.starts[event], events.starts[event + _ONE]
            if thread == _ZERO:
                sums[0] = 0
            _begin(mode, thread, event, block, output)
            cuda.syncthreads()
            _lay_out(thread, direct, begin, end, block, events, index)
            counted, before, window = np.int64(0), _ZERO, begin
            while window == begin or window < end:
                cuda.syncthreads()
                if thread == _ZERO:
                    block.words[_TALLY] = _NOTHING
                    block.numbers[_WAITING] = _ZERO
                cuda.syncthreads()
                _meet(thread, window, begin, end, block, events, index)
                cuda.syncthreads()
                more, before = _go_through(
                    mode, thread, direct, event, begin, end, before, n_best, block, events,
                    index, output,
                )  # fmt: skip
                counted += more
                window += _WINDOW_STEP
            if mode in (KEEP, BEST):
                n = block.numbers[_KEPT]
                if n > _ZERO:
                    _write(n, before, event, thread, block, output)
                counted = np.int64(before + n)
            elif mode == COUNT:
                cuda.atomic.add(sums, 0, counted)
            if direct:
                _take_away(thread, begin, end, block, events, index)
            cuda.syncthreads()
            if thread == _ZERO and mode != REACH:
                output.counts[event] = sums[0] if mode == COUNT else counted
            event += np.uint32(cuda.gridDim.x)

    return cuda.jit(answer) if SIMULATED else cuda.jit(max_registers=_REGISTERS)(answer)


answering = tuple(_made(mode) for mode in (COUNT, KEEP, REACH, BEST))


def _gather(extents: Array, rows: Array, starts: Array, n_extents: Number, ordered: Array) -> None:
    """Bring the extents into the order of events: a block an extent."""
    extent = np.uint32(cuda.blockIdx.x)
    while extent < n_extents:
        first = extent * _FOUR
        at = starts[extents[first]] + extents[first + _ONE]
        source, n = extents[first + _TWO], extents[first + _THREE]
        for i in range(np.uint32(cuda.threadIdx.x), n, _STEP):
            ordered[at + i] = rows[source + i]
        extent += np.uint32(cuda.gridDim.x)


gather: Any = cuda.jit(_gather)
