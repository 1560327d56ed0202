"""Unleash's features: strategies with constraints, segments, dependencies and gradual rollouts.

A document has `features` and perhaps `segments`, or the `events` of the delta API. A feature is a
criterion under its name, which holds where it is enabled. What Unleash leaves to chance (a rollout
by a random number) is refused, but for 0 and 100 %; where a rollout sticks to the user or the
session by default, and a context has neither, the feature is not enabled.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
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
    each,
    flagged,
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
_CLOCK = "currentTime"


def read(document: Any, *, id: str = "") -> list[Criterion]:
    """The criteria of all features; an error where one cannot be read."""
    return all_of(read_each(document, id))


@refusing
def read_each(document: Any, id: str) -> Readings:
    """Every feature as a criterion, or as the error that says what is wrong with it."""
    state = _state(an_object(decoded(document), "a document of features"))
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
    return str(value) if isinstance(value, int | float) else value


@dataclass(frozen=True, slots=True)
class _State:
    """Features by name and segments by id, which name one another."""

    features: Mapping[str, Mapping[str, Any]]
    segments: Mapping[Any, Mapping[str, Any]]


def _state(document: Mapping[str, Any]) -> _State:
    features: dict[str, Any] = {}
    segments: dict[Any, Any] = {}
    for change in document.get("events") or [document]:
        for feature in [*(change.get("features") or []), change.get("feature")]:
            if feature is not None:
                features[an_object(feature, "a feature")["name"]] = feature
        for segment in [*(change.get("segments") or []), change.get("segment")]:
            if segment is not None:
                segments[segment["id"]] = segment
        features.pop(change.get("featureName", ""), None)
        segments.pop(change.get("segmentId"), None)
    return _State(features, segments)


def _criterion(state: _State, name: str, feature: Mapping[str, Any]) -> Criterion:
    with at("dependencies"):
        parents = [_parent(state, one) for one in feature.get("dependencies") or []]
    return Criterion(name, conjunction([_enabled(state, feature), *parents]))


def _enabled(state: _State, feature: Mapping[str, Any]) -> Expression:
    if not feature.get("enabled"):
        return NEVER
    strategies = feature.get("strategies") or []
    return disjunction(_strategies(state, strategies)) if strategies else ALWAYS


def _strategies(state: _State, strategies: list[Any]) -> Iterator[Expression]:
    for number, strategy in enumerate(strategies):
        with at(f"strategies[{number}]"):
            yield _strategy(state, strategy)


# Dependencies


def _parent(state: _State, dependency: Mapping[str, Any]) -> Expression:
    """What a parent must be; a parent that has parents itself, or is not there, is never that."""
    parent = state.features.get(dependency["feature"])
    if parent is None or parent.get("dependencies"):
        return NEVER
    enabled = _enabled(state, parent)
    if dependency.get("enabled") is False:
        return denial(enabled)
    wanted = dependency.get("variants") or []
    return conjunction([enabled, _has_variant(state, parent, wanted)]) if wanted else enabled


def _has_variant(state: _State, feature: Mapping[str, Any], wanted: list[str]) -> Expression:
    """The variant is one of these: that of the first strategy that holds, or of the feature."""
    name = feature["name"]
    of_feature = _variant_in(feature.get("variants") or [], name, wanted)
    strategies = feature.get("strategies") or []
    found = of_feature
    for strategy, holds in reversed(
        list(zip(strategies, _strategies(state, strategies), strict=True))
    ):
        group = (strategy.get("parameters") or {}).get("groupId", name)
        variants = strategy.get("variants")
        own = _variant_in(variants, group, wanted) if variants else of_feature
        if own == found:
            continue
        found = disjunction([conjunction([holds, own]), conjunction([denial(holds), found])])
    return found


def _variant_in(variants: list[Any], group: str, wanted: list[str]) -> Expression:
    if any(one.get("overrides") for one in variants):
        raise InvalidCriterion("overrides of variants are not read")
    weighted = [(one["name"] in wanted, one.get("weight", 0)) for one in variants]
    possible = {named for named, weight in weighted if weight > 0} or {"disabled" in wanted}
    if len(possible) == 1:
        return ALWAYS if possible.pop() else NEVER
    total = sum(weight for _, weight in weighted)
    bucket = call("unleash_bucket", _sticky(variants[0].get("stickiness")), group, total,
                  _VARIANT_SEED)  # fmt: skip
    found, start = [], 0
    for named, weight in weighted:
        if named and weight:
            found.append(is_(bucket, Range(start, start + weight, False, True)))
        start += weight
    return disjunction(found)


# Strategies


def _strategy(state: _State, strategy: Mapping[str, Any]) -> Expression:
    parameters = an_object(strategy.get("parameters") or {}, "parameters")
    make = _STRATEGIES.get(strategy.get("name", ""))
    if make is None:
        known = ", ".join(_STRATEGIES)
        raise InvalidCriterion(
            f"there is no strategy {strategy.get('name')!r} here; there are {known}", "name"
        )
    with at("parameters"):
        parts = [make(parameters)]
    for one in strategy.get("segments") or []:
        segment = state.segments.get(one)
        if segment is None:
            return NEVER
        with at(f"segments.{one}"):
            parts += _constraints(segment.get("constraints") or [])
    parts += _constraints(strategy.get("constraints") or [])
    return conjunction(parts)


def _users(parameters: Mapping[str, Any]) -> Expression:
    return is_(Attribute(("userId",)), In(tuple(_items(parameters.get("userIds")))))


def _addresses(parameters: Mapping[str, Any]) -> Expression:
    return _in_networks(_items(parameters.get("IPs")), Attribute(("remoteAddress",)))


def _items(text: Any) -> list[str]:
    return [one for one in map(str.strip, str(text or "").split(",")) if one]


def _gradual(name: str, parameters: Mapping[str, Any]) -> Expression:
    share = _share(parameters, "percentage")
    return _rolled_out(Attribute((name,)), parameters.get("groupId", ""), share)


def _flexible(parameters: Mapping[str, Any]) -> Expression:
    share, stickiness = _share(parameters, "rollout"), parameters.get("stickiness") or "default"
    # without an id, it is by chance
    if stickiness == "random" or (stickiness == "default" and share in (0, 100)):
        return _by_chance(share)
    return _rolled_out(_sticky(stickiness), parameters.get("groupId", ""), share)


def _share(parameters: Mapping[str, Any], name: str) -> int:
    share = number_in(parameters.get(name))
    if share is None:
        raise InvalidCriterion(
            f"a share of 100 is expected, not {shown(parameters.get(name))}", name
        )
    return int(share)


def _by_chance(share: int) -> Expression:
    if 0 < share < 100:
        raise InvalidCriterion(f"{share} % by chance cannot be told beforehand")
    return ALWAYS if share else NEVER


def _sticky(stickiness: Any) -> Term:
    """What a rollout sticks to."""
    if stickiness and stickiness != "default":
        return Attribute((stickiness,))
    user, session = Attribute(("userId",)), Attribute(("sessionId",))
    return Case(((is_(user, Exists()), user),), session)


def _rolled_out(term: Term, group: Any, share: int) -> Expression:
    bucket = call("unleash_bucket", term, str(group), 100, 0)
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


def _constraints(constraints: Any) -> Iterator[Expression]:
    for number, one in enumerate(a_list(constraints, "constraints")):
        with at(f"constraints[{number}]"):
            yield _constraint(an_object(one, "a constraint"))


def _constraint(constraint: Mapping[str, Any]) -> Expression:
    make = _OPERATORS.get(constraint.get("operator", ""))
    if make is None:
        return NEVER
    found = make(constraint, Attribute((constraint["contextName"],)))
    return denial(found) if constraint.get("inverted") else found


def _in(constraint: Mapping[str, Any], attribute: Attribute) -> Expression:
    return is_(attribute, In(tuple(constraint.get("values") or ())))


def _of_texts(make: Callable[[str], Condition]) -> _Operator:
    def found(constraint: Mapping[str, Any], attribute: Attribute) -> Expression:
        texts = constraint.get("values") or ()
        if constraint.get("caseInsensitive"):
            return disjunction(is_(call("lower", attribute), make(one.lower())) for one in texts)
        return disjunction(is_(attribute, make(one)) for one in texts)

    return found


def _regex(constraint: Mapping[str, Any], attribute: Attribute) -> Expression:
    flags = "i" if constraint.get("caseInsensitive") else ""
    return unless_refused(attribute, Regex, flagged(constraint.get("value") or "", flags), True)


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
    "IN_CIDR": lambda constraint, attribute: _in_networks(
        constraint.get("values") or (), attribute
    ),
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
