"""Events in files to answers in files, in this process."""

from __future__ import annotations

import csv
import io
import json
import os
import shlex
import signal
import subprocess
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from commands import EVENTS, MATCHED, command_of, lines, remuda, run, write_lines

import remuda as rm
from remuda.index import portions


def match(*arguments: object, **how: str):
    return run("match", *arguments, "--local", **how)


def test_lines_come_out_as_they_went_in(saved: Path, tmp_path: Path) -> None:
    text = '{"age": 22, "platform": "android", "price": 1.10, "big": 123456789012345678901}'
    path = write_lines(tmp_path / "events.jsonl", [text, "", {"age": 5}])
    result = match(saved, path)
    assert result.exit_code == 0
    version = '"index_version":"v000001"'
    assert result.stdout.splitlines() == [
        f'{{"event":{text},"matches":["young","android","always"],{version}}}',
        f'{{"event":{{"age": 5}},"matches":["always"],{version}}}',
    ]
    assert "2 events in, 0 rejected, 4 matches" in result.stderr


def test_a_line_that_is_no_object_is_named_and_nothing_is_lost(saved: Path, tmp_path: Path) -> None:
    path = write_lines(tmp_path / "events.jsonl", [*EVENTS, "{oops", "[1]"])
    result = match(saved, path)
    found = lines(result.stdout)
    assert result.exit_code == 1
    assert [row["matches"] for row in found] == [*MATCHED, ["always"], ["always"]]
    assert [row["event"] for row in found[3:]] == ["{oops", "[1]"]
    assert ["event_error" in row for row in found] == [False] * 3 + [True] * 2
    assert "row 4: the event is not JSON" in result.stderr
    assert "5 events in, 2 rejected" in result.stderr


def tables(tmp_path: Path) -> dict[str, Path]:
    table = pa.Table.from_pylist(EVENTS, pa.schema({"age": pa.int64(), "platform": pa.string()}))
    pq.write_table(table, tmp_path / "events.parquet")
    (tmp_path / "events.csv").write_text("age,platform\n22,android\n5,\n,\n")
    (tmp_path / "events.tsv").write_text("age\tplatform\n22\tandroid\n5\t\n\t\n")
    return {kind: tmp_path / f"events.{kind}" for kind in ("parquet", "csv", "tsv")}


@pytest.mark.parametrize("kind", ["parquet", "csv", "tsv"])
@pytest.mark.parametrize("output", ["out.jsonl", "out.csv", "out.parquet"])
def test_tables_in_and_out(kind: str, output: str, saved: Path, tmp_path: Path) -> None:
    source, target = tables(tmp_path)[kind], tmp_path / output
    result = match(saved, source, "-o", target)
    assert (result.exit_code, result.stdout) == (0, "")
    if output == "out.parquet":
        rows = pq.read_table(target).to_pylist()
    elif output == "out.csv":
        rows = [
            {**row, "matches": json.loads(row["matches"])}
            for row in csv.DictReader(io.StringIO(target.read_text()))
        ]
    else:
        rows = lines(target.read_text())
    assert [row["matches"] for row in rows] == MATCHED
    assert {row["index_version"] for row in rows} == {"v000001"}
    assert str(rows[0]["age"]) == "22"
    assert not [one for one in tmp_path.iterdir() if one.name.startswith(".")]


def test_standard_input_and_output_in_other_formats(saved: Path, tmp_path: Path) -> None:
    data = tables(tmp_path)["parquet"].read_bytes()
    how = ("--input-format", "parquet", "--format", "parquet")
    result = match(saved, "-", *how, stdin=data)
    assert pq.read_table(io.BytesIO(result.stdout_bytes))["matches"].to_pylist() == MATCHED


def test_one_row_a_match(saved: Path, events: Path) -> None:
    found = lines(match(saved, events, "--explode").stdout)
    assert [row["matches"] for row in found] == [one for ids in MATCHED for one in ids]


