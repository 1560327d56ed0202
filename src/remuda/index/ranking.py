"""What matchers are told of scores when they are built."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from remuda.arrays import Bools, Floats, Ints, Ragged, frozen
from remuda.encoding.bounds import (
    OfOwners,
    criteria_parts,
    largest,
    leaf_bounds,
    merits_of,
    missing_bounds,
    most_of,
    space_bounds,
)
from remuda.encoding.plan import Plan
from remuda.encoding.programs import Programs
from remuda.jit import kernel
from remuda.matchers.contract import ItemBounds, Merits
from remuda.matchers.kernels.promises import Promises

_ROUNDING = 1e-12  # of sums in another order


def merits(plan: Plan, ranks: Ints) -> Merits:
    """Of each clause the most that it scores for an owner, and the first rank of such owners."""
    of_owners = _merits(plan).of_owners
    who = np.where(plan.owners.items < 0, ~plan.owners.items, plan.owners.items)
    scores = largest(plan.owners, of_owners)
    rows = np.repeat(np.arange(len(scores)), np.diff(plan.owners.starts))
    first = np.full(len(scores), np.iinfo(np.int32).max, np.int32)
    best = of_owners == scores[rows]
    np.minimum.at(first, rows[best], ranks[who[best]])
    return Merits(scores, first)


def _merits(plan: Plan) -> OfOwners:
    return merits_of(
        plan.programs, plan.conjunctions, plan.owners, plan.checked, criteria_bounds(plan)
    )


def criteria_bounds(plan: Plan) -> Floats:
    """The most that each criterion scores, counted where the plan keeps none."""
    kept = plan.bounds.criteria
    return kept if len(kept) else most_of(plan.programs, plan.conjunctions.predicates)


def promises(plan: Plan, attribute_of_dim: Ints) -> Promises:
    """What clauses and their owners promise to an event."""
    table, exact = plan.conjunctions, _merits(plan).exact
    owners = plan.owners.items[~np.repeat(exact, np.diff(plan.owners.starts))]
    inexact = np.zeros(plan.n_criteria, np.bool_)
    inexact[np.where(owners < 0, ~owners, owners)] = True
    inexact[plan.cnf_owners.items] = True
    return frozen(
        Promises(
            space_bounds(plan.programs, table.predicates, table.n_spaces),
            missing_bounds(plan.programs, table.predicates, table.n_dims),
            attribute_of_dim,
            table.clauses,
            exact,
            criteria_parts(plan.programs, table.predicates.dim, inexact),
        )
    )


def with_best_first(plan: Plan, ranks: Ints) -> Plan:
    """The plan with the owners of each clause by what they score at most, then by rank.

    Those that have several clauses still stand behind the others.
    """
    starts, items = plan.owners
    counts = np.diff(starts)
    several = np.flatnonzero(np.repeat(counts > 1, counts))
    if not len(several):
        return plan
    rows, owners = np.repeat(np.arange(len(counts)), counts)[several], items[several]
    who = np.where(owners < 0, ~owners, owners)
    order = np.lexsort((ranks[who], -criteria_bounds(plan)[who], owners < 0, rows))
    ordered = items.copy()
    ordered[several] = owners[order]
    return replace(plan, owners=frozen(Ragged(starts, ordered)))


@kernel
def stand_best_first(owners: Ragged, most: Floats, ranks: Ints) -> bool:
    """Whether the owners of each clause stand as `with_best_first` has them."""
    for clause in range(len(owners.starts) - 1):
        for i in range(owners.starts[clause] + 1, owners.starts[clause + 1]):
            before, owner = owners.items[i - 1], owners.items[i]
            if before >= 0 > owner:
                continue
            one, other = (before, owner) if owner >= 0 else (~before, ~owner)
            if most[one] < most[other] or (most[one] == most[other] and ranks[one] > ranks[other]):
                return False
    return True


def item_bounds(plan: Plan) -> ItemBounds:
    """Those of the conjunctions; of one that is not as written, all is in the first item asked for.

    Weights below zero count as 0.
    """
    table, programs = plan.conjunctions, plan.programs
    ceilings = _merits(plan)
    rows = np.maximum(largest(plan.owners, ceilings.of_owners), 0.0)
    leaves = np.maximum(leaf_bounds(programs, table.predicates), 0.0)
    items = np.zeros(len(table.clauses.items))
    _raise_items(table.clauses, plan.owners, programs, leaves, table.predicates.on_missing, items)
    sizes = np.diff(table.clauses.starts)
    sums = np.add.reduceat(np.append(items, 0.0), table.clauses.starts[:-1])
    loose = ~ceilings.exact | ((sums < rows * (1 - _ROUNDING)) & (sizes > 0))
    items[np.repeat(loose, sizes)] = 0.0
    spare = np.zeros(len(items))
    _add_to_first(table.clauses, table.predicates.on_missing, np.where(loose, rows, 0.0), spare)
    return ItemBounds(items, spare, rows)


def cnf_item_bounds(plan: Plan) -> ItemBounds:
    """Those of the disjunctions; a row that is not as it was written has its bound in each item."""
    table, programs, rows = plan.cnf.table, plan.programs, plan.cnf.rows
    criteria = criteria_bounds(plan)
    most = np.maximum(largest(plan.cnf_owners, criteria[plan.cnf_owners.items]), 0.0)
    leaves = np.maximum(leaf_bounds(programs, table.predicates), 0.0)
    items = np.zeros(len(table.clauses.items))
    on_missing = table.predicates.on_missing
    noted = _raise_disjunctions(
        rows, plan.cnf_owners, table.clauses, programs, leaves, on_missing, plan.checked, items
    )
    spare = np.zeros(len(items))
    for row in np.flatnonzero(~noted):
        for clause in rows.row(int(row)):
            here = slice(table.clauses.starts[clause], table.clauses.starts[clause + 1])
            spare[here] = np.maximum(spare[here], most[row])
    return ItemBounds(items, spare, most)


@kernel
def _raise_items(
    clauses: Ragged,
    owners: Ragged,
    programs: Programs,
    leaf_most: Floats,
    on_missing: Bools,
    items: Floats,
) -> None:
    """Raise each item that is asked for to what it scores for an owner of its clause."""
    for clause in range(len(clauses.starts) - 1):
        for i in range(owners.starts[clause], owners.starts[clause + 1]):
            owner = owners.items[i]
            criterion = owner if owner >= 0 else ~owner
            for place in range(clauses.starts[clause], clauses.starts[clause + 1]):
                if not on_missing[clauses.items[place]]:
                    most = _most_of_literal(clauses.items[place], criterion, programs, leaf_most)
                    items[place] = max(items[place], most)


@kernel
def _most_of_literal(literal: int, criterion: int, programs: Programs, leaf_most: Floats) -> float:
    most = 0.0
    for step in range(programs.starts[criterion], programs.starts[criterion + 1]):
        code = programs.codes[step]
        if code >= 0 and programs.leaf_literal[code] == literal:
            most = max(most, leaf_most[code])
    return most


@kernel
def _add_to_first(clauses: Ragged, on_missing: Bools, lacking: Floats, items: Floats) -> None:
    """Add what each clause lacks to the first of its items that an event must meet."""
    for clause in range(len(lacking)):
        for place in range(clauses.starts[clause], clauses.starts[clause + 1]):
            if not on_missing[clauses.items[place]]:
                items[place] += lacking[clause]
                break


@kernel
def _raise_disjunctions(
    rows: Ragged,
    owners: Ragged,
    clauses: Ragged,
    programs: Programs,
    leaf_most: Floats,
    on_missing: Bools,
    checked: Bools,
    items: Floats,
) -> Bools:
    """Raise the items of rows that are just as their owners were written; which rows are."""
    noted = np.ones(len(rows.starts) - 1, np.bool_)
    for row in range(len(noted)):
        for i in range(owners.starts[row], owners.starts[row + 1]):
            criterion = owners.items[i]
            noted[row] &= not checked[criterion] and _is_written(
                row, criterion, rows, clauses, programs, leaf_most, on_missing
            )
        if not noted[row]:
            continue
        for i in range(owners.starts[row], owners.starts[row + 1]):
            for j in range(rows.starts[row], rows.starts[row + 1]):
                clause = rows.items[j]
                for place in range(clauses.starts[clause], clauses.starts[clause + 1]):
                    most = _most_of_literal(
                        clauses.items[place], owners.items[i], programs, leaf_most
                    )
                    items[place] = max(items[place], most)
    return noted


@kernel
def _is_written(
    row: int,
    criterion: int,
    rows: Ragged,
    clauses: Ragged,
    programs: Programs,
    leaf_most: Floats,
    on_missing: Bools,
) -> bool:
    """Whether a criterion is an And of Ors of leaves, each of which is a disjunction of the row."""
    begin, end = programs.starts[criterion], programs.starts[criterion + 1]
    used = np.zeros(rows.starts[row + 1] - rows.starts[row], np.bool_)
    first = begin  # of the leaves that belong to no Or yet
    last = -programs.codes[end - 1] - 1
    last_and = end - 1 if last >= 0 and not last & 1 else end
    n_groups = 0
    for step in range(begin, last_and):
        code = programs.codes[step]
        if code >= 0:
            if leaf_most[code] > 0 and on_missing[programs.leaf_literal[code]]:
                return False  # what scores has no list
            continue
        n_parts, either = (-code - 1) >> 1, (-code - 1) & 1
        if not either or n_parts > step - first:
            return False
        for alone in range(first, step - n_parts):
            if not _uses(programs, alone, alone + 1, row, rows, clauses, used):
                return False
            n_groups += 1
        if not _uses(programs, step - n_parts, step, row, rows, clauses, used):
            return False
        n_groups += 1
        first = step + 1
    for alone in range(first, last_and):
        if not _uses(programs, alone, alone + 1, row, rows, clauses, used):
            return False
        n_groups += 1
    return bool(used.all()) and (last_and < end or n_groups == 1)


@kernel
def _uses(
    programs: Programs, begin: int, end: int, row: int, rows: Ragged, clauses: Ragged, used: Bools
) -> bool:
    """Whether some disjunction that is not yet used has just the leaves; it is used then."""
    for j in range(len(used)):
        clause = rows.items[rows.starts[row] + j]
        n_items = clauses.starts[clause + 1] - clauses.starts[clause]
        if used[j] or n_items != end - begin:
            continue
        same = True
        for step in range(begin, end):
            met = False
            for place in range(clauses.starts[clause], clauses.starts[clause + 1]):
                met |= clauses.items[place] == programs.leaf_literal[programs.codes[step]]
            same &= met
        if same:
            used[j] = True
            return True
    return False
