"""The contract of all matchers, and their names.

To add a matcher: write one file with a class that keeps the contract below, add one row to
`KINDS`, and run tests/matchers/test_contract.py and tests/index/test_every_matcher.py, which take
every row. Nothing else names a matcher.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pkgutil import resolve_name
from typing import ClassVar, NamedTuple, Protocol, Self, TypedDict, TypeGuard

from remuda.arrays import Floats, Ints, Longs
from remuda.encoding.columns import Columns
from remuda.encoding.table import ClauseTable, CnfTable, EventBatch
from remuda.matchers.kernels.best import Asked, Choice, Owned, Room


class Hits(NamedTuple):
    """The rows that each event satisfies, each once, in any order: a ragged array.

    `candidates` is how many rows were looked at one by one to find them; `scores`, where they were
    asked for, are those of the rows, best first. A row that is listed twice becomes a criterion
    that is found twice, and counted twice.
    """

    starts: Longs
    rows: Ints
    candidates: int
    scores: Floats | None = None


class Ranked(NamedTuple):
    """The best rows of each event with their scores, best first, ties by row: a ragged array.

    `candidates` is how many rows were looked at. Because of upper bounds, `pruned` more were not,
    and `pruned_partitions` of the K-indexes, or chunks and clusters of auto, were not even entered.
    """

    starts: Longs
    rows: Ints
    scores: Floats
    candidates: int
    pruned: int
    pruned_partitions: int


class Merits(NamedTuple):
    """Of each clause the most that it scores, and the first rank of the owners who may have it."""

    scores: Floats
    ranks: Ints


class ItemBounds(NamedTuple):
    """What each item of the clauses adds to a score at most, where it is met.

    A row scores no more than the sum over those of its items that are met, or than `rows` has for
    it, where it asks for nothing. The weight that an event gives an item's attribute multiplies
    `items`, and the largest that it gives multiplies `spare`.
    """

    items: Floats
    spare: Floats
    rows: Floats

    def of_rows(self, rows: Ints) -> ItemBounds:
        """The same for some of the rows, in that order."""
        return self._replace(rows=self.rows[rows])


@dataclass(frozen=True, slots=True)
class Features:
    """What a matcher takes and what it can: said here, and nowhere found by trying.

    Each promises a keyword of `build` or `match`, or the methods of a protocol below; one
    that is claimed and not kept fails when the index first makes use of it.
    """

    layout: int
    """The number of its layout on disk: the fields of the class, and what their words mean.

    A change of either needs another number. An array that was written under one meaning and is
    read under another has the right checksum and means something else.
    """
    maps: bool = False
    """It is a MappedMatcher."""
    takes_sample: bool = False
    """`build` takes `sample`, events like those to come. It may decide speed, never answers."""
    takes_merits: bool = False
    """`build` takes `merits`, what each clause scores at most."""
    takes_bounds: bool = False
    """`build` takes `bounds`, what each item of the clauses adds to a score at most."""
    ranks: bool = False
    """It is a RankingMatcher."""
    counts: bool = False
    """It is a CountingMatcher."""
    owns: bool = False
    """It is an OwningMatcher."""
    describes: bool = False
    """It is a DescribingMatcher."""
    changes: bool = False
    """It is a DynamicMatcher."""
    takes_gap: bool = False
    """`build` takes `gap`, how many numbers a space has where they leave room for more spaces."""
    warms: bool = False
    """It is a WarmingMatcher."""
    encodes: bool = False
    """It is an EncodingMatcher."""
    at_once: int | None = None
    """How many events it takes best together, where so many are there; None: as others do."""
    callers: int | None = None
    """How many threads it serves best; more would be in each other's way. None: any number."""
    parameters: tuple[str, ...] = ()
    """Those of its paper: keywords of `build` that take positive integers."""


class Answering(Protocol):
    """Rows arranged so that those an event satisfies are found fast.

    What every implementation keeps true:

    - `match` gives for each event, in the order of the batch, exactly the rows that hold by
      `remuda.encoding.table`. Nothing above looks again: a row too many is a wrong answer to a
      user, a row too few a missing one.
    - That includes events that have no spaces, or several on one dimension; rows without
      predicates, which always hold (a CNF row without disjunctions too); predicates that hold on
      missing or accept nothing; a table without rows, a batch without events. The shapes of
      tests/matchers/test_contract.py have them all.
    - Spaces that no predicate of the table names are within its dimensions; others do not come.
    - `match` changes nothing that another thread can see: it is called by several at once, without
      a lock. What it scribbles on is made for the call, or lent to one call at a time.
    - Arrays that it keeps are frozen (`remuda.arrays.frozen`). A loaded index has them
      memory-mapped and read-only, and a kernel would else be compiled twice, or crash on a write.
    - It is built anew from the plan when an index is loaded, without a sample, unless it is a
      MappedMatcher.
    """

    features: ClassVar[Features]

    def match(self, events: EventBatch) -> Hits: ...

    @property
    def nbytes(self) -> int:
        """What it takes beyond the table that it was built from."""
        ...


