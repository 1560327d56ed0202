"""Attributes: paths into an event."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sized
from dataclasses import dataclass, field, replace
from enum import Enum
from functools import lru_cache
from typing import Any

from remuda.errors import InvalidCriterion
from remuda.model.jsonpaths import check, follow
from remuda.model.values import checked_text, tidy

MAX_WILDCARDS = 32  # `[*]` in one path: each is a level of recursion

_STEP = re.compile(
    r"""
      (?P<every>\.\*|\[\*\])
    | \[(?P<index>-?\d{1,18})\]
    | \['(?P<single>(?:[^'\\]|\\.)*)'\]
    | \["(?P<double>(?:[^"\\]|\\.)*)"\]
    | \.(?P<name>[^.\[\]*]+)
    """,
    re.VERBOSE,
)
_BARE = re.compile(r"[^\W\d]\w*")
_ESCAPED = re.compile(r"\\(.)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Element:
    """A step to one element of a list, from the end where it is negative."""

    at: int


@dataclass(frozen=True, slots=True)
class Digits:
    """A step written `.0`: an element of a list, or the name in an object."""

    text: str


@dataclass(frozen=True, slots=True)
class Every:
    """The step `[*]`: all elements of a list, or all values of an object."""


@dataclass(frozen=True, slots=True)
class Query:
    """A whole path beyond plain steps, in RFC 9535's language."""

    text: str


class Lack(Enum):
    """Why an event says nothing about an attribute: what `missing` does not tell apart."""

    ABSENT = "absent"  # the path is not there; one that leads through null is not
    NULL = "null"
    EMPTY = "an empty list"


Step = str | Element | Digits | Every | Query
_ABSENT = object()


@dataclass(frozen=True, slots=True)
class Attribute:
    """A path into an event; equal paths are equal however they were spelt.

    With `walk`, a name walks through a list of objects and collects what each has there. With
    `empty`, a list without elements is a value; elsewhere it is missing.
    """

    steps: tuple[Step, ...]
    walk: bool = False
    empty: bool = False
    _only: str | None = field(init=False, repr=False, compare=False)
    _hash: int = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        for step in self.steps:
            if isinstance(step, str) and not step.isascii():
                checked_text(step, "a path")
        if sum(isinstance(step, Every) for step in self.steps) > MAX_WILDCARDS:
            raise InvalidCriterion(f"a path has {MAX_WILDCARDS} wildcards at most")
        only = self.steps[0] if len(self.steps) == 1 and not self.empty else None
        object.__setattr__(self, "_only", only if isinstance(only, str) else None)
        object.__setattr__(self, "_hash", hash((self.steps, self.walk, self.empty)))

    def __hash__(self) -> int:
        return self._hash

    @staticmethod
    def parse(path: str) -> Attribute:
        """Read a path, bare or beginning with `$`."""
        return _parse(path)

    @property
    def field(self) -> str | None:
        """The field of an event that the path enters; None where it looks at more than one."""
        first = self.steps[0] if self.steps else None
        name = first.text if isinstance(first, Digits) else first
        return name if isinstance(name, str) else None

    @property
    def is_field(self) -> bool:
        """Whether it is a field of the event, and no more is to be looked at."""
        return self._only is not None

    @property
    def names(self) -> list[str]:
        """The names on the path."""
        texts = (one.text if isinstance(one, Digits) else one for one in self.steps)
        return [one for one in texts if isinstance(one, str)]

    @property
    def path(self) -> Attribute:
        """The same path, however it is looked at."""
        return replace(self, walk=False, empty=False) if self.walk or self.empty else self

    def resolve(self, event: Any) -> Any:
        """The raw value in the event; None where it is missing."""
        if self._only is not None and isinstance(event, dict):  # the common case, kept short
            return tidy(event.get(self._only))
        if isinstance(event, Known):
            return event.value_of(self)
        found = _walk(event, self.steps, self.walk)
        if found is _ABSENT:
            return None
        value = tidy(found)
        return [] if value is None and self.empty and isinstance(found, Sized) else value

    def lack(self, event: Any) -> Lack | None:
        """Why the value is missing; None where it is not."""
        if isinstance(event, Known):
            return event.lack_of(self)
        found = _walk(event, self.steps, self.walk)
        if found is _ABSENT:
            return Lack.ABSENT
        if tidy(found) is not None:
            return None
        if not isinstance(found, Sized):
            return Lack.NULL
        return None if self.empty else Lack.EMPTY

    def __str__(self) -> str:
        return _text(self.steps)


