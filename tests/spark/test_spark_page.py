"""The page for Spark users runs from top to bottom, and prints what it says."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[2] / "docs" / "spark.md"


@pytest.mark.usefixtures("spark")
def test_the_page_runs(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    scope: dict[str, object] = {}
    blocks = re.findall(r"^```python\n(.*?)^```", PAGE.read_text(), re.DOTALL | re.MULTILINE)
    for block in blocks:
        exec(_elsewhere(block, tmp_path), scope)
    out = capsys.readouterr().out
    for said in re.findall(r"print\(.*\)  # ([^,…]+)", "".join(blocks)):
        if said[0].isdigit() or said.startswith(("v0", "agreed")):
            assert said in out
    assert "young-android" in out
    assert out.count("agreed") == 2


def _elsewhere(block: str, directory: Path) -> str:
    """The block with what Spark itself writes in that directory: its own is another than ours."""
    for name in ("rules.parquet", "visits"):
        block = block.replace(f'"{name}"', repr(str(directory / name)))
    return block
