"""The Python form: `attr("age").between(18, 35) & ~attr("platform").eq("ios")`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from remuda.model import conditions, operations
from remuda.model.attributes import Attribute, Element
from remuda.model.calendars import Extract
from remuda.model.expressions import Expression, Polarity, Predicate
from remuda.model.functions import ABOVE, BELOW, EQUAL, FUNCTIONS
from remuda.model.terms import Applied, Call, Case, Literal, Term, root_of
from remuda.model.values import Number, Ordered


def attr(path: str) -> Attr:
    """An attribute to make predicates of."""
    return Attr(Attribute.parse(path))


@dataclass(frozen=True, slots=True, eq=False)
class Attr:
    """An attribute, or a function of some; its comparisons are predicates."""

    term: Term

    __hash__ = None  # type: ignore[assignment]

    def isin(self, *values: Any) -> Predicate:
        """The value is one of these."""
        return self._predicate(conditions.In(values))

    def eq(self, value: Any) -> Predicate:
        """The value is this one."""
        return self.isin(value)

    def between(self, lower: Ordered, upper: Ordered) -> Predicate:
        """The value lies between both bounds, or is one of them."""
        return self._predicate(conditions.Range(lower, upper, True, True))

    def within(
        self,
        lower: Ordered | None = None,
        upper: Ordered | None = None,
        *,
        lower_closed: bool = False,
        upper_closed: bool = False,
    ) -> Predicate:
        """The value lies between bounds, each open, closed or absent."""
        return self._predicate(conditions.Range(lower, upper, lower_closed, upper_closed))

    def matches(self, pattern: str) -> Predicate:
        """The whole string matches the regular expression."""
        return self._predicate(conditions.Regex(pattern))

    def finds(self, pattern: str) -> Predicate:
        """Some part of the string matches the regular expression."""
        return self._predicate(conditions.Regex(pattern, find=True))

    def like(self, pattern: str, escape: str = "\\") -> Predicate:
        """The whole string fits SQL's LIKE pattern."""
        return self._predicate(conditions.Like(pattern, escape))

    def prefix(self, text: str) -> Predicate:
        """The string begins so."""
        return self._predicate(conditions.Prefix(text))

    def suffix(self, text: str) -> Predicate:
        """The string ends so."""
        return self._predicate(conditions.Suffix(text))

    def contains(self, text: str) -> Predicate:
        """The string has this somewhere in it."""
        return self._predicate(conditions.Contains(text))

    def subset(self, *values: Any) -> Predicate:
        """Every element of the list is one of these."""
        return self._predicate(conditions.Related(conditions.Relation.SUBSET, values))

    def superset(self, *values: Any) -> Predicate:
        """Every one of these is an element of the list."""
        return self._predicate(conditions.Related(conditions.Relation.SUPERSET, values))

    def equalset(self, *values: Any) -> Predicate:
        """The list has these elements and no others."""
        return self._predicate(conditions.Related(conditions.Relation.EQUALSET, values))

    def overlaps(self, *values: Any) -> Predicate:
        """The list shares an element with these."""
        return self._predicate(conditions.Related(conditions.Relation.OVERLAPS, values))

    def any(self, asked: Callable[[Attr], Expression]) -> Predicate:
        """Some element of the list satisfies what is asked of it.

        `attr("items").any(lambda i: (i["sku"] == "A") & (i["qty"] > 2))`
        """
        return self._predicate(conditions.AnyElement(asked(_ELEMENT)))

    def every(self, asked: Callable[[Attr], Expression]) -> Predicate:
        """Every element of the list satisfies what is asked of it."""
        return self._predicate(conditions.EveryElement(asked(_ELEMENT)))

    def exists(self) -> Predicate:
        """There is a value."""
        return self._predicate(conditions.Exists())

    def missing(self) -> Predicate:
        """There is no value."""
        return self._predicate(conditions.Missing())

    def is_null_value(self) -> Predicate:
        """The path is there, and its value is null."""
        return self._predicate(conditions.NullValue())

    def is_absent(self) -> Predicate:
        """The path is not there; one that leads through null is not."""
        return self._predicate(conditions.Absent())

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
        return self._predicate(conditions.Network(networks))

    def under(self, tree: str, node: str | int) -> Predicate:
        """The value is that node of the tree, or beneath it: `attr("city").under("geo", "IN")`.

        The tree is given to the index: `Index.build(..., hierarchies={"geo": tree})`.
        """
        return self._predicate(conditions.Under(tree, node))

    def add(self, rhs: Number | Attr) -> Attr:
        """The number and `rhs` together: exactly where this is an attribute, else as Spark does."""
        return self._calculated(operations.Arithmetic.ADDITION, fn.add, rhs)

    def subtract(self, rhs: Number | Attr) -> Attr:
        """The number less `rhs`: exactly where this is an attribute, else as Spark does."""
        return self._calculated(operations.Arithmetic.SUBTRACTION, fn.subtract, rhs)

    def multiply(self, rhs: Number | Attr) -> Attr:
        """The number times `rhs`: exactly where this is an attribute, else as Spark does."""
        return self._calculated(operations.Arithmetic.MULTIPLICATION, fn.multiply, rhs)

    def divide(self, rhs: int | Attr) -> Attr:
        """The integer divided by `rhs`, truncated toward zero."""
        return self._calculated(operations.Integral.DIVISION, fn.div, rhs)

    def modulo(self, rhs: int | Attr) -> Attr:
        """What division by `rhs` leaves, with the sign of the dividend."""
        return self._calculated(operations.Integral.MODULO, fn.mod, rhs)

    def lower(self) -> Attr:
        """The text in lower case."""
        return fn.lower(self)

    def upper(self) -> Attr:
        """The text in upper case."""
        return fn.upper(self)

    def trim(self) -> Attr:
        """The text without spaces at its ends."""
        return fn.trim(self)

    def bucket(self, n: int, *, seed: str = "", hash: str = "murmur3") -> Attr:
        """Which of n buckets the value is in, from 0: `attr("user").bucket(100, seed="exp-1") < 5`.

        The hash is murmur3, fnv1a, sha1 or md5.
        """
        return fn.bucket(self, n, seed, hash)

    def binary(self) -> Attr:
        """The integer's 32 bits as text."""
        return self._after(operations.BinaryConversion())

    def length(self) -> Attr:
        """How many characters the string has."""
        return self._after(operations.Length())

    def size(self) -> Attr:
        """How many elements the list has."""
        return self._after(operations.Size())

    def substring(self, begin: int, end: int | None = None) -> Attr:
        """The characters from `begin` up to `end`."""
        return self._after(operations.Substring(begin, end))

    def datetime(self, extract: Extract | str, *, zone: str = "UTC") -> Attr:
        """One field of the moment, by Mustang's name: `YEAR`, `HOUR_OF_DAY` …"""
        return self._after(operations.DateTime(Extract(extract), zone))

    def to_datetime(self, format: str | None = None) -> Attr:
        """The text as milliseconds since 1970, by a pattern of Java's DateTimeFormatter."""
        return self._after(operations.ToDateTime(format))

    def __getitem__(self, step: str | int) -> Attr:
        """What is under a name, or at a place of a list."""
        if not isinstance(self.term, Attribute):
            raise TypeError("only an attribute has parts")
        return Attr(Attribute((*self.term.steps, step if isinstance(step, str) else Element(step))))

    def __eq__(self, value: object) -> Predicate:  # type: ignore[override]
        return self._order(value, EQUAL) if isinstance(value, Attr) else self.isin(value)

    def __ne__(self, value: object) -> Predicate:  # type: ignore[override]
        return (self == value).with_polarity(Polarity.EXCLUDED)

    def __lt__(self, value: Ordered | Attr) -> Predicate:
        return self._order(value, BELOW) if isinstance(value, Attr) else self.within(upper=value)

    def __le__(self, value: Ordered | Attr) -> Predicate:
        if isinstance(value, Attr):
            return self._order(value, BELOW, EQUAL)
        return self.within(upper=value, upper_closed=True)

    def __gt__(self, value: Ordered | Attr) -> Predicate:
        return self._order(value, ABOVE) if isinstance(value, Attr) else self.within(lower=value)

    def __ge__(self, value: Ordered | Attr) -> Predicate:
        if isinstance(value, Attr):
            return self._order(value, ABOVE, EQUAL)
        return self.within(lower=value, lower_closed=True)

    __add__, __sub__, __mul__, __floordiv__, __mod__ = add, subtract, multiply, divide, modulo

    def __truediv__(self, rhs: Number | Attr) -> Attr:
        return fn.divide(self, rhs)

    def __neg__(self) -> Attr:
        return fn.negative(self)

    def _order(self, other: Attr, *orders: int) -> Predicate:
        return fn.compare(self, other).isin(*orders)

    def _calculated(
        self,
        operator: operations.Arithmetic | operations.Integral,
        function: Callable[..., Attr],
        rhs: Any,
    ) -> Attr:
        """Between an attribute and a number the operator is Mustang's, between terms Spark's."""
        if isinstance(rhs, Attr) or not isinstance(root_of(self.term), Attribute):
            return function(self, rhs)
        return self._after(operations.calculation(operator, rhs))

    def _predicate(self, condition: conditions.Condition) -> Predicate:
        return Predicate(self.term, condition)

    def _after(self, operation: operations.Operation) -> Attr:
        return Attr(Applied(operation, self.term))


