"""The PS-Tree and its two matchers beyond the contract: the paper's examples, and every change."""

from __future__ import annotations

import pickle
from collections import Counter
from itertools import pairwise

import numpy as np
import pytest

from matchers.tables import Case, literal_holds, predicates_of, random_case
from matchers.test_contract import SHAPES, rows_of
from remuda.arrays import frozen, ragged, starts_of
from remuda.encoding.table import ClauseTable, EventBatch, Predicates
from remuda.index.packing import pack, unpack
from remuda.matchers.contract import Literal
from remuda.matchers.kernels.hashing import HashTable
from remuda.matchers.kernels.pairs import pair_of
from remuda.matchers.onedim import IntervalTree, SegmentTree
from remuda.matchers.pstbloom import PSTBloom
from remuda.matchers.pstforest import contains, has_access
from remuda.matchers.psthash import PSTHash
from remuda.matchers.pstree import PSTree, PSTreeB

Matcher = PSTBloom | PSTHash
Space = tuple[int, int, int]

both = pytest.mark.parametrize("kind", [PSTBloom, PSTHash])
every_index = pytest.mark.parametrize("kind", [PSTreeB, SegmentTree, IntervalTree])


def table_of(sizes: list[int], clauses: list[list[Literal]]) -> ClauseTable:
    """A table over dimensions of so many present spaces."""
    literals = list(dict.fromkeys(literal for clause in clauses for literal in clause))
    rows = ragged([[literals.index(literal) for literal in clause] for clause in clauses])
    space_starts = starts_of(np.array(sizes, np.int64) + 1).astype(np.int32)
    return ClauseTable(frozen(space_starts), predicates_of(literals), rows)


def events_of(*events: list[int]) -> EventBatch:
    batch = ragged(events)
    return EventBatch(batch.starts, batch.items)


def emptied(table: ClauseTable) -> ClauseTable:
    return ClauseTable(table.space_starts, predicates_of([]), ragged([]))


# The paper's examples


class Values:
    """Attributes whose values, from `low` to `high`, are spaces of their own."""

    def __init__(self, low: int, high: int, n_dims: int = 1) -> None:
        self.low, self.high, self.n_dims = low, high, n_dims

    def between(self, dim: int, low: int, high: int) -> Literal:
        first = dim * (self.high - self.low + 2) + 1 - self.low
        return Literal(dim, False, False, ((first + low, first + high + 1),))

    def event(self, *values: int) -> EventBatch:
        size = self.high - self.low + 2
        return events_of([dim * size + 1 + v - self.low for dim, v in enumerate(values)])

    def table(self, *clauses: list[Literal]) -> ClauseTable:
        return table_of([self.high - self.low + 1] * self.n_dims, list(clauses))


def spaces_of(intervals: list[tuple[int, int]], low: int, high: int) -> PSTreeB:
    """The tree of closed intervals in a closed domain, its ordinals counted from `low`."""
    lo, hi = np.array(intervals, np.int32).T - low
    return PSTreeB.build(high - low + 1, lo, hi + 1)


def leaves_of(tree: PSTree) -> list[Space]:
    """All predicate spaces in their order: where each begins and ends, and its counter."""
    leaves = tree.covered(0, len(tree.leaf_of))
    columns = (tree.lo[leaves], tree.hi[leaves], tree.counter[leaves])
    return list(zip(*(column.tolist() for column in columns), strict=True))


def shown(tree: PSTree, low: int) -> list[Space]:
    """Closed predicate spaces with their counters."""
    return [(lo + low, hi + low - 1, counter) for lo, hi, counter in leaves_of(tree)]


def test_figure_1_two_spaces_for_two_prices() -> None:
    index = spaces_of([(0, 4), (2, 4)], 0, 4)
    assert shown(index.tree, 0) == [(0, 1, 1), (2, 4, 2)]
    assert sorted(index.stab(np.array([3], np.int32)).row(0)) == [0, 1]


def test_figure_2_five_spaces_of_a_byte() -> None:
    index = spaces_of([(-5, -1), (1, 5)], -128, 127)
    assert shown(index.tree, -128) == [
        (-128, -6, 0), (-5, -1, 1), (0, 0, 0), (1, 5, 1), (6, 127, 0),
    ]  # fmt: skip
    found = index.stab(np.array([128 + 2, 128 - 5, 128 + 0], np.int32))
    assert [found.row(i).tolist() for i in range(3)] == [[1], [0], []]


