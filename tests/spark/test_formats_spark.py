"""Rules of other systems on Spark: whole files on the executors, the same as in process."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from formats.suites import cases_of
from remuda.cli import files
from remuda.index.index import Index
from remuda.language.criterion import Criterion
from remuda.spark.criteria import read_criteria
from remuda.spark.matching import match

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

RULES = [
    {"Name": "busy", "EventPattern": {"detail": {"load": [{"numeric": [">", 5]}]}}},
    {"Name": "broken", "EventPattern": {"detail": 3}},
    {"Name": "named", "EventPattern": {"detail": {"name": [{"anything-but": ["x"]}]}}},
]


def test_a_folder_of_rules_is_read_with_its_rejects(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "deeper").mkdir()
    (tmp_path / "one.json").write_text(json.dumps(RULES))
    (tmp_path / "deeper" / "two.json").write_text('{"a": [1]}')
    (tmp_path / "notes.txt").write_text("not a rule")
    found = read_criteria(spark, str(tmp_path), format="eventbridge")
    try:
        good = {row["id"]: row["json"] for row in found.good.collect()}
        bad = [(row["row"], row["id"], row["place"]) for row in found.bad.collect()]
    finally:
        found.release()
    assert bad == [(2, "broken", "[1].EventPattern.detail")]
    read = list(files.read_criteria([str(tmp_path)], "eventbridge"))
    inside = {one.id: one.document().decode() for one in read if isinstance(one, Criterion)}
    assert good == inside
    assert set(good) == {"busy", "named", "two"}


@pytest.mark.outside
def test_an_index_of_the_suite_of_eventbridge_finds_the_same_on_spark(
    spark: SparkSession, tmp_path: Path
) -> None:
    cases = [case for case in cases_of("eventbridge") if case.criteria]
    criteria = [one for case in cases for one in case.criteria]
    Index.build(criteria).save(tmp_path / "index")
    rows = [(case.name, json.dumps(case.events[0])) for case in cases]
    events = spark.createDataFrame(rows, "name string, event string")
    found = match(events, str(tmp_path / "index"), event="event").collect()
    by_name = {case.name: case for case in cases}
    assert len(found) == len(cases)
    for row in found:
        event = by_name[row["name"]].events[0]
        assert set(row["matches"]) == {one.id for one in criteria if one.holds(event)}
