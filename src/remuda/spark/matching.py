"""Events in a DataFrame to the criteria they satisfy.

The index is a directory that all workers reach; a task gets its path and version as text and
maps it, so nothing is shipped and every worker on a machine shares its pages.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from os import PathLike
from typing import Literal

import pyarrow as pa
from pyspark.sql import DataFrame

from remuda.spark.asking import Question, Size, answers, laid_out, schema_of, with_moment
from remuda.spark.sharded import SHARD_BYTES, fanned_out, groups

MATCHES = "matches"

Shards = int | Literal["auto"] | None


def match(
    events: DataFrame,
    index: str | PathLike[str],
    *,
    column: str = MATCHES,
    version: str | None = None,
    explode: bool = False,
    tags: Iterable[str] | None = None,
    event: str | None = None,
    now: datetime | int | None = None,
    shards: Shards = "auto",
    shard_bytes: int = SHARD_BYTES,
) -> DataFrame:
    """Add the ids of the criteria that each row satisfies, and the version of the index.

    The event is the whole row, or what the column `event` has: a struct, a map or a JSON text.
    In the latter case a column `event_error` says why an event is not an object; such a row
    stays, and matches what holds for nothing at all. With `explode`, one row a match and
    `column` is the id; rows without a match go. With `tags`, only criteria that have any of them.

    `version` is the newest when this is called; it is then the same for every task. So is `now`,
    but for a stream it is the moment of each micro-batch, unless it is given.

    An index of more than `shard_bytes` is split into groups of segments: every event goes to
    every group, and a task opens one group only. `shards` sets how many groups there are; None
    never splits, and reads nothing here if `version` is given. A stream is not split.
    """
    question = Question.of(events, index, version, event=event, tags=tags, now=now)
    return _answered(events, question, column, shards, shard_bytes, explode=explode)


def top(
    events: DataFrame,
    index: str | PathLike[str],
    n: int,
    *,
    column: str = MATCHES,
    version: str | None = None,
    explode: bool = False,
    weights: Mapping[str, float] | None = None,
    tags: Iterable[str] | None = None,
    event: str | None = None,
    now: datetime | int | None = None,
    shards: Shards = "auto",
    shard_bytes: int = SHARD_BYTES,
) -> DataFrame:
    """Add the n best criteria of each row, best first, each with its id and score.

    `weights` are those of attributes; all else is as in `match`.
    """
    question = Question.of(
        events, index, version, event=event, tags=tags, now=now, n=n, weights=weights
    )
    return _answered(events, question, column, shards, shard_bytes, explode=explode)


def _answered(
    events: DataFrame,
    question: Question,
    column: str,
    shards: Shards,
    shard_bytes: int,
    *,
    explode: bool,
) -> DataFrame:
    schema = schema_of(events, question, column, explode=explode)
    split = groups(question, shards, shard_bytes, streaming=events.isStreaming)
    if len(split) > 1:
        return fanned_out(events, question, split, schema, explode=explode)
    names = schema.names

    def work(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for answer in answers(question, batches, Size()):
            yield from laid_out(answer, question.version, names, explode=explode)

    return with_moment(events, question).mapInArrow(work, schema)
