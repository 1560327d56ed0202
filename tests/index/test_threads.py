"""Eight threads search while one changes the index: each answer is that of some moment."""

from __future__ import annotations

import random
import threading
import time
from bisect import bisect_right
from collections import defaultdict

import numpy as np
import pytest

from remuda.index.index import Index
from remuda.language.criterion import Criterion
from remuda.language.python import attr
from strategies import SEED, count

CHANGES = count(2_000, 100_000)
STEADY, VOLATILE, READERS = 5_000, 100, 8


class History:
    """What the writer did, change by change: the bound that each id had from then on, or None."""

    def __init__(self) -> None:
        self.times: dict[str, list[int]] = defaultdict(list)
        self.bounds: dict[str, list[int | None]] = defaultdict(list)
        self.n = 0

    def note(self, name: str, bound: int | None) -> None:
        """Written before the change is made, so that a reader finds it in any case."""
        self.times[name].append(self.n + 1)
        self.bounds[name].append(bound)

    def answer(self, value: int, moment: int) -> set[str]:
        """The volatile ids that an event with the value satisfied after so many changes."""
        found = set()
        for name, times in self.times.items():
            at = bisect_right(times, moment) - 1
            bound = self.bounds[name][at] if at >= 0 else None
            if bound is not None and value >= bound:
                found.add(name)
        return found


def change(index: Index, history: History, rng: random.Random) -> None:
    name = f"v{rng.randrange(VOLATILE)}"
    last = history.bounds[name][-1] if history.bounds[name] else None
    bound = rng.randrange(100) if last is None or rng.random() < 0.6 else None
    history.note(name, bound)
    if bound is None:
        index.remove(name)
    elif last is None:
        index.add(Criterion(name, attr("v") >= bound))
    else:
        index.update(Criterion(name, attr("v") >= bound))
    history.n += 1


@pytest.mark.soak
def test_threads(capsys: pytest.CaptureFixture[str]) -> None:
    steady = [Criterion(f"s{i}", (attr("a") == i % 50) & (attr("b") >= i)) for i in range(STEADY)]
    index, history = Index.build(steady), History()
    rng = random.Random(SEED)
    answers: list[tuple[int, int, int, set[str]]] = []
    errors: list[BaseException] = []
    before, during = [], []
    seconds, stop = before, threading.Event()

    def read(seed: int) -> None:
        own = random.Random(seed)
        try:
            while not stop.is_set():
                value, first = own.randrange(100), history.n
                start = time.perf_counter()
                found = index.match({"v": value, "a": 7, "b": 100})
                seconds.append(time.perf_counter() - start)
                assert [name for name in found if name[0] == "s"] == ["s7", "s57"]
                volatile = {name for name in found if name[0] == "v"}
                assert len(volatile) == len(found) - 2, "no id comes twice"
                if own.random() < 0.2:
                    answers.append((value, first, history.n, volatile))
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=read, args=(seed,)) for seed in range(READERS)]
    for thread in threads:
        thread.start()
    time.sleep(count(1, 10))
    seconds = during
    for _ in range(CHANGES):
        change(index, history, rng)
    stop.set()
    for thread in threads:
        thread.join()
    assert errors == []
    for value, first, last, volatile in answers[:: max(len(answers) // 20_000, 1)]:
        moments = range(first, last + 2)
        assert any(history.answer(value, moment) == volatile for moment in moments)
    assert len(answers) > 10
    for moment in (0, 50, 99):
        assert {n for n in index.match({"v": moment}) if n[0] == "v"} == history.answer(
            moment, history.n
        )
    with capsys.disabled():
        if CHANGES > 2_000:
            for name, taken in (("before", before), ("during", during)):
                p50, p99, p999 = np.percentile(np.array(taken) * 1e6, (50, 99, 99.9))
                print(
                    f"\n{name} {CHANGES:,} changes: {len(taken):,} searches by {READERS} threads, "
                    f"half within {p50:,.0f} µs, 99 % within {p99:,.0f}, 99.9 % within {p999:,.0f}"
                )
            print(index.stats())
