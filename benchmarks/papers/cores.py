"""Cores of the machine: one for each process that measures, so that none disturbs another."""

from __future__ import annotations

import os
from pathlib import Path

_CPUS = Path("/sys/devices/system/cpu")


def available() -> list[int]:
    """The cores that may be used, those that share one with another last; none if not known."""
    if not hasattr(os, "sched_getaffinity"):
        return []
    allowed = sorted(os.sched_getaffinity(0))
    siblings = {core: _siblings(core) for core in allowed}
    return sorted(allowed, key=lambda core: (siblings[core].index(core), core))


def pin(core: int | None) -> None:
    """Keep this process on the core."""
    if core is not None:
        os.sched_setaffinity(0, {core})


def _siblings(core: int) -> list[int]:
    """All that are the same piece of hardware, the core itself among them."""
    path = _CPUS / f"cpu{core}" / "topology" / "thread_siblings_list"
    try:
        told = path.read_text(encoding="ascii").strip()
    except OSError:
        return [core]
    found = [one for part in told.split(",") for one in _range(part)]
    return found if core in found else [core]


def _range(part: str) -> range:
    first, _, last = part.partition("-")
    return range(int(first), int(last or first) + 1)
