"""GrowthBook's targeting conditions.

A document is a condition, or an object with `condition`, `id` and `savedGroups`; or a list of such.
Null is missing, and missing counts as 0 or "" in comparisons; comparisons read numbers in texts;
an operator that there is not, or a pattern that is none, is never true.
"""

from __future__ import annotations

import operator
import re
import threading
import warnings
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from remuda.errors import InvalidCriterion
from remuda.formats.conditions import (
    BOUNDS,
    ELEMENT,
    Dialect,
    Groups,
    Operator,
    Values,
    denied,
    element_match,
    equal,
    not_,
    read_conditions,
)
from remuda.formats.reading import (
    ALWAYS,
    NEVER,
    Readings,
    all_of,
    at,
    boxed,
    call,
    conjunction,
    denial,
    disjunction,
    flagged,
    is_,
    javascript_number,
    refusing,
    scalar,
)
from remuda.language.criterion import Criterion
from remuda.model.attributes import Attribute
from remuda.model.conditions import AnyElement, Exists, In, Missing, Prefix, Regex
from remuda.model.expressions import Expression
from remuda.model.functions.foreign import growthbook_version

_MOST_CLASSES = 200  # of a regular expression
_WARNED_OF = re.compile(r"\[\^?\[|--|&&|~~|\|\|")  # what may once mean something else to Python
_one_at_a_time = threading.Lock()
_HOLDS = {"$gt": operator.gt, "$gte": operator.ge, "$lt": operator.lt, "$lte": operator.le}


def read(document: Any, *, id: str = "condition") -> list[Criterion]:
    """The criteria of a condition, which gets the id, or of a list of conditions."""
    return all_of(read_each(document, id))


@refusing
def read_each(document: Any, id: str) -> Readings:
    """Every condition as a criterion, or as the error that says what is wrong with it."""
    return read_conditions(document, id, _with_groups)


def _with_groups(groups: Any) -> Dialect:
    return replace(_DIALECT, groups=Groups(groups if isinstance(groups, Mapping) else {}))


def _attribute(path: str) -> Attribute:
    return Attribute(tuple(path.split(".")), empty=True)


def _equals(value: Any, attribute: Attribute) -> Expression:
    if value is None:
        return is_(attribute, Missing())
    return is_(boxed(attribute), In((value,)))


def _of_list(operator: Operator) -> Operator:
    """The operator, which is never true of anything but a list."""
    return lambda dialect, operand, attribute: (
        operator(dialect, operand, attribute) if isinstance(operand, list) else NEVER
    )


def _in(dialect: Dialect, values: list[Any], attribute: Attribute) -> Expression:
    """The value is one of these, or an element of it is."""
    return _one_of(Values.of(values), attribute)


def _one_of(values: Values, attribute: Attribute) -> Expression:
    found: list[Expression] = [is_(attribute, values.named)]
    if values.or_missing:
        found.append(is_(attribute, Missing()))
    return disjunction(found)


def _in_ignoring_case(dialect: Dialect, values: list[Any], attribute: Attribute) -> Expression:
    texts = tuple(one.lower() for one in values if isinstance(one, str))
    others = [one for one in values if not isinstance(one, str)]
    return disjunction([is_(call("lower", attribute), In(texts)), _in(dialect, others, attribute)])


def _all(dialect: Dialect, values: list[Any], attribute: Attribute) -> Expression:
    asked = [is_(attribute, AnyElement(dialect.value(one, ELEMENT))) for one in values]
    return conjunction([is_(call("json_type", attribute), In(("array",))), *asked])


def _all_ignoring_case(dialect: Dialect, values: list[Any], attribute: Attribute) -> Expression:
    asked = [_in_ignoring_case(dialect, [one], attribute) for one in values]
    return conjunction([is_(call("json_type", attribute), In(("array",))), *asked])


def _in_group(dialect: Dialect, operand: Any, attribute: Attribute) -> Expression:
    name = scalar(operand, "the name of a group")
    with at(f"savedGroups.{name}"):
        return _one_of(dialect.groups.values_of(name), attribute)


