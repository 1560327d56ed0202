"""Files of criteria into saved indexes, in this process."""

from __future__ import annotations

import gzip
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from commands import RULES, lines, run, write_lines

import remuda as rm


def build(*arguments: object, **how: str):
    return run("build", *arguments, "--local", **how)


def test_what_was_built_answers(rules: Path, tmp_path: Path) -> None:
    result = build(rules, "-o", tmp_path / "index")
    assert (result.exit_code, "v000001: 3 criteria" in result.stdout) == (0, True)
    assert "3 criteria in, 0 rejected" in result.stderr
    index = rm.load(tmp_path / "index")
    assert index.match({"age": 22}) == ["young", "always"]


def test_a_second_build_writes_what_changed(rules: Path, tmp_path: Path) -> None:
    home = tmp_path / "index"
    build(rules, "-o", home)
    assert "v000001: nothing changed, 3 kept" in build(rules, "-o", home).stdout
    segments = set((home / "segments").iterdir())
    added = {"id": "new", "expression": "b = 2"}
    changed = [RULES[0], {"id": "android", "expression": "a = 1"}, added]
    result = build(write_lines(rules, changed), "-o", home)
    assert "v000002: 1 added, 1 changed, 1 removed, 1 kept" in result.stdout
    assert segments < set((home / "segments").iterdir())
    assert [one.id for one in rm.load(home)] == ["young", "android", "new"]
    assert rm.load(home).match({"a": 1, "b": 2}) == ["android", "new"]
    assert rm.load(home, version="v000001").match({"a": 1, "b": 2}) == ["always"]


def test_another_matcher_builds_anew(rules: Path, tmp_path: Path) -> None:
    home = tmp_path / "index"
    build(rules, "-o", home)
    result = build(rules, "-o", home, "--matcher", "scan", "--scalars", "age")
    assert "v000002: 3 criteria" in result.stdout
    assert rm.load(home).matcher == "scan"
    assert {str(one) for one in rm.load(home).scalars} == {"age"}


def _parquet(path: Path) -> None:
    pq.write_table(pa.table({"city": ["BLR", "KA"], "within": ["KA", "IN"]}), path)


TREE_FILES = {
    "geo.json": lambda path: path.write_text('{"BLR": "KA", "KA": "IN"}'),
    "pairs.json": lambda path: path.write_text('[["BLR", "KA"], ["KA", "IN"], ["IN", null]]'),
    "geo.csv": lambda path: path.write_text("child,parent\nBLR,KA\nKA,IN\nIN,\n"),
    "geo.tsv": lambda path: path.write_text("child\tparent\nBLR\tKA\nKA\tIN\n"),
    "geo.parquet": _parquet,
}


@pytest.mark.parametrize("name", TREE_FILES)
def test_trees_are_read_from_files_and_kept(tmp_path: Path, name: str) -> None:
    TREE_FILES[name](tmp_path / name)
    rules = write_lines(
        tmp_path / "rules.jsonl", [{"id": "in", "expression": "under(city, 'geo', 'IN')"}]
    )
    home, tree = tmp_path / "index", f"geo={tmp_path / name}"
    assert build(rules, "-o", home, "--tree", tree).exit_code == 0
    assert rm.load(home).match({"city": "BLR"}) == ["in"]
    assert "nothing changed" in build(rules, "-o", home).stdout
    (tmp_path / "other.json").write_text('{"DEL": "IN"}')
    assert build(rules, "-o", home, "--tree", f"geo={tmp_path / 'other.json'}").exit_code == 0
    index = rm.load(home)
    assert (index.match({"city": "BLR"}), index.match({"city": "DEL"})) == ([], ["in"])


NO_TREES = {
    "no name": ("geo.json", 2, "name=file"),
    "no file": ("geo=lacking.json", 1, "lacking.json is no tree"),
    "two parents": ("geo=two.json", 1, "two parents"),
}


