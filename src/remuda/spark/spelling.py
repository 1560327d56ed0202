"""Names without regard to case: columns under the names that criteria have for them.

So Spark reads names unless `spark.sql.caseSensitive` is set: those of columns and of fields of
structs, not the keys of maps and not those in JSON texts.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, TypeAlias

import pyarrow as pa
from pyspark.sql.types import StructType

from remuda.errors import RemudaError
from remuda.spark.events import kinds

Array: TypeAlias = Any  # pyarrow has no types of its own
Spellings: TypeAlias = Mapping[str, tuple[str, ...]]  # of each name in small letters, those in use


def spellings_of(names: Iterable[str]) -> Spellings:
    found: dict[str, list[str]] = {}
    for name in sorted(set(names)):
        found.setdefault(name.lower(), []).append(name)
    return {small: tuple(several) for small, several in found.items()}


def check_spelling(schema: StructType, event: str | None) -> None:
    """Refuse an event of which two names are the same but for their case."""
    for path, kind in kinds(schema if event is None else schema[event].dataType, ""):
        known: dict[str, str] = {}
        for name in kind.names if isinstance(kind, StructType) else ():
            other = known.setdefault(name.lower(), name)
            if other != name:
                where = f"{path}: " if path else ""
                raise RemudaError(
                    f"{where}{other} and {name} differ in case only: rename one, or ask with "
                    "case_sensitive=True"
                )


def respelt(events: Array, spellings: Spellings) -> Array:
    """Rows, or a column, with each field under the names that are in use for it, mostly one."""
    if isinstance(events, pa.RecordBatch):
        return pa.RecordBatch.from_struct_array(_respelt(events.to_struct_array(), spellings))
    return _respelt(events, spellings)


def _respelt(column: Array, spellings: Spellings) -> Array:
    """Nothing is copied but validity and offsets."""
    kind = column.type
    mask = column.is_null() if column.null_count else None
    if pa.types.is_struct(kind):
        fields, children = [], []
        for i in range(kind.num_fields):
            field, child = kind.field(i), _respelt(column.field(i), spellings)
            for name in spellings.get(field.name.lower(), (field.name,)):
                fields.append(pa.field(name, child.type))
                children.append(child)
        if not fields:
            return column
        return pa.StructArray.from_arrays(children, fields=fields, mask=mask)
    if pa.types.is_list(kind) and pa.types.is_nested(kind.value_type):
        offsets = pa.array(column.offsets.to_numpy(), pa.int32())  # not those of a slice
        return pa.ListArray.from_arrays(offsets, _respelt(column.values, spellings), mask=mask)
    return column
