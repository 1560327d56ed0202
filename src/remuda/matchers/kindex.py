"""The k-index of "Indexing Boolean Expressions" (VLDB'09): both its algorithms, ranked too.

Rows are partitioned by their size K; a partition has a posting list for each key, sorted by row. A
row of size K can only hold when K lists of the event's keys have it, so lists that cannot add up
to K are skipped.

The size of a conjunction is the number of its ∈ predicates, and it holds when K lists have it as ∈
and none as ∉: the Conjunction algorithm. The size of a conjunction of disjunctions is the number
of disjunctions without a ∉ predicate; those of a candidate are then counted one by one: the CNF
algorithm. Everything else is the same, and stands here once.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, NamedTuple, Self

import numpy as np

from remuda.arrays import Floats, Ints, Longs, Ragged, frozen
from remuda.encoding.table import ClauseTable, CnfTable, EventBatch
from remuda.jit import bare, kernel
from remuda.matchers.contract import Features, Hits, ItemBounds, Ranked
from remuda.matchers.kernels.best import (
    Asked,
    Choice,
    Choosing,
    Owned,
    Room,
    bar_of,
    consider,
    enlarged,
    enter_event,
    leave_event,
    n_chosen,
)
from remuda.matchers.kernels.disjunctions import (
    flat_rows,
    n_denials,
    once_per_list,
    satisfiable_rows,
    sizes_of_rows,
)
from remuda.matchers.kernels.growth import grown
from remuda.matchers.kernels.plists import (
    PRUNED_PARTITIONS,
    CurrentLists,
    PostingLists,
    begin_event,
    bound_of_partition,
    get_posting_lists,
    id_of,
    list_of,
    mark_of,
    next_candidate,
    partitioned,
    room_for_lists,
)
from remuda.matchers.kernels.postings import (
    ALL,
    IN,
    EventKeys,
    Keys,
    event_keys,
    n_asked,
    place,
    post,
    room_for_keys,
    satisfiable,
)

_NONE: Floats = frozen(np.empty(0))
_NO_DIMS: Ints = frozen(np.empty(0, np.int32))
_UNBOUNDED = ItemBounds(_NONE, _NONE, _NONE)


class Counting(NamedTuple):
    """What is counted of one candidate."""

    counters: Longs  # of its disjunctions
    ins: Longs  # of each group of keys; with a CNF, of each group in each disjunction
    outs: Longs
    n_groups: int  # at most


class Disjunctions(NamedTuple):
    """What the CNF algorithm counts."""

    of_entry: Ints  # of each entry, its disjunction's place in the row; -1 in Z
    denials: Ints  # how many ∉ predicates each disjunction of the table has
    rows: Ragged


@dataclass(frozen=True, slots=True)
class _Lists:
    """Posting lists over rows that are numbered by size; `row_of` has their rows in the table.

    The base of both indexes, which differ in how they are built and in nothing else.
    """

    features: ClassVar[Features] = Features(layout=1, takes_bounds=True, ranks=True)

    keys: Keys
    lists: PostingLists
    row_of: Ints
    cnf: Disjunctions | None  # None: rows are conjunctions

    def match(self, events: EventBatch) -> Hits:
        ranked = self._search(events, None, _NO_DIMS)
        return Hits(ranked.starts, ranked.rows, ranked.candidates)

    def best(
        self, owned: Owned, choice: Choice, asked: Asked, room: Room, attribute_of_dim: Ints
    ) -> Ranked:
        """The best owners of each event's rows."""
        choosing = Choosing(owned, choice, asked, room)
        return self._search(EventBatch(asked.starts, asked.spaces), choosing, attribute_of_dim)

    def _search(
        self, events: EventBatch, choosing: Choosing | None, attribute_of_dim: Ints
    ) -> Ranked:
        """All rows of each event, without scores; where there is choosing, the best owners."""
        longest = int(np.diff(events.starts).max(initial=0))
        starts, rows, scores, tally = _search(
            events.starts, events.spaces, longest, self.keys, self.keys.most_per_space, self.lists,
            self.row_of, self.cnf, choosing, attribute_of_dim,
        )  # fmt: skip
        return Ranked(starts, rows, scores, *tally.tolist())

    @property
    def nbytes(self) -> int:
        own = (self.row_of, *(() if self.cnf is None else self.cnf[:2]))
        return sum(array.nbytes for array in (*self.keys, *self.lists, *own))


@dataclass(frozen=True, slots=True)
class KIndex(_Lists):
    """The Conjunction algorithm's: a row is a conjunction."""

    @classmethod
    def build(cls, table: ClauseTable, *, bounds: ItemBounds | None = None) -> Self:
        """Index the conjunctions, of whose owners `bounds` is known."""
        keys, posted = post(table, table.clauses, conjunctive=True)
        sizes, row_of = _by_size(n_asked(table), satisfiable(table))
        ids, ranked = np.arange(len(row_of), dtype=np.int32), bounds is not None
        lists, origins = place(posted, table.clauses, row_of, ids, keys.n_keys, origins=ranked)
        known = _UNBOUNDED if bounds is None else bounds.of_rows(row_of)
        return cls(keys, partitioned(lists, sizes, origins, *known), frozen(row_of), None)


