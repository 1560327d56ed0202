"""Arrow columns to spaces: whole columns at a time, a Python step only per distinct value."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from remuda.arrays import Longs, Ragged, ragged, starts_of, take_rows
from remuda.encoding.encoder import AttributeEncoder, Encoder
from remuda.encoding.spaces import OTHER, ValueSpaces
from remuda.encoding.table import EventBatch
from remuda.model.attributes import Attribute, Digits, Every, Index, Step
from remuda.model.values import Kind, tidy

Array: TypeAlias = Any  # pyarrow has no types of its own

_STRANGE = object()  # a value that is there, and satisfies nothing


def encode(encoder: Encoder, table: pa.Table | pa.RecordBatch, now: int) -> EventBatch:
    """The rows as events: a column is an attribute, structs and maps are objects."""
    n = table.num_rows
    columns = {name: _whole(table.column(i)) for i, name in enumerate(table.schema.names)}
    rows, spaces = [np.empty(0, np.int64)], [np.empty(0, np.int32)]
    for attribute in encoder.attributes:
        values = _resolve(columns, attribute.attribute, n)
        if values is None or len(values) == values.null_count:
            continue
        present, values = _present(values)
        try:
            found = _spaces(attribute, values, now)
        except MemoryError:
            raise
        except Exception:  # value by value, so that only what is at fault goes without
            objects = values.values if isinstance(values, _Objects) else _python(values)
            found = _each(attribute, [tidy(value) for value in objects], now)
        rows.append(np.repeat(present, np.diff(found.starts)))
        spaces.append(found.items)
    return _by_row(np.concatenate(rows), np.concatenate(spaces), n)


def _whole(column: Any) -> Array:
    if isinstance(column, pa.ChunkedArray):
        column = column.combine_chunks() if column.num_chunks != 1 else column.chunk(0)
    if isinstance(column, pa.DictionaryArray):
        values = _whole(column.dictionary)
        return pa.DictionaryArray.from_arrays(column.indices, values)
    kind = _without_views(column.type)
    return column if kind == column.type else column.cast(kind)


def _without_views(kind: pa.DataType) -> pa.DataType:
    """The type with strings as Arrow's functions take them; Polars has them as views."""
    if pa.types.is_string_view(kind):
        return pa.large_string()
    if pa.types.is_struct(kind):
        return pa.struct([field.with_type(_without_views(field.type)) for field in kind])
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        make = pa.list_ if pa.types.is_list(kind) else pa.large_list
        return make(kind.value_field.with_type(_without_views(kind.value_type)))
    return kind


def _present(values: Array) -> tuple[Longs, Array]:
    """The rows that have a value, and those values."""
    if values.null_count == 0:
        return np.arange(len(values)), values
    valid = values.is_valid().to_numpy(zero_copy_only=False)
    return np.flatnonzero(valid), values.drop_null()


def _by_row(rows: NDArray[Any], spaces: NDArray[Any], n_rows: int) -> EventBatch:
    """The events of pairs that come attribute by attribute."""
    starts = starts_of(np.bincount(rows, minlength=n_rows))
    short = rows.astype(np.uint16) if n_rows <= 1 << 16 else rows  # which sorts in linear time
    return EventBatch(starts, spaces[np.argsort(short, kind="stable")])


def _resolve(columns: dict[str, Array], attribute: Attribute, n_rows: int) -> Array | None:
    """The column at the end of the path; None where no row can have it."""
    steps = attribute.steps
    first = steps[0].text if steps and isinstance(steps[0], Digits) else steps[0] if steps else None
    try:
        if isinstance(first, str):
            column = columns.get(first)
            return None if column is None else _walk(column, steps[1:])
    except _NotByColumnError:
        pass
    return _by_rows(columns, attribute, n_rows)


class _NotByColumnError(Exception):
    """The path needs whole objects: `[*]` over fields, or followed by more than names."""


def _walk(values: Array, steps: tuple[Step, ...]) -> Array | None:
    for i, step in enumerate(steps):
        if isinstance(values, pa.DictionaryArray):
            values = values.dictionary_decode()
        kind = values.type
        name = step.text if isinstance(step, Digits) else step
        if pa.types.is_struct(kind) and isinstance(name, str):
            if kind.get_field_index(name) < 0:
                return None
            values = pc.struct_field(values, name)
        elif pa.types.is_map(kind) and isinstance(name, str):
            if kind.key_type not in (pa.string(), pa.large_string()):
                return None  # names are strings
            values = pc.map_lookup(values, pa.scalar(name, kind.key_type), "last")
        elif _is_list(kind) and isinstance(step, Index | Digits):
            at = step.at if isinstance(step, Index) else int(step.text)
            values = _element(values, at)
        elif _is_list(kind) and isinstance(step, Every):
            return _every(values, steps[i + 1 :])
        elif isinstance(step, Every) and (pa.types.is_struct(kind) or pa.types.is_map(kind)):
            raise _NotByColumnError
        else:
            return None
    return values


