"""The command line's first part: check and explain."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from remuda.cli.app import app

runner = CliRunner()

GOOD = '{"form": "DNF", "id": "a", "conjunctions": []}'
TEXT = '{"id": "b", "expression": "age > 18 AND country = \'IN\'", "tags": ["x"]}'


def check(*arguments: str, stdin: str | None = None):
    return runner.invoke(app, ["check", *arguments], input=stdin, env={"COLUMNS": "200"})


def test_good_criteria_pass(tmp_path: Path) -> None:
    path = tmp_path / "rules.jsonl"
    path.write_text(f"{GOOD}\n\n{TEXT}\n")
    result = check(str(path))
    assert result.exit_code == 0
    assert result.output == "2 rows: 2 good, 0 rejected\n"


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
    assert "3 rows: 2 good, 1 rejected" in result.output
    assert reason in result.output
    (reject,) = check(str(path), "--json").output.splitlines()
    assert json.loads(reject)["row"] == 2
    assert reason in reject.replace("\\", "")


def test_tables_and_arrays(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text('id,expression\n1,"a IN (1, 2)"\n2,a >\n')
    pq.write_table(
        pa.table({"id": ["p", "q"], "expression": ["a = 1", None]}), tmp_path / "b.parquet"
    )
    (tmp_path / "c.json").write_text(f"[{GOOD},\n {TEXT}]")
    result = check(*(str(tmp_path / name) for name in ("a.csv", "b.parquet", "c.json")))
    assert "6 rows: 4 good, 2 rejected" in result.output


def test_standard_input() -> None:
    assert "1 rows: 1 good" in check("-", stdin=GOOD).output


def test_the_empty_file(tmp_path: Path) -> None:
    (tmp_path / "none.jsonl").touch()
    result = check(str(tmp_path / "none.jsonl"))
    assert (result.exit_code, result.output) == (0, "0 rows: 0 good, 0 rejected\n")


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
    result = check(str(path), "--json")
    found = [json.loads(line) for line in result.output.splitlines()]
    assert result.exit_code == 1
    assert {(one["row"], one["id"]) for one in found} == {(row, f"c{row}") for row in broken}
    assert {one["place"] for one in found} == {"conjunctions[0].predicates[0].weight"}


def remuda(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = "from remuda.cli import main; main()"
    return subprocess.run(
        [sys.executable, "-c", command, *arguments], capture_output=True, text=True, check=False
    )


def test_errors_are_one_line_without_a_traceback(tmp_path: Path) -> None:
    result = remuda("check", str(tmp_path / "nowhere.jsonl"))
    assert result.returncode == 1
    assert result.stderr.count("\n") == 1
    assert "nowhere.jsonl: No such file" in result.stderr
    assert remuda("chekc").returncode == 2


EVENT = '{"age": 17, "country": "IN"}'


@pytest.fixture
def rules(tmp_path: Path) -> str:
    path = tmp_path / "rules.jsonl"
    path.write_text(f"{GOOD}\n{TEXT}\n")
    return str(path)


def test_explains_why_not(rules: str) -> None:
    result = runner.invoke(app, ["explain", rules, EVENT, "--id", "b"])
    assert result.exit_code == 0
    assert result.output == (
        "b does not hold\n  ✗ all of\n  ├── ✗ age > 18: saw 17\n  └── ✓ country = 'IN': saw 'IN'\n"
    )


def test_explains_as_json_and_from_files(rules: str, tmp_path: Path) -> None:
    event = tmp_path / "event.json"
    event.write_text(EVENT)
    result = runner.invoke(app, ["explain", rules, str(event), "--json"])
    assert [json.loads(line)["holds"] for line in result.output.splitlines()] == [True, False]


@pytest.mark.parametrize("event", ["{oops", "no-such-file"])
def test_an_event_that_is_none(rules: str, event: str) -> None:
    result = remuda("explain", rules, event)
    assert result.returncode == 1
    assert result.stderr.startswith("remuda: the event is n")


def test_an_id_that_is_not_there(rules: str) -> None:
    result = remuda("explain", rules, EVENT, "--id", "zz")
    assert result.returncode == 1
    assert "no criterion 'zz'" in result.stderr