def test_section_4_4_spaces_of_ages_merge_when_a_subscription_is_removed() -> None:
    index = spaces_of([(20, 60), (30, 80)], 1, 100)
    assert shown(index.tree, 1) == [
        (1, 19, 0), (20, 29, 1), (30, 60, 2), (61, 80, 1), (81, 100, 0),
    ]  # fmt: skip
    index.delete(1, 30 - 1, 80)
    assert shown(index.tree, 1) == [(1, 19, 0), (20, 60, 1), (61, 100, 0)]
    index.insert(7, 30 - 1, 80)
    assert [counter for _, _, counter in shown(index.tree, 1)] == [0, 1, 2, 1, 0]
    assert sorted(index.stab(np.array([40 - 1], np.int32)).row(0)) == [0, 7]


def test_figure_3_access_predicates_are_listed_and_the_others_signed() -> None:
    values = Values(-20, 30, 2)
    matcher = PSTBloom.build(
        values.table(
            [values.between(0, -20, -6), values.between(1, 1, 5)],
            [values.between(0, -5, -1), values.between(1, -20, 0)],
            [values.between(0, -5, -1), values.between(1, 6, 30)],
        )
    )
    assert listed(matcher, 0, -20) == {(-5, -1): {1, 2}}
    assert listed(matcher, 1, -20) == {(1, 5): {0}}
    assert signed(matcher, 0, -20, -20) == {0}
    assert signed(matcher, 1, -20, -20) == {1}
    assert signed(matcher, 1, -20, 30) == {2}
    assert signed(matcher, 0, -20, 10) == set()
    assert rows_of(matcher.match(values.event(-3, 10))) == [[2]]
    assert rows_of(matcher.match(values.event(-10, 3))) == [[0]]


def test_figure_3_on_the_papers_bytes_with_its_counters() -> None:
    values = Values(-128, 127, 2)
    matcher = PSTBloom.build(
        values.table(
            [values.between(0, -128, -6), values.between(1, 1, 5)],
            [values.between(0, -5, -1), values.between(1, -128, 0)],
            [values.between(0, -5, -1), values.between(1, 6, 127)],
        ),
        span=256,
    )
    # each dimension's begin with "missing", at 0 and at 257
    spaces = leaves_of(matcher.forest.tree)
    assert [(lo - 129, hi - 130, n) for lo, hi, n in spaces if 0 < lo < 257] == [
        (-128, -6, 1), (-5, -1, 2), (0, 127, 0),
    ]  # fmt: skip
    assert [(lo - 257 - 129, hi - 257 - 130, n) for lo, hi, n in spaces if lo > 257] == [
        (-128, 0, 1), (1, 5, 1), (6, 127, 1),
    ]  # fmt: skip
    assert listed(matcher, 0, -128) == {(-5, -1): {1, 2}}
    assert listed(matcher, 1, -128) == {(1, 5): {0}}
    assert [signed(matcher, 0, -128, at) for at in (-128, -6, 0, 127)] == [{0}, {0}, set(), set()]
    assert [signed(matcher, 1, -128, at) for at in (-128, 0, 6, 127)] == [{1}, {1}, {2}, {2}]
    assert rows_of(matcher.match(values.event(-3, 10))) == [[2]]
    assert rows_of(matcher.match(values.event(-3, -100))) == [[1]]
    assert rows_of(matcher.match(values.event(-128, 3))) == [[0]]


@both
@pytest.mark.parametrize("seed", range(3))
def test_every_predicate_in_the_trees_finds_the_same(kind, seed: int) -> None:
    case = random_case(seed, n_clauses=300, n_events=40, n_dims=12, present=0.8, lists=0.1)
    printed = kind.build(case.table, span=1 << 20)
    assert rows_of(printed.match(case.events)) == rows_of(kind.build(case.table).match(case.events))


