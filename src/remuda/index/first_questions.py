"""What the first questions would wait for: kernels that are compiled, or loaded, ahead."""

from __future__ import annotations

import gc
import logging
import multiprocessing
import os
import signal
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import contextmanager

import pyarrow as pa

from remuda.compiling import interpreted
from remuda.index.index import Index, load
from remuda.index.portions import n_threads
from remuda.jit import kept_in
from remuda.language.criterion import Criterion
from remuda.language.text import parse


def ask_first(matcher: str = "auto") -> None:
    """Ask and change a small index of its own, so that whoever comes next waits for nothing."""
    index = Index.build([Criterion("a", parse("a = 1 OR b > 2 OR c LIKE '%d%'"))], matcher=matcher)
    index.match({"a": 1, "c": "d"})
    index.match_many([{"a": 1}])
    index.top({"a": 1}, 1)
    index.update(Criterion("b", parse("b = 1")))
    index.remove("a")
    index.merge()  # loading its kernels would hold up all who ask


@contextmanager
def compiled_ahead(
    criteria: Sequence[Criterion], events: pa.Table, matcher: str = "auto"
) -> Iterator[list[Future[None]]]:
    """Compile what an index of such criteria needs, each step in a process of its own.

    What they compile meets on disk; where it cannot be kept, this process compiles all of it.
    Whoever does not wait for the end leaves nothing running.
    """
    others = set(multiprocessing.active_children())
    with _executor() as executor:
        try:
            yield [executor.submit(_compile, step, criteria, events, matcher) for step in _STEPS]
        except BaseException:
            for process in set(multiprocessing.active_children()) - others:
                process.terminate()
            executor.shutdown(cancel_futures=True)
            raise


def _executor() -> Executor:
    n_processes = min(n_threads(None), len(_STEPS))
    if n_processes == 1 or kept_in() is None:
        return ThreadPoolExecutor(1)
    # a fork has all modules already; it is made before a status line has a thread of its own
    context = multiprocessing.get_context("fork" if sys.platform == "linux" else "spawn")
    return ProcessPoolExecutor(n_processes, context, _begin)


def _begin() -> None:
    """A process that compiles for another one: it says nothing, and ends with that one."""
    gc.disable()  # a search for cycles among all that is compiled frees little, and it ends soon
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the other's to hear
    logging.getLogger("remuda").setLevel(logging.ERROR)
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    assert parent is not None
    parent.join()
    os._exit(1)


def _compile(step: str, criteria: Sequence[Criterion], events: pa.Table, matcher: str) -> None:
    if step == "build":
        Index.build(criteria, matcher=matcher)
        return
    with interpreted():  # what building needs is compiled by that step
        index = Index.build(criteria, matcher=matcher)
    _STEPS[step](index, events)


def _merge(index: Index, _: pa.Table) -> None:
    index.remove(index.ids()[0])
    index.merge()


def _save(index: Index, _: pa.Table) -> None:
    with tempfile.TemporaryDirectory() as home:
        index.save(home)
        load(home).match({})  # what is loaded is checked by kernels


# By what is compiled for them, most first.
_STEPS: dict[str, Callable[[Index, pa.Table], object]] = {
    "build": lambda index, _: index,
    "match one": lambda index, events: index.match(events.slice(0, 1).to_pylist()[0]),
    "rank": lambda index, events: index.top_many(events, 3),
    "match many": lambda index, events: index.match_many(events),
    "save": _save,
    "merge": _merge,
    "near misses": lambda index, _: index.nearest({}, 1),
    "first questions": lambda index, _: ask_first(str(index.stats()["matcher"])),
}
