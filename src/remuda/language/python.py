"""The Python form: `attr("age").between(18, 35) & ~attr("platform").eq("ios")`."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from remuda.model.attributes import Attribute
from remuda.model.calendars import Extract
from remuda.model.conditions import (
    Absent,
    Comparison,
    Condition,
    Contains,
    Exists,
    In,
    Like,
    Missing,
    Network,
    NullValue,
    Prefix,
    Range,
    Regex,
    Related,
    Relation,
    SemVer,
    Suffix,
    Version,
)
from remuda.model.expressions import Polarity, Predicate
from remuda.model.operations import (
    Arithmetic,
    BinaryConversion,
    Calculate,
    DateTime,
    Divide,
    Integral,
    Length,
    Operation,
    Size,
    Substring,
    ToDateTime,
)
from remuda.model.values import Number, Ordered


def attr(path: str) -> Attr:
    """An attribute to make predicates of."""
    return Attr(Attribute.parse(path))


@dataclass(frozen=True, slots=True, eq=False)
class Attr:
    """An attribute with its pre-operations so far; its comparisons are predicates."""

    attribute: Attribute
    operations: tuple[Operation, ...] = ()

    __hash__ = None  # type: ignore[assignment]

    def isin(self, *values: Any) -> Predicate:
        """The value is one of these."""
        return self._predicate(In(values))

    def eq(self, value: Any) -> Predicate:
        """The value is this one."""
        return self.isin(value)

    def between(self, lower: Ordered, upper: Ordered) -> Predicate:
        """The value lies between both bounds, or is one of them."""
        return self._predicate(Range(lower, upper, True, True))

    def within(
        self,
        lower: Ordered | None = None,
        upper: Ordered | None = None,
        *,
        lower_closed: bool = False,
        upper_closed: bool = False,
    ) -> Predicate:
        """The value lies between bounds, each open, closed or absent."""
        return self._predicate(Range(lower, upper, lower_closed, upper_closed))

    def matches(self, pattern: str) -> Predicate:
        """The whole string matches the regular expression."""
        return self._predicate(Regex(pattern))

    def finds(self, pattern: str) -> Predicate:
        """Some part of the string matches the regular expression."""
        return self._predicate(Regex(pattern, find=True))

    def like(self, pattern: str, escape: str = "\\") -> Predicate:
        """The whole string fits SQL's LIKE pattern."""
        return self._predicate(Like(pattern, escape))

    def prefix(self, text: str) -> Predicate:
        """The string begins so."""
        return self._predicate(Prefix(text))

    def suffix(self, text: str) -> Predicate:
        """The string ends so."""
        return self._predicate(Suffix(text))

    def contains(self, text: str) -> Predicate:
        """The string has this somewhere in it."""
        return self._predicate(Contains(text))

    def subset(self, *values: Any) -> Predicate:
        """Every element of the list is one of these."""
        return self._predicate(Related(Relation.SUBSET, values))

    def superset(self, *values: Any) -> Predicate:
        """Every one of these is an element of the list."""
        return self._predicate(Related(Relation.SUPERSET, values))

    def equalset(self, *values: Any) -> Predicate:
        """The list has these elements and no others."""
        return self._predicate(Related(Relation.EQUALSET, values))

    def overlaps(self, *values: Any) -> Predicate:
        """The list shares an element with these."""
        return self._predicate(Related(Relation.OVERLAPS, values))

    def exists(self) -> Predicate:
        """There is a value."""
        return self._predicate(Exists())

    def missing(self) -> Predicate:
        """There is no value."""
        return self._predicate(Missing())

    def is_null_value(self) -> Predicate:
        """The path is there, and its value is null."""
        return self._predicate(NullValue())

    def is_absent(self) -> Predicate:
        """The path is not there; one that leads through null is not."""
        return self._predicate(Absent())

    def version(self) -> VersionAttr:
        """The string as a version: `attr("app").version() >= "3.2.0"`."""
        return VersionAttr(self)

    def semver(self, *, parts: bool = False, v: bool = False) -> SemVerAttr:
        """The string as a version of SemVer 2.0.0: `attr("app").semver() >= "1.2.0-beta.1"`.

        With `parts`, missing parts are 0; with `v`, a leading v is read.
        """
        return SemVerAttr(self, parts, v)

    def in_network(self, *networks: str) -> Predicate:
        """The string is an address in one of these: `attr("ip").in_network("10.0.0.0/8")`."""
        return self._predicate(Network(networks))

    def add(self, rhs: Number) -> Attr:
        """The number and `rhs` together, exactly."""
        return self._after(Calculate(Arithmetic.ADDITION, rhs))

    def subtract(self, rhs: Number) -> Attr:
        """The number less `rhs`, exactly."""
        return self._after(Calculate(Arithmetic.SUBTRACTION, rhs))

    def multiply(self, rhs: Number) -> Attr:
        """The number times `rhs`, exactly."""
        return self._after(Calculate(Arithmetic.MULTIPLICATION, rhs))

    def divide(self, rhs: int) -> Attr:
        """The integer divided by `rhs`, truncated toward zero."""
        return self._after(Divide(Integral.DIVISION, rhs))

    def modulo(self, rhs: int) -> Attr:
        """What division by `rhs` leaves, with the sign of the dividend."""
        return self._after(Divide(Integral.MODULO, rhs))

    def binary(self) -> Attr:
        """The integer's 32 bits as text."""
        return self._after(BinaryConversion())

    def length(self) -> Attr:
        """How many characters the string has."""
        return self._after(Length())

    def size(self) -> Attr:
        """How many elements the list has."""
        return self._after(Size())

    def substring(self, begin: int, end: int | None = None) -> Attr:
        """The characters from `begin` up to `end`."""
        return self._after(Substring(begin, end))

    def datetime(self, extract: Extract | str, *, zone: str = "UTC") -> Attr:
        """One field of the moment, by Mustang's name: `YEAR`, `HOUR_OF_DAY` …"""
        return self._after(DateTime(Extract(extract), zone))

    def to_datetime(self, format: str | None = None) -> Attr:
        """The text as milliseconds since 1970, by a pattern of Java's DateTimeFormatter."""
        return self._after(ToDateTime(format))

    def __eq__(self, value: object) -> Predicate:  # type: ignore[override]
        return self.isin(value)

    def __ne__(self, value: object) -> Predicate:  # type: ignore[override]
        return self.isin(value).with_polarity(Polarity.EXCLUDED)

    def __lt__(self, value: Ordered) -> Predicate:
        return self.within(upper=value)

    def __le__(self, value: Ordered) -> Predicate:
        return self.within(upper=value, upper_closed=True)

    def __gt__(self, value: Ordered) -> Predicate:
        return self.within(lower=value)

    def __ge__(self, value: Ordered) -> Predicate:
        return self.within(lower=value, lower_closed=True)

    __add__, __sub__, __mul__, __floordiv__, __mod__ = add, subtract, multiply, divide, modulo

    def _predicate(self, condition: Condition) -> Predicate:
        return Predicate(self.attribute, condition, self.operations)

    def _after(self, operation: Operation) -> Attr:
        return replace(self, operations=(*self.operations, operation))


