"""An index that the tests of the command line share."""

from __future__ import annotations

from pathlib import Path

import pytest
from commands import EVENTS, RULES, run, write_lines


@pytest.fixture(scope="session")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A saved index of RULES, which no test changes."""
    home = tmp_path_factory.mktemp("saved")
    result = run("build", write_lines(home / "rules.jsonl", RULES), "-o", home / "index", "--local")
    assert result.exit_code == 0, result.output
    return home / "index"


@pytest.fixture
def rules(tmp_path: Path) -> Path:
    return write_lines(tmp_path / "rules.jsonl", RULES)


@pytest.fixture
def events(tmp_path: Path) -> Path:
    return write_lines(tmp_path / "events.jsonl", EVENTS)
