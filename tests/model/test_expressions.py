from __future__ import annotations

import math
import pickle
import time
from datetime import UTC, datetime
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from remuda.errors import InvalidCriterion
from remuda.language.criterion import Criterion
from remuda.language.python import attr, when
from remuda.logic.normal import nnf
from remuda.model.conditions import TWO_VALUED, In
from remuda.model.expressions import (
    MAX_LEVELS,
    And,
    Expression,
    Not,
    Or,
    Polarity,
    Predicate,
    clock,
    fold,
)
from remuda.model.terms import value_in
from remuda.model.values import key
from strategies import (
    NOW,
    PATHS,
    events,
    expressions,
    expressions_of_terms,
    expressions_over,
    predicates,
)

a, b, c = attr("a"), attr("b"), attr("c")
DEEP = 5000

HOLDS = {
    # in
    "a value": (a.isin(1, "x"), 1, True),
    "another": (a.isin(1, "x"), 2, False),
    "none of none": (a.isin(), 1, False),
    "a truth": (a.eq(True), True, True),
    "a truth is no number": (a.eq(1), True, False),
    "equal by operator": (a == 1, 1.0, True),
    "unequal by operator": (a != 1, 1, False),
    "unequal when missing": (a != 1, None, True),
    # ranges
    "an open bound": (a > 1, 1, False),
    "a closed bound": (a >= 1, 1, True),
    "zero below a bound": (a < 10, 0, True),
    "a negative below a bound": (a < 10, -5, True),
    "between": (a.between(1, 2), 2, True),
    "a text in a range of numbers": (a < 10, "5", False),
    "a text in a range of texts": (a.between("a", "b"), "ab", True),
    "no bounds mean a number": (a.within(), 0, True),
    "and no text": (a.within(), "0", False),
    # texts
    "matches": (a.matches("a+"), "aaa", True),
    "matches the whole": (a.matches("a+"), "aaab", False),
    "matches text alone": (a.matches(".*"), 1, False),
    "finds": (a.finds("a+"), "baab", True),
    "like": (a.like("a%_"), "abc", True),
    "like counts the underscore": (a.like("a%_"), "a", False),
    "like spans lines": (a.like("a%"), "a\nb", True),
    "like escapes": (a.like(r"100\%"), "100%", True),
    "like, really": (a.like(r"100\%"), "1000", False),
    "like by another escape": (a.like("100!%", escape="!"), "100%", True),
    "like takes dots for dots": (a.like("a.c"), "abc", False),
    "prefix": (a.prefix("ab"), "abc", True),
    "suffix": (a.suffix("bc"), "abc", True),
    "contains": (a.contains("b"), "abc", True),
    "contains nothing": (a.contains(""), "", True),
    "a lone surrogate": (a.matches(".*"), "\ud800", False),
    # versions
    "version": (a.version() >= "3.2", "3.10", True),
    "version, the base": (a.version() >= "3.2.0", "3.2", True),
    "version without the base": (a.version() > "3.2", "3.2.0", False),
    "version before a release": (a.version() < "1.0", "1.0-rc1", True),
    "version at most": (a.version() <= "1.0", "1.0.1", False),
    "version of a number": (a.version() >= "1", 2, False),
    # sets
    "subset": (a.subset(1, 2, 3), [1, 3], True),
    "subset of less": (a.subset(1), [1, 3], False),
    "superset": (a.superset(1), [1, 3], True),
    "superset of nothing": (a.superset(), [1], True),
    "superset of nothing when missing": (a.superset(), [], False),
    "equalset": (a.equalset(3, 1), [1, 3, 1], True),
    "overlaps": (a.overlaps(1, 9), [3, 1], True),
    "overlaps no scalar": (a.overlaps(1), 1, False),
    # presence
    "exists": (a.exists(), 0, True),
    "exists as nothing": (a.exists(), None, False),
    "missing": (a.missing(), [], True),
    "not missing": (~a.missing(), [None], True),
    "strongly not missing": (a.missing().strong(), 1, True),
    # lists
    "any element": (a.eq(3), [1, 3], True),
    "no element": (~a.eq(3), [1, 3], False),
    "two elements for two sets": (a.isin(1, 2) & a.isin(2, 3), [1, 3], True),
    "two elements for two ranges": ((a < 3) & (a > 5), [1, 9], True),
    "one element for both": ((a < 3) & (a > 5), [4], False),
    "no text in a list": (a.prefix("x"), [1, "ax"], False),
    "a size": (a.size() > 2, [1, None, 3], True),
    "a size of a scalar is itself": (a.size() > 2, 3, True),
    "elements after an operation": (a.length().eq("ab"), ["ab"], True),
}


