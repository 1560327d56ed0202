"""Stacks: recursion whose depth does not hang on how deep its caller stands."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


def on_any_stack(call: Callable[[], T]) -> T:
    """What `call` gives; where the caller's stack is too deep for it, on a stack of its own.

    So it raises RecursionError for the same arguments in every process and from every place.
    """
    try:
        return call()
    except RecursionError:
        return _on_a_stack_of_its_own(call)


def _on_a_stack_of_its_own(call: Callable[[], T]) -> T:
    results: list[T] = []
    errors: list[BaseException] = []

    def run() -> None:
        try:
            results.append(call())
        except BaseException as error:
            errors.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    if errors:
        raise errors[0]
    return results[0]
