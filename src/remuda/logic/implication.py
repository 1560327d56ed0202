"""What follows from a predicate: sound for every event, and no attempt at completeness.

Predicates are compared after `plain`. A list satisfies a condition by any of its elements, so
conditions imply one another as sets of values do, while two that have no value in common may
well hold together.
"""

from __future__ import annotations

from dataclasses import replace

from remuda.logic.ranges import is_empty, is_point, range_within
from remuda.model.attributes import Attribute, Every, Query
from remuda.model.conditions import (
    OF_ELEMENTS,
    OF_LACK,
    Condition,
    Contains,
    Exists,
    In,
    Missing,
    Network,
    Prefix,
    QuotedRange,
    Range,
    Related,
    Relation,
    Suffix,
    Under,
)
from remuda.model.expressions import And, Expression, Or, Polarity, Predicate
from remuda.model.networks import joined
from remuda.model.operations import Size


def plain(predicate: Predicate, *, single: bool = False) -> Expression:
    """The predicate in its simplest words; `single` says that its value is never a list."""
    condition, polarity = predicate.condition, predicate.polarity
    if isinstance(condition, Exists | Missing):
        present = isinstance(condition, Exists) is (polarity is Polarity.INCLUDED)
        # Operations never make a present value missing, nor the reverse.
        return replace(
            predicate,
            term=predicate.root,
            condition=Exists() if present else Missing(),
            polarity=Polarity.INCLUDED,
        )
    if type(condition) in OF_LACK:
        return replace(predicate, term=predicate.root)
    empty = isinstance(condition, Related) and _may_be_empty(predicate)
    if (unsatisfiable(condition) and not empty) or (single and isinstance(condition, Related)):
        if polarity is Polarity.STRONGLY_EXCLUDED:
            return Predicate(predicate.root, Exists())
        return Or() if polarity is Polarity.INCLUDED else And()
    if isinstance(condition, Range) and is_point(condition):
        return replace(predicate, condition=In((condition.lower,)))
    return predicate


def never_list(predicate: Predicate, scalars: frozenset[Attribute]) -> bool:
    """Whether the predicate sees one value at most, given attributes that are never lists."""
    if any(isinstance(operation, Size) for operation in predicate.operations):
        return True
    root = predicate.root  # a function may make a list of single values
    return isinstance(root, Attribute) and root.path in scalars and not _collects(root)


def _collects(attribute: Attribute) -> bool:
    return any(isinstance(step, Every | Query) for step in attribute.steps)


def _may_be_empty(predicate: Predicate) -> bool:
    """Whether it may look at a list without elements: functions make them, too."""
    root = predicate.root
    return not isinstance(root, Attribute) or root.empty


def _takes_empty(condition: Condition) -> bool:
    return isinstance(condition, Related) and condition.accepts([])


def unsatisfiable(condition: Condition) -> bool:
    """Whether no value satisfies the condition, not even as an element of a list."""
    if isinstance(condition, In):
        return not condition.keys
    if isinstance(condition, Related):  # where an empty list is missing, only superset has a list
        return not condition.keys and condition.relation is not Relation.SUPERSET
    if isinstance(condition, Network):
        return not condition.blocks
    if isinstance(condition, QuotedRange):
        return all(map(is_empty, condition.ranges))
    return isinstance(condition, Range) and is_empty(condition)


def implies(first: Predicate, second: Predicate) -> bool:
    """Whether `second` is known to hold wherever `first` does."""
    if first.root != second.root:
        return False
    if isinstance(second.condition, Exists):
        return first.polarity is not Polarity.EXCLUDED and not _lacks(first)
    if isinstance(second.condition, Missing):
        return _lacks(first)
    if _lacks(first):
        if second.polarity is not Polarity.EXCLUDED:
            return first == second
        return type(second.condition) not in OF_LACK or contradict(first, second)
    if isinstance(first.condition, Exists):
        return second.polarity is Polarity.EXCLUDED and type(second.condition) in OF_LACK
    if first.term != second.term:
        return False
    if first.polarity is Polarity.INCLUDED:
        return second.polarity is Polarity.INCLUDED and _satisfies(first, second)
    if second.polarity not in (first.polarity, Polarity.EXCLUDED):
        return False
    return _satisfies(second, first)


def contradict(first: Predicate, second: Predicate) -> bool:
    """Whether both are known never to hold together."""
    return _contradicts(first, second) or _contradicts(second, first)


