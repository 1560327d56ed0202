"""Criteria tried out: planned, encoded and written once before anybody relies on them."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import Any

from remuda.encoding.encoder import Encoder, alike
from remuda.encoding.plan import plan
from remuda.encoding.storing import write_vocabulary
from remuda.encoding.vocabulary import Vocabulary
from remuda.errors import InvalidCriterion
from remuda.language import json_form
from remuda.language.criterion import Criterion
from remuda.model.attributes import Attribute
from remuda.model.conditions import TWO_VALUED, In, QuotedRange, Range
from remuda.model.expressions import Expression, Predicate, fold
from remuda.model.hierarchies import Hierarchies
from remuda.model.quoted import Quoted
from remuda.model.terms import Term, asks_tree, facts_of

_VALUES: tuple[Any, ...] = ("", 0, 0.5, True, [""], {})


class Tried(tuple[Criterion, ...]):
    """Criteria that an index can take and keep."""

    __slots__ = ()


def try_out(criteria: Iterable[Criterion], hierarchies: Hierarchies | None = None) -> Tried:
    """The criteria, bound to the trees; InvalidCriterion for the first that an index cannot keep.

    A criterion of ordinary numbers and ASCII texts is one that it can: those, which are the most,
    cost a few microseconds, the others some hundred. What was tried is not tried again.
    """
    if isinstance(criteria, Tried):
        return criteria
    tried = Tried(one.bound(hierarchies) for one in criteria)
    strange = [one for one in tried if not _is_ordinary(one.expression)]
    if not strange:
        return tried
    try:
        _try(strange, hierarchies)
    except Exception:  # whatever it is: which of them has it?
        for one in strange:
            try:
                _try([one], hierarchies)
            except Exception as error:
                reason = f"it cannot be indexed: {type(error).__name__}: {error}"
                raise InvalidCriterion(reason, "expression", one.id) from error
        raise
    return tried


def _try(criteria: Collection[Criterion], hierarchies: Hierarchies | None) -> None:
    _, vocabulary = plan(one.expression for one in criteria)
    if not hierarchies:
        refuse_trees(vocabulary, criteria)
    encoder = Encoder(vocabulary)
    for looked_up in encoder.origins:
        for value in _VALUES:
            looked_up.spaces(alike(looked_up.origin, value), 0)
    for reason in encoder.aside.values():
        raise ValueError(reason)
    json_form.encode(write_vocabulary(vocabulary))
    for one in criteria:
        one.document()


def refuse_trees(vocabulary: Vocabulary, criteria: Iterable[Criterion]) -> None:
    """InvalidCriterion where a tree is asked, for an index that has none."""
    if not any(_asks_tree(one.term, one.condition) for one in vocabulary.dimensions):
        return
    for criterion in criteria:
        if fold(criterion.expression, _names_tree):
            reason = "it names a tree, and the index has none: give hierarchies=…"
            raise InvalidCriterion(reason, "expression", criterion.id)


def blamed(error: InvalidCriterion, criteria: Iterable[Criterion]) -> InvalidCriterion:
    """The error of a plan, with the criterion that names a tree which is not there."""
    ids = (one.id for one in criteria if fold(one.expression, _names_tree))
    return error.inside("expression", next(ids, None))


def _names_tree(node: Expression, parts: Sequence[bool]) -> bool:
    return _asks_tree(node.term, node.condition) if isinstance(node, Predicate) else any(parts)


def _asks_tree(term: Term, condition: Any) -> bool:
    return facts_of(term).asks_tree or asks_tree(condition)


def _is_ordinary(expression: Expression) -> bool:
    pending = [expression]
    while pending:
        node = pending.pop()
        if not isinstance(node, Predicate):
            pending += node.parts
        elif (
            type(node.term) is not Attribute
            or node.value_weights
            or not _has_ordinary_operands(node.condition)
        ):
            return False
    return True


def _has_ordinary_operands(condition: Any) -> bool:
    kind = type(condition)
    if kind is In:
        return all(map(_is_ordinary_value, condition.values))
    if kind is Range or kind is QuotedRange:
        return _is_ordinary_value(condition.lower) and _is_ordinary_value(condition.upper)
    return kind in TWO_VALUED


def _is_ordinary_value(value: Any) -> bool:
    kind = type(value)
    if kind is Quoted:
        value, kind = value.text, str
    if kind is str:
        return bool(value.isascii())
    return kind is int or kind is float or kind is bool or value is None
