"""Rows of disjunctions laid flat, and what the VLDB'09 paper counts in them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from remuda.arrays import Ints, Longs, Ragged, take_rows
from remuda.encoding.table import ClauseTable, CnfTable, Predicates
from remuda.jit import bare, kernel
from remuda.matchers.kernels.postings import n_per_row, never_true
from remuda.matchers.kernels.truth import Event, holds


class FlatRows(NamedTuple):
    """All predicates of each row; item i is the table's item `items[i]`.

    `disjunctions` has the place in its row of the disjunction that an item belongs to.
    """

    rows: Ragged
    items: Ints
    disjunctions: Ints


def flat_rows(cnf: CnfTable) -> FlatRows:
    """The rows with their disjunctions strung together."""
    clauses, rows = cnf.table.clauses, cnf.rows
    places = np.arange(len(rows.items)) - np.repeat(rows.starts[:-1], np.diff(rows.starts))
    numbered = Ragged(clauses.starts, np.arange(len(clauses.items), dtype=np.int32))
    parts = take_rows(numbered, rows.items)
    return FlatRows(
        Ragged(parts.starts[rows.starts], clauses.items[parts.items]),
        parts.items,
        np.repeat(places, np.diff(parts.starts)).astype(np.int32),
    )


def n_denials(table: ClauseTable) -> Ints:
    """How many ∉ predicates each disjunction has."""
    return n_per_row(table.predicates.on_missing[table.clauses.items], table.clauses.starts)


def sizes_of_rows(cnf: CnfTable) -> Ints:
    """The size K of each row: how many of its disjunctions have no ∉ predicate."""
    return n_per_row(n_denials(cnf.table)[cnf.rows.items] == 0, cnf.rows.starts)


def satisfiable_rows(cnf: CnfTable) -> Ints:
    """The rows of which every disjunction has a predicate that may be true."""
    clauses = cnf.table.clauses
    n_possible = n_per_row(~never_true(cnf.table.predicates)[clauses.items], clauses.starts)
    n_dead = n_per_row(n_possible[cnf.rows.items] == 0, cnf.rows.starts)
    return np.flatnonzero(n_dead == 0).astype(np.int32)


@bare
def all_hold(row: int, rows: Ragged, clauses: Ragged, predicates: Predicates, event: Event) -> bool:
    """Whether each disjunction of the row has a predicate that holds."""
    for j in range(rows.starts[row], rows.starts[row + 1]):
        clause, found = rows.items[j], False
        for i in range(clauses.starts[clause], clauses.starts[clause + 1]):
            if holds(clauses.items[i], predicates, event):
                found = True
                break
        if not found:
            return False
    return True


def once_per_list(lists: Ragged, origins: Ints, sizes: Ints) -> tuple[Ragged, Ints]:
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
