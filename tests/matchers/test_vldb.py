"""The VLDB'09 matchers against the paper's figures, and their rankings against plain sums."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import pytest

from matchers.tables import Case, cnf_of, literal_holds, predicates_of, random_case
from matchers.test_contract import rows_of
from remuda.arrays import Ragged, frozen, ragged, starts_of
from remuda.encoding.programs import Programs, joint
from remuda.encoding.table import ClauseTable, CnfTable, EventBatch
from remuda.matchers.contract import ItemBounds, Literal, Ranked, cnf_matcher, conjunction_matcher
from remuda.matchers.kernels.best import Asked, Choice, Owned, room_for
from remuda.matchers.kernels.plists import PostingLists
from remuda.matchers.kindex import CnfKIndex, KIndex
from remuda.matchers.pscan import PScan
from remuda.matchers.scan import Scan
from remuda.matchers.sift import Sift

# --- the paper's vocabulary: each value a space of its own, and one space for all others

WORDS = {"age": [3, 4], "state": ["CA", "NY"], "gender": ["F", "M"]}
LETTERS = {"A": [1, 2], "B": [1, 2], "C": [1, 2], "D": [1, 2], "E": [1, 2]}

CONJUNCTIONS = [  # figure 1: (attribute, values, ∈?) with the weights of figure 2
    [("age", [3], True, 0.1), ("state", ["NY"], True, 4.0)],
    [("age", [3], True, 0.1), ("gender", ["F"], True, 0.3)],
    [("age", [3], True, 0.2), ("gender", ["M"], True, 0.5), ("state", ["CA"], False, 0.0)],
    [("state", ["CA"], True, 1.5), ("gender", ["M"], True, 0.9)],
    [("age", [3, 4], True, 0.1)],
    [("state", ["CA", "NY"], False, 0.0)],
]

ROWS = [  # figure 7, with the weights of figure 8
    [
        [("A", [1], True, 0.1), ("B", [1], True, 0.3)],
        [("C", [1], True, 0.2), ("D", [1], True, 2.1)],
    ],
    [
        [("A", [1], True, 0.3), ("C", [2], True, 2.5)],
        [("B", [1], True, 0.5), ("D", [1], True, 2.5)],
    ],
    [
        [("A", [1], True, 0.3), ("B", [1], True, 0.3)],
        [("C", [2], True, 2.7), ("D", [1], True, 1.7)],
    ],
    [
        [("A", [1], True, 0.1), ("B", [1], True, 0.5)],
        [("A", [1, 2], True, 0.1), ("D", [1], True, 1.9)],
    ],
    [
        [("A", [1], True, 0.1), ("B", [1], True, 0.7)],
        [("C", [1, 2], False, 0.0), ("D", [1], False, 0.0), ("E", [1], True, 3.9)],
    ],
    [[("A", [1], False, 0.0), ("B", [1], True, 0.1)]],
]


def space_of(words: dict[str, list], attribute: str, value: object) -> int:
    before = sum(len(words[one]) + 2 for one in list(words)[: list(words).index(attribute)])
    return before + 1 + words[attribute].index(value)


def literal_of(words: dict[str, list], attribute: str, values: list, is_in: bool) -> Literal:
    spaces = [space_of(words, attribute, value) for value in words[attribute]]
    spaces.append(spaces[-1] + 1)
    named = {space_of(words, attribute, value) for value in values}
    accepted = [space for space in spaces if (space in named) == is_in]
    dim = list(words).index(attribute)
    return Literal(dim, not is_in, not is_in, tuple((space, space + 1) for space in accepted))


def table_of(words: dict[str, list], clauses: list) -> tuple[ClauseTable, np.ndarray]:
    """The table of the clauses, and the weights of its items."""
    literals: dict[Literal, int] = {}
    rows = [
        [literals.setdefault(literal_of(words, *one[:3]), len(literals)) for one in clause]
        for clause in clauses
    ]
    space_starts = starts_of([len(values) + 2 for values in words.values()]).astype(np.int32)
    weights = np.array([weight for clause in clauses for *_, weight in clause])
    return ClauseTable(frozen(space_starts), predicates_of(list(literals)), ragged(rows)), weights


def assignment(words: dict[str, list], **values: object) -> EventBatch:
    batch = ragged([[space_of(words, name, values[name]) for name in words if name in values]])
    return EventBatch(batch.starts, batch.items)


def posting_lists(
    words: dict[str, list],
    lists: PostingLists,
    row_of: np.ndarray,
    places: np.ndarray | None = None,
) -> dict[tuple, list[list[tuple]]]:
    """The lists by (K, attribute, value), or (K, "Z"), as rows of (id, ∈ or ∉, disjunction)."""
    names: dict[int, tuple] = {len(lists.key_runs) - 2: ("Z",)}
    for attribute, values in words.items():
        names |= {space_of(words, attribute, value): (attribute, value) for value in values}
    found: dict[tuple, list[list[tuple]]] = {}
    for key in range(len(lists.key_runs) - 1):
        for run in range(lists.key_runs[key], lists.key_runs[key + 1]):
            entries = range(lists.run_starts[run], lists.run_starts[run + 1])
            found.setdefault((int(lists.run_sizes[run]), *names[key]), []).append(
                [
                    (
                        int(row_of[lists.entries[i] >> 2]) + 1,
                        "∈" if lists.entries[i] & 2 else "∉",
                        *([] if places is None else [int(places[i])]),
                    )
                    for i in entries
                ]
            )
    return found


def best_of(ranked: Ranked) -> list[list[tuple[int, float]]]:
    pairs = list(zip(ranked.rows.tolist(), ranked.scores.tolist(), strict=True))
    return [pairs[a:b] for a, b in pairwise(ranked.starts)]


def scoring(weights: np.ndarray, table: ClauseTable) -> np.ndarray:
    """The weights of a table's items: only those of ∈ predicates score."""
    silent = table.predicates.on_missing | table.predicates.every
    return np.where(silent[table.clauses.items], 0.0, weights)


