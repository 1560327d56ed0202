"""Predicates as words of 64 bits.

A mask word decides a predicate with one shift, whatever its operator was:

    dim : dim_bits | holds on missing : 1 | accepted positions : 63 - dim_bits

An event keeps one byte per dimension: 0 where it is missing, else the position of its space there,
so that bit `dim_bits + byte` of the word is the answer. Few dimensions leave room for many
positions. A domain with more spaces than positions wraps around: the mask then only filters, and
exact words in the tail of the record decide:

    dim : 26 | holds on missing : 1 | every : 1 | refuses : 1 | last : 1 | form : 2 | payload : 32

which list accepted (or refused) cells, numbered within the dimension from 1; 0 stands for missing.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from remuda.arrays import Bools, Ints, Longs, starts_of
from remuda.encoding.table import ClauseTable
from remuda.jit import kernel

U64 = NDArray[np.uint64]

MAX_DIM_BITS = 26
DIM = np.uint64((1 << MAX_DIM_BITS) - 1)
ON_MISSING = np.uint64(1 << 26)
EVERY = np.uint64(1 << 27)
REFUSES = np.uint64(1 << 28)
LAST = np.uint64(1 << 29)
FORM_SHIFT = np.uint64(30)
SPAN = 0  # payload: first cell : 16 | how many : 16
CELLS = 1  # payload: how many; the cells follow, 16 bits each
SPANS = 2  # payload: how many; the next word says where in the arena they lie, as lo : 32 | hi : 32
_LARGEST_CELL = (1 << 16) - 1
_MOST_CELLS = 64  # longer lists are written once per predicate, not once per record


class Words(NamedTuple):
    """What records are made of; predicate p has `masks[p]` if `masked[p]`, then its tail."""

    dim_bits: int
    masks: U64
    masked: Bools
    tail_starts: Longs
    tails: U64
    spilled: U64  # long lists of spans; the beginning of the arena


def dim_bits_of(n_dims: int) -> int:
    """How many bits of a mask word name the dimension."""
    bits = max(n_dims - 1, 1).bit_length()
    if bits > MAX_DIM_BITS:
        raise ValueError(f"{n_dims} dimensions; auto holds at most {1 << MAX_DIM_BITS}")
    return bits


def words_of(table: ClauseTable) -> Words:
    """Every predicate of the table as words."""
    predicates, dim_bits = table.predicates, dim_bits_of(table.n_dims)
    masks, masked, n_tail, n_spilled = _masks(table.space_starts, *predicates, dim_bits)
    tail_starts, spill_starts = starts_of(n_tail), starts_of(n_spilled)
    tails = np.zeros(tail_starts[-1], np.uint64)
    spilled = np.zeros(spill_starts[-1], np.uint64)
    _write_tails(table.space_starts, *predicates, tail_starts, spill_starts, tails, spilled)
    return Words(dim_bits, masks, masked, tail_starts, tails, spilled)


@kernel
def refused_span(
    j: int, begin: int, end: int, low: int, high: int, span_lo: Ints, span_hi: Ints
) -> tuple[int, int]:
    """The gap before span `begin + j`, within `low` to `high`; empty where there is none."""
    lo = low if j == 0 else span_hi[begin + j - 1]
    hi = high if begin + j == end else span_lo[begin + j]
    return lo, hi


@kernel
def _shape(
    begin: int, end: int, low: int, high: int, span_lo: Ints, span_hi: Ints
) -> tuple[int, bool, int, int]:
    """Form, whether it lists what is refused, how many spans, how many cells."""
    n_refused, refused_cells, accepted_cells = 0, 0, 0
    for j in range(end - begin + 1):
        lo, hi = refused_span(j, begin, end, low, high, span_lo, span_hi)
        if lo < hi:
            n_refused += 1
            refused_cells += hi - lo
    for i in range(begin, end):
        accepted_cells += span_hi[i] - span_lo[i]
    refuses = n_refused < end - begin
    n_spans = n_refused if refuses else end - begin
    n_cells = refused_cells if refuses else accepted_cells
    short = high - low <= _LARGEST_CELL
    if short and n_spans == 1:
        return SPAN, refuses, n_spans, n_cells
    if short and n_cells <= min(_MOST_CELLS, 4 * n_spans):
        return CELLS, refuses, n_spans, n_cells
    return SPANS, refuses, n_spans, n_cells


@kernel
def _masks(
    space_starts: Ints,
    dims: Ints,
    on_missing: Bools,
    every: Bools,
    span_starts: Ints,
    span_lo: Ints,
    span_hi: Ints,
    dim_bits: int,
) -> tuple[U64, Bools, Longs, Longs]:
    """Mask words, which of them are worth a test, and the lengths of tails and spilled lists."""
    n, n_positions = len(dims), 63 - dim_bits
    masks, masked = np.zeros(n, np.uint64), np.ones(n, np.bool_)
    n_tail, n_spilled = np.zeros(n, np.int64), np.zeros(n, np.int64)
    for p in range(n):
        low, high = space_starts[dims[p]] + 1, space_starts[dims[p] + 1]
        begin, end = span_starts[p], span_starts[p + 1]
        word, n_accepted = np.uint64(0), 0
        for i in range(begin, end):
            n_accepted += span_hi[i] - span_lo[i]
            for cell in range(span_lo[i] - low, min(span_hi[i], span_lo[i] + n_positions) - low):
                word |= np.uint64(1) << np.uint64(cell % n_positions)
        word = (word << np.uint64(1)) | np.uint64(on_missing[p])
        masks[p] = (word << np.uint64(dim_bits)) | np.uint64(dims[p])
        if high - low <= n_positions or n_accepted == 0 or n_accepted == high - low:
            continue
        form, refuses, n_spans, n_cells = _shape(begin, end, low, high, span_lo, span_hi)
        # a span is decided as fast as it is filtered, and few cells leave most positions free
        masked[p] = form != SPAN and not refuses and 2 * n_accepted <= n_positions
        n_tail[p] = 1 + ((n_cells + 3) // 4 if form == CELLS else 1 if form == SPANS else 0)
        n_spilled[p] = n_spans if form == SPANS else 0
    return masks, masked, n_tail, n_spilled


@kernel
def _write_tails(
    space_starts: Ints,
    dims: Ints,
    on_missing: Bools,
    every: Bools,
    span_starts: Ints,
    span_lo: Ints,
    span_hi: Ints,
    tail_starts: Longs,
    spill_starts: Longs,
    tails: U64,
    spilled: U64,
) -> None:
    for p in range(len(dims)):
        w = tail_starts[p]
        if w == tail_starts[p + 1]:
            continue
        first = space_starts[dims[p]]
        low, high = first + 1, space_starts[dims[p] + 1]
        begin, end = span_starts[p], span_starts[p + 1]
        form, refuses, n_spans, n_cells = _shape(begin, end, low, high, span_lo, span_hi)
        payload = n_cells if form == CELLS else n_spans
        n = 0
        for j in range(end - begin + (1 if refuses else 0)):
            if refuses:
                lo, hi = refused_span(j, begin, end, low, high, span_lo, span_hi)
            else:
                lo, hi = span_lo[begin + j], span_hi[begin + j]
            if lo >= hi:
                continue
            lo, hi = lo - first, hi - first
            if form == SPAN:
                payload = lo | (hi - lo) << 16
            elif form == SPANS:
                spilled[spill_starts[p] + n] = np.uint64(lo) | np.uint64(hi) << np.uint64(32)
                n += 1
            else:
                for cell in range(lo, hi):
                    tails[w + 1 + n // 4] |= np.uint64(cell) << np.uint64(16 * (n % 4))
                    n += 1
        word = np.uint64(dims[p]) | np.uint64(form) << FORM_SHIFT
        word |= np.uint64(payload) << np.uint64(32)
        word |= ON_MISSING if on_missing[p] else np.uint64(0)
        word |= EVERY if every[p] else np.uint64(0)
        word |= REFUSES if refuses else np.uint64(0)
        tails[w] = word
        if form == SPANS:
            tails[w + 1] = np.uint64(spill_starts[p])


@kernel
def next_exact(w: np.uint64, word: np.uint64) -> np.uint64:
    """Where the exact word after the one at `w` stands."""
    form = (word >> FORM_SHIFT) & np.uint64(3)
    if form == np.uint64(CELLS):
        return w + np.uint64(1) + (((word >> np.uint64(32)) + np.uint64(3)) >> np.uint64(2))
    return w + np.uint64(1) + np.uint64(form == np.uint64(SPANS))


@kernel
def accepts_cell(
    arena: U64, quarters: NDArray[np.uint16], w: np.uint64, word: np.uint64, cell: np.uint64
) -> bool:
    """Whether the exact word at `w` accepts the cell."""
    form, payload = (word >> FORM_SHIFT) & np.uint64(3), word >> np.uint64(32)
    listed = False
    if form == np.uint64(SPAN):
        lo = payload & np.uint64(0xFFFF)
        listed = lo <= cell and cell < lo + (payload >> np.uint64(16))
    elif form == np.uint64(CELLS):
        at = (w + np.uint64(1)) << np.uint64(2)
        for i in range(payload):
            listed |= np.uint64(quarters[at + np.uint64(i)]) == cell
    else:
        listed = in_spans(arena, arena[w + np.uint64(1)], payload, cell)
    return listed != ((word & REFUSES) != np.uint64(0))


@kernel
def in_spans(arena: U64, begin: np.uint64, n: np.uint64, cell: np.uint64) -> bool:
    """Whether one of n spilled spans has the cell."""
    end = begin + n
    last = end
    while begin < end:  # the first span that ends beyond the cell
        middle = (begin + end) >> np.uint64(1)
        if arena[middle] >> np.uint64(32) <= cell:
            begin = middle + np.uint64(1)
        else:
            end = middle
    return begin < last and (arena[begin] & np.uint64(0xFFFFFFFF)) <= cell
