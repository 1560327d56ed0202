"""Events whose fields are asked about one by one and all together: flat, nested, odd."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import remuda as rm
from remuda.encoding import encoder as encoding
from remuda.encoding import value_memory
from remuda.index.index import Index
from remuda.language.python import attr, fn
from remuda.language.text import parse


class Name(str):
    __slots__ = ()


class Whole(int):
    __slots__ = ()


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
    "a text too long to be read at once": {"a": "x" * 200_000 + "Evil", "b": "Evil"},
    "a text that grows in lower case": {"a": "İ" * 30_000 + "EVIL", "b": "İ" * 30_000 + "evil"},
    "not ASCII, to compare": {"a": "É", "b": "é", "c": "e"},
    "one begins the other": {"a": "Evi", "b": "evil", "c": "Evil"},
    "a zero within": {"a": "x\0evil", "b": "x"},
    "half of a pair in both": {"a": "\ud800", "b": "\ud800"},
    "half of a pair in a name": {"a\ud800": "evil", "a": "Evil"},
    "a large integer": {"a": 1 << 80, "b": -(1 << 63), "c": (1 << 63) - 1},
    "less than nothing": {"a": -0.0, "b": 0.0, "c": 0},
    "a name of another type": {Name("a"): "Evil", Name("q"): "evil"},
    "values of other types": {"a": Name("Evil"), "b": Whole(1), "c": Decimal(1), "d": (1, 2)},
    "lists of texts": {"a": ["Evil", "Evil", "x"], "b": ["x"], "z": ["evil"]},
    "a list of no texts": {"a": ["Evil", "\ud800"], "b": [["evil"]], "c": [None]},
    "a long list": {"a": [f"evil{i}" for i in range(3_000)]},
    "many fields": {f"f{i}": f"evil {i}" for i in range(5_000)},
    "many numbers": {**{f"f{i}": i for i in range(2_000)}, "a": 1},
    "a null to compare": {"a": None, "b": "x"},
    "numbers to compare": {"a": 1, "b": 2.5, "c": 0},
    "a text and a number to compare": {"a": "1", "b": 1, "c": "1"},
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
    event = {"a": "a text of its own, evil"}
    found = [index.match(event)]
    reader = index.parts[0].segment.encoder._reading.reader
    assert reader is not None
    assert reader.n_kept == 0
    found += [index.match(event), index.match(event)]
    assert reader.n_kept == 1
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


def test_python_tells_what_the_kernel_does_not(index: Index) -> None:
    """Where objects are not as kernels read them, all is told without."""
    encoder = Index.build(CRITERIA).parts[0].segment.encoder
    other = index.parts[0].segment.encoder
    _ = encoder.texts
    encoder._reading = encoder._reading._replace(reader=None)
    for name, event in EVENTS.items():
        assert encoder.spaces(event, 0).tolist() == other.spaces(event, 0).tolist(), name


TEXTS = st.one_of(
    st.sampled_from(["Evil", "evil", "EVİL", "ſ evil", "7b", "x", "", "other", "\ud800", "ÉVIL"]),
    st.text(max_size=8),
)
PLAIN = st.one_of(TEXTS, st.none(), st.booleans(), st.integers(), st.floats())
VALUES = st.one_of(
    PLAIN, st.lists(PLAIN, max_size=4), st.dictionaries(st.sampled_from("ab"), PLAIN, max_size=2)
)


@given(st.lists(st.dictionaries(st.sampled_from(["a", "b", "c", "é", "z"]), VALUES), min_size=1))
def test_drawn_events_are_told_as_by_python(index: Index, events: list[dict[str, Any]]) -> None:
    encoder = index.parts[0].segment.encoder
    for event in [*events, *events, *events]:  # new, met and kept
        wanted = encoding._of_all_items(event, encoder._reading, 0).tolist()
        assert encoder.spaces(event, 0).tolist() == wanted, event


def test_the_memory_grows_and_starts_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(value_memory, "_MOST", 16)
    index = Index.build(CRITERIA)
    for _ in range(2):
        for i in range(6_000):
            event = {"a": f"evil {i % 3_000}", "b": i, "c": i / 3}
            found = [index.match(event), index.match(event)]
            if i % 97 == 0:
                assert found == [expected(event)] * 2
    reader = index.parts[0].segment.encoder._reading.reader
    assert reader is not None
    assert 0 < reader.n_kept < 6_000
    reader.forget()
    assert reader.n_kept == 0
    assert index.match(event) == expected(event)


def test_threads_read_at_once() -> None:
    index = Index.build(CRITERIA)
    events = [{**event, "n": f"{i}"} for i in range(40) for event in EVENTS.values()]
    wanted = {id(event): expected(event) for event in events[: len(EVENTS)]}
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(index.match, events))
        again = list(pool.map(index.match, events))
    assert found == again
    assert [found[i] for i in range(len(EVENTS))] == list(wanted.values())