@pytest.mark.parametrize(("expression", "value", "truth"), HOLDS.values(), ids=HOLDS)
def test_holds(expression, value, truth):
    event = {"a": value}
    assert expression.holds(event) is truth
    assert (~expression).holds(event) is not truth
    assert (expression.score(event) is None) is not truth


VERSIONS = ["", "foo", "1-alpha", "1-a1", "1-beta", "1-m3", "1-rc", "1.rc2", "1-SNAPSHOT", "1"]
VERSIONS += ["1-sp", "1-foo", "1-1", "1.0.1", "1.2", "1.10", f"2.{'9' * 5000}"]


def test_versions_are_in_order():
    for lower, upper in pairwise(VERSIONS):
        assert (a.version() > lower).holds({"a": upper}), (lower, upper)
        assert (a.version() < upper).holds({"a": lower}), (lower, upper)
    for same in ("1", "1.0", "1.0.0", "1-ga", "01.0", "1.final", "1-RELEASE"):
        assert ((a.version() >= "1") & (a.version() <= "1")).holds({"a": same}), same


@given(predicates, events)
def test_weak_and_strong_denials_differ_where_the_attribute_is_missing(predicate, event):
    weak = predicate.with_polarity(Polarity.EXCLUDED)
    strong = predicate.with_polarity(Polarity.STRONGLY_EXCLUDED)
    missing = predicate.attribute.resolve(event) is None
    two_valued = type(predicate.condition) in TWO_VALUED
    differ = weak.holds(event, now=NOW) != strong.holds(event, now=NOW)
    assert differ == (missing and not two_valued)
    if differ:
        assert weak.holds(event, now=NOW)


@given(expressions | expressions_of_terms, events)
def test_not_is_the_complement(expression, event):
    truth = expression.holds(event, now=NOW)
    assert Not(expression).holds(event, now=NOW) is not truth
    assert (~expression).holds(event, now=NOW) is not truth
    assert (~~expression).holds(event, now=NOW) is truth


def kleene(expression: Expression, event: object) -> bool | None:
    """SQL's truth: unknown where the term is missing; weak negations know all."""
    if isinstance(expression, Not):
        return kleene(expression.part, event) is not True
    if isinstance(expression, Predicate):
        certain = expression.polarity is Polarity.EXCLUDED
        if type(expression.condition) in TWO_VALUED or certain:
            return expression.holds(event, now=NOW)
        missing = value_in(expression.root, event, NOW) is None
        return None if missing else expression.holds(event, now=NOW)
    truths = [kleene(part, event) for part in expression.parts]
    decisive = isinstance(expression, Or)
    if decisive in truths:
        return decisive
    return None if None in truths else not decisive


@given(expressions | expressions_of_terms, events)
def test_strong_negation_is_that_of_sql(expression, event):
    denied = expression.part if isinstance(expression, Not) else expression
    if isinstance(expression, Predicate):  # of a predicate, the kind is exchanged
        denied = expression.with_polarity(Polarity.INCLUDED)
    assert expression.strong().holds(event, now=NOW) == (kleene(denied, event) is False)


STRONG = {
    "a predicate": (a.eq(1).strong(), a.eq(1).with_polarity(Polarity.STRONGLY_EXCLUDED)),
    "a weak negation": ((~a.eq(1)).strong(), a.eq(1).strong()),
    "an and": (And(a.eq(1), b.eq(2)).strong(), Or(a.eq(1).strong(), b.eq(2).strong())),
    "an or": (Or(a.eq(1), b.eq(2)).strong(), And(a.eq(1).strong(), b.eq(2).strong())),
    "a not": (Not(And(a.eq(1), b.eq(2))).strong(), Or(a.eq(1).strong(), b.eq(2).strong())),
    "presence flips": (And(a.exists(), b.missing()).strong(), Or(~a.exists(), ~b.missing())),
}


@pytest.mark.parametrize(("made", "wanted"), STRONG.values(), ids=STRONG)
def test_strong_negation_goes_down_to_predicates(made, wanted):
    assert made == wanted


def score(expression: Expression, event: object, weights: dict[str, float]) -> float | None:
    """The score of a negation normal form, by its definition."""
    if isinstance(expression, Predicate):
        if not expression.holds(event, now=NOW):
            return None
        if expression.polarity is not Polarity.INCLUDED:
            return 0.0
        by_attribute = {attr(path).term: weight for path, weight in weights.items()}
        return points(expression, event) * by_attribute.get(expression.attribute, 1.0)
    found = [score(part, event, weights) for part in expression.parts]
    if isinstance(expression, Or):
        return max((one for one in found if one is not None), default=None)
    total = 0.0
    for one in found:
        if one is None:
            return None
        total += one
    return total


