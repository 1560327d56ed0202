"""Rosters: who the criteria of a segment are, found by place, by id or by tag."""

from __future__ import annotations

import threading
import zlib
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import numpy as np
import pyarrow as pa

from remuda.arrays import Bools, Floats, Halves, Ints, Longs, Ragged, frozen, invert, starts_of
from remuda.encoding.checks import check
from remuda.index.directory import named
from remuda.index.forking import in_child
from remuda.jit import kernel
from remuda.language.criterion import FOREVER, Criterion
from remuda.model.hierarchies import Hierarchies
from remuda.model.lazily import lazily

T = TypeVar("T")

_FEW = 100  # ids
_BATCH = 256  # criteria that are compressed together, or fewer
_BATCH_BYTES = 1 << 22  # of their documents: payloads may be long, and one is read with its batch
_REMEMBERED = 256  # sets of tags whose places are kept
_MASKS = 8  # of them for which there is a byte a place; kinds of groups that are kept


class Column(Sequence[T]):
    """Values in an Arrow array, perhaps memory-mapped; Python objects only where asked for."""

    def __init__(self, array: Any) -> None:
        self.array = array

    def __len__(self) -> int:
        return len(self.array)

    def __getitem__(self, place: Any) -> Any:
        found = self.array[place]
        return Column(found) if isinstance(place, slice) else found.as_py()

    def __iter__(self) -> Iterator[T]:
        for start in range(0, len(self.array), _BATCH):
            yield from self.array[start : start + _BATCH].to_pylist()


class StoredIds(Column[str]):
    """The ids of a segment."""

    def __init__(self, array: Any) -> None:
        super().__init__(array)
        large = pa.types.is_large_string(array.type)
        _, ends, data = array.buffers()
        whole = memoryview(ends or b"\0" * 8).cast("B").cast("q" if large else "i")
        self._ends = whole[array.offset :]
        self._data = memoryview(data or b"")

    def at(self, places: Ints) -> list[str]:
        """The ids at the places; few of them are faster read here than taken by Arrow."""
        if len(places) > _FEW:
            found: list[str] = self.array.take(pa.array(places)).to_pylist()
            return found
        ends, data = self._ends, self._data
        return [str(data[ends[i] : ends[i + 1]], "utf-8") for i in places.tolist()]


class Gathered(Sequence[T]):
    """Stored items and made ones: item i is `stored[at[i]]`, or `made[~at[i]]` below zero."""

    def __init__(self, stored: Sequence[T], made: list[T], at: Longs) -> None:
        self.stored, self.made, self.at = stored, made, at

    def __len__(self) -> int:
        return len(self.at)

    def __getitem__(self, place: Any) -> Any:
        at = int(self.at[place])
        return self.stored[at] if at >= 0 else self.made[~at]


class StoredCriteria(Sequence[Criterion]):
    """Criteria as JSON documents in an Arrow file of small compressed batches; read when asked."""

    def __init__(
        self,
        data: memoryview,
        n: int,
        path: Path = Path("criteria.arrow"),
        hierarchies: Hierarchies | None = None,
    ) -> None:
        self.packed: memoryview | None = None  # all of it, where it was packed here
        self._path, self._hierarchies = path, hierarchies
        self._file = pa.ipc.open_file(pa.py_buffer(data))
        self._n = n
        self._last: tuple[int, Any] = (-1, None)
        self._in_batch = 0  # not known yet
        self._unlock()
        in_child(self, StoredCriteria._unlock)

    @classmethod
    def packing(cls, documents: Any, hierarchies: Hierarchies | None = None) -> StoredCriteria:
        """The documents of an Arrow array, packed."""
        packed = packed_documents(documents)
        made = cls(packed, len(documents), hierarchies=hierarchies)
        made.packed = packed
        return made

    def __len__(self) -> int:
        return self._n

    def __getitem__(self, place: Any) -> Any:
        if not 0 <= place < self._n:
            raise IndexError(place)
        with named(self._path):
            if not self._in_batch:
                self._in_batch = len(self._batch(0))
            number, row = divmod(place, self._in_batch)
            return self._read(self._batch(number)[row].as_py())

    def __iter__(self) -> Iterator[Criterion]:
        for number in range(self._file.num_record_batches):
            with named(self._path):
                found = list(map(self._read, self._batch(number).to_pylist()))
            yield from found

    def _read(self, document: bytes) -> Criterion:
        return Criterion.from_json(document).bound(self._hierarchies)

    def _unlock(self) -> None:
        self._reading = threading.Lock()

    def _batch(self, number: int) -> Any:
        with self._reading:
            if self._last[0] != number:
                found = self._file.get_batch(number).column(0)
                found.validate(full=True)
                self._last = number, found
            return self._last[1]

    def documents(self) -> Any:
        """All of them as one Arrow array."""
        with named(self._path):
            batches = [self._batch(i) for i in range(self._file.num_record_batches)]
            found = pa.concat_arrays([pa.array([], pa.large_binary()), *batches])
            check(len(found) == self._n and not found.null_count, "documents")
            return found


