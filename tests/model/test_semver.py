"""SemVer 2.0.0: the examples of its specification, the options, and the three forms."""

from __future__ import annotations

import random
from itertools import pairwise, product
from typing import Any

import pytest

import remuda as rm
from remuda.errors import InvalidCriterion, NoMustangEquivalent, NoSqlEquivalent, ParseError
from remuda.model.attributes import Attribute
from remuda.model.conditions import Comparison, SemVer
from remuda.model.expressions import Polarity, Predicate
from remuda.model.semver import semver_key

ASCENDING = {  # of section 11, example by example
    "core": ("1.0.0", "2.0.0", "2.1.0", "2.1.1"),
    "before release": ("1.0.0-alpha", "1.0.0"),
    "identifiers": (
        *("1.0.0-alpha", "1.0.0-alpha.1", "1.0.0-alpha.beta", "1.0.0-beta"),
        *("1.0.0-beta.2", "1.0.0-beta.11", "1.0.0-rc.1", "1.0.0"),
    ),
    "numbers, not digits": ("1.9.0", "1.10.0", "1.11.0"),
    "words by code point": ("1.0.0-A", "1.0.0-a", "1.0.0-a-", "1.0.0-a0", "1.0.0-aa"),
    "huge numbers": ("0.0." + "9" * 5000, "0.0.1" + "0" * 5000),
}


@pytest.mark.parametrize("versions", ASCENDING.values(), ids=ASCENDING)
def test_the_order_of_the_specification(versions: tuple[str, ...]) -> None:
    app = rm.attr("app").semver()
    for lower, upper in pairwise(versions):
        assert (app < upper).holds({"app": lower})
        assert not (app >= upper).holds({"app": lower})
        assert (app > lower).holds({"app": upper})
        assert not (app == lower).holds({"app": upper})


VALID = {  # text: what it needs
    "1.0.0-alpha+001": "", "1.0.0+20130313144700": "", "1.0.0-beta+exp.sha.5114f85": "",
    "1.0.0+21AF26D3---117B344092BD": "", "1.0.0-0.3.7": "", "1.0.0-x.7.z.92": "",
    "1.0.0-x-y-z.--": "", "1.0.0--": "", "0.0.0": "", "1.0.0-0A": "",
    "1.2": "parts", "2-rc": "parts", "2": "parts", "v1.2.3": "v", "v1": "parts v",
}  # fmt: skip
INVALID = (
    "", "1.0.0.0", "01.0.0", "1.0.0-01", "1.0.0-", "1.0.0-a..b", "1.0.0+", "1.0.0+a+b", "1.0.0-é",
    "V1.0.0", " 1.0.0", "1.0.0\n", "1.", "1..0", "-1.0.0", "1.0.0-a_b", "vv1.0.0", "１.0.0",
)  # fmt: skip


@pytest.mark.parametrize("options", [*product((False, True), repeat=2)])
@pytest.mark.parametrize("version", [*VALID, *INVALID])
def test_what_is_a_version(version: str, options: tuple[bool, bool]) -> None:
    given = {name for name, said in zip(("parts", "v"), options, strict=True) if said}
    valid = version in VALID and set(VALID[version].split()) <= given
    assert (semver_key(version, parts=options[0], v=options[1]) is not None) is valid
    app = rm.attr("app").semver(parts=options[0], v=options[1])
    assert (app >= "0.0.0-0").holds({"app": version}) is valid
    assert (app >= "0.0.0-0").strong().holds({"app": version}) is not valid
    if not valid:
        with pytest.raises(InvalidCriterion, match="no SemVer"):
            _ = app == version


@pytest.mark.parametrize("value", [1, 1.5, True, None, {"a": "1.0.0"}, [[]]], ids=repr)
def test_no_version_satisfies_nothing_and_its_strong_negation_holds(value: Any) -> None:
    asked = rm.attr("app").semver() == "1.0.0"
    assert not asked.holds({"app": value})
    assert asked.strong().holds({"app": value}) is (value is not None)
    assert (~asked).holds({"app": value})


def test_build_metadata_does_not_count_and_missing_parts_are_0() -> None:
    assert (rm.attr("app").semver() == "1.0.0+a").holds({"app": "1.0.0+b"})
    assert (rm.attr("app").semver(parts=True) == "2.0.0-rc").holds({"app": "2-rc"})
    assert (rm.attr("app").semver(v=True) == "v1.0.0").holds({"app": "1.0.0"})


