"""Indexes on disk: versions of segments, memory-mapped when loaded.

path/CURRENT             the name of the newest version
path/versions/NAME/      a manifest: which segments, which of their criteria are there
path/segments/NAME/      one segment: arrays, words, ids and criteria; never changed
"""

from __future__ import annotations

import itertools
import shutil
import uuid
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from remuda.arrays import Bools, Ints, Longs, frozen
from remuda.encoding.plan import Plan
from remuda.encoding.storing import read_vocabulary, sorts, write_vocabulary
from remuda.errors import StorageError
from remuda.index.directory import Reading, Writing, point
from remuda.index.locking import Lock
from remuda.index.packing import NotPackable, pack, unpack
from remuda.index.roster import Roster, StoredCriteria, StoredIds, Tags, packed_documents
from remuda.index.segment import Lazy, Segment
from remuda.index.state import Part, State
from remuda.index.texts import compact
from remuda.language import json
from remuda.matchers.contract import cnf_matcher, conjunction_matcher

_CURRENT = "CURRENT"
_WORDS = 2  # what is written of a vocabulary: before 2, versions were sorted that have no order
_PATIENCE = 30.0  # seconds that a save waits for another one


class _Places(NamedTuple):
    """The arrays of a roster."""

    orders: Longs
    ranks: Ints
    slots: Ints
    terms: Longs
    tag_starts: Longs
    tag_places: Ints


class Entry(NamedTuple):
    """A segment of a version, and which of its criteria are there; None: all."""

    segment: str
    alive: Bools | None = None


class Version(NamedTuple):
    """What a version says about itself."""

    name: str
    facts: dict[str, Any]
    segments: list[dict[str, Any]]  # of each: segment, criteria, bytes, alive

    @property
    def nbytes(self) -> int:
        return sum(one["bytes"] for one in self.segments)


def save(state: State, facts: dict[str, Any], path: Path) -> str:
    """Write a new version of the index, and only the segments that are not there yet."""
    lock = Lock(path)
    lock.acquire(wait=_PATIENCE)
    try:
        entries = [
            Entry(write_segment(part, facts["matcher"], path), part.alive) for part in state.parts
        ]
        return publish(path, entries, facts, state.next_order)
    finally:
        lock.release()


def publish(path: Path, entries: Sequence[Entry], facts: dict[str, Any], next_order: int) -> str:
    """Make a version of segments that were written, and let CURRENT name it; hold the lock."""
    version = _next_version(path)
    writing = Writing(path / "versions" / version)
    listed = []
    for number, (segment, alive) in enumerate(entries):
        told = Reading(path / "segments" / segment).facts
        file = None
        if alive is not None:
            file = f"alive-{number}"
            writing.write(file, [np.packbits(alive).tobytes()])
        size = sum(one["size"] for one in told["files"].values())
        listed.append(
            {"segment": segment, "alive": file, "criteria": told["criteria"], "bytes": size}
        )
    writing.finish({**facts, "next_order": next_order, "segments": listed})
    point(path / _CURRENT, version)
    return version


def read_version(path: Path, version: str | None = None) -> Version:
    """What a version says about itself, by default the newest."""
    name = version or current_version(path)
    facts = Reading(path / "versions" / name).facts
    return Version(name, facts, facts["segments"])


def load(
    path: Path,
    version: str | None = None,
    segments: Collection[str] | None = None,
    known: Mapping[str, Part] | None = None,
) -> tuple[State, Version]:
    """A version, by default the newest; all of its segments or some.

    Segments that are `known`, by their homes, are not opened again.
    """
    name = version or current_version(path)
    reading = Reading(path / "versions" / name)
    facts = reading.facts
    parts = []
    for entry in facts["segments"]:
        if segments is not None and entry["segment"] not in segments:
            continue
        home = path / "segments" / entry["segment"]
        part = (known or {}).get(str(home.resolve())) or _load_segment(home, facts["matcher"])
        alive = None
        if entry["alive"] is not None:
            bits = np.unpackbits(np.frombuffer(reading.map(entry["alive"]), np.uint8))
            alive = frozen(bits[: len(part.roster)].astype(np.bool_))
        parts.append(Part(part.segment, part.roster, alive))
    state = State(tuple(parts), next_order=facts["next_order"])
    return state, Version(name, facts, facts["segments"])


def prune(path: Path, keep: int = 1) -> list[str]:
    """Remove all versions but the newest ones, and the segments that none of those needs.

    Who has an old version open keeps its pages; who opens one by name meanwhile may fail.
    """
    with Lock(path):
        return _pruned(path, keep)


