"""Columns: generated criteria and events as flat arrays, and as expressions and dicts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from remuda.arrays import Bools, Floats, Ints, Longs, starts_of
from remuda.model.attributes import Attribute
from remuda.model.conditions import Condition, In, Range
from remuda.model.expressions import And, Expression, Or, Polarity, Predicate


@dataclass(frozen=True, slots=True)
class Columns:
    """Criteria as flat arrays; the values of dimension d run from 0 to `n_values[d] - 1`.

    Criterion i owns the clauses from `criterion_starts[i]`: alternatives that are conjunctions,
    or, where `cnf[i]`, disjunctions that must all hold. Clause j owns the predicates from
    `clause_starts[j]`, on ascending dimensions. Predicate p owns the spans from `span_starts[p]`,
    ascending and apart: it holds where lo <= value <= hi in one of them, and where `negated`, in
    none. Negation is weak unless `strong`. Where every predicate has one span, `dims`, `lo` and
    `hi` run side by side.
    """

    n_values: Ints
    criterion_starts: Longs
    cnf: Bools
    clause_starts: Longs
    dims: Ints
    negated: Bools
    strong: Bools
    span_starts: Longs
    lo: Ints
    hi: Ints
    weights: Floats | None = None  # of each span
    names: tuple[str, ...] = ()  # of the dimensions, where they are not a0, a1 …

    @property
    def n_criteria(self) -> int:
        return len(self.criterion_starts) - 1

    @property
    def n_dims(self) -> int:
        return len(self.n_values)

    def name(self, dim: int) -> str:
        """The attribute of a dimension."""
        return self.names[dim] if self.names else f"a{dim}"


@dataclass(frozen=True, slots=True)
class EventColumns:
    """Events as flat arrays: event i has one value on each of its ascending dimensions."""

    starts: Longs
    dims: Ints
    values: Ints
    weights: Floats | None = None  # of each value

    @classmethod
    def of(cls, rows: Longs, dims: NDArray[Any], values: NDArray[Any], n: int) -> EventColumns:
        """Those of `n` events whose values are in any order, each in the row of its event."""
        order = np.lexsort((dims, rows))
        starts = starts_of(np.bincount(rows, minlength=n))
        return cls(starts, dims[order].astype(np.int32), values[order].astype(np.int32))

    def __len__(self) -> int:
        return len(self.starts) - 1


@dataclass(frozen=True, slots=True)
class Workload:
    """Criteria, and events to match against them."""

    criteria: Columns
    events: EventColumns

    def expressions(self, n: int | None = None) -> list[Expression]:
        """The first `n` criteria, or all of them, as expressions."""
        return [_expression(self.criteria, i) for i in _first(self.criteria.n_criteria, n)]

    def event_dicts(self, n: int | None = None) -> list[dict[str, int]]:
        """The first `n` events, or all of them, as users write them."""
        names = [self.criteria.name(dim) for dim in range(self.criteria.n_dims)]
        return event_dicts(self.events, names, n)

    def event_weights(self, i: int) -> dict[str, float]:
        """The weights of an event's attributes; empty where none were drawn."""
        events = self.events
        if events.weights is None:
            return {}
        row = slice(events.starts[i], events.starts[i + 1])
        names = map(self.criteria.name, events.dims[row].tolist())
        return dict(zip(names, events.weights[row].tolist(), strict=True))


def conjunctions(
    n_values: Ints,
    clause_starts: Longs,
    dims: Ints,
    negated: Bools,
    spans: tuple[Longs, Ints, Ints],
    *,
    strong: bool = False,
    names: tuple[str, ...] = (),
) -> Columns:
    """Criteria that are one conjunction each."""
    n = len(clause_starts) - 1
    return Columns(
        n_values.astype(np.int32),
        np.arange(n + 1, dtype=np.int64),
        np.zeros(n, np.bool_),
        clause_starts,
        dims.astype(np.int32),
        negated,
        negated & strong,
        *spans,
        names=names,
    )


def spans(lo: Longs, hi: Longs, owners: Longs, values: Longs) -> tuple[Longs, Ints, Ints]:
    """One span for each predicate, but one for each distinct value of those that own values."""
    width = int(values.max(initial=0)) + 1
    packed = np.sort(owners.astype(np.int64) * width + values)
    packed = packed[np.diff(packed, prepend=-1) > 0]  # np.unique hashes, four times as slowly
    n_values = np.bincount(packed // width, minlength=len(lo))
    counts = np.maximum(n_values, 1)
    owning = np.repeat(n_values > 0, counts)
    all_lo, all_hi = np.repeat(lo, counts), np.repeat(hi, counts)
    all_lo[owning] = all_hi[owning] = packed % width
    return starts_of(counts), all_lo.astype(np.int32), all_hi.astype(np.int32)


def event_dicts(
    events: EventColumns, names: Sequence[str], n: int | None = None
) -> list[dict[str, int]]:
    """The first `n` events, or all of them, as users write them."""
    starts, values = events.starts.tolist(), events.values.tolist()
    keys = [names[dim] for dim in events.dims.tolist()]
    return [
        dict(zip(keys[begin:end], values[begin:end], strict=True))
        for begin, end in (starts[i : i + 2] for i in _first(len(events), n))
    ]


def _first(size: int, n: int | None) -> range:
    return range(size if n is None else min(n, size))


def _expression(columns: Columns, i: int) -> Expression:
    """Criterion i, without the And or Or around a single part."""
    inner, outer = (Or, And) if columns.cnf[i] else (And, Or)
    clauses = [
        _joined(inner, [_predicate(columns, p) for p in _row(columns.clause_starts, clause)])
        for clause in _row(columns.criterion_starts, i)
    ]
    return _joined(outer, clauses)


def _joined(join: type[And | Or], parts: Sequence[Expression]) -> Expression:
    return parts[0] if len(parts) == 1 else join(*parts)


def _row(starts: Longs, i: int) -> range:
    return range(int(starts[i]), int(starts[i + 1]))


def _predicate(columns: Columns, p: int) -> Predicate:
    dim = int(columns.dims[p])
    spans = _row(columns.span_starts, p)
    attribute = Attribute.parse(columns.name(dim))
    if not columns.negated[p]:
        polarity = Polarity.INCLUDED
    else:
        polarity = Polarity.STRONGLY_EXCLUDED if columns.strong[p] else Polarity.EXCLUDED
    condition = _condition(columns, dim, spans)
    predicate = Predicate(attribute, condition, polarity=polarity)
    if columns.weights is None or not isinstance(condition, In):
        return predicate
    return predicate.weight({int(columns.lo[span]): float(columns.weights[span]) for span in spans})


def _condition(columns: Columns, dim: int, spans: range) -> Condition:
    """A set of values, or a range without the bounds that are the ends of the domain."""
    bounds = [(int(columns.lo[span]), int(columns.hi[span])) for span in spans]
    lo, hi = bounds[0]
    if len(bounds) > 1 or lo == hi:
        return In(tuple(value for lo, hi in bounds for value in range(lo, hi + 1)))
    lower = None if lo == 0 else lo
    upper = None if hi == columns.n_values[dim] - 1 else hi
    return Range(lower, upper, lower is not None, upper is not None)
