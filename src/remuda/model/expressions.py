"""Expressions: predicates under And, Or and Not, with their truth and their score."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum
from itertools import chain, islice
from operator import is_
from typing import Any, TypeVar

from remuda.errors import InvalidCriterion
from remuda.model.attributes import Attribute
from remuda.model.calendars import epoch_milliseconds
from remuda.model.conditions import (
    OF_LACK,
    TWO_VALUED,
    WHOLE,
    AnyElement,
    Condition,
    EveryElement,
    In,
    Related,
    Relation,
    satisfies,
)
from remuda.model.operations import Operation
from remuda.model.quoted import keys
from remuda.model.terms import (
    Term,
    asked_in,
    attribute_of,
    facts_of,
    operations_of,
    root_of,
    value_in,
)
from remuda.model.values import key
from remuda.model.weights import (
    MAX_WEIGHT,
    ByAttribute,
    Weights,
    attribute_weights,
    product,
    weight_of,
)

T = TypeVar("T")

MAX_LEVELS = 256  # of And, Or and Not in what is indexed: far below what a stack of Python holds
MAX_PARTS = 100_000  # of what is indexed, which an event may have to be tried against one by one
_DEEP = 32  # levels that `fold` recurses into


class Polarity(StrEnum):
    """Whether a predicate asks for its condition or denies it, weakly or strongly.

    On a missing attribute the weak denial holds and the strong one does not.
    """

    INCLUDED = "INCLUDED"
    EXCLUDED = "EXCLUDED"
    STRONGLY_EXCLUDED = "STRONGLY_EXCLUDED"


class Expression:
    """What is true or false of an event. Join with `&` and `|`, negate with `~`."""

    __slots__ = ()

    @property
    def parts(self) -> tuple[Expression, ...]:
        """The expressions directly beneath this one."""
        raise NotImplementedError

    def truth(self, event: Any, now: int) -> bool:
        """Whether it holds, `now` being in milliseconds since 1970."""
        raise NotImplementedError

    def holds(self, event: Any, *, now: datetime | int | None = None) -> bool:
        """Whether it is true of the event."""
        moment = clock(now)
        try:
            return self.truth(event, moment)
        except RecursionError:
            return fold(self, lambda node, parts: _truth_of(node, parts, event, moment))

    def score(
        self,
        event: Any,
        *,
        weights: Weights = None,
        now: datetime | int | None = None,
    ) -> float | None:
        """The sum of what an And satisfies, the largest of what an Or does; None if it is false.

        That of the negation normal form: under Not, And and Or change places.
        """
        moment, by_attribute = clock(now), attribute_weights(weights)
        return fold(self, lambda node, parts: _scores(node, parts, event, moment, by_attribute))[0]

    def strong(self) -> Expression:
        """The strong kind of negation: what is denied must also be present.

        Of a weak negation, its strong counterpart; of anything else, its strong negation,
        pushed down to the predicates by De Morgan's laws.
        """
        return fold(self.part if isinstance(self, Not) else self, _with_denial)[1]

    def __and__(self, other: Expression) -> Expression:
        if not isinstance(other, Expression):
            return NotImplemented
        return And(*(self.parts if isinstance(self, And) else (self,)), other)

    def __or__(self, other: Expression) -> Expression:
        if not isinstance(other, Expression):
            return NotImplemented
        return Or(*(self.parts if isinstance(self, Or) else (self,)), other)

    def __invert__(self) -> Expression:
        return Not(self)

    def __bool__(self) -> bool:
        raise TypeError("an expression is true of an event, not by itself: use &, | and ~")


@dataclass(frozen=True, slots=True, init=False)
class And(Expression):
    """All parts hold; with none, true."""

    parts: tuple[Expression, ...]

    def __init__(self, *parts: Expression) -> None:
        object.__setattr__(self, "parts", _expressions(parts))

    def truth(self, event: Any, now: int) -> bool:
        for part in self.parts:  # noqa: SIM110 - all() costs a generator a call
            if not part.truth(event, now):
                return False
        return True


@dataclass(frozen=True, slots=True, init=False)
class Or(Expression):
    """Some part holds; with none, false."""

    parts: tuple[Expression, ...]

    def __init__(self, *parts: Expression) -> None:
        object.__setattr__(self, "parts", _expressions(parts))

    def truth(self, event: Any, now: int) -> bool:
        for part in self.parts:  # noqa: SIM110
            if part.truth(event, now):
                return True
        return False


@dataclass(frozen=True, slots=True)
class Not(Expression):
    """The part does not hold: weak negation, as in Python."""

    part: Expression

    def __post_init__(self) -> None:
        _expressions((self.part,))

    @property
    def parts(self) -> tuple[Expression, ...]:
        return (self.part,)

    def truth(self, event: Any, now: int) -> bool:
        return not self.part.truth(event, now)

    def __invert__(self) -> Expression:
        return self.part


@dataclass(frozen=True, slots=True)
class Predicate(Expression):
    """One condition on one term, perhaps denied, with a weight.

    `value_weights` are the weights of single values; those not named there have `own_weight`.
    """

    term: Term
    condition: Condition
    polarity: Polarity = Polarity.INCLUDED
    own_weight: float = 1.0
    value_weights: tuple[tuple[Any, float], ...] = ()

    def __post_init__(self) -> None:
        if self.polarity is Polarity.STRONGLY_EXCLUDED and type(self.condition) in TWO_VALUED:
            object.__setattr__(self, "polarity", Polarity.EXCLUDED)
        if type(self.own_weight) is not float or not abs(self.own_weight) <= MAX_WEIGHT:
            object.__setattr__(self, "own_weight", weight_of(self.own_weight))
        if self.value_weights:
            self._check_value_weights()
        if type(self.condition) in OF_LACK and not isinstance(self.root, Attribute):
            raise InvalidCriterion("null and absent are told apart at a path alone")
        if isinstance(self.condition, AnyElement | EveryElement):
            _check_inner(self.condition.expression)

    @property
    def parts(self) -> tuple[Expression, ...]:
        return ()

    @property
    def attribute(self) -> Attribute | None:
        """The path that it is about; None where it is about several."""
        return attribute_of(self.term)

    @property
    def root(self) -> Term:
        """What it is about, beneath Mustang's operations."""
        return root_of(self.term)

    @property
    def operations(self) -> tuple[Operation, ...]:
        """Mustang's operations on its root."""
        return operations_of(self.term)

    def seen(self, event: Any, now: int) -> Any:
        """What the condition looks at: the value, or why it is missing."""
        if type(self.condition) in OF_LACK:
            root = self.root
            assert isinstance(root, Attribute)
            if root.resolve(event) is None:
                return root.lack(event)
        return value_in(self.term, event, now)

    def truth(self, event: Any, now: int) -> bool:
        term = self.term
        value = term.resolve(event) if type(term) is Attribute else value_in(term, event, now)
        if value is None and type(self.condition) in OF_LACK:
            value = self.seen(event, now)
        held = satisfies(self.condition, value, now)
        if self.polarity is Polarity.INCLUDED:
            return held
        return not held and (value is not None or self.polarity is Polarity.EXCLUDED)

    def points(self, value: Any) -> float:
        """What the condition scores on a value that satisfies it."""
        if not self.value_weights or not isinstance(self.condition, In):
            return self.own_weight
        known = {one: weight for each, weight in self.value_weights for one in keys(each)}
        matched = set(map(key, value if isinstance(value, list) else (value,)))
        return max(known.get(one, self.own_weight) for one in matched & self.condition.keys)

    def weight(self, weight: float | Mapping[Any, float]) -> Predicate:
        """The same predicate with a weight, or with weights of single values."""
        if isinstance(weight, Mapping):
            return replace(self, value_weights=tuple(weight.items()))
        return replace(self, own_weight=weight, value_weights=())

    def with_polarity(self, polarity: Polarity) -> Predicate:
        """The same predicate, asked for or denied."""
        return replace(self, polarity=polarity)

    def strong(self) -> Expression:
        return self.with_polarity(Polarity.STRONGLY_EXCLUDED)

    def __invert__(self) -> Expression:
        return _COMPLEMENTS[self.polarity](self)

    def _check_value_weights(self) -> None:
        condition = self.condition
        if not isinstance(condition, In):
            raise InvalidCriterion("weights of single values go with in alone")
        weights = tuple((value, weight_of(weight)) for value, weight in self.value_weights)
        for value, _ in weights:
            if not condition.keys.issuperset(keys(value)):
                raise InvalidCriterion(f"{value!r} has a weight but is none of the values")
        object.__setattr__(self, "value_weights", weights)


