"""Files of criteria, and what all files have in common."""

from __future__ import annotations

import csv
import io
import os
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from remuda.index.files import local

if TYPE_CHECKING:
    from remuda.errors import InvalidCriterion
    from remuda.formats.reading import Format
    from remuda.language.criterion import Criterion

STDIN = "-"
FORMATS = ("jsonl", "csv", "tsv", "parquet")
_COMPRESSED = (".gz", ".bz2", ".zst", ".lz4")


class FileError(Exception):
    """A file that cannot be read or written at all."""


@dataclass(frozen=True, slots=True)
class Reject:
    """A row that is not a criterion: where it stands, and what is wrong with it."""

    file: str
    row: int
    id: str | None
    place: str
    reason: str


def read_criteria(
    paths: Iterable[str], format: str | None = None, schema: Any = None
) -> Iterator[Criterion | Reject]:
    """Every row of the files, as a criterion or as a reject with its reason; in order.

    With a schema of events, what none of them can satisfy is rejected as well.
    """
    from remuda.errors import InvalidCriterion

    taken: dict[str, tuple[str, int]] = {}
    for path in paths:
        for file, row, criterion in _criteria(path, format, schema):
            if isinstance(criterion, InvalidCriterion):
                yield Reject(file, row, criterion.criterion, criterion.place, criterion.reason)
                continue
            first = taken.setdefault(criterion.id, (file, row))
            if first == (file, row):
                yield criterion
            else:
                where = "" if first[0] == file else f" of {first[0]}"
                reason = f"the id is taken by row {first[1]}{where}"
                yield Reject(file, row, criterion.id, "id", reason)


def _criteria(
    path: str, format: str | None, schema: Any
) -> Iterator[tuple[str, int, Criterion | InvalidCriterion]]:
    """Every criterion of the files, or what is wrong with it, with its file and its number."""
    from remuda.errors import InvalidCriterion
    from remuda.formats import FORMATS
    from remuda.language.rows import criterion_of, fitting

    if format in FORMATS:
        for file, row, rule in _rules(path, FORMATS[format]):
            yield file, row, rule if isinstance(rule, InvalidCriterion) else fitting(rule, schema)
        return
    for file, row, source in _rows(path, format):
        try:
            yield file, row, criterion_of(source, schema)
        except InvalidCriterion as error:
            yield file, row, error


def _rules(path: str, format: Format) -> Iterator[tuple[str, int, Criterion | InvalidCriterion]]:
    """Rules of another system: a file of them, or all files of its kind in a folder."""
    home = local(path)
    files = [path] if path == STDIN or not home.is_dir() else format.files_in(home)
    for file in files:
        with reading(file) as data:
            readings = format.read_file(data.read(), format.name_of(file))
        yield from ((file, row, one) for row, one in enumerate(readings, start=1))


def kind_of(path: str, format: str | None = None) -> str:
    """What a file is: what it is said to be, or what its name says."""
    from remuda.language.rows import format_of

    kind = format or format_of(path)
    if kind not in FORMATS:
        known = ", ".join(FORMATS)
        reason = f"the extension does not tell its format ({known})"
        raise FileError(f"{path}: {reason}; --input-format or --format does")
    return kind


def members(path: str) -> list[str]:
    """The file, or the files in a directory of them, as Spark leaves them."""
    if path == STDIN:
        return [path]
    home = local(path)
    if not home.is_dir():
        return [str(home)]
    return sorted(str(one) for one in home.iterdir() if one.is_file() and one.name[0] not in "._")


@contextmanager
def reading(path: str) -> Iterator[IO[bytes]]:
    """The bytes of a file, unpacked where its name says that they are packed."""
    import pyarrow as pa

    try:
        if path == STDIN:
            yield sys.stdin.buffer
        else:
            with _opened(path) as file:
                yield file
    except (OSError, UnicodeDecodeError, csv.Error, pa.ArrowException) as error:
        raise FileError(f"{path}: {reason_of(error)}") from None


def _opened(path: str) -> IO[bytes]:
    if Path(path).suffix not in _COMPRESSED:
        return Path(path).open("rb")  # a pipe, too
    import pyarrow as pa

    return io.BufferedReader(pa.input_stream(path))


def reason_of(error: Exception) -> str:
    """The error on one line, without the path that is said anyway."""
    number = getattr(error, "errno", None)
    return os.strerror(number) if number else " ".join(str(error).split())


def json_rows(file: IO[bytes], name: str) -> Iterator[tuple[int, bytes]]:
    """The lines that are not blank, with their numbers from 1; or the items of one array."""
    import msgspec

    for number, line in enumerate(file, start=1):
        if number == 1 and line.lstrip().startswith(b"["):  # one array, as Mustang exports it
            try:
                items = msgspec.json.decode(line + file.read(), type=list[msgspec.Raw])
            except (msgspec.DecodeError, RecursionError) as error:
                raise FileError(f"{name}: {error}") from None
            yield from ((i, bytes(item)) for i, item in enumerate(items, start=1))
            return
        if line.strip():
            yield number, line


def parquet_batches(path: str, size: int) -> tuple[Any, Iterator[Any]]:
    """The schema of a Parquet file, and its rows in Arrow batches."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    def batches() -> Iterator[Any]:
        try:
            yield from file.iter_batches(batch_size=size)
        except (OSError, pa.ArrowException) as error:
            raise FileError(f"{path}: {reason_of(error)}") from None

    try:
        # Parquet is read from its end, so a stream has to be there as a whole
        source = pa.BufferReader(sys.stdin.buffer.read()) if path == STDIN else path
        file = pq.ParquetFile(source)
    except (OSError, pa.ArrowException) as error:
        raise FileError(f"{path}: {reason_of(error)}") from None
    return file.schema_arrow, batches()


def _rows(path: str, format: str | None) -> Iterator[tuple[str, int, Any]]:
    """The rows of a file with its name and their numbers; JSON as bytes, tables as mappings."""
    from remuda.language.rows import SEPARATORS, csv_rows, missing_columns

    for file in members(path):
        kind = kind_of(file, format)
        if kind == "parquet":
            schema, batches = parquet_batches(file, 1 << 14)
            _check_columns(file, missing_columns(schema.names))
            rows = (row for one in batches for row in one.to_pylist(maps_as_pydicts="lossy"))
            yield from ((file, number, row) for number, row in enumerate(rows, start=1))
            continue
        with reading(file) as data:
            if kind == "jsonl":
                yield from ((file, number, line) for number, line in json_rows(data, file))
            else:
                text = io.TextIOWrapper(data, encoding="utf-8", newline="")
                table = csv_rows(text, SEPARATORS[kind])
                _check_columns(file, missing_columns(table.fieldnames))
                yield from ((file, number, row) for number, row in enumerate(table, start=1))


def _check_columns(file: str, wrong: str | None) -> None:
    if wrong is not None:
        raise FileError(f"{file}: {wrong}")
