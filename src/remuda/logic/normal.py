"""Normal forms: the same truth without Not, as alternatives (DNF) or as demands (CNF)."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Sequence
from itertools import chain, product

from remuda.errors import ExpansionError
from remuda.model.conditions import WHOLE, Missing
from remuda.model.expressions import And, Expression, Not, Or, Polarity, Predicate, fold

MAX_CLAUSES = 1024

Clause = tuple[Predicate, ...]
Junction = type[And] | type[Or]


def nnf(expression: Expression, *, in_case: bool = False) -> Expression:
    """The expression with every Not pushed into its predicates; truth and score stay.

    What a CASE asks keeps those before strong negations: in their place it would be asked whether
    a list is missing, and a CASE that asks so looks at the list as a whole.
    """
    if not fold(expression, _mentions_not):
        return expression
    negated = _denied if in_case else _negated
    return fold(expression, lambda node, parts: _with_negation(node, parts, negated))[0]


def flat(expression: Expression) -> Expression:
    """The negation normal form where And and Or alternate, and are empty at the root alone."""
    junction, parts = fold(nnf(expression), _level)
    return parts[0] if junction is None else junction(*parts)


def dnf(expression: Expression, *, limit: int = MAX_CLAUSES) -> list[Clause]:
    """The alternatives: it holds where all predicates of some clause do."""
    return expand(flat(expression), Or, limit)


def cnf(expression: Expression, *, limit: int = MAX_CLAUSES) -> list[Clause]:
    """The demands: it holds where every clause has a predicate that does."""
    return expand(flat(expression), And, limit)


def dnf_size(expression: Expression) -> int:
    """How many clauses `dnf` would write before it drops duplicates."""
    return sizes(flat(expression))[0]


def cnf_size(expression: Expression) -> int:
    """How many clauses `cnf` would write before it drops duplicates."""
    return sizes(flat(expression))[1]


def same_test(predicate: Predicate) -> Hashable:
    """Equal for predicates that ask the same, whatever their weights."""
    return predicate.term, predicate.condition, predicate.polarity


def _mentions_not(node: Expression, parts: Sequence[bool]) -> bool:
    return isinstance(node, Not) or any(parts)


def _with_negation(
    node: Expression,
    parts: Sequence[tuple[Expression, Expression]],
    negated: Callable[[Predicate], Expression],
) -> tuple[Expression, Expression]:
    """The negation normal forms of the node and of its negation."""
    if isinstance(node, Predicate):
        return node, negated(node)
    if isinstance(node, Not):
        return parts[0][1], parts[0][0]
    own, others = zip(*parts, strict=True) if parts else ((), ())
    if isinstance(node, And):
        return And(*own), Or(*others)
    return Or(*own), And(*others)


def _denied(predicate: Predicate) -> Expression:
    strong = predicate.polarity is Polarity.STRONGLY_EXCLUDED
    kept = strong and type(predicate.condition) not in WHOLE
    return Not(predicate) if kept else _negated(predicate)


def _negated(predicate: Predicate) -> Expression:
    if predicate.polarity is Polarity.INCLUDED:
        return predicate.with_polarity(Polarity.EXCLUDED)
    asked = predicate.with_polarity(Polarity.INCLUDED)
    if predicate.polarity is Polarity.EXCLUDED:
        return asked
    return Or(Predicate(predicate.term, Missing(), own_weight=0.0), asked)


# A junction and its parts, not yet built, so that a chain of equal junctions is built once.
_Level = tuple[Junction | None, list[Expression]]


def _level(node: Expression, parts: Sequence[_Level]) -> _Level:
    if isinstance(node, Predicate):
        return None, [node]
    own: Junction = And if isinstance(node, And) else Or
    own_parts: list[Expression] = []
    for junction, inner in parts:
        if junction is own or junction is None:
            own_parts += inner
        elif not inner:  # false in an And, true in an Or
            return junction, inner
        else:
            own_parts.append(junction(*inner))
    if len(own_parts) != 1:
        return own, own_parts
    only = own_parts[0]
    if isinstance(only, And | Or):
        return type(only), list(only.parts)
    return None, own_parts


def sizes(flattened: Expression) -> tuple[int, int]:
    """How many clauses the DNF and the CNF of what `flat` gave would have."""
    return fold(flattened, _sizes)


def _sizes(node: Expression, parts: Sequence[tuple[int, int]]) -> tuple[int, int]:
    """The clauses of one kind are those of the parts together, of the other their combinations."""
    if isinstance(node, Predicate):
        return 1, 1
    alternatives, demands = [part[0] for part in parts], [part[1] for part in parts]
    if isinstance(node, Or):
        return sum(alternatives), math.prod(demands)
    return math.prod(alternatives), sum(demands)


def expand(flattened: Expression, joined: Junction, limit: int = MAX_CLAUSES) -> list[Clause]:
    """The clauses of what `flat` gave: its alternatives for Or, its demands for And."""
    size = sizes(flattened)[joined is And]
    if size > limit:  # refuse before expanding: the blow-up is exponential
        raise ExpansionError(size, limit)
    predicates: dict[Hashable, Predicate] = {}  # the first of each test stands for all

    def visit(node: Expression, parts: Sequence[list[Clause]]) -> list[Clause]:
        if isinstance(node, Predicate):
            return [(predicates.setdefault(same_test(node), node),)]
        if isinstance(node, joined):
            return list(chain.from_iterable(parts))
        return [tuple(chain.from_iterable(combination)) for combination in product(*parts)]

    return _distinct(fold(flattened, visit))


def _distinct(clauses: list[Clause]) -> list[Clause]:
    """Each clause once, in any order of its predicates, and each predicate once in it."""
    found: dict[frozenset[int], Clause] = {}
    for clause in clauses:
        by_identity = {id(predicate): predicate for predicate in clause}
        found.setdefault(frozenset(by_identity), tuple(by_identity.values()))
    return list(found.values())
