"""Ratification agrees with a sound index, and finds every planted fault."""

from __future__ import annotations

import threading
from dataclasses import replace
from datetime import UTC, datetime

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from remuda import And, Criterion, Index, Or, attr, parse
from remuda.matchers.contract import Features, Hits
from remuda.proof import ratifying
from remuda.proof.ratifying import ratify
from remuda.proof.reducing import smallest
from strategies import NOW, count
from strategies import expressions_of_terms as expressions

CRITERIA = [
    Criterion("range", parse("age BETWEEN 18 AND 25 AND platform = 'android'")),
    Criterion("either", parse("country IN ('IN', 'SG') OR (vip = TRUE AND NOT age < 18)")),
    Criterion("denied", ~attr("platform").eq("ios") & attr("tags").superset("a", "b")),
    Criterion("pattern", attr("name").matches("[a-f]+x?") & (attr("app").version() >= "3.2.0")),
    Criterion("deep", attr("user.visits[0].at").datetime("HOUR_OF_DAY").between(8, 17)),
    Criterion("weighted", attr("age").between(20, 30).weight(3) | attr("vip").eq(True)),
    Criterion("wide", And(*(Or(attr(f"w{i}").eq(0), attr(f"w{i}").eq("x")) for i in range(8)))),
    Criterion("always", And()),
    Criterion("never", Or()),
]


def planted(index: Index, **changes) -> Index:
    """The index with other parts in the segment of its first part."""
    part = index._state.parts[0]
    segment = replace(part.segment, **changes)
    index._state = replace(index._state, parts=(replace(part, segment=segment),))
    return index


class Wrapped:
    """A matcher whose hits are tampered with."""

    features = Features(layout=0)

    def __init__(self, matcher, tamper) -> None:
        self.matcher, self.tamper = matcher, tamper

    def match(self, events) -> Hits:
        return self.tamper(self.matcher.match(events))

    @property
    def nbytes(self) -> int:
        return self.matcher.nbytes


def matcher_of(index: Index):
    return index._state.parts[0].segment.matcher


def clause_of(index: Index, id: str) -> int:
    """A clause that the criterion owns."""
    part = index._state.parts[0]
    owners, place = part.segment.plan.owners, part.roster.find(id)
    rows = np.repeat(np.arange(len(owners.starts) - 1), np.diff(owners.starts))
    return int(rows[(owners.items == place) | (owners.items == ~place)][0])


def without(clause: int):
    def tamper(hits: Hits) -> Hits:
        kept = hits.rows != clause
        return Hits(np.concatenate([[0], np.cumsum(kept)])[hits.starts], hits.rows[kept], 0)

    return tamper


def with_always(clause: int):
    def tamper(hits: Hits) -> Hits:
        n = len(hits.starts) - 1
        rows = [hits.rows[hits.starts[i] : hits.starts[i + 1]] for i in range(n)]
        rows = [row if clause in row else np.append(row, np.int32(clause)) for row in rows]
        starts = np.concatenate([[0], np.cumsum([len(row) for row in rows])]).astype(np.int64)
        return Hits(starts, np.concatenate(rows).astype(np.int32) if n else hits.rows, 0)

    return tamper


@pytest.mark.parametrize("matcher", ["scan", "auto", "kindex", "betree"])
def test_a_sound_index_agrees(matcher) -> None:
    found = ratify(Index.build(CRITERIA, matcher=matcher), now=NOW)
    assert found.ok, str(found)
    assert (found.true_share, found.miss_share) == (1.0, 1.0)
    assert not found.sampled
    assert not found.cut_short
    assert found.n_comparisons > found.n_events * len(CRITERIA) > 1000


def test_a_live_index_agrees() -> None:
    index = Index.build(CRITERIA)
    index.remove("range")
    index.update(Criterion("either", attr("age").eq(7)))
    index.add(Criterion("off", attr("age").eq(1), enabled=False))
    index.add(Criterion("late", attr("age").eq(1), valid_from=datetime(2100, 1, 1, tzinfo=UTC)))
    found = ratify(index, full=False, now=NOW)
    assert found.ok, str(found)
    assert found.n_criteria == len(CRITERIA) + 1