FORMS = {
    "semver(app) >= '1.2.0-beta.1'": rm.attr("app").semver() >= "1.2.0-beta.1",
    "semver(app) > '1.2.0'": rm.attr("app").semver() > "1.2.0",
    "semver(app) < '1.2.0'": rm.attr("app").semver() < "1.2.0",
    "semver(app) <= '1.2.0'": rm.attr("app").semver() <= "1.2.0",
    "semver(app) = '1.2.0'": rm.attr("app").semver() == "1.2.0",
    "semver(path('app')) <> '1.2.0'": (rm.attr("app").semver() == "1.2.0").strong(),
    "(semver(app) = '1.2.0') IS NOT TRUE": rm.attr("app").semver() != "1.2.0",
    "semver(app, parts => TRUE) >= '1.2'": rm.attr("app").semver(parts=True) >= "1.2",
    "semver(app, parts => TRUE, v => TRUE) < 'v2'": rm.attr("app").semver(parts=True, v=True)
    < "v2",
}


@pytest.mark.parametrize("text", FORMS)
def test_the_three_forms(text: str) -> None:
    criterion = rm.Criterion("c", FORMS[text])
    assert rm.parse(text) == criterion.expression
    assert criterion.to_text() == text
    assert rm.Criterion.from_json(criterion.to_json()) == criterion
    with pytest.raises(NoMustangEquivalent, match=r"SEMVER|type"):
        criterion.to_json(mustang=True)
    with pytest.raises(NoSqlEquivalent, match="order of versions"):
        criterion.to_sql()


READ = {
    "'1.2.0' < semver(app)": "semver(app) > '1.2.0'",
    "semver(app) BETWEEN '1.0.0' AND '2.0.0'": "semver(app) >= '1.0.0' AND semver(app) <= '2.0.0'",
    "semver(app) IN ('1.0.0', '2.0.0')": "semver(app) = '1.0.0' OR semver(app) = '2.0.0'",
    "semver(app) NOT IN ('1.0.0', '2.0.0')": "semver(app) <> '1.0.0' AND semver(app) <> '2.0.0'",
    "semver(app, v => FALSE) = '1.0.0'": "semver(app) = '1.0.0'",
}


@pytest.mark.parametrize("text", READ)
def test_text_is_read(text: str) -> None:
    assert rm.parse(text) == rm.parse(READ[text])


REFUSED = {
    "semver(app) >= '1.2'": "no SemVer",
    "semver(app) >= 1": "a string is needed",
    "semver(app) <=> '1.0.0'": "compared with",
    "semver(app, full => TRUE) > '1.0.0'": "the options here are parts => TRUE and v => TRUE",
    "semver(app, parts => 1) > '1.0.0'": "the options here are",
    "semver(app, b) > '1.0.0'": "the options here are",
    "startswith(app, x => TRUE)": "a value is needed",
}


@pytest.mark.parametrize("text", REFUSED)
def test_text_is_refused(text: str) -> None:
    with pytest.raises(ParseError, match=REFUSED[text]):
        rm.parse(text)


def test_an_index_finds_what_plain_evaluation_finds_before_and_after_merges(tmp_path) -> None:
    rng = random.Random(14)
    versions = [_drawn(rng) for _ in range(150)]
    criteria = [rm.Criterion(f"c{i}", _predicate(rng, versions)) for i in range(300)]
    index = rm.Index.build(criteria[:100])
    index.add(criteria[100:])
    events = [
        {"app": f"{rng.choice(('', '', 'v'))}{one}{rng.choice(('', '+b'))}"} for one in versions
    ]
    events += [{"app": rng.sample(versions, 3)}, {"app": "1.2"}, {"app": 1}, {}]
    expected = [[one.id for one in criteria if one.holds(event)] for event in events]
    assert [index.match(event) for event in events] == expected
    index.merge()
    index.remove("c0", "c1")
    index.save(tmp_path)
    for asked in (index, rm.load(tmp_path)):
        found = asked.match_many(events)
        for i, ids in enumerate(expected):
            assert found.ids(i) == [one for one in ids if one not in ("c0", "c1")]


def _predicate(rng: random.Random, versions: list[str]) -> Predicate:
    options = rng.random() < 0.5, rng.random() < 0.5
    condition = SemVer(rng.choice(versions), rng.choice([*Comparison]), *options)
    return Predicate(Attribute.parse("app"), condition, rng.choice([*Polarity]))


def _drawn(rng: random.Random) -> str:
    core = ".".join(str(rng.randint(0, 12)) for _ in range(3))
    words = ("alpha", "beta", "0", "2", "11", "rc-1")
    stage = ".".join(rng.choice(words) for _ in range(rng.randint(0, 3)))
    return f"{core}-{stage}" if stage else core
