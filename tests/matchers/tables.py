"""Random tables of clauses and random events, with their truth told by plain Python."""

from __future__ import annotations

import os
from dataclasses import dataclass

import numpy as np

from remuda.arrays import Bools, Ints, Longs, Ragged, frozen, ragged, starts_of
from remuda.encoding.table import ClauseTable, CnfTable, EventBatch, Predicates
from remuda.matchers.contract import Literal


def affordable(matcher: str, n: int) -> int:
    """So many, or a few where the matcher runs in Numba's simulator, some 10 ms an event."""
    simulated = matcher == "gpu" and os.environ.get("NUMBA_ENABLE_CUDASIM") == "1"
    return min(n, 12) if simulated else n


@dataclass(frozen=True)
class Case:
    """A table and a batch, also as Python rows."""

    table: ClauseTable
    events: EventBatch
    clauses: list[list[Literal]]
    event_spaces: list[list[int]]

    def expected(self) -> list[list[int]]:
        """The conjunctions that each event satisfies."""
        return [
            [
                row
                for row, clause in enumerate(self.clauses)
                if all(literal_holds(self.table, literal, event) for literal in clause)
            ]
            for event in self.event_spaces
        ]


def literal_holds(table: ClauseTable, literal: Literal, event: list[int]) -> bool:
    low, high = table.space_starts[literal.dim], table.space_starts[literal.dim + 1]
    seen = [space for space in event if low <= space < high]
    if not seen:
        return literal.on_missing
    accepted = [any(lo <= space < hi for lo, hi in literal.spans) for space in seen]
    return all(accepted) if literal.every else any(accepted)


def random_case(
    seed: int,
    *,
    n_clauses: int = 60,
    n_events: int = 12,
    n_dims: int = 8,
    max_spaces: int = 9,
    max_predicates: int = 5,
    negated: float = 0.3,
    lists: float = 0.2,
    present: float = 0.6,
    empty_clauses: bool = True,
) -> Case:
    """A case drawn from a seed; every shape of predicate occurs, strong and weak denials too."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, max_spaces + 1, n_dims)
    space_starts = starts_of(sizes + 1).astype(np.int32)
    literals: dict[Literal, int] = {}
    clauses = []
    for _ in range(n_clauses):
        n = int(rng.integers(0 if empty_clauses else 1, min(max_predicates, n_dims) + 1))
        dims = rng.permutation(n_dims)[:n]
        clause = [_random_literal(rng, int(dim), space_starts, negated) for dim in dims]
        clauses.append(clause)
    rows = [[literals.setdefault(one, len(literals)) for one in clause] for clause in clauses]
    events = [_random_event(rng, space_starts, present, lists) for _ in range(n_events)]
    table = ClauseTable(frozen(space_starts), predicates_of(list(literals)), ragged(rows))
    batch = ragged(events)
    return Case(table, EventBatch(batch.starts, batch.items), clauses, events)


def predicates_of(literals: list[Literal]) -> Predicates:
    spans = [span for literal in literals for span in literal.spans]
    return frozen(
        Predicates(
            np.array([literal.dim for literal in literals], np.int32),
            np.array([literal.on_missing for literal in literals], np.bool_),
            np.array([literal.every for literal in literals], np.bool_),
            starts_of([len(literal.spans) for literal in literals]).astype(np.int32),
            np.array([lo for lo, _ in spans], np.int32),
            np.array([hi for _, hi in spans], np.int32),
        )
    )


def cnf_of(case: Case, seed: int, n_rows: int = 30) -> tuple[CnfTable, list[list[int]]]:
    """The case's clauses as disjunctions under random rows, and the rows true for each event."""
    rng = np.random.default_rng(seed)
    n = len(case.clauses)
    rows = [
        sorted(set(rng.integers(0, n, int(rng.integers(0, 4))).tolist())) for _ in range(n_rows)
    ]
    some = [
        [any(literal_holds(case.table, one, event) for one in clause) for clause in case.clauses]
        for event in case.event_spaces
    ]
    expected = [[r for r, row in enumerate(rows) if all(true[c] for c in row)] for true in some]
    return CnfTable(ragged(rows), case.table), expected


