"""The papers' figures: all are defined, a run goes on where it was, and wrong answers stop it."""

from __future__ import annotations

import gc
import json
import math
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from benchmarks.papers import cores, measuring, running
from benchmarks.papers.counting import COUNTS, skips
from benchmarks.papers.evidence import Evidence, Verdict, document, ours, reasons_of, verdict_on
from benchmarks.papers.judging import CLOSE, Judged, Outcome, judged, middle, rounds_of
from benchmarks.papers.measuring import Row
from benchmarks.papers.panels import EVERYTHING, REASONS, SCALES, Panel, panels
from benchmarks.papers.results import COMMIT, Results, commit
from benchmarks.papers.running import Effort
from benchmarks.papers.settings import drawn, fingerprint, generator

FIGURES = {
    "vldb": "14 15 16 17 18 19",
    "betree": "4 5a 5b 6a 6b 7a 7b 8a 8b 8c 8d 9a 9b 10a 10b"
    " 11a 11b 11c 11d 11e 11f 12a 12b 13a 13b",
    "pstree": "5a 5b 5c 5d 6a 6b 7a 7b 8a 8b 9a 9b 10a 10b 11a 11b 12a 12b 13a 13b 14a 14b 15a 15b",
}

EVIDENCE = Path(__file__).parents[1] / "docs" / "evidence.md"


def tiny(name: str) -> Panel:
    return next(panel for panel in panels(scale="tiny") if panel.name == name)


BRIEF = Effort(rounds=1, patience=0.0)


def rows(values: dict[str, list[float]]) -> dict[str, list[Row]]:
    return {label: [{"match_us": value} for value in curve] for label, curve in values.items()}


@pytest.mark.parametrize("scale", SCALES)
def test_all_55_panels_are_defined(scale: str) -> None:
    defined = [panel.name for panel in panels(scale=scale)]
    assert defined == [f"{paper}-{one}" for paper, own in FIGURES.items() for one in own.split()]
    assert len(defined) == 55


@pytest.mark.parametrize("panel", panels(scale="paper"), ids=lambda panel: panel.name)
def test_workloads_of_the_large_scale_can_be_drawn(panel: Panel) -> None:
    for case in panel.cases():
        if case.workload["kind"] != "switch":
            generator(case.workload)


REASONS_BY_NAME = {panel.figure: panel for panel in panels((REASONS,))}


def test_reasons_speak_of_panels_curves_and_points_that_are_there() -> None:
    measured = {}
    for panel in panels(EVERYTHING):
        metrics = [claim.get("metric", panel.metric) for claim in panel.claims]
        names = {name for metric in ["match_us", "build_s", *metrics] for name in metric.split()}
        row = dict.fromkeys([*names, "nbytes", "list_bytes", "predicates", "candidates"], 1.0)
        flat = {line.label: [row] * len(panel.points) for line in panel.lines}
        measured[panel.name] = (panel, [flat])
    for panel, rounds in measured.values():
        for one in judged(panel, rounds, measured):
            assert one.ratio == 1.0, (panel.name, one.claim)
            assert ("expected" if panel.paper == REASONS else "paper") in one.claim


def test_claims_name_reasons_that_are_there() -> None:
    named = {name for panel in panels() for claim in panel.claims for name in reasons_of(claim)}
    assert named == REASONS_BY_NAME.keys()


@pytest.mark.parametrize("name", COUNTS)
def test_operations_are_counted(name: str) -> None:
    """Skips of the k-index also find all that match, or the count stops with WrongAnswer."""
    workload = {"kind": "begen", "n_subscriptions": 300, "n_events": 10, "operators": "HIGH"}
    setting = drawn(workload)
    (starts, rows, found) = setting.build(name, {}).answer()
    assert found > 0
    assert rows.tolist() == setting.build("scan", {}).answer()[1].tolist()
    assert len(starts) == 11


def test_skips_of_a_cnf_find_all_that_match() -> None:
    for months in (1, 3):
        workload = {"kind": "vldb", "cnf": True, "n_criteria": 200, "n_assignments": 20}
        assert drawn({**workload, "n_months": months}).build("kindex/steps", {}).answer()[2] > 0


