"""Payloads beside the matches of a DataFrame, for those who ask for them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain, pairwise
from os import PathLike
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame, types

from remuda.arrays import starts_of
from remuda.errors import RemudaError
from remuda.index.answers import MATCHES, VERSION
from remuda.index.index import Index
from remuda.index.storage import current_version
from remuda.index.stores import address
from remuda.language import json_form
from remuda.spark.shipping import shipped
from remuda.spark.tasks import Array, Batch, opened

PAYLOADS = "payloads"
_PORTION = 1 << 24  # bytes of payloads that are handed over together
_LARGEST = 1 << 30  # bytes of payloads in a row of Spark's, which has 2 GiB at most


def with_payloads(
    answers: DataFrame,
    index: str | PathLike[str],
    *,
    matches: str = MATCHES,
    column: str = PAYLOADS,
    ship: bool = False,
    version: str | None = None,
) -> DataFrame:
    """Add the payloads of the matches as JSON texts, in their order, null where there is none.

    The rows are those that `match` or `top` gave, exploded or not, of the same index: `matches` is
    their column, and each row says which version answered. Every task opens the whole index. Rows
    that several versions answered may come in another order.

    With `ship`, that `version`, by default the newest, is sent with the job to workers that do not
    reach the index; it must be the one that answered.
    """
    lacking = {matches, VERSION} - set(answers.schema.names)
    if lacking:
        raise RemudaError(f"the table has no column {min(lacking)}: give what match or top gave")
    if column in answers.schema.names:
        raise RemudaError(f"the table has a column {column} already: choose another `column`")
    kind = answers.schema[matches].dataType
    several = isinstance(kind, types.ArrayType)
    match = kind.elementType if isinstance(kind, types.ArrayType) else kind
    if isinstance(_id_type(match), types.LongType):
        raise RemudaError(f"{matches} has numbers, and payloads are found by ids as texts")
    text = types.StringType()
    added = types.StructField(column, types.ArrayType(text) if several else text)
    source = _Source(address(index))
    if ship:
        sent = version or current_version(source.path)
        source = _Source(shipped(answers.sparkSession, source.path, sent), sent)

    def work(batches: Iterable[Batch]) -> Iterator[Batch]:
        for batch in filter(len, batches):
            for rows, payloads in _beside(source, batch, matches):
                yield rows.append_column(column, payloads)

    return answers.mapInArrow(work, types.StructType([*answers.schema.fields, added]))


@dataclass(frozen=True, slots=True)
class _Source:
    """Where a worker finds the index, and the version that alone is there, if there is but one."""

    path: str
    only: str | None = None

    def opened(self, version: str) -> Index:
        if self.only not in (None, version):
            raise RemudaError(f"rows are answers of {version}, and {self.only} was sent: say which")
        return opened(self.path, version)


def _id_type(kind: types.DataType) -> types.DataType:
    return kind["id"].dataType if isinstance(kind, types.StructType) else kind


def _beside(source: _Source, batch: Batch, column: str) -> Iterator[tuple[Batch, Array]]:
    """The rows with their payloads, some at a time: payloads may be long, and many rows alike."""
    versions = batch.column(VERSION)
    for version in sorted(versions.unique().to_pylist()):  # one after the other: one is open
        rows, begin = batch.filter(pc.equal(versions, version)), 0
        several, ids = _ids(rows.column(column))
        for texts in portions(source.opened(version), ids):
            payloads = pa.array(chain.from_iterable(texts), pa.string())
            if several:
                starts = starts_of([len(one) for one in texts])
                payloads = pa.ListArray.from_arrays(pa.array(starts, pa.int32()), payloads)
            yield rows.slice(begin, len(texts)), payloads
            begin += len(texts)


def _ids(matches: Array) -> tuple[bool, list[list[str]]]:
    """Whether each row has several matches, and their ids."""
    several = pa.types.is_list(matches.type)
    items = matches.flatten() if several else matches
    names = pc.struct_field(items, "id") if pa.types.is_struct(items.type) else items
    ids = names.to_pylist()
    if not several:
        return False, [[one] for one in ids]
    starts = starts_of(pc.fill_null(pc.list_value_length(matches), 0).to_numpy()).tolist()
    return True, [ids[begin:end] for begin, end in pairwise(starts)]


def portions(index: Index, ids: Iterable[list[str]]) -> Iterator[list[list[str | None]]]:
    """The payloads of the matches of each row in portions, in which each is read once."""
    known: dict[str, str | None] = {}
    portion: list[list[str | None]] = []
    size = 0
    for own in ids:
        known |= {one: payload_text(index, one) for one in own if one not in known}
        portion.append([known[one] for one in own])
        length = sum(len(text) for text in portion[-1] if text is not None)
        if length > _LARGEST:
            raise RemudaError(
                f"the {len(own):,} matches of an event have {length:,} characters of payloads, too "
                "many for one row: explode the matches first"
            )
        size += length
        if size > _PORTION:
            yield portion
            known, portion, size = {}, [], 0
    if portion:
        yield portion


def payload_text(index: Index, id: str) -> str | None:
    payload: Any = index[id].payload
    return None if payload is None else json_form.encode(payload).decode()
