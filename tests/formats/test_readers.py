"""Formats on cases of our own: what is read, what is refused and where, and the ways to them."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest

import remuda
from cli.commands import run
from remuda.errors import InvalidCriterion
from remuda.formats import FORMATS
from remuda.index.index import Index

RULE = {"Name": "busy", "EventPattern": json.dumps({"detail": {"load": [{"numeric": [">", 5]}]}})}
FLAGS = {
    "flags": {
        "new-page": {
            "on": True,
            "variations": ["old", "new"],
            "fallthrough": {"variation": 0},
            "targets": [{"values": ["ann"], "variation": 1}],
            "rules": [
                {
                    "variation": 1,
                    "clauses": [{"attribute": "age", "op": "greaterThan", "values": [30]}],
                }
            ],
        }
    }
}
FEATURE = {
    "name": "beta",
    "enabled": True,
    "strategies": [
        {
            "name": "flexibleRollout",
            "parameters": {"rollout": "50", "stickiness": "userId", "groupId": "beta"},
            "constraints": [{"contextName": "country", "operator": "IN", "values": ["no", "se"]}],
        }
    ],
}
SIGMA = """
title: A shell from a document
id: 11111111-2222-3333-4444-555555555555
logsource: {product: windows, category: process_creation}
detection:
    parent: {ParentImage|endswith: '\\\\winword.exe'}
    shell: {Image|endswith: ['\\\\cmd.exe', '\\\\powershell.exe']}
    words: ['mimikatz']
    condition: (parent and shell) or words
level: high
"""

PLACEHOLDER = """
title: t
logsource: {product: p}
detection:
    a: {f|expand: '%admins%'}
    condition: a
