"""CPU seconds of this thread: what a call takes, and the least of several."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any


def timed(call: Callable[[], Any]) -> tuple[Any, float]:
    """What a call gives, and its seconds."""
    start = time.thread_time()
    result = call()
    return result, time.thread_time() - start


def best(call: Callable[[], Any], rounds: int = 5) -> float:
    """The least seconds of several calls, after one that warms up."""
    call()
    return min(timed(call)[1] for _ in range(rounds))


def best_within(call: Callable[[], Any], patience: float) -> float:
    """The least seconds of as many calls as fit, at least one."""
    call()
    seconds, begin = [], time.monotonic()
    while not seconds or time.monotonic() - begin < patience:
        seconds.append(timed(call)[1])
    return min(seconds)
