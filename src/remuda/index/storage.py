"""Indexes on disk: versions of segments, memory-mapped when loaded.

path/CURRENT             the name of the newest version, with a checksum
path/versions/NAME/      a manifest: which segments, which of their criteria are there
path/segments/NAME/      one segment: arrays, words, ids and criteria; never changed

The criteria's documents and their order are the source. All else is made from them, carries the
number of its layout, and is made anew where that is another (docs/decisions/format.md).
"""

from __future__ import annotations

import itertools
import logging
import re
import time
import uuid
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from remuda.arrays import Bools, Floats, Ints, Longs, frozen
from remuda.encoding.checks import check, check_plan, check_starts, check_within
from remuda.encoding.plan import Plan, no_collection
from remuda.encoding.storing import read_vocabulary, write_vocabulary
from remuda.encoding.texts import MakeTexts, StoredTexts, TermTexts, Texts
from remuda.encoding.vocabulary import Vocabulary
from remuda.errors import InvalidCriterion, StorageError
from remuda.index.directory import Reading, Writing, named
from remuda.index.files import checked, with_checksum
from remuda.index.packing import fits, pack, stored_array, unpack
from remuda.index.roster import (
    Roster,
    StoredCriteria,
    StoredIds,
    Tags,
    arrow_file,
    packed_documents,
)
from remuda.index.segment import Lazy, Segment
from remuda.index.state import Part, State
from remuda.index.stores import SEGMENTS, VERSIONS, Location, Store, store_of
from remuda.index.text_arrays import compact
from remuda.index.trees import has_trees, read_trees, tree_digests
from remuda.index.trial import refuse_trees
from remuda.language import json_form
from remuda.language.criterion import Criterion
from remuda.matchers.contract import Chosen, cnf_matcher, conjunction_matcher
from remuda.model.attributes import Attribute
from remuda.model.expressions import And, Expression, Or
from remuda.model.hierarchies import Hierarchies

_PATIENCE = 30.0  # seconds that a writer waits for another one
_NAMED = re.compile(rb"(v\d{6,})\n")  # of CURRENT; all of it, before it had a checksum
# a change of what their numbers mean is another number
_LAYOUTS = {"plan": 2, "roster": 2, "words": 3, "texts": 2}
_ANY, _NEVER = And(), Or()
_QUICK = "scan"  # it has nothing to build
_log = logging.getLogger("remuda.index")


class _Places(NamedTuple):
    """The arrays of a roster."""

    orders: Longs
    ranks: Ints
    slots: Ints
    terms: Longs
    tag_starts: Longs
    tag_places: Ints
    priorities: Floats


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


def save(state: State, facts: dict[str, Any], path: Location) -> str:
    """Write a new version of the index, and only the segments that are not there yet."""
    store = store_of(path)
    with store.turn(_PATIENCE):
        version = next_version(store)
        entries = [Entry(write_segment(part, facts, store), part.alive) for part in state.parts]
        return publish(store, version, entries, facts, state.next_order)


def publish(
    path: Location, version: str, entries: Sequence[Entry], facts: dict[str, Any], next_order: int
) -> str:
    """Make a version of segments that were written, and let CURRENT name it.

    Its name was chosen when the writer's turn began: where another has taken it since, it is
    refused, for what changed was found against an older version.
    """
    store, own = store_of(path), uuid.uuid4().hex[:8]
    listed = []
    with store.new(VERSIONS, version) as writing:
        for number, (segment, alive) in enumerate(entries):
            (manifest, checksum), file = store.manifest(segment), None
            if alive is not None:
                file = f"alive-{number}-{own}"  # a name that no other builder uses
                writing.write(file, [np.packbits(alive).tobytes()])
            listed.append(
                {
                    "segment": segment,
                    "alive": file,
                    "criteria": manifest["criteria"],
                    "bytes": sum(one["size"] for one in manifest["files"].values()),
                    "manifest": checksum,
                }
            )
        writing.facts = {**facts, "next_order": next_order, "segments": listed}
    if not _is_newer(store, version):
        store.write_current(with_checksum(f"{version}\n".encode()))
    return version