def test_tags_and_moments(tmp_path: Path, saved: Path, events: Path) -> None:
    assert [row["matches"] for row in lines(match(saved, events, "--tags", "people").stdout)] == [
        ["young"],
        [],
        [],
    ]
    rule = {"id": "r", "form": "DNF", "conjunctions": [], "validUntil": "2024-01-01T00:00:00Z"}
    home = tmp_path / "index"
    run("build", write_lines(tmp_path / "r.jsonl", [rule]), "-o", home, "--local")
    for now, expected in (("2023-12-31", ["r"]), ("2024-01-01 00:00", []), ("0", ["r"])):
        assert lines(match(home, events, "--now", now).stdout)[0]["matches"] == expected


def test_top_is_ranked_and_weighted(saved: Path, events: Path) -> None:
    found = lines(run("top", saved, events, "-n", 2, "--local", "--weight", "age=3").stdout)
    scored = [{"id": "android", "score": 4.0}, {"id": "young", "score": 3.0}]
    assert found[0]["matches"] == scored
    assert found[2]["matches"] == [{"id": "always", "score": 0.0}]


def test_top_by_priority_of_groups_and_by_weights_of_each_event(tmp_path: Path) -> None:
    rules = [
        {"id": "a", "expression": "age > 1", "tags": "by:x", "priority": 1},
        {"id": "b", "expression": "age > 1 AND age < 9", "tags": "by:x"},
        {"id": "c", "expression": "age > 1", "tags": "by:y"},
    ]
    home = tmp_path / "index"
    run("build", write_lines(tmp_path / "r.jsonl", rules), "-o", home, "--local")
    visits = write_lines(tmp_path / "e.jsonl", [{"age": 5, "w": {"age": 3}}, {"age": 5}])

    def best(*how: object) -> list[list[tuple[str, float]]]:
        found = lines(run("top", home, visits, "--local", *how).stdout)
        return [[(one["id"], one["score"]) for one in row["matches"]] for row in found]

    assert best("-n", 1) == [[("b", 2.0)]] * 2
    assert best("-n", 1, "--by", "priority") == [[("a", 1.0)]] * 2
    assert best("-n", 1, "--per", "by") == [[("b", 2.0), ("c", 1.0)]] * 2
    assert best("-n", 1, "--weights-column", "w") == [[("b", 6.0)], [("b", 2.0)]]
    assert run("top", home, visits, "--local", "--by", "age").exit_code == 2
    both = ("--weights-column", "w", "--weight", "age=3")
    assert run("top", home, visits, "--local", *both).exit_code == 2