def test_conjunctions_are_found_as_often_as_they_are_there() -> None:
    workload = {"kind": "vldb", "n_criteria": 100, "n_assignments": 20, "n_months": 1}
    setting = drawn({**workload, "copies": 3})
    alone = len(drawn(workload).build("scan", {}).answer()[1])
    found = {name: setting.build(name, {}).answer() for name in ("scan", "sift", "kindex/once")}
    prints = {name: fingerprint(starts, rows) for name, (starts, rows, _) in found.items()}
    assert len(set(prints.values())) == 1, prints
    assert len(found["scan"][1]) == 3 * alone > 0


def test_skips_are_those_of_the_algorithm() -> None:
    """Lists of rows 1 5 9, 2 5 and 5 7: one skip past 1 and 2, then three from 5, one row found."""
    found: set[int] = set()
    assert skips([[1, 5, 9], [2, 5], [5, 7]], 3, found) == 5
    assert found == {5}


def test_a_run_begun_anew_takes_the_place_of_the_results_when_it_is_complete(
    tmp_path: Path, monkeypatch, capsys
) -> None:
    ways = {"scale": "tiny", "anew": True, "into": tmp_path, "rounds": 2}
    monkeypatch.setattr(running, "panels", lambda papers, scale: [tiny("vldb-18")])
    path = tmp_path / "papers-tiny.jsonl"
    path.write_text('{"case": "old", "answers": "1:0"}\n', encoding="utf-8")
    keep, kept = Results.keep, []

    def killed(self: Results, made: list[Row]) -> None:
        keep(self, made)
        kept.extend(made)
        raise KeyboardInterrupt

    monkeypatch.setattr(Results, "keep", killed)
    with pytest.raises(KeyboardInterrupt):
        running.main([], **ways)
    assert Results("tiny", tmp_path).rounds.keys() == {"old"}  # until all is measured
    monkeypatch.setattr(running, "commit", lambda: "another")
    assert running.main([], **ways) == 2
    assert "was begun on" in capsys.readouterr().err
    monkeypatch.undo()
    monkeypatch.setattr(running, "panels", lambda papers, scale: [tiny("vldb-18")])
    assert running.main(["vldb"], **ways) == 2
    assert running.main([], **ways) == 0
    after = Results("tiny", tmp_path)
    assert after.rounds.keys() == {case.key for case in tiny("vldb-18").cases()}
    assert all(own.keys() == {0, 1} for own in after.rounds.values())
    assert len(after.commits) == 1
    assert {row["case"] for row in kept} < after.rounds.keys()
    assert not list(tmp_path.glob("*.new.jsonl"))


@pytest.mark.parametrize("scale", ["small", "paper"])
def test_claims_speak_of_curves_and_points_that_are_there(scale: str) -> None:
    for panel in panels(scale=scale):
        flat = {line.label: [{panel.metric: 1.0}] * len(panel.points) for line in panel.lines}
        assert panel.claims
        for one in judged(panel, [flat]):
            assert one.ratio == 1.0, one.claim
            assert one.claim.keys() >= {"text", "paper"}


@pytest.mark.parametrize(
    ("claim", "ratio"),
    [
        pytest.param({"slow": "sift", "fast": "kindex", "at": "every"}, 2.0, id="least ratio"),
        pytest.param({"slow": "sift", "fast": "kindex", "at": "any"}, 8.0, id="largest ratio"),
        pytest.param({"slow": "sift", "fast": "kindex"}, 4.0, id="geometric mean"),
        pytest.param({"slow": "sift", "fast": "kindex", "at": "last"}, 8.0, id="last point"),
        pytest.param({"slow": "sift", "fast": "kindex", "at": "2.3"}, 4.0, id="a point by name"),
        pytest.param({"slow": "rest", "fast": "kindex"}, 2.0, id="next best, not auto"),
        pytest.param({"slow": "sift", "fast": "worst"}, 2.0, id="slowest of the others"),
        pytest.param({"grows": "sift"}, 8.0, id="growth"),
        pytest.param({"grows": "sift", "beside": "kindex"}, 4.0, id="growth beside another's"),
        pytest.param({"spread": "sift"}, 8.0, id="spread"),
    ],
)
def test_the_ratio_of_a_claim(claim: dict[str, str], ratio: float) -> None:
    panel = next(one for one in panels() if one.name == "vldb-16")
    curves = {"kindex": [1, 1, 2], "propagation": [2, 2, 4], "sift": [2, 4, 16], "auto": [1] * 3}
    changed = Panel(
        panel.paper, panel.figure, panel.title, panel.x, panel.metric, panel.lines,
        panel.points, panel.workload, (claim,), "",
    )  # fmt: skip
    assert judged(changed, [rows(curves)])[0].ratio == pytest.approx(ratio)


