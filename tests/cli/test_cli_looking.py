"""What a saved index says about itself: reach, explanations, sizes, versions, proofs."""

from __future__ import annotations

import json
import shutil
from importlib.metadata import version
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from commands import EVENTS, lines, remuda, run, write_lines

import remuda as rm
from remuda.index.index import Index


def test_says_which_it_is() -> None:
    result = run("--version")
    assert (result.exit_code, result.stdout.split(",")[0]) == (0, f"remuda {version('remuda')}")


def test_reach_shows_the_widest_first(saved: Path, events: Path) -> None:
    result = run("reach", saved, events, "--local")
    shown = [line.split("│")[1:3] for line in result.stdout.splitlines() if "│" in line]
    assert [(name.strip(), n.strip()) for name, n in shown] == [
        ("always", "3"),
        ("android", "1"),
        ("young", "1"),
    ]
    assert "3 criteria, 0 of them reach nobody" in result.stdout
    assert "3 events in, 0 rejected, 5 matches" in result.stderr


def test_reach_in_files(saved: Path, tmp_path: Path) -> None:
    pq.write_table(pa.table({"age": [5, 6]}), tmp_path / "e.parquet")
    target = tmp_path / "reach.csv"
    run("reach", saved, tmp_path / "e.parquet", "--local", "-o", target)
    rows = target.read_text().splitlines()
    assert rows == ['"id","events"', '"always",2', '"android",0', '"young",0']
    printed = run("reach", saved, tmp_path / "e.parquet", "--local", "-o", "-", "--tags", "people")
    assert lines(printed.stdout) == [{"id": "young", "events": 0}]


def test_reach_of_an_index_that_changed(tmp_path: Path) -> None:
    home = tmp_path / "index"
    rules = [{"id": f"r{i}", "expression": f"a >= {i}"} for i in range(6)]
    run("build", write_lines(tmp_path / "r.jsonl", rules), "-o", home, "--local")
    changed = [rules[0], {"id": "r4", "expression": "a >= 0"}, rules[5], rules[2]]
    run("build", write_lines(tmp_path / "r.jsonl", changed), "-o", home, "--local")
    events = write_lines(tmp_path / "e.jsonl", [{"a": a} for a in range(6)])
    found = lines(run("reach", home, events, "--local", "-o", "-").stdout)
    assert {one["id"]: one["events"] for one in found} == {"r0": 6, "r4": 6, "r2": 4, "r5": 1}


def test_reach_as_a_picture(saved: Path, events: Path, tmp_path: Path) -> None:
    picture = tmp_path / "reach.png"
    assert run("reach", saved, events, "--local", "--plot", picture).exit_code == 0
    assert picture.read_bytes().startswith(b"\x89PNG")
    result = run("reach", saved, events, "--local", "--plot", tmp_path / "reach.txt")
    assert (result.exit_code, "reach.txt" in result.stderr) == (1, True)


def test_reach_of_users_is_for_spark(saved: Path, events: Path) -> None:
    assert run("reach", saved, events, "--local", "--user", "id").exit_code == 2
    assert run("reach", saved, events, "--local", "--approximate").exit_code == 2


def test_reach_of_nothing_and_of_what_is_wrong(saved: Path, tmp_path: Path) -> None:
    (tmp_path / "none.jsonl").touch()
    assert (
        "3 of them reach nobody" in run("reach", saved, tmp_path / "none.jsonl", "--local").stdout
    )
    result = run("reach", saved, write_lines(tmp_path / "e.jsonl", ["{oops"]), "--local")
    assert (result.exit_code, "row 1" in result.stderr) == (1, True)


EVENT = json.dumps({"age": 17, "platform": "android"})


def test_explains_a_named_criterion_of_an_index(saved: Path) -> None:
    result = run("explain", saved, EVENT, "android")
    assert result.stdout == (
        "android does not hold\n  ✗ all of\n"
        "  ├── ✓ platform = 'android': saw 'android'\n  └── ✗ age > 20: saw 17\n"
    )


def test_explains_what_holds_where_none_is_named(saved: Path) -> None:
    result = run("explain", saved, json.dumps(EVENTS[0]), "--json")
    assert [(one["id"], one["holds"]) for one in lines(result.stdout)] == [
        ("young", True),
        ("android", True),
        ("always", True),
    ]


@pytest.mark.parametrize("of", ["index", "file"])
def test_explains_near_misses(of: str, saved: Path, rules: Path) -> None:
    source = saved if of == "index" else rules
    result = run("explain", source, EVENT, "--nearest", 2)
    assert result.stdout == (
        "android fails by 1\n  ✗ age > 20: saw 17\n"
        "young fails by 1\n  ✗ age between 18 and 25: saw 17\n"
    )
    found = lines(run("explain", source, EVENT, "--nearest", 1, "--json").stdout)
    assert [one["attribute"] for one in found[0]["failures"]] == ["age"]


def test_explains_files(rules: Path, tmp_path: Path) -> None:
    event = tmp_path / "event.json"
    event.write_text(EVENT)
    result = run("explain", rules, event, "--json")
    assert [one["holds"] for one in lines(result.stdout)] == [False, False, True]
    assert "young does not hold" in run("explain", rules, "-", "young", stdin=EVENT).stdout


def test_explains_the_first_of_many(tmp_path: Path) -> None:
    rows = [{"id": f"r{i}", "expression": "a = 1"} for i in range(30)]
    path = write_lines(tmp_path / "rules.jsonl", [*rows, "{oops"])
    result = run("explain", path, "{}")
    assert result.stdout.count("does not hold") == 20
    assert "and 10 more" in result.stderr
    assert "row 31" in result.stderr