def tells_empty(condition: Condition, polarity: Polarity) -> bool:
    """Whether an empty list that is present may decide otherwise than one that is missing."""
    if polarity is Polarity.STRONGLY_EXCLUDED:
        return True
    overlaps = isinstance(condition, Related) and condition.relation is Relation.OVERLAPS
    return type(condition) in WHOLE - OF_LACK and not overlaps


_COMPLEMENTS: dict[Polarity, Callable[[Predicate], Expression]] = {
    Polarity.INCLUDED: lambda predicate: predicate.with_polarity(Polarity.EXCLUDED),
    Polarity.EXCLUDED: lambda predicate: predicate.with_polarity(Polarity.INCLUDED),
    Polarity.STRONGLY_EXCLUDED: Not,
}


def fold(root: Expression, visit: Callable[[Expression, Sequence[T]], T]) -> T:
    """The result at the root, each node's made from its parts' results; of any depth."""

    def of(node: Expression, depth: int) -> T:
        parts = node.parts
        if not parts:
            return visit(node, ())
        if depth == _DEEP:
            return _fold_deep(node, visit)
        return visit(node, [of(part, depth + 1) for part in parts])

    return of(root, 0)


def _fold_deep(root: Expression, visit: Callable[[Expression, Sequence[T]], T]) -> T:
    """The same without recursion, which is faster while it lasts."""
    results: list[T] = []
    stack: list[tuple[Expression, bool]] = [(root, False)]
    while stack:
        node, ready = stack.pop()
        n = len(node.parts)
        if ready or n == 0:
            inputs = results[len(results) - n :]
            del results[len(results) - n :]
            results.append(visit(node, inputs))
        else:
            stack.append((node, True))
            stack.extend((part, False) for part in reversed(node.parts))
    return results[0]