def _is_newer(store: Store, version: str) -> bool:
    """Whether CURRENT names a later version, by a builder that began later and was quicker."""
    try:
        return int(current_version(store)[1:]) > int(version[1:])
    except StorageError:  # there is none yet, or it is damaged and heals now
        return False


def check_shrinking(path: str, n_removed: int, n_before: int) -> None:
    """Refuse a build that takes most criteria away: its input may be cut short."""
    if 2 * n_removed > n_before:
        reason = f"the build would remove {n_removed:,} of its {n_before:,} criteria"
        advice = "if its input is complete, allow_shrink (--allow-shrink) lets it"
        raise StorageError(path, f"{reason}; {advice}")


def layouts(matcher: str) -> dict[str, Any]:
    """The numbers by which segments of this code are laid out."""
    kinds = {"matcher": conjunction_matcher(matcher), "cnf": cnf_matcher(matcher)}
    return {**_LAYOUTS, **{what: _layout(kind) for what, kind in kinds.items()}}


def _layout(kind: Any) -> int | None:
    return kind.features.layout if kind.features.maps else None


def read_version(path: Location, version: str | None = None) -> Version:
    """What a version says about itself, by default the newest."""
    store = store_of(path)
    name = version or current_version(store)
    facts = Reading(store.version(name)).facts
    return Version(name, facts, facts["segments"])


def load(
    path: Location,
    version: str | None = None,
    segments: Collection[str] | None = None,
    known: Mapping[str, Part] | None = None,
    verify: bool = True,
    matcher: str | None = None,
    live: bool = True,
) -> tuple[State, Version]:
    """A version, by default the newest; all of its segments or some, by its matcher or another.

    Segments that are `known`, by their homes, are not opened again. What is read is always checked
    for its structure, and for its checksums unless `verify` is off.
    """
    store = store_of(path)
    name = version or current_version(store)
    reading = Reading(store.version(name), verify=verify)
    with named(reading.path):
        facts = reading.facts
        by = _arranging(matcher or facts["matcher"], live)
        how = {**facts, "matcher": by, "scalars": facts["scalars"]}
        trees = read_trees(facts)
        parts = []
        for entry in facts["segments"]:
            if segments is not None and entry["segment"] not in segments:
                continue
            home = store.home(entry["segment"])
            part = (known or {}).get(home)
            if part is None or trees:  # which may be others than those that it was opened with
                part = _load_segment(store.segment(entry), home, how, trees, verify)
            parts.append(replace(part, alive=alive(reading, entry, len(part.roster))))
        state = State(tuple(parts), next_order=int(facts["next_order"]))
        return state, Version(name, facts, facts["segments"])


def _arranging(matcher: str, live: bool) -> str:
    """The matcher that segments are opened with; of what will be a live tree, a quick one."""
    chosen = Chosen.of(matcher)
    return _QUICK if chosen.live and live else str(replace(chosen, live=False))


def alive(reading: Reading, entry: Mapping[str, Any], n: int) -> Bools | None:
    """Which of a segment's criteria are there in a version; None for all."""
    if entry["alive"] is None:
        return None
    with named(reading.path / entry["alive"]):
        bits = np.unpackbits(np.frombuffer(reading.map(entry["alive"]), np.uint8))
        check(len(bits) == n + -n % 8, "bits")
        return frozen(bits[:n].astype(np.bool_))


def prune(path: Location, keep: int = 3) -> list[str]:
    """Remove all versions but the newest ones, and the segments that none of those needs.

    Who has an old version open keeps its pages; who opens one by name meanwhile may fail.
    """
    store = store_of(path)
    with store.turn(_PATIENCE):
        return _pruned(store, keep)


def _pruned(store: Store, keep: int) -> list[str]:
    versions, current = store.names(VERSIONS), current_version(store)
    complete = sorted(name for name in versions if name[0] == "v")
    kept = {current, *[name for name in complete if name <= current][-keep:]}
    gone = [name for name in complete if name not in kept]
    needed = {entry["segment"] for name in kept for entry in read_version(store, name).segments}
    settled = time.time() - store.grace
    for name, written in versions.items():
        if name in gone or (name not in kept and written <= settled):  # half of one, by a crash
            store.remove(VERSIONS, name)
    for name, written in store.names(SEGMENTS).items():
        if name not in needed and written <= settled:
            store.remove(SEGMENTS, name)
    return gone