def _every(values: Array, rest: tuple[Step, ...]) -> Array:
    """A list of what each element has at the end of the path, where it has it."""
    parents, found = pc.list_parent_indices(values), pc.list_flatten(values)
    for step in rest:
        if not isinstance(step, str) or not pa.types.is_struct(found.type):
            raise _NotByColumnError
        entered = found.is_valid()  # an element that is null has no fields, not null ones
        parents, found = parents.filter(entered), found.filter(entered)
        if found.type.get_field_index(step) < 0:
            parents, found = parents.slice(0, 0), pa.nulls(0)
            break
        found = pc.struct_field(found, step)
    counts = np.bincount(parents.to_numpy(zero_copy_only=False), minlength=len(values))
    return pa.LargeListArray.from_arrays(pa.array(starts_of(counts), pa.int64()), found)


def _element(values: Array, at: int) -> Array:
    """One element of each list, from the end where `at` is negative; null where there is none."""
    starts, lengths = _rows(values)
    position = np.where(at < 0, lengths + at, at)
    inside = (position >= 0) & (position < lengths)
    taken = pa.array(starts + position, pa.int64(), mask=~inside)
    return values.values.take(taken)


def _rows(values: Array) -> tuple[Longs, Longs]:
    """Where each list starts in `values.values`, and how long it is; a null one is empty."""
    values = _plain_list(values)
    offsets = values.offsets.to_numpy(zero_copy_only=False).astype(np.int64)
    lengths = np.diff(offsets)
    if values.null_count:
        lengths = np.where(values.is_null().to_numpy(zero_copy_only=False), 0, lengths)
    return offsets[:-1], lengths


def _plain_list(values: Array) -> Array:
    if pa.types.is_fixed_size_list(values.type):
        return values.cast(pa.list_(values.type.value_type))
    return values


def _is_list(kind: pa.DataType) -> bool:
    known = (pa.types.is_list, pa.types.is_large_list, pa.types.is_fixed_size_list)
    return any(is_one(kind) for is_one in known)


def _by_rows(columns: dict[str, Array], attribute: Attribute, n_rows: int) -> Array:
    """Paths beyond plain steps: the library reads each row as an object."""
    names = list(columns)
    lists = [_python(columns[name]) for name in names]
    rows = zip(*lists, strict=True)
    events = [dict(zip(names, row, strict=True)) for row in rows] if names else [{}] * n_rows
    return _Objects([attribute.resolve(event) for event in events])


@dataclass(frozen=True, slots=True)
class _Objects:
    """Python values in place of an Arrow array."""

    values: list[Any]

    @property
    def null_count(self) -> int:
        return sum(value is None for value in self.values)

    def __len__(self) -> int:
        return len(self.values)

    def is_valid(self) -> Array:
        return pa.array([value is not None for value in self.values])

    def drop_null(self) -> _Objects:
        return _Objects([value for value in self.values if value is not None])


def _spaces(encoder: AttributeEncoder, values: Array, now: int) -> Ragged:
    """The spaces of each row on the attribute's dimensions."""
    if isinstance(values, _Objects):
        return _each(encoder, values.values, now)
    if _is_list(values.type):
        return _of_lists(encoder, _plain_list(values), now)
    plain = _only_values(encoder)
    if plain is not None and _is_machine_number(values.type):
        return _of_numbers(plain, values)
    if pa.types.is_nested(values.type):
        return _each(encoder, [tidy(value) for value in _python(values)], now)
    return _of_distinct(encoder, values, now)


def _each(encoder: AttributeEncoder, values: list[Any], now: int) -> Ragged:
    return ragged([encoder.spaces(value, now) if value is not None else () for value in values])


def _of_distinct(encoder: AttributeEncoder, values: Array, now: int) -> Ragged:
    codes, distinct = _codes(values)
    return take_rows(_each(encoder, [*distinct, None], now), codes)  # the last is that of null


def _codes(values: Array) -> tuple[NDArray[Any], list[Any]]:
    """The distinct values, and for each row which of them it has, -1 where it is null."""
    if not isinstance(values, pa.DictionaryArray):
        values = values.dictionary_encode()
    codes = values.indices.cast(pa.int64()).fill_null(-1).to_numpy(zero_copy_only=False)
    return codes, [tidy(value) for value in _python(values.dictionary)]


