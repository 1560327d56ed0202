"""Malformed documents of every format: errors with their places, beside the rules that are read."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from typing import Any

import pytest

import remuda
from formats.test_readers import (
    CONDITIONS,
    FEATURE,
    FLAGS,
    HOLDS,
    PATTERNS,
    PLACEHOLDER,
    REFUSED,
    SIGMA,
)
from remuda.errors import InvalidCriterion
from remuda.formats import FORMATS
from remuda.language.criterion import Criterion
from strategies import SEED, SOAK, count


def _flag(**parts: Any) -> dict[str, Any]:
    on = {"on": True, "variations": ["a", "b"], "fallthrough": {"variation": 0}}
    return {"flags": {"f": on | parts}}


def _segment(segment: Any) -> dict[str, Any]:
    clause = {"op": "segmentMatch", "values": ["s"]}
    flag = _flag(rules=[{"variation": 1, "clauses": [clause]}])
    return {**flag, "segments": {"s": segment}}


def _clause(**parts: Any) -> dict[str, Any]:
    return _flag(rules=[{"variation": 1, "clauses": [parts]}])


def _rollout(**parts: Any) -> dict[str, Any]:
    weighted = [{"variation": 0, "weight": 50_000}, {"variation": 1, "weight": 50_000}]
    return _flag(fallthrough={"rollout": {"variations": weighted, **parts}})


def _feature(**parts: Any) -> dict[str, Any]:
    return {"features": [{"name": "f", "enabled": True, **parts}]}


def _strategy(**parts: Any) -> dict[str, Any]:
    return _feature(strategies=[{"name": "default", **parts}])


def _constraint(**parts: Any) -> dict[str, Any]:
    return _strategy(constraints=[{"contextName": "c", "operator": "IN", **parts}])


def _flexible(**parts: Any) -> dict[str, Any]:
    parameters = {"rollout": 50, "stickiness": "userId", "groupId": "g", **parts}
    return _feature(strategies=[{"name": "flexibleRollout", "parameters": parameters}])


def _parent(dependency: Any, **parts: Any) -> dict[str, Any]:
    parent = {"name": "p", "enabled": True, **parts}
    return {"features": [{"name": "f", "enabled": True, "dependencies": [dependency]}, parent]}


def _nested(levels: int, name: str) -> Any:
    value: Any = 1
    for _ in range(levels):
        value = {name: [value]}
    return value


def _in_objects(levels: int) -> Any:
    value: Any = ["x"]
    for _ in range(levels):
        value = {"a": value}
    return value


WANTED = {"feature": "p", "variants": ["v"]}
IN_FLAG, IN_FEATURE = "flags.f", "features.f"
CONSTRAINT = f"{IN_FEATURE}.strategies[0].constraints[0]"
PARAMETERS = f"{IN_FEATURE}.strategies[0].parameters"
PARENT = f"{IN_FEATURE}.dependencies[0].features.p"
CLAUSE = f"{IN_FLAG}.rules[0].clauses[0]"
SEGMENT = f"{CLAUSE}.segments.s"
ROLLOUT = f"{IN_FLAG}.fallthrough.rollout"

MALFORMED: list[tuple[str, Any, str, str]] = [
    ("adblock", b"||a\xff.b^", "line 1", "not UTF-8"),
    ("adblock", "||a\ud800.b^", "line 1", "not UTF-8"),
    ("adblock", 3, "", "one filter a line"),
    ("cesql", "(" * 5000 + "a = 1", "", "nested too deeply"),
    ("cesql", f"a = {'9' * 5000}", "column 5", "32 bits"),
    ("cesql", "a LIKE '\ud800%'", "", "surrogate"),
    ("cesql", [{"expression": 3}], "[0].expression", "a rule's expression is a string, not 3"),
    ("cesql", [{}], "[0].expression", "is missing"),
    ("cesql", [{"id": ["x"], "expression": "a = 1"}], "[0].id", "not ['x']"),
    ("eventbridge", {"a": [{"wildcard": "\ud800"}]}, "a[0].wildcard", "surrogate"),
    ("eventbridge", [_in_objects(40)], "[0]", "too many predicates"),
    ("eventbridge", [_nested(3000, "$or")], "[0]", "nested too deeply"),
    ("eventbridge", {"a": _nested(3000, "x")}, "a.x[0]", "no filter 'x'"),
    ("eventbridge", {"a": [[10**5000]]}, "", "4,300 digits"),
    ("eventbridge", [{"a": {3: [1]}}], "[0]", "a name in an object is a string, not 3"),
    ("eventbridge", [{"EventPattern": {"a": [1]}, "Name": {}}], "[0].Name", "an id is a string"),
    ("growthbook", _nested(3000, "$and"), "", "nested too deeply"),
    (
        "growthbook",
        {"condition": {"a": {"$inGroup": "g"}}, "savedGroups": {"g": 3}},
        "condition.a.$inGroup.savedGroups.g",
        "a saved group is a list, not 3",
    ),
    ("growthbook", {"a": {"$inGroup": ["g"]}}, "a.$inGroup", "the name of a group"),
    ("jsonlogic", [_nested(3000, "!")], "[0]", "nested too deeply"),
    ("jsonlogic", {"var": [["a"]]}, "var", "the name of a variable is a string"),
    ("jsonlogic", {"missing": [{"a": 1}]}, "missing", "the name of a variable is a string"),
    ("launchdarkly", {"flags": {"f": 3}}, IN_FLAG, "a flag is an object, not 3"),
    ("launchdarkly", _flag(variations=3), IN_FLAG, "variations is a list, not 3"),
    ("launchdarkly", _flag(fallthrough="x"), f"{IN_FLAG}.fallthrough", "an object, not 'x'"),
    ("launchdarkly", _flag(rules=[3]), f"{IN_FLAG}.rules[0]", "a rule is an object, not 3"),
    ("launchdarkly", _flag(targets=3), f"{IN_FLAG}.targets", "targets is a list, not 3"),
    ("launchdarkly", _flag(targets=[3]), f"{IN_FLAG}.targets[0]", "a target is an object, not 3"),
    (
        "launchdarkly",
        _flag(targets=[{"variation": 1, "values": 3}]),
        f"{IN_FLAG}.targets[0].values",
        "values is a list, not 3",
    ),
    (
        "launchdarkly",
        _flag(contextTargets=[{"variation": 1, "contextKind": 3, "values": ["x"]}]),
        f"{IN_FLAG}.contextTargets[0].contextKind",
        "contextKind is a string, not 3",
    ),
    (
        "launchdarkly",
        _flag(prerequisites=[None]),
        f"{IN_FLAG}.prerequisites[0]",
        "a prerequisite is an object, not None",
    ),
    (
        "launchdarkly",
        _flag(prerequisites=[{"variation": 1}]),
        f"{IN_FLAG}.prerequisites[0].key",
        "a prerequisite's key is missing",
    ),
    (
        "launchdarkly",
        _flag(prerequisites=[{"key": ["g"]}]),
        f"{IN_FLAG}.prerequisites[0].key",
        "a prerequisite's key is a string",
    ),
    ("launchdarkly", _flag(fallthrough={"rollout": 3}), ROLLOUT, "a rollout is an object, not 3"),
    ("launchdarkly", _rollout(variations=3), f"{ROLLOUT}.variations", "is a list, not 3"),
    ("launchdarkly", _rollout(variations=[3]), f"{ROLLOUT}.variations[0]", "an object, not 3"),
    (
        "launchdarkly",
        _rollout(variations=[{"variation": 0, "weight": None}]),
        f"{ROLLOUT}.variations[0].weight",
        "a number from 0 to 100000 is expected, not None",
    ),
    (
        "launchdarkly",
        _rollout(variations=[{"variation": 0, "weight": 10**400}]),
        f"{ROLLOUT}.variations[0].weight",
        "a number from 0 to 100000 is expected",
    ),
    ("launchdarkly", _rollout(contextKind=[1]), f"{ROLLOUT}.contextKind", "is a string"),
    ("launchdarkly", _rollout(bucketBy=3), f"{ROLLOUT}.bucketBy", "is a string, not 3"),
    ("launchdarkly", _rollout(seed=[1]), f"{ROLLOUT}.seed", "a seed is a string or a number"),
    ("launchdarkly", _flag(rules=[{"clauses": 3}]), f"{IN_FLAG}.rules[0].clauses", "is a list"),
    (
        "launchdarkly",
        _clause(attribute="a", op="in", values=[1], contextKind=[]) | {"segments": 3},
        "",
        "segments is an object, not 3",
    ),
    (
        "launchdarkly",
        _clause(attribute="a", op="in", values=[1], contextKind=["x"]),
        f"{CLAUSE}.contextKind",
        "contextKind is a string, not ['x']",
    ),
    ("launchdarkly", _segment(3), SEGMENT, "a segment is an object, not 3"),
    ("launchdarkly", _segment({"rules": 3}), f"{SEGMENT}.rules", "rules is a list, not 3"),
    ("launchdarkly", _segment({"rules": [3]}), f"{SEGMENT}.rules[0]", "a rule is an object"),
    (
        "launchdarkly",
        _segment({"rules": [{"weight": "x"}]}),
        f"{SEGMENT}.rules[0].weight",
        "a number from 0 to 100000 is expected, not 'x'",
    ),
    ("launchdarkly", _segment({"included": 3}), f"{SEGMENT}.included", "is a list, not 3"),
    (
        "launchdarkly",
        _segment({"includedContexts": ["x"]}),
        f"{SEGMENT}.includedContexts[0]",
        "a list of contexts is an object, not 'x'",
    ),
    (
        "launchdarkly",
        _segment({"excluded": [None]}),
        f"{SEGMENT}.excluded",
        "null is not a value",
    ),
    ("mongo", [_nested(3000, "$and")], "[0]", "nested too deeply"),
    ("mongo", {"a": {"$type": {}}}, "a.$type", "{} is no type of JSON"),
    ("mongo", {"a": {"$type": [["x"]]}}, "a.$type", "['x'] is no type of JSON"),
    ("mongo", {"a": {"$regex": [1], "$options": "i"}}, "a.$regex", "is a string, not [1]"),
    ("mongo", [{"condition": {"a": 1}, "id": []}], "[0].id", "an id is a string or a number"),
    ("sigma", b"\xff\xfe\x00", "", "no rule of Sigma"),
    ("sigma", 3, "", "text of YAML, not 3"),
    ("sigma", "a: [", "", "no rule of Sigma"),
    (
        "sigma",
        PLACEHOLDER.replace("condition: a", "condition:"),
        "detection",
        "a condition is a string, not None",
    ),
    (
        "sigma",
        PLACEHOLDER.replace("a: {f|expand: '%admins%'}", "true: {f: x}").replace(": a", ": 1 of x"),
        "detection",
        "the name of a selection is a string, not True",
    ),
    ("unleash", {"features": 1}, "features", "features is a list, not 1"),
    ("unleash", {"events": "x"}, "events", "events is a list, not 'x'"),
    ("unleash", {"events": [3]}, "events[0]", "an event is an object, not 3"),
    ("unleash", {"events": [{"features": 3}]}, "events[0].features", "is a list, not 3"),
    ("unleash", {"events": [{"featureName": 3}]}, "events[0].featureName", "is a string, not 3"),
    ("unleash", {"events": [{"segmentId": {}}]}, "events[0].segmentId", "the id of a segment"),
    ("unleash", {"features": [3]}, "features[0]", "a feature is an object, not 3"),
    ("unleash", {"features": [{}]}, "features[0].name", "a feature's name is missing"),
    ("unleash", {"features": [{"name": 3}]}, "features[0].name", "is a string, not 3"),
    ("unleash", {"segments": [3]}, "segments[0]", "a segment is an object, not 3"),
    ("unleash", {"segments": [{}]}, "segments[0].id", "the id of a segment is a string or"),
    ("unleash", _feature(dependencies=3), f"{IN_FEATURE}.dependencies", "is a list, not 3"),
    ("unleash", _feature(dependencies=[3]), f"{IN_FEATURE}.dependencies[0]", "is an object"),
    ("unleash", _parent({}), f"{IN_FEATURE}.dependencies[0].feature", "feature is missing"),
    ("unleash", _parent({"feature": []}), f"{IN_FEATURE}.dependencies[0].feature", "a string"),
    ("unleash", _parent({"feature": "p", "variants": 3}), f"{IN_FEATURE}.dependencies[0].variants",
     "variants is a list, not 3"),
    ("unleash", _parent(WANTED, variants=[3]), f"{PARENT}.variants[0]", "is an object, not 3"),
    ("unleash", _parent(WANTED, variants=[{}]), f"{PARENT}.variants[0].name", "is missing"),
    (
        "unleash",
        _parent(WANTED, variants=[{"name": "v", "weight": "x"}]),
        f"{PARENT}.variants[0].weight",
        "a whole number from 0 to 2147483647 is expected, not 'x'",
    ),
    ("unleash", _feature(strategies=3), f"{IN_FEATURE}.strategies", "is a list, not 3"),
    ("unleash", _feature(strategies=["x"]), f"{IN_FEATURE}.strategies[0]", "is an object"),
    ("unleash", _strategy(name=[1]), f"{IN_FEATURE}.strategies[0].name", "no strategy [1] here"),
    ("unleash", _strategy(parameters=3), f"{PARAMETERS}", "parameters is an object, not 3"),
    ("unleash", _strategy(segments=3), f"{IN_FEATURE}.strategies[0].segments", "is a list"),
    ("unleash", _strategy(segments=[{}]), f"{IN_FEATURE}.strategies[0].segments[0]", "not {}"),
    ("unleash", _flexible(rollout=float("inf")), f"{PARAMETERS}.rollout", "a share of 100"),
    ("unleash", _flexible(stickiness=[1]), f"{PARAMETERS}.stickiness", "is a string, not [1]"),
    ("unleash", _flexible(groupId={}), f"{PARAMETERS}.groupId", "is a string or a number"),
    (
        "unleash",
        _strategy(name="userWithId", parameters={"userIds": ["a"]}),
        f"{PARAMETERS}.userIds",
        "userIds is a string or a number, not ['a']",
    ),
    (
        "unleash",
        _strategy(constraints=[{"operator": "IN"}]),
        f"{CONSTRAINT}.contextName",
        "a constraint's contextName is missing",
    ),
    (
        "unleash",
        _constraint(contextName=3),
        f"{CONSTRAINT}.contextName",
        "a constraint's contextName is a string, not 3",
    ),
    ("unleash", _constraint(values=3), f"{CONSTRAINT}.values", "values is a list, not 3"),
    ("unleash", _constraint(values=[None]), f"{CONSTRAINT}.values", "null is not a value"),
    (
        "unleash",
        _constraint(operator="STR_CONTAINS", values=["x", 3], caseInsensitive=True),
        f"{CONSTRAINT}.values[1]",
        "a value is a string, not 3",
    ),
    ("unleash", _constraint(operator="IN_CIDR", values=3), f"{CONSTRAINT}.values", "is a list"),
    ("unleash", _constraint(operator="REGEX", value=[1]), f"{CONSTRAINT}.value", "is a string"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("format", "document", "place", "reason"),
    MALFORMED,
    ids=(f"{i}-{row[0]}" for i, row in enumerate(MALFORMED)),
)
def test_a_malformed_rule_is_one_error_with_its_place(
    format: str, document: Any, place: str, reason: str
) -> None:
    errors = [one for one in _read(format, document) if isinstance(one, InvalidCriterion)]
    assert [one.place for one in errors] == [place]
    assert reason in errors[0].reason
    with pytest.raises(InvalidCriterion):
        getattr(remuda.formats, format).read(document)


LENIENT: list[tuple[str, Any]] = [
    ("growthbook", {"a": {"$regex": "x{99999999999999999999}"}}),
    ("jsonlogic", {"!": []}),
    ("jsonlogic", {"some": [{"var": "l"}, {"var": "9" * 5000}]}),
    ("launchdarkly", _clause(attribute="a", op=["in"], values=[1])),
    ("mongo", {"9" * 5000: 1}),
    ("unleash", _constraint(operator=["IN"])),
]


@pytest.mark.parametrize(("format", "document"), LENIENT, ids=str)
def test_what_is_never_true_elsewhere_is_read_and_can_be_asked(format: str, document: Any) -> None:
    criteria = getattr(remuda.formats, format).read(document)
    for one in criteria:
        for event in ({}, {"a": "x"}, {"l": [[1], {"a": 1}]}, [1]):
            assert Criterion.from_json(one.document()).holds(event) is one.holds(event)


# Rules beside a malformed one

_BESIDE: list[tuple[str, Any, list[str]]] = [
    ("adblock", b"||a.b^\n||\xff^\n||c.d^", ["||a.b^", "||c.d^"]),
    ("cesql", ["a = 1", 3, "(" * 5000, {"expression": []}, "b = 2"], ["r:1", "r:5"]),
    ("eventbridge", [{"a": [1]}, _in_objects(40), {3: [1]}, {"b": [2]}], ["r:1", "r:4"]),
    ("growthbook", [{"a": 1}, 3, {"$and": 3}, {"b": 2}], ["r:1", "r:4"]),
    ("jsonlogic", [{"var": "a"}, _nested(3000, "!"), {"var": [[]]}, {"var": "b"}], ["r:1", "r:4"]),
    (
        "launchdarkly",
        {"flags": {"a": {"offVariation": 0, "variations": [1]}, "b": 3} | FLAGS["flags"]},
        ["a:0", "new-page:0", "new-page:1"],
    ),
    ("mongo", [{"a": 1}, {"a": {"$type": {}}}, _nested(3000, "$and"), {"b": 2}], ["r:1", "r:4"]),
    ("unleash", {"features": [3, {}, {"name": []}, {"name": "x", "strategies": 3}, FEATURE]},
     ["x", "beta"]),
    ("unleash", {"events": [3, {"features": 3}, {"feature": FEATURE}]}, ["beta"]),
    ("unleash", {"segments": [3, {"id": []}], "features": [FEATURE]}, ["beta"]),
    ("sigma", f"{SIGMA}---\n- 3\n---\naction: odd\n---\ntitle: t\ndetection: 3",
     ["11111111-2222-3333-4444-555555555555"]),
]  # fmt: skip


@pytest.mark.parametrize(
    ("format", "document", "ids"), _BESIDE, ids=(f"{i}-{one[0]}" for i, one in enumerate(_BESIDE))
)
def test_a_malformed_rule_leaves_the_others_as_they_are(
    format: str, document: Any, ids: list[str]
) -> None:
    found = _read(format, document)
    assert [one.id for one in found if isinstance(one, Criterion)] == ids
    assert any(isinstance(one, InvalidCriterion) for one in found)


# Every place of good documents, with anything in it

_VALUES: list[Any] = [
    None, True, 0, -1, 1.5, 10**400, float("nan"), float("inf"), "", "x", "[", "\ud800", "9" * 5000,
    [], [None], [1], [[1]], ["x"], {}, {"a": 1}, {"": None}, {"$gt": 3}, {"var": "a"}, {3: 1},
    10**5000, _nested(150, "a"), _nested(3000, "$and"), _nested(3000, "!"), _in_objects(150),
]  # fmt: skip
_NOISE = ("(", ")", "[", "*", "|", "$", "^", "'", "~", "\ud800", "9" * 5000, "(" * 3000, "NOT ")


def _seeds() -> dict[str, list[Any]]:
    """The documents of the readers' tests, by their formats."""
    seeds: dict[str, list[Any]] = {name: [] for name in FORMATS}
    for name, document, *_ in [*HOLDS, *REFUSED, *MALFORMED[::3]]:
        seeds[name].append(document)
    seeds["eventbridge"] += PATTERNS
    seeds["mongo"] += CONDITIONS
    seeds["growthbook"] += [{"condition": one, "savedGroups": {"g": [1]}} for one in CONDITIONS]
    seeds["unleash"].append(_parent(WANTED, variants=[{"name": "v", "weight": 1}]))
    seeds["launchdarkly"].append(_segment({"included": ["x"], "rules": [{"weight": 1}]}))
    return seeds


