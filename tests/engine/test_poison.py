"""Hostile criteria and events in one engine beside healthy ones, which must notice nothing."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

import remuda as rm
from remuda.errors import RemudaError
from remuda.model.expressions import MAX_LEVELS, Expression
from strategies import SEED, SHARDS, count

HEALTHY = [
    rm.Criterion(f"healthy {i}", (rm.attr("h") == i) | rm.attr("t").contains(f"needle{i} "))
    for i in range(20)
]
_WORDS = (
    "0",
    "1",
    "2",
    "10",
    ".",
    "-",
    "alpha",
    "rc",
    "sp",
    "foo",
    "v",
    "ga",
    "SNAPSHOT",
    "\u0661",
)
_CHARACTERS = "ab%_\\\"'`$.*[](){}?+|^\0\n\ud7ff\ue000\uffff\U0010ffff\u0130\u0345é٣ "
_LONE = "\ud800\udfff"
_PATTERNS = (
    r"\Qa.b", "x{1000}" * 82, r"\w+ and \w+ and \w+ and \w+", "%=1;%=1;%=1;%", "[01]{32}",
    "(?i)needle1 .*", "needle1 " * 3, "x" * 81_000,
)  # fmt: skip
_PATHS = ("p", "p.q", "p[0]", "p[*]", "p[*][*].q", "$..p", "$['p']['q']", "$", "$..[?@.p==1]")
_DEAR_PATHS = ("$..*..*..*..*", "$..[?count($..[?count($..*)>1])>1]", "p" + "[*]" * 40)
_NUMBERS = (
    0, -1, 2**63, 10**400, 1e308, 5e-324, float("inf"), float("nan"), Decimal("1e999999"),
    Decimal("-1e-999999"), Decimal("sNaN"), True, -0.0, 10**4299, 2**53 + 1,
)  # fmt: skip
_DEAR = 0.03  # a share of what takes a hundred times as long as the others


class Poisoner:
    """What a malicious tenant sends, drawn at random."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)

    def version(self) -> str:
        if self.rng.random() < _DEAR:
            return "1" + self.rng.choice(("-1", "-0", "a1", ".")) * self.rng.randrange(2_000) + "-1"
        return "".join(self.rng.choices(_WORDS, k=self.rng.randrange(8)))

    def text(self) -> str:
        characters = _CHARACTERS + (_LONE if self.rng.random() < 0.2 else "")
        return "".join(self.rng.choices(characters, k=self.rng.randrange(12)))

    def pattern(self) -> str:
        return self.rng.choice(_PATTERNS) if self.rng.random() < 0.2 else self.text()

    def nested(self, levels: int) -> Any:
        value: Any = self.scalar()
        for _ in range(levels):
            value = [value] if self.rng.random() < 0.7 else {self.text(): value}
        return value

    def scalar(self) -> Any:
        draw = self.rng.choice
        return draw((draw(_NUMBERS), self.text(), self.version(), None, b"x", object(), {1}))

    def value(self) -> Any:
        levels = self.rng.randrange(3)
        if self.rng.random() < _DEAR:
            levels = self.rng.choice((99, 100, 101, 3_000))
        if self.rng.random() < 0.02:
            endless: list[Any] = [1]
            endless += [endless, endless]
            return endless
        if self.rng.random() < 0.01:
            return [self.scalar() for _ in range(2_000)]
        return self.nested(levels)

    def predicate(self) -> Expression:
        known = _DEAR_PATHS if self.rng.random() < 0.01 else _PATHS
        path = self.rng.choice((*known, "p", "p", self.text()))
        return self.rng.choice(_KINDS)(self, rm.attr(path))

    def expression(self) -> Expression:
        whole = self.predicate()
        levels = self.rng.randrange(4)
        if self.rng.random() < _DEAR:
            levels = self.rng.choice((MAX_LEVELS - 1, MAX_LEVELS, MAX_LEVELS + 1))
        other = self.rng.choice(_KINDS)(self, rm.attr("p"))
        for _ in range(levels):
            joined = self.rng.choice((rm.And, rm.Or, lambda one, _: ~one))
            whole = joined(whole, other)
        return whole.strong() if self.rng.random() < 0.1 else whole

    def criterion(self, number: int) -> rm.Criterion:
        """A criterion by one of the three forms; RemudaError where it is refused."""
        name = f"hostile {number}"
        match self.rng.randrange(8):
            case 0:
                written = (
                    f"p {self.rng.choice(('=', 'LIKE', 'RLIKE', '>', 'IN', ''))} {self.text()}"
                )
                return rm.Criterion(name, rm.parse(written))
            case 1:
                document = json.dumps(rm.Criterion(name, self.expression()).to_json())
                at = self.rng.randrange(len(document))
                broken = document[:at] + self.text() + document[at + self.rng.randrange(3) :]
                return rm.Criterion(name, rm.Criterion.from_json(broken).expression)
            case 2:
                found = rm.Criterion(name, self.expression())
                return rm.Criterion.from_json(json.dumps(found.to_json()))
            case _:
                return rm.Criterion(name, self.expression())

    def event(self) -> dict[str, Any]:
        return {name: self.value() for name in ("p", "q", "t") if self.rng.random() < 0.7}


