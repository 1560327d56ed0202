"""Posting lists: the keys that a predicate is found under, and the keys that an event has.

A key is one space of a dimension, or a union of 2, 4, 8 … neighbours where single spaces would
have to be posted too often (the hierarchy for ranges of the VLDB'09 paper), or "present", all of
them at once. "Present" has the id of the dimension's missing space, which no event lists.

An entry says ∈ (the predicate holds under this key) or ∉ (it does not). Where a list gives an
event several spaces on one dimension, an entry marked ALL speaks only if every one of them has it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from remuda.arrays import Bools, Ints, Longs, Ragged, frozen, starts_of
from remuda.encoding.table import ClauseTable, Predicates
from remuda.jit import bare, kernel
from remuda.matchers.kernels.growth import grown

ALL = 1
IN = 2  # ∈; entries are compared as numbers, and the paper wants ∉ before ∈

_DEPTH_PAYS = 4  # a dimension gets unions when they shorten its lists by this factor


class Keys(NamedTuple):
    """Dimension d has the levels `first_level[d]` and following, of unions of 2, 4, 8 … spaces.

    The keys of a level are numbered from `level_starts`, which ends with the number of all keys.
    """

    space_starts: Ints
    dim_of_space: Ints
    first_level: Ints
    level_starts: Ints

    @property
    def n_keys(self) -> int:
        return int(self.level_starts[-1])

    @property
    def most_per_space(self) -> int:
        """How many keys a space brings along at most, "present" included."""
        return int(np.diff(self.first_level).max(initial=0)) + 2


class EventKeys(NamedTuple):
    """The keys of one event, in groups: a group is a dimension that the event has.

    Of each key is noted its group and its share, the number of the event's spaces under it, and
    of each group its size, the number of all of them.
    """

    keys: Ints
    groups: Ints
    shares: Ints
    sizes: Ints


class Posted(NamedTuple):
    """The keys under which each predicate is posted, with the mark of each entry."""

    starts: Longs
    keys: Ints
    marks: Ints


def never_true(predicates: Predicates) -> Bools:
    """Which predicates hold for no event."""
    refuses_all: Bools = np.diff(predicates.span_starts) == 0
    return ~predicates.on_missing & refuses_all


def n_asked(table: ClauseTable) -> Ints:
    """How many ∈ predicates each conjunction has: the paper's K."""
    return n_per_row(~table.predicates.on_missing[table.clauses.items], table.clauses.starts)


def satisfiable(table: ClauseTable) -> Ints:
    """The conjunctions without a predicate that is never true."""
    never = never_true(table.predicates)[table.clauses.items]
    return np.flatnonzero(n_per_row(never, table.clauses.starts) == 0).astype(np.int32)


def n_per_row(has: Bools, starts: Longs) -> Ints:
    """Of how many items of each row it is true."""
    return np.diff(starts_of(has)[starts]).astype(np.int32)


def _keys_for(table: ClauseTable, uses: Longs, conjunctive: bool) -> Keys:
    """The keys of all dimensions, given how often each predicate is used."""
    predicates = table.predicates
    n_present = np.diff(table.space_starts)[predicates.dim].astype(np.int64) - 1
    accepted = predicates.n_accepted
    refused = n_present - accepted
    flat = np.where(predicates.on_missing, refused, accepted)
    flat = np.where(flat == n_present, 1, flat)
    if conjunctive:
        flat = np.minimum(flat, 2 * (refused + 1))
    n_spans = np.diff(predicates.span_starts) + 1
    deep = np.minimum(flat, 2 * n_spans * np.log2(n_present + 1))
    volume = np.bincount(predicates.dim, flat * uses, table.n_dims)
    return _keys(
        table, volume > _DEPTH_PAYS * np.bincount(predicates.dim, deep * uses, table.n_dims)
    )


