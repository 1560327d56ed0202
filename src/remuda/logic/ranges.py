"""Ranges as sets of values: which are empty, which lie in another, and what they make together."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Container, Iterable, Mapping, Sequence
from typing import Any

from remuda.model.conditions import Range
from remuda.model.quoted import readings
from remuda.model.values import Kind, ordered

# Edges of ranges of one kind compare as they lie; an absent bound lies beyond all others.
Edge = tuple[bool, Any, bool]


def lower_edge(of: Range) -> Edge:
    return of.bounds[0] is not None, of.bounds[0], not of.lower_closed


def upper_edge(of: Range) -> Edge:
    return of.bounds[1] is None, of.bounds[1], of.upper_closed


def is_point(of: Range) -> bool:
    """Whether exactly one value lies in the range."""
    lower, upper = of.bounds
    return lower is not None and lower == upper and of.lower_closed and of.upper_closed


def is_empty(of: Range) -> bool:
    """Whether the bounds leave no room between them."""
    lower, upper = of.bounds
    if lower is None or upper is None:
        return False
    return bool(lower > upper) or (lower == upper and not is_point(of))


def range_within(inner: Range, outer: Range) -> bool:
    """Whether the inner range, which is not empty, lies in the outer one."""
    if inner.kind is not outer.kind:
        return False
    return lower_edge(inner) >= lower_edge(outer) and upper_edge(inner) <= upper_edge(outer)


def meet(ranges: Sequence[Range]) -> Range | None:
    """The values that all the ranges have; None where they have none."""
    if len({one.kind for one in ranges}) > 1:
        return None
    common = _spanned(max(ranges, key=lower_edge), min(ranges, key=upper_edge))
    return None if is_empty(common) else common


def join(ranges: Iterable[Range], points: Container[Any]) -> list[Range]:
    """As few ranges as hold the same values, where `points` close open ends for free."""
    closed = [_closed_by(points, one) for one in ranges]
    joined: list[Range] = []
    for one in sorted(closed, key=lambda one: (one.kind, lower_edge(one))):
        if joined and _touch(joined[-1], one):
            joined[-1] = _spanned(joined[-1], max(joined[-1], one, key=upper_edge))
        else:
            joined.append(one)
    return joined


def outside(joined: Sequence[Range], values: Iterable[Any]) -> list[Any]:
    """The values that lie in none of the ranges, which are as `join` gave them."""
    by_kind = {kind: [one for one in joined if one.kind is kind] for kind in Kind}
    return [value for value in values if not all(_inside(by_kind, one) for one in readings(value))]


def _inside(by_kind: Mapping[Kind, Sequence[Range]], value: Any) -> bool:
    found = ordered(value)
    if found is None:
        return False
    candidates = by_kind[found[0]]
    n_begun = bisect_right(candidates, (True, found[1], False), key=lower_edge)
    return n_begun > 0 and candidates[n_begun - 1].accepts(value)


def _touch(before: Range, after: Range) -> bool:
    """Whether two ranges make one, of which `after` begins no earlier."""
    if before.kind is not after.kind:
        return False
    end, start = before.bounds[1], after.bounds[0]
    if before.kind is not Kind.NUMBER and before.bounds[0] is after.bounds[1] is None:
        return False  # a range without bounds would say that the value is a number
    if end is None or start is None or start < end:
        return True
    return bool(start == end) and (before.upper_closed or after.lower_closed)


def _spanned(start: Range, end: Range) -> Range:
    """The range from where one begins to where the other ends."""
    return Range(start.lower, end.upper, start.lower_closed, end.upper_closed)


def _closed_by(points: Container[Any], one: Range) -> Range:
    lower, upper = one.bounds
    return Range(
        one.lower,
        one.upper,
        one.lower_closed or lower in points,
        one.upper_closed or upper in points,
    )