def swept(path: Location, older_than: float) -> list[str]:
    """Remove what no version names and is so many seconds old; its names. Have the turn."""
    store = store_of(path)
    versions = store.names(VERSIONS)
    named = {
        entry["segment"]
        for version in versions
        if not version.startswith(".")
        for entry in read_version(store, version).segments
    }
    left = [(SEGMENTS, name, at) for name, at in store.names(SEGMENTS).items() if name not in named]
    left += [(VERSIONS, name, at) for name, at in versions.items() if name.startswith(".")]
    stale = [(kind, name) for kind, name, at in sorted(left) if at <= time.time() - older_than]
    for kind, name in stale:
        store.remove(kind, name)
    return [name for _, name in stale]


def current_version(path: Location) -> str:
    """The name of the newest version."""
    store = store_of(path)
    file, content = f"{store}/CURRENT", store.current()
    name = _NAMED.fullmatch(content) or _NAMED.fullmatch(checked(content, file))
    if name is None:
        raise StorageError(file, "it names no version")
    return name[1].decode()


def next_version(path: Location) -> str:
    """The name that the next version will have."""
    taken = {name.lstrip(".") for name in store_of(path).names(VERSIONS)}
    last = max((int(name[1:]) for name in taken if name[1:].isdecimal()), default=0)
    return next(name for i in itertools.count(last + 1) if (name := f"v{i:06d}") not in taken)


def write_segment(part: Part, facts: Mapping[str, Any], path: Location) -> str:
    """Write one segment of a version unless it is there, complete or not at all; its name."""
    store, home = store_of(path), part.segment.home
    if home is not None:
        name = Path(home).name
        there = home == store.home(name) and store.has(name)
        if there and not _is_outdated(store.manifest(name)[0]["headers"], facts["matcher"]):
            return name
    documents = _documents(part.roster)  # which may refuse
    name = f"s-{uuid.uuid4().hex[:16]}"
    segment, roster, tags = part.segment, part.roster, part.roster.tags
    places = _Places(
        roster.orders, roster.ranks, roster.slots, roster.terms, tags.starts, tags.places,
        roster.priorities,
    )  # fmt: skip
    with store.new(SEGMENTS, name) as writing:
        headers = {
            "plan": _packed(writing, "plan", segment.plan, _LAYOUTS["plan"]),
            "roster": _packed(writing, "roster", places, _LAYOUTS["roster"]),
            "matcher": _packed(writing, "matcher", segment.matcher, _layout(segment.matcher)),
            "cnf": _packed(writing, "cnf", segment.cnf, _layout(segment.cnf)),
            "words": {"layout": _LAYOUTS["words"]},
            "texts": _packed(writing, "texts", segment.encoder.texts.stored, _LAYOUTS["texts"]),
        }
        words = write_vocabulary(segment.words.vocabulary)
        writing.write("words.json", [json_form.encode(words)])
        writing.write("ids.arrow", [arrow_file("column", compact(roster.id_array()))])
        writing.write("criteria.arrow", [documents])
        writing.write("tags.json", [json_form.encode(list(tags.names))])
        own = {"matcher": facts["matcher"], "criteria": len(roster), "headers": headers}
        writing.facts = own | tree_digests(facts)
    object.__setattr__(segment, "home", store.home(name))
    return name


def _documents(roster: Roster) -> memoryview:
    """The criteria as they are written; those that were packed here already, as they are."""
    packed = roster.criteria.packed if isinstance(roster.criteria, StoredCriteria) else None
    return packed_documents(roster.documents()) if packed is None else packed


def _packed(writing: Writing, what: str, value: Any, layout: int | None) -> dict[str, Any] | None:
    """Write the arrays of what has a layout; its header."""
    if layout is None:
        return None
    header, blocks = pack(value, layout)
    writing.write(f"{what}.bin", blocks)
    return header


