"""Files of events, in portions that an index takes as they are."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator, Sequence
from itertools import chain, islice
from typing import Any, NamedTuple

import msgspec
import pyarrow as pa

from remuda.cli.files import (
    STDIN,
    FileError,
    json_rows,
    kind_of,
    members,
    parquet_batches,
    reading,
    reason_of,
)
from remuda.encoding.events import AT_ONCE, Portion, decoded
from remuda.index.answers import ERROR
from remuda.language.rows import SEPARATORS
from remuda.language.schemas import Schema, schema_of

EVENT = "event"
JSON = {b"remuda": b"json"}  # marks a column whose text is JSON
_SAMPLED = 10_000  # lines of JSON that tell a schema
_BLOCK = 1 << 23  # bytes of CSV that are read together; the first of them decide the types
_LINES = pa.schema([pa.field(EVENT, pa.string(), metadata=JSON)])

Rejected = Callable[[str, bool], None]  # told what is wrong, and whether the row is kept


class Events(NamedTuple):
    """Events with the schema of the rows that they come in."""

    schema: Any
    portions: Iterator[Portion]

    @property
    def added(self) -> list[Any]:
        """The fields that answers have beyond rows and matches: lines of JSON may be wrong."""
        return [pa.field(ERROR, pa.string())] if self.schema is _LINES else []


def events_schema(path: str) -> Schema:
    """Which attributes the events of a file have; of JSON lines, the first thousands tell it."""
    found = read_events(path, None, (), lambda *_: None)
    if found.schema is not _LINES:
        return schema_of(found.schema)
    lines: list[Any] = []
    for file in members(path):
        with reading(file) as source:
            lines += [line for _, line in islice(json_rows(source, file), _SAMPLED - len(lines))]
    return schema_of(filter(None, map(_decoded, lines)))


def _decoded(line: bytes) -> Any:
    try:
        return msgspec.json.decode(line)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return None


def read_events(
    path: str,
    format: str | None,
    text: Sequence[str],
    rejected: Rejected,
    fields: frozenset[str] | None = None,
) -> Events:
    """The events of a file, or of a directory of files that are alike.

    A line of JSON that is no object is an event all the same; a row of CSV that does not fit is
    none. Columns named in `text` are text though they look otherwise. Of lines of JSON, no more
    than the `fields` are read, where they are named.
    """
    files = members(path)
    if not files:
        return Events(_LINES, iter(()))
    sources = (_opened(file, kind_of(file, format), text, rejected, fields) for file in files)
    first = next(sources)

    def portions() -> Iterator[Portion]:
        yield from first.portions
        for file, source in zip(files[1:], sources, strict=True):
            if source.schema != first.schema:
                raise FileError(f"{file}: its columns are not those of {files[0]}")
            yield from source.portions

    return Events(first.schema, portions())


def strict_portions(path: str, format: str | None = None) -> Iterator[Portion]:
    """The same; FileError where a row is wrong."""

    def refuse(reason: str, _: bool) -> None:
        raise FileError(reason)

    return read_events(path, format, (), refuse).portions


def each_event(path: str, format: str | None = None) -> Iterator[Any]:
    """The events one by one, as objects; FileError where a row is wrong."""
    for portion in strict_portions(path, format):
        yield from portion.objects()


def _opened(
    path: str, kind: str, text: Sequence[str], rejected: Rejected, fields: frozenset[str] | None
) -> Events:
    if kind == "jsonl":
        return Events(_LINES, _json_portions(path, rejected, fields))
    if kind == "parquet":
        schema, batches = parquet_batches(path, AT_ONCE)
        return Events(schema, map(Portion, batches))
    return _csv(path, SEPARATORS[kind], text, rejected)


def _json_portions(
    path: str, rejected: Rejected, fields: frozenset[str] | None
) -> Iterator[Portion]:
    with reading(path) as file:
        rows = json_rows(file, path)
        while some := list(islice(rows, AT_ONCE)):
            lines = [line.strip() for _, line in some]
            texts = pa.array([line.decode("utf-8", "replace") for line in lines], pa.string())
            portion = decoded(lines, pa.RecordBatch.from_arrays([texts], schema=_LINES), fields)
            assert portion.errors is not None
            for (number, _), error in zip(some, portion.errors.to_pylist(), strict=True):
                if error is not None:
                    rejected(f"{path}, row {number}: {error}", True)
            yield portion


def _csv(path: str, separator: str, text: Sequence[str], rejected: Rejected) -> Events:
    import pyarrow.csv as arrow_csv

    wrong: list[str] = []  # Arrow calls from within, where nothing may be raised

    def refused(row: Any) -> str:
        fields = f"{row.actual_columns} fields, not {row.expected_columns}"
        wrong.append(f"{path}, line {row.number}: it has {fields}")
        return "skip"

    try:
        reader = arrow_csv.open_csv(
            sys.stdin.buffer if path == STDIN else path,
            read_options=arrow_csv.ReadOptions(block_size=_BLOCK, use_threads=False),
            parse_options=arrow_csv.ParseOptions(
                delimiter=separator, newlines_in_values=True, invalid_row_handler=refused
            ),
            convert_options=arrow_csv.ConvertOptions(
                null_values=[""],
                strings_can_be_null=True,
                column_types=dict.fromkeys(text, pa.string()),
            ),
        )
    except (OSError, pa.ArrowException) as error:
        if str(error) == "Empty CSV file":
            return Events(pa.schema([]), iter(()))
        raise FileError(f"{path}: {reason_of(error)}") from None

    def portions() -> Iterator[Portion]:
        for batch in chain(_csv_batches(reader, path), [None]):
            while wrong:
                rejected(wrong.pop(0), False)
            if batch is not None:
                yield Portion(batch)

    return Events(reader.schema, portions())


def _csv_batches(reader: Any, path: str) -> Iterator[Any]:
    try:
        yield from reader
    except (OSError, pa.ArrowException) as error:
        column = re.search(r"column #(\d+)", str(error))
        advice = (
            f"; --text {reader.schema.names[int(column[1])]} reads it as text" if column else ""
        )
        raise FileError(f"{path}: {reason_of(error)}{advice}") from None
