"""Event patterns of Amazon EventBridge.

A rule is an object with `Name` and `EventPattern` (text or object), as AWS lists them, alone, in a
list, or under `Rules`; or a pattern by itself, whose id is given. A leaf is a list of values and
filters, of which one must fit; a value of the event that is a list fits by any of its elements.
`write` gives the pattern of a criterion.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Mapping, Sequence
from functools import partial
from ipaddress import ip_network
from typing import Any

from remuda.errors import InvalidCriterion
from remuda.formats.reading import (
    TOO_MANY,
    Readings,
    a_list,
    a_text,
    all_of,
    an_object,
    at,
    call,
    conjunction,
    decoded,
    disjunction,
    each,
    has_null,
    is_,
    is_true,
    numbered,
    refusing,
    reshaped,
    shown,
    unwrapped,
)
from remuda.language.criterion import Criterion
from remuda.model.attributes import Attribute
from remuda.model.conditions import (
    AnyElement,
    Condition,
    In,
    Network,
    NullValue,
    Prefix,
    Range,
    Regex,
    Suffix,
)
from remuda.model.expressions import MAX_PARTS, And, Expression, Not, Or, Polarity, Predicate
from remuda.model.patterns import literal_regex
from remuda.model.terms import Call, Case, Literal, Term, attribute_of
from remuda.model.values import Kind

MAX_WILDCARDS = 5  # of one filter; EventBridge refuses more than its automaton bears
_SPLIT = re.compile(r"\\(.)|(\*)", re.DOTALL)


def read(document: Any, *, id: str = "pattern") -> list[Criterion]:
    """The criteria of a rule, of a list of rules, or of a pattern, which gets the id."""
    return all_of(read_each(document, id))


@refusing
def read_each(document: Any, id: str) -> Readings:
    """Every rule as a criterion, or as the error that says what is wrong with it."""
    found = decoded(document)
    listed = isinstance(found, Mapping) and isinstance(found.get("Rules"), list)
    rules = (
        (f"Rules{place}" if listed else place, name, rule)
        for place, name, rule in numbered(found["Rules"] if listed else found, id)
    )
    yield from each(rules, _criterion, partial(unwrapped, "EventPattern", "Name"))


def event(document: Any) -> Any:
    """The event as patterns see it: a name with dots is a path, and lists in lists are one list."""
    event = decoded(document)
    return reshaped(_shaped, event) if isinstance(event, Mapping) else event


def _criterion(name: str, pattern: Any) -> Criterion:
    asked = an_object(decoded(pattern), "a pattern")
    if _n_asked(asked) > MAX_PARTS:  # refuse before reading: it doubles with every level
        raise InvalidCriterion(TOO_MANY)
    return Criterion(name, _object(asked, ()))


def _n_asked(pattern: Any, times: int = 1, within: bool = False) -> int:
    """How many fields are asked about: those within another in an object, and in a list of such.

    Of what is read again, all values count.
    """
    if not isinstance(pattern, Mapping) or times > MAX_PARTS:
        return times if times == 1 else times + (times - 1) * _n_values(pattern)
    n = 0
    for name, inner in pattern.items():
        if name == "$or" and isinstance(inner, list):
            n += sum(_n_asked(one, times, within) for one in inner)
        else:
            doubled = isinstance(inner, Mapping) and (within or "." in name)
            n += _n_asked(inner, times * 2 if doubled else times, True)
    return n


def _n_values(leaf: Any) -> int:
    parts = list(leaf.values()) if isinstance(leaf, Mapping) else leaf
    return sum(map(_n_values, parts)) if isinstance(parts, list) else 1


# Patterns


def _object(pattern: Mapping[str, Any], path: tuple[str, ...]) -> Expression:
    """What a pattern of an object asks: all of its fields."""
    if not pattern:
        raise InvalidCriterion("a pattern has one field at least")
    parts = []
    for name, inner in pattern.items():
        with at(name):
            if name == "$or" and isinstance(inner, list) and all(map(_is_object, inner)):
                parts.append(_any(inner, path))
            else:
                parts.append(_field(inner, (*path, *name.split("."))))
    return conjunction(parts)


def _any(alternatives: list[Any], path: tuple[str, ...]) -> Expression:
    if len(alternatives) < 2:
        raise InvalidCriterion("$or has two alternatives at least")
    found = []
    for i, one in enumerate(alternatives):
        with at(i):
            found.append(_object(one, path))
    return disjunction(found)


def _field(pattern: Any, path: tuple[str, ...]) -> Expression:
    if not isinstance(pattern, Mapping):
        return _leaf(a_list(pattern, "what a field must be"), Attribute(path))
    inside = _object(pattern, path)
    if len(path) == 1:  # the fields of an event itself are no lists of objects
        return inside
    # fields of one object in a list of them: all must be those of the same element
    return disjunction([inside, is_(Attribute(path), AnyElement(_object(pattern, ())))])


def _is_object(value: Any) -> bool:
    return isinstance(value, Mapping)


# Leaves


def _leaf(filters: list[Any], attribute: Attribute) -> Expression:
    if not filters:
        raise InvalidCriterion("a list of values has one at least")
    values = [one for one in filters if isinstance(one, str | int | float)]
    found: list[Expression] = [is_(attribute, In(tuple(values)))] if values else []
    for i, one in enumerate(filters):
        with at(i):
            if one is None:
                found.append(has_null(attribute))
            elif isinstance(one, Mapping):
                found.append(_filter(one, attribute))
            elif not isinstance(one, str | int | float):
                raise InvalidCriterion(f"a value is no list: {shown(one)}")
    return disjunction(found)


def _filter(filter: Mapping[str, Any], attribute: Attribute) -> Expression:
    if len(filter) != 1:
        raise InvalidCriterion(f"a filter has one name, not {len(filter)}")
    ((name, operand),) = filter.items()
    make = _FILTERS.get(name)
    if make is None:
        known = ", ".join(_FILTERS)
        raise InvalidCriterion(f"there is no filter {name!r}; there are {known}")
    with at(name):
        return make(operand, attribute)


def _is_leaf(attribute: Attribute) -> Expression:
    """There is a text, a number or a truth value; objects are no leaves."""
    conditions = Prefix(""), Range(), In((True, False))
    return Or(*(is_(attribute, condition) for condition in conditions))


def _exists(operand: Any, attribute: Attribute) -> Expression:
    if not isinstance(operand, bool):
        raise InvalidCriterion(f"this is true or false, not {shown(operand)}")
    present = _present(attribute)
    return present if operand else ~present


def _present(attribute: Attribute) -> Expression:
    return disjunction([_is_leaf(attribute), has_null(attribute)])


def _affix(make: Callable[[str], Condition], operand: Any, attribute: Attribute) -> Expression:
    if isinstance(operand, Mapping) and set(operand) == {"equals-ignore-case"}:
        text = a_text(operand["equals-ignore-case"], "a text without case")
        return is_(call("lower", attribute), make(text.lower()))
    return is_(attribute, make(a_text(operand, "a text")))


def _ignoring_case(operand: Any, attribute: Attribute) -> Expression:
    return is_(call("lower", attribute), In((a_text(operand, "a text").lower(),)))


def _wildcard(operand: Any, attribute: Attribute) -> Expression:
    return is_(attribute, Regex(_wildcard_regex(a_text(operand, "a wildcard"))))


def _wildcard_regex(wildcard: str) -> str:
    """The pattern of RE2's; a backslash makes a star, or itself, plain."""
    parts, start, stars, last = [], 0, 0, -1
    for match in _SPLIT.finditer(wildcard):
        parts.append(literal_regex(wildcard[start : match.start()]))
        if match[2]:
            if last == match.start():
                raise InvalidCriterion("two wildcards stand side by side")
            stars, last = stars + 1, match.end()
            parts.append("(?s:.*)")
        elif match[1] in "*\\":
            parts.append(literal_regex(match[1]))
        else:
            raise InvalidCriterion(f"only \\* and \\\\ are escapes, not \\{match[1]}")
        start = match.end()
    if stars > MAX_WILDCARDS:
        raise InvalidCriterion(f"it is too complex: {MAX_WILDCARDS} wildcards are the most")
    return "".join([*parts, literal_regex(wildcard[start:])])


