"""Plans side by side: those of several segments in one, then only what is still needed of it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from remuda.arrays import Ints, Longs, Ragged, starts_of, take_rows
from remuda.encoding.plan import Plan
from remuda.encoding.programs import Programs
from remuda.encoding.table import ClauseTable, CnfTable, Predicates
from remuda.encoding.vocabulary import Dimension, Vocabulary, base_of

GONE = -1


def remaining(plans: Sequence[tuple[Plan, Vocabulary]], numbers: Longs) -> Plan:
    """The criteria that have new numbers, and what they need, with nothing shared.

    Dimensions and spaces are those of all plans one after the other. Copies of a dimension are
    not told apart here, and who owns several clauses is not marked.
    """
    whole = _side_by_side([one for one, _ in plans])
    return _narrowed(_without_copies(whole, [words for _, words in plans]), numbers)


def _side_by_side(plans: Sequence[Plan]) -> Plan:
    """The plans as one, with nothing shared; who owns several clauses is not marked."""
    tables = [one.conjunctions for one in plans]
    disjunctions = [one.cnf.table.clauses for one in plans]
    criteria = _offsets(one.n_criteria for one in plans)
    numbers = _offsets(len(one.predicates.dim) for one in tables)
    rows = _offsets(len(one.starts) - 1 for one in disjunctions)
    spaces = _offsets(one.n_spaces for one in tables)
    if spaces[-1] > np.iinfo(np.int32).max:
        raise ValueError("more than 2^31 spaces in the segments to merge")
    space_starts = _starts([one.space_starts for one in tables]).astype(np.int32)
    predicates = _predicates_side_by_side(tables, spaces)
    clauses = _stacked([one.clauses for one in tables], numbers)
    alternatives = _stacked(disjunctions, numbers)
    return Plan(
        ClauseTable(space_starts, predicates, clauses),
        _stacked([_unmarked(one.owners) for one in plans], criteria),
        CnfTable(
            _stacked([one.cnf.rows for one in plans], rows),
            ClauseTable(space_starts, predicates, alternatives),
        ),
        _stacked([one.cnf_owners for one in plans], criteria),
        np.concatenate([one.checked for one in plans]),
        _programs_side_by_side([one.programs for one in plans], numbers, spaces),
    )


def _predicates_side_by_side(tables: Sequence[ClauseTable], spaces: Sequence[int]) -> Predicates:
    every = [one.predicates for one in tables]
    return Predicates(
        _shifted([one.dim for one in every], _offsets(one.n_dims for one in tables)),
        np.concatenate([one.on_missing for one in every]),
        np.concatenate([one.every for one in every]),
        _starts([one.span_starts for one in every]).astype(np.int32),
        _shifted([one.span_lo for one in every], spaces),
        _shifted([one.span_hi for one in every], spaces),
    )


def _programs_side_by_side(
    every: Sequence[Programs], numbers: Sequence[int], spaces: Sequence[int]
) -> Programs:
    leaves = _offsets(len(one.leaf_literal) for one in every)
    codes = [
        np.where(one.codes < 0, one.codes, one.codes + np.int32(by))
        for one, by in zip(every, leaves, strict=False)
    ]
    return Programs(
        _starts([one.starts for one in every]),
        np.concatenate(codes),
        _shifted([one.leaf_literal for one in every], numbers),
        np.concatenate([one.leaf_attribute for one in every]),
        np.concatenate([one.leaf_weight for one in every]),
        _starts([one.value_starts for one in every]).astype(np.int32),
        _shifted([one.value_space for one in every], spaces),
        np.concatenate([one.value_weight for one in every]),
    )


def _offsets(sizes: Iterable[int]) -> list[int]:
    """Where each begins, and where the last ends."""
    found: list[int] = starts_of(list(sizes)).tolist()
    return found


def _shifted(arrays: Sequence[Ints], offsets: Sequence[int]) -> Ints:
    pairs = zip(arrays, offsets, strict=False)  # the last offset is the end
    return np.concatenate([one + np.int32(by) for one, by in pairs])


def _starts(arrays: Sequence[NDArray[Any]]) -> Longs:
    return starts_of(np.concatenate([np.diff(one) for one in arrays]))


def _stacked(sources: Sequence[Ragged], offsets: Sequence[int]) -> Ragged:
    items = _shifted([one.items for one in sources], offsets)
    return Ragged(_starts([one.starts for one in sources]), items)


def _unmarked(owners: Ragged) -> Ragged:
    return Ragged(owners.starts, np.where(owners.items < 0, ~owners.items, owners.items))


def _without_copies(whole: Plan, words: Sequence[Vocabulary]) -> Plan:
    """The same with every predicate on the first dimension that has the spaces of its own."""
    homes = _homes(words)
    table, programs = whole.conjunctions, whole.programs
    dims, n_spans = table.predicates.dim, np.diff(table.predicates.span_starts)
    shifts = (table.space_starts[homes] - table.space_starts[:-1])[dims]
    n_values = np.diff(programs.value_starts)
    of_spans = np.repeat(shifts, n_spans)
    of_values = np.repeat(shifts[programs.leaf_literal], n_values)
    predicates = table.predicates._replace(
        dim=homes[dims],
        span_lo=table.predicates.span_lo + of_spans,
        span_hi=table.predicates.span_hi + of_spans,
    )
    return replace(
        whole,
        conjunctions=replace(table, predicates=predicates),
        programs=programs._replace(value_space=programs.value_space + of_values),
    )


def _homes(words: Sequence[Vocabulary]) -> Ints:
    """Of each dimension: the first of its plan that it is a copy of, perhaps itself."""
    homes: list[int] = []
    for vocabulary in words:
        offset, first = len(homes), dict[Dimension, int]()
        for dim, dimension in enumerate(vocabulary.dimensions):
            homes.append(offset + first.setdefault(base_of(dimension), dim))
    return np.array(homes, np.int32)


def _narrowed(whole: Plan, numbers: Longs) -> Plan:
    """The criteria that stay, under their new numbers, and what they need."""
    stay = np.flatnonzero(numbers != GONE)
    criteria = np.empty(len(stay), np.int64)
    criteria[numbers[stay]] = stay
    clauses, owners = _owned(whole.conjunctions.clauses, whole.owners, numbers)
    rows, cnf_owners = _owned(whole.cnf.rows, whole.cnf_owners, numbers)
    named, names = _renumbered(rows.items, whole.cnf.table.n_clauses)
    disjunctions = take_rows(whole.cnf.table.clauses, named)
    programs = _narrowed_programs(whole.programs, criteria)
    uses = [clauses.items, disjunctions.items, programs.leaf_literal]
    predicates = whole.conjunctions.predicates
    kept, used = _renumbered(np.concatenate(uses), len(predicates.dim))
    in_clauses, in_disjunctions, in_leaves = np.split(used, np.cumsum([*map(len, uses[:2])]))
    table = ClauseTable(
        whole.conjunctions.space_starts,
        _some_predicates(predicates, kept),
        Ragged(clauses.starts, in_clauses),
    )
    return Plan(
        table,
        owners,
        CnfTable(
            Ragged(rows.starts, names),
            replace(table, clauses=Ragged(disjunctions.starts, in_disjunctions)),
        ),
        cnf_owners,
        whole.checked[criteria],
        programs._replace(leaf_literal=in_leaves),
    )


def _owned(clauses: Ragged, owners: Ragged, numbers: Longs) -> tuple[Ragged, Ragged]:
    """The clauses that still have owners, and those."""
    found = numbers[owners.items]
    stay = found != GONE
    counts = np.diff(starts_of(stay)[owners.starts])
    rows = np.flatnonzero(counts)
    left = Ragged(starts_of(counts[rows]), found[stay].astype(np.int32))
    return take_rows(clauses, rows), left


def _renumbered(items: Ints, n: int) -> tuple[Longs, Ints]:
    """Those of 0 to n - 1 that occur, and the items as places among them."""
    occurs = np.zeros(n, np.bool_)
    occurs[items] = True
    return np.flatnonzero(occurs), (np.cumsum(occurs, dtype=np.int32) - np.int32(1))[items]


def _some_predicates(predicates: Predicates, kept: Longs) -> Predicates:
    spans = places_of(predicates.span_starts, kept)
    return Predicates(
        predicates.dim[kept],
        predicates.on_missing[kept],
        predicates.every[kept],
        spans.starts.astype(np.int32),
        predicates.span_lo[spans.items],
        predicates.span_hi[spans.items],
    )


def _narrowed_programs(programs: Programs, criteria: Longs) -> Programs:
    starts, codes = take_rows(Ragged(programs.starts, programs.codes), criteria)
    is_leaf = codes >= 0
    leaves, codes[is_leaf] = _renumbered(codes[is_leaf], len(programs.leaf_literal))
    values = places_of(programs.value_starts, leaves)
    return Programs(
        starts,
        codes,
        programs.leaf_literal[leaves],
        programs.leaf_attribute[leaves],
        programs.leaf_weight[leaves],
        values.starts.astype(np.int32),
        programs.value_space[values.items],
        programs.value_weight[values.items],
    )


def places_of(starts: NDArray[Any], rows: Longs) -> Ragged:
    """The places of the items of the given rows."""
    return take_rows(Ragged(starts, np.arange(starts[-1], dtype=np.int32)), rows)