def with_predicates(root: Expression, replaced: Callable[[Predicate], Expression]) -> Expression:
    """The expression with something else for each predicate; a node whose parts stay is kept."""

    def visit(node: Expression, parts: Sequence[Expression]) -> Expression:
        if isinstance(node, Predicate):
            return replaced(node)
        if all(map(is_, parts, node.parts)):
            return node
        if isinstance(node, Not):
            return Not(parts[0])
        return And(*parts) if isinstance(node, And) else Or(*parts)

    return fold(root, visit)


def checked_size(expression: Expression) -> int:
    """How many parts it has; InvalidCriterion where they or its levels are more than allowed."""
    level, n_parts = 0, 0
    nodes: Sequence[Expression] = (expression,)
    in_case: Sequence[Expression] = ()  # in a CASE: a term's parts are counted with those it asks
    while nodes or in_case:
        n_parts += sum(facts_of(one.term).n_parts if type(one) is Predicate else 1 for one in nodes)
        n_parts += sum(type(one) is not Predicate for one in in_case)
        if level > MAX_LEVELS:
            raise InvalidCriterion(f"it is nested too deeply: {MAX_LEVELS} levels are the most")
        if n_parts > MAX_PARTS:
            raise InvalidCriterion(f"it has too many predicates: {MAX_PARTS} parts are the most")
        in_case = [
            *(part for node in in_case for part in _within(node)),
            *(part for node in (*nodes, *in_case) for part in _asked_in(node)),
        ]
        # no more than what is refused: parts that are shared may stand there without number
        nodes = list(islice(chain.from_iterable(map(_within, nodes)), MAX_PARTS + 1))
        level += 1
    return n_parts


def _within(node: Expression) -> tuple[Expression, ...]:
    """Its parts; of a predicate on elements, what it asks of them."""
    condition = node.condition if isinstance(node, Predicate) else None
    if isinstance(condition, AnyElement | EveryElement):
        return (condition.expression,)
    return node.parts


