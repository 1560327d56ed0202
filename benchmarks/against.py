"""A benchmark's cases by turns in this tree and in a checkout of another commit.

Both sides run the same cases, those of this tree (`benchmarks/turns.py`), each in a process of its
own with its own sources in front. One call here, one there, and so on: whatever else the machine
does falls on both. Times are CPU seconds; the ratio is the median of the pairs' ratios.
"""

from __future__ import annotations

import io
import os
import statistics
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from rich.console import Console
from rich.table import Table

from benchmarks import turns
from benchmarks.measure import WrongAnswer

_HERE = Path(__file__).parents[1]
_PAIRS = 15
_LONG_ENOUGH = 0.05  # seconds of calls that make one figure


class Figure(NamedTuple):
    """The median seconds of one call on both sides, and the median ratio of the pairs."""

    here: float
    there: float
    ratio: float


def main(name: str, commit: str, only: Sequence[str], pairs: int = _PAIRS) -> int:
    """Print a row for every way of every case; 1 if an answer was wrong, 2 without cases."""
    cases = turns.cases(name, only)
    if not cases:
        print(f"{name!r} has no cases to run by turns; `bench` lists the names", file=sys.stderr)
        return 2
    console = Console(width=max(110, Console().width))
    table = Table(title=f"{name}: this tree beside {commit}", title_justify="left")
    for column in ("case", "way", "here µs", "there µs", "ratio"):
        table.add_column(column, justify="left" if column[0] in "cw" else "right")
    wrong = 0
    with ExitStack() as stack:
        sides = [stack.enter_context(_side(tree)) for tree in (_HERE, checkout(commit))]
        for case in cases:
            try:
                for way, figure in _figures(sides, case, max(pairs, _PAIRS)):
                    us = (f"{seconds * 1e6:,.1f}" for seconds in figure[:2])
                    table.add_row(case.label, way, *us, f"{figure.ratio:.3f}")
            except WrongAnswer as error:
                wrong += 1
                console.print(f"{case.label}: {error}")
    console.print(table)
    return 1 if wrong else 0


def checkout(commit: str) -> Path:
    """The files of a commit, in a directory of their own that the next run finds again."""
    name = _git("rev-parse", "--verify", f"{commit}^{{commit}}").decode().strip()
    target = Path(tempfile.gettempdir()) / f"remuda-{name}"
    if not (target / "src").exists():
        with tempfile.TemporaryDirectory(dir=target.parent) as made:
            with tarfile.open(fileobj=io.BytesIO(_git("archive", name))) as archive:
                archive.extractall(made, filter="data")
            Path(made).rename(target)
            Path(made).mkdir()
    return target


def _git(*arguments: str) -> bytes:
    return subprocess.run(["git", *arguments], cwd=_HERE, check=True, capture_output=True).stdout


@contextmanager
def _side(tree: Path) -> Iterator[subprocess.Popen[str]]:
    """A process that has the sources of that tree, and takes one question a line."""
    environment = {**os.environ, "PYTHONPATH": str(tree / "src")}
    command = [sys.executable, "-m", "benchmarks.turns"]
    with subprocess.Popen(
        command, cwd=_HERE, env=environment, text=True, bufsize=1,
        stdin=subprocess.PIPE, stdout=subprocess.PIPE,
    ) as process:  # fmt: skip
        if hasattr(os, "sched_setaffinity"):  # on one core: what shares it falls on both
            os.sched_setaffinity(process.pid, {max(os.sched_getaffinity(0))})
        yield process
        assert process.stdin is not None
        process.stdin.close()


def _ask(side: subprocess.Popen[str], question: Any) -> Any:
    assert side.stdin is not None
    assert side.stdout is not None
    side.stdin.write(turns.line(question))
    answer = side.stdout.readline()
    if not answer:
        raise WrongAnswer(f"one side ended with {side.wait()}")
    return turns.read(answer)


def _figures(
    sides: list[subprocess.Popen[str]], case: turns.Case, pairs: int
) -> Iterator[tuple[str, Figure]]:
    """Every way of the case that both sides know, once they agree on what there is to find."""
    prepared = [_ask(side, {"case": case._asdict()}) for side in sides]
    found = {one["matches"] for one in prepared} | {case.matches or prepared[0]["matches"]}
    if len(found) > 1:
        raise WrongAnswer(f"one side found other matches: {sorted(found)}")
    for way in prepared[0]["ways"]:
        first = [_ask(side, {"way": way, "times": 1}) for side in sides]
        times = int(min(max(_LONG_ENOUGH / max(*first, 1e-7), 1), 10_000))
        taken = []
        for turn in range(pairs):
            order = sides if turn % 2 else sides[::-1]
            seconds = [_ask(side, {"way": way, "times": times}) for side in order]
            taken.append(seconds if turn % 2 else seconds[::-1])
        here, there = (statistics.median(column) / times for column in zip(*taken, strict=True))
        ratio = statistics.median(one[0] / one[1] for one in taken)
        yield way, Figure(here, there, ratio)