@pytest.mark.parametrize(("given", "code", "reason"), NO_TREES.values(), ids=NO_TREES)
def test_what_is_no_tree_is_refused(
    rules: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, given: str, code: int, reason: str
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("two.json").write_text('[["a", "b"], ["a", "c"]]')
    result = build(rules, "-o", tmp_path / "index", "--tree", given)
    assert result.exit_code == code
    assert reason in " ".join(result.stderr.split())


BAD = ["{oops", {"id": "r", "expression": "age >"}, RULES[0]]


def test_the_good_ones_are_built_and_the_others_named(tmp_path: Path) -> None:
    path = write_lines(tmp_path / "rules.jsonl", [*RULES, *BAD])
    kept = tmp_path / "rejects.jsonl"
    result = build(path, "-o", tmp_path / "index", "--rejects", kept)
    assert result.exit_code == 1
    assert "6 criteria in, 3 rejected" in result.stderr
    assert "expression, column 5" in result.stderr
    assert [one["row"] for one in lines(kept.read_text())] == [4, 5, 6]
    assert len(rm.load(tmp_path / "index")) == 3


def test_more_rejects_than_are_shown(tmp_path: Path) -> None:
    path = write_lines(tmp_path / "rules.jsonl", ["{oops"] * 25)
    result = build(path, "-o", tmp_path / "index")
    assert "and 5 more; --rejects FILE keeps them all" in result.stderr


def test_strict_builds_nothing(tmp_path: Path) -> None:
    path = write_lines(tmp_path / "rules.jsonl", [*RULES, *BAD])
    result = build(path, "-o", tmp_path / "index", "--strict")
    assert (result.exit_code, (tmp_path / "index").exists()) == (1, False)
    assert "nothing was built" in result.stderr


def test_every_form_of_file(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text('id,expression,tags\n007,"a IN (1, 2)","x, y"\n')
    (tmp_path / "b.tsv").write_text("id\texpression\nt\tb = 'é'\n")
    table = pa.table({"id": ["p"], "expression": ["a = 1"], "tags": [["x"]]})
    pq.write_table(table, tmp_path / "c.parquet")
    (tmp_path / "d.json").write_text('[{"id": "j", "expression": "c = 1"}]')
    (tmp_path / "e.jsonl.gz").write_bytes(gzip.compress(b'{"id": "z", "expression": "d = 1"}\n'))
    parts = tmp_path / "parts.jsonl"
    parts.mkdir()
    (parts / "_SUCCESS").touch()
    write_lines(parts / "part-0", [{"id": "q", "expression": "e = 1"}])
    files = ["a.csv", "b.tsv", "c.parquet", "d.json", "e.jsonl.gz", "parts.jsonl"]
    result = build(*(tmp_path / file for file in files), "-o", tmp_path / "index")
    assert result.exit_code == 0, result.output
    index = rm.load(tmp_path / "index")
    assert [one.id for one in index] == ["007", "t", "p", "j", "z", "q"]
    assert index["007"].tags == {"x", "y"}


def test_an_id_is_taken_across_files(tmp_path: Path) -> None:
    one, two = (write_lines(tmp_path / name, RULES[:1]) for name in ("a.jsonl", "b.jsonl"))
    result = build(one, two, "-o", tmp_path / "index")
    assert result.exit_code == 1
    assert "taken by row 1 of" in result.stderr


def test_no_criteria_at_all(tmp_path: Path) -> None:
    result = build("-", "-o", tmp_path / "index", stdin="\n")
    assert result.exit_code == 0
    assert rm.load(tmp_path / "index").match({}) == []


def test_standard_input_of_another_format(tmp_path: Path) -> None:
    rows = "id,expression\na,b = 1\n"
    result = build("-", "-o", tmp_path / "index", "--input-format", "csv", stdin=rows)
    assert result.exit_code == 0
    assert "a" in rm.load(tmp_path / "index")


@pytest.mark.parametrize("how", [[], ["--matcher", "scan"]], ids=["the same", "another matcher"])
def test_an_export_that_was_cut_short_replaces_nothing(
    rules: Path, tmp_path: Path, how: list[str]
) -> None:
    home = tmp_path / "index"
    build(rules, "-o", home)
    cut = build("-", "-o", home, *how, stdin="\n")
    assert cut.exit_code == 1
    assert "the build would remove 3 of its 3 criteria" in cut.stderr
    assert rm.load(home).version == "v000001"
    half = build(write_lines(rules, RULES[:2]), "-o", home, *how)
    assert (half.exit_code, len(rm.load(home))) == (0, 2)
    meant = build("-", "-o", home, "--allow-shrink", *how, stdin="\n")
    assert (meant.exit_code, len(rm.load(home))) == (0, 0)


TABLES = {
    "no expression": ("r.csv", "id,name\n1,Ada\n", "no column expression; there are id, name"),
    "neither": ("r.tsv", "a\tb\n1\t2\n", "no column id and no column expression; there are a, b"),
    "no format": ("r.html", "<p>", "the extension does not tell its format"),
}


@pytest.mark.parametrize("case", TABLES)
def test_a_table_that_has_no_criteria_is_named(case: str, tmp_path: Path) -> None:
    name, text, said = TABLES[case]
    (tmp_path / name).write_text(text)
    result = build(tmp_path / name, "-o", tmp_path / "index")
    assert (result.exit_code, (tmp_path / "index").exists()) == (1, False)
    assert f"{name}: " in result.stderr
    assert said in result.stderr


WRONG = {
    "no output": ["rules.jsonl"],
    "a matcher that is none": ["rules.jsonl", "-o", "x", "--matcher", "fastest"],
    "a format that is none": ["rules.jsonl", "-o", "x", "--input-format", "xml"],
    "shards in process": ["rules.jsonl", "-o", "x", "--shards", "2"],
}


@pytest.mark.parametrize("case", WRONG)
def test_wrong_usage(case: str) -> None:
    assert build(*WRONG[case]).exit_code == 2


def test_spark_reads_no_standard_input() -> None:
    result = run("build", "-", "-o", "x")
    assert (result.exit_code, "add --local" in result.stderr) == (2, True)


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    result = build(tmp_path / "nowhere.jsonl", "-o", tmp_path / "index")
    assert result.exit_code == 1
    assert "nowhere.jsonl: No such file" in result.stderr
    assert not (tmp_path / "index").exists()


def test_a_directory_that_cannot_be_written(rules: Path, tmp_path: Path) -> None:
    (tmp_path / "index").write_text("a file")
    result = build(rules, "-o", tmp_path / "index")
    assert result.exit_code == 1
    assert result.stderr.count("\n") == 1


@pytest.mark.parametrize("where", [["--local"], []], ids=["here", "on Spark"])
def test_a_scheme_is_refused_before_anything_is_read(tmp_path: Path, where: list[str]) -> None:
    found = run("build", tmp_path / "no-such-file", "-o", "nil://bucket/ads", *where)
    assert found.exit_code == 1
    assert "nil: is not a file system" in found.stderr


def test_a_live_tree_with_parameters(rules: Path, tmp_path: Path) -> None:
    home = tmp_path / "index"
    how = "-o", home, "--matcher", "betree(max_cap=9)", "--live"
    assert "v000001: 3 criteria" in build(rules, *how).stdout
    assert "v000001: nothing changed" in build(rules, *how).stdout
    index = rm.load(home)
    assert (index.matcher, index.match({"age": 22})) == (
        "betree(max_cap=9, live)",
        ["young", "always"],
    )
    refused = build(rules, "-o", home, "--live")
    assert (refused.exit_code, "auto cannot be live" in refused.stderr) == (2, True)
