"""Plans merged: some criteria of several plans in one, without a look at their expressions.

The plans are laid side by side, narrowed to what stays, and put over dimensions and spaces that
they share; then what has become equal is made one. Python walks over dimensions and cuts alone,
all else is arrays.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from remuda.arrays import Ints, Longs, Ragged, frozen, starts_of, take_rows
from remuda.encoding.narrowing import places_of, remaining
from remuda.encoding.plan import Plan, marked
from remuda.encoding.programs import Programs
from remuda.encoding.table import ClauseTable, CnfTable, Predicates
from remuda.encoding.uniting import Images, Shared, share
from remuda.encoding.vocabulary import Vocabulary
from remuda.jit import kernel

_ON_MISSING, _EVERY = 1, 2


def merge(
    plans: Sequence[tuple[Plan, Vocabulary]], numbers: Sequence[Longs]
) -> tuple[Plan, Vocabulary]:
    """One plan of the criteria that stay.

    `numbers` has, for each plan, the new number of each of its criteria, or GONE; the new numbers
    are 0 to n - 1, each once.
    """
    left = remaining(plans, np.concatenate(numbers))
    shared = share([words for _, words in plans], left)
    merged, merged_of = _merged(left.conjunctions, shared)
    clauses = _arranged(left.conjunctions.clauses, merged_of, merged.dims())
    disjunctions = _arranged(left.cnf.table.clauses, merged_of, merged.dims())
    width = 1 + max(one.copies.max(initial=0) for one in (clauses, disjunctions))
    keys = [one.items * width + one.copies for one in (clauses, disjunctions)]
    keys.append(merged_of[left.programs.leaf_literal] * width)
    predicates = _sorted_set(np.concatenate(keys))
    words = _vocabulary(shared, merged, *np.divmod(predicates, width))
    of_clauses, of_disjunctions, of_leaves = (np.searchsorted(predicates, one) for one in keys)
    values = shared.images.lo[left.programs.value_space]
    plan = Plan(
        *_conjunctions(clauses.starts, of_clauses, left.owners, words),
        *_cnf(left.cnf.rows, disjunctions.starts, of_disjunctions, left.cnf_owners, words),
        frozen(left.checked),
        _programs(left.programs, of_leaves, values, words),
    )
    return plan.bounded(), words


class _Merged(NamedTuple):
    """Distinct predicates: row i of `pairs` is its dimension and its flags, then its spans.

    The spans are counted from the dimension's first space, so that copies have them too.
    """

    starts: Longs
    pairs: Longs

    def dims(self) -> Longs:
        """The dimension of each."""
        dims: Longs = self.pairs[self.starts[:-1], 0]
        return dims


def _merged(table: ClauseTable, shared: Shared) -> tuple[_Merged, Longs]:
    """The distinct predicates in the shared spaces, by dimension; and which each one becomes."""
    predicates = table.predicates
    counts, spans = _spans(table, shared)
    dims = shared.places[predicates.dim]
    accepted = np.diff(starts_of(spans[:, 1] - spans[:, 0])[starts_of(counts)])
    # over all spaces or none, "any" and "every" are the same: one spelling
    every = predicates.every & (accepted > 0) & (accepted < shared.n_present()[dims])
    flags = _ON_MISSING * predicates.on_missing + _EVERY * every
    starts, pairs = _headed(np.stack([dims, flags], axis=1), counts, spans)
    groups, firsts = _distinct(starts * 2, pairs.ravel())
    order = np.argsort(dims[firsts], kind="stable")
    ranks = np.empty(len(order), np.int64)
    ranks[order] = np.arange(len(order))
    places = places_of(starts, firsts[order])
    return _Merged(places.starts, pairs[places.items]), ranks[groups]


def _spans(table: ClauseTable, shared: Shared) -> tuple[Longs, Longs]:
    """How many spans each predicate has in the shared spaces, and those, ascending."""
    starts, pieces = _images(
        table.predicates, table.space_starts, shared.images, shared.other_starts, shared.others
    )
    predicates = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
    order = np.argsort(predicates * (pieces.max(initial=0) + 1) + pieces[:, 0])
    order = order[pieces[order, 0] < pieces[order, 1]]
    predicates, lo, hi = predicates[order], pieces[order, 0], pieces[order, 1]
    begins = np.ones(len(order), np.bool_)  # those that touch are one
    begins[1:] = (lo[1:] > hi[:-1]) | (predicates[1:] > predicates[:-1])
    counts = np.bincount(predicates[begins], minlength=len(starts) - 1)
    ends = np.roll(begins, -1)
    return counts, np.stack([lo[begins], hi[ends]], axis=1)


@kernel
def _images(
    predicates: Predicates, space_starts: Ints, images: Images, other_starts: Longs, others: Longs
) -> tuple[Longs, Longs]:
    """The pieces that the spans of each predicate become, in any order, some of them empty."""
    dims, _, _, span_starts, span_lo, span_hi = predicates
    lo, hi, last = images
    starts = np.zeros(len(dims) + 1, np.int64)
    pieces = np.empty((0, 2), np.int64)
    for writing in (False, True):  # they are counted first
        n = 0
        for predicate in range(len(dims)):
            dim = dims[predicate]
            for i in range(span_starts[predicate], span_starts[predicate + 1]):
                space = np.int64(span_lo[i])
                if space == space_starts[dim] + 1:
                    for j in range(other_starts[dim], other_starts[dim + 1]):
                        if writing:
                            pieces[n, 0], pieces[n, 1] = others[j, 0], others[j, 1]
                        n += 1
                    space += 1
                while space < span_hi[i]:
                    end = min(last[space], span_hi[i] - 1)
                    if writing:
                        pieces[n, 0], pieces[n, 1] = lo[space], hi[end]
                    n += 1
                    space = end + 1
            starts[predicate + 1] = n
        if not writing:
            pieces = np.empty((n, 2), np.int64)
    return starts, pieces


def _headed(heads: Longs, counts: Longs, pairs: Longs) -> tuple[Longs, Longs]:
    """Rows of pairs, each with a pair more in front."""
    starts = starts_of(counts + 1)
    found = np.empty((len(heads) + len(pairs), 2), np.int64)
    is_head = np.zeros(len(found), np.bool_)
    is_head[starts[:-1]] = True
    found[is_head], found[~is_head] = heads, pairs
    return starts, found


@kernel
def _distinct(starts: Longs, items: Longs) -> tuple[Longs, Longs]:
    """Rows that are equal: the group of each row, and the first row of each group."""
    n = len(starts) - 1
    size = 2
    while size < 2 * n:
        size *= 2
    slots = np.full(size, -1, np.int64)
    groups, firsts = np.empty(n, np.int64), np.empty(n, np.int64)
    n_groups = 0
    for row in range(n):
        mark = np.int64(0)  # of 31 bits, so that nothing overflows
        for i in range(starts[row], starts[row + 1]):
            mark = (mark * 1_000_003 ^ items[i] ^ items[i] >> 29) & 0x7FFFFFFF
            mark ^= mark >> 13
        slot = mark & (size - 1)
        while slots[slot] >= 0 and not _same(starts, items, firsts[slots[slot]], row):
            slot = (slot + 1) & (size - 1)
        if slots[slot] < 0:
            slots[slot] = n_groups
            firsts[n_groups] = row
            n_groups += 1
        groups[row] = slots[slot]
    return groups, firsts[:n_groups].copy()


@kernel
def _same(starts: Longs, items: Longs, left: int, right: int) -> bool:
    size = starts[left + 1] - starts[left]
    if size != starts[right + 1] - starts[right]:
        return False
    for i in range(size):  # noqa: SIM110 - a kernel
        if items[starts[left] + i] != items[starts[right] + i]:
            return False
    return True


class _Rows(NamedTuple):
    """Clauses of predicates, each on a copy of its dimension that no other of its clause is on."""

    starts: Longs
    items: Longs
    copies: Longs


def _arranged(clauses: Ragged, names: Longs, dims: Longs) -> _Rows:
    """The clauses with new names in place of the old, sorted, each once; names go by dimension."""
    n_rows, n = len(clauses.starts) - 1, max(len(dims), 1)
    rows = np.repeat(np.arange(n_rows), np.diff(clauses.starts))
    rows, items = np.divmod(_sorted_set(rows * n + names[clauses.items]), n)
    begins = np.ones(len(items), np.bool_)  # of those in a row that share a dimension
    begins[1:] = (rows[1:] > rows[:-1]) | (dims[items[1:]] > dims[items[:-1]])
    at = np.arange(len(items))
    copies = at - np.maximum.accumulate(np.where(begins, at, 0))
    return _Rows(starts_of(np.bincount(rows, minlength=n_rows)), items, copies)


def _sorted_set(keys: Longs) -> Longs:
    keys = np.sort(keys)
    return keys[np.diff(keys, prepend=-1) > 0]  # np.unique hashes, which is slower


def _vocabulary(shared: Shared, merged: _Merged, chosen: Longs, copies: Longs) -> Vocabulary:
    """The words of the chosen predicates, perhaps on copies of their dimensions."""
    width = int(copies.max(initial=0)) + 1
    keys = merged.dims()[chosen] * width + copies
    known = _sorted_set(keys)
    own, number = np.divmod(known, width)
    space_starts = starts_of(shared.n_present()[own] + 1)
    if space_starts[-1] > np.iinfo(np.int32).max:
        raise ValueError("more than 2^31 spaces in one segment")
    dims = np.searchsorted(known, keys)
    places = places_of(merged.starts, chosen)
    pairs = merged.pairs[places.items]
    heads = np.zeros(len(pairs), np.bool_)
    heads[places.starts[:-1]] = True
    flags = pairs[heads, 1]
    counts = np.diff(places.starts) - 1
    spans = pairs[~heads] + np.repeat(space_starts[dims], counts)[:, None]
    on_missing, every = flags & _ON_MISSING > 0, flags & _EVERY > 0
    pairs_of = list(zip(own.tolist(), number.tolist(), strict=True))
    return Vocabulary(
        tuple(replace(shared.dimensions[dim], copy=copy) for dim, copy in pairs_of),
        tuple(shared.spaces[dim] for dim, _ in pairs_of),
        frozen(space_starts.astype(np.int32)),
        Predicates.of(dims, on_missing, every, counts, *spans.T),
    )


def _conjunctions(
    starts: Longs, predicates: Longs, owners: Ragged, words: Vocabulary
) -> tuple[ClauseTable, Ragged]:
    clauses, groups = _once(starts, predicates)
    table = ClauseTable(words.space_starts, words.predicates, clauses)
    return table, marked(_owners(groups, table.n_clauses, owners))


def _cnf(
    rows: Ragged, starts: Longs, predicates: Longs, owners: Ragged, words: Vocabulary
) -> tuple[CnfTable, Ragged]:
    clauses, groups = _once(starts, predicates)
    table = ClauseTable(words.space_starts, words.predicates, clauses)
    arranged = _arranged(rows, groups, np.arange(table.n_clauses))
    distinct, row_groups = _once(arranged.starts, arranged.items)
    made = CnfTable(distinct, table)
    return made, frozen(_owners(row_groups, made.n_rows, owners))


def _once(starts: Longs, items: Longs) -> tuple[Ragged, Longs]:
    """The distinct rows, and which of them each row is."""
    groups, firsts = _distinct(starts, items)
    return frozen(take_rows(Ragged(starts, items.astype(np.int32)), firsts)), groups


def _owners(groups: Longs, n_groups: int, owners: Ragged) -> Ragged:
    """The owners of all rows of a group, ascending, each once."""
    n = int(owners.items.max(initial=0)) + 1
    keys = _sorted_set(np.repeat(groups, np.diff(owners.starts)) * n + owners.items)
    found, who = np.divmod(keys, n)
    return Ragged(starts_of(np.bincount(found, minlength=n_groups)), who.astype(np.int32))


def _programs(programs: Programs, predicates: Longs, values: Longs, words: Vocabulary) -> Programs:
    """The programs over distinct leaves; `values` are the spaces of values within a dimension."""
    attributes = np.array([words.weighed[one.attribute] for one in words.dimensions], np.int32)
    dims = words.predicates.dim[predicates]
    counts = np.diff(programs.value_starts)
    spaces = values + np.repeat(words.space_starts[dims], counts)
    starts, pairs = _headed(
        np.stack([predicates, programs.leaf_weight.view(np.int64)], axis=1),
        counts,
        np.stack([spaces, programs.value_weight.view(np.int64)], axis=1),
    )
    groups, firsts = _distinct(starts * 2, pairs.ravel())
    codes = programs.codes
    is_leaf = codes >= 0
    codes[is_leaf] = groups[codes[is_leaf]]
    places = places_of(programs.value_starts, firsts)
    return frozen(
        Programs(
            programs.starts,
            codes,
            predicates[firsts].astype(np.int32),
            attributes[dims[firsts]],
            programs.leaf_weight[firsts],
            places.starts.astype(np.int32),
            spaces[places.items].astype(np.int32),
            programs.value_weight[places.items],
        )
    )
