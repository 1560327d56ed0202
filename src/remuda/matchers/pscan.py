"""PSCAN, the CNF baseline of the VLDB'09 paper: the rows in the event's lists are evaluated."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np

from remuda.arrays import Bools, Ints, Longs, Ragged, frozen
from remuda.encoding.table import CnfTable, EventBatch
from remuda.jit import kernel
from remuda.matchers.contract import Features, Hits
from remuda.matchers.kernels.disjunctions import (
    flat_rows,
    n_denials,
    satisfiable_rows,
    sizes_of_rows,
)
from remuda.matchers.kernels.output import grown
from remuda.matchers.kernels.postings import Keys, event_keys, keys_for, only_in, place, post
from remuda.matchers.kernels.truth import holds, lay_out, take_away


@dataclass(frozen=True, slots=True)
class PScan:
    """For each key, the rows that have it in a disjunction which asks for one of its keys."""

    features: ClassVar[Features] = Features(layout=1)

    cnf: CnfTable
    keys: Keys
    lists: Ragged
    always: Ints  # the rows without such a disjunction: the Z list

    @classmethod
    def build(cls, cnf: CnfTable) -> Self:
        table = cnf.table
        asking = flat_rows(_asking(cnf)).rows
        uses = np.bincount(asking.items, minlength=len(table.predicates.dim))
        keys = keys_for(table, uses, conjunctive=True)
        posted = only_in(post(table.predicates, keys, uses, conjunctive=True))
        kept = satisfiable_rows(cnf)
        lists, _ = place(posted, asking, kept, kept, keys.n_keys)
        rows = frozen(Ragged(lists.starts, lists.items >> 2))
        return cls(cnf, keys, rows, frozen(kept[sizes_of_rows(cnf)[kept] == 0]))

    def match(self, events: EventBatch) -> Hits:
        longest = int(np.diff(events.starts).max(initial=0))
        table = self.cnf.table
        starts, rows, candidates = _pscan(
            events.starts, events.spaces, *self.keys, *self.lists, self.always,
            longest * self.keys.most_per_space, np.zeros(self.cnf.n_rows, np.int64),
            *self.cnf.rows, *table.clauses, table.n_dims, *table.predicates,
        )  # fmt: skip
        return Hits(starts, rows, candidates)

    @property
    def nbytes(self) -> int:
        return sum(array.nbytes for array in (*self.keys, *self.lists, self.always))


def _asking(cnf: CnfTable) -> CnfTable:
    """The rows without their disjunctions that have a ∉: what is left asks for some key."""
    kept = n_denials(cnf.table)[cnf.rows.items] == 0
    starts = np.append(0, np.cumsum(kept))[cnf.rows.starts]
    return CnfTable(Ragged(starts, cnf.rows.items[kept]), cnf.table)


@kernel
def _pscan(
    event_starts: Longs,
    spaces: Ints,
    space_starts: Ints,
    dim_of_space: Ints,
    first_level: Ints,
    level_starts: Ints,
    list_starts: Longs,
    lists: Ints,
    always: Ints,
    most_keys: int,
    seen: Longs,
    row_starts: Longs,
    row_clauses: Ints,
    clause_starts: Longs,
    items: Ints,
    n_dims: int,
    dims: Ints,
    on_missing: Bools,
    every: Bools,
    span_starts: Ints,
    span_lo: Ints,
    span_hi: Ints,
) -> tuple[Longs, Ints, int]:
    n_events = len(event_starts) - 1
    starts = np.zeros(n_events + 1, np.int64)
    rows = np.empty(1024, np.int32)
    keys, groups = np.empty(most_keys, np.int32), np.empty(most_keys, np.int32)
    shares, sizes = np.empty(most_keys, np.int32), np.empty(most_keys, np.int32)
    first, last = np.zeros(n_dims, np.int64), np.zeros(n_dims, np.int64)
    n, candidates = 0, 0
    for event in range(n_events):
        begin, end = event_starts[event], event_starts[event + 1]
        n_keys = event_keys(
            spaces, begin, end,
            space_starts, dim_of_space, first_level, level_starts, keys, groups, shares, sizes,
        )  # fmt: skip
        lay_out(spaces, begin, end, dim_of_space, first, last)
        for k in range(n_keys + 1):
            listed = (
                always if k == n_keys else lists[list_starts[keys[k]] : list_starts[keys[k] + 1]]
            )
            for row in listed:
                if seen[row] > event:
                    continue
                seen[row] = event + 1
                candidates += 1
                found = True
                for j in range(row_starts[row], row_starts[row + 1]):
                    clause, found = row_clauses[j], False
                    for i in range(clause_starts[clause], clause_starts[clause + 1]):
                        if holds(
                            items[i], spaces, first, last,
                            dims, on_missing, every, span_starts, span_lo, span_hi,
                        ):  # fmt: skip
                            found = True
                            break
                    if not found:
                        break
                if found:
                    rows = grown(rows, n + 1)
                    rows[n] = row
                    n += 1
        take_away(spaces, begin, end, dim_of_space, first, last)
        starts[event + 1] = n
    return starts, rows[:n].copy(), candidates
