"""Phrases: conditions as text, joined with no more parentheses than their meaning needs."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from enum import IntEnum

from remuda.model.conditions import TWO_VALUED, Condition, Contains, Prefix, Suffix
from remuda.model.expressions import And, Expression, Not, Polarity, Predicate, fold
from remuda.model.functions import ABOVE, BELOW, EQUAL

COMPARED: dict[frozenset[Hashable], str] = {  # the sign between two terms, by their orders
    frozenset({BELOW}): "<",
    frozenset({BELOW, EQUAL}): "<=",
    frozenset({EQUAL}): "=",
    frozenset({ABOVE, EQUAL}): ">=",
    frozenset({ABOVE}): ">",
}
TEXTUAL: dict[type[Condition], str] = {  # the functions that Spark and the text form share
    Prefix: "startswith",
    Suffix: "endswith",
    Contains: "contains",
}


class Binding(IntEnum):
    """How tightly the outermost word of a phrase binds."""

    OR = 0
    AND = 1
    NOT = 2
    TEST = 3


@dataclass(frozen=True, slots=True)
class Phrase:
    """A condition as text; of a weak negation, also what it `denies`."""

    text: str
    binding: Binding = Binding.TEST
    denies: Phrase | None = None

    def within(self, binding: Binding) -> str:
        """The text as a part of something that binds so."""
        return self.text if self.binding >= binding else f"({self.text})"


@dataclass(frozen=True, slots=True)
class Wording:
    """A condition on a subject, asked for and strongly denied."""

    asked: Phrase
    denied: Phrase


def worded(asked: str, denied: str) -> Wording:
    """A condition that has a negation of its own, such as NOT BETWEEN."""
    return Wording(Phrase(asked), Phrase(denied))


def plainly(text: str, binding: Binding = Binding.TEST) -> Wording:
    """A condition that NOT denies."""
    asked = Phrase(text, binding)
    return Wording(asked, Phrase(f"NOT {asked.within(Binding.NOT)}", Binding.NOT))


def membership(about: str, values: Sequence[str]) -> Wording:
    """The subject is one of the literals."""
    spelt = ", ".join(values)
    if len(values) == 1:
        return worded(f"{about} = {spelt}", f"{about} <> {spelt}")
    return worded(f"{about} IN ({spelt})", f"{about} NOT IN ({spelt})")


def between(about: str, lower: str, upper: str) -> Wording:
    """The subject lies between the literals, or is one of them."""
    bounds = f"BETWEEN {lower} AND {upper}"
    return worded(f"{about} {bounds}", f"{about} NOT {bounds}")


def sign(above: bool, closed: bool) -> str:
    """The sign that compares with one bound."""
    return (">" if above else "<") + ("=" if closed else "")


def join(parts: Sequence[Phrase], binding: Binding) -> Phrase:
    """The parts under AND or under OR."""
    if len(parts) == 1:
        return parts[0]
    if not parts:
        return Phrase("TRUE" if binding is Binding.AND else "FALSE")
    return Phrase(f" {binding.name} ".join(part.within(binding) for part in parts), binding)


def write(expression: Expression, word: Callable[[Predicate], Wording]) -> str:
    """The expression as text, the conditions of its predicates worded by `word`."""

    def visit(node: Expression, parts: Sequence[Phrase]) -> Phrase:
        if isinstance(node, Predicate):
            return _predicate(node, word(node))
        if isinstance(node, Not):
            return parts[0].denies or _weak(parts[0])
        return join(parts, Binding.AND if isinstance(node, And) else Binding.OR)

    return fold(expression, visit).text


def _predicate(predicate: Predicate, wording: Wording) -> Phrase:
    if predicate.polarity is Polarity.INCLUDED:
        return wording.asked
    if predicate.polarity is Polarity.EXCLUDED and type(predicate.condition) not in TWO_VALUED:
        return _weak(wording.asked)
    return wording.denied


def _weak(denied: Phrase) -> Phrase:
    return Phrase(f"({denied.text}) IS NOT TRUE", denies=denied)
