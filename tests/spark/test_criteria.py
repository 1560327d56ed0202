"""Tables of criteria: nothing is lost, and what is read is what the command line reads."""

from __future__ import annotations

import hashlib
import json
from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from remuda.cli import files
from remuda.errors import InvalidCriterion, RemudaError
from remuda.language.criterion import Criterion
from remuda.language.rows import criterion_of
from remuda.spark.criteria import Criteria, read_criteria


def line(**row: object) -> bytes:
    return json.dumps(row).encode()


MUSTANG = b'{"form":"DNF","id":"m","conjunctions":[{"type":"AND","predicates":[]}]}'
LINES = [
    line(id="plain", expression="a = 1"),
    MUSTANG,
    line(id="rich", expression="a = 1 OR b = 2", tags=["x", "y"], weights={"a": 2.5}),
    line(id="termed", expression="a = 1", enabled=False, valid_from="2024-01-01"),
    b"",
    b"   ",
    line(id="twice", expression="a = 1"),
    b'{"id": "cut", "expression": "a ',
    line(id="twice", expression="a = 2"),
    line(id="bad", expression="a = = 1"),
    line(id="odd", expression="a = 1", colour="red"),
    line(expression="a = 1"),
    line(id="", expression="a = 1"),
    line(id="unmet", expression="a = 1", weights={"b": 1}),
    line(id="when", expression="a = 1", valid_until="soon"),
    b"[1, 2]",
    b"null",
    b"\xff\xfe{}",
    b'{"form":"DNF","id":"deep","conjunctions":' + b"[" * 2000,
    "ünï".encode(),
    line(id="日本", expression="`odd name` LIKE 'a%'"),
]


def read_here(path: Path) -> list[tuple[object, ...]]:
    """What the command line reads: the good by id and JSON, the bad by row, id, place, reason."""
    return sorted(
        (
            (one.id, json.dumps(one.to_json()))
            if isinstance(one, Criterion)
            else (one.row, one.id, one.place, one.reason)
            for one in files.read_criteria([str(path)])
        ),
        key=repr,
    )


def read_there(found: Criteria) -> list[tuple[object, ...]]:
    good = [(row["id"], json.dumps(json.loads(row["json"]))) for row in found.good.collect()]
    bad = [tuple(row)[1:5] for row in found.bad.collect()]
    return sorted([*good, *bad], key=repr)


def test_json_lines_are_read_as_in_process_and_none_is_lost(spark, tmp_path):
    path = tmp_path / "rules.jsonl"
    path.write_bytes(b"\n".join(LINES) + b"\n\n")
    found = read_criteria(spark, path)
    assert read_there(found) == read_here(path)
    summary = found.summary()
    assert (summary.rows, summary.blank) == (len(LINES) - 2, 3)
    assert (summary.good, summary.bad) == (found.good.count(), found.bad.count())
    assert summary.good + summary.bad == summary.rows
    assert str(summary) == "19 rows: 6 good, 13 rejected, 3 blank lines passed over"
    cut = found.bad.filter("id = 'cut'").first()
    assert cut["file"].endswith("rules.jsonl")
    assert cut["text"] == '{"id": "cut", "expression": "a '
    rich = found.good.filter("id = 'rich'").first()
    assert rich["tags"] == ["x", "y"]
    assert rich["row"] == 3
    found.release()


def test_what_is_good_is_canonical(spark):
    spellings = [
        line(id="c0", expression="a = 1", tags="y,x"),
        line(id="c1", expression="`a` == 1", tags=["x", "y"]),
        line(id="c2", expression="a = 1"),
    ]
    texts = spark.createDataFrame([(one.decode(),) for one in spellings], "value string")
    rows = read_criteria(spark, texts).good.orderBy("id").collect()
    for row in rows:
        again = Criterion.from_json(row["json"]).to_json()
        assert json.dumps(again, separators=(",", ":")) == row["json"]
    alike = [row["json"].replace(row["id"], "") for row in rows]
    assert alike[0] == alike[1] != alike[2]
    assert rows[0]["digest"] == hashlib.md5(rows[0]["json"].encode()).hexdigest()