def bounds_of(weights: np.ndarray, n_rows: int) -> ItemBounds:
    return ItemBounds(np.abs(weights), np.zeros(len(weights)), np.zeros(n_rows))


def top(
    index: KIndex | CnfKIndex,
    of: ClauseTable | CnfTable,
    weights: np.ndarray,
    events: EventBatch,
    n: int,
    factors: np.ndarray | None = None,
) -> Ranked:
    """The n best rows of each event, which weighs each dimension by its column of the factors.

    Each row is a criterion of its own: the And of its predicates, or of the Ors of some.
    """
    table = of if isinstance(of, ClauseTable) else of.table
    rows = [range(a, b) for a, b in pairwise(table.clauses.starts.tolist())]
    parts = [[[i] for i in row] for row in rows]
    if isinstance(of, CnfTable):
        parts = [[list(rows[clause]) for clause in of.rows.row(row)] for row in range(of.n_rows)]
    codes = [
        [code for part in row for code in (*part, joint(len(part), 1))] + [joint(len(row), 0)]
        for row in parts
    ]
    items, n_items = table.clauses.items, len(table.clauses.items)
    programs = Programs(
        *ragged(codes),
        items,
        table.predicates.dim[items],
        weights,
        np.zeros(n_items + 1, np.int32),
        np.empty(0, np.int32),
        np.empty(0),
    )
    most = np.array([float(sum(max(abs(weights[part])) for part in row)) for row in parts])
    nothing, no_longs, no_bools = np.empty(0), np.empty(0, np.int64), np.empty(0, np.bool_)
    choice = Choice(
        np.arange(len(parts), dtype=np.int32), most, False, False, False, nothing, no_bools,
        no_bools, np.empty((0, 2), np.int64), 0, Ragged(no_longs, np.empty(0, np.int32)),
        np.array([0, n]), True, programs, table.predicates, table.dim_of_space(), table.n_dims,
    )  # fmt: skip
    dims, n_events = np.arange(table.n_dims, dtype=np.int32), len(events)
    weighed = (no_longs, np.empty(0, np.int32), nothing, nothing)
    if factors is not None:
        starts = table.n_dims * np.arange(n_events + 1)
        weighed = (starts, np.tile(dims, n_events), factors.ravel(), factors.max(axis=1))
    owners = ragged([[row] for row in range(len(parts))])
    room = room_for(choice, table.n_dims, max(map(len, codes)))
    return index.best(
        Owned(owners.items, owners, most, False),
        choice,
        Asked(events.starts, events.spaces, *weighed, nothing, nothing),
        room._replace(event=room.event._replace(spaces=events.spaces)),
        dims,
    )