def _is_pattern(text: str) -> bool:
    """Whether JavaScript takes it for a pattern, as far as Python can tell."""
    if text.count("[") > _MOST_CLASSES:  # Python takes milliseconds for each
        raise InvalidCriterion(f"a regular expression has {_MOST_CLASSES} classes at most")
    try:
        if _WARNED_OF.search(text):
            # the filters are the process's: two threads would restore them in the wrong order
            with _one_at_a_time, warnings.catch_warnings(action="ignore"):
                re.compile(text)
        else:
            re.compile(text)
    except (re.error, OverflowError):  # more repetitions than Python counts
        return False
    return True


def _regex(flags: str, denied: bool) -> Operator:
    def make(dialect: Dialect, operand: Any, attribute: Attribute) -> Expression:
        if not isinstance(operand, str) or not _is_pattern(operand):
            return NEVER
        pattern = flagged(operand, flags)
        found = is_(boxed(attribute), Regex(pattern, find=True))
        text = is_(boxed(attribute), Prefix(""))
        return conjunction([text, denial(found)]) if denied else found

    return make


def _compared(name: str) -> Operator:
    holds, within = _HOLDS[name], BOUNDS[name]

    def make(dialect: Dialect, operand: Any, attribute: Attribute) -> Expression:
        if isinstance(operand, str):
            parts: list[Expression] = [is_(boxed(attribute), within(operand))]
            number = javascript_number(operand) if operand.strip() else None
            if number is not None:
                parts.append(is_(boxed(attribute), within(number)))
            missing = holds("", operand)
        elif isinstance(operand, int | float):
            parts = [is_(call("growthbook_number", attribute), within(operand + 0))]
            missing = holds(0, operand)
        else:
            return NEVER
        return disjunction([*parts, *([is_(attribute, Missing())] if missing else [])])

    return make


def _version(name: str) -> Operator:
    def make(dialect: Dialect, operand: Any, attribute: Attribute) -> Expression:
        term, base = call("growthbook_version", attribute), growthbook_version(operand)
        if name in ("$eq", "$ne"):
            equal = is_(term, In((base,)))
            return equal if name == "$eq" else denial(equal)
        return is_(term, BOUNDS[name](base))

    return make


def _exists(dialect: Dialect, operand: Any, attribute: Attribute) -> Expression:
    return is_(attribute, Exists() if operand else Missing())


def _type(dialect: Dialect, operand: Any, attribute: Attribute) -> Expression:
    if operand == "null":
        return is_(attribute, Missing())
    return is_(call("json_type", attribute), In((operand,)))


def _size(dialect: Dialect, operand: Any, attribute: Attribute) -> Expression:
    size = call("array_size", attribute)
    if not isinstance(operand, Mapping):
        return is_(size, In((operand,)))
    parts: list[Expression] = [is_(size, Exists())]
    for name, bound in operand.items():
        if name in ("$eq", "$ne"):
            found = is_(size, In((bound,)))
            parts.append(found if name == "$eq" else denial(found))
        elif name in BOUNDS and isinstance(bound, int | float):
            parts.append(is_(size, BOUNDS[name](bound)))
        else:
            return NEVER
    return conjunction(parts)


_DIALECT = Dialect(
    _attribute,
    _equals,
    {
        "$eq": equal,
        "$ne": denied(equal),
        "$in": _of_list(_in),
        "$nin": _of_list(denied(_in)),
        "$ini": _of_list(_in_ignoring_case),
        "$nini": _of_list(denied(_in_ignoring_case)),
        "$all": _of_list(_all),
        "$alli": _of_list(_all_ignoring_case),
        "$inGroup": _in_group,
        "$notInGroup": denied(_in_group),
        "$not": not_,
        "$elemMatch": element_match,
        "$exists": _exists,
        "$type": _type,
        "$size": _size,
        "$regex": _regex("", denied=False),
        "$regexi": _regex("i", denied=False),
        "$notRegex": _regex("", denied=True),
        "$notRegexi": _regex("i", denied=True),
        **{name: _compared(name) for name in _HOLDS},
        **{f"$v{name[1:]}": _version(name) for name in (*_HOLDS, "$eq", "$ne")},
    },
    unknown=lambda _: NEVER,
    or_of_none=ALWAYS,
)
