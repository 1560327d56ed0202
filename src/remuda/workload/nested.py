"""Nested expressions: the generator described with the A-Tree, over And, Or, Not, xor and xnor."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate

import numpy as np

from remuda.model.attributes import Attribute
from remuda.model.conditions import Condition, In, Range
from remuda.model.expressions import And, Expression, Not, Or, Predicate
from remuda.workload.columns import EventColumns, event_dicts
from remuda.workload.draws import below, distinct_ranks, zipf_weights

_AND, _OR, _NOT, _XOR, _XNOR = range(5)


@dataclass(frozen=True, slots=True)
class Nest:
    """Nested expressions, and events to match against them."""

    expressions: list[Expression]
    events: EventColumns
    names: tuple[str, ...]

    def event_dicts(self, n: int | None = None) -> list[dict[str, int]]:
        """The first `n` events, or all of them, as users write them."""
        return event_dicts(self.events, self.names, n)


@dataclass(frozen=True, slots=True)
class Nested:
    """Trees 1 to 6 levels deep with 2 to 12 children a node: 40 % And, 40 % Or, 10 % Not.

    The rest are xor and xnor, each of two children and written with And, Or and Not, so that
    both children are written twice. A tree as wide as it is deep would have a million leaves:
    `max_predicates` bounds it, each node sharing out its allowance among its children.

    Two trees in five hold for an event. With `n_scopes` the expressions ask, besides their tree,
    for one scope of that many, and an event has one: 40 scopes make that one in a hundred.
    """

    n_expressions: int = 10_000
    n_events: int = 1_000
    n_dims: int = 100
    cardinality: int = 20
    shares: tuple[float, float, float, float, float] = (0.4, 0.4, 0.1, 0.05, 0.05)
    max_depth: int = 6
    max_children: int = 12
    max_predicates: int = 64
    equality_share: float = 0.5
    event_size: int = 30
    n_scopes: int = 40
    seed: int = 1

    def __post_init__(self) -> None:
        if self.max_children < 2 or self.max_depth < 1:
            raise ValueError("a nested expression has a level at least, and two children a node")
        if self.n_scopes < 1:
            raise ValueError(
                f"{self.n_scopes} scopes are too few; with 1 there is no choice of them"
            )
        if self.max_predicates <= self.max_depth:
            raise ValueError(f"{self.max_predicates} predicates cannot be {self.max_depth} deep")
        if self.event_size > self.n_dims:
            raise ValueError(f"{self.n_dims} dimensions are fewer than an event's attributes")

    def draw(self) -> Nest:
        rng = np.random.default_rng(self.seed)
        attributes = [Attribute.parse(f"a{dim}") for dim in range(self.n_dims)]
        attributes.append(Attribute.parse("scope"))
        dice, leaves = _dice(rng), self._leaves(rng, attributes)
        depths = rng.integers(1, self.max_depth + 1, self.n_expressions).tolist()
        trees = [self._tree(dice, leaves, depth, self.max_predicates) for depth in depths]
        if self.n_scopes > 1:
            scopes = rng.integers(0, self.n_scopes, len(trees)).tolist()
            trees = [
                And(Predicate(attributes[-1], In((scope,))), tree)
                for scope, tree in zip(scopes, trees, strict=True)
            ]
        return Nest(trees, self._events(rng), tuple(map(str, attributes)))

    def _tree(
        self, dice: Iterator[float], leaves: Iterator[Expression], depth: int, allowance: int
    ) -> Expression:
        """A tree of that depth with `allowance` predicates at most; there are more than levels."""
        if depth == 0:
            return next(leaves)
        kind = bisect_right(tuple(accumulate(self.shares[:-1])), next(dice))
        if kind == _NOT:
            return Not(self._tree(dice, leaves, depth - 1, allowance))
        if kind >= _XOR and allowance // 4 >= depth:
            both = [self._tree(dice, leaves, depth - 1, allowance // 4) for _ in range(2)]
            return _xor(*both) if kind == _XOR else Not(_xor(*both))
        parts = [
            self._tree(dice, leaves, each, allowed)
            for each, allowed in self._children(dice, depth, allowance)
        ]
        return And(*parts) if kind == _AND else Or(*parts)

    def _children(
        self, dice: Iterator[float], depth: int, allowance: int
    ) -> Iterator[tuple[int, int]]:
        """The depth and the allowance of each child; the first one is the deepest."""
        n = 2 + int(next(dice) * (min(self.max_children, allowance - depth + 1) - 1))
        deepest = 1 + max(depth - 1, (allowance - n) // 2)
        other = (allowance - deepest) // (n - 1)
        yield depth - 1, deepest
        for _ in range(n - 1):
            yield int(next(dice) * min(depth, other)), other

    def _leaves(
        self, rng: np.random.Generator, attributes: list[Attribute]
    ) -> Iterator[Expression]:
        """Equalities and ranges, drawn a block at a time."""
        while True:
            dims = rng.integers(0, self.n_dims, 4096)
            lo = rng.integers(0, self.cardinality, len(dims))
            hi = lo + below(rng, self.cardinality - lo)
            equal = rng.random(len(dims)) < self.equality_share
            hi[equal] = lo[equal]
            for dim, low, high in zip(dims.tolist(), lo.tolist(), hi.tolist(), strict=True):
                yield Predicate(attributes[dim], _condition(low, high))

    def _events(self, rng: np.random.Generator) -> EventColumns:
        """Events of distinct attributes, the scope last."""
        n, size = self.n_events, self.event_size
        drawn = distinct_ranks(rng, zipf_weights(self.n_dims, 0), n, size)
        dims = np.column_stack([np.sort(drawn, axis=1), np.full(n, self.n_dims)])
        values = rng.integers(0, self.cardinality, dims.shape)
        values[:, -1] = rng.integers(0, self.n_scopes, n)
        return EventColumns(
            np.arange(n + 1, dtype=np.int64) * (size + 1),
            dims.ravel().astype(np.int32),
            values.ravel().astype(np.int32),
        )


def _dice(rng: np.random.Generator) -> Iterator[float]:
    """Numbers from 0 to 1, drawn a block at a time: one by one they cost more than the trees."""
    while True:
        yield from rng.random(4096).tolist()


@lru_cache(maxsize=65536)
def _condition(lo: int, hi: int) -> Condition:
    return In((lo,)) if lo == hi else Range(lo, hi, True, True)


def _xor(first: Expression, second: Expression) -> Expression:
    return Or(And(first, Not(second)), And(Not(first), second))
