"""Event forms: the event of each row is the row, or a struct, a map or a JSON text in it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import pyarrow as pa
from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    CalendarIntervalType,
    DataType,
    MapType,
    StringType,
    StructType,
    YearMonthIntervalType,
)

from remuda.errors import ParseError, RemudaError
from remuda.index.index import Index
from remuda.language import json
from remuda.model.attributes import Digits

ERROR = "event_error"
_WIDE = 1 << 23  # cells; a map with more is read row by row
_NO_ARROW = (CalendarIntervalType, YearMonthIntervalType)
_JSON_TYPES = {list: "an array", str: "a string", bool: "a boolean", type(None): "null"}

Array: TypeAlias = Any  # pyarrow has no types of its own


class Events(NamedTuple):
    """Events as an index takes them; of each, why it is not an object, null where it is one."""

    events: Any
    errors: Array


def check(schema: StructType, event: str | None) -> None:
    """Refuse on the driver what no worker could read."""
    for path, kind in _kinds(schema, ""):
        if isinstance(kind, _NO_ARROW):
            raise RemudaError(
                f"column {path} is of type {kind.simpleString()}, which does not go to Python: "
                "drop it or cast it to string"
            )
    if event is None:
        return
    if event not in schema.names:
        raise RemudaError(f"there is no column {event!r} for the event; there are {schema.names}")
    kind = schema[event].dataType
    if not isinstance(kind, StructType | MapType | StringType | BinaryType):
        raise RemudaError(
            f"column {event} is of type {kind.simpleString()}: "
            "an event is a struct, a map or a JSON string"
        )


def read(column: Array, fields: frozenset[str] | None) -> Events:
    """The events in a column, of which the index looks at the fields; None: at all of them."""
    kind = column.type
    if not pa.types.is_nested(kind):
        return _decoded(column)
    if not pa.types.is_struct(kind) and not pa.types.is_map(kind):
        raise TypeError(f"an event is a struct, a map or a JSON string, not {kind}")
    wide = fields is None or (pa.types.is_map(kind) and len(fields) * len(column) > _WIDE)
    if wide and (column.null_count or pa.types.is_map(kind)):
        return Events(column.to_pylist(maps_as_pydicts="lossy"), _nulls(column))
    if pa.types.is_map(kind):
        return Events(_columns(column, fields or frozenset()), _nulls(column))
    return Events(pa.RecordBatch.from_struct_array(column), _nulls(column))


def fields_of(index: Index) -> frozenset[str] | None:
    """The fields of events that the index looks at; None where a path is of whole events."""
    names = set()
    for part in index._state.parts:
        for encoder in part.segment.encoder.attributes:
            first = encoder.attribute.steps[0] if encoder.attribute.steps else None
            name = first.text if isinstance(first, Digits) else first
            if not isinstance(name, str):
                return None
            names.add(name)
    return frozenset(names)


def _kinds(kind: DataType, path: str) -> Iterator[tuple[str, DataType]]:
    """Every type in a schema, with the place where it stands."""
    yield path, kind
    if isinstance(kind, StructType):
        for field in kind.fields:
            yield from _kinds(field.dataType, f"{path}.{field.name}".lstrip("."))
    elif isinstance(kind, ArrayType):
        yield from _kinds(kind.elementType, f"{path}[]")
    elif isinstance(kind, MapType):
        yield from _kinds(kind.keyType, f"{path}.keys")
        yield from _kinds(kind.valueType, f"{path}.values")


def _nulls(column: Array) -> Array:
    """The error of each row: its event is null, or there is none."""
    reasons = pa.array([None, "the event is null"], pa.string())
    return reasons.take(column.is_null().cast(pa.int8()))


def _columns(column: Array, fields: frozenset[str]) -> Any:
    """A column for each of the fields that occur as keys of the maps."""
    n = len(column)
    columns = {}
    if pa.types.is_string(column.type.key_type) or pa.types.is_large_string(column.type.key_type):
        entries = pa.ListArray.from_arrays(column.offsets, column.keys)
        rows = pa.compute.list_parent_indices(entries).to_numpy(zero_copy_only=False)
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


def _decoded(column: Array) -> Events:
    pairs = [_decode(text) for text in column.to_pylist()]
    events = [event for event, _ in pairs]
    return Events(events, pa.array([error for _, error in pairs], pa.string()))


def _decode(text: str | bytes | None) -> tuple[Any, str | None]:
    """The event that a JSON text says, and why it is not an object."""
    if text is None:
        return None, "the event is null"
    try:
        event = json.read_event(text)
    except ParseError as error:
        return None, error.reason
    if isinstance(event, dict):
        return event, None
    return event, f"the event is {_JSON_TYPES.get(type(event), 'a number')}, not an object"
