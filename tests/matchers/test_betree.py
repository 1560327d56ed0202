"""The BE-Tree beyond the contract: its shape, and how it changes."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from matchers.tables import Case, literal_holds, predicates_of, random_case
from remuda.arrays import frozen, ragged
from remuda.encoding.table import ClauseTable, EventBatch
from remuda.matchers.betree import BETree
from remuda.matchers.betree.pools import (
    ATTR,
    C_NODES,
    CAP,
    COUNT,
    EMPTY,
    END,
    EXPRESSIONS,
    FIRST,
    FREE_C_NODES,
    FREE_EXPRESSIONS,
    FREE_P_NODES,
    FREE_WORDS,
    LEFT,
    LIMBO,
    MAX,
    MIN,
    N_WORDS,
    NEXT,
    NONE,
    OVERFLOWED,
    P_ATTR,
    P_CHILD,
    P_FIRST,
    P_GAIN,
    P_NEXT,
    P_NODES,
    P_PARENT,
    P_SIZE,
    PARENT,
    PLACE,
    RIGHT,
    ROOT,
    ROW,
    SIZE,
    START,
    WORDS,
    search_p_dir,
)
from remuda.matchers.contract import Hits, Literal

Clauses = dict[int, list[Literal]]


def empty_tree(sizes: list[int], **options: int) -> BETree:
    """A tree without clauses, over dimensions of so many present spaces."""
    space_starts = np.concatenate(([0], np.cumsum(np.array(sizes) + 1))).astype(np.int32)
    return BETree.build(table_of(space_starts, []), **options)


def table_of(space_starts: np.ndarray, clauses: list[list[Literal]]) -> ClauseTable:
    ids: dict[Literal, int] = {}
    rows = [[ids.setdefault(one, len(ids)) for one in clause] for clause in clauses]
    return ClauseTable(frozen(space_starts), predicates_of(list(ids)), ragged(rows))


def between(tree: BETree, dim: int, low: int, high: int) -> Literal:
    """The values `low` to `high` of a dimension whose values count from 0."""
    first = int(tree.space_starts[dim]) + 1
    return Literal(dim, False, False, ((first + low, first + high + 1),))


def event(tree: BETree, **values: int) -> EventBatch:
    """One event; `d3=5` gives dimension 3 the value 5."""
    spaces = sorted(int(tree.space_starts[int(d[1:])]) + 1 + value for d, value in values.items())
    return EventBatch(np.array([0, len(spaces)], np.int64), np.array(spaces, np.int32))


def rows_of(hits: Hits) -> list[list[int]]:
    ends = zip(hits.starts[:-1], hits.starts[1:], strict=True)
    return [sorted(hits.rows[begin:end].tolist()) for begin, end in ends]


def l_node(tree: BETree, c: int) -> list[int]:
    """The rows in the c_node's l_node."""
    return sorted(int(tree.pools.expressions[e, ROW]) for e in members(tree, c))


def members(tree: BETree, c: int) -> Iterator[int]:
    e = tree.pools.c_nodes[c, FIRST]
    while e != NONE:
        yield int(e)
        e = tree.pools.expressions[e, NEXT]


def p_directory(tree: BETree, c: int) -> dict[int, int]:
    """The c_node's p_nodes by their attributes."""
    p_nodes, found = tree.pools.p_nodes, {}
    p = tree.pools.c_nodes[c, P_FIRST]
    while p != NONE:
        assert p_nodes[p, P_ATTR] not in found
        found[int(p_nodes[p, P_ATTR])] = int(p)
        p = p_nodes[p, P_NEXT]
    return found


def top_bucket(tree: BETree, c: int, attr: int) -> int:
    return int(tree.pools.p_nodes[p_directory(tree, c)[attr], P_CHILD])


