"""Gryphon: a parallel search tree, which tests one attribute a level, always in the same order.

After Aguilera, Strom, Sturman, Astley and Chandra, "Matching events in a content-based
subscription system" (PODC 1999), for predicates of any kind. A node has a test for each attribute
that some clause beneath it asks about next; an edge of a test is labelled with a predicate. An
event follows all edges whose predicates hold: those that accept few values are found by its value,
the others are evaluated one by one. From a test, a don't-care edge leads to the node's next test.

Clauses share the nodes of the predicates that they begin with. One that shares no more ends in a
leaf, which keeps the rest of its predicates. The attributes have three turns in their order: for
narrow predicates, for those that most values satisfy, and for those that hold on a missing
attribute, which no event can pass by.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from remuda.arrays import Bools, Ints, Longs, Ragged, frozen, starts_of, take_rows
from remuda.encoding.table import ClauseTable, EventBatch, Predicates
from remuda.jit import bare, kernel
from remuda.matchers.contract import Features, Hits
from remuda.matchers.kernels.growth import grown
from remuda.matchers.kernels.postings import n_per_row
from remuda.matchers.kernels.records import taken
from remuda.matchers.kernels.search import first_at_least
from remuda.matchers.kernels.truth import Event, holds, lay_out, no_event, take_away

FEW = 16  # spaces at most of a predicate whose edge is found by value
ON_MISSING = 2  # the turn of predicates that hold on missing, after the narrow and the wide
UNTESTED = 3  # that of predicates which only leaves know
WALKED = 4  # tests that are walked in the time it takes to find one


class Tree(NamedTuple):
    """Nodes with their tests and leaves, and tests with their edges; edge i leads to node i + 1."""

    test_starts: Ints
    missing_starts: Ints  # of each node: its first test of predicates that hold on missing
    test_level: Ints
    edge_starts: Ints
    wide_starts: Ints  # of each test: its first edge that is not found by value
    edge_predicate: Ints
    value_starts: Ints  # of each test: the spaces that its other edges accept, ascending
    value_space: Ints
    value_edge: Ints
    leaf_starts: Ints
    leaf_row: Ints
    leaf_rest: Ints  # the first item of the clause that the path has not tested


@dataclass(frozen=True, slots=True)
class Gryphon:
    """The parallel search tree over clauses whose predicates stand in the order of the levels."""

    features: ClassVar[Features] = Features(layout=1, parameters=("equality",))

    predicates: Predicates
    clauses: Ragged
    tree: Tree
    dim_of_level: Ints
    level_of_dim: Ints
    dim_of_space: Ints

    @classmethod
    def build(cls, table: ClauseTable, *, equality: int = 0) -> Self:
        """The tree of all predicates or, with `equality`, of those that accept one value.

        The latter is the version for equality that the BE-Tree paper measures apart; leaves keep
        what else there is.
        """
        dim_of_level = _most_frequent_first(table)
        level_of_dim = np.argsort(dim_of_level).astype(np.int32)
        turn = _turn(table)
        few = (table.predicates.n_accepted <= FEW) & ~table.predicates.on_missing
        tested = np.ones(len(few), np.bool_)
        if equality:
            tested = (table.predicates.n_accepted == 1) & ~table.predicates.on_missing
            turn = np.where(tested, 0, UNTESTED)
        level = level_of_dim[table.predicates.dim] + table.n_dims * turn
        order = np.lexsort((~few, level))
        predicates, clauses = _in_order(table, order)
        parent, label, *leaves = _grow(clauses, len(order), int(tested.sum()))
        tests = _tests(parent, label, level[order], few[order], table.n_dims, len(leaves[0]) - 1)
        values = _values(predicates, few[order], tests[3], label)
        return cls(
            predicates,
            clauses,
            _tree(*tests, label, *values, *leaves),
            frozen(dim_of_level),
            frozen(level_of_dim),
            frozen(table.dim_of_space()),
        )

    def match(self, events: EventBatch) -> Hits:
        starts, rows, candidates = _match(
            events.starts, events.spaces, self.dim_of_space, self.dim_of_level, self.level_of_dim,
            self.tree, self.clauses, self.predicates,
        )  # fmt: skip
        return Hits(starts, rows, candidates)

    @property
    def nbytes(self) -> int:
        return sum(array.nbytes for array in (*self.tree, *self.clauses, *self.predicates))


def _most_frequent_first(table: ClauseTable) -> Ints:
    """The dimensions in the order of the levels: few don't-care edges at the top."""
    asked = table.clauses.items[~table.predicates.on_missing[table.clauses.items]]
    counts = np.bincount(table.predicates.dim[asked], minlength=table.n_dims)
    return np.argsort(-counts, kind="stable").astype(np.int32)


