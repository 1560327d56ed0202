"""The PS-Trees of all dimensions with the clauses on them: what PSTBloom and PSTHash share."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from remuda.arrays import Bools, Ints, Longs, Ragged, frozen
from remuda.encoding.table import ClauseTable, Predicates
from remuda.matchers.contract import Literal
from remuda.matchers.kernels.access import Selectivity, selectivity
from remuda.matchers.kernels.growth import Words
from remuda.matchers.kernels.lists import Lists
from remuda.matchers.kernels.needs import bits_of_dims, needs_of
from remuda.matchers.kernels.nodes import Nodes, hung, lists_of, narrow, nodes_of
from remuda.matchers.kernels.records import Records, predicates_of, taken
from remuda.matchers.pstree import PSTree


class OnLeaves(Protocol):
    """What else hangs on leaves, and follows when they split and merge."""

    def copy(self, source: int, target: int) -> None: ...
    def clear(self, leaf: int) -> None: ...


@dataclass(slots=True)
class Forest:
    """Clauses in lists on the nodes of PS-Trees, which lie one after the other in one tree."""

    nodes: Nodes
    dim_of_space: Ints
    dim_bits: Words
    selectivity: Selectivity
    tree: PSTree
    lists: Lists  # of slots, and of what their clauses need
    records: Records

    @classmethod
    def of(
        cls,
        table: ClauseTable,
        rule: Selectivity,
        trees: Trees,
        clauses: Ragged,
        rows: Ints,
        slots: Ints,
        access: Ints,
    ) -> Self:
        """The clauses in slots in their order, some slots listed by their access predicates."""
        dim_bits = bits_of_dims(table)
        needs = needs_of(clauses, table.predicates, dim_bits)
        lists = hung(slots, access, trees.lists, trees.n_lists)
        return cls(
            trees.nodes,
            frozen(table.dim_of_space()),
            frozen(dim_bits),
            rule,
            trees.tree,
            Lists.of(lists.starts, lists.items, needs[lists.items]),
            Records.of(table.predicates, trees.is_narrow, clauses, rows),
        )

    @property
    def arrays(self) -> tuple[NDArray[Any], ...]:
        """What kernels read."""
        fixed = (self.dim_of_space, self.dim_bits, *self.nodes)
        return frozen((*fixed, self.tree.leaf_of)) + self.lists.arrays + self.records.arrays

    @property
    def nbytes(self) -> int:
        fixed = (*self.nodes, self.dim_of_space, self.dim_bits, self.selectivity.weights)
        return sum(part.nbytes for part in (*fixed, self.tree, self.lists, self.records))

    def contents(self) -> tuple[ClauseTable, Ints, Selectivity]:
        """All clauses, the rows that they stand for, and how to choose among their predicates."""
        slots = self.records.alive()
        table = ClauseTable(self.nodes.space_starts, *self.records.clauses(slots))
        rule = self.selectivity
        if not rule.from_events:
            rule = selectivity(table, self.is_narrow(table.predicates), None)
        return table, self.records.rows[slots], rule

    def clause(self, literals: Sequence[Literal]) -> Predicates:
        """The predicates of a clause, the most selective one first."""
        predicates = predicates_of(literals, self.nodes.space_starts)
        ranks = self.selectivity.ranks(predicates)
        return taken(predicates, np.argsort(ranks, kind="stable"))

    def is_narrow(self, predicates: Predicates) -> Bools:
        return narrow(predicates, self.nodes.space_starts)

    def needs(self, predicates: Predicates) -> np.uint64:
        """What a clause of these predicates needs."""
        dims = predicates.dim[~predicates.on_missing]
        return np.uint64(np.bitwise_or.reduce(self.dim_bits[dims], initial=0))

    def plant(self, predicates: Predicates, which: int, others: OnLeaves) -> list[int]:
        """Insert a predicate into its tree; the leaves that it covers."""

        def split(leaf: int, new: int) -> None:
            self.lists.copy(self.nodes.first_leaf + leaf, self.nodes.first_leaf + new)
            others.copy(leaf, new)

        spans = _spans(predicates, which)
        return [leaf for lo, hi in spans for leaf in self.tree.insert(lo, hi, split).tolist()]

    def covered(self, predicates: Predicates, which: int) -> list[int]:
        """The leaves that a predicate, which is in its tree, covers."""
        spans = _spans(predicates, which)
        return [leaf for lo, hi in spans for leaf in self.tree.covered(lo, hi).tolist()]

    def uproot(self, predicates: Predicates, which: int, others: OnLeaves) -> None:
        """Delete a predicate from its tree."""

        def merged(leaf: int) -> None:
            self.lists.clear(self.nodes.first_leaf + leaf)
            others.clear(leaf)

        for lo, hi in _spans(predicates, which):
            self.tree.delete(lo, hi, merged)

    def hang(self, slot: int, predicates: Predicates) -> None:
        """Add the clause in a slot to the lists that its first predicate leads from."""
        needs = self.needs(predicates)
        for at in self._lists(predicates):
            self.lists.add(at, slot, needs)

    def unhang(self, slot: int, predicates: Predicates) -> None:
        """Undo `hang`."""
        for at in self._lists(predicates):
            self.lists.remove(at, slot)

    def _lists(self, predicates: Predicates) -> list[int]:
        leaves = frozen((self.tree.leaf_of, self.tree.hi))
        found = lists_of(predicates, self.is_narrow(predicates), self.nodes, *leaves)
        lists: list[int] = found.row(0 if has_access(predicates) else len(predicates.dim)).tolist()
        return lists


@dataclass(frozen=True, slots=True)
class Trees:
    """The nodes that predicates lead from: row p of `lists` has those of predicate p."""

    is_narrow: Bools
    nodes: Nodes
    tree: PSTree
    lists: Ragged

    @classmethod
    def of(cls, table: ClauseTable, is_narrow: Bools, uses: Longs) -> Self:
        """Trees of the narrow predicates, each used so many times."""
        predicates, starts = table.predicates, table.space_starts
        nodes = nodes_of(starts)
        ends = np.unique(np.concatenate((starts, starts[:-1] + 1)))
        times = np.repeat(uses * is_narrow, np.diff(predicates.span_starts))
        tree = PSTree.build(ends, predicates.span_lo, predicates.span_hi, times)
        lists = lists_of(predicates, is_narrow, nodes, tree.leaf_of, tree.hi)
        return cls(is_narrow, nodes, tree, lists)

    @property
    def n_lists(self) -> int:
        return self.nodes.first_leaf + self.tree.n_leaves


def has_access(predicates: Predicates) -> bool:
    """Whether the first predicate of a clause may be its access predicate."""
    return len(predicates.dim) > 0 and not predicates.on_missing[0]


def access_predicates(clauses: Ragged, predicates: Predicates) -> Ints:
    """The first predicate of each clause; one beyond the last where that is none for access."""
    none = len(predicates.dim)
    access = np.full(len(clauses.starts) - 1, none, np.int32)
    some = np.flatnonzero(np.diff(clauses.starts))
    first = clauses.items[clauses.starts[some]]
    access[some] = np.where(predicates.on_missing[first], none, first)
    return access


def _spans(predicates: Predicates, which: int) -> list[tuple[int, int]]:
    begin, end = predicates.span_starts[which : which + 2]
    lo, hi = predicates.span_lo[begin:end], predicates.span_hi[begin:end]
    return list(zip(lo.tolist(), hi.tolist(), strict=True))
