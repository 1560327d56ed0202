"""The suites that other systems' authors publish, as cases; they are kept beside the checkout."""

from __future__ import annotations

import gzip
import itertools
import json
import re
import tarfile
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from remuda.errors import InvalidCriterion
from remuda.formats import adblock, cesql, eventbridge, growthbook, launchdarkly, sigma, unleash
from remuda.language.criterion import Criterion

SUITES = Path(__file__).parents[3] / "shared" / "suites"


@dataclass(frozen=True, slots=True)
class Case:
    """Events, the criteria that were read for them, and whether they say what the suite says."""

    name: str
    right: bool
    criteria: list[Criterion]
    events: list[Any]


def cases_of(suite: str) -> list[Case]:
    return list(_SUITES[suite]())


def _readings(readings: Iterator[Any]) -> tuple[list[Criterion], dict[Any, InvalidCriterion]]:
    found = list(readings)
    errors = {one.criterion: one for one in found if isinstance(one, InvalidCriterion)}
    return [one for one in found if isinstance(one, Criterion)], errors


def _eventbridge() -> Iterator[Case]:
    home = SUITES / "eventbridge"
    rows = [(path.stem, _json5(path.read_text())) for path in sorted(home.glob("*.json5"))]
    pair = {
        "Event": json.loads((home / "complex_multi_key_event.json").read_text()),
        "EventPattern": (home / "complex_multi_key_event_pattern.json").read_text(),
    }
    for name, row in [*rows, ("complex_multi_key", pair)]:
        criteria, errors = _readings(eventbridge.read_each(row["EventPattern"], name))
        event = eventbridge.event(row["Event"])
        if name.endswith("_EXC"):
            right = bool(errors)
        else:
            right = [one.holds(event) for one in criteria] == [not name.endswith("_NEG")]
        yield Case(name, right, criteria, [event])


def _json5(text: str) -> Any:
    """What there is of JSON5 in the suite: comments, and commas behind the last element."""
    plain = re.sub(r'("(?:[^"\\]|\\.)*")|//[^\n]*', lambda match: match[1] or "", text)
    return json.loads(
        re.sub(r'("(?:[^"\\]|\\.)*")|,(?=\s*[}\]])', lambda match: match[1] or "", plain)
    )


def _growthbook() -> Iterator[Case]:
    found = json.loads((SUITES / "growthbook" / "cases.json").read_text())
    for row in found if isinstance(found, list) else found["evalCondition"]:
        name, condition, event, wanted, *groups = row
        rule = {"condition": condition, "savedGroups": groups[0] if groups else {}}
        criteria, _ = _readings(growthbook.read_each(rule, name))
        yield Case(name, [one.holds(event) for one in criteria] == [wanted], criteria, [event])


def _unleash() -> Iterator[Case]:
    for path in sorted((SUITES / "unleash").glob("[0-9]*.json")):
        suite = json.loads(path.read_text())
        criteria, errors = _readings(unleash.read_each(suite["state"], ""))
        named = {one.id: one for one in criteria}
        for test in suite.get("tests", []):
            event, feature = unleash.event(test["context"]), test["toggleName"]
            one = named.get(feature)
            holds = one is not None and one.holds(event)
            right = holds is test["expectedResult"] and feature not in errors
            yield Case(test["description"], right, [one] if one else [], [event])


def _launchdarkly() -> Iterator[Case]:
    """Every evaluation that gives a variation, or must find the flag malformed."""
    for path in sorted((SUITES / "launchdarkly").glob("*.yml")):
        suite = _yaml(path)
        for constants in _parameters(suite):
            data = _filled(suite["sdkData"], constants)
            criteria, errors = _readings(launchdarkly.read_each(data, ""))
            for evaluation in _filled(suite["evaluations"], constants):
                name = f"{path.stem}: {evaluation.get('name')}"
                yield _evaluated(name, evaluation, criteria, errors)


def _evaluated(
    name: str, evaluation: Any, criteria: list[Criterion], errors: dict[Any, InvalidCriterion]
) -> Case:
    flag, expected = evaluation["flagKey"], evaluation["expect"]
    event = launchdarkly.event(evaluation["context"])
    own = [one for one in criteria if f"flag:{flag}" in one.tags]
    given = [one.id for one in own if one.holds(event)]
    if "variationIndex" in expected:
        right = given == [f"{flag}:{expected['variationIndex']}"]
    elif expected["reason"].get("errorKind") == "MALFORMED_FLAG":
        right = flag in errors
    else:
        right = given == []
    return Case(name, right, own, [event])