class Functions:
    """Spark's functions by their names: `fn.coalesce(attr("a"), 0)`."""

    def __getattr__(self, name: str) -> Callable[..., Attr]:
        if name not in FUNCTIONS:
            raise AttributeError(f"there is no function {name}")
        return lambda *arguments: Attr(Call(name, tuple(map(_term, arguments))))

    def __dir__(self) -> list[str]:
        return sorted(FUNCTIONS)


fn = Functions()
_ELEMENT = Attr(Attribute(()))


@dataclass(frozen=True, slots=True)
class When:
    """Branches, the first of which that holds gives its value."""

    branches: tuple[tuple[Expression, Term], ...]

    def when(self, condition: Expression, value: Any) -> When:
        """One more branch."""
        return When((*self.branches, (condition, _term(value))))

    def otherwise(self, value: Any = None) -> Attr:
        """The value where no branch holds; none is a missing one."""
        return Attr(Case(self.branches, _term(value)))


def when(condition: Expression, value: Any) -> When:
    """A value where the expression holds: `when(attr("a") > 3, "many").otherwise("few")`."""
    return When(((condition, _term(value)),))


def _term(value: Any) -> Term:
    return value.term if isinstance(value, Attr) else Literal(value)


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
        return self.attr._predicate(conditions.Version(base, above, strict))


@dataclass(frozen=True, slots=True, eq=False)
class SemVerAttr:
    """An attribute looked at as a version of SemVer 2.0.0."""

    attr: Attr
    parts: bool = False
    v: bool = False

    __hash__ = None  # type: ignore[assignment]

    def __eq__(self, base: object) -> Predicate:  # type: ignore[override]
        return self._predicate(base, conditions.Comparison.EQUAL)

    def __ne__(self, base: object) -> Predicate:  # type: ignore[override]
        return self._predicate(base, conditions.Comparison.EQUAL).with_polarity(Polarity.EXCLUDED)

    def __lt__(self, base: str) -> Predicate:
        return self._predicate(base, conditions.Comparison.BELOW)

    def __le__(self, base: str) -> Predicate:
        return self._predicate(base, conditions.Comparison.AT_MOST)

    def __gt__(self, base: str) -> Predicate:
        return self._predicate(base, conditions.Comparison.ABOVE)

    def __ge__(self, base: str) -> Predicate:
        return self._predicate(base, conditions.Comparison.AT_LEAST)

    def _predicate(self, base: Any, operator: conditions.Comparison) -> Predicate:
        return self.attr._predicate(conditions.SemVer(base, operator, self.parts, self.v))