@pytest.fixture
def conjunctions() -> KIndex:
    table, weights = table_of(WORDS, CONJUNCTIONS)
    return KIndex.build(table, bounds=bounds_of(weights, table.n_clauses))


@pytest.fixture
def rows() -> CnfKIndex:
    cnf, weights = figure_7()
    return CnfKIndex.build(cnf, bounds=bounds_of(weights, cnf.n_rows))


def figure_7() -> tuple[CnfTable, np.ndarray]:
    table, weights = table_of(LETTERS, [disjunction for row in ROWS for disjunction in row])
    starts = starts_of([len(row) for row in ROWS])
    of_rows = ragged([range(a, b) for a, b in pairwise(starts)])
    return CnfTable(of_rows, table), weights


# --- sections 3 and 5: conjunctions


def test_figure_2_the_inverted_list_of_conjunctions(conjunctions: KIndex) -> None:
    assert posting_lists(WORDS, conjunctions.lists, conjunctions.row_of) == {
        (0, "state", "CA"): [[(6, "∉")]],
        (0, "state", "NY"): [[(6, "∉")]],
        (0, "Z"): [[(6, "∈")]],
        (1, "age", 3): [[(5, "∈")]],
        (1, "age", 4): [[(5, "∈")]],
        (2, "state", "NY"): [[(1, "∈")]],
        (2, "age", 3): [[(1, "∈"), (2, "∈"), (3, "∈")]],
        (2, "gender", "F"): [[(2, "∈")]],
        (2, "state", "CA"): [[(3, "∉"), (4, "∈")]],
        (2, "gender", "M"): [[(3, "∈"), (4, "∈")]],
    }


def test_figures_3_to_6_the_conjunction_algorithm(conjunctions: KIndex) -> None:
    hits = conjunctions.match(assignment(WORDS, age=3, state="CA", gender="M"))
    assert rows_of(hits) == [[3, 4]]  # c4 and c5
    assert hits.candidates == 4  # c3 and c6 are rejected for a ∉; c1 and c2 are skipped


def test_figures_10_to_12_the_two_prunings(conjunctions: KIndex) -> None:
    event = assignment(WORDS, age=3, state="NY", gender="F")
    factors = np.array([[0.8, 1.0, 0.9]])
    ranked = top(conjunctions, *table_of(WORDS, CONJUNCTIONS), event, 1, factors)
    assert best_of(ranked) == [[(0, pytest.approx(4.08))]]  # c1
    assert ranked.candidates == 1
    assert ranked.pruned == 1  # c2, by the sum of the upper bounds of its lists
    assert ranked.pruned_partitions == 2  # K = 1 and K = 0


def test_the_second_best_is_found_where_there_is_room(conjunctions: KIndex) -> None:
    event = assignment(WORDS, age=3, state="NY", gender="F")
    factors = np.array([[0.8, 1.0, 0.9]])
    ranked = top(conjunctions, *table_of(WORDS, CONJUNCTIONS), event, 2, factors)
    assert best_of(ranked) == [[(0, pytest.approx(4.08)), (1, pytest.approx(0.35))]]


# --- sections 4 and 5: conjunctions of disjunctions