def check_invariants(tree: BETree, clauses: Clauses) -> None:
    """Walk the whole tree: everything is where the paper's rules put it, exactly once."""
    pools, seen, p_seen, rows = tree.pools, [], [], []
    state = pools.state
    assert state[OVERFLOWED] == state[LIMBO] == NONE

    def visit(c: int, bounds: tuple[int, int], path: frozenset[int]) -> tuple[int, int]:
        """Check the subtree; how many expressions it has, and what they gain."""
        node = pools.c_nodes[c]
        seen.append(c)
        here = [int(pools.expressions[e, ROW]) for e in members(tree, c)]
        rows.extend(here)
        directory = p_directory(tree, c)
        count, gain = len(here), len(here) * len(path)
        assert node[SIZE] == len(here) <= node[CAP]
        assert node[CAP] % tree.max_cap == 0
        assert all(pools.expressions[e, PLACE] == c for e in members(tree, c))
        assert not path & directory.keys(), "no path uses an attribute twice"
        assert node[P_SIZE] == len(directory)
        for row in here:  # what a p_node could take, it has taken
            assert not {one.dim for one in clauses[row] if not one.on_missing} & directory.keys()
        if c != ROOT:
            check_bucket(c, bounds, here, bool(directory))
            middle = (bounds[0] + bounds[1]) // 2
            halves = {LEFT: (bounds[0], middle), RIGHT: (middle, bounds[1])}
            for side, half in halves.items():
                if node[side] >= 0:
                    assert pools.c_nodes[node[side], PARENT] == c
                    n, g = visit(int(node[side]), half, path)
                    count, gain = count + n, gain + g
        for attr, p in directory.items():
            p_seen.append(p)
            assert search_p_dir(c, attr, pools.p_nodes, pools.p_heads) == p
            assert pools.p_nodes[p, P_PARENT] == c
            top = int(pools.p_nodes[p, P_CHILD])
            assert pools.c_nodes[top, PARENT] == ~p
            domain = int(tree.space_starts[attr]) + 1, int(tree.space_starts[attr + 1])
            n, g = visit(top, domain, path | {attr})
            assert n >= tree.min_size
            assert pools.p_nodes[p, P_GAIN] == g
            count, gain = count + n, gain + g
        assert node[COUNT] == count
        assert count > 0 or c == ROOT
        if directory or node[LEFT] != NONE:
            assert count > tree.max_cap // 2, "a small subtree is one l_node"
        return count, gain

    def check_bucket(c: int, bounds: tuple[int, int], here: list[int], partitioned: bool) -> None:
        node = pools.c_nodes[c]
        attr, (start, end) = int(node[ATTR]), bounds
        assert (node[START], node[END]) == bounds
        cut = node[LEFT] != NONE
        assert cut == (node[RIGHT] != NONE)
        if partitioned:
            assert cut or end - start <= 1, "a leaf bucket is cut before it is partitioned"
        for row in here:
            spans = next(one.spans for one in clauses[row] if one.dim == attr)
            lo, hi = (spans[0][0], spans[-1][1]) if spans else (start, start)
            assert start <= lo <= hi <= end
            assert node[MIN] <= lo
            assert hi <= node[MAX]
            middle = (start + end) // 2
            assert not cut or lo < middle < hi, "an expression is in the smallest bucket around it"

    visit(ROOT, (0, 0), frozenset())
    assert sorted(rows) == sorted(clauses), "every expression is in one l_node"
    assert len(seen) == len(set(seen)) == state[C_NODES] - state[FREE_C_NODES]
    assert len(p_seen) == state[P_NODES] - state[FREE_P_NODES]
    assert len(rows) == state[EXPRESSIONS] - state[FREE_EXPRESSIONS] == len(tree)
    live = [e for c in seen for e in members(tree, c)]
    assert pools.expressions[live, N_WORDS].sum() == state[WORDS] - state[FREE_WORDS]


def expected(case: Case, clauses: Clauses) -> list[list[int]]:
    return [
        sorted(
            row
            for row, clause in clauses.items()
            if all(literal_holds(case.table, one, spaces) for one in clause)
        )
        for spaces in case.event_spaces
    ]