@pytest.mark.parametrize(
    ("ratios", "claim", "outcome"),
    [
        pytest.param((1.1, 1.2, 1.1), {}, Outcome.HOLDS, id="all within"),
        pytest.param((0.9, 0.8, 0.9), {}, Outcome.FAILS, id="all outside"),
        pytest.param((1.1, 0.9, 1.1), {}, Outcome.CHANCE, id="rounds that do not agree"),
        pytest.param((1.01, 1.02), {}, Outcome.CHANCE, id="too close above"),
        pytest.param((0.99, 0.98), {}, Outcome.CHANCE, id="too close below"),
        pytest.param((0.9, 1.9), {"least": 0.5, "most": 2.0}, Outcome.HOLDS, id="between two"),
        pytest.param((2.1, 2.2), {"least": 0.5, "most": 2.0}, Outcome.FAILS, id="above both"),
        pytest.param((0.4, 2.2), {"least": 0.5, "most": 2.0}, Outcome.CHANCE, id="around both"),
        pytest.param((1.0,), {"spread": "sift", "most": 2.0}, Outcome.HOLDS, id="no spread"),
        pytest.param((math.nan,), {}, Outcome.UNKNOWN, id="not measured"),
    ],
)
def test_a_claim_is_decided_where_all_rounds_agree(
    ratios: tuple[float, ...], claim: dict[str, float], outcome: Outcome
) -> None:
    assert Judged(claim, ratios).outcome is outcome


def test_what_is_counted_is_never_left_to_chance() -> None:
    assert Judged({"most": 1.0}, (1.0,), timed=False).outcome is Outcome.HOLDS
    assert Judged({"most": 1.0}, (1.001,), timed=False).outcome is Outcome.FAILS
    assert Judged({"most": 1.0}, (1.0 / CLOSE, 1.0), timed=True).outcome is Outcome.CHANCE


def test_a_ratio_is_told_with_its_rounds() -> None:
    assert ours(Judged({}, (2.0, 1.0, 4.0))) == "2 (1 to 4)"
    assert ours(Judged({}, (2.0, 2.0))) == "2"


def test_curves_are_the_medians_of_the_rounds() -> None:
    rounds = [rows({"sift": [value, 1.0]}) for value in (5.0, 1.0, 2.0)]
    assert middle(rounds) == rows({"sift": [2.0, 1.0]})


@pytest.mark.parametrize(("jobs", "name"), [(1, "vldb-16"), (2, "pstree-15b")])
def test_a_killed_run_goes_on_where_it_was(
    jobs: int, name: str, tmp_path: Path, monkeypatch
) -> None:
    panel, results = tiny(name), Results("tiny", tmp_path)
    effort = Effort(rounds=2, jobs=jobs, patience=0.0)
    keep, kept = Results.keep, []

    def killed(self: Results, made: list[Row]) -> None:
        keep(self, made)
        kept.extend(made)
        if len(made) == len(kept):
            raise KeyboardInterrupt

    monkeypatch.setattr(Results, "keep", killed)
    with pytest.raises(KeyboardInterrupt):
        running.run([panel], results, effort)
    with results.path.open("a", encoding="utf-8") as file:
        file.write('{"case": "kindex on so')  # the kill tore a line
    again = Results("tiny", tmp_path)
    assert again.rounds.keys() == {row["case"] for row in kept}
    assert running.run([panel], again, effort) == {}
    cases = [(case.key, nth) for case in panel.cases() for nth in (0, 1)]
    made = [(row["case"], row["round"]) for row in kept]
    assert sorted(made) == sorted(cases)  # none twice, none left out
    rounds = rounds_of(panel, Results("tiny", tmp_path))
    assert rounds is not None
    assert len(rounds) == 2
    assert running.run([panel], again, effort) == {}
    assert len(kept) == len(cases)