"""

HOLDS: list[tuple[str, Any, Any, list[str]]] = [
    ("eventbridge", RULE, {"detail": {"load": 7}}, ["busy"]),
    ("eventbridge", RULE, {"detail": {"load": [1, 7]}}, ["busy"]),
    ("eventbridge", RULE, {"detail": {"load": 5}}, []),
    ("eventbridge", {"a": [{"anything-but": "x"}]}, {"a": ["x", "y"]}, ["r"]),
    ("eventbridge", {"a": [{"anything-but": "x"}]}, {"a": ["x"]}, []),
    ("eventbridge", {"a": [None]}, {"a": [1, None]}, ["r"]),
    ("eventbridge", {"a": [None]}, {}, []),
    (
        "eventbridge",
        {"d": {"i": {"a": [1], "b": [2]}}},
        {"d": {"i": [{"a": 1}, {"b": 2}]}},
        [],  # of one element, not of two
    ),
    ("eventbridge", {"d": {"i": {"a": [1], "b": [2]}}}, {"d": {"i": [{"a": 1, "b": 2}]}}, ["r"]),
    ("eventbridge", {"d": {"i": {"a": [1]}}}, {"d.i": {"a": 1}}, ["r"]),
    ("mongo", {"a": {"$gt": 3}}, {"a": [1, 5]}, ["r"]),
    ("mongo", {"a": {"$gt": 3}}, {"a": "5"}, []),
    ("mongo", {"a": None}, {}, ["r"]),
    ("mongo", {"a": None}, {"a": []}, []),
    ("mongo", {"a": {"$ne": 1}}, {}, ["r"]),
    ("mongo", {"a": {"$exists": True}}, {"a": None}, ["r"]),
    ("mongo", {"a.b": 2}, {"a": [{"b": 1}, {"b": 2}]}, ["r"]),
    ("mongo", {"a": {"$elemMatch": {"b": 1, "c": 2}}}, {"a": [{"b": 1}, {"c": 2}]}, []),
    ("mongo", {"a": {"$size": 2}}, {"a": [1, 2]}, ["r"]),
    ("mongo", {"a": [1, 2]}, {"a": [1, 2]}, ["r"]),
    ("mongo", {"a": {"$mod": [4, 1]}}, {"a": [2, 5]}, ["r"]),
    ("mongo", {"a": {"$regex": "^X", "$options": "i"}}, {"a": "xyz"}, ["r"]),
    ("mongo", {"a": {"$type": "string"}}, {"a": [1, "b"]}, ["r"]),
    ("growthbook", {"n": {"$gt": 5}}, {"n": "8"}, ["r"]),
    ("growthbook", {"n": {"$lt": 5}}, {}, ["r"]),
    ("growthbook", {"v": {"$vgt": "1.9.0"}}, {"v": "1.10.0"}, ["r"]),
    ("growthbook", {"a": "x"}, {"a": ["x"]}, []),
    ("launchdarkly", FLAGS, {"kind": "user", "key": "ann"}, ["new-page:1"]),
    ("launchdarkly", FLAGS, {"key": "bob", "custom": {"age": 31}}, ["new-page:1"]),
    ("launchdarkly", FLAGS, {"kind": "org", "key": "ann"}, ["new-page:0"]),
    (
        "unleash",
        {"features": [FEATURE]},
        {"userId": "2", "properties": {"country": "no"}},
        ["beta"],
    ),
    ("unleash", {"features": [FEATURE]}, {"userId": "8", "properties": {"country": "dk"}}, []),
    ("unleash", {"features": [FEATURE]}, {"properties": {"country": "no"}}, []),
    ("cesql", "INT(hop) < 10 AND type LIKE 'a.%'", {"hop": "9", "type": "a.b"}, ["r"]),
    ("cesql", "NOT (hop = 1)", {}, []),
    ("cesql", "a = 1 OR TRUE", {}, []),
    ("cesql", "TRUE OR a = 1", {}, ["r"]),
    ("jsonlogic", {">": [{"var": "age"}, 18]}, {"age": "19"}, ["r"]),
    ("jsonlogic", {"<": [1, {"var": "a"}, 5]}, {"a": 3}, ["r"]),
    ("jsonlogic", {"in": ["b", {"var": "t"}]}, {"t": ["a", "b"]}, ["r"]),
    ("jsonlogic", {"in": ["b", {"var": "t"}]}, {"t": "abc"}, ["r"]),
    ("jsonlogic", {"===": [{"var": "a"}, 1]}, {"a": "1"}, []),
    ("jsonlogic", {"==": [{"var": "a"}, 1]}, {"a": "1"}, ["r"]),
    ("jsonlogic", {"if": [{"var": "a"}, {"var": "b"}, True]}, {"a": 1, "b": 0}, []),
    ("jsonlogic", {"==": [{"var": "a"}, "nan"]}, {"a": "nan"}, ["r"]),
    ("jsonlogic", {"==": [{"var": "a"}, "inf"]}, {"a": math.inf}, []),
    ("jsonlogic", {"<": [{"var": "a"}, "nan"]}, {"a": 1}, []),
    ("jsonlogic", {">": [{"var": "a"}, "-inf"]}, {"a": 1}, []),
    ("jsonlogic", {">": [{"var": "a"}, "-Infinity"]}, {"a": 1}, ["r"]),
    ("jsonlogic", {"<": [{"var": "a"}, "1e9999"]}, {"a": 1e300}, ["r"]),
    ("jsonlogic", {"==": [{"var": "a"}, "1e-9999"]}, {"a": 0}, ["r"]),
    ("jsonlogic", {"==": [{"var": "a"}, "1_000"]}, {"a": 1000}, []),
    ("jsonlogic", {"==": [{"var": "a"}, " 1\ufeff"]}, {"a": 1}, ["r"]),
    ("jsonlogic", {"==": [{"var": "a"}, "\x1c1"]}, {"a": 1}, []),
    ("jsonlogic", {"==": [{"var": "a"}, "\u0661"]}, {"a": 1}, []),
    ("jsonlogic", {"==": [{"var": "a"}, "0x1F"]}, {"a": 31}, ["r"]),
    ("jsonlogic", {"==": [{"var": "a"}, "-0x1F"]}, {"a": -31}, []),
    ("jsonlogic", {"<": [{"var": "a"}, "0x" + "f" * 5000]}, {"a": 1}, ["r"]),
    ("jsonlogic", {"==": [{"var": "a"}, ""]}, {"a": 0}, ["r"]),
    ("jsonlogic", {"==": [{"var": "a"}, "5."]}, {"a": 5}, ["r"]),
    ("jsonlogic", {"==": [{"var": "a"}, "5e"]}, {"a": 5}, []),
    ("growthbook", {"a": {"$gt": "nan"}}, {"a": 1}, []),
    ("growthbook", {"a": {"$gt": "0x10"}}, {"a": 17}, ["r"]),
    ("growthbook", {"a": {"$regex": "[[:alpha:]]$"}}, {"a": "b"}, ["r"]),
    ("growthbook", {"a": {"$regex": "^[a&&b]+$"}}, {"a": "b&"}, ["r"]),
    ("jsonlogic", {"some": [{"var": "l"}, {">": [{"var": ""}, 2]}]}, {"l": [1, 3]}, ["r"]),
    ("jsonlogic", {"!": {"missing": ["a"]}}, {"a": 1}, ["r"]),
    ("adblock", "||ads.com^$script", {"url": "https://x.ads.com/a", "type": "script"}, ["*"]),
    ("adblock", "||ads.com^", {"url": "https://badads.com/", "type": "script"}, []),
    ("adblock", "/banner/*/img^", {"url": "http://a.b/banner/1/IMG?x", "type": "image"}, ["*"]),
    ("adblock", "|http://a.b/|", {"url": "http://a.b/", "type": "image"}, ["*"]),
    (
        "adblock",
        "@@||a.b^$domain=c.d|~e.c.d",
        {"url": "https://a.b/", "sourceUrl": "https://e.c.d/", "type": "image"},
        [],
    ),
    ("sigma", SIGMA, {"ParentImage": "C:\\x\\WinWord.exe", "Image": "C:\\CMD.EXE"}, ["*"]),
    ("sigma", SIGMA, {"deep": {"er": ["run MimiKatz now"]}}, ["*"]),
    ("sigma", SIGMA, {"Image": "C:\\cmd.exe"}, []),
]


@pytest.mark.parametrize(("format", "document", "event", "wanted"), HOLDS)
def test_rules_hold_as_their_system_has_it(
    format: str, document: Any, event: Any, wanted: list[str]
) -> None:
    module = getattr(remuda.formats, format)
    criteria = module.read(document, id="r")
    shaped = module.event(event) if hasattr(module, "event") else event
    holding = [one.id for one in criteria if one.holds(shaped)]
    assert holding == ([one.id for one in criteria] if wanted == ["*"] else wanted)
    for matcher in ("auto", "betree", "kindex", "pst-hash"):
        assert Index.build(criteria, matcher=matcher).match(shaped) == holding


REFUSED: list[tuple[str, Any, str, str]] = [
    ("eventbridge", {"a": {"b": [{"prefx": "x"}]}}, "a.b[0]", "no filter 'prefx'"),
    ("eventbridge", [{"a": [1]}, {"a": 1}], "[1].a", "is a list, not 1"),
    ("eventbridge", {"a": [{"numeric": ["<", 1, ">", 0]}]}, "a[0].numeric", "two comparisons"),
    ("eventbridge", b"{", "", "not JSON"),
    ("mongo", {"$or": [{"a": {"$near": 1}}]}, "$or[0].a.$near", "no operator $near"),
    ("mongo", {"$where": "1"}, "$where", "no condition on one document"),
    ("mongo", {"a": {"$gt": True}}, "a.$gt", "have an order"),
    (
        "launchdarkly",
        {"flags": {"f": {"on": True, "variations": [1]}}},
        "flags.f.fallthrough",
        "neither",
    ),
    (
        "unleash",
        {"features": [{"name": "f", "enabled": True, "strategies": [{"name": "mine"}]}]},
        "features.f.strategies[0].name",
        "no strategy 'mine'",
    ),
    ("cesql", "a = ", "column 5", "ends too early"),
    ("cesql", {"id": "x", "expression": "ABC(1)"}, "expression.column 1", "no function ABC"),
    ("jsonlogic", {"and": [{"+": [1, 2]}]}, "and[0]", "no '+' here"),
    ("adblock", "||a.b^$csp=x", "line 1.options", "'csp' is not read"),
    (
        "sigma",
        PLACEHOLDER,
        "detection",
        "placeholder %admins%",
    ),
    ("sigma", "just text", "", "no rule"),
]


@pytest.mark.parametrize(("format", "document", "place", "reason"), REFUSED)
def test_what_cannot_be_read_is_refused_with_its_place(
    format: str, document: Any, place: str, reason: str
) -> None:
    with pytest.raises(InvalidCriterion) as refused:
        getattr(remuda.formats, format).read(document, id="r")
    assert refused.value.place == place
    assert reason in refused.value.reason


def test_an_error_among_rules_keeps_none_of_the_others() -> None:
    rules = [
        RULE,
        {"Name": "broken", "EventPattern": {"a": []}},
        {"Name": "b", "EventPattern": {"c": [1]}},
    ]
    found = list(remuda.formats.eventbridge.read_each(rules, "r"))
    assert [getattr(one, "id", None) for one in found] == ["busy", None, "b"]
    assert (found[1].criterion, found[1].place) == ("broken", "[1].EventPattern.a")


PATTERNS: list[dict[str, Any]] = [
    {"source": ["a", "b"], "detail": {"state": ["on"], "n": [{"numeric": [">", 1, "<=", 5]}]}},
    {"detail": {"a": {"b": ["x"], "c": [{"prefix": "p"}]}}},
    {"a": [{"exists": True}], "b": [{"exists": False}]},
    {"a": [{"anything-but": ["x", "y"]}]},
    {"a": [{"anything-but": {"prefix": ["x"]}}]},
    {"a": ["x", {"suffix": {"equals-ignore-case": ".png"}}]},
    {"a": [None]},
    {"ip": [{"cidr": "10.0.0.0/8"}]},
    {"$or": [{"a": [1]}, {"b": [2]}]},
]


@pytest.mark.parametrize("pattern", PATTERNS, ids=str)
def test_a_pattern_of_eventbridge_is_written_as_it_was(pattern: dict[str, Any]) -> None:
    (criterion,) = remuda.formats.eventbridge.read(pattern, id="r")
    assert remuda.formats.eventbridge.write(criterion) == pattern


CONDITIONS: list[dict[str, Any]] = [
    {"a": 1},
    {"a": {"$gt": 1}, "b": {"$nin": ["x"]}},
    {"$or": [{"a": {"$exists": False}}, {"b": {"$regex": "^x"}}]},
    {"a": {"$elemMatch": {"b": 1, "c": {"$lte": 3}}}},
    {"a.b": {"$size": 2}},
    {"a": [1, 2]},
    {"$nor": [{"a": {"$type": "string"}}]},
    {},
]
DOCUMENTS: list[Any] = [
    {},
    {"a": 1},
    {"a": 2, "b": "x"},
    {"a": [1, 2], "b": "xy"},
    {"a": [{"b": 1, "c": 3}]},
    {"a": {"b": [1, 2]}},
    {"a": "t", "b": None},
    {"a": None},
]


@pytest.mark.parametrize("condition", CONDITIONS, ids=str)
def test_a_condition_of_mongo_is_written_with_the_same_meaning(condition: dict[str, Any]) -> None:
    (criterion,) = remuda.formats.mongo.read(condition)
    (again,) = remuda.formats.mongo.read(remuda.formats.mongo.write(criterion))
    for document in DOCUMENTS:
        assert again.holds(document) is criterion.holds(document), document


@pytest.mark.parametrize(
    ("format", "text", "reason"),
    [
        ("eventbridge", "a LIKE '%x'", "no counterpart"),
        ("eventbridge", "detail.a.b = 1", "means something else"),
        ("mongo", "version(c) > '2'", "no counterpart"),
    ],
)
def test_what_cannot_be_written_is_refused(format: str, text: str, reason: str) -> None:
    criterion = remuda.Criterion("c", remuda.parse(text))
    with pytest.raises(InvalidCriterion, match=reason) as refused:
        getattr(remuda.formats, format).write(criterion)
    assert refused.value.criterion == "c"


def test_every_format_has_the_contract() -> None:
    for name in FORMATS:
        module = getattr(remuda.formats, name)
        assert callable(module.read)
        assert callable(module.read_each)
    with pytest.raises(AttributeError, match="no format xml; there are adblock"):
        _ = remuda.formats.xml


def test_the_command_line_builds_and_checks_rules_of_others(tmp_path: Path) -> None:
    home = tmp_path / "rules"
    (home / "deeper").mkdir(parents=True)
    (home / "one.json").write_text(json.dumps([RULE, {"Name": "bad", "EventPattern": {"a": 1}}]))
    (home / "deeper" / "two.jsonl").write_text('{"a": ["x"]}\n{"b": ["y"]}\n')
    checked = run("check", "--format", "eventbridge", home, "--local")
    assert checked.exit_code == 1
    assert "[1].EventPattern.a" in checked.output
    built = run("build", "--format", "eventbridge", home, "-o", tmp_path / "index", "--local")
    assert built.exit_code == 1
    assert sorted(remuda.load(tmp_path / "index").ids()) == ["busy", "two:1", "two:2"]
    assert run("check", "--format", "xml", home, "--local").exit_code == 2
