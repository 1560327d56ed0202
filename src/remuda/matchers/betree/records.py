"""Records: clauses written out in one array of words, each with all that its truth needs.

A record is a header (see the names below) and its predicates. A predicate is a head, which packs
its dimension with what kind it is, and the interval `lo` to `hi - 1` that encloses all spaces it
accepts. Where it does not accept all of these, a tail follows: a bit for each space of the
interval, or, where that is shorter, the number of gaps and the bounds of each gap.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from remuda.arrays import Bools, Floats, Ints, Longs, Ragged, starts_of
from remuda.encoding.table import ClauseTable, Predicates
from remuda.jit import kernel
from remuda.matchers.contract import Literal

ROW, PLACE, NEXT, LINK, N_WORDS = range(5)  # place, next and link are the matcher's to use
HEADER = 5

HEAD, LO, HI, TAIL = range(4)
ON_MISSING, EVERY, BITS, GAPS, DIM_SHIFT = 1, 2, 4, 8, 4

SEVERAL = -1  # in `point`: the event has more than one space on the dimension


def records_of(table: ClauseTable) -> Ragged:
    """A record for each clause, under its row; what is likely to fail stands first."""
    predicates = table.predicates
    sizes = np.diff(table.space_starts)[predicates.dim] - 1
    share = predicates.n_accepted / np.maximum(sizes, 1)
    pieces = _pieces(*predicates, table.space_starts)
    lengths = np.diff(pieces[0])[table.clauses.items]
    within = starts_of(lengths)[table.clauses.starts]
    starts = within + HEADER * np.arange(table.n_clauses + 1)
    words = np.empty(starts[-1], np.int32)
    _write(words, starts, *table.clauses, *pieces, share + 2 * predicates.on_missing)
    return Ragged(starts, words)


def predicates_of(literals: Sequence[Literal]) -> Predicates:
    """The literals as a table of predicates."""
    spans = [span for literal in literals for span in literal.spans]
    bounds = np.array(spans, np.int32).reshape(-1, 2)
    return Predicates(
        np.array([literal.dim for literal in literals], np.int32),
        np.array([literal.on_missing for literal in literals], np.bool_),
        np.array([literal.every for literal in literals], np.bool_),
        starts_of([len(literal.spans) for literal in literals]).astype(np.int32),
        np.ascontiguousarray(bounds[:, 0]),
        np.ascontiguousarray(bounds[:, 1]),
    )


@kernel
def _pieces(
    dim: Ints,
    on_missing: Bools,
    every: Bools,
    span_starts: Ints,
    span_lo: Ints,
    span_hi: Ints,
    space_starts: Ints,
) -> tuple[Longs, Ints]:
    """Each predicate in words."""
    n = len(dim)
    starts = np.zeros(n + 1, np.int64)
    for p in range(n):
        begin, end = span_starts[p], span_starts[p + 1]
        width = span_hi[end - 1] - span_lo[begin] if begin < end else 0
        tail = min((width + 31) // 32, 2 * (end - begin) - 1) if end - begin > 1 else 0
        starts[p + 1] = starts[p] + TAIL + tail
    words = np.zeros(starts[n], np.int32)
    for p in range(n):
        begin, end, i = span_starts[p], span_starts[p + 1], starts[p]
        words[i] = dim[p] << DIM_SHIFT | on_missing[p] * ON_MISSING | every[p] * EVERY
        if begin == end:  # accepts no present space: an empty interval in the first one
            words[i + LO] = words[i + HI] = space_starts[dim[p]] + 1
            continue
        words[i + LO], words[i + HI] = span_lo[begin], span_hi[end - 1]
        tail = starts[p + 1] - i - TAIL
        if end - begin > 1 and tail == (words[i + HI] - words[i + LO] + 31) // 32:
            words[i] |= BITS
            for j in range(begin, end):
                for space in range(span_lo[j], span_hi[j]):
                    bit = space - words[i + LO]
                    words[i + TAIL + (bit >> 5)] |= np.int32(1) << np.int32(bit & 31)
        elif end - begin > 1:
            words[i] |= GAPS
            words[i + TAIL] = end - begin - 1
            for j in range(begin, end - 1):
                words[i + TAIL + 1 + 2 * (j - begin)] = span_hi[j]
                words[i + TAIL + 2 + 2 * (j - begin)] = span_lo[j + 1]
    return starts, words


@kernel
def _write(
    words: Ints,
    starts: Longs,
    clause_starts: Longs,
    items: Ints,
    piece_starts: Longs,
    pieces: Ints,
    cost: Floats,
) -> None:
    """The records, one after the other; the predicates of each by ascending cost."""
    longest = 0
    for clause in range(len(starts) - 1):
        longest = max(longest, clause_starts[clause + 1] - clause_starts[clause])
    order = np.empty(longest, np.int32)
    for clause in range(len(starts) - 1):
        n = 0
        for j in range(clause_starts[clause], clause_starts[clause + 1]):
            k = n
            while k > 0 and cost[order[k - 1]] > cost[items[j]]:
                order[k] = order[k - 1]
                k -= 1
            order[k] = items[j]
            n += 1
        i = starts[clause]
        words[i : i + HEADER] = -1
        words[i + ROW], words[i + N_WORDS] = clause, starts[clause + 1] - i
        i += HEADER
        for k in range(n):
            for j in range(piece_starts[order[k]], piece_starts[order[k] + 1]):
                words[i] = pieces[j]
                i += 1


@kernel
def n_words(words: Ints, i: int) -> int:
    """The length of the predicate at `i`."""
    head = words[i]
    if head & BITS:
        return TAIL + (words[i + HI] - words[i + LO] + 31) // 32  # type: ignore[no-any-return]
    if head & GAPS:
        return TAIL + 1 + 2 * words[i + TAIL]  # type: ignore[no-any-return]
    return TAIL


@kernel
def find(words: Ints, record: int, dim: int) -> int:
    """Where the record's access predicate on the dimension stands, or -1."""
    i, end = record + HEADER, record + words[record + N_WORDS]
    while i < end:
        if words[i] >> DIM_SHIFT == dim:
            return -1 if words[i] & ON_MISSING else i
        i += n_words(words, i)
    return -1


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
def take_points(spaces: Ints, begin: int, end: int, dim_of_space: Ints, point: Ints) -> None:
    """Undo `lay_points`; 0, a space that no event has, stands for missing."""
    for i in range(begin, end):
        point[dim_of_space[spaces[i]]] = 0


