"""Criteria and events as Spark DataFrames: functions for `df.transform`, batch and stream."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from remuda.spark.building import build_index, sweep
    from remuda.spark.checking import ratify, similar
    from remuda.spark.criteria import read_criteria
    from remuda.spark.functions import register
    from remuda.spark.generating import generate
    from remuda.spark.matching import match, positions, top
    from remuda.spark.payloads import with_payloads
    from remuda.spark.reaching import reach
    from remuda.spark.starting import ensure_java, session
    from remuda.spark.streaming import batches, match_stream
    from remuda.spark.transformer import Matcher
    from remuda.spark.workers import doctor

_ROOMS = {
    "building": ("build_index", "sweep"),
    "checking": ("ratify", "similar"),
    "criteria": ("read_criteria",),
    "functions": ("register",),
    "generating": ("generate",),
    "matching": ("match", "positions", "top"),
    "payloads": ("with_payloads",),
    "reaching": ("reach",),
    "starting": ("ensure_java", "session"),
    "streaming": ("batches", "match_stream"),
    "transformer": ("Matcher",),
    "workers": ("doctor",),
}
_ROOM_OF = {name: room for room, names in _ROOMS.items() for name in names}

__all__ = [
    "Matcher",
    "batches",
    "build_index",
    "doctor",
    "ensure_java",
    "generate",
    "match",
    "match_stream",
    "positions",
    "ratify",
    "reach",
    "read_criteria",
    "register",
    "session",
    "similar",
    "sweep",
    "top",
    "with_payloads",
]


def __getattr__(name: str) -> Any:
    """Import a name when it is first used: pyspark is only needed then."""
    if name not in _ROOM_OF:
        raise AttributeError(f"module 'remuda.spark' has no attribute {name!r}")
    found = getattr(import_module(f"remuda.spark.{_ROOM_OF[name]}"), name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