@pytest.mark.parametrize("max_cap", [1, 3, 10])
@pytest.mark.parametrize("seed", range(3))
def test_a_built_tree_keeps_the_invariants(seed: int, max_cap: int) -> None:
    case = random_case(seed, n_clauses=800, max_spaces=20)
    tree = BETree.build(case.table, max_cap=max_cap, min_size=2)
    check_invariants(tree, dict(enumerate(case.clauses)))
    assert rows_of(tree.match(case.events)) == case.expected()


@pytest.mark.parametrize("max_cap", [2, 5])
@pytest.mark.parametrize("seed", range(4))
def test_insertions_and_deletions_keep_the_invariants(seed: int, max_cap: int) -> None:
    case = random_case(seed, n_clauses=700, n_events=6, max_spaces=20, negated=0.1)
    rng = np.random.default_rng(seed)
    tree = BETree.build(
        table_of(case.table.space_starts, case.clauses[:200]), max_cap=max_cap, min_size=2
    )
    clauses: Clauses = dict(enumerate(case.clauses[:200]))
    waiting = case.clauses[200:]
    sparse = iter((1000 + rng.permutation(100_000)).tolist())
    for step in range(800):
        grows = rng.random() < (0.8 if step < 400 else 0.2)  # first up, then down
        if (grows and waiting) or not clauses:
            row, clause = next(sparse), waiting.pop()
            tree.insert(row, clause)
            clauses[row] = clause
        else:
            row = int(rng.choice(list(clauses)))
            tree.delete(row)
            waiting.append(clauses.pop(row))
        if step % 50 == 49:
            check_invariants(tree, clauses)
            assert rows_of(tree.match(case.events)) == expected(case, clauses)


def test_a_changed_tree_answers_as_a_fresh_one() -> None:
    case = random_case(11, n_clauses=900, n_events=60)
    tree = BETree.build(case.table, max_cap=4, min_size=2)
    for row in range(0, 900, 3):
        tree.delete(row)
    for row in range(0, 900, 3):
        tree.insert(row, case.clauses[row])
    fresh = BETree.build(case.table, max_cap=4)
    assert rows_of(tree.match(case.events)) == rows_of(fresh.match(case.events))


def test_a_tree_can_lose_everything_and_start_again() -> None:
    case = random_case(2, n_clauses=300)
    tree = BETree.build(case.table, max_cap=3, min_size=2)
    for row in range(300):
        tree.delete(row)
    check_invariants(tree, {})
    assert tree.match(case.events).rows.size == 0
    for row, clause in enumerate(case.clauses):
        tree.insert(row, clause)
    check_invariants(tree, dict(enumerate(case.clauses)))
    assert rows_of(tree.match(case.events)) == case.expected()


def test_memory_returns_when_most_is_deleted() -> None:
    case = random_case(3, n_clauses=8000, n_dims=40, max_spaces=30, negated=0.1)
    tree = BETree.build(case.table)
    kept = set(range(0, 8000, 10))
    for row in np.random.default_rng(0).permutation(8000).tolist():
        if row not in kept:
            tree.delete(row)
    fresh = BETree.build(
        table_of(case.table.space_starts, [case.clauses[row] for row in sorted(kept)])
    )
    check_invariants(tree, {row: case.clauses[row] for row in kept})
    assert tree.nbytes < 1.2 * fresh.nbytes