def test_section_6_1_two_access_predicates_leave_two_candidates() -> None:
    values = Values(-128, 127, 3)
    is_1, is_minus_1, is_0 = (values.between(d, v, v) for d, v in ((0, 1), (1, -1), (2, 0)))
    matcher = PSTHash.build(
        values.table(
            [is_1, is_minus_1, values.between(2, -128, -1)],
            [is_1, is_minus_1, values.between(2, 1, 127)],
            [is_1, values.between(1, -128, -2), is_0],
            [values.between(0, -128, 0), is_minus_1, is_0],
        )
    )
    tree, pairs = matcher.forest.tree, matcher.pairs
    first, second, third = (int(tree.leaf_of[one.spans[0][0]]) for one in (is_1, is_minus_1, is_0))
    rows = {
        pair: sorted(matcher.forest.records.rows[pairs.lists.row(pairs.numbers[pair])])
        for pair in pairs.numbers.keys[pairs.numbers.keys >= 0].tolist()
    }
    assert rows == {
        pair_of(first, second): [0, 1],
        pair_of(first, third): [2],
        pair_of(second, third): [3],
    }
    hits = matcher.match(values.event(1, -1, 2))
    assert hits.candidates == 2
    assert rows_of(hits) == [[1]]


def listed(matcher: PSTBloom, dim: int, low: int) -> dict[tuple[int, int], set[int]]:
    """The rows that the leaves of a dimension list, by the values of each leaf."""
    forest = matcher.forest
    start, end = forest.nodes.space_starts[dim : dim + 2]
    result = {}
    for leaf in forest.tree.covered(start + 1, end).tolist():
        rows = forest.records.rows[forest.lists.row(forest.nodes.first_leaf + leaf)]
        if len(rows):
            first, last = forest.tree.lo[leaf] - start - 1, forest.tree.hi[leaf] - start - 2
            result[int(first) + low, int(last) + low] = set(rows.tolist())
    return result


def signed(matcher: PSTBloom, dim: int, low: int, value: int) -> set[int]:
    """The rows in the signature of the leaf that has a value."""
    forest = matcher.forest
    leaf = forest.tree.leaf_of[forest.nodes.space_starts[dim] + 1 + value - low]
    filters, words = matcher.signatures.arrays
    slots = np.flatnonzero([contains(words, filters[leaf], slot) for slot in range(3)])
    return set(forest.records.rows[slots].tolist())


# One dimension


def test_predicates_come_and_go() -> None:
    rng = np.random.default_rng(3)
    n, ends = 60, np.array([0, 7, 8, 30, 60])
    tree = PSTree.build(ends, *np.empty((3, 0), np.int32))
    alive: list[tuple[int, int]] = []
    hung: dict[int, list[tuple[int, int]]] = {}
    for _ in range(1500):
        if alive and rng.random() < 0.5:
            lo, hi = alive.pop(int(rng.integers(len(alive))))
            for leaf in tree.covered(lo, hi).tolist():
                hung[leaf].remove((lo, hi))
            tree.delete(lo, hi, lambda leaf: hung.pop(leaf, None))
        else:
            dim = int(rng.integers(len(ends) - 1))
            lo, hi = np.sort(rng.choice(np.arange(ends[dim], ends[dim + 1] + 1), 2, replace=False))
            for leaf in tree.insert(int(lo), int(hi), lambda old, new: copy(hung, old, new)):
                hung.setdefault(int(leaf), []).append((int(lo), int(hi)))
            alive.append((int(lo), int(hi)))
        check_tree(tree, ends, alive)
        for lo, hi, _ in leaves_of(tree):
            covering = [one for one in alive if one[0] <= lo and hi <= one[1]]
            assert sorted(hung.get(int(tree.leaf_of[lo]), [])) == sorted(covering)
    assert n == len(tree.leaf_of)
    assert tree.n_leaves <= n  # leaves that were merged away are used again


def copy(hung: dict[int, list[tuple[int, int]]], old: int, new: int) -> None:
    hung[new] = list(hung.get(old, []))


def check_tree(tree: PSTree, ends: np.ndarray, alive: list[tuple[int, int]]) -> None:
    """Spaces partition the domain, every cut is needed and none is missing, counters are right."""
    cuts = sorted({*ends.tolist(), *(cut for one in alive for cut in one)})
    expected = [
        (lo, hi, sum(one[0] <= lo and hi <= one[1] for one in alive)) for lo, hi in pairwise(cuts)
    ]
    assert leaves_of(tree) == expected
    for lo, hi, _ in expected:
        assert len(set(tree.leaf_of[lo:hi].tolist())) == 1


