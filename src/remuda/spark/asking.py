"""Questions: what a task asks of an index about its batches, and the columns that answer it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame
from pyspark.sql import functions as sf
from pyspark.sql.types import (
    ArrayType,
    DataType,
    DoubleType,
    StringType,
    StructField,
    StructType,
)

from remuda.errors import RemudaError
from remuda.index.files import local
from remuda.index.index import Index, load
from remuda.index.question import Question as Asked
from remuda.index.storage import current_version
from remuda.model.expressions import attribute_weights
from remuda.spark.events import ERROR, check, fields_of, read

VERSION = "index_version"
NOW, USER = "remuda_now", "remuda_user"  # columns of our own: a micro-batch's moment, a user
_FIRST = 64  # rows that are asked about first, while it is not known how much they match
_HITS = 1 << 20  # matches that are held at a time
_GROWTH = 16  # times as many rows as before at most, for the next ones may match more
_EXPLODED = 1 << 15  # rows of an exploded batch

Array: TypeAlias = Any  # pyarrow has no types of its own
Batch: TypeAlias = Any
Location: TypeAlias = str | PathLike[str]


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked of every row; plain values, for it goes to the workers."""

    path: str
    version: str
    event: str | None = None
    tags: frozenset[str] | None = None
    now: int | None = None  # None: it is in the column NOW
    n: int | None = None  # the best, or all that match
    weights: Mapping[str, float] | None = None

    @classmethod
    def of(
        cls,
        events: DataFrame,
        index: Location,
        version: str | None,
        *,
        event: str | None,
        tags: Iterable[str] | None,
        now: datetime | int | None,
        n: int | None = None,
        weights: Mapping[str, float] | None = None,
    ) -> Question:
        """A question that can be answered: what is wrong with it is said on the driver."""
        check(events.schema, event)
        asked = Asked.of(now, tags)
        if n is not None and n < 0:
            raise ValueError(f"a top of {n} makes no sense")
        attribute_weights(weights)
        path = str(local(index).absolute())  # a link stays one: it may lead elsewhere on a worker
        moment = None if now is None and events.isStreaming else asked.now
        pinned = version or current_version(Path(path))
        kept = None if weights is None else dict(weights)
        return cls(path, pinned, event, asked.tags, moment, n, kept)

    @property
    def kind(self) -> DataType:
        """The type of one match."""
        if self.n is None:
            return StringType()
        return StructType([StructField("id", StringType()), StructField("score", DoubleType())])

    def ask(self, index: Index, events: Any, now: datetime | int | None) -> Array:
        """What each event satisfies: a list of ids, or of ids and scores."""
        if self.n is None:
            found = index.match_many(events, tags=self.tags, now=now)
            values = found.names.at(found.positions)
        else:
            found = index.top_many(events, self.n, weights=self.weights, tags=self.tags, now=now)
            ids = found.names.at(found.positions)
            values = pa.StructArray.from_arrays([ids, pa.array(found.scores)], ["id", "score"])
        return pa.ListArray.from_arrays(pa.array(found.offsets, pa.int32()), values)


class Answer(NamedTuple):
    """Some rows, the matches of each, and why their events are not objects, where that is known."""

    rows: Batch
    found: Array
    errors: Array | None


_open: dict[str, tuple[Any, Index]] = {}


def opened(path: str, version: str, segments: tuple[str, ...] | None = None) -> Index:
    """The index or some of its segments; a worker keeps one state of each path open."""
    key = version, segments
    if path not in _open or _open[path][0] != key:
        _open.pop(path, None)  # first, so that two are never held
        _open[path] = key, load(path, version=version, segments=segments)
    return _open[path][1]


@lru_cache(maxsize=64)
def looked_at(
    path: str, version: str, segments: tuple[str, ...] | None = None
) -> frozenset[str] | None:
    """The fields that the index looks at."""
    return fields_of(opened(path, version, segments))


def with_moment(events: DataFrame, question: Question) -> DataFrame:
    """A stream gets the moment of each micro-batch, which Spark keeps for its retry."""
    return events if question.now is not None else events.withColumn(NOW, sf.current_timestamp())


def answers(
    question: Question,
    batches: Iterable[Batch],
    size: Size,
    segments: tuple[str, ...] | None = None,
) -> Iterator[Answer]:
    """The batches in portions, each with its matches, which are never too many at a time."""
    for portion in portions(question, batches, size, segments):
        index = opened(question.path, question.version, segments)
        found = question.ask(index, portion.events, portion.now)
        size.learn(portion.rows.num_rows, len(found.values))
        yield Answer(portion.rows, found, portion.errors)


@dataclass(slots=True)
class Size:
    """How many rows to ask about at a time: so few that their matches take little memory."""

    rows: int = _FIRST

    def learn(self, n_rows: int, n_matches: int) -> None:
        fitting = _HITS * n_rows // max(n_matches, 1)
        self.rows = max(1, min(fitting, _GROWTH * n_rows, 1 << 14))


class Portion(NamedTuple):
    """Some rows as they were given, their events, and what is said about these."""

    rows: Batch
    events: Any
    errors: Array | None
    now: int
    users: Array | None


def portions(
    question: Question,
    batches: Iterable[Batch],
    size: Size,
    segments: tuple[str, ...] | None = None,
) -> Iterator[Portion]:
    """The batches, as many rows at a time as `size` says."""
    for batch in batches:
        start = 0
        while start < batch.num_rows:
            part = batch.slice(start, size.rows)
            start += part.num_rows
            own = {name: part.column(name) for name in (NOW, USER) if name in part.schema.names}
            rows = part.drop_columns(list(own))
            now = question.now
            if now is None:
                now = own[NOW].cast(pa.int64())[0].as_py() // 1000  # from microseconds
            events, errors = rows, None
            if question.event is not None:
                fields = looked_at(question.path, question.version, segments)
                events, errors = read(rows.column(question.event), fields)
            yield Portion(rows, events, errors, now, own.get(USER))


def schema_of(events: DataFrame, question: Question, column: str, *, explode: bool) -> StructType:
    """The rows as they were, and behind them the answer, the version and the error."""
    kind = question.kind if explode else ArrayType(question.kind, containsNull=False)
    added = [StructField(column, kind), StructField(VERSION, StringType())]
    if question.event is not None:
        added.append(StructField(ERROR, StringType()))
    taken = {field.name for field in added} & set(events.schema.names)
    if taken:
        raise RemudaError(
            f"the table has a column {min(taken)} already: rename or drop it, or choose `column`"
        )
    return StructType([*events.schema.fields, *added])


def laid_out(answer: Answer, version: str, names: list[str], *, explode: bool) -> Iterator[Batch]:
    """The rows with their answers beside them, or exploded, one row a match."""
    rows, found, errors = answer
    if not explode:
        yield _beside(rows, found, errors, version, names)
        return
    parents = pc.list_parent_indices(found)
    matches = found.flatten()
    for start in range(0, len(parents), _EXPLODED):
        at = parents.slice(start, _EXPLODED)
        told = None if errors is None else errors.take(at)
        yield _beside(rows.take(at), matches.slice(start, _EXPLODED), told, version, names)


def _beside(
    rows: Batch, found: Array, errors: Array | None, version: str, names: list[str]
) -> Batch:
    versions = pa.repeat(pa.scalar(version, pa.string()), len(found))
    added = [found, versions] if errors is None else [found, versions, errors]
    return pa.RecordBatch.from_arrays([*rows.columns, *added], names)