def test_figure_8_the_inverted_list_of_rows(rows: CnfKIndex) -> None:
    assert rows.cnf is not None
    assert posting_lists(LETTERS, rows.lists, rows.row_of, rows.cnf.of_entry) == {
        (0, "A", 1): [[(6, "∉", 0)]],
        (0, "B", 1): [[(6, "∈", 0)]],
        (0, "Z"): [[(6, "∈", -1)]],
        (1, "C", 1): [[(5, "∉", 1)]],
        (1, "C", 2): [[(5, "∉", 1)]],
        (1, "D", 1): [[(5, "∉", 1)]],
        (1, "A", 1): [[(5, "∈", 0)]],
        (1, "B", 1): [[(5, "∈", 0)]],
        (1, "E", 1): [[(5, "∈", 1)]],
        (2, "A", 1): [[(1, "∈", 0), (2, "∈", 0), (3, "∈", 0), (4, "∈", 0)], [(4, "∈", 1)]],
        (2, "B", 1): [[(1, "∈", 0), (2, "∈", 1), (3, "∈", 0), (4, "∈", 0)]],
        (2, "C", 1): [[(1, "∈", 1)]],
        (2, "D", 1): [[(1, "∈", 1), (2, "∈", 1), (3, "∈", 1), (4, "∈", 1)]],
        (2, "C", 2): [[(2, "∈", 0), (3, "∈", 1)]],
        (2, "A", 2): [[(4, "∈", 1)]],  # printed as 0, against the expression of c4
    }


def test_figure_9_the_cnf_algorithm(rows: CnfKIndex) -> None:
    hits = rows.match(assignment(LETTERS, A=1, C=2))
    assert rows_of(hits) == [[2, 3, 4]]  # c3, c4 and c5
    assert hits.candidates == 5  # c1 is skipped


def test_figure_13_the_first_pruning_of_rows(rows: CnfKIndex) -> None:
    factors = np.array([[0.1, 0.0, 0.9, 0.0, 0.0]])
    ranked = top(rows, *figure_7(), assignment(LETTERS, A=1, C=2), 1, factors)
    assert best_of(ranked) == [[(2, pytest.approx(2.46))]]  # c3
    assert ranked.candidates == 2  # c2 and c3
    assert ranked.pruned == 3  # c4, then c5 and c6


def test_pscan_evaluates_only_the_rows_in_the_lists() -> None:
    hits = PScan.build(figure_7()[0]).match(assignment(LETTERS, E=1))
    assert (rows_of(hits), hits.candidates) == ([[5]], 1)  # c6 has no key to ask for


# --- what the paper leaves open


def any_literal(rng: np.random.Generator, dim: int, space_starts: np.ndarray) -> Literal:
    """A predicate of any shape: whatever it says of missing, and of all or some spaces."""
    first, beyond = int(space_starts[dim]) + 1, int(space_starts[dim + 1])
    cuts = sorted(rng.integers(first, beyond + 1, 2 * int(rng.integers(0, 4))).tolist())
    edges = [edge for edge in cuts if cuts.count(edge) == 1]
    spans = tuple(zip(edges[::2], edges[1::2], strict=False))
    return Literal(dim, bool(rng.integers(2)), bool(rng.integers(2)), spans)


def any_case(seed: int, *, n_spaces: int, n_dims: int = 6, lists: float = 0.5) -> Case:
    rng = np.random.default_rng(seed)
    space_starts = starts_of(rng.integers(1, n_spaces, n_dims) + 1).astype(np.int32)
    clauses = [
        [
            any_literal(rng, int(dim), space_starts)
            for dim in rng.permutation(n_dims)[: rng.integers(0, n_dims)]
        ]
        for _ in range(300)
    ]
    literals: dict[Literal, int] = {}
    of_clauses = [[literals.setdefault(one, len(literals)) for one in row] for row in clauses]
    events: list[list[int]] = []
    for _ in range(40):
        spaces: list[int] = []
        for dim in range(n_dims):
            if rng.random() < 0.7:
                n = int(rng.integers(2, 9)) if rng.random() < lists else 1
                spaces += rng.integers(space_starts[dim] + 1, space_starts[dim + 1], n).tolist()
        events.append(sorted(set(spaces)))
    batch = ragged(events)
    table = ClauseTable(frozen(space_starts), predicates_of(list(literals)), ragged(of_clauses))
    return Case(table, EventBatch(batch.starts, batch.items), clauses, events)


