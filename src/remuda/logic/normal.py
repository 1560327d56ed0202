"""Normal forms: the same truth with Not gone, as alternatives (DNF) or as demands (CNF)."""

from __future__ import annotations

from collections.abc import Sequence

from remuda.model.conditions import Missing
from remuda.model.expressions import And, Expression, Not, Or, Polarity, Predicate, fold


def nnf(expression: Expression) -> Expression:
    """The expression with every Not pushed into its predicates; truth and score stay."""
    if not fold(expression, _mentions_not):
        return expression
    return fold(expression, _with_negation)[0]


def _mentions_not(node: Expression, parts: Sequence[bool]) -> bool:
    return isinstance(node, Not) or any(parts)


def _with_negation(
    node: Expression, parts: Sequence[tuple[Expression, Expression]]
) -> tuple[Expression, Expression]:
    """The negation normal forms of the node and of its negation."""
    if isinstance(node, Predicate):
        return node, _negated(node)
    if isinstance(node, Not):
        return parts[0][1], parts[0][0]
    own, negated = zip(*parts, strict=True) if parts else ((), ())
    if isinstance(node, And):
        return And(*own), Or(*negated)
    return Or(*own), And(*negated)


def _negated(predicate: Predicate) -> Expression:
    if predicate.polarity is Polarity.INCLUDED:
        return predicate.with_polarity(Polarity.EXCLUDED)
    asked = predicate.with_polarity(Polarity.INCLUDED)
    if predicate.polarity is Polarity.EXCLUDED:
        return asked
    return Or(Predicate(predicate.attribute, Missing(), weight=0.0), asked)
