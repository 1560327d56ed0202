"""Criteria by their width: what an event costs as conjunctions, demands and trees grow wide.

There was a cliff once: a criterion of 65 conjunctions was evaluated for every event.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from rich.console import Console
from rich.table import Table

from benchmarks import clock
from remuda.index.index import Index
from remuda.language.criterion import Criterion
from remuda.language.python import attr
from remuda.model.expressions import And, Expression, Or, Predicate

_DIMS, _VALUES, _EVENTS = 40, 30, 200


class Shape(NamedTuple):
    """So many criteria, each `width` parts of so many predicates that accept `span` values each."""

    name: str
    outer: type[And] | type[Or]
    n_criteria: int
    width: int
    depth: int
    span: int
    matches: int  # that all events have together


_SHAPES = [
    Shape("conjunctions", Or, 1_000, 60, 3, 1, 443),
    Shape("conjunctions", Or, 1_000, 64, 3, 1, 479),
    Shape("conjunctions", Or, 1_000, 70, 3, 1, 493),
    Shape("conjunctions", Or, 1_000, 1_000, 3, 1, 7_266),
    Shape("demands", And, 1_000, 60, 3, 15, 69),
    Shape("demands", And, 1_000, 70, 3, 15, 19),
    Shape("demands", And, 1_000, 1_000, 3, 15, 0),
]


def main() -> None:
    """Build, check the number of matches, measure, print."""
    table = Table("criteria", title=f"{_EVENTS} events of {_DIMS} attributes, one thread, auto")
    for name in ("each of", "clauses", "build s", "µs an event", "MB", "matches"):
        table.add_column(name, justify="right")
    events = _events()
    for shape in _SHAPES:
        index, build_s = clock.timed(lambda shape=shape: Index.build(_criteria(shape)))
        found = len(index.match_many(events, threads=1).positions)
        if found != shape.matches:
            raise AssertionError(f"{shape} has {found:,} matches")
        seconds = clock.best(lambda index=index: index.match_many(events, threads=1))
        stats = index.stats()
        table.add_row(
            f"{shape.n_criteria:,}",
            f"{shape.width:,} {shape.name}",
            f"{stats['clauses']:,}",
            f"{build_s:.1f}",
            f"{seconds / _EVENTS * 1e6:.0f}",
            f"{stats['bytes'] / 1e6:.1f}",
            f"{found:,}",
        )
    Console().print(table)


def _criteria(shape: Shape) -> Iterator[Criterion]:
    rng = np.random.default_rng(1)
    inner = Or if shape.outer is And else And
    predicates = [
        [_predicate(dim, at, shape.span) for at in range(_VALUES)] for dim in range(_DIMS)
    ]
    for i in range(shape.n_criteria):
        dims = rng.random((shape.width, _DIMS)).argpartition(shape.depth)[:, : shape.depth]
        values = rng.integers(0, _VALUES, dims.shape)
        parts: list[Expression] = [
            inner(*(predicates[dim][at] for dim, at in zip(*row, strict=True)))
            for row in zip(dims.tolist(), values.tolist(), strict=True)
        ]
        yield Criterion(f"c{i}", shape.outer(*parts))


def _predicate(dim: int, at: int, span: int) -> Predicate:
    attribute = attr(f"a{dim}")
    return (
        attribute == at if span == 1 else attribute.isin(*((at + i) % _VALUES for i in range(span)))
    )


def _events() -> list[dict[str, int]]:
    rows = np.random.default_rng(2).integers(0, _VALUES, (_EVENTS, _DIMS)).tolist()
    return [{f"a{dim}": value for dim, value in enumerate(row)} for row in rows]
