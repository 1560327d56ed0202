"""Simplification: fewer and plainer predicates with the same truth, though not the same score."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Hashable, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, combinations

from remuda.logic.absorption import PAIRWISE, absorbed
from remuda.logic.implication import contradict, exhaust, never_list, plain
from remuda.logic.merged_predicates import merged
from remuda.logic.normal import MAX_CLAUSES, Clause, Junction, expand, flat, same_test
from remuda.model.attributes import Attribute
from remuda.model.expressions import (
    And,
    Expression,
    Or,
    Predicate,
    fold,
    tells_empty,
    with_predicates,
)
from remuda.model.terms import Term

_PASSES = 8  # a part that vanishes may leave an And in an And, to be simplified as one


def simplify(expression: Expression, *, scalars: Collection[Attribute] = ()) -> Expression:
    """An expression that holds of the same events, with no more predicates and no Not.

    Scores and weights are not kept. `scalars` are attributes that are never lists; where an
    event has a list there after all, the answer may be another.
    """
    simplifier, simple = _Simplifier(frozenset(scalars)), aligned(expression)
    for _ in range(_PASSES):
        simple = fold(flat(simple), simplifier.visit)
        if fold(simple, _alternates):
            break
    return simple


def aligned(expression: Expression) -> Expression:
    """The expression with attributes alike: where some predicates tell an empty list from a missing
    one, those that do not are as well about the attribute that does, and compare with them.
    """
    found: list[Attribute] = fold(expression, _telling)
    telling = frozenset(found)
    if not telling:
        return expression

    def told(predicate: Predicate) -> Predicate:
        term = predicate.term
        if not isinstance(term, Attribute) or tells_empty(predicate.condition, predicate.polarity):
            return predicate
        other = replace(term, empty=True)
        return replace(predicate, term=other) if other in telling else predicate

    return with_predicates(expression, told)


def _telling(node: Expression, parts: Sequence[list[Attribute]]) -> list[Attribute]:
    if isinstance(node, Predicate):
        return [node.term] if isinstance(node.term, Attribute) and node.term.empty else []
    return list(chain.from_iterable(parts))


def simple_dnf(
    expression: Expression, *, scalars: Collection[Attribute] = (), limit: int = MAX_CLAUSES
) -> list[Clause]:
    """The alternatives of the simplified expression, none of them known to imply another."""
    return _simplest(expression, Or, scalars, limit)


def simple_cnf(
    expression: Expression, *, scalars: Collection[Attribute] = (), limit: int = MAX_CLAUSES
) -> list[Clause]:
    """The demands of the simplified expression, none of them known to follow from another."""
    return _simplest(expression, And, scalars, limit)


def _simplest(
    expression: Expression, joined: Junction, scalars: Collection[Attribute], limit: int
) -> list[Clause]:
    combined: Junction = And if joined is Or else Or
    simple = simplify(expression, scalars=scalars)
    clauses = expand(flat(simple), joined, limit)
    alternatives = simple.parts if isinstance(simple, joined) else (simple,)
    if all(isinstance(part, Predicate) for clause in alternatives for part in clause.parts):
        return clauses  # it was in that form, and simple, before it was expanded
    expanded = joined(*(combined(*clause) for clause in clauses))
    return expand(flat(simplify(expanded, scalars=scalars)), joined, limit)


@dataclass(frozen=True, slots=True)
class _Simplifier:
    """One pass over one expression; equal parts become one object, and `is` compares them."""

    scalars: frozenset[Attribute]
    known: dict[Hashable, Expression] = field(default_factory=dict)

    def visit(self, node: Expression, parts: Sequence[Expression]) -> Expression:
        if isinstance(node, Predicate):
            return self._plain(node)
        return self._joined(And if isinstance(node, And) else Or, parts)

    def _joined(self, junction: Junction, parts: Sequence[Expression]) -> Expression:
        """The parts, each simple by itself, under one junction."""
        groups: dict[Term, list[Predicate]] = defaultdict(list)
        composites: list[Expression] = []
        for part in _distinct(junction, parts):
            if isinstance(part, Predicate):
                groups[part.root].append(part)
            else:
                composites.append(part)
        merged_groups = (self._merged(junction, group) for group in groups.values())
        found = _distinct(junction, [*chain.from_iterable(merged_groups), *composites])
        if composites:
            found = absorbed(junction, found)
        return found[0] if len(found) == 1 else self._one(junction(*found))

    def _merged(self, junction: Junction, group: list[Predicate]) -> list[Expression]:
        """The predicates on one attribute, made fewer, or the constant that they amount to."""
        if len(group) == 1:
            return [group[0]]
        fewer = merged(junction, group, self._single)
        found = _distinct(junction, [self._plain(predicate) for predicate in fewer])
        clash = contradict if junction is And else exhaust
        predicates = [part for part in found if isinstance(part, Predicate)][:PAIRWISE]
        if any(clash(first, second) for first, second in combinations(predicates, 2)):
            return [Or() if junction is And else And()]
        return absorbed(junction, found)

    def _single(self, predicate: Predicate) -> bool:
        return never_list(predicate, self.scalars)

    def _plain(self, predicate: Predicate) -> Expression:
        return self._one(plain(predicate, single=self._single(predicate)))

    def _one(self, expression: Expression) -> Expression:
        """The object that stands for all expressions with the same parts or the same test."""
        if isinstance(expression, Predicate):
            return self.known.setdefault(same_test(expression), expression)
        parts = frozenset(map(id, expression.parts))
        return self.known.setdefault((type(expression), parts), expression)


def _distinct(junction: Junction, parts: Sequence[Expression]) -> list[Expression]:
    """The parts, each once, without constants; but the constant that decides is the only part."""
    distinct: dict[int, Expression] = {}
    for part in parts:
        if isinstance(part, Predicate) or part.parts:
            distinct[id(part)] = part
        elif not isinstance(part, junction):
            return [part]
    return list(distinct.values())


def _alternates(node: Expression, parts: Sequence[bool]) -> bool:
    return all(parts) and not any(type(part) is type(node) for part in node.parts)