def exhaust(first: Predicate, second: Predicate) -> bool:
    """Whether one of both is known to hold of every event."""
    return _completes(first, second) or _completes(second, first)


def _satisfies(inner: Predicate, outer: Predicate) -> bool:
    """Whether whatever satisfies one condition on the term of both satisfies the other."""
    if _may_be_empty(inner) and _takes_empty(inner.condition) and not _takes_empty(outer.condition):
        return False
    return within(inner.condition, outer.condition)


def within(inner: Condition, outer: Condition) -> bool:
    """Whether every value, and every list with elements, that satisfies `inner` does `outer`."""
    if {type(inner), type(outer)} & OF_ELEMENTS:
        return inner == outer
    match inner, outer:
        case Related(), Related():
            return _related_within(inner, outer)
        case In(), In():
            return inner.keys <= outer.keys
        case In(), Related():
            return False  # a scalar is no list
        case In(), _:
            return all(map(outer.accepts, inner.plain_values))
        case Related(Relation.SUBSET | Relation.OVERLAPS), _:
            return all(map(outer.accepts, inner.plain_values))
        case Related(), _:
            return any(map(outer.accepts, inner.values))
        case Range() | QuotedRange(), Range() | QuotedRange():
            return _range_within(inner, outer)
        case Network(), Network():
            return joined((*inner.blocks, *outer.blocks)) == outer.blocks
        case Under(), Under() if inner.hierarchy == outer.hierarchy and inner.tree == outer.tree:
            return outer.accepts(inner.node) if outer.span else inner == outer
        case Prefix() | Suffix() | Contains(), Prefix() | Suffix() | Contains():
            return _text_within(inner, outer)
        case _:
            return inner == outer


def _text_within(inner: Prefix | Suffix | Contains, outer: Prefix | Suffix | Contains) -> bool:
    match inner, outer:
        case Prefix(), Prefix():
            return inner.text.startswith(outer.text)
        case Suffix(), Suffix():
            return inner.text.endswith(outer.text)
        case _, Contains():
            return outer.text in inner.text
        case _:
            return False


def _contradicts(first: Predicate, second: Predicate) -> bool:
    if first.root != second.root:
        return False
    if _lacks(first):
        other = _lacks(second) and Missing not in (type(first.condition), type(second.condition))
        if other and first.condition != second.condition:
            return True
        if implies(second, Predicate(first.root, Exists())):
            return True
    return (
        first.polarity is Polarity.INCLUDED
        and second.polarity is not Polarity.INCLUDED
        and first.term == second.term
        and _satisfies(first, second)
    )


def _lacks(predicate: Predicate) -> bool:
    """Whether it holds of missing attributes alone."""
    of_missing = type(predicate.condition) in OF_LACK or isinstance(predicate.condition, Missing)
    return of_missing and predicate.polarity is Polarity.INCLUDED


def _completes(first: Predicate, second: Predicate) -> bool:
    if first.root != second.root:
        return False
    if isinstance(first.condition, Exists):  # all that is left is a missing attribute
        denied = second.polarity is Polarity.EXCLUDED and type(second.condition) not in OF_LACK
        return denied or isinstance(second.condition, Missing)
    return (
        first.polarity is Polarity.INCLUDED
        and second.polarity is Polarity.EXCLUDED
        and first.term == second.term
        and _satisfies(second, first)
    )


def _range_within(inner: Range | QuotedRange, outer: Range | QuotedRange) -> bool:
    return all(
        is_empty(one) or any(range_within(one, other) for other in _ranges(outer))
        for one in _ranges(inner)
    )


def _ranges(of: Range | QuotedRange) -> tuple[Range, ...]:
    return of.ranges if isinstance(of, QuotedRange) else (of,)


def _related_within(inner: Related, outer: Related) -> bool:
    if inner.relation is Relation.EQUALSET:
        return outer.accepts(list(inner.values))
    match outer.relation:
        case Relation.SUPERSET if inner.relation is Relation.SUPERSET:
            return outer.keys <= inner.keys
        case Relation.SUPERSET:
            return not outer.keys
        case Relation.OVERLAPS if inner.relation is Relation.SUPERSET:
            return not outer.keys.isdisjoint(inner.keys)
        case Relation.OVERLAPS:
            return inner.keys <= outer.keys
        case Relation.SUBSET if inner.relation is Relation.SUBSET:
            return inner.keys <= outer.keys
        case _:
            return False
