"""The commands on Spark: the same answers as in this process, in directories of files."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from commands import EVENTS, MATCHED, RULES, lines, run, write_lines

import remuda as rm

pytestmark = pytest.mark.usefixtures("spark")


def parts(path: Path) -> str:
    assert (path / "_SUCCESS").exists()
    assert not [one for one in path.parent.iterdir() if one.name.startswith(".")]
    return "".join(one.read_text() for one in sorted(path.glob("part-*")))


def test_builds_names_rejects_and_builds_again(tmp_path: Path) -> None:
    home, kept = tmp_path / "index", tmp_path / "rejects.jsonl"
    path = write_lines(tmp_path / "rules.jsonl", [*RULES, "{oops", RULES[0]])
    result = run("build", path, "-o", home, "--strict")
    assert (result.exit_code, home.exists()) == (1, False)
    result = run("build", path, "-o", home, "--shards", 2, "--rejects", kept)
    assert result.exit_code == 1, result.output
    assert "5 criteria in, 2 rejected" in result.stderr
    assert [(one["file"], one["row"]) for one in lines(kept.read_text())] == [
        (str(path), 4),
        (str(path), 5),
    ]
    index = rm.load(home)
    assert [sorted(index.match(event)) for event in EVENTS] == [sorted(one) for one in MATCHED]
    result = run("build", write_lines(path, RULES[:2]), "-o", home)
    assert (result.exit_code, "1 removed, 2 kept" in result.stdout) == (0, True), result.output


def test_an_export_that_was_cut_short_replaces_nothing(tmp_path: Path) -> None:
    home, path = tmp_path / "index", tmp_path / "rules.jsonl"
    run("build", write_lines(path, RULES), "-o", home)
    cut = run("build", write_lines(path, RULES[:1]), "-o", home)
    assert (cut.exit_code, "remove 2 of its 3 criteria" in cut.stderr) == (1, True), cut.output
    assert rm.load(home).version == "v000001"
    meant = run("build", path, "-o", home, "--allow-shrink")
    assert (meant.exit_code, len(rm.load(home))) == (0, 1), meant.output


def test_checks(tmp_path: Path) -> None:
    path = write_lines(tmp_path / "rules.jsonl", [*RULES, {"id": "r", "expression": "a >"}])
    result = run("check", path)
    assert (result.exit_code, "expression, column 3" in result.stderr) == (1, True), result.output


def test_a_line_comes_out_as_it_went_in(saved: Path, tmp_path: Path) -> None:
    text = '{"age": 22, "platform": "android", "price": 1.10}'
    path = write_lines(tmp_path / "e.jsonl", [text, "", EVENTS[1], "{oops"])
    target = tmp_path / "out.jsonl"
    result = run("match", saved, path, "-o", target)
    assert result.exit_code == 1
    written = parts(target).splitlines()
    assert written[0].startswith(f'{{"event":{text},"matches":[')
    first = lines(written[0])[0]
    assert sorted(first["matches"]) == ["always", "android", "young"]  # on Spark in no order
    assert first["index_version"] == "v000001"
    assert lines(written[2])[0]["event"] == "{oops"
    assert "3 events in, 1 rejected, 5 matches" in result.stderr
    printed = run("match", saved, path)
    assert printed.stdout == parts(target)


@pytest.mark.parametrize("output", ["out.parquet", "out.csv"])
def test_tables_in_and_out(output: str, saved: Path, tmp_path: Path) -> None:
    (tmp_path / "e.csv").write_text("age,platform\n22,android\n5,\n1,2,3\n")
    result = run("match", saved, tmp_path / "e.csv", "-o", tmp_path / output)
    assert result.exit_code == 1, result.output
    assert "not a row of the table: 1,2,3" in result.stderr
    assert "3 events in, 1 rejected, 4 matches" in result.stderr
    if output == "out.csv":
        rows = list(csv.DictReader(parts(tmp_path / output).splitlines()))
        matches = [sorted(json.loads(row["matches"])) for row in rows]
        assert matches == [sorted(one) for one in MATCHED[:2]]
    else:
        rows = pq.read_table(tmp_path / output).to_pylist()
        assert [sorted(row["matches"]) for row in rows] == [sorted(one) for one in MATCHED[:2]]
    again = run("match", saved, tmp_path / "e.csv", "-o", tmp_path / output, "--text", "age")
    assert (again.exit_code, "--overwrite" in again.stderr) == (1, True)
    replaced = "--overwrite", "--text", "age"
    again = run("match", saved, tmp_path / "e.csv", "-o", tmp_path / output, *replaced)
    assert "3 events in, 1 rejected, 2 matches" in again.stderr


def test_a_directory_that_is_not_ours_stays(saved: Path, events: Path, tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    (home / "letter").touch()
    result = run("match", saved, events, "-o", home, "--overwrite")
    assert (result.exit_code, (home / "letter").exists()) == (1, True)


def test_the_best_one_row_each(saved: Path, tmp_path: Path) -> None:
    table = pa.Table.from_pylist(EVENTS)
    pq.write_table(table, tmp_path / "e.parquet")
    result = run("top", saved, tmp_path / "e.parquet", "-n", 1, "--explode", "--weight", "age=3")
    found = [row["matches"] for row in lines(result.stdout)]
    assert found[0] == {"id": "android", "score": 4.0}
    assert len(found) == 3


def test_reach_with_users(saved: Path, tmp_path: Path) -> None:
    table = pa.table({"age": [22, 22, 5], "user": ["a", "a", "b"]})
    pq.write_table(table, tmp_path / "e.parquet")
    result = run("reach", saved, tmp_path / "e.parquet", "--user", "user", "-o", "-")
    assert lines(result.stdout) == [
        {"id": "always", "events": 3, "users": 2},
        {"id": "young", "events": 2, "users": 1},
        {"id": "android", "events": 0, "users": 0},
    ]
    assert "3 events in, 0 rejected, 5 matches" in result.stderr


def test_an_index_is_sent_and_names_are_read_without_case(saved: Path, tmp_path: Path) -> None:
    pq.write_table(pa.table({"AGE": [22, 5]}), tmp_path / "e.parquet")
    result = run("match", saved, tmp_path / "e.parquet", "--ship", "--ignore-case")
    assert [sorted(one["matches"]) for one in lines(result.stdout)] == [
        ["always", "young"],
        ["always"],
    ]
    result = run("reach", saved, tmp_path / "e.parquet", "--ship", "--ignore-case", "-o", "-")
    assert [one["events"] for one in lines(result.stdout)] == [2, 1, 0]
    words = "stream", saved, tmp_path, "-o", tmp_path / "o", "--checkpoint", tmp_path / "c"
    result = run(*words, "--once", "--ship", "--ignore-case", "--input-format", "parquet")
    assert "2 events in, 0 rejected, 3 matches" in result.stderr


def test_ratifies(saved: Path, events: Path) -> None:
    result = run("ratify", saved, "--sample", "--seconds", 2)
    assert (result.exit_code, "agreed" in result.stdout) == (0, True), result.output
    result = run("ratify", saved, "--events", events)
    assert (result.exit_code, "3 events" in result.stdout) == (0, True), result.output


@pytest.mark.parametrize("kind", ["jsonl", "parquet", "csv", "tsv"])
def test_streams_what_is_there_and_then_what_came(kind: str, saved: Path, tmp_path: Path) -> None:
    source = tmp_path / "source"
    source.mkdir()

    def put(name: str, events: list[dict[str, Any]]) -> None:
        if kind == "jsonl":
            write_lines(source / f"{name}.jsonl", events)
        elif kind == "parquet":
            schema = pa.schema({"age": pa.int64(), "platform": pa.string()})
            pq.write_table(pa.Table.from_pylist(events, schema), source / f"{name}.parquet")
        else:
            cells = [(one.get("age", ""), one.get("platform", "")) for one in events]
            rows = ["age,platform", *(f"{age},{platform}" for age, platform in cells)]
            text = "\n".join([*rows, ""]).replace(",", "\t" if kind == "tsv" else ",")
            (source / f"{name}.{kind}").write_text(text)

    def stream():
        places = "-o", tmp_path / "out", "--checkpoint", tmp_path / "checkpoint"
        return run("stream", saved, source, *places, "--once")

    put("a", EVENTS[:2])
    assert "batch 0: 2 events, 4 matches" in stream().stdout
    put("b", EVENTS[2:])
    assert "batch 1: 1 events, 1 matches" in stream().stdout
    found = pq.read_table(tmp_path / "out").to_pylist()
    assert sorted(len(row["matches"]) for row in found) == [1, 1, 3]


def test_generates(tmp_path: Path) -> None:
    rules, events = tmp_path / "rules.jsonl", tmp_path / "events.jsonl"
    sizes = "--set", "n_subscriptions=30", "--set", "n_events=40"
    result = run("generate", "begen", rules, "--events", events, *sizes)
    assert result.exit_code == 0, result.output
    assert (len(lines(parts(rules))), len(lines(parts(events)))) == (30, 40)
    assert run("check", rules, "--local").exit_code == 0


FAILURES = {
    "a scheme that Spark does not know": (["match", "{index}", "nil://bucket/e.jsonl"], 1),
    "an output that cannot be written": (["match", "{index}", "{events}", "-o", "/proc/no/o"], 1),
    "an extension that tells nothing": (["match", "{index}", "{tmp}/index.html"], 1),
    "criteria of an unknown extension": (["build", "{tmp}/index.html", "-o", "{tmp}/x"], 1),
    "a table without expressions": (["build", "{tmp}/names.csv", "-o", "{tmp}/x"], 1),
    "no events": (["match", "{index}", "{tmp}/nowhere.jsonl"], 1),
    "no index": (["match", "{tmp}/nowhere", "{events}"], 1),
    "a setting that is none": (["match", "{index}", "{events}", "--conf", "x"], 2),
    "a format that Spark does not print": (["match", "{index}", "{events}", "--format", "csv"], 1),
    "two ways to wait": (
        ["stream", "{index}", "{tmp}", "-o", "x", "--checkpoint", "y", "--once", "--every", "1s"],
        2,
    ),
}


@pytest.mark.parametrize("case", FAILURES)
def test_failures_are_one_line(case: str, saved: Path, events: Path, tmp_path: Path) -> None:
    arguments, code = FAILURES[case]
    said = {
        "a scheme that Spark does not know": 'No FileSystem for scheme "nil"',
        "a table without expressions": "it has no column expression; there are id, name",
    }
    (tmp_path / "index.html").write_text("<p>\n")
    (tmp_path / "names.csv").write_text("id,name\n1,Ada\n")
    words = [one.format(tmp=tmp_path, index=saved, events=events) for one in arguments]
    result = run(*words)
    assert result.exit_code == code, result.output
    if code == 1:
        assert result.stderr.count("\n") == 1, result.stderr
        assert result.stderr.startswith("remuda: ")
        assert said.get(case, "") in result.stderr


def test_the_demo_on_spark() -> None:
    result = run("demo", "--criteria", 300, "--events", 400)
    assert result.exit_code == 0, result.output
    assert "303 rows: 300 good, 3 rejected" in result.stdout
    assert "all as they should be" in result.stdout


def test_the_doctor_finds_a_healthy_machine_and_an_index_that_is_not_there(
    saved: Path, tmp_path: Path
) -> None:
    healthy = run("doctor", saved)
    assert (healthy.exit_code, "executors are ready" in healthy.stdout) == (0, True), healthy.output
    assert "v000001" in healthy.stdout
    lost = run("doctor", tmp_path / "nowhere")
    assert (lost.exit_code, "there is no directory" in lost.stderr) == (1, True), lost.output
