"""Recursion on any stack: deep where the caller is, again in a fork, and never without end."""

from __future__ import annotations

import os
import sys
import threading
import time

import pytest

from remuda.model import stacks
from remuda.model.stacks import on_any_stack


def deep(levels: int) -> int:
    return deep(levels - 1) + 1 if levels else 0


def test_what_the_caller_has_no_room_for_has_a_stack_of_its_own() -> None:
    before = sys.getrecursionlimit()
    with pytest.raises(RecursionError):
        deep(3_000)
    assert on_any_stack(lambda: deep(3_000)) == 3_000
    assert sys.getrecursionlimit() == before


def test_what_has_no_end_is_an_error_and_no_deadlock() -> None:
    with pytest.raises(RecursionError):
        on_any_stack(lambda: on_any_stack(lambda: deep(10**6)))
    assert on_any_stack(lambda: deep(3_000)) == 3_000


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_a_fork_while_another_thread_recurses_does_not_wait_for_it() -> None:
    with stacks._one_at_a_time:  # as that thread would
        child = os.fork()
        if child == 0:
            os._exit(0 if on_any_stack(lambda: deep(3_000)) == 3_000 else 1)
        assert os.waitpid(child, 0)[1] == 0


def test_an_interrupt_leaves_the_limit_until_the_stack_is_done(monkeypatch) -> None:
    """A limit that is lowered beneath a thread's depth ends the whole interpreter."""
    before, limits, caller = sys.getrecursionlimit(), [], threading.current_thread()
    join, interrupted = threading.Thread.join, []

    def call() -> None:
        if threading.current_thread() is caller:
            raise RecursionError
        time.sleep(0.1)
        limits.append(sys.getrecursionlimit())

    def joined(thread: threading.Thread, timeout: float | None = None) -> None:
        if not interrupted:
            interrupted.append(thread)
            raise KeyboardInterrupt
        join(thread, timeout)

    monkeypatch.setattr(threading.Thread, "join", joined)
    with pytest.raises(KeyboardInterrupt):
        on_any_stack(call)
    assert (limits, sys.getrecursionlimit()) == ([max(before, 6_000)], before)
