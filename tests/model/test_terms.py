"""What terms are worth: missing values and lists."""

from __future__ import annotations

import pickle
from typing import Any

import pytest

import remuda as rm
from remuda.language.python import Attr
from remuda.model.terms import value_in

a, b = rm.attr("a"), rm.attr("b")
ROWS: dict[str, tuple[Attr, dict[str, Any], Any]] = {
    "of values": (a + b, {"a": 1, "b": 2}, 3),
    "of a list, each of its elements": (a + b, {"a": [1, 2], "b": 10}, [11, 12]),
    "of two lists": (a + b, {"a": [1, 2], "b": [3]}, None),
    "of something missing": (a + b, {"a": 1}, None),
    "of a list and something missing": (a + b, {"a": [1, 2]}, None),
    "of both and a constant that sees what is missing": (
        rm.fn.add(a + b, rm.fn.coalesce(1, 2)),
        {"a": [1, 2]},
        None,
    ),
    "of what it is not made for": (a.lower(), {"a": [1, "X"]}, [None, "x"]),
    "the same attribute is the same element": (a * a, {"a": [2, 3]}, [4, 9]),
    "that looks at whole lists": (rm.fn.size(a), {"a": [2, 3]}, 2),
    "that sees what is missing": (rm.fn.coalesce(a, b), {"b": 2}, 2),
    "a case": (rm.when(a > 1, "many").otherwise("few"), {"a": 2}, "many"),
    "a case of nothing": (rm.when(a > 1, "many").otherwise("few"), {}, "few"),
}


@pytest.mark.parametrize(("term", "event", "value"), ROWS.values(), ids=ROWS)
def test_terms(term: Attr, event: dict[str, Any], value: Any) -> None:
    assert value_in(term.term, event, 0) == value
    assert pickle.loads(pickle.dumps(term.term)) == term.term
    there = rm.Criterion("there", term.exists())
    index = rm.Index.build([there])
    assert bool(index.match(event)) is there.holds(event) is (value is not None)
