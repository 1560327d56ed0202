"""JSONLogic: `{"and": [{">": [{"var": "age"}, 18]}, {"in": [{"var": "country"}, ["IN", "SG"]]}]}`.

A document is a rule, or an object with `rule` and `id`; or a list of such. What is read is what is
true or false of variables: comparisons of a variable with values, `in`, `!`, `!!`, `and`, `or`,
`if`, `missing`, `some`, `all` and `none`. `===` compares kinds too; `==` and the orders read
numbers in texts where one side is a number, and null as 0, as JavaScript does. Arithmetic, `map`,
`filter`, `reduce` and the like are refused.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from decimal import Decimal
from functools import partial
from typing import Any

from remuda.errors import InvalidCriterion
from remuda.formats.reading import (
    ALWAYS,
    NEVER,
    RANGES,
    Readings,
    all_of,
    at,
    boxed,
    call,
    conjunction,
    decoded,
    denial,
    disjunction,
    each,
    first_of,
    is_,
    javascript_number,
    numbered,
    refusing,
    scalar,
    shown,
    steps_of,
    unwrapped,
)
from remuda.language.criterion import Criterion
from remuda.model.attributes import Attribute
from remuda.model.conditions import AnyElement, Contains, EveryElement, In, Missing
from remuda.model.expressions import Expression

_SWAPPED = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}


def read(document: Any, *, id: str = "rule") -> list[Criterion]:
    """The criteria of a rule, which gets the id, or of a list of rules."""
    return all_of(read_each(document, id))


@refusing
def read_each(document: Any, id: str) -> Readings:
    """Every rule as a criterion, or as the error that says what is wrong with it."""
    named = partial(unwrapped, "rule", "id")
    yield from each(numbered(decoded(document), id), _criterion, named)


def _criterion(name: str, rule: Any) -> Criterion:
    return Criterion(name, _truth(decoded(rule) if isinstance(rule, str) else rule))


# Truth


def _truth(rule: Any) -> Expression:
    """Where the rule gives something that is true."""
    if not _is_rule(rule):
        return ALWAYS if rule not in (None, False, 0, "", []) else NEVER
    ((name, operand),) = rule.items()
    make = _OPERATORS.get(name)
    if make is None:
        raise InvalidCriterion(f"there is no {name!r} here; there are {', '.join(_OPERATORS)}")
    with at(name):
        return make(operand if isinstance(operand, list) else [operand])


def _is_rule(value: Any) -> bool:
    return isinstance(value, Mapping) and len(value) == 1


def _each(operands: list[Any]) -> list[Expression]:
    found = []
    for number, one in enumerate(operands):
        with at(number):
            found.append(_truth(one))
    return found


def _is(operands: list[Any]) -> Expression:
    return _truth(operands[0] if operands else None)


def _if(operands: list[Any]) -> Expression:
    *pairs, last = operands if len(operands) % 2 else [*operands, None]
    parts = _each(pairs)
    return first_of(list(zip(parts[::2], parts[1::2], strict=True)), _truth(last))


def _variable(operands: list[Any]) -> Expression:
    """The variable has a value that is true: not null, false, 0, a text or a list without parts."""
    attribute = _attribute({"var": operands})
    untrue = [is_(attribute, Missing()), is_(boxed(attribute), In((False, 0, "")))]
    return denial(disjunction(untrue))


def _missing(operands: list[Any]) -> Expression:
    names = operands[0] if operands and isinstance(operands[0], list) else operands
    found = []
    for one in names:
        attribute = _path(one)
        found += [is_(attribute, Missing()), is_(attribute, In(("",)))]
    return disjunction(found)


# Values


def _attribute(value: Any) -> Attribute:
    if not _is_variable(value):
        raise InvalidCriterion(f"a variable is expected, not {shown(value)}")
    operand = value["var"]
    operands = operand if isinstance(operand, list) else [operand]
    if len(operands) > 1:
        raise InvalidCriterion("a default in the place of a missing variable is not read")
    return _path(operands[0] if operands else "")


def _is_variable(value: Any) -> bool:
    return _is_rule(value) and "var" in value


def _path(name: Any) -> Attribute:
    text = "" if name is None else scalar(name, "the name of a variable")
    return Attribute(steps_of(text) if text else (), empty=False)


def _literal(value: Any) -> Any:
    if isinstance(value, Mapping) or (isinstance(value, list) and any(map(_is_rule, value))):
        raise InvalidCriterion(f"a plain value is expected, not {shown(value)}")
    return value


def _pair(operands: list[Any]) -> list[Any]:
    if len(operands) != 2:
        raise InvalidCriterion(f"it takes two operands, not {len(operands)}")
    return operands


def _two(operands: list[Any]) -> tuple[Attribute, Any, bool]:
    """The variable, the value, and whether the value comes first."""
    first, second = _pair(operands)
    if _is_variable(first):
        return _attribute(first), _literal(second), False
    return _attribute(second), _literal(first), True


def _same(operands: list[Any]) -> Expression:
    attribute, value, _ = _two(operands)
    if value is None:
        return is_(attribute, Missing())
    return is_(boxed(attribute), In((value,)))


def _equal(operands: list[Any]) -> Expression:
    """Equality as JavaScript's `==` has it between scalars."""
    attribute, value, _ = _two(operands)
    if value is None or isinstance(value, list):
        return _same(operands)
    number = _number(value)
    found: list[Expression] = []
    if isinstance(value, str):
        found.append(is_(boxed(attribute), In((value,))))
        if number is not None:  # a text that is a number equals that number, and no other text
            found.append(is_(boxed(attribute), In((number,))))
    elif number is not None:
        found.append(is_(call("growthbook_number", attribute), In((number,))))
    return disjunction(found)


