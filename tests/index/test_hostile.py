"""Hostile criteria and events: what is refused, what is bounded, and that the others go on."""

from __future__ import annotations

import gc
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import remuda as rm
from remuda.encoding import encoder as encoding
from remuda.index import trial
from remuda.model import jsonpaths, patterns, versions
from remuda.model.expressions import MAX_LEVELS, Expression

a, v = rm.attr("a"), rm.attr("v").version()


def nested(levels: int) -> Expression:
    expression: Expression = a == 1
    for i in range(levels):
        expression = (rm.Or if i % 2 else rm.And)(rm.attr("b") == i, expression)
    return expression


def deep(levels: int, wrap: Callable[[Any], Any]) -> Any:
    value: Any = 1
    for _ in range(levels):
        value = wrap(value)
    return value


ACCEPTED = {
    "versions of many levels": [v >= "1" + "-1" * 1000, v >= "1" + "-1" * 1000 + "-7"],
    "a prefix before the surrogates": [rm.attr("name").prefix("\ud7ff")],
    "all levels": [nested(MAX_LEVELS)],
    "a value of many levels": [a.isin(deep(100, lambda inner: [inner]))],
}


@pytest.mark.parametrize("expressions", ACCEPTED.values(), ids=ACCEPTED)
def test_what_is_acknowledged_is_kept(expressions: list[Expression], tmp_path: Path) -> None:
    hostile = [rm.Criterion(f"h{i}", one) for i, one in enumerate(expressions)]
    with rm.Engine(tmp_path) as engine:
        for one in hostile:
            engine.add("x", one)
        for i in range(200):  # a tail and more
            engine.add("x", rm.Criterion(f"c{i}", rm.attr("s") == str(i)))
        engine.checkpoint()
        engine.add("x", rm.Criterion("late", rm.attr("s") == "7"))
    with rm.Engine(tmp_path) as engine:
        assert engine.search("x", {"s": "7"}) == ["c7", "late"]
        assert len(engine.export("x")) > 0


def test_what_fails_in_planning_is_refused_before_it_is_logged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = trial.plan

    def failing(expressions: Any) -> Any:
        found = list(expressions)
        if any("poison" in repr(one) for one in found):
            raise ZeroDivisionError
        return plan(found)

    monkeypatch.setattr(trial, "plan", failing)
    good = rm.Criterion("good", rm.attr("s").prefix("x"))
    bad = rm.Criterion("bad", rm.attr("s").prefix("poison"))
    for engine in (rm.Engine(tmp_path), rm.Engine()):
        engine.add("x", rm.Criterion("first", rm.attr("s") == "x"))
        for change in (engine.add, engine.update):
            with pytest.raises(rm.InvalidCriterion, match=r"'bad'.*ZeroDivision"):
                change("x", [good, bad])
        assert engine.search("x", {"s": "x"}) == ["first"]
        engine.close()
    with rm.Engine(tmp_path) as again:
        assert again.search("x", {"s": "x"}) == ["first"]


STRANGE = {
    "a list": deep(100_000, lambda inner: [inner]),
    "an object": deep(100_000, lambda inner: {"a": inner}),
    "a version": "3.2.0" + "-0" * 500 + "-1",
}


@pytest.mark.parametrize("value", STRANGE.values(), ids=STRANGE)
def test_no_event_breaks_a_search(value: Any) -> None:
    criteria = [
        rm.Criterion("equal", a.isin([1], {"a": 1}, [[1]])),
        rm.Criterion("overlaps", a.overlaps([1], {"a": 1})),
        rm.Criterion("path", rm.attr("$..a..b").isin(1)),
        rm.Criterion("every", rm.attr("a[*][*]").isin(1)),
        rm.Criterion("version", rm.attr("a").version() >= "3.2.0"),
        rm.Criterion("there", a.exists()),
    ]
    index = rm.Index.build(criteria)
    for event in ({"a": value}, {"a": [value, 1]}, {"a": {"a": value}}):
        expected = [one.id for one in criteria if one.holds(event)]
        assert index.match(event) == expected
        assert index.match_many([event]).ids(0) == expected
        assert "there" in expected


def test_a_list_that_holds_itself_twice_is_soon_given_up() -> None:
    value: list[Any] = []
    value += [value, value]
    assert not a.isin([1]).holds({"a": value})


