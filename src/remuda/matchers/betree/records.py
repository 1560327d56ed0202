"""Records: the predicates of each expression written out in words, with all that truth needs.

A predicate is a head, which packs its dimension with its kind, and the interval `lo` to `hi - 1`
that encloses the spaces it accepts. Where it does not accept all of these, a tail follows: a bit
for each space of the interval or, where that is shorter, the number of gaps and their bounds.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from remuda.arrays import Floats, Ints, Longs
from remuda.encoding.table import ClauseTable, Predicates
from remuda.jit import kernel
from remuda.matchers.kernels.search import first_at_least, put
from remuda.matchers.kernels.truth import Event

HEAD, LO, HI, TAIL = range(4)
ON_MISSING, EVERY, BITS, GAPS, DIM_SHIFT = 1, 2, 4, 8, 4

SEVERAL = -1  # in `point`: the event has more than one space on the dimension


class Records(NamedTuple):
    """Record i is `words[starts[i] : starts[i + 1]]`; `needs` is its signature, in two halves.

    A signature has a bit for each dimension that must be present (and 63 others share it).
    """

    starts: Longs
    words: Ints
    needs: Ints


def records_of(table: ClauseTable) -> Records:
    """A record for each clause; predicates that are likely to fail stand first."""
    pieces = _pieces(table.predicates, table.space_starts)
    return Records(*_records(*table.clauses, *pieces))


@kernel
def _pieces(predicates: Predicates, space_starts: Ints) -> tuple[Longs, Ints, Floats]:
    """Each predicate in words, and how likely it is to hold."""
    dim, on_missing, every, span_starts, span_lo, span_hi = predicates
    n = len(dim)
    starts, chance = np.zeros(n + 1, np.int64), np.empty(n)
    for p in range(n):
        begin, end = span_starts[p], span_starts[p + 1]
        chance[p] = 2.0 * on_missing[p]  # most attributes are missing
        domain = max(space_starts[dim[p] + 1] - space_starts[dim[p]] - 1, 1)
        for j in range(begin, end):
            chance[p] += (span_hi[j] - span_lo[j]) / domain
        tail = 0
        if end - begin > 1:
            n_bits = span_hi[end - 1] - span_lo[begin]
            tail = min((n_bits + 31) // 32, 2 * (end - begin) - 1)
        starts[p + 1] = starts[p] + TAIL + tail
    words = np.zeros(starts[n], np.int32)
    for p in range(n):
        begin, end, i = span_starts[p], span_starts[p + 1], starts[p]
        words[i] = dim[p] << DIM_SHIFT | on_missing[p] * ON_MISSING | every[p] * EVERY
        if begin == end:  # accepts no present space: an empty interval, at the first one
            words[i + LO] = words[i + HI] = space_starts[dim[p]] + 1
            continue
        words[i + LO], words[i + HI] = span_lo[begin], span_hi[end - 1]
        if end - begin == 1:
            continue
        if starts[p + 1] - i - TAIL == (words[i + HI] - words[i + LO] + 31) // 32:
            words[i] |= BITS
            for j in range(begin, end):
                for space in range(span_lo[j], span_hi[j]):
                    bit = space - words[i + LO]
                    words[i + TAIL + (bit >> 5)] |= np.int32(1) << np.int32(bit & 31)
        else:
            words[i] |= GAPS
            words[i + TAIL] = end - begin - 1
            for j in range(begin, end - 1):
                words[i + TAIL + 1 + 2 * (j - begin)] = span_hi[j]
                words[i + TAIL + 2 + 2 * (j - begin)] = span_lo[j + 1]
    return starts, words, chance


@kernel
def _records(
    clause_starts: Longs, items: Ints, piece_starts: Longs, pieces: Ints, chance: Floats
) -> tuple[Longs, Ints, Ints]:
    """The predicates of each clause, the least likely first; where each begins; what it needs."""
    n_clauses = len(clause_starts) - 1
    starts, longest = np.zeros(n_clauses + 1, np.int64), 0
    for clause in range(n_clauses):
        starts[clause + 1] = starts[clause]
        for j in range(clause_starts[clause], clause_starts[clause + 1]):
            starts[clause + 1] += piece_starts[items[j] + 1] - piece_starts[items[j]]
        longest = max(longest, clause_starts[clause + 1] - clause_starts[clause])
    words, needs = np.empty(starts[-1], np.int32), np.zeros((n_clauses, 2), np.int32)
    order = np.empty(longest, np.int32)
    for clause in range(n_clauses):
        n, i = 0, starts[clause]
        for j in range(clause_starts[clause], clause_starts[clause + 1]):
            put(items[j], order, 0, n, chance)
            n += 1
        for p in order[:n]:
            head = pieces[piece_starts[p]]
            if not head & ON_MISSING:
                sign(needs[clause], head >> DIM_SHIFT)
            for j in range(piece_starts[p], piece_starts[p + 1]):
                words[i] = pieces[j]
                i += 1
    return starts, words, needs


@kernel
def sign(signature: Ints, dim: int) -> None:
    """Set the dimension's bit."""
    signature[(dim >> 5) & 1] |= np.int32(1) << np.int32(dim & 31)