@every_index
@pytest.mark.parametrize("n_values", [1, 2, 7, 64, 500])
def test_stabbing_finds_the_intervals_that_contain_a_value(kind: type, n_values: int) -> None:
    rng = np.random.default_rng(n_values)
    lo = rng.integers(0, n_values, 200).astype(np.int32)
    hi = np.minimum(lo + rng.geometric(0.1, 200), n_values).astype(np.int32)
    built = kind.build(n_values, lo, hi)
    grown = kind.build(n_values, lo[:0], hi[:0])
    for which in rng.permutation(200).tolist():
        grown.insert(which, int(lo[which]), int(hi[which]))
    assert (
        stabs(built, n_values) == stabs(grown, n_values) == contained(range(200), lo, hi, n_values)
    )
    gone = rng.permutation(200)[:150].tolist()
    for which in gone:
        built.delete(which, int(lo[which]), int(hi[which]))
    assert stabs(built, n_values) == contained(set(range(200)) - set(gone), lo, hi, n_values)


def stabs(index: PSTreeB | SegmentTree | IntervalTree, n_values: int) -> list[list[int]]:
    found = index.stab(np.arange(n_values, dtype=np.int32))
    return [sorted(found.row(value).tolist()) for value in range(n_values)]


def contained(
    which: range | set[int], lo: np.ndarray, hi: np.ndarray, n_values: int
) -> list[list[int]]:
    return [[i for i in sorted(which) if lo[i] <= value < hi[i]] for value in range(n_values)]


@every_index
def test_an_index_of_no_intervals_finds_none(kind: type) -> None:
    nothing = np.empty(0, np.int32)
    assert len(kind.build(9, nothing, nothing).stab(np.array([0, 8], np.int32)).items) == 0


# Clauses that come and go


@both
@pytest.mark.parametrize("shape", SHAPES)
def test_changes_leave_what_a_fresh_build_has(kind: type[Matcher], shape: str) -> None:
    case = random_case(11, **{**SHAPES[shape], "n_clauses": 250})
    rng = np.random.default_rng(2)
    matcher, alive = kind.build(emptied(case.table)), set[int]()
    for step in range(400):
        row = int(rng.integers(250))
        if row in alive:
            matcher.delete(row)
        else:
            matcher.insert(row, case.clauses[row])
        alive ^= {row}
        if step % 57 == 0:
            check(matcher, case, alive)
    check(matcher, case, alive)
    kept = sorted(alive)
    sizes = (np.diff(case.table.space_starts) - 1).tolist()
    fresh = kind.build(table_of(sizes, [case.clauses[row] for row in kept]))
    found = [[kept[i] for i in rows] for rows in rows_of(fresh.match(case.events))]
    assert rows_of(matcher.match(case.events)) == found


def check(matcher: Matcher, case: Case, alive: set[int]) -> None:
    expected = [[row for row in rows if row in alive] for rows in case.expected()]
    assert rows_of(matcher.match(case.events)) == expected
    forest = matcher.forest
    slots = forest.records.alive().tolist()
    assert sorted(forest.records.rows[slots].tolist()) == sorted(alive)
    starts = case.table.space_starts
    planted = [span for slot in slots for spans in in_trees(matcher, slot) for span in spans]
    check_tree(forest.tree, np.unique(np.append(starts, starts[:-1] + 1)), planted)
    check_lists(matcher, slots)


def in_trees(matcher: Matcher, slot: int) -> list[list[tuple[int, int]]]:
    """The predicates of a clause that the trees have, access predicates first, as spans."""
    forest = matcher.forest
    predicates = forest.records.clause(slot)
    which = np.flatnonzero(forest.is_narrow(predicates)).tolist()
    if isinstance(matcher, PSTHash):
        same, n_access = matcher._access(predicates)
        assert same.dim.tolist() == predicates.dim.tolist()  # they lie in the order of their ranks
        which = list(range(n_access))
    return [spans_of(predicates, i) for i in which]


