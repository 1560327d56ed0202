"""A criterion that fails at search time: it is named, set aside and reported; others go on."""

from __future__ import annotations

from collections.abc import Callable

import pyarrow as pa
import pytest

from remuda.encoding.sets import SetIndex
from remuda.encoding.spaces import OrderSpaces, ValueSpaces
from remuda.encoding.texts import Trial
from remuda.index.index import Index
from remuda.language.criterion import Criterion
from remuda.language.python import attr, fn
from remuda.model.conditions import Regex
from remuda.model.expressions import Expression, Predicate

a, b = attr("a"), attr("b")
GOOD = [
    Criterion("good", b == 1),
    Criterion("denies", ~(b == 2)),
    Criterion("regex", b.matches("x")),
]
EVENT = {"a": ["x", "y"], "b": 1}
ONE_VALUE = {"a": "x", "b": 1}
FOUND = ["good", "denies"]

Patch = Callable[[pytest.MonkeyPatch], None]


def boom(*args: object, **kwargs: object) -> object:
    raise RecursionError("boom")


def failing(kind: type, name: str, is_bad: Callable[..., bool]) -> Patch:
    """Let a method fail for those instances and arguments that are bad."""

    def patch(monkeypatch: pytest.MonkeyPatch) -> None:
        method = getattr(kind, name)
        monkeypatch.setattr(
            kind, name, lambda self, *rest: boom() if is_bad(self, *rest) else method(self, *rest)
        )

    return patch


KINDS: dict[str, tuple[Expression, Patch]] = {
    "values": (
        fn.length(a) == 666,
        failing(
            ValueSpaces,
            "of",
            lambda one, of: "666" in str([*map(list, one.cuts.values())]) and of != 666,
        ),
    ),
    "versions": (a.version() >= "6.6.6", failing(OrderSpaces, "of", lambda *_: True)),
    "patterns": (  # one that demands no text, so that it is tried on all
        a.matches("[b]?a?d?"),
        failing(Trial, "held", lambda one, _: "[b]" in str(one.patterns)),
    ),
    "sets": (a.superset("bad"), failing(SetIndex, "matching", lambda one, _: "bad" in one.having)),
    "pre-operations": (
        a.length() == 666,
        failing(type(a.length().term.operation), "apply", lambda *_: True),
    ),
}


QUESTIONS: dict[str, Callable[[Index], list[str]]] = {
    "match": lambda index: index.match(EVENT),
    "match, one value": lambda index: index.match(ONE_VALUE),
    "match, tags": lambda index: index.match(EVENT) if not index.match(EVENT, tags={"z"}) else [],
    "match_many": lambda index: index.match_many([EVENT, EVENT]).ids(1),
    "Arrow, one value": lambda index: index.match_many(pa.table({"a": ["x"], "b": [1]})).ids(0),
    "Arrow, lists": lambda index: index.match_many(pa.table({"a": [["x"]], "b": [1]})).ids(0),
    "top": lambda index: [one.id for one in index.top(EVENT, 9)],
    "nearest": lambda index: FOUND if "bad" not in str(index.nearest(EVENT, 9)) else [],
    "reach": lambda index: [
        one.id for one, n in zip(index, index.reach([EVENT]), strict=True) if n
    ],
}


@pytest.mark.parametrize(("expression", "patch"), KINDS.values(), ids=KINDS)
@pytest.mark.parametrize("negated", [False, True])
def test_a_dimension_that_fails_takes_nothing_else_with_it(
    expression: Expression,
    patch: Patch,
    negated: bool,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    bad = Criterion("bad", ~expression if negated else expression | (b == 1).weight(9))
    indexes = {
        name: Index.build([*GOOD, bad])
        for name in QUESTIONS
        if "one value" not in name or patch is not KINDS["sets"][1]  # a scalar is no list
    }
    patch(monkeypatch)
    for name, index in indexes.items():
        caplog.clear()
        assert QUESTIONS[name](index) == FOUND, name
        assert QUESTIONS[name](index) == FOUND, name
        assert index.count_many([EVENT, EVENT]).tolist() == [2, 2]
        assert list(index.stats()["set_aside"]) == ["bad"]
        assert "boom" in index.stats()["set_aside"]["bad"]
        assert ["'bad'" in message for message in caplog.messages] == [True]


def in_segments(criteria: list[Criterion]) -> Index:
    return Index.build(criteria)


def in_the_tail(criteria: list[Criterion]) -> Index:
    index = Index()
    index.add(criteria)
    return index


@pytest.mark.parametrize("held", [in_segments, in_the_tail])
def test_a_value_at_fault_satisfies_nothing_and_sets_nothing_aside(
    held: Callable[[list[Criterion]], Index],
) -> None:
    class Odd:
        @property
        def dtype(self) -> object:
            raise ZeroDivisionError

        tolist = dtype

    index = held([*GOOD, Criterion("value", a == 1), Criterion("other", (a == 1) | (b == 1))])
    assert index.match({"a": Odd(), "b": 1}) == [*FOUND, "other"]
    assert index.match({"a": 1, "b": 1}) == [*FOUND, "value", "other"]
    assert index.stats()["set_aside"] == {}


@pytest.mark.parametrize("name", QUESTIONS)
@pytest.mark.parametrize(("expression", "patch"), KINDS.values(), ids=KINDS)
def test_in_the_tail(
    expression: Expression,
    patch: Patch,
    name: str,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    if "one value" in name and patch is KINDS["sets"][1]:
        expression, patch = KINDS["patterns"]  # a scalar is no list
    index = in_the_tail([*GOOD, Criterion("bad", expression | (b == 1).weight(9))])
    patch(monkeypatch)
    truth = Predicate.truth
    monkeypatch.setattr(
        Predicate, "truth", lambda self, *of: boom() if self == expression else truth(self, *of)
    )
    assert QUESTIONS[name](index) == FOUND
    assert list(index.stats()["set_aside"]) == ["bad"]
    assert ["'bad'" in message for message in caplog.messages] == [True]
    monkeypatch.undo()  # it is off, be the event one that it could be evaluated for
    assert QUESTIONS[name](index) == FOUND
    index.add(Criterion("late", b == 1))  # another tail, in which it is off all the same
    assert index.match(EVENT) == [*FOUND, "late"]
    assert "boom" in index.stats()["set_aside"]["bad"]
    index.remove("bad")
    assert index.stats()["set_aside"] == {}


def test_what_only_plain_evaluation_cannot_do_is_answered_by_a_segment(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    index = in_the_tail([*GOOD, Criterion("fine", a.matches("bad") | (b == 1))])
    monkeypatch.setattr(Regex, "accepts", boom)
    assert index.match(EVENT) == [*FOUND, "fine"]
    assert index.match_many([EVENT]).ids(0) == [*FOUND, "fine"]
    assert index.stats()["set_aside"] == {}


def test_memory_errors_are_not_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*args: object) -> object:
        raise MemoryError

    index = Index.build(GOOD)
    monkeypatch.setattr(ValueSpaces, "of", full)
    with pytest.raises(MemoryError):
        index.match(EVENT)


@pytest.mark.parametrize("n", [1.5, "1", None])
def test_how_many_is_a_whole_number(n: object) -> None:
    index = Index.build(GOOD)
    with pytest.raises(TypeError, match="whole number"):
        index.top(EVENT, n)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="whole number"):
        index.nearest(EVENT, n)  # type: ignore[arg-type]