def _parameters(suite: Any) -> Iterator[dict[str, Any]]:
    rows = suite.get("parameters") or [{}]
    sets = itertools.product(*rows) if isinstance(rows[0], list) else ((row,) for row in rows)
    for chosen in sets:
        yield (suite.get("constants") or {}) | {k: v for row in chosen for k, v in row.items()}


def _filled(value: Any, constants: dict[str, Any]) -> Any:
    """The value with what `<NAME>` stands for; YAML reads the name `on` as a truth value."""
    if isinstance(value, str):
        whole = re.fullmatch(r"<(\w+)>", value)
        if whole and whole[1] in constants:
            return _filled(constants[whole[1]], constants)
        return re.sub(r"<(\w+)>", lambda match: str(constants.get(match[1], match[0])), value)
    if isinstance(value, dict):
        return {
            "on" if name is True else _filled(name, constants): _filled(part, constants)
            for name, part in value.items()
        }
    return [_filled(part, constants) for part in value] if isinstance(value, list) else value


def _cesql() -> Iterator[Case]:
    """Expressions that are true or false, and those that are none."""
    event = {"specversion": "1.0", "id": "1", "source": "http://localhost/source", "type": "t"}
    for path in sorted((SUITES / "cesql").glob("*.yaml")):
        for test in _yaml(path)["tests"]:
            given = test.get("event") or event | test.get("eventOverrides", {})
            refused = test.get("error") in ("parse", "missingFunction")
            if not refused and not isinstance(test["result"], bool):
                continue
            text = test["expression"]
            text = text if isinstance(text, str) else str(text).upper()
            criteria, errors = _readings(cesql.read_each(text, str(test["name"])))
            holds = [one.holds(given) for one in criteria]
            right = bool(errors) if refused else holds == [test["result"]]
            yield Case(f"{path.stem}: {test['name']}", right, criteria, [given])


def _sigma() -> Iterator[Case]:
    """Every set of events that names a rule of those that are here."""
    named = {one.id: one for one in sigma_rules()[0]}
    with gzip.open(SUITES / "sigma" / "regression.jsonl.gz", "rt") as lines:
        sets = [json.loads(line) for line in lines]
    for one in sets:
        rules = [named[rule] for rule in one["rules"] if rule in named]
        events = [sigma.event(event) for event in one["events"]]
        found = [sum(rule.holds(event) for event in events) for rule in rules]
        wanted = one["match_count"]
        right = all(n == wanted if wanted is not None else n > 0 for n in found)
        if rules:
            yield Case(" ".join(one["rules"]), right, rules, events)


@cache
def sigma_rules() -> tuple[list[Criterion], dict[Any, InvalidCriterion]]:
    with tarfile.open(SUITES / "sigma" / "rules.tar.gz") as archive:
        files = [archive.extractfile(one) for one in archive if one.name.endswith(".yml")]
        texts = [file.read().decode() for file in files if file]
    return _readings(one for text in texts for one in sigma.read_each(text, "rule"))


def _adblock() -> Iterator[Case]:
    """Every filter that a request names; those of the suite are older than its lists."""
    with gzip.open(SUITES / "adblock" / "requests.json.gz") as file:
        requests = json.load(file)
    names = sorted({one for request in requests for one in request["filters"]})
    named = {one.id: one for one in _readings(adblock.read_each("\n".join(names), ""))[0]}
    for request in requests:
        event = adblock.event(request)
        for name in request["filters"]:
            one = named.get(name)
            right = one is not None and one.holds(event)
            yield Case(f"{name} {request['url']}", right, [one] if one else [], [event])


def adblock_lists() -> tuple[list[Criterion], dict[Any, InvalidCriterion]]:
    texts = []
    for name in ("easylist", "easyprivacy"):
        with gzip.open(SUITES / "adblock" / f"{name}.txt.gz", "rt") as file:
            texts.append(file.read())
    return _readings(one for text in texts for one in adblock.read_each(text, ""))


def _yaml(path: Path) -> Any:
    import yaml

    class Loader(yaml.SafeLoader):
        """Timestamps stay the texts that they are."""

    Loader.add_constructor("tag:yaml.org,2002:timestamp", lambda loader, node: node.value)
    return yaml.load(path.read_text(), Loader)


_SUITES = {
    "adblock": _adblock,
    "cesql": _cesql,
    "eventbridge": _eventbridge,
    "growthbook": _growthbook,
    "launchdarkly": _launchdarkly,
    "sigma": _sigma,
    "unleash": _unleash,
}
