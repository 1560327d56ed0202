"""Conditions: what a predicate asks of the values of its attribute.

Most look at one value at a time, and a list satisfies them by any of its elements; Related,
AnyElement, EveryElement, Exists and Missing look at the list itself. None of them accepts a
missing value, but Missing; NullValue and Absent see why it is missing instead.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from remuda.errors import InvalidCriterion
from remuda.model.attributes import Lack
from remuda.model.demands import Demand, demands_of
from remuda.model.hierarchies import Hierarchy
from remuda.model.java_patterns import re2_of
from remuda.model.networks import Block, is_inside, joined, network_of, place_of
from remuda.model.patterns import (
    SURELY_SMALL,
    check_size,
    closed,
    finds,
    found_anywhere,
    like_regex,
    literal_regex,
    matches_whole,
    of_whole,
)
from remuda.model.quoted import Moment, Quoted, keys, readings
from remuda.model.semver import SemVerKey, semver_key
from remuda.model.values import Kind, Ordered, checked, checked_text, is_text, key, ordered, whole
from remuda.model.versions import VersionKey, version_key


@dataclass(frozen=True, slots=True)
class In:
    """The value is one of `values`, or of the readings of those that are quoted."""

    values: tuple[Any, ...] = field(compare=False)
    keys: frozenset[Hashable] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        _set_keys(self)

    @property
    def plain_values(self) -> tuple[Any, ...]:
        """The values, each reading of a quoted one by itself."""
        return tuple(one for value in self.values for one in readings(value))

    def accepts(self, value: Any) -> bool:
        kind = type(value)
        if kind is str or kind is int:
            return value in self.keys
        return value is not None and key(value) in self.keys


@dataclass(frozen=True, slots=True)
class Range:
    """The value lies between bounds of its own kind; an absent bound is unbounded."""

    lower: Ordered | None = field(default=None, compare=False)
    upper: Ordered | None = field(default=None, compare=False)
    lower_closed: bool = False
    upper_closed: bool = False
    kind: Kind = field(init=False, repr=False)
    bounds: tuple[Any, Any] = field(init=False, repr=False)  # comparable, None where absent

    def __post_init__(self) -> None:
        lower, upper = _bound(self.lower), _bound(self.upper)
        if lower and upper and lower[0] is not upper[0]:
            raise InvalidCriterion(
                f"the bounds {self.lower!r} and {self.upper!r} are of different kinds"
            )
        known = lower or upper
        object.__setattr__(self, "kind", known[0] if known else Kind.NUMBER)
        object.__setattr__(self, "bounds", (lower and lower[1], upper and upper[1]))
        if self.lower_closed and lower is None:
            object.__setattr__(self, "lower_closed", False)
        if self.upper_closed and upper is None:
            object.__setattr__(self, "upper_closed", False)

    def accepts(self, value: Any) -> bool:
        if type(value) is not int or self.kind is not Kind.NUMBER:
            found = ordered(value)
            if found is None or found[0] is not self.kind:
                return False
            value = found[1]
        lower, upper = self.bounds
        if lower is not None and not (lower < value or (self.lower_closed and lower == value)):
            return False
        return upper is None or value < upper or (self.upper_closed and value == upper)


@dataclass(frozen=True, slots=True)
class QuotedRange:
    """The value lies between bounds of which some are quoted: read as the value's kind needs."""

    lower: Any = field(default=None, compare=False)
    upper: Any = field(default=None, compare=False)
    lower_closed: bool = field(default=False, compare=False)
    upper_closed: bool = field(default=False, compare=False)
    ranges: tuple[Range, ...] = field(init=False, repr=False)  # one a kind, for some kinds

    def __post_init__(self) -> None:
        found = (self._range(kind) for kind in Kind)
        object.__setattr__(self, "ranges", tuple(one for one in found if one is not None))

    def accepts(self, value: Any) -> bool:
        return any(one.accepts(value) for one in self.ranges)

    def _range(self, kind: Kind) -> Range | None:
        lower = _read_bound(self.lower, kind, True, self.lower_closed)
        upper = _read_bound(self.upper, kind, False, self.upper_closed)
        if lower is None or upper is None:
            return None
        return Range(lower[0], upper[0], lower[1], upper[1])


Bounded = Range | QuotedRange


def range_of(
    lower: Any, upper: Any, lower_closed: bool = False, upper_closed: bool = False
) -> Bounded:
    """The range between bounds that are plain or quoted."""
    is_quoted = isinstance(lower, Quoted | Moment) or isinstance(upper, Quoted | Moment)
    return (QuotedRange if is_quoted else Range)(lower, upper, lower_closed, upper_closed)


