"""Derived events do what they were made for."""

from __future__ import annotations

from datetime import date, datetime
from decimal import Decimal

import pytest
from hypothesis import given, settings

from derived import derive
from remuda import And, Criterion, Index, Or, attr
from remuda.model.attributes import Attribute
from remuda.model.calendars import Extract
from remuda.model.conditions import (
    Contains,
    Exists,
    In,
    Like,
    Missing,
    Prefix,
    Range,
    Regex,
    Related,
    Relation,
    Suffix,
    Version,
)
from remuda.model.expressions import Polarity, Predicate
from remuda.model.operations import (
    Arithmetic,
    BinaryConversion,
    Calculate,
    DateTime,
    Divide,
    Integral,
    Length,
    Size,
    Substring,
    ToDateTime,
)
from remuda.model.patterns import matches_whole
from remuda.model.values import key
from remuda.proof.accepted_texts import text_for
from remuda.proof.deriving import clauses_of, draws, probes, witnesses
from remuda.proof.placing import event_of
from remuda.proof.samples import neighbours
from remuda.proof.undoing import raw_values
from strategies import NOW, count, expressions

PATTERNS = (
    "a.*", "", "[^a-c]+x", r"\d{2,4}-\w", "(?i)Ab|cd", "(a|b)+c?", r"\Qa.b\E!", r"\pL\p{Greek}",
    "[[:digit:]]+", r"\x41\x{1F600}", "^a$", "(?P<n>x)y{0}", "a{3}", r"[\]\-]", "(?:x|y(z|))*?",
    r"\.\*\t", "[]a]", "(?s).*é_", "(?i:q)",
)  # fmt: skip


@pytest.mark.parametrize("pattern", PATTERNS)
def test_texts_fit_their_pattern(pattern: str) -> None:
    rng = draws(1)
    texts = [text_for(pattern, rng) for _ in range(20)]
    assert [text for text in texts if not matches_whole(pattern, text)] == []


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("a", 1),
        ("a", [1, None, [2]]),
        ("user.age", "x"),
        ("$['odd name'].b", 1),
        ("tags[0]", 1),
        ("tags[-3].k", 1),
        ("a.0.b", 1),
        ("$[1]", "root"),
        ("items[*]", [1, 2]),
        ("items[*].k", [1, [2], None]),
        ("a[*].b[*]", [1, 2]),
        ("$..k", [1, 2]),
        ("$.a..b", [1]),
        ("$.a[0:2]", [1, 2]),
        ("$.a[1:2]", [5]),
        ("$['a','b']", [1]),
        ("$.items[?@.k == 'x' && @.j < 3].v", [1, 2]),
        ("$.items[?@.k != true && @.on].v", [7]),
    ],
)
def test_a_value_is_found_where_it_was_placed(path, value) -> None:
    attribute = Attribute.parse(path)
    assert attribute.resolve(event_of({attribute: value})) == value


def test_values_share_an_event_unless_they_get_in_each_others_way() -> None:
    a, b, c = (Attribute.parse(path) for path in ("a", "a.b", "a.c[1].d"))
    assert event_of({b: 1, c: 2}) == {"a": {"b": 1, "c": [None, {"d": 2}]}}
    assert event_of({a: 1, b: 2}) is None
    assert event_of({Attribute.parse("a[999999999]"): 1}) is None
    assert event_of({}) == {}


def test_placed_lists_are_copies() -> None:
    value = [1, 2]
    event_of({Attribute.parse("a"): value, Attribute.parse("a[0]"): 9})
    assert value == [1, 2]


@pytest.mark.parametrize(
    ("operations", "wanted"),
    [
        ([Calculate(Arithmetic.ADDITION, 0.2)], Decimal("0.3")),
        ([Calculate(Arithmetic.SUBTRACTION, 3)], -5),
        ([Calculate(Arithmetic.MULTIPLICATION, 2.5)], 10),
        ([Calculate(Arithmetic.MULTIPLICATION, 0)], 0),
        ([Divide(Integral.DIVISION, -3)], 4),
        ([Divide(Integral.MODULO, 10)], 7),
        ([BinaryConversion()], "1" * 31 + "0"),
        ([Length()], 5),
        ([Size()], 3),
        ([Substring(2, 5)], "abc"),
        ([Substring(1, None), Length()], 4),
        ([DateTime(Extract.DIFF_WITH_EPOCH)], 60_000),
        ([DateTime(Extract.YEAR)], 1999),
        ([DateTime(Extract.DAY_OF_WEEK, "Asia/Tokyo")], 1),
        ([DateTime(Extract.DST_OFFSET, "Europe/Berlin")], 3_600_000),
        ([ToDateTime()], 1_709_210_096_000),
        ([ToDateTime("dd MMM yyyy, h:mm:ss a z")], 1_709_210_096_000),
        ([ToDateTime("yyyy-MM-dd'T'HH:mm:ssXXX"), DateTime(Extract.HOUR_OF_DAY)], 23),
        ([Calculate(Arithmetic.ADDITION, 1), Divide(Integral.MODULO, 5)], 3),
    ],
)
def test_operations_are_undone(operations, wanted) -> None:
    def after(raw):
        for operation in operations:
            raw = operation.apply(raw, NOW)
        return raw

    raws = raw_values(operations, [wanted], NOW)
    assert key(wanted) in [key(after(raw)) for raw in raws[:-1]]  # the last is the value itself


