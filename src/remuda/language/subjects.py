"""Subjects of the text form: the attribute and the pre-operations that a predicate looks at."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from sqlglot import exp

from remuda.language.literals import integer, is_literal, literal, text
from remuda.language.nodes import Refused, arguments, bare, function, made
from remuda.model.attributes import Attribute, Digits, Element, Every, Step
from remuda.model.calendars import Extract
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
from remuda.model.terms import Term, applied


@dataclass(frozen=True, slots=True)
class Subject:
    """What a predicate looks at: an attribute after its pre-operations."""

    attribute: Attribute
    operations: tuple[Operation, ...] = ()

    def after(self, operation: Operation) -> Subject:
        return Subject(self.attribute, (*self.operations, operation))

    @property
    def term(self) -> Term:
        return applied(self.attribute, self.operations)


FIELDS = {
    "year": Extract.YEAR,
    "month": Extract.MONTH,
    "day": Extract.DAY_OF_MONTH,
    "dayofmonth": Extract.DAY_OF_MONTH,
    "dayofweek": Extract.DAY_OF_WEEK,
    "dayofyear": Extract.DAY_OF_YEAR,
    "hour": Extract.HOUR_OF_DAY,
    "minute": Extract.MINUTE,
    "second": Extract.SECOND,
}


def is_subject(node: exp.Expr) -> bool:
    """Whether the node names a value of the event rather than a condition or a literal."""
    node = bare(node)
    return type(node) in _SUBJECTS or function(node) in SUBJECT_FUNCTIONS


def subject(node: exp.Expr) -> Subject:
    """The attribute and the pre-operations that the node names."""
    node = bare(node)
    if type(node) in _PATHS:
        return Subject(Attribute(_steps(node)))
    if function(node) in SUBJECT_FUNCTIONS:
        return SUBJECT_FUNCTIONS[function(node)](node)
    if type(node) in _ARITHMETIC or type(node) in _INTEGRAL:
        return _calculated(node)
    if is_literal(node):
        raise Refused("an attribute is needed, not a literal", node)
    raise Refused("an attribute is needed here; conditions are joined by AND, OR and NOT", node)


def _calculated(node: exp.Expr) -> Subject:
    left, right = node.this, node.expression
    if is_literal(left) and type(node) in _COMMUTATIVE:
        left, right = right, left
    if not is_literal(right):
        raise Refused("pre-operations calculate with one attribute and one number", right)
    number = literal(right)
    if type(node) in _ARITHMETIC:
        operation: Operation = made(right, Calculate, _ARITHMETIC[type(node)], number)
    elif type(number) is not int:
        raise Refused("div and % need an integer", right)
    else:
        operation = Divide(_INTEGRAL[type(node)], number)
    return subject(left).after(operation)


def _steps(node: exp.Expr) -> tuple[Step, ...]:
    steps: list[Step] = []
    while type(node) is not exp.Column:  # a loop: paths may be long
        if type(node) is exp.Identifier:  # the element that a lambda has a name for
            return tuple(reversed(steps))
        if type(node) is exp.Dot:
            steps.append(_name(node.expression))
        elif type(node) is exp.Bracket:
            steps.append(_key(node))
        else:
            raise Refused("a path begins with a name; path('$...') takes any JSONPath", node)
        node = bare(node.this)
    return (*map(_name, node.parts), *reversed(steps))


def _name(node: exp.Expr) -> Step:
    if type(node) is exp.Identifier and node.this:
        return str(node.this)
    if type(node) is exp.Literal and node.this.isdecimal():
        return Digits(node.this)
    raise Refused("a name is needed in a path; back-quotes make one of any text", node)


def _key(node: exp.Expr) -> Step:
    if len(node.expressions) != 1:
        raise Refused("one index, one name or * goes into the brackets of a path", node)
    inner = node.expressions[0]
    if type(inner) is exp.Star:
        return Every()
    key = literal(inner) if is_literal(inner) else None
    if type(key) is int:
        return Element(key)
    if type(key) is str:
        return key
    raise Refused("one index, one name or * goes into the brackets of a path", inner)


def _path(node: exp.Expr) -> Subject:
    (path,) = arguments(node, 1)
    return Subject(made(path, Attribute.parse, text(path)))


def _field(node: exp.Expr) -> Subject:
    (moment,) = arguments(node, 1)
    return subject(moment).after(DateTime(FIELDS[function(node)]))


def _datetime(node: exp.Expr) -> Subject:
    moment, field, *zone = arguments(node, 2, 3)
    extract = text(field).upper()
    if extract not in Extract.__members__:
        raise Refused(f"there is no field {extract!r}; these are: {', '.join(Extract)}", field)
    names = [text(name) for name in zone]
    return subject(moment).after(made(node, DateTime, Extract(extract), *names))


def _to_datetime(node: exp.Expr) -> Subject:
    moment, *pattern = arguments(node, 1, 2)
    return subject(moment).after(ToDateTime(*map(text, pattern)))


def _substring(node: exp.Expr) -> Subject:
    whole, start, *length = arguments(node, 2, 3)
    begin, count = integer(start) - 1, [integer(n) for n in length]
    if begin < 0 or any(n < 0 for n in count):
        raise Refused("substring counts from 1; characters(x, begin, end) from 0", start)
    return subject(whole).after(Substring(begin, *(begin + n for n in count)))


def _characters(node: exp.Expr) -> Subject:
    whole, begin, *end = arguments(node, 2, 3)
    return subject(whole).after(Substring(integer(begin), *map(integer, end)))


def _simple(operation: Operation) -> Callable[[exp.Expr], Subject]:
    def read(node: exp.Expr) -> Subject:
        return subject(*arguments(node, 1)).after(operation)

    return read


SUBJECT_FUNCTIONS: dict[str, Callable[[exp.Expr], Subject]] = {
    **dict.fromkeys(FIELDS, _field),
    "bits": _simple(BinaryConversion()),
    "characters": _characters,
    "datetime": _datetime,
    "length": _simple(Length()),
    "path": _path,
    "size": _simple(Size()),
    "substr": _substring,
    "substring": _substring,
    "to_datetime": _to_datetime,
}
_PATHS = frozenset({exp.Column, exp.Dot, exp.Bracket, exp.Identifier})
_ARITHMETIC: dict[type[exp.Expr], Arithmetic] = {
    exp.Add: Arithmetic.ADDITION,
    exp.Sub: Arithmetic.SUBTRACTION,
    exp.Mul: Arithmetic.MULTIPLICATION,
}
_INTEGRAL: dict[type[exp.Expr], Integral] = {
    exp.IntDiv: Integral.DIVISION,
    exp.Mod: Integral.MODULO,
}
_COMMUTATIVE = frozenset({exp.Add, exp.Mul})
_SUBJECTS = _PATHS | _ARITHMETIC.keys() | _INTEGRAL.keys()
