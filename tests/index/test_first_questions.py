"""What is compiled ahead, so that no first question waits for it."""

from __future__ import annotations

import multiprocessing

import pyarrow as pa
import pytest

from remuda import Criterion, Index, parse
from remuda.compiling import interpreted
from remuda.index import first_questions
from remuda.index.first_questions import compiled_ahead
from remuda.jit import kernel

CRITERIA = [
    Criterion(f"c{i}", parse(f"age > {i} AND (city = 'c{i % 7}' OR name LIKE '%{i}%')"))
    for i in range(40)
]
EVENTS = pa.table({"age": [3, 30, None], "city": ["c1", "c2", "c3"], "name": ["7", None, "x11"]})


@pytest.mark.parametrize("threads", ["1", "2"])
def test_all_steps_are_done_whatever_the_number_of_processes(threads, monkeypatch) -> None:
    monkeypatch.setenv("REMUDA_THREADS", threads)
    with compiled_ahead(CRITERIA, EVENTS, "scan") as steps:
        assert [step.result() for step in steps] == [None] * len(first_questions._STEPS)


def test_where_nothing_can_be_kept_this_process_does_it(monkeypatch) -> None:
    monkeypatch.setattr(first_questions, "kept_in", lambda: None)
    with compiled_ahead(CRITERIA, EVENTS, "scan") as steps:
        for step in steps:
            step.result()


def test_what_a_step_raises_is_raised_here(monkeypatch) -> None:
    monkeypatch.setenv("REMUDA_THREADS", "2")
    with compiled_ahead([*CRITERIA, CRITERIA[0]], EVENTS, "scan") as steps:
        assert all(step.exception() is not None for step in steps)


def test_whoever_leaves_early_leaves_nothing_running(monkeypatch) -> None:
    monkeypatch.setenv("REMUDA_THREADS", "2")
    before = set(multiprocessing.active_children())
    with pytest.raises(KeyboardInterrupt), compiled_ahead(CRITERIA, EVENTS, "scan"):
        raise KeyboardInterrupt
    assert set(multiprocessing.active_children()) <= before


def test_an_index_that_was_built_without_kernels_answers_as_any_other() -> None:
    with interpreted():
        index = Index.build(CRITERIA)
    assert (
        index.match_many(EVENTS).to_arrow() == Index.build(CRITERIA).match_many(EVENTS).to_arrow()
    )


def test_nothing_is_compiled_meanwhile() -> None:
    @kernel
    def twice(x: int) -> int:
        return 2 * x

    with interpreted():
        assert twice(3) == 6
    assert not twice._entries  # type: ignore[attr-defined]
    assert twice(3) == 6
    assert twice._entries  # type: ignore[attr-defined]
