"""Outputs: JSON lines, CSV or Parquet, written aside and put in place when they are complete."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import IO, Any, TypeAlias

import msgspec
import pyarrow as pa
import pyarrow.csv as arrow_csv
import pyarrow.parquet as pq

from remuda.cli.events import JSON
from remuda.cli.files import FileError, kind_of, reason_of
from remuda.errors import RemudaError
from remuda.index import files
from remuda.index.answers import ERROR

STDOUT = "-"
_ENCODER = msgspec.json.Encoder(decimal_format="number")


@contextmanager
def aside(path: str) -> Iterator[IO[bytes]]:
    """A file under another name that takes its own when all went well; - is standard output."""
    if path == STDOUT:
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
        return
    try:
        with files.writing(files.local(path)) as file:
            yield file
    except OSError as error:
        if isinstance(error, RemudaError):  # it says what it is about
            raise
        raise FileError(f"{path}: {reason_of(error)}") from None


@contextmanager
def writing(path: str, format: str | None, schema: Any) -> Iterator[Sink]:
    """A sink for tables of the schema."""
    kinds: dict[str, Callable[[IO[bytes], Any], Sink]]
    kinds = {"jsonl": _JsonLines, "csv": _Csv, "parquet": _Parquet}
    with aside(path) as file:
        sink = kinds.get(kind_of(path, format), _JsonLines)(file, schema)
        yield sink
        sink.close()


def write_lines(path: str, documents: Iterable[Any]) -> int:
    """Write objects as JSON lines; how many."""
    n = 0
    with aside(path) as file:
        for document in documents:
            file.write(_ENCODER.encode(document) + b"\n")
            n += 1
    return n


class _JsonLines:
    """A line a row; what is JSON already goes in as it is, and an error only where there is one."""

    def __init__(self, file: IO[bytes], schema: Any) -> None:
        self._file = file
        self._json = [field.name for field in schema if field.metadata == JSON]

    def write(self, table: Any) -> None:
        lines = []
        for row in plain(table).to_pylist(maps_as_pydicts="lossy"):
            if row.get(ERROR, "") is None:
                del row[ERROR]
                for name in self._json:
                    row[name] = msgspec.Raw(row[name].encode())
            lines.append(_ENCODER.encode(row))
        if lines:
            self._file.write(b"\n".join(lines) + b"\n")

    def close(self) -> None:
        pass


class _Csv:
    """Cells of text and numbers; what is a list or an object is JSON in its cell."""

    def __init__(self, file: IO[bytes], schema: Any) -> None:
        flat = [_flat_field(field) for field in schema]
        self._writer = arrow_csv.CSVWriter(file, pa.schema(flat))

    def write(self, table: Any) -> None:
        columns = {name: _flat(table.column(i)) for i, name in enumerate(table.schema.names)}
        self._writer.write(pa.table(columns))

    def close(self) -> None:
        self._writer.close()


class _Parquet:
    def __init__(self, file: IO[bytes], schema: Any) -> None:
        self._writer = pq.ParquetWriter(file, schema.remove_metadata())
        self._schema = schema.remove_metadata()

    def write(self, table: Any) -> None:
        self._writer.write_table(table.cast(self._schema))

    def close(self) -> None:
        self._writer.close()


Sink: TypeAlias = _JsonLines | _Csv | _Parquet  # takes tables of one schema, one after the other


def plain(table: Any) -> Any:
    """The table with no timestamps finer than Python's."""
    for i, field in enumerate(table.schema):
        if pa.types.is_timestamp(field.type) and field.type.unit == "ns":
            column = table.column(i).cast(pa.timestamp("us", field.type.tz), safe=False)
            table = table.set_column(i, field.name, column)
    return table


def _flat_field(field: Any) -> Any:
    return pa.field(field.name, pa.string() if _in_json(field.type) else field.type)


def _in_json(kind: Any) -> bool:
    return bool(
        pa.types.is_nested(kind) or pa.types.is_dictionary(kind) or pa.types.is_binary(kind)
    )


def _flat(column: Any) -> Any:
    if not _in_json(column.type):
        return column
    values = column.to_pylist(maps_as_pydicts="lossy")
    texts = [None if value is None else _text(value) for value in values]
    return pa.array(texts, pa.string())


def _text(value: Any) -> str:
    is_plain = not isinstance(value, Mapping | list | bytes)
    return str(value) if is_plain else _ENCODER.encode(value).decode()
