"""Event weights: what an event gives for an attribute, or for single values of it."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

from remuda.errors import InvalidCriterion
from remuda.model.attributes import Attribute
from remuda.model.conditions import Condition, satisfies
from remuda.model.values import key

Weights: TypeAlias = Mapping[str, float | Mapping[Any, float]] | None
OfValues: TypeAlias = Mapping[Any, float]  # by the keys of raw values; others weigh 1
ByAttribute: TypeAlias = Mapping[Attribute, float | OfValues]

MAX_WEIGHT = 1e100  # of a predicate or an event: no sum of products overflows, so scores are finite


def weight_of(weight: Any) -> float:
    """The weight as a number, checked."""
    try:
        number = float(weight)
    except (TypeError, ValueError, OverflowError):
        number = math.nan
    if not abs(number) <= MAX_WEIGHT or isinstance(weight, str | bool):
        raise InvalidCriterion(
            f"a weight is a finite number within ±{MAX_WEIGHT:g}, not {weight!r}"
        )
    return number


def attribute_weights(weights: Weights) -> ByAttribute:
    """An event's weights, by attribute."""
    if not weights:
        return {}
    if not isinstance(weights, Mapping):
        raise TypeError(f"an event's weights are by attribute, such as {{'age': 2}}: {weights!r}")
    return {Attribute.parse(path): _of_attribute(weight) for path, weight in weights.items()}


def _of_attribute(weight: Any) -> float | OfValues:
    if isinstance(weight, Mapping):
        return {key(value): weight_of(one) for value, one in weight.items()}
    return weight_of(weight)


def of_raw(weight: float | OfValues, raw: Any) -> float | None:
    """What the event gives for the attribute, whatever is asked of it; None if that depends."""
    if not isinstance(weight, Mapping):
        return weight
    if not isinstance(raw, list):
        return weight.get(key(raw), 1.0)
    found = {weight.get(key(one), 1.0) for one in raw}
    return found.pop() if len(found) == 1 else None


def product(
    points: Callable[[Any], float],
    condition: Condition,
    raw: Any,
    value: Any,
    weight: float | OfValues,
) -> float:
    """What a satisfied condition scores: the largest product of its points and the event's weight.

    Of a list, those elements count that satisfy the condition by themselves, or all of them where
    it is only the list as a whole that does.
    """
    known = of_raw(weight, raw)
    if known is not None:
        return points(value) * known
    assert isinstance(weight, Mapping)
    raws: Sequence[Any] = raw
    alike = isinstance(value, list) and len(value) == len(raws)
    pairs = zip(raws, value, strict=True) if alike else ()
    alone = [(one, seen) for one, seen in pairs if satisfies(condition, seen)]
    if alone:
        return max(points(seen) * weight.get(key(one), 1.0) for one, seen in alone)
    whole = points(value)
    return max(whole * weight.get(key(one), 1.0) for one in raws)
