"""Rows of disjunctions laid flat, and what the VLDB'09 paper counts in them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from remuda.arrays import Ints, Ragged, take_rows
from remuda.encoding.table import ClauseTable, CnfTable
from remuda.matchers.kernels.postings import n_per_row, never_true


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
