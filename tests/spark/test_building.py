"""Indexes built on Spark: the same answers as in process, and only what changed is written."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from remuda.errors import DuplicateCriterion, RemudaError, StorageError
from remuda.index import storage
from remuda.index.index import Index, load
from remuda.index.locking import Lock
from remuda.index.storage import read_version
from remuda.language import json_form
from remuda.language.criterion import Criterion
from remuda.language.text import parse
from remuda.model.hierarchies import Hierarchy
from remuda.spark.building import build_index, sweep
from remuda.spark.checking import ratify
from remuda.spark.criteria import read_criteria
from remuda.spark.functions import register
from remuda.spark.matching import match

EVENTS = [{"a": i % 5, "b": i % 3} for i in range(15)]


def criterion(number: int, text: str = "") -> Criterion:
    text = text or f"a = {number % 5} AND b IN (0, {number % 3})"
    return Criterion(f"c{number}", parse(text), frozenset({f"t{number % 2}"}))


def table(spark, criteria):
    rows = [(one.id, json_form.encode(one.to_json()).decode()) for one in criteria]
    return spark.createDataFrame(rows, "id string, json string").coalesce(1)


def answers(criteria) -> list[list[str]]:
    return [[one.id for one in criteria if one.holds(event)] for event in EVENTS]


def check(home: Path, criteria) -> None:
    """The saved index has these criteria, in this order, and finds them."""
    index = load(home)
    assert [one.id for one in index] == [one.id for one in criteria]
    assert [index.match(event) for event in EVENTS] == answers(criteria)
    tagged = [one for one in criteria if "t1" in one.tags]
    assert [index.match(event, tags={"t1"}) for event in EVENTS] == answers(tagged)


def counts(built) -> tuple[int, int, int, int]:
    return built.added, built.changed, built.removed, built.kept


def segments(home: Path) -> set[str]:
    return {entry["segment"] for entry in read_version(home).segments}


@pytest.mark.parametrize(("n", "shards"), [(20, 1), (20, 2), (4, 7)])
def test_finds_what_plain_evaluation_finds_in_the_order_of_the_input(spark, tmp_path, n, shards):
    criteria = [criterion(i) for i in range(n)]
    built = build_index(table(spark, criteria), tmp_path / "index", shards=shards)
    assert counts(built) == (n, 0, 0, 0)
    assert built.version == "v000001"
    assert len(segments(tmp_path / "index")) <= shards
    check(tmp_path / "index", criteria)


def test_only_what_changed_is_written(spark, tmp_path):
    home = tmp_path / "index"
    first = [criterion(i) for i in range(40)]
    build_index(table(spark, first), home, shards=2)
    old = segments(home)
    again = build_index(table(spark, reversed(first)), home)
    assert (again.version, counts(again)) == ("v000001", (0, 0, 0, 40))

    changed = [criterion(i, "b = 1" if i % 20 == 0 else "") for i in range(40)]
    second = [*changed[:5], *changed[6:], criterion(50), criterion(51)]
    built = build_index(table(spark, second), home)
    assert (built.version, counts(built)) == ("v000002", (2, 2, 1, 37))
    assert old < segments(home)
    sizes = {one["segment"]: one["criteria"] for one in read_version(home).segments}
    assert sum(sizes[name] for name in segments(home) - old) == 4
    check(home, second)
    assert [one.id for one in load(home, version="v000001")] == [one.id for one in first]

    with pytest.raises(StorageError, match="remove 38 of its 41 criteria"):
        build_index(table(spark, second[:3]), home)
    assert read_version(home).name == "v000002"
    built = build_index(table(spark, second[:3]), home, allow_shrink=True)
    # mostly graves: written anew
    assert counts(built) == (0, 0, 38, 3)
    assert not segments(home) & old
    assert all(one["alive"] is None for one in read_version(home).segments)
    check(home, second[:3])

    built = build_index(table(spark, []), home, allow_shrink=True)
    assert counts(built) == (0, 0, 3, 0)
    check(home, [])
    assert sweep(home) == []


def test_another_number_of_shards_or_another_matcher_writes_all_anew(spark, tmp_path):
    home = tmp_path / "index"
    criteria = [criterion(i) for i in range(10)]
    Index.build(criteria).save(home)
    built = build_index(table(spark, criteria[::-1]), home, shards=2)
    assert (built.version, counts(built)) == ("v000002", (0, 0, 0, 10))
    check(home, criteria)
    built = build_index(table(spark, criteria), home, shards=3, matcher="scan")
    assert (built.version, built.shards) == ("v000003", 3)
    assert load(home).matcher == "scan"
    check(home, criteria)


@pytest.mark.parametrize(
    "matcher", ["betree(max_cap=3, min_size=1, live)", "pst-bloom(bits=8, live)", "pst-hash(live)"]
)
def test_a_live_tree_is_segments_on_spark_and_one_tree_at_home(spark, tmp_path, matcher):
    home = tmp_path / "index"
    criteria = [criterion(i) for i in range(20)]
    build_index(table(spark, criteria), home, shards=2, matcher=matcher)
    changed = [*criteria[1:], criterion(0, "b = 1"), criterion(20)]
    built = build_index(table(spark, changed), home, matcher=matcher)
    assert counts(built) == (1, 1, 0, 19)
    events = spark.createDataFrame([(i, one["a"], one["b"]) for i, one in enumerate(EVENTS)],
                                   "i int, a int, b int")  # fmt: skip
    here = [criterion(0, "b = 1"), *criteria[1:], criterion(20)]
    found = {row["i"]: set(row["matches"]) for row in match(events, home).collect()}
    assert found == {i: set(ids) for i, ids in enumerate(answers(here))}
    index = load(home)
    assert (index.matcher, index.live, index.stats()["segments"]) == (matcher, True, 1)
    check(home, here)
    index.add(criterion(21))
    assert [index.match(event) for event in EVENTS] == answers([*here, criterion(21)])
    index.save(home)  # what changed at home is there for the next job
    found = {row["i"]: set(row["matches"]) for row in match(events, home).collect()}
    assert found == {i: set(ids) for i, ids in enumerate(answers([*here, criterion(21)]))}


def test_another_tree_writes_all_anew(spark, tmp_path):
    criteria = [Criterion("a", parse("under(x, 't', 'r')")), Criterion("b", parse("x = 'k'"))]
    trees = [{"t": Hierarchy.of({"k": "r"})}, {"t": Hierarchy.of({"j": "r"})}]
    found = []
    for one in (trees[0], trees[0], trees[1]):
        build_index(table(spark, criteria), tmp_path / "index", shards=1, hierarchies=one)
        index = load(tmp_path / "index")
        found.append((index.version, index.match({"x": "k"}), index.match({"x": "j"})))
    first = "v000001", ["a", "b"], []
    assert found == [first, first, ("v000002", ["b"], ["a"])]


def test_another_layout_writes_all_anew(spark, tmp_path, monkeypatch):
    home, criteria = tmp_path / "index", [criterion(i) for i in range(10)]
    build_index(table(spark, criteria), home, shards=2)
    old = segments(home)
    monkeypatch.setitem(storage._LAYOUTS, "plan", 0)
    assert build_index(table(spark, criteria), home).version == "v000002"
    monkeypatch.undo()
    assert not old & segments(home)
    check(home, criteria)


DOORS = {
    "build": lambda spark, path: build_index(table(spark, [criterion(1)]), path),
    "sweep": lambda _, path: sweep(path),
    "match": lambda spark, path: match(table(spark, [criterion(1)]), path),
    "register": lambda spark, path: register(spark, {"one": path}),
    "ratify": lambda spark, path: ratify(path, spark=spark),
}


@pytest.mark.parametrize("door", DOORS)
def test_a_path_with_a_scheme_is_refused(spark, tmp_path, monkeypatch, door):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(StorageError, match="nil: is not a file system"):
        DOORS[door](spark, "nil://bucket/index")
    assert not list(tmp_path.iterdir())


def test_nothing_at_all(spark, tmp_path):
    built = build_index(table(spark, []), tmp_path / "index")
    assert (built.version, built.shards, counts(built)) == ("v000001", 1, (0, 0, 0, 0))
    check(tmp_path / "index", [])


def test_rejects_are_told_and_the_rest_is_built(spark, tmp_path):
    rows = [("c0", "a = 0"), ("c1", "a ="), ("c2", "a = 2")]
    found = read_criteria(spark, spark.createDataFrame(rows, "id string, expression string"))
    built = build_index(found, tmp_path / "index")
    assert (built.added, built.rejected) == (2, 1)
    assert load(tmp_path / "index").match({"a": 2}) == ["c2"]


def test_what_fails_leaves_no_trace_in_the_published_version(spark, tmp_path):
    home = tmp_path / "index"
    criteria = [criterion(i) for i in range(6)]
    build_index(table(spark, criteria), home, shards=2)
    kept = segments(home)
    with pytest.raises(DuplicateCriterion, match="c1"):
        build_index(table(spark, [*criteria, criterion(1), criterion(70)]), home)
    broken = spark.createDataFrame([("x", "{")], "id string, json string")
    with pytest.raises(Exception, match="it ends too early"):
        build_index(table(spark, [criterion(i) for i in range(90)]).union(broken), home)
    assert read_version(home).name == "v000001"
    check(home, criteria)
    assert sweep(home, older_than=3600) == []
    for _ in range(50):  # a task of the job that failed may still be writing
        left = {one.name for one in (home / "segments").iterdir()} - kept
        swept = set(sweep(home))
        if swept == left:
            break
        time.sleep(0.2)
    assert swept == left
    check(home, criteria)


def test_one_builder_at_a_time(spark, tmp_path):
    with Lock(tmp_path), pytest.raises(StorageError, match="another writer has it open"):
        build_index(table(spark, []), tmp_path)


def test_what_is_no_table_of_criteria_is_refused(spark, tmp_path):
    with pytest.raises(RemudaError, match="have no column json"):
        build_index(spark.createDataFrame([("c",)], "id string"), tmp_path)
    with pytest.raises(ValueError, match="0 shards make no sense"):
        build_index(table(spark, []), tmp_path, shards=0)
    with pytest.raises(ValueError, match="there is no matcher"):
        build_index(table(spark, []), tmp_path, matcher="fastest")
