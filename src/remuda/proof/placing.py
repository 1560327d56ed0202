"""Events in which attributes have given values: paths walked the other way."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from jsonpath import JSONPathEnvironment
from jsonpath.segments import JSONPathRecursiveDescentSegment
from jsonpath.selectors import (
    Filter,
    IndexSelector,
    NameSelector,
    SliceSelector,
)

from remuda.model.attributes import Attribute, Digits, Element, Every, Query, Step

_LONGEST = 1_000  # elements that a list is padded to
_COMPARED = re.compile(
    r"@(?P<path>(?:\['[^']*'\]|\[\d+\])+)"
    r"(?:\s*(?P<sign>==|!=|<=|>=|<|>)\s*(?P<literal>'[^']*'|\"[^\"]*\"|-?\d[\d.eE+-]*|true|false))?"
)


class _Unplaceable(Exception):
    """Two paths ask for different things in one place, or a list would be too long."""


@dataclass(frozen=True, slots=True)
class _Such:
    """The step `[?…]`: all elements of a list that have these values at these paths."""

    fields: tuple[tuple[tuple[Step, ...], Any], ...]


_Place = Step | _Such


def collects(attribute: Attribute) -> bool:
    """Whether the path gives a list of whatever it finds."""
    return any(isinstance(step, Every | Query) for step in attribute.steps)


def event_of(values: Mapping[Attribute, Any]) -> Any:
    """An event with these raw values, or None where paths get in each other's way.

    Paths beyond plain ones are placed where that is easy: whoever needs to know looks.
    """
    event: Any = None
    for attribute in sorted(values, key=lambda one: len(one.steps)):
        try:
            event = _placed(event, attribute, values[attribute])
        except _Unplaceable:
            return None
    return {} if event is None else event


def _placed(event: Any, attribute: Attribute, value: Any) -> Any:
    only = attribute.steps[0] if len(attribute.steps) == 1 else None
    if not isinstance(only, Query):
        return _put(event, attribute.steps, value)
    places = _query_places(only.text)
    spreads = any(isinstance(place, Every | _Such) for place in places)
    if not spreads and isinstance(value, list) and value:
        value = value[0]  # a query gives a list, even of one
    return _put(event, places, value)


def _put(node: Any, steps: Sequence[_Place], value: Any) -> Any:
    """The node, which may be None, with the value at the end of the steps."""
    if not steps:
        return deepcopy(value) if isinstance(value, list | dict) else value
    step, rest = steps[0], steps[1:]
    if isinstance(step, Every | _Such):
        return _put_each(node, step, rest, value)
    if isinstance(step, Element) or (isinstance(step, Digits) and isinstance(node, list)):
        return _put_at(node, step.at if isinstance(step, Element) else int(step.text), rest, value)
    if isinstance(step, Query) or not (node is None or isinstance(node, dict)):
        raise _Unplaceable
    name = step.text if isinstance(step, Digits) else step
    return {**(node or {}), name: _put((node or {}).get(name), rest, value)}


def _put_at(node: Any, at: int, rest: Sequence[_Place], value: Any) -> list[Any]:
    length = at + 1 if at >= 0 else -at
    if not (node is None or isinstance(node, list)) or length > _LONGEST:
        raise _Unplaceable
    padding = [None] * (length - len(node or ()))
    elements = [*(node or ()), *padding] if at >= 0 else [*padding, *(node or ())]
    elements[at] = _put(elements[at], rest, value)
    return elements


def _put_each(node: Any, step: Every | _Such, rest: Sequence[_Place], value: Any) -> list[Any]:
    """One element for each of the values, all in the first where a later step spreads them."""
    if not (node is None or isinstance(node, list)):
        raise _Unplaceable
    later = any(isinstance(one, Every | _Such) for one in rest)
    wanted = value if isinstance(value, list) and not later else [value]
    elements = list(node or ())
    elements += [None] * (len(wanted) - len(elements))
    for i, one in enumerate(wanted):
        elements[i] = _put(elements[i], rest, one)
        if isinstance(step, _Such):
            for path, literal in step.fields:
                elements[i] = _put(elements[i], path, literal)
    return elements


@lru_cache(maxsize=4096)
def _query_places(text: str) -> tuple[_Place, ...]:
    """Steps that the query walks, among others."""
    places: list[_Place] = []
    query: Any = JSONPathEnvironment(strict=True).compile(text)
    for segment in query.segments:
        if isinstance(segment, JSONPathRecursiveDescentSegment):
            places += ["deeper", Every()]
        places.append(_selected(segment.selectors[0]))
    return tuple(places)


def _selected(selector: Any) -> _Place:
    match selector:
        case NameSelector():
            return str(selector.name)
        case IndexSelector():
            return Element(selector.index)
        case SliceSelector() if selector.slice.start:
            return Element(selector.slice.start)
        case Filter():
            return _Such(tuple(map(_field, _COMPARED.finditer(str(selector)))))
        case _:
            return Every()


def _field(compared: re.Match[str]) -> tuple[tuple[Step, ...], Any]:
    """A path below the element, and a value there that the comparison accepts."""
    steps = Attribute.parse("$" + compared["path"]).steps
    if compared["literal"] is None:  # it need only be there
        return steps, 1
    text = compared["literal"]
    literal = text[1:-1] if text[0] in "'\"" else json.loads(text)
    shift = {">": 1, "<": -1, "!=": 1}.get(compared["sign"], 0)
    if isinstance(literal, str):
        return steps, literal + "~" * shift
    return steps, literal if not shift else not literal if isinstance(
        literal, bool
    ) else literal + shift
