"""The text form, written: every expression in words that read back with the same meaning."""

from __future__ import annotations

from contextvars import ContextVar
from dataclasses import replace

from remuda.language.phrases import (
    COMPARED,
    TEXTUAL,
    Binding,
    Phrase,
    Wording,
    between,
    membership,
    plainly,
    sign,
    worded,
    write,
)
from remuda.language.spelling import argument, literal, name, operand, string
from remuda.language.terms import (
    OPERATION_NAMES,
    TRIMS,
    as_moment,
    attribute_of_path,
    has_moment,
    lightened,
)
from remuda.model import conditions, operations
from remuda.model.attributes import Attribute, Element, Every, Step
from remuda.model.conditions import OF_LACK
from remuda.model.expressions import Expression, Predicate
from remuda.model.terms import Applied, Call, Case, Literal, Term, is_constant


def to_text(expression: Expression) -> str:
    """Write the text form; weights are no part of it."""
    return write(expression, _wording)


def _wording(predicate: Predicate) -> Wording:
    wording = _ordered(predicate)
    if wording is None:
        about = _subject(predicate)
        wording = _worded(about, predicate)
        if _IN_CASE.get() and _is_lightened(predicate):
            wording = _heavy(about, wording)
    return wording


def _heavy(about: str, wording: Wording) -> Wording:
    """The same of a list that may be empty, in a CASE, where such a list is looked at as a list.

    It is denied to be denied, since a condition that an empty list cannot satisfy reads as one on
    a list that is then missing.
    """
    asked = f"({wording.denied.text}) IS NOT TRUE AND {about} NOT IN ()"
    return replace(wording, asked=Phrase(asked, Binding.AND))


def _is_lightened(predicate: Predicate) -> bool:
    term, condition = predicate.term, predicate.condition
    return type(condition) not in OF_LACK and lightened(term, condition, predicate.polarity) != term


def _worded(about: str, predicate: Predicate) -> Wording:
    match predicate.condition:
        case conditions.In(values):
            return membership(about, list(map(operand, values)))
        case conditions.Range() | conditions.QuotedRange() as condition:
            return _range(about, condition)
        case conditions.Regex() as condition:
            return _regex(about, condition)
        case conditions.Version() | conditions.SemVer() as condition:
            return _version(about, condition)
        case conditions.Network(networks):
            return plainly(f"cidr({', '.join((about, *map(string, networks)))})")
        case conditions.Under(tree, node):
            return plainly(f"under({about}, {string(tree)}, {literal(node)})")
        case conditions.Like(pattern, escape):
            fits = string(pattern) + ("" if escape == "\\" else f" ESCAPE {string(escape)}")
            return worded(f"{about} LIKE {fits}", f"{about} NOT LIKE {fits}")
        case conditions.Prefix(text) | conditions.Suffix(text) | conditions.Contains(text):
            return plainly(f"{TEXTUAL[type(predicate.condition)]}({about}, {string(text)})")
        case conditions.Related(relation, values):
            spelt = operand if relation is conditions.Relation.OVERLAPS else literal
            return plainly(f"{relation}({', '.join((about, *map(spelt, values)))})")
        case conditions.Exists() | conditions.Missing() as condition:
            return _presence(about, predicate.term, isinstance(condition, conditions.Exists))
        case conditions.AnyElement() | conditions.EveryElement() as condition:
            return _of_elements(about, condition)
        case conditions.NullValue() | conditions.Absent() as condition:
            name = "absent" if isinstance(condition, conditions.Absent) else "null_value"
            return plainly(f"{name}({about})")


def _regex(about: str, condition: conditions.Regex) -> Wording:
    if condition.java is not None:
        return plainly(f"{about} RLIKE {string(condition.java)}")
    function = "finds" if condition.find else "matches"
    return plainly(f"{function}({about}, {string(condition.pattern)})")


