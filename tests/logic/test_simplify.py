from __future__ import annotations

from datetime import date

import crowded
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import strategies
from remuda.language.python import attr
from remuda.language.text import parse
from remuda.logic.normal import cnf_size, dnf_size, nnf
from remuda.logic.simplify import simple_cnf, simple_dnf, simplify
from remuda.model.attributes import Attribute
from remuda.model.expressions import And, Expression, Not, Or, Polarity, Predicate, fold
from strategies import NOW

a, b, c = attr("a"), attr("b"), attr("c")
p, q, r, s = (attr(name).eq(1) for name in "pqrs")
many = settings(max_examples=1000)
crowded_ones = st.one_of(crowded.crowds(), crowded.expressions)
several = st.lists(crowded.events, min_size=1, max_size=6)
DEEP = 5000


def strongly_not(predicate: Predicate) -> Predicate:
    return predicate.with_polarity(Polarity.STRONGLY_EXCLUDED)


def n_predicates(expression: Expression) -> int:
    return fold(expression, lambda node, parts: 1 if isinstance(node, Predicate) else sum(parts))


@many
@given(crowded_ones, several)
def test_holds_of_the_same_events(expression, events):
    simple = simplify(expression)
    assert n_predicates(simple) <= n_predicates(nnf(expression))
    for event in events:
        assert simple.holds(event) == expression.holds(event), simple


@given(strategies.expressions, strategies.events)
def test_holds_of_the_same_events_of_every_kind(expression, event):
    assert simplify(expression).holds(event, now=NOW) == expression.holds(event, now=NOW)


@many
@given(crowded_ones, st.lists(crowded.scalar_events, min_size=1, max_size=6))
def test_holds_of_the_same_events_without_lists(expression, events):
    simple = simplify(expression, scalars=crowded.SCALARS)
    assert n_predicates(simple) <= n_predicates(nnf(expression))
    for event in events:
        assert simple.holds(event) == expression.holds(event), simple


@given(crowded.expressions, several)
def test_simple_normal_forms_hold_of_the_same_events(expression, events):
    assume(max(dnf_size(expression), cnf_size(expression)) <= 300)
    alternatives, demands = simple_dnf(expression), simple_cnf(expression)
    assert len(alternatives) <= dnf_size(expression)
    assert len(demands) <= cnf_size(expression)
    for event in events:
        truth = expression.holds(event)
        assert any(all(one.holds(event) for one in clause) for clause in alternatives) == truth
        assert all(any(one.holds(event) for one in clause) for clause in demands) == truth


@given(crowded.expressions, crowded.scalar_events)
def test_simple_normal_forms_hold_of_the_same_events_without_lists(expression, event):
    assume(max(dnf_size(expression), cnf_size(expression)) <= 300)
    truth = expression.holds(event)
    alternatives = simple_dnf(expression, scalars=crowded.SCALARS)
    demands = simple_cnf(expression, scalars=crowded.SCALARS)
    assert any(all(one.holds(event) for one in clause) for clause in alternatives) == truth
    assert all(any(one.holds(event) for one in clause) for clause in demands) == truth


