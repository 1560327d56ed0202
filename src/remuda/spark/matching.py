"""Events in a DataFrame to the criteria they satisfy.

The index is a directory that all workers reach; a task gets its path and version as text and
maps it, so nothing is shipped and every worker on a machine shares its pages.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql.types import ArrayType, DoubleType, StringType, StructField, StructType

from remuda.index.index import Index, load
from remuda.index.matches import Matches
from remuda.index.storage import current_version

MATCHES, VERSION = "matches", "index_version"


def match(
    events: DataFrame,
    index: str | Path,
    *,
    column: str = MATCHES,
    version: str | None = None,
    explode: bool = False,
) -> DataFrame:
    """Add the ids of the criteria that each row satisfies, and the version of the index.

    With `explode`, one row a match and `column` is the id; rows without a match go.
    """
    pinned = version or current_version(Path(index))
    kind = StringType() if explode else ArrayType(StringType(), containsNull=False)

    def answer(found: Index, batch: pa.RecordBatch) -> pa.RecordBatch:
        return _with_matches(batch, found.match_many(batch), pinned, column, explode=explode)

    return _mapped(events, str(index), pinned, answer, StructField(column, kind))


def top(
    events: DataFrame,
    index: str | Path,
    n: int,
    *,
    column: str = MATCHES,
    version: str | None = None,
    weights: dict[str, float] | None = None,
) -> DataFrame:
    """Add the n best criteria of each row, best first, as an array of id and score."""
    pinned = version or current_version(Path(index))
    kind = StructType([StructField("id", StringType()), StructField("score", DoubleType())])

    def answer(found: Index, batch: pa.RecordBatch) -> pa.RecordBatch:
        best = found.top_many(batch, n, weights=weights)
        ids = best.to_arrow().column("ids").combine_chunks()
        pairs = pa.StructArray.from_arrays(
            [ids.values.cast(pa.string()), pa.array(best.scores)], ["id", "score"]
        )
        rows = pa.ListArray.from_arrays(ids.offsets.cast(pa.int32()), pairs)
        return _with(batch, {column: rows, VERSION: _repeated(pinned, batch.num_rows)})

    return _mapped(events, str(index), pinned, answer, StructField(column, ArrayType(kind)))


def _mapped(
    events: DataFrame,
    path: str,
    version: str,
    answer: Callable[[Index, pa.RecordBatch], pa.RecordBatch],
    field: StructField,
) -> DataFrame:
    schema = StructType([*events.schema.fields, field, StructField(VERSION, StringType())])

    def work(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        found = opened(path, version)
        for batch in batches:
            yield answer(found, batch)

    return events.mapInArrow(work, schema)


@lru_cache(maxsize=8)
def opened(path: str, version: str) -> Index:
    """The index, opened once in each worker."""
    return load(path, version=version)


def _with_matches(
    batch: pa.RecordBatch, found: Matches, version: str, column: str, *, explode: bool
) -> pa.RecordBatch:
    ids = found.to_arrow().column("ids").combine_chunks()
    names = ids.values.cast(pa.string())
    if explode:
        taken = batch.take(pa.compute.list_parent_indices(ids))
        return _with(taken, {column: names, VERSION: _repeated(version, taken.num_rows)})
    rows = pa.ListArray.from_arrays(ids.offsets.cast(pa.int32()), names)
    return _with(batch, {column: rows, VERSION: _repeated(version, batch.num_rows)})


def _with(batch: pa.RecordBatch, columns: dict[str, Any]) -> pa.RecordBatch:
    names = [*batch.schema.names, *columns]
    return pa.RecordBatch.from_arrays([*batch.columns, *columns.values()], names)


def _repeated(text: str, n: int) -> pa.Array:
    return pa.array([text] * n, pa.string())
