"""Ctrl-C wherever it may fall: other threads go on or are told, no lock is leaked, nothing lost."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

import remuda as rm
from remuda.engine.engine import Engine
from remuda.engine.log import Log
from remuda.errors import StorageError
from remuda.index import storage
from remuda.index.locking import Lock

PATIENCE = 240.0  # seconds after which something hangs

# a Ctrl-C that falls into a finalizer is told and goes by, and leaves a file to the collector
pytestmark = [
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
]


def interrupted(do: Callable[[], Any], nth: int) -> int:
    """Raise KeyboardInterrupt where the nth call of a function begins or ends; how many there were.

    These are the places where Python looks whether a signal has come.
    """
    n = 0

    def trace(frame: FrameType, kind: str, _: Any) -> Any:
        nonlocal n
        if kind in {"call", "return"}:
            n += 1
            if n == nth:
                raise KeyboardInterrupt
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        do()
    except KeyboardInterrupt:
        pass
    finally:
        sys.settrace(before)
    return n


def in_another_thread(do: Callable[[], Any]) -> None:
    """Wait for it to be done, or to be refused."""
    refusals = []

    def work() -> None:
        try:
            do()
        except StorageError as error:
            refusals.append(error)

    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    thread.join(PATIENCE)
    assert not thread.is_alive(), "it hangs"
    assert all("KeyboardInterrupt" in one.reason for one in refusals)


LOGGING = {
    "append": lambda log: log.append(b"body"),
    "wait": lambda log: log.wait(log.append(b"body")),
    "rotate": lambda log: log.rotate(),
    "close": lambda log: log.close(),
}


@pytest.mark.parametrize("what", LOGGING)
def test_ctrl_c_anywhere_in_the_log_hangs_nobody(tmp_path: Path, what: str) -> None:
    log = Log(tmp_path / "all", 0)
    n_places = interrupted(lambda: LOGGING[what](log), 0)
    log.close()
    assert n_places >= 2
    for nth in range(1, n_places + 1):
        log = Log(tmp_path / str(nth), 0)
        assert interrupted(lambda log=log: LOGGING[what](log), nth) == nth
        if what != "close":
            in_another_thread(lambda log=log: log.wait(log.append(b"another")))
        in_another_thread(log.close)


def rule(name: str, value: int = 1) -> rm.Criterion:
    return rm.Criterion(name, rm.attr("a") == value)


CHANGES = {
    "update": lambda engine: engine.update("ads", rule("a", 2)),
    "delete": lambda engine: engine.delete("ads", "a"),
    "make": lambda engine: engine.add("new", rule("a")),
    "replace": lambda engine: engine.replace("ads", "next"),
    "drop": lambda engine: engine.drop("next"),
    "checkpoint": lambda engine: engine.checkpoint(),
    "close": lambda engine: engine.close(),
}


def began(path: Path) -> Engine:
    engine = Engine(path, matcher="scan")
    engine.add("ads", [rule("a"), rule("b")])
    engine.add("next", rule("c"))
    return engine


def contents(engine: Engine) -> dict[str, str]:
    return {name: engine.export(name) for name in engine.names()}


@pytest.mark.parametrize("what", CHANGES)
def test_ctrl_c_anywhere_in_a_change_hangs_nobody(tmp_path: Path, monkeypatch, what: str) -> None:
    monkeypatch.setattr(storage, "_PATIENCE", 0.0)  # a lock that was leaked shows at once
    engine = began(tmp_path / "all")
    before = contents(engine)
    n_places = interrupted(lambda: CHANGES[what](engine), 0)
    after = contents(engine)
    engine.close()
    for nth in sorted({1 + n_places * i // 25 for i in range(25)}):
        path = tmp_path / str(nth)
        engine = began(path)
        interrupted(lambda engine=engine: CHANGES[what](engine), nth)
        if what != "close":
            in_another_thread(lambda engine=engine: engine.add("other", rule("d")))
            in_another_thread(engine.checkpoint)
        in_another_thread(engine.close)
        with Engine(path, matcher="scan") as again:
            found = contents(again)
            found.pop("other", None)
            assert found in (before, after)


def test_ctrl_c_anywhere_about_a_lock_leaks_none(tmp_path: Path) -> None:
    def locked() -> None:
        with Lock(tmp_path):
            pass

    n_places = interrupted(locked, 0)
    for nth in range(1, n_places + 1):
        interrupted(locked, nth)
        Lock(tmp_path).release()