class Matcher(Answering, Protocol):
    """Conjunctions: row i holds when all predicates of clause i do; never changed by asking."""

    @classmethod
    def build(cls, table: ClauseTable) -> Self:
        """Arrange the clauses; the table is shared with others, and stays as it is."""
        ...


class MappedMatcher(Matcher, Protocol):
    """A matcher that is written to disk and mapped from there: one that takes long to build.

    It is a dataclass or named tuple of arrays and plain values, its fields declared with their
    types.
    """

    def check(self, table: ClauseTable) -> None:
        """Refuse, as `remuda.encoding.checks` does, what would lead a kernel outside its arrays.

        It was read from a file that anybody may have written. The table was checked before, and
        is the one it was built from, if the file is right.
        """
        ...


class CnfMatcher(Answering, Protocol):
    """Conjunctions of disjunctions: row i holds when each of its clauses has a predicate that does.

    Rows are those of the CnfTable, however the matcher numbers them inside.
    """

    @classmethod
    def build(cls, cnf: CnfTable) -> Self: ...


class RankingMatcher(Answering, Protocol):
    """A matcher that leaves what cannot be among the best, and considers all else that holds.

    `remuda.matchers.kernels.best` says how: it keeps the best owners of clauses, and knows the bar
    that others must pass. What a matcher leaves must be below it by the bounds it was built with.
    """

    def best(
        self, owned: Owned, choice: Choice, asked: Asked, room: Room, attribute_of_dim: Ints
    ) -> Ranked:
        """The best owners of each event that is asked about, as `kernels.best.choose` has them."""
        ...


class CountingMatcher(Matcher, Protocol):
    """A matcher that counts without keeping what it found, in memory that does not grow with it.

    It counts what `match` would list, each row once: rows that are met by two ways and made
    distinct only in the list of `match` would be counted twice here.
    """

    def count(self, events: EventBatch, weights: Ints | None = None) -> Longs:
        """How many rows each event satisfies, or the sum of what each of them weighs."""
        ...

    def reach(self, events: EventBatch) -> Longs:
        """How many of the events satisfy each row; rows that none does have 0."""
        ...


class Description(TypedDict):
    """What a matcher chose, and why; plain values, since they are printed and written as JSON."""

    layout: str
    why: str
    keys: str
    clauses: int
    clauses_without_key: int
    entries_per_clause: float
    entries: dict[str, int]  # by kind
    chunks: dict[str, int]  # by the same kinds
    bytes: int


class OwningMatcher(Matcher, Protocol):
    """A matcher that tells the owners of what one event hits, in one call."""

    def match_owned(self, spaces: Ints, owners: Longs) -> int:
        """Write the owners for `kernels.alone.own_alone`, which is given `owners`; how many."""
        ...


class DescribingMatcher(Matcher, Protocol):
    """A matcher that can say what it chose."""

    def stats(self) -> Description: ...


class WarmingMatcher(Matcher, Protocol):
    """A matcher whose first answer takes long, unless that was done ahead."""

    def warm(self) -> None:
        """Do what the first question would have to wait for."""
        ...


class EncodingMatcher(Matcher, Protocol):
    """A matcher that turns columns into events faster than the encoder does, and into the same."""

    def encode(self, columns: Columns) -> EventBatch:
        """The rows as events."""
        ...


class Literal(NamedTuple):
    """One encoded predicate by itself, as in a Predicates table; spans are (lo, hi) pairs."""

    dim: int
    on_missing: bool
    every: bool
    spans: tuple[tuple[int, int], ...]


class DynamicMatcher(Matcher, Protocol):
    """A matcher whose conjunctions come and go one by one, under ids that the caller chooses.

    After any changes it finds what one built anew from the same clauses would. Whoever changes it
    keeps others from asking meanwhile.
    """

    def insert(self, row: int, clause: Sequence[Literal]) -> None:
        """Add a clause under an id that is not there; its dimensions are those of the table."""
        ...

    def delete(self, row: int) -> None:
        """Take a clause away; KeyError where there is none of that id."""
        ...

    def adjust(self, seen: EventBatch) -> int:
        """Move clauses that hang ill for events of late, some of which are `seen`; how many."""
        ...


@dataclass(frozen=True, slots=True)
class Kind:
    """What a name stands for: the classes as `module:Class`, imported when they are used.

    Each brings kernels to compile. Without a `cnf` of its own, a name plans every
    criterion as conjunctions, or as conjunctions that it implies; what a saved index has as a CNF
    all the same is left to the k-index.
    """

    conjunctions: str
    cnf: str | None = None


def _kind(conjunctions: str, cnf: str | None = None) -> Kind:
    here = __name__.rpartition(".")[0]
    return Kind(f"{here}.{conjunctions}", cnf and f"{here}.{cnf}")


