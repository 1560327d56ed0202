"""Hierarchies: against walking up the tree, what is refused, and where they are kept."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import remuda as rm
from remuda.errors import InvalidCriterion, NoMustangEquivalent, NoSqlEquivalent, ParseError
from remuda.model.conditions import Under
from remuda.proof.ratifying import ratify
from remuda.proof.similarity import similarity
from strategies import SEED, count

city = rm.attr("city")
GEO = rm.Hierarchy.of(
    {"BLR": "KA", "MYS": "KA", "KA": "IN", "IN": None, "BER": "DE", "": "DE", 10: 1, 9: 1, 91: 9}
)
TREES = {"geo": GEO}

BENEATH: dict[str, tuple[Any, Any, bool]] = {
    "the node itself": ("IN", "IN", True),
    "its child": ("KA", "IN", True),
    "its grandchild": ("MYS", "IN", True),
    "its parent": ("IN", "KA", False),
    "its sibling": ("MYS", "BLR", False),
    "a leaf": ("BLR", "BLR", True),
    "another root": ("BER", "IN", False),
    "an empty text": ("", "DE", True),
    "outside the tree": ("Paris", "IN", False),
    "another case": ("blr", "IN", False),
    "a number": (91, 1, True),
    "a number as text": ("91", 1, False),
    "a number of another type": (91.0, 9, True),
    "a number of NumPy": (np.int16(91), 9, True),
    "a fraction": (91.5, 9, False),
    "true is no number": (True, 1, False),
    "an element": (["x", "BLR"], "KA", True),
    "an object": ({"BLR": 1}, "KA", False),
    "half of a surrogate pair": ("\ud800", "IN", False),
}


@pytest.mark.parametrize(("value", "node", "beneath"), BENEATH.values(), ids=BENEATH)
def test_what_is_beneath(value: Any, node: Any, beneath: bool) -> None:
    asked = city.under("geo", node)
    criteria = [rm.Criterion("under", asked), rm.Criterion("not", asked.strong())]
    expected = ["under"] if beneath else ["not"]
    event = {"city": value}
    assert [one.id for one in criteria if one.holds(event, hierarchies=TREES)] == expected
    index = rm.Index.build(criteria, hierarchies=TREES)
    assert index.match(event) == index.match_many([event]).ids(0) == expected
    assert index.match({}) == []


@pytest.mark.soak
def test_every_pair_is_decided_as_by_walking_up() -> None:
    rng = random.Random(SEED)
    n = count(320, 1000)  # 10^5 pairs, 10^6 in the soak
    parents = {i: rng.choice((None, rng.randrange(i), i - 1)) for i in range(1, n)} | {0: None}
    names = [f"n{i}" if i % 3 else i for i in range(n)]
    tree = rm.Hierarchy.of(
        {names[i]: None if above is None else names[above] for i, above in parents.items()}
    )
    criteria = [rm.Criterion(str(i), city.under("t", names[i])) for i in range(n)]
    index = rm.Index.build(criteria, hierarchies={"t": tree})
    found = index.match_many([{"city": name} for name in names])
    for i in range(n):
        above, at = set(), i
        while at is not None:
            above.add(str(at))
            at = parents[at]
        assert set(found.ids(i)) == above


def test_the_example_of_the_paper() -> None:
    """VLDB 2009, section 2.3: a range of dates as years and months, a month beneath its year."""
    months = {f"{year}/{month}": year for year in range(2006, 2010) for month in range(1, 13)}
    trees = {"dates": rm.Hierarchy.of(months)}
    ranges = ("2006/12", 2007, 2008, "2009/1")
    expression = rm.Or(*(rm.attr("date").under("dates", one) for one in ranges))
    index = rm.Index.build([rm.Criterion("c", expression)], hierarchies=trees)
    assert index.match({"date": "2008/2"}) == ["c"]
    inside = [month for month in months if index.match({"date": month})]
    assert inside == ["2006/12", *(one for one in months if months[one] in (2007, 2008)), "2009/1"]


def test_columns_give_the_same_as_objects() -> None:
    criteria = [rm.Criterion(repr(node), city.under("geo", node)) for node in GEO.order]
    index = rm.Index.build(criteria, hierarchies=TREES)
    for column in (["BLR", None, "DE", "x"], [91, 1, None, 2], [[1.0, 7.0], [], [9.0], None]):
        objects = [{"city": value} for value in column]
        table = pa.table({"city": column})
        found = index.match_many(table)
        assert [found.ids(i) for i in range(4)] == [index.match(one) for one in objects]


REFUSED_TREES: dict[str, tuple[Any, str]] = {
    "two parents": ([("a", "b"), ("a", "c")], "'a' has two parents: 'b' and 'c'"),
    "a cycle": ({"a": "b", "b": "c", "c": "a", "d": "a"}, "'a' under 'b' under 'c' under 'a'"),
    "its own parent": ({"a": "a"}, "'a' under 'a'"),
    "a fraction": ({"a": 1.5}, "a text or an integer, not 1.5"),
    "a truth value": ({True: "a"}, "a text or an integer, not True"),
    "half of a surrogate pair": ({"a": "\ud800"}, "a node"),
    "three columns": (pa.table({"a": [1], "b": [2], "c": [3]}), "two columns"),
    "no pairs": (["ab"], "pairs of a child and its parent"),
}


@pytest.mark.parametrize(("source", "reason"), REFUSED_TREES.values(), ids=REFUSED_TREES)
def test_what_is_no_tree(source: Any, reason: str) -> None:
    with pytest.raises((ValueError, TypeError), match=reason):
        rm.Hierarchy.of(source)


def test_a_tree_is_what_it_has_however_it_is_given() -> None:
    pairs = [("b", "r"), ("a", "r"), ("r", None), ("a", "r")]
    table = pa.table({"child": ["a", "b"], "parent": ["r", "r"]})
    trees = [rm.Hierarchy.of(one) for one in (pairs, pairs[::-1], table, {"a": "r", "b": "r"})]
    assert len(set(trees)) == 1
    assert trees[0].order == ("r", "a", "b")
    assert trees[0] != rm.Hierarchy.of({"a": "r"})
    deep = rm.Hierarchy.of({i: i - 1 for i in range(1, 10_000)})
    assert deep.span_of(1) == (1, 9999)


UNKNOWN: dict[str, rm.Expression] = {
    "a node": city.under("geo", "Paris"),
    "a tree": city.under("streets", "IN"),
    "in a CASE": rm.parse("CASE WHEN under(city, 'geo', 'Paris') THEN 1 ELSE 2 END = 1"),
    "of elements": rm.attr("cities").any(lambda c: ~c.under("streets", "IN")),
}


@pytest.mark.parametrize("expression", UNKNOWN.values(), ids=UNKNOWN)
@pytest.mark.parametrize("trees", [TREES, None], ids=["with trees", "without"])
def test_what_the_trees_lack_is_refused(expression: rm.Expression, trees: Any) -> None:
    criterion = rm.Criterion("c", expression & (rm.attr("a") == 1))
    for enter in (
        lambda: rm.Index.build([criterion], hierarchies=trees),
        lambda: rm.Index(hierarchies=trees).add(criterion),
        lambda: rm.Engine(hierarchies=trees).add("i", criterion),
    ):
        with pytest.raises(InvalidCriterion, match="tree") as refused:
            enter()
        assert refused.value.criterion == "c"


def test_a_criterion_of_one_index_has_the_trees_of_another_there() -> None:
    first = rm.Index.build([rm.Criterion("c", city.under("geo", "IN"))], hierarchies=TREES)
    other = {"geo": rm.Hierarchy.of({"x": "IN"})}
    assert rm.Index.build(first, hierarchies=other).match({"city": "x"}) == ["c"]
    with pytest.raises(InvalidCriterion, match="tree"):
        rm.Index.build(first)


def test_without_its_tree_there_is_no_truth() -> None:
    with pytest.raises(InvalidCriterion, match="'geo' is not known here"):
        rm.Criterion("c", city.under("geo", "IN")).holds({"city": "BLR"})


def test_they_are_kept_with_the_index(tmp_path) -> None:
    of_elements = rm.attr("cities").every(lambda c: c.under("geo", "KA"))
    in_case = rm.parse("CASE WHEN under(city, 'geo', 'DE') THEN 1 ELSE 2 END = 1")
    criteria = [rm.Criterion("in", city.under("geo", "IN")), rm.Criterion("of", of_elements)]
    index = rm.Index.build(criteria, hierarchies=TREES)
    index.save(tmp_path)
    loaded = rm.load(tmp_path)
    assert loaded.hierarchies == TREES
    loaded.add(rm.Criterion("case", in_case))
    loaded.save(tmp_path)
    loaded = rm.load(tmp_path)
    event = {"city": "BLR", "cities": ["MYS", "KA"]}
    assert loaded.match(event) == ["in", "of"]
    assert loaded.match({"city": "BER"}) == ["case"]
    assert [one.id for one in loaded if one.holds(event)] == ["in", "of"]
    assert loaded.explain(event, "in").holds
    assert loaded.top(event, 2, weights={"city": 2.0})[0].id == "in"
    loaded.merge()
    assert loaded.match(event) == ["in", "of"]
    assert not index.refresh() or index.match(event) == ["in", "of"]


def test_a_new_version_may_have_another_tree(tmp_path) -> None:
    """Segments that were made with the old one are planned anew."""
    criteria = [rm.Criterion("in", city.under("geo", "IN"))]
    first = rm.Index.build(criteria, hierarchies=TREES)
    first.save(tmp_path)
    moved = {"geo": rm.Hierarchy.of({"BER": "IN", "BLR": "DE"})}
    rm.Index.build(criteria, hierarchies=moved).save(tmp_path)
    assert first.refresh()
    assert first.hierarchies == moved
    assert [first.match({"city": one}) for one in ("BER", "BLR")] == [["in"], []]


def test_an_engine_keeps_them(tmp_path) -> None:
    criterion = rm.Criterion("in", city.under("geo", "IN"))
    engine = rm.Engine(tmp_path, hierarchies=TREES)
    engine.add("ads", criterion)
    engine._store.abandon()  # what follows has the log alone
    engine._store.close()
    with rm.Engine(tmp_path) as again:
        assert again.search("ads", {"city": "BLR"}) == ["in"]
        again.update("ads", rm.Criterion("ka", city.under("geo", "KA")))
        assert again.scan("ads", {"city": "MYS"}) == ["in", "ka"]
        again.delete("ads", "in", "ka")
    with rm.Engine(tmp_path) as again:
        again.add("ads", criterion)
        assert again.search("ads", {"city": "BLR"}) == ["in"]


def test_it_is_ratified_and_compared() -> None:
    criteria = [rm.Criterion(repr(node), city.under("geo", node)) for node in GEO.order]
    index = rm.Index.build(criteria, hierarchies=TREES)
    assert ratify(index).ok
    candidate = rm.Criterion("new", city.under("geo", "KA"))
    assert similarity(index, candidate, n=1).similar[0].id == "'KA'"


def test_regions_are_asked_about_trees() -> None:
    index = rm.Index.build([rm.Criterion("in", city.under("geo", "IN"))], hierarchies=TREES)
    assert index.possible("city = 'BLR'").ids(0) == ["in"]
    assert index.possible("city = 'BER'").ids(0) == []
    assert index.possible("under(city, 'geo', 'KA')").ids(0) == ["in"]


FORMS: dict[str, tuple[Any, str, Any]] = {
    "a text": (city.under("geo", "I'N"), "under(city, 'geo', 'I\\'N')", "I'N"),
    "a number": (city.under("geo", 5), "under(city, 'geo', 5)", 5),
    "digits as text": (city.under("geo", "5"), "under(city, 'geo', '5')", "5"),
}


@pytest.mark.parametrize(("asked", "text", "node"), FORMS.values(), ids=FORMS)
def test_the_forms(asked: Any, text: str, node: Any) -> None:
    criterion = rm.Criterion("c", asked)
    assert criterion.to_text() == text
    assert rm.parse(text) == asked
    written = criterion.to_json()
    detail = written["conjunctions"][0]["predicates"][0]["detail"]
    assert detail == {"caveat": "UNDER", "hierarchy": "geo", "node": node}
    assert rm.Criterion.from_json(written) == criterion
    with pytest.raises(NoSqlEquivalent):
        criterion.to_sql()
    with pytest.raises(NoMustangEquivalent):
        criterion.to_json(mustang=True)


def test_what_is_no_node_is_refused() -> None:
    with pytest.raises(InvalidCriterion, match="a node of a tree"):
        Under("geo", 1.5)
    with pytest.raises(InvalidCriterion, match="the name of a tree"):
        Under(1, "a")  # type: ignore[arg-type]
    with pytest.raises(ParseError, match="a node of a tree"):
        rm.parse("under(city, 'geo', TRUE)")
    written = rm.Criterion("c", city.under("geo", "a")).to_json()
    written["conjunctions"][0]["predicates"][0]["detail"]["node"] = True
    with pytest.raises(InvalidCriterion, match="node"):
        rm.Criterion.from_json(written)