@dataclass(frozen=True, slots=True)
class CnfKIndex(_Lists):
    """The CNF algorithm's: a row is a conjunction of disjunctions."""

    @classmethod
    def build(cls, cnf: CnfTable, *, bounds: ItemBounds | None = None) -> Self:
        """Index the rows, of whose owners `bounds` is known."""
        flat = flat_rows(cnf)
        keys, posted = post(cnf.table, flat.rows, conjunctive=True)
        sizes, row_of = _by_size(sizes_of_rows(cnf), satisfiable_rows(cnf))
        ids = np.arange(len(row_of), dtype=np.int32)
        lists, origins = place(posted, flat.rows, row_of, ids, keys.n_keys, origins=True)
        lists, origins = once_per_list(lists, origins, sizes)
        known = _UNBOUNDED if bounds is None else bounds.of_rows(row_of)
        most, spare = (one[flat.items] if len(one) else one for one in known[:2])
        parts = partitioned(lists, sizes, origins, most, spare, known.rows)
        of_entry = np.full(len(parts.entries), -1, np.int32)
        of_entry[: len(origins)] = flat.disjunctions[origins]
        own = Disjunctions(*frozen((of_entry, n_denials(cnf.table))), cnf.rows)
        return cls(keys, parts, frozen(row_of), own)


def _by_size(sizes: Ints, rows: Ints) -> tuple[Ints, Ints]:
    """The sizes of these rows, ascending, and the rows in that order."""
    rows = rows[np.argsort(sizes[rows], kind="stable")]
    return sizes[rows], rows


@kernel
def _search(  # noqa: C901, PLR0912, PLR0915 - the loop of both algorithms stands once
    event_starts: Longs,
    spaces: Ints,
    longest: int,
    keys: Keys,
    most_per_space: int,
    lists: PostingLists,
    row_of: Ints,
    cnf: Disjunctions | None,
    choosing: Choosing | None,
    attribute_of_dim: Ints,
) -> tuple[Longs, Ints, Floats, Longs]:
    """Algorithm 1, and Algorithm 2 with the disjunctions of a CNF.

    Where it chooses, both have the first pruning of section 5, and Algorithm 1 the second.
    """
    n_events, n, tally = len(event_starts) - 1, 0, np.zeros(3, np.int64)
    starts, rows, scores = np.zeros(n_events + 1, np.int64), np.empty(1024, np.int32), np.empty(0)
    most_keys = longest * most_per_space + 1  # Z is one more
    met, next_runs = room_for_keys(most_keys), np.empty(most_keys, np.int32)
    group_weights, largest = np.zeros(longest + 1), np.zeros(longest + 1)
    counting, current = _room_to_count(longest + 1, cnf), room_for_lists(256)
    largest_size = lists.run_sizes.max() if len(lists.run_sizes) else 0
    for event in range(n_events):
        begin, end = event_starts[event], event_starts[event + 1]
        n_keys = event_keys(spaces, begin, end, keys, met)
        n_groups = met.groups[n_keys - 1] + 1 if n_keys else 0
        factor, worst = -1.0, -np.inf
        if choosing is not None:
            factor = enter_event(event, choosing.asked, choosing.room)
            _weigh_groups(
                n_groups, begin, factor, met.sizes, choosing, attribute_of_dim, group_weights
            )
        n_runs = begin_event(n_keys, n_groups, met, lists.key_runs, next_runs)
        if n_runs > len(current.heads):
            current = room_for_lists(n_runs)
        # in a CNF all sizes, however few keys: one key may be in many disjunctions
        for size in range(min(largest_size, n_groups if cnf is None else largest_size), -1, -1):
            n_lists = get_posting_lists(
                size, n_keys, met, group_weights, abs(factor), next_runs, lists, current
            )
            needed = max(size, 1)  # sizes 0 and 1 are processed alike
            if n_lists < needed:
                continue
            if cnf is None and choosing is not None:
                worst = bar_of(event, choosing)
                if worst > -np.inf and (
                    bound_of_partition(needed, n_lists, current.bounds, largest) < worst
                ):
                    tally[PRUNED_PARTITIONS] += 1
                    continue
            # all lists at a row are left behind with it, as the paper's text has it: step 26 of
            # Algorithm 1 would leave the first K of a rejected row where they are, for ever, and
            # Algorithm 2 would count a row once more without those of its ∉ that are violated
            n_at = 0
            while True:
                if choosing is not None:
                    worst = bar_of(event, choosing)
                n_at = next_candidate(n_at, needed, worst, n_lists, current, lists.entries, tally)
                if n_at == 0:
                    break
                row = row_of[id_of(current.heads[0])]
                several = end - begin > n_groups
                if cnf is None:
                    satisfied = _conjunction_holds(needed, n_at, several, current, met, counting)
                else:
                    satisfied = _disjunctions_hold(row, n_at, current, met, cnf, counting)
                if satisfied and choosing is not None:
                    consider(row, event, factor, choosing)
                elif satisfied:
                    rows = grown(rows, n + 1)
                    rows[n] = row
                    n += 1
        if choosing is not None:
            needed = n + n_chosen(choosing.room)
            if needed > min(len(rows), len(scores)):
                rows, scores = enlarged(rows, scores, needed)
            n = leave_event(event, choosing, rows, scores, n)
        starts[event + 1] = n
    n_scores = n if choosing is not None else 0
    return starts, rows[:n].copy(), scores[:n_scores].copy(), tally


