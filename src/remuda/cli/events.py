"""Files of events, in portions that an index takes whole: lists of objects or Arrow batches."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

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

EVENT, ERROR = "event", "event_error"
JSON = {b"remuda": b"json"}  # marks a column whose text is JSON
_AT_ONCE = 1 << 14  # rows of a portion
_BLOCK = 1 << 23  # bytes of CSV that are read together; the first of them decide the types
_LINES = pa.schema([pa.field(EVENT, pa.string(), metadata=JSON), pa.field(ERROR, pa.string())])


class Portion(NamedTuple):
    """Some events, the columns that are handed on with their answers, and what was wrong."""

    events: Any
    given: Any
    rejects: Sequence[str] = ()

    @property
    def n_rows(self) -> int:
        """How many rows were read; a line that is wrong is among the events, a row is not."""
        apart = 0 if isinstance(self.events, list) else len(self.rejects)
        return int(self.given.num_rows) + apart

    def slice(self, start: int, size: int) -> Portion:
        """Some of it, with none of what was wrong."""
        events = self.events
        if isinstance(events, list):
            return Portion(events[start : start + size], self.given.slice(start, size))
        return Portion(*[events.slice(start, size)] * 2)


class Source(NamedTuple):
    """Events with the schema of what is handed on."""

    schema: Any
    portions: Iterator[Portion]


def read_events(path: str, format: str | None = None, text: Sequence[str] = ()) -> Source:
    """The events of a file, or of a directory of files that are alike.

    A line of JSON is handed on as it is, in a column of text, with the reason why it is no
    object, null where it is one; such an event is asked about all the same. Columns named in
    `text` are text though they look otherwise.
    """
    files = members(path)
    if not files:
        return Source(_LINES, iter(()))
    sources = (_source(file, kind_of(file, format), text) for file in files)
    first = next(sources)

    def portions() -> Iterator[Portion]:
        yield from first.portions
        for file, source in zip(files[1:], sources, strict=True):
            if source.schema != first.schema:
                raise FileError(f"{file}: its columns are not those of {files[0]}")
            yield from source.portions

    return Source(first.schema, portions())


def each_event(path: str, format: str | None = None) -> Iterator[Any]:
    """The events one by one, as objects; FileError where a line is not JSON."""
    for portion in read_events(path, format).portions:
        if portion.rejects:
            raise FileError(portion.rejects[0])
        events = portion.events
        yield from events if isinstance(events, list) else events.to_pylist(maps_as_pydicts="lossy")


def table_of(path: str, format: str | None = None) -> Any:
    """All events at once: an Arrow table, or a list of objects for JSON lines."""
    source = read_events(path, format)
    if source.schema.equals(_LINES, check_metadata=True):
        return list(each_event(path, format))
    return pa.Table.from_batches([one.events for one in source.portions], source.schema)


def _source(path: str, kind: str, text: Sequence[str]) -> Source:
    if kind == "jsonl":
        return Source(_LINES, _json_portions(path))
    if kind == "parquet":
        schema, batches = parquet_batches(path, _AT_ONCE)
        return Source(schema, (Portion(batch, batch) for batch in batches))
    return _csv(path, "\t" if kind == "tsv" else ",", text)


def _json_portions(path: str) -> Iterator[Portion]:
    events: list[Any] = []
    lines: list[bytes] = []
    errors: list[str | None] = []
    rejects: list[str] = []

    def portion() -> Portion:
        texts = pa.array([line.decode("utf-8", "replace") for line in lines], pa.string())
        given = pa.RecordBatch.from_arrays([texts, pa.array(errors, pa.string())], schema=_LINES)
        return Portion(list(events), given, list(rejects))

    with reading(path) as file:
        for number, line in json_rows(file, path):
            event, error = _decoded(line)
            events.append(event)
            lines.append(line.strip())
            errors.append(error)
            if error is not None:
                rejects.append(f"{path}, row {number}: {error}")
            if len(events) == _AT_ONCE:
                yield portion()
                for one in (events, lines, errors, rejects):
                    one.clear()
    if events:
        yield portion()


def _decoded(line: bytes) -> tuple[Any, str | None]:
    """The event that a line says, and why it is no object."""
    from remuda.errors import ParseError
    from remuda.language.json import read_event

    try:
        event = read_event(line)
    except ParseError as error:
        return None, error.reason
    return event, None if isinstance(event, dict) else "the event is not an object"


def _csv(path: str, separator: str, text: Sequence[str]) -> Source:
    import pyarrow.csv as arrow_csv

    rejects: list[str] = []

    def refused(row: Any) -> str:
        fields = f"{row.actual_columns} fields, not {row.expected_columns}"
        rejects.append(f"{path}, line {row.number}: it has {fields}")
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
            return Source(pa.schema([]), iter(()))
        raise FileError(f"{path}: {reason_of(error)}") from None
    return Source(reader.schema, _csv_portions(reader, rejects, path))


def _csv_portions(reader: Any, rejects: list[str], path: str) -> Iterator[Portion]:
    try:
        for batch in reader:
            yield Portion(batch, batch, tuple(rejects))
            rejects.clear()
    except (OSError, pa.ArrowException) as error:
        column = re.search(r"column #(\d+)", str(error))
        advice = (
            f"; --text {reader.schema.names[int(column[1])]} reads it as text" if column else ""
        )
        raise FileError(f"{path}: {reason_of(error)}{advice}") from None
