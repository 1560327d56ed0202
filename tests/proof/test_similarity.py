"""Similarity in shares of events, and redundancy that is never claimed falsely."""

from __future__ import annotations

from datetime import UTC, datetime

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from derived import derive
from remuda import And, Criterion, Index, Or, attr, parse
from remuda.proof.redundancy import Shadow, redundancy
from remuda.proof.similarity import similarity
from strategies import NOW, count, events
from strategies import expressions_of_terms as expressions


def criteria(**texts: str) -> list[Criterion]:
    return [Criterion(name, parse(text)) for name, text in texts.items()]


def candidate(text: str) -> Criterion:
    return Criterion("candidate", parse(text))


HERD = criteria(
    same="country = 'IN' AND age BETWEEN 18 AND 25",
    wider="age > 10",
    narrower="age BETWEEN 18 AND 25 AND country = 'IN' AND vip = TRUE",
    apart="age IS NULL",
    other="country = 'SG'",
)


def test_the_same_meaning_comes_first() -> None:
    found = similarity(Index.build(HERD), candidate("age BETWEEN 18 AND 25 AND country = 'IN'"))
    best = found.similar[0]
    assert (best.id, best.score, best.covers, best.covered) == ("same", 1.0, 1.0, 1.0)
    by_id = {one.id: one for one in found.similar}
    assert by_id["wider"].covers == 1.0 > by_id["wider"].covered
    assert by_id["narrower"].covered == 1.0 > by_id["narrower"].covers > 0
    assert "apart" not in by_id  # never true together
    assert found.overlap == 1.0
    assert [one.score for one in found.similar] == sorted(
        (one.score for one in found.similar), reverse=True
    )
    for one in found.similar:
        assert one.events
        assert all(HERD[0].holds(event) for event in one.events)
    assert "same" in str(found)


@pytest.mark.parametrize(
    ("text", "best"),
    [
        ("age BETWEEN 20 AND 20", "wider"),  # one point
        ("NOT (age = 20 OR country = 'IN')", "other"),  # nothing but exclusions
        ("(age IS NOT TRUE OR country IS NULL) AND NOT vip = TRUE", "wider"),
    ],
)
def test_what_broke_mustang(text, best) -> None:
    found = similarity(Index.build(HERD), candidate(text))
    assert found.n_holding > 0
    assert best in [one.id for one in found.similar]
    assert all(0.0 < one.score <= 1.0 for one in found.similar)


def test_what_never_holds_resembles_nothing() -> None:
    found = similarity(Index.build(HERD), candidate("age = 1 AND age IS NULL"))
    assert (found.never, found.n_holding, found.overlap, found.similar) == (True, 0, 0.0, ())
    assert "never" in str(found)


def test_an_empty_index_resembles_nothing() -> None:
    found = similarity(Index(), candidate("age = 1"))
    assert (found.never, found.overlap, found.similar) == (False, 0.0, ())
    assert found.n_holding > 0


@pytest.mark.parametrize("as_table", [False, True])
def test_shares_of_given_events_are_exact(as_table) -> None:
    ages = [{"age": age} for age in range(100)]
    index = Index.build(criteria(b="age >= 20 AND age < 60", a="age >= 20 AND age < 60", c="age=5"))
    asked = pa.Table.from_pylist(ages) if as_table else iter(ages)
    found = similarity(index, candidate("age < 40"), events=asked, n=2)
    shares = [(one.id, one.score, one.covers, one.covered) for one in found.similar]
    assert shares == [("a", 20 / 60, 0.5, 0.5), ("b", 20 / 60, 0.5, 0.5)]  # ties by id
    assert (found.n_events, found.n_holding, found.overlap) == (100, 40, 21 / 40)


def test_as_many_as_asked_for() -> None:
    index = Index.build(Criterion(f"c{i:02}", attr("a") > i) for i in range(30))
    found = similarity(index, candidate("a > 3"), n=4)
    assert found.similar[0].id == "c03"
    assert len(found.similar) == 4
    assert similarity(index, candidate("a > 3"), n=0).similar == ()
    with pytest.raises(ValueError, match="-1"):
        similarity(index, candidate("a > 3"), n=-1)


