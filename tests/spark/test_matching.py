"""Matching on Spark gives what plain evaluation gives."""

from __future__ import annotations

import time
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from remuda.cli.demo_data import draw_day
from remuda.errors import RemudaError, StorageError
from remuda.index import answers, portions
from remuda.index.index import Index, load
from remuda.index.question import Question
from remuda.language.criterion import Criterion
from remuda.language.python import attr
from remuda.spark.matching import answered, match, positions, top
from remuda.spark.tasks import Task


@pytest.fixture(scope="module")
def day(tmp_path_factory: pytest.TempPathFactory):
    campaigns, visits = draw_day(np.random.default_rng(3), 200, 300)
    visits = visits.append_column("key", pa.array(range(300)))
    campaigns = [
        replace(one, tags={"even"} if i % 2 == 0 else {"odd", "all"})
        for i, one in enumerate(campaigns)
    ]
    home = tmp_path_factory.mktemp("index")
    Index.build(campaigns).save(home)
    return campaigns, visits, home


@pytest.fixture(scope="module")
def frame(spark, day):
    return spark.createDataFrame(day[1]).repartition(3).cache()


def test_ids_and_version_are_added_to_each_row(frame, day) -> None:
    campaigns, visits, home = day
    rows = visits.to_pylist()
    for row in frame.transform(match, home).collect():
        event = rows[row["key"]]
        expected = sorted(one.id for one in campaigns if one.holds(event))
        assert sorted(row["matches"]) == expected
        assert row["index_version"] == "v000001"


def test_another_matcher_than_the_index_has_gives_the_same(frame, day) -> None:
    campaigns, visits, home = day
    few, rows = frame.filter("key < 12"), visits.to_pylist()
    found = match(few, home, matcher="gpu").collect()
    assert {row["key"]: sorted(row["matches"]) for row in found} == {
        i: sorted(one.id for one in campaigns if one.holds(rows[i])) for i in range(12)
    }
    with pytest.raises(ValueError, match="there is no matcher 'cpu'"):
        match(few, home, matcher="cpu")


def test_exploded_there_is_one_row_a_match(frame, day) -> None:
    campaigns, visits, home = day
    found = match(frame, home, explode=True)
    pairs = [(row["key"], row["matches"]) for row in found.collect()]
    rows = visits.to_pylist()
    assert sorted(pairs) == sorted(
        (i, one.id) for i, event in enumerate(rows) for one in campaigns if one.holds(event)
    )


def test_the_best_come_first(frame, day) -> None:
    campaigns, visits, home = day
    rows = visits.to_pylist()
    weights = {"user.age": 0.5, "city": 2.0}
    for row in top(frame, home, 3, weights=weights).collect():
        event = rows[row["key"]]
        scored = [(one.score(event, weights=weights), one.id) for one in campaigns]
        best = sorted((-score, name) for score, name in scored if score is not None)[:3]
        assert [(-pair["score"], pair["id"]) for pair in row["matches"]] == best


def test_the_best_by_weights_of_each_row_by_priority_and_of_groups(spark, tmp_path) -> None:
    a, b = attr("a"), attr("b")
    rules = [
        Criterion("a", a.eq(1).weight(2.0), tags=frozenset({"by:x"})),
        Criterion("b", b.isin("u", "v").weight(3.0), tags=frozenset({"by:x", "by:y"}), priority=-1),
        Criterion("c", a.eq(1) & b.eq("u"), priority=2),
    ]
    index = Index.build(rules[:2])
    index.add(rules[2])
    index.save(tmp_path)
    maps = "map<string, map<string, double>>"
    weighed = [{"b": {"u": 0.1, "v": 9.0}}, {"a": {"1": 7.0}}, None]
    rows = spark.createDataFrame(
        [(i, 1, "uvu"[i], weights) for i, weights in enumerate(weighed)],
        f"key int, a int, b string, w {maps}",
    )
    packed = rows.selectExpr("struct(a, b) AS event", "w")
    for how in ({}, {"by": "priority"}, {"per": "by"}):
        for shards in (None, 2):
            best = top(packed, tmp_path, 1, event="event", weights="w", shards=shards, **how)
            whole = top(rows, tmp_path, 1, weights="w", shards=shards, **how)
            events = [(row["event"].asDict(), row["w"], row["matches"]) for row in best.collect()]
            events += [
                ({"a": row["a"], "b": row["b"]}, row["w"], row["matches"])
                for row in whole.collect()
            ]
            for event, weights, found in events:
                expected = index.top(event, 1, weights=weights, **how)
                assert [tuple(one) for one in found] == [tuple(one) for one in expected]
    with pytest.raises(RemudaError, match="no column v with weights"):
        top(rows, tmp_path, 1, weights="v")


