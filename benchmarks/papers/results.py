"""Results: one line of JSON for each measurement, written when it is made and never changed."""

from __future__ import annotations

import json
import os
import platform
import subprocess
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numba
import numpy as np

from benchmarks.papers.measuring import Row
from benchmarks.papers.panels import HERE, Case, name_of
from benchmarks.report import RESULTS

UNKNOWN = "not recorded"
COMMIT = "REMUDA_COMMIT"


class Results:
    """What was measured at one scale; a run that is killed leaves at most its last line torn.

    A run that begins `anew` has a file of its own, which replaces the other once it is complete.
    """

    def __init__(self, scale: str, folder: Path = RESULTS, *, anew: bool = False) -> None:
        self.kept = folder / f"papers-{scale}.jsonl"
        self.path = self.kept.with_suffix(".new.jsonl") if anew else self.kept
        lines = _lines(self.path)
        self.rounds: dict[str, dict[int, Row]] = {}  # of each case
        self.sessions: list[Row] = [row for row in lines if "session" in row]
        self._answers: dict[str, str] = {}
        self._take([row for row in lines if "answers" in row])

    def has(self, case: Case, nth: int = 0) -> bool:
        """Whether the case was measured in that round; what is counted is so in all of them."""
        return (0 if case.counts else nth) in self.rounds.get(case.key, {})

    def answers(self, workload: dict[str, Any]) -> str | None:
        """The fingerprint of the answers to a workload, if an algorithm has given them."""
        return self._answers.get(name_of(workload))

    @property
    def commits(self) -> list[str]:
        """The trees that were measured, one after the other."""
        return list(dict.fromkeys(session.get("commit", UNKNOWN) for session in self.sessions))

    def replace(self) -> None:
        """Put what was measured anew in the place of what was there."""
        self.path.replace(self.kept)
        self.path = self.kept

    def begin(self, jobs: int = 1, pinned: bool = False) -> None:
        """Note the day, the tree and the machine, and whether each process has its own core."""
        session = {
            "session": datetime.now(UTC).isoformat(timespec="seconds"),
            "commit": commit(),
            "jobs": jobs,
            "pinned": pinned,
            "load": round(os.getloadavg()[0], 1),
            "processor": _processor(),
            "cores": os.cpu_count(),
            "python": platform.python_version(),
            "numpy": np.__version__,
            "numba": numba.__version__,
        }
        self.sessions.append(session)
        self.path.parent.mkdir(parents=True, exist_ok=True)
        whole = self.path.read_bytes() if self.path.exists() else b""
        if not whole.endswith(b"\n"):  # a line was torn
            self.path.write_bytes(whole[: whole.rfind(b"\n") + 1])
        self._append([session])

    def keep(self, rows: Iterable[Row]) -> None:
        """Add measurements, on disk before it returns."""
        kept = list(rows)
        self._append(kept)
        self._take(kept)

    def _take(self, rows: list[Row]) -> None:
        for row in rows:
            self.rounds.setdefault(row["case"], {})[row.get("round", 0)] = row
            self._answers[row["case"].partition(" on ")[2]] = row["answers"]

    def _append(self, rows: list[Row]) -> None:
        with self.path.open("ab") as file:
            file.write(b"".join(json.dumps(row).encode() + b"\n" for row in rows))
            file.flush()
            os.fsync(file.fileno())


def commit() -> str:
    """The commit of the tree, with a plus sign where it has changes that are not committed.

    A copy without a repository is told its commit by the environment.
    """
    if COMMIT in os.environ:
        return os.environ[COMMIT]
    head = _git("rev-parse", "--short=12", "HEAD").strip()
    changes = _git("status", "--porcelain", "--", "src", "benchmarks", ":!benchmarks/results")
    return f"{head or UNKNOWN}{'+' if changes else ''}"


def _git(*arguments: str) -> str:
    """What git says of the tree; nothing where there is no repository."""
    try:
        told = subprocess.run(
            ["git", *arguments], cwd=HERE.parents[1], capture_output=True, text=True, check=False
        )
    except OSError:
        return ""
    return told.stdout if told.returncode == 0 else ""


def _lines(path: Path) -> list[Row]:
    """The whole lines of the file."""
    text = path.read_text(encoding="utf-8") if path.exists() else ""
    return [json.loads(line) for line in text[: text.rfind("\n") + 1].splitlines()]


def _processor() -> str:
    """What the machine calls its processor."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()
