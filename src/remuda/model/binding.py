"""Binding: expressions that name trees, given the trees themselves."""

from __future__ import annotations

from dataclasses import replace

from remuda.errors import InvalidCriterion
from remuda.model.conditions import AnyElement, Condition, EveryElement, Under
from remuda.model.expressions import Expression, Predicate, with_predicates
from remuda.model.hierarchies import Hierarchies
from remuda.model.terms import Applied, Call, Case, Term, asks_tree, facts_of


def bound(expression: Expression, trees: Hierarchies) -> Expression:
    """The same, everything in it that names a tree bound to the one of that name.

    InvalidCriterion where there is none, or where it has no such node.
    """
    return with_predicates(expression, lambda predicate: bound_predicate(predicate, trees))


def bound_predicate(predicate: Predicate, trees: Hierarchies) -> Predicate:
    """The same predicate, bound."""
    term, condition = predicate.term, predicate.condition
    if asks_tree(condition):
        predicate = replace(predicate, condition=_bound_condition(condition, trees))
    if facts_of(term).asks_tree:
        predicate = replace(predicate, term=_bound_term(term, trees))
    return predicate


def _bound_condition(condition: Condition, trees: Hierarchies) -> Condition:
    if isinstance(condition, Under):
        if condition.tree not in trees:
            known = ", ".join(map(repr, trees)) or "none"
            raise InvalidCriterion(f"there is no tree {condition.tree!r}; there are: {known}")
        return Under(condition.tree, condition.node, trees[condition.tree])
    assert isinstance(condition, AnyElement | EveryElement)
    return type(condition)(bound(condition.expression, trees))


def _bound_term(term: Term, trees: Hierarchies) -> Term:
    if not facts_of(term).asks_tree:
        return term
    match term:
        case Applied(operation, inner):
            return Applied(operation, _bound_term(inner, trees))
        case Call(name, arguments):
            return Call(name, tuple(_bound_term(one, trees) for one in arguments))
        case Case(branches, otherwise):
            kept = tuple((bound(asked, trees), _bound_term(one, trees)) for asked, one in branches)
            return Case(kept, _bound_term(otherwise, trees))
        case _:
            return term