KINDS = {
    "auto": _kind("auto:Auto"),
    "scan": _kind("scan:Scan", "scan:CnfScan"),
    "sift": _kind("sift:Sift"),
    "kindex": _kind("kindex:KIndex", "kindex:CnfKIndex"),
    "propagation": _kind("propagation:Propagation"),
    "gryphon": _kind("gryphon:Gryphon"),
    "opindex": _kind("opindex:OpIndex"),
    "betree": _kind("betree:BETree"),
    "pst-bloom": _kind("pstbloom:PSTBloom"),
    "pst-hash": _kind("psthash:PSTHash"),
    "pscan": _kind("scan:Scan", "pscan:PScan"),
    "gpu": _kind("gpu:Gpu"),  # needs a device to match, and none to be built
}

NAMES = KINDS.keys()

_LIVE = "live"


@dataclass(frozen=True, slots=True)
class Chosen:
    """A matcher as it is named: `betree`, `betree(max_cap=20, min_size=3)`, `betree(live)`.

    A live one is changed in place; what has no dynamic algorithm cannot be live.
    """

    name: str
    parameters: Mapping[str, int]
    live: bool = False

    @classmethod
    def of(cls, text: str) -> Chosen:
        """Read it; ValueError where there is no such matcher, or none with such a parameter."""
        found = re.fullmatch(r"\s*([\w-]+)\s*(?:\((.*)\)\s*)?", text)
        if found is None or found[1] not in NAMES:
            raise ValueError(f"there is no matcher {text!r}; there are {', '.join(NAMES)}")
        items = [item.strip() for item in (found[2] or "").split(",") if item.strip()]
        numbers = [_number(text, item) for item in items if item != _LIVE]
        made = cls(found[1], dict(numbers), _LIVE in items)
        if items:
            made._check()
        return made

    def __str__(self) -> str:
        items = [f"{name}={value}" for name, value in sorted(self.parameters.items())]
        items += [_LIVE] if self.live else []
        return f"{self.name}({', '.join(items)})" if items else self.name

    def _check(self) -> None:
        features = conjunction_matcher(self.name).features
        for name in self.parameters:
            if name not in features.parameters:
                known = ", ".join(features.parameters) or "none"
                raise ValueError(f"{self.name} has no parameter {name!r}; it has {known}")
        if self.live and not features.changes:
            known = ", ".join(one for one in NAMES if _changes(one))
            raise ValueError(f"{self.name} cannot be live, since nothing changes it: take {known}")


def _number(text: str, item: str) -> tuple[str, int]:
    found = re.fullmatch(r"(\w+)\s*=\s*([1-9][0-9]{0,8})", item)
    if found is None:
        raise ValueError(f"{text!r}: {item!r} is no parameter, such as max_cap=20")
    return found[1], int(found[2])


def _changes(name: str) -> bool:
    return conjunction_matcher(name).features.changes


def check_name(text: str) -> None:
    """ValueError where no matcher is named so."""
    Chosen.of(text)


def conjunction_matcher(text: str) -> type[Matcher]:
    """The class behind the name that takes conjunctions."""
    kind: type[Matcher] = resolve_name(KINDS[_name(text)].conjunctions)
    return kind


def cnf_matcher(text: str) -> type[CnfMatcher]:
    """The class behind the name that takes conjunctions of disjunctions."""
    kind: type[CnfMatcher] = resolve_name(KINDS[_name(text)].cnf or KINDS["kindex"].cnf or "")
    return kind


def has_own_cnf(text: str) -> bool:
    """Whether the name has an algorithm of its own for conjunctions of disjunctions."""
    return KINDS[_name(text)].cnf is not None


def parameters_of(text: str) -> Mapping[str, int]:
    """The parameters of its paper that the name gives."""
    return Chosen.of(text).parameters if "(" in text else {}


def _name(text: str) -> str:
    return text.partition("(")[0].strip()


def ranking(matcher: Answering) -> TypeGuard[RankingMatcher]:
    """Whether the matcher ranks."""
    return matcher.features.ranks


def counting(matcher: Matcher) -> TypeGuard[CountingMatcher]:
    """Whether the matcher counts."""
    return matcher.features.counts


def owning(matcher: Matcher) -> TypeGuard[OwningMatcher]:
    """Whether the matcher tells owners."""
    return matcher.features.owns


def describing(matcher: Matcher) -> TypeGuard[DescribingMatcher]:
    """Whether the matcher says what it chose."""
    return matcher.features.describes


def warming(matcher: Matcher) -> TypeGuard[WarmingMatcher]:
    """Whether the matcher can be warmed."""
    return matcher.features.warms


def changing(matcher: Matcher) -> TypeGuard[DynamicMatcher]:
    """Whether the matcher's clauses come and go."""
    return matcher.features.changes


def encoding(matcher: Matcher) -> TypeGuard[EncodingMatcher]:
    """Whether the matcher encodes columns."""
    return matcher.features.encodes
