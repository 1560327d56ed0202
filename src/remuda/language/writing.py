"""The text form, written: every expression in words that read back with the same meaning."""

from __future__ import annotations

from remuda.language.phrases import (
    TEXTUAL,
    Wording,
    between,
    membership,
    plainly,
    sign,
    worded,
    write,
)
from remuda.language.spelling import literal, name, string
from remuda.language.subjects import FIELDS
from remuda.model.attributes import Attribute, Element, Every, Step
from remuda.model.conditions import (
    Absent,
    AnyElement,
    Comparison,
    Contains,
    EveryElement,
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
    SemVer,
    Suffix,
    Version,
)
from remuda.model.expressions import Expression, Predicate
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
from remuda.model.terms import Applied, Call, Case, Literal, Term


def to_text(expression: Expression) -> str:
    """Write the text form; weights are no part of it."""
    return write(expression, _wording)


def _wording(predicate: Predicate, element: str = "") -> Wording:
    """The predicate in words; where it is one on an element, that has a name."""
    about = _subject(predicate, element)
    match predicate.condition:
        case In(values):
            return membership(about, list(map(literal, values)))
        case Range() as condition:
            return _range(about, condition)
        case Regex(pattern, find):
            return plainly(
                f"{about} RLIKE {string(pattern)}"
                if find
                else f"matches({about}, {string(pattern)})"
            )
        case Version(base, above, strict):
            return plainly(f"version({about}) {sign(above, not strict)} {string(base)}")
        case SemVer() as condition:
            return _semver(about, condition)
        case Network(networks):
            return plainly(f"cidr({', '.join((about, *map(string, networks)))})")
        case Like(pattern, escape):
            fits = string(pattern) + ("" if escape == "\\" else f" ESCAPE {string(escape)}")
            return worded(f"{about} LIKE {fits}", f"{about} NOT LIKE {fits}")
        case Prefix(text) | Suffix(text) | Contains(text) as condition:
            return plainly(f"{TEXTUAL[type(condition)]}({about}, {string(text)})")
        case Related(relation, values):
            return plainly(f"{relation}({', '.join((about, *map(literal, values)))})")
        case Exists() | Missing() as condition:
            wordings = f"{about} IS NOT NULL", f"{about} IS NULL"
            return worded(*(wordings if isinstance(condition, Exists) else reversed(wordings)))
        case AnyElement(expression) | EveryElement(expression) as condition:
            asks = "any_element" if isinstance(condition, AnyElement) else "every_element"
            inner = f"{element}e"
            asked = write(expression, lambda one: _wording(one, inner))
            return plainly(f"{asks}({about}, {inner} -> {asked})")
        case NullValue() | Absent() as condition:
            name = "absent" if isinstance(condition, Absent) else "null_value"
            return plainly(f"{name}({about})")


def _semver(about: str, condition: SemVer) -> Wording:
    options = [name for name in ("parts", "v") if getattr(condition, name)]
    told = ", ".join((about, *(f"{name} => TRUE" for name in options)))
    base = string(condition.base)
    if condition.operator is Comparison.EQUAL:
        return worded(f"semver({told}) = {base}", f"semver({told}) <> {base}")
    return plainly(f"semver({told}) {condition.operator} {base}")


def _range(about: str, condition: Range) -> Wording:
    lower, upper = literal(condition.lower), literal(condition.upper)
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


# Subjects

_SUM, _PRODUCT, _ATOM = range(3)  # how tightly a subject binds
_OPERATORS: dict[Arithmetic | Integral, tuple[str, int]] = {
    Arithmetic.ADDITION: ("+", _SUM),
    Arithmetic.SUBTRACTION: ("-", _SUM),
    Arithmetic.MULTIPLICATION: ("*", _PRODUCT),
    Integral.DIVISION: ("div", _PRODUCT),
    Integral.MODULO: ("%", _PRODUCT),
}
_FUNCTIONS = {extract: name for name, extract in reversed(FIELDS.items())}


def _subject(predicate: Predicate, element: str) -> str:
    text, binding = _root(predicate.root, element), _ATOM
    for operation in predicate.operations:
        if isinstance(operation, Calculate | Divide):
            operator, needed = _OPERATORS[operation.operator]
            left = text if binding >= needed else f"({text})"
            text, binding = f"{left} {operator} {literal(operation.rhs)}", needed
        else:
            text, binding = _call(operation, text), _ATOM
    return text


def _root(term: Term, element: str) -> str:
    match term:
        case Attribute():
            return _path(term, element)
        case Literal(value):
            return literal(value)
        case Call(called, arguments):
            return f"{called}({', '.join(_root(one, element) for one in arguments)})"
        case Applied() | Case():
            raise TypeError(f"{term} cannot be written yet")


def _path(attribute: Attribute, element: str) -> str:
    """The attribute as a dotted path, or as path('...') where it is none."""
    first, *rest = attribute.steps or (None,)
    plain = all(isinstance(step, str | Element | Every) for step in rest)
    if "" not in attribute.steps and plain:
        if element and (first is None or isinstance(first, str | Element | Every)):
            return element + "".join(map(_step, attribute.steps))
        if isinstance(first, str):
            return name(first) + "".join(map(_step, rest))
    return f"path({string(str(attribute))})"


def _step(step: Step) -> str:
    if isinstance(step, Element):
        return f"[{step.at}]"
    return f".{name(step)}" if isinstance(step, str) else "[*]"


def _call(operation: Operation, text: str) -> str:
    match operation:
        case Length():
            return f"length({text})"
        case Size():
            return f"size({text})"
        case BinaryConversion():
            return f"bits({text})"
        case Substring(begin, end):
            return _substring(text, begin, end)
        case DateTime(extract, zone):
            if zone == "UTC" and extract in _FUNCTIONS:
                return f"{_FUNCTIONS[extract]}({text})"
            where = "" if zone == "UTC" else f", {string(zone)}"
            return f"datetime({text}, '{extract}'{where})"
        case ToDateTime(format):
            return f"to_datetime({text}{'' if format is None else f', {string(format)}'})"
        case Calculate() | Divide():
            raise TypeError(f"{operation!r} is written as an operator")


def _substring(text: str, begin: int, end: int | None) -> str:
    if begin >= 0 and (end is None or end >= begin):
        length = "" if end is None else f", {end - begin}"
        return f"substring({text}, {begin + 1}{length})"
    return f"characters({text}, {begin}{'' if end is None else f', {end}'})"
