"""Indexes on disk: versions of segments, memory-mapped when loaded.

path/CURRENT             the name of the newest version
path/versions/NAME/      a manifest: which segments, which of their criteria are there
path/segments/NAME/      one segment: arrays, words, ids and criteria; never changed
"""

from __future__ import annotations

import itertools
import uuid
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from remuda.arrays import Ints, Longs, frozen
from remuda.encoding.plan import Plan
from remuda.encoding.storing import read_vocabulary, write_vocabulary
from remuda.errors import StorageError
from remuda.index.directory import Reading, Writing, point
from remuda.index.packing import NotPackable, pack, unpack
from remuda.index.roster import Roster, StoredCriteria, StoredIds
from remuda.index.segment import Lazy, Segment
from remuda.index.state import Part, State
from remuda.language import json
from remuda.matchers.contract import cnf_matcher, conjunction_matcher

_CURRENT = "CURRENT"


class _Places(NamedTuple):
    """The arrays of a roster."""

    orders: Longs
    by_id: Ints
    ranks: Ints


def save(state: State, facts: dict[str, Any], path: Path) -> str:
    """Write a new version of the index, and only the segments that are not there yet."""
    names = [_save_segment(part, facts["matcher"], path / "segments") for part in state.parts]
    version = _next_version(path)
    writing = Writing(path / "versions" / version)
    entries = []
    for number, (part, name) in enumerate(zip(state.parts, names, strict=True)):
        alive = None
        if part.alive is not None:
            alive = f"alive-{number}"
            writing.write(alive, [np.packbits(part.alive).tobytes()])
        entries.append({"segment": name, "alive": alive})
    writing.finish({**facts, "next_order": state.next_order, "segments": entries})
    point(path / _CURRENT, version)
    return version


def load(path: Path, version: str | None = None) -> tuple[State, dict[str, Any]]:
    """A version of the index, by default the newest."""
    reading = Reading(path / "versions" / (version or current_version(path)))
    facts = reading.facts
    parts = []
    for entry in facts["segments"]:
        part = _load_segment(path / "segments" / entry["segment"], facts["matcher"])
        if entry["alive"] is not None:
            bits = np.unpackbits(np.frombuffer(reading.map(entry["alive"]), np.uint8))
            alive = bits[: len(part.roster)].astype(np.bool_)
            part = Part(part.segment, part.roster, frozen(alive))
        parts.append(part)
    return State(tuple(parts), (), facts["next_order"]), facts


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


def _save_segment(part: Part, matcher: str, segments: Path) -> str:
    home = part.segment.home
    if home is not None and Path(home).parent == segments.resolve() and Path(home).exists():
        return Path(home).name
    name = f"s-{uuid.uuid4().hex[:16]}"
    writing = Writing(segments / name)
    segment, roster = part.segment, part.roster
    headers: dict[str, Any] = {}
    places = _Places(roster.orders, roster.by_id, roster.ranks)
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
    writing.write("ids.arrow", [_arrow_bytes(roster.id_array())])
    writing.write("criteria.arrow", [_arrow_bytes(roster.documents())])
    writing.finish({"matcher": matcher, "criteria": len(roster), "headers": headers})
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

    roster = Roster(
        StoredIds(_arrow_array(reading.map("ids.arrow"))),
        StoredCriteria(_arrow_array(reading.map("criteria.arrow"))),
        *unpack(_Places, headers["roster"], reading.map("roster.bin")),
    )
    words = reading.map("words.json")
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
