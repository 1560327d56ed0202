"""Rules that grow with every level or term: read, or refused, but never tried without end.

Where a reader doubled its work with each level, none of these would come to an end.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from typing import Any

import pytest

import remuda
from formats.test_malformed import _feature, _flag, _read
from remuda.errors import InvalidCriterion
from remuda.language.criterion import Criterion
from remuda.model.attributes import Attribute
from remuda.model.conditions import In
from remuda.model.expressions import (
    MAX_PARTS,
    And,
    Expression,
    Or,
    Predicate,
    checked_size,
)
from remuda.model.terms import Case, Literal
from strategies import SEED, SOAK, count

MOST = "100000 parts are the most"
ON: dict[str, Any] = {"on": True, "variations": [0, 1], "offVariation": 0}


def _nested(level: Callable[[Any, int], Any], n: int, leaf: Any) -> Any:
    for i in range(n):
        leaf = level(leaf, i)
    return leaf


def _clause(i: int) -> dict[str, Any]:
    return {"attribute": f"a{i}", "op": "in", "values": [1]}


def _flags(n: int, *variations: int) -> dict[str, Any]:
    """Flags of which each needs the next, with every one of these variations."""

    def needed(i: int) -> list[Any]:
        return [{"key": f"f{i + 1}", "variation": one} for one in variations if i < n]

    fallthrough = {"fallthrough": {"variation": 0}}
    return {
        "flags": {
            f"f{i}": ON
            | fallthrough
            | {"rules": [{"variation": 1, "clauses": [_clause(i)]}], "prerequisites": needed(i)}
            for i in range(n + 1)
        }
    }


def _segments(n: int, times: int) -> dict[str, Any]:
    """A flag of the first of segments, of which each is in the next, asked so many times."""

    def rules(i: int) -> list[Any]:
        inner = {"op": "segmentMatch", "values": [f"s{i + 1}"]} if i < n else _clause(i)
        return [{"clauses": [inner, _clause(k)]} for k in range(times)]

    first = {"op": "segmentMatch", "values": ["s0"]}
    segments = {f"s{i}": {"excluded": ["u"], "rules": rules(i)} for i in range(n + 1)}
    return {**_flag(rules=[{"variation": 1, "clauses": [first]}]), "segments": segments}


def _constraints(n: int) -> list[Any]:
    return [{"contextName": f"a{i}", "operator": "IN", "values": ["1"]} for i in range(n)]


def _strategies(n: int, n_constraints: int) -> dict[str, Any]:
    strategies = [{"name": "default", "segments": [1], "constraints": _constraints(1)}] * n
    segment = {"id": 1, "constraints": _constraints(n_constraints)}
    return {**_feature(strategies=strategies), "segments": [segment]}


def _is(i: int) -> Any:
    return {"==": [{"var": f"a{i}"}, 1]}


def _sigma(n: int, condition: str, n_values: int = 1) -> str:
    selection = "".join(f"  s{i}: {{f{i}: {list(range(n_values))}}}\n" for i in range(n))
    return f"title: t\nlogsource: {{product: p}}\ndetection:\n{selection}  condition: {condition}\n"


def _xor(n: int) -> str:
    return " XOR ".join(f"a{i} = 1" for i in range(n))


REFUSED: list[tuple[str, Any]] = [
    ("cesql", _xor(300)),
    ("cesql", f"LENGTH({_xor(300)}) = 4"),
    ("cesql", _nested(lambda inner, i: f"({inner}) XOR a{i} = 1", 40, "b = 1")),
    ("cesql", _nested(lambda inner, i: f"LENGTH(({inner}) XOR a{i} = 1) = 4", 20, "b = 1")),
    ("cesql", _nested(lambda inner, i: f"(a{i} = 1) = ({inner} OR c = 1)", 40, "b = 1")),
    ("cesql", _nested(lambda inner, i: f"({inner}) IN (TRUE, a{i}, b)", 40, "b = 1")),
    ("launchdarkly", _segments(40, 2)),
    ("launchdarkly", _segments(1, 400)),
    ("unleash", _strategies(400, 400)),
    ("jsonlogic", _nested(lambda inner, i: {"if": [inner, _is(i), _is(-i)]}, 40, _is(0))),
    (
        "jsonlogic",
        {
            "some": [
                {"var": "l"},
                _nested(lambda inner, i: {"if": [inner, _is(i), _is(-i)]}, 40, _is(0)),
            ]
        },
    ),
    ("eventbridge", _nested(lambda inner, i: {f"a{i}": inner}, 40, {"a": [1]})),
    (
        "eventbridge",
        _nested(lambda inner, i: {f"a{i}": inner}, 14, {"a": [{"prefix": "x"}] * 50}),
    ),
    ("sigma", _sigma(80, " or ".join(["not all of s*"] * 80), 80)),
    ("sigma", _sigma(1, " or ".join(["s0"] * 400), 400)),
]  # fmt: skip


@pytest.mark.parametrize(
    ("format", "document"), REFUSED, ids=(f"{i}-{row[0]}" for i, row in enumerate(REFUSED))
)
def test_what_is_too_large_is_refused_before_it_is_made(format: str, document: Any) -> None:
    reasons = [one.reason for one in _read(format, document) if isinstance(one, InvalidCriterion)]
    assert len(reasons) == 1
    assert reasons[0].endswith(MOST)


@pytest.mark.parametrize("variations", [(1, 0), (1, 0, 1)])
def test_flags_that_need_one_another_twice_are_refused_where_they_are_too_large(
    variations: tuple[int, ...],
) -> None:
    found = _read("launchdarkly", _flags(40, *variations))
    errors = [one for one in found if isinstance(one, InvalidCriterion)]
    refused = [str(one.criterion).partition(":")[0] for one in errors]
    assert refused == [f"f{i}" for i in range(len(refused))]
    assert 20 < len(refused) < 40
    assert {one.reason.rpartition(": ")[2] for one in errors} == {MOST}
    assert "f40:1" in [one.id for one in found if isinstance(one, Criterion)]


LINEAR: list[tuple[str, Any, int]] = [
    ("cesql", _xor(80), 22_000),
    ("cesql", " OR ".join(f"a{i} = 1" for i in range(4000)), 65_000),
    ("cesql", " AND ".join(f"a{i} = 1" for i in range(40_000)), 80_001),
    ("launchdarkly", _flags(80, 1), 170),
    ("launchdarkly", _segments(80, 1), 330),
    ("mongo", _nested(lambda inner, i: {"$nor": [inner, {f"a{i}": 1}]}, 80, {"a": 1}), 250),
    ("growthbook", _nested(lambda inner, i: {"$not": {"$or": [inner, {"a": i}]}}, 80, {}), 330),
    ("jsonlogic", _nested(lambda inner, i: {"!": {"or": [inner, _is(i)]}}, 80, _is(0)), 330),
    ("sigma", _sigma(1, _nested(lambda inner, _: f"not ({inner} or s0)", 80, "s0")), 410),
]


@pytest.mark.parametrize(
    ("format", "document", "most"), LINEAR, ids=(f"{i}-{row[0]}" for i, row in enumerate(LINEAR))
)
def test_what_grows_little_is_read(format: str, document: Any, most: int) -> None:
    criteria = getattr(remuda.formats, format).read(document)
    assert 0 < max(one.n_parts for one in criteria) <= most


def test_groups_that_are_named_again_and_again_are_refused() -> None:
    named = [{f"a{i}": {"$inGroup": "g"}} for i in range(2000)]
    rule = {"condition": {"$and": named}, "savedGroups": {"g": list(range(2000))}}
    (error,) = _read("growthbook", rule)
    assert error.place == "condition.$and[501].a501.$inGroup.savedGroups.g"
    assert "names 1000000 values" in error.reason


def test_the_criteria_of_a_flag_are_counted_together(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(remuda.formats.launchdarkly, "_MOST_PARTS", 1000)
    n = 50
    rules = [{"variation": i, "clauses": [_clause(i)]} for i in range(n)]
    (error,) = _read("launchdarkly", _flag(variations=list(range(n)), rules=rules))
    assert "its variations have too many predicates" in error.reason


def test_a_pattern_of_many_classes_is_refused() -> None:
    (error,) = _read("growthbook", {"a": {"$regex": "[^\\x00-\\uffff]" * 5000}})
    assert (error.place, error.reason) == (
        "a.$regex",
        "a regular expression has 200 classes at most",
    )


def test_parts_that_are_shared_count_wherever_they_stand() -> None:
    shared: Expression = Predicate(Attribute(("a",)), In((1,)))

    def alone(level: int) -> Expression:
        if level == 0:
            return Predicate(Attribute(("a",)), In((1,)))
        return And(alone(level - 1), Or(alone(level - 1), alone(level - 1)))

    for level in range(6):
        asked = [Case(((one, Literal(1)),)) for one in (shared, alone(level))]
        assert asked[0].facts == asked[1].facts
        assert asked[0].facts.n_parts == 3**level + 3
        sizes = {checked_size(Predicate(one, In((1,)))) for one in asked}
        assert len(sizes | {checked_size(shared) + 3}) == 1
        shared = And(shared, Or(shared, shared))


# Any nest of a format's own operators

_TEXT: dict[str, list[Callable[[str, str, int], str]]] = {
    "cesql": [
        lambda a, b, i: f"({a}) AND ({b})",
        lambda a, b, i: f"({a}) OR a{i} = 1",
        lambda a, b, i: f"({a}) XOR ({b})",
        lambda a, b, i: f"NOT ({a})",
        lambda a, b, i: f"({a}) = ({b})",
        lambda a, b, i: f"LENGTH({a}) < ABS(a{i})",
        lambda a, b, i: f"({a}) IN (({b}), a{i})",
        lambda a, b, i: f"CONCAT(({a}), ({b})) LIKE 'a%'",
    ],
    "sigma": [
        lambda a, b, i: f"({a}) and ({b})",
        lambda a, b, i: f"not ({a})",
        lambda a, b, i: f"({a}) or all of s*",
    ],
}
_JSON: dict[str, list[Callable[[Any, Any, int], Any]]] = {
    "jsonlogic": [
        lambda a, b, i: {"and": [a, b]},
        lambda a, b, i: {"if": [a, b, _is(i)]},
        lambda a, b, i: {"if": [_is(i), a, b, a]},
        lambda a, b, i: {"!": [a]},
        lambda a, b, i: {"some": [{"var": f"a{i}"}, a]},
        lambda a, b, i: {"none": [{"var": f"a{i}"}, {"or": [a, b]}]},
    ],
    "mongo": [
        lambda a, b, i: {"$and": [a, b]},
        lambda a, b, i: {"$nor": [a, {f"a{i}": 1}]},
        lambda a, b, i: {f"a{i}": {"$elemMatch": a}},
        lambda a, b, i: {f"a{i}": {"$not": {"$elemMatch": {"$or": [a, b]}}}},
    ],
    "growthbook": [
        lambda a, b, i: {"$or": [a, b]},
        lambda a, b, i: {"$not": a},
        lambda a, b, i: {f"a{i}": {"$elemMatch": a}},
        lambda a, b, i: {f"a{i}": {"$all": [a, {"$gt": i}]}},
    ],
    "eventbridge": [
        lambda a, b, i: {f"a{i}": a},
        lambda a, b, i: {"$or": [a, b], "x": {"y": a}},
        lambda a, b, i: {f"a{i}.b": {"$or": [a, {"c": [i]}]}},
    ],
}
_LEAVES: dict[str, Any] = {
    "cesql": "a = 1",
    "sigma": "s0",
    "jsonlogic": _is(0),
    "mongo": {"a": 1},
    "growthbook": {"a": 1},
    "eventbridge": {"a": [1, {"prefix": "x"}]},
}


def _drawn(format: str, draw: random.Random) -> Any:
    """A nest that is deep along one side: what stands on the other is shallow."""
    levels = _TEXT.get(format) or _JSON[format]
    leaf = _LEAVES[format]
    kept = draw.sample(levels, draw.randrange(1, len(levels) + 1))
    for i in range(draw.choice((5, 10, 20, 40, 80))):
        other = draw.choice(kept)(_LEAVES[format], _LEAVES[format], i)
        sides = (leaf, other) if draw.random() < 0.5 or format == "jsonlogic" else (other, leaf)
        leaf = draw.choice(kept)(*sides, i)
        if len(json.dumps(leaf)) > 50_000:
            break
    return _sigma(3, leaf) if format == "sigma" else leaf


def _named_at_random(format: str, draw: random.Random) -> dict[str, Any]:
    """Flags and segments, or features and segments, that name those behind them at random."""
    n = draw.choice((5, 10, 20, 40))

    def behind(i: int) -> list[int]:
        return [draw.randrange(i + 1, n + 1) for _ in range(draw.randrange(4) if i < n else 0)]

    if format == "unleash":
        segments = [{"id": i, "constraints": _constraints(i)} for i in range(n)]
        features = [
            {
                "name": f"f{i}",
                "enabled": True,
                "dependencies": [{"feature": f"f{k}", "variants": ["v"]} for k in behind(i)],
                "strategies": [{"name": "default", "segments": [k - 1]} for k in behind(i)],
                "variants": [{"name": "v", "weight": 1}, {"name": "w", "weight": i}],
            }
            for i in range(n)
        ]
        for feature in features[::2]:  # what has parents is none itself
            del feature["dependencies"]
        return {"features": features, "segments": segments}
    document = _flags(n)
    for i, flag in enumerate(document["flags"].values()):
        flag["prerequisites"] = [{"key": f"f{k}", "variation": k % 2} for k in behind(i)]
        within = [{"op": "segmentMatch", "values": [f"s{k}" for k in behind(i)], "negate": True}]
        flag["rules"].append({"variation": 0, "clauses": within})
    segments_of = {f"s{i}": {"rules": [{"clauses": [_clause(i), within[0]]}]} for i in range(n)}
    return {**document, "segments": segments_of}


@pytest.mark.soak
@pytest.mark.parametrize("format", [*_LEAVES, "launchdarkly", "unleash"])
def test_any_nest_is_read_or_refused(format: str) -> None:
    draw = random.Random(f"{SEED} nest {format}" if SOAK else f"nest {format}")
    for _ in range(count(25, 1_000)):
        document = _drawn(format, draw) if format in _LEAVES else _named_at_random(format, draw)
        for one in _read(format, document):
            if isinstance(one, Criterion):
                assert one.n_parts <= MAX_PARTS
                if one.n_parts < 2000:
                    assert isinstance(one.holds({"a": 1, "a1": [{"a": 1}]}), bool)
                    Criterion.from_json(one.document())
            else:
                assert isinstance(one, InvalidCriterion)