_SEEDS = _seeds()


def _places(value: Any, place: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Where something stands in the value, but for what is nested too deeply to be of interest."""
    yield place
    names: Any = range(len(value)) if isinstance(value, list) else value
    if isinstance(value, dict | list) and len(place) < 12:
        for name in names:
            yield from _places(value[name], (*place, name))


def _changed(value: Any, place: tuple[Any, ...], draw: random.Random) -> Any:
    """The value with something else at a place, or without what stands there."""
    if not place:
        return draw.choice([draw.choice(_VALUES), [value], [value, value], {"a": value}])
    name, *rest = place
    changed = value.copy()
    if not rest and draw.random() < 0.2:
        del changed[name]
    else:
        changed[name] = _changed(value[name], tuple(rest), draw)
    return changed


def _mutated(document: Any, draw: random.Random) -> Any:
    if isinstance(document, bytes):
        return document + bytes([draw.randrange(256)])
    if isinstance(document, str):
        at, n = draw.randrange(len(document) + 1), draw.randrange(6)
        return document[:at] + draw.choice(("", *_NOISE)) + document[at + n :]
    return _changed(document, draw.choice(list(_places(document))), draw)


def _read(format: str, document: Any) -> list[Any]:
    return list(getattr(remuda.formats, format).read_each(document, "r"))


@pytest.mark.soak
@pytest.mark.parametrize("format", sorted(FORMATS))
def test_any_change_of_a_document_gives_criteria_or_errors(format: str) -> None:
    draw = random.Random(f"{SEED} {format}" if SOAK else format)
    shape = getattr(getattr(remuda.formats, format), "event", None)
    for _ in range(count(120, 5_000)):
        document = draw.choice(_SEEDS[format])
        for _ in range(draw.choice((1, 1, 2))):
            document = _mutated(document, draw)
        for one in _read(format, document):
            if isinstance(one, Criterion):
                assert isinstance(one.holds({}), bool)
                Criterion.from_json(json.dumps(one.to_json()))
            else:
                assert isinstance(one, InvalidCriterion)
                assert isinstance(one.place, str)
        if shape is not None and not isinstance(document, str | bytes):
            shape(document)


@pytest.mark.soak
@pytest.mark.parametrize("format", ["cesql", "eventbridge", "growthbook", "jsonlogic", "mongo"])
def test_any_rule_of_a_list_may_be_malformed(format: str) -> None:
    draw = random.Random(f"{SEED} list {format}" if SOAK else f"list {format}")
    for _ in range(count(60, 2_000)):
        odd = _mutated(draw.choice(_SEEDS[format]), draw)
        good = "a = 1" if format == "cesql" else {"a": [1]} if format == "eventbridge" else {}
        first, *_, last = _read(format, [good, odd, good])
        assert (first.id, last.id) == ("r:1", "r:3")


@pytest.mark.soak
@pytest.mark.parametrize("format", ["launchdarkly", "unleash"])
def test_any_flag_of_a_document_may_be_malformed(format: str) -> None:
    draw = random.Random(f"{SEED} flags {format}" if SOAK else f"flags {format}")
    flag = FLAGS["flags"]["new-page"]
    for _ in range(count(100, 3_000)):
        odd = _mutated(flag if format == "launchdarkly" else FEATURE, draw)
        if format == "launchdarkly":
            document, ids = {"flags": {"a": flag, "odd": odd, "z": flag}}, {"a:1", "z:1"}
        else:
            features = [{"name": "a", "enabled": True}, odd, {"name": "z", "enabled": True}]
            document, ids = {"features": features}, {"a", "z"}
        found = _read(format, document)
        assert ids <= {one.id for one in found if isinstance(one, Criterion)}


@pytest.mark.parametrize("format", sorted(FORMATS))
def test_an_event_of_any_shape_has_one(format: str) -> None:
    shape = getattr(getattr(remuda.formats, format), "event", None)
    for value in _VALUES:
        if shape is not None and not isinstance(value, str):
            assert isinstance(shape(value), dict) is isinstance(value, dict)