def _keys(table: ClauseTable, is_deep: Bools) -> Keys:
    n_present = np.diff(table.space_starts).astype(np.int64) - 1
    # the level of a single union is "present" already
    n_levels = np.where(is_deep, np.ceil(np.log2(np.maximum(n_present, 1))) - 1, 0)
    n_levels = np.maximum(n_levels, 0).astype(np.int64)
    first_level = starts_of(n_levels)
    level = np.arange(first_level[-1]) - np.repeat(first_level[:-1], n_levels) + 1
    n_unions = ((np.repeat(n_present, n_levels) - 1) >> level) + 1
    level_starts = table.n_spaces + starts_of(n_unions)
    if level_starts[-1] > np.iinfo(np.int32).max:
        raise ValueError("more than 2^31 keys")
    return frozen(
        Keys(
            table.space_starts,
            table.dim_of_space(),
            first_level.astype(np.int32),
            level_starts.astype(np.int32),
        )
    )


def post(table: ClauseTable, rows: Ragged, *, conjunctive: bool) -> tuple[Keys, Posted]:
    """The keys of all dimensions, and under which of them each predicate of the rows is posted.

    One that holds on missing is ∉ on the spaces it refuses, any other ∈ on those it accepts. Where
    `conjunctive`, a wide one of the second kind is ∈ on "present" and ∉ on the spaces it refuses:
    both are heard then, and the ∉ prevails.
    """
    uses = np.bincount(rows.items, minlength=len(table.predicates.dim))
    keys = _keys_for(table, uses, conjunctive)
    return keys, Posted(*_post(uses, table.predicates, keys, conjunctive))


def only_in(posted: Posted) -> Posted:
    """The ∈ entries alone: one of them is met whenever the predicate holds on what is present."""
    kept = posted.marks & IN != 0
    return Posted(starts_of(kept)[posted.starts], posted.keys[kept], posted.marks[kept])


def place(
    posted: Posted,
    rows: Ragged,
    kept: Ints,
    ids: Ints,
    n_keys: int,
    *,
    by_mark: bool = False,
    origins: bool = False,
) -> tuple[Ragged, Ints]:
    """The posting lists of the kept rows under the given ids, in the order of `kept`.

    List k has the entries `4 * id + mark` of key k; by mark, list `4 * k + mark` has plain ids.
    With origins, the second array tells for each entry the item of `rows` that it comes from.
    """
    starts, entries, items = _place(posted, rows, kept, ids, n_keys, by_mark, origins)
    return frozen(Ragged(starts, entries)), items


@kernel
def room_for_keys(most: int) -> EventKeys:
    """Room for so many keys."""
    return EventKeys(
        np.empty(most, np.int32), np.empty(most, np.int32),
        np.empty(most, np.int32), np.empty(most, np.int32),
    )  # fmt: skip


@bare
def event_keys(spaces: Ints, begin: int, end: int, keys: Keys, event: EventKeys) -> int:
    """List the keys of an event and return how many they are."""
    n, group = 0, 0
    while begin < end:
        dim = keys.dim_of_space[spaces[begin]]
        first, beyond = keys.space_starts[dim] + 1, keys.space_starts[dim + 1]
        stop = begin
        while stop < end and spaces[stop] < beyond:
            stop += 1
        event.sizes[group] = stop - begin
        event.keys[n], event.groups[n], event.shares[n] = first - 1, group, stop - begin
        n += 1
        for depth in range(keys.first_level[dim + 1] - keys.first_level[dim] + 1):
            base = first if depth == 0 else keys.level_starts[keys.first_level[dim] + depth - 1]
            last = -1
            for i in range(begin, stop):
                key = base + ((spaces[i] - first) >> depth)
                if key != last:
                    event.keys[n], event.groups[n], event.shares[n] = key, group, 0
                    n += 1
                    last = key
                event.shares[n - 1] += 1
        begin = stop
        group += 1
    return n


@kernel
def _cover(low: int, high: int, dim: int, levels: Keys, keys: Ints, n: int, write: bool) -> int:
    """Add the fewest keys that make up the spaces `low` to `high - 1`; return their new number."""
    first, beyond = levels.space_starts[dim] + 1, levels.space_starts[dim + 1]
    if low == first and high == beyond:
        if write:
            keys[n] = first - 1
        return n + 1
    top = levels.first_level[dim + 1] - levels.first_level[dim]
    if top == 0:
        if write:
            for space in range(low, high):
                keys[n + space - low] = space
        return n + high - low
    if high == beyond:
        high = first + (2 << top)  # nothing lies beyond, so the last union may reach there
    low, high, base, depth = low - first, high - first, first, 0
    last = beyond - first - 1
    while low < high and low <= last:  # the union after the last one is another level's
        if low & 1:
            if write:
                keys[n] = base + low
            low, n = low + 1, n + 1
        if high & 1:
            high -= 1
            if write:
                keys[n] = base + high
            n += 1
        low, high, last = low >> 1, high >> 1, last >> 1
        if low < high:
            base = levels.level_starts[levels.first_level[dim] + depth]
            depth += 1
    return n


