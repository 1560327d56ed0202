"""How the tests of the command line run a command."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from typer.testing import CliRunner, Result

from remuda.cli.app import app

RULES = [
    {"id": "young", "expression": "age BETWEEN 18 AND 25", "tags": ["people"]},
    {"id": "android", "expression": "platform = 'android' AND age > 20"},
    {"id": "always", "form": "DNF", "conjunctions": []},
]
EVENTS = [{"age": 22, "platform": "android"}, {"age": 5}, {}]
MATCHED = [["young", "android", "always"], ["always"], ["always"]]


def run(*arguments: object, stdin: str | bytes | None = None) -> Result:
    """The command in this process, on a wide terminal."""
    words = [str(one) for one in arguments]
    return CliRunner().invoke(app, words, input=stdin, env={"COLUMNS": "200"})


def command_of(*arguments: object, before: str = "pass") -> list[str]:
    """The words that start the command as a process, perhaps after some Python."""
    code = f"{before}; from remuda.cli import main; main()"
    return [sys.executable, "-c", code, *map(str, arguments)]


def remuda(*arguments: object, before: str = "pass") -> subprocess.CompletedProcess[str]:
    """The command in a process of its own."""
    command = command_of(*arguments, before=before)
    return subprocess.run(command, capture_output=True, text=True, check=False)


def write_lines(path: Path, rows: list[Any]) -> Path:
    """JSON lines; text goes in as it is."""
    path.write_text(
        "".join(f"{one if isinstance(one, str) else json.dumps(one)}\n" for one in rows)
    )
    return path


def lines(text: str) -> list[Any]:
    return [json.loads(line) for line in text.splitlines()]