TRUE, FALSE = And(), Or()
SIMPLER = {
    # constants and shape
    "nothing": (And(), TRUE),
    "one part": (And(Or(p)), p),
    "and in and": (And(p, And(q, And(r))), And(p, q, r)),
    "or in or": (Or(p, Or(q, Or(r))), Or(p, q, r)),
    "true in and": (And(p, And()), p),
    "false in and": (And(p, Or()), FALSE),
    "true in or": (Or(p, And()), TRUE),
    "a part twice": (And(p, q, p.weight(5)), And(p, q)),
    "not": (Not(And(p, Not(q))), Or(~p, q)),
    # contradictions and tautologies
    "asked and denied": (And(p, q, ~p), FALSE),
    "asked or denied": (Or(p, q, ~p), TRUE),
    "asked or strongly denied": (Or(p, strongly_not(p)), Or(p, strongly_not(p))),
    "there and missing": (And(a.exists(), a.missing()), FALSE),
    "there or missing": (Or(a.exists(), a.missing()), TRUE),
    "asked and missing": (And(a > 3, a.missing()), FALSE),
    "strongly denied and missing": (And(strongly_not(a > 3), a.missing()), FALSE),
    "never in nothing": (And(p, a.isin()), FALSE),
    "a range without room": (Or(p, a.within(3, 3)), p),
    "a contradiction frees its neighbours": (And(p, Or(And(q, ~q), And(r, s))), And(p, r, s)),
    # merging under or
    "values unite": (Or(a.isin(1, 2), p, a.isin(2, 3)), Or(a.isin(1, 2, 3), p)),
    "ranges that overlap": (Or(a.within(0, 5), a.within(3, 9)), a.within(0, 9)),
    "a range in a range": (Or(a.within(0, 9), a.within(3, 5), a.eq(8)), a.within(0, 9)),
    "ranges that touch": (
        Or(a.within(0, 5), a.within(5, 9, lower_closed=True)),
        a.within(0, 9),
    ),
    "ranges with a hole": (Or(a < 5, a > 5), Or(a < 5, a > 5)),
    "a value fills the hole": (Or(a < 5, a > 5, a.eq(5)), a.within()),
    "a value closes an end": (Or(a > 5, a.isin(5, 7)), a >= 5),
    "values in a range": (Or(a.isin(1, 7, "x"), a > 5), Or(a.isin(1, "x"), a > 5)),
    "bounds of strings": (Or(a < "c", a > "b"), Or(a < "c", a > "b")),
    "dates beside numbers": (
        Or(a < 1, a < date(2024, 1, 1), a < 2),
        Or(a < date(2024, 1, 1), a < 2),
    ),
    "prefixes": (Or(a.prefix("ab"), a.prefix("a")), a.prefix("a")),
    "shared elements": (Or(a.overlaps(1), a.overlaps(2)), a.overlaps(1, 2)),
    "operations are kept apart": (
        Or(a.eq(1), a.length().eq(2)),
        Or(a.eq(1), a.length().eq(2)),
    ),
    # merging under and
    "denied values unite": (And(~a.eq(1), ~a.eq(2)), ~a.isin(1, 2)),
    "strongly denied values unite": (
        And(strongly_not(a.eq(1)), strongly_not(a.eq(2))),
        strongly_not(a.isin(1, 2)),
    ),
    "denied ranges unite": (And(~(a > 3), ~(a >= 3)), ~(a >= 3)),
    "one strong denial is enough": (
        And(~a.eq(1), strongly_not(a.eq(2))),
        strongly_not(a.isin(1, 2)),
    ),
    "there and weakly denied is strongly denied": (
        And(a.exists(), ~a.eq(1)),
        strongly_not(a.eq(1)),
    ),
    "missing or strongly denied is weakly denied": (
        Or(a.missing(), strongly_not(a.eq(1))),
        ~a.eq(1),
    ),
    "asked, so a strong denial may be weak": (
        And(a.eq(1), strongly_not(a.eq(2))),
        And(a.eq(1), ~a.eq(2)),
    ),
    # lists keep these apart
    "two values asked": (And(a.isin(1, 2), a.isin(2, 3)), And(a.isin(1, 2), a.isin(2, 3))),
    "two ranges asked": (And(a < 3, a > 5), And(a < 3, a > 5)),
    "two values denied": (Or(~a.eq(1), ~a.eq(2)), Or(~a.eq(1), ~a.eq(2))),
    # absorption
    "a or (a and b)": (Or(p, And(p, q)), p),
    "a and (a or b)": (And(p, Or(p, q)), p),
    "a clause that says more": (Or(And(p, q, r), And(r, p)), And(r, p)),
    "a clause that says more, by implication": (
        Or(And(a.eq(1), q), And(q, a.isin(1, 2)), r),
        Or(r, And(q, a.isin(1, 2))),
    ),
    "a demand that says less": (And(Or(p, q, r), Or(r, p)), Or(r, p)),
    "a demand that says less, by implication": (
        And(Or(a.isin(1, 2), q, r), Or(q, a.eq(1))),
        Or(q, a.eq(1)),
    ),
    "a predicate settles a demand": (And(a.eq(1), Or(a > 0, q)), a.eq(1)),
    "asked, so there": (And(a.exists(), a > 3), a > 3),
    "equal trees, in another order": (
        Or(And(p, Or(q, r)), And(Or(r, q), p)),
        And(p, Or(q, r)),
    ),
    "a tree that says more": (Or(And(p, Or(q, r), s), And(Or(r, q), p)), And(p, Or(r, q))),
}


