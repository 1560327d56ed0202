"""What Mustang answers wrongly or breaks on, B1 to B20, each asked of an engine here."""

from __future__ import annotations

import json
import threading
from decimal import Decimal

import pytest

from remuda.engine.engine import Engine
from remuda.errors import InvalidCriterion
from remuda.language.criterion import Criterion
from remuda.language.python import attr
from remuda.proof import ratifying

IN, OUT = "INCLUDED", "EXCLUDED"


def predicate(lhs, values=None, kind=IN, *operations, weight=None, **detail):
    written = {"type": kind, "lhs": f"$.{lhs}"}
    written |= {"values": values} if values is not None else {"detail": detail}
    if operations:
        written["preOperations"] = list(operations)
    return written | ({} if weight is None else {"weight": weight})


def dnf(*conjunctions, id="c"):
    clauses = [{"type": "AND", "predicates": list(clause)} for clause in conjunctions]
    return Criterion.from_json({"form": "DNF", "id": id, "conjunctions": clauses})


def cnf(*disjunctions, id="c"):
    clauses = [{"type": "OR", "predicates": list(clause)} for clause in disjunctions]
    return Criterion.from_json({"form": "CNF", "id": id, "disjunctions": clauses})


def unf(kind, predicates=(), criterias=(), id="c"):
    parts = {"predicates": list(predicates), "criterias": list(criterias)}
    return Criterion.from_json({"form": "UNF", "id": id, "type": kind, **parts})


def found(criteria, event):
    """What search finds, once scan was seen to find the same."""
    engine = Engine()
    engine.add("x", criteria)
    ids = engine.search("x", event)
    assert ids == engine.scan("x", event)
    return ids


MODULO_2 = {"type": "MODULO", "rhs": 2}
LENGTH, SIZE = {"type": "LENGTH"}, {"type": "SIZE"}
BELOW_5 = {"caveat": "RANGE", "upperBound": 5}
SINCE_3 = {"caveat": "VERSIONING", "check": "ABOVE", "baseVersion": "3#1", "excludeBase": True}
TAUTOLOGY = {"form": "DNF", "id": "t", "conjunctions": []}
TEXT = "0.1234567890123456789"