def test_a_run_begins_nothing_after_its_time_and_says_so(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr(running, "panels", lambda papers, scale: [tiny("vldb-18")])
    ways = {"scale": "tiny", "into": tmp_path, "rounds": 1}
    assert running.main([], **ways, within=-1.0) == 3
    assert Results("tiny", tmp_path).rounds == {}
    assert running.main([], **ways, within=1e6) == 0


def test_what_is_counted_is_counted_once(tmp_path: Path) -> None:
    reason = next(one for one in panels((REASONS,), "tiny") if one.figure == "steps-keywords")
    results = Results("tiny", tmp_path)
    assert running.run([reason], results, Effort(rounds=2, patience=0.0)) == {}
    assert {key: list(own) for key, own in results.rounds.items()} == {
        case.key: [0] for case in reason.cases()
    }
    assert len(rounds_of(reason, results) or []) == 1


def test_garbage_is_not_collected_while_measuring(monkeypatch) -> None:
    was_on, seen = gc.isenabled(), []
    draw = measuring.drawn
    monkeypatch.setattr(measuring, "drawn", lambda one: seen.append(gc.isenabled()) or draw(one))
    case = next(tiny("vldb-16").cases())
    measuring.measured([case], None, patience=0.0)
    assert seen[-1] is False
    assert gc.isenabled() == was_on


@pytest.mark.parametrize(
    ("siblings", "order"),
    [
        pytest.param({0: "0", 1: "1", 2: "2"}, [0, 1, 2], id="none shared"),
        pytest.param({0: "0-1", 1: "0-1", 2: "2-3", 3: "2-3"}, [0, 2, 1, 3], id="neighbours"),
        pytest.param({0: "0,2", 1: "1,3", 2: "0,2", 3: "1,3"}, [0, 1, 2, 3], id="far apart"),
        pytest.param({}, [0, 1], id="not told"),
        pytest.param({0: "8", 1: "8"}, [0, 1], id="told wrong"),
    ],
)
def test_processes_get_cores_of_their_own_first(
    siblings: dict[int, str], order: list[int], tmp_path: Path, monkeypatch
) -> None:
    for core, told in siblings.items():
        folder = tmp_path / f"cpu{core}" / "topology"
        folder.mkdir(parents=True)
        (folder / "thread_siblings_list").write_text(f"{told}\n", encoding="ascii")
    monkeypatch.setattr(cores, "_CPUS", tmp_path)
    monkeypatch.setattr(cores.os, "sched_getaffinity", lambda _: set(order), raising=False)
    assert cores.available() == order


def test_a_copy_without_a_repository_is_told_its_commit(monkeypatch) -> None:
    monkeypatch.setenv(COMMIT, "0123456789ab")
    assert commit() == "0123456789ab"


def test_a_wrong_number_of_matches_stops_a_panel_and_no_other(tmp_path: Path) -> None:
    wrong, right, results = tiny("vldb-16"), tiny("vldb-18"), Results("tiny", tmp_path)
    case = next(wrong.cases())
    results.begin()
    results.keep([{"case": case.key, "answers": "7:0123456789abcdef"}])
    stopped = running.run([wrong, right], results, BRIEF)
    assert list(stopped) == ["vldb-16"]
    assert "others 7:0123456789abcdef" in stopped["vldb-16"]
    assert rounds_of(wrong, results) is None
    assert rounds_of(right, results) is not None


def test_the_command_says_what_was_wrong(tmp_path: Path, monkeypatch, capsys) -> None:
    monkeypatch.setattr(running, "panels", lambda papers, scale: [tiny("vldb-18")])
    ways = {"scale": "tiny", "into": tmp_path, "rounds": 1}
    assert running.main(["vldb"], **ways) == 0
    path = tmp_path / "papers-tiny.jsonl"
    text = path.read_text(encoding="utf-8")
    lines = [json.loads(line) for line in text.splitlines()]
    first = next(line for line in lines if "answers" in line)
    path.write_text(json.dumps({**first, "answers": "1:0"}) + "\n", encoding="utf-8")
    assert running.main(["vldb"], **ways) == 1
    assert "vldb-18 stopped: " in capsys.readouterr().out
    assert running.main(["elsewhere"], **ways) == 2


def test_trees_that_grew_and_changed_are_measured_right(tmp_path: Path) -> None:
    results = Results("tiny", tmp_path)
    assert running.run([tiny("betree-13a"), tiny("betree-4")], results, BRIEF) == {}
    text = document(Evidence.of([tiny("betree-13a")], results), results)
    assert re.search(r"Verdict: \*\*(not )?reproduced\*\*", text)
    assert verdict_on(tiny("betree-4"), results).word != "not measured"


def test_a_tree_is_as_if_built_anew_once_all_its_subscriptions_were_exchanged() -> None:
    workload = {
        "kind": "switch", "steps": 4, "step": 4, "alpha_from": 0.0, "alpha_to": 1.0,
        "match_probability": 0.001, "n_subscriptions": 2_000, "n_events": 60,
    }  # fmt: skip
    setting = drawn(workload)
    candidates = {
        name: setting.build(name, {"max_cap": 5, "min_size": 3}).answer()[2]
        for name in ("betree", "betree/live", "betree/unadjusted")
    }
    assert candidates["betree/unadjusted"] > 1.4 * candidates["betree"]
    assert candidates["betree/live"] <= 1.1 * candidates["betree"]


def sections() -> Iterator[str]:
    panels_alone = EVIDENCE.read_text(encoding="utf-8").partition("## Why claims do not hold")[0]
    yield from panels_alone.split('<a id="')[1:]


def test_the_report_has_a_verdict_for_each_panel() -> None:
    found = {section.partition('"')[0]: section for section in sections()}
    assert list(found) == [panel.name for panel in panels()]
    for name, section in found.items():
        verdict = re.search(r"^Verdict: \*\*(reproduced|not reproduced)\*\*", section, re.MULTILINE)
        assert verdict, name
        assert (verdict[1] == "reproduced") == ("Measured at" not in section), name
        assert f"(evidence/{name}.svg)" in section


def test_every_panel_was_measured_and_every_claim_judged() -> None:
    """How a claim comes out is not for a test to say: see docs/decisions/papers-figures.md."""
    for one in Evidence.of(panels(), Results("small")).verdicts:
        assert one.rows is not None, one.panel.name
        assert one.claims
        assert not one.which(Outcome.UNKNOWN), one.panel.name


def told(claims: list[Judged], reasons: dict[str, list[Judged]]) -> str:
    """What the report says where a panel's claims came out like that, and the reasons' checks."""
    panel = tiny("vldb-16")
    flat = rows({line.label: [1.0] * len(panel.points) for line in panel.lines})
    flat = {label: [{**row, "candidates": 1.0} for row in own] for label, own in flat.items()}
    named = {
        name: Verdict(replace(panel, figure=name), flat, checks) for name, checks in reasons.items()
    }
    results = Results("tiny", Path("there is none"))
    return document(Evidence([Verdict(panel, flat, claims)], named), results)


def claim(*ratios: float, why: str = "") -> Judged:
    asked = {"text": "it is ahead", "paper": "2", "fast": "sift", "slow": "kindex", "why": why}
    return Judged({**asked, "expected": "over 1"}, ratios)


@pytest.mark.parametrize(
    ("claims", "reasons", "words"),
    [
        pytest.param([claim(2.0)], {}, ["| reproduced |", "Verdict: **reproduced**."], id="holds"),
        pytest.param(
            [claim(0.9, 1.2)],
            {},
            ["| not reproduced: undecided |", "nor refuted: chance decides", "1.05 (0.9 to 1.2)"],
            id="chance",
        ),
        pytest.param(
            [claim(0.5)],
            {},
            ["| not reproduced: no reason named |", "No reason named: it is ahead."],
            id="no reason",
        ),
        pytest.param(
            [claim(0.5, why="steps")],
            {"steps": [claim(3.0)]},
            ["| not reproduced: [steps](#why-steps) |", "Reason: [", "| 1 | 1 |"],
            id="explained",
        ),
        pytest.param(
            [claim(0.5, why="steps")],
            {"steps": [claim(3.0), claim(0.5)]},
            ["Reason, **refuted**: [", "[steps](#why-steps): **refuted** |", "| 1 | 0 |"],
            id="refuted",
        ),
        pytest.param(
            [claim(0.5, why="steps")],
            {"steps": [claim(3.0), claim(0.5, 2.0)]},
            ["Reason, undecided: [", "[steps](#why-steps): undecided |", "| 1 | 0 |"],
            id="a reason that chance decides",
        ),
    ],
)
def test_the_report_says_what_became_of_a_claim(
    claims: list[Judged], reasons: dict[str, list[Judged]], words: list[str]
) -> None:
    text = told(claims, reasons)
    for word in words:
        assert word in text, text


def test_the_report_is_what_the_results_say() -> None:
    results = Results("small")
    text = document(Evidence.of(panels(), results), results)
    assert EVIDENCE.read_text(encoding="utf-8").startswith(text)