def test_the_papers_insertion_example() -> None:
    a, b, d = 0, 1, 3
    tree = empty_tree([10, 10, 10, 10], max_cap=3, min_size=2)

    def insert(row: int, **spans: tuple[int, int]) -> None:
        tree.insert(row, [between(tree, "abcd".index(k), *span) for k, span in spans.items()])

    insert(1, a=(3, 7), b=(1, 2))
    insert(2, c=(0, 4))
    insert(3, d=(2, 2))
    assert p_directory(tree, ROOT) == {}
    insert(4, a=(2, 8), b=(0, 9))  # the root overflows: [a]
    assert list(p_directory(tree, ROOT)) == [a]
    top = top_bucket(tree, ROOT, a)
    assert l_node(tree, top) == [1, 4]
    insert(5, d=(1, 5))
    insert(6, d=(7, 9), c=(3, 3))  # and again: [d]
    assert set(p_directory(tree, ROOT)) == {a, d}
    assert l_node(tree, top_bucket(tree, ROOT, d)) == [3, 5, 6]
    assert l_node(tree, ROOT) == [2]
    insert(7, a=(1, 6), b=(4, 4))
    insert(8, a=(8, 9))  # the bucket of [a] overflows and is cut in halves
    assert l_node(tree, top) == [1, 4, 7]
    assert l_node(tree, int(tree.pools.c_nodes[top, RIGHT])) == [8]
    assert tree.pools.c_nodes[top, LEFT] == EMPTY
    insert(9, a=(4, 5), b=(5, 9))  # now it is no leaf bucket: partitioned, [b]
    assert list(p_directory(tree, top)) == [b]
    assert l_node(tree, top) == []
    assert l_node(tree, top_bucket(tree, top, b)) == [4]  # all four have it: cut at once
    assert rows_of(tree.match(event(tree, d0=5, d1=5))) == [[4, 9]]


def test_the_papers_mobile_shopper() -> None:
    genre, era, price, ranking, form = range(5)  # classics is genre 0, paperback form 0
    tree = empty_tree([5, 10, 100, 20, 3])
    spaces = tree.space_starts.tolist()
    eras = ((spaces[era] + 3, spaces[era] + 4), (spaces[era] + 5, spaces[era] + 6))
    hardly = ((spaces[form] + 2, spaces[form + 1]),)
    tree.insert(
        7,
        [
            between(tree, genre, 0, 0),
            Literal(era, False, False, eras),  # the 1920s are era 2, the 1940s era 4
            between(tree, price, 20, 40),
            between(tree, ranking, 0, 4),
            Literal(form, False, True, hardly),
        ],
    )
    item = {"d0": 0, "d1": 2, "d2": 26, "d3": 2, "d4": 1}
    assert rows_of(tree.match(event(tree, **item))) == [[7]]
    for change in ({"d0": 1}, {"d1": 3}, {"d2": 41}, {"d3": 5}, {"d4": 0}):
        assert rows_of(tree.match(event(tree, **(item | change)))) == [[]], change
    del item["d4"]  # no format at all: the paper's negation is the strong one
    assert rows_of(tree.match(event(tree, **item))) == [[]]


def test_nodes_that_events_find_useless_are_recycled() -> None:
    common, rare = 0, list(range(1, 21))
    tree = empty_tree([2] * 21, max_cap=4, min_size=3)
    clauses = {
        row: [between(tree, common, 0, 1), between(tree, rare[row % 20], 0, 0)] for row in range(40)
    }
    for row, clause in clauses.items():
        tree.insert(row, clause)
    assert list(p_directory(tree, ROOT)) == [common]  # no other attribute has three expressions
    for row in range(40, 100):
        clauses[row] = [between(tree, rare[row % 20], 1, 1)]
        tree.insert(row, clauses[row])  # now they have, yet the first forty stay where they are
    batch = event(tree, d0=0, d1=0)
    assert tree.match(batch).candidates >= 40
    check_invariants(tree, clauses)
    for _ in range(60):
        tree.match(event(tree, d0=0))
    assert tree.adjust() == 40
    assert common not in p_directory(tree, ROOT)
    assert tree.match(batch).candidates < 10
    assert rows_of(tree.match(batch)) == [[0, 20]]
    check_invariants(tree, clauses)


def test_a_deletion_recycles_what_lies_on_its_way() -> None:
    tree = empty_tree([2] * 30, max_cap=4, min_size=3)
    for row in range(25):
        tree.insert(row, [between(tree, 0, 0, 1), between(tree, 1 + row, 0, 0)])
    for _ in range(100):
        tree.match(event(tree, d0=1))
    assert list(p_directory(tree, ROOT)) == [0]
    tree.delete(7)
    assert p_directory(tree, ROOT) == {}  # all events have the attribute: it partitions nothing
    assert len(l_node(tree, ROOT)) == 24


