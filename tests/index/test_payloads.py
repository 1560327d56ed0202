"""Payloads: kept through everything that happens to a criterion, and no part of any search."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from shutil import copytree
from typing import Any

import pytest

import remuda as rm
from remuda.errors import InvalidCriterion, NoMustangEquivalent
from remuda.language.rows import criterion_of
from strategies import count

a = rm.attr("a")


def nested(levels: int) -> Any:
    value: Any = 1
    for _ in range(levels):
        value = [value]
    return value


KEPT: dict[str, Any] = {
    "an object": {"bids": [1, 2.5, None, True], "name": "é", "": {}},
    "a list": [[], {}, ""],
    "a text": "x" * 100_000,
    "zero": 0,
    "false": False,
    "a long integer": 10**100,
    "nearly a hundred levels": nested(98),
    "none": None,
}


@pytest.mark.parametrize("payload", KEPT.values(), ids=KEPT)
def test_it_is_kept(payload: Any, tmp_path: Path) -> None:
    criterion = rm.Criterion("c", a == 1, payload=payload)
    assert rm.Criterion.from_json(criterion.to_json()) == criterion
    assert rm.Criterion.from_json(criterion.document()).payload == payload
    index = rm.Index.build([criterion, rm.Criterion("d", a > 0)])
    index.add(rm.Criterion("late", a < 2, payload=[payload]))
    index.save(tmp_path)
    for merge in (False, True):
        for asked in (index, rm.load(tmp_path)):
            if merge:
                asked.merge()
            assert asked["c"].payload == payload
            assert asked["late"].payload == [payload]
            many = asked.match_many([{"a": 1}, {"a": 0}])
            assert many.payloads(0) == [payload, None, [payload]]
            assert many.payloads(1) == [[payload]]
            best = asked.top_many([{"a": 1}], 3)
            assert best.payloads(0) == [asked[one].payload for one in best.ids(0)]
    index.disable("c")
    assert index["c"].payload == payload


def test_it_survives_a_crash_and_is_exported(tmp_path: Path) -> None:
    criterion = rm.Criterion("c", a == 1, payload=KEPT["an object"])
    with rm.Engine(tmp_path / "one") as engine:
        engine.add("ads", [criterion])
        copytree(tmp_path / "one", tmp_path / "two")  # as the disk is before the engine is closed
        assert [one["payload"] for one in json.loads(engine.export("ads"))] == [criterion.payload]
    for home in ("one", "two"):
        with rm.Engine(tmp_path / home) as engine:
            assert engine.get("ads", "c") == criterion


REFUSED: dict[str, tuple[Any, str]] = {
    "a date": (date(2024, 1, 1), "no value of type date"),
    "a timestamp": (datetime(2024, 1, 1, tzinfo=UTC), "no value of type datetime"),
    "a decimal": ([Decimal(1)], "no value of type Decimal"),
    "a tuple": ({"a": (1, 2)}, "no value of type tuple"),
    "not a number": ([float("nan")], "finite"),
    "infinity": (float("inf"), "finite"),
    "an endless integer": (10**4300, "4,300 digits"),
    "a number for a name": ({1: 2}, "a name in JSON"),
    "half of a surrogate pair": (["\ud800"], "surrogate"),
    "half of one in a name": ({"\ud800": 1}, "surrogate"),
    "too deep": (nested(101), "100 levels"),
}


@pytest.mark.parametrize(("payload", "reason"), REFUSED.values(), ids=REFUSED)
def test_what_json_cannot_hold_is_refused(payload: Any, reason: str) -> None:
    with pytest.raises(InvalidCriterion, match=reason) as refused:
        rm.Criterion("c", a == 1, payload=payload)
    assert refused.value.place == "payload"
    assert refused.value.criterion == "c"


def test_mustang_has_none_and_a_part_has_none() -> None:
    criterion = rm.Criterion("c", a == 1, payload=0)
    with pytest.raises(NoMustangEquivalent, match="payload"):
        criterion.to_json(mustang=True)
    whole = {"form": "UNF", "id": "u", "type": "AND", "criterias": [criterion.to_json()]}
    with pytest.raises(InvalidCriterion, match="only the whole criterion"):
        rm.Criterion.from_json(whole)


def test_a_row_has_one() -> None:
    row = {"id": "c", "expression": "a = 1", "payload": {"k": [1]}}
    assert criterion_of(row) == rm.Criterion("c", a == 1, payload={"k": [1]})


@pytest.mark.soak
def test_searches_do_not_see_it(tmp_path: Path) -> None:
    """Whatever is mapped for searches is the same, byte for byte."""
    plain = [rm.Criterion(f"c{i}", (a == i) & (rm.attr("b") > i)) for i in range(count(60, 1000))]
    long = [replace(one, payload=f"{one.id} " * (count(60, 1000) * 250)) for one in plain]
    for name, criteria in (("plain", plain), ("long", long)):
        rm.Index.build(criteria).save(tmp_path / name)
    files = [
        {
            file.name: file.read_bytes()
            for file in (tmp_path / name).glob("segments/*/*")
            if file.name != "criteria.arrow" and not file.name.startswith("manifest")
        }
        for name in ("plain", "long")
    ]
    assert files[0] == files[1]
    index = rm.load(tmp_path / "long")
    assert [one.payload for one in long] == [index[one.id].payload for one in plain]
    index.remove("c0")
    index.merge()
    assert list(index) == long[1:]


@pytest.mark.soak
def test_a_megabyte_on_each_goes_through_everything(tmp_path: Path) -> None:
    """A crash, a checkpoint, merges, saving, loading and exporting."""
    criteria = [
        rm.Criterion(f"c{i}", a == i % 7, payload={"n": i, "text": f"{i % 10}" * 2**20})
        for i in range(count(12, 1000))
    ]
    n = len(criteria) // 2
    with rm.Engine(tmp_path / "one") as engine:
        engine.add("ads", criteria[:n])
        engine.add("ads", criteria[n:])
        copytree(tmp_path / "one", tmp_path / "two")  # as the disk is before the engine is closed
    with rm.Engine(tmp_path / "two") as engine:
        index = engine.index("ads")
        assert list(index) == criteria
        exported = {one["id"]: one["payload"] for one in json.loads(engine.export("ads"))}
        assert exported == {one.id: one.payload for one in criteria}
        index.save(tmp_path / "index")
    index = rm.load(tmp_path / "index")
    index.remove("c0")
    index.merge()
    index.save(tmp_path / "index")
    again = rm.load(tmp_path / "index")
    assert list(again) == criteria[1:]
    held = [one for one in criteria[1:] if one.holds({"a": 3})]
    found = again.match_many([{"a": 3}])
    assert found.ids(0) == [one.id for one in held]
    assert found.payloads(0) == [one.payload for one in held]