def shape(expression: Expression) -> object:
    """The expression without the order of its parts."""
    return fold(
        expression,
        lambda node, parts: node if isinstance(node, Predicate) else (type(node), frozenset(parts)),
    )


@pytest.mark.parametrize(("written", "simple"), SIMPLER.values(), ids=SIMPLER)
def test_simplifies(written, simple):
    assert shape(simplify(written)) == shape(simple)


def test_lists_satisfy_what_no_single_value_does():
    assert simplify(And(a.isin(1, 2), a.isin(2, 3))).holds({"a": [1, 3]})
    assert simplify(And(a < 3, a > 5)).holds({"a": [1, 9]})


WITHOUT_LISTS = {
    "values meet": (And(a.isin(1, 2), a.isin(2, 3)), a.eq(2)),
    "values that do not meet": (And(a.eq(1), a.eq(2)), FALSE),
    "values meet a range": (And(a.isin(1, 5, "x"), a > 3), a.eq(5)),
    "values meet a pattern": (And(a.isin("ab", "b"), a.matches("a.*")), a.eq("ab")),
    "values meet a denial": (And(a.isin(1, 2), ~a.eq(2)), a.eq(1)),
    "values meet a strong denial": (And(a.isin(1, 2), strongly_not(a > 1)), a.eq(1)),
    "ranges meet": (And(a > 3, a <= 5, a < 9), a.within(3, 5, upper_closed=True)),
    "ranges that do not meet": (And(a < 3, a > 5), FALSE),
    "ranges that meet in a point": (And(a <= 3, a >= 3), a.eq(3)),
    "ranges of two kinds": (And(a < 3, a < "x"), FALSE),
    "a range and its denial": (And(a < 3, a > 0, ~(a < 3)), FALSE),
    "denied values meet": (Or(~a.isin(1, 2), ~a.isin(2, 3)), ~a.eq(2)),
    "denied values that do not meet": (Or(~a.eq(1), ~a.eq(2)), TRUE),
    "strongly denied values that do not meet": (
        Or(strongly_not(a.eq(1)), strongly_not(a.eq(2))),
        a.exists(),
    ),
    "a denied value is asked elsewhere": (Or(~a.isin(1, 2), a.eq(2)), ~a.eq(1)),
    "a strongly denied value is asked elsewhere": (
        Or(strongly_not(a.isin(1, 2)), a > 1),
        strongly_not(a.eq(1)),
    ),
    "denied ranges meet": (Or(~(a > 1), ~(a < 5)), ~a.within(1, 5)),
    "a weak denial among strong ones": (
        Or(strongly_not(a.isin(2, 3)), ~a.isin(1, 2)),
        ~a.eq(2),
    ),
    "ranges meet beside another condition": (
        And(a > "a", a.suffix("z"), a < "c"),
        And(a.within("a", "c"), a.suffix("z")),
    ),
    "no value is a list": (Or(p, a.superset(1)), p),
    "no value is a list, denied": (And(p, ~a.superset(1)), p),
    "operations are kept apart": (
        And(a.eq(1), a.modulo(2).eq(1)),
        And(a.eq(1), a.modulo(2).eq(1)),
    ),
    "other attributes may be lists": (And(b.eq(1), b.eq(2)), And(b.eq(1), b.eq(2))),
    "a size is one value": (And(b.size() > 1, b.size() < 3), b.size().within(1, 3)),
    "a wildcard is a list, whatever is said": (
        And(attr("c[*]").eq(1), attr("c[*]").eq(2)),
        And(attr("c[*]").eq(1), attr("c[*]").eq(2)),
    ),
}