@pytest.mark.parametrize(
    "value",
    [0, -3, 2**60, 0.1, Decimal("0.30"), "b", "é", date(2024, 2, 29), datetime(2024, 1, 1)],
)
def test_neighbours_lie_on_both_sides(value) -> None:
    near = neighbours(value)
    assert any(one < value for one in near)
    assert any(one > value for one in near)


CONDITIONS = [
    In((1, "x", date(2024, 1, 1))),
    In(({"k": 1}, [1, 2])),
    Range(3, 7, True, False),
    Range(Decimal("0.1"), 0.11),
    Range("b", None, True),
    Range(None, datetime(2024, 1, 1)),
    Regex(r"v\d+(\.\d+)?"),
    Regex("b+", find=True),
    Like("a\\%_%z"),
    Version("1.2-rc1", above=True, strict=True),
    Version("2.0", above=False),
    Prefix("ab"),
    Suffix("yz"),
    Contains("mm"),
    *(Related(relation, (1, "x")) for relation in Relation),
    Exists(),
    Missing(),
]


@pytest.mark.parametrize("polarity", Polarity)
@pytest.mark.parametrize("condition", CONDITIONS, ids=str)
def test_every_condition_is_satisfied_and_missed(condition, polarity) -> None:
    first = Predicate(Attribute.parse("user.a"), condition, polarity)
    second = Predicate(Attribute.parse("b[1]"), In((1,)))
    (probe,) = probes([Criterion("c", And(first, second))], draws(0), now=NOW)
    assert probe.satisfying is not None
    assert set(probe.near_misses) == {0, 1}


@pytest.mark.parametrize(
    ("clause", "why"),
    [
        (attr("a").prefix("ab") & attr("a").suffix("yz"), "two texts make one"),
        (attr("a").eq(1) & attr("a").eq(2), "a list has both"),
        (attr("a").modulo(10).eq(7) & (attr("a") > 1000), "a number a little off"),
        (attr("a").size().eq(2) & attr("a").superset("x", "y"), "a list of its size"),
        (attr("tags[0]").eq(1) & attr("tags").size().eq(2), "a path into another"),
        (attr("$[0]").eq(1) & attr("$[1].b").eq(2), "a list at the root"),
    ],
)
def test_predicates_that_share_an_attribute_are_satisfied_together(clause, why) -> None:
    found = [p.satisfying for p in probes([Criterion("c", clause)], draws(0), now=NOW)]
    assert [clause.holds(event, now=NOW) for event in found] == [True], why


@pytest.mark.soak
@settings(max_examples=count(150, 20_000))
@given(expressions)
def test_probes_show_what_they_say(expression) -> None:
    for probe in probes([Criterion("c", expression)], draws(3), full=False, now=NOW):
        if probe.satisfying is not None:
            assert expression.holds(probe.satisfying, now=NOW)
            assert all(one.holds(probe.satisfying, now=NOW) for one in probe.clause)
        for failing, event in probe.near_misses.items():
            truths = [one.holds(event, now=NOW) for one in probe.clause]
            assert truths == [i != failing for i in range(len(truths))]


def test_an_expression_that_would_explode_is_sampled() -> None:
    wide = And(*(Or(*(attr(f"a{i}").eq(j) for j in range(4))) for i in range(12)))
    clauses = clauses_of(wide, draws(0))
    assert 1 < len(clauses) <= 64
    assert all(len(events) == 2 for events in witnesses(clauses, draws(0), 2))


def test_what_never_holds_has_no_clauses() -> None:
    never = (attr("a").missing() & attr("a").eq(1)) | attr("b").isin()
    assert clauses_of(never, draws(0)) == []


def test_the_seed_decides() -> None:
    index = Index.build(Criterion(f"c{i}", attr("a").eq(i) & (attr("b") > i)) for i in range(9))
    whole = list(derive(index, seed=1, now=NOW))
    assert repr(list(derive(index, seed=1, now=NOW))) == repr(whole)
    assert repr(list(derive(index, seed=2, now=NOW))) != repr(whole)
    assert len(list(derive(index, seed=1, full=False, n_criteria=3, now=NOW))) < len(whole) / 2


def test_removed_and_waiting_criteria_are_told_apart() -> None:
    index = Index.build([Criterion("old", attr("gone").eq(1)), Criterion("kept", attr("a").eq(1))])
    index.remove("old")
    index.add(Criterion("new", attr("b").eq(1)))
    names = {name for event in derive(index) for name in event}
    assert names == {"a", "b"}


def test_attributes_that_are_never_lists_get_none() -> None:
    criteria = [
        Criterion("s", attr("a").isin(1, 2) & (attr("a") > 0) & attr("b").eq(1)),
        Criterion("t", attr("a[0]").eq(1) | attr("a").size().eq(1)),
    ]
    events = list(derive(Index.build(criteria, scalars=["a"]), now=NOW))
    assert any(isinstance(event.get("b"), list) for event in events)
    assert not any(isinstance(event.get("a"), list) and event["a"] for event in events)


def test_an_empty_index_still_has_an_event() -> None:
    assert list(derive(Index())) == [{}]