@bare
def _weigh_groups(
    n_groups: int,
    begin: int,
    factor: float,
    sizes: Ints,
    choosing: Choosing,
    attribute_of_dim: Ints,
    group_weights: Floats,
) -> None:
    """Note what an event's weights make of each group's bounds, and of those of Z."""
    for group in range(n_groups):
        group_weights[group] = 1.0 if factor < 0 else factor
        if factor >= 0:
            dim = choosing.choice.dim_of_space[choosing.asked.spaces[begin]]
            weight = choosing.room.attribute_weights[attribute_of_dim[dim]]
            group_weights[group] = max(weight, 0.0)
        begin += sizes[group]
    group_weights[n_groups] = 1.0 if factor < 0 else factor


@kernel
def _room_to_count(n_groups: int, cnf: Disjunctions | None) -> Counting:
    longest = 0
    if cnf is not None:
        for row in range(len(cnf.rows.starts) - 1):
            longest = max(longest, cnf.rows.starts[row + 1] - cnf.rows.starts[row])
    n = n_groups * max(longest, 1)
    counters = np.empty(longest, np.int64)
    return Counting(counters, np.zeros(n, np.int64), np.zeros(n, np.int64), n_groups)


@bare
def _conjunction_holds(
    needed: int, n: int, several: bool, current: CurrentLists, met: EventKeys, counting: Counting
) -> bool:
    """Whether the first n entries, all of one row, are `needed` ∈ and no ∉."""
    heads, ins, outs = current.heads, counting.ins, counting.outs
    if not several:
        return bool(mark_of(heads[0]) & IN)  # a ∉ would come first
    # the event has lists: the entries of each dimension are merged before they are counted
    for entry in range(n):
        key, mark = current.owners[list_of(heads[entry])], mark_of(heads[entry])
        group = met.groups[key]
        said = met.shares[key] if mark & ALL else met.sizes[group]
        if mark & IN:
            ins[group] += said
        else:
            outs[group] += said
    n_in, n_out = 0, 0
    for entry in range(n):
        group = met.groups[current.owners[list_of(heads[entry])]]
        n_out += outs[group] >= met.sizes[group]
        n_in += ins[group] >= met.sizes[group]
        ins[group], outs[group] = 0, 0
    return n_out == 0 and n_in == needed


@bare
def _disjunctions_hold(
    row: int,
    n: int,
    current: CurrentLists,
    met: EventKeys,
    cnf: Disjunctions,
    counting: Counting,
) -> bool:
    """Whether each disjunction of the row has a ∈ that is met or a ∉ that is not violated."""
    heads, counters = current.heads, counting.counters
    ins, outs = counting.ins, counting.outs
    begin, end = cnf.rows.starts[row], cnf.rows.starts[row + 1]
    for i in range(begin, end):
        counters[i - begin] = -cnf.denials[cnf.rows.items[i]]
    # the entries of one predicate are merged first: lists may give several, and a wide predicate
    # is ∈ on "present" unless a space that it refuses says ∉
    for entry in range(n):
        which, mark = list_of(heads[entry]), mark_of(heads[entry])
        key = current.owners[which]
        group = met.groups[key]
        slot = cnf.of_entry[current.positions[which]] * counting.n_groups + group
        said = met.shares[key] if mark & ALL else met.sizes[group]
        if slot >= 0 and mark & IN:  # Z has no disjunction
            ins[slot] += said
        elif slot >= 0:
            outs[slot] += said
    for entry in range(n):
        which = list_of(heads[entry])
        disjunction = cnf.of_entry[current.positions[which]]
        group = met.groups[current.owners[which]]
        slot = disjunction * counting.n_groups + group
        if slot >= 0:
            if ins[slot] >= met.sizes[group] > outs[slot]:
                counters[disjunction] = 1
            elif ins[slot] == 0 and outs[slot] >= met.sizes[group]:
                counters[disjunction] += 1
            ins[slot], outs[slot] = 0, 0
    for i in range(end - begin):  # noqa: SIM110 - a kernel
        if counters[i] == 0:
            return False
    return True
