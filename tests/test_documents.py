"""What the documents say is so: the paths they name exist, the examples run."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

import remuda as rm

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


@pytest.mark.parametrize(
    "document",
    ["README.md", "docs/formats.md", "docs/language.md", "docs/regions.md", "docs/live.md"],
)
def test_examples_run_and_say_what_their_comments_say(document: str) -> None:
    scope: dict[str, object] = {}
    n_checked = 0
    for block in blocks((ROOT / document).read_text(encoding="utf-8")):
        exec(block, scope)
        for line in block.splitlines():
            claim = re.match(r"(\S.*\S)\s+# (\[.*)$", line)
            if claim:
                n_checked += 1
                assert repr(eval(claim[1], scope)) == claim[2], line
    assert n_checked >= 3


def test_the_explanation_in_the_readme_is_what_is_printed(capsys) -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    scope: dict[str, object] = {}
    for block in blocks(text):
        exec(block, scope)
    assert capsys.readouterr().out.strip() in text


ROW = re.compile(r"^\| [^|]+ \| `(?P<python>.+?)` \| `(?P<text>.+?)` \| `(?P<detail>.+?)` \|$")


def test_the_rows_of_the_language_say_the_same_in_every_form() -> None:
    lines = (ROOT / "docs/language.md").read_text(encoding="utf-8").splitlines()
    rows = [row for row in map(ROW.match, lines) if row]
    assert len(rows) >= 5
    for row in rows:
        asked = eval(row["python"], {"attr": rm.attr})
        assert rm.parse(row["text"]) == asked
        written = rm.Criterion("c", asked).to_json()["conjunctions"][0]["predicates"][0]
        assert written["detail"] == json.loads(row["detail"])
