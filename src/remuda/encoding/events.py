"""Events of any form: converted once, read once, taken so many at a time."""

from __future__ import annotations

import io
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import chain, islice
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from remuda.encoding import arrow, device_columns
from remuda.encoding.columns import Columns
from remuda.encoding.device_columns import DeviceRows
from remuda.encoding.encoder import Encoder
from remuda.encoding.frames import table_of
from remuda.encoding.table import EventBatch
from remuda.errors import ParseError
from remuda.language import json_form

Array: TypeAlias = Any  # pyarrow has no types of its own
Rows: TypeAlias = Any  # a list of objects, a table or batch of Arrow's, or rows on a device
Fields: TypeAlias = Callable[[], frozenset[str] | None]  # those looked at, or None for all

AT_ONCE = 1 << 14  # events that are read together where their number is not known
A_COLUMN = 4  # events that take as long as looking at one more column
_WIDE = 1 << 23  # cells; a map with more is read row by row
_JSON_TYPES = {list: "an array", str: "a string", bool: "a boolean", type(None): "null"}


class Block:
    """Rows of a table that are encoded together, though they are asked about a few at a time."""

    def __init__(self, rows: Rows, first: int) -> None:
        self.first, self.end = first, first + len(rows)
        self._rows, self._encoding = rows, threading.Lock()
        self._encoded: list[tuple[Encoder, int, EventBatch]] = []

    def encode(self, encoder: Encoder, now: int, first: int, n: int) -> EventBatch:
        """Some of the rows in numbers; whoever comes first encodes all of them."""
        with self._encoding:
            known = self._encoded
            found = next((one for by, at, one in known if by is encoder and at == now), None)
            if found is None:
                found = arrow.encode(encoder, self._rows, now)
                known.append((encoder, now, found))
        return found.some(first - self.first, first - self.first + n)


@dataclass(frozen=True, slots=True)
class Portion:
    """Some events that follow one another.

    `given` are the rows that they came in, where there is more in these than the events. `errors`
    says of each event why it is not an object, null where it is one; None where no event can be
    anything else. `first` is how many events came before. They may be `within` a
    block of rows, and begin at `start`, which counts as the block's do.
    """

    events: Rows
    given: Rows = None
    errors: Array | None = None
    first: int = 0
    within: Block | None = None
    start: int = 0

    def __len__(self) -> int:
        return len(self.events)

    @property
    def rows(self) -> Rows:
        """The rows as they were given."""
        return self.events if self.given is None else self.given

    def slice(self, start: int, n: int) -> Portion:
        """At most n of them, from one on."""
        if start == 0 and n >= len(self):
            return self
        given = None if self.given is None else _some(self.given, start, n)
        errors = None if self.errors is None else self.errors.slice(start, n)
        return Portion(_some(self.events, start, n), given, errors)

    def encode(self, encoder: Encoder, now: int) -> EventBatch:
        """The events in numbers."""
        if isinstance(self.events, list):
            return encoder.encode(self.events, now)
        if self.within is not None:
            return self.within.encode(encoder, now, self.start, len(self))
        return arrow.encode(encoder, self.table, now)

    def columns(self, encoder: Encoder, now: int) -> Columns | None:
        """What a device would have to do to encode them, where it can."""
        return None if isinstance(self.events, list) else arrow.columns(encoder, self.events, now)

    def objects(self) -> list[Any]:
        """The events as Python objects."""
        if isinstance(self.events, list):
            return self.events
        return arrow.objects(self.table)

    @property
    def table(self) -> Any:
        """The events in columns as Arrow has them, brought from a device where they lie there."""
        return self.events.to_arrow() if isinstance(self.events, DeviceRows) else self.events


def _some(rows: Rows, start: int, n: int) -> Rows:
    return rows[start : start + n] if isinstance(rows, list) else rows.slice(start, n)


