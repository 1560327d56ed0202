"""CPU seconds of this thread: what a call takes, and the least of several."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Fresh:
    """A call about something that is made anew each time, and not timed while it is made."""

    make: Callable[[], Any]
    ask: Callable[[Any], Any]

    def __call__(self) -> Any:
        return self.ask(self.make())


def timed(call: Callable[[], Any]) -> tuple[Any, float]:
    """What a call gives, and its seconds."""
    start = time.thread_time()
    result = call()
    return result, time.thread_time() - start


def several(call: Callable[[], Any], times: int = 1) -> float:
    """The seconds of so many calls."""
    if not isinstance(call, Fresh):
        return timed(lambda: [call() for _ in range(times)])[1]
    made = [call.make() for _ in range(times)]
    return timed(lambda: [call.ask(one) for one in made])[1]


def best(call: Callable[[], Any], rounds: int = 5) -> float:
    """The least seconds of several calls, after one that warms up."""
    call()
    return min(several(call) for _ in range(rounds))


def best_within(call: Callable[[], Any], patience: float) -> float:
    """The least seconds of as many calls as fit, at least one."""
    call()
    seconds, begin = [], time.monotonic()
    while not seconds or time.monotonic() - begin < patience:
        seconds.append(timed(call)[1])
    return min(seconds)
