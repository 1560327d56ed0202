"""LaunchDarkly's flags and segments, as its servers send them to an SDK.

A document has `flags` and perhaps `segments`, by their keys. A flag becomes one criterion for each
variation that it can give, `flag:0`, `flag:1` …, with the variation as payload and the tag
`flag:KEY`: of those of a flag, one holds for a context, or none. A flag that an SDK would call
malformed is refused with the place.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from remuda.errors import InvalidCriterion
from remuda.formats.reading import (
    ALWAYS,
    NEVER,
    RANGES,
    Readings,
    a_list,
    all_of,
    an_object,
    at,
    call,
    conjunction,
    decoded,
    denial,
    disjunction,
    is_,
    refusing,
    shown,
    unless_refused,
)
from remuda.language.criterion import Criterion
from remuda.model.attributes import Attribute
from remuda.model.conditions import (
    Comparison,
    Condition,
    Contains,
    Exists,
    In,
    Prefix,
    Range,
    Regex,
    SemVer,
    Suffix,
)
from remuda.model.expressions import Expression
from remuda.model.functions.foreign import instant_in

USER = "user"
_WHOLE = 100_000  # of all weights


def read(document: Any, *, id: str = "") -> list[Criterion]:
    """The criteria of all flags; an error where one is malformed."""
    return all_of(read_each(document, id))


@refusing
def read_each(document: Any, id: str) -> Readings:
    """The criteria of every flag, or the error that says what is wrong with it."""
    data = an_object(decoded(document), "a document of flags")
    flags = an_object(data.get("flags") or {}, "flags")
    segments = an_object(data.get("segments") or {}, "segments")
    project = _Project(flags, segments)
    for key, flag in flags.items():
        try:
            yield from _criteria(project, key, flag)
        except InvalidCriterion as error:
            yield error.inside(f"flags.{key}", key)


def event(document: Any) -> Any:
    """A context of one kind, of several, or a user as older SDKs have it: `{kind: attributes}`.

    Under `kind` stands the list of all kinds.
    """
    context = decoded(document)
    if not isinstance(context, Mapping):
        return context
    kind = context.get("kind")
    if kind == "multi":
        kinds = {name: dict(one) for name, one in context.items() if isinstance(one, Mapping)}
    elif kind is None:
        custom = context.get("custom")
        attributes = dict(custom) if isinstance(custom, Mapping) else {}
        attributes |= {name: one for name, one in context.items() if name != "custom"}
        kinds = {USER: attributes}
    else:
        kinds = {str(kind): {name: one for name, one in context.items() if name != "kind"}}
    for attributes in kinds.values():
        attributes.setdefault("anonymous", False)
    return {"kind": list(kinds), **kinds}


@dataclass(frozen=True, slots=True)
class _Project:
    """Flags and segments, which name one another, and those that are being read."""

    flags: Mapping[str, Any]
    segments: Mapping[str, Any]
    opened: list[str] = field(default_factory=list)

    def flag_gives(self, key: str, variation: Any) -> Expression:
        """The flag is on and gives this variation."""
        flag = self.flags.get(key)
        if flag is None or not flag.get("on"):
            return NEVER
        with self.opening(f"the flag {key}"):
            return _gives(self, key, flag, variation)

    def in_segment(self, key: str) -> Expression:
        segment = self.segments.get(key)
        if segment is None:
            return NEVER
        with self.opening(f"the segment {key}"), at(f"segments.{key}"):
            return _segment(self, key, segment)

    @contextmanager
    def opening(self, what: str) -> Iterator[None]:
        """Read one of the things; none may need itself."""
        if what in self.opened:
            raise InvalidCriterion(f"{what} needs itself")
        self.opened.append(what)
        try:
            yield
        finally:
            self.opened.pop()


# Flags


def _criteria(project: _Project, key: str, flag: Any) -> Iterator[Criterion]:
    variations = a_list(an_object(flag, "a flag").get("variations", []), "variations")
    found = []
    with project.opening(f"the flag {key}"):
        for number, value in enumerate(variations):
            gives = _gives(project, key, flag, number)
            if gives != NEVER:
                found.append(
                    Criterion(f"{key}:{number}", gives, frozenset({f"flag:{key}"}), payload=value)
                )
    yield from found


def _gives(project: _Project, key: str, flag: Mapping[str, Any], variation: Any) -> Expression:
    """The flag gives this variation: the first of its steps that applies decides."""
    off = flag.get("offVariation")
    if off is not None:
        _check_variation(flag, off, "offVariation")
    off_gives = ALWAYS if off == variation else NEVER
    if not flag.get("on"):
        return off_gives
    otherwise = _outcome(flag, key, flag.get("fallthrough") or {}, "fallthrough", variation)
    rules = a_list(flag.get("rules") or [], "rules")
    for number, rule in reversed(list(enumerate(rules))):
        place = f"rules[{number}]"
        applies = conjunction(_clauses(project, rule, place))
        otherwise = _chosen(applies, _outcome(flag, key, rule, place, variation), otherwise)
    for applies, given in reversed(list(_targets(flag))):
        otherwise = _chosen(applies, ALWAYS if given == variation else NEVER, otherwise)
    wanted = a_list(flag.get("prerequisites") or [], "prerequisites")
    met = []
    for number, one in enumerate(wanted):
        with at(f"prerequisites[{number}]"):
            met.append(project.flag_gives(one["key"], one.get("variation")))
    return _chosen(conjunction(met), otherwise, off_gives)


def _chosen(applies: Expression, then: Expression, otherwise: Expression) -> Expression:
    if then == ALWAYS:
        return disjunction([applies, otherwise])
    if otherwise == NEVER:
        return conjunction([applies, then])
    after = conjunction([denial(applies), otherwise])
    return after if then == NEVER else disjunction([conjunction([applies, then]), after])


def _check_variation(flag: Mapping[str, Any], variation: Any, place: str) -> None:
    n = len(flag.get("variations") or [])
    if type(variation) is not int or not 0 <= variation < n:
        raise InvalidCriterion(f"there are {n} variations, and none is {shown(variation)}", place)


def _targets(flag: Mapping[str, Any]) -> Iterator[tuple[Expression, Any]]:
    """What names contexts one by one, each with the variation it gives."""
    users = flag.get("targets") or []
    targets = flag.get("contextTargets") or users
    for number, target in enumerate(targets):
        _check_variation(flag, target.get("variation"), f"targets[{number}].variation")
        kind, values = target.get("contextKind") or USER, target.get("values") or []
        if kind == USER and targets is not users:
            same = [one for one in users if one.get("variation") == target.get("variation")]
            values = [value for one in same for value in one.get("values") or []]
        yield is_(Attribute((kind, "key")), In(tuple(values))), target.get("variation")


def _outcome(
    flag: Mapping[str, Any], key: str, step: Mapping[str, Any], place: str, variation: Any
) -> Expression:
    """A rule, or the fallthrough, gives the variation: always, or to a part of all contexts."""
    if step.get("variation") is not None:
        _check_variation(flag, step["variation"], f"{place}.variation")
        return ALWAYS if step["variation"] == variation else NEVER
    rollout = step.get("rollout") or {}
    weighted = rollout.get("variations") or []
    if not weighted:
        raise InvalidCriterion("it has neither a variation nor a rollout of some", place)
    experiment = rollout.get("kind") == "experiment"
    bucket = _bucket(
        rollout.get("contextKind"),
        None if experiment else rollout.get("bucketBy"),
        _prefix(rollout.get("seed"), key, flag.get("salt")),
    )
    found, start = [], 0
    for number, one in enumerate(weighted):
        _check_variation(flag, one.get("variation"), f"{place}.rollout.variations[{number}]")
        end = start + one.get("weight", 0)
        if one["variation"] == variation:
            last = number == len(weighted) - 1
            found.append(_within(bucket, start, None if last else end))
        start = end
    return disjunction(found)


def _within(bucket: Any, start: int, end: int | None) -> Expression:
    if start == 0 and end is None:
        return ALWAYS
    if start == end:
        return NEVER
    lower = start / _WHOLE if start else None
    return is_(bucket, Range(lower, None if end is None else end / _WHOLE, lower is not None))


def _prefix(seed: Any, key: str, salt: Any) -> str:
    return f"{key}.{salt or ''}" if seed is None else str(seed)


def _bucket(kind: Any, by: Any, prefix: str) -> Any:
    return call("launchdarkly_bucket", _attribute(kind, by or "key"), prefix)


# Clauses


def _clauses(project: _Project, rule: Any, place: str) -> Iterator[Expression]:
    for number, clause in enumerate(an_object(rule, "a rule").get("clauses") or []):
        with at(f"{place}.clauses[{number}]"):
            yield _clause(project, an_object(clause, "a clause"))


def _clause(project: _Project, clause: Mapping[str, Any]) -> Expression:
    operator, values = clause.get("op"), a_list(clause.get("values") or [], "values")
    denied = bool(clause.get("negate"))
    if operator == "segmentMatch":
        inside = disjunction(project.in_segment(one) for one in values if isinstance(one, str))
        return denial(inside) if denied else inside
    with at("attribute"):
        attribute = _attribute(clause.get("contextKind"), clause.get("attribute"))
    if operator == "in":
        found: Expression = is_(attribute, In(tuple(one for one in values if one is not None)))
    else:
        ask = _OPERATORS.get(str(operator))
        found = disjunction(ask(attribute, one) for one in values) if ask else NEVER
    if not denied:
        return found
    return conjunction([is_(attribute, Exists()), denial(found)])


def _attribute(kind: Any, reference: Any) -> Attribute:
    """The path of a reference; without a kind of context it is a plain name."""
    if not isinstance(reference, str) or not reference:
        raise InvalidCriterion("an attribute is named")
    if reference == "kind":
        return Attribute(("kind",), empty=True)
    if not kind or not reference.startswith("/"):
        return Attribute((kind or USER, reference), empty=True)
    names = reference[1:].split("/")
    if not all(names):
        raise InvalidCriterion(f"{reference!r} has an empty name in its path")
    for name in names:
        if "~" in name.replace("~0", "").replace("~1", ""):
            raise InvalidCriterion(f"only ~0 and ~1 are escapes, and {reference!r} has another")
    steps = (name.replace("~1", "/").replace("~0", "~") for name in names)
    return Attribute((kind, *steps), empty=True)


def _of_text(make: Callable[[str], Condition]) -> _Operator:
    return lambda attribute, value: is_(attribute, make(value)) if isinstance(value, str) else NEVER


def _if_readable(make: Callable[..., Condition], *options: Any) -> _Operator:
    """To an SDK, what is no pattern or no version matches nothing."""
    return lambda attribute, value: (
        unless_refused(attribute, make, value, *options) if isinstance(value, str) else NEVER
    )


def _of_number(make: Callable[[Any], Range]) -> _Operator:
    def ask(attribute: Attribute, value: Any) -> Expression:
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        return is_(attribute, make(value)) if is_number else NEVER

    return ask


def _of_instant(make: Callable[[Any], Range]) -> _Operator:
    def ask(attribute: Attribute, value: Any) -> Expression:
        moment = None if isinstance(value, bool) else instant_in(value)
        return NEVER if moment is None else is_(call("instant_in", attribute), make(moment))

    return ask


_Operator = Callable[[Attribute, Any], Expression]
_OPERATORS: Mapping[str, _Operator] = {
    "startsWith": _of_text(Prefix),
    "endsWith": _of_text(Suffix),
    "contains": _of_text(Contains),
    "matches": _if_readable(Regex, True),
    "lessThan": _of_number(RANGES["<"]),
    "lessThanOrEqual": _of_number(RANGES["<="]),
    "greaterThan": _of_number(RANGES[">"]),
    "greaterThanOrEqual": _of_number(RANGES[">="]),
    "before": _of_instant(RANGES["<"]),
    "after": _of_instant(RANGES[">"]),
    "semVerEqual": _if_readable(SemVer, Comparison.EQUAL, True),
    "semVerLessThan": _if_readable(SemVer, Comparison.BELOW, True),
    "semVerGreaterThan": _if_readable(SemVer, Comparison.ABOVE, True),
}


# Segments


def _segment(project: _Project, key: str, segment: Mapping[str, Any]) -> Expression:
    if segment.get("unbounded"):
        raise InvalidCriterion("its members are kept elsewhere (a big segment)")
    rules = []
    for number, rule in enumerate(segment.get("rules") or []):
        with at(f"rules[{number}]"):
            rules.append(_segment_rule(project, key, segment, rule))
    listed = denial(_listed(segment, "excluded"))
    return disjunction([_listed(segment, "included"), conjunction([listed, disjunction(rules)])])


def _listed(segment: Mapping[str, Any], name: str) -> Expression:
    lists = [(USER, segment.get(name)), *_by_kind(segment.get(f"{name}Contexts"))]
    return disjunction(
        is_(Attribute((kind, "key")), In(tuple(keys))) for kind, keys in lists if keys
    )


def _by_kind(lists: Any) -> Iterator[tuple[str, Any]]:
    for one in lists or []:
        yield one.get("contextKind") or USER, one.get("values")


def _segment_rule(
    project: _Project, key: str, segment: Mapping[str, Any], rule: Mapping[str, Any]
) -> Expression:
    clauses = conjunction(_clauses(project, rule, ""))
    weight = rule.get("weight")
    if weight is None:
        return clauses
    kind = rule.get("rolloutContextKind") or USER
    bucket = _bucket(kind, rule.get("bucketBy"), _prefix(None, key, segment.get("salt")))
    there = is_(Attribute((kind, "key")), Exists())
    return conjunction([clauses, there, _within(bucket, 0, weight)])
