"""MongoDB's query documents: `{"age": {"$gte": 18}, "tags": {"$in": ["a", "b"]}}`.

A document is a condition, or an object with `condition` and `id`; or a list of such. Values compare
among their own kind alone, a list matches by any of its elements or as a whole, a name walks
through a list of objects, and null equals what is not there. `write` gives a criterion's document.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from remuda.errors import InvalidCriterion
from remuda.formats.conditions import (
    BOUNDS,
    ELEMENT,
    Dialect,
    Operator,
    denied,
    element_match,
    equal,
    not_,
    read_conditions,
)
from remuda.formats.reading import (
    NEVER,
    Readings,
    a_list,
    a_text,
    all_of,
    among,
    at,
    boxed,
    call,
    conjunction,
    denial,
    disjunction,
    flagged,
    has_null,
    is_,
    refusing,
    shown,
    steps_of,
    text_in,
)
from remuda.language.criterion import Criterion
from remuda.model.attributes import Attribute, Digits
from remuda.model.conditions import Absent, AnyElement, In, Missing, Prefix, Range, Regex
from remuda.model.expressions import And, Expression, Not, Or, Polarity, Predicate
from remuda.model.patterns import literal_regex
from remuda.model.terms import Call

_TYPES = {
    "string": "string",
    "number": "number",
    "bool": "boolean",
    "object": "object",
    "array": "array",
}


def read(document: Any, *, id: str = "condition") -> list[Criterion]:
    """The criteria of a condition, which gets the id, or of a list of conditions."""
    return all_of(read_each(document, id))


@refusing
def read_each(document: Any, id: str) -> Readings:
    """Every condition as a criterion, or as the error that says what is wrong with it."""
    return read_conditions(document, id, lambda _: _DIALECT)


def _attribute(path: str) -> Attribute:
    steps = steps_of(path)
    return Attribute(steps, walk=len(steps) > 1, empty=True)


def _equals(value: Any, attribute: Attribute) -> Expression:
    if value is None:
        return disjunction([is_(attribute, Missing()), has_null(attribute)])
    if isinstance(value, list):
        return disjunction([is_(boxed(attribute), In((value,))), is_(attribute, In((value,)))])
    return is_(attribute, In((value,)))


def _in(dialect: Dialect, operand: Any, attribute: Attribute) -> Expression:
    values = a_list(operand, "what a value is one of")
    plain = tuple(one for one in values if one is not None and not isinstance(one, list))
    others = [_equals(one, attribute) for one in values if one is None or isinstance(one, list)]
    return disjunction([is_(attribute, In(plain)), *others] if plain or not others else others)


def _all(dialect: Dialect, operand: Any, attribute: Attribute) -> Expression:
    wanted = a_list(operand, "what a list has all of")
    return conjunction(dialect.value(one, attribute) for one in wanted) if wanted else NEVER


def _compared(name: str) -> Operator:
    def make(dialect: Dialect, operand: Any, attribute: Attribute) -> Expression:
        if isinstance(operand, bool) or not isinstance(operand, int | float | str):
            raise InvalidCriterion(
                f"numbers and texts have an order, and {shown(operand)} has none"
            )
        return is_(attribute, BOUNDS[name](operand))

    return make


def _exists(dialect: Dialect, operand: Any, attribute: Attribute) -> Expression:
    absent = is_(attribute, Absent())
    return denial(absent) if operand else absent


def _type(dialect: Dialect, operand: Any, attribute: Attribute) -> Expression:
    names = operand if isinstance(operand, list) else [operand]
    found: list[Expression] = []
    for name in names:
        known_type = among(_TYPES, name)
        if name == "null":
            found.append(has_null(attribute))
        elif known_type is not None:
            kind = In((known_type,))
            found.append(is_(call("json_type", attribute), kind))
            if name != "array":
                found.append(is_(attribute, AnyElement(is_(call("json_type", ELEMENT), kind))))
        else:
            known = ", ".join([*_TYPES, "null"])
            raise InvalidCriterion(f"{shown(name)} is no type of JSON; there are {known}")
    return disjunction(found)


def _size(dialect: Dialect, operand: Any, attribute: Attribute) -> Expression:
    if type(operand) is not int or operand < 0:
        raise InvalidCriterion(f"a number of elements is expected, not {shown(operand)}")
    return is_(call("array_size", attribute), In((operand,)))


def _mod(dialect: Dialect, operand: Any, attribute: Attribute) -> Expression:
    pair = a_list(operand, "a divisor with its remainder")
    if len(pair) != 2 or not all(type(one) is int for one in pair) or pair[0] == 0:
        raise InvalidCriterion(f"a divisor with its remainder is expected, not {shown(operand)}")
    return is_(call("mod", attribute, pair[0]), In((pair[1],)))


def _regex(dialect: Dialect, operand: Any, attribute: Attribute) -> Expression:
    return is_(attribute, Regex(a_text(operand, "a regular expression"), find=True))


class _Mongo(Dialect):
    """MongoDB's own conditions, in which `$options` belongs to the `$regex` beside it."""

    __slots__ = ()

    def value(self, asked: Any, attribute: Attribute) -> Expression:
        if isinstance(asked, Mapping) and "$options" in asked:
            flags = a_text(asked["$options"], "$options")
            if "$regex" not in asked or set(flags) - set("ims"):
                raise InvalidCriterion(f"the options i, m and s are read, not {shown(flags)}")
            pattern = text_in(asked, "$regex", "a condition")
            asked = {**asked, "$regex": flagged(pattern, flags)}
            del asked["$options"]
        return Dialect.value(self, asked, attribute)


