"""JSON lines of which only the fields that criteria look at are read."""

from __future__ import annotations

import pytest

from remuda.encoding.events import decoded
from remuda.index.index import Index
from remuda.language.criterion import Criterion
from remuda.language.json_form import EventReader
from remuda.language.python import attr, fn

LINES: dict[str, bytes] = {
    "more than is asked for": b'{"a": 1, "x": {"y": [1, 2]}, "b": {"c": "foo"}}',
    "less": b'{"x": 1}',
    "nothing": b"{}",
    "null": b'{"a": null, "b": {"c": null}}',
    "a name twice": b'{"a": 2, "x": 0, "a": 1}',
    "a name in escapes": b'{"\\u0061": 1, "\\u0078": 2}',
    "letters": '{"x": "日本", "é": "x", "a": 1}'.encode(),
    "no object": b"[1]",
    "a text": b'"a"',
    "no JSON": b'{"a": 1,}',
    "no JSON where nobody looks": b'{"a": 1, "x": tru}',
    "no UTF-8 where nobody looks": b'{"a": 1, "x": "\xff"}',
    "half of a surrogate pair": b'{"a": 1, "x": "\\ud800"}',
    "deep where nobody looks": b'{"a": 1, "x": ' + b"[" * 5_000 + b"]" * 5_000 + b"}",
    "something behind": b'{"a": 1} 2',
}  # fmt: skip
RULES = [
    Criterion("one", attr("a") == 1),
    Criterion("inside", attr("b.c").contains("foo")),
    Criterion("lower", fn.lower(attr("é")) == "x"),
    Criterion("none", attr("a").missing()),
]


@pytest.mark.parametrize("late", [[], [Criterion("x", attr("x.y[0]") == 1)]], ids=["", "tail"])
def test_lines_match_as_whole_events_do(late: list[Criterion]) -> None:
    index, lines = Index.build(RULES), [*LINES.values()]
    index.add(late)
    whole, found = index.match_many([decoded(lines)]), index.match_many(b"\n".join(lines))
    n = range(len(lines))
    assert list(map(found.ids, n)) == list(map(whole.ids, n))
    assert found.errors == whole.errors
    assert index.count_many(b"\n".join(lines)).tolist() == [len(whole.ids(i)) for i in n]
    assert {"one"} < {name for i in n for name in whole.ids(i)}


def test_no_more_than_the_fields_is_read() -> None:
    assert EventReader(frozenset({"a", "b"})).read(LINES["more than is asked for"]) == {
        "a": 1,
        "b": {"c": "foo"},
    }
    assert EventReader(frozenset()).read(b'{"a": 1}') == {}
    assert EventReader(None).read(b'{"a": 1, "x": 2}') == {"a": 1, "x": 2}


@pytest.mark.parametrize("name", ['"', "\\", "\n", "", "a.b", "field0", "日本"])
def test_any_name_can_be_looked_at(name: str) -> None:
    import json

    event = {name: 1, "other": 2}
    assert EventReader(frozenset({name})).read(json.dumps(event))[name] == 1


def test_which_fields_are_looked_at() -> None:
    assert Index.build(RULES).fields() == {"a", "b", "é"}
    assert Index.build([*RULES, Criterion("all", attr("$..*") == 1)]).fields() is None
    assert Index.build([*RULES, Criterion("first", attr("$[0]") == 1)]).fields() is None