def test_many_matches_come_in_portions_and_in_order(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(portions, "_HITS", 1_000)
    monkeypatch.setattr(portions, "_FIRST", 3)
    rules = [rm.Criterion(f"r{i}", rm.parse(f"a >= {i % 90}")) for i in range(300)]
    index = rm.Index.build(rules[100:], matcher="scan")
    index.add(rules[:100])  # a later segment
    index.remove("r150")
    index.save(tmp_path / "index")
    table = pa.table({"a": np.arange(100)})
    pq.write_table(table, tmp_path / "e.parquet")
    match(tmp_path / "index", tmp_path / "e.parquet", "-o", tmp_path / "out.parquet")
    found = pq.read_table(tmp_path / "out.parquet").to_pylist()
    assert [row["matches"] for row in found] == [index.match({"a": a}) for a in range(100)]


def test_empty_inputs(saved: Path, tmp_path: Path) -> None:
    (tmp_path / "none.jsonl").touch()
    (tmp_path / "none.csv").touch()
    (tmp_path / "head.csv").write_text("age,platform\n")
    pq.write_table(pa.table({"age": pa.array([], pa.int64())}), tmp_path / "none.parquet")
    for name in ("none.jsonl", "none.csv", "head.csv", "none.parquet"):
        result = match(saved, tmp_path / name, "-o", tmp_path / "out.parquet", "--overwrite")
        assert (result.exit_code, pq.read_table(tmp_path / "out.parquet").num_rows) == (0, 0)
        assert "0 events in" in result.stderr


def test_csv_is_typed_by_what_is_in_it(tmp_path: Path) -> None:
    rules = [
        {"id": "number", "expression": "zip = 1234"},
        {"id": "text", "expression": "zip = plain('01234')"},
        {"id": "day", "expression": "day > DATE '2024-01-01'"},
        {"id": "truth", "expression": "ok = true"},
        {"id": "none", "expression": "note IS NULL"},
    ]
    home = tmp_path / "index"
    run("build", write_lines(tmp_path / "r.jsonl", rules), "-o", home, "--local")
    path = tmp_path / "e.csv"
    path.write_text("zip,day,ok,note\n01234,2024-05-06,true,\n")
    typed = ["number", "day", "truth", "none"]
    assert lines(match(home, path).stdout)[0]["matches"] == typed
    as_text = lines(match(home, path, "--text", "zip").stdout)[0]["matches"]
    assert as_text == ["text", "day", "truth", "none"]


def test_rows_of_csv_that_do_not_fit(saved: Path, tmp_path: Path) -> None:
    path = tmp_path / "e.csv"
    path.write_text("age,platform\n22,android\n1,2,3\n5,\n")
    result = match(saved, path)
    assert result.exit_code == 1
    assert "line 3: it has 3 fields, not 2" in result.stderr
    assert "3 events in, 1 rejected" in result.stderr
    assert [row["age"] for row in lines(result.stdout)] == [22, 5]


def test_a_cell_of_another_type_far_down(saved: Path, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr("remuda.cli.events._BLOCK", 64)
    path = tmp_path / "e.csv"
    path.write_text("age,platform\n" + "22,android\n" * 50 + "old,ios\n")
    result = match(saved, path, "-o", tmp_path / "out.jsonl")
    assert result.exit_code == 1
    assert "--text age reads it as text" in result.stderr
    assert not (tmp_path / "out.jsonl").exists()


def test_a_second_run_replaces_the_first(saved: Path, events: Path, tmp_path: Path) -> None:
    target = tmp_path / "out.jsonl"
    match(saved, events, "-o", target)
    match(saved, write_lines(events, EVENTS[:1]), "-o", target, "--overwrite")
    assert len(lines(target.read_text())) == 1


def test_what_fails_leaves_what_was_there(saved: Path, tmp_path: Path) -> None:
    target, broken = tmp_path / "out.jsonl", tmp_path / "broken.parquet"
    target.write_text("old")
    broken.write_bytes(b"PAR1 no such thing")
    result = match(saved, broken, "-o", target, "--overwrite")
    assert (result.exit_code, target.read_text()) == (1, "old")
    assert "broken.parquet" in result.stderr


ERRORS = {
    "no index": (["{tmp}/nowhere", "{events}"], 1, "there is no index here"),
    "no events": (["{index}", "{tmp}/nowhere.jsonl"], 1, "No such file"),
    "no such version": (["{index}", "{events}", "--version", "v9"], 1, "v9"),
    "no such format": (["{index}", "{events}", "--format", "xml"], 2, "xml"),
    "no moment": (["{index}", "{events}", "--now", "soon"], 2, "soon"),
    "no directory for it": (["{index}", "{events}", "-o", "{tmp}/no/out.csv"], 1, "No such file"),
}


@pytest.mark.parametrize("case", ERRORS)
def test_errors(case: str, saved: Path, events: Path, tmp_path: Path) -> None:
    arguments, code, reason = ERRORS[case]
    result = match(*(one.format(tmp=tmp_path, index=saved, events=events) for one in arguments))
    assert (result.exit_code, reason in result.stderr) == (code, True), result.stderr


@pytest.mark.parametrize("wrong", ["abc", "0", "-1", ""])
def test_threads_that_are_no_number_are_wrong_usage(
    wrong: str, saved: Path, events: Path, monkeypatch
) -> None:
    monkeypatch.setenv("REMUDA_THREADS", wrong)
    for command in ("match", "reach"):
        result = run(command, saved, events, "--local")
        assert (result.exit_code, "REMUDA_THREADS" in result.stderr) == (2, True), result.stderr


def test_a_column_that_would_be_overwritten(saved: Path, tmp_path: Path) -> None:
    pq.write_table(pa.table({"matches": [1]}), tmp_path / "e.parquet")
    assert "column matches already" in match(saved, tmp_path / "e.parquet").stderr


def test_who_reads_may_leave_early(saved: Path, tmp_path: Path) -> None:
    path = write_lines(tmp_path / "events.jsonl", EVENTS * 5_000)
    command = shlex.join(command_of("match", saved, path, "--local"))
    piped = ["bash", "-c", f"{command} | head -1"]
    done = subprocess.run(piped, capture_output=True, text=True, check=True)
    assert (done.stdout.count("\n"), "Traceback" in done.stderr) == (1, False)


def test_an_interrupt_leaves_nothing_half_written(saved: Path, tmp_path: Path) -> None:
    source, target = tmp_path / "events.jsonl", tmp_path / "out.jsonl"
    os.mkfifo(source)
    command = command_of("match", saved, source, "-o", target, "--local")
    with (
        subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process,
        source.open("w") as pipe,  # opens when the command reads; then it waits for more
    ):
        pipe.write('{"age": 5}\n')
        pipe.flush()
        process.send_signal(signal.SIGINT)
        _, told = process.communicate(timeout=240)
    assert process.returncode == 130
    assert told == "remuda: interrupted; nothing is half-written\n"
    assert [one.name for one in tmp_path.iterdir()] == ["events.jsonl"]


def test_without_spark_the_local_commands_work(saved: Path, events: Path) -> None:
    hidden = "import sys; sys.modules['pyspark'] = None"
    assert remuda("match", saved, events, "--local", before=hidden).returncode == 0
    result = remuda("match", saved, events, before=hidden)
    assert result.returncode == 1
    assert result.stderr == (
        "remuda: Spark is not installed: pip install 'remuda[spark]', or add --local\n"
    )


OUTPUTS = {
    "match": ["match", "{index}", "{events}", "-o", "{there}"],
    "top": ["top", "{index}", "{events}", "-o", "{there}"],
    "reach": ["reach", "{index}", "{events}", "-o", "{there}"],
    "reach, plot": ["reach", "{index}", "{events}", "--plot", "{there}"],
    "generate": ["generate", "ads", "{there}"],
    "generate, events": ["generate", "ads", "{there}2", "--events", "{there}"],
}


@pytest.mark.parametrize("case", OUTPUTS)
def test_what_is_there_is_replaced_only_when_asked(
    case: str, saved: Path, events: Path, tmp_path: Path
) -> None:
    there = tmp_path / ("there.png" if "plot" in case else "there.jsonl")
    there.write_text("mine")
    words = [one.format(index=saved, events=events, there=there) for one in OUTPUTS[case]]
    result = run(*words, "--local")
    assert (result.exit_code, there.read_text()) == (1, "mine")
    assert "it is there already; --overwrite replaces it" in result.stderr
    sizes = ["--set", "n_subscriptions=3", "--set", "n_events=3"] if "generate" in case else []
    result = run(*words, "--local", "--overwrite", *sizes)
    assert result.exit_code == 0, result.output
    assert there.read_bytes() != b"mine"


@pytest.mark.parametrize("name", ["out.tsv", "out.xlsx"])
def test_an_output_of_no_known_format_is_refused(
    name: str, saved: Path, events: Path, tmp_path: Path
) -> None:
    result = match(saved, events, "-o", tmp_path / name)
    assert (result.exit_code, (tmp_path / name).exists()) == (1, False)
    assert "--format" in result.stderr


def test_all_of_an_error_is_shown_when_asked(saved: Path, tmp_path: Path) -> None:
    words = saved, tmp_path / "nowhere.jsonl"
    short, long = match(*words), match(*words, "-v")
    assert short.stderr.count("\n") == 1
    assert "Traceback" in long.stderr
    assert long.stderr.endswith(short.stderr)


@pytest.mark.parametrize("option", ["--ship", "--ignore-case"])
def test_what_is_for_spark_is_refused_without_it(option: str, saved: Path, events: Path) -> None:
    result = match(saved, events, option)
    assert (result.exit_code, f"{option} is for Spark" in result.stderr) == (2, True)