def split(sequence: Any) -> tuple[Any | None, list[Any], Longs]:
    """What is stored, what is made, and where each item is, as `Gathered` has it."""
    match sequence:
        case Gathered():
            return split(sequence.stored)[0], sequence.made, sequence.at
        case StoredIds():
            return sequence.array.cast(pa.large_string()), [], np.arange(len(sequence))
        case StoredCriteria():
            return sequence.documents(), [], np.arange(len(sequence))
        case _:
            return None, list(sequence), ~np.arange(len(sequence))


def united(stored: Any | None, made: Any, at: Longs) -> Any:
    """Stored items and made ones as one Arrow array, in their order."""
    if stored is None or not len(made):
        return made if stored is None else stored
    places = np.where(at >= 0, at, len(stored) + ~at)
    return pa.concat_arrays([stored, made]).take(pa.array(places))


def packed_documents(documents: Any) -> memoryview:
    """The Arrow file that StoredCriteria reads."""
    fitting = _BATCH_BYTES * len(documents) // max(documents.nbytes, 1)
    return arrow_file("json", documents, "zstd", max(1, min(_BATCH, fitting)))


def arrow_file(
    name: str, array: Any, compression: str | None = None, n_together: int | None = None
) -> memoryview:
    """A column as an Arrow file, perhaps in batches of so many rows."""
    sink, table = pa.BufferOutputStream(), pa.table({name: array})
    options = pa.ipc.IpcWriteOptions(compression=compression)
    with pa.ipc.new_file(sink, table.schema, options=options) as writer:
        writer.write_table(table, max_chunksize=n_together)
    return memoryview(sink.getvalue())


class Groups(NamedTuple):
    """The names of groups, None being that of places without any, and the groups of each place."""

    names: list[str | None]
    of_places: Ragged


class Tags:
    """Which places have which tags."""

    def __init__(self, names: Sequence[str], starts: Longs, places: Ints) -> None:
        self.names, self.starts, self.places = names, starts, places
        self._asked: dict[frozenset[str], Ints] = {}
        self._masks: dict[frozenset[str], Bools] = {}
        self._groups: dict[str, Groups] = {}

    @classmethod
    def of(cls, criteria: Sequence[Criterion]) -> Tags:
        by_tag: dict[str, list[int]] = {}
        for place, criterion in enumerate(criteria):
            for tag in criterion.tags:
                by_tag.setdefault(tag, []).append(place)
        names = sorted(by_tag)
        starts = starts_of([len(by_tag[name]) for name in names])
        places = [place for name in names for place in by_tag[name]]
        return cls(names, frozen(starts), frozen(np.array(places, np.int32)))

    def of_any(self, tags: frozenset[str]) -> Ints:
        """The places that have any of the tags, ascending; remembered."""
        places = self._asked.get(tags)
        if places is None:
            pieces = [np.empty(0, np.int32), *map(self._of_one, tags)]
            places = frozen(np.unique(np.concatenate(pieces)))
            if len(self._asked) >= _REMEMBERED:
                self._asked = {}  # another thread may still read the old one
            self._asked[tags] = places
        return places

    def mask(self, tags: frozenset[str], n: int) -> Bools:
        """Whether each of n places has any of the tags; the last few are remembered."""
        flags = self._masks.get(tags)
        if flags is None:
            flags = np.zeros(n, np.bool_)
            flags[self.of_any(tags)] = True
            if len(self._masks) >= _MASKS:
                self._masks = {}
            self._masks[tags] = frozen(flags)
        return flags

    def groups(self, per: str, n: int) -> Groups:
        """The groups of n places by the tags `per:…`; those without any are one more group."""
        grouping = self._groups.get(per)
        if grouping is None:
            begin, mark = bisect_left(self.names, f"{per}:"), f"{per}:"
            end = begin
            while end < len(self.names) and self.names[end].startswith(mark):
                end += 1
            names: list[str | None] = [name[len(mark) :] for name in self.names[begin:end]]
            starts = self.starts[begin : end + 1]
            places = self.places[starts[0] : starts[-1]]
            rest = np.setdiff1d(np.arange(n, dtype=np.int32), places)
            rows = Ragged(
                np.append(starts - starts[0], len(places) + len(rest)),
                np.concatenate([places, rest]),
            )
            grouping = Groups([*names, None], frozen(invert(rows, n)))
            self._groups = {**self._groups, per: grouping} if len(self._groups) < _MASKS else {}
        return grouping

    def _of_one(self, tag: str) -> Ints:
        at = bisect_left(self.names, tag)
        if at == len(self.names) or self.names[at] != tag:
            return np.empty(0, np.int32)
        return self.places[self.starts[at] : self.starts[at + 1]]


