"""Values around a condition: some that satisfy it, some that narrowly do not."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from datetime import date, datetime, timedelta
from decimal import Decimal
from random import Random
from typing import Any

from remuda.model import conditions
from remuda.model.attributes import Attribute, Lack
from remuda.model.expressions import Expression, Predicate
from remuda.model.networks import address_at
from remuda.model.terms import Applied, Call, Case, Literal, Term, facts_of
from remuda.proof.accepted_texts import text_for
from remuda.proof.placing import event_of

# Of all types, and equal to nothing that a criterion is likely to ask for.
STRANGE: tuple[Any, ...] = (
    "", "~", 0, -7, 1.5, 2**53 + 1, True, False, math.nan, math.inf, Decimal("0.1"),
    date(2001, 2, 3), datetime(2001, 2, 3, 4, 5, 6), {}, {"k": 1}, [None], [[1]], ["~", 0, None],
)  # fmt: skip
_OUTSIDER = "~outsider~"
_TEXTS = 4  # drawn of each pattern
_ELEMENTS = 12  # of lists that are asked for their elements
_LAST_NUMBER = re.compile(r"\d+(?=\D*$)")


def around(condition: conditions.Condition, rng: Random) -> list[Any]:
    """Values on both sides of each border that the condition draws; which side, the caller looks.

    A list stands for many values; one that is itself a value is an element here. None is absent;
    other kinds of missing values are named by their lack.
    """
    match condition:
        case conditions.AnyElement(expression) | conditions.EveryElement(expression):
            return list(_around_elements(expression, rng))
        case conditions.In():
            return [near for value in condition.plain_values for near in _around_value(value)]
        case conditions.Range():
            return list(_around_range(condition))
        case conditions.QuotedRange():
            return [near for one in condition.ranges for near in _around_range(one)] or ["~"]
        case conditions.Regex(pattern) | conditions.Like(whole_pattern=pattern):
            return list(_around_pattern(pattern, rng))
        case conditions.Prefix(text) | conditions.Suffix(text) | conditions.Contains(text):
            return [text, text + "x", "x" + text, f"x{text}y", text[:-1], text[1:], *_texts(text)]
        case conditions.Version(base):
            return list(_around_version(base))
        case conditions.SemVer(base):
            return list(_around_semver(base, str(condition.key)))
        case conditions.Network():
            return list(_around_network(condition))
        case conditions.Under():
            return list(_around_node(condition))
        case conditions.Related():
            return list(_around_set([_element(value) for value in condition.plain_values]))
        case (
            conditions.Exists()
            | conditions.Missing()
            | conditions.NullValue()
            | conditions.Absent()
        ):
            return ["~", None, [None], Lack.NULL, Lack.EMPTY]


def neighbours(value: Any) -> list[Any]:
    """Values of the same kind as close to this one as they get, below and above."""
    match value:
        case bool():
            return [not value]
        case str():
            return _texts(value)
        case int():
            whole = [value - 1, value + 1]
            return [*whole, value + 0.5, float(value)] if abs(value) < 2**52 else whole
        case float():
            return [math.nextafter(value, -math.inf), math.nextafter(value, math.inf)]
        case Decimal() if value.is_finite():
            exponent = value.as_tuple().exponent
            step = Decimal((0, (1,), exponent - 1 if isinstance(exponent, int) else 0))
            return [value - step, value + step]
        case datetime():
            return _shifted(value, timedelta(microseconds=1))
        case date():
            return _shifted(value, timedelta(days=1))
        case _:
            return []


def _around_value(value: Any) -> list[Any]:
    if isinstance(value, list | tuple):
        return [[list(value)], list(value), [[*value, None]]]
    return [value, *neighbours(value)]


def _around_range(condition: conditions.Range) -> Iterator[Any]:
    lower, upper = condition.lower, condition.upper
    for bound in (lower, upper):
        if bound is not None:
            yield from (bound, *neighbours(bound))
    if lower is None and upper is None:
        yield from (0, "0")
    elif lower is not None and upper is not None:
        yield from _between(lower, upper)
    elif isinstance(lower or upper, int | float | Decimal):
        yield from (-(10**9), 10**9)


def _between(lower: Any, upper: Any) -> list[Any]:
    if isinstance(lower, str):
        return [lower + "m"]
    try:
        if isinstance(lower, int) and isinstance(upper, int):
            return [(lower + upper) // 2]
        if isinstance(lower, date):
            return [lower + (upper - lower) / 2]
        return [float(lower) + (float(upper) - float(lower)) / 2]
    except (TypeError, OverflowError, ValueError):  # naive and aware, or beyond the floats
        return []


def _around_pattern(pattern: str, rng: Random) -> Iterator[str]:
    for _ in range(_TEXTS):
        text = text_for(pattern, rng)
        yield text
        yield from (text + "~", "~" + text, text[:-1], text.swapcase())
    yield from (pattern, "")


def _around_version(base: str) -> Iterator[str]:
    yield base
    for end in (".0", ".1", "-alpha", "-1", "-sp", ".0.0.1"):
        yield base + end
    yield from _shifted_numbers(base)
    yield from ("", "0", "999999999", "~")


def _around_semver(base: str, plain: str) -> Iterator[str]:
    core = plain.partition("-")[0]
    yield from (base, plain, core, f"{core}+build", f"{core}-0", f"{plain}.0", f"v{plain}", "~")
    yield from _shifted_numbers(core)
    yield from ("0.0.0-0", "999999999.0.0", core.rpartition(".")[0])


def _around_network(condition: conditions.Network) -> Iterator[str]:
    yield from (*condition.networks, "0.0.0.0", "::", "~")  # noqa: S104 - an address like any other
    for first, last in condition.blocks:
        for family, number in (first, last, (first[0], first[1] - 1), (last[0], last[1] + 1)):
            if 0 <= number < 2 ** (32 if family == 4 else 128):
                yield address_at((family, number))
        if first[0] == 4:
            yield f"::ffff:{address_at(first)}"  # the other family


def _around_node(condition: conditions.Under) -> Iterator[Any]:
    yield from (condition.node, "~", [condition.node, "~"])
    if condition.span is not None:
        order, (first, last) = condition.known.order, condition.span
        yield from (order[last], order[(first + last) // 2])
        yield from order[max(first - 1, 0) : first]
        yield from order[last + 1 : last + 2]


def _shifted_numbers(version: str) -> Iterator[str]:
    """The version with its last number one less, and one more."""
    yield _LAST_NUMBER.sub(lambda number: str(max(0, int(number[0][:18]) - 1)), version)
    yield _LAST_NUMBER.sub(lambda number: str(int(number[0][:18]) + 1), version)


def _around_set(values: list[Any]) -> Iterator[Any]:
    yield from ([*values, _OUTSIDER], [_OUTSIDER], [None], _OUTSIDER)
    if values:
        yield values
        yield from (values[:-1], values[1:], values[:1], [*values, values[0]], [*values, None])
        yield from (values[0], [values[-1], _OUTSIDER], [*values[1:], _OUTSIDER])


def _element(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else value


def _texts(text: str) -> list[str]:
    found = [text + "\0", text.swapcase(), text[:-1]]
    before = ord(text[-1]) - 1 if text else -1
    if before >= 0 and not 0xD800 <= before <= 0xDFFF:  # no lone surrogate
        found.append(text[:-1] + chr(before) + "\U0010ffff")
    return found


def _shifted(value: Any, step: timedelta) -> list[Any]:
    values = []
    for sign in (-1, 1):
        try:
            values.append(value + sign * step)
        except OverflowError:  # the end of the calendar
            continue
    return values


def near(predicate: Predicate, rng: Random) -> list[Any]:
    """Values around the condition of a predicate, and around what its term has in it."""
    return [*around(predicate.condition, rng), *literals(predicate.term, rng)]


def _around_elements(expression: Expression, rng: Random) -> Iterator[Any]:
    """Lists of a few elements, each with values around what is asked of them."""
    asked = list(_predicates(expression))
    elements = []
    for _ in range(_ELEMENTS):
        values = {}
        for one in asked:
            found = near(one, rng)
            for attribute in facts_of(one.term).attributes:
                values[attribute.path] = rng.choice(found) if found else None
        elements.append(event_of({path: one for path, one in values.items() if one is not None}))
    for element in elements:
        yield [element]
        yield rng.sample(elements, 2)


def _predicates(expression: Expression) -> Iterator[Predicate]:
    if isinstance(expression, Predicate):
        yield expression
    for part in expression.parts:
        yield from _predicates(part)


def literals(term: Term, rng: Random) -> list[Any]:
    """What is written in a term, and values around what its cases ask."""
    match term:
        case Literal(value):
            return [] if value is None else [value]
        case Applied(_, inner):
            return literals(inner, rng)
        case Call(_, arguments):
            return [value for one in arguments for value in literals(one, rng)]
        case Case(branches, otherwise):
            predicates = [one for branch, _ in branches for one in _predicates(branch)]
            asked = [value for one in predicates for value in near(one, rng)]
            given = [value for _, one in branches for value in literals(one, rng)]
            return [*asked, *given, *literals(otherwise, rng)]
        case Attribute():
            return []
