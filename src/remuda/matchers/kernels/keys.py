"""Access keys: under which spaces a clause is looked for.

A clause hangs under the spaces of its rarest narrow predicate, one entry for each, or, where that
is cheaper, under "dimension present", for which the dimension's missing space serves as a name.
An event visits the clusters of its own spaces, and so meets every clause that may hold, once.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from remuda.arrays import Bools, Bytes, Floats, Ints, Longs, Ragged, Words
from remuda.encoding.table import ClauseTable, EventBatch, Predicates
from remuda.jit import kernel
from remuda.matchers.kernels.search import put

MOST_SPACES = 12  # a predicate that accepts more is not spread over its spaces
_NEVER_SEEN = 0.01  # a space that the sample lacks is rare, not impossible

NO_KEY, EVERYWHERE = -1, -2
_NO_BIT = np.uint8(64)  # of a predicate that holds where its dimension is missing


class Frequencies(NamedTuple):
    """How often events have each space; a dimension's missing space counts its presence."""

    spaces: Floats
    present: Floats  # per dimension, the share of events that have it


class Keys(NamedTuple):
    """For each clause the item that is its key, or NO_KEY; `spread` says how predicates serve."""

    chosen: Longs
    spread: Bools


class Remainder(NamedTuple):
    """What is left to verify of each clause once its key is met, the likely false first.

    Predicates that ask for every space of a list stand behind those that ask for any.
    """

    clauses: Ragged
    signatures: Words  # the dimensions that the rest needs, a bit each


def frequencies(table: ClauseTable, sample: EventBatch | None) -> Frequencies:
    """Counted in the sample; without one, what many clauses ask for counts as frequent."""
    spaces = np.zeros(table.n_spaces, np.float64)
    first = table.space_starts[:-1]
    if sample is not None and len(sample):
        spaces += np.bincount(sample.spaces, minlength=table.n_spaces)
        dims = table.dim_of_space()[sample.spaces]
        spaces[first] = np.bincount(dims, minlength=table.n_dims)
        return Frequencies(spaces + _NEVER_SEEN, np.minimum(spaces[first] / len(sample), 1.0))
    predicates = table.predicates
    uses = np.bincount(table.clauses.items, minlength=len(predicates.dim)).astype(np.float64)
    spaces[first] = np.bincount(predicates.dim, uses, table.n_dims)
    narrow = ~predicates.on_missing & (predicates.n_accepted <= MOST_SPACES)
    _add_spans(np.flatnonzero(narrow), uses, predicates, spaces)
    return Frequencies(spaces, spaces[first] / max(spaces[first].max(initial=0.0), 1.0))


def choose_keys(table: ClauseTable, often: Frequencies) -> Keys:
    """For each clause the predicate that the fewest events bring up."""
    predicates = table.predicates
    present = often.spaces[table.space_starts[:-1]][predicates.dim]
    n_accepted = predicates.n_accepted
    total = np.concatenate(([0.0], np.cumsum(often.spaces)))
    of_spans = total[predicates.span_hi] - total[predicates.span_lo]
    met = np.concatenate(([0.0], np.cumsum(of_spans)))
    met = met[predicates.span_starts[1:]] - met[predicates.span_starts[:-1]]
    spread = (n_accepted <= MOST_SPACES) & (met <= present) | (n_accepted == 0)
    cost = np.where(spread, met, present)
    cost[n_accepted == 0] = -1.0  # never true: no event need look at the clause
    cost[predicates.on_missing] = np.inf
    return Keys(_cheapest(table.clauses, cost), spread)


def everywhere(keys: Keys) -> Keys:
    """The same without keys: every event visits every clause that had one."""
    return keys._replace(chosen=np.where(keys.chosen == NO_KEY, NO_KEY, EVERYWHERE))


