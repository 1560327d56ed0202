"""Reach: how many events, and how many different users, each criterion holds for.

Workers count, so no match ever leaves them. For users, the rows of one come together, and each
worker needs to know no more than the user it is at; or a sketch of Spark's estimates them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime
from itertools import chain
from os import PathLike
from typing import Any, Unpack

import numpy as np
import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as sf
from pyspark.sql.types import ArrayType, MapType, StructType

from remuda.arrays import Longs
from remuda.errors import RemudaError
from remuda.index.matches import Matches
from remuda.index.question import Question
from remuda.spark.tasks import USER, Batch, Rows, Task, listed_ids

_COUNTED = "position long, events long, users long"
_PAIRS = "position long, events long, user long"


def reach(
    events: DataFrame,
    index: str | PathLike[str],
    *,
    user: str | None = None,
    approximate: bool = False,
    tags: Iterable[str] | None = None,
    now: datetime | int | None = None,
    **rows: Unpack[Rows],
) -> DataFrame:
    """A row for each criterion: its `id`, and the number of `events` that it holds for.

    With `user`, a column or a field in one, also the number of different `users` among them, null
    not being one: exact, which sorts the events by user, or `approximate`, within some 5 %.
    Criteria that reach nobody are there with 0. `version`, `event`, `ship` and `case_sensitive`
    are those of `match`, and all else is as there.
    """
    if events.isStreaming:
        raise RemudaError("a stream has no end to count to: use reach on its micro-batches")
    if approximate and user is None:
        raise ValueError("only users are approximated: say which column has them")
    task = Task.of(events, index, Question.of(now, tags), **rows)
    if user is None:
        counted = events.mapInArrow(_reaching(task), _COUNTED)
    elif approximate:
        counted = _with_user(events, user, hashed=True).mapInArrow(_pairing(task), _PAIRS)
    else:
        sorted_ = _with_user(events, user).repartition(USER).sortWithinPartitions(USER)
        counted = sorted_.mapInArrow(_counting(task), _COUNTED)
    wanted = {"events": sf.sum("events")}
    if user is not None:
        wanted["users"] = sf.approx_count_distinct("user") if approximate else sf.sum("users")
    totals = counted.groupBy("position").agg(*[one.alias(name) for name, one in wanted.items()])
    listed = listed_ids(events.sparkSession, task)
    columns = [sf.coalesce(sf.col(name), sf.lit(0)).alias(name) for name in wanted]
    return listed.join(totals, "position", "left").select("id", *columns)


def _with_user(events: DataFrame, user: str, *, hashed: bool = False) -> DataFrame:
    """The events with one more column, the user, or a number that stands for it."""
    who: Column = sf.col(user)
    kind = events.select(who).schema.fields[0].dataType
    if isinstance(kind, ArrayType | MapType | StructType):
        raise RemudaError(f"a user is one value, and {user} is of type {kind.simpleString()}")
    if hashed:
        who = sf.when(who.isNotNull(), sf.xxhash64(who))
    return events.withColumn(USER, who)


def _reaching(task: Task) -> Any:
    """How many events each position of the index has in the rows of a task."""

    def work(batches: Iterable[Batch]) -> Iterator[Batch]:
        rest = filter(len, batches)
        for first in rest:  # a task without rows opens nothing
            index, (now, tags, *_) = task.opened(), task.question
            events = index.reach(task.portions(chain([first], rest)), tags=tags, now=now, threads=1)
            some = np.flatnonzero(events)
            yield _batch(
                position=index.ids().positions[some], events=events[some], users=0 * events[some]
            )

    return work


def _counting(task: Task) -> Any:
    """How many events and users each position of the index has in the rows of a task."""

    def work(batches: Iterable[Batch]) -> Iterator[Batch]:
        events = users = np.zeros(0, np.int64)
        last = _Last()
        for matches, who in _matched(task, batches):
            if not len(events):
                events, users = np.zeros((2, len(matches.names)), np.int64)
            # not by bincount, which looks at all positions for however few events
            np.add.at(events, matches.positions, 1)
            np.add.at(users, last.new(matches, who), 1)
        positions = np.flatnonzero(events)
        yield _batch(position=positions, events=events[positions], users=users[positions])

    return work


class _Last:
    """The user of the last row, and the positions that hold for it."""

    def __init__(self) -> None:
        self.user: Any = pa.scalar(None)
        self.positions: Longs = np.empty(0, np.int64)

    def new(self, matches: Matches, who: Any) -> Longs:
        """The position of each pair of position and user that was not seen before."""
        if not len(matches):
            return np.empty(0, np.int64)
        codes = who.dictionary_encode().indices.fill_null(-1).to_numpy(zero_copy_only=False)
        runs = np.concatenate([[0], np.cumsum(np.diff(codes) != 0)])
        of_match = np.repeat(runs, matches.counts())
        width = len(matches.names)
        pairs = np.unique(of_match * width + matches.positions)
        positions, run = pairs % width, pairs // width
        fresh = codes[np.searchsorted(runs, run)] >= 0
        if who[0].equals(self.user):
            fresh &= (run > 0) | ~np.isin(positions, self.positions)
        else:
            self.positions = np.empty(0, np.int64)
        mine = positions[run == runs[-1]]
        self.positions = np.union1d(self.positions, mine) if runs[-1] == 0 else mine
        self.user = who[-1]
        new: Longs = positions[fresh]
        return new


def _pairing(task: Task) -> Any:
    """The pairs of position and user in the rows, and of how many events each is."""

    def work(batches: Iterable[Batch]) -> Iterator[Batch]:
        for matches, who in _matched(task, batches):
            codes = who.dictionary_encode()
            of_row = codes.indices.fill_null(-1).to_numpy(zero_copy_only=False) + 1
            width = len(codes.dictionary) + 1
            of_match = np.repeat(of_row, matches.counts())
            pairs, counts = np.unique(
                matches.positions.astype(np.int64) * width + of_match, return_counts=True
            )
            users = codes.dictionary.take(pa.array(pairs % width - 1, mask=pairs % width == 0))
            yield _batch(position=pairs // width, events=counts, user=users)

    return work


def _matched(task: Task, batches: Iterable[Batch]) -> Iterator[tuple[Matches, Any]]:
    """What some rows match, and their users."""
    for portion, matches in task.answers(batches):
        yield matches, portion.rows.column(USER)


def _batch(**columns: Any) -> Batch:
    return pa.RecordBatch.from_pydict({name: pa.array(one) for name, one in columns.items()})