def _pruned(path: Path, keep: int) -> list[str]:
    versions = sorted(one.name for one in (path / "versions").iterdir() if one.name[0] == "v")
    current = current_version(path)
    kept = {current, *[name for name in versions if name <= current][-keep:]}
    gone = [name for name in versions if name not in kept]
    needed = {entry["segment"] for name in kept for entry in read_version(path, name).segments}
    for version in (path / "versions").iterdir():
        if version.name not in kept:  # an old one, or half of one that a crash left
            shutil.rmtree(version)
    for segment in (path / "segments").glob("*"):
        if segment.name not in needed:
            shutil.rmtree(segment)
    return gone


def current_version(path: Path) -> str:
    """The name of the newest version."""
    try:
        return (path / _CURRENT).read_text(encoding="utf-8").strip()
    except OSError as error:
        reason = f"there is no index here: {error.strerror}"
        raise StorageError(str(path / _CURRENT), reason) from None


def _next_version(path: Path) -> str:
    versions = path / "versions"
    taken = {one.name for one in versions.iterdir()} if versions.is_dir() else set()
    last = max((int(name[1:]) for name in taken if name[1:].isdecimal()), default=0)
    return next(name for i in itertools.count(last + 1) if (name := f"v{i:06d}") not in taken)


def write_segment(part: Part, matcher: str, path: Path) -> str:
    """Write one segment unless it is there, complete or not at all; its name."""
    segments, home = path / "segments", part.segment.home
    if home is not None and Path(home).parent == segments.resolve() and Path(home).exists():
        return Path(home).name
    documents = packed_documents(part.roster.documents())  # which may refuse
    name = f"s-{uuid.uuid4().hex[:16]}"
    writing = Writing(segments / name)
    segment, roster = part.segment, part.roster
    headers: dict[str, Any] = {}
    tags = roster.tags
    places = _Places(
        roster.orders, roster.ranks, roster.slots, roster.terms, tags.starts, tags.places
    )
    built = {
        "plan": segment.plan,
        "matcher": segment.matcher,
        "cnf": segment.cnf,
        "roster": places,
    }
    for what, value in built.items():
        try:
            header, blocks = pack(value)
        except NotPackable:  # it is built anew when it is loaded
            headers[what] = None
            continue
        headers[what] = header
        writing.write(f"{what}.bin", blocks)
    words = write_vocabulary(segment.words.vocabulary)
    writing.write("words.json", [json.encode(words)])
    writing.write("ids.arrow", [_arrow_bytes(compact(roster.id_array()))])
    writing.write("criteria.arrow", [documents])
    writing.write("tags.json", [json.encode(list(tags.names))])
    writing.finish(
        {"matcher": matcher, "criteria": len(roster), "headers": headers, "words": _WORDS}
    )
    object.__setattr__(segment, "home", str((segments / name).resolve()))
    return name


def _load_segment(path: Path, matcher: str) -> Part:
    reading = Reading(path)
    headers = reading.facts["headers"]
    plan = unpack(Plan, headers["plan"], reading.map("plan.bin"))

    def built(what: str, kind: Any, source: Any) -> Any:
        if headers[what] is None:
            return kind.build(source)
        return unpack(kind, headers[what], reading.map(f"{what}.bin"))

    places = unpack(_Places, headers["roster"], reading.map("roster.bin"))
    tags = Tags(json.decode(reading.map("tags.json")), places.tag_starts, places.tag_places)
    roster = Roster(
        StoredIds(_arrow_array(reading.map("ids.arrow"))),
        StoredCriteria(reading.map("criteria.arrow"), reading.facts["criteria"]),
        places.orders,
        places.ranks,
        places.slots,
        tags,
        places.terms,
    )
    words = reading.map("words.json")
    if reading.facts.get("words", 1) < _WORDS and not sorts(json.decode(words)):
        expressions = [criterion.expression for criterion in roster.criteria]
        return Part(Segment.build(expressions, matcher=matcher), roster)
    segment = Segment(
        plan,
        built("matcher", conjunction_matcher(matcher), plan.conjunctions),
        built("cnf", cnf_matcher(matcher), plan.cnf),
        Lazy(lambda: read_vocabulary(json.decode(words), plan.conjunctions)),
        frozen(plan.conjunctions.dim_of_space()),
        home=str(path.resolve()),
    )
    return Part(segment, roster)


def _arrow_bytes(array: Any) -> bytes:
    sink = pa.BufferOutputStream()
    table = pa.table({"column": array})
    with pa.ipc.new_file(sink, table.schema) as writer:
        writer.write_table(table)
    found: bytes = sink.getvalue().to_pybytes()
    return found


def _arrow_array(data: memoryview) -> Any:
    column = pa.ipc.open_file(pa.py_buffer(data)).read_all().column(0)
    return column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()