def _asked_in(node: Expression) -> Iterable[Any]:
    """What the term of a predicate asks in a CASE."""
    if type(node) is not Predicate or type(node.term) is Attribute:
        return ()
    return asked_in(node.term)


def _check_inner(expression: Any) -> None:
    """What is asked of elements has no weights: it is one predicate with one weight."""
    if not isinstance(expression, Expression):
        raise InvalidCriterion(f"elements are asked for an expression, not {expression!r}")
    seen: set[int] = set()  # a part may stand in many places
    nodes = [expression]
    while nodes:
        node = nodes.pop()
        if id(node) in seen:
            continue
        seen.add(id(node))
        if isinstance(node, Predicate) and (node.own_weight != 1.0 or node.value_weights):
            raise InvalidCriterion("what is asked of elements has no weights of its own")
        nodes += _within(node)


def reads_clock(condition: Condition) -> bool:
    """Whether what is asked of elements hangs on the moment of the question."""
    if not isinstance(condition, AnyElement | EveryElement):
        return False
    return fold(condition.expression, _reads_clock)


def _reads_clock(node: Expression, parts: Sequence[bool]) -> bool:
    if isinstance(node, Predicate):
        return facts_of(node.term).reads_clock or reads_clock(node.condition)
    return any(parts)


def clock(now: datetime | int | None) -> int:
    """Milliseconds since 1970: those given, or those of this moment."""
    if now is None:
        return time.time_ns() // 1_000_000
    if isinstance(now, datetime):
        moment = epoch_milliseconds(now)
        if moment is None:
            raise ValueError(f"{now!r} is beyond the calendar")
        return moment
    return now


def _truth_of(node: Expression, parts: Sequence[bool], event: Any, now: int) -> bool:
    if isinstance(node, And):
        return all(parts)
    if isinstance(node, Or):
        return any(parts)
    return not parts[0] if isinstance(node, Not) else node.truth(event, now)


Scores = tuple[float | None, float | None]


def _scores(
    node: Expression,
    parts: Sequence[Scores],
    event: Any,
    now: int,
    weights: ByAttribute,
) -> Scores:
    """The score of the node and the score of its negation."""
    if isinstance(node, Predicate):
        return _predicate_scores(node, event, now, weights)
    if isinstance(node, Not):
        return parts[0][1], parts[0][0]
    own, negated = [part[0] for part in parts], [part[1] for part in parts]
    if isinstance(node, And):
        return _sum(own), _largest(negated)
    return _largest(own), _sum(negated)


def _predicate_scores(predicate: Predicate, event: Any, now: int, weights: ByAttribute) -> Scores:
    value = predicate.seen(event, now)
    worth: float | None = None
    if satisfies(predicate.condition, value, now):
        worth = predicate.points(value)
        path = predicate.attribute if weights else None
        if path is not None and path in weights:
            raw = path.resolve(event)
            worth = product(predicate.points, predicate.condition, raw, value, weights[path])
    weak = 0.0 if worth is None else None
    if predicate.polarity is Polarity.INCLUDED:
        return worth, weak
    if predicate.polarity is Polarity.EXCLUDED:
        return weak, worth
    return (None, 0.0) if value is None else (weak, worth)


def _sum(scores: Sequence[float | None]) -> float | None:
    total = 0.0
    for score in scores:
        if score is None:
            return None
        total += score
    return total


def _largest(scores: Sequence[float | None]) -> float | None:
    return max((score for score in scores if score is not None), default=None)


def _with_denial(
    node: Expression, parts: Sequence[tuple[Expression, Expression]]
) -> tuple[Expression, Expression]:
    """The node and its strong negation; weak negations have two values and simply flip."""
    if isinstance(node, Predicate):
        denied = (
            Polarity.STRONGLY_EXCLUDED if node.polarity is Polarity.INCLUDED else Polarity.INCLUDED
        )
        return node, node.with_polarity(denied)
    if isinstance(node, Not):
        return node, parts[0][0]
    denials = [denial for _, denial in parts]
    return node, Or(*denials) if isinstance(node, And) else And(*denials)


def _expressions(parts: tuple[Any, ...]) -> tuple[Expression, ...]:
    for part in parts:
        if not isinstance(part, Expression):
            raise TypeError(f"{part!r} is not an expression")
    return parts