def _number(value: Any) -> Decimal | int | None:
    if isinstance(value, str):
        return javascript_number(value)
    if isinstance(value, bool):
        return int(value)
    return Decimal(str(value)) if isinstance(value, int | float) else None


def _unless(make: Callable[[list[Any]], Expression]) -> Callable[[list[Any]], Expression]:
    return lambda operands: denial(make(operands))


def _ordered(sign: str) -> Callable[[list[Any]], Expression]:
    def make(operands: list[Any]) -> Expression:
        if len(operands) == 3:  # between two values
            low, variable, high = operands
            return conjunction([make([low, variable]), make([variable, high])])
        attribute, value, swapped = _two(operands)
        own = _SWAPPED[sign] if swapped else sign
        number = _number(value)
        if isinstance(value, list) or value is None:
            raise InvalidCriterion(f"numbers and texts have an order, and {shown(value)} has none")
        found: list[Expression] = []
        if isinstance(value, str):
            found.append(is_(boxed(attribute), RANGES[own](value)))
            if number is not None:
                found.append(is_(boxed(attribute), RANGES[own](number)))
        elif number is not None:
            within = RANGES[own](number)
            found.append(is_(call("growthbook_number", attribute), within))
            if within.accepts(0):  # what is missing is null, and null is 0 here
                found.append(is_(attribute, Missing()))
        return disjunction(found)

    return make


def _in(operands: list[Any]) -> Expression:
    wanted, place = _pair(operands)
    if not _is_variable(place):
        attribute = _attribute(wanted)
        if isinstance(place, str):
            raise InvalidCriterion("a variable in a text is not read")
        values = tuple(one for one in _literal(place) if one is not None)
        return is_(boxed(attribute), In(values))
    attribute = _attribute(place)
    value = _literal(wanted)
    element = is_(attribute, AnyElement(is_(Attribute(()), In((value,)))))
    if not isinstance(value, str):
        return element
    return disjunction([is_(boxed(attribute), Contains(value)), element])


def _quantified(make: Callable[[Expression], Any]) -> Callable[[list[Any]], Expression]:
    def found(operands: list[Any]) -> Expression:
        if len(operands) != 2:
            raise InvalidCriterion(f"it takes a list and a rule, not {len(operands)} operands")
        return is_(_attribute(operands[0]), make(_truth(operands[1])))

    return found


_OPERATORS: Mapping[str, Callable[[list[Any]], Expression]] = {
    "and": lambda operands: conjunction(_each(operands)),
    "or": lambda operands: disjunction(_each(operands)),
    "!": _unless(_is),
    "!!": _is,
    "if": _if,
    "var": _variable,
    "missing": _missing,
    "===": _same,
    "!==": _unless(_same),
    "==": _equal,
    "!=": _unless(_equal),
    **{sign: _ordered(sign) for sign in RANGES},
    "in": _in,
    "some": _quantified(AnyElement),
    "all": _quantified(EveryElement),
    "none": _unless(_quantified(AnyElement)),
}
