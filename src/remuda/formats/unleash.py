"""Unleash's features: strategies with constraints, segments, dependencies and gradual rollouts.

A document has `features` and perhaps `segments`, or the `events` of the delta API. A feature is a
criterion under its name, which holds where it is enabled. What Unleash leaves to chance (a rollout
by a random number) is refused, but for 0 and 100 %; where a rollout sticks to the user or the
session by default, and a context has neither, the feature is not enabled.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from decimal import Decimal
from functools import partial
from math import isfinite
from typing import Any

from remuda.errors import InvalidCriterion
from remuda.formats.reading import (
    ALWAYS,
    NEVER,
    RANGES,
    Readings,
    Shared,
    a_text,
    all_of,
    among,
    an_object,
    at,
    bounded,
    call,
    conjunction,
    decoded,
    denial,
    disjunction,
    each,
    first_of,
    flagged,
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
    Network,
    Prefix,
    Range,
    Regex,
    SemVer,
    Suffix,
)
from remuda.model.expressions import Expression
from remuda.model.functions.foreign import instant_in, number_in
from remuda.model.terms import Case, Term

_VARIANT_SEED = 86028157
_MOST = 2**31 - 1  # that a variant weighs
_CLOCK = "currentTime"


def read(document: Any, *, id: str = "") -> list[Criterion]:
    """The criteria of all features; an error where one cannot be read."""
    return all_of(read_each(document, id))


@refusing
def read_each(document: Any, id: str) -> Readings:
    """Every feature as a criterion, or as the error that says what is wrong with it."""
    state, errors = _state(an_object(decoded(document), "a document of features"))
    yield from errors
    features = ((f"features.{name}", name, one) for name, one in state.features.items())
    yield from each(features, partial(_criterion, state))


def event(document: Any) -> Any:
    """A context as constraints see it: properties beside its own fields, all of them text."""
    context = decoded(document)
    if not isinstance(context, Mapping):
        return context
    properties = context.get("properties")
    found = dict(properties) if isinstance(properties, Mapping) else {}
    found |= {name: one for name, one in context.items() if name != "properties"}
    return {name: _as_text(one) for name, one in found.items()}


def _as_text(value: Any) -> Any:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(Decimal(value))  # Python writes no integers of more than 4,300 digits
    return str(value) if isinstance(value, float) else value


@dataclass(frozen=True, slots=True)
class _State:
    """Features by name and segments by id, which name one another."""

    features: Mapping[str, Mapping[str, Any]]
    segments: Mapping[str, Mapping[str, Any]]
    shared: Shared = field(default_factory=Shared)


def _state(document: Mapping[str, Any]) -> tuple[_State, list[InvalidCriterion]]:
    """What there is after all changes, and the errors of what cannot be told by its name."""
    features: dict[str, Any] = {}
    segments: dict[str, Any] = {}
    errors: list[InvalidCriterion] = []
    events = list_in(document, "events")
    changes = [(f"events[{number}]", one) for number, one in enumerate(events)]
    for above, change in changes or [("", document)]:
        with _noting(errors, above):
            an_object(change, "an event")
            for place, feature in _all_of(change, "feature"):
                with _noting(errors, above), at(place):
                    named = an_object(plain(feature), "a feature")
                    features[text_in(named, "name", "a feature")] = feature
            for place, segment in _all_of(change, "segment"):
                with _noting(errors, above), at(place):
                    segments[_id_in(an_object(plain(segment), "a segment"), "id")] = segment
            if removed := optional_text_in(change, "featureName"):
                features.pop(removed, None)
            if change.get("segmentId") is not None:
                segments.pop(_id_in(change, "segmentId"), None)
    return _State(features, segments), errors


@contextmanager
def _noting(errors: list[InvalidCriterion], place: str) -> Iterator[None]:
    """An error within is one more of these, at the place, and what follows goes on."""
    try:
        yield
    except InvalidCriterion as error:
        errors.append(error.inside(place))


def _all_of(change: Mapping[str, Any], name: str) -> Iterator[tuple[str, Any]]:
    """What a change has under the name, or in a list under its plural, each with its place."""
    several = f"{name}s"
    yield from ((f"{several}[{i}]", one) for i, one in enumerate(list_in(change, several)))
    if change.get(name) is not None:
        yield name, change[name]


def _id_in(owner: Mapping[str, Any], name: str) -> str:
    with at(name):
        return scalar(owner.get(name), "the id of a segment")


def _criterion(state: _State, name: str, feature: Mapping[str, Any]) -> Criterion:
    parents = []
    for number, one in enumerate(objects_in(feature, "dependencies", "a dependency")):
        with at(f"dependencies[{number}]"):
            parents.append(_parent(state, one))
    return Criterion(name, conjunction([_enabled(state, feature), *parents]))


def _enabled(state: _State, feature: Mapping[str, Any]) -> Expression:
    if not feature.get("enabled"):
        return NEVER
    strategies = [holds for _, holds in _strategies(state, feature)]
    return disjunction(strategies) if strategies else ALWAYS


def _strategies(
    state: _State, feature: Mapping[str, Any]
) -> list[tuple[Mapping[str, Any], Expression]]:
    """The strategies of a feature, each with where it holds."""
    strategies = objects_in(feature, "strategies", "a strategy")
    name = "strategies", feature["name"]
    holds = state.shared.once(name, lambda: bounded(_each(state, strategies)))
    return list(zip(strategies, holds, strict=True))


def _each(state: _State, strategies: list[Mapping[str, Any]]) -> Iterator[Expression]:
    for number, one in enumerate(strategies):
        with at(f"strategies[{number}]"):
            yield _strategy(state, one)


# Dependencies


def _parent(state: _State, dependency: Mapping[str, Any]) -> Expression:
    """What a parent must be; a parent that has parents itself, or is not there, is never that."""
    name = text_in(dependency, "feature", "a dependency")
    wanted = list_in(dependency, "variants")
    parent = state.features.get(name)
    if parent is None or parent.get("dependencies"):
        return NEVER
    with at(f"features.{name}"):
        enabled = state.shared.expression(("feature", name), partial(_enabled, state, parent))
        if dependency.get("enabled") is False:
            return denial(enabled)
        if not wanted:
            return enabled
        names = frozenset(one for one in wanted if isinstance(one, str))
        given = partial(_has_variant, state, parent, names)
        return conjunction([enabled, state.shared.expression(("variant", name, names), given)])


def _has_variant(state: _State, feature: Mapping[str, Any], wanted: frozenset[str]) -> Expression:
    """The variant is one of these: that of the first strategy that holds, or of the feature."""
    name = feature["name"]
    of_feature = _variant_in(objects_in(feature, "variants", "a variant"), name, wanted)
    steps = []
    for strategy, holds in _strategies(state, feature):
        variants = objects_in(strategy, "variants", "a variant")
        group = _group(_parameters(strategy), name)
        steps.append((holds, _variant_in(variants, group, wanted) if variants else of_feature))
    while steps and steps[-1][1] == of_feature:
        steps.pop()
    return first_of(steps, of_feature)


def _variant_in(
    variants: list[Mapping[str, Any]], group: str, wanted: frozenset[str]
) -> Expression:
    if any(one.get("overrides") for one in variants):
        raise InvalidCriterion("overrides of variants are not read")
    weighted = []
    for number, one in enumerate(variants):
        with at(f"variants[{number}]"):
            weighted.append((text_in(one, "name", "a variant") in wanted, _weight(one)))
    possible = {named for named, weight in weighted if weight > 0} or {"disabled" in wanted}
    if len(possible) == 1:
        return ALWAYS if possible.pop() else NEVER
    stickiness = optional_text_in(variants[0], "stickiness")
    total = sum(weight for _, weight in weighted)
    bucket = call("unleash_bucket", _sticky(stickiness), group, total,
                  _VARIANT_SEED)  # fmt: skip
    found, start = [], 0
    for named, weight in weighted:
        if named and weight:
            found.append(is_(bucket, Range(start, start + weight, False, True)))
        start += weight
    return disjunction(found)


def _weight(variant: Mapping[str, Any]) -> int:
    weight = variant.get("weight", 0)
    if type(weight) is not int or not 0 <= weight <= _MOST:
        raise InvalidCriterion(
            f"a whole number from 0 to {_MOST} is expected, not {shown(weight)}", "weight"
        )
    return weight


# Strategies


def _strategy(state: _State, strategy: Mapping[str, Any]) -> Expression:
    parameters = _parameters(strategy)
    name = strategy.get("name")
    make = among(_STRATEGIES, name)
    if make is None:
        known = ", ".join(_STRATEGIES)
        reason = f"there is no strategy {shown(name)} here; there are {known}"
        raise InvalidCriterion(reason, "name")
    with at("parameters"):
        parts = [make(parameters)]
    for number, one in enumerate(list_in(strategy, "segments")):
        with at(f"segments[{number}]"):
            key = scalar(one, "the id of a segment")
        segment = state.segments.get(key)
        if segment is None:
            return NEVER
        with at(f"segments.{key}"):
            constraints = partial(_constraints, segment)
            parts.append(state.shared.expression(("segment", key), constraints))
    return conjunction([*parts, _constraints(strategy)])


def _parameters(strategy: Mapping[str, Any]) -> Mapping[str, Any]:
    with at("parameters"):
        return an_object(strategy.get("parameters") or {}, "parameters")


def _users(parameters: Mapping[str, Any]) -> Expression:
    return is_(Attribute(("userId",)), In(tuple(_items(parameters, "userIds"))))


def _addresses(parameters: Mapping[str, Any]) -> Expression:
    return _in_networks(_items(parameters, "IPs"), Attribute(("remoteAddress",)))


def _items(parameters: Mapping[str, Any], name: str) -> list[str]:
    with at(name):
        text = scalar(parameters.get(name) or "", name)
    return [one for one in map(str.strip, text.split(",")) if one]


def _group(parameters: Mapping[str, Any], otherwise: str) -> str:
    group = parameters.get("groupId")
    with at("groupId"):
        return otherwise if group is None else scalar(group, "a group's id")


def _gradual(name: str, parameters: Mapping[str, Any]) -> Expression:
    share = _share(parameters, "percentage")
    return _rolled_out(Attribute((name,)), _group(parameters, ""), share)


def _flexible(parameters: Mapping[str, Any]) -> Expression:
    share = _share(parameters, "rollout")
    stickiness = optional_text_in(parameters, "stickiness") or "default"
    # without an id, it is by chance
    if stickiness == "random" or (stickiness == "default" and share in (0, 100)):
        return _by_chance(share)
    return _rolled_out(_sticky(stickiness), _group(parameters, ""), share)


def _share(parameters: Mapping[str, Any], name: str) -> int:
    share = number_in(parameters.get(name))
    if share is None or not isfinite(share):
        raise InvalidCriterion(
            f"a share of 100 is expected, not {shown(parameters.get(name))}", name
        )
    return int(share)


def _by_chance(share: int) -> Expression:
    if 0 < share < 100:
        raise InvalidCriterion(f"{share} % by chance cannot be told beforehand")
    return ALWAYS if share else NEVER


def _sticky(stickiness: str | None) -> Term:
    """What a rollout sticks to."""
    if stickiness and stickiness != "default":
        return Attribute((stickiness,))
    user, session = Attribute(("userId",)), Attribute(("sessionId",))
    return Case(((is_(user, Exists()), user),), session)


def _rolled_out(term: Term, group: str, share: int) -> Expression:
    bucket = call("unleash_bucket", term, group, 100, 0)
    return is_(bucket, Range(upper=share, upper_closed=True)) if share else NEVER


_STRATEGIES: Mapping[str, Callable[[Mapping[str, Any]], Expression]] = {
    "default": lambda _: ALWAYS,
    "userWithId": _users,
    "remoteAddress": _addresses,
    "gradualRolloutUserId": partial(_gradual, "userId"),
    "gradualRolloutSessionId": partial(_gradual, "sessionId"),
    "gradualRolloutRandom": lambda parameters: _by_chance(_share(parameters, "percentage")),
    "flexibleRollout": _flexible,
}


# Constraints


def _constraints(owner: Mapping[str, Any]) -> Expression:
    parts = []
    for number, one in enumerate(objects_in(owner, "constraints", "a constraint")):
        with at(f"constraints[{number}]"):
            parts.append(_constraint(one))
    return conjunction(parts)


def _constraint(constraint: Mapping[str, Any]) -> Expression:
    make = among(_OPERATORS, constraint.get("operator"))
    if make is None:
        return NEVER
    name = text_in(constraint, "contextName", "a constraint")
    found = make(constraint, Attribute((name,)))
    return denial(found) if constraint.get("inverted") else found


def _in(constraint: Mapping[str, Any], attribute: Attribute) -> Expression:
    values = list_in(constraint, "values")
    with at("values"):
        return is_(attribute, In(tuple(values)))


def _of_texts(make: Callable[[str], Condition]) -> _Operator:
    def found(constraint: Mapping[str, Any], attribute: Attribute) -> Expression:
        texts = _texts_in(constraint)
        if constraint.get("caseInsensitive"):
            return disjunction(is_(call("lower", attribute), make(one.lower())) for one in texts)
        return disjunction(is_(attribute, make(one)) for one in texts)

    return found


def _texts_in(constraint: Mapping[str, Any]) -> list[str]:
    texts = []
    for number, one in enumerate(list_in(constraint, "values")):
        with at(f"values[{number}]"):
            texts.append(a_text(one, "a value"))
    return texts


def _regex(constraint: Mapping[str, Any], attribute: Attribute) -> Expression:
    flags = "i" if constraint.get("caseInsensitive") else ""
    pattern = optional_text_in(constraint, "value") or ""
    return unless_refused(attribute, Regex, flagged(pattern, flags), True)


def _in_networks(texts: Iterable[str], attribute: Attribute) -> Expression:
    """An address in one of these; what is no network is passed over, as Unleash does."""
    networks: list[str] = []
    for text in texts:
        try:
            networks += Network((text,)).networks
        except InvalidCriterion:
            continue
    return is_(attribute, Network(tuple(networks))) if networks else NEVER


def _of_numbers(make: Callable[[Any], Condition]) -> _Operator:
    def found(constraint: Mapping[str, Any], attribute: Attribute) -> Expression:
        number = number_in(constraint.get("value"))
        return NEVER if number is None else is_(call("number_in", attribute), make(number))

    return found


def _of_instants(make: Callable[[Any], Condition]) -> _Operator:
    def found(constraint: Mapping[str, Any], attribute: Attribute) -> Expression:
        moment = instant_in(constraint.get("value"))
        read = "instant_or_now" if attribute.field == _CLOCK else "instant_in"
        return NEVER if moment is None else is_(call(read, attribute), make(moment))

    return found


def _of_versions(comparison: Comparison) -> _Operator:
    return lambda constraint, attribute: unless_refused(
        attribute, SemVer, constraint.get("value") or "", comparison
    )


_Operator = Callable[[Mapping[str, Any], Attribute], Expression]
_OPERATORS: Mapping[str, _Operator] = {
    "IN": _in,
    "NOT_IN": lambda constraint, attribute: denial(_in(constraint, attribute)),
    "STR_STARTS_WITH": _of_texts(Prefix),
    "STR_ENDS_WITH": _of_texts(Suffix),
    "STR_CONTAINS": _of_texts(Contains),
    "REGEX": _regex,
    "IN_CIDR": lambda constraint, attribute: _in_networks(list_in(constraint, "values"), attribute),
    "NUM_EQ": _of_numbers(lambda bound: In((bound,))),
    "NUM_GT": _of_numbers(RANGES[">"]),
    "NUM_GTE": _of_numbers(RANGES[">="]),
    "NUM_LT": _of_numbers(RANGES["<"]),
    "NUM_LTE": _of_numbers(RANGES["<="]),
    "DATE_AFTER": _of_instants(RANGES[">"]),
    "DATE_BEFORE": _of_instants(RANGES["<"]),
    "SEMVER_EQ": _of_versions(Comparison.EQUAL),
    "SEMVER_GT": _of_versions(Comparison.ABOVE),
    "SEMVER_GTE": _of_versions(Comparison.AT_LEAST),
    "SEMVER_LT": _of_versions(Comparison.BELOW),
    "SEMVER_LTE": _of_versions(Comparison.AT_MOST),
}
