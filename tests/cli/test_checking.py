"""Criteria validated in this process."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from commands import lines, remuda, run

GOOD = '{"form": "DNF", "id": "a", "conjunctions": []}'
TEXT = '{"id": "b", "expression": "age > 18 AND country = \'IN\'", "tags": ["x"]}'


def check(*arguments: str, stdin: str | None = None):
    return run("check", *arguments, "--local", stdin=stdin)


def test_good_criteria_pass(tmp_path: Path) -> None:
    path = tmp_path / "rules.jsonl"
    path.write_text(f"{GOOD}\n\n{TEXT}\n")
    result = check(str(path))
    assert (result.exit_code, result.stdout) == (0, "")
    assert "2 criteria in, 0 rejected" in result.stderr


REJECTS = {
    "not JSON": ("{oops", "JSON"),
    "unknown form": ('{"form": "XNF", "id": "r"}', "XNF"),
    "bad expression": ('{"id": "r", "expression": "age >"}', "expression, column"),
    "no id": ('{"expression": "age > 1"}', "id is empty"),
    "unknown column": ('{"id": "r", "expression": "a = 1", "wieght": 3}', "wieght"),
    "taken id": (GOOD, "taken by row 1"),
    "bad regex": ('{"id": "r", "expression": "matches(a, \'(\')"}', "refused"),
}


@pytest.mark.parametrize("row", REJECTS)
def test_rejects_are_listed_with_their_reasons(row: str, tmp_path: Path) -> None:
    text, reason = REJECTS[row]
    path = tmp_path / "rules.jsonl"
    path.write_text(f"{GOOD}\n{text}\n{TEXT}\n")
    result = check(str(path))
    assert result.exit_code == 1
    assert "3 criteria in, 1 rejected" in result.stderr
    assert reason in result.stderr
    check(str(path), "--rejects", str(tmp_path / "rejects"))
    (reject,) = lines((tmp_path / "rejects").read_text())
    assert reject["row"] == 2
    assert reason in f"{reject['place']} {reject['reason']}"


def test_tables_and_arrays(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text('id,expression\n1,"a IN (1, 2)"\n2,a >\n')
    pq.write_table(
        pa.table({"id": ["p", "q"], "expression": ["a = 1", None]}), tmp_path / "b.parquet"
    )
    (tmp_path / "c.json").write_text(f"[{GOOD},\n {TEXT}]")
    result = check(*(str(tmp_path / name) for name in ("a.csv", "b.parquet", "c.json")))
    assert "6 criteria in, 2 rejected" in result.stderr


def test_standard_input() -> None:
    assert "1 criteria in, 0 rejected" in check("-", stdin=GOOD).stderr


def test_the_empty_file(tmp_path: Path) -> None:
    (tmp_path / "none.jsonl").touch()
    result = check(str(tmp_path / "none.jsonl"))
    assert (result.exit_code, "0 criteria in" in result.stderr) == (0, True)


def test_a_hundred_thousand_with_ten_broken_names_those_ten(tmp_path: Path) -> None:
    broken = {7, 1_000, 20_000, 33_333, 50_000, 61_111, 77_777, 88_888, 99_000, 100_000}
    predicate = {"type": "INCLUDED", "lhs": "$.a", "values": [1]}
    path = tmp_path / "many.jsonl"
    with path.open("w") as file:
        for row in range(1, 100_001):
            own = dict(predicate, weight="heavy") if row in broken else predicate
            conjunctions = [{"type": "AND", "predicates": [own]}]
            document = {"form": "DNF", "id": f"c{row}", "conjunctions": conjunctions}
            file.write(json.dumps(document) + "\n")
    result = check(str(path), "--rejects", str(tmp_path / "rejects"))
    found = lines((tmp_path / "rejects").read_text())
    assert result.exit_code == 1
    assert {(one["row"], one["id"]) for one in found} == {(row, f"c{row}") for row in broken}
    assert {one["place"] for one in found} == {"conjunctions[0].predicates[0].weight"}


def test_errors_are_one_line_without_a_traceback(tmp_path: Path) -> None:
    result = remuda("check", tmp_path / "nowhere.jsonl", "--local")
    assert result.returncode == 1
    assert result.stderr.count("\n") == 1
    assert "nowhere.jsonl: No such file" in result.stderr
    assert remuda("chekc").returncode == 2


EVENTS = {
    "visits.parquet": lambda path: pq.write_table(pa.table({"age": [20], "country": ["IN"]}), path),
    "visits.jsonl": lambda path: path.write_text('{"age": 20}\n{oops\n{"country": "IN"}\n'),
    "visits.csv": lambda path: path.write_text("age,country\n20,IN\n"),
}


@pytest.mark.parametrize("name", EVENTS)
def test_events_tell_what_criteria_get_wrong(name: str, tmp_path: Path) -> None:
    events, rules = tmp_path / name, tmp_path / "rules.jsonl"
    EVENTS[name](events)
    wrong = '{"id": "w", "expression": "age > 18 AND contry = \'IN\'"}'
    rules.write_text(f"{TEXT}\n{wrong}\n")
    assert check(str(rules)).exit_code == 0
    result = check(str(rules), "--events", str(events), "--rejects", str(tmp_path / "bad.jsonl"))
    assert result.exit_code == 1
    (reject,) = lines((tmp_path / "bad.jsonl").read_text())
    assert (reject["id"], reject["place"]) == ("w", "expression, column 14")
    assert "nearest is 'country'" in reject["reason"]