def spans_of(predicates: Predicates, which: int) -> list[tuple[int, int]]:
    begin, end = predicates.span_starts[which], predicates.span_starts[which + 1]
    return list(
        zip(
            predicates.span_lo[begin:end].tolist(),
            predicates.span_hi[begin:end].tolist(),
            strict=True,
        )
    )


def check_lists(matcher: Matcher, slots: list[int]) -> None:
    """Every clause is where its access predicates lead, once, and nothing else is anywhere."""
    forest = matcher.forest
    expected: Counter[tuple[str, int, int]] = Counter()
    for slot in slots:
        predicates = forest.records.clause(slot)
        n_access = matcher._access(predicates)[1] if isinstance(matcher, PSTHash) else 0
        if n_access == 2:
            leaves = [forest.covered(predicates, i) for i in range(2)]
            first, second = sorted(range(2), key=lambda i: predicates.dim[i])
            pairs = [pair_of(a, b) for a in leaves[first] for b in leaves[second]]
            expected.update(("pair", pair, slot) for pair in pairs)
        else:
            expected.update(("list", at, slot) for at in forest._lists(predicates))
        if isinstance(matcher, PSTBloom):
            check_signed(matcher, slot)
    found = Counter(
        ("list", at, slot)
        for at in range(len(forest.lists.ends))
        for slot in forest.lists.row(at).tolist()
    )
    if isinstance(matcher, PSTHash):
        numbers = matcher.pairs.numbers
        found.update(
            ("pair", pair, slot)
            for pair in numbers.keys[numbers.keys >= 0].tolist()
            for slot in matcher.pairs.lists.row(numbers[pair]).tolist()
        )
    assert found == expected


def check_signed(matcher: PSTBloom, slot: int) -> None:
    """A Bloom filter may have more than it should, never less."""
    forest = matcher.forest
    predicates = forest.records.clause(slot)
    filters, words = matcher.signatures.arrays
    for i in np.flatnonzero(forest.is_narrow(predicates)).tolist():
        if i > 0 or not has_access(predicates):
            for leaf in forest.covered(predicates, i):
                assert contains(words, filters[leaf], slot)


@both
def test_rows_are_inserted_once_and_deleted_once(kind: type[Matcher]) -> None:
    case = random_case(1, n_clauses=20)
    matcher = kind.build(case.table)
    before = rows_of(matcher.match(case.events))
    with pytest.raises(ValueError, match="row 7 is there already"):
        matcher.insert(7, [])
    with pytest.raises(KeyError, match="row 20 is not there"):
        matcher.delete(20)
    with pytest.raises(KeyError, match="row -1 is not there"):
        matcher.delete(-1)
    with pytest.raises(ValueError, match="row -1 is not between"):
        matcher.insert(-1, [])
    matcher.delete(7)
    with pytest.raises(KeyError, match="row 7 is not there"):
        matcher.delete(7)
    matcher.insert(7, case.clauses[7])
    assert rows_of(matcher.match(case.events)) == before


@both
@pytest.mark.parametrize(
    "literal",
    [
        Literal(2, False, False, ((1, 2),)),
        Literal(-1, True, True, ()),
        Literal(1, False, False, ((4, 6),)),
        Literal(1, False, False, ((8, 10),)),
    ],
)
def test_a_literal_beyond_its_dimension_is_refused(kind: type[Matcher], literal: Literal) -> None:
    matcher = kind.build(table_of([3, 4], []))
    with pytest.raises(ValueError, match="Literal"):
        matcher.insert(0, [literal])
    assert rows_of(matcher.match(events_of([1, 5]))) == [[]]


@both
def test_memory_returns_when_most_is_deleted(kind: type[Matcher]) -> None:
    case = random_case(4, n_clauses=4000, n_dims=12, max_spaces=40, n_events=1)
    matcher = kind.build(case.table)
    order = np.random.default_rng(0).permutation(4000)
    for row in order[400:].tolist():
        matcher.delete(row)
    sizes = (np.diff(case.table.space_starts) - 1).tolist()
    fresh = kind.build(table_of(sizes, [case.clauses[row] for row in order[:400]]))
    assert matcher.nbytes < 1.2 * fresh.nbytes


