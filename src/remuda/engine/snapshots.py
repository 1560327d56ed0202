"""Snapshots: how large an index is, dimension by dimension and cluster by cluster."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from remuda.arrays import Longs
from remuda.encoding.plan import Plan
from remuda.encoding.table import ClauseTable
from remuda.encoding.vocabulary import Dimension, Vocabulary
from remuda.index.index import Index
from remuda.model.terms import operations_of, root_of

_SHOWN = 30  # dimensions that are printed; the rest is counted


@dataclass(slots=True)
class DimensionSize:
    """A dimension, over all segments."""

    attribute: str
    view: str
    spaces: int = 0
    predicates: int = 0
    uses: int = 0  # how often clauses ask for one of its predicates
    busiest: int = 0  # predicates that accept the space which most accept


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The sizes of an index at one moment; prints as tables."""

    name: str
    totals: dict[str, Any]
    dimensions: tuple[DimensionSize, ...]  # the most used first
    clusters: tuple[dict[str, Any], ...]  # of each segment whose matcher can tell

    def __str__(self) -> str:
        pieces = [
            f"index {self.name}",
            _table([list(map(_text, row)) for row in self.totals.items()]),
        ]
        if self.dimensions:
            pieces += ["", _table(list(self._dimension_rows()))]
        if self.clusters:
            pieces += ["", _table(list(self._cluster_rows()))]
        return "\n".join(pieces)

    def _dimension_rows(self) -> Iterator[list[str]]:
        yield ["attribute", "view", "spaces", "predicates", "uses", "busiest space"]
        for one in self.dimensions[:_SHOWN]:
            sizes = (one.spaces, one.predicates, one.uses, one.busiest)
            yield [one.attribute, one.view, *map(_text, sizes)]
        if len(self.dimensions) > _SHOWN:
            yield [f"and {len(self.dimensions) - _SHOWN:,} more"]

    def _cluster_rows(self) -> Iterator[list[str]]:
        kinds = list(self.clusters[0]["entries"])
        yield ["clauses", "without key", "layout", *(f"{k} (chunks)" for k in kinds), "bytes"]
        for one in self.clusters:
            counts = [f"{one['entries'][k]:,} ({one['chunks'][k]:,})" for k in kinds]
            first = (one["clauses"], one["clauses_without_key"], one["layout"])
            yield [*map(_text, first), *counts, _text(one["bytes"])]


def snapshot(name: str, index: Index) -> Snapshot:
    """The sizes of the index as it is now."""
    segments = [part.segment for part in index.parts]
    sizes: dict[tuple[str, str], DimensionSize] = {}
    for segment in segments:
        for one in _dimensions(segment.words.vocabulary, segment.plan):
            known = sizes.setdefault(
                (one.attribute, one.view), DimensionSize(one.attribute, one.view)
            )
            known.spaces += one.spaces
            known.predicates += one.predicates
            known.uses += one.uses
            known.busiest = max(known.busiest, one.busiest)
    by_use = sorted(sizes.values(), key=lambda one: (-one.uses, one.attribute, one.view))
    clusters = tuple(told for one in segments if (told := one.stats()))
    return Snapshot(name, index.stats(), tuple(by_use), clusters)


def _dimensions(vocabulary: Vocabulary, plan: Plan) -> Iterator[DimensionSize]:
    table = plan.conjunctions
    dims = table.predicates.dim
    predicates = np.bincount(dims, minlength=table.n_dims)
    uses = _uses(table) + _uses(plan.cnf.table)
    accepted = _accepted(table)
    for i, dimension in enumerate(vocabulary.dimensions):
        first, last = table.space_starts[i : i + 2].tolist()
        yield DimensionSize(
            _described(dimension),
            dimension.view.name.lower(),
            last - first,
            int(predicates[i]),
            int(uses[i]),
            int(accepted[first:last].max(initial=0)),
        )


def _uses(table: ClauseTable) -> Longs:
    """How often the clauses ask for a predicate on each dimension."""
    return np.bincount(table.predicates.dim[table.clauses.items], minlength=table.n_dims)


def _accepted(table: ClauseTable) -> Longs:
    """How many predicates accept each space."""
    steps = np.zeros(table.n_spaces + 1, np.int64)
    np.add.at(steps, table.predicates.span_lo, 1)
    np.add.at(steps, table.predicates.span_hi, -1)
    return np.cumsum(steps)[:-1]


def _described(dimension: Dimension) -> str:
    steps = [type(one).__name__.lower() for one in operations_of(dimension.term)]
    return " → ".join([str(root_of(dimension.term)), *steps])


def _text(value: Any) -> str:
    return f"{value:,}" if isinstance(value, int) else str(value)


def _table(rows: Sequence[Sequence[str]]) -> str:
    """Rows under one another, the first column to the left and the others to the right."""
    columns = max(map(len, rows))
    widths = [max(len(row[i]) for row in rows if i < len(row)) for i in range(columns)]
    return "\n".join(
        "  ".join(
            one.rjust(widths[i]) if i else one.ljust(widths[i]) for i, one in enumerate(row)
        ).rstrip()
        for row in rows
    )