@pytest.mark.parametrize("n_spaces", [3, 20, 2000])
@pytest.mark.parametrize("lists", [0.0, 0.5])
@pytest.mark.parametrize("name", ["sift", "kindex"])
def test_conjunctions_of_predicates_of_any_shape(name: str, lists: float, n_spaces: int) -> None:
    for seed in range(4):
        case = any_case(seed, n_spaces=n_spaces, lists=lists)
        matcher = conjunction_matcher(name).build(case.table)
        assert rows_of(matcher.match(case.events)) == case.expected()


@pytest.mark.parametrize("n_spaces", [3, 20, 2000])
@pytest.mark.parametrize("lists", [0.0, 0.5])
@pytest.mark.parametrize("name", ["pscan", "kindex"])
def test_disjunctions_of_predicates_of_any_shape(name: str, lists: float, n_spaces: int) -> None:
    for seed in range(4):
        case = any_case(seed, n_spaces=n_spaces, lists=lists)
        cnf, expected = cnf_of(case, seed, n_rows=200)
        assert rows_of(cnf_matcher(name).build(cnf).match(case.events)) == expected


@pytest.mark.parametrize("kind", [Sift, KIndex])
def test_wide_ranges_over_many_spaces_are_posted_as_unions(kind: type[Sift] | type[KIndex]) -> None:
    rng, n, n_spaces = np.random.default_rng(1), 2000, 100_000
    low, high = np.sort(rng.integers(1, n_spaces, (2, n)), axis=0)
    literals = [Literal(0, False, False, ((a, b + 1),)) for a, b in zip(low, high, strict=True)]
    space_starts = frozen(np.array([0, n_spaces + 1], np.int32))
    table = ClauseTable(space_starts, predicates_of(literals), ragged([[i] for i in range(n)]))
    events = EventBatch(np.arange(51), rng.integers(1, n_spaces, 50).astype(np.int32))
    matcher = kind.build(table)
    assert rows_of(matcher.match(events)) == rows_of(Scan.build(table).match(events))
    n_posted = len(matcher.lists.items if isinstance(matcher, Sift) else matcher.lists.entries)
    assert n_posted < n * 2 * math.log2(n_spaces)


@pytest.mark.parametrize("n_dims", [127, 128, 300])
def test_clauses_longer_than_a_small_counter(n_dims: int) -> None:
    """A clause that asks for all dimensions, one that denies all, and some that deny one."""
    space_starts = starts_of([4] * n_dims).astype(np.int32)
    first = space_starts[:-1] + 1
    asked = [Literal(d, False, False, ((int(s), int(s) + 1),)) for d, s in enumerate(first)]
    denied = [Literal(d, True, True, ((int(s) + 1, int(s) + 3),)) for d, s in enumerate(first)]
    mixed = ([*asked[:d], denied[d], *asked[d + 1 :]] for d in range(0, n_dims, 9))
    clauses = [asked, denied, *mixed]
    literals = {literal: i for i, literal in enumerate([*asked, *denied])}
    rows = ragged([[literals[one] for one in clause] for clause in clauses])
    table = ClauseTable(frozen(space_starts), predicates_of(list(literals)), rows)
    events = [first.tolist(), (first + 1).tolist(), [*first[:-1].tolist(), int(first[-1]) + 1]]
    batch = ragged(events)
    case = Case(table, EventBatch(batch.starts, batch.items), clauses, events)
    for kind in (Sift, KIndex):
        assert rows_of(kind.build(table).match(case.events)) == case.expected()


# --- rankings against plain sums


def literal_score(
    table: ClauseTable, literal: Literal, weight: float, event: Sequence[int], factors: np.ndarray
) -> float | None:
    if not literal_holds(table, literal, list(event)):
        return None
    return weight * float(factors[literal.dim])


