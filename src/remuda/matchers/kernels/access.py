"""Access predicates: how selective a predicate is, and the lists in which its clauses are found.

A narrow predicate leads to clauses from leaves of the PS-Tree. One that accepts more than half of
its dimension does so from "present", the leaf of the missing space, which no event has itself. Any
other does so from blocks, the inner nodes over 8, 32, 128 … neighbouring spaces, coarse enough for
a few of them to suffice; they may reach beyond what the predicate accepts.

Lists are numbered: 0 has the clauses without an access predicate, then come blocks, then leaves.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from remuda.arrays import Bools, Floats, Ints, Longs, Ragged, frozen, starts_of
from remuda.encoding.table import ClauseTable, Predicates
from remuda.jit import kernel

ALWAYS = 0

_LONG_SPAN = 32  # spaces; a clause found under more of them costs more than that saves
_FINEST = 3  # blocks of 8 spaces, and each level has four of the one below
_BLOCKS = 16  # of one level, for a predicate
_NEXT_OPERATOR = 2.0**44  # more than the largest sum of weights


class Nodes(NamedTuple):
    """The blocks of dimension d are the lists from `block_starts[d]` on, finest first."""

    space_starts: Ints
    block_starts: Ints

    @property
    def first_leaf(self) -> int:
        """The list of leaf 0."""
        return int(self.block_starts[-1])


class Selectivity(NamedTuple):
    """How often events or, where no sample of them is known, predicates meet each space.

    `weights` has the sums of that up to each space.
    """

    weights: Floats
    from_events: bool

    def ranks(self, predicates: Predicates) -> Floats:
        """A number for each predicate, lower where it is more selective.

        Without events it is ranked by its operator, = before ∈ before intervals before ∉ and ≠,
        and among equals by how wide it is and how crowded its spaces are.
        """
        spans = np.append(0.0, np.cumsum(np.diff(self._at_ends(predicates), axis=0)))
        ranks = spans[predicates.span_starts[1:]] - spans[predicates.span_starts[:-1]]
        if not self.from_events:
            several = np.diff(predicates.span_starts) > 1
            operator = np.where(predicates.every, 3, np.where(several, 1, 2))
            operator[predicates.n_accepted <= 1] = 0
            ranks += operator * _NEXT_OPERATOR
        return np.where(predicates.on_missing, np.inf, ranks)

    def _at_ends(self, predicates: Predicates) -> Floats:
        return np.stack((self.weights[predicates.span_lo], self.weights[predicates.span_hi]))


def selectivity(table: ClauseTable, is_narrow: Bools, seen: Longs | None) -> Selectivity:
    """From how many events of a sample were `seen` in each space, or from the predicates alone."""
    predicates, n = table.predicates, table.n_spaces
    uses = np.bincount(table.clauses.items, minlength=len(is_narrow)) * is_narrow
    uses = np.repeat(uses, np.diff(predicates.span_starts))
    ended = np.bincount(predicates.span_hi, uses, n + 1)
    weights = 1 + np.cumsum(np.bincount(predicates.span_lo, uses, n + 1) - ended)[:n]
    if seen is not None:
        if len(seen) != n:
            raise ValueError(f"{len(seen)} counts of events for {n} spaces")
        weights = seen + weights / weights.max(initial=1)
    return Selectivity(frozen(np.append(0.0, np.cumsum(weights))), seen is not None)


def nodes_of(space_starts: Ints) -> Nodes:
    """The lists of all dimensions."""
    n_present = np.diff(space_starts).astype(np.int64) - 1
    n_blocks = np.zeros(len(n_present), np.int64)
    level = _FINEST
    while (large := n_present > 8 << level).any():
        n_blocks[large] += (n_present[large] - 1 >> level) + 1
        level += 2
    return Nodes(space_starts, frozen((1 + starts_of(n_blocks)).astype(np.int32)))


def narrow(predicates: Predicates, space_starts: Ints) -> Bools:
    """Which predicates have short spans only, and no more than half of their dimension."""
    n_present = np.diff(space_starts)[predicates.dim] - 1
    long_spans = starts_of(predicates.span_hi - predicates.span_lo > _LONG_SPAN)
    has_none = long_spans[predicates.span_starts[1:]] == long_spans[predicates.span_starts[:-1]]
    return has_none & (2 * predicates.n_accepted <= n_present)


def most_selective_first(clauses: Ragged, ranks: Floats) -> Ragged:
    """The clauses with their predicates sorted by rank."""
    return Ragged(clauses.starts, _sorted(*clauses, ranks))


def lists_of(
    which: Ints, predicates: Predicates, is_narrow: Bools, nodes: Nodes, leaf_of: Ints, leaf_hi: Ints
) -> Ragged:
    """The lists in which the clauses are found that each of these predicates leads to."""
    shape = (which, *predicates, predicates.n_accepted, is_narrow, *nodes, leaf_of, leaf_hi)
    counts, nothing = np.zeros(len(which), np.int64), np.empty(0, np.int32)
    _find_lists(*shape, counts, counts, nothing, False)
    starts = starts_of(counts)
    lists = np.empty(starts[-1], np.int32)
    _find_lists(*shape, counts, starts, lists, True)
    return Ragged(starts, lists)


@kernel
def _sorted(starts: Longs, items: Ints, ranks: Floats) -> Ints:
    result = items.copy()
    for clause in range(len(starts) - 1):
        begin = starts[clause]
        for i in range(begin + 1, starts[clause + 1]):
            item, at = result[i], i
            while at > begin and ranks[result[at - 1]] > ranks[item]:
                result[at] = result[at - 1]
                at -= 1
            result[at] = item
    return result


@kernel
def _find_lists(
    which: Ints,
    dims: Ints,
    on_missing: Bools,  # noqa: ARG001 - a Predicates table comes whole
    every: Bools,  # noqa: ARG001
    span_starts: Ints,
    span_lo: Ints,
    span_hi: Ints,
    n_accepted: Longs,
    is_narrow: Bools,
    space_starts: Ints,
    block_starts: Ints,
    leaf_of: Ints,
    leaf_hi: Ints,
    counts: Longs,
    starts: Longs,
    lists: Ints,
    write: bool,
) -> None:
    """Count the lists of each predicate, or write them."""
    first_leaf = block_starts[-1]
    for k in range(len(which)):
        p = which[k]
        missing, n = space_starts[dims[p]], 0
        if is_narrow[p]:
            for i in range(span_starts[p], span_starts[p + 1]):
                space = span_lo[i]
                while space < span_hi[i]:
                    leaf = leaf_of[space]
                    if write:
                        lists[starts[k] + n] = first_leaf + leaf
                    space = leaf_hi[leaf]
                    n += 1
        elif 2 * n_accepted[p] > space_starts[dims[p] + 1] - missing - 1:
            if write:
                lists[starts[k]] = first_leaf + leaf_of[missing]
            n = 1
        else:
            level, base = _FINEST, block_starts[dims[p]]
            n_present = space_starts[dims[p] + 1] - missing - 1
            while _BLOCKS << level < n_accepted[p]:
                base += (n_present - 1 >> level) + 1
                level += 2
            beyond = 0
            for i in range(span_starts[p], span_starts[p + 1]):
                begin = span_lo[i] - missing - 1 >> level
                end = (span_hi[i] - missing - 2 >> level) + 1
                for block in range(max(begin, beyond), end):
                    if write:
                        lists[starts[k] + n] = base + block
                    n += 1
                beyond = end
        counts[k] = n


@kernel
def meet(
    spaces: Ints,
    begin: int,
    end: int,
    dim_of_space: Ints,
    space_starts: Ints,
    block_starts: Ints,
    leaf_of: Ints,
    met: Ints,
) -> int:
    """Note the lists that an event meets, each once; ~list where its clauses need a full look."""
    first_leaf = block_starts[-1]
    met[0] = ~ALWAYS
    n, last_dim = 1, -1
    for i in range(begin, end):
        space = spaces[i]
        dim = dim_of_space[space]
        missing, is_first = space_starts[dim], dim != last_dim
        before = missing if is_first else spaces[i - 1]
        if is_first:
            met[n] = ~(first_leaf + leaf_of[missing])
            n, last_dim = n + 1, dim
        if leaf_of[space] != leaf_of[before]:
            met[n] = first_leaf + leaf_of[space]
            n += 1
        level, base = _FINEST, block_starts[dim]
        while base < block_starts[dim + 1]:
            block = (space - missing - 1) >> level
            if is_first or block != (before - missing - 1) >> level:
                met[n] = ~(base + block)
                n += 1
            base += ((space_starts[dim + 1] - missing - 2) >> level) + 1
            level += 2
    return n


MOST_MET = 16  # lists that a space leads to, at most: its leaf, "present", and 14 levels of blocks