class Source:
    """Events as a user has them, taken so many at a time; `n_rows` is None for a stream.

    `n_columns` is 0 for what has none. `fields` tells which fields of JSON texts are looked at, or
    None for all.
    """

    def __init__(self, events: Any, fields: Fields = lambda: None) -> None:
        self.n_rows: int | None = None
        self.n_columns = 0
        self._fields = fields
        self._portions = self._opened(events)
        self._rest: Portion | None = None
        self._block: Block | None = None  # of what is left
        self._start, self._n_taken = 0, 0

    def take(self, n: int) -> Portion | None:
        """The next events, at most n; None where there are no more."""
        while self._rest is None or self._start >= len(self._rest):
            self._rest, self._start, self._block = next(self._portions, None), 0, None
            if self._rest is None:
                return None
        found = self._few(self._rest, n) or self._rest.slice(self._start, n)
        self._start += len(found)
        if self._n_taken != found.first:
            found = replace(found, first=self._n_taken)
        self._n_taken += len(found)
        return found

    def _few(self, rest: Portion, n: int) -> Portion | None:
        """The next n of a table that is so wide that they are not worth looking at its columns."""
        if isinstance(rest.events, list | DeviceRows):
            return None
        if self._block is None or self._start >= self._block.end:
            together = A_COLUMN * rest.events.num_columns
            if n >= min(together, len(rest) - self._start):
                return None
            self._block = Block(rest.events.slice(self._start, together), self._start)
        found = rest.slice(self._start, min(n, self._block.end - self._start))
        return replace(found, within=self._block, start=self._start)

    def _opened(self, events: Any) -> Iterator[Portion]:
        if hasattr(events, "collect") and not _is_arrow(events):  # a lazy frame
            events = events.collect()
        if isinstance(events, list | tuple) and not (events and _is_part(events[0])):
            return self._whole(events if isinstance(events, list) else list(events))
        if isinstance(events, pa.Table | pa.RecordBatch):
            return self._whole(events)
        if device_columns.are_columns(events):
            return self._whole(device_columns.rows_of_columns(events))
        if device_columns.is_stream(events):
            return map(Portion, device_columns.rows_of_stream(events))
        if device_columns.is_batch(events):
            return self._whole(device_columns.rows_of_batch(events))
        if _is_arrow(events):
            return self._of_arrow(events)
        if isinstance(events, bytes | bytearray | memoryview):
            return _of_lines(io.BytesIO(events), self._fields)
        if isinstance(events, io.BufferedIOBase | io.RawIOBase):
            return _of_lines(events, self._fields)
        if isinstance(events, Iterable) and not isinstance(events, str | Mapping):
            return _of_items(iter(events))
        raise TypeError(
            "events are a list or an iterator of objects, an Arrow table, batch or stream, a data "
            "frame, columns on a CUDA device by their names, or JSON lines as bytes, not "
            f"{type(events)}"
        )

    def _whole(self, rows: Rows) -> Iterator[Portion]:
        self.n_rows = len(rows)
        self.n_columns = 0 if isinstance(rows, list) else rows.num_columns
        return iter((Portion(rows),))

    def _of_arrow(self, events: Any) -> Iterator[Portion]:
        try:
            if isinstance(events, pa.StructArray):
                return self._whole(pa.RecordBatch.from_struct_array(events))
            if not hasattr(events, "__arrow_c_stream__"):
                return self._whole(pa.record_batch(events))
            if hasattr(events, "__len__"):  # all of it is there
                return self._whole(table_of(events))
            return _of_batches(pa.RecordBatchReader.from_stream(events))
        except pa.ArrowInvalid as error:
            raise TypeError(f"events are rows with columns, not {type(events)}: {error}") from None


def _is_arrow(value: Any) -> bool:
    return hasattr(value, "__arrow_c_stream__") or hasattr(value, "__arrow_c_array__")


def _is_part(value: Any) -> bool:
    """Whether an item is not an event, but several of them."""
    return isinstance(value, Portion) or _is_arrow(value) or device_columns.is_batch(value)


