"""The k-index of "Indexing Boolean Expressions" (VLDB'09): the Conjunction algorithm, ranked too.

Conjunctions are partitioned by their size K, the number of their ∈ predicates; a partition has a
posting list for each key, sorted by conjunction. One of size K holds when K lists of the event's
keys have it as ∈ and none as ∉. Lists that cannot add up to K are skipped.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np

from remuda.arrays import Bools, Floats, Ints, Longs, frozen
from remuda.encoding.table import ClauseTable, EventBatch
from remuda.jit import kernel
from remuda.matchers.contract import Hits
from remuda.matchers.kernels.output import grown
from remuda.matchers.kernels.plists import (
    EOL,
    PostingLists,
    count_runs,
    get_posting_lists,
    id_of,
    list_of,
    mark_of,
    partitioned,
    skip_to,
)
from remuda.matchers.kernels.postings import (
    ALL,
    IN,
    Keys,
    event_keys,
    keys_for,
    n_asked,
    place,
    post,
    satisfiable,
)
from remuda.matchers.kernels.queue import drain, offer
from remuda.matchers.kernels.ranking import (
    Ranked,
    bound_of_partition,
    bound_up_to,
    item_weights,
    predicate_score,
    weigh_groups,
)
from remuda.matchers.kernels.truth import lay_out, take_away


@dataclass(frozen=True, slots=True)
class KIndex:
    """Posting lists over conjunctions that are numbered by size; `row_of` has their rows."""

    table: ClauseTable
    keys: Keys
    lists: PostingLists
    row_of: Ints
    weights: Floats  # of each item of the table's clauses; empty where all weigh 1

    @classmethod
    def build(cls, table: ClauseTable, weights: Floats | None = None) -> Self:
        """Index the conjunctions; only ∈ predicates score, by the weight of their item."""
        predicates, clauses = table.predicates, table.clauses
        uses = np.bincount(clauses.items, minlength=len(predicates.dim))
        keys = keys_for(table, uses, conjunctive=True)
        posted = post(predicates, keys, uses, conjunctive=True)
        sizes, row_of = n_asked(table), satisfiable(table)
        row_of = row_of[np.argsort(sizes[row_of], kind="stable")]
        ids = np.arange(len(row_of), dtype=np.int32)
        ranked = weights is not None
        lists, origins = place(posted, clauses, row_of, ids, keys.n_keys, origins=ranked)
        weights = item_weights(weights, table)
        parts = partitioned(lists, sizes[row_of].astype(np.int32), origins, weights)
        return cls(table, keys, parts, frozen(row_of), weights)

    def match(self, events: EventBatch) -> Hits:
        found = self._search(events, False, 0, np.empty(0))
        return Hits(found.starts, found.rows, found.candidates)

    def top(self, events: EventBatch, n: int, event_weights: Floats | None = None) -> Ranked:
        """The n best conjunctions of each event, whose spaces weigh 1 unless told otherwise."""
        if event_weights is None:
            event_weights = np.ones(len(events.spaces))
        return self._search(events, True, n, event_weights)

    def _search(
        self, events: EventBatch, ranked: bool, n_best: int, event_weights: Floats
    ) -> Ranked:
        longest = int(np.diff(events.starts).max(initial=0))
        found = _conjunction_algorithm(
            events.starts, events.spaces, *self.keys, *self.lists, self.row_of,
            longest * self.keys.most_per_space + 1,
            ranked, min(n_best, len(self.row_of)), event_weights, self.weights,
            *self.table.clauses, self.table.n_dims, *self.table.predicates,
        )  # fmt: skip
        return Ranked(*found)

    @property
    def nbytes(self) -> int:
        return sum(a.nbytes for a in (*self.keys, *self.lists, self.row_of, self.weights))


@kernel
def _conjunction_algorithm(
    event_starts: Longs,
    spaces: Ints,
    space_starts: Ints,
    dim_of_space: Ints,
    first_level: Ints,
    level_starts: Ints,
    key_runs: Ints,
    run_sizes: Ints,
    run_starts: Longs,
    entries: Ints,
    bounds: Floats,
    row_of: Ints,
    most_keys: int,
    ranked: bool,
    n_best: int,
    event_weights: Floats,
    weights: Floats,
    clause_starts: Longs,
    items: Ints,
    n_dims: int,
    dims: Ints,
    on_missing: Bools,
    every: Bools,
    span_starts: Ints,
    span_lo: Ints,
    span_hi: Ints,
) -> tuple[Longs, Ints, Floats, int, int, int]:
    """Algorithm 1, with the two prunings of section 5 where it is ranked."""
    n_events = len(event_starts) - 1
    largest_size = run_sizes.max() if len(run_sizes) else 0
    starts, rows, scores = np.zeros(n_events + 1, np.int64), np.empty(1024, np.int32), np.empty(1024)
    keys, groups = np.empty(most_keys, np.int32), np.empty(most_keys, np.int32)
    shares, sizes = np.empty(most_keys, np.int32), np.empty(most_keys, np.int32)
    next_runs = np.empty(most_keys, np.int32)
    ins, outs = np.zeros(most_keys, np.int64), np.zeros(most_keys, np.int64)
    group_weights, largest = np.zeros(most_keys), np.zeros(most_keys)
    first, last = np.zeros(n_dims, np.int64), np.zeros(n_dims, np.int64)
    best_scores, best_rows = np.empty(n_best), np.empty(n_best, np.int32)
    most_lists = 0
    heads, positions = np.empty(0, np.int64), np.empty(0, np.int64)
    ends, owners = np.empty(0, np.int64), np.empty(0, np.int32)
    list_bounds = np.empty(0)
    n, n_kept, candidates, pruned, pruned_partitions = 0, 0, 0, 0, 0
    for event in range(n_events):
        begin, end = event_starts[event], event_starts[event + 1]
        n_keys = event_keys(
            spaces, begin, end,
            space_starts, dim_of_space, first_level, level_starts, keys, groups, shares, sizes,
        )  # fmt: skip
        n_groups = groups[n_keys - 1] + 1 if n_keys else 0
        several = end - begin > n_groups
        if ranked:
            lay_out(spaces, begin, end, dim_of_space, first, last)
            weigh_groups(n_keys, begin, groups, sizes, event_weights, group_weights)
        keys[n_keys] = len(key_runs) - 2  # Z, a group by itself
        groups[n_keys], shares[n_keys], sizes[n_groups], group_weights[n_groups] = n_groups, 1, 1, 0
        n_keys += 1
        n_runs = count_runs(n_keys, keys, key_runs, next_runs)
        if n_runs > most_lists:
            most_lists = 2 * n_runs
            heads, positions = np.empty(most_lists, np.int64), np.empty(most_lists, np.int64)
            ends, owners = np.empty(most_lists, np.int64), np.empty(most_lists, np.int32)
            list_bounds = np.empty(most_lists)
        for size in range(min(largest_size, n_groups), -1, -1):
            n_lists = get_posting_lists(
                size, n_keys, keys, groups, next_runs, key_runs, run_sizes, run_starts, entries,
                bounds, group_weights, heads, positions, ends, owners, list_bounds,
            )  # fmt: skip
            needed = max(size, 1)  # sizes 0 and 1 are processed alike
            if n_lists < needed:
                continue
            full = ranked and n_kept == n_best
            if full and (
                bound_of_partition(needed, n_lists, list_bounds, largest) < best_scores[0]
            ):
                pruned_partitions += 1
                continue
            while heads[needed - 1] != EOL:
                pivot = id_of(heads[needed - 1])
                next_id, n_skipped, bound = pivot + 1, needed, np.inf
                full = ranked and n_kept == n_best
                if full:
                    bound, n_skipped = bound_up_to(pivot, n_lists, heads, list_bounds)
                if full and bound < best_scores[0]:
                    pruned += 1
                elif id_of(heads[0]) == pivot:
                    candidates += 1
                    # the paper's step 26 would leave the first K lists of a rejected row where
                    # they are, for ever; its text has all lists skipped that are at the row
                    n_skipped = needed
                    while n_skipped < n_lists and id_of(heads[n_skipped]) == pivot:
                        n_skipped += 1
                    if several:
                        satisfied = needed == _n_agreed(
                            n_skipped, heads, owners, groups, shares, sizes, ins, outs
                        )
                    else:
                        satisfied = mark_of(heads[0]) & IN != 0
                    if satisfied and ranked:
                        score = _score(
                            row_of[pivot], spaces, event_weights, first, last,
                            weights, clause_starts, items,
                            dims, on_missing, every, span_starts, span_lo, span_hi,
                        )  # fmt: skip
                        n_kept = offer(score, row_of[pivot], best_scores, best_rows, n_kept)
                    elif satisfied:
                        rows = grown(rows, n + 1)
                        rows[n] = row_of[pivot]
                        n += 1
                else:  # no row before the pivot has enough lists
                    next_id, n_skipped = pivot, needed - 1
                for at in range(n_skipped - 1, -1, -1):
                    skip_to(next_id, at, heads, n_lists, positions, ends, entries)
        if ranked:
            take_away(spaces, begin, end, dim_of_space, first, last)
            scores, rows = drain(best_scores, best_rows, n_kept, scores, rows, n)
            n, n_kept = n + n_kept, 0
        starts[event + 1] = n
    return starts, rows[:n].copy(), scores[:n if ranked else 0].copy(), candidates, pruned, pruned_partitions


@kernel
def _n_agreed(
    n: int,
    heads: Longs,
    owners: Ints,
    groups: Ints,
    shares: Ints,
    sizes: Ints,
    ins: Longs,
    outs: Longs,
) -> int:
    """Merge the current entries of each dimension; count the ∈ among them, -1 if there is a ∉."""
    for at in range(n):
        key, mark = owners[list_of(heads[at])], mark_of(heads[at])
        said = shares[key] if mark & ALL else sizes[groups[key]]
        if mark & IN:
            ins[groups[key]] += said
        else:
            outs[groups[key]] += said
    n_in, n_out = 0, 0
    for at in range(n):
        group = groups[owners[list_of(heads[at])]]
        n_out += outs[group] >= sizes[group]
        n_in += ins[group] >= sizes[group]
        ins[group], outs[group] = 0, 0
    return -1 if n_out else n_in


@kernel
def _score(
    row: int,
    spaces: Ints,
    event_weights: Floats,
    first: Longs,
    last: Longs,
    weights: Floats,
    clause_starts: Longs,
    items: Ints,
    dims: Ints,
    on_missing: Bools,
    every: Bools,
    span_starts: Ints,
    span_lo: Ints,
    span_hi: Ints,
) -> float:
    """The sum over the ∈ predicates of a conjunction that holds, in written order."""
    score = 0.0
    for i in range(clause_starts[row], clause_starts[row + 1]):
        predicate = items[i]
        if not on_missing[predicate] and not every[predicate]:
            dim = dims[predicate]
            score += predicate_score(
                weights[i] if len(weights) else 1.0, first[dim], last[dim], spaces, event_weights,
                span_starts[predicate], span_starts[predicate + 1], span_lo, span_hi,
            )  # fmt: skip
    return score