def clusters(table: ClauseTable, keys: Keys) -> Ragged:
    """For each space the clauses under it; behind the last space, those that every event visits."""
    arguments = (table.clauses.items, keys, table.space_starts, table.predicates)
    starts = np.zeros(table.n_spaces + 2, np.int64)
    _place(*arguments, starts[1:], np.zeros(0, np.int32))
    np.cumsum(starts, out=starts)
    entries = np.empty(starts[-1], np.int32)
    _place(*arguments, starts[:-1].copy(), entries)
    return Ragged(starts, entries)


def remainder(table: ClauseTable, keys: Keys, often: Frequencies, bit_of_dim: Bytes) -> Remainder:
    """Each clause without the key that an event meets on the way to it."""
    predicates = table.predicates
    sizes = np.diff(table.space_starts)[predicates.dim] - 1
    share = predicates.n_accepted / np.maximum(sizes, 1)
    present = often.present[predicates.dim]
    chance = np.where(predicates.on_missing, 1 - present * (1 - share), present * share)
    chance += 2.0 * predicates.every
    met = keys.spread & ~predicates.every | (predicates.n_accepted == sizes)
    bits = bit_of_dim[predicates.dim]
    bits[predicates.on_missing] = _NO_BIT
    # made here, large arrays lie on large pages, which is worth much where they are read at random
    starts, items = np.zeros_like(table.clauses.starts), np.empty_like(table.clauses.items)
    signatures = np.zeros(table.n_clauses, np.uint64)
    _remain(table.clauses, keys.chosen, met, chance, bits, starts, items, signatures)
    return Remainder(Ragged(starts, items[: starts[-1]]), signatures)


@kernel
def _add_spans(chosen: Longs, uses: Floats, predicates: Predicates, spaces: Floats) -> None:
    for p in chosen:
        for i in range(predicates.span_starts[p], predicates.span_starts[p + 1]):
            for space in range(predicates.span_lo[i], predicates.span_hi[i]):
                spaces[space] += uses[p]


@kernel
def _cheapest(clauses: Ragged, cost: Floats) -> Longs:
    chosen = np.full(len(clauses.starts) - 1, NO_KEY, np.int64)
    for clause in range(len(chosen)):
        best = np.inf
        for i in range(clauses.starts[clause], clauses.starts[clause + 1]):
            if cost[clauses.items[i]] < best:
                best = cost[clauses.items[i]]
                chosen[clause] = i
    return chosen


@kernel
def _place(
    items: Ints,
    keys: Keys,
    space_starts: Ints,
    predicates: Predicates,
    cursors: Longs,
    entries: Ints,
) -> None:
    """Advance the cursor of each cluster a clause belongs to; note the clause if there is room."""
    writes = len(entries) > 0
    for clause in range(len(keys.chosen)):
        i = keys.chosen[clause]
        if i == NO_KEY:
            continue
        if i == EVERYWHERE or not keys.spread[items[i]]:
            cluster = space_starts[-1]
            if i != EVERYWHERE:
                cluster = space_starts[predicates.dim[items[i]]]
            if writes:
                entries[cursors[cluster]] = clause
            cursors[cluster] += 1
            continue
        p = items[i]
        for j in range(predicates.span_starts[p], predicates.span_starts[p + 1]):
            for space in range(predicates.span_lo[j], predicates.span_hi[j]):
                if writes:
                    entries[cursors[space]] = clause
                cursors[space] += 1


@kernel
def _remain(
    clauses: Ragged,
    chosen: Longs,
    met: Bools,
    chance: Floats,
    bits: Bytes,
    starts: Longs,
    rest: Ints,
    signatures: Words,
) -> None:
    n = 0
    for clause in range(len(chosen)):
        key = chosen[clause]
        first = n
        for i in range(clauses.starts[clause], clauses.starts[clause + 1]):
            p = clauses.items[i]
            if key == NO_KEY or (i == key and met[p]):
                continue
            if bits[p] != _NO_BIT and i != key:
                signatures[clause] |= np.uint64(1) << np.uint64(bits[p])
            put(p, rest, first, n, chance)
            n += 1
        starts[clause + 1] = n
