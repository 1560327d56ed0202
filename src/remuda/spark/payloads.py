"""Payloads beside the matches of a DataFrame, for those who ask for them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from os import PathLike
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame
from pyspark.sql.types import ArrayType, StringType, StructField, StructType

from remuda.arrays import starts_of
from remuda.errors import RemudaError
from remuda.index.answers import MATCHES, VERSION
from remuda.index.stores import address
from remuda.language import json_form
from remuda.spark.tasks import Array, Batch, opened

PAYLOADS = "payloads"


def with_payloads(
    answers: DataFrame,
    index: str | PathLike[str],
    *,
    matches: str = MATCHES,
    column: str = PAYLOADS,
) -> DataFrame:
    """Add the payloads of the matches as JSON texts, in their order, null where there is none.

    The rows are those that `match` or `top` gave, exploded or not, of the same index: `matches` is
    their column, and each row says which version answered. Every task opens the whole index.
    """
    path, lacking = address(index), {matches, VERSION} - set(answers.schema.names)
    if lacking:
        raise RemudaError(f"the table has no column {min(lacking)}: give what match or top gave")
    if column in answers.schema.names:
        raise RemudaError(f"the table has a column {column} already: choose another `column`")
    several = isinstance(answers.schema[matches].dataType, ArrayType)
    kind = ArrayType(StringType()) if several else StringType()

    def work(batches: Iterable[Batch]) -> Iterator[Batch]:
        for batch in filter(len, batches):
            yield batch.append_column(column, _payloads(path, batch, matches))

    return answers.mapInArrow(work, StructType([*answers.schema.fields, StructField(column, kind)]))


def _payloads(path: str, batch: Batch, column: str) -> Array:
    matches, versions = batch.column(column), batch.column(VERSION)
    if not pa.types.is_list(matches.type):
        return _texts(path, versions, matches)
    parents = pc.list_parent_indices(matches)
    texts = _texts(path, versions.take(parents), matches.flatten())
    counts = pc.fill_null(pc.list_value_length(matches), 0)
    return pa.ListArray.from_arrays(pa.array(starts_of(counts.to_numpy()), pa.int32()), texts)


def _texts(path: str, versions: Array, matches: Array) -> Array:
    """The payload of each match in its version, each read once."""
    ids = pc.struct_field(matches, "id") if pa.types.is_struct(matches.type) else matches
    wanted = list(zip(versions.to_pylist(), ids.to_pylist(), strict=True))
    known = {pair: _text(path, *pair) for pair in sorted(set(wanted))}  # version after version
    return pa.array([known[pair] for pair in wanted], pa.string())


def _text(path: str, version: str, id: str) -> str | None:
    payload: Any = opened(path, version)[id].payload
    return None if payload is None else json_form.encode(payload).decode()
