"""Functions of whole lists, and of maps where Spark has them for maps."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any

from remuda.model.functions.arguments import LONGEST_LIST, integer, short, text
from remuda.model.functions.extremes import Pick, extreme
from remuda.model.functions.function import Function, table
from remuda.model.functions.text import joined
from remuda.model.values import key, tidy


def _size(value: Any) -> int | None:
    return len(value) if isinstance(value, list | dict) else None


def _array_size(value: Any) -> int | None:
    return len(value) if isinstance(value, list) else None


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


def _get(value: Any, position: Any) -> Any:
    """The element of that number, from 0."""
    n = short(position)
    if not isinstance(value, list) or n is None or not 0 <= n < len(value):
        return None
    return tidy(value[n])


def _of_list(value: Any, pick: Pick) -> Any:
    return extreme(value, pick) if isinstance(value, list) else None


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


def _arrays_overlap(value: Any, other: Any) -> bool | None:
    one, two = _listed(value), _listed(other)
    if one is None or two is None:
        return None
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


def _array_distinct(value: Any) -> list[Any] | None:
    several = _listed(value)
    return None if several is None else _distinct(several)


def _of_two(
    keep: Callable[[list[Any], list[Any]], Iterable[Any]],
) -> Callable[[Any, Any], list[Any] | None]:
    """What is kept of two lists, each value once; null is one like any other."""

    def apply(value: Any, other: Any) -> list[Any] | None:
        one, two = _listed(value), _listed(other)
        return None if one is None or two is None else _distinct(keep(one, two))

    return apply


def _common(one: list[Any], two: list[Any]) -> Iterable[Any]:
    known = set(map(key, two))
    return (value for value in one if key(value) in known)


def _except(one: list[Any], two: list[Any]) -> Iterable[Any]:
    known = set(map(key, two))
    return (value for value in one if key(value) not in known)


def _slice(value: Any, start: Any, length: Any) -> list[Any] | None:
    """So many elements from that number on, which is counted from the end if it is negative."""
    several, first, n = _listed(value), short(start), short(length)
    if several is None or not first or n is None or n < 0:
        return None
    begin = first - 1 if first > 0 else len(several) + first
    return several[begin : begin + n] if begin >= 0 else []


def _sort_array(value: Any, rises: Any = True) -> list[Any] | None:
    """The list from its least to its greatest, or from its greatest; nulls are the least."""
    several = _listed(value)
    if several is None or not isinstance(rises, bool):
        return None
    nulls = [None] * several.count(None)
    order = [] if len(nulls) == len(several) else extreme(several, _ORDERS[rises])
    if order is None:
        return None
    return [*nulls, *order] if rises else [*order, *nulls]


_ORDERS: dict[bool, Pick] = {True: sorted, False: partial(sorted, reverse=True)}


def _array_sort(value: Any) -> list[Any] | None:
    """The list from its least to its greatest, nulls last."""
    found = _sort_array(value)
    return None if found is None else sorted(found, key=lambda one: one is None)


def _array_remove(value: Any, unwanted: Any) -> list[Any] | None:
    several, known = _listed(value), key(unwanted)
    return None if several is None else [one for one in several if one is None or key(one) != known]


def _array_append(value: Any, last: Any) -> list[Any] | None:
    several = _listed(value)
    return None if several is None else [*several, tidy(last)]


def _array_prepend(value: Any, first: Any) -> list[Any] | None:
    several = _listed(value)
    return None if several is None else [tidy(first), *several]


def _array_compact(value: Any) -> list[Any] | None:
    several = _listed(value)
    return None if several is None else [one for one in several if one is not None]


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


def _sequence(first: Any, last: Any, step: Any = None) -> list[int] | None:
    """Integers from one to another, both included; downwards where the last is the lesser."""
    start, end = integer(first), integer(last)
    if start is None or end is None:
        return None
    by = (1 if start <= end else -1) if step is None else integer(step)
    if by is None or (end - start) * by < 0 or (by == 0 and start != end):
        return None
    n = (end - start) // (by or 1) + 1
    return [start + i * by for i in range(n)] if n <= LONGEST_LIST else None


def _map_keys(value: Any) -> list[Any] | None:
    return list(value) if isinstance(value, dict) else None


def _map_values(value: Any) -> list[Any] | None:
    return [tidy(one) for one in value.values()] if isinstance(value, dict) else None


def _map_contains_key(value: Any, name: Any) -> bool | None:
    return key(name) in map(key, value) if isinstance(value, dict) else None


FUNCTIONS = table(
    [
        Function("size", _size, 1, 1, whole=True),
        Function("array_size", _array_size, 1, 1, whole=True),
        Function("element_at", _element_at, 2, 2, whole=True),
        Function("get", _get, 2, 2, whole=True),
        Function("array_min", lambda value: _of_list(value, min), 1, 1, whole=True),
        Function("array_max", lambda value: _of_list(value, max), 1, 1, whole=True),
        Function("array", _array, 0, None, on_missing=True, whole=True),
        Function("array_contains", _array_contains, 2, 2, whole=True),
        Function("arrays_overlap", _arrays_overlap, 2, 2, whole=True),
        Function("array_position", _array_position, 2, 2, whole=True),
        Function("array_join", _array_join, 2, 3, whole=True),
        Function("array_distinct", _array_distinct, 1, 1, whole=True),
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
        Function("map_keys", _map_keys, 1, 1, whole=True),
        Function("map_values", _map_values, 1, 1, whole=True),
        Function("map_contains_key", _map_contains_key, 2, 2, whole=True),
    ],
    cardinality="size",
    try_element_at="element_at",
)
