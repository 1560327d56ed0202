"""A process whose threads change an engine while it forks, or while Ctrl-C falls anywhere.

It ends by itself; what is wrong is printed, and a hang is an error with all its stacks.
"""

from __future__ import annotations

import faulthandler
import os
import random
import signal
import sys
import threading
import time
import traceback
from pathlib import Path

import pytest

import remuda as rm
from remuda.engine.engine import Engine
from remuda.index import storage

PATIENCE = 240.0  # seconds after which something hangs
THREADS = 3
Model = dict[str, set[int | None]]  # by id: what its criterion may ask for; None: it may be gone


def criterion(id: str, value: int) -> rm.Criterion:
    return rm.Criterion(id, (rm.attr("a") == value) | (rm.attr("b") == value + 1))


class Writer:
    """One thread's own index, and what must be in it."""

    def __init__(self, name: str, seed: str) -> None:
        self.name, self.rng = name, random.Random(seed)
        self.model: Model = {}
        self.n_acknowledged = 0
        self.over = False

    def change(self, engine: Engine) -> None:
        """Change one criterion; until that is acknowledged, both may be there."""
        rng = self.rng
        name, value = f"c{rng.randrange(250)}", rng.randrange(1, 60)
        there = self.model.get(name, {None})
        gone = rng.random() < 0.2 and None not in there
        self.model[name] = there | {None if gone else value}
        if gone:
            engine.delete(self.name, name)
        else:
            engine.update(self.name, criterion(name, value))
        self.model[name] = {None if gone else value}
        self.n_acknowledged += 1

    def work(self, engine: Engine) -> None:
        try:
            while not self.over:
                self.change(engine)
        except rm.StorageError:  # Ctrl-C cut a change of the main thread short
            pass

    def check(self, engine: Engine) -> None:
        """Whether all is there that was acknowledged; what was in doubt is known then."""
        found = {}
        if self.name in engine:
            found = {one.id: one.expression for one in engine._criteria(self.name)}
        for name, values in self.model.items():
            told = {one: one and criterion(name, one).expression for one in values}
            fitting = {one for one, expected in told.items() if expected == found.get(name)}
            if not fitting:
                print(f"LOST {name} of {self.name}: {found.get(name)} is none of {told}")
            self.model[name] = fitting


def opened(path: Path, rng: random.Random) -> Engine:
    return Engine(path, matcher="scan", log_limit=rng.choice((3_000, 1 << 26)))


def started(engine: Engine, writers: list[Writer]) -> list[threading.Thread]:
    threads = []
    for one in writers:
        one.over = False
        threads.append(threading.Thread(target=one.work, args=(engine,), daemon=True))
        threads[-1].start()
    return threads


def ended(threads: list[threading.Thread], writers: list[Writer]) -> None:
    for one in writers:
        one.over = True
    for thread in threads:
        thread.join(PATIENCE)
        if thread.is_alive():
            faulthandler.dump_traceback(all_threads=True)
            print("HANG", flush=True)
            os._exit(3)


def forks(path: Path, seed: str, n: int) -> None:
    """Fork at random moments; no child hangs, writes, or keeps the lock."""
    rng = random.Random(seed)
    writers = [Writer(f"w{i}", f"{seed} {i}") for i in range(THREADS)]
    memory, alone = Engine(matcher="scan"), Writer("memory", seed)
    index = rm.Index.build([criterion("first", 1)], matcher="scan")
    n_forks = 0
    while n_forks < n:
        engine = opened(path, rng)
        for one in writers:
            one.check(engine)
            one.change(engine)
        alone.change(memory)
        threads = started(engine, writers) + started(memory, [alone])
        children = []
        for _ in range(min(rng.randrange(1, 6), n - n_forks)):
            time.sleep(rng.uniform(0, 0.02))
            children.append(forked(engine, memory, index, lingers=rng.random() < 0.5))
        n_forks += len(children)
        ended(threads, [*writers, alone])
        if rng.random() < 0.5:
            engine.close()
        else:
            if engine._background is not None:
                engine._background.join()
            engine._store.close()  # as a kill does
        opened(path, rng).close()  # though a child may live
        for pid, out, into in children:
            os.write(into, b".")  # that it is closed would not show: others have it, too
            status = os.waitpid(pid, 0)[1]
            if status != 0:
                print(f"CHILD hung or failed: {status}", flush=True)
            os.close(out)
            os.close(into)
    told(writers, f"{n_forks} forks")