def _turn(table: ClauseTable) -> Longs:
    """In which turn each predicate is tested."""
    predicates = table.predicates
    wide = 2 * predicates.n_accepted > np.diff(table.space_starts)[predicates.dim] - 1
    return np.where(predicates.on_missing, ON_MISSING, wide.astype(np.int64))


def _in_order(table: ClauseTable, order: Longs) -> tuple[Predicates, Ragged]:
    """The predicates in the order given, and over them the clauses, each in that order too."""
    starts = table.clauses.starts
    items = np.argsort(order).astype(np.int32)[table.clauses.items]
    rows = np.repeat(np.arange(table.n_clauses), np.diff(starts))
    items = items[np.lexsort((items, rows))]
    return taken(table.predicates, order), frozen(Ragged(starts, items))


def _grow(
    clauses: Ragged, n_predicates: int, n_tested: int
) -> tuple[Longs, Longs, Longs, Longs, Longs]:
    """The tree, one depth after the other: clauses with the same next predicate share a node.

    The first predicates are tested, the others are left to the leaves.
    Of each edge, the node it leaves and its predicate; then the leaves, ragged by node: the row,
    and the first item that has not been tested.
    """
    lengths = np.diff(clauses.starts)
    rows, node = np.arange(len(lengths)), np.zeros(len(lengths), np.int64)
    n_nodes, first, depth = 1, 0, 0  # `first` is the first node of this depth
    edges, leaves = [np.zeros((2, 0), np.int64)], [np.zeros((3, 0), np.int64)]
    while len(rows):
        shared = np.bincount(node - first)[node - first] > 1
        ends = ~shared | (lengths[rows] == depth)
        following = clauses.items[clauses.starts[rows[~ends]] + depth]
        ends[~ends] = following >= n_tested
        leaves.append(np.stack([node[ends], rows[ends], clauses.starts[rows[ends]] + depth]))
        rows, node = rows[~ends], node[~ends]
        label = clauses.items[clauses.starts[rows] + depth]
        keys, child = np.unique(node * n_predicates + label, return_inverse=True)
        edges.append(np.stack([keys // n_predicates, keys % n_predicates]))
        first, depth, node = n_nodes, depth + 1, n_nodes + child
        n_nodes += len(keys)
    parent, label = np.concatenate(edges, axis=1)
    leaf_node, leaf_row, leaf_rest = np.concatenate(leaves, axis=1)
    by_node = np.argsort(leaf_node, kind="stable")
    leaf_starts = starts_of(np.bincount(leaf_node, minlength=n_nodes))
    return parent, label, leaf_starts, leaf_row[by_node], leaf_rest[by_node]


def _tests(
    parent: Longs, label: Longs, level: Longs, few: Bools, n_dims: int, n_nodes: int
) -> tuple[Longs, Longs, Longs, Longs, Longs]:
    """The edges of each node gathered by level: the tree's first five arrays."""
    level = level[label]
    new = np.ones(len(parent), np.bool_)
    new[1:] = (parent[1:] != parent[:-1]) | (level[1:] != level[:-1])
    first = np.flatnonzero(new)
    edge_starts = np.append(first, len(parent))
    test_starts = starts_of(np.bincount(parent[first], minlength=n_nodes))
    return (
        test_starts,
        test_starts[:-1] + n_per_row(level[first] < ON_MISSING * n_dims, test_starts),
        level[first],
        edge_starts,
        first + n_per_row(few[label], edge_starts),
    )


def _values(
    predicates: Predicates, few: Bools, edge_starts: Longs, label: Longs
) -> tuple[Longs, Longs, Longs]:
    """The spaces by which edges are found: where each test's begin, each space, and its edge."""
    widths = predicates.span_hi - predicates.span_lo
    widths[np.repeat(~few, np.diff(predicates.span_starts))] = 0
    ends = starts_of(widths)
    spaces = np.arange(ends[-1]) + np.repeat(predicates.span_lo - ends[:-1], widths)
    accepted = Ragged(ends[predicates.span_starts], spaces.astype(np.int32))
    by_edge = take_rows(accepted, label)
    counts = np.diff(by_edge.starts)
    edge = np.repeat(np.arange(len(label)), counts)
    test = np.repeat(np.arange(len(edge_starts) - 1), np.diff(edge_starts))[edge]
    order = np.lexsort((by_edge.items, test))
    return by_edge.starts[edge_starts], by_edge.items[order].astype(np.int64), edge[order]


def _tree(*arrays: NDArray[Any]) -> Tree:
    return frozen(Tree(*(array.astype(np.int32) for array in arrays)))


@kernel
def _match(
    event_starts: Longs,
    spaces: Ints,
    dim_of_space: Ints,
    dim_of_level: Ints,
    level_of_dim: Ints,
    tree: Tree,
    clauses: Ragged,
    predicates: Predicates,
) -> tuple[Longs, Ints, int]:
    """The rows that each event satisfies, and how many leaves it reached."""
    n_events, n_dims = len(event_starts) - 1, len(dim_of_level)
    starts = np.zeros(n_events + 1, np.int64)
    rows, stack = np.empty(1024, np.int32), np.empty(1024, np.int32)
    chosen = np.empty(64, np.int32)
    laid_out = no_event(spaces, n_dims)
    n = n_candidates = 0
    for event in range(n_events):
        begin, end = event_starts[event], event_starts[event + 1]
        lay_out(laid_out, begin, end, dim_of_space)
        stack[0] = 0
        n_stack = 1
        while n_stack > 0:
            n_stack -= 1
            node = stack[n_stack]
            rows = grown(rows, n + tree.leaf_starts[node + 1] - tree.leaf_starts[node])
            for leaf in range(tree.leaf_starts[node], tree.leaf_starts[node + 1]):
                n_candidates += 1
                rows[n] = tree.leaf_row[leaf]
                n += _rest_holds(leaf, tree, clauses, predicates, laid_out)
            chosen, n_chosen = _tests_of(
                node, tree, dim_of_level, level_of_dim, begin, end, dim_of_space, laid_out, chosen
            )
            for test in chosen[:n_chosen]:
                dim = dim_of_level[tree.test_level[test] % n_dims]
                stack = grown(stack, n_stack + tree.edge_starts[test + 1] - tree.edge_starts[test])
                evaluated = tree.edge_starts[test]
                first, last = laid_out.first[dim], laid_out.last[dim]
                if last - first == 1:  # a list might meet an edge twice
                    evaluated = tree.wide_starts[test]
                    space, stop = spaces[first], tree.value_starts[test + 1]
                    i = first_at_least(tree.value_space, tree.value_starts[test], stop, space)
                    while i < stop and tree.value_space[i] == space:
                        stack[n_stack] = tree.value_edge[i] + 1
                        n_stack += 1
                        i += 1
                for edge in range(evaluated, tree.edge_starts[test + 1]):
                    stack[n_stack] = edge + 1
                    n_stack += holds(tree.edge_predicate[edge], predicates, laid_out)
        take_away(laid_out, begin, end, dim_of_space)
        starts[event + 1] = n
    return starts, rows[:n].copy(), n_candidates


@bare
def _rest_holds(
    leaf: int, tree: Tree, clauses: Ragged, predicates: Predicates, event: Event
) -> bool:
    """Whether the predicates that a leaf has kept hold."""
    for i in range(tree.leaf_rest[leaf], clauses.starts[tree.leaf_row[leaf] + 1]):
        if not holds(clauses.items[i], predicates, event):
            return False
    return True


@kernel
def _tests_of(
    node: int,
    tree: Tree,
    dim_of_level: Ints,
    level_of_dim: Ints,
    first: int,
    last: int,
    dim_of_space: Ints,
    event: Event,
    chosen: Ints,
) -> tuple[Ints, int]:
    """The tests of the node that the event may pass; beyond the others only don't-care leads."""
    begin, end = tree.test_starts[node], tree.test_starts[node + 1]
    middle = tree.missing_starts[node]
    chosen = grown(chosen, min(middle - begin, ON_MISSING * (last - first)) + end - middle)
    n = 0
    if middle - begin > WALKED * (last - first):
        dim = -1
        for i in range(first, last):
            if dim_of_space[event.spaces[i]] != dim:
                dim = dim_of_space[event.spaces[i]]
                for turn in range(ON_MISSING):
                    level = level_of_dim[dim] + turn * len(level_of_dim)
                    test = first_at_least(tree.test_level, begin, middle, level)
                    if test < middle and tree.test_level[test] == level:
                        chosen[n] = test
                        n += 1
    else:
        for test in range(begin, middle):
            dim = dim_of_level[tree.test_level[test] % len(dim_of_level)]
            if event.first[dim] < event.last[dim]:
                chosen[n] = test
                n += 1
    for test in range(middle, end):
        chosen[n] = test
        n += 1
    return chosen, n