def _unknown(name: str) -> Expression:
    known = ", ".join(_DIALECT.operators)
    raise InvalidCriterion(f"there is no operator {name}; there are {known}")


_DIALECT = _Mongo(
    _attribute,
    _equals,
    {
        "$eq": equal,
        "$ne": denied(equal),
        "$in": _in,
        "$nin": denied(_in),
        "$all": _all,
        "$not": not_,
        "$elemMatch": element_match,
        "$exists": _exists,
        "$type": _type,
        "$size": _size,
        "$mod": _mod,
        "$regex": _regex,
        **{name: _compared(name) for name in BOUNDS},
    },
    unknown=_unknown,
    or_of_none=NEVER,
)


# The way back


def write(criterion: Criterion) -> dict[str, Any]:
    """The query document that means the same; InvalidCriterion names what MongoDB cannot say."""
    try:
        return _written(criterion.expression)
    except InvalidCriterion as error:
        raise error.inside("", criterion.id) from None


def _written(expression: Expression) -> dict[str, Any]:
    match expression:
        case And():
            return (
                {"$and": [_written(part) for part in expression.parts]} if expression.parts else {}
            )
        case Or():
            # nothing is one of no values
            none: dict[str, Any] = {"_id": {"$in": []}}
            return (
                {"$or": [_written(part) for part in expression.parts]} if expression.parts else none
            )
        case Not():
            return {"$nor": [_written(expression.part)]}
        case Predicate():
            return _predicate(expression)
        case _:
            raise InvalidCriterion(f"{type(expression).__name__} has no counterpart")


def _predicate(predicate: Predicate) -> dict[str, Any]:
    with at(str(predicate.term)):
        path, asked = _asked(predicate, _path)
        written = {path: asked}
        if predicate.polarity is Polarity.INCLUDED:
            return written
        if predicate.polarity is Polarity.EXCLUDED:
            return {"$nor": [written]}
        if type(predicate.term) is not Attribute or not predicate.term.empty:
            raise InvalidCriterion("strong negation has no counterpart here")
        return {"$nor": [written, {path: {"$exists": False}}, {path: {"$type": "null"}}]}


def _asked(predicate: Predicate, path: Callable[[Any], str]) -> tuple[str, Any]:
    term, condition = predicate.term, predicate.condition
    if isinstance(term, Call) and term.name == "array_size" and isinstance(condition, In):
        return path(term.arguments[0]), {"$size": condition.values[0]}
    if isinstance(term, Call) and term.name == "json_type" and isinstance(condition, In):
        names = {json: own for own, json in _TYPES.items()}
        return path(term.arguments[0]), {"$type": [names[one] for one in condition.values]}
    if isinstance(term, Call) and term.name == "boxed" and isinstance(condition, In):
        return path(term.arguments[0]), {"$eq": condition.values[0]}
    match condition:
        case In(values):
            return path(term), {"$in": list(values)}
        case Range():
            return path(term), _bounds(condition)
        case Regex():
            return path(term), {"$regex": f"^(?:{condition.whole_pattern})$"}
        case Prefix(text):
            return path(term), {"$regex": f"^{literal_regex(text)}"}
        case AnyElement(inner):
            return path(term), {"$elemMatch": _of_element(inner)}
        case Absent():
            return path(term), {"$exists": False}
        case _:
            raise InvalidCriterion(f"{type(condition).__name__} has no counterpart")


def _of_element(inner: Expression) -> dict[str, Any]:
    """What is asked of an element: of itself, or of its parts."""
    if isinstance(inner, Predicate) and inner.attribute == Attribute(()):
        if inner.polarity is not Polarity.INCLUDED:
            raise InvalidCriterion("an element that is denied has no counterpart")
        return dict(_asked(inner, lambda _: "")[1])
    return _written(inner)


def _bounds(condition: Range) -> dict[str, Any]:
    bounds: dict[str, Any] = {}
    if condition.lower is not None:
        bounds["$gte" if condition.lower_closed else "$gt"] = condition.lower
    if condition.upper is not None:
        bounds["$lte" if condition.upper_closed else "$lt"] = condition.upper
    if len(bounds) == 2:  # MongoDB lets two elements of a list satisfy them, one each
        raise InvalidCriterion("two bounds for one element of a list have no counterpart")
    return bounds or {"$type": "number"}


def _path(term: Any) -> str:
    if not isinstance(term, Attribute) or not term.steps:
        raise InvalidCriterion("only attributes are asked about")
    names = [step.text if isinstance(step, Digits) else step for step in term.steps]
    if not all(isinstance(name, str) and name and "." not in name for name in names):
        raise InvalidCriterion("this path has no counterpart")
    if len(names) > 1 and not term.walk:
        raise InvalidCriterion("MongoDB's names walk through lists, and this one does not")
    return ".".join(str(name) for name in names)