@dataclass(frozen=True)
class Roster:
    """The criteria of a segment by place, with their ids and their order of insertion."""

    __slots__ = (
        "__dict__", "criteria", "ids", "orders", "priorities", "ranks", "slots", "tags", "terms",
    )  # fmt: skip
    ids: Sequence[str]
    criteria: Sequence[Criterion]
    orders: Longs  # of each place: larger is later
    ranks: Ints  # of each place: where its id stands among all, by code point
    slots: Ints  # a hash table: places by the checksums of their ids, -1 where there is none
    tags: Tags
    terms: Longs  # of each place: from and until in microseconds; empty if all are in force
    priorities: Floats  # of each place; empty if all are 0

    @classmethod
    def of(cls, criteria: Sequence[Criterion], orders: Longs) -> Roster:
        ids = [criterion.id for criterion in criteria]
        slots = slots_of(np.array([checksum(name) for name in ids], np.uint32))
        arrays = frozen(orders), frozen(ranks_of(ids)), frozen(slots)
        tags, terms = Tags.of(criteria), _terms(criteria)
        return cls(ids, criteria, *arrays, tags, terms, _priorities(criteria))

    def __len__(self) -> int:
        return len(self.ids)

    @lazily
    def ascends(self) -> bool:
        """Whether places are in the order of insertion."""
        return bool((np.diff(self.orders) > 0).all())

    def find(self, id: str, mark: int | None = None) -> int | None:
        """The place of the id; `mark` is its checksum, where that is known."""
        mark = checksum(id) if mark is None else mark
        last = len(self.slots) - 1
        slot = mark & last
        while (place := self.slots.item(slot)) >= 0:
            if self.ids[place] == id:
                return place
            slot = (slot + 1) & last
        return None

    def names(self, places: Ints) -> list[str]:
        """The ids at the places."""
        if isinstance(self.ids, StoredIds):
            return self.ids.at(places)
        return [self.ids[place] for place in places.tolist()]

    def documents(self) -> Any:
        """The criteria as an Arrow array of JSON documents."""
        stored, made, at = split(self.criteria)
        return united(stored, pa.array([one.document() for one in made], pa.large_binary()), at)

    def id_array(self) -> Any:
        """The ids as an Arrow array."""
        if isinstance(self.ids, StoredIds):
            return self.ids.array
        return pa.array(self.ids, pa.large_string())


def ranks_of(ids: Sequence[str]) -> Ints:
    """Where each id stands among all, by code point."""
    ranks = np.empty(len(ids), np.int32)
    ranks[sorted(range(len(ids)), key=ids.__getitem__)] = np.arange(len(ids), dtype=np.int32)
    return ranks


def checksum(id: str) -> int:
    """A number of 32 bits that ids are spread by."""
    return zlib.crc32(id.encode("utf-8", "surrogatepass"))


@kernel
def slots_of(checksums: Halves) -> Ints:
    """Each place at the first free slot from its checksum on; at most half of them are taken."""
    size = 2
    while size < 2 * len(checksums):
        size *= 2
    slots = np.full(size, -1, np.int32)
    for place in range(len(checksums)):
        slot = np.int64(checksums[place]) & (size - 1)
        while slots[slot] >= 0:
            slot = (slot + 1) & (size - 1)
        slots[slot] = place
    return slots


def _terms(criteria: Sequence[Criterion]) -> Longs:
    found = [criterion.term for criterion in criteria]
    if all(term == FOREVER for term in found):
        return frozen(np.empty((0, 2), np.int64))
    return frozen(np.array(found, np.int64))


def _priorities(criteria: Sequence[Criterion]) -> Floats:
    found = [criterion.priority for criterion in criteria]
    return frozen(np.array(found if any(found) else [], np.float64))


def in_force(terms: Longs, now: int) -> Bools:
    """Which of the terms the moment, in milliseconds, lies in."""
    at = moment(now)
    return (terms[:, 0] <= at) & (at < terms[:, 1])


def moment(now: int) -> int:
    """The milliseconds as microseconds that terms are compared with."""
    return min(max(now * 1000, FOREVER[0]), FOREVER[1] - 1)
