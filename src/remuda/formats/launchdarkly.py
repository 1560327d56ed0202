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
from functools import partial
from typing import Any

from remuda.errors import InvalidCriterion
from remuda.formats.reading import (
    ALWAYS,
    NEVER,
    RANGES,
    Readings,
    Shared,
    a_list,
    all_of,
    all_of_each,
    among,
    an_object,
    at,
    bounded,
    call,
    conjunction,
    decoded,
    denial,
    disjunction,
    first_of,
    is_,
    list_in,
    objects_in,
    optional_text_in,
    plain,
    refusing,
    scalar,
    shown,
    text_in,
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
from remuda.model.expressions import MAX_LEVELS, MAX_PARTS, Expression
from remuda.model.functions.foreign import instant_in

USER = "user"
_WHOLE = 100_000  # of all weights
_MOST_PARTS = 10 * MAX_PARTS  # of all criteria of a flag


def read(document: Any, *, id: str = "") -> list[Criterion]:
    """The criteria of all flags; an error where one is malformed."""
    return all_of(read_each(document, id))


@refusing
def read_each(document: Any, id: str) -> Readings:
    """The criteria of every flag, or the error that says what is wrong with it."""
    data = an_object(decoded(document), "a document of flags")
    flags = an_object(data.get("flags") or {}, "flags")
    segments = an_object(data.get("segments") or {}, "segments")
    rules = ((f"flags.{key}", str(key), flag) for key, flag in flags.items())
    yield from all_of_each(rules, partial(_criteria, _Project(flags, segments)))


def event(document: Any) -> Any:
    """A context of one kind, of several, or a user as older SDKs have it: `{kind: attributes}`.

    Under `kind` stands the list of all kinds.
    """
    context = decoded(document)
    if not isinstance(context, Mapping):
        return context
    kind = context.get("kind")
    if not isinstance(kind, str | None):
        return context
    if kind == "multi":
        kinds = {name: dict(one) for name, one in context.items() if isinstance(one, Mapping)}
    elif kind is None:
        custom = context.get("custom")
        attributes = dict(custom) if isinstance(custom, Mapping) else {}
        attributes |= {name: one for name, one in context.items() if name != "custom"}
        kinds = {USER: attributes}
    else:
        kinds = {kind: {name: one for name, one in context.items() if name != "kind"}}
    for attributes in kinds.values():
        attributes.setdefault("anonymous", False)
    return {"kind": list(kinds), **kinds}


@dataclass(frozen=True, slots=True)
class _Project:
    """Flags and segments, which name one another, and those that are being read."""

    flags: Mapping[str, Any]
    segments: Mapping[str, Any]
    opened: list[str] = field(default_factory=list)
    shared: Shared = field(default_factory=Shared)

    def flag_gives(self, key: str, variation: Any) -> Expression:
        """The flag is on and gives this variation."""
        flag = self.flags.get(key)
        if flag is None:
            return NEVER
        with at(f"flags.{key}"):
            if not an_object(plain(flag), "a flag").get("on"):
                return NEVER
            with self.opening(what := f"the flag {key}"):
                # what is no number is no variation
                number = variation if isinstance(variation, int | float | None) else -1
                gives = partial(_gives, self, key, flag, number)
                return self.shared.expression((what, number), gives)

    def in_segment(self, key: str) -> Expression:
        segment = self.segments.get(key)
        if segment is None:
            return NEVER
        with self.opening(what := f"the segment {key}"), at(f"segments.{key}"):
            return self.shared.expression(what, partial(_segment, self, key, segment))

    @contextmanager
    def opening(self, what: str) -> Iterator[None]:
        """Read one of the things; none may need itself."""
        if what in self.opened:
            raise InvalidCriterion(f"{what} needs itself")
        if len(self.opened) > MAX_LEVELS:  # so deep from here: what is open may itself be read
            raise RecursionError
        self.opened.append(what)
        try:
            yield
        finally:
            self.opened.pop()


# Flags


def _criteria(project: _Project, key: str, flag: Any) -> list[Criterion]:
    found, n_parts = [], 0
    with project.opening(f"the flag {key}"):
        for number, value in enumerate(_variations(an_object(flag, "a flag"))):
            gives = _gives(project, key, flag, number)
            if gives != NEVER:
                found.append(
                    Criterion(f"{key}:{number}", gives, frozenset({f"flag:{key}"}), payload=value)
                )
                n_parts += found[-1].n_parts
            if n_parts > _MOST_PARTS:
                reason = f"its variations have too many predicates: {_MOST_PARTS} are the most"
                raise InvalidCriterion(reason)
    return found


def _variations(flag: Mapping[str, Any]) -> list[Any]:
    return a_list(flag.get("variations", []), "variations")


def _gives(project: _Project, key: str, flag: Mapping[str, Any], variation: Any) -> Expression:
    """The flag gives this variation."""
    off = flag.get("offVariation")
    if off is not None:
        _check_variation(flag, off, "offVariation")
    off_gives = ALWAYS if off == variation else NEVER
    if not flag.get("on"):
        return off_gives
    read = partial(_steps, project, key, flag)
    steps = project.shared.once((f"the flag {key}", "steps"), read)
    return first_of([(steps.met, steps.give(variation))], off_gives)


_Outcome = Mapping[int, Expression]  # where each variation is given that ever is


@dataclass(frozen=True, slots=True)
class _Steps:
    """What decides in a flag that is on: the first step that applies, once all flags are met."""

    met: Expression
    steps: list[tuple[Expression, _Outcome]]
    fallthrough: _Outcome
    given: frozenset[int]

    def give(self, variation: Any) -> Expression:
        """Where the variation is given."""
        if variation not in self.given:
            return NEVER
        steps = [(applies, outcome.get(variation, NEVER)) for applies, outcome in self.steps]
        return first_of(steps, self.fallthrough.get(variation, NEVER))


def _steps(project: _Project, key: str, flag: Mapping[str, Any]) -> _Steps:
    met = conjunction(_prerequisites(project, flag))  # first: what is too deep is told early
    with at("fallthrough"):
        last = an_object(flag.get("fallthrough") or {}, "what a flag falls through to")
    fallthrough = _outcome(flag, key, last, "fallthrough")
    rules = objects_in(flag, "rules", "a rule")
    places = [f"rules[{number}]" for number in range(len(rules))]
    named = list(zip(rules, places, strict=True))
    applying = bounded(conjunction(_clauses(project, rule, place)) for rule, place in named)
    outcomes = [_outcome(flag, key, rule, place) for rule, place in named]
    steps = [*_targets(flag), *zip(applying, outcomes, strict=True)]
    given = frozenset().union(fallthrough, *(outcome for _, outcome in steps))
    return _Steps(met, steps, fallthrough, given)


def _prerequisites(project: _Project, flag: Mapping[str, Any]) -> Iterator[Expression]:
    for number, one in enumerate(objects_in(flag, "prerequisites", "a prerequisite")):
        with at(f"prerequisites[{number}]"):
            wanted = text_in(one, "key", "a prerequisite")
            yield project.flag_gives(wanted, one.get("variation"))


def _check_variation(flag: Mapping[str, Any], variation: Any, place: str) -> None:
    n = len(_variations(flag))
    if type(variation) is not int or not 0 <= variation < n:
        raise InvalidCriterion(f"there are {n} variations, and none is {shown(variation)}", place)


def _targets(flag: Mapping[str, Any]) -> Iterator[tuple[Expression, _Outcome]]:
    """What names contexts one by one, each with the variation it gives."""
    users = objects_in(flag, "targets", "a target")
    by_kind = objects_in(flag, "contextTargets", "a target")
    name = "contextTargets" if by_kind else "targets"
    of_users: dict[int, In] = {}  # of all users who get the variation
    for number, target in enumerate(by_kind or users):
        variation: Any = target.get("variation")
        with at(f"{name}[{number}]"):
            _check_variation(flag, variation, "variation")
            kind, values = _kind(target) or USER, list_in(target, "values")
            if kind != USER or not by_kind:
                keys = In(tuple(values))
            elif variation in of_users:
                keys = of_users[variation]
            else:
                same = [one for one in users if one.get("variation") == variation]
                keys = In(tuple(value for one in same for value in list_in(one, "values")))
                of_users[variation] = keys
        yield is_(Attribute((kind, "key")), keys), {variation: ALWAYS}


def _outcome(flag: Mapping[str, Any], key: str, step: Mapping[str, Any], place: str) -> _Outcome:
    """Where a rule, or the fallthrough, gives a variation: always, or to a part of all contexts."""
    if step.get("variation") is not None:
        _check_variation(flag, step["variation"], f"{place}.variation")
        return {step["variation"]: ALWAYS}
    with at(f"{place}.rollout"):
        rollout = an_object(step.get("rollout") or {}, "a rollout")
        weighted = objects_in(rollout, "variations", "a variation with a weight")
        by = None if rollout.get("kind") == "experiment" else _bucket_by(rollout)
        bucket = _bucket(_kind(rollout), by, _prefix(rollout.get("seed"), key, flag))
    if not weighted:
        raise InvalidCriterion("it has neither a variation nor a rollout of some", place)
    found: dict[int, list[Expression]] = {}
    start = 0.0
    for number, one in enumerate(weighted):
        with at(f"{place}.rollout.variations[{number}]"):
            _check_variation(flag, one.get("variation"), "")
            end = start + _weight(one.get("weight", 0))
        last = number == len(weighted) - 1
        within = _within(bucket, start, None if last else end)
        found.setdefault(one["variation"], []).append(within)
        start = end
    outcome = {variation: disjunction(parts) for variation, parts in found.items()}
    return {variation: part for variation, part in outcome.items() if part != NEVER}


def _within(bucket: Any, start: float, end: float | None) -> Expression:
    if start == 0 and end is None:
        return ALWAYS
    if start == end:
        return NEVER
    lower = start / _WHOLE if start else None
    return is_(bucket, Range(lower, None if end is None else end / _WHOLE, lower is not None))


def _weight(weight: Any) -> float:
    is_number = isinstance(weight, int | float) and not isinstance(weight, bool)
    if not is_number or not 0 <= weight <= _WHOLE:
        reason = f"a number from 0 to {_WHOLE} is expected, not {shown(weight)}"
        raise InvalidCriterion(reason, "weight")
    return float(weight)


def _prefix(seed: Any, key: str, owner: Mapping[str, Any]) -> str:
    """What is hashed before a context's value: the seed, or the key with the salt of its owner."""
    if seed is None:
        return f"{key}.{optional_text_in(owner, 'salt') or ''}"
    with at("seed"):
        return scalar(seed, "a seed")


def _kind(owner: Mapping[str, Any], name: str = "contextKind") -> str | None:
    return optional_text_in(owner, name)


def _bucket_by(owner: Mapping[str, Any]) -> str | None:
    return optional_text_in(owner, "bucketBy")


def _bucket(kind: Any, by: Any, prefix: str) -> Any:
    return call("launchdarkly_bucket", _attribute(kind, by or "key"), prefix)


# Clauses


def _clauses(project: _Project, rule: Mapping[str, Any], place: str) -> Iterator[Expression]:
    with at(place):
        clauses = objects_in(rule, "clauses", "a clause")
    for number, clause in enumerate(clauses):
        with at(place), at(f"clauses[{number}]"):
            yield _clause(project, clause)


def _clause(project: _Project, clause: Mapping[str, Any]) -> Expression:
    operator, values = clause.get("op"), list_in(clause, "values")
    denied = bool(clause.get("negate"))
    if operator == "segmentMatch":
        inside = disjunction(project.in_segment(one) for one in values if isinstance(one, str))
        return denial(inside) if denied else inside
    kind = _kind(clause)
    with at("attribute"):
        attribute = _attribute(kind, clause.get("attribute"))
    if operator == "in":
        found: Expression = is_(attribute, In(tuple(one for one in values if one is not None)))
    else:
        ask = among(_OPERATORS, operator)
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


def _segment(project: _Project, key: str, found: Any) -> Expression:
    segment = an_object(plain(found), "a segment")
    if segment.get("unbounded"):
        raise InvalidCriterion("its members are kept elsewhere (a big segment)")
    rules = []
    for number, rule in enumerate(objects_in(segment, "rules", "a rule")):
        with at(f"rules[{number}]"):
            rules.append(_segment_rule(project, key, segment, rule))
    listed = denial(_listed(segment, "excluded"))
    return disjunction([_listed(segment, "included"), conjunction([listed, disjunction(rules)])])


def _listed(segment: Mapping[str, Any], name: str) -> Expression:
    lists: list[tuple[str, Mapping[str, Any]]] = [(name, {"values": list_in(segment, name)})]
    for number, one in enumerate(objects_in(segment, f"{name}Contexts", "a list of contexts")):
        lists.append((f"{name}Contexts[{number}]", one))
    found = []
    for place, one in lists:
        with at(place):
            if keys := list_in(one, "values"):
                found.append(is_(Attribute((_kind(one) or USER, "key")), In(tuple(keys))))
    return disjunction(found)


def _segment_rule(
    project: _Project, key: str, segment: Mapping[str, Any], rule: Mapping[str, Any]
) -> Expression:
    clauses = conjunction(_clauses(project, rule, ""))
    weight = rule.get("weight")
    if weight is None:
        return clauses
    kind = _kind(rule, "rolloutContextKind") or USER
    bucket = _bucket(kind, _bucket_by(rule), _prefix(None, key, segment))
    there = is_(Attribute((kind, "key")), Exists())
    return conjunction([clauses, there, _within(bucket, 0, _weight(weight))])