def _cidr(operand: Any, attribute: Attribute) -> Expression:
    text = a_text(operand, "a network")
    try:
        network = ip_network(text, strict=False)
    except ValueError:
        raise InvalidCriterion(f"{text!r} is no network, such as 10.0.0.0/24") from None
    return is_(attribute, Network((str(network),)))


_BELOW, _ABOVE = {"<": False, "<=": True}, {">": False, ">=": True}


def _numeric(operand: Any, attribute: Attribute) -> Expression:
    pairs = a_list(operand, "a comparison")
    if len(pairs) not in (2, 4):
        raise InvalidCriterion("a comparison is an operator and a number, once or twice")
    for i, one in enumerate(pairs):
        good = one in ("=", *_BELOW, *_ABOVE) if i % 2 == 0 else _is_number(one)
        if not good:
            raise InvalidCriterion(
                f"{'a number' if i % 2 else 'an operator'} is expected, not {shown(one)}", f"[{i}]"
            )
    first, number, *second = pairs
    if second and not (first in _ABOVE and second[0] in _BELOW and number < second[1]):
        raise InvalidCriterion("two comparisons are one above a number and one below a larger one")
    if first == "=":
        return is_(attribute, In((number,)))
    if first in _BELOW:
        return is_(attribute, Range(None, number, False, _BELOW[first]))
    operator, upper = second or ("<", None)
    return is_(attribute, Range(number, upper, _ABOVE[first], _BELOW[operator]))


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _anything_but(operand: Any, attribute: Attribute) -> Expression:
    """Some element is there, null or not, that is none of these."""
    if isinstance(operand, Mapping):
        unwanted = _unwanted_texts(operand, attribute)
    else:
        values = operand if isinstance(operand, list) else [operand]
        kinds = {_is_number(one) for one in values if _is_number(one) or isinstance(one, str)}
        if len(kinds) != 1 or not all(_is_number(one) or isinstance(one, str) for one in values):
            raise InvalidCriterion(f"texts, or numbers, are expected, not {shown(operand)}")
        unwanted = is_(attribute, In(tuple(values)))
    there = Or(_is_leaf(attribute), is_(attribute, NullValue()))
    return is_true(Case(((unwanted, Literal(False)), (there, Literal(True)))))


