"""The layout: clusters of entries whose predicates lie column by column, as a device reads them.

A clause hangs under its access key (kernels/keys.py) and is an entry of one or several clusters;
one without a key is an entry of the last cluster, which every event visits. An entry has the
signature of the dimensions that it needs, its clause, and the words of the predicates that are
left to verify, the likely false first.

The words of a cluster lie in columns: the first word of each entry, then the second of those that
have one, and so on. Entries with more words come first, so that entry i of the cluster has its
k-th word at `columns[k] + i`, and none where that is `columns[k + 1]` or beyond. Neighbouring
threads, which verify neighbouring entries, so read neighbouring words.

A word is divided as below. A SPAN accepts the spaces from FIRST on, N of them, counted within the
dimension; a MASK those whose bits are set in the next word, counted from FIRST on. Where a word
REFUSES, it lists what is not accepted. What fits in neither is a TABLE, the number of a predicate
whose spans are looked up.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from remuda.arrays import Bytes, Halves, Ints, Longs, Ragged, Words, frozen, starts_of
from remuda.encoding.table import ClauseTable, EventBatch, Predicates
from remuda.jit import bare, kernel
from remuda.matchers.kernels import keys
from remuda.matchers.levels import Standing

SPACE_BITS, DIM_BITS = 19, 20
FIRST_SHIFT, N_SHIFT, DIM_SHIFT = np.uint64(0), np.uint64(19), np.uint64(38)
SPACE_MASK, DIM_MASK = np.uint64((1 << SPACE_BITS) - 1), np.uint64((1 << DIM_BITS) - 1)
NUMBER_MASK = np.uint64((1 << 32) - 1)  # of a TABLE
ON_MISSING, EVERY, REFUSES = (np.uint64(1 << bit) for bit in (58, 59, 60))
SPAN, MASK, TABLE = np.uint64(0), np.uint64(1 << 61), np.uint64(1 << 62)
FORM = MASK | TABLE

_ONE = np.uint64(1)
_WIDTH = 64  # spaces of a mask
_SPACES, _DIMS = 1 << SPACE_BITS, 1 << DIM_BITS


class Arranged(NamedTuple):
    """The arrays of a matcher, on the host and on the device alike."""

    signatures: Words  # of each entry
    clauses: Halves  # of each entry
    words: Words
    columns: Halves  # where in the words each column starts
    first_entry: Halves  # of each cluster, and behind the last
    first_column: Halves  # of each cluster
    keys: Ints  # of each clause: the predicate under whose spaces it hangs, or NO_KEY
    bit_of_dim: Words  # the signature of each dimension
    dim_of_space: Halves
    space_starts: Halves
    levels: Bytes  # of each entry: matchers/levels.py
    predicates: Predicates

    @property
    def nbytes(self) -> int:
        """What a device holds."""
        return sum(array.nbytes for array in (*self[:-1], *self.predicates))


class PredicateWords(NamedTuple):
    """The word of each predicate, and the one behind it, of those that are masks."""

    words: Words
    masks: Words


def arrange(table: ClauseTable, standing: Standing, sample: EventBatch | None = None) -> Arranged:
    """The clauses of the table in clusters, with their levels."""
    often = keys.frequencies(table, sample)
    chosen = keys.choose_keys(table, often)
    spread = chosen.chosen >= 0
    spread[spread] = chosen.spread[table.clauses.items[chosen.chosen[spread]]]
    found_by = np.full(table.n_clauses, keys.NO_KEY, np.int32)
    found_by[spread] = table.clauses.items[chosen.chosen[spread]]
    chosen = keys.Keys(
        np.where(chosen.chosen == keys.NO_KEY, keys.EVERYWHERE, chosen.chosen), chosen.spread
    )
    clusters = keys.clusters(table, chosen)
    bit = np.empty(table.n_dims, np.uint8)
    bit[np.argsort(-often.present, kind="stable")] = np.arange(table.n_dims) % 64
    rest = keys.remainder(table, chosen, often, bit)
    words = _predicate_words(table)
    lengths = _lengths(rest.clauses, words)
    ordered = _longest_first(clusters, lengths)
    first_column, columns = _columns(ordered, lengths)
    laid = np.empty(columns[-1] if len(columns) else 0, np.uint64)
    _lay(ordered, rest.clauses, words, first_column, columns, laid)
    if max(len(laid), len(ordered.items)) > np.iinfo(np.uint32).max:
        raise ValueError("more than 2^32 words in one segment")
    return frozen(
        Arranged(
            rest.signatures[ordered.items],
            ordered.items.astype(np.uint32),
            laid,
            columns.astype(np.uint32),
            ordered.starts.astype(np.uint32),
            first_column.astype(np.uint32),
            found_by,
            _ONE << bit.astype(np.uint64),
            table.dim_of_space().astype(np.uint32),
            table.space_starts.astype(np.uint32),
            standing.levels[ordered.items],
            table.predicates,
        )
    )


def _predicate_words(table: ClauseTable) -> PredicateWords:
    n = len(table.predicates.dim)
    words, masks = np.zeros(n, np.uint64), np.zeros(n, np.uint64)
    _write_words(table.predicates, table.space_starts, words, masks)
    return PredicateWords(words, masks)


@kernel
def _write_words(predicates: Predicates, space_starts: Ints, words: Words, masks: Words) -> None:
    for p in range(len(words)):
        dim = predicates.dim[p]
        base, beyond = space_starts[dim], space_starts[dim + 1] - space_starts[dim]
        begin, end = predicates.span_starts[p], predicates.span_starts[p + 1]
        word = np.uint64(dim) << DIM_SHIFT
        if predicates.on_missing[p]:
            word |= ON_MISSING
        if predicates.every[p]:
            word |= EVERY
        low, high, n_gaps, gap_low, gap_high = _extent(begin, end, base, beyond, predicates)
        if dim >= _DIMS or beyond >= _SPACES:
            word = TABLE | np.uint64(p)
        elif end - begin <= 1:
            word |= _spaces(low, high - low)
        elif high - low <= _WIDTH:
            word |= MASK | _spaces(low, 0)
            masks[p] = _bits(begin, end, base + low, predicates)
        elif n_gaps == 1:
            word |= REFUSES | _spaces(gap_low, gap_high - gap_low)
        elif gap_high - gap_low <= _WIDTH:
            word |= REFUSES | MASK | _spaces(gap_low, 0)
            accepted = _bits(begin, end, base + gap_low, predicates)
            width = np.uint64(gap_high - gap_low)
            masks[p] = ~accepted & (~np.uint64(0) >> (np.uint64(_WIDTH) - width))
        else:
            word = TABLE | np.uint64(p)
        words[p] = word


@bare
def _extent(
    begin: int, end: int, base: int, beyond: int, predicates: Predicates
) -> tuple[int, int, int, int, int]:
    """The first accepted space and the one behind the last; the same of refused ones, and gaps."""
    low, high, n_gaps, gap_low, gap_high = 0, 0, 0, 0, 0
    space = 1
    for i in range(begin, end + 1):
        until = predicates.span_lo[i] - base if i < end else beyond
        if i == begin and i < end:
            low = until
        if space < until:
            if n_gaps == 0:
                gap_low = space
            gap_high = until
            n_gaps += 1
        if i < end:
            space = predicates.span_hi[i] - base
            high = space
    return low, high, n_gaps, gap_low, gap_high


@bare
def _spaces(first: int, n: int) -> np.uint64:
    return np.uint64(first) << FIRST_SHIFT | np.uint64(n) << N_SHIFT


@bare
def _bits(begin: int, end: int, first: int, predicates: Predicates) -> np.uint64:
    """The accepted spaces from `first` on, a bit each, as far as a word goes."""
    mask = np.uint64(0)
    for i in range(begin, end):
        for space in range(
            max(predicates.span_lo[i], first), min(predicates.span_hi[i], first + _WIDTH)
        ):
            mask |= _ONE << np.uint64(space - first)
    return mask


@kernel
def _lengths(clauses: Ragged, words: PredicateWords) -> Ints:
    """How many words each clause has."""
    lengths = np.zeros(len(clauses.starts) - 1, np.int32)
    for clause in range(len(lengths)):
        for i in range(clauses.starts[clause], clauses.starts[clause + 1]):
            lengths[clause] += 2 if words.words[clauses.items[i]] & FORM == MASK else 1
    return lengths


def _longest_first(clusters: Ragged, lengths: Ints) -> Ragged:
    """The same clusters, their clauses by falling numbers of words."""
    items = np.empty_like(clusters.items)
    _sort(clusters, lengths, np.zeros(lengths.max(initial=0) + 2, np.int64), items)
    return Ragged(clusters.starts, items)


@kernel
def _sort(clusters: Ragged, lengths: Ints, places: Longs, items: Ints) -> None:
    """A counting sort of each cluster; `places` is 0 before and after."""
    for cluster in range(len(clusters.starts) - 1):
        begin, end = clusters.starts[cluster], clusters.starts[cluster + 1]
        if begin == end:
            continue
        longest = 0
        for i in range(begin, end):
            length = lengths[clusters.items[i]]
            places[length] += 1
            longest = max(longest, length)
        at = begin
        for back in range(longest + 1):
            n = places[longest - back]
            places[longest - back] = at
            at += n
        for i in range(begin, end):
            length = lengths[clusters.items[i]]
            items[places[length]] = clusters.items[i]
            places[length] += 1
        places[: longest + 1] = 0


def _columns(clusters: Ragged, lengths: Ints) -> tuple[Longs, Longs]:
    """The first column of each cluster, and where columns start; two empty ones end a cluster."""
    sizes = np.diff(clusters.starts)
    filled = sizes > 0
    most = np.zeros(len(sizes), np.int64)
    most[filled] = lengths[clusters.items[clusters.starts[:-1][filled]]]
    first_column = starts_of(np.where(filled, most + 2, 0))
    columns = np.empty(first_column[-1], np.int64)
    _start_columns(clusters, lengths, first_column, columns)
    return first_column[:-1], columns


@kernel
def _start_columns(clusters: Ragged, lengths: Ints, first_column: Longs, columns: Longs) -> None:
    start = 0
    for cluster in range(len(clusters.starts) - 1):
        begin, n = clusters.starts[cluster], clusters.starts[cluster + 1]
        n -= begin
        for column in range(first_column[cluster], first_column[cluster + 1]):
            columns[column] = start
            k = column - first_column[cluster]
            while n > 0 and lengths[clusters.items[begin + n - 1]] <= k:
                n -= 1
            start += n


@kernel
def _lay(
    clusters: Ragged,
    clauses: Ragged,
    words: PredicateWords,
    first_column: Longs,
    columns: Longs,
    laid: Words,
) -> None:
    for cluster in range(len(first_column)):
        begin = clusters.starts[cluster]
        for entry in range(begin, clusters.starts[cluster + 1]):
            clause, column = clusters.items[entry], first_column[cluster]
            for i in range(clauses.starts[clause], clauses.starts[clause + 1]):
                p = clauses.items[i]
                laid[columns[column] + entry - begin] = words.words[p]
                column += 1
                if words.words[p] & FORM == MASK:
                    laid[columns[column] + entry - begin] = words.masks[p]
                    column += 1