def points(predicate: Predicate, event: object) -> float:
    if not predicate.value_weights:
        return predicate.own_weight
    value = predicate.value(predicate.attribute.resolve(event), NOW)
    elements = value if isinstance(value, list) else [value]
    by_value = {key(one): weight for one, weight in predicate.value_weights}
    matched = {key(one) for one in elements} & {key(one) for one in predicate.condition.values}
    return max(by_value.get(one, predicate.own_weight) for one in matched)


@st.composite
def weighted_by_value(draw: st.DrawFn) -> Predicate:
    predicate = draw(predicates.filter(lambda one: isinstance(one.condition, In)))
    values = draw(st.lists(st.sampled_from(predicate.condition.values or (None,)), max_size=3))
    weights = [(one, draw(st.sampled_from((0.0, 2.5, -1.0)))) for one in values if one is not None]
    return Predicate(
        predicate.term,
        predicate.condition,
        predicate.polarity,
        predicate.own_weight,
        tuple(weights),
    )


@settings(max_examples=300)
@given(
    expressions_over(st.one_of(predicates, weighted_by_value())),
    events,
    st.dictionaries(st.sampled_from(PATHS), st.sampled_from((0.0, 0.1, 0.8, 3.0, -2.0))),
)
def test_scores_are_those_of_the_definition(expression, event, weights):
    found = expression.score(event, weights=weights, now=NOW)
    assert found == score(nnf(expression), event, weights)
    assert (found is None) is not expression.holds(event, now=NOW)


EVERYTHING = {"a": 1, "b": [1, 2], "c": 3}
SCORES = {
    "a weight": (a.eq(1).weight(3), 3.0),
    "no weight is 1": (a.eq(1), 1.0),
    "0 stays 0": (a.eq(1).weight(0), 0.0),
    "a denial scores 0": ((~a.eq(2)).weight(7), 0.0),
    "what does not hold has none": (a.eq(2), None),
    "and sums": (a.eq(1).weight(3) & c.eq(3).weight(0.5) & ~a.eq(2), 3.5),
    "or takes the largest": (a.eq(1).weight(3) | c.eq(3).weight(5) | a.eq(2), 5.0),
    "also of negatives": (a.eq(1).weight(-3) | c.eq(3).weight(-5), -3.0),
    "nothing is true": (And(), 0.0),
    "or false": (Or(), None),
    "under not, and becomes or": (~(~a.eq(1).weight(3) & ~c.eq(3).weight(5)), 5.0),
    "under not, or becomes and": (~(~a.eq(1).weight(3) | ~c.eq(3).weight(5)), 8.0),
    "a weight of the value": (a.isin(1, 2).weight({1: 4, 2: 9}), 4.0),
    "the largest that matched": (b.isin(1, 2, 3).weight({1: 4, 2: 9, 3: 99}), 9.0),
    "values without one have 1": (b.isin(1, 2).weight({1: 0.5}), 1.0),
    "sums go from left to right": (
        a.eq(1).weight(0.1) & c.eq(3).weight(0.2) & b.eq(1).weight(0.3),
        0.1 + 0.2 + 0.3,
    ),
}


@pytest.mark.parametrize(("expression", "points"), SCORES.values(), ids=SCORES)
def test_scores(expression, points):
    assert expression.score(EVERYTHING) == points


def test_event_weights_belong_to_attributes_not_to_operations():
    expression = (a.modulo(2).eq(1) & b.eq(2) & c.eq(3)).score
    assert expression(EVERYTHING, weights={"$.a": 10, "b": 0}) == 11.0


BAD_WEIGHTS = {
    "infinite": lambda: a.eq(1).weight(math.inf),
    "not a number": lambda: a.eq(1).weight(math.nan),
    "text": lambda: a.eq(1).weight("3"),
    "a truth": lambda: a.eq(1).weight(True),
    "for no value of the predicate": lambda: a.eq(1).weight({2: 3}),
    "by value, of a range": lambda: (a > 1).weight({2: 3}),
    "by value, of a set": lambda: a.overlaps(1).weight({1: 3}),
    "of an event": lambda: a.eq(1).score({}, weights={"a": math.inf}),
    "whose sums would overflow": lambda: a.eq(1).weight(1e101),
    "below zero, too": lambda: a.eq(1).weight({1: -1e101}),
    "of an event, whose products would": lambda: a.eq(1).score({}, weights={"a": 1e101}),
}


@pytest.mark.parametrize("make", BAD_WEIGHTS.values(), ids=BAD_WEIGHTS)
def test_refuses_weights(make):
    with pytest.raises(InvalidCriterion):
        make()


