"""Events in a DataFrame: what of its schema goes to Python, and which columns can be events."""

from __future__ import annotations

from collections.abc import Iterator

from pyspark.sql import types

from remuda.errors import RemudaError

_NO_ARROW = (types.CalendarIntervalType, types.YearMonthIntervalType)


def unread(schema: types.StructType, event: str | None) -> dict[str, str]:
    """The fields of an event that do not come to Python as what they are, with their types.

    A criterion that looks at one of them would silently never hold.
    """
    fields = schema if event is None else schema[event].dataType
    found: dict[str, str] = {}
    for field in fields.fields if isinstance(fields, types.StructType) else ():
        for _, kind in kinds(field.dataType, field.name):
            if isinstance(kind, types.VariantType):  # which comes as two columns of bytes
                found[field.name] = kind.simpleString()
    return found


def check(schema: types.StructType, event: str | None) -> None:
    """Refuse on the driver what no worker could read."""
    for path, kind in kinds(schema, ""):
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
    if not isinstance(kind, types.StructType | types.MapType | types.StringType | types.BinaryType):
        raise RemudaError(
            f"column {event} is of type {kind.simpleString()}: "
            "an event is a struct, a map or a JSON string"
        )


def kinds(kind: types.DataType, path: str) -> Iterator[tuple[str, types.DataType]]:
    """Every type in a schema, with the place where it stands."""
    yield path, kind
    if isinstance(kind, types.StructType):
        for field in kind.fields:
            yield from kinds(field.dataType, f"{path}.{field.name}".lstrip("."))
    elif isinstance(kind, types.ArrayType):
        yield from kinds(kind.elementType, f"{path}[]")
    elif isinstance(kind, types.MapType):
        yield from kinds(kind.keyType, f"{path}.keys")
        yield from kinds(kind.valueType, f"{path}.values")