def _unwanted_texts(operand: Mapping[str, Any], attribute: Attribute) -> Expression:
    if len(operand) != 1 or next(iter(operand)) not in _DENIED:
        raise InvalidCriterion(f"one of {', '.join(_DENIED)} is expected, not {shown(operand)}")
    ((name, given),) = operand.items()
    with at(name):
        texts = given if isinstance(given, list) else [given]
        if not texts:
            raise InvalidCriterion("a list of texts has one at least")
        for text in texts:
            if not a_text(text, "what is denied") and name in ("prefix", "suffix"):
                raise InvalidCriterion("an empty text is at the end of every text")
        return disjunction(_DENIED[name](text, attribute) for text in texts)


_FILTERS: Mapping[str, Callable[[Any, Attribute], Expression]] = {
    "prefix": partial(_affix, Prefix),
    "suffix": partial(_affix, Suffix),
    "equals-ignore-case": _ignoring_case,
    "wildcard": _wildcard,
    "anything-but": _anything_but,
    "numeric": _numeric,
    "exists": _exists,
    "cidr": _cidr,
}
_DENIED = {name: _FILTERS[name] for name in ("prefix", "suffix", "equals-ignore-case", "wildcard")}


# The way back


def write(criterion: Criterion) -> dict[str, Any]:
    """The pattern that is read back as the same; InvalidCriterion names what cannot be said."""
    try:
        pattern = _pattern(criterion.expression)
        again = _object(pattern, ())
    except InvalidCriterion as error:
        raise error.inside("", criterion.id) from None
    if _unordered(again) != _unordered(criterion.expression):
        reason = "a pattern means something else by its lists, paths or weights"
        raise InvalidCriterion(reason, "", criterion.id)
    return pattern


def _unordered(expression: Expression) -> Hashable:
    """The expression without the order of its parts."""
    if isinstance(expression, Predicate):
        return expression
    return type(expression), frozenset(map(_unordered, expression.parts))


def _pattern(expression: Expression) -> dict[str, Any]:
    pattern: dict[str, Any] = {}
    for part in expression.parts if isinstance(expression, And) else (expression,):
        _join(pattern, _field_of(part))
    return pattern


def _join(pattern: dict[str, Any], other: Mapping[str, Any]) -> None:
    for name, inner in other.items():
        if isinstance(inner, dict) and isinstance(pattern.setdefault(name, {}), dict):
            _join(pattern[name], inner)
        elif name in pattern:
            raise InvalidCriterion("a pattern asks one thing of a field", name)
        else:
            pattern[name] = inner


def _field_of(expression: Expression) -> dict[str, Any]:
    """One field with its filters, an object that may stand in a list, or alternatives."""
    parts = expression.parts if isinstance(expression, Or) else (expression,)
    last = parts[-1] if parts else None
    whole = _presence(expression) or _is_null(expression)
    in_list = isinstance(last, Predicate) and isinstance(last.condition, AnyElement)
    if in_list and not whole and len(parts) > 1:
        return _pattern(disjunction(parts[:-1]))  # a pattern says both at once
    fields = [_filter_of(part) for part in ((expression,) if whole else parts)]
    if all(fields) and len({field[0] for field in fields if field}) == 1:
        pattern: Any = [one for field in fields if field for one in field[1]]
        for name in reversed(fields[0][0] if fields[0] else ()):
            pattern = {name: pattern}
        return dict(pattern)
    if len(parts) > 1:
        return {"$or": [_pattern(part) for part in parts]}
    raise InvalidCriterion(f"{type(expression).__name__} has no counterpart")


