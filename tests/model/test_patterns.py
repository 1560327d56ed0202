"""Patterns and texts: what is refused where it enters, and what is accepted can be searched."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from remuda.engine.engine import Engine
from remuda.errors import InvalidCriterion
from remuda.index.index import Index
from remuda.language.criterion import Criterion
from remuda.language.python import Attr, attr
from remuda.language.rows import criterion_of
from remuda.model.conditions import Contains, Like, Prefix, Regex, Suffix
from remuda.model.expressions import Expression

t = attr("t")


# What is refused where it enters

REFUSED: dict[str, Callable[[], object]] = {
    "contains, half a pair": lambda: Contains("a\ud800"),
    "suffix, half a pair": lambda: Suffix("\udfff"),
    "prefix, half a pair": lambda: Prefix("\ud800"),
    "like, half a pair": lambda: Like("%\ud800%"),
    "matches, half a pair": lambda: Regex("\ud800"),
    "in, half a pair": lambda: t.isin("a", "\ud800"),
    "in, half a pair inside an object": lambda: t.isin({"k": ["\ud800"]}),
    "range, half a pair": lambda: t >= "\ud800",
    "superset, half a pair": lambda: t.superset("\ud800"),
    "version, half a pair": lambda: t.version() >= "1\ud800",
    "contains, 81 kB": lambda: Contains("y" * 81_000),
    "suffix, 81 kB": lambda: Suffix("y" * 81_000),
    "like, 81 kB": lambda: Like("%" + "y" * 81_000),
    "like, ten thousand times any": lambda: Like("_" * 10_000),
    "contains, a megabyte": lambda: Contains("y" * 1_000_000),
    "82,000 letters in 854 bytes": lambda: Regex("x{1000}" * 82),
    "82,000 letters, found": lambda: Regex("x{1000}" * 82, find=True),
    "a path, half a pair": lambda: attr("a.\ud800"),
    "a query, half a pair": lambda: attr("$..['\ud800']"),
    "an id, half a pair": lambda: Criterion("\ud800", t == 1),
    "a tag, half a pair": lambda: Criterion("a", t == 1, tags=frozenset({"\ud800"})),
}


@pytest.mark.parametrize("make", REFUSED.values(), ids=REFUSED)
def test_refused_where_it_enters(make: Callable[[], object]) -> None:
    with pytest.raises(InvalidCriterion):
        make()


def test_refused_when_it_is_read() -> None:
    document = Criterion("a", t.matches("x")).to_json()
    written = json.dumps(document).replace('"x"', json.dumps("x{1000}" * 82))
    with pytest.raises(InvalidCriterion, match="instructions"):
        Criterion.from_json(written)
    with pytest.raises(InvalidCriterion, match="instructions"):
        criterion_of(written.encode())  # as `remuda check` and `read_criteria` read a row


def test_the_name_of_an_index_is_text() -> None:
    with pytest.raises(ValueError, match="name of an index"):
        Engine().add("\ud800", Criterion("a", t == 1))


SEARCHED: dict[str, Callable[[Attr], Expression]] = {
    "an open quotation": lambda a: a.matches(r"\Qa.b"),
    "an open quotation that ends in a backslash": lambda a: a.matches("\\Qa\\"),
    "an open quotation, found": lambda a: a.finds(r"\Qa.b"),
    "contains, 9 kB": lambda a: a.contains("y" * 9_000),
    "suffix, 9 kB": lambda a: a.suffix("y" * 9_000),
    "like, 9 kB": lambda a: a.like("%" + "y" * 9_000),
    "like, 500 of any": lambda a: a.like("_" * 500),
    "9,000 letters": lambda a: a.matches("x{1000}" * 9),
}


@pytest.mark.parametrize("make", SEARCHED.values(), ids=SEARCHED)
def test_what_is_accepted_can_be_searched(make: Callable[[Attr], Expression]) -> None:
    odd = Criterion("odd", make(t))
    rules = [odd, *(Criterion(f"r{i}", t.matches(f"q{i}.*")) for i in range(20))]
    index = Index.build(rules)
    for text in ("q1", "a.b", "axb", "a\\", "x" * 9_000, "y" * 9_000, "z" * 500):
        assert index.match({"t": text}) == [one.id for one in rules if one.holds({"t": text})]
