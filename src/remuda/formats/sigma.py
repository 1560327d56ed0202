"""Sigma's detection rules, parsed by pySigma (`pip install remuda[sigma]`).

A document is the YAML of one rule or of several. Texts are compared without case, numbers as their
texts; a keyword is sought in all texts of an event, however deep. The log source is in the tags
(`product:windows`), beside the level and the rule's own tags. Fields are named as in the rules, or
by a table (`fields={"Image": "process.executable"}`).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from copy import deepcopy
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from functools import partial
from typing import Any

from remuda.errors import InvalidCriterion, RemudaError
from remuda.formats.reading import (
    RANGES,
    TOO_MANY,
    Readings,
    Rule,
    a_text,
    all_of,
    an_object,
    call,
    conjunction,
    decoded,
    denial,
    disjunction,
    each,
    flagged,
    is_,
    numbered,
    reshaped,
    shown,
)
from remuda.language.criterion import Criterion
from remuda.model.attributes import Attribute
from remuda.model.conditions import (
    Condition,
    Contains,
    Exists,
    In,
    Missing,
    Network,
    Prefix,
    Range,
    Regex,
    Suffix,
)
from remuda.model.expressions import MAX_PARTS, Expression
from remuda.model.patterns import literal_regex
from remuda.model.terms import Term
from remuda.model.values import checked_text

try:
    import yaml
    from sigma import conditions, types
    from sigma.collection import SigmaCollection
    from sigma.exceptions import SigmaError
    from sigma.rule import SigmaDetection, SigmaRule
except ImportError as error:
    raise RemudaError(f"Sigma's rules need pySigma: pip install remuda[sigma] ({error})") from None

EVERYTHING = Attribute.parse("$..*")  # all that stands anywhere in an event
_SYSTEM = "Event"
_NO_RULE = "this is no rule of Sigma"


def read(
    document: Any, *, id: str = "rule", fields: Mapping[str, str] | None = None
) -> list[Criterion]:
    """The criteria of a YAML document of rules; `fields` has the paths of renamed fields."""
    return all_of(read_each(document, id, fields))


def read_each(document: Any, id: str, fields: Mapping[str, str] | None = None) -> Readings:
    """Every rule as a criterion, or as the error that says what is wrong with it."""
    try:
        rules, errors = _loaded(_documents(document))
    except InvalidCriterion as error:
        yield error.inside("", id)
        return
    yield from errors
    if not rules and not errors:
        yield InvalidCriterion("there is no rule in it", "", id)
    make = partial(_criterion, _Reader(fields or {}))
    yield from each(numbered(rules if len(rules) != 1 else rules[0], id), make, _named)


def _named(rule: Rule) -> Rule:
    _, name, said = rule
    return "", str(getattr(said, "id", None) or getattr(said, "title", None) or name), said


def _documents(document: Any) -> list[Any]:
    """The documents of a text of YAML, but for empty ones."""
    if isinstance(document, Mapping):
        return [dict(document)]
    if not isinstance(document, str | bytes):
        raise InvalidCriterion(f"a rule is an object, or text of YAML, not {shown(document)}")
    try:
        return [one for one in yaml.safe_load_all(document) if one is not None]
    except Exception as error:  # YAML's errors, and those of Python's on numbers and dates
        raise InvalidCriterion(f"{_NO_RULE}: {_said(error)}") from None


def _loaded(documents: list[Any]) -> tuple[list[Any], list[InvalidCriterion]]:
    """The rules in documents, and the errors of those that are none.

    Each is tried by itself first: pySigma reads all of them or none.
    """
    if len(documents) < 2:
        return _rules(documents), []
    kept, errors = [], []
    for number, one in enumerate(documents, start=1):
        try:
            _rules([deepcopy(one)])
            kept.append(one)
        except InvalidCriterion as error:
            errors.append(error.inside(f"document {number}"))
    return _rules(kept), errors


def _rules(documents: list[Any]) -> list[Any]:
    """The rules in documents, of which one may stand for parts of those behind it."""
    for one in documents:
        an_object(one, f"{_NO_RULE}: a rule")
    try:
        found = SigmaCollection.from_dicts(documents, True, resolve_references=False)
    except Exception as error:  # pySigma raises all kinds on odd documents
        raise InvalidCriterion(f"{_NO_RULE}: {_said(error)}") from None
    own = {id(one) for rule in found.rules for one in rule.errors}
    for one in found.errors:
        if id(one) not in own:
            raise InvalidCriterion(f"{_NO_RULE}: {_said(one)}")
    return list(found.rules)


def event(document: Any) -> Any:
    """An event of Windows with all of its fields side by side; others as they are."""
    return reshaped(_shaped, decoded(document))


def _shaped(found: Any) -> Any:
    inner = found.get(_SYSTEM) if isinstance(found, Mapping) else None
    if not isinstance(inner, Mapping):
        return found
    fields: dict[str, Any] = {}
    for part in ("System", "EventData", "UserData"):
        for name, value in _fields(inner.get(part)):
            fields.setdefault(name, value)
    return fields


def _fields(part: Any, above: str = "") -> Iterator[tuple[str, Any]]:
    """The fields of a part; attributes of an element are named for it (`Provider_Name`)."""
    if not isinstance(part, Mapping):
        return
    for name, value in part.items():
        if name == "#attributes":
            if isinstance(value, Mapping) and above:
                yield from ((f"{above}_{own}", one) for own, one in value.items())
        elif isinstance(value, Mapping):
            if "#text" in value:
                yield name, value["#text"]
            yield from _fields(value, name)
        else:
            yield name, value


def _criterion(reader: _Reader, name: str, rule: Any) -> Criterion:
    try:
        expression = _expression(rule, reader)
    except InvalidCriterion as error:
        raise error.inside("" if error.place else "detection") from None
    except SigmaError as error:
        raise InvalidCriterion(_said(error), "detection") from None
    payload = {"title": rule.title} if rule.title else None
    return Criterion(name, expression, _tags(rule), payload=payload)


def _expression(rule: Any, reader: _Reader) -> Expression:
    if rule.errors:
        raise InvalidCriterion(_said(rule.errors[0]))
    if not isinstance(rule, SigmaRule):
        raise InvalidCriterion("a correlation of rules is no condition on one event")
    for name in rule.detection.detections:
        checked_text(a_text(name, "the name of a selection"), "the name of a selection")
    conditions = rule.detection.parsed_condition
    texts = [a_text(one.condition, "a condition") for one in conditions]
    if _n_named(texts, rule.detection.detections) > MAX_PARTS:  # refuse before it is parsed
        raise InvalidCriterion(TOO_MANY)
    return disjunction(reader.expression(one.parsed) for one in conditions)


def _n_named(texts: list[str], detections: Mapping[str, Any]) -> int:
    """How many values conditions ask about: all of a selection wherever it is named."""
    sizes = {name: _n_values(one) for name, one in detections.items()}
    n = 0
    for word, times in Counter(word for text in texts for word in _NAME.findall(text)).items():
        if "*" in word or word == "them":  # but for names that a filter made
            wanted = word if "*" in word else "[!_]*"
            n += times * sum(size for name, size in sizes.items() if fnmatchcase(name, wanted))
        else:
            n += times * sizes.get(word, 0)
    return n


def _n_values(detection: Any) -> int:
    if isinstance(detection, SigmaDetection):
        return sum(map(_n_values, detection.detection_items))
    return len(detection.value)


_NAME = re.compile(r"[A-Za-z0-9_*-]+")


def _said(error: BaseException) -> str:
    return " ".join(str(error).split()) or type(error).__name__


def _tags(rule: SigmaRule) -> frozenset[str]:
    source = rule.logsource
    named = {"product": source.product, "category": source.category, "service": source.service}
    tags = {f"{name}:{value}" for name, value in named.items() if value}
    if rule.level is not None:
        tags.add(f"level:{str(rule.level).lower()}")
    return frozenset(tags | {str(tag) for tag in rule.tags})


@dataclass(frozen=True, slots=True)
class _Reader:
    """Turns pySigma's conditions into expressions; fields may have other names in events."""

    fields: Mapping[str, str] = field(default_factory=dict)

    def expression(self, node: Any) -> Expression:
        match node:
            case conditions.ConditionAND():
                return conjunction(map(self.expression, node.args))
            case conditions.ConditionOR():
                return disjunction(map(self.expression, node.args))
            case conditions.ConditionNOT():
                return denial(self.expression(node.args[0]))
            case conditions.ConditionFieldEqualsValueExpression():
                return self.value(node.value, self.attribute(node.field))
            case conditions.ConditionValueExpression():
                return self._keyword(node.value)
            case _:
                raise InvalidCriterion(f"{type(node).__name__} is not read", "condition")

    def attribute(self, name: str) -> Attribute:
        if name in self.fields:
            return Attribute.parse(self.fields[name])
        return Attribute(tuple(name.split(".")))

    def value(self, value: Any, attribute: Attribute) -> Expression:
        """What is asked of one field."""
        match value:
            case types.SigmaString():
                cased = isinstance(value, types.SigmaCasedString)
                return self._text(value, attribute, cased=cased)
            case types.SigmaTimestampPart():
                return self._part_of_time(value, attribute)
            case types.SigmaNumber():
                return is_(_folded(attribute), In((str(value.number),)))
            case types.SigmaBool():
                return is_(_folded(attribute), In((str(value.boolean).lower(),)))
            case types.SigmaNull():
                return is_(attribute, Missing())
            case types.SigmaExists():
                return is_(attribute, Exists() if value.exists else Missing())
            case types.SigmaRegularExpression():
                return is_(call("scalar_text", attribute), Regex(_regex(value), find=True))
            case types.SigmaCIDRExpression():
                return is_(attribute, Network((str(value.network),)))
            case types.SigmaCompareExpression():
                return is_(call("number_in", attribute), _range(value))
            case types.SigmaFieldReference():
                return self._reference(value, attribute)
            case types.SigmaExpansion():
                return disjunction(self.value(one, attribute) for one in value.values)
            case _:
                raise InvalidCriterion(f"{type(value).__name__} is not read", str(attribute))

    def _keyword(self, value: Any) -> Expression:
        if isinstance(value, types.SigmaString):
            cased = isinstance(value, types.SigmaCasedString)
            return self._text(value, EVERYTHING, cased=cased, anywhere=True)
        if isinstance(value, types.SigmaNumber):
            return is_(_folded(EVERYTHING), Contains(str(value.number)))
        return self.value(value, EVERYTHING)

    def _text(
        self, value: Any, attribute: Attribute, *, cased: bool, anywhere: bool = False
    ) -> Expression:
        parts = _parts(value, cased)
        if anywhere:
            parts = [_MANY, *parts, _MANY]
        term: Term = call("scalar_text", attribute) if cased else _folded(attribute)
        return is_(term, _condition(parts))

    def _reference(self, value: Any, attribute: Attribute) -> Expression:
        if value.starts_with or value.ends_with:
            raise InvalidCriterion("a part of another field is not compared", str(attribute))
        other = _folded(self.attribute(value.field))
        return is_(call("compare", _folded(attribute), other), In((0,)))

    def _part_of_time(self, value: Any, attribute: Attribute) -> Expression:
        name = value.timestamp_part.name.lower()
        if name not in _PARTS_OF_TIME:
            raise InvalidCriterion(f"the part {name} of a time is not read", str(attribute))
        moment = call("to_timestamp", attribute)
        return is_(call(_PARTS_OF_TIME[name], moment), In((value.number,)))


