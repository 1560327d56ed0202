"""Tasks: a question about the rows of a DataFrame, and how a worker answers it."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from itertools import chain
from os import PathLike
from typing import Any, Literal, TypeAlias, TypedDict, get_args

import numpy as np
import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf
from pyspark.sql.types import DataType, DoubleType, LongType, StringType, StructField, StructType

from remuda import cuda
from remuda.encoding.events import Portion, in_column
from remuda.errors import DeviceError, RemudaError
from remuda.index.answers import Answer, Numbers
from remuda.index.index import Index, load
from remuda.index.question import Question
from remuda.index.storage import current_version
from remuda.index.stores import address
from remuda.matchers.contract import check_name
from remuda.spark.events import check, unread
from remuda.spark.shipping import arrived, shipped
from remuda.spark.spelling import Spellings, check_spelling, respelt, spellings_of

NOW, USER = "remuda_now", "remuda_user"  # columns of our own: a micro-batch's moment, a user

Array: TypeAlias = Any  # pyarrow has no types of its own
Batch: TypeAlias = Any
Location: TypeAlias = str | PathLike[str]
Ids: TypeAlias = Literal["text", "int", "position"]
Segments: TypeAlias = tuple[str, ...] | None  # None: all of them


class Rows(TypedDict, total=False):
    """Where rows have their events, and how workers come by the index and names by columns."""

    version: str | None
    event: str | None
    ship: bool
    case_sensitive: bool


def use_given_device() -> None:
    """Let this worker use the device that Spark gave its task, where it gave one."""
    context = TaskContext.get()
    given = None if context is None else context.resources().get("gpu")
    if given is not None and given.addresses:
        cuda.choose(device_number(given.addresses[0], os.environ.get("CUDA_VISIBLE_DEVICES")))


def device_number(address: str, visible: str | None) -> int:
    """The number that a process has for a device, of whose machine it may see only some."""
    names = [name.strip() for name in visible.split(",")] if visible else []
    if address in names:
        return names.index(address)
    if len(names) == 1:  # the cluster's manager chose it already
        return 0
    if not address.isdecimal():
        raise DeviceError(
            f"Spark gave the task the device {address!r}, which is no number",
            "let the discovery script print numbers of devices, or CUDA_VISIBLE_DEVICES name it",
        )
    return int(address)


@dataclass(frozen=True, slots=True)
class Task:
    """What is asked of which index about every row; plain values, for it goes to the workers."""

    path: str  # as the driver has it
    version: str
    question: Question
    event: str | None = None  # the column that has the event; None: the whole row is one
    timed: bool = False  # the moment is in the column NOW
    matcher: str | None = None  # None: that of the index
    ids: Ids = "text"
    unread: tuple[tuple[str, str], ...] = ()  # fields that must not be looked at, and their types
    archive: str | None = None  # what came with the job, in the place of the path
    case_sensitive: bool = True
    names: tuple[str, ...] = ()  # of fields that are looked at beside those of the criteria

    @classmethod
    def of(
        cls,
        events: DataFrame,
        index: Location,
        question: Question,
        *,
        version: str | None = None,
        event: str | None = None,
        timed: bool = False,
        matcher: str | None = None,
        ids: Ids = "text",
        ship: bool = False,
        case_sensitive: bool = True,
    ) -> Task:
        """A task that can be done: what is wrong with it is said on the driver."""
        if matcher is not None:
            check_name(matcher)
        if ids not in get_args(Ids):
            raise ValueError(f"ids are one of {', '.join(get_args(Ids))}, not {ids!r}")
        if isinstance(question.weights, str) and question.weights not in events.schema.names:
            raise RemudaError(f"the table has no column {question.weights} with weights")
        path = address(index)
        named = version or current_version(path)
        how = event, timed, matcher, ids, (), None, case_sensitive
        task = cls(path, named, question, *how).about(events.schema)
        return replace(task, archive=shipped(events.sparkSession, path, named)) if ship else task

    def about(self, schema: StructType) -> Task:
        """The task for rows of that schema, if it can be done with them."""
        check(schema, self.event)
        if not self.case_sensitive:
            check_spelling(schema, self.event)
        return replace(self, unread=tuple(unread(schema, self.event).items()))

    @property
    def kind(self) -> DataType:
        """The type of one match."""
        one = StringType() if self.ids == "text" else LongType()
        if self.question.n is None:
            return one
        return StructType([StructField("id", one), StructField("score", DoubleType())])

    def opened(self, segments: Segments = None) -> Index:
        opening = self._opening(segments)
        index = opened(*opening)
        if index.matcher == "gpu":
            use_given_device()
        if self.unread:
            self._check_fields(looked_at(*opening))
        return index

    def _opening(self, segments: Segments) -> tuple[str, str, Segments, str | None]:
        """What a worker opens."""
        return self.archive or self.path, self.version, segments, self.matcher

    def _check_fields(self, looked: frozenset[str] | None) -> None:
        """Refuse an event that has a field which a criterion looks at and could not read."""
        if looked is not None and not self.case_sensitive:
            looked = frozenset(name.lower() for name in looked)
        for field, kind in self.unread:
            own = field if self.case_sensitive else field.lower()
            if looked is None or own in looked:
                raise RemudaError(
                    f"a criterion may look at {field}, which is of type {kind}: cast it, or make "
                    "JSON text of it by to_json, or drop it"
                )

    def numbers(self, segments: Segments = None) -> Numbers | None:
        """What stands for the id at each position; None where that is its text."""
        if self.ids == "text":
            return None
        return numbers(*self._opening(segments), self.ids == "int")

    def with_moment(self, events: DataFrame) -> DataFrame:
        """A stream gets the moment of each micro-batch, which Spark keeps for its retry."""
        return events.withColumn(NOW, sf.current_timestamp()) if self.timed else events

    def answers(self, batches: Iterable[Batch]) -> Iterator[Answer]:
        """What the rows match, in portions whose matches are never too many."""
        rest = filter(len, batches)
        for first in rest:  # a task without rows opens nothing
            question = self.question
            if self.timed:
                moment = first.column(NOW).cast(pa.int64())[0].as_py() // 1000  # in microseconds
                question = question._replace(now=moment)
            portions = self.portions(chain([first], rest))
            yield from self.opened().ask(portions, question, threads=1)

    def portions(self, batches: Iterable[Batch]) -> Iterator[Portion]:
        """The batches as portions of events; their rows may have one column more, the user."""
        for batch in batches:
            rows = without(batch, NOW)
            yield self.portion(without(rows, USER), rows)

    def portion(self, rows: Batch, given: Batch, segments: Segments = None) -> Portion:
        """The events of some rows, which were given with more beside them."""
        weights = self.question.weights
        if isinstance(weights, str) and weights not in given.schema.names:
            given = given.append_column(weights, rows.column(weights))
        opening = self._opening(segments)
        if self.event is None:
            return Portion(self._named(rows, opening), given)
        column = rows.column(self.event)
        if pa.types.is_struct(column.type):
            column = self._named(column, opening)
        return in_column(given, column, partial(looked_at, *opening))

    def _named(self, events: Array, opening: tuple[str, str, Segments, str | None]) -> Array:
        """Rows or structs with the names that the criteria have for what is in them."""
        return events if self.case_sensitive else respelt(events, spellings(*opening, self.names))


def listed_ids(spark: SparkSession, task: Task) -> DataFrame:
    """The `id` at each `position` of the index."""

    def work(batches: Iterable[Batch]) -> Iterator[Batch]:
        if any(batches):
            ids = task.opened().ids(tags=task.question.tags)
            yield pa.RecordBatch.from_pydict({"position": pa.array(ids.positions), "id": ids.array})

    return spark.range(1).mapInArrow(work, "position long, id string")


def without(batch: Batch, column: str) -> Batch:
    return batch.drop_columns([column]) if column in batch.schema.names else batch


_open: dict[str, tuple[Any, Index]] = {}


def opened(path: str, version: str, segments: Segments = None, matcher: str | None = None) -> Index:
    """The index or some of its segments; a worker keeps one state of each path open."""
    key = version, segments, matcher
    if path not in _open or _open[path][0] != key:
        _open.pop(path, None)  # first, so that two are never held
        home = arrived(path)
        how: dict[str, Any] = {"version": version, "segments": segments, "matcher": matcher}
        _open[path] = key, load(home, **how, live=False)
    return _open[path][1]


@lru_cache(maxsize=1)
def numbers(
    path: str, version: str, segments: Segments, matcher: str | None, are_ids: bool
) -> Numbers:
    """Of each position, the number that its id is, or the position itself.

    They have 32 bits where that is enough: looked up in no order, more of them are in the cache.
    """
    ids = opened(path, version, segments, matcher).ids()
    of_positions = np.zeros(int(ids.positions.max(initial=-1)) + 1, np.int64)
    if not are_ids:
        return np.arange(len(of_positions), dtype=np.int32)
    try:
        own = ids.array.cast(pa.int64())
        same = own.cast(ids.array.type).equals(ids.array)  # 007 is no number, nor is +7
    except pa.ArrowInvalid:
        same = False
    if not same:
        raise RemudaError(
            f"{path}: not every id is a number as it is written: ask with ids='position', of which "
            "positions() has the ids"
        )
    of_positions[ids.positions] = own.to_numpy()
    short = of_positions.astype(np.int32)
    return short if np.array_equal(short, of_positions) else of_positions


@lru_cache(maxsize=64)
def spellings(
    path: str, version: str, segments: Segments, matcher: str | None, names: tuple[str, ...]
) -> Spellings:
    """How the criteria spell each name, and how it is spelt among the `names`."""
    return spellings_of([*opened(path, version, segments, matcher).field_names(), *names])


@lru_cache(maxsize=64)
def looked_at(
    path: str, version: str, segments: Segments = None, matcher: str | None = None
) -> frozenset[str] | None:
    """The fields of events that the index looks at; None where it looks at whole events."""
    return opened(path, version, segments, matcher).fields()
