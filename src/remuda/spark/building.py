"""Indexes built on the executors: a segment a shard, then one version that names them all.

Every criterion has a shard by the hash of its id. A task has all rows of a shard, new ones and
those of the version before, so it alone can tell what was added, changed and removed. What tasks
write is nothing until the driver publishes it: a task that failed or ran twice leaves a directory
that no version names, and `sweep` takes it away.
"""

from __future__ import annotations

import hashlib
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as sf
from pyspark.sql.pandas.types import from_arrow_schema

from remuda.errors import DuplicateCriterion, RemudaError, StorageError
from remuda.index import storage
from remuda.index.directory import Reading
from remuda.index.index import Index
from remuda.index.stores import SEGMENTS, Location, Store, store_of
from remuda.index.trees import named_trees, read_trees, written_trees
from remuda.matchers.contract import Chosen
from remuda.model.hierarchies import Hierarchies
from remuda.spark.criteria import Criteria

_SHARD = 250_000  # criteria of a shard where nothing else is said
_PILE = 8  # segments of a shard before they become one
_STALE = 24 * 3600.0  # seconds after which a build takes away what no version names

_ROW = pa.schema(
    {
        "id": pa.string(),
        "json": pa.string(),
        "order": pa.int64(),
        "digest": pa.string(),
        "segment": pa.int32(),
        "place": pa.int32(),
    }
)
_REPORT = pa.schema(
    {
        "shard": pa.int32(),
        "segment": pa.string(),
        **{name: pa.int64() for name in ("added", "changed", "removed", "kept", "last")},
        "whole": pa.bool_(),
        "dead": pa.map_(pa.int32(), pa.binary()),
        "twice": pa.string(),
    }
)


@dataclass(frozen=True, slots=True)
class Built:
    """A version that was published, and how its criteria differ from those before."""

    version: str
    shards: int
    added: int
    changed: int
    removed: int
    kept: int
    rejected: int
    seconds: float

    def __str__(self) -> str:
        return (
            f"{self.version}: {self.added:,} added, {self.changed:,} changed, "
            f"{self.removed:,} removed, {self.kept:,} kept, {self.rejected:,} rejected; "
            f"{self.shards} shards, {self.seconds:.1f} s"
        )


@dataclass(frozen=True, slots=True)
class _Task:
    """What a task needs to know, all of it small."""

    path: str
    matcher: str
    scalars: tuple[str, ...]
    trees: dict[str, Any]  # what the version says of them
    next_order: int
    sizes: dict[int, list[int]]  # of each shard: criteria in its segments, removed ones too
    whole: bool  # all shards are written anew


def build_index(
    criteria: Criteria | DataFrame,
    path: Location,
    *,
    shards: int | None = None,
    matcher: str = "auto",
    scalars: Iterable[str] = (),
    hierarchies: Hierarchies | None = None,
    allow_shrink: bool = False,
) -> Built:
    """Index the criteria where driver and workers reach it, as the newest version there.

    That is a directory, or a URI such as s3://bucket/ads.

    Where there is a version already, only what differs from it is written; a criterion that
    changed keeps its place in the order, new ones come last in the order of the input. A build
    that would remove more than half of the criteria is refused unless `allow_shrink` is given.
    Without `hierarchies`, the trees of the version before are kept.

    A matcher may be named with parameters, as `betree(max_cap=20)`; `betree(live)` is a live tree
    where it is loaded, and segments like any others on Spark.
    """
    matcher = str(Chosen.of(matcher))
    began = time.monotonic()
    good = _canonical(criteria.good if isinstance(criteria, Criteria) else criteria)
    rejected = criteria.counts.bad if isinstance(criteria, Criteria) else 0
    home = store_of(path)
    facts = {
        "matcher": matcher,
        # matcher and scalars are checked on the way
        "scalars": sorted(map(str, Index(matcher=matcher, scalars=scalars).scalars)),
        "layouts": storage.layouts(matcher),
        **written_trees(named_trees(hierarchies)),
    }
    if shards is not None and shards < 1:
        raise ValueError(f"{shards} shards make no sense")
    with home.turn():
        storage.swept(home, _STALE)
        version = storage.next_version(home)
        before = storage.read_version(home) if home.exists() else None
        if hierarchies is None and before is not None:
            facts |= written_trees(read_trees(before.facts))
        n_shards = shards or (before.facts.get("shards") if before else None) or _enough(criteria)
        reports = _run(good, before, home, {**facts, "shards": n_shards})
        counts = {
            name: sum(report[name] for report in reports)
            for name in ("added", "changed", "removed", "kept")
        }
        if not allow_shrink:
            _check_shrinking(home, counts, reports)
        version = _published(home, version, before, {**facts, "shards": n_shards}, reports)
    seconds = time.monotonic() - began
    return Built(version, n_shards, **counts, rejected=rejected, seconds=seconds)


