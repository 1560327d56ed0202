"""Events whose fields are asked about one by one and all together: flat, nested, odd."""

from __future__ import annotations

from typing import Any

import pytest

import remuda as rm
from remuda.encoding import encoder as encoding
from remuda.index.index import Index
from remuda.language.python import attr, fn
from remuda.language.text import parse

every = attr("$..*")
text = fn.lower(fn.scalar_text(every))
CRITERIA = [
    rm.Criterion(f"c{i}", expression)
    for i, expression in enumerate([
        text.contains("evil"),
        text.finds("e[vw]il.?$"),
        ~text.contains("evil"),
        every == 1,
        every == "Evil",
        every == True,  # noqa: E712
        every > 2,
        every.missing(),
        fn.lower(attr("a")).contains("evil"),
        attr("a").matches("E.*"),
        attr("a").matches("[0-9]+[a-z]"),
        attr("a") == 1,
        attr("a") != "Evil",
        attr("a").missing(),
        attr("a").exists() & text.contains("other"),
        attr("a") == True,  # noqa: E712
        attr("a").is_null_value(),
        attr("a").is_absent(),
        attr("a.b").contains("evil"),
        attr("b").isin("x", "y") & ~text.contains("evil"),
        parse("lower(a) = lower(b)"),
        parse("lower(a) < b OR c IS NULL"),
        parse("concat(a, b) = 'EvilEvil'"),
        attr("a") < attr("b"),
        fn.lower(attr("a")) >= fn.lower(attr("b")),
        ~(attr("a") <= attr("c")),
    ])
]  # fmt: skip

EVENTS: dict[str, dict[Any, Any]] = {
    "nothing": {},
    "a text": {"a": "Evil"},
    "a text in another field": {"z": "so evil"},
    "the same text twice": {"a": "Evil", "b": "Evil"},
    "two texts, the first before": {"a": "Evil", "b": "f", "c": "other"},
    "lists to compare": {"a": ["x", "Evil"], "b": "f", "c": 1},
    "two texts": {"a": "evil", "b": "EVIL", "c": "other"},
    "an integer": {"a": 1},
    "truth": {"a": True},
    "truth elsewhere": {"z": True},
    "an integer like it": {"z": 1},
    "a fraction": {"a": 1.0, "b": 2.5},
    "not a number": {"a": float("nan")},
    "null": {"a": None},
    "null elsewhere": {"a": "Evil", "z": None},
    "only null": {"z": None},
    "not ASCII": {"a": "EVÍL", "b": "ſevil", "c": "evilİ"},
    "half of a pair": {"a": "evil\ud800", "b": "x"},
    "empty texts": {"a": "", "b": ""},
    "a list": {"a": ["x", "Evil", None, 3]},
    "lists elsewhere": {"z": ["x", 7, "other"], "a": "q"},
    "an empty list": {"a": [], "b": "x"},
    "nested": {"a": {"b": "evil"}, "b": "x"},
    "nested beneath a list": {"z": [{"q": "Evil", "r": None}, {"q": 5}], "a": "7b"},
    "names that are no texts": {1: "evil", None: "x"},
    "a long text": {"a": "x" * 20_000 + "evil"},
}


def expected(event: Any) -> list[str]:
    return [one.id for one in CRITERIA if one.holds(event)]


@pytest.fixture(scope="module")
def index() -> Index:
    return Index.build(CRITERIA)


@pytest.mark.parametrize("name", EVENTS)
@pytest.mark.parametrize("others", [{}, {"n": "not\nseen"}, {"n": {"d": "nested"}}, {"n": ["l"]}])
def test_is_found_when_new_when_met_and_when_kept(
    index: Index, name: str, others: dict[str, Any]
) -> None:
    event = {**EVENTS[name], **others}
    wanted = expected(event)
    for _ in range(4):
        assert index.match(event) == wanted
    assert [index.match_many([event, {}, event]).ids(i) for i in (0, 2)] == [wanted] * 2


def test_a_text_that_is_new_is_not_kept_and_one_that_comes_again_is() -> None:
    index = Index.build(CRITERIA)
    encoder = index.parts[0].segment.encoder
    event = {"a": "a text of its own, evil"}
    kept = lambda: sum(event["a"] in seen for seen in encoder._memory.seen)  # noqa: E731
    found = [index.match(event)]
    assert kept() == 0
    found += [index.match(event), index.match(event)]
    assert kept() == 1
    assert found == [expected(event)] * 3


def test_a_field_that_fails_is_looked_at_by_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    """After a failure, all others are still scanned together."""
    index = Index.build(CRITERIA)
    events = [one for one in EVENTS.values() if one]
    for event in events:
        index.match(event)
    encoder = index.parts[0].segment.encoder
    for one in encoder.origins:
        one.group, one.memory.n_failures = -1, one.memory.n_failures + 1
        monkeypatch.setattr(encoding, "_REMEMBERED", 0)  # nothing is kept
        for event in events:
            assert index.match(event) == expected(event)
