"""The k-index for conjunctions of disjunctions: the CNF algorithm of the VLDB'09 paper, ranked too.

The size K of a row is the number of its disjunctions without a ∉ predicate. A row can only hold
when K lists of the event's keys have it; then its disjunctions are counted one by one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np

from remuda.arrays import Bools, Floats, Ints, Longs, Ragged, frozen
from remuda.encoding.table import CnfTable, EventBatch
from remuda.jit import kernel
from remuda.matchers.contract import Features, Hits, Ranked
from remuda.matchers.kernels.disjunctions import (
    flat_rows,
    n_denials,
    satisfiable_rows,
    sizes_of_rows,
)
from remuda.matchers.kernels.output import grown
from remuda.matchers.kernels.plists import (
    PostingLists,
    begin_event,
    get_posting_lists,
    id_of,
    list_of,
    mark_of,
    next_candidate,
    partitioned,
    room_for,
)
from remuda.matchers.kernels.postings import ALL, IN, Keys, event_keys, keys_for, place, post
from remuda.matchers.kernels.queue import drain, offer
from remuda.matchers.kernels.ranking import item_weights, predicate_score, weigh_groups
from remuda.matchers.kernels.truth import holds, lay_out, take_away


@dataclass(frozen=True, slots=True)
class CnfKIndex:
    """Posting lists over rows that are numbered by size; `row_of` has their rows in the table."""

    features: ClassVar[Features] = Features(layout=1, takes_weights=True, ranks=True)

    cnf: CnfTable
    keys: Keys
    lists: PostingLists
    disjunctions: Ints  # of each entry, its place in the row; -1 in Z
    denials: Ints  # how many ∉ predicates each disjunction of the table has
    row_of: Ints
    weights: Floats  # of each item of the table's clauses; empty where all weigh 1

    @classmethod
    def build(cls, cnf: CnfTable, *, weights: Floats | None = None) -> Self:
        """Index the rows; only ∈ predicates score, by the weight of their item."""
        table, flat = cnf.table, flat_rows(cnf)
        uses = np.bincount(flat.rows.items, minlength=len(table.predicates.dim))
        keys = keys_for(table, uses, conjunctive=True)
        posted = post(table.predicates, keys, uses, conjunctive=True)
        sizes, row_of = sizes_of_rows(cnf), satisfiable_rows(cnf)
        row_of = row_of[np.argsort(sizes[row_of], kind="stable")]
        ids = np.arange(len(row_of), dtype=np.int32)
        lists, origins = place(posted, flat.rows, row_of, ids, keys.n_keys, origins=True)
        lists, origins = _once_per_list(lists, origins, sizes[row_of])
        weights = item_weights(weights, table)
        parts = partitioned(
            lists, sizes[row_of], origins, weights[flat.items] if len(weights) else weights
        )
        disjunctions = np.full(len(parts.entries), -1, np.int32)
        disjunctions[: len(origins)] = flat.disjunctions[origins]
        return cls(
            cnf,
            keys,
            parts,
            frozen(disjunctions),
            frozen(n_denials(table)),
            frozen(row_of),
            weights,
        )

    def match(self, events: EventBatch) -> Hits:
        found = self._search(events, False, 0, np.empty(0))
        return Hits(found.starts, found.rows, found.candidates)

    def top(self, events: EventBatch, n: int, event_weights: Floats | None = None) -> Ranked:
        """The n best rows of each event, whose spaces weigh 1 unless told otherwise."""
        if n < 1:
            raise ValueError(f"top {n}: ask for at least 1")
        if event_weights is None:
            event_weights = np.ones(len(events.spaces))
        return self._search(events, True, n, event_weights)

    def _search(
        self, events: EventBatch, ranked: bool, n_best: int, event_weights: Floats
    ) -> Ranked:
        longest = int(np.diff(events.starts).max(initial=0))
        table = self.cnf.table
        starts, rows, scores, tally = _cnf_algorithm(
            events.starts, events.spaces, *self.keys, *self.lists, self.disjunctions, self.denials,
            self.row_of, *self.cnf.rows, longest, self.keys.most_per_space,
            ranked, min(n_best, len(self.row_of)), event_weights, self.weights,
            *table.clauses, table.n_dims, *table.predicates,
        )  # fmt: skip
        return Ranked(starts, rows, scores, *tally.tolist())

    @property
    def nbytes(self) -> int:
        own = (self.disjunctions, self.denials, self.row_of, self.weights)
        return sum(array.nbytes for array in (*self.keys, *self.lists, *own))


def _once_per_list(lists: Ragged, origins: Ints, sizes: Ints) -> tuple[Ragged, Ints]:
    """Lists in which a row occurs once: its further entries go to further lists of the key."""
    longest = int(np.bincount(lists.items >> 2).max(initial=0))
    entries, origins = _spread(*lists, origins, sizes, longest)
    return Ragged(lists.starts, entries), origins


@kernel
def _spread(
    starts: Longs, entries: Ints, origins: Ints, sizes: Ints, longest: int
) -> tuple[Ints, Ints]:
    spread, spread_origins = np.empty_like(entries), np.empty_like(origins)
    counts = np.zeros(longest + 1, np.int64)
    for key in range(len(starts) - 1):
        begin = starts[key]
        while begin < starts[key + 1]:  # one K-partition after the other
            end, n_lists, rank = begin, 0, 0
            while end < starts[key + 1] and sizes[entries[end] >> 2] == sizes[entries[begin] >> 2]:
                again = end > begin and entries[end] >> 2 == entries[end - 1] >> 2
                rank = rank + 1 if again else 0
                counts[rank + 1] += 1
                n_lists = max(n_lists, rank + 1)
                end += 1
            for rank in range(n_lists):
                counts[rank + 1] += counts[rank]
            for i in range(begin, end):
                again = i > begin and entries[i] >> 2 == entries[i - 1] >> 2
                rank = rank + 1 if again else 0
                spread[begin + counts[rank]] = entries[i]
                spread_origins[begin + counts[rank]] = origins[i]
                counts[rank] += 1
            counts[: n_lists + 1] = 0
            begin = end
    return spread, spread_origins


@kernel
def _cnf_algorithm(
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
    disjunctions: Ints,
    denials: Ints,
    row_of: Ints,
    row_starts: Longs,
    row_clauses: Ints,
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
    """Algorithm 2, with the first pruning of section 5 where it is ranked."""
    n_events, n, n_kept, tally = len(event_starts) - 1, 0, 0, np.zeros(3, np.int64)
    starts, rows, scores = np.zeros(n_events + 1, np.int64), np.empty(1024, np.int32), np.empty(0)
    best_scores, best_rows = np.empty(n_best), np.empty(n_best, np.int32)
    most_keys = longest * most_per_space + 1  # Z is one more
    keys, groups = np.empty(most_keys, np.int32), np.empty(most_keys, np.int32)
    shares, next_runs = np.empty(most_keys, np.int32), np.empty(most_keys, np.int32)
    sizes, group_weights = np.empty(longest + 1, np.int32), np.zeros(longest + 1)
    first, last = np.zeros(n_dims, np.int64), np.zeros(n_dims, np.int64)
    counters = np.empty(np.diff(row_starts).max() if len(row_starts) > 1 else 0, np.int64)
    ins = np.zeros(len(counters) * len(sizes), np.int64)  # of each disjunction and dimension
    outs = np.zeros(len(counters) * len(sizes), np.int64)
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
        # all sizes, however few keys the event has: one key may be in many disjunctions
        for size in range(largest_size, -1, -1):
            n_lists = get_posting_lists(
                size, n_keys, keys, groups, group_weights,
                next_runs, key_runs, run_sizes, run_starts, entries, bounds,
                heads, positions, ends, owners, list_bounds,
            )  # fmt: skip
            needed = max(size, 1)  # sizes 0 and 1 are processed alike
            if n_lists < needed:
                continue
            # the paper leaves the first K lists at a row behind; all are, lest the row be counted
            # once more without those of its ∉ that are violated
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
                    row, n_at, heads, positions, owners, groups, shares, sizes,
                    disjunctions, denials, row_starts, row_clauses, counters, ins, outs,
                )  # fmt: skip
                if satisfied and ranked:
                    score = _score(
                        row, spaces, event_weights, first, last, weights,
                        row_starts, row_clauses, clause_starts, items,
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
    row: int,
    n: int,
    heads: Longs,
    positions: Longs,
    owners: Ints,
    groups: Ints,
    shares: Ints,
    sizes: Ints,
    disjunctions: Ints,
    denials: Ints,
    row_starts: Longs,
    row_clauses: Ints,
    counters: Longs,
    ins: Longs,
    outs: Longs,
) -> bool:
    """Whether each disjunction of the row has a ∈ that is met or a ∉ that is not violated."""
    begin, end = row_starts[row], row_starts[row + 1]
    for i in range(begin, end):
        counters[i - begin] = -denials[row_clauses[i]]
    # the entries of one predicate are merged first: lists may give several, and a wide predicate
    # is ∈ on "present" unless a space that it refuses says ∉
    for at in range(n):
        key, mark = owners[list_of(heads[at])], mark_of(heads[at])
        slot = disjunctions[positions[list_of(heads[at])]] * len(sizes) + groups[key]
        said = shares[key] if mark & ALL else sizes[groups[key]]
        if slot >= 0 and mark & IN:  # Z has no disjunction
            ins[slot] += said
        elif slot >= 0:
            outs[slot] += said
    for at in range(n):
        disjunction = disjunctions[positions[list_of(heads[at])]]
        group = groups[owners[list_of(heads[at])]]
        slot = disjunction * len(sizes) + group
        if slot >= 0:
            if ins[slot] >= sizes[group] > outs[slot]:
                counters[disjunction] = 1
            elif ins[slot] == 0 and outs[slot] >= sizes[group]:
                counters[disjunction] += 1
            ins[slot], outs[slot] = 0, 0
    for i in range(end - begin):  # noqa: SIM110 - a kernel
        if counters[i] == 0:
            return False
    return True


@kernel
def _score(
    row: int,
    spaces: Ints,
    event_weights: Floats,
    first: Longs,
    last: Longs,
    weights: Floats,
    row_starts: Longs,
    row_clauses: Ints,
    clause_starts: Longs,
    items: Ints,
    dims: Ints,
    on_missing: Bools,
    every: Bools,
    span_starts: Ints,
    span_lo: Ints,
    span_hi: Ints,
) -> float:
    """The sum over the disjunctions of a row that holds, in written order, of their best score."""
    score = 0.0
    for j in range(row_starts[row], row_starts[row + 1]):
        best = -np.inf
        for i in range(clause_starts[row_clauses[j]], clause_starts[row_clauses[j] + 1]):
            predicate = items[i]
            dim = dims[predicate]
            if not on_missing[predicate] and not every[predicate]:
                reached = predicate_score(
                    weights[i] if len(weights) else 1.0, first[dim], last[dim], spaces,
                    event_weights, span_starts[predicate], span_starts[predicate + 1],
                    span_lo, span_hi,
                )  # fmt: skip
                best = max(best, reached)
            elif best < 0 and holds(
                predicate, spaces, first, last,
                dims, on_missing, every, span_starts, span_lo, span_hi,
            ):  # fmt: skip
                best = 0.0
        score += best
    return score