ANSWERS = {
    "B1 no lower bound, zero": (dnf([predicate("a", **BELOW_5)]), {"a": 0}, True),
    "B1 no lower bound, below zero": (dnf([predicate("a", **BELOW_5)]), {"a": -7}, True),
    "B1 excluded": (dnf([predicate("a", None, OUT, **BELOW_5)]), {"a": -7}, False),
    "B2 the second element": (dnf([predicate("a", [2])]), {"a": [1, 2, 3]}, True),
    "B2 no element": (dnf([predicate("a", [4])]), {"a": [1, 2, 3]}, False),
    "B3 two that share a value": (
        dnf([predicate("a", [1, 2]), predicate("a", [2, 3])]), {"a": 2}, True,
    ),
    "B3 the same one twice": (dnf([predicate("a", [1]), predicate("a", [1])]), {"a": 1}, True),
    "B3 excluded, then included": (
        dnf([predicate("a", [1], OUT), predicate("a", [1, 2])]), {"a": 1}, False,
    ),
    "B4 a value and its denial": (
        cnf([predicate("a", [1]), predicate("a", [1], OUT)]), {"a": 1}, True,
    ),
    "B4 two denials that share a value": (
        cnf([predicate("a", [1, 2], OUT), predicate("a", [2, 3], OUT)]), {"a": 2}, False,
    ),
    "B4 in two disjunctions": (
        cnf([predicate("a", [1])], [predicate("a", [1], OUT), predicate("b", [1])]),
        {"a": 1, "b": 1}, True,
    ),
    "B6 one value in two spellings": (
        dnf([predicate("a", [1, 1.0]), predicate("b", [1])]), {"a": 1, "b": 2}, False,
    ),
    "B6 excluded": (cnf([predicate("a", [1, 1.0], OUT)]), {"a": 1}, False),
    "B7 a version that is no text": (dnf([predicate("a", **SINCE_3)]), {"a": 4}, False),
    "B7 a # in the base": (dnf([predicate("a", **SINCE_3)]), {"a": "3#1"}, False),
    "B9 a tautology holds": (Criterion.from_json(TAUTOLOGY), {}, True),
    "B10 a tautology in an Or": (unf("OR", [predicate("a", [1])], [TAUTOLOGY]), {"a": 2}, True),
    "B11 denial of nothing": (dnf([predicate("a", [], OUT)]), {"a": 1}, True),
    "B11 a conjunction of nothing": (dnf([]), {"a": 1}, True),
    "B12 beyond 2^53, equal": (dnf([predicate("a", [2**53])]), {"a": 2**53 + 1}, False),
    "B12 beyond 2^53, ordered": (
        dnf([predicate("a", caveat="RANGE", lowerBound=2**53)]), {"a": 2**53 + 1}, True,
    ),
    "B13 1 and 1.0 in sets": (
        dnf([predicate("a", caveat="EQUALSET", values=[1, 2])]), {"a": [2.0, 1.0]}, True,
    ),
    "B13 a long decimal": (
        Criterion("c", attr("a").equalset(Decimal(TEXT))), {"a": [Decimal(TEXT)]}, True,
    ),
    "B15 a substring beyond the text": (
        dnf([predicate("a", ["b"], IN, {"type": "SUBSTRING", "beginIndex": 1, "endIndex": 9})]),
        {"a": "ab"}, True,
    ),
    "B15 a list that begins with null": (dnf([predicate("a", [1])]), {"a": [None, 1]}, True),
    "B15 a path that asks for keys": (dnf([predicate("a.keys()", ["k"])]), {"a": {"k": 1}}, False),
    "B16 the size of a list": (dnf([predicate("a", [2], IN, SIZE)]), {"a": [7, 8]}, True),
    "B19 division": (
        dnf([predicate("a", [3], IN, {"type": "DIVISION", "rhs": 3})]), {"a": 10}, True,
    ),
}  # fmt: skip


@pytest.mark.parametrize(("criterion", "event", "holds"), ANSWERS.values(), ids=list(ANSWERS))
def test_answers(criterion, event, holds) -> None:
    assert found([criterion], event) == ([criterion.id] if holds else [])


def test_b5_pre_operations_tell_keys_apart() -> None:
    even = cnf([predicate("a", [0], IN, MODULO_2)], id="even")
    zero = cnf([predicate("a", [0])], id="zero")
    short = cnf([predicate("a", [0], IN, LENGTH)], id="short")
    assert found([even, zero, short], {"a": 4}) == ["even"]
    assert found([short, zero, even], {"a": 0}) == ["short", "zero", "even"]
    assert found([even, zero, short], {"a": ""}) == ["short"]


def test_b8_an_update_may_change_the_form() -> None:
    engine = Engine()
    engine.add("x", dnf([predicate("a", [1])]))
    engine.update("x", cnf([predicate("a", [2])]))
    assert engine.search("x", {"a": 1}) == []
    assert engine.search("x", {"a": 2}) == ["c"]
    engine.delete("x", "c")
    assert engine.search("x", {"a": 2}) == engine.top("x", {"a": 2}, 3) == []


def test_b9_tautologies_come_and_go() -> None:
    engine = Engine()
    engine.add("x", Criterion.from_json(TAUTOLOGY))
    assert engine.search("x", {}) == engine.scan("x", {}) == ["t"]
    engine.update("x", dnf([predicate("a", [1])], id="t"))
    assert engine.search("x", {}) == []
    engine.update("x", Criterion.from_json(TAUTOLOGY))
    engine.delete("x", "t")
    assert engine.search("x", {}) == []