BAD_CONDITIONS = {
    "null": lambda: a.isin(1, None),
    "a set of null": lambda: a.subset(None),
    "a pattern beyond RE2": lambda: a.matches("(?=a)"),
    "an open group": lambda: a.finds("("),
    "no pattern": lambda: a.matches(5),
    "no prefix": lambda: a.prefix(None),
    "a like that ends in its escape": lambda: a.like("a\\"),
    "a long escape": lambda: a.like("a", escape="ab"),
    "no version": lambda: a.version() > 3,
    "bounds of two kinds": lambda: a.between(1, "2"),
}


@pytest.mark.parametrize("make", BAD_CONDITIONS.values(), ids=BAD_CONDITIONS)
def test_refuses_conditions(make):
    with pytest.raises(InvalidCriterion):
        make()


def test_operators_join_and_negate():
    p, q, r = a.eq(1), b.eq(1), c.eq(1)
    assert p & q & r == And(p, q, r)
    assert p | q | r == Or(p, q, r)
    assert p & (q & r) == And(p, And(q, r))
    assert ~(p & q) == Not(And(p, q))
    assert ~Not(p) == p
    assert ~p == p.with_polarity(Polarity.EXCLUDED)
    assert ~p.strong() == Not(p.strong())


def test_what_is_no_expression_is_refused():
    with pytest.raises(TypeError, match="not by itself"):
        bool(a.eq(1))
    with pytest.raises(TypeError, match="not by itself"):
        a.eq(1) and b.eq(2)
    for make in (lambda: And(a.eq(1), True), lambda: Not("a"), lambda: a.eq(1) & 1):
        with pytest.raises(TypeError):
            make()
    with pytest.raises(TypeError):
        0 < a < 5  # noqa: B015 (Python joins the two by `and`, and would lose the first)


@given(expressions)
def test_expressions_are_values(expression):
    again = pickle.loads(pickle.dumps(expression))
    assert again == expression
    assert hash(again) == hash(expression)


def test_hostile_patterns_answer_at_once():
    started = time.perf_counter()
    for predicate in (a.matches("(a+)+$"), a.finds("(a+)+$"), a.like("%a" * 40)):
        assert not predicate.holds({"a": "a" * 40 + "b"})
    assert time.perf_counter() - started < 1


CLOCKS = {
    "milliseconds": (5, 5),
    "a timestamp": (datetime(1970, 1, 1, 0, 0, 1, tzinfo=UTC), 1000),
    "a naive timestamp is UTC": (datetime(1970, 1, 2), 86_400_000),
}


@pytest.mark.parametrize(("now", "milliseconds"), CLOCKS.values(), ids=CLOCKS)
def test_clocks(now, milliseconds):
    assert clock(now) == milliseconds


def test_the_clock_of_the_machine_is_the_default():
    before = time.time() * 1000 - 1
    assert before <= clock(None) <= time.time() * 1000 + 1


def test_thousands_of_levels():
    deep: Expression = a.eq(1)
    for i in range(DEEP):
        deep = Not(And(attr(f"x{i}").missing(), deep)) if i % 2 else Or(deep, b.eq(i))
    event = {"a": 1}
    assert deep.holds(event) is (deep.score(event) is not None)
    assert (~deep).holds(event) is not deep.holds(event)
    assert fold(deep.strong(), lambda _, parts: 1 + sum(parts)) > DEEP


def _nested(levels: int) -> Expression:
    inner: Expression = a.eq(1)
    for _ in range(levels - 1):
        inner = Or(inner)
    return when(inner, 1).otherwise(0) == 1


def test_levels_that_a_case_asks_are_levels():
    assert Criterion("c", _nested(MAX_LEVELS)).holds({"a": 1})
    with pytest.raises(InvalidCriterion, match="nested too deeply") as refused:
        Criterion("c", _nested(MAX_LEVELS + 1))
    assert refused.value.criterion == "c"
    inner = _nested(MAX_LEVELS)
    for outer in (
        Not(And(inner)),
        attr("x").any(lambda _: inner),
        when(inner, 1).otherwise(0) == 1,
    ):
        with pytest.raises(InvalidCriterion, match="nested too deeply"):
            Criterion("c", outer)


def test_fold_visits_parts_in_order():
    p, q, r = a.eq(1), b.eq(1), c.eq(1)
    seen = []
    fold(And(p, Not(q), Or(r)), lambda node, parts: seen.append((type(node), len(parts))))
    assert seen == [(Predicate, 0), (Predicate, 0), (Not, 1), (Predicate, 0), (Or, 1), (And, 3)]