def best(scored: list[tuple[int, float]], n: int) -> list[tuple[int, float]]:
    return sorted(scored, key=lambda one: (-one[1], one[0]))[:n]


@pytest.mark.parametrize("n", [1, 3, 10, 10_000])
@pytest.mark.parametrize("shape", [{}, {"lists": 0.0, "negated": 0.1}, {"max_spaces": 500}])
def test_the_best_conjunctions_are_those_of_plain_sums(n: int, shape: dict) -> None:
    for seed in range(4):
        case = random_case(seed, n_clauses=400, **shape)
        rng = np.random.default_rng(seed)
        weights = scoring(rng.integers(-1, 5, len(case.table.clauses.items)) / 10, case.table)
        factors = np.abs(rng.normal(0.5, 0.4, (len(case.events), case.table.n_dims)).round(2))
        expected = []
        for event, event_weights in zip(case.event_spaces, factors, strict=True):
            scored = []
            for row, clause in enumerate(case.clauses):
                start = case.table.clauses.starts[row]
                parts = [
                    literal_score(case.table, one, weights[start + i], event, event_weights)
                    for i, one in enumerate(clause)
                ]
                if None not in parts:
                    scored.append((row, float(sum(parts))))
            expected.append(best(scored, n))
        index = KIndex.build(case.table, bounds=bounds_of(weights, case.table.n_clauses))
        ranked = top(index, case.table, weights, case.events, n, factors)
        assert best_of(ranked) == expected  # to the last bit: sums are in written order


@pytest.mark.parametrize("n", [1, 3, 10, 10_000])
@pytest.mark.parametrize("shape", [{}, {"lists": 0.0, "negated": 0.1}, {"max_spaces": 500}])
def test_the_best_rows_are_those_of_plain_sums(n: int, shape: dict) -> None:
    for seed in range(4):
        case = random_case(seed, n_clauses=400, empty_clauses=False, **shape)
        cnf, _ = cnf_of(case, seed, n_rows=300)
        rng = np.random.default_rng(seed)
        weights = scoring(rng.integers(-1, 5, len(case.table.clauses.items)) / 10, case.table)
        factors = np.abs(rng.normal(0.5, 0.4, (len(case.events), case.table.n_dims)).round(2))
        expected = []
        for event, event_weights in zip(case.event_spaces, factors, strict=True):
            scored = []
            for row in range(cnf.n_rows):
                parts = []
                for clause in cnf.rows.row(row):
                    start = case.table.clauses.starts[clause]
                    scores = [
                        literal_score(case.table, one, weights[start + i], event, event_weights)
                        for i, one in enumerate(case.clauses[clause])
                    ]
                    parts.append(max((s for s in scores if s is not None), default=None))
                if None not in parts:
                    scored.append((row, float(sum(parts))))
            expected.append(best(scored, n))
        index = CnfKIndex.build(cnf, bounds=bounds_of(weights, cnf.n_rows))
        ranked = top(index, cnf, weights, case.events, n, factors)
        assert best_of(ranked) == expected


def test_without_weights_every_met_predicate_scores_one() -> None:
    case = random_case(3, n_clauses=200, negated=0.0, lists=0.0)
    ones = np.ones(len(case.table.clauses.items))
    bounds = bounds_of(ones, case.table.n_clauses)
    plain, weighted = KIndex.build(case.table), KIndex.build(case.table, bounds=bounds)
    asked = case.table, scoring(ones, case.table), case.events, 7
    assert best_of(top(plain, *asked)) == best_of(top(weighted, *asked))


def test_ranking_all_finds_what_matching_finds() -> None:
    case = random_case(4, n_clauses=500)
    ones = scoring(np.ones(len(case.table.clauses.items)), case.table)
    ranked = top(KIndex.build(case.table), case.table, ones, case.events, case.table.n_clauses)
    assert [sorted(row for row, _ in one) for one in best_of(ranked)] == case.expected()