def test_rows_are_numbered_through_the_blocks_of_a_file(spark, tmp_path):
    rows = [line(id=f"c{i}", expression=f"a = {i}") for i in range(300)]
    for i in range(0, 300, 7):
        rows[i] = b"broken"
    for i in range(3, 300, 7):
        rows[i] = b""
    for name, part in (("b.jsonl", rows[:200]), ("a.jsonl", rows[200:])):
        (tmp_path / name).write_bytes(b"\n".join(part) + b"\n")
    spark.conf.set("spark.sql.files.maxPartitionBytes", "1500")
    try:
        found = read_criteria(spark, tmp_path)
        good, bad = found.good.collect(), found.bad.collect()
        assert found.checked.select("file", "block").distinct().count() > 4
    finally:
        spark.conf.unset("spark.sql.files.maxPartitionBytes")
    broken = {(Path(row["file"]).name, row["row"]) for row in bad}
    assert broken == {
        ("b.jsonl", i + 1) if i < 200 else ("a.jsonl", i - 199) for i in range(0, 300, 7)
    }
    in_order = [row["id"] for row in sorted(good, key=lambda row: row["order"])]
    expected = [i for i in (*range(200, 300), *range(200)) if i % 7 not in (0, 3)]
    assert in_order == [f"c{i}" for i in expected]


def test_an_id_is_taken_across_files(spark, tmp_path):
    (tmp_path / "a.jsonl").write_bytes(line(id="c", expression="a = 1"))
    (tmp_path / "b.jsonl").write_bytes(line(id="c", expression="a = 2"))
    found = read_criteria(spark, tmp_path)
    (kept,) = found.good.collect()
    (reject,) = found.bad.collect()
    assert kept["file"].endswith("a.jsonl")
    assert (reject["id"], reject["place"]) == ("c", "id")
    assert reject["reason"] == f"the id is taken by row 1 of {kept['file']}"


CSV = """id,expression,tags,weights
a,"a IN ('x', 'y')","x, y",
b,"s = 'say ""hi""'"
c,"a = 1
  AND b = 2",,"{""a"": 3}"
d,a = = 1,,
e,a = 1,,,too,many
f,"s = '%s'"
""" % ("long" * 50_000)


@pytest.mark.parametrize("name", ["rules.csv", "rules.tsv"])
def test_csv_is_read_as_in_process(spark, tmp_path, name):
    path = tmp_path / name
    path.write_text(CSV if name.endswith("csv") else CSV.replace(",", "\t"))
    found = read_criteria(spark, path)
    there, here = read_there(found), read_here(path)
    assert len(there) == 6
    assert [row[:2] for row in there] == [row[:2] for row in here]
    assert {row["id"] for row in found.bad.collect()} & {"d", "e", "f"} == {"d", "e"}


def test_parquet_is_read_as_in_process(spark, tmp_path):
    rows = [
        {"id": 1, "expression": "a = 1", "tags": ["x"], "weights": [("a", 2.0)]},
        {"id": 2, "expression": None, "tags": None, "weights": None},
        {"id": None, "expression": "a = 1", "tags": [], "weights": []},
        {"id": 4, "expression": "a > 2", "tags": [], "weights": None,
         "valid_from": datetime(2024, 1, 1, tzinfo=UTC)},
    ]  # fmt: skip
    kinds = {
        "id": pa.int64(),
        "expression": pa.string(),
        "tags": pa.list_(pa.string()),
        "weights": pa.map_(pa.string(), pa.float64()),
        "valid_from": pa.timestamp("us", "UTC"),
    }
    path = tmp_path / "rules.parquet"
    pq.write_table(pa.Table.from_pylist(rows, pa.schema(kinds)), path)
    found = read_criteria(spark, path)
    assert read_there(found) == read_here(path)
    assert found.summary().good == 2


def test_an_array_in_a_file_is_read_as_in_process(spark, tmp_path):
    path = tmp_path / "export.json"
    path.write_bytes(b"[\n" + b",\n".join([MUSTANG, b'{"form": "DNF"}']) + b"\n]")
    found = read_criteria(spark, path)
    assert read_there(found) == read_here(path)
    assert (found.summary().good, found.summary().bad) == (1, 1)