_PARTS_OF_TIME = {
    "minute": "minute",
    "hour": "hour",
    "day": "day",
    "week": "weekofyear",
    "month": "month",
    "year": "year",
}


def _folded(attribute: Attribute) -> Term:
    return call("lower", call("scalar_text", attribute))


_MANY, _ONE = types.SpecialChars.WILDCARD_MULTI, types.SpecialChars.WILDCARD_SINGLE


def _parts(value: Any, cased: bool) -> list[Any]:
    """Texts and wildcards in turn; two wildcards for any text side by side are one."""
    found: list[Any] = []
    for part in value.s:
        if isinstance(part, types.Placeholder):
            raise InvalidCriterion(f"the placeholder %{part.name}% stands for something unknown")
        if part is _MANY and found[-1:] == [_MANY]:
            continue
        found.append(part if not isinstance(part, str) or cased else part.lower())
    return found


def _condition(parts: list[Any]) -> Condition:
    while parts[:2] == [_MANY, _MANY]:
        del parts[0]
    while parts[-2:] == [_MANY, _MANY]:
        del parts[-1]
    texts = [part for part in parts if isinstance(part, str)]
    many = [part is _MANY for part in parts]
    if not parts:
        return In(("",))
    if len(texts) == 1 and _ONE not in parts:
        make: dict[tuple[bool, ...], Callable[[str], Condition]] = {
            (False,): lambda text: In((text,)),
            (False, True): Prefix,
            (True, False): Suffix,
            (True, False, True): Contains,
        }
        return make[tuple(many)](texts[0])
    if parts == [_MANY]:
        return Prefix("")
    signs = {_MANY: "(?s:.*)", _ONE: "(?s:.)"}
    return Regex("".join(signs.get(part) or literal_regex(part) for part in parts))


def _regex(value: Any) -> str:
    flags = "".join(sorted(value.sigma_to_re_flag[flag] for flag in value.flags))
    return flagged(str(value.regexp), flags)


_SIGNS = {"LT": "<", "LTE": "<=", "GT": ">", "GTE": ">="}


def _range(value: Any) -> Range:
    if value.op.name not in _SIGNS:
        raise InvalidCriterion(f"the comparison {shown(value.op)} is not read")
    return RANGES[_SIGNS[value.op.name]](value.number.number)