@pytest.mark.parametrize("seed", range(3))
def test_recycling_keeps_the_invariants(seed: int) -> None:
    case = random_case(seed, n_clauses=500, n_events=30, n_dims=30, present=1.0, lists=0.1)
    tree = BETree.build(
        table_of(case.table.space_starts, case.clauses[:400]), max_cap=4, min_size=3
    )
    clauses: Clauses = dict(enumerate(case.clauses[:400]))
    n_recycled = 0
    for row in range(400, 500):
        tree.match(case.events)
        if row % 10 == 0:
            n_recycled += tree.adjust()
        tree.insert(row, case.clauses[row])
        tree.delete(row - 400)
        clauses[row] = case.clauses[row]
        del clauses[row - 400]
        if row % 20 == 0:
            check_invariants(tree, clauses)
            assert rows_of(tree.match(case.events)) == expected(case, clauses)
    assert n_recycled > 0


def test_feedback_guides_the_next_partition() -> None:
    everywhere, selective = 0, 1
    tree = empty_tree([10, 10], max_cap=4, min_size=3)
    for _ in range(10):
        tree.match(event(tree, d0=3))
    for row in range(5):
        tree.insert(row, [between(tree, everywhere, 0, 8), between(tree, selective, row, row)])
    assert list(p_directory(tree, ROOT)) == [selective]


@pytest.mark.parametrize("row", [-1, 2**31])
def test_a_row_that_does_not_fit_is_refused(row: int) -> None:
    with pytest.raises(ValueError, match=f"row {row} is not between 0 and 2147483647"):
        empty_tree([3]).insert(row, [])


def test_a_leaf_must_hold_something() -> None:
    with pytest.raises(ValueError, match="max_cap 0 and min_size 6 must be positive"):
        empty_tree([3], max_cap=0)


def test_a_row_is_taken_once() -> None:
    tree = empty_tree([3])
    tree.insert(5, [])
    with pytest.raises(ValueError, match="row 5 is taken"):
        tree.insert(5, [])
    tree.delete(5)
    with pytest.raises(KeyError, match="no expression has the row 5"):
        tree.delete(5)
    assert len(tree) == 0


@pytest.mark.parametrize(
    ("clause", "reason"),
    [
        ([Literal(2, False, False, ())], "there are 2 dimensions"),
        ([Literal(0, False, False, ())] * 2, "a dimension occurs twice"),
        ([Literal(1, False, False, ((4, 6),))], "its dimension has the spaces 5 to 8"),
        ([Literal(0, False, False, ((2, 3), (1, 2)))], "its spans do not ascend"),
    ],
)
def test_what_is_no_clause_over_these_spaces_is_refused(clause: list[Literal], reason: str) -> None:
    tree = empty_tree([3, 4])
    with pytest.raises(ValueError, match=reason):
        tree.insert(0, clause)
    assert len(tree) == 0


def test_a_read_only_tree_matches_and_can_still_be_changed() -> None:
    case = random_case(4, n_clauses=300)
    built = BETree.build(case.table, max_cap=5)
    frozen(built.pools)
    tree = BETree(built.space_starts, built.dim_of_space, built.pools, 5, 3)
    assert rows_of(tree.match(case.events)) == case.expected()
    tree.delete(0)
    tree.insert(0, case.clauses[0])
    check_invariants(tree, dict(enumerate(case.clauses)))
    assert rows_of(tree.match(case.events)) == case.expected()


def test_a_wide_domain_costs_no_more_than_its_expressions() -> None:
    rng = np.random.default_rng(0)
    tree = empty_tree([100_000, 100_000])
    spans = np.sort(rng.integers(1, 100_001, (2000, 2)), axis=1)
    for row, (lo, hi) in enumerate(spans.tolist()):
        tree.insert(row, [Literal(0, False, False, ((lo, hi + 1),))])
    assert len(tree.pools.c_nodes) < 2000
    space = 54_321
    found = tree.match(EventBatch(np.array([0, 1], np.int64), np.array([space], np.int32)))
    inside = (spans[:, 0] <= space) & (space <= spans[:, 1])
    assert rows_of(found) == [np.flatnonzero(inside).tolist()]
