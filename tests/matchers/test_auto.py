"""What `auto` has beyond the contract: its layouts, its extra methods, its limits."""

from __future__ import annotations

import pickle
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from matchers.tables import Case, intervals, random_case
from matchers.test_contract import SHAPES, rows_of
from remuda.arrays import frozen, starts_of
from remuda.encoding.table import ClauseTable, EventBatch, events_of_values
from remuda.matchers.auto import Auto, matcher, scratch
from remuda.matchers.auto.batch import entries_met
from remuda.matchers.scan import Scan

SHAPES_OF_AUTO = {
    **SHAPES,
    "similar clauses": {"n_clauses": 2000, "n_dims": 6, "max_predicates": 6, "max_spaces": 4},
    "similar, large domains": {"n_clauses": 1500, "n_dims": 4, "max_spaces": 300, "present": 0.9},
    "similar, denied": {"n_clauses": 1500, "n_dims": 5, "negated": 0.9, "present": 0.9},
    "similar, all lists": {"n_clauses": 1500, "n_dims": 5, "max_spaces": 280, "lists": 1.0},
    "long, all lists": {"n_clauses": 300, "n_dims": 90, "max_predicates": 80, "lists": 1.0},
}


@pytest.fixture(params=["few", "clusters"])
def layout(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Both layouts, whatever the number of clauses."""
    monkeypatch.setattr(matcher, "_FEW_CLAUSES", 10**9 if request.param == "few" else -1)
    return str(request.param)


@pytest.fixture(params=["together", "one after the other"])
def together(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Both ways through a batch, however small it is."""
    here = request.param == "together"
    monkeypatch.setattr(matcher, "_TOGETHER_EVENTS", 2 if here else 10**9)
    monkeypatch.setattr(matcher, "_TOGETHER_ENTRIES", 0)


@pytest.mark.usefixtures("together")
@pytest.mark.parametrize("shape", SHAPES_OF_AUTO)
def test_both_layouts_find_the_same(shape: str, layout: str) -> None:
    for seed in range(2):
        case = random_case(seed, **SHAPES_OF_AUTO[shape])
        auto = Auto.build(case.table)
        assert auto.stats()["layout"] == layout
        expected = case.expected()
        assert rows_of(auto.match(case.events)) == expected
        assert one_by_one(auto, case) == expected


@pytest.mark.usefixtures("together")
def test_events_are_matched_together_or_one_after_the_other() -> None:
    for seed, lists in enumerate([0.0, 0.1, 0.5]):
        case = random_case(seed, n_clauses=400, n_events=200, lists=lists)
        assert rows_of(Auto.build(case.table).match(case.events)) == case.expected()


def test_events_that_read_much_are_matched_together(monkeypatch: pytest.MonkeyPatch) -> None:
    case = random_case(3, n_clauses=900, n_events=100, lists=0.0)
    auto, asked = Auto.build(case.table), []
    monkeypatch.setattr(matcher, "find_together", lambda *_: asked.append("together") or -1)
    monkeypatch.setattr(matcher, "find_each", lambda *_: asked.append("each") or 0)
    spaces, starts = case.events.spaces, case.events.starts
    met = int(entries_met(starts, spaces, 0, 100, auto.places))
    monkeypatch.setattr(matcher, "_TOGETHER_ENTRIES", met + 1)
    auto._find(case.events, 0, 100, auto._lend())
    monkeypatch.setattr(matcher, "_TOGETHER_ENTRIES", met)
    auto._find(case.events, 0, 100, auto._lend())
    assert asked == ["each", "together"]


@pytest.mark.parametrize("at_once", [1, 7, 64])
def test_a_batch_is_answered_in_rounds(at_once: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Small rounds, so that rows must be moved to a larger array."""
    for seed in range(5):
        case = random_case(seed, n_clauses=300, n_events=90)
        auto = Auto.build(case.table)
        candidates = auto.match(case.events).candidates
        monkeypatch.setattr(matcher, "MOST_EVENTS", at_once)
        hits = auto.match(case.events)
        monkeypatch.undo()
        assert rows_of(hits) == case.expected()
        assert hits.candidates == candidates


@pytest.mark.usefixtures("together")
def test_calls_from_many_threads_do_not_meet() -> None:
    case = random_case(4, n_clauses=500, n_events=40)
    auto, expected = Auto.build(case.table), case.expected()
    with ThreadPoolExecutor(8) as pool:
        batches = [pool.submit(auto.match, case.events) for _ in range(20)]
        singles = [pool.submit(one_by_one, auto, case) for _ in range(20)]
    assert all(rows_of(batch.result()) == expected for batch in batches)
    assert all(single.result() == expected for single in singles)


def test_counts_and_reach_agree_with_the_rows() -> None:
    case = random_case(6, n_clauses=700, n_events=60)
    auto, expected = Auto.build(case.table), case.expected()
    assert auto.count(case.events).tolist() == [len(rows) for rows in expected]
    per_clause = np.bincount(np.concatenate(expected).astype(int), minlength=700)
    assert auto.reach(case.events).tolist() == per_clause.tolist()


def test_clauses_may_weigh_more_than_one() -> None:
    case = random_case(6, n_clauses=700, n_events=60)
    weights = np.random.default_rng(1).integers(0, 9, 700).astype(np.int32)
    expected = [int(weights[rows].sum()) for rows in case.expected()]
    assert Auto.build(case.table).count(case.events, weights).tolist() == expected


@pytest.mark.usefixtures("together")
def test_few_blocks_are_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scratch, "_FEWEST_ROWS", 64)
    monkeypatch.setattr(scratch, "_MOST_ROWS", 4096)
    for lists in (0.0, 0.3):
        case = random_case(7, n_clauses=900, n_events=100, max_predicates=2, lists=lists)
        auto = Auto.build(case.table)
        assert rows_of(auto.match(case.events)) == case.expected()
        assert auto.count(case.events).tolist() == [len(rows) for rows in case.expected()]


def test_a_sample_changes_keys_and_no_answers() -> None:
    case = random_case(8, n_clauses=800, n_events=50)
    auto = Auto.build(case.table, sample=case.events)
    assert rows_of(auto.match(case.events)) == case.expected()
    assert auto.stats()["keys"] == "a sample of events"


def test_denials_alone_are_not_looked_at_one_by_one() -> None:
    case = random_case(9, n_clauses=2000, n_dims=60, negated=1.0, max_predicates=2)
    auto = Auto.build(denied_on_missing(case.table))
    hits = auto.match(case.events)
    assert auto.stats()["clauses_without_key"] == 2000
    assert hits.candidates == 0
    assert rows_of(hits) == rows_of(Scan.build(denied_on_missing(case.table)).match(case.events))


@pytest.mark.parametrize("on_missing", [False, True])
def test_many_dimensions_of_any_size(on_missing: bool) -> None:
    rng = np.random.default_rng(10)
    n_clauses, n_dims = 3000, 70_000
    sizes = np.full(n_dims, 3)
    sizes[:4] = 100_000, 70_000, 500, 60
    dims = np.concatenate([np.sort(rng.permutation(6)[:3]) for _ in range(n_clauses)])
    dims = np.where((dims > 3), n_dims - dims, dims).astype(np.int32)
    ends = np.sort((rng.random((2, len(dims))) * sizes[dims]).astype(np.int32), axis=0)
    negated = rng.random(len(dims)) < 0.5
    table = intervals(
        sizes, np.arange(0, len(dims) + 1, 3), dims, ends[0], ends[1], negated=negated,
        strong=np.full(len(dims), not on_missing), n_dims=n_dims,
    )  # fmt: skip
    event_dims = np.array([0, 1, 2, 3, n_dims - 5, n_dims - 4], np.int32)
    values = (rng.random((50, 6)) * sizes[event_dims]).astype(np.int32)
    starts = np.arange(0, 301, 6)
    events = events_of_values(table.space_starts, starts, np.tile(event_dims, 50), values.ravel())
    assert_same_as_scan(table, events)


def test_a_clause_may_have_hundreds_of_predicates() -> None:
    case = random_case(
        11, n_clauses=40, n_dims=700, max_predicates=700, negated=0.02, max_spaces=80, present=1.0
    )
    auto = Auto.build(case.table)
    assert rows_of(auto.match(case.events)) == case.expected()


def test_long_lists_of_values_are_kept_once() -> None:
    """A predicate on every other space of a large domain, asked for by many clauses."""
    odd = np.arange(1, 4001, 2, dtype=np.int32)
    base = intervals(
        np.array([4000, 5]), np.arange(0, 401, 2), np.tile([0, 1], 200).astype(np.int32),
        np.zeros(400, np.int32), np.tile([4, 3], 200).astype(np.int32),
    )  # fmt: skip
    dims = np.array([0, 1], np.int32)
    predicates = base.predicates._replace(
        dim=dims,
        on_missing=np.zeros(2, np.bool_),
        every=np.zeros(2, np.bool_),
        span_starts=starts_of([len(odd), 1]).astype(np.int32),
        span_lo=np.append(odd, 4002).astype(np.int32),
        span_hi=np.append(odd + 1, 4003).astype(np.int32),
    )
    clauses = base.clauses._replace(items=np.tile([0, 1], 200).astype(np.int32))
    table = ClauseTable(base.space_starts, frozen(predicates), frozen(clauses))
    events = EventBatch(np.array([0, 2, 4, 5]), np.array([7, 4002, 8, 4002, 7], np.int32))
    auto = assert_same_as_scan(table, events)
    assert auto.count(events).tolist() == [200, 0, 0]
    assert auto.nbytes < 250_000


def test_a_record_is_written_once_however_many_entries_a_clause_has() -> None:
    """The key of each clause accepts ten spaces; nine more predicates are left to verify."""
    rng = np.random.default_rng(2)
    n_clauses, n_dims = 2000, 60
    dims = np.sort(rng.random((n_clauses, n_dims)).argsort(axis=1)[:, :10], axis=1).ravel()
    lo = rng.integers(0, 40, len(dims))
    starts = np.arange(0, len(dims) + 1, 10)
    columns = (column.astype(np.int32) for column in (dims, lo, lo + 9))
    table = intervals(50, starts, *columns, n_dims=n_dims)
    event_dims = np.tile(np.arange(n_dims, dtype=np.int32), 40)
    values = rng.integers(0, 50, len(event_dims)).astype(np.int32)
    events = events_of_values(
        table.space_starts, np.arange(0, len(event_dims) + 1, n_dims), event_dims, values
    )
    auto = Auto.build(table, sample=events)
    assert rows_of(auto.match(events)) == rows_of(Scan.build(table).match(events))
    assert auto.stats()["entries_per_clause"] == 10
    assert auto.nbytes < n_clauses * 300


def test_pickles_without_its_scratch() -> None:
    case = random_case(12, n_clauses=300)
    auto = Auto.build(case.table)
    auto.match(case.events)
    copy = pickle.loads(pickle.dumps(auto))
    assert rows_of(copy.match(case.events)) == case.expected()
    assert copy.stats() == auto.stats()


def test_stats_add_up() -> None:
    case = random_case(13, n_clauses=3000, n_dims=6, max_spaces=4)
    stats = Auto.build(case.table).stats()
    keyed = stats["clauses"] - stats["clauses_without_key"]
    assert sum(stats["entries"].values()) == round(stats["entries_per_clause"] * keyed)
    assert stats["chunks"]["slices"] > 0
    assert stats["entries"]["plain"] > 0


def one_by_one(auto: Auto, case: Case) -> list[list[int]]:
    return [sorted(auto.match_one(np.array(e, np.int32)).tolist()) for e in case.event_spaces]


def denied_on_missing(table: ClauseTable) -> ClauseTable:
    on_missing = np.ones(len(table.predicates.dim), np.bool_)
    predicates = table.predicates._replace(on_missing=frozen(on_missing))
    return ClauseTable(table.space_starts, predicates, table.clauses)


def assert_same_as_scan(table: ClauseTable, events: EventBatch) -> Auto:
    auto = Auto.build(table)
    expected = rows_of(Scan.build(table).match(events))
    assert rows_of(auto.match(events)) == expected
    singles = [auto.match_one(events.one(i).spaces) for i in range(len(events))]
    assert [sorted(rows.tolist()) for rows in singles] == expected
    return auto


@pytest.mark.parametrize("n_values", [3, 12])
def test_large_clusters_over_few_dimensions_have_runs(n_values: int) -> None:
    """Many clauses share predicates: they are laid out by them, and found as `scan` finds them."""
    rng = np.random.default_rng(n_values)
    n, n_dims, n_asked = 60_000, 9, 4
    dims = np.sort(np.argsort(rng.random((n, n_dims)))[:, :n_asked]).ravel().astype(np.int32)
    lo = rng.integers(0, n_values, n * n_asked).astype(np.int32)
    hi = np.minimum(lo + (rng.random(n * n_asked) < 0.2), n_values - 1).astype(np.int32)
    starts = np.arange(n + 1) * n_asked
    negated = rng.random(n * n_asked) < 0.05
    table = intervals(n_values, starts, dims, lo, hi, negated=negated, n_dims=n_dims)
    events = []
    for i in range(60):
        values = rng.random((n_dims, n_values)).argsort()[:, : 1 + (i % 6 == 0)]  # or lists of two
        spaces = (table.space_starts[:-1, None] + 1 + values)[rng.random(n_dims) < 0.9]
        events.append(np.sort(spaces.ravel()))
    starts = starts_of([len(one) for one in events])
    batch = EventBatch(starts, np.concatenate(events).astype(np.int32))
    expected = rows_of(Scan.build(table).match(batch))
    auto = Auto.build(table)
    assert rows_of(auto.match(batch)) == expected
    assert [sorted(auto.match(batch.one(i)).rows.tolist()) for i in range(60)] == expected
    clusters = auto.places[:-2:2] >> np.uint64(32)
    assert clusters.max() > 1024  # or there would be no runs
