"""Predicates on one attribute that stand side by side, made fewer.

A list satisfies predicates by any of its elements, so asked ones merge under Or and denied ones
under And; where there is one value at most, the others merge as well.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable, Sequence
from typing import Any

from remuda.logic.normal import Junction
from remuda.logic.ranges import join, meet, outside
from remuda.model.conditions import (
    OF_LACK,
    TWO_VALUED,
    Condition,
    Exists,
    In,
    Missing,
    Range,
    Related,
    Relation,
)
from remuda.model.expressions import And, Or, Polarity, Predicate


def merged(
    junction: Junction, group: Sequence[Predicate], single: Callable[[Predicate], bool]
) -> list[Predicate]:
    """The predicates of one attribute under one And or Or, merged where that is sound.

    `single` tells whether a predicate sees one value at most. Some of what comes out may be
    unsatisfiable.
    """
    dimensions: dict[Hashable, list[Predicate]] = defaultdict(list)
    for predicate in _settled(junction, group):
        dimensions[predicate.term].append(predicate)
    found: list[Predicate] = []
    for dimension in dimensions.values():
        one_value = len(dimension) > 1 and single(dimension[0])
        found += _united(junction, _narrowed(junction, dimension) if one_value else dimension)
    return found


def _settled(junction: Junction, group: Sequence[Predicate]) -> list[Predicate]:
    """Denials made of one kind, where the group decides anyway on a missing attribute."""
    denial = _denial(junction, group)
    return [
        predicate.with_polarity(denial)
        if denial and predicate.polarity not in (Polarity.INCLUDED, denial)
        else predicate
        for predicate in group
    ]


def _denial(junction: Junction, group: Sequence[Predicate]) -> Polarity | None:
    polarities = {one.polarity for one in group if type(one.condition) not in OF_LACK}
    kinds = {type(one.condition) for one in group if one.polarity is Polarity.INCLUDED}
    if junction is Or:
        return Polarity.EXCLUDED if Polarity.EXCLUDED in polarities or Missing in kinds else None
    if kinds - TWO_VALUED:
        return Polarity.EXCLUDED
    strong = Polarity.STRONGLY_EXCLUDED
    return strong if strong in polarities or Exists in kinds else None


def _united(junction: Junction, dimension: list[Predicate]) -> list[Predicate]:
    """Any of the asked under Or, none of the denied under And: one union of conditions."""
    if len(dimension) < 2:
        return dimension
    groups: dict[Polarity, list[Predicate]] = defaultdict(list)
    for predicate in dimension:
        groups[predicate.polarity].append(predicate)
    for polarity, group in groups.items():
        if (polarity is Polarity.INCLUDED) is (junction is Or):
            known = {predicate.condition: predicate for predicate in group}
            groups[polarity] = [
                known[condition] if condition in known else _rephrased(group[0], condition)
                for condition in _union(list(known))
            ]
    return [predicate for group in groups.values() for predicate in group]


def _union(conditions: Sequence[Condition]) -> list[Condition]:
    """As few conditions as accept what any of these does."""
    values: list[Any] = []
    overlapping: list[Any] = []
    ranges: list[Range] = []
    others: list[Condition] = []
    for condition in conditions:
        if isinstance(condition, In):
            values += condition.values
        elif isinstance(condition, Range):
            ranges.append(condition)
        elif isinstance(condition, Related) and condition.relation is Relation.OVERLAPS:
            overlapping += condition.values
        else:
            others.append(condition)
    points = In(tuple(values))
    joined = join(ranges, points.keys)
    left = tuple(outside(joined, points.values))
    found: list[Condition] = [In(left)] if left else []
    if overlapping:
        found.append(Related(Relation.OVERLAPS, tuple(overlapping)))
    return [*found, *joined, *others]


def _narrowed(junction: Junction, dimension: list[Predicate]) -> list[Predicate]:
    """One value has all that is asked under And, and escapes under Or unless all of it is denied.

    So asked conditions intersect under And and denied ones under Or; the points among them also
    lose what the opposite side accepts.
    """
    own: list[Predicate] = []
    against: list[Predicate] = []
    for predicate in dimension:
        asked = predicate.polarity is Polarity.INCLUDED
        if type(predicate.condition) not in TWO_VALUED:
            (own if asked is (junction is And) else against).append(predicate)
    points = next((one.condition for one in own if isinstance(one.condition, In)), None)
    bounds = [one.condition for one in own if isinstance(one.condition, Range)]
    if points is not None:
        common: Condition = In(
            tuple(value for value in points.plain_values if _passes(value, own, against))
        )
        replaced = [*own, *against]
    elif len(bounds) > 1:
        common = meet(bounds) or In(())
        replaced = [one for one in own if isinstance(one.condition, Range)]
    else:
        return dimension
    kept = [one for one in dimension if not any(one is other for other in replaced)]
    return [_rephrased(own[0], common), *kept]


def _passes(value: Any, own: Sequence[Predicate], against: Sequence[Predicate]) -> bool:
    return all(one.condition.accepts(value) for one in own) and not any(
        one.condition.accepts(value) for one in against
    )


def _rephrased(predicate: Predicate, condition: Condition) -> Predicate:
    return Predicate(predicate.term, condition, predicate.polarity)
