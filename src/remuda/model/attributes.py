"""Attributes: paths into an event."""

from __future__ import annotations

import re
from collections.abc import Sized
from dataclasses import dataclass, field
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
    """A path into an event; equal paths are equal however they were spelt."""

    steps: tuple[Step, ...]
    _only: str | None = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        for step in self.steps:
            if isinstance(step, str) and not step.isascii():
                checked_text(step, "a path")
        if sum(isinstance(step, Every) for step in self.steps) > MAX_WILDCARDS:
            raise InvalidCriterion(f"a path has {MAX_WILDCARDS} wildcards at most")
        only = self.steps[0] if len(self.steps) == 1 else None
        object.__setattr__(self, "_only", only if isinstance(only, str) else None)

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

    def resolve(self, event: Any) -> Any:
        """The raw value in the event; None where it is missing."""
        if self._only is not None:  # the common case, kept short
            return tidy(event.get(self._only)) if isinstance(event, dict) else None
        found = _walk(event, self.steps)
        return None if found is _ABSENT else tidy(found)

    def lack(self, event: Any) -> Lack | None:
        """Why the value is missing; None where it is not."""
        found = _walk(event, self.steps)
        if found is _ABSENT:
            return Lack.ABSENT
        if tidy(found) is not None:
            return None
        return Lack.EMPTY if isinstance(found, Sized) else Lack.NULL

    def __str__(self) -> str:
        return _text(self.steps)


@lru_cache(maxsize=65536)
def _parse(path: str) -> Attribute:
    if not isinstance(path, str) or not path.strip():
        raise InvalidCriterion("an attribute needs a path, such as age or $.user.age")
    text = path if path[0] == "$" else "$" + path if path[0] in "[." else "$." + path
    steps, at = [], 1
    while at < len(text):
        match = _STEP.match(text, at)
        if match is None:
            return Attribute((_query(path, text),))
        steps.append(_step(match))
        at = match.end()
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


def _walk(value: Any, steps: tuple[Step, ...]) -> Any:
    """The value at the end of `steps`, or _ABSENT; behind a wildcard, the list of those found."""
    for i, step in enumerate(steps):
        if isinstance(step, Every):
            rest, children = steps[i + 1 :], _children(value)
            if children is None:
                return _ABSENT
            found = [_walk(part, rest) for part in children]
            kept = [part for part in found if part is not _ABSENT]
            nested = any(isinstance(later, Every) for later in rest)
            return [inner for part in kept for inner in part] if nested else kept
        if isinstance(step, Query):
            found = follow(step.text, value)
            return _ABSENT if found is None else found
        value = _enter(value, step)
        if value is _ABSENT:
            return value
    return value


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