def _random_literal(
    rng: np.random.Generator, dim: int, space_starts: np.ndarray, negated: float
) -> Literal:
    first, last = int(space_starts[dim]) + 1, int(space_starts[dim + 1])
    kind = rng.random()
    if kind < 0.05:
        return Literal(dim, False, False, ((first, last),))  # exists
    if kind < 0.1:
        return Literal(dim, True, False, ())  # missing
    if kind < 0.13:
        return Literal(dim, False, False, ())  # never
    chosen = np.zeros(last - first, np.bool_)
    if rng.random() < 0.7:  # one interval
        lo, hi = sorted(rng.integers(0, last - first, 2).tolist())
        chosen[lo : hi + 1] = True
    else:
        chosen[rng.integers(0, last - first, 3)] = True
    if rng.random() >= negated:
        or_missing = bool(rng.random() < 0.05)
        return Literal(dim, or_missing, False, _spans(chosen, first))
    return Literal(dim, bool(rng.random() < 0.6), True, _spans(~chosen, first))


def _spans(chosen: np.ndarray, first: int) -> tuple[tuple[int, int], ...]:
    edges = np.flatnonzero(np.diff(np.concatenate(([0], chosen.astype(np.int8), [0]))))
    return tuple((first + int(lo), first + int(hi)) for lo, hi in edges.reshape(-1, 2))


def _random_event(
    rng: np.random.Generator, space_starts: np.ndarray, present: float, lists: float
) -> list[int]:
    spaces: list[int] = []
    for dim in range(len(space_starts) - 1):
        if rng.random() < present:
            n = int(rng.integers(2, 5)) if rng.random() < lists else 1
            span = rng.integers(space_starts[dim] + 1, space_starts[dim + 1], n)
            spaces += sorted(set(span.tolist()))
    return spaces


def intervals(
    n_values: int | Ints,
    clause_starts: Longs,
    dims: Ints,
    lo: Ints,
    hi: Ints,
    *,
    negated: Bools | None = None,
    strong: Bools | None = None,
    n_dims: int | None = None,
) -> ClauseTable:
    """A table from plain columns: clause i asks for lo <= value <= hi on each of its dimensions.

    Values run from 0 to `n_values - 1` and each is a space of its own (value v is the present
    space v + 1 of its dimension).
    """
    n_dims = int(dims.max()) + 1 if n_dims is None else n_dims
    sizes = np.broadcast_to(np.asarray(n_values, np.int64), (n_dims,))
    space_starts = starts_of(sizes + 1)
    if space_starts[-1] > np.iinfo(np.int32).max:
        raise ValueError("more than 2^31 spaces")
    negated = np.zeros(len(dims), np.bool_) if negated is None else negated
    strong = np.zeros(len(dims), np.bool_) if strong is None else strong
    columns = np.stack([dims, lo, hi, negated, strong], axis=1).astype(np.int64)
    shape = [n_dims, int(sizes.max()) + 1, int(sizes.max()) + 1, 2, 2]
    packed = np.zeros(len(dims), np.int64)
    for column, size in zip(columns.T, shape, strict=True):
        packed = packed * size + column
    _, first, inverse = np.unique(packed, return_index=True, return_inverse=True)
    distinct = columns[first]
    return ClauseTable(
        frozen(space_starts.astype(np.int32)),
        _interval_predicates(distinct, space_starts),
        frozen(Ragged(clause_starts.astype(np.int64), inverse.astype(np.int32).ravel())),
    )


def _interval_predicates(distinct: np.ndarray, space_starts: Longs) -> Predicates:
    dim, lo, hi, negated, strong = distinct.T
    first, last = space_starts[dim] + 1, space_starts[dim + 1]
    negated = negated.astype(np.bool_)
    from_, to = first + lo, first + hi + 1
    # a negated predicate accepts what lies below and above its interval
    spans = np.stack(
        [np.where(negated, first, from_), np.where(negated, from_, to), to, last], axis=1
    )
    spans[~negated, 2:] = 0
    spans = spans.reshape(-1, 2)
    kept = spans[:, 0] < spans[:, 1]
    counts = kept.reshape(-1, 2).sum(axis=1)
    return frozen(
        Predicates(
            dim.astype(np.int32),
            negated & ~strong.astype(np.bool_),
            negated,
            starts_of(counts).astype(np.int32),
            spans[kept, 0].astype(np.int32),
            spans[kept, 1].astype(np.int32),
        )
    )