@kernel
def _cover_all(
    p: int, accepted: bool, predicates: Predicates, levels: Keys, keys: Ints, n: int, write: bool
) -> int:
    """Cover what the predicate accepts or what it refuses."""
    dim = predicates.dim[p]
    begin, end = predicates.span_starts[p], predicates.span_starts[p + 1]
    low, beyond = levels.space_starts[dim] + 1, levels.space_starts[dim + 1]
    for i in range(begin, end if accepted else end + 1):
        high = predicates.span_lo[i] if i < end else beyond
        if accepted:
            low, high = high, predicates.span_hi[i]
        if low < high:
            n = _cover(low, high, dim, levels, keys, n, write)
        if i < end:
            low = predicates.span_hi[i]
    return n


@kernel
def _post(
    uses: Longs, predicates: Predicates, levels: Keys, conjunctive: bool
) -> tuple[Longs, Ints, Ints]:
    starts = np.zeros(len(predicates.dim) + 1, np.int64)
    keys, marks = np.empty(1024, np.int32), np.empty(1024, np.int32)
    n, first, no, yes = 0, np.int64(0), np.bool_(False), np.bool_(True)  # literals compile anew
    for p in range(len(predicates.dim)):
        if uses[p] > 0:
            accepted = not predicates.on_missing[p]
            n_keys = _cover_all(p, accepted, predicates, levels, keys, first, no)
            begin = n
            if accepted and conjunctive:
                n_refused = _cover_all(p, no, predicates, levels, keys, first, no)
                if n_keys > 2 * (n_refused + 1):
                    accepted, n_keys = False, n_refused + 1
            keys, marks = grown(keys, n + n_keys), grown(marks, n + n_keys)
            if not accepted and not predicates.on_missing[p]:
                keys[n], marks[n] = levels.space_starts[predicates.dim[p]], IN
                n, begin = n + 1, n + 1
            n = _cover_all(p, accepted, predicates, levels, keys, n, yes)
            # of several spaces all must be accepted where the predicate is `every`, all refused
            # where it is not
            mark = (IN if accepted else 0) | (ALL if accepted == predicates.every[p] else 0)
            marks[begin:n] = mark
        starts[p + 1] = n
    return starts, keys[:n], marks[:n]


@kernel
def _place(
    posted: Posted, rows: Ragged, kept: Ints, ids: Ints, n_keys: int, by_mark: bool, origins: bool
) -> tuple[Longs, Ints, Ints]:
    scale = 4 if by_mark else 1
    starts = np.zeros(n_keys * scale + 2, np.int64)  # one too long: the second pass shifts it
    for row in kept:
        for i in range(rows.starts[row], rows.starts[row + 1]):
            item = rows.items[i]
            for j in range(posted.starts[item], posted.starts[item + 1]):
                key = posted.keys[j] * scale + (posted.marks[j] if by_mark else 0)
                starts[key + 2] += 1
    for key in range(2, len(starts)):
        starts[key] += starts[key - 1]
    entries = np.empty(starts[-1], np.int32)
    origin = np.empty(len(entries) if origins else 0, np.int32)
    for k in range(len(kept)):
        row = kept[k]
        for i in range(rows.starts[row], rows.starts[row + 1]):
            item = rows.items[i]
            for j in range(posted.starts[item], posted.starts[item + 1]):
                key = posted.keys[j] * scale + (posted.marks[j] if by_mark else 0)
                at = starts[key + 1]
                entries[at] = ids[k] if by_mark else 4 * ids[k] + posted.marks[j]
                if origins:
                    origin[at] = i
                starts[key + 1] = at + 1
    return starts[:-1], entries, origin