@dataclass(frozen=True, slots=True)
class Regex:
    """The whole string matches the regular expression; with `find`, some part of it does.

    `java` is how it was written, where it was written for Java.
    """

    pattern: str
    find: bool = False
    java: str | None = field(default=None, compare=False)

    @staticmethod
    def of_java(pattern: str) -> Regex:
        """What Java finds with the pattern."""
        return Regex(re2_of(_text(pattern, "a pattern")), True, pattern)

    def __post_init__(self) -> None:
        _text(self.pattern, "a pattern")
        object.__setattr__(self, "pattern", closed(self.pattern))
        check_size(self.pattern)

    @property
    def whole_pattern(self) -> str:
        """An equivalent pattern over whole strings."""
        return found_anywhere(self.pattern) if self.find else self.pattern

    @property
    def found_pattern(self) -> str:
        """An equivalent pattern that is found in some part of a string."""
        return self.pattern if self.find else of_whole(self.pattern)

    @property
    def demands(self) -> list[Demand]:
        """What a text must have: one of these."""
        return demands_of(self.pattern, find=self.find)

    def accepts(self, value: Any) -> bool:
        if not isinstance(value, str):
            return False
        return (finds if self.find else matches_whole)(self.pattern, value)


@dataclass(frozen=True, slots=True)
class Version:
    """The string is a version above (or below) `base`, or equal to it unless `strict`."""

    base: str
    above: bool
    strict: bool = False
    key: VersionKey = field(init=False, repr=False, compare=False)  # of the base

    def __post_init__(self) -> None:
        object.__setattr__(self, "key", version_key(_text(self.base, "a base version")))

    def accepts(self, value: Any) -> bool:
        if not isinstance(value, str) or not is_text(value):
            return False
        order = self.key.compare(version_key(value))
        return (order < 0) is self.above if order else not self.strict


class Comparison(StrEnum):
    """How a version stands to another."""

    BELOW = "<"
    AT_MOST = "<="
    EQUAL = "="
    AT_LEAST = ">="
    ABOVE = ">"


_COMPARES: dict[Comparison, Callable[[Any, Any], bool]] = {
    Comparison.BELOW: operator.lt,
    Comparison.AT_MOST: operator.le,
    Comparison.EQUAL: operator.eq,
    Comparison.AT_LEAST: operator.ge,
    Comparison.ABOVE: operator.gt,
}


@dataclass(frozen=True, slots=True)
class SemVer:
    """The string is a version of SemVer 2.0.0 that compares so with `base`.

    With `parts`, missing parts are 0; with `v`, a leading v is read: in the base and in values.
    """

    base: str
    operator: Comparison
    parts: bool = False
    v: bool = False
    key: SemVerKey = field(init=False, repr=False, compare=False)  # of the base

    def __post_init__(self) -> None:
        object.__setattr__(self, "operator", Comparison(self.operator))
        key = self.read(_text(self.base, "a base version"))
        if key is None:
            raise InvalidCriterion(f"{self.base!r} is no SemVer, such as 1.2.0-beta.1")
        object.__setattr__(self, "key", key)

    @property
    def reading(self) -> SemVer:
        """What stands for all that read values so."""
        return SemVer("0.0.0", Comparison.EQUAL, self.parts, self.v)

    def read(self, value: Any) -> SemVerKey | None:
        """The version that a value is; None where it is none."""
        return semver_key(value, parts=self.parts, v=self.v) if isinstance(value, str) else None

    def accepts(self, value: Any) -> bool:
        key = self.read(value)
        return key is not None and _COMPARES[self.operator](key, self.key)


@dataclass(frozen=True, slots=True)
class Network:
    """The string is an address of IPv4 or IPv6 in one of the networks."""

    networks: tuple[str, ...] = field(compare=False)
    blocks: tuple[Block, ...] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        found = dict(network_of(_text(one, "a network")) for one in self.networks)
        object.__setattr__(self, "networks", tuple(found))
        object.__setattr__(self, "blocks", joined(found.values()))

    def accepts(self, value: Any) -> bool:
        place = place_of(value)
        return place is not None and is_inside(self.blocks, place)