@kernel
def n_words(words: Ints, i: int) -> int:
    """The length of the predicate at `i`."""
    if words[i] & BITS:
        return TAIL + (words[i + HI] - words[i + LO] + 31) // 32  # type: ignore[no-any-return]
    if words[i] & GAPS:
        return TAIL + 1 + 2 * words[i + TAIL]  # type: ignore[no-any-return]
    return TAIL


@kernel
def lay_points(
    spaces: Ints, begin: int, end: int, dim_of_space: Ints, point: Ints, dims: Ints
) -> int:
    """Note the only space of each dimension of an event, or that there are several; list these."""
    n = 0
    for i in range(begin, end):
        dim = dim_of_space[spaces[i]]
        if point[dim] == 0:
            point[dim] = spaces[i]
            dims[n] = dim
            n += 1
        else:
            point[dim] = SEVERAL
    return n


@kernel
def discarded(words: Ints, begin: int, end: int, point: Ints, event: Event) -> int:
    """How many predicates of a record were evaluated until one failed; 0 where all hold.

    In `point`, 0 (a space that no event has) stands for a missing dimension.
    """
    i, n = begin, 0
    while i < end:
        n += 1
        dim = words[i] >> DIM_SHIFT
        space = point[dim]
        if space == 0:
            if not words[i] & ON_MISSING:
                return n
        elif space != SEVERAL:
            if not _accepts(words, i, space):
                return n
        elif not _accepts_several(words, i, event.spaces, event.first[dim], event.last[dim]):
            return n
        i += n_words(words, i)
    return 0


@kernel
def _accepts(words: Ints, i: int, space: int) -> bool:
    """Whether the predicate at `i` accepts the space."""
    if not words[i + LO] <= space < words[i + HI]:
        return False
    if words[i] & BITS:
        bit = space - words[i + LO]
        return ((words[i + TAIL + (bit >> 5)] >> (bit & 31)) & 1) == 1  # type: ignore[no-any-return]
    if words[i] & GAPS:
        return not _in_gap(words, i + TAIL + 1, words[i + TAIL], space)
    return True


@kernel
def _in_gap(words: Ints, i: int, n_gaps: int, space: int) -> bool:
    """Whether one of the gaps has the space: from `i` on stand their beginnings and ends."""
    at = first_at_least(words, i, i + 2 * n_gaps, space + 1)
    return bool((at - i) & 1)  # the next to come is an end


@kernel
def _accepts_several(words: Ints, i: int, spaces: Ints, begin: int, end: int) -> bool:
    """Whether the predicate at `i` holds for a list: any of its spaces decides, or all must fit."""
    wanted = not words[i] & EVERY
    for j in range(begin, end):
        if _accepts(words, i, spaces[j]) == wanted:
            return wanted
    return not wanted