_KINDS: tuple[Callable[[Poisoner, Any], Expression], ...] = (
    lambda one, p: p.version() >= one.version(),
    lambda one, p: p.version() < one.version(),
    lambda one, p: p.prefix(one.text()),
    lambda one, p: p.suffix(one.pattern()),
    lambda one, p: p.contains(one.pattern()),
    lambda one, p: p.like(one.pattern()),
    lambda one, p: p.matches(one.pattern()),
    lambda one, p: p.finds(one.pattern()),
    lambda one, p: p.isin(one.value(), one.value()),
    lambda one, p: p.overlaps(one.value(), one.scalar()),
    lambda one, p: p.between(one.scalar(), one.scalar()),
    lambda one, p: ~(p == one.scalar()),
    lambda one, p: p.size() > 3,
    lambda one, p: p.exists(),
)


@pytest.mark.soak
def test_healthy_criteria_notice_nothing(tmp_path: Path) -> None:
    poisoner = Poisoner(SEED)
    engine = rm.Engine(tmp_path / "engine")
    engine.add("x", HEALTHY)
    hostile: dict[str, rm.Criterion] = {}
    n_refused = 0
    for i in range(count(120, 100_000 // SHARDS)):
        newest: list[rm.Criterion] = []
        try:
            newest = [poisoner.criterion(i)]
            engine.add("x", newest)
        except RemudaError:
            newest = []
            n_refused += 1
        hostile |= {one.id: one for one in newest}
        event = poisoner.event() | {"h": i % len(HEALTHY)}
        # plain evaluation takes the longest, so that the older ones are asked now and then only
        referees = (*HEALTHY, *(hostile.values() if i % 10 == 9 else newest))
        found = engine.search("x", event)
        expected = [one.id for one in referees if one.holds(event)]
        assert [one for one in found if one in {two.id for two in referees}] == expected, i
        if i % 100 == 99:
            engine.close()
            engine = rm.Engine(tmp_path / "engine")
            assert engine.search("x", event) == found, i
            index = rm.Index.build((*HEALTHY, *hostile.values()))
            index.save(tmp_path / "index")
            assert rm.load(tmp_path / "index").match(event) == found, i
            gone = poisoner.rng.sample(sorted(hostile), len(hostile) * 3 // 4)
            engine.delete("x", *gone)
            for name in gone:
                del hostile[name]
        if i % 1000 == 999:  # how far a soak came that was ended
            print(
                f"seed {SEED}: {i + 1:,} tries, {n_refused:,} refused, all as it should be",
                flush=True,
            )
    engine.close()
    print(f"{n_refused} of {i + 1} were refused")
    assert n_refused > 0
    assert hostile