@dataclass(frozen=True, slots=True)
class Under:
    """The value is the node of the tree of that name, or beneath it.

    Written down it has the name alone; it is asked once it is bound to the `hierarchy` itself.
    """

    tree: str
    node: Any
    hierarchy: Hierarchy | None = None
    span: tuple[int, int] | None = field(init=False, repr=False, compare=False)  # None: not bound

    def __post_init__(self) -> None:
        _text(self.tree, "the name of a tree")
        plain = whole(self.node)
        if isinstance(plain, str):
            checked_text(plain, "a node")
        elif isinstance(plain, bool) or not isinstance(plain, int):
            raise InvalidCriterion(f"a node of a tree is a text or an integer, not {self.node!r}")
        object.__setattr__(self, "node", plain)
        span = None if self.hierarchy is None else self.hierarchy.span_of(plain)
        if self.hierarchy is not None and span is None:
            raise InvalidCriterion(f"the tree {self.tree!r} has no node {plain!r}")
        object.__setattr__(self, "span", span)

    @property
    def known(self) -> Hierarchy:
        """The tree that it is bound to."""
        if self.hierarchy is None:
            reason = f"the tree {self.tree!r} is not known here"
            raise InvalidCriterion(f"{reason}: give hierarchies={{{self.tree!r}: …}}")
        return self.hierarchy

    @property
    def reading(self) -> Under:
        """What stands for all that ask the same tree."""
        return Under(self.tree, self.known.order[0], self.known)

    def accepts(self, value: Any) -> bool:
        place = self.known.place_of(value)
        return place is not None and self.span is not None and self.span[0] <= place <= self.span[1]


@dataclass(frozen=True, slots=True)
class Like:
    """The whole string fits SQL's LIKE pattern: `%` any text, `_` any one character."""

    pattern: str
    escape: str = "\\"
    whole_pattern: str = field(init=False, repr=False, compare=False)  # of RE2's, saying the same

    def __post_init__(self) -> None:
        _text(self.pattern, "a LIKE pattern")
        if len(_text(self.escape, "an escape character")) != 1 or self.escape in "%_":
            raise InvalidCriterion("LIKE's escape is one character, neither % nor _")
        object.__setattr__(self, "whole_pattern", like_regex(self.pattern, self.escape))
        if len(self.pattern) > SURELY_SMALL:
            check_size(self.whole_pattern)

    @property
    def found_pattern(self) -> str:
        """The same to be found in some part of a string."""
        return of_whole(self.whole_pattern)

    @property
    def demands(self) -> list[Demand]:
        """What a text must have: one of these."""
        return demands_of(self.whole_pattern)

    def accepts(self, value: Any) -> bool:
        return isinstance(value, str) and matches_whole(self.whole_pattern, value)


@dataclass(frozen=True, slots=True)
class Prefix:
    """The string begins with `text`."""

    text: str

    def __post_init__(self) -> None:
        _text(self.text, "a prefix")

    def accepts(self, value: Any) -> bool:
        return isinstance(value, str) and value.startswith(self.text) and is_text(value)


@dataclass(frozen=True, slots=True)
class Suffix:
    """The string ends with `text`."""

    text: str

    def __post_init__(self) -> None:
        _text(self.text, "a suffix")
        if len(self.text) > SURELY_SMALL:
            check_size(self.whole_pattern)

    @property
    def whole_pattern(self) -> str:
        """A pattern of RE2's that says the same."""
        return f"(?s:.*){literal_regex(self.text)}"

    @property
    def demands(self) -> list[Demand]:
        """What a text must have."""
        return [Demand((self.text,), at_end=True, exact=True)]

    def accepts(self, value: Any) -> bool:
        return isinstance(value, str) and value.endswith(self.text) and is_text(value)


@dataclass(frozen=True, slots=True)
class Contains:
    """The string has `text` somewhere in it."""

    text: str

    def __post_init__(self) -> None:
        _text(self.text, "a text to find")
        if len(self.text) > SURELY_SMALL:
            check_size(self.whole_pattern)

    @property
    def whole_pattern(self) -> str:
        """A pattern of RE2's that says the same."""
        return f"(?s:.*){literal_regex(self.text)}(?s:.*)"

    @property
    def demands(self) -> list[Demand]:
        """What a text must have."""
        return [Demand((self.text,), exact=True)]

    def accepts(self, value: Any) -> bool:
        return isinstance(value, str) and self.text in value and is_text(value)


class Relation(StrEnum):
    """How the list of the event stands to the set of the criterion."""

    SUBSET = "subset"
    SUPERSET = "superset"
    EQUALSET = "equalset"
    OVERLAPS = "overlaps"


