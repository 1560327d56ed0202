"""Payloads on Spark: those of the criteria that match, in the order of the matches."""

from __future__ import annotations

import hashlib
import json
import random
from pathlib import Path

import pytest
from pyspark.errors import PythonException
from pyspark.sql import functions as sf

import remuda as rm
from remuda.errors import RemudaError
from remuda.language import json_form
from remuda.spark import build_index, match, payloads, read_criteria, top, with_payloads
from strategies import count

CRITERIA = [
    rm.Criterion("a", rm.attr("n") >= 1, payload={"bids": [3, "é"]}),
    rm.Criterion("b", rm.attr("n") >= 2, payload=False),
    rm.Criterion("c", rm.attr("n") >= 2),
]
TOLD = {one.id: one.payload for one in CRITERIA}


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory):
    home = tmp_path_factory.mktemp("index")
    index = rm.Index.build(CRITERIA[:2])
    index.save(home)
    index.add(CRITERIA[2])
    index.save(home)
    return home


@pytest.fixture(scope="module")
def frame(spark):
    return spark.createDataFrame([(0,), (1,), (2,), (3,)], "n int").repartition(2)


def told(ids: list[str]) -> list[object]:
    return [TOLD[one] for one in ids]


def read(texts: list[str | None]) -> list[object]:
    return [None if text is None else json.loads(text) for text in texts]


@pytest.mark.parametrize("shards", [None, 2])
def test_they_stand_beside_the_matches(frame, home, shards: int | None) -> None:
    found = match(frame, home, shards=shards).transform(with_payloads, home).collect()
    assert sorted(len(row["matches"]) for row in found) == [0, 1, 3, 3]
    for row in found:
        assert read(row["payloads"]) == told(row["matches"])


def test_those_of_the_best_and_of_one_row_a_match(frame, home) -> None:
    for row in with_payloads(top(frame, home, 2), home, column="p").collect():
        assert read(row["p"]) == told([one["id"] for one in row["matches"]])
    found = with_payloads(match(frame, home, explode=True, column="id"), home, matches="id")
    rows = found.collect()
    assert len(rows) == 7
    assert [read([row["payloads"]]) for row in rows] == [told([row["id"]]) for row in rows]


def test_each_row_has_those_of_its_version(frame, home) -> None:
    both = match(frame, home).unionByName(match(frame, home, version="v000001"))
    found = both.coalesce(1).transform(with_payloads, home).collect()
    assert sorted(len(row["payloads"]) for row in found) == [0, 0, 1, 1, 2, 2, 3, 3]
    for row in found:
        assert read(row["payloads"]) == told(row["matches"])


def test_what_lacks_is_told(frame, home) -> None:
    with pytest.raises(RemudaError, match="no column index_version"):
        with_payloads(frame.withColumnRenamed("n", "matches"), home)
    with pytest.raises(RemudaError, match="a column n already"):
        with_payloads(match(frame, home), home, column="n")


def test_numbers_are_refused(frame, home) -> None:
    found = match(frame, home, ids="position")
    with pytest.raises(RemudaError, match="matches has numbers"):
        with_payloads(found, home)


def test_an_index_that_is_sent(frame, home) -> None:
    found = with_payloads(match(frame, home, ship=True), home, ship=True)
    for row in found.collect():
        assert read(row["payloads"]) == told(row["matches"])
    other = with_payloads(match(frame, home), home, ship=True, version="v000001")
    with pytest.raises(PythonException, match="rows are answers of v000002, and v000001 was sent"):
        other.collect()


IDS = [["a"], [], ["a", "b", "c"], ["b"], ["a"]]


def test_payloads_are_handed_over_in_portions(home, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = [[payloads.payload_text(rm.load(home), one) for one in ids] for ids in IDS]
    assert list(payloads.portions(rm.load(home), IDS)) == [whole]
    monkeypatch.setattr(payloads, "_PORTION", len(whole[0][0]))
    assert list(payloads.portions(rm.load(home), IDS)) == [whole[:3], whole[3:]]
    assert list(payloads.portions(rm.load(home), [])) == []


def test_more_than_a_row_can_hold_is_refused(home, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(payloads, "_LARGEST", 10)
    with pytest.raises(RemudaError, match=r"the 3 matches .* explode the matches first"):
        list(payloads.portions(rm.load(home), IDS[1:]))


MEGABYTE = 1 << 20


def large(number: int) -> rm.Criterion:
    """A criterion with a payload that nothing makes smaller."""
    text = random.Random(number).randbytes(MEGABYTE // 2).hex()
    return rm.Criterion(f"c{number}", rm.attr("n") == number, payload=[number, text])


@pytest.mark.soak
def test_a_megabyte_on_each(spark, tmp_path: Path) -> None:
    """Read, built, built again and found on Spark with its default heap, each its own."""
    n, home = count(8, 1000), tmp_path / "index"
    with (tmp_path / "criteria.jsonl").open("wb") as file:
        for number in range(n):
            file.write(large(number).document() + b"\n")
    criteria = read_criteria(spark, tmp_path / "criteria.jsonl")
    assert criteria.summary().good == n
    assert build_index(criteria, home, shards=2).added == n
    assert build_index(criteria, home).kept == n
    criteria.release()
    for number, one in enumerate(rm.load(home)):
        assert one == large(number)
    frame = spark.range(n + 1).withColumnRenamed("id", "n").repartition(2)
    found = match(frame, home).transform(with_payloads, home)
    assert digests(found) == {i: digest(i) if i < n else None for i in range(n + 1)}
    again = match(frame.withColumn("n", sf.lit(5)), home, explode=True)
    alike = with_payloads(again, home).groupBy(sf.md5("payloads")).count().collect()
    assert list(map(tuple, alike)) == [(digest(5), n + 1)], "one payload beside many events"


def digests(found) -> dict[int, str | None]:
    return dict(map(tuple, found.select("n", sf.md5(sf.get("payloads", sf.lit(0)))).collect()))


def digest(number: int) -> str:
    payload = large(number).payload
    return hashlib.md5(json_form.encode(payload), usedforsecurity=False).hexdigest()
