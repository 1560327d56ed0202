"""Functions of whole lists, and of maps where Spark has them for maps."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any

from remuda.model.functions.arguments import LONGEST_LIST, instance, integer, short, text
from remuda.model.functions.extremes import Pick, extreme
from remuda.model.functions.function import Function, table, taking
from remuda.model.functions.text import joined
from remuda.model.values import key, tidy

_OF_LIST, _OF_MAP = taking(instance(list)), taking(instance(dict))


def _element_at(value: Any, position: Any) -> Any:
    """The element of that number, from 1, or from the end where it is negative."""
    if isinstance(value, dict):
        return _value_at(value, position)
    n = short(position)
    if not isinstance(value, list) or n is None or n == 0 or abs(n) > len(value):
        return None
    return tidy(value[n - 1 if n > 0 else n])


def _value_at(value: dict[Any, Any], name: Any) -> Any:
    wanted = key(name)
    return next((tidy(part) for own, part in value.items() if key(own) == wanted), None)


@taking(instance(list), short)
def _get(value: list[Any], n: int) -> Any:
    """The element of that number, from 0."""
    return tidy(value[n]) if 0 <= n < len(value) else None


def _array(*values: Any) -> list[Any]:
    return [tidy(one) for one in values]


def _listed(value: Any) -> list[Any] | None:
    """The list of plain values."""
    return [tidy(one) for one in value] if isinstance(value, list) else None


def _array_contains(value: Any, wanted: Any) -> bool | None:
    """Whether the list has it; missing where it may be a null of the list."""
    several = _listed(value)
    if several is None:
        return None
    return _known(key(wanted) in map(key, several), [several])


@taking(_listed, _listed)
def _arrays_overlap(one: list[Any], two: list[Any]) -> bool | None:
    shared = _keys(one) & _keys(two)
    return _known(bool(shared), [one, two] if one and two else [])


def _known(held: bool, lists: Sequence[list[Any]]) -> bool | None:
    return None if not held and any(None in one for one in lists) else held


def _keys(several: list[Any]) -> set[Any]:
    return {key(one) for one in several if one is not None}


def _array_position(value: Any, wanted: Any) -> int | None:
    """The place of the first such element, from 1; 0 where there is none."""
    several, sought = _listed(value), key(wanted)
    if several is None:
        return None
    places = (i for i, one in enumerate(several, 1) if one is not None and key(one) == sought)
    return next(places, 0)


def _array_join(value: Any, joint: Any, null: Any = None) -> str | None:
    """The texts of the list; nulls are left out unless there is a text for them."""
    several, between = _listed(value), text(joint)
    if several is None or between is None:
        return None
    return joined(between, [text(null if one is None else one) for one in several
                            if one is not None or null is not None])  # fmt: skip


def _distinct(several: Iterable[Any]) -> list[Any]:
    known: dict[Any, Any] = {}
    for one in several:
        known.setdefault(key(one), one)
    return list(known.values())


def _of_two(
    keep: Callable[[list[Any], list[Any]], Iterable[Any]],
) -> Callable[..., list[Any] | None]:
    """What is kept of two lists, each value once; null is one like any other."""
    return taking(_listed, _listed)(lambda one, two: _distinct(keep(one, two)))


def _common(one: list[Any], two: list[Any]) -> Iterable[Any]:
    known = set(map(key, two))
    return (value for value in one if key(value) in known)


def _except(one: list[Any], two: list[Any]) -> Iterable[Any]:
    known = set(map(key, two))
    return (value for value in one if key(value) not in known)


@taking(_listed, short, short)
def _slice(several: list[Any], first: int, n: int) -> list[Any] | None:
    """So many elements from that number on, which is counted from the end if it is negative."""
    if not first or n < 0:
        return None
    begin = first - 1 if first > 0 else len(several) + first
    return several[begin : begin + n] if begin >= 0 else []


@taking(_listed, instance(bool))
def _sort_array(several: list[Any], rises: bool = True) -> list[Any] | None:
    """The list from its least to its greatest, or from its greatest; nulls are the least."""
    nulls = [None] * several.count(None)
    order = [] if len(nulls) == len(several) else extreme(several, _ORDERS[rises])
    if order is None:
        return None
    return [*nulls, *order] if rises else [*order, *nulls]


_ORDERS: dict[bool, Pick] = {True: sorted, False: partial(sorted, reverse=True)}


@taking(_sort_array)
def _array_sort(rising: list[Any]) -> list[Any]:
    """The list from its least to its greatest, nulls last."""
    return sorted(rising, key=lambda one: one is None)


def _array_remove(value: Any, unwanted: Any) -> list[Any] | None:
    several, known = _listed(value), key(unwanted)
    return None if several is None else [one for one in several if one is None or key(one) != known]


def _array_append(value: Any, last: Any) -> list[Any] | None:
    several = _listed(value)
    return None if several is None else [*several, tidy(last)]


def _array_prepend(value: Any, first: Any) -> list[Any] | None:
    several = _listed(value)
    return None if several is None else [tidy(first), *several]


@taking(_listed)
def _array_compact(several: list[Any]) -> list[Any]:
    return [one for one in several if one is not None]


def _flatten(value: Any) -> list[Any] | None:
    """The elements of the lists of a list; missing where one of these is none."""
    if not isinstance(value, list) or not all(isinstance(one, list) for one in value):
        return None
    if sum(map(len, value)) > LONGEST_LIST:
        return None
    return [tidy(part) for one in value for part in one]


def _array_repeat(value: Any, count: Any) -> list[Any] | None:
    n = short(count)
    return None if n is None or n * _n_parts(value) > LONGEST_LIST else [tidy(value)] * n


def _n_parts(value: Any) -> int:
    """How many values it is, with all that stand in it."""
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return 1 + sum(map(_n_parts, inner))


@taking(integer, integer, integer)
def _sequence(start: int, end: int, step: int | None = None) -> list[int] | None:
    """Integers from one to another, both included; downwards where the last is the lesser."""
    by = (1 if start <= end else -1) if step is None else step
    if (end - start) * by < 0 or (by == 0 and start != end):
        return None
    n = (end - start) // (by or 1) + 1
    return [start + i * by for i in range(n)] if n <= LONGEST_LIST else None


@_OF_MAP
def _map_values(value: dict[Any, Any]) -> list[Any]:
    return [tidy(one) for one in value.values()]


def _map_contains_key(value: Any, name: Any) -> bool | None:
    return key(name) in map(key, value) if isinstance(value, dict) else None


FUNCTIONS = table(
    [
        Function("size", taking(instance(list, dict))(len), 1, 1, whole=True),
        Function("array_size", _OF_LIST(len), 1, 1, whole=True),
        Function("element_at", _element_at, 2, 2, whole=True),
        Function("get", _get, 2, 2, whole=True),
        Function("array_min", _OF_LIST(partial(extreme, pick=min)), 1, 1, whole=True),
        Function("array_max", _OF_LIST(partial(extreme, pick=max)), 1, 1, whole=True),
        Function("array", _array, 0, None, on_missing=True, whole=True),
        Function("array_contains", _array_contains, 2, 2, whole=True),
        Function("arrays_overlap", _arrays_overlap, 2, 2, whole=True),
        Function("array_position", _array_position, 2, 2, whole=True),
        Function("array_join", _array_join, 2, 3, whole=True),
        Function("array_distinct", taking(_listed)(_distinct), 1, 1, whole=True),
        Function("array_intersect", _of_two(_common), 2, 2, whole=True),
        Function("array_except", _of_two(_except), 2, 2, whole=True),
        Function("array_union", _of_two(lambda one, two: one + two), 2, 2, whole=True),
        Function("slice", _slice, 3, 3, whole=True),
        Function("sort_array", _sort_array, 1, 2, whole=True),
        Function("array_sort", _array_sort, 1, 1, whole=True),
        Function("array_remove", _array_remove, 2, 2, whole=True),
        Function("array_append", _array_append, 2, 2, on_missing=True, whole=True),
        Function("array_prepend", _array_prepend, 2, 2, on_missing=True, whole=True),
        Function("array_compact", _array_compact, 1, 1, whole=True),
        Function("flatten", _flatten, 1, 1, whole=True),
        Function("array_repeat", _array_repeat, 2, 2, on_missing=True, whole=True),
        Function("sequence", _sequence, 2, 3),
        Function("map_keys", _OF_MAP(list), 1, 1, whole=True),
        Function("map_values", _map_values, 1, 1, whole=True),
        Function("map_contains_key", _map_contains_key, 2, 2, whole=True),
    ],
    cardinality="size",
    try_element_at="element_at",
)