def test_b14_minus_one_is_a_score_like_any_other() -> None:
    engine = Engine()
    engine.add("x", dnf([predicate("a", [1], weight=-1)]))
    assert [(one.id, one.score) for one in engine.top("x", {"a": 1}, 3)] == [("c", -1.0)]


BROKEN = {
    "a bad regular expression": predicate("a", caveat="REGEX", regex="(((("),
    "null among values": predicate("a", [None]),
    "a path that is none": predicate("a[?(", [1]),
}


@pytest.mark.parametrize("broken", BROKEN.values(), ids=list(BROKEN))
def test_b15_what_is_broken_is_refused_where_it_enters(broken) -> None:
    engine = Engine()
    engine.add("x", dnf([predicate("a", [1])]))
    with pytest.raises(InvalidCriterion, match="criterion 'c'"):
        dnf([broken])
    text = json.dumps([{"form": "DNF", "id": "d", "conjunctions": [
        {"type": "AND", "predicates": [broken]}]}])  # fmt: skip
    with pytest.raises(InvalidCriterion):
        engine.load("y", text)
    assert engine.names() == ["x"]
    assert engine.search("x", {"a": 1}) == ["c"]


STRANGE = (None, 1, "text", [], [None], {"a": {}}, {"a": [[]]}, {"a": object()}, {1: 2})


@pytest.mark.parametrize("event", STRANGE)
def test_b15_no_event_breaks_a_search(event) -> None:
    criteria = [one for one, _, _ in ANSWERS.values()]
    named = [Criterion(f"c{i}", one.expression) for i, one in enumerate(criteria)]
    assert set(found(named, event)) <= {one.id for one in named}


def test_b17_what_is_exported_can_be_imported() -> None:
    engine = Engine()
    criteria = [dnf([predicate("a", **BELOW_5)], id="range"),
                dnf([predicate("a", **SINCE_3)], id="version"),
                dnf([predicate("a", [2], IN, SIZE)], id="size")]  # fmt: skip
    engine.add("x", criteria)
    engine.load("y", engine.export("x", mustang=True))
    for event in ({"a": 4}, {"a": "4"}, {"a": [1, 2]}):
        assert engine.search("y", event) == engine.search("x", event)


@pytest.mark.parametrize(
    "candidate",
    [
        dnf([predicate("a", caveat="RANGE", lowerBound=5, upperBound=5,
                       includeLowerBound=True, includeUpperBound=True)]),
        cnf([predicate("a", [1], OUT)], [predicate("b", [2], OUT)]),
    ],
    ids=["a range of one point", "exclusions alone"],
)  # fmt: skip
def test_b18_similarity_of(candidate) -> None:
    engine = Engine()
    engine.add("x", [Criterion("same", candidate.expression), dnf([predicate("z", [1])], id="z")])
    similar = engine.similarity("x", candidate).similar
    assert similar[0].id == "same"
    assert similar[0].score == 1.0
    assert all(0 <= one.score <= 1 for one in similar)


def test_b20_a_ratification_that_failed_can_be_repeated(monkeypatch) -> None:
    engine = Engine()
    engine.add("x", dnf([predicate("a", [1])]))
    with monkeypatch.context() as broken:
        broken.setattr(ratifying, "probes", lambda *_, **__: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            engine.ratify("x")
    assert engine.ratify("x").ok


def test_searches_go_on_beside_writes() -> None:
    engine = Engine()
    engine.add("x", [dnf([predicate("a", [i])], id=f"c{i}") for i in range(100)])
    stop, errors = threading.Event(), []

    def search() -> None:
        try:
            while not stop.is_set():
                assert engine.search("x", {"a": 3}) == ["c3"]
                assert engine.scan("x", {"a": 3}) == ["c3"]
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=search) for _ in range(4)]
    for thread in threads:
        thread.start()
    for i in range(400):
        engine.update("x", cnf([predicate("b", [i])], id=f"c{50 + i % 50}"))
    stop.set()
    for thread in threads:
        thread.join()
    assert errors == []
