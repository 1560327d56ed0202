"""Answers as tables: in pieces that stay small, with ids as texts or numbers."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

import remuda as rm
from remuda.errors import RemudaError
from remuda.index import answers, portions
from remuda.index.matches import Matches
from remuda.index.question import Question
from remuda.language.criterion import Criterion
from remuda.language.text import parse

COUNTS = {
    "none at all": [],
    "nothing matches": [0, 0],
    "few": [1, 0, 2],
    "as many as a piece": [4, 4],
    "one more than a piece": [5],
    "several pieces each": [9, 0, 13, 1, 4, 0],
    "many small ones": [1] * 11,
}


@pytest.fixture(scope="module")
def index() -> rm.Index:
    return rm.Index.build(Criterion(str(i), parse(f"a > {i}"), tags={"t"}) for i in range(20))


def events(counts: list[int]) -> pa.RecordBatch:
    return pa.RecordBatch.from_pydict({"a": pa.array(counts, pa.int64())})


@pytest.mark.parametrize("numbered", [False, True], ids=["texts", "numbers"])
@pytest.mark.parametrize("n", [None, 20], ids=["all", "the best"])
@pytest.mark.parametrize("case", COUNTS)
def test_pieces_have_what_the_whole_has(
    case: str, n: int | None, numbered: bool, index: rm.Index, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(answers, "_PIECE", 4)
    rows = events(COUNTS[case])
    numbers = np.arange(100, 120) if numbered else None
    for portion, matches in index.ask(rows, Question.of(n=n)):
        tables = list(answers.in_pieces(portion.rows, matches, "v1", "found", numbers))
        pieces = [row for table in tables for row in table.to_pylist()]
        assert all(sum(len(row["found"]) for row in one.to_pylist()) <= 4 for one in tables)
        whole = answers.listed(matches, numbers).to_pylist()
        pairs = [(row["a"], one) for row in pieces for one in row["found"]]
        assert pairs == [
            (a, one) for a, found in zip(COUNTS[case], whole, strict=True) for one in found
        ]
        assert {row["index_version"] for row in pieces} <= {"v1"}


def test_an_array_that_spark_could_not_hold_is_refused() -> None:
    offsets = np.array([0, 1, 1 + 40_000_000])
    matches = Matches(offsets, np.empty(0, np.int32), None)  # type: ignore[arg-type]
    with pytest.raises(RemudaError, match="40,000,000 matches, too many for one array: explode"):
        answers.check_lists(matches)
    answers.check_lists(matches, np.empty(0, np.int64))


SIZES = {"small": (10, 256), "a million": (1_000_000, 4), "more than is held": (50_000_000, 1)}


@pytest.mark.parametrize("case", SIZES)
def test_the_first_events_are_few_where_they_may_match_much(case: str) -> None:
    n_criteria, n_events = SIZES[case]
    assert portions.Size.few(n_criteria).events == n_events
