"""Workloads into files: what is written can be read, checked and matched."""

from __future__ import annotations

from pathlib import Path

import pytest
from commands import run

from remuda.cli.events import each_event
from remuda.cli.files import read_criteria
from remuda.workload import KINDS

SIZES = {
    "begen": "n_subscriptions",
    "ads": "n_subscriptions",
    "qgrams": "n_subscriptions",
    "keywords": "n_queries",
    "vldb": "n_criteria",
    "mustang": "n_criteria",
    "nested": "n_expressions",
}


def test_every_kind_is_tried() -> None:
    assert set(SIZES) == {*KINDS, "nested"}


@pytest.mark.parametrize("kind", SIZES)
@pytest.mark.parametrize("text", [[], ["--text"]], ids=["json", "text"])
def test_what_is_generated_is_good(kind: str, text: list[str], tmp_path: Path) -> None:
    criteria, events = tmp_path / "criteria.jsonl", tmp_path / "events.jsonl"
    arguments = ["generate", kind, str(criteria), "--events", str(events), *text]
    result = run(*arguments, "--set", f"{SIZES[kind]}=20", "--local")
    assert result.exit_code == 0, result.output
    found = list(read_criteria([str(criteria)]))
    assert len({one.id for one in found}) == 20
    event = next(each_event(str(events)))
    assert {one.holds(event) for one in found} <= {True, False}


@pytest.mark.parametrize("given", ["no_such=1", "seed=x", "n_subscriptions"])
def test_wrong_parameters_are_wrong_usage(given: str, tmp_path: Path) -> None:
    result = run("generate", "begen", tmp_path / "x", "--set", given, "--local")
    assert result.exit_code == 2


def test_a_kind_that_is_none(tmp_path: Path) -> None:
    assert run("generate", "roses", tmp_path / "x", "--local").exit_code == 2
    assert run("generate", "begen", tmp_path / "x", "--text").exit_code == 2