def part_of(
    documents: Iterable[bytes],
    orders: Longs,
    matcher: str,
    scalars: Iterable[str],
    read: Callable[[bytes], Criterion] = Criterion.from_json,
    hierarchies: Hierarchies | None = None,
) -> Part:
    """A part of criteria that are given as documents; these are kept, not written anew."""
    known: list[Criterion] = []
    kept: list[bytes] = []

    def expressions() -> Iterator[Expression]:
        for document in documents:  # one by one: all at once would take several times the memory
            criterion = read(document).bound(hierarchies)
            # of the rest the roster is made
            known.append(replace(criterion, expression=_ANY, payload=None))
            kept.append(document)
            yield criterion.expression

    with no_collection():
        rosters: list[Roster] = []

        def ranks() -> Ints:  # of all, once they are read
            rosters.append(Roster.of(known, orders))
            return rosters[0].ranks

        segment = Segment.build(
            expressions(), matcher=matcher, ranks=ranks,
            scalars=frozenset(map(Attribute.parse, scalars)),
        )  # fmt: skip
    if not hierarchies:
        refuse_trees(segment.words.vocabulary, map(read, kept))
    array = pa.array(kept, pa.large_binary())
    kept.clear()  # payloads may be long
    stored = StoredCriteria.packing(array, hierarchies)
    return Part(segment, replace(rosters[0], criteria=stored))


def _load_segment(
    path: Path, home: str, facts: Mapping[str, Any], trees: Hierarchies, verify: bool
) -> Part:
    reading = Reading(path, verify=verify)
    with named(path):
        headers = reading.facts["headers"]
        if (
            fits(Plan, _LAYOUTS["plan"], headers["plan"])
            and fits(_Places, _LAYOUTS["roster"], headers["roster"])
            and headers.get("words") == {"layout": _LAYOUTS["words"]}
            and has_trees(trees, reading.facts)
        ):
            roster = _stored_roster(reading, trees)
            segment = _stored_segment(reading, home, facts["matcher"], roster.ranks, trees)
            return Part(segment, roster)
        _log.warning(
            "%s has another layout than this remuda, or other trees: its criteria are planned "
            "anew, in memory until the index is saved",
            home,
        )
        return _planned_anew(reading, facts, trees)


def _planned_anew(reading: Reading, facts: Mapping[str, Any], trees: Hierarchies) -> Part:
    """The part of a segment from its documents and their orders, which every format has."""
    header = reading.facts["headers"]["roster"]
    orders = stored_array(header, "orders", reading.map("roster.bin"))
    batches = pa.ipc.open_file(pa.py_buffer(reading.map("criteria.arrow")))
    documents = (
        bytes(document)
        for i in range(batches.num_record_batches)
        for document in batches.get_batch(i).column(0).to_pylist()
    )
    how = facts["matcher"], facts["scalars"], partial(_read_or_never, trees), trees
    part = part_of(documents, frozen(orders.astype(np.int64)), *how)
    check(len(part.roster) == len(orders), "orders")
    return part


def _read_or_never(trees: Hierarchies, document: bytes) -> Criterion:
    """The criterion; one that was accepted once and is refused today stays, and never holds."""
    try:
        return Criterion.from_json(document).bound(trees)
    except InvalidCriterion as error:
        found = Criterion(json_form.decode(document)["id"], _NEVER)
        _log.warning("%r is kept and holds for no event: %s", found.id, error)
        return found


def _stored_segment(
    reading: Reading, home: str, matcher: str, ranks: Ints, trees: Hierarchies
) -> Segment:
    headers = reading.facts["headers"]
    file = reading.path / "words.json"
    words = reading.map("words.json")
    with named(reading.path / "plan.bin"):
        plan = unpack(Plan, headers["plan"], reading.map("plan.bin"))
        # a space takes at least a byte of the words that it stands for
        check_plan(plan, reading.facts["criteria"], len(words))

    def vocabulary() -> Vocabulary:
        with named(file):
            found = read_vocabulary(json_form.decode(words), plan.conjunctions, trees)
            check_within(plan.programs.leaf_attribute, 0, len(found.weighed), "attributes")
            return found

    stored = (
        _stored_matcher(reading, "matcher", conjunction_matcher(matcher), plan),
        _stored_matcher(reading, "cnf", cnf_matcher(matcher), plan),
    )
    words_of = Lazy(vocabulary, _stored_texts(reading))
    return Segment.over(plan, words_of, matcher, ranks, stored, home)