def test_attributes_promised_to_be_scalars_agree() -> None:
    narrow = [Criterion("a", attr("a").isin(1, 2) & attr("a").isin(2, 3)), *CRITERIA]
    assert ratify(Index.build(narrow, scalars=["a", "age"]), full=False, now=NOW).ok


@pytest.mark.soak
@settings(max_examples=count(10, 1_000))
@given(st.lists(expressions, max_size=6))
def test_any_index_agrees(several) -> None:
    index = Index.build([Criterion(str(i), one) for i, one in enumerate(several)], matcher="scan")
    found = ratify(index, full=False, now=NOW)
    assert found.ok, str(found)


def test_a_dropped_row_is_found() -> None:
    index = Index.build(CRITERIA)
    tamper = without(clause_of(index, "range"))
    planted(index, matcher=Wrapped(matcher_of(index), tamper))
    found = ratify(index, now=NOW)
    assert {one.id for one in found.disagreements} == {"range"}
    assert {one.asked for one in found.disagreements} == {"match_many", "match", "top"}
    first = found.disagreements[0]
    assert (first.expected, first.got, first.explanation.holds) == (True, False, True)
    assert set(first.event) == {"age", "platform"}  # nothing that is not needed
    assert first.event["platform"] in ("android", ["android"])
    assert "range: match_many gave False, plain evaluation True" in str(found)


def test_an_added_row_is_found() -> None:
    index = Index.build(CRITERIA)
    tamper = with_always(clause_of(index, "pattern"))
    planted(index, matcher=Wrapped(matcher_of(index), tamper))
    found = ratify(index, now=NOW)
    assert {one.id for one in found.disagreements} == {"pattern"}
    assert found.disagreements[0].event == {}


def test_a_shifted_border_is_found() -> None:
    index = Index.build(CRITERIA, matcher="scan")
    segment = index._state.parts[0].segment
    plan, dimensions = segment.plan, segment.words.vocabulary.dimensions
    predicates = plan.conjunctions.predicates
    (age,) = (
        literal
        for literal in plan.conjunctions.clauses.row(clause_of(index, "range"))
        if str(dimensions[predicates.dim[literal]].attribute) == "age"
    )
    moved = predicates.span_hi.copy()
    moved[predicates.span_starts[age]] += 1
    table = replace(plan.conjunctions, predicates=predicates._replace(span_hi=moved))
    planted(index, matcher=type(matcher_of(index)).build(table))
    found = ratify(index, now=NOW)
    wrong = [one for one in found.disagreements if one.asked != "top"]
    assert {(one.id, one.got) for one in wrong} == {("range", True)}
    assert 25 < found.disagreements[0].event["age"] < 30


def test_a_wrong_weight_is_found() -> None:
    index = Index.build(CRITERIA)
    plan = index._state.parts[0].segment.plan
    doubled = plan.programs._replace(leaf_weight=plan.programs.leaf_weight * 2)
    planted(index, plan=replace(plan, programs=doubled))
    found = ratify(index, now=NOW)
    assert {one.asked for one in found.disagreements} == {"top"}
    # which of them are seen hangs on what is scored: bounds leave the others out
    scores = [(one.expected, one.got) for one in found.disagreements if one.got is not None]
    assert scores
    assert all(got == 2 * expected for expected, got in scores)


def test_a_search_that_fails_is_found() -> None:
    def fail(hits: Hits) -> Hits:
        if len(hits.rows) > 1:
            raise OverflowError("too many")
        return hits

    index = Index.build(CRITERIA)
    planted(index, matcher=Wrapped(matcher_of(index), fail))
    found = ratify(index, now=NOW)
    assert found.disagreements[0].id is None
    assert found.disagreements[0].got == "OverflowError: too many"
    assert found.n_events > 1000


