"""Events in a DataFrame to the criteria they satisfy.

The index is a directory that all workers reach; a task gets its path and version as text and
maps it, so nothing is shipped, unless one asks for it, and every worker on a machine shares its
pages.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from datetime import datetime
from os import PathLike
from typing import Literal, Unpack

from pyspark.sql import DataFrame, Observation, SparkSession
from pyspark.sql import functions as sf
from pyspark.sql.types import ArrayType, StringType, StructField, StructType

from remuda.errors import RemudaError
from remuda.index.answers import (
    ERROR,
    MATCHES,
    VERSION,
    check_lists,
    in_pieces,
    laid_out,
    listed,
)
from remuda.index.question import By, Question
from remuda.index.storage import current_version
from remuda.index.stores import address
from remuda.model.weights import Weights
from remuda.spark.sharded import SHARD_BYTES, fanned_out, groups
from remuda.spark.shipping import shipped
from remuda.spark.tasks import Batch, Ids, Rows, Task, listed_ids

Shards = int | Literal["auto"] | None


class How(Rows, total=False):
    """What is done with the answers beside the rows, and into how many groups an index is split."""

    column: str
    explode: bool
    shards: Shards
    shard_bytes: int


def match(
    events: DataFrame,
    index: str | PathLike[str],
    *,
    tags: Iterable[str] | None = None,
    now: datetime | int | None = None,
    ids: Ids = "text",
    matcher: str | None = None,
    **how: Unpack[How],
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

    An answer of numbers costs less: with `ids="int"` the ids themselves, where all of them are
    whole numbers, with `ids="position"` their places in the version, of which `positions` has
    the ids. More matches than an array can hold are refused; exploded, there may be any number.

    `matcher` is the index's own, unless another is named: `gpu` on workers that have a device.

    Where workers cannot reach the index, `ship` sends the version with the job. Without
    `case_sensitive`, a name in a criterion stands for the column or the field of a struct that is
    spelt like it but for case, as Spark reads names unless it is told otherwise.
    """
    timed = now is None and events.isStreaming
    question = Question.of(now, tags)
    return answered(events, index, question, timed=timed, ids=ids, matcher=matcher, **how)


def top(
    events: DataFrame,
    index: str | PathLike[str],
    n: int,
    *,
    weights: Weights | str = None,
    by: By = "score",
    per: str | None = None,
    tags: Iterable[str] | None = None,
    now: datetime | int | None = None,
    **how: Unpack[How],
) -> DataFrame:
    """Add the n best criteria of each row, best first, each with its id and score.

    `weights` are those of attributes and their values, or the name of a column with those of each
    row, as maps or structs; `by` and `per` are those of `Index.top`; all else is as in `match`,
    which alone has `ids` and `matcher`.
    """
    question = Question.of(now, tags, n, weights, by, per)
    return answered(events, index, question, timed=now is None and events.isStreaming, **how)


def answered(
    events: DataFrame,
    index: str | PathLike[str],
    question: Question,
    *,
    column: str = MATCHES,
    explode: bool = False,
    timed: bool = False,
    shards: Shards = "auto",
    shard_bytes: int = SHARD_BYTES,
    ids: Ids = "text",
    matcher: str | None = None,
    **rows: Unpack[Rows],
) -> DataFrame:
    """Add what answers the question about each row, as `match` and `top` do.

    With `timed`, the question's moment is that of each micro-batch.
    """
    task = Task.of(events, index, question, timed=timed, ids=ids, matcher=matcher, **rows)
    schema = _schema(events, task, column)
    split = groups(task, shards, shard_bytes, streaming=events.isStreaming)
    if len(split) > 1:
        answers = fanned_out(events, task, split, schema, column, explode=explode)
    else:
        answers = task.with_moment(events).mapInArrow(_matching(task, column, explode), schema)
    # in the JVM: so a row travels once, or once with every piece of its matches
    return exploded(answers, column) if explode else answers


def positions(
    spark: SparkSession,
    index: str | PathLike[str],
    version: str | None = None,
    *,
    ship: bool = False,
) -> DataFrame:
    """The `id` at each `position` of a version, by default the newest; `ship` as in `match`."""
    path = address(index)
    named = version or current_version(path)
    archive = shipped(spark, path, named) if ship else None
    task = Task(path, named, Question.of(), archive=archive)
    return listed_ids(spark, task)


def _matching(
    task: Task, column: str, explode: bool
) -> Callable[[Iterable[Batch]], Iterator[Batch]]:
    def work(batches: Iterable[Batch]) -> Iterator[Batch]:
        for portion, matches in task.answers(batches):
            numbers = task.numbers()
            if explode:
                tables = in_pieces(portion.rows, matches, task.version, column, numbers)
            else:
                check_lists(matches, numbers)
                lists = listed(matches, numbers)
                tables = laid_out(portion.rows, lists, task.version, matches.errors, column=column)
            for table in tables:
                yield from table.to_batches()

    return work


def _schema(events: DataFrame, task: Task, column: str) -> StructType:
    """The rows as they were, and behind them the answer, the version and the error."""
    kind = ArrayType(task.kind, containsNull=False)
    added = [StructField(column, kind), StructField(VERSION, StringType())]
    if task.event is not None:
        added.append(StructField(ERROR, StringType()))
    taken = {field.name for field in added} & set(events.schema.names)
    if taken:
        raise RemudaError(
            f"the table has a column {min(taken)} already: rename or drop it, or choose `column`"
        )
    return StructType([*events.schema.fields, *added])


def exploded(answers: DataFrame, column: str = MATCHES) -> DataFrame:
    """One row a match."""
    return answers.withColumn(column, sf.explode(column))


def observed(answers: DataFrame, watch: Observation, event: str | None) -> DataFrame:
    """The answers, whose rows, matches and errors are counted when they are used."""
    errors = sf.count(ERROR) if event is not None else sf.count(sf.lit(None))
    return answers.observe(
        watch,
        sf.count(sf.lit(1)).alias("rows"),
        sf.coalesce(sf.sum(sf.size(MATCHES)), sf.lit(0)).alias("matches"),
        errors.alias("errors"),
    )
