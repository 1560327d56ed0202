"""Regions: what is possible, certain and undecided, held to plain evaluation of enumerated events.

Between the constants of the vocabulary and beyond them, every value that conditions can tell apart
has a representative here, so that what holds for all of these holds for all.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from functools import reduce
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from remuda.arrays import Bools
from remuda.errors import InvalidRegion
from remuda.index.index import Index
from remuda.language.criterion import Criterion
from remuda.language.python import attr
from remuda.language.text import parse
from remuda.matchers.contract import NAMES
from remuda.model.attributes import Attribute
from remuda.model.conditions import (
    Absent,
    Contains,
    Exists,
    In,
    Like,
    Missing,
    NullValue,
    Prefix,
    Range,
    Related,
    Relation,
    SemVer,
)
from remuda.model.expressions import And, Expression, Not, Or, Polarity, Predicate
from remuda.model.operations import Divide, Integral
from remuda.model.terms import applied, facts_of
from strategies import NOW, SEED, count

_DAY, _TICK = timedelta(days=1), timedelta(microseconds=1)
_FIRST, _NOON = date(2024, 2, 28), datetime(2024, 2, 28, 12, tzinfo=UTC)
_NUMBERS = (1, 2, 3)
_TEXTS = ("", "a", "a\0", "b")
_DATES = (_FIRST, _FIRST + _DAY, date.max)
_MOMENTS = (_NOON, _NOON + _TICK)
_CONSTANTS = (_NUMBERS, _TEXTS, _DATES, _MOMENTS)
_ABSENT = object()
VALUES = (
    *(0, 1, Decimal("1.5"), 2, 2.5, 3, 4),
    *("", "\0", "a", "a\0", "a\0\0", "ab", "b", "b1", "c", "1.0.0", "3.0.0"),
    *(_FIRST - _DAY, _FIRST, _FIRST + _DAY, _FIRST + 2 * _DAY, date.max),
    *(_NOON - _TICK, _NOON, _NOON + _TICK, _NOON + 2 * _TICK),
    *(True, False, float("nan"), None, _ABSENT),
)
PATHS = ("a", "b")


@st.composite
def _ranges(draw: st.DrawFn) -> Range:
    bound = st.one_of(st.none(), st.sampled_from(draw(st.sampled_from(_CONSTANTS))))
    return Range(draw(bound), draw(bound), draw(st.booleans()), draw(st.booleans()))


_operands = st.lists(
    st.sampled_from((*_NUMBERS, *_TEXTS, *_DATES, *_MOMENTS, True, False)), max_size=3
)
_solid = st.one_of(
    _operands.map(tuple).map(In),
    _ranges(),
    _ranges(),
    st.sampled_from(_TEXTS).map(Prefix),
    st.just(Exists()),
    st.just(Missing()),
    st.just(Related(Relation.OVERLAPS, (1, 2))),
)
_any = st.one_of(
    _solid,
    _solid,
    _solid,
    st.sampled_from(("a%", "_", "%")).map(Like),
    st.just(Contains("\0")),
    st.just(SemVer("2.0.0", "<")),
    st.just(NullValue()),
    st.just(Absent()),
)
_attributes = st.sampled_from(PATHS).map(Attribute.parse)
_terms = st.one_of(
    _attributes,
    _attributes,
    _attributes,
    _attributes.map(lambda one: applied(one, [Divide(Integral.MODULO, 2)])),
)


def _predicates(conditions: Any, terms: Any) -> Any:
    return st.builds(Predicate, terms, conditions, st.sampled_from(Polarity))


def _nested(leaves: Any) -> Any:
    return st.recursive(
        leaves,
        lambda parts: st.one_of(
            st.lists(parts, max_size=3).map(lambda several: And(*several)),
            st.lists(parts, max_size=3).map(lambda several: Or(*several)),
            parts.map(Not),
        ),
        max_leaves=6,
    )


_criteria = st.one_of(_nested(_predicates(_solid, _attributes)), _nested(_predicates(_any, _terms)))
_regions = st.lists(
    st.one_of(
        _predicates(_solid, _attributes),
        _predicates(_solid, _attributes),
        _predicates(_any, _attributes),
        st.tuples(_attributes, _solid, _solid).map(
            lambda both: Or(Predicate(both[0], both[1]), Predicate(both[0], both[2]))
        ),
    ),
    max_size=3,
).map(lambda parts: And(*parts))


def _event(values: dict[str, Any]) -> dict[str, Any]:
    return {name: one for name, one in values.items() if one is not _ABSENT}


EVENTS = [
    _event(dict(zip(PATHS, values, strict=True))) for values in product(VALUES, repeat=len(PATHS))
]


@pytest.fixture(scope="module")
def asked() -> Iterator[Counter[str]]:
    """How much was held to plain evaluation, told when all of it agreed."""
    counts = Counter[str]()
    yield counts
    print("\n" + ", ".join(f"{n:,} {what}" for what, n in counts.items()))


def _truths(expression: Expression) -> Bools:
    """The truth of each event, asked of single predicates, which one attribute decides."""
    match expression:
        case Predicate(term=term):
            ((path,),) = {one.path.steps for one in facts_of(term).attributes}
            own = [expression.truth(_event({path: value}), NOW) for value in VALUES]
            column = [slice(None) if one == path else np.newaxis for one in PATHS]
            table = np.array(own)[tuple(column)]
            return np.broadcast_to(table, (len(VALUES),) * len(PATHS)).ravel()
        case Not(inner):
            return ~_truths(inner)
        case And() | Or():
            combined = np.logical_and if isinstance(expression, And) else np.logical_or
            start = np.full(len(EVENTS), isinstance(expression, And))
            return reduce(combined, map(_truths, expression.parts), start)
    raise TypeError(expression)


def _check(
    index: Index, criteria: list[Expression], regions: list[Expression], asked: Counter[str]
) -> None:
    possible = index.possible(regions, now=NOW)
    certain = index.certain(regions, now=NOW)
    tables = [_truths(one) for one in criteria]
    for one, table in zip(criteria, tables, strict=True):  # the tables themselves are looked at
        for k in range(asked["regions"] % 31, len(EVENTS), 31):
            assert table[k] == one.truth(EVENTS[k], NOW)
    asked["regions"] += len(regions)
    asked["pairs of a region and a criterion"] += len(regions) * len(criteria)
    asked["regions answered exactly"] += int((possible.exact & certain.exact).sum())
    for i, region in enumerate(regions):
        inside = _truths(region)
        some = {f"{n}" for n, held in enumerate(tables) if held[inside].any()}
        every = {f"{n}" for n, held in enumerate(tables) if held[inside].all()}
        told_some, told_every = set(possible.ids(i)), set(certain.ids(i))
        assert len(told_some) == len(possible.ids(i))
        assert some <= told_some
        assert told_every <= every
        if possible.exact[i]:
            assert told_some == some
        if certain.exact[i]:
            assert told_every == every


@pytest.mark.soak
@settings(max_examples=count(150, 8_000))
@given(
    criteria=st.lists(_criteria, min_size=3, max_size=6),
    regions=st.lists(_regions, min_size=count(2, 12), max_size=count(4, 16)),  # 10^5 in a soak
    matcher=st.sampled_from(("auto", "betree", *NAMES)),
)
def test_regions_agree_with_every_event_within_them(criteria, regions, matcher, asked) -> None:
    named = [Criterion(f"{n}", one) for n, one in enumerate(criteria)]
    _check(Index.build(named, matcher=matcher), criteria, regions, asked)


@pytest.mark.soak
@settings(max_examples=count(100, 3_000))
@given(
    criteria=st.lists(_criteria, min_size=1, max_size=6),
    known=st.one_of(
        st.sampled_from(VALUES), st.lists(st.sampled_from((1, 2, 3, "a", None)), max_size=3)
    ),
    unknown=st.sampled_from(PATHS),
)
def test_undecided_are_those_that_the_unknown_decides(criteria, known, unknown, asked) -> None:
    asked["pairs of an event and a criterion for undecided"] += len(criteria)
    (other,) = set(PATHS) - {unknown}
    event = {} if known is _ABSENT else {other: known}
    index = Index.build(Criterion(f"{n}", one) for n, one in enumerate(criteria))
    filled = [event if one is _ABSENT else event | {unknown: one} for one in VALUES]
    truths = {f"{n}": {one.truth(e, NOW) for e in filled} for n, one in enumerate(criteria)}
    told = index.undecided(event, {unknown}, now=NOW)
    dependent = {name for name, found in truths.items() if len(found) == 2}
    assert dependent <= {one.id for one in told}
    for one in told:
        assert one.attributes == (unknown,)
        assert not one.exact or one.id in dependent


RULES = {
    "young": "age < 30",
    "grown": "age >= 18 AND age <= 65",
    "cheap": "price < 20",
    "asian": "country IN ('IN', 'SG', 'JP')",
    "both": "price BETWEEN 40 AND 80 AND country = 'IN'",
    "split": "(country = 'IN' AND price < 50) OR (country = 'IN' AND price >= 50)",
    "not cheap": "NOT price < 20",
    "none": "price < 10 AND price > 5 AND price <= 5",
    "named": "name LIKE 'a%'",
}
TABLE: dict[str, tuple[str, dict[str, Any], set[str], set[str]]] = {
    # a region, what else is known, what is possible and what is certain
    "the paper's kind of event": (
        "price BETWEEN 30 AND 60 AND country IN ('IN', 'SG')",
        {"missing": {"age", "name"}},
        {"asian", "both", "split", "not cheap"},
        {"asian", "not cheap"},
    ),
    "one value is an event": (
        "price = 45 AND country = 'IN'",
        {"missing": {"age", "name"}},
        {"asian", "both", "split", "not cheap"},
        {"asian", "both", "split", "not cheap"},
    ),
    "certain by cases": (
        "country = 'IN' AND price IS NOT NULL AND price BETWEEN 0 AND 100",
        {"missing": {"age", "name"}},
        {"cheap", "asian", "both", "split", "not cheap"},
        {"asian", "split"},
    ),
    "a range that two comparisons make": (
        "age BETWEEN 20 AND 29",
        {"missing": {"price", "country", "name"}},
        {"young", "grown"},
        {"young", "grown"},
    ),
    "no event": (
        "age < 3 AND age > 5", {}, set(), {*RULES},
    ),
}  # fmt: skip


@pytest.mark.parametrize("matcher", NAMES)
@pytest.mark.parametrize("row", TABLE)
def test_worked_examples(row: str, matcher: str) -> None:
    index = Index.build((Criterion(n, parse(t)) for n, t in RULES.items()), matcher=matcher)
    where, narrowed, some, every = TABLE[row]
    possible, certain = index.possible(where, **narrowed), index.certain(where, **narrowed)
    assert (set(possible.ids(0)), set(certain.ids(0))) == (some, every)
    assert possible.exact[0]
    assert certain.exact[0]


COLLECTING: dict[str, tuple[str, dict[str, Any], str, dict[str, Any]]] = {
    # a criterion that collects what is unknown, an event, what is unknown of it, another event
    "descendants": ("$..k", {"k": 1}, "k", {"k": "x"}),
    "all fields": ("$[*]", {"k": 1}, "k", {"k": "x"}),
    "elements": ("items[*].k", {"items": [{"k": 1}]}, "items[0].k", {"items": [{"k": "x"}]}),
}


@pytest.mark.parametrize("row", COLLECTING)
def test_what_collects_the_unknown_is_undecided(row: str) -> None:
    path, event, unknown, other = COLLECTING[row]
    criterion = Criterion("one", attr(path).within())
    assert criterion.holds(event) is not criterion.holds(other)
    whole = Predicate(Attribute((), walk=True), Exists())  # which is there, whatever is in it
    beside = [Criterion("beside", attr("other[*]").exists()), Criterion("whole", whole)]
    index = Index.build([criterion, *beside])
    assert [one.id for one in index.undecided(event, {unknown})] == ["one"]


def test_what_collects_is_a_list_of_scalars_too() -> None:
    index = Index.build([Criterion("one", attr("$..k").subset(5).strong())])
    assert index.match({"k": 5}) == []
    assert index.certain("k = 5", present={"$..k"}).ids(0) == []


SHOPPER = (  # the BE-Tree paper's, of section 1
    "genre = 'classics' AND era IN ('1920s', '1940s') AND price BETWEEN 20 AND 40 "
    "AND ranking < 5 AND format NOT IN ('paperback')"
)
ITEM = "genre = 'classics' AND title = 'The Sun Also Rises' AND author = 'Hemingway'"
ITEMS: dict[str, tuple[str, int, int]] = {
    # what is known of an item, whether it may be the shopper's, and whether it is
    "as printed": ("era = '1920s' AND price = 26 AND ranking = 2 AND format = 'hardcover'", 1, 1),
    "ranges that lie within hers": (
        ("era IN ('1940s') AND price BETWEEN 20 AND 30 AND ranking BETWEEN 1 AND 4 "
        "AND format IN ('hardcover', 'audio')"), 1, 1,
    ),
    "ranges that meet hers": (
        ("era IN ('1920s', '1930s') AND price BETWEEN 35 AND 50 AND ranking >= 4 "
        "AND format <> 'audio'"), 1, 0,
    ),
    "one range beside hers": (
        "era = '1920s' AND price BETWEEN 41 AND 50 AND ranking = 2 AND format = 'hardcover'", 0, 0,
    ),
    "what she refuses": ("era = '1920s' AND price = 26 AND ranking = 2 AND format = 'paperback'",
                         0, 0),
    "one of her attributes is missing": ("era = '1920s' AND price = 26 AND ranking = 2", 0, 0),
}  # fmt: skip


@pytest.mark.parametrize("matcher", NAMES)
@pytest.mark.parametrize("known", ITEMS)
def test_the_papers_shopper_and_items_that_are_expressions(known: str, matcher: str) -> None:
    """Section 3: subscriptions and events are both expressions; SQ(e) is what is possible."""
    index = Index.build([Criterion("shopper", parse(SHOPPER))], matcher=matcher)
    where, some, every = ITEMS[known]
    missing = {"format"} if "format" not in where else set()
    possible, certain = (
        ask(f"{ITEM} AND {where}", missing=missing) for ask in (index.possible, index.certain)
    )
    assert (len(possible.ids(0)), len(certain.ids(0))) == (some, every)
    assert possible.exact[0]
    assert certain.exact[0]


@pytest.mark.parametrize("matcher", ["auto", "betree"])
def test_the_papers_stabbing_subscriptions(matcher: str) -> None:
    """SQ(e): each predicate of a subscription meets one of the event, on the same attribute."""
    rng, domain = np.random.default_rng(SEED), range(10)

    def drawn() -> dict[str, set[int]]:
        names = rng.choice(list("pqrstu"), rng.integers(1, 4), replace=False)
        spans = [sorted(rng.integers(0, 10, 2).tolist()) for _ in names]
        return {name: set(range(lo, hi + 1)) for name, (lo, hi) in zip(names, spans, strict=True)}

    def written(conjunction: dict[str, set[int]]) -> Expression:
        return And(*(attr(name).isin(*values) for name, values in conjunction.items()))

    subscriptions = [drawn() for _ in range(300)]
    index = Index.build(
        (Criterion(f"{n}", written(one)) for n, one in enumerate(subscriptions)), matcher=matcher
    )
    for _ in range(50):
        event = drawn()
        stabbed = {
            f"{n}"
            for n, one in enumerate(subscriptions)
            if all(any(x in event.get(name, ()) and x in own for x in domain)
                   for name, own in one.items())
        }  # fmt: skip
        found = index.possible(written(event), missing=set("pqrstu") - event.keys())
        assert (set(found.ids(0)), found.exact.tolist()) == (stabbed, [True])


@pytest.mark.parametrize("empty", [Range(65, 18), Range(30, 30), Range(30, 30, lower_closed=True)])
def test_no_event_is_in_a_range_without_values(empty: Range) -> None:
    index = Index.build(Criterion(name, parse(text)) for name, text in RULES.items())
    region = Predicate(Attribute.parse("age"), empty)
    assert index.possible(region).ids(0) == []
    assert index.certain(region).ids(0) == [*RULES]


def test_more_regions_than_are_asked_at_once() -> None:
    index = Index.build(Criterion(f"{n}", attr("x") <= n) for n in range(5))
    found = index.possible([attr("x") > n % 5 for n in range(2_500)])
    assert found.counts().tolist() == [4 - n % 5 for n in range(2_500)]
    assert len(index.certain([])) == 0


def test_what_is_not_mentioned_may_be_anything() -> None:
    index = Index.build(Criterion(name, parse(text)) for name, text in RULES.items())
    found = index.possible("price BETWEEN 30 AND 60 AND country IN ('IN', 'SG')")
    assert set(found.ids(0)) == {*RULES} - {"cheap", "none"}
    assert not found.exact[0]  # nobody looked for a name that begins with a
    assert index.possible("price > 30", missing={"name"}).exact[0]


def test_changes_and_tags_are_seen() -> None:
    index = Index.build([Criterion("old", attr("x") == 1), Criterion("off", attr("x") == 1)])
    index.disable("off")
    index.add(Criterion("new", attr("x") < 5, tags=frozenset({"t"})))
    assert index.possible("x > 0").ids(0) == ["old", "new"]
    assert index.possible("x > 0", tags={"t"}).ids(0) == ["new"]
    assert index.certain("x = 1").ids(0) == ["old", "new"]
    assert [one.id for one in index.undecided({}, {"x"})] == ["old", "new"]


def test_what_is_undecided_names_what_it_needs() -> None:
    index = Index.build(Criterion(name, parse(text)) for name, text in RULES.items())
    told = {one.id: one.attributes for one in index.undecided({"price": 45}, {"country", "age"})}
    assert told == {
        "young": ("age",), "grown": ("age",), "asian": ("country",),
        "both": ("country",), "split": ("country",),
    }  # fmt: skip


@pytest.mark.parametrize(
    "where", ["price < 3 OR country = 'IN'", "size(tags) > 2", "NOT (price < 3 AND country = 'IN')"]
)
def test_what_is_no_region_is_refused(where: str) -> None:
    with pytest.raises(InvalidRegion, match="conjunction"):
        Index().possible(where)


@pytest.mark.parametrize("ask", ["match", "match_many"])
def test_an_expression_is_no_event(ask: str) -> None:
    with pytest.raises(TypeError, match="possible"):
        getattr(Index(), ask)(parse("price < 3"))


def test_regions_in_every_form_are_the_same() -> None:
    index = Index.build(Criterion(name, parse(text)) for name, text in RULES.items())
    expression = attr("price").between(30, 60)
    forms = [expression, "price BETWEEN 30 AND 60", Criterion("r", expression).to_json()]
    found = index.possible(forms)
    assert len({frozenset(found.ids(i)) for i in range(3)}) == 1


def test_a_region_that_may_be_empty_is_not_answered_exactly() -> None:
    index = Index.build([Criterion("true", And())])
    where = And(attr("a").contains("x"), Not(attr("a").prefix("")))
    assert not index.possible(where).exact[0]


def test_a_region_does_not_tell_null_from_absent() -> None:
    index = Index.build([Criterion("there", ~attr("a").is_null_value())])
    found = index.possible(attr("a").is_null_value())
    assert (found.ids(0), found.exact.tolist()) == (["there"], [False])