def test_the_best_exploded(frame, day) -> None:
    _, _, home = day
    whole = [
        (row["key"], *pair)
        for row in top(frame, home, 2, column="best").collect()
        for pair in row["best"]
    ]
    exploded = top(frame, home, 2, column="best", explode=True).select("key", "best.*")
    assert sorted(map(tuple, exploded.collect())) == sorted(whole)


def test_only_criteria_with_a_tag(frame, day) -> None:
    campaigns, _, home = day
    odd = {one.id for one in campaigns if "odd" in one.tags}
    everything = {row["matches"] for row in match(frame, home, explode=True).collect()}
    tagged = match(frame, home, explode=True, tags=["odd", "no such"])
    assert {row["matches"] for row in tagged.collect()} == everything & odd
    best = top(frame, home, 1, explode=True, tags=["odd"]).select("matches.id").collect()
    assert {row["id"] for row in best} <= odd


def test_tags_are_many(frame, day) -> None:
    with pytest.raises(TypeError, match="tags are a set of strings"):
        match(frame, day[2], tags="odd")


def test_an_empty_table(frame, day) -> None:
    home = day[2]
    empty = frame.limit(0)
    assert match(empty, home).count() == 0
    assert top(empty, home, 3, explode=True).count() == 0


def test_an_empty_index(spark, tmp_path: Path) -> None:
    Index().save(tmp_path)
    assert [row["matches"] for row in match(spark.range(2), tmp_path).collect()] == [[], []]
    assert [row["matches"] for row in top(spark.range(2), tmp_path, 3).collect()] == [[], []]
    assert match(spark.range(2), tmp_path, explode=True).count() == 0


def test_a_version_stays_until_another_is_asked_for(spark, tmp_path: Path) -> None:
    index = Index.build([Criterion("one", attr("id").eq(1))])
    old = index.save(tmp_path)
    planned = match(spark.range(1, 2), tmp_path)
    index.add(Criterion("two", attr("id").exists()))
    new = index.save(tmp_path)
    assert planned.collect() == match(spark.range(1, 2), tmp_path, version=old).collect()
    (row,) = match(spark.range(1, 2), tmp_path).collect()
    assert (sorted(row["matches"]), row["index_version"]) == (["one", "two"], new)


def test_the_moment_is_that_of_the_call(spark, tmp_path: Path, monkeypatch) -> None:
    now = datetime.now(UTC)
    until = Criterion("over", attr("id").exists(), valid_until=now - timedelta(hours=1))
    Index.build([until]).save(tmp_path)
    with monkeypatch.context() as patch:
        earlier = time.time_ns() - 2 * 3600 * 10**9
        patch.setattr(time, "time_ns", lambda: earlier)
        planned = match(spark.range(1), tmp_path)
    assert [row["matches"] for row in planned.collect()] == [["over"]]
    assert [row["matches"] for row in match(spark.range(1), tmp_path).collect()] == [[]]
    early = match(spark.range(1), tmp_path, now=now - timedelta(days=1))
    assert [row["matches"] for row in early.collect()] == [["over"]]


def test_rows_that_match_a_great_deal_go_in_small_portions(spark, tmp_path, monkeypatch) -> None:
    """One row has more matches than are held at a time: the portions become single rows."""
    index = Index.build([Criterion(f"c{i}", attr("id") >= 0) for i in range(50)])
    index.save(tmp_path)
    monkeypatch.setattr(portions, "_HITS", 40)
    monkeypatch.setattr(portions, "_FIRST", 3)
    monkeypatch.setattr(answers, "_PIECE", 16)
    task = Task.of(spark.range(1), tmp_path, Question.of())
    batch = spark.range(10).toArrow().combine_chunks().to_batches()[0]
    found = list(task.answers([batch, batch]))
    assert [len(one.portion) for one in found] == [3] + [1] * 17
    pieces = [
        sum(map(len, piece["matches"].to_pylist()))
        for portion, matches in found
        for piece in answers.in_pieces(portion.rows, matches, "v", "matches")
    ]
    assert sum(pieces) == 20 * 50
    assert max(pieces) == 16