@dataclass(frozen=True, slots=True)
class VersionAttr:
    """An attribute looked at as a version."""

    attr: Attr

    def __lt__(self, base: str) -> Predicate:
        return self._predicate(base, above=False, strict=True)

    def __le__(self, base: str) -> Predicate:
        return self._predicate(base, above=False, strict=False)

    def __gt__(self, base: str) -> Predicate:
        return self._predicate(base, above=True, strict=True)

    def __ge__(self, base: str) -> Predicate:
        return self._predicate(base, above=True, strict=False)

    def _predicate(self, base: str, *, above: bool, strict: bool) -> Predicate:
        return self.attr._predicate(Version(base, above, strict))


@dataclass(frozen=True, slots=True, eq=False)
class SemVerAttr:
    """An attribute looked at as a version of SemVer 2.0.0."""

    attr: Attr
    parts: bool = False
    v: bool = False

    __hash__ = None  # type: ignore[assignment]

    def __eq__(self, base: object) -> Predicate:  # type: ignore[override]
        return self._predicate(base, Comparison.EQUAL)

    def __ne__(self, base: object) -> Predicate:  # type: ignore[override]
        return self._predicate(base, Comparison.EQUAL).with_polarity(Polarity.EXCLUDED)

    def __lt__(self, base: str) -> Predicate:
        return self._predicate(base, Comparison.BELOW)

    def __le__(self, base: str) -> Predicate:
        return self._predicate(base, Comparison.AT_MOST)

    def __gt__(self, base: str) -> Predicate:
        return self._predicate(base, Comparison.ABOVE)

    def __ge__(self, base: str) -> Predicate:
        return self._predicate(base, Comparison.AT_LEAST)

    def _predicate(self, base: Any, operator: Comparison) -> Predicate:
        return self.attr._predicate(SemVer(base, operator, self.parts, self.v))