def test_a_path_looks_at_so_many_nodes_and_no_more() -> None:
    event = {"a": deep(60, lambda inner: {"a": inner})}
    found = rm.attr("$..*..*").exists()
    missing = rm.attr("$..*..*..*..*").missing()
    filtered = rm.attr("$..[?count($..[?count($..*)>1])>1]").missing()
    criteria = [rm.Criterion(str(i), one) for i, one in enumerate((found, missing, filtered))]
    assert rm.Index.build(criteria).match(event) == ["0", "1", "2"]
    assert all(one.holds(event) for one in criteria)


def test_the_bound_counts_nodes(monkeypatch: pytest.MonkeyPatch) -> None:
    event = {"a": list(range(98))}  # the root with its child, the list with its elements
    for visits, expected in ((101, True), (100, False)):
        monkeypatch.setattr(jsonpaths, "MAX_VISITS", visits)
        assert rm.attr("$..[0:1]").isin(0).holds(event) is expected


def test_weights_are_laid_out_once_for_all_events(monkeypatch: pytest.MonkeyPatch) -> None:
    doubtful = rm.And(
        *(rm.Or(*(~(rm.attr(f"x{i}{j}") == 1) & (a == 1) for j in range(2))) for i in range(40))
    )
    index = rm.Index.build([rm.Criterion("z", doubtful)])
    assert index.match({"a": 1}) == ["z"]
    (part,) = index.parts
    assert part.segment.words.attribute_of_dim is part.segment.words.attribute_of_dim
    assert index.top({"a": 1}, 1, weights={"a": 0.5, "elsewhere": 2.0})[0].score == 20.0


def test_large_criteria_do_not_wait_in_the_tail() -> None:
    index = rm.Index()
    index.add(rm.Criterion("large", rm.And(*(~(rm.attr(f"x{i}") == 1) for i in range(9_000)))))
    assert index.stats()["tail"] == 0
    index.add(rm.Criterion("small", a == 1))
    assert index.stats()["tail"] == 1
    assert index.match({"a": 1}) == ["large", "small"]


def test_what_is_remembered_of_patterns_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(patterns, "_COMPILED_BYTES", 1 << 20)
    monkeypatch.setattr(patterns, "_COMPILED", patterns._Compiled())  # nothing of other tests
    for i in range(200):
        rm.attr("t").matches(f"{i}[a-z]{{100}}")
        assert len(patterns._COMPILED) < 200
    assert patterns.regex("199[a-z]{100}") is patterns.regex("199[a-z]{100}")


EVENTS = {
    "texts": (100, lambda i: {"t": f"{i}" + "y" * 8_000}),
    "huge texts": (30, lambda i: {"t": f"{i}" + "y" * 50_000}),
    "lists": (200, lambda i: {"t": list(range(i, i + 200))}),
    "long lists": (20, lambda i: {"t": list(range(i, i + 5_000))}),
    "many spaces": (3000, lambda i: {"t": f"{i} b"}),
    "versions": (150, lambda i: {"t": f"{i}." + "1-" * 2_000}),
}


@pytest.mark.parametrize(("n", "event"), EVENTS.values(), ids=EVENTS)
def test_what_is_remembered_of_events_is_bounded(
    n: int, event: Callable[[int], Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(encoding, "_REMEMBERED", 1 << 18)
    monkeypatch.setattr(versions, "_SHORT_TEXT", -1)  # what they are read as has a bound of its own
    t = rm.attr("t")
    criteria = [rm.Criterion("v", (t.version() >= "3") | (t == "b"))]
    criteria += [rm.Criterion(f"p{i}", t.contains("b") & (t > str(i))) for i in range(50)]
    index = rm.Index.build(criteria)
    index.match(event(0))
    gc.collect()
    tracemalloc.start()
    for i in range(n):
        index.match(event(i))
    gc.collect()
    size, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert size < 1 << 19


def test_a_criterion_is_tried_out_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    n_planned, plan = 0, trial.plan

    def counting(*of: Any) -> Any:
        nonlocal n_planned
        n_planned += 1
        return plan(*of)

    monkeypatch.setattr(trial, "plan", counting)
    with rm.Engine(tmp_path, matcher="scan") as engine:
        engine.add("x", rm.Criterion("first", rm.attr("a").like("é%")))
        assert n_planned == 1
        engine.add("x", rm.Criterion("one", rm.attr("a").like("%é")))
        assert n_planned == 2
        engine.update("x", [rm.Criterion("one", rm.attr("a").like("%é%"))])
        assert n_planned == 3
        engine.disable("x", "one")
        assert n_planned == 4