@pytest.mark.parametrize(("written", "simple"), WITHOUT_LISTS.values(), ids=WITHOUT_LISTS)
def test_simplifies_more_without_lists(written, simple):
    scalars = [Attribute.parse("a"), Attribute.parse("c[*]")]
    assert shape(simplify(written, scalars=scalars)) == shape(simple)


def test_normal_forms_are_simple_once_expanded():
    written = And(Or(p, q), Or(p, r), Or(a.eq(1), s), Or(a.isin(1, 2), s))
    assert simple_dnf(written) == [(p, a.eq(1)), (p, s), (q, r, a.eq(1)), (q, r, s)]
    assert simple_cnf(Or(And(p, q), And(~p, r))) == [(p, r), (q, ~p), (q, r)]
    assert simple_dnf(And(p, ~p)) == []
    assert simple_cnf(And(p, ~p)) == [()]


def test_clauses_that_contradict_themselves_are_dropped():
    written = And(Or(a.eq(1), p), Or(~a.eq(1), q))
    assert simple_dnf(written) == [(a.eq(1), q), (p, ~a.eq(1)), (p, q)]
    scalars = [Attribute.parse("a")]
    disjoint = And(Or(a.eq(1), p), Or(a.eq(2), q))
    assert simple_dnf(disjoint, scalars=scalars) == [(a.eq(1), q), (p, a.eq(2)), (p, q)]


def test_hundreds_of_parts_are_absorbed_by_exact_ones():
    clauses = [And(attr(f"x{i}") == i, attr(f"y{i % 7}") == i) for i in range(1000)]
    longer = [And(*clause.parts, p) for clause in clauses]
    assert shape(simplify(Or(*longer, *clauses))) == shape(Or(*clauses))
    assert simplify(Or(*longer, p)) == p


def test_hundreds_of_predicates_on_one_attribute_merge():
    assert simplify(Or(*(a.eq(i) for i in range(2000)))) == a.isin(*range(2000))
    assert simplify(Or(*(a.between(i, i + 1) for i in range(2000)))) == a.between(0, 2000)
    prefixes = [a.prefix(f"{i:04}") for i in range(2000)]
    assert n_predicates(simplify(Or(*prefixes))) == 2000


def test_one_value_is_found_among_many_ranges():
    ranges = [a.within(3 * i, 3 * i + 2) for i in range(1000)]
    points = a.isin(*(3 * i + 1 for i in range(1000)), *(3 * i + 2.5 for i in range(10)))
    simple = simplify(Or(points, *ranges))
    assert n_predicates(simple) == 1001
    assert a.isin(*(3 * i + 2.5 for i in range(10))) in simple.parts


def nested(levels: int, wrap) -> Expression:
    found: Expression = p
    for i in range(levels):
        found = wrap(i, found)
    return found


DEEP_ONES = {
    "conjunctions": lambda i, inner: And(attr(f"x{i}") == i, inner),
    "mixtures": lambda i, inner: (And if i % 2 else Or)(attr(f"x{i}") == i, inner),
    "negations": lambda i, inner: Not(And(attr(f"x{i}") == i, inner)),
    "one attribute": lambda i, inner: (And if i % 2 else Or)(a.eq(i), inner),
    "contradictions on the way": lambda i, inner: Or(And(q, ~q), And(attr(f"x{i}") == i, inner)),
}


@pytest.mark.parametrize("wrap", DEEP_ONES.values(), ids=DEEP_ONES)
def test_thousands_of_levels(wrap):
    deep = nested(DEEP, wrap)
    event = {f"x{i}": i for i in range(DEEP)} | {"p": 1, "a": list(range(DEEP))}
    simple = simplify(deep)
    assert simple.holds(event) == deep.holds(event)
    assert simple.holds({}) == deep.holds({})


def test_an_empty_list_does_not_keep_a_contradiction_from_being_seen():
    assert simplify(parse("age > 3 AND age IS NULL")) == Or()
    assert simplify(parse("age > 3 OR NOT age > 3 OR age IS NULL")) == And()
    assert simplify(parse("age IS NULL AND NOT age = 3")) == Or()
