"""Stacks: recursion whose depth does not hang on how deep its caller stands."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")

_FRAMES = 6_000  # 200 levels of text take up to 5,000 where sqlglot is not compiled
_BYTES = 1 << 26
_here = threading.local()  # `.deep` where a thread is such a stack
_one_at_a_time = threading.Lock()  # the interpreter has one limit for all threads


def _alone() -> None:
    """A forked process has one thread: none that could give the lock back."""
    global _one_at_a_time  # noqa: PLW0603
    _one_at_a_time = threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_alone)


def on_any_stack(call: Callable[[], T]) -> T:
    """What `call` gives; where the caller's stack is too deep for it, on a stack of its own.

    So it raises RecursionError for the same arguments in every process and from every place.
    """
    try:
        return call()
    except RecursionError:
        if getattr(_here, "deep", False):
            raise
        return _on_a_stack_of_its_own(call)


def _on_a_stack_of_its_own(call: Callable[[], T]) -> T:
    results: list[T] = []
    errors: list[BaseException] = []

    def run() -> None:
        _here.deep = True
        try:
            results.append(call())
        except BaseException as error:
            errors.append(error)

    with _one_at_a_time:
        frames, size = sys.getrecursionlimit(), threading.stack_size(_BYTES)
        thread = threading.Thread(target=run)
        try:
            sys.setrecursionlimit(max(frames, _FRAMES))
            thread.start()
            thread.join()
        finally:
            threading.stack_size(size)
            if thread.is_alive():  # Ctrl-C: a limit below its depth would end the interpreter
                thread.join()
            sys.setrecursionlimit(frames)
    if errors:
        raise errors[0]
    return results[0]
