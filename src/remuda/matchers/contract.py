"""The contract of all matchers, and their names."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from typing import Any, NamedTuple, Protocol, Self

from remuda.arrays import Floats, Ints, Longs
from remuda.encoding.table import ClauseTable, CnfTable, EventBatch


class Hits(NamedTuple):
    """The rows that each event satisfies, each once, in any order: a ragged array.

    `candidates` is how many rows were looked at one by one to find them; `scores`, where they were
    asked for, are those of the rows, best first.
    """

    starts: Longs
    rows: Ints
    candidates: int
    scores: Floats | None = None


class Matcher(Protocol):
    """Conjunctions arranged so that those an event satisfies are found fast; never changed."""

    @classmethod
    def build(cls, table: ClauseTable) -> Self: ...
    def match(self, events: EventBatch) -> Hits: ...
    @property
    def nbytes(self) -> int: ...


class CnfMatcher(Protocol):
    """Conjunctions of disjunctions arranged likewise; rows are those of the CnfTable."""

    @classmethod
    def build(cls, cnf: CnfTable) -> Self: ...
    def match(self, events: EventBatch) -> Hits: ...
    @property
    def nbytes(self) -> int: ...


class Literal(NamedTuple):
    """One encoded predicate by itself, as in a Predicates table; spans are (lo, hi) pairs."""

    dim: int
    on_missing: bool
    every: bool
    spans: tuple[tuple[int, int], ...]


class DynamicMatcher(Matcher, Protocol):
    """A matcher whose conjunctions come and go one by one, under ids that the caller chooses."""

    def insert(self, row: int, clause: Sequence[Literal]) -> None: ...
    def delete(self, row: int) -> None: ...


_CONJUNCTIONS = {
    "auto": "auto.Auto",
    "scan": "scan.Scan",
    "sift": "sift.Sift",
    "kindex": "kindex.KIndex",
    "propagation": "propagation.Propagation",
    "gryphon": "gryphon.Gryphon",
    "opindex": "opindex.OpIndex",
    "betree": "betree.BETree",
    "pst-bloom": "pstbloom.PSTBloom",
    "pst-hash": "psthash.PSTHash",
}
_CNF = {"scan": "scan.CnfScan", "pscan": "pscan.PScan", "kindex": "kcnf.CnfKIndex"}

NAMES = (*_CONJUNCTIONS, "pscan")


def conjunction_matcher(name: str) -> type[Matcher]:
    """The class behind the name that takes conjunctions."""
    return _load({**_CONJUNCTIONS, "pscan": _CONJUNCTIONS["scan"]}[name])  # type: ignore[no-any-return]


def cnf_matcher(name: str) -> type[CnfMatcher]:
    """The class behind the name that takes conjunctions of disjunctions."""
    return _load(_CNF.get(name, _CNF["kindex"]))  # type: ignore[no-any-return]


def _load(target: str) -> Any:
    module, name = target.split(".")  # imported when used: each brings kernels to compile
    return getattr(import_module(f"remuda.matchers.{module}"), name)
