"""The k-index of "Indexing Boolean Expressions" (VLDB'09): the Conjunction algorithm, ranked too.

Conjunctions are partitioned by their size K, the number of their ∈ predicates; a partition has a
posting list for each key, sorted by conjunction. One of size K holds when K lists of the event's
keys have it as ∈ and none as ∉. Lists that cannot add up to K are skipped.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np

from remuda.arrays import Bools, Floats, Ints, Longs, frozen
from remuda.encoding.table import ClauseTable, EventBatch
from remuda.jit import kernel
from remuda.matchers.contract import Features, Hits, Ranked
from remuda.matchers.kernels.output import grown
from remuda.matchers.kernels.plists import (
    PRUNED_PARTITIONS,
    PostingLists,
    begin_event,
    bound_of_partition,
    get_posting_lists,
    id_of,
    list_of,
    mark_of,
    next_candidate,
    partitioned,
    room_for,
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
from remuda.matchers.kernels.ranking import item_weights, predicate_score, weigh_groups
from remuda.matchers.kernels.truth import lay_out, take_away


@dataclass(frozen=True, slots=True)
class KIndex:
    """Posting lists over conjunctions that are numbered by size; `row_of` has their rows."""

    features: ClassVar[Features] = Features(layout=1, takes_weights=True, ranks=True)

    table: ClauseTable
    keys: Keys
    lists: PostingLists
    row_of: Ints
    weights: Floats  # of each item of the table's clauses; empty where all weigh 1

    @classmethod
    def build(cls, table: ClauseTable, *, weights: Floats | None = None) -> Self:
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
        parts = partitioned(lists, sizes[row_of], origins, weights)
        return cls(table, keys, parts, frozen(row_of), weights)

    def match(self, events: EventBatch) -> Hits:
        found = self._search(events, False, 0, np.empty(0))
        return Hits(found.starts, found.rows, found.candidates)

    def top(self, events: EventBatch, n: int, event_weights: Floats | None = None) -> Ranked:
        """The n best conjunctions of each event, whose spaces weigh 1 unless told otherwise."""
        if n < 1:
            raise ValueError(f"top {n}: ask for at least 1")
        if event_weights is None:
            event_weights = np.ones(len(events.spaces))
        return self._search(events, True, n, event_weights)

    def _search(
        self, events: EventBatch, ranked: bool, n_best: int, event_weights: Floats
    ) -> Ranked:
        longest = int(np.diff(events.starts).max(initial=0))
        starts, rows, scores, tally = _conjunction_algorithm(
            events.starts, events.spaces, *self.keys, *self.lists, self.row_of,
            longest, self.keys.most_per_space,
            ranked, min(n_best, len(self.row_of)), event_weights, self.weights,
            *self.table.clauses, self.table.n_dims, *self.table.predicates,
        )  # fmt: skip
        return Ranked(starts, rows, scores, *tally.tolist())

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
    longest: int,
    most_per_space: int,
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
) -> tuple[Longs, Ints, Floats, Longs]:
    """Algorithm 1, with the two prunings of section 5 where it is ranked."""
    n_events, n, n_kept, tally = len(event_starts) - 1, 0, 0, np.zeros(3, np.int64)
    starts, rows, scores = np.zeros(n_events + 1, np.int64), np.empty(1024, np.int32), np.empty(0)
    best_scores, best_rows = np.empty(n_best), np.empty(n_best, np.int32)
    most_keys = longest * most_per_space + 1  # Z is one more
    keys, groups = np.empty(most_keys, np.int32), np.empty(most_keys, np.int32)
    shares, next_runs = np.empty(most_keys, np.int32), np.empty(most_keys, np.int32)
    sizes, largest = np.empty(longest + 1, np.int32), np.zeros(longest + 1)
    group_weights = np.zeros(longest + 1)
    ins, outs = np.zeros(longest + 1, np.int64), np.zeros(longest + 1, np.int64)
    first, last = np.zeros(n_dims, np.int64), np.zeros(n_dims, np.int64)
    heads, positions, ends, owners, list_bounds = room_for(256)
    largest_size = run_sizes.max() if len(run_sizes) else 0
    for event in range(n_events):
        begin, end = event_starts[event], event_starts[event + 1]
        n_keys = event_keys(
            spaces, begin, end,
            space_starts, dim_of_space, first_level, level_starts, keys, groups, shares, sizes,
        )  # fmt: skip
        n_groups = groups[n_keys - 1] + 1 if n_keys else 0
        if ranked:
            lay_out(spaces, begin, end, dim_of_space, first, last)
            weigh_groups(n_groups, begin, sizes, event_weights, group_weights)
        n_runs = begin_event(n_keys, n_groups, key_runs, keys, groups, shares, sizes, next_runs)
        if n_runs > len(heads):
            heads, positions, ends, owners, list_bounds = room_for(n_runs)
        for size in range(min(largest_size, n_groups), -1, -1):
            n_lists = get_posting_lists(
                size, n_keys, keys, groups, group_weights,
                next_runs, key_runs, run_sizes, run_starts, entries, bounds,
                heads, positions, ends, owners, list_bounds,
            )  # fmt: skip
            needed = max(size, 1)  # sizes 0 and 1 are processed alike
            if n_lists < needed:
                continue
            worst = best_scores[0] if ranked and n_kept == n_best else -np.inf
            if worst > -np.inf and (
                bound_of_partition(needed, n_lists, list_bounds, largest) < worst
            ):
                tally[PRUNED_PARTITIONS] += 1
                continue
            # all lists at a row are left behind with it, as the paper's text has it: its step 26
            # would leave the first K of a rejected row where they are, for ever
            n_at = 0
            while True:
                worst = best_scores[0] if ranked and n_kept == n_best else -np.inf
                n_at = next_candidate(
                    n_at, needed, worst,
                    n_lists, heads, positions, ends, entries, list_bounds, tally,
                )  # fmt: skip
                if n_at == 0:
                    break
                row = row_of[id_of(heads[0])]
                satisfied = _satisfied(
                    needed, n_at, end - begin > n_groups,
                    heads, owners, groups, shares, sizes, ins, outs,
                )  # fmt: skip
                if satisfied and ranked:
                    score = _score(
                        row, spaces, event_weights, first, last, weights, clause_starts, items,
                        dims, on_missing, every, span_starts, span_lo, span_hi,
                    )  # fmt: skip
                    n_kept = offer(score, row, best_scores, best_rows, n_kept)
                elif satisfied:
                    rows = grown(rows, n + 1)
                    rows[n] = row
                    n += 1
        if ranked:
            take_away(spaces, begin, end, dim_of_space, first, last)
            scores, rows = drain(best_scores, best_rows, n_kept, scores, rows, n)
            n, n_kept = n + n_kept, 0
        starts[event + 1] = n
    return starts, rows[:n].copy(), scores[: n if ranked else 0].copy(), tally


@kernel
def _satisfied(
    needed: int,
    n: int,
    several: bool,
    heads: Longs,
    owners: Ints,
    groups: Ints,
    shares: Ints,
    sizes: Ints,
    ins: Longs,
    outs: Longs,
) -> bool:
    """Whether the first n entries, all of one row, are `needed` ∈ and no ∉."""
    if not several:
        return bool(mark_of(heads[0]) & IN)  # a ∉ would come first
    # the event has lists: the entries of each dimension are merged before they are counted
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
    return n_out == 0 and n_in == needed


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