def _version(about: str, condition: conditions.Version | conditions.SemVer) -> Wording:
    if isinstance(condition, conditions.Version):
        compared = sign(condition.above, not condition.strict)
        return plainly(f"version({about}) {compared} {string(condition.base)}")
    options = [name for name in ("parts", "v") if getattr(condition, name)]
    told = ", ".join((about, *(f"{name} => TRUE" for name in options)))
    base = string(condition.base)
    if condition.operator is conditions.Comparison.EQUAL:
        return worded(f"semver({told}) = {base}", f"semver({told}) <> {base}")
    return plainly(f"semver({told}) {condition.operator} {base}")


def _range(about: str, condition: conditions.Bounded) -> Wording:
    unread = isinstance(condition, conditions.QuotedRange) and not condition.ranges
    if unread and not has_moment(condition):
        return membership(about, [])  # bounds of two kinds, which are refused where they are read
    lower, upper = operand(condition.lower), operand(condition.upper)
    if condition.lower is None and condition.upper is None:
        return plainly(f"is_number({about})")
    if condition.upper is None:
        return plainly(f"{about} {sign(True, condition.lower_closed)} {lower}")
    if condition.lower is None:
        return plainly(f"{about} {sign(False, condition.upper_closed)} {upper}")
    if condition.lower_closed and condition.upper_closed:
        return between(about, lower, upper)
    # two comparisons would say less: different elements of a list could satisfy them
    ends = ("[" if condition.lower_closed else "(") + ("]" if condition.upper_closed else ")")
    return plainly(f"within({about}, {lower}, {upper}, '{ends}')")


# Terms

_ELEMENT: ContextVar[str] = ContextVar("element", default="")  # whose attributes are written
_IN_CASE: ContextVar[bool] = ContextVar("in_case", default=False)
_OPERATORS = {
    "add": "+",
    "subtract": "-",
    "multiply": "*",
    "divide": "/",
    "mod": "%",
    "div": "div",
}
# What is asked is then whether the condition is known, which a term tells otherwise
_CONDITIONS = frozenset(
    {"array_contains", "arrays_overlap", "contains", "endswith", "like", "startswith"}
)


def _subject(predicate: Predicate) -> str:
    """What the condition is about, so that it reads back as the same."""
    term, condition = predicate.term, predicate.condition
    if isinstance(term, Attribute):
        read = lightened(attribute_of_path(term.steps), condition, predicate.polarity)
        spelt = _dotted(term) if read == term else _path(term)
    elif isinstance(term, Literal):
        return operand(term.value)
    else:
        spelt = _term(term)
    if _is_read_otherwise(term):
        return f"plain({spelt})"
    if not has_moment(condition):
        return spelt
    if isinstance(term, Call) and term.name == "as_moment":
        (inner,) = term.arguments
        if as_moment(inner) == term and not _is_read_otherwise(inner):
            return _term(inner)
    return spelt if as_moment(term) == term else f"plain({spelt})"


def _is_read_otherwise(term: Term) -> bool:
    """Whether it is compared as something else, or not at all, unless it is said to be plain.

    A constant is folded, and a text then stands for all its readings.
    """
    return is_constant(term) or (isinstance(term, Call) and term.name == "array")


def _of_elements(about: str, condition: conditions.AnyElement | conditions.EveryElement) -> Wording:
    asks = "any_element" if isinstance(condition, conditions.AnyElement) else "every_element"
    element = f"{_ELEMENT.get()}e"  # the inner of two has another name
    before, beyond = _ELEMENT.set(element), _IN_CASE.set(False)
    try:
        asked = to_text(condition.expression)
    finally:
        _ELEMENT.reset(before)
        _IN_CASE.reset(beyond)
    return plainly(f"{asks}({about}, {element} -> {asked})")


def _presence(about: str, term: Term, present: bool) -> Wording:
    if isinstance(term, Attribute) and not term.empty:
        own = _dotted(term) if term.walk == attribute_of_path(term.steps).walk else _path(term)
        asked, denied = f"exists({own})", f"missing({own})"
    else:
        if isinstance(term, Call) and term.name in _CONDITIONS:
            about = f"plain({about})"
        asked, denied = f"{about} IS NOT NULL", f"{about} IS NULL"
    return worded(asked, denied) if present else worded(denied, asked)


