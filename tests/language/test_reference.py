"""The reference page of the text form: its rows run, and it has every function."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from remuda.language.text import FUNCTION_NAMES, parse, to_text
from remuda.model.functions import buckets, foreign

PAGE = Path(__file__).parents[2] / "docs" / "language.md"
ROW = re.compile(r"\| (?P<what>.+) \| `(?P<text>[^`]+)` \| `(?P<event>\{.*\})` \|")
TERMS = PAGE.read_text().partition("## Terms")[2]
ROWS = [found for line in TERMS.splitlines() if (found := ROW.fullmatch(line))]


@pytest.mark.parametrize("row", ROWS, ids=[row["what"][:40] for row in ROWS])
def test_the_example_is_true_of_its_event(row):
    event, expression = json.loads(row["event"]), parse(row["text"])
    assert expression.holds(event)
    assert parse(to_text(expression)).holds(event)


def test_every_function_of_the_language_is_on_the_page():
    quoted = " ".join(re.findall(r"`([^`]*)`", PAGE.read_text()))
    names = set(re.findall(r"\w+", quoted.lower()))
    # those of other systems' rules are for their readers, and have no words of their own
    assert FUNCTION_NAMES - buckets.FUNCTIONS.keys() - foreign.FUNCTIONS.keys() - names == set()
