"""The container file, as far as it can be followed without a container."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from server_processes import COMMAND, PATIENCE, Started, until

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "Dockerfile").read_text().replace("\\\n", " ")
TOKEN = "a-token-for-reading"


def arguments_of(instruction: str) -> list[str]:
    """The words of the last instruction of a kind."""
    *_, words = re.findall(rf"^{instruction} (.*)$", TEXT, re.MULTILINE)
    found: Any = json.loads(words[words.index("[") :])
    return list(found)


def copied() -> list[str]:
    lines = re.findall(r"^COPY \S+ (.*) \S+$", TEXT, re.MULTILINE)
    return [one for line in lines for one in line.split()]


def test_it_names_what_is_there() -> None:
    assert {"src", "pyproject.toml", "constraints.txt"} <= set(copied())
    allowed = re.findall(r"^!(.*)$", (ROOT / ".dockerignore").read_text(), re.MULTILINE)
    assert set(copied()) <= set(allowed)
    assert all((ROOT / one).exists() for one in copied())
    assert TEXT.index("USER remuda") < TEXT.index("RUN remuda warmup") < TEXT.index("ENTRYPOINT")


def test_what_is_installed_has_all_that_is_copied_for_it() -> None:
    """The package's own files name others, and extras; none is missing in the image."""
    project = (ROOT / "pyproject.toml").read_text()
    named = set(re.findall(r'^(?:readme|license-files) = .*?"([^"]+)"', project, re.MULTILINE))
    assert named <= set(copied())
    (extras,) = re.findall(r"'/app\[(.*)\]'", TEXT)
    for one in extras.split(","):
        assert re.search(rf"^{one} = \[", project, re.MULTILINE), one


@pytest.mark.outside
def test_what_it_starts_serves_and_its_probe_says_so(tmp_path: Path) -> None:
    (tmp_path / "tokens").write_text(f"read {TOKEN}\n")
    moved = {"/data": str(tmp_path / "data"), "/run/secrets/tokens": str(tmp_path / "tokens")}
    command, serve, *words = [*arguments_of("ENTRYPOINT"), *arguments_of("CMD")]
    assert (command, serve) == ("remuda", COMMAND[-1])
    process = Started(*(moved.get(one, one) for one in words))
    try:
        until(lambda: process.url() or process.poll() is not None)
        port = str(process.url()).rpartition(":")[2]
        python, *probe = arguments_of("HEALTHCHECK")
        assert python == "python"
        ask = [sys.executable, *(one.replace(":8000/", f":{port}/") for one in probe)]
        until(lambda: subprocess.run(ask, capture_output=True, check=False).returncode == 0)
        process.terminate()
        assert process.wait(PATIENCE) == 0, process.told()
    finally:
        process.end()