def forked(
    engine: Engine, memory: Engine, index: rm.Index, *, lingers: bool
) -> tuple[int, int, int]:
    """A child that tries everything; it lives until it is told, if it lingers."""
    out, into = os.pipe()
    pid = os.fork()
    if pid:
        return pid, out, into
    code = 1
    try:
        faulthandler.dump_traceback_later(PATIENCE, exit=True)
        try_all(engine, memory, index)
        if lingers:
            os.read(out, 1)
        code = 0
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(code)


def try_all(engine: Engine, memory: Engine, index: rm.Index) -> None:
    """Searches go on in the child, changes in memory, and no others."""
    event = {"a": 5, "b": 7}
    for name in engine.names():
        assert engine.search(name, event) == engine.scan(name, event)
    for change in (
        lambda: engine.update("w0", criterion("child", 5)),
        lambda: engine.delete("w0", "c1"),
        lambda: engine.add("child", criterion("child", 5)),
        lambda: engine.drop("w0"),
        lambda: engine.replace("w0", "w1"),
        engine.checkpoint,
    ):
        with pytest.raises(rm.StorageError, match="this is a fork"):
            change()
    engine.close()
    memory.update("memory", criterion("child", 5))
    index.add(criterion("child", 5))
    assert "child" in memory.search("memory", event)
    assert "child" in index.match(event)


def interrupts(path: Path, seed: str, n: int) -> None:
    """Send Ctrl-C at random moments; the other threads go on or are told, and nothing is lost."""
    storage._PATIENCE = 0.0  # a lock that was leaked shows at once
    rng = random.Random(seed)
    writers = [Writer(f"w{i}", f"{seed} {i}") for i in range(THREADS)]
    main, others = writers[0], writers[1:]
    n_interrupts = 0
    while n_interrupts < n:
        engine = opened(path, rng)
        for one in writers:
            one.check(engine)
        threads = started(engine, others)
        try:
            signal.setitimer(signal.ITIMER_REAL, rng.expovariate(1 / 0.03))
            while True:
                main.change(engine)
                if rng.random() < 0.03:
                    engine.checkpoint()
        except KeyboardInterrupt:
            n_interrupts += 1
        except rm.StorageError as error:
            print("REFUSED", error, flush=True)
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
        ended(threads, others)
        n_interrupts += closed(engine, rng)
    told(writers, f"{n_interrupts} times Ctrl-C")


def closed(engine: Engine, rng: random.Random) -> int:
    """Close the engine, sometimes with Ctrl-C; how often that fell into it."""
    n_interrupts = 0
    while True:
        try:
            if n_interrupts == 0 and rng.random() < 0.5:
                signal.setitimer(signal.ITIMER_REAL, rng.uniform(0.0001, 0.03))
            engine.close()
            signal.setitimer(signal.ITIMER_REAL, 0)
        except KeyboardInterrupt:
            n_interrupts += 1
        else:
            return n_interrupts


def interrupt(_: int, __: object) -> None:
    raise KeyboardInterrupt


def told(writers: list[Writer], what: str) -> None:
    n = sum(one.n_acknowledged for one in writers)
    print(f"{what}, {n:,} acknowledged changes, all there", flush=True)


def main() -> None:
    what, path, seed, n = sys.argv[1], Path(sys.argv[2]), sys.argv[3], int(sys.argv[4])
    faulthandler.enable()
    warm = Engine(path.with_name("warm"), matcher="scan")
    warm.add("warm", [criterion(f"c{i}", i) for i in range(400)])
    warm.search("warm", {"a": 5})
    warm.close()
    if what == "forks":
        forks(path, seed, n)
    else:
        signal.signal(signal.SIGALRM, interrupt)
        interrupts(path, seed, n)


if __name__ == "__main__":
    main()
