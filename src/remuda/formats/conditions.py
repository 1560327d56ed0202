"""Conditions as MongoDB writes them: `{"age": {"$gt": 18}, "$or": [...]}`, in any dialect.

A dialect says what its paths are, what equals what, and which operators there are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from remuda.errors import InvalidCriterion
from remuda.formats.reading import (
    RANGES,
    Readings,
    Rule,
    a_list,
    an_object,
    at,
    conjunction,
    decoded,
    denial,
    disjunction,
    each,
    id_in,
    is_,
    numbered,
)
from remuda.language.criterion import Criterion
from remuda.model.attributes import Attribute
from remuda.model.conditions import AnyElement, In, Range
from remuda.model.expressions import Expression

ELEMENT = Attribute((), empty=True)

_MOST_AGAIN = 1_000_000  # values of saved groups, of one condition

Operator = Callable[["Dialect", Any, Attribute], Expression]


@dataclass(frozen=True, slots=True)
class Values:
    """What a value is one of, and whether it may be missing instead."""

    named: In
    or_missing: bool

    @classmethod
    def of(cls, values: list[Any]) -> Values:
        named = tuple(one for one in values if one is not None)
        return cls(In(named), len(named) < len(values))


@dataclass(slots=True)
class Groups:
    """Saved lists of values, each of which a condition may name many times."""

    lists: Mapping[str, Any] = field(default_factory=dict)
    known: dict[str, Values] = field(default_factory=dict)
    n_again: int = 0  # values that were named before

    def values_of(self, name: str) -> Values:
        if name not in self.known:
            self.known[name] = Values.of(a_list(self.lists.get(name) or [], "a saved group"))
            return self.known[name]
        self.n_again += len(self.known[name].named.values)
        if self.n_again > _MOST_AGAIN:
            raise InvalidCriterion(f"it names {_MOST_AGAIN} values of saved groups again at most")
        return self.known[name]


@dataclass(frozen=True, slots=True)
class Dialect:
    """What tells one system's conditions from another's."""

    attribute: Callable[[str], Attribute]
    equals: Callable[[Any, Attribute], Expression]
    operators: Mapping[str, Operator]
    unknown: Callable[[str], Expression]  # what an operator means that there is not
    or_of_none: Expression
    groups: Groups = field(default_factory=Groups)

    def condition(self, condition: Any) -> Expression:
        """What a whole condition asks."""
        parts = []
        for name, operand in an_object(condition, "a condition").items():
            with at(name):
                parts.append(self._part(name, operand))
        return conjunction(parts)

    def _part(self, name: str, operand: Any) -> Expression:
        match name:
            case "$and":
                return conjunction(self._conditions(operand))
            case "$or":
                return self._any(operand)
            case "$nor":
                return denial(self._any(operand))
            case "$not":
                return denial(self.condition(operand))
            case _ if name.startswith("$") and name in _FOREIGN:
                raise InvalidCriterion(f"{name} is no condition on one document")
            case _:
                return self.value(operand, self.attribute(name))

    def _any(self, operand: Any) -> Expression:
        parts = list(self._conditions(operand))
        return disjunction(parts) if parts else self.or_of_none

    def _conditions(self, operand: Any) -> Iterator[Expression]:
        for i, one in enumerate(a_list(operand, "what is joined")):
            with at(i):
                yield self.condition(one)

    def value(self, asked: Any, attribute: Attribute) -> Expression:
        """What is asked of one value: operators, or equality."""
        if not is_operators(asked):
            return self.equals(asked, attribute)
        parts = []
        for name, operand in asked.items():
            with at(name):
                operator = self.operators.get(name)
                if operator is None:
                    parts.append(self.unknown(name))
                else:
                    parts.append(operator(self, operand, attribute))
        return conjunction(parts)

    def element(self, asked: Any) -> Expression:
        """What is asked of an element of a list: of itself, or of its parts."""
        joined = isinstance(asked, Mapping) and _JOINING & asked.keys()
        itself = is_operators(asked) and not joined
        return self.value(asked, ELEMENT) if itself else self.condition(asked)


_JOINING = frozenset({"$and", "$or", "$nor"})
_FOREIGN = frozenset({"$expr", "$where", "$jsonSchema", "$text"})


def is_operators(asked: Any) -> bool:
    return isinstance(asked, Mapping) and bool(asked) and all(one.startswith("$") for one in asked)


def read_conditions(document: Any, id: str, dialect: Callable[[Any], Dialect]) -> Readings:
    """Every condition of a document: one by itself, one with an id, or a list of such.

    An object with `condition` has perhaps an `id` and `savedGroups`.
    """
    yield from each(numbered(decoded(document), id), partial(_criterion, dialect), _named)


def _named(rule: Rule) -> Rule:
    place, name, said = rule
    return place, id_in(said, "id", name) if _has_condition(said) else name, said


def _has_condition(rule: Any) -> bool:
    return isinstance(rule, Mapping) and isinstance(rule.get("condition"), Mapping | str)


def _criterion(dialect: Callable[[Any], Dialect], name: str, rule: Any) -> Criterion:
    if _has_condition(rule):
        with at("condition"):
            condition = decoded(rule["condition"])
            return Criterion(name, dialect(rule.get("savedGroups")).condition(condition))
    return Criterion(name, dialect(None).condition(rule))


# Operators that dialects share


def not_(dialect: Dialect, operand: Any, attribute: Attribute) -> Expression:
    return denial(dialect.value(operand, attribute))


def equal(dialect: Dialect, operand: Any, attribute: Attribute) -> Expression:
    return dialect.equals(operand, attribute)


def denied(operator: Operator) -> Operator:
    """The operator that asks for the opposite."""
    return lambda dialect, operand, attribute: denial(operator(dialect, operand, attribute))


def element_match(dialect: Dialect, operand: Any, attribute: Attribute) -> Expression:
    return is_(attribute, AnyElement(dialect.element(operand)))


BOUNDS: Mapping[str, Callable[[Any], Range]] = {
    "$gt": RANGES[">"],
    "$gte": RANGES[">="],
    "$lt": RANGES["<"],
    "$lte": RANGES["<="],
}
