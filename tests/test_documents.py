"""What the documents say is so: the paths they name exist, the first use runs."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
DOCUMENTS = [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("benchmarks/*.md")]


def blocks(text: str) -> list[str]:
    return re.findall(r"^```python\n(.*?)^```", text, re.DOTALL | re.MULTILINE)


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_paths_exist(document: Path) -> None:
    text = document.read_text(encoding="utf-8")
    named = re.findall(r"`((?:src|tests|benchmarks|docs)/[\w/.-]*)`", text)
    linked = re.findall(r"\]\(((?!http|#)[^)]+)\)", text)
    missing = [path for path in named if not (ROOT / path).exists()]
    missing += [path for path in linked if not (document.parent / path).exists()]
    assert not missing


def test_the_first_use_runs_and_says_what_its_comments_say() -> None:
    scope: dict[str, object] = {}
    n_checked = 0
    for block in blocks((ROOT / "README.md").read_text(encoding="utf-8")):
        exec(block, scope)
        for line in block.splitlines():
            claim = re.match(r"(\S.*\S)\s+# (\[.*)$", line)
            if claim:
                n_checked += 1
                assert repr(eval(claim[1], scope)) == claim[2], line
    assert n_checked >= 4


def test_the_explanation_in_the_readme_is_what_is_printed(capsys) -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    scope: dict[str, object] = {}
    for block in blocks(text):
        exec(block, scope)
    assert capsys.readouterr().out.strip() in text