def test_a_data_frame_is_a_table_as_well(spark):
    rows = [("a", "a = 1"), ("b", "a ="), ("a", "a = 2")]
    found = read_criteria(spark, spark.createDataFrame(rows, "id string, expression string"))
    assert [row["id"] for row in found.good.collect()] == ["a"]
    bad = {(row["file"], row["row"], row["id"]) for row in found.bad.collect()}
    assert bad == {(None, 2, "b"), (None, 3, "a")}
    texts = spark.createDataFrame([(MUSTANG.decode(),)], "value string")
    assert read_criteria(spark, texts).summary().good == 1
    with pytest.raises(RemudaError, match="has a column expression"):
        read_criteria(spark, spark.range(1))


def test_a_file_that_changed_is_read_anew(spark, tmp_path):
    path = tmp_path / "rules.jsonl"
    for name in ("before", "after"):
        path.write_bytes(line(id=name, expression="a = 1"))
        assert [row["id"] for row in read_criteria(spark, path).good.collect()] == [name]


def test_nothing_at_all(spark, tmp_path):
    path = tmp_path / "none.jsonl"
    path.write_bytes(b"\n\n")
    found = read_criteria(spark, path)
    assert (found.good.count(), found.bad.count(), found.summary().rows) == (0, 0, 0)
    with pytest.raises(RemudaError, match="there is no format 'xml'"):
        read_criteria(spark, path, "xml")


def test_weights_tags_and_terms_of_a_row():
    row = {
        "id": 7,
        "expression": "a = 1 AND NOT (b = 2 OR c.d > 3)",
        "tags": " x,, y ",
        "weights": '{"a": 2, "c.d": 0.5}',
        "enabled": "FALSE",
        "valid_until": "2024-02-29 12:00:00",
    }
    found = criterion_of(row)
    assert found.id == "7"
    assert found.tags == {"x", "y"}
    assert not found.enabled
    assert found.valid_until == datetime(2024, 2, 29, 12, tzinfo=UTC)
    assert found.expression.score({"a": 1, "b": 3, "c": {"d": 1}}) == 2
    plain = criterion_of({"id": "c", "expression": "a IN (1, 2)", "weights": {"a": {1: 5}}})
    assert plain.score({"a": 1}) == 5


@pytest.mark.parametrize(
    ("row", "place"),
    [
        ({"weights": {"a": "heavy"}}, "weights.a"),
        ({"weights": "["}, "weights"),
        ({"weights": 3}, "weights"),
        ({"tags": 3}, "tags"),
        ({"enabled": "maybe"}, "enabled"),
        ({"valid_from": 3}, "valid_from"),
        ({"expression": 3}, "expression"),
    ],
)
def test_what_is_wrong_with_a_row_is_placed(row, place):
    with pytest.raises(InvalidCriterion) as raised:
        criterion_of({"id": "c", "expression": "a = 1", **row})
    assert (raised.value.place, raised.value.criterion) == (place, "c")


def test_a_schema_rejects_what_no_event_can_satisfy(spark, tmp_path):
    path = tmp_path / "rules.jsonl"
    path.write_text(
        '{"id": "a", "expression": "age > 18"}\n{"id": "b", "expression": "Age > 18"}\n'
    )
    schema = spark.createDataFrame([(20, "IN")], "age int, country string").schema
    criteria = read_criteria(spark, str(path), schema=schema)
    assert [row["id"] for row in criteria.good.collect()] == ["a"]
    (bad,) = criteria.bad.collect()
    assert (bad["id"], bad["place"]) == ("b", "expression, column 1")
    assert "there is 'age'" in bad["reason"]
    criteria.release()
    lenient = read_criteria(spark, str(path), schema=schema, mismatches="warn")
    assert (lenient.good.count(), lenient.bad.count(), lenient.counts.bad) == (2, 0, 0)
    assert [row["id"] for row in lenient.warned.collect()] == ["b"]
    lenient.release()
