"""Files of criteria and events: JSON lines, a JSON array, CSV or Parquet."""

from __future__ import annotations

import csv
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import msgspec

from remuda.errors import InvalidCriterion, ParseError
from remuda.language.criterion import Criterion
from remuda.language.text import parse

STDIN = "-"


class FileError(Exception):
    """A file that cannot be read at all."""


@dataclass(frozen=True, slots=True)
class Reject:
    """A row that is not a criterion: where it stands, and what is wrong with it."""

    file: str
    row: int
    id: str | None
    place: str
    reason: str


def read_criteria(path: str) -> Iterator[Criterion | Reject]:
    """Every row of the file, as a criterion or as a reject with its reason; in order."""
    taken: dict[str, int] = {}
    for row, source in _rows(path):
        try:
            criterion = _criterion(source)
        except InvalidCriterion as error:
            yield Reject(path, row, error.criterion, error.place, error.reason)
            continue
        first = taken.setdefault(criterion.id, row)
        if first != row:
            reason = f"the id is taken by row {first}"
            yield Reject(path, row, criterion.id, "id", reason)
        else:
            yield criterion


def read_events(path: str) -> Iterator[Any]:
    """Every row of the file as an event."""
    for row, source in _rows(path):
        if isinstance(source, bytes):
            try:
                yield msgspec.json.decode(source)
            except (msgspec.DecodeError, RecursionError) as error:
                raise FileError(f"{path}, row {row}: {error}") from None
        else:
            yield source


def _criterion(source: Any) -> Criterion:
    if isinstance(source, bytes):
        if b'"expression"' not in source:
            return Criterion.from_json(source)
        source = _decoded(source)
    if isinstance(source, Mapping) and "expression" in source and "form" not in source:
        return _tabular(source)
    return Criterion.from_json(source)


def _tabular(row: Mapping[str, Any]) -> Criterion:
    """A row with columns id and expression, perhaps tags."""
    if row.get("id") is None:
        raise InvalidCriterion("the column id is empty", "id")
    name = str(row["id"])
    unknown = sorted(set(row) - {"id", "expression", "tags"})
    if unknown:
        raise InvalidCriterion(f"the column {unknown[0]!r} is not known", unknown[0], name)
    try:
        expression = parse(row["expression"] or "")
    except ParseError as error:
        place = f"expression, column {error.column + 1}"
        raise InvalidCriterion(str(error), place, name) from None
    tags = row.get("tags") or ()
    return Criterion(
        name, expression, frozenset(tags.split(",") if isinstance(tags, str) else tags)
    )


def _decoded(source: bytes) -> Any:
    try:
        return msgspec.json.decode(source)
    except (msgspec.DecodeError, RecursionError) as error:
        raise InvalidCriterion(f"this is not JSON: {error}") from None


def _rows(path: str) -> Iterator[tuple[int, Any]]:
    """The rows of a file with their numbers, from 1; JSON as bytes, tables as mappings."""
    if path == STDIN:
        yield from _json_rows(sys.stdin.buffer)
        return
    suffix = Path(path).suffix.lower()
    try:
        if suffix == ".parquet":
            yield from _parquet_rows(path)
        elif suffix in (".csv", ".tsv"):
            with Path(path).open(newline="", encoding="utf-8") as file:
                rows = csv.DictReader(file, delimiter="\t" if suffix == ".tsv" else ",")
                yield from enumerate(rows, start=1)
        else:
            with Path(path).open("rb") as file:
                yield from _json_rows(file)
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        reason = getattr(error, "strerror", None) or error
        raise FileError(f"{path}: {reason}") from None


def _json_rows(file: IO[bytes]) -> Iterator[tuple[int, Any]]:
    for number, line in enumerate(file, start=1):
        if number == 1 and line.lstrip().startswith(b"["):  # one array, as Mustang exports it
            try:
                items = msgspec.json.decode(line + file.read(), type=list[msgspec.Raw])
            except (msgspec.DecodeError, RecursionError) as error:
                raise FileError(f"{getattr(file, 'name', STDIN)}: {error}") from None
            yield from ((i, bytes(item)) for i, item in enumerate(items, start=1))
            return
        if line.strip():
            yield number, line


def _parquet_rows(path: str) -> Iterator[tuple[int, Any]]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        with pq.ParquetFile(path) as file:
            number = 0
            for batch in file.iter_batches():
                for row in batch.to_pylist(maps_as_pydicts="lossy"):
                    number += 1
                    yield number, row
    except pa.ArrowException as error:
        raise FileError(f"{path}: {error}") from None