def _filter_of(part: Expression) -> tuple[tuple[str, ...], list[Any]] | None:
    """The path of a field with its filters; None where it is no field's."""
    presence = _presence(part)
    if presence is not None:
        attribute, there = presence
        return _path_of(attribute), [{"exists": there}]
    null = _is_null(part)
    if null is not None:
        return _path_of(null), [None]
    if not isinstance(part, Predicate) or part.polarity is not Polarity.INCLUDED:
        return None
    attribute, folded = _subject(part.term)
    with at(str(part.term)):
        if isinstance(part.term, Case):
            return _path_of(attribute), [_case(part.term)]
        return _path_of(attribute), _filters_of(part.condition, folded=folded)


def _presence(part: Expression) -> tuple[Attribute, bool] | None:
    inner = part.part if isinstance(part, Not) else part
    if not isinstance(inner, Or) or not isinstance(inner.parts[-1], Predicate):
        return None
    attribute = inner.parts[-1].attribute
    if attribute is None or inner != _present(attribute):
        return None
    return attribute, inner is part


def _is_null(part: Expression) -> Attribute | None:
    """The field that must be null."""
    first = part.parts[0] if isinstance(part, Or) and part.parts else None
    attribute = first.attribute if isinstance(first, Predicate) else None
    return attribute if attribute is not None and part == has_null(attribute) else None


def _case(term: Case) -> Any:
    """What is not to be."""
    unwanted = term.branches[0][0]
    parts: tuple[Any, ...] = unwanted.parts if isinstance(unwanted, Or) else (unwanted,)
    filters: list[Any] = []
    for part in parts:
        filters += _filters_of(part.condition, folded=_subject(part.term)[1])
    named = [one for one in filters if isinstance(one, dict)]
    if not named:
        return {"anything-but": filters}
    ((name, _),) = named[0].items()
    return {"anything-but": {name: [one[name] for one in named]}}


def _subject(term: Term) -> tuple[Attribute, bool]:
    """The field that a term is about, and whether it is looked at without case."""
    folded = isinstance(term, Call) and term.name == "lower"
    if isinstance(term, Call) and folded:
        term = term.arguments[0]
    attribute = attribute_of(term)
    if attribute is None or not isinstance(term, Attribute | Case):
        raise InvalidCriterion("only fields are asked about", str(term))
    return attribute, folded


def _path_of(attribute: Attribute) -> tuple[str, ...]:
    if not all(isinstance(step, str) for step in attribute.steps):
        raise InvalidCriterion("a field is a path of names", str(attribute))
    return tuple(map(str, attribute.steps))


def _filters_of(condition: Condition, *, folded: bool) -> list[Any]:
    match condition:
        case In(values):
            return [{"equals-ignore-case": one} for one in values] if folded else list(values)
        case Prefix(text):
            return [{"prefix": {"equals-ignore-case": text} if folded else text}]
        case Suffix(text):
            return [{"suffix": {"equals-ignore-case": text} if folded else text}]
        case Network(networks):
            return [{"cidr": one} for one in networks]
        case Range(lower, upper, lower_closed, upper_closed) if condition.kind is Kind.NUMBER:
            comparison: list[Any] = []
            if lower is not None:
                comparison += [">=" if lower_closed else ">", lower]
            if upper is not None:
                comparison += ["<=" if upper_closed else "<", upper]
            return [{"numeric": comparison}]
        case _:
            raise InvalidCriterion(f"{type(condition).__name__} has no counterpart")


# Events


def _shaped(value: Any) -> Any:
    if isinstance(value, Mapping):
        shaped: dict[str, Any] = {}
        for name, part in value.items():
            *outer, last = name.split(".") if isinstance(name, str) else (name,)
            inner = shaped
            for step in outer:
                beneath = inner.setdefault(step, {})
                if not isinstance(beneath, dict):
                    beneath = inner[step] = {}
                inner = beneath
            inner[last] = _merged(inner[last], _shaped(part)) if last in inner else _shaped(part)
        return shaped
    if isinstance(value, list):
        return _flat([_shaped(part) for part in value])
    return value


def _merged(first: Any, second: Any) -> Any:
    """Two values of one path: fields of both objects, or elements of both lists."""
    if isinstance(first, dict) and isinstance(second, dict):
        return first | {
            name: _merged(first[name], part) if name in first else part
            for name, part in second.items()
        }
    return _flat([first, second])


def _flat(values: Sequence[Any]) -> list[Any]:
    return [one for value in values for one in (value if isinstance(value, list) else (value,))]