def test_a_fault_in_one_of_many_criteria_is_found(monkeypatch) -> None:
    monkeypatch.setattr(ratifying, "_COMPARED", 4)
    index = Index.build(Criterion(f"c{i}", attr("a").eq(i) & attr("b").eq(i)) for i in range(40))
    planted(index, matcher=Wrapped(matcher_of(index), without(clause_of(index, "c17"))))
    found = ratify(index, now=NOW)
    assert found.sampled
    assert {one.id for one in found.disagreements} == {"c17"}


def test_nothing_is_left_behind() -> None:
    index = Index.build(CRITERIA)
    state, matcher = index._state, matcher_of(index)
    planted(index, matcher=Wrapped(matcher, without(clause_of(index, "range"))))
    assert not ratify(index, full=False, now=NOW).ok
    index._state = state
    first, second = (ratify(index, full=False, now=NOW) for _ in range(2))
    assert first.ok
    assert replace(first, seconds=0.0) == replace(second, seconds=0.0)
    assert index._state is state


def test_time_is_kept() -> None:
    criteria = [Criterion(f"c{i}", attr("a").eq(i) & attr("b").eq(i)) for i in range(200)]
    found = ratify(Index.build(criteria), seconds=0, now=NOW)
    assert found.cut_short
    assert 0 < found.n_clauses < 200
    assert "cut short" in str(found)


def test_an_empty_index_agrees() -> None:
    found = ratify(Index())
    assert found.ok
    assert found.n_events == 1


@pytest.mark.parametrize("as_table", [False, True])
def test_given_events_are_used_as_they_are(as_table) -> None:
    index = Index.build(
        [Criterion("adult", attr("age") >= 18), Criterion("in", attr("country").eq("IN"))]
    )
    events = [{"age": age, "country": "IN"} for age in range(10, 20)]
    asked = pa.Table.from_pylist(events) if as_table else events
    found = ratify(index, events=asked, now=NOW)
    assert found.ok
    assert (found.n_events, found.n_clauses) == (10, 2)
    assert (found.true_share, found.miss_share) == (1.0, 0.5)  # no event fails `in`
    tamper = without(clause_of(index, "adult"))
    planted(index, matcher=Wrapped(matcher_of(index), tamper))
    wrong = ratify(index, events=asked, now=NOW)
    assert [one.id for one in wrong.disagreements if one.asked == "match_many"] == ["adult"]


def test_strange_given_events_are_no_problem() -> None:
    found = ratify(Index.build(CRITERIA), events=iter([None, 1, "x", [], [1], {"age": object()}]))
    assert found.ok, str(found)
    assert found.n_events == 6


def test_an_index_that_changes_meanwhile_is_held_to_what_it_was() -> None:
    index = Index.build(CRITERIA)
    stop = threading.Event()

    def change() -> None:
        while not stop.is_set():
            index.update(Criterion("range", attr("age").eq(1)))
            index.update(CRITERIA[0])

    writer = threading.Thread(target=change)
    writer.start()
    try:
        assert ratify(index, full=False, now=NOW).ok
    finally:
        stop.set()
        writer.join()


@pytest.mark.parametrize(
    ("event", "shows", "expected"),
    [
        ({"a": 1, "b": {"c": [1, 2, "text"]}}, lambda e: "b" in e, {"b": {}}),
        ({"a": [5, 6, 7, 8, 9]}, lambda e: "8" in str(e), {"a": 8}),
        ({"a": "some long text"}, lambda e: "ex" in e.get("a", ""), {"a": "ex"}),
        ({"a": -12.5}, lambda e: e.get("a", 0) < -3, {"a": -12}),
        ([1, 2], lambda e: isinstance(e, list), []),
        (None, lambda e: True, None),
    ],
)
def test_the_smallest_event_has_only_what_is_needed(event, shows, expected) -> None:
    assert smallest(event, shows) == expected


def test_reduction_ends() -> None:
    asked = []
    smallest({"a": list(range(1000))}, lambda event: bool(asked.append(event)), steps=50)
    assert len(asked) == 50