def _stored_texts(reading: Reading) -> MakeTexts:
    """How the scan of texts is made: of what is stored, or anew where that has another layout."""
    header, file = reading.facts["headers"].get("texts"), "texts.bin"
    if not fits(StoredTexts, _LAYOUTS["texts"], header):
        _log.warning("%s has no tables of texts in this layout: they are made anew", reading.path)
        return Texts
    block = reading.map(file)

    def texts(terms: Sequence[TermTexts], groups: Sequence[Sequence[int]], n: int) -> Texts:
        with named(reading.path / file):
            return Texts(terms, groups, n, unpack(StoredTexts, header, block))

    return texts


def _is_outdated(headers: Mapping[str, Any], matcher: str) -> bool:
    """Whether matchers or texts of a segment have another layout, so that they were built anew."""
    if not fits(StoredTexts, _LAYOUTS["texts"], headers.get("texts")):
        return True
    kinds = {"matcher": conjunction_matcher(matcher), "cnf": cnf_matcher(matcher)}
    return any(_is_other(kind, headers[what]) for what, kind in kinds.items())


def _is_other(kind: Any, header: Any) -> bool:
    """Whether a matcher was stored, in another layout than this code has."""
    layout = _layout(kind)
    return layout is not None and header is not None and not fits(kind, layout, header)


def _stored_matcher(reading: Reading, what: str, kind: Any, plan: Plan) -> Any:
    """A matcher as it was written; None where it must be built anew from the plan."""
    header = reading.facts["headers"][what]
    if _layout(kind) is None or header is None:  # it was saved with one that is not stored
        return None
    if _is_other(kind, header):
        _log.warning("%s has another layout of %s: it is built anew", reading.path, kind.__name__)
        return None
    file = f"{what}.bin"
    with named(reading.path / file):
        matcher = unpack(kind, header, reading.map(file))
        matcher.check(plan.conjunctions if what == "matcher" else plan.cnf)
        return matcher


def _stored_roster(reading: Reading, trees: Hierarchies) -> Roster:
    n = reading.facts["criteria"]
    with named(reading.path / "tags.json"):
        names = json_form.decode(reading.map("tags.json"))
        check(isinstance(names, list) and all(isinstance(name, str) for name in names), "tags")
    with named(reading.path / "roster.bin"):
        header = reading.facts["headers"]["roster"]
        places = unpack(_Places, header, reading.map("roster.bin"))
        _check_places(places, n, len(names))
    with named(reading.path / "ids.arrow"):
        ids = _arrow_array(reading.map("ids.arrow"))
        ids.validate(full=True)
        check(ids.type in (pa.string(), pa.large_string()) and not ids.null_count, "ids")
        check(len(ids) == n, "ids")
    file = "criteria.arrow"
    with named(reading.path / file):
        criteria = StoredCriteria(reading.map(file), n, reading.path / file, trees)
    tags = Tags(names, places.tag_starts, places.tag_places)
    return Roster(
        StoredIds(ids), criteria, places.orders, places.ranks, places.slots, tags, places.terms,
        places.priorities,
    )  # fmt: skip


def _check_places(places: _Places, n: int, n_tags: int) -> None:
    check(places.orders.shape == (n,), "orders")
    check(places.ranks.shape == (n,), "ranks")
    check(places.terms.shape in ((n, 2), (0, 2)), "terms")
    check(places.priorities.shape in ((n,), (0,)), "priorities")
    size = len(places.slots)
    check_within(places.slots, -1, n, "slots")
    free = size - np.count_nonzero(places.slots >= 0)
    check(size & (size - 1) == 0 and free > 0, "slots")  # else a search would not end
    check_starts(places.tag_starts, n_tags, len(places.tag_places), "tags")
    check_within(places.tag_places, 0, n, "tags")


def _arrow_array(data: memoryview) -> Any:
    column = pa.ipc.open_file(pa.py_buffer(data)).read_all().column(0)
    return column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()