def _ordered(predicate: Predicate) -> Wording | None:
    """A comparison of two terms; None for all else."""
    term, condition = predicate.term, predicate.condition
    if (
        not isinstance(term, Call)
        or term.name != "ordering"
        or not isinstance(condition, conditions.In)
    ):
        return None
    left, right = term.arguments
    sign = COMPARED.get(condition.keys)
    if sign is None or any(map(_is_read_otherwise, term.arguments)):
        return None
    asked = f"{_term(left)} {sign} {_term(right)}"
    return worded(asked, f"{_term(left)} <> {_term(right)}") if sign == "=" else plainly(asked)


def _term(term: Term) -> str:
    match term:
        case Attribute():
            return _dotted(term) if attribute_of_path(term.steps) == term else _path(term)
        case Literal(value):
            return argument(value)
        case Applied(operation, Attribute() as inner):
            own = _dotted(inner) if inner == inner.path else _path(inner)
            return _operation(operation, own)
        case Applied(operation, inner):
            return _operation(operation, _term(inner))
        case Call(called, (left, right)) if called in _OPERATORS:
            return f"({_term(left)} {_OPERATORS[called]} {_term(right)})"
        case Call("bucket", (inner, n, seed, hash)):
            options = f"seed => {_term(seed)}, hash => {_term(hash)}"
            return f"bucket({_term(inner)}, {_term(n)}, {options})"
        case Call(called, (inner, cut)) if called in TRIMS:
            return f"{called}({_term(cut)}, {_term(inner)})"
        case Call(called, arguments):
            return f"{called}({', '.join(map(_term, arguments))})"
        case Case(branches, otherwise):
            parts = [f"WHEN {_asked(asked)} THEN {_term(then)}" for asked, then in branches]
            return f"CASE {' '.join(parts)} ELSE {_term(otherwise)} END"


def _asked(expression: Expression) -> str:
    """What a CASE asks."""
    before = _IN_CASE.set(True)
    try:
        return to_text(expression)
    finally:
        _IN_CASE.reset(before)


def _dotted(attribute: Attribute) -> str:
    """The attribute as a dotted path, or as path('...') where it is none."""
    first, *rest = attribute.steps or (None,)
    plain = all(isinstance(step, str | Element | Every) for step in rest)
    if plain and "" not in attribute.steps:
        element = _ELEMENT.get()
        if element and (first is None or isinstance(first, str | Element | Every)):
            return element + "".join(map(_step, attribute.steps))
        if isinstance(first, str):
            return name(first) + "".join(map(_step, rest))
    return _path(attribute)


def _path(attribute: Attribute) -> str:
    flags = (("walk", attribute.walk), ("empty", attribute.empty))
    said = "".join(f", {flag} => TRUE" for flag, given in flags if given)
    return f"path({string(str(attribute))}{said})"


def _step(step: Step) -> str:
    if isinstance(step, Element):
        return f"[{step.at}]"
    return f".{name(step)}" if isinstance(step, str) else "[*]"


def _operation(operation: operations.Operation, text: str) -> str:
    match operation:
        case operations.Calculate(operator, rhs) | operations.Divide(operator, rhs):
            return f"{OPERATION_NAMES[operator]}({text}, {literal(rhs)})"
        case operations.Length():
            return f"text_length({text})"
        case operations.Size():
            return f"list_size({text})"
        case operations.BinaryConversion():
            return f"bits({text})"
        case operations.Substring(begin, end):
            return f"characters({text}, {begin}{'' if end is None else f', {end}'})"
        case operations.DateTime(extract, zone):
            where = "" if zone == "UTC" else f", {string(zone)}"
            return f"datetime({text}, '{extract}'{where})"
        case operations.ToDateTime(format):
            return f"to_datetime({text}{'' if format is None else f', {string(format)}'})"