def test_a_close_one_is_found_among_many() -> None:
    crowd = [Criterion(f"c{i}", attr(f"a{i}").eq(i) & attr("z").eq(i)) for i in range(600)]
    close = Criterion("close", attr("x").eq(1) & attr("y").eq(2) & attr("rare").prefix("q"))
    index = Index.build([*crowd, close])
    found = similarity(index, Criterion("candidate", attr("x").eq(1) & attr("y").eq(2)))
    assert found.similar[0].id == "close"


def test_what_an_index_could_do_without() -> None:
    index = Index.build(
        [
            *criteria(
                plain="age BETWEEN 18 AND 25 AND country = 'IN'",
                again="country = 'IN' AND NOT (NOT age BETWEEN 18 AND 25)",
                inside="age BETWEEN 20 AND 21 AND country = 'IN' AND vip = TRUE",
                either="(age BETWEEN 19 AND 20 OR age = 25) AND country = 'IN'",
                nothing="age = 1 AND age IS NULL",
                alone="city = 'Pune'",
            ),
            Criterion("hollow", attr("a").isin() | Or()),
            Criterion("prefix", attr("name").prefix("abc")),
            Criterion("shorter", attr("name").prefix("ab")),
        ]
    )
    found = redundancy(index)
    assert found.duplicates == (("plain", "again"),)
    assert set(found.shadowed) == {
        Shadow("inside", "plain"),
        Shadow("either", "plain"),
        Shadow("prefix", "shorter"),
    }
    assert found.never == ("nothing", "hollow")
    assert (found.n_criteria, found.n_unclear, found.cut_short) == (9, 0, False)
    assert "inside holds only where plain does" in str(found)


def test_lists_keep_apart_what_looks_the_same() -> None:
    between, both = "a BETWEEN 1 AND 5", "a >= 1 AND a <= 5"  # [0, 9] satisfies the second
    found = redundancy(Index.build(criteria(between=between, both=both)))
    assert (found.duplicates, found.shadowed) == ((), (Shadow("between", "both"),))
    narrow = redundancy(Index.build(criteria(between=between, both=both), scalars=["a"]))
    assert (narrow.duplicates, narrow.shadowed) == ((("between", "both"),), ())


def test_an_always_true_criterion_shadows_all_and_none_shadows_it() -> None:
    found = redundancy(Index.build([Criterion("all", And()), *criteria(a="x = 1")]))
    assert found.shadowed == (Shadow("a", "all"),)


def test_terms_count() -> None:
    start = datetime(2020, 1, 1, tzinfo=UTC)
    index = Index.build(
        [
            Criterion("wide", attr("a") > 1),
            Criterion("since", attr("a") > 1, valid_from=start),
            Criterion("since too", attr("a") > 1, valid_from=start),
            Criterion("off", attr("a") > 1, enabled=False),
            Criterion("before", attr("b") > 1, valid_until=start),
            Criterion("inside", attr("b") > 2),
        ]
    )
    found = redundancy(index, now=NOW)
    assert found.duplicates == (("since", "since too"),)
    assert found.shadowed == (Shadow("since", "wide"),)


def test_large_trees_are_compared_for_equality() -> None:
    parts = [Or(*(attr(f"a{i}").eq(j) & attr(f"b{i}").eq(j) for j in range(4))) for i in range(9)]
    index = Index.build([Criterion("one", And(*parts)), Criterion("two", And(*reversed(parts)))])
    found = redundancy(index)
    assert found.duplicates == (("one", "two"),)
    assert found.n_unclear == 1


def test_redundancy_keeps_its_time() -> None:
    index = Index.build(Criterion(f"c{i}", attr("a").eq(i)) for i in range(10))
    assert redundancy(index, seconds=0).cut_short
    assert redundancy(Index()).n_criteria == 0


@pytest.mark.soak
@settings(max_examples=count(60, 10_000))
@given(st.lists(expressions, min_size=2, max_size=6), st.lists(events, max_size=10))
def test_nothing_is_claimed_falsely(several, given_events) -> None:
    index = Index.build([Criterion(f"c{i}", one) for i, one in enumerate(several)], matcher="scan")
    found = redundancy(index, now=NOW)
    for event in [*given_events, *derive(index, full=False, now=NOW)]:
        holding = {one.id for one in index if one.holds(event, now=NOW)}
        assert not holding & set(found.never)
        for ids in found.duplicates:
            assert len(holding & set(ids)) in (0, len(ids))
        for shadow in found.shadowed:
            assert shadow.id not in holding or shadow.by in holding
