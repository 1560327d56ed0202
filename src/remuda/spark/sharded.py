"""Indexes larger than a worker's memory: groups of segments, each opened by tasks of its own.

Every event goes to every group, and the answers come together again under a number that the row
was given. One copy of the row is kept; the others are dropped as soon as they are answered.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from itertools import groupby
from typing import Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame, types
from pyspark.sql import functions as sf
from pyspark.sql.pandas.types import to_arrow_type

from remuda.arrays import Ragged, starts_of
from remuda.errors import RemudaError
from remuda.index.answers import Answer, Numbers, in_pieces, laid_out, listed
from remuda.index.choosing import NO_FLOATS, NO_GROUPS, best
from remuda.index.question import Question
from remuda.index.storage import read_version
from remuda.matchers.contract import Hits
from remuda.spark.tasks import Array, Batch, Task

SHARD_BYTES = 8 << 30  # of the index; what a machine's memory should hold
_ROW, _GROUP, _COPY, _LISTS, _ERROR = "row", "group", "copy", "lists", "error"
_PRIORITY, _GROUPS = "priority", "groups"

Groups = tuple[tuple[str, ...], ...]
Schema = types.StructType


def groups(
    task: Task, shards: int | Literal["auto"] | None, shard_bytes: int, *, streaming: bool
) -> Groups:
    """The segments in groups of like size; none where the index is not to be split."""
    if isinstance(shards, int) and shards < 1:
        raise ValueError(f"there is at least one shard, not {shards}")
    if streaming and isinstance(shards, int) and shards > 1:
        raise RemudaError("a stream is not split: match its micro-batches, as match_stream does")
    if shards is None or shards == 1 or streaming:
        return ()
    version = read_version(task.path, task.version)
    wanted = math.ceil(version.nbytes / shard_bytes) if shards == "auto" else shards
    sizes = {one["segment"]: one["bytes"] for one in version.segments}
    found: list[list[str]] = [[] for _ in range(min(wanted, len(sizes)))]
    filled = [0] * len(found)
    for name in sorted(sizes, key=lambda one: (-sizes[one], one)) if len(found) > 1 else ():
        emptiest = filled.index(min(filled))
        found[emptiest].append(name)
        filled[emptiest] += sizes[name]
    return tuple(tuple(one) for one in found if one)


def fanned_out(
    events: DataFrame, task: Task, split: Groups, schema: Schema, column: str, *, explode: bool
) -> DataFrame:
    """The events, each answered by every group."""
    sent = _sent(events, len(split))
    if task.ids == "position":
        raise RemudaError("positions are those of a whole index: ask with shards=None")
    if explode and task.question.n is None:  # nothing has to come together

        def work(batches: Iterable[Batch]) -> Iterator[Batch]:
            for group, (portion, matches) in _of_groups(task, split, batches):
                rows = pa.RecordBatch.from_struct_array(portion.rows.column(_COPY))
                numbers = task.numbers(split[group])
                for table in in_pieces(rows, matches, task.version, column, numbers):
                    yield from table.to_batches()

        return sent.mapInArrow(work, schema)

    def ask(batches: Iterable[Batch]) -> Iterator[Batch]:
        for group, answer in _of_groups(task, split, batches):
            numbers = task.numbers(split[group])
            yield _partial(group, answer, task.question, numbers)

    def join(batches: Iterable[Batch]) -> Iterator[Batch]:
        for rows, lists, errors in _joined(task, len(split), batches):
            for table in laid_out(rows, lists, task.version, errors, column=column):
                yield from table.to_batches()

    partial_answers = sent.mapInArrow(ask, _partial_schema(events, task))
    together = partial_answers.repartition(_ROW).sortWithinPartitions(_ROW, _GROUP)
    return together.mapInArrow(join, schema)


def _sent(events: DataFrame, n_groups: int) -> DataFrame:
    """A numbered copy of each row for each group, partitions with copies for one group alone."""
    set_ = events.sparkSession.conf.get("spark.sql.shuffle.partitions")
    each = max(1, math.ceil(int(set_ or n_groups) / n_groups))  # partitions of a group
    numbered = events.select(
        sf.monotonically_increasing_id().alias(_ROW), sf.struct("*").alias(_COPY)
    )
    copies = sf.explode(sf.sequence(sf.lit(0), sf.lit(n_groups - 1))).alias(_GROUP)
    # group by group, so that few of them are in use at a time
    place = sf.col(_GROUP) * each + sf.pmod(sf.col(_ROW), sf.lit(each)).cast("int")
    return numbered.select(_ROW, copies, _COPY).repartitionById(n_groups * each, place)


def _of_groups(task: Task, split: Groups, batches: Iterable[Batch]) -> Iterator[tuple[int, Answer]]:
    """The answer of each group to the rows that were sent to it."""
    for group, own in groupby(filter(len, batches), lambda batch: batch.column(_GROUP)[0].as_py()):
        portions = (
            task.portion(pa.RecordBatch.from_struct_array(batch.column(_COPY)), batch, split[group])
            for batch in own
        )
        index = task.opened(split[group])
        for answer in index.ask(portions, task.question, threads=1):
            yield group, answer


def _partial_schema(events: DataFrame, task: Task) -> Schema:
    fields = {
        _ROW: types.LongType(),
        _GROUP: types.IntegerType(),
        _COPY: Schema(events.schema.fields),
        _LISTS: types.ArrayType(_told_kind(task)),
        _ERROR: types.StringType(),
    }
    return Schema([types.StructField(name, kind) for name, kind in fields.items()])


def _told_kind(task: Task) -> types.DataType:
    if task.question.n is None:
        return task.kind
    told = Schema().add("id", "string").add("score", "double")
    return told.add(_PRIORITY, "double").add(_GROUPS, types.ArrayType(types.StringType()))


def _partial(group: int, answer: Answer, question: Question, numbers: Numbers | None) -> Batch:
    """What one group says; the first one also hands on the rows."""
    (portion, matches), n = answer, len(answer.portion)
    copies = portion.rows.column(_COPY)
    columns = {
        _ROW: portion.rows.column(_ROW),
        _GROUP: pa.array(np.full(n, group, np.int32)),
        _COPY: copies if group == 0 else pa.nulls(n, copies.type),
        _LISTS: _told(answer, question, numbers),
        _ERROR: pa.nulls(n, pa.string()) if matches.errors is None else matches.errors,
    }
    return pa.RecordBatch.from_pydict(columns)


def _joined(
    task: Task, n_groups: int, batches: Iterable[Batch]
) -> Iterator[tuple[Batch, Array, Array | None]]:
    """What all groups say about a row, which is in as many rows that follow one another."""
    held: list[Any] = []
    for batch in batches:
        held.append(batch)
        whole = pa.concat_batches(held)
        n = whole.num_rows - whole.num_rows % n_groups
        held = [whole.slice(n)]
        if n:
            yield _join(task, n_groups, whole.slice(0, n))


def _join(task: Task, n_groups: int, batch: Batch) -> tuple[Batch, Array, Array | None]:
    firsts = pa.array(np.arange(0, batch.num_rows, n_groups))
    rows = pa.RecordBatch.from_struct_array(batch.column(_COPY).take(firsts))
    lists = batch.column(_LISTS)
    offsets = lists.offsets.to_numpy(zero_copy_only=False)[::n_groups]
    lists = pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), lists.values)
    if task.question.n is not None:
        lists = _best(lists, task.question).cast(pa.list_(to_arrow_type(task.kind)))
    errors = batch.column(_ERROR).take(firsts) if task.event is not None else None
    return rows, lists, errors


def _told(answer: Answer, question: Question, numbers: Numbers | None) -> Array:
    """What one group says of each row; of the best, also what they are chosen by.

    That is by their ids as texts, so numbers are made of them when they were chosen.
    """
    if question.n is None:
        return listed(answer.matches, numbers)
    lists = listed(answer.matches)
    names, positions = answer.matches.names, answer.matches.positions
    told = {name: lists.values.field(name) for name in ("id", "score")}
    told[_PRIORITY] = pa.array(names.priorities(positions))
    told[_GROUPS] = pa.array(names.group_names(positions, question), pa.list_(pa.string()))
    values = pa.StructArray.from_arrays(list(told.values()), list(told))
    return pa.ListArray.from_arrays(lists.offsets, values)


def _best(lists: Array, question: Question) -> Array:
    """The best of each row, as an index chooses them; Arrow, too, orders ids by code point."""
    matches = lists.flatten()
    parts = {name: pc.struct_field(matches, name) for name in ("id", "score", _PRIORITY, _GROUPS)}
    counts = pc.list_value_length(lists).to_numpy(zero_copy_only=False)
    rows = np.arange(len(matches), dtype=np.int32)
    hits = Hits(starts_of(counts), rows, 0, parts["score"].to_numpy(zero_copy_only=False))
    groups = NO_GROUPS
    if question.per is not None:
        codes = parts[_GROUPS].flatten().dictionary_encode(null_encoding="encode").indices
        sizes = pc.list_value_length(parts[_GROUPS]).to_numpy(zero_copy_only=False)
        groups = Ragged(starts_of(sizes), codes.to_numpy(zero_copy_only=False))
    kept = best(
        hits,
        question.n or 0,
        pc.rank(parts["id"], tiebreaker="dense").to_numpy().astype(np.int64),
        parts[_PRIORITY].to_numpy(zero_copy_only=False) if question.by == "priority" else NO_FLOATS,
        groups,
    )
    chosen = [parts[name].take(pa.array(kept.rows)) for name in ("id", "score")]
    values = pa.StructArray.from_arrays(chosen, ["id", "score"])
    return pa.ListArray.from_arrays(pa.array(kept.starts.astype(np.int32)), values)