@both
def test_a_stored_matcher_can_be_changed(kind: type[Matcher]) -> None:
    case = random_case(6, n_clauses=300, max_spaces=80)
    header, blocks = pack(kind.build(case.table), 1)
    matcher = unpack(kind, header, b"".join(blocks))
    for row in range(0, 300, 2):
        matcher.delete(row)
    check(matcher, case, set(range(1, 300, 2)))
    for row in range(0, 300, 2):
        matcher.insert(row, case.clauses[row])
    check(matcher, case, set(range(300)))


@both
def test_a_changed_matcher_pickles(kind: type[Matcher]) -> None:
    case = random_case(8, n_clauses=100)
    matcher = kind.build(case.table)
    matcher.delete(5)
    again = pickle.loads(pickle.dumps(matcher))
    again.insert(5, case.clauses[5])
    check(again, case, set(range(100)))
    check(matcher, case, set(range(100)) - {5})


# What leads to a clause


@both
def test_wide_predicates_are_not_replicated_over_their_spaces(kind: type[Matcher]) -> None:
    n_spaces, n_clauses = 100_000, 600
    rng = np.random.default_rng(5)
    bounds = np.sort(rng.integers(1, n_spaces + 1, (n_clauses, 2)), axis=1).tolist()
    clauses = [[Literal(0, False, False, ((lo, hi + 1),))] for lo, hi in bounds]
    clauses += [
        [Literal(0, False, True, ((1, lo), (lo + 1, n_spaces + 1)))] for lo, _ in bounds[:99]
    ]
    table = table_of([n_spaces], clauses)
    matcher = kind.build(table)
    assert matcher.forest.lists.n_items < 20 * len(clauses)
    for row in range(0, len(clauses), 2):
        matcher.delete(row)
        matcher.insert(row, clauses[row])
    events = [[space] for space in rng.integers(1, n_spaces + 1, 30).tolist()]
    events += [[lo, hi] for lo, hi in bounds[:10] if lo < hi]
    expected = [
        [row for row, (one,) in enumerate(clauses) if literal_holds(table, one, event)]
        for event in events
    ]
    hits = matcher.match(events_of(*events))
    assert rows_of(hits) == expected
    scalars = matcher.match(events_of(*events[:30]))
    assert scalars.candidates < 1.6 * len(scalars.rows)  # blocks reach a little too far


@both
def test_events_seen_tell_which_predicate_is_selective(kind: type[Matcher]) -> None:
    """All events are in space 1 of the first dimension; its = is not selective at all."""
    common, rare = Literal(0, False, False, ((1, 2),)), Literal(1, False, False, ((8, 11),))
    table = table_of([5, 9], [[common, rare]] * 50)
    sample = events_of(*[[1, 7]] * 900, *[[1]] * 100)
    events = events_of([1, 7], [1], [1, 9])
    guessing, knowing = kind.build(table), kind.build(table, sample=sample)
    assert rows_of(guessing.match(events)) == rows_of(knowing.match(events))
    assert knowing.match(events).candidates == 50
    if kind is PSTBloom:
        assert guessing.match(events).candidates == 150


def test_clauses_without_an_access_predicate_are_always_candidates() -> None:
    weak = Literal(0, True, True, ((1, 2),))
    table = table_of([3], [[], [weak], [Literal(0, False, False, ())]])
    for kind in (PSTBloom, PSTHash):
        hits = kind.build(table).match(events_of([], [1], [2], [1, 2]))
        assert rows_of(hits) == [[0, 1], [0, 1], [0], [0]]
        assert hits.candidates == 8  # and what is never true is never one


def test_a_hash_table_is_a_dict() -> None:
    rng = np.random.default_rng(9)
    table, truth = HashTable.of(np.empty(0, np.int64), np.empty(0, np.int32)), dict[int, int]()
    for step in range(4000):
        key = int(rng.integers(300)) << int(rng.integers(2)) * 32
        if key in truth and rng.random() < 0.6:
            del table[key], truth[key]
        else:
            table[key] = truth[key] = step
    assert table.n == len(truth)
    keys = {int(low) << shift for low in range(300) for shift in (0, 32)}
    assert {key: table[key] for key in keys if key in table} == truth
    with pytest.raises(KeyError):
        table[10**6]
