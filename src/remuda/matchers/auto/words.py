"""Predicates as words of 64 bits.

A mask word decides a predicate with one shift, whatever its operator was:

    byte : dim_bits | holds where the byte is 0 : 1 | accepted positions : 63 - dim_bits

An event keeps one byte per dimension: 0 where it is missing, else the position of its space there,
so that bit `dim_bits + byte` of the word is the answer. Few dimensions leave room for many
positions. A dimension with more spaces than positions is wide. If it is not too wide, it has
further bytes, its pages: the first byte then has one position for "on another page", and a
predicate has a word for each page that it does not accept as a whole. Beyond that, positions wrap
around, the mask only filters, and exact words in the tail of the record decide, which list accepted
(or refused) cells, the spaces of a dimension numbered from 1. Wide dimensions have numbers of their
own, by which an event keeps its cell there.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from remuda.arrays import Bools, Ints, Longs, Ragged, Words, starts_of
from remuda.encoding.table import ClauseTable, Predicates
from remuda.jit import bare, kernel
from remuda.matchers.auto import layout as fields
from remuda.matchers.auto.layout import ONE, TWO, get, put
from remuda.matchers.kernels.search import first_at_least
from remuda.matchers.levels import Standing

_MOST_BYTES = 1 << 24
SPAN = 0  # payload: the first cell, and how many
CELLS = 1  # payload: how many; the cells follow, 16 bits each
SPANS = 2  # payload: how many; the next word says where in the arena they lie
_LARGEST_CELL = (1 << 16) - 1
_MOST_CELLS = 64  # longer lists are written once per predicate, not once per record
_MOST_PAGES = 3  # beside the first: more words than an exact one takes are no gain


class EventBytes(NamedTuple):
    """Where an event keeps what mask words ask for."""

    dim_bits: int
    n_masked: int  # bytes in all: of dimensions, then of pages
    wide: Ints  # the number of each dimension among the wide ones, or -1
    n_pages: Ints  # of each dimension, beside the first
    first_page: Ints

    @property
    def n_wide(self) -> int:
        return int(self.wide.max(initial=-1)) + 1


class PredicateWords(NamedTuple):
    """What records are made of: the masks of predicate p, then its tail."""

    bytes: EventBytes
    mask_starts: Longs
    masks: Words
    tail_starts: Longs
    tails: Words
    spilled: Words  # long lists of spans; the beginning of the arena


class Material(NamedTuple):
    """What records and slices are made of."""

    clauses: Ragged  # what is left to verify of each
    item_dims: Ints
    lengths: Longs  # of each clause's record
    signatures: Words
    words: PredicateWords
    predicates: Predicates
    selective: Bools
    space_starts: Ints
    sizes: Ints  # the present spaces of each dimension
    standing: Standing


def bytes_of(space_starts: Ints) -> EventBytes:
    """The fewest bits that name all bytes, where more bits make for more bytes."""
    sizes, n_dims = np.diff(space_starts) - 1, len(space_starts) - 1
    dim_bits = max(n_dims - 1, 1).bit_length()
    while True:
        n_positions = 63 - dim_bits
        is_wide = sizes > n_positions
        n_pages = np.where(is_wide, sizes // n_positions, 0)
        n_pages[n_pages > _MOST_PAGES] = 0
        n_masked = n_dims + int(n_pages.sum())
        if n_masked > _MOST_BYTES:
            raise ValueError(f"{n_dims} dimensions are more than auto holds")
        if n_masked <= 1 << dim_bits:
            break
        dim_bits += 1
    wide = np.where(is_wide, np.cumsum(is_wide) - 1, -1)
    first_page = n_dims + np.cumsum(n_pages) - n_pages
    columns = (column.astype(np.int32) for column in (wide, n_pages, first_page))
    return EventBytes(dim_bits, n_masked, *columns)


def words_of(table: ClauseTable) -> PredicateWords:
    """Every predicate of the table as words."""
    predicates, layout = table.predicates, bytes_of(table.space_starts)
    most = starts_of(1 + layout.n_pages[predicates.dim])
    n = len(predicates.dim)
    mask_starts, masks = np.zeros(n + 1, np.int64), np.empty(most[-1], np.uint64)
    n_tail, n_spilled = np.zeros(n, np.int64), np.zeros(n, np.int64)
    _write_masks(table.space_starts, predicates, layout, mask_starts, masks, n_tail, n_spilled)
    tail_starts, spill_starts = starts_of(n_tail), starts_of(n_spilled)
    tails = np.zeros(tail_starts[-1], np.uint64)
    spilled = np.zeros(spill_starts[-1], np.uint64)
    _write_tails(
        table.space_starts, layout.wide, predicates, tail_starts, spill_starts, tails, spilled
    )
    return PredicateWords(layout, mask_starts, masks, tail_starts, tails, spilled)


@bare
def refused_span(j: int, p: int, predicates: Predicates, low: int, high: int) -> tuple[int, int]:
    """The gap before span j of a predicate, in `low` to `high`; empty where there is none."""
    begin, end = predicates.span_starts[p], predicates.span_starts[p + 1]
    lo = low if j == 0 else predicates.span_hi[begin + j - 1]
    hi = high if begin + j == end else predicates.span_lo[begin + j]
    return lo, hi


@kernel
def _shape(p: int, predicates: Predicates, low: int, high: int) -> tuple[int, bool, int, int]:
    """Form, whether it lists what is refused, how many spans, how many cells."""
    begin, end = predicates.span_starts[p], predicates.span_starts[p + 1]
    n_refused, refused_cells, accepted_cells = 0, 0, 0
    for j in range(end - begin + 1):
        lo, hi = refused_span(j, p, predicates, low, high)
        if lo < hi:
            n_refused += 1
            refused_cells += hi - lo
    for i in range(begin, end):
        accepted_cells += predicates.span_hi[i] - predicates.span_lo[i]
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
def _write_masks(
    space_starts: Ints,
    predicates: Predicates,
    layout: EventBytes,
    starts: Longs,
    masks: Words,
    n_tail: Longs,
    n_spilled: Longs,
) -> None:
    """Where each predicate's masks start, the masks, the lengths of tails and of spilled lists."""
    n_positions, shift = 63 - layout.dim_bits, np.uint64(layout.dim_bits)
    span_lo, span_hi = predicates.span_lo, predicates.span_hi
    w = np.int64(0)
    for p in range(len(predicates.dim)):
        dim = predicates.dim[p]
        low, high = space_starts[dim] + 1, space_starts[dim + 1]
        if layout.n_pages[dim]:
            w = _write_pages(masks, w, p, predicates, low - 1, high, layout)
            starts[p + 1] = w
            continue
        positions, n_accepted = np.uint64(0), 0
        for i in range(predicates.span_starts[p], predicates.span_starts[p + 1]):
            n_cells = span_hi[i] - span_lo[i]
            n_accepted += n_cells
            positions |= _around((span_lo[i] - low) % n_positions, n_cells, n_positions)
        worth = True
        if high - low > n_positions and 0 < n_accepted < high - low:
            form, refuses, n_spans, n_cells = _shape(p, predicates, low, high)
            # a span is decided as fast as it is filtered, and few cells leave most positions free
            worth = form != SPAN and not refuses and 2 * n_accepted <= n_positions
            n_tail[p] = 1 + ((n_cells + 3) // 4 if form == CELLS else 1 if form == SPANS else 0)
            n_spilled[p] = n_spans if form == SPANS else 0
        if worth:
            positions |= np.uint64(predicates.on_missing[p])
            masks[w] = positions << shift | np.uint64(dim)
            w += 1
        starts[p + 1] = w


@bare
def _around(first: int, n: int, n_positions: int) -> np.uint64:
    """A run of n positions in the ring of all, behind the position of a missing value."""
    ones = (ONE << np.uint64(min(n, n_positions))) - ONE
    whole = (ONE << np.uint64(n_positions)) - ONE
    ring = (ones << np.uint64(first) & whole) | ones >> np.uint64(n_positions - first)
    return ring << ONE


@kernel
def _write_pages(
    masks: Words,
    w: int,
    p: int,
    predicates: Predicates,
    missing: int,
    high: int,
    layout: EventBytes,
) -> int:
    """Write the words of a predicate on a dimension with pages; where they end.

    Page 0 has the cells below n_positions, each at the position of its own number.
    """
    dim, on_missing = predicates.dim[p], predicates.on_missing[p]
    n_pages, first_page = layout.n_pages[dim], layout.first_page[dim]
    n_positions, shift = 63 - layout.dim_bits, np.uint64(layout.dim_bits)
    pages, whole = np.zeros(n_pages + 1, np.uint64), np.zeros(n_pages + 1, np.uint64)
    for cell in range(1, high - missing):
        page = cell // n_positions
        whole[page] |= ONE << np.uint64(cell % n_positions + (page > 0))
    for i in range(predicates.span_starts[p], predicates.span_starts[p + 1]):
        for cell in range(predicates.span_lo[i] - missing, predicates.span_hi[i] - missing):
            page = cell // n_positions
            pages[page] |= ONE << np.uint64(cell % n_positions + (page > 0))
    n_others, other = 0, 0
    for page in range(1, n_pages + 1):
        if pages[page]:
            n_others += 1
            other = page
    alone = n_others == 1 and pages[0] == np.uint64(0)
    if alone and not on_missing and not predicates.every[p]:
        masks[w] = pages[other] << shift | np.uint64(first_page + other - 1)
        return w + 1
    elsewhere = np.uint64(n_others > 0) << np.uint64(n_positions)
    masks[w] = (pages[0] | elsewhere | np.uint64(on_missing)) << shift | np.uint64(dim)
    w += 1
    for page in range(1, n_pages + 1):
        if n_others and pages[page] != whole[page]:
            masks[w] = (pages[page] | ONE) << shift | np.uint64(first_page + page - 1)
            w += 1
    return w


@kernel
def _write_tails(
    space_starts: Ints,
    wide: Ints,
    predicates: Predicates,
    tail_starts: Longs,
    spill_starts: Longs,
    tails: Words,
    spilled: Words,
) -> None:
    for p in range(len(predicates.dim)):
        w, dim = tail_starts[p], predicates.dim[p]
        if w == tail_starts[p + 1]:
            continue
        first = space_starts[dim]
        low, high = first + 1, space_starts[dim + 1]
        begin, end = predicates.span_starts[p], predicates.span_starts[p + 1]
        form, refuses, n_spans, n_cells = _shape(p, predicates, low, high)
        payload = put(n_cells if form == CELLS else n_spans, fields.EXACT_PAYLOAD)
        n = 0
        for j in range(end - begin + (1 if refuses else 0)):
            if refuses:
                lo, hi = refused_span(j, p, predicates, low, high)
            else:
                lo, hi = predicates.span_lo[begin + j], predicates.span_hi[begin + j]
            if lo >= hi:
                continue
            lo, hi = lo - first, hi - first
            if form == SPAN:
                payload = put(lo, fields.SPAN_FIRST) | put(hi - lo, fields.SPAN_N)
            elif form == SPANS:
                span = put(lo, fields.SPILLED_LO) | put(hi, fields.SPILLED_HI)
                spilled[spill_starts[p] + n] = span
                n += 1
            else:
                for cell in range(lo, hi):
                    tails[w + 1 + n // 4] |= np.uint64(cell) << np.uint64(16 * (n % 4))
                    n += 1
        word = put(wide[dim], fields.EXACT_WIDE) | put(form, fields.EXACT_FORM) | payload
        word |= put(predicates.on_missing[p], fields.EXACT_ON_MISSING)
        word |= put(predicates.every[p], fields.EXACT_EVERY)
        tails[w] = word | put(refuses, fields.EXACT_REFUSES)
        if form == SPANS:
            tails[w + 1] = np.uint64(spill_starts[p])


@bare
def next_exact(w: np.uint64, word: np.uint64) -> np.uint64:
    """Where the exact word after the one at `w` stands."""
    form = get(word, fields.EXACT_FORM)
    if form == np.uint64(CELLS):
        return w + ONE + ((get(word, fields.EXACT_PAYLOAD) + np.uint64(3)) >> TWO)  # type: ignore[no-any-return]
    return w + ONE + np.uint64(form == np.uint64(SPANS))


@bare
def accepts_cell(
    arena: Words, quarters: NDArray[np.uint16], w: np.uint64, word: np.uint64, cell: np.uint64
) -> bool:
    """Whether the exact word at `w` accepts the cell."""
    form, n = get(word, fields.EXACT_FORM), get(word, fields.EXACT_PAYLOAD)
    listed = False
    if form == np.uint64(SPAN):
        lo = get(word, fields.SPAN_FIRST)
        listed = bool(lo <= cell < lo + get(word, fields.SPAN_N))
    elif form == np.uint64(CELLS):
        at = (w + ONE) * np.uint64(4)
        for i in range(n):
            listed |= np.uint64(quarters[at + np.uint64(i)]) == cell
    else:
        listed = _in_spans(arena, arena[w + ONE], n, cell)
    return bool(listed != (get(word, fields.EXACT_REFUSES) != np.uint64(0)))


@kernel
def _in_spans(arena: Words, begin: np.uint64, n: np.uint64, cell: np.uint64) -> bool:
    """Whether one of n spilled spans has the cell."""
    first, end = np.int64(begin), np.int64(begin + n)
    beyond = put(cell + ONE, fields.SPILLED_HI)
    at = first_at_least(arena, first, end, beyond)  # the first to end there
    return bool(at < end and get(arena[at], fields.SPILLED_LO) <= cell)
