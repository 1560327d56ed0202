"""Scores known before the question: how much a criterion, a clause or a row can score at most.

All are for events that give no weights, and are summed as scores are: in written order, so that
rounding never puts a score above its bound. A conjunction without weights of single values always
scores its bound.

A clause is bounded for each of its owners by the written conjunctions that it is met with: an
owner whose score is s has some clause that holds and is bounded by s or more. Where the clauses of
a criterion are not the conjunctions that were written, each is bounded as the whole criterion.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from remuda.arrays import Bools, Floats, Ints, Longs, Ragged, frozen, starts_of
from remuda.encoding.programs import Programs
from remuda.encoding.table import ClauseTable, Predicates
from remuda.jit import bare, kernel


class Bounds(NamedTuple):
    """The most that is scored; arrays are empty where every weight is 1, and codes are counted."""

    criteria: Floats
    clauses: Floats  # the most of all owners
    rows: Floats  # the same of the rows of a CNF
    plain: bool  # every criterion scores its bound, whatever the event
    negative: bool  # some weight is below zero
    written: bool  # whoever meets a clause has scored its bound, for clauses are as written


NO_BOUNDS = frozen(Bounds(np.empty(0), np.empty(0), np.empty(0), False, False, False))


class OfOwners(NamedTuple):
    """What each clause can score at most for each of its owners, beside `Plan.owners`."""

    of_owners: Floats
    noted: Bools  # of each criterion: its clauses are met with the conjunctions that were written
    exact: Bools  # of each clause: it has just the predicates of those


def bounds_of(
    programs: Programs,
    conjunctions: ClauseTable,
    owners: Ragged,
    cnf_owners: Ragged,
    checked: Bools,
) -> Bounds:
    """The bounds of all criteria, clauses and rows."""
    weighted = bool(((programs.leaf_weight != 0) & (programs.leaf_weight != 1)).any())
    plain = not checked.any() and not len(programs.value_weight) and _are_plain(programs)
    negative = bool((programs.leaf_weight < 0).any() or (programs.value_weight < 0).any())
    if not weighted and not len(programs.value_weight):
        return NO_BOUNDS._replace(plain=plain)
    criteria = most_of(programs, conjunctions.predicates)
    merits = merits_of(programs, conjunctions, owners, checked, criteria)
    return Bounds(
        frozen(criteria),
        frozen(largest(owners, merits.of_owners)),
        frozen(largest(cnf_owners, criteria[cnf_owners.items])),
        plain,
        negative,
        bool(merits.exact.all() and merits.noted.all() and not len(programs.value_weight)),
    )


def most_of(programs: Programs, predicates: Predicates, *, absolute: bool = False) -> Floats:
    """The most that each criterion scores; `absolute`, as if every weight were above zero."""
    most: Floats = _most(programs, leaf_bounds(programs, predicates, absolute=absolute))
    return most


def merits_of(
    programs: Programs,
    conjunctions: ClauseTable,
    owners: Ragged,
    checked: Bools,
    criteria: Floats,
) -> OfOwners:
    """What each clause can score at most for each of its owners."""
    who = np.where(owners.items < 0, ~owners.items, owners.items)
    n_criteria = len(checked)
    rows = np.repeat(np.arange(len(owners.starts) - 1), np.diff(owners.starts))
    order = np.argsort(who, kind="stable")
    own_starts = starts_of(np.bincount(who, minlength=n_criteria))
    of_owners, noted = np.full(len(who), -np.inf), ~checked
    leaves, exact = (
        leaf_bounds(programs, conjunctions.predicates),
        np.ones(conjunctions.n_clauses, np.bool_),
    )
    _note_all(
        own_starts, rows[order], order, conjunctions.clauses, programs, leaves, of_owners, noted,
        exact,
    )  # fmt: skip
    whole = ~noted[who]
    of_owners[whole] = criteria[who[whole]]
    exact[np.repeat(np.arange(len(exact)), np.diff(owners.starts))[whole]] = False
    return OfOwners(of_owners, noted, exact)


def largest(rows: Ragged, values: Floats) -> Floats:
    """The largest value of each row; minus infinity where it has none."""
    found = np.full(len(rows.starts) - 1, -np.inf)
    np.maximum.at(found, np.repeat(np.arange(len(found)), np.diff(rows.starts)), values)
    return found


def leaf_bounds(programs: Programs, predicates: Predicates, *, absolute: bool = False) -> Floats:
    """The largest weight of each leaf; its own counts only if some value has none by itself."""
    own, values = programs.leaf_weight, programs.value_weight
    if absolute:
        own, values = np.abs(own), np.abs(values)
    if not len(values):
        return own
    found = np.where(_all_named(programs, predicates), -np.inf, own)
    np.maximum.at(found, _named(programs), values)
    return found


def space_bounds(programs: Programs, predicates: Predicates, n_spaces: int) -> Floats:
    """The most that any leaf scores for each space, if above zero."""
    own = np.zeros(len(predicates.dim))
    weights = programs.leaf_weight
    if len(programs.value_weight):
        weights = np.where(_all_named(programs, predicates), 0.0, weights)
    np.maximum.at(own, programs.leaf_literal, weights)
    found: Floats = _painted(np.argsort(-own), own, predicates, n_spaces)
    np.maximum.at(found, programs.value_space, programs.value_weight)
    return found


def missing_bounds(programs: Programs, predicates: Predicates, n_dims: int) -> Floats:
    """The most that any leaf scores for want of each dimension, if above zero."""
    found = np.zeros(n_dims)
    leaves = predicates.on_missing[programs.leaf_literal]
    dims = predicates.dim[programs.leaf_literal[leaves]]
    np.maximum.at(found, dims, programs.leaf_weight[leaves])
    return found


def criteria_parts(programs: Programs, dim: Ints, asked: Bools) -> Ragged:
    """The disjunctions of some criteria: of each leaf twice its dimension, plus 1 in the last one.

    Leaves that no Or joins with leaves alone are disjunctions by themselves, so that a sum over all
    that scores zero or more is never below the score.
    """
    n_codes = np.diff(programs.starts)
    is_leaf = programs.codes >= 0
    wanted = is_leaf & np.repeat(asked, n_codes)
    counts = np.bincount(np.repeat(np.arange(len(asked)), n_codes)[wanted], minlength=len(asked))
    last = np.ones(len(is_leaf), np.bool_)
    _join(programs.starts, programs.codes, last)
    literals = programs.leaf_literal[programs.codes[wanted]]
    return Ragged(starts_of(counts), (dim[literals] << 1 | last[wanted]).astype(np.int32))


@kernel
def _join(starts: Longs, codes: Ints, last: Bools) -> None:
    """Of leaves that make up an Or, leave only the last one marked."""
    for row in range(len(starts) - 1):
        n_leaves = 0  # without an And or Or between them
        for step in range(starts[row], starts[row + 1]):
            n_parts, either = (-codes[step] - 1) >> 1, (-codes[step] - 1) & 1
            if codes[step] < 0 and either and n_parts <= n_leaves:
                last[step - n_parts : step - 1] = False
            n_leaves = n_leaves + 1 if codes[step] >= 0 else 0


def _named(programs: Programs) -> Longs:
    """Of each value that has a weight of its own, its leaf."""
    return np.repeat(np.arange(len(programs.leaf_weight)), np.diff(programs.value_starts))


def _all_named(programs: Programs, predicates: Predicates) -> Bools:
    """Of each leaf whether all values that it accepts have weights of their own."""
    n_leaves = len(programs.leaf_weight)
    distinct = np.unique(np.stack([_named(programs), programs.value_space]), axis=1)[0]
    n_named = np.bincount(distinct, minlength=n_leaves)
    found: Bools = (n_named > 0) & (n_named >= predicates.n_accepted[programs.leaf_literal])
    return found


@kernel
def _painted(order: Longs, weights: Floats, predicates: Predicates, n_spaces: int) -> Floats:
    """The weight of the first predicate in order that accepts each space; 0 where none does."""
    weight_of = np.zeros(n_spaces)
    after = np.arange(n_spaces + 1)  # from each space, a way to the next without a weight
    for predicate in order:
        for i in range(predicates.span_starts[predicate], predicates.span_starts[predicate + 1]):
            space = _next(predicates.span_lo[i], after)
            while space < predicates.span_hi[i]:
                weight_of[space] = weights[predicate]
                after[space] = space + 1
                space = _next(space + 1, after)
    return weight_of


@bare
def _next(space: int, after: Longs) -> int:
    while after[space] != space:
        after[space] = after[after[space]]
        space = after[space]
    return space


@kernel
def _are_plain(programs: Programs) -> bool:
    """Whether each program is a conjunction of leaves, or one leaf."""
    for row in range(len(programs.starts) - 1):
        begin, end = programs.starts[row], programs.starts[row + 1]
        if end - begin == 1 and programs.codes[begin] >= 0:
            continue
        code = -programs.codes[end - 1] - 1
        if code & 1 or code >> 1 != end - begin - 1:
            return False
        for step in range(begin, end - 1):
            if programs.codes[step] < 0:
                return False
    return True


@kernel
def _most(programs: Programs, leaf_most: Floats) -> Floats:
    n_criteria = len(programs.starts) - 1
    longest = 0
    for row in range(n_criteria):
        longest = max(longest, programs.starts[row + 1] - programs.starts[row])
    found, stack = np.empty(n_criteria), np.empty(longest + 1)
    for row in range(n_criteria):
        found[row] = most_of_one(row, programs, leaf_most, stack)
    return found


@bare
def most_of_one(row: int, programs: Programs, leaf_most: Floats, stack: Floats) -> float:
    """The most that a criterion scores, given that of leaves; the stack is as long as a program."""
    n = 0
    for step in range(programs.starts[row], programs.starts[row + 1]):
        code = programs.codes[step]
        if code >= 0:
            stack[n] = leaf_most[code]
            n += 1
            continue
        n_parts, either = (-code - 1) >> 1, (-code - 1) & 1
        n -= n_parts
        joined = -np.inf if either else 0.0
        for i in range(n, n + n_parts):
            joined = max(joined, stack[i]) if either else joined + stack[i]
        stack[n] = joined
        n += 1
    return float(stack[0])


@kernel
def _note_all(
    own_starts: Longs,
    own_rows: Longs,
    own_places: Longs,
    clauses: Ragged,
    programs: Programs,
    leaf_bounds: Floats,
    of_owners: Floats,
    noted: Bools,
    exact: Bools,
) -> None:
    """Note every written conjunction at a clause of its criterion that it satisfies.

    A criterion that is not an Or of conjunctions, or has one without such a clause, is not noted.
    """
    leaves = np.empty(64, np.int32)
    for criterion in range(len(noted)):
        if not noted[criterion]:
            continue
        first, last = own_starts[criterion], own_starts[criterion + 1]
        own, places = own_rows[first:last], own_places[first:last]
        begin, end = programs.starts[criterion], programs.starts[criterion + 1]
        n, n_groups, fine = 0, 0, True
        for step in range(begin, end):
            code = programs.codes[step]
            if code >= 0:
                if n == len(leaves):
                    leaves = np.concatenate((leaves, leaves))
                leaves[n] = code
                n += 1
                continue
            n_parts, either = (-code - 1) >> 1, (-code - 1) & 1
            if either:  # at the end, of conjunctions, those left being of one leaf each
                fine = step == end - 1 and n_parts == n_groups + n
                for i in range(n):
                    fine = fine and _note(
                        leaves[i : i + 1], own, places, clauses, programs, leaf_bounds, of_owners,
                        exact,
                    )  # fmt: skip
                n = 0
            else:
                fine = n_parts <= n and (step < end - 1 or n_groups == 0)
                fine = fine and _note(
                    leaves[n - n_parts : n], own, places, clauses, programs, leaf_bounds,
                    of_owners, exact,
                )  # fmt: skip
                n -= n_parts
            n_groups += 1
            if not fine:
                break
        if fine and n == 1 and n_groups == 0:
            fine = _note(leaves[:1], own, places, clauses, programs, leaf_bounds, of_owners, exact)
        elif n > 0:
            fine = False
        noted[criterion] = fine


@kernel
def _note(
    leaves: Ints,
    own: Longs,
    places: Longs,
    clauses: Ragged,
    programs: Programs,
    leaf_bounds: Floats,
    of_owners: Floats,
    exact: Bools,
) -> bool:
    """Raise the bound of the largest clause of which all is among the leaves; False without one."""
    score = 0.0 if len(leaves) != 1 else leaf_bounds[leaves[0]]
    if len(leaves) != 1:
        for leaf in leaves:
            score += leaf_bounds[leaf]
    best, most = -1, -1  # the clause with the most of the leaves, and how many
    for i in range(len(own)):
        first, last = clauses.starts[own[i]], clauses.starts[own[i] + 1]
        within = True
        for place in range(first, last):
            met = False
            for leaf in leaves:
                met |= programs.leaf_literal[leaf] == clauses.items[place]
            within &= met
        if within and last - first > most:
            best, most = i, last - first
            if most == len(leaves):
                break
    if best < 0:
        return False
    exact[own[best]] &= most == len(leaves)
    of_owners[places[best]] = max(of_owners[places[best]], score)
    return True
