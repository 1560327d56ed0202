"""The demo in this process, and the day that it draws."""

from __future__ import annotations

import numpy as np
import pytest
from commands import run

from remuda.cli.demo_data import draw_day


@pytest.mark.parametrize(("criteria", "events"), [(300, 400), (1, 1)])
def test_the_demo_checks_itself(criteria: int, events: int) -> None:
    result = run("demo", "--criteria", criteria, "--events", events, "--no-spark")
    assert result.exit_code == 0, result.output
    assert "all as they should be" in result.stdout


def test_the_demo_finds_a_wrong_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    from remuda.language.criterion import Criterion

    monkeypatch.setattr(Criterion, "holds", lambda *_, **__: True)
    result = run("demo", "--criteria", 50, "--events", 20, "--no-spark")
    assert isinstance(result.exception, AssertionError)


def test_a_seed_draws_one_day() -> None:
    days = [draw_day(np.random.default_rng(seed), 30, 20) for seed in (1, 1, 2)]
    texts = [[one.to_text() for one in campaigns] for campaigns, _ in days]
    assert texts[0] == texts[1] != texts[2]
    assert days[0][1].equals(days[1][1])


def test_no_demo_of_nothing() -> None:
    assert run("demo", "--criteria", 0).exit_code == 2
