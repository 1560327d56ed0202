"""Clauses in slots, each with its predicates side by side, so that one look verifies it.

A predicate is two words of 64 bits. The head says what it is: its dimension, the first space that
it accepts, and flags. The body has a bit for each of the 64 spaces from there on. Where these are
too few, the body has the end of the only span (RANGE), or where its spans lie in a pool (SPANS).

    head = dim : 27 | lo : 32 | flags : 5        body = bits, or hi, or begin : 32 | end : 32
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from sys import getsizeof
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from remuda.arrays import Bools, Ints, Longs, Ragged, Words, frozen, starts_of, take_rows
from remuda.encoding.table import Predicates
from remuda.jit import kernel
from remuda.matchers.contract import Literal
from remuda.matchers.kernels.growth import grown, thawed

ON_MISSING, EVERY, NARROW, RANGE, SPANS = (np.uint64(1 << i) for i in range(5))
LO_SHIFT, DIM_SHIFT = np.uint64(5), np.uint64(37)
WIDTH = 64  # bits of a body

_HALF, _LOW_HALF = np.uint64(32), np.uint64(0xFFFFFFFF)
_ONE = np.uint64(1)
_NO_ROW, _LAST_ROW = -1, np.iinfo(np.int32).max


class Slots(NamedTuple):
    """The arrays of Records."""

    rows: Ints
    starts: Longs
    words: Words
    span_lo: Ints
    span_hi: Ints


@dataclass(slots=True)
class Records:
    """The clause in slot i stands for row `rows[i]` and has the predicates from `starts[i]` on.

    Slots are not used twice: after many changes the owner makes the records anew.
    """

    rows: Ints
    starts: Longs
    words: Words
    span_lo: Ints
    span_hi: Ints
    n_slots: int
    n_spans: int
    n_changes: int = field(init=False, default=0)
    _order: Ints | None = field(init=False, default=None)  # of the slots by row, to find them
    _sorted: Ints | None = field(init=False, default=None)
    _added: dict[int, int] = field(init=False, default_factory=dict)

    @classmethod
    def of(cls, predicates: Predicates, narrow: Bools, clauses: Ragged, rows: Ints) -> Records:
        """The clauses in their order, under these rows; some predicates are marked as narrow."""
        used = np.bincount(clauses.items, minlength=len(narrow)) > 0
        words, span_lo, span_hi = encoded(predicates, narrow, used)
        parts = frozen((rows, clauses.starts, words[clauses.items], span_lo, span_hi))
        return cls(*parts, len(rows), len(span_lo))

    @property
    def arrays(self) -> Slots:
        """What kernels read."""
        return frozen(Slots(self.rows, self.starts, self.words, self.span_lo, self.span_hi))

    @property
    def nbytes(self) -> int:
        by_row = (array.nbytes for array in (self._order, self._sorted) if array is not None)
        return sum(array.nbytes for array in self.arrays) + sum(by_row) + getsizeof(self._added)

    @property
    def is_stale(self) -> bool:
        """Whether so much has changed that everything should be made anew.

        One in 24 keeps what is lost to deletions, and to finding rows, below a fifth of all.
        """
        return self.n_changes > 16 + self.n_slots // 24

    def add(self, row: int, predicates: Predicates, narrow: Bools) -> int:
        """Put a clause of all these predicates in a slot of its own; return that."""
        if not 0 <= row <= _LAST_ROW:
            raise ValueError(f"row {row} is not between 0 and {_LAST_ROW}")
        if self._find(row) is not None:
            raise ValueError(f"row {row} is there already; delete it first")
        used = np.ones(len(narrow), np.bool_)
        words, span_lo, span_hi = encoded(predicates, narrow, used, self.n_spans)
        slot, begin = self.n_slots, int(self.starts[self.n_slots])
        end, n_spans = begin + len(words), self.n_spans + len(span_lo)
        self.rows, self.starts = thawed(self.rows, slot + 1), thawed(self.starts, slot + 2)
        self.rows[slot], self.starts[slot + 1] = row, end
        self.words = thawed(self.words, end)
        self.words[begin:end] = words
        self.span_lo, self.span_hi = thawed(self.span_lo, n_spans), thawed(self.span_hi, n_spans)
        self.span_lo[self.n_spans : n_spans] = span_lo
        self.span_hi[self.n_spans : n_spans] = span_hi
        self.n_slots, self.n_spans, self.n_changes = slot + 1, n_spans, self.n_changes + 1
        self._added[row] = slot
        return slot

    def remove(self, row: int) -> int:
        """Forget a row; return the slot in which its clause can still be read."""
        slot = self._find(row) if 0 <= row <= _LAST_ROW else None
        if slot is None:
            raise KeyError(f"row {row} is not there")
        self._added.pop(row, None)
        self.rows = thawed(self.rows)
        self.rows[slot] = _NO_ROW
        self.n_changes += 1
        return slot

    def alive(self) -> Ints:
        """The slots in use."""
        return np.flatnonzero(self.rows[: self.n_slots] != _NO_ROW).astype(np.int32)

    def clause(self, slot: int) -> Predicates:
        """The predicates in a slot."""
        words = self.words[self.starts[slot] : self.starts[slot + 1]]
        return decoded(words, self.span_lo, self.span_hi)

    def clauses(self, slots: Ints) -> tuple[Predicates, Ragged]:
        """The clauses in these slots, as they were given."""
        counts = self.starts[slots + 1] - self.starts[slots]
        starts = starts_of(counts)
        shift = np.repeat(self.starts[slots] - starts[:-1], counts)
        words = self.words[np.arange(starts[-1]) + shift]
        first, items = _distinct(words)
        return decoded(words[first], self.span_lo, self.span_hi), Ragged(starts, items)

    def _find(self, row: int) -> int | None:
        """The slot of a row, if it has one."""
        if self._order is None or self._sorted is None:
            self._order = np.argsort(self.rows).astype(np.int32)
            self._sorted = self.rows[self._order]
        if row in self._added:
            return self._added[row]
        wanted = np.int32(row)  # of the array's type, or all of it would be converted
        at = int(np.searchsorted(self._sorted, wanted))
        if at == len(self._sorted) or self._sorted[at] != row:
            return None
        slot = int(self._order[at])
        return slot if self.rows[slot] == row else None


def predicates_of(clause: Sequence[Literal], space_starts: Ints) -> Predicates:
    """The literals of a clause as a table; none may reach beyond its dimension."""
    for literal in clause:
        if not 0 <= literal.dim < len(space_starts) - 1:
            raise ValueError(f"{literal}: there are {len(space_starts) - 1} dimensions")
        first, end = space_starts[literal.dim] + 1, space_starts[literal.dim + 1]
        for lo, hi in literal.spans:
            if not first <= lo < hi <= end:
                raise ValueError(f"{literal}: its dimension has the spaces {first} to {end - 1}")
    spans = np.array([span for literal in clause for span in literal.spans], np.int32)
    return frozen(
        Predicates(
            np.array([literal.dim for literal in clause], np.int32),
            np.array([literal.on_missing for literal in clause], np.bool_),
            np.array([literal.every for literal in clause], np.bool_),
            starts_of([len(literal.spans) for literal in clause]).astype(np.int32),
            *np.ascontiguousarray(spans.reshape(-1, 2).T),
        )
    )


def taken(predicates: Predicates, which: NDArray[Any]) -> Predicates:
    """Some of the predicates, in this order."""
    lo = take_rows(Ragged(predicates.span_starts.astype(np.int64), predicates.span_lo), which)
    hi = take_rows(Ragged(predicates.span_starts.astype(np.int64), predicates.span_hi), which)
    dim, on_missing, every = (column[which] for column in predicates[:3])
    return frozen(
        Predicates(dim, on_missing, every, lo.starts.astype(np.int32), lo.items, hi.items)
    )


def encoded(
    predicates: Predicates, narrow: Bools, used: Bools, n_spans: int = 0
) -> tuple[Words, Ints, Ints]:
    """Each predicate in two words, and the spans that go to a pool which has some already."""
    begin, end = predicates.span_starts[:-1], predicates.span_starts[1:]
    counts, reach = end - begin, np.zeros(len(used), np.int64)
    some = np.flatnonzero(counts)
    reach[some] = predicates.span_hi[end[some] - 1] - predicates.span_lo[begin[some]]
    pooled = used & (counts > 1) & (reach > WIDTH)
    pool_starts = n_spans + starts_of(np.where(pooled, counts, 0))
    words = _encode(predicates, narrow, pooled, pool_starts)
    kept = np.repeat(pooled, counts)
    return words, predicates.span_lo[kept], predicates.span_hi[kept]


def decoded(words: Words, span_lo: Ints, span_hi: Ints) -> Predicates:
    """The predicates that these words stand for."""
    starts, lo, hi = _decode(*frozen((words, span_lo, span_hi)))
    heads = words[:, 0]
    dims, on_missing, every = heads >> DIM_SHIFT, (heads & ON_MISSING) != 0, (heads & EVERY) != 0
    return frozen(Predicates(dims.astype(np.int32), on_missing, every, starts, lo, hi))


@kernel
def _encode(predicates: Predicates, narrow: Bools, pooled: Bools, pool_starts: Longs) -> Words:
    span_lo, span_hi = predicates.span_lo, predicates.span_hi
    words = np.zeros((len(predicates.dim), 2), np.uint64)
    for p in range(len(predicates.dim)):
        begin, end = predicates.span_starts[p], predicates.span_starts[p + 1]
        lo = np.uint64(span_lo[begin]) if begin < end else np.uint64(0)
        head = (np.uint64(predicates.dim[p]) << DIM_SHIFT) | (lo << LO_SHIFT)
        if predicates.on_missing[p]:
            head |= ON_MISSING
        if predicates.every[p]:
            head |= EVERY
        if narrow[p]:
            head |= NARROW
        body = np.uint64(0)
        if pooled[p]:
            head |= SPANS
            body = (np.uint64(pool_starts[p]) << _HALF) | np.uint64(pool_starts[p + 1])
        elif begin < end and span_hi[end - 1] - span_lo[begin] > WIDTH:
            head |= RANGE
            body = np.uint64(span_hi[begin])
        else:
            for i in range(begin, end):
                for space in range(span_lo[i], span_hi[i]):
                    body |= _ONE << np.uint64(space - span_lo[begin])
        words[p, 0] = head
        words[p, 1] = body
    return words


@kernel
def _decode(words: Words, span_lo: Ints, span_hi: Ints) -> tuple[Ints, Ints, Ints]:
    starts = np.zeros(len(words) + 1, np.int32)
    lo, hi = np.empty(len(words) + WIDTH, np.int32), np.empty(len(words) + WIDTH, np.int32)
    n = 0
    for p in range(len(words)):
        head, body = words[p, 0], words[p, 1]
        first = np.int64((head >> LO_SHIFT) & _LOW_HALF)
        if head & SPANS:
            begin, end = np.int64(body >> _HALF), np.int64(body & _LOW_HALF)
            lo, hi = grown(lo, n + end - begin), grown(hi, n + end - begin)
            for i in range(begin, end):
                lo[n], hi[n] = span_lo[i], span_hi[i]
                n += 1
            starts[p + 1] = n
            continue
        lo, hi = grown(lo, n + WIDTH), grown(hi, n + WIDTH)
        if head & RANGE:
            lo[n], hi[n] = first, np.int64(body)
            n += 1
        else:
            for i in range(WIDTH):
                if (body >> np.uint64(i)) & _ONE:
                    if n == starts[p] or hi[n - 1] < first + i:
                        lo[n] = first + i
                        n += 1
                    hi[n - 1] = first + i + 1
        starts[p + 1] = n
    return starts, lo[:n].copy(), hi[:n].copy()


def _distinct(words: Words) -> tuple[Longs, Ints]:
    """Where each distinct predicate stands, and which of these each predicate is."""
    order = np.lexsort((words[:, 1], words[:, 0]))
    is_new = np.ones(len(words), np.bool_)
    is_new[1:] = (words[order[1:]] != words[order[:-1]]).any(axis=1)
    items = np.empty(len(words), np.int32)
    items[order] = np.cumsum(is_new) - 1
    return order[is_new], items
