"""Operations counted apart from the matchers: they say what no clock does, the same everywhere."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Callable
from itertools import count, pairwise, takewhile
from typing import Any

import numpy as np

from benchmarks.measure import WrongAnswer
from remuda.arrays import Ints, Longs, Ragged
from remuda.encoding.table import ClauseTable, CnfTable, EventBatch, Predicates
from remuda.jit import kernel
from remuda.matchers.kernels.truth import holds, lay_out, no_event, take_away
from remuda.matchers.opindex import OpIndex
from remuda.matchers.propagation import Propagation

Lists = dict[int, dict[tuple[int, int], list[int]]]  # of rows, by size and key


def steps(table: ClauseTable | CnfTable, events: EventBatch, starts: Longs, rows: Ints) -> int:
    """How often the VLDB paper's algorithm moves a list forward: once for each skip.

    Lists have every value of a set or a range, as the paper has them. All that match must be
    among the candidates.
    """
    lists, always = _posting_lists(table)
    n_steps = 0
    for event, (begin, end) in enumerate(pairwise(events.starts.tolist())):
        spaces = events.spaces[begin:end].tolist()
        candidates: set[int] = set()
        for size, of_size in lists.items():
            met = [
                of_size[space, nth]
                for space in spaces
                for nth in takewhile(lambda nth: (space, nth) in of_size, count())  # noqa: B023
            ]
            if size == 0:
                met.append(always)
            n_steps += skips(met, max(size, 1), candidates)
        missed = set(rows[starts[event] : starts[event + 1]].tolist()) - candidates
        if missed:
            raise WrongAnswer(f"event {event} matches rows {sorted(missed)[:3]}, no candidates")
    return n_steps


def _posting_lists(table: ClauseTable | CnfTable) -> tuple[Lists, list[int]]:
    """The rows by their size and by the spaces that decide them; those of size 0 apart.

    A space that decides several disjunctions of a row has it in as many lists.
    """
    plain = table.table if isinstance(table, CnfTable) else table
    deciding = _deciding_spaces(plain)
    denies = plain.predicates.on_missing.tolist()
    lists: Lists = defaultdict(lambda: defaultdict(list))
    always: list[int] = []
    for row, disjunctions in enumerate(_rows(table)):
        size = sum(not any(denies[one] for one in disjunction) for disjunction in disjunctions)
        of_size = lists[size]
        if size == 0:
            always.append(row)
        spaces = Counter(s for d in disjunctions for s in {s for one in d for s in deciding[one]})
        for space, n in spaces.items():
            for nth in range(n):
                of_size[space, nth].append(row)
    return lists, always


def _rows(table: ClauseTable | CnfTable) -> list[list[list[int]]]:
    """Every row as the predicates of its disjunctions; a conjunction has one in each."""
    if isinstance(table, CnfTable):
        clauses = [table.table.clauses.row(i).tolist() for i in range(table.table.n_clauses)]
        return [[clauses[i] for i in table.rows.row(row)] for row in range(table.n_rows)]
    return [[[one] for one in table.clauses.row(i).tolist()] for i in range(table.n_clauses)]


def _deciding_spaces(table: ClauseTable) -> list[list[int]]:
    """What each predicate accepts, or refuses where it holds on missing."""
    predicates, first = table.predicates, table.space_starts.tolist()
    spans = list(zip(predicates.span_lo.tolist(), predicates.span_hi.tolist(), strict=True))
    found = []
    for i, (begin, end) in enumerate(pairwise(predicates.span_starts.tolist())):
        accepted = [space for lo, hi in spans[begin:end] for space in range(lo, hi)]
        if predicates.on_missing[i]:
            dim = int(predicates.dim[i])
            accepted = sorted(set(range(first[dim] + 1, first[dim + 1])) - set(accepted))
        found.append(accepted)
    return found


def skips(met: list[list[int]], needed: int, candidates: set[int]) -> int:
    """Algorithm 1 over the lists: how often one was moved on to a row."""
    heads = sorted((rows[0], i, 0) for i, rows in enumerate(met) if rows)
    n = 0
    while len(heads) >= needed:
        target = heads[needed - 1][0]  # no row before it has enough lists
        if heads[0][0] == target:
            candidates.add(target)
            target += 1
        n_moved = bisect_left(heads, (target,))
        n += n_moved
        moved = [(i, bisect_left(met[i], target, at)) for _, i, at in heads[:n_moved]]
        heads = heads[n_moved:] + [(met[i][at], i, at) for i, at in moved if at < len(met[i])]
        heads.sort()
    return n


def evaluated(table: Any, events: EventBatch, _starts: Longs, _rows: Ints) -> int:
    """How many predicates SCAN evaluates, each clause in its order and up to what is false."""
    clauses, dims = table.clauses, table.dim_of_space()
    return int(_evaluated(*_batch(events), clauses, table.predicates, dims, table.n_dims))


def touched(table: Any, events: EventBatch, _starts: Longs, _rows: Ints) -> int:
    """What Propagation does: a bit for each predicate that an event meets, and candidates."""
    used = np.unique(table.clauses.items)
    each = Ragged(np.arange(len(used) + 1), used)
    dims = table.dim_of_space()
    n_set = _met(*_batch(events), each, table.predicates, dims, table.n_dims)
    return int(n_set) + Propagation.build(table, equalities=True).match(events).candidates


def by_attribute(table: Any, events: EventBatch, _starts: Longs, _rows: Ints) -> int:
    """Candidates of Propagation if clusters were those of the rarest attribute, whatever value."""
    predicates, (starts, items) = table.predicates, table.clauses
    dims = predicates.dim[items]
    asked = np.bincount(dims, minlength=table.n_dims)
    rarest = [
        min(own, key=lambda dim: (asked[dim], dim))
        for own in (dims[begin:end].tolist() for begin, end in pairwise(starts.tolist()))
    ]
    n_clauses = np.bincount(rarest, minlength=table.n_dims)
    return int(n_clauses[table.dim_of_space()[events.spaces]].sum())


def by_first(table: Any, events: EventBatch, _starts: Longs, _rows: Ints) -> int:
    """Candidates of Propagation if a clause hung under its first equality, selective or not."""
    predicates, (starts, items) = table.predicates, table.clauses
    equal = (predicates.n_accepted == 1) & ~predicates.on_missing
    n_always, chosen = 0, []
    for begin, end in pairwise(starts.tolist()):
        own = [one for one in items[begin:end].tolist() if equal[one]]
        n_always += not own
        chosen += own[:1]
    spaces = predicates.span_lo[predicates.span_starts[np.array(chosen, np.int64)]]
    n_clauses = np.bincount(spaces, minlength=table.n_spaces)
    return n_always * len(events) + int(n_clauses[events.spaces].sum())


def entries(table: Any, events: EventBatch, _starts: Longs, _rows: Ints) -> int:
    """What OpIndex does: values looked up in partitions of pivots, and predicates counted there."""
    index = OpIndex.build(table)
    parts = Ragged(index.partition_starts, index.rows)
    dims = index.dim_of_space
    return int(_entries(*_batch(events), parts, table.clauses, table.predicates, dims))


def _batch(events: EventBatch) -> tuple[Longs, Ints]:
    return events.starts, events.spaces


@kernel
def _evaluated(
    event_starts: Longs,
    spaces: Ints,
    clauses: Ragged,
    predicates: Predicates,
    dim_of_space: Ints,
    n_dims: int,
) -> int:
    n, laid_out = 0, no_event(spaces, n_dims)
    for event in range(len(event_starts) - 1):
        lay_out(laid_out, event_starts[event], event_starts[event + 1], dim_of_space)
        for clause in range(len(clauses.starts) - 1):
            for i in range(clauses.starts[clause], clauses.starts[clause + 1]):
                n += 1
                if not holds(clauses.items[i], predicates, laid_out):
                    break
        take_away(laid_out, event_starts[event], event_starts[event + 1], dim_of_space)
    return n


@kernel
def _met(
    event_starts: Longs,
    spaces: Ints,
    each: Ragged,
    predicates: Predicates,
    dim_of_space: Ints,
    n_dims: int,
) -> int:
    """How many predicates are decided by what events have, not by what they lack."""
    n, laid_out = 0, no_event(spaces, n_dims)
    for event in range(len(event_starts) - 1):
        lay_out(laid_out, event_starts[event], event_starts[event + 1], dim_of_space)
        for predicate in each.items:
            if laid_out.first[predicates.dim[predicate]] < laid_out.last[predicates.dim[predicate]]:
                denied = predicates.on_missing[predicate]
                n += holds(predicate, predicates, laid_out) != denied
        take_away(laid_out, event_starts[event], event_starts[event + 1], dim_of_space)
    return n


@kernel
def _entries(
    event_starts: Longs,
    spaces: Ints,
    parts: Ragged,
    clauses: Ragged,
    predicates: Predicates,
    dim_of_space: Ints,
) -> int:
    n_dims = len(parts.starts) - 2
    n, laid_out = 0, no_event(spaces, n_dims)
    for event in range(len(event_starts) - 1):
        begin, end = event_starts[event], event_starts[event + 1]
        lay_out(laid_out, begin, end, dim_of_space)
        for i in range(begin, end + 1):
            pivot = dim_of_space[spaces[i]] if i < end else n_dims
            first, last = parts.starts[pivot], parts.starts[pivot + 1]
            n += end - begin if first < last else 0
            for clause in parts.items[first:last]:
                for predicate in clauses.items[clauses.starts[clause] : clauses.starts[clause + 1]]:
                    dim = predicates.dim[predicate]
                    if laid_out.first[dim] < laid_out.last[dim]:
                        denied = predicates.on_missing[predicate]
                        n += holds(predicate, predicates, laid_out) != denied
        take_away(laid_out, begin, end, dim_of_space)
    return n


COUNTS: dict[str, Callable[[Any, EventBatch, Longs, Ints], int]] = {
    "kindex/steps": steps,
    "scan/evaluated": evaluated,
    "propagation/touched": touched,
    "propagation/attribute": by_attribute,
    "propagation/first": by_first,
    "opindex/entries": entries,
}
