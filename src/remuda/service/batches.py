"""Batches: many events of one request, and their answers portion by portion."""

from __future__ import annotations

import io
import struct
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import msgspec
import pyarrow as pa
import pyarrow.compute as pc

from remuda.index.answers import Answer
from remuda.index.index import Index
from remuda.index.matches import Matches
from remuda.index.question import Question
from remuda.service.bodies import EventAnswer
from remuda.service.calls import ARROW, JSON, NDJSON
from remuda.service.problems import Refused

_COMPRESSION = 3  # the field of Arrow's record batches that says how they are compressed


def events_in(body: bytes, kind: str, most: int) -> Any:
    """The events of a body, in a form that an index takes."""
    if kind == NDJSON:
        _check_count(body.count(b"\n"), most)
        return body
    if kind == JSON:
        events = msgspec.json.decode(body, type=list[Any])
        _check_count(len(events), most)
        return events
    return _table(body, most)


def _check_count(n: int, most: int) -> None:
    if n > most:
        raise Refused(413, f"{n:,} are too many for one request; the most is {most:,}")


def _table(body: bytes, most: int) -> pa.Table:
    """The table in an Arrow stream, checked: what it says of itself may be a lie."""
    for message in pa.ipc.MessageReader.open_stream(pa.py_buffer(body)):
        if message.type != "schema" and _is_compressed(message.metadata.to_pybytes()):
            raise Refused(415, "send the Arrow stream without compression")
    batches, n = [], 0
    reader = pa.ipc.open_stream(pa.py_buffer(body))
    for batch in reader:
        n += batch.num_rows
        _check_count(n, most)
        batch.validate(full=True)
        batches.append(batch)
    return pa.Table.from_batches(batches, reader.schema)


def _is_compressed(metadata: bytes) -> bool:
    """Whether the record batch of a message is: a small one could become any size."""
    try:
        message = struct.unpack_from("<I", metadata, 0)[0]
        header = _field(metadata, message, 2)
        batch = header + struct.unpack_from("<I", metadata, header)[0]
        if struct.unpack_from("<B", metadata, _field(metadata, message, 1))[0] == 2:
            inner = _field(metadata, batch, 1)  # a dictionary's batch
            batch = inner + struct.unpack_from("<I", metadata, inner)[0]
        return bool(_field(metadata, batch, _COMPRESSION) != batch)
    except struct.error as error:
        raise pa.ArrowInvalid(f"a message is cut short: {error}") from None


def _field(metadata: bytes, table: int, number: int) -> int:
    """Where a field of a flatbuffer's table stands; the table's own place where it is absent."""
    entries = table - struct.unpack_from("<i", metadata, table)[0]
    size = struct.unpack_from("<H", metadata, entries)[0]
    at = 4 + 2 * number
    return table + (struct.unpack_from("<H", metadata, entries + at)[0] if at < size else 0)


class Piece(NamedTuple):
    """A part of an answer, and what was found in it."""

    body: bytes
    matches: Matches | None = None


def answers(
    index: Index, events: Any, question: Question, limit: int | None, kind: str
) -> Iterator[Piece]:
    """The answers in the form that was asked for, in pieces."""
    pieces = _FORMS[kind]
    return pieces(index.ask(events, question), limit)


def _columns(answer: Answer, limit: int | None) -> pa.Table:
    """What the events match: `ids`, perhaps `scores`, and `error` where there can be any."""
    table = answer.matches.in_order().to_arrow()
    columns = {name: table[name] for name in table.column_names}
    if limit is not None:
        columns = {name: pc.list_slice(one, 0, limit) for name, one in columns.items()}
    errors = answer.matches.errors
    n = len(answer.matches)
    columns["error"] = pa.nulls(n, pa.string()) if errors is None else errors
    return pa.table(columns)


def _objects(answer: Answer, limit: int | None) -> Iterator[EventAnswer]:
    for row in _columns(answer, limit).to_pylist():
        if row["error"] is None:
            del row["error"]
        yield EventAnswer(**row)


def _as_lines(found: Iterator[Answer], limit: int | None) -> Iterator[Piece]:
    encoder = msgspec.json.Encoder()
    for answer in found:
        yield Piece(encoder.encode_lines(list(_objects(answer, limit))), answer.matches)


def _as_array(found: Iterator[Answer], limit: int | None) -> Iterator[Piece]:
    before = b"["
    for answer in found:
        body = msgspec.json.encode(list(_objects(answer, limit)))[1:-1]
        if body:
            yield Piece(before + body, answer.matches)
            before = b","
    yield Piece(b"]" if before == b"," else b"[]")


def _as_arrow(found: Iterator[Answer], limit: int | None) -> Iterator[Piece]:
    sink = io.BytesIO()
    writer = None
    for answer in found:
        table = _columns(answer, limit)
        if writer is None:
            writer = pa.ipc.new_stream(sink, table.schema)
        writer.write_table(table)
        yield Piece(_drained(sink), answer.matches)
    if writer is None:
        schema = pa.schema([("ids", pa.list_(pa.string())), ("error", pa.string())])
        writer = pa.ipc.new_stream(sink, schema)
    writer.close()
    yield Piece(_drained(sink))


def _drained(sink: io.BytesIO) -> bytes:
    written = sink.getvalue()
    sink.seek(0)
    sink.truncate()
    return written


_FORMS: dict[str, Callable[[Iterator[Answer], int | None], Iterator[Piece]]] = {
    JSON: _as_array,
    NDJSON: _as_lines,
    ARROW: _as_arrow,
}