@dataclass(frozen=True, slots=True)
class Known:
    """An event of which the values of attributes are known; a Lack says that one is missing.

    What is not among them is `beyond`.
    """

    values: Mapping[Attribute, Any]
    beyond: Any = None

    def value_of(self, attribute: Attribute) -> Any:
        if attribute not in self.values:
            return attribute.resolve(self.beyond)
        value = self.values[attribute]
        return None if isinstance(value, Lack) else value

    def lack_of(self, attribute: Attribute) -> Lack | None:
        if attribute not in self.values:
            return attribute.lack(self.beyond)
        value = self.values[attribute]
        return Lack.NULL if value is None else value if isinstance(value, Lack) else None


@lru_cache(maxsize=65536)
def _parse(path: str) -> Attribute:
    if not isinstance(path, str) or not path.strip():
        raise InvalidCriterion("an attribute needs a path, such as age or $.user.age")
    text = path if path[0] == "$" else "$" + path if path[0] in "[." else "$." + path
    steps, offset = [], 1
    while offset < len(text):
        match = _STEP.match(text, offset)
        if match is None:
            return Attribute((_query(path, text),))
        steps.append(_step(match))
        offset = match.end()
    return Attribute(tuple(steps))


def _step(match: re.Match[str]) -> Step:
    if match["every"]:
        return Every()
    if match["index"]:
        return Element(int(match["index"]))
    if match["name"]:
        digits = match["name"].isdecimal() and len(match["name"]) <= 18
        return Digits(match["name"]) if digits else match["name"]
    quoted = match["single"] if match["single"] is not None else match["double"]
    return _ESCAPED.sub(r"\1", quoted)


def _query(path: str, text: str) -> Query:
    checked_text(path, "a path")
    try:
        check(text)
    except ValueError as error:
        raise InvalidCriterion(f"the path {path!r} is not a JSONPath: {error}") from None
    return Query(text)


def _walk(value: Any, steps: tuple[Step, ...], walk: bool) -> Any:
    """The value at the end of `steps`, or _ABSENT; behind a wildcard, the list of those found."""
    for i, step in enumerate(steps):
        if isinstance(step, Every):
            rest, children = steps[i + 1 :], _children(value)
            if children is None:
                return _ABSENT
            values = [_walk(part, rest, walk) for part in children]
            kept = [part for part in values if part is not _ABSENT]
            nested = any(isinstance(later, Every) for later in rest)
            return [inner for part in kept for inner in part] if nested else kept
        if isinstance(step, Query):
            values = follow(step.text, value)
            return _ABSENT if values is None else values
        value = _collected(value, step) if walk else _enter(value, step)
        if value is _ABSENT:
            return value
    return value


def _collected(value: Any, step: str | Element | Digits) -> Any:
    """What a step leads to; of a list of objects, what each of them has under the name."""
    elements = None if isinstance(value, dict) or not isinstance(step, str) else _elements(value)
    if elements is None:
        return _enter(value, step)
    if elements and not any(one is None or isinstance(one, dict) for one in elements):
        return _ABSENT
    return [one.get(step) if isinstance(one, dict) else None for one in elements]


def _enter(value: Any, step: str | Element | Digits) -> Any:
    if isinstance(value, dict):
        name = step.text if isinstance(step, Digits) else step
        return value.get(name, _ABSENT) if isinstance(name, str) else _ABSENT
    if isinstance(step, str):
        return _ABSENT
    elements = _elements(value) or ()
    at = step.at if isinstance(step, Element) else int(step.text)
    return elements[at] if -len(elements) <= at < len(elements) else _ABSENT


def _children(value: Any) -> list[Any] | None:
    return list(value.values()) if isinstance(value, dict) else _elements(value)


def _elements(value: Any) -> list[Any] | None:
    """The elements of a list, none where it is empty; None where it is no list."""
    plain = tidy(value)  # a tuple or an array is the list that it stands for
    if isinstance(plain, list):
        return plain
    return [] if plain is None and isinstance(value, Sized) else None


@lru_cache(maxsize=65536)
def _text(steps: tuple[Step, ...]) -> str:
    text = "".join(map(_step_text, steps))
    if isinstance(steps[0] if steps else None, Query):
        return text
    return text[1:] if text.startswith(".") and text != ".*" else "$" + text


def _step_text(step: Step) -> str:
    if isinstance(step, Every):
        return "[*]"
    if isinstance(step, Element):
        return f"[{step.at}]"
    if isinstance(step, Digits):
        return f".{step.text}"
    if isinstance(step, Query):
        return step.text
    if _BARE.fullmatch(step):
        return f".{step}"
    escaped = step.replace("\\", "\\\\").replace("'", "\\'")
    return f"['{escaped}']"