def _of_items(items: Iterator[Any]) -> Iterator[Portion]:
    """Events of an iterator of objects, or of batches, tables, frames or portions."""
    first = list(islice(items, 1))
    rest = chain(first, items)
    if first and _is_part(first[0]):
        for item in rest:
            if isinstance(item, Portion):
                yield item
            else:
                yield from Source(item)._portions
    else:
        while some := list(islice(rest, AT_ONCE)):
            yield Portion(some)


def _of_batches(reader: pa.RecordBatchReader) -> Iterator[Portion]:
    """Events of a stream; small batches come together."""
    held: list[Any] = []
    for batch in reader:
        held.append(batch)
        if sum(map(len, held)) >= AT_ONCE:
            yield Portion(pa.Table.from_batches(held))
            held = []
    if held:
        yield Portion(pa.Table.from_batches(held))


def _of_lines(lines: Iterable[bytes], fields: Fields) -> Iterator[Portion]:
    rest = (line for line in lines if line.strip())
    looked_at = fields()
    while some := list(islice(rest, AT_ONCE)):
        yield decoded(some, None, looked_at)


def decoded(
    texts: Iterable[str | bytes | None], given: Rows = None, fields: frozenset[str] | None = None
) -> Portion:
    """The events that JSON texts say, with no more than those fields, where some are named."""
    reader = json_form.EventReader(fields)
    pairs = [_decoded(text, reader) for text in texts]
    errors = pa.array([error for _, error in pairs], pa.string())
    return Portion([event for event, _ in pairs], given, errors)


def _decoded(text: str | bytes | None, reader: json_form.EventReader) -> tuple[Any, str | None]:
    """The event that a JSON text says, and why it is not an object."""
    if text is None:
        return None, "the event is null"
    try:
        event = reader.read(text)
    except ParseError as error:
        return None, error.reason
    if isinstance(event, dict):
        return event, None
    return event, f"the event is {_JSON_TYPES.get(type(event), 'a number')}, not an object"


def in_column(given: Rows, column: Array, fields: Fields) -> Portion:
    """The events in a column of the rows: structs, maps or JSON texts.

    `fields` tells which fields are looked at, or None for all; it is asked where that helps.
    """
    kind = column.type
    if not pa.types.is_nested(kind):
        return decoded(column.to_pylist(), given, fields())
    if not pa.types.is_struct(kind) and not pa.types.is_map(kind):
        raise TypeError(f"an event is a struct, a map or a JSON string, not {kind}")
    reasons = pa.array([None, "the event is null"], pa.string())
    errors = reasons.take(column.is_null().cast(pa.int8()))
    wanted = fields()
    is_map = pa.types.is_map(kind)
    wide = wanted is None or (is_map and len(wanted) * len(column) > _WIDE)
    if wide and (column.null_count or is_map):
        return Portion(arrow.objects(column), given, errors)
    if is_map:
        return Portion(_columns(column, wanted or frozenset()), given, errors)
    return Portion(pa.RecordBatch.from_struct_array(column), given, errors)


def _columns(column: Array, fields: frozenset[str]) -> Rows:
    """A column for each of the fields that occur as keys of the maps."""
    n = len(column)
    columns = {}
    if pa.types.is_string(column.type.key_type) or pa.types.is_large_string(column.type.key_type):
        entries = pa.ListArray.from_arrays(column.offsets, column.keys)
        rows = pc.list_parent_indices(entries).to_numpy(zero_copy_only=False)
        first = column.offsets[0].as_py()
        codes = entries.flatten().dictionary_encode()
        for code, name in enumerate(codes.dictionary.to_pylist()):
            if name in fields:
                held = np.flatnonzero(codes.indices.to_numpy(zero_copy_only=False) == code)
                places = np.full(n, -1, np.int64)
                places[rows[held]] = held + first  # of a key that comes twice, the last
                columns[name] = column.items.take(pa.array(places, mask=places < 0))
    if not columns:
        return pa.RecordBatch.from_struct_array(pa.array([{}] * n, pa.struct([])))
    return pa.RecordBatch.from_pydict(columns)
