from __future__ import annotations

from dataclasses import replace
from itertools import combinations, pairwise, product

import pytest
from crowded import SCALARS, events, predicates, scalar_events
from hypothesis import given, settings
from hypothesis import strategies as st

import strategies
from remuda.language.python import attr
from remuda.logic.implication import contradict, exhaust, implies, never_list, plain
from remuda.model.attributes import Attribute
from remuda.model.expressions import And, Or, Polarity, Predicate
from remuda.model.terms import Call, Literal
from strategies import NOW

a, b = attr("a"), attr("b")
many = settings(max_examples=1000)
groups = st.lists(predicates, min_size=2, max_size=6)
several = st.lists(events, min_size=1, max_size=4)


def pairs(group: list[Predicate]) -> list[tuple[Predicate, Predicate]]:
    plainer = [one for one in map(plain, group) if isinstance(one, Predicate)]
    return [(p, q) for p in plainer for q in plainer]


@many
@given(groups, several)
def test_what_is_implied_holds(group, found):
    for p, q in pairs(group):
        if implies(p, q):
            assert not any(p.holds(e, now=NOW) and not q.holds(e, now=NOW) for e in found), (p, q)


@many
@given(groups, several)
def test_contradictions_never_hold_together(group, found):
    for p, q in pairs(group):
        if contradict(p, q):
            assert not any(p.holds(e, now=NOW) and q.holds(e, now=NOW) for e in found), (p, q)


@many
@given(groups, several)
def test_of_an_exhaustive_pair_one_always_holds(group, found):
    for p, q in pairs(group):
        if exhaust(p, q):
            assert all(p.holds(e, now=NOW) or q.holds(e, now=NOW) for e in found), (p, q)


@given(st.one_of(predicates, strategies.predicates), st.one_of(events, strategies.events))
def test_plain_words_say_the_same(predicate, event):
    assert plain(predicate).holds(event, now=NOW) == predicate.holds(event, now=NOW)


@given(predicates, scalar_events)
def test_plain_words_say_the_same_of_single_values(predicate, event):
    single = never_list(predicate, frozenset(SCALARS))
    assert single
    assert plain(predicate, single=single).holds(event) == predicate.holds(event)


LISTS = {
    "an attribute": a.term,
    "an attribute that may be empty": replace(a.term, empty=True),
    "a function that may make it empty": Call("array_remove", (a.term, Literal(4))),
    "what exists may be empty, and what is asked of it": Call(
        "coalesce", (Literal(None), replace(a.term, empty=True))
    ),
}


@pytest.mark.parametrize("term", LISTS.values(), ids=LISTS)
def test_sets_imply_soundly_and_nearly_all_that_they_could(term):
    """Every pair of small sets and ranges, on every list of three values and null."""
    subsets = [set(some) for n in range(4) for some in combinations((1, 2, 3), n)]
    asked = [make(*some) for some in subsets for make in (a.isin, a.overlaps, a.superset)]
    asked += [make(*some) for some in subsets for make in (a.subset, a.equalset)]
    asked += [a < 2, a.between(2, 3), a.within(), a.exists()]
    asked = [replace(one, term=term, polarity=how) for one in asked for how in Polarity]
    lists = [list(some) for n in range(5) for some in combinations((1, 2, 3, None), n)]
    events = [{"a": value} for value in (*lists, [4], 1, 2, 3, None)]
    for one in asked:
        assert [plain(one).holds(e) for e in events] == [one.holds(e) for e in events], one
    asked = [one for one in map(plain, asked) if isinstance(one, Predicate)]
    held = {one: {i for i, event in enumerate(events) if one.holds(event)} for one in asked}
    followed = implied = 0
    for first, second in product(asked, repeat=2):
        follows = held[first] <= held[second]
        assert follows or not implies(first, second), (first, second)
        assert not contradict(first, second) or not held[first] & held[second], (first, second)
        assert not exhaust(first, second) or len(held[first] | held[second]) == len(events)
        followed += follows
        implied += implies(first, second)
    assert implied > 0.5 * followed


def strongly_not(predicate: Predicate) -> Predicate:
    return predicate.with_polarity(Polarity.STRONGLY_EXCLUDED)


# each implies the next
CHAINS = {
    "values": [a.isin(1), a.isin(1, 2), a.between(0, 3), a >= 0, a.exists()],
    "ranges": [a.within(1, 2), a.between(1, 2), a.within(0, 2, upper_closed=True), a < 5],
    "texts": [a.eq("abc"), a.prefix("ab"), a.prefix("a"), a.contains("a"), a.contains("")],
    "endings": [a.suffix("abc"), a.suffix("bc"), a.contains("c"), a.exists()],
    "patterns see values": [a.isin("ab", "abb"), a.matches("ab+"), a.exists()],
    "sets": [a.equalset(1, 2), a.subset(1, 2), a.subset(1, 2, 3), a.overlaps(1, 2, 3), a < 9],
    "supersets": [a.equalset(1, 2), a.superset(1, 2), a.superset(2), a.isin(2, 7), a > 0],
    "supersets share": [a.superset(1, 2), a.overlaps(2, 3), a.isin(2, 3)],
    "every list is a superset of nothing": [a.subset(1), a.superset(), a.exists()],
    "a strong denial": [strongly_not(a.isin(1, 2)), strongly_not(a.eq(1)), ~a.eq(1)],
    "a strong denial is there": [strongly_not(a > 1), a.exists()],
    "weak denials turn round": [~(a > 0), ~(a > 1), ~a.eq(2)],
    "missing": [a.missing(), ~a.eq(1)],
    "operations do not matter for presence": [a.length() > 3, a.exists()],
}