def _check_shrinking(home: Store, counts: dict[str, int], reports: list[Any]) -> None:
    """Refuse a build that takes most criteria away, and leave nothing of it."""
    n_before = counts["changed"] + counts["removed"] + counts["kept"]
    try:
        storage.check_shrinking(str(home), counts["removed"], n_before)
    except StorageError:
        for report in reports:
            if report["segment"] is not None:
                home.remove(SEGMENTS, report["segment"])
        raise


def sweep(path: Location, older_than: float = 0.0) -> list[str]:
    """Remove what broken builds left: directories that no version names, so many seconds old."""
    home = store_of(path)
    with home.turn():
        return storage.swept(home, older_than)


def _enough(criteria: Criteria | DataFrame) -> int:
    """As many shards as keep each small enough to be built in one worker's memory."""
    n = criteria.counts.good if isinstance(criteria, Criteria) else criteria.count()
    return max(1, -(-n // _SHARD))


def _canonical(good: DataFrame) -> DataFrame:
    missing = {"id", "json"} - set(good.columns)
    if missing:
        raise RemudaError(
            f"the criteria have no column {min(missing)}; read_criteria() makes a table of them"
        )
    order = sf.col("order") if "order" in good.columns else sf.monotonically_increasing_id()
    return good.select("id", "json", order.cast("bigint").alias("order"))


def _alike(before: storage.Version | None, facts: dict[str, Any]) -> bool:
    """Whether the segments of a version can stay: made in the same way, with the same trees."""
    if before is None or before.facts.get("hierarchies") != facts.get("hierarchies"):
        return False
    return facts.items() <= before.facts.items()


def _run(
    good: DataFrame, before: storage.Version | None, home: Store, facts: dict[str, Any]
) -> list[Any]:
    """Build the shards, a task each; what each reports."""
    alike = _alike(before, facts)
    sizes: dict[int, list[int]] = {}
    if before and alike:
        for entry in before.segments:
            shard = before.facts["shard_of"][entry["segment"]]
            sizes.setdefault(shard, []).append(entry["criteria"])
    order = before.facts["next_order"] if before else 0
    trees = {name: facts[name] for name in ("hierarchies",) if name in facts}
    how = facts["matcher"], tuple(facts["scalars"]), trees
    task = _Task(str(home), *how, order, sizes, not alike)
    nothing = {"digest": "string", "segment": "int", "place": "int"}
    rows = good.withColumns({name: sf.lit(None).cast(kind) for name, kind in nothing.items()})
    if before and before.segments:
        rows = rows.unionByName(_rows_before(good, before, str(home)))
    n = facts["shards"]
    # the hash that repartition itself uses: each task has one shard, each shard one task
    sharded = rows.repartition(n, "id").withColumn("shard", sf.pmod(sf.hash("id"), sf.lit(n)))
    reports: list[Any] = sharded.mapInArrow(_builder(task), from_arrow_schema(_REPORT)).collect()
    for report in reports:
        if report["twice"] is not None:
            raise DuplicateCriterion(report["twice"])
    return reports


def _rows_before(good: DataFrame, before: storage.Version, home: str) -> DataFrame:
    """The criteria of the version before, by digest and place."""
    version = before.name
    numbered = [(number, entry["segment"]) for number, entry in enumerate(before.segments)]
    segments = good.sparkSession.createDataFrame(numbered, "number int, segment string")

    def read(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for row in batch.to_pylist():
                yield _read_segment(home, version, row["number"], row["segment"])

    return segments.mapInArrow(read, from_arrow_schema(_ROW))


def _published(
    home: Store,
    version: str,
    before: storage.Version | None,
    facts: dict[str, Any],
    reports: list[Any],
) -> str:
    """Publish the new segments and what stays of the old; nothing where nothing changed."""
    written = [report for report in reports if report["segment"] is not None]
    entries: list[storage.Entry] = []
    shard_of: dict[str, int] = {}
    if before and _alike(before, facts):
        if not written and not any(report["dead"] for report in reports):
            return before.name
        entries, shard_of = _staying(home, before, reports)
    for report in written:
        entries.append(storage.Entry(report["segment"]))
        shard_of[report["segment"]] = report["shard"]
    first = before.facts["next_order"] if before else 0
    next_order = max([first, *(report["last"] + 1 for report in reports)])
    return storage.publish(home, version, entries, {**facts, "shard_of": shard_of}, next_order)


def _staying(
    home: Store, before: storage.Version, reports: list[Any]
) -> tuple[list[storage.Entry], dict[str, int]]:
    """The old segments that have criteria still, less those that died."""
    whole = {report["shard"] for report in reports if report["whole"]}
    dead: dict[int, list[Any]] = {}
    for report in reports:
        for number, places in report["dead"].items():
            dead.setdefault(number, []).append(np.frombuffer(places, np.int32))
    entries, shard_of = [], {}
    reading = Reading(home.version(before.name))
    for number, entry in enumerate(before.segments):
        shard = before.facts["shard_of"][entry["segment"]]
        if shard in whole:
            continue
        there = storage.alive(reading, entry, entry["criteria"])
        alive = np.ones(entry["criteria"], np.bool_) if there is None else there.copy()
        for places in dead.get(number, ()):
            alive[places] = False
        if alive.any():
            entries.append(storage.Entry(entry["segment"], None if alive.all() else alive))
            shard_of[entry["segment"]] = shard
    return entries, shard_of


# What the executors do


def _read_segment(home: str, version: str, number: int, segment: str) -> pa.RecordBatch:
    """The criteria of a segment that are there, as rows."""
    state, _ = storage.load(home, version, segments=[segment])
    part = state.parts[0]
    places = part.places()
    documents = part.roster.documents().take(pa.array(places)).to_pylist()
    n = len(places)
    columns = [
        part.roster.id_array().take(pa.array(places)).cast(pa.string()),
        pa.nulls(n, pa.string()),
        pa.array(part.roster.orders[places]),
        pa.array([_digest(document) for document in documents], pa.string()),
        pa.array(np.full(n, number, np.int32)),
        pa.array(places.astype(np.int32)),
    ]
    return pa.RecordBatch.from_arrays(columns, schema=_ROW)


def _digest(document: bytes) -> str:
    """What Spark's md5 gives."""
    return hashlib.md5(document, usedforsecurity=False).hexdigest()


def _builder(task: _Task) -> Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    def build(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        shards = _compared(task, batches)  # the rows are gone before anything is written
        while shards:
            written, report = shards.pop()
            if written:
                report["segment"] = _write(task, written)
            yield pa.RecordBatch.from_pylist([report], schema=_REPORT)

    return build


Documents = list[tuple[int, str]]  # with their orders
Old = dict[str, dict[str, Any]]  # by id: digest, order, segment and place


@dataclass(slots=True)
class _Rows:
    """The rows of a shard: new criteria, and those of the version before."""

    new: list[tuple[str, str, int]] = field(default_factory=list)  # id, document, order
    old: Old = field(default_factory=dict)


def _compared(
    task: _Task, batches: Iterable[pa.RecordBatch]
) -> list[tuple[Documents, dict[str, Any]]]:
    """Of each shard what is to be written, and what became of its rows."""
    shards: dict[int, _Rows] = {}
    for batch in batches:  # one by one: all at once would be in memory several times
        is_old = batch["segment"].is_valid()
        old, new = batch.filter(is_old), batch.filter(pa.compute.invert(is_old))
        for row in old.drop_columns(["json"]).to_pylist():
            shards.setdefault(row.pop("shard"), _Rows()).old[row["id"]] = row
        columns = (new[name].to_pylist() for name in ("shard", "id", "json", "order"))
        for shard, *row in zip(*columns, strict=True):
            shards.setdefault(shard, _Rows()).new.append((row[0], row[1], row[2]))
    return [_compare(task, shard, shards.pop(shard)) for shard in sorted(shards)]


def _compare(task: _Task, shard: int, rows: _Rows) -> tuple[Documents, dict[str, Any]]:
    """What is new in a shard, or all of it where that is to be written; what became of its rows."""
    old = rows.old
    report: dict[str, Any] = {"shard": shard, "last": -1, "whole": False, "dead": {}}
    counts = Counter(name for name, _, _ in rows.new)
    twice = next((name for name, n in counts.items() if n > 1), None)
    if twice is not None:
        return [], {**report, "twice": twice}
    fresh, kept = [], []
    dead: dict[int, list[int]] = {}
    added = 0
    for name, document, at in rows.new:
        known = old.pop(name, None)
        if known is None:
            fresh.append((task.next_order + at, document))
            added += 1
        elif known["digest"] == _digest(document.encode()):
            kept.append((known["order"], document))
        else:
            fresh.append((known["order"], document))
            dead.setdefault(known["segment"], []).append(known["place"])
    for known in old.values():
        dead.setdefault(known["segment"], []).append(known["place"])
    whole = task.whole or _worn(task.sizes.get(shard, []), len(kept))
    return sorted(kept + fresh if whole else fresh), report | {
        "segment": None,
        "added": added,
        "changed": len(fresh) - added,
        "removed": len(old),
        "kept": len(kept),
        "last": max((order for order, _ in fresh), default=-1),
        "whole": whole,
        "dead": {number: np.array(places, np.int32).tobytes() for number, places in dead.items()},
    }


def _worn(sizes: Collection[int], n_kept: int) -> bool:
    """Whether a shard is better written anew: it is mostly graves, or in many pieces."""
    return n_kept * 2 < sum(sizes) or len(sizes) >= _PILE


def _write(task: _Task, rows: Documents) -> str:
    """The criteria as a segment of the index, by its name."""
    orders = np.array([order for order, _ in rows], np.int64)
    rows.reverse()  # so that each can go as soon as it is read
    documents = (rows.pop()[1].encode() for _ in range(len(rows)))  # they are canonical already
    trees = read_trees(task.trees)
    part = storage.part_of(documents, orders, task.matcher, task.scalars, hierarchies=trees)
    return storage.write_segment(part, {"matcher": task.matcher, **task.trees}, task.path)