@kernel
def discarded(
    words: Ints, record: int, point: Ints, spaces: Ints, first: Longs, last: Longs
) -> int:
    """How many predicates were evaluated until one failed; 0 where the clause holds."""
    i, end = record + HEADER, record + words[record + N_WORDS]
    n = 0
    while i < end:
        n += 1
        head = words[i]
        dim = head >> DIM_SHIFT
        space = point[dim]
        if space == 0:
            if not head & ON_MISSING:
                return n
        elif space != SEVERAL:
            if not _accepts(words, i, space):
                return n
        elif not _accepts_several(words, i, spaces, first[dim], last[dim]):
            return n
        i += n_words(words, i)
    return 0


@kernel
def _accepts(words: Ints, i: int, space: int) -> bool:
    """Whether the predicate at `i` accepts the space."""
    if not words[i + LO] <= space < words[i + HI]:
        return False
    head = words[i]
    if head & BITS:
        bit = space - words[i + LO]
        return (words[i + TAIL + (bit >> 5)] >> (bit & 31)) & 1 == 1  # type: ignore[no-any-return]
    if head & GAPS:
        return not _in_gap(words, i + TAIL + 1, words[i + TAIL], space)
    return True


@kernel
def _in_gap(words: Ints, i: int, n_gaps: int, space: int) -> bool:
    """Whether one of the gaps, which ascend from `i`, has the space."""
    begin, end = 0, n_gaps
    while begin < end:
        middle = (begin + end) // 2
        if words[i + 2 * middle + 1] <= space:
            begin = middle + 1
        else:
            end = middle
    return begin < n_gaps and words[i + 2 * begin] <= space  # type: ignore[no-any-return]


@kernel
def _accepts_several(words: Ints, i: int, spaces: Ints, begin: int, end: int) -> bool:
    """Whether the predicate at `i` holds for a list: any of its spaces decides, or all must fit."""
    wanted = not words[i] & EVERY
    for j in range(begin, end):
        if _accepts(words, i, spaces[j]) == wanted:
            return wanted
    return not wanted
