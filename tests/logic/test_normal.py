from __future__ import annotations

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from remuda.errors import ExpansionError
from remuda.language.python import attr
from remuda.logic.normal import cnf, cnf_size, dnf, dnf_size, flat, nnf
from remuda.model.expressions import And, Expression, Not, Or, Polarity, Predicate, fold
from strategies import NOW, events, expressions, expressions_of_terms, predicates

a, b, c, d = (attr(name).eq(1) for name in "abcd")
DEEP = 5000


def strongly_not(predicate: Predicate) -> Predicate:
    return predicate.with_polarity(Polarity.STRONGLY_EXCLUDED)


def kinds(expression: Expression) -> set[type[Expression]]:
    return fold(expression, lambda node, parts: {type(node)}.union(*parts))


@given(expressions | expressions_of_terms, events)
def test_nnf_keeps_truth_and_score_and_has_no_not(expression, event):
    normal = nnf(expression)
    assert Not not in kinds(normal)
    assert normal.holds(event, now=NOW) == expression.holds(event, now=NOW)
    assert normal.score(event, now=NOW) == expression.score(event, now=NOW)


NEGATIONS = {
    "a predicate is denied": (Not(a), ~a),
    "a denied one is asked": (Not(~a), a),
    "and becomes or, in order": (Not(And(a, ~b, c)), Or(~a, b, ~c)),
    "or becomes and, in order": (Not(Or(a, ~b, c)), And(~a, b, ~c)),
    "and twice nothing": (Not(Not(And(a, Or(b, c)))), And(a, Or(b, c))),
    "true becomes false": (Not(And()), Or()),
    "a strong denial was missing or there": (
        Not(strongly_not(a)),
        Or(attr("a").missing().weight(0), a),
    ),
    "weights stay": (Not(Or(~a.weight(3), b)), And(a.weight(3), ~b)),
}


@pytest.mark.parametrize(("written", "normal"), NEGATIONS.values(), ids=NEGATIONS)
def test_nnf_pushes_not_into_predicates(written, normal):
    assert nnf(written) == normal


@given(expressions)
def test_not_twice_is_identity(expression):
    assert nnf(Not(Not(expression))) == nnf(expression)


@given(predicates)
def test_inverting_a_predicate_twice_gives_it_back(predicate):
    assert ~~predicate == predicate


@given(expressions | expressions_of_terms, events)
def test_dnf_holds_where_all_of_some_clause_does(expression, event):
    assume(dnf_size(expression) <= 500)
    found = any(all(p.holds(event, now=NOW) for p in clause) for clause in dnf(expression))
    assert found == expression.holds(event, now=NOW)


@given(expressions | expressions_of_terms, events)
def test_cnf_holds_where_some_of_every_clause_does(expression, event):
    assume(cnf_size(expression) <= 500)
    found = all(any(p.holds(event, now=NOW) for p in clause) for clause in cnf(expression))
    assert found == expression.holds(event, now=NOW)


without_constants = st.recursive(
    predicates,
    lambda parts: st.one_of(
        st.lists(parts, min_size=1, max_size=3).map(lambda several: And(*several)),
        st.lists(parts, min_size=1, max_size=3).map(lambda several: Or(*several)),
        parts.map(Not),
    ),
    max_leaves=7,
)


def expanded(expression: Expression, joined: type) -> list[list[Expression]]:
    """Clauses by the textbook, duplicates and all."""
    if not expression.parts:
        return [[expression]]
    inner = [expanded(part, joined) for part in expression.parts]
    if isinstance(expression, joined):
        return [clause for clauses in inner for clause in clauses]
    found: list[list[Expression]] = [[]]
    for clauses in inner:
        found = [before + clause for before in found for clause in clauses]
    return found


@given(without_constants)
def test_sizes_count_the_clauses_before_duplicates_are_dropped(expression):
    normal = nnf(expression)
    assert dnf_size(expression) == len(expanded(normal, Or))
    assert cnf_size(expression) == len(expanded(normal, And))


@given(expressions)
def test_no_more_clauses_than_announced(expression):
    assert len(dnf(expression, limit=10**6)) <= dnf_size(expression)
    assert len(cnf(expression, limit=10**6)) <= cnf_size(expression)


ROWS = {
    "true": (And(), [()], []),
    "false": (Or(), [], [()]),
    "a predicate": (a, [(a,)], [(a,)]),
    "a conjunction": (And(a, b), [(a, b)], [(a,), (b,)]),
    "a disjunction": (Or(a, b), [(a,), (b,)], [(a, b)]),
    "distribution keeps the order": (
        And(Or(a, b), Or(c, d)),
        [(a, c), (a, d), (b, c), (b, d)],
        [(a, b), (c, d)],
    ),
    "a predicate twice": (And(a, b, a), [(a, b)], [(a,), (b,)]),
    "weights make no other predicate": (And(a, a.weight(7)), [(a,)], [(a,)]),
    "1 and 1.0 make no other predicate": (And(a, attr("a").eq(1.0)), [(a,)], [(a,)]),
    "a clause twice, in another order": (
        Or(And(a, b), And(b, a)),
        [(a, b)],
        [(a, b), (a,), (b,)],
    ),
    "true in or": (Or(a, And()), [()], []),
    "false in and": (And(a, Or()), [], [()]),
    "polarities are kept apart": (Or(a, ~a), [(a,), (~a,)], [(a, ~a)]),
}


@pytest.mark.parametrize(("expression", "alternatives", "demands"), ROWS.values(), ids=ROWS)
def test_clauses(expression, alternatives, demands):
    assert dnf(expression) == alternatives
    assert cnf(expression) == demands


def test_what_would_explode_is_refused_before_it_does():
    expression = And(*(Or(*(attr(f"x{i}") == j for j in range(3))) for i in range(60)))
    with pytest.raises(ExpansionError) as refused:
        dnf(expression, limit=100)
    assert (refused.value.size, refused.value.limit) == (3**60, 100)
    assert "about 10^28 clauses; the limit is 100" in str(refused.value)
    assert len(cnf(expression)) == cnf_size(expression) == 60
    with pytest.raises(ExpansionError):
        cnf(Not(expression))


def test_a_size_of_thousands_of_digits_can_be_told():
    huge = And(*(Or(a, b) for _ in range(20_000)))
    with pytest.raises(ExpansionError, match=r"about 10\^6020 clauses"):
        dnf(huge)


def test_what_is_false_is_not_expanded():
    explosive = And(*(Or(*(attr(f"x{i}") == j for j in range(3))) for i in range(60)))
    assert dnf(And(explosive, Or())) == []
    assert cnf(Or(Not(explosive), And())) == []


def chain(junctions: list[type]) -> Expression:
    """Thousands of levels, one predicate on each."""
    found: Expression = a
    for i in range(DEEP):
        found = junctions[i % len(junctions)](attr(f"x{i}") == i, found)
    return found


def test_deep_conjunctions_expand():
    deep = chain([And])
    (clause,) = dnf(deep)
    assert len(clause) == DEEP + 1
    assert len(cnf(deep, limit=10_000)) == cnf_size(deep) == DEEP + 1
    assert len(flat(deep).parts) == DEEP + 1


def test_deep_mixtures_are_counted():
    deep = chain([And, Or])
    assert dnf_size(deep) == DEEP // 2 + 1
    for _ in range(DEEP):
        deep = Not(deep)
    assert Not not in kinds(nnf(deep))
    assert cnf_size(Not(deep)) == DEEP // 2 + 1
    with pytest.raises(ExpansionError):
        dnf(deep)
