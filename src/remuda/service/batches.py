"""Batches: many events of one request, and their answers portion by portion."""

from __future__ import annotations

import io
import struct
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple, TypeAlias

import msgspec
import pyarrow as pa
import pyarrow.compute as pc

from remuda.index.answers import Answer
from remuda.index.matches import Matches
from remuda.service.bodies import EventAnswer
from remuda.service.calls import ARROW, JSON, NDJSON
from remuda.service.problems import Refused

_ENCODER = msgspec.json.Encoder()
_TOGETHER = 1 << 18  # bytes of lines that are asked about at once
_CONTINUES = 0xFFFFFFFF  # how a message of an Arrow stream begins
_BATCH = 3  # the kind of a message with a record batch
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


def _table(body: bytes, most: int) -> pa.Table | pa.RecordBatch:
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
    if len(batches) == 1:  # whose columns are sliced and read with less ado than a table's
        return batches[0]
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


def answers(found: Iterator[Answer], limit: int | None, form: Form) -> Iterator[Piece]:
    """The answers in a form, in pieces; without their end, which may be after others."""
    for answer in found:
        yield Piece(form.part(answer, limit), answer.matches)


class CutLines:
    """Lines, so many together that it is worth asking about them."""

    def __init__(self, most: int) -> None:
        self._held, self._most = bytearray(), most

    def take(self, piece: bytes) -> list[bytes]:
        self._held += piece
        if len(self._held) < _TOGETHER:
            return []
        end = self._held.rfind(b"\n") + 1
        if not end and len(self._held) > self._most:
            raise Refused(413, f"a line has {self._most:,} bytes at most")
        part = bytes(self._held[:end])
        del self._held[:end]
        return [part] if part else []

    def rest(self) -> list[bytes]:
        return [bytes(self._held)] if self._held.strip() else []


class CutArrow:
    """Record batches, each with the schema and the dictionaries that came before it."""

    def __init__(self, most: int) -> None:
        self._held, self._most = bytearray(), most
        self._before = b""  # the schema, and the dictionaries so far

    def take(self, piece: bytes) -> list[bytes]:
        self._held += piece
        batches = []
        while (size := self._size()) is not None and size <= len(self._held):
            message = bytes(self._held[:size])
            del self._held[:size]
            kind = _kind(message)
            if kind == _BATCH:
                batches.append(self._before + message)
            elif kind is not None:
                self._before += message
            if len(self._before) > self._most:
                raise Refused(413, f"dictionaries have {self._most:,} bytes at most")
        return batches

    def rest(self) -> list[bytes]:
        if self._held:
            raise pa.ArrowInvalid("the stream is cut short")
        return []

    def _size(self) -> int | None:
        """The bytes of the message that comes next, once that can be told."""
        if len(self._held) < 8:
            return None
        mark: int
        length: int
        mark, length = struct.unpack_from("<Ii", self._held)
        if mark != _CONTINUES or length < 0 or length > self._most:
            raise pa.ArrowInvalid("this is no message of an Arrow stream")
        if not length or len(self._held) < 8 + length:
            return 8 + length
        metadata = bytes(self._held[8 : 8 + length])
        body = _number(metadata, 3, "<q")
        if not 0 <= body <= self._most:
            raise Refused(413, f"a record batch has {self._most:,} bytes at most")
        return 8 + length + body


# how a body that is still arriving is cut into bodies of whole events
CUTS: dict[str, Callable[[int], CutLines | CutArrow]] = {NDJSON: CutLines, ARROW: CutArrow}


def _kind(message: bytes) -> int | None:
    """What a message is of: a schema, a dictionary, a batch; None at the end."""
    length = struct.unpack_from("<i", message, 4)[0]
    return _number(message[8 : 8 + length], 1, "<B") if length else None


def _number(metadata: bytes, field: int, form: str) -> int:
    """A number among the fields of a message; 0 where it is left out."""
    try:
        table = struct.unpack_from("<I", metadata, 0)[0]
        at = _field(metadata, table, field)
        return int(struct.unpack_from(form, metadata, at)[0]) if at != table else 0
    except struct.error as error:
        raise pa.ArrowInvalid(f"a message is cut short: {error}") from None


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


class _Lines:
    """An object a line."""

    def part(self, answer: Answer, limit: int | None) -> bytes:
        return _ENCODER.encode_lines(list(_objects(answer, limit)))

    def end(self) -> bytes:
        return b""


class _Array:
    """A JSON array."""

    def __init__(self) -> None:
        self._before = b"["

    def part(self, answer: Answer, limit: int | None) -> bytes:
        body = _ENCODER.encode(list(_objects(answer, limit)))[1:-1]
        if not body:
            return b""
        before, self._before = self._before, b","
        return before + body

    def end(self) -> bytes:
        return b"]" if self._before == b"," else b"[]"


class _Stream:
    """An Arrow stream."""

    def __init__(self) -> None:
        self._sink = io.BytesIO()
        self._writer: Any = None

    def part(self, answer: Answer, limit: int | None) -> bytes:
        table = _columns(answer, limit)
        if self._writer is None:
            self._writer = pa.ipc.new_stream(self._sink, table.schema)
        self._writer.write_table(table)
        return self._drained()

    def end(self) -> bytes:
        if self._writer is None:
            schema = pa.schema([("ids", pa.list_(pa.string())), ("error", pa.string())])
            self._writer = pa.ipc.new_stream(self._sink, schema)
        self._writer.close()
        return self._drained()

    def _drained(self) -> bytes:
        written = self._sink.getvalue()
        self._sink.seek(0)
        self._sink.truncate()
        return written


Form: TypeAlias = _Array | _Lines | _Stream  # writes answers, portion by portion, and their end
FORMS: dict[str, Callable[[], Form]] = {JSON: _Array, NDJSON: _Lines, ARROW: _Stream}
