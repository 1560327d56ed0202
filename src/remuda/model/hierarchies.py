"""Hierarchies: trees of names, of which a value is one node, beneath another or not."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Self

from remuda.errors import InvalidCriterion
from remuda.model.values import checked_text, key, tidy

Node = str | int
Hierarchies = Mapping[str, "Hierarchy"]  # by name


@dataclass(frozen=True, slots=True)
class Hierarchy:
    """A tree, or several: of every node its parent, None for a root.

    What is beneath a node is an interval of `order`, in which a node comes before what is beneath
    it and siblings go by their names: it depends on the content alone.
    """

    parents: Mapping[Node, Node | None] = field(compare=False, repr=False)
    digest: str = field(init=False)
    order: tuple[Node, ...] = field(init=False, compare=False, repr=False)
    places: dict[Any, int] = field(init=False, compare=False, repr=False)
    lasts: tuple[int, ...] = field(init=False, compare=False, repr=False)  # beneath each, by place

    def __post_init__(self) -> None:
        order, lasts = _in_order(self.parents)
        if len(order) < len(self.parents):
            raise ValueError(f"nodes are beneath themselves: {_cycle(self.parents, order)}")
        spelt = json.dumps(self.pairs()).encode()
        object.__setattr__(self, "digest", hashlib.sha256(spelt).hexdigest())
        object.__setattr__(self, "order", tuple(order))
        object.__setattr__(self, "places", {node: place for place, node in enumerate(order)})
        object.__setattr__(self, "lasts", tuple(lasts))

    @classmethod
    def of(cls, source: Any) -> Self:
        """The tree of each child's parent: a mapping, pairs, or an Arrow table of two columns.

        `Hierarchy.of({"BLR": "KA", "KA": "IN"})`. Nodes are texts or integers; no parent, or None,
        makes a root. A node with two parents is refused, and one beneath itself.
        """
        parents: dict[Node, Node | None] = {}
        for child, parent in _pairs(source):
            own, above = _node(child), None if parent is None else _node(parent)
            known = parents.get(own)
            if known is not None and above is not None and known != above:
                raise ValueError(f"the node {own!r} has two parents: {known!r} and {above!r}")
            parents[own] = known if above is None else above
        for above in [one for one in parents.values() if one is not None]:
            parents.setdefault(above, None)
        return cls(parents)

    def pairs(self) -> list[tuple[Node, Node | None]]:
        """Every node with its parent, in an order of their own."""
        return [(node, self.parents[node]) for node in sorted(self.parents, key=_rank)]

    def place_of(self, value: Any) -> int | None:
        """Where a value stands in the order; None where it is no node."""
        if type(value) is str:
            return self.places.get(value)
        return self.places.get(key(value))

    def span_of(self, node: Any) -> tuple[int, int] | None:
        """The places of a node and of the last one beneath it; None where it is no node."""
        first = self.place_of(node)
        return None if first is None else (first, self.lasts[first])


def _pairs(source: Any) -> Iterable[tuple[Any, Any]]:
    if isinstance(source, Mapping):
        return source.items()
    columns = getattr(source, "columns", None)
    if columns is not None and hasattr(source, "to_pylist"):  # Arrow's, which this room lacks
        if len(columns) != 2:
            raise ValueError(f"a table of a tree has two columns, child and parent: {len(columns)}")
        return zip(*(column.to_pylist() for column in columns), strict=True)
    pairs = list(source)
    for pair in pairs:
        if isinstance(pair, str) or len(pair) != 2:
            raise ValueError(f"a tree is made of pairs of a child and its parent, not {pair!r}")
    return pairs


def _node(value: Any) -> Node:
    plain = tidy(value)
    if isinstance(plain, bool) or not isinstance(plain, str | int):
        raise TypeError(f"a node of a tree is a text or an integer, not {value!r}")
    try:
        return checked_text(plain, "a node") if isinstance(plain, str) else plain
    except InvalidCriterion as error:
        raise ValueError(error.reason) from None


def _rank(node: Node) -> tuple[bool, Any]:
    return isinstance(node, str), node


def _in_order(parents: Mapping[Node, Node | None]) -> tuple[list[Node], list[int]]:
    """The nodes beneath the roots, each before what is beneath it, and the last place of each."""
    beneath: dict[Node | None, list[Node]] = {}
    for node in sorted(parents, key=_rank, reverse=True):
        beneath.setdefault(parents[node], []).append(node)
    order: list[Node] = []
    lasts: list[int] = []
    pending: list[tuple[Node, int]] = [(node, -1) for node in beneath.get(None, [])]
    while pending:
        node, place = pending.pop()
        if place >= 0:  # all beneath it have their places
            lasts[place] = len(order) - 1
            continue
        pending.append((node, len(order)))
        pending += [(one, -1) for one in beneath.get(node, [])]
        order.append(node)
        lasts.append(0)
    return order, lasts


def _cycle(parents: Mapping[Node, Node | None], reached: list[Node]) -> str:
    node: Node | None = min(parents.keys() - set(reached), key=_rank)
    seen: list[Node | None] = []
    while node is not None and node not in seen:
        seen.append(node)
        node = parents[node]
    around = seen[seen.index(node) :]
    return " under ".join(repr(one) for one in [*around[:8], node])
