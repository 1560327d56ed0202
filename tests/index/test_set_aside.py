"""A criterion that fails at search time: it is named, set aside and reported; others go on."""

from __future__ import annotations

from collections.abc import Callable

import pyarrow as pa
import pytest

from remuda.encoding import encoder as encoding
from remuda.encoding.sets import SetIndex
from remuda.encoding.spaces import OrderSpaces, ValueSpaces
from remuda.index.index import Index
from remuda.language.criterion import Criterion
from remuda.language.python import attr
from remuda.model.conditions import Regex
from remuda.model.expressions import Expression

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


def failing(kind: type, name: str, is_bad: Callable[[object], bool]) -> Patch:
    """Let a method fail for those instances that are bad."""

    def patch(monkeypatch: pytest.MonkeyPatch) -> None:
        method = getattr(kind, name)
        monkeypatch.setattr(
            kind, name, lambda self, *rest: boom() if is_bad(self) else method(self, *rest)
        )

    return patch


def failing_pattern(monkeypatch: pytest.MonkeyPatch) -> None:
    made = encoding.PatternSet
    monkeypatch.setattr(
        encoding, "PatternSet", lambda all_of: boom() if "bad" in all_of else made(all_of)
    )


KINDS: dict[str, tuple[Expression, Patch]] = {
    "values": (a == "bad", failing(ValueSpaces, "of", lambda one: "bad" in str(one.cuts))),
    "versions": (a.version() >= "6.6.6", failing(OrderSpaces, "of", lambda one: True)),
    "patterns": (a.matches("bad"), failing_pattern),
    "sets": (a.superset("bad"), failing(SetIndex, "matching", lambda one: "bad" in one.having)),
    "pre-operations": (a.length() == 666, failing(type(a.length().term.operation), "apply", bool)),
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


def test_a_value_at_fault_satisfies_nothing_and_sets_nothing_aside() -> None:
    class Odd:
        @property
        def dtype(self) -> object:
            raise ZeroDivisionError

        tolist = dtype

    index = Index.build([*GOOD, Criterion("value", a == 1), Criterion("other", ~(a == 1))])
    assert index.match({"a": Odd(), "b": 1})[:2] == FOUND
    assert index.match({"a": 1, "b": 1}) == [*FOUND, "value"]
    assert index.stats()["set_aside"] == {}


def test_in_the_tail(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    index = Index.build(GOOD[:2])
    index.add([Criterion("bad", a.matches("bad") | (b == 1)), Criterion("late", b == 1)])
    accepts = Regex.accepts
    monkeypatch.setattr(
        Regex, "accepts", lambda self, v: boom() if self.pattern == "bad" else accepts(self, v)
    )
    assert index.match(EVENT) == [*FOUND, "late"]
    assert index.match_many([EVENT]).ids(0) == [*FOUND, "late"]
    assert {one.id for one in index.top(EVENT, 9)} == {*FOUND, "late"}
    assert index.count_many([EVENT]).tolist() == [3]
    assert index.stats()["set_aside"] == {"bad": "RecursionError: boom"}
    assert [message for message in caplog.messages if "'bad'" in message] == caplog.messages[:1]
    index.remove("bad")
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