@dataclass(frozen=True, slots=True)
class Related:
    """The list, as a set, stands in `relation` to `values`; a scalar is no list.

    Quoted values are for OVERLAPS alone, for which each of their readings is one value more.
    """

    relation: Relation
    values: tuple[Any, ...] = field(compare=False)
    keys: frozenset[Hashable] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        _set_keys(self)
        if self.relation is not Relation.OVERLAPS:
            for value in self.values:
                if isinstance(value, Quoted | Moment):
                    raise InvalidCriterion(f"{value!r} has several readings, which a set cannot")

    @property
    def plain_values(self) -> tuple[Any, ...]:
        """The values, each reading of a quoted one by itself."""
        return tuple(one for value in self.values for one in readings(value))

    def accepts(self, value: Any) -> bool:
        if not isinstance(value, list):
            return False
        elements = set(map(key, value))
        match self.relation:
            case Relation.SUBSET:
                return elements <= self.keys
            case Relation.SUPERSET:
                return elements >= self.keys
            case Relation.EQUALSET:
                return elements == self.keys
            case Relation.OVERLAPS:
                return not elements.isdisjoint(self.keys)


@dataclass(frozen=True, slots=True)
class AnyElement:
    """Some element of the list satisfies the expression, whose attributes are the element's."""

    expression: Any

    def accepts(self, value: Any, now: int = 0) -> bool:
        return isinstance(value, list) and any(self.expression.truth(one, now) for one in value)


@dataclass(frozen=True, slots=True)
class EveryElement:
    """Every element of the list satisfies the expression, whose attributes are the element's."""

    expression: Any

    def accepts(self, value: Any, now: int = 0) -> bool:
        return isinstance(value, list) and all(self.expression.truth(one, now) for one in value)


@dataclass(frozen=True, slots=True)
class Exists:
    """There is a value."""

    def accepts(self, value: Any) -> bool:
        return value is not None


@dataclass(frozen=True, slots=True)
class Missing:
    """There is no value."""

    def accepts(self, value: Any) -> bool:
        return value is None


@dataclass(frozen=True, slots=True)
class NullValue:
    """The path is there, and its value is null."""

    def accepts(self, value: Any) -> bool:
        return value is Lack.NULL


@dataclass(frozen=True, slots=True)
class Absent:
    """The path is not there."""

    def accepts(self, value: Any) -> bool:
        return value is Lack.ABSENT


Condition = (
    In | Range | QuotedRange | Regex | Version | SemVer | Network | Under | Like | Prefix
    | Suffix | Contains | Related | AnyElement | EveryElement | Exists | Missing | NullValue
    | Absent
)  # fmt: skip
OF_ELEMENTS = frozenset({AnyElement, EveryElement})  # these have an expression of their own
WHOLE = OF_ELEMENTS | {Related, Exists, Missing, NullValue, Absent}
OF_LACK = frozenset({NullValue, Absent})  # these are given the lack of a missing value
TWO_VALUED = OF_LACK | {Exists, Missing}
_QUOTED = frozenset({Quoted, Moment})


def satisfies(condition: Condition, value: Any, now: int = 0) -> bool:
    """Whether the value of a term satisfies the condition."""
    if type(value) is list and type(condition) not in WHOLE:
        return any(map(condition.accepts, value))
    if isinstance(condition, AnyElement | EveryElement):
        return condition.accepts(value, now)
    return condition.accepts(value)


def operands(values: Iterable[Any]) -> tuple[Any, ...]:
    """The values, checked, each once, in their order."""
    return tuple(_by_key(values).values())


def _set_keys(condition: In | Related) -> None:
    by_key = _by_key(condition.values)
    object.__setattr__(condition, "values", tuple(by_key.values()))
    found = frozenset(by_key)
    if not _QUOTED.isdisjoint(map(type, by_key)):
        found = frozenset(one for value in condition.values for one in keys(value))
    object.__setattr__(condition, "keys", found)


def _by_key(values: Iterable[Any]) -> dict[Hashable, Any]:
    by_key = {}
    for value in values:
        kind = type(value)
        if kind is int or (kind is str and value.isascii()):
            by_key[value] = value  # the common case: its own key, and always comparable
        elif kind in _QUOTED:
            by_key[value] = value
        else:
            by_key[key(value)] = checked(value)
    return by_key


def _read_bound(value: Any, kind: Kind, lower: bool, closed: bool) -> tuple[Any, bool] | None:
    """What the bound is for values of this kind, and whether it is closed; None: for none."""
    if value is None:
        return None, False
    if isinstance(value, Quoted | Moment):
        return value.bound(kind, lower, closed)
    found = _bound(value)
    return (value, closed) if found is not None and found[0] is kind else None


def _bound(value: Any) -> tuple[Kind, Ordered] | None:
    if value is None:
        return None
    if isinstance(value, str):
        checked_text(value, "a bound")
    found = ordered(whole(value))
    if found is None:
        raise InvalidCriterion(f"{value!r} has no order, so it bounds no range")
    return found


def _text(value: Any, what: str) -> str:
    if not isinstance(value, str):
        raise InvalidCriterion(f"{what} is a string, not {value!r}")
    return checked_text(value, what)