def test_a_stream_has_the_moment_of_each_batch(spark, day, tmp_path: Path) -> None:
    campaigns, visits, _ = day
    home, source = tmp_path / "index", tmp_path / "visits"
    source.mkdir()
    pq.write_table(visits, source / "one.parquet")
    since = Criterion("since", attr("user.id").exists(), valid_from=datetime(2020, 1, 1))
    Index.build([*campaigns, since]).save(home)
    stream = spark.readStream.schema(spark.read.parquet(str(source)).schema).parquet(str(source))
    query = (
        match(stream, home, explode=True)
        .writeStream.format("memory")
        .queryName("found")
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()
    expected = load(home).match_many(visits)
    assert spark.table("found").count() == int(expected.offsets[-1])
    assert spark.table("found").where("matches = 'since'").count() == 300
    with pytest.raises(RemudaError, match="a stream is not split"):
        match(stream, home, shards=2)


def test_a_column_that_is_there_already(frame, day) -> None:
    home = day[2]
    with pytest.raises(RemudaError, match="has a column city already"):
        match(frame, home, column="city")
    with pytest.raises(RemudaError, match="has a column index_version already: rename or drop"):
        match(match(frame, home), home, column="again")


def test_where_there_is_no_index(frame, tmp_path: Path) -> None:
    with pytest.raises(StorageError, match="no index here"):
        match(frame, tmp_path)


def test_what_makes_no_sense(frame, day) -> None:
    with pytest.raises(ValueError, match="a top of -1"):
        top(frame, day[2], -1)
    with pytest.raises(ValueError, match="at least one shard"):
        match(frame, day[2], shards=0)


@pytest.fixture(scope="module")
def numbered(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An index whose ids are numbers, in several segments, with some removed."""
    home = tmp_path_factory.mktemp("numbered")
    index = Index.build(Criterion(str(10 * i), attr("a") > i) for i in range(30))
    index.save(home)
    index.remove("50", "60")
    index.add([Criterion("-7", attr("a") > 3)])
    index.save(home)
    return home


ASKED = {
    "match": match,
    "match, split": lambda frame, home, **how: match(frame, home, shards=2, **how),
    "top": lambda frame, home, **how: answered(frame, home, Question.of(n=100), **how),
}


KINDS = [(asked, ids) for asked in ASKED for ids in ("text", "int", "position")]
KINDS.remove(("match, split", "position"))  # which is refused


@pytest.mark.parametrize("explode", [False, True], ids=["arrays", "exploded"])
@pytest.mark.parametrize(("asked", "ids"), KINDS)
def test_ids_as_numbers_are_the_same_ids(
    spark, numbered: Path, asked: str, ids: str, explode: bool
) -> None:
    frame = spark.range(40).withColumnRenamed("id", "a")
    found = ASKED[asked](frame, numbered, ids=ids, explode=explode).collect()
    names = {row["position"]: row["id"] for row in positions(spark, numbered).collect()}

    def text(one) -> str:
        own = one["id"] if asked == "top" else one
        return names[own] if ids == "position" else str(own)

    pairs = [
        (row["a"], text(one))
        for row in found
        for one in ([row["matches"]] if explode else row["matches"])
    ]
    index = load(numbered)
    expected = [(a, one) for a in range(40) for one in index.match({"a": a})]
    assert sorted(pairs) == sorted(expected)


@pytest.mark.parametrize("number", [-1, 2**31 - 1, -(2**31), 2**31, -(2**63), 2**63 - 1])
def test_numbers_of_any_width_are_told_in_full(spark, tmp_path: Path, number: int) -> None:
    Index.build([Criterion("7", attr("a") > 0), Criterion(str(number), attr("a") > 0)]).save(
        tmp_path
    )
    found = match(spark.sql("SELECT 1 AS a"), tmp_path, ids="int")
    assert found.schema["matches"].dataType.simpleString() == "array<bigint>"
    assert sorted(found.collect()[0]["matches"]) == sorted([7, number])


REFUSED = {
    "ids that are no numbers": ({"ids": "int"}, "not every id is a number"),
    "a kind of ids that there is not": ({"ids": "long"}, "ids are one of text, int, position"),
    "positions of parts": ({"ids": "position", "shards": 2}, "ask with shards=None"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_numbers_that_there_are_not(spark, tmp_path: Path, case: str) -> None:
    index = Index.build([Criterion("007", attr("a") > 0)])
    index.save(tmp_path)
    index.add([Criterion("8", attr("a") > 0)])
    index.save(tmp_path)
    how, said = REFUSED[case]
    with pytest.raises(Exception, match=said):
        match(spark.range(1).withColumnRenamed("id", "a"), tmp_path, **how).collect()
