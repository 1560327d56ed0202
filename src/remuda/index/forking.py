"""What a forked process does first: it has one thread, so no lock is held by another."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any, TypeVar
from weakref import WeakKeyDictionary

T = TypeVar("T")

_TASKS: WeakKeyDictionary[Any, Callable[[Any], None]] = WeakKeyDictionary()


def in_child(owner: T, do: Callable[[T], None]) -> None:
    """Call `do(owner)` in every process that is forked from this one while the owner lives."""
    _TASKS[owner] = do


def _do_all() -> None:
    for owner, do in list(_TASKS.items()):
        do(owner)


if hasattr(os, "register_at_fork"):  # where it is not there, nothing forks
    os.register_at_fork(after_in_child=_do_all)
