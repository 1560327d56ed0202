"""The papers' figures: all are defined, a run goes on where it was, and wrong answers stop it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from benchmarks.papers import running
from benchmarks.papers.evidence import document, verdict_on, word
from benchmarks.papers.judging import Judged, judged, rows_of
from benchmarks.papers.measuring import Row
from benchmarks.papers.panels import SCALES, Panel, panels
from benchmarks.papers.results import Results
from benchmarks.papers.settings import generator

FIGURES = {
    "vldb": "14 15 16 17 18 19",
    "betree": "4 5a 5b 6a 6b 7a 7b 8a 8b 8c 8d 9a 9b 10a 10b"
    " 11a 11b 11c 11d 11e 11f 12a 12b 13a 13b",
    "pstree": "5a 5b 5c 5d 6a 6b 7a 7b 8a 8b 9a 9b 10a 10b 11a 11b 12a 12b 13a 13b 14a 14b 15a 15b",
}

EVIDENCE = Path(__file__).parents[1] / "docs" / "evidence.md"


def tiny(name: str) -> Panel:
    return next(panel for panel in panels(scale="tiny") if panel.name == name)


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


@pytest.mark.parametrize("scale", ["small", "paper"])
def test_claims_speak_of_curves_and_points_that_are_there(scale: str) -> None:
    for panel in panels(scale=scale):
        flat = {line.label: [{panel.metric: 1.0}] * len(panel.points) for line in panel.lines}
        assert panel.claims
        for one in judged(panel, flat):
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
    assert judged(changed, rows(curves))[0].ratio == pytest.approx(ratio)


@pytest.mark.parametrize(
    ("ratio", "bounds", "holds"),
    [
        (1.01, {}, True),
        (0.99, {}, False),
        (0.99, {"least": 0.5, "most": 2.0}, True),
        (2.01, {"least": 0.5, "most": 2.0}, False),
    ],
)
def test_a_claim_holds_within_its_bounds(
    ratio: float, bounds: dict[str, float], holds: bool
) -> None:
    assert Judged(bounds, ratio).holds == holds


def test_a_killed_run_goes_on_where_it_was(tmp_path: Path, monkeypatch) -> None:
    panel, results = tiny("vldb-16"), Results("tiny", tmp_path)
    keep, kept = Results.keep, []

    def killed(self: Results, made: list[Row]) -> None:
        keep(self, made)
        kept.extend(made)
        if len(kept) == 3:
            raise KeyboardInterrupt

    monkeypatch.setattr(Results, "keep", killed)
    with pytest.raises(KeyboardInterrupt):
        running.run([panel], results, patience=0.0)
    with results.path.open("a", encoding="utf-8") as file:
        file.write('{"case": "kindex on so')  # the kill tore a line
    again = Results("tiny", tmp_path)
    assert again.rows.keys() == {row["case"] for row in kept}
    assert running.run([panel], again, patience=0.0) == {}
    cases = [case.key for case in panel.cases()]
    assert sorted(row["case"] for row in kept) == sorted(cases)  # none twice, none left out
    assert rows_of(panel, Results("tiny", tmp_path)) is not None
    assert running.run([panel], again, patience=0.0) == {}
    assert len(kept) == len(cases)


def test_a_wrong_number_of_matches_stops_a_panel_and_no_other(tmp_path: Path) -> None:
    wrong, right, results = tiny("vldb-16"), tiny("vldb-18"), Results("tiny", tmp_path)
    case = next(wrong.cases())
    results.begin()
    results.keep([{"case": case.key, "answers": "7:0123456789abcdef"}])
    stopped = running.run([wrong, right], results, patience=0.0)
    assert list(stopped) == ["vldb-16"]
    assert "others 7:0123456789abcdef" in stopped["vldb-16"]
    assert rows_of(wrong, results) is None
    assert rows_of(right, results) is not None


def test_the_command_says_what_was_wrong(tmp_path: Path, monkeypatch, capsys) -> None:
    monkeypatch.setattr(running, "Results", lambda scale: Results(scale, tmp_path))
    monkeypatch.setattr(running, "panels", lambda papers, scale: [tiny("vldb-18")])
    assert running.main(["vldb"], scale="tiny") == 0
    path = tmp_path / "papers-tiny.jsonl"
    text = path.read_text(encoding="utf-8")
    lines = [json.loads(line) for line in text.splitlines()]
    first = next(line for line in lines if "answers" in line)
    path.write_text(json.dumps({**first, "answers": "1:0"}) + "\n", encoding="utf-8")
    assert running.main(["vldb"], scale="tiny") == 1
    assert "vldb-18 stopped: " in capsys.readouterr().out
    assert running.main(["elsewhere"], scale="tiny") == 2


def test_trees_that_grew_and_changed_are_measured_right(tmp_path: Path) -> None:
    results = Results("tiny", tmp_path)
    assert running.run([tiny("betree-13a"), tiny("betree-4")], results, patience=0.0) == {}
    text = document([verdict_on(tiny("betree-13a"), results)], results)
    assert re.search(r"Verdict: \*\*(not )?reproduced\*\*", text)
    assert word(verdict_on(tiny("betree-4"), results)) != "not measured"


def sections() -> Iterator[str]:
    yield from EVIDENCE.read_text(encoding="utf-8").split('<a id="')[1:]


def test_the_report_has_a_verdict_for_each_panel() -> None:
    found = {section.partition('"')[0]: section for section in sections()}
    assert list(found) == [panel.name for panel in panels()]
    for name, section in found.items():
        verdict = re.search(r"^Verdict: \*\*(reproduced|not reproduced)\*\*", section, re.MULTILINE)
        assert verdict, name
        assert (verdict[1] == "reproduced") == ("Measured at" not in section), name
        assert f"(evidence/{name}.svg)" in section


def test_the_report_is_what_the_results_say() -> None:
    results = Results("small")
    text = document([verdict_on(panel, results) for panel in panels()], results)
    assert EVIDENCE.read_text(encoding="utf-8").startswith(text)