@pytest.mark.parametrize("event", ["{oops", "no-such-file"])
def test_an_event_that_is_none(event: str, rules: Path) -> None:
    result = run("explain", rules, event)
    assert result.exit_code == 1
    assert result.stderr.startswith("remuda: the event is n")


def test_a_criterion_that_is_none(rules: Path, saved: Path) -> None:
    for source in (rules, saved):
        result = run("explain", source, EVENT, "zz")
        assert (result.exit_code, "no criterion 'zz'" in result.stderr) == (1, True)
    assert run("explain", saved, EVENT, "young", "--nearest", 2).exit_code == 2


def test_stats(saved: Path) -> None:
    assert "criteria" in run("stats", saved).stdout
    found = json.loads(run("stats", saved, "--json").stdout)
    assert (found["criteria"], found["version"], found["matcher"]) == (3, "v000001", "auto")
    assert run("stats", saved / "nowhere").exit_code == 1


def test_stats_name_what_fails(saved: Path, monkeypatch) -> None:
    assert "set" not in run("stats", saved).stdout.split("bytes on disk")[1]
    monkeypatch.setattr(Index, "_failures", lambda *_: {"c1": "ValueError: it broke"})
    assert "it broke" in run("stats", saved).stdout


def test_prune_keeps_the_newest(rules: Path, tmp_path: Path) -> None:
    home = tmp_path / "index"
    for n in (3, 2, 1):
        rules.write_text("".join(rules.read_text().splitlines(keepends=True)[:n]))
        run("build", rules, "-o", home, "--local")
    assert "nothing to remove" in run("prune", home).stdout
    assert "v000001 removed" in run("prune", home, "--keep", 2).stdout
    assert "nothing to remove" in run("prune", home, "--keep", 2).stdout
    assert json.loads(run("stats", home, "--json").stdout)["versions kept"] == 2
    assert run("prune", home, "--keep", 0).exit_code == 2
    assert run("prune", tmp_path).exit_code == 1


def test_ratify_agrees(saved: Path, events: Path) -> None:
    result = run("ratify", saved, "--local", "--sample", "--seed", 3)
    assert (result.exit_code, "agreed: 3 criteria" in result.stdout) == (0, True)
    result = run("ratify", saved, "--local", "--events", events, "--seconds", 5)
    assert "3 events" in result.stdout


def test_ratify_takes_tables(saved: Path, tmp_path: Path) -> None:
    pq.write_table(pa.table({"age": [5, 22]}), tmp_path / "e.parquet")
    result = run("ratify", saved, "--local", "--events", tmp_path / "e.parquet")
    assert (result.exit_code, "2 events" in result.stdout) == (0, True)


def test_ratify_ends_with_1_where_something_disagrees(
    saved: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from remuda.language.criterion import Criterion

    monkeypatch.setattr(Criterion, "holds", lambda *_, **__: False)
    result = run("ratify", saved, "--local", "--sample")
    assert (result.exit_code, "disagreements" in result.stdout) == (1, True)


def test_similar_criteria(saved: Path, tmp_path: Path) -> None:
    path = write_lines(tmp_path / "c.jsonl", [{"id": "c", "expression": "age BETWEEN 18 AND 24"}])
    document = '{"id": "c", "expression": "age BETWEEN 18 AND 24"}'
    for one in ("age BETWEEN 18 AND 24", path, document, "young"):
        result = run("similar", saved, one, "-n", 1)
        assert (result.exit_code, "young" in result.stdout) == (0, True), result.output
    assert "never holds" in run("similar", saved, "age > 3 AND age IS NULL").stdout


def test_similar_over_given_events(saved: Path, events: Path) -> None:
    result = run("similar", saved, "age = 5", "--events", events)
    assert "3 events, 1 of them the criterion's" in result.stdout


def test_redundant_criteria(tmp_path: Path) -> None:
    rules = {
        "a": "x > 1",
        "b": "x > 1",
        "c": "x > 5",
        "d": "x > 3 AND x IS NULL",
    }
    rows = [{"id": name, "expression": text} for name, text in rules.items()]
    home = tmp_path / "index"
    run("build", write_lines(tmp_path / "r.jsonl", rows), "-o", home, "--local")
    result = run("similar", home, "--redundant")
    assert "4 criteria: 1 groups of duplicates, 1 shadowed, 1 never true" in result.stdout


def test_similar_wants_one_thing(saved: Path) -> None:
    assert run("similar", saved).exit_code == 2
    assert run("similar", saved, "a = 1", "--redundant").exit_code == 2
    result = run("similar", saved, "age >> 3")
    assert (result.exit_code, result.stderr.count("\n")) == (1, 1)


def test_damage_is_named_on_one_line(saved: Path, tmp_path: Path) -> None:
    home = tmp_path / "index"
    shutil.copytree(saved, home)
    (home / "CURRENT").write_text("v000009\n")
    result = remuda("stats", home)
    assert (result.returncode, result.stderr.count("\n")) == (1, 1)
    assert "v000009" in result.stderr
    assert remuda("statz").returncode == 2


def test_what_a_region_makes_possible(saved: Path) -> None:
    where = "age BETWEEN 18 AND 40 AND platform = 'android'"
    result = run("possible", saved, where)
    index = rm.load(saved)
    certain = index.certain(where).ids(0)
    assert result.stdout.splitlines() == [
        f"{name}\t{'every' if name in certain else 'some'}" for name in index.possible(where).ids(0)
    ]
    (row,) = lines(run("possible", saved, where, "--json").stdout)
    assert row == {
        "where": where,
        "possible": index.possible(where).ids(0),
        "certain": certain,
        "exact": True,
    }
    refused = run("possible", saved, "age < 3 OR platform = 'ios'")
    assert (refused.exit_code, "conjunction" in refused.stderr) == (1, True)