@pytest.mark.parametrize("chain", CHAINS.values(), ids=CHAINS)
def test_each_implies_the_next(chain):
    for i, weaker in enumerate(chain):
        for stronger in chain[: i + 1]:
            assert implies(stronger, weaker), (stronger, weaker)
    for stronger, weaker in pairwise(chain):
        assert not implies(weaker, stronger)


UNRELATED = {
    "another attribute": (a.eq(1), b.eq(1)),
    "another operation": (a.length() > 3, a > 3),
    "a list has other elements": (a.eq(1), ~a.eq(2)),
    "a scalar is no list": (a.eq(1), a.overlaps(1)),
    "kinds of ranges": (a.within(1, 2), a.within("", "z")),
    "a weak denial may be missing": (~a.eq(1), strongly_not(a.eq(1))),
    "one shared element of two": (a.overlaps(1, 9), a < 5),
    "a subset may be the other part": (a.subset(1, 9), a < 5),
    "a subset need not have it all": (a.subset(1, 2), a.superset(1)),
    "a part need not share": (a.superset(1, 2), a.overlaps(3)),
    "a lone value in an open range": (a.eq(1), a.within(1, 2)),
}


@pytest.mark.parametrize(("first", "second"), UNRELATED.values(), ids=UNRELATED)
def test_does_not_imply(first, second):
    assert not implies(first, second)


CLASHES = {
    "asked and denied": (a.eq(1), ~a.eq(1)),
    "asked within what is denied": (a.eq(1), ~(a > 0)),
    "there and missing": (a.exists(), a.missing()),
    "asked and missing": (a.length() > 2, a.missing()),
    "strongly denied and missing": (strongly_not(a.eq(1)), a.missing()),
}


@pytest.mark.parametrize(("first", "second"), CLASHES.values(), ids=CLASHES)
def test_contradicts(first, second):
    assert contradict(first, second)
    assert contradict(second, first)


LISTS = {
    "two values": (a.eq(1), a.eq(2), [1, 2]),
    "two ranges": (a < 3, a > 5, [1, 9]),
    "a value and another denied": (a.eq(1), ~a.eq(2), [1, 3]),
    "missing and weakly denied": (a.missing(), ~a.eq(1), None),
}


@pytest.mark.parametrize(("first", "second", "value"), LISTS.values(), ids=LISTS)
def test_may_hold_together(first, second, value):
    assert not contradict(first, second)
    assert And(first, second).holds({"a": value})


EXHAUSTIVE = {
    "asked or denied": (a.eq(1), ~a.eq(1)),
    "what is denied lies in what is asked": (a > 0, ~a.eq(1)),
    "there or missing": (a.exists(), a.missing()),
    "there or weakly denied": (a.exists(), ~a.eq(1)),
}


@pytest.mark.parametrize(("first", "second"), EXHAUSTIVE.values(), ids=EXHAUSTIVE)
def test_exhausts(first, second):
    assert exhaust(first, second)
    assert exhaust(second, first)


def test_a_strong_denial_leaves_the_missing_out():
    assert not exhaust(a.eq(1), strongly_not(a.eq(1)))


PLAIN = {
    "nothing to be in": (a.isin(), Or()),
    "nothing to be out of": (~a.isin(), And()),
    "there, and out of nothing": (strongly_not(a.isin()), a.exists()),
    "an upside-down range": (a.between(3, 2), Or()),
    "a range without room": (a.within(2, 2, lower_closed=True), Or()),
    "a range of one value": (a.between(2, 2), a.eq(2)),
    "no list is a subset of nothing": (a.subset(), Or()),
    "every list is a superset of nothing": (a.superset(), a.superset()),
    "not there": (~a.exists(), a.missing()),
    "not missing": (~a.missing(), a.exists()),
    "there after operations": (a.length().exists(), a.exists()),
}


@pytest.mark.parametrize(("written", "plainer"), PLAIN.values(), ids=PLAIN)
def test_plain_words(written, plainer):
    assert plain(written) == plainer


SINGLE = {
    "a scalar": (a.eq(1), True),
    "after an operation": (a.length() > 1, True),
    "another attribute": (b.eq(1), False),
    "a size is no list": (b.size() > 1, True),
    "a wildcard collects a list": (attr("a[*]").eq(1), False),
    "so does a query": (attr("$..a").eq(1), False),
}


@pytest.mark.parametrize(("predicate", "single"), SINGLE.values(), ids=SINGLE)
def test_sees_one_value_at_most(predicate, single):
    scalars = frozenset(map(Attribute.parse, ("a", "a[*]", "$..a")))
    assert never_list(predicate, scalars) is single
