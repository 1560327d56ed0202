"""Work on events portion by portion, on as many threads as there are cores, in their order."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, replace
from itertools import chain, islice
from typing import TypeVar

from remuda.encoding.events import A_COLUMN, AT_ONCE, Portion, Source

T = TypeVar("T")

THREADS = "REMUDA_THREADS"  # the environment variable that says how many
_FEWEST = 512  # events of a portion; for fewer, another thread is not worth its start
_STREAMED = 1 << 13  # events of a portion of a stream, where several threads are to share it
_FIRST = 256  # events that are asked about first, while it is not known how much they match
_UNKNOWN = 1 << 22  # matches that the first ones may have together
_HITS = 1 << 20  # matches of a portion
_GROWTH = 16  # times as many events as before at most, for the next ones may match more


def n_threads(threads: int | None) -> int:
    """How many threads there shall be: as told, as the environment says, or one a core."""
    if threads is None:
        text = os.environ.get(THREADS)
        if text is None:
            return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else _cores()
        if not text.isdecimal() or int(text) < 1:
            raise ValueError(f"{THREADS} is a number from 1 on, not {text!r}")
        return int(text)
    if threads < 1:
        raise ValueError(f"there is at least one thread, not {threads}")
    return threads


def _cores() -> int:
    return os.cpu_count() or 1


def sharing(source: Source, threads: int) -> int:
    """How many of the threads are worth their start for the events."""
    return 1 if source.n_rows is not None and source.n_rows <= _fewest(source) else threads


def _fewest(source: Source) -> int:
    """The events that are worth a thread."""
    return max(_FEWEST, A_COLUMN * source.n_columns)


@dataclass(slots=True)
class Size:
    """How many events to take at a time."""

    events: int
    most: int | None = None  # matches that they may have together

    @classmethod
    def few(cls, n_criteria: int) -> Size:
        """A size that follows the number of matches; at first, all criteria may hold."""
        return cls(max(1, min(_FIRST, _UNKNOWN // max(n_criteria, 1))), _HITS)

    @classmethod
    def counted(cls, n_criteria: int) -> Size:
        """The same where each is counted: as many matches as there are counts take no more room."""
        return replace(cls.few(n_criteria), most=max(_HITS, n_criteria))

    @classmethod
    def shared(cls, source: Source, threads: int, at_once: int = AT_ONCE) -> Size:
        """A size, no more than `at_once`, by which all threads have about the same to do."""
        if threads == 1:
            return cls(at_once)
        if source.n_rows is None:
            return cls(_STREAMED)
        n_turns = -(-source.n_rows // (at_once * threads)) * threads
        return cls(max(-(-source.n_rows // max(n_turns, 1)), min(_fewest(source), at_once)))

    def learn(self, n_events: int, n_matches: int) -> None:
        """Some events matched so many; bounds the next ones."""
        if self.most is not None:
            fitting = self.most * n_events // max(n_matches, 1)
            self.events = max(1, min(fitting, _GROWTH * n_events, AT_ONCE))


def in_order(
    source: Source, work: Callable[[Portion], T], threads: int, size: Size
) -> Iterator[tuple[Portion, T]]:
    """What the work makes of each portion, in the order of events; few are held at a time."""

    def portions() -> Iterator[Portion]:
        while (portion := source.take(size.events)) is not None:
            yield portion

    rest = portions()
    first = list(islice(rest, 2 if threads > 1 else 0))
    if len(first) < 2:  # nothing to share
        for portion in chain(first, rest):
            yield portion, work(portion)
        return
    with ThreadPoolExecutor(threads, "remuda") as pool:
        ahead: deque[tuple[Portion, Future[T]]] = deque()
        try:
            for portion in chain(first, rest):
                ahead.append((portion, pool.submit(work, portion)))
                if len(ahead) > threads:
                    yield _done(ahead)
            while ahead:
                yield _done(ahead)
        finally:  # an error, Ctrl-C, or nobody wants the rest
            for _, future in ahead:
                future.cancel()


def _done(ahead: deque[tuple[Portion, Future[T]]]) -> tuple[Portion, T]:
    portion, future = ahead.popleft()
    return portion, future.result()
