"""PSCAN, the CNF baseline of the VLDB'09 paper: the rows in the event's lists are evaluated."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np

from remuda.arrays import Ints, Longs, Ragged, frozen, starts_of
from remuda.encoding.table import CnfTable, EventBatch, Predicates
from remuda.jit import kernel
from remuda.matchers.contract import Features, Hits
from remuda.matchers.kernels.disjunctions import (
    all_hold,
    flat_rows,
    n_denials,
    satisfiable_rows,
    sizes_of_rows,
)
from remuda.matchers.kernels.growth import grown
from remuda.matchers.kernels.postings import (
    Keys,
    event_keys,
    only_in,
    place,
    post,
    room_for_keys,
)
from remuda.matchers.kernels.truth import lay_out, no_event, take_away


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
        asking = flat_rows(_asking(cnf)).rows
        keys, posted = post(cnf.table, asking, conjunctive=True)
        kept = satisfiable_rows(cnf)
        lists, _ = place(only_in(posted), asking, kept, kept, keys.n_keys)
        rows = frozen(Ragged(lists.starts, lists.items >> 2))
        return cls(cnf, keys, rows, frozen(kept[sizes_of_rows(cnf)[kept] == 0]))

    def match(self, events: EventBatch) -> Hits:
        longest = int(np.diff(events.starts).max(initial=0))
        table = self.cnf.table
        starts, rows, candidates = _pscan(
            events.starts, events.spaces, self.keys, self.lists, self.always,
            longest * self.keys.most_per_space, np.zeros(self.cnf.n_rows, np.int64),
            self.cnf.rows, table.clauses, table.n_dims, table.predicates,
        )  # fmt: skip
        return Hits(starts, rows, candidates)

    @property
    def nbytes(self) -> int:
        return sum(array.nbytes for array in (*self.keys, *self.lists, self.always))


def _asking(cnf: CnfTable) -> CnfTable:
    """The rows without their disjunctions that have a ∉: what is left asks for some key."""
    kept = n_denials(cnf.table)[cnf.rows.items] == 0
    return CnfTable(Ragged(starts_of(kept)[cnf.rows.starts], cnf.rows.items[kept]), cnf.table)


@kernel
def _pscan(
    event_starts: Longs,
    spaces: Ints,
    keys: Keys,
    lists: Ragged,
    always: Ints,
    most_keys: int,
    seen: Longs,
    cnf_rows: Ragged,
    clauses: Ragged,
    n_dims: int,
    predicates: Predicates,
) -> tuple[Longs, Ints, int]:
    n_events = len(event_starts) - 1
    starts = np.zeros(n_events + 1, np.int64)
    rows = np.empty(1024, np.int32)
    met, laid_out = room_for_keys(most_keys), no_event(spaces, n_dims)
    n, candidates = 0, 0
    for event in range(n_events):
        begin, end = event_starts[event], event_starts[event + 1]
        n_keys = event_keys(spaces, begin, end, keys, met)
        lay_out(laid_out, begin, end, keys.dim_of_space)
        for k in range(n_keys + 1):
            listed = always
            if k < n_keys:
                listed = lists.items[lists.starts[met.keys[k]] : lists.starts[met.keys[k] + 1]]
            for row in listed:
                if seen[row] > event:
                    continue
                seen[row] = event + 1
                candidates += 1
                if all_hold(row, cnf_rows, clauses, predicates, laid_out):
                    rows = grown(rows, n + 1)
                    rows[n] = row
                    n += 1
        take_away(laid_out, begin, end, keys.dim_of_space)
        starts[event + 1] = n
    return starts, rows[:n].copy(), candidates