def _python(values: Array) -> list[Any]:
    if pa.types.is_timestamp(values.type) and values.type.unit == "ns":
        values = values.cast(pa.timestamp("us", values.type.tz), safe=False)
    try:
        found: list[Any] = values.to_pylist(maps_as_pydicts="lossy")
    except (OverflowError, ValueError):  # Python's calendar ends before Arrow's
        return [_scalar(one) for one in values]
    return found


def _scalar(one: Any) -> Any:
    try:
        return one.as_py(maps_as_pydicts="lossy")
    except (OverflowError, ValueError):
        return _STRANGE


def _only_values(encoder: AttributeEncoder) -> list[tuple[int, ValueSpaces]] | None:
    """The value dimensions of an attribute that has no others and no pre-operations."""
    if encoder.clocked or len(encoder.timeless) != 1:
        return None
    (chain,) = encoder.timeless
    if chain.operations or chain.patterns:
        return None
    cells = [(start, spaces) for start, spaces in chain.cells if isinstance(spaces, ValueSpaces)]
    return cells if cells and len(cells) == len(chain.cells) else None


def _is_machine_number(kind: pa.DataType) -> bool:
    if pa.types.is_integer(kind):
        return bool(kind != pa.uint64())
    return bool(pa.types.is_float32(kind) or pa.types.is_float64(kind))


def _of_numbers(cells: list[tuple[int, ValueSpaces]], values: Array) -> Ragged:
    """Numbers, none of them null, by their place among the cuts, without a Python step."""
    whole = pa.types.is_integer(values.type)
    numbers = values.to_numpy(zero_copy_only=False).astype(np.int64 if whole else np.float64)
    found = np.stack([_cells(spaces, numbers, whole) + start for start, spaces in cells], axis=1)
    starts = np.arange(len(numbers) + 1) * len(cells)
    return Ragged(starts, found.astype(np.int32).ravel())


def _cells(spaces: ValueSpaces, numbers: NDArray[Any], whole: bool) -> NDArray[Any]:
    if Kind.NUMBER not in spaces.first:
        return np.full(len(numbers), OTHER)
    thresholds = spaces.thresholds[0 if whole else 1]
    found = spaces.first[Kind.NUMBER] + np.searchsorted(thresholds, numbers, side="right")
    return found if whole else np.where(np.isnan(numbers), OTHER, found)


def _of_lists(encoder: AttributeEncoder, values: Array, now: int) -> Ragged:
    """Lists: those with the same elements, in any order, are looked at once."""
    starts, lengths = _rows(values)
    whole = Ragged(starts_of(lengths), np.empty(0, np.int32))
    at = np.repeat(starts - whole.starts[:-1], lengths) + np.arange(whole.starts[-1])
    elements = values.values.take(pa.array(at))
    if pa.types.is_nested(elements.type):
        return _each(encoder, [tidy(value) for value in _python(values)], now)
    codes, distinct = _codes(elements)
    bags = Ragged(whole.starts, codes.astype(np.int32))
    same, firsts = _alike(bags)
    rows = []
    for row in firsts:
        bag = [distinct[code] if code >= 0 else None for code in bags.row(row).tolist()]
        rows.append(encoder.spaces(bag, now) if bag else ())
    return take_rows(ragged(rows), same)


def _alike(bags: Ragged) -> tuple[NDArray[Any], NDArray[Any]]:
    """Rows with the same items in the same number: the group of each, and one row a group."""
    lengths = np.diff(bags.starts)
    rows = np.repeat(np.arange(len(lengths)), lengths)
    ordered = Ragged(bags.starts, bags.items[np.lexsort((bags.items, rows))])
    marks = np.random.default_rng(0).integers(0, 2**63, int(bags.items.max(initial=-1)) + 2)
    sums = np.zeros(len(bags.items) + 1, np.int64)
    np.cumsum(marks[bags.items + 1], out=sums[1:])  # wraps, which does no harm
    prints = np.stack([lengths, sums[bags.starts[1:]] - sums[bags.starts[:-1]]], axis=1)
    _, firsts, same = np.unique(prints, axis=0, return_index=True, return_inverse=True)
    same = same.ravel()
    if np.array_equal(ordered.items, take_rows(ordered, firsts[same]).items):
        return same, firsts
    return np.arange(len(lengths)), np.arange(len(lengths))  # two bags had one sum: all by itself
