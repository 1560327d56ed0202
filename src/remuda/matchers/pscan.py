"""PSCAN, the baseline of the VLDB'09 paper for CNF: rows in the event's posting lists, evaluated."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np

from remuda.arrays import Bools, Ints, Longs, Ragged, frozen, starts_of
from remuda.encoding.table import CnfTable, EventBatch
from remuda.jit import kernel
from remuda.matchers.contract import Hits
from remuda.matchers.kernels.disjunctions import (
    flat_rows,
    n_denials,
    satisfiable_rows,
    sizes_of_rows,
)
from remuda.matchers.kernels.output import grown
from remuda.matchers.kernels.postings import Keys, event_keys, keys_for, place, post
from remuda.matchers.kernels.truth import holds, lay_out, take_away


@dataclass(frozen=True, slots=True)
class PScan:
    """For each key, the rows that have it in a disjunction which asks for one of its keys."""

    cnf: CnfTable
    keys: Keys
    lists: Ragged
    always: Ints  # the rows without such a disjunction: the Z list

    @classmethod
    def build(cls, cnf: CnfTable) -> Self:
        table = cnf.table
        asking = _asking_only(cnf)
        uses = np.bincount(asking.items, minlength=len(table.predicates.dim))
        keys = keys_for(table, uses, conjunctive=False)
        posted = post(table.predicates, keys, uses, conjunctive=False)
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


def _asking_only(cnf: CnfTable) -> Ragged:
    """The predicates of each row that are in disjunctions without a ∉."""
    flat = flat_rows(cnf)
    lengths = np.diff(flat.rows.starts)
    n_kept = np.diff(cnf.table.clauses.starts)
    raise NotImplementedError
