"""Arrow columns to spaces: whole columns at a time, a Python step only per distinct value."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from remuda.arrays import Ints, Longs, Ragged, frozen, ragged, starts_of, take_rows
from remuda.encoding import addresses
from remuda.encoding.columns import Codes, Columns, Cut, Numbers
from remuda.encoding.device_columns import Bits, DeviceColumn, DeviceRows
from remuda.encoding.encoder import Encoder, OriginEncoder, TermEncoder
from remuda.encoding.number_columns import cut_numbers
from remuda.encoding.spaces import NETWORKS, OTHER, OrderSpaces, ValueSpaces
from remuda.encoding.table import EventBatch
from remuda.encoding.term_columns import DAY, FIRST_DAY, LAST_DAY, Column, evaluated
from remuda.encoding.texts import buffers_of, by_row
from remuda.encoding.value_memory import keep_texts, recalled
from remuda.jit import kernel
from remuda.model.attributes import Attribute, Digits, Element, Every, Lack, Step
from remuda.model.terms import Call, Joint
from remuda.model.values import Kind, tidy

Array: TypeAlias = Any  # pyarrow has no types of its own

# the first and the last day, and microsecond, that Python's calendar has
_CALENDAR = {
    Kind.DATE: (FIRST_DAY, LAST_DAY),
    Kind.TIMESTAMP: (FIRST_DAY * DAY, (LAST_DAY + 1) * DAY - 1),
}

_SMALL_ROW = 1000  # columns of a row, of which a path sees all that there is
_STRANGE = object()  # a value that is there, and satisfies nothing


def encode(encoder: Encoder, table: pa.Table | pa.RecordBatch, now: int) -> EventBatch:
    """The rows as events: a column is an attribute, structs and maps are objects."""
    n = table.num_rows
    columns = {name: table.column(i) for i, name in enumerate(table.schema.names)}
    rows, spaces = [np.empty(0, np.int64)], [np.empty(0, np.int32)]
    known = _KnownColumns(columns, n)
    _ = encoder.texts  # so that terms know theirs
    for part, may_be_computed in encoder.apart:
        whole = _computed(part, known) if may_be_computed else None
        if whole is None and isinstance(part.origin, Joint):
            whole = _together(part, part.origin, columns, n, now)
        if whole is None and part.is_everything:
            whole = _everywhere(part, columns, n, now)
        if whole is not None:
            present, row_spaces = whole
            rows.append(np.repeat(present, np.diff(row_spaces.starts)))
            spaces.append(row_spaces.items)
            continue
        assert not isinstance(part.origin, Joint)
        values = _resolve(columns, part.origin, n)
        present = np.empty(0, np.int64)
        if values is not None and len(values) > values.null_count:
            cut = _numbers_cut(part, values)
            if cut is None:
                present, row_spaces = _encoded(part, values, now)
                cut = np.repeat(present, np.diff(row_spaces.starts)), row_spaces.items
            present = cut[0]
            rows.append(present)
            spaces.append(cut[1])
        if part.lacks and values is not None:
            missing = np.setdiff1d(np.arange(n), present)  # a present value is in some space
            row_spaces = _lacking(part, part.origin, columns, values, missing)
            rows.append(np.repeat(missing, np.diff(row_spaces.starts)))
            spaces.append(row_spaces.items)
    return EventBatch(*_by_row(np.concatenate(rows), np.concatenate(spaces), n))


@dataclass(slots=True)
class _KnownColumns:
    """The columns of numbers and moments, each made once."""

    columns: dict[str, Array]
    n_rows: int
    made: dict[Attribute, Column | None] = field(default_factory=dict)

    def of(self, attribute: Attribute) -> Column | None:
        if attribute not in self.made:
            self.made[attribute] = self._make(attribute)
        return self.made[attribute]

    def _make(self, attribute: Attribute) -> Column | None:
        values = _resolve(self.columns, attribute, self.n_rows)
        if values is None:
            missing = np.zeros(self.n_rows, np.bool_)
            return Column(np.zeros(self.n_rows, np.int64), missing)
        return None if isinstance(values, _Objects) else _column(values)


def _column(values: Array) -> Column | None:
    """Numbers as they are, days and microseconds of moments; None for all else."""
    kind = _order_of(values.type)
    if kind is None:
        return None
    if kind is Kind.DATE:
        values = values.cast(pa.int32())
    plain = values.cast(pa.float64() if pa.types.is_floating(values.type) else pa.int64())
    found = plain.fill_null(0).to_numpy(zero_copy_only=False)
    if kind is not Kind.NUMBER:
        least, most = _CALENDAR[kind]
        if not ((found >= least) & (found <= most)).all():
            return None
    return Column(found, plain.is_valid().to_numpy(zero_copy_only=False), kind)


def _computed(encoder: OriginEncoder, known: _KnownColumns) -> tuple[Longs, Ragged] | None:
    """The rows in which a term has a number, and their spaces, without a Python step."""
    (term,) = encoder.timeless
    cells = _value_cells(term)
    if cells is None:
        return None
    try:
        column = evaluated(term.term, known.of, known.n_rows)
    except MemoryError:
        raise
    except Exception:  # then value by value, so that only what is at fault goes without
        return None
    if column is None or column.kind is not Kind.NUMBER:
        return None
    present = np.flatnonzero(column.valid)
    return present, _of_column(cells, column.values[present])


def _together(
    encoder: OriginEncoder, joint: Joint, columns: dict[str, Array], n_rows: int, now: int
) -> tuple[Longs, Ragged]:
    """The rows that have values of the attributes, and their spaces; equal ones are seen once."""
    if joint.tells_lack:
        events = objects(pa.table(columns)) if columns else [{}] * n_rows
        raws = [joint.resolve(event) for event in events]
        return np.arange(n_rows), _each(encoder, raws, now)
    coded = [_coded(columns, attribute, n_rows) for attribute in joint.attributes]
    codes = np.array([own for own, _ in coded], np.int64).reshape(len(coded), n_rows).T
    present = np.arange(n_rows)
    if joint.all_needed:
        present = np.flatnonzero((codes >= 0).all(axis=1))
    same, firsts = _same_rows(codes[present], [len(values) for _, values in coded])
    distinct = [[*values, None] for _, values in coded]  # the last is that of -1
    raws = [
        tuple(values[code] for values, code in zip(distinct, row, strict=True))
        for row in codes[present][firsts].tolist()
    ]
    return present, take_rows(_each(encoder, raws, now), same)


def _coded(columns: dict[str, Array], attribute: Attribute, n_rows: int) -> tuple[Longs, list[Any]]:
    """The distinct values of an attribute, and which of them each row has, -1 where it has none."""
    values = _resolve(columns, attribute, n_rows)
    if values is None:
        return np.full(n_rows, -1, np.int64), []
    if isinstance(values, _Objects) or pa.types.is_nested(values.type):
        rows = _tidied(values, empty=attribute.empty)
        missing = np.array([row is None for row in rows], np.bool_)
        return np.where(missing, -1, np.arange(n_rows)), rows
    codes, distinct = _codes(values)
    missing = np.array([*(one is None for one in distinct), False], np.bool_)
    return np.where(missing[codes], -1, codes), distinct


def _same_rows(codes: NDArray[Any], sizes: list[int]) -> tuple[Longs, Longs]:
    """Equal rows of codes: the group of each row, and one row a group."""
    if codes.shape[1] == 0 or math.prod(size + 1 for size in sizes) >= 1 << 62:
        _, firsts, same = np.unique(codes, axis=0, return_index=True, return_inverse=True)
        return same.ravel(), firsts
    keys = np.zeros(len(codes), np.int64)
    for i, size in enumerate(sizes):
        keys = keys * (size + 1) + codes[:, i] + 1
    _, firsts, same = np.unique(keys, return_index=True, return_inverse=True)
    return same, firsts


def objects(rows: Any) -> list[Any]:
    """The rows of a table or batch, or the values of a column, as Python has them."""
    if not isinstance(rows, pa.Table | pa.RecordBatch):
        return _python(rows)
    columns = [_python(column) for column in rows.columns]
    names = rows.schema.names
    values = zip(*columns, strict=True) if columns else [()] * rows.num_rows
    return [dict(zip(names, row, strict=True)) for row in values]


def _everywhere(
    encoder: OriginEncoder, columns: dict[str, Array], n_rows: int, now: int
) -> tuple[Longs, Ragged] | None:
    """The rows and the spaces of all that stands in each; None where columns do not tell them."""
    whole = {name: _whole(column) for name, column in columns.items()}
    if not whole or encoder.lacks or not encoder.by_element or len(whole) > _SMALL_ROW:
        return None
    try:
        if any(pa.types.is_nested(_plain(one).type) for one in whole.values()):
            return None
        rows, spaces = [], []
        for column in map(_plain, whole.values()):
            found = _of_distinct(encoder, column, now, in_lists=True)
            rows.append(np.repeat(np.arange(n_rows), np.diff(found.starts)))
            spaces.append(found.items)
    except MemoryError:
        raise
    except Exception:  # row by row, so that only what is at fault goes without
        return None
    return np.arange(n_rows), by_row(np.concatenate(rows), np.concatenate(spaces), n_rows)


def _numbers_cut(encoder: OriginEncoder, values: Array) -> tuple[Longs, Ints] | None:
    """The rows that have a number, and their spaces; None for all but numbers on one dimension."""
    if not isinstance(values, pa.Array) or not _is_machine_number(values.type):
        return None
    plain = _only_values(encoder)
    if plain is None or len(plain) > 1 or type(plain[0][1]) is not ValueSpaces:
        return None
    start, among = plain[0]
    return cut_numbers(values, among, start)


def _encoded(encoder: OriginEncoder, values: Array, now: int) -> tuple[Longs, Ragged]:
    """The rows that have a value, and their spaces."""
    try:
        present, kept = _present(values)
        return present, _spaces(encoder, kept, now)
    except MemoryError:
        raise
    except Exception:  # value by value, so that only what is at fault goes without
        return np.arange(len(values)), _each(encoder, _rows_of(encoder, values), now)


def _lacking(
    encoder: OriginEncoder,
    attribute: Attribute,
    columns: dict[str, Array],
    values: Array,
    rows: Longs,
) -> Ragged:
    """The spaces of the rows in which the attribute is missing."""
    if len(attribute.steps) == 1 and not isinstance(values, _Objects):  # a column is always there
        empty = values.is_valid().to_numpy(zero_copy_only=False)[rows]
        kinds = ragged([encoder.lacking(lack) for lack in (Lack.NULL, Lack.EMPTY)])
        return take_rows(kinds, empty.astype(np.int64))
    name = attribute.field
    used = columns if name is None else {name: columns[name]}
    events = objects(pa.table(used))
    return ragged([encoder.lacking(attribute.lack(events[row])) for row in rows.tolist()])


@kernel
def _by_row(rows: Longs, spaces: Ints, n_rows: int) -> tuple[Longs, Ints]:
    """Where the spaces of each row begin, and all of them, of pairs that come in any order."""
    starts = np.zeros(n_rows + 1, np.int64)
    for row in rows:
        starts[row + 1] += 1
    for row in range(n_rows):
        starts[row + 1] += starts[row]
    free, found = starts[:-1].copy(), np.empty(len(spaces), np.int32)
    for i in range(len(rows)):
        found[free[rows[i]]] = spaces[i]
        free[rows[i]] += 1
    return starts, found


class _NotByColumnError(Exception):
    """The path needs whole objects: `[*]` over fields, or followed by more than names."""


# Arrow lacks many functions for its rarer types; then Python looks at each row
_NOT_BY_COLUMN = (_NotByColumnError, pa.ArrowException, UnicodeError)


def _resolve(columns: dict[str, Array], attribute: Attribute, n_rows: int) -> Array | None:
    """The column at the end of the path; None where no row can have it."""
    steps = attribute.steps
    first = steps[0].text if steps and isinstance(steps[0], Digits) else steps[0] if steps else None
    if not isinstance(first, str):
        return _by_rows(columns, attribute, n_rows)
    column = columns.get(first)
    if column is None:
        return None
    try:
        return _walk(_whole(column), steps[1:], attribute.walk)
    except _NOT_BY_COLUMN:
        return _by_rows({first: column}, attribute, n_rows)


def _whole(column: Any) -> Array:
    if isinstance(column, pa.ChunkedArray):
        return column.combine_chunks() if column.num_chunks != 1 else column.chunk(0)
    return column


def _plain(values: Array) -> Array:
    """The same values in a type that Arrow's functions take, as far as the outermost goes."""
    kind = values.type
    if isinstance(kind, pa.BaseExtensionType):
        return _stored(values)
    if pa.types.is_dictionary(kind):
        return _plain_dictionary(values)
    if pa.types.is_run_end_encoded(kind):
        return _plain(pc.run_end_decode(values))
    if pa.types.is_union(kind):
        raise _NotByColumnError
    if pa.types.is_timestamp(kind):
        return _in_utc(values)
    plain = _plain_kind(kind)
    return values if plain is kind else values.cast(plain)


def _plain_kind(kind: pa.DataType) -> pa.DataType:
    if pa.types.is_string_view(kind):
        return pa.large_string()
    if pa.types.is_binary_view(kind):
        return pa.large_binary()
    if pa.types.is_float16(kind):
        return pa.float32()
    if pa.types.is_decimal(kind) and kind.bit_width < 128:
        return pa.decimal128(kind.precision, kind.scale)
    return kind


def _stored(values: Array) -> Array:
    """What an array of an extension type consists of, where that is also what Python gets."""
    kind = values.type
    scalars = getattr(kind, "__arrow_ext_scalar_class__", lambda: pa.ExtensionScalar)()
    if scalars.__module__ != pa.ExtensionScalar.__module__:  # it has code of its own
        raise _NotByColumnError
    stored = values.storage
    if kind.extension_name == "arrow.bool8":
        return stored.cast(pa.bool_())
    return _plain(stored)


def _plain_dictionary(values: Array) -> Array:
    distinct = _plain(values.dictionary)
    nested = pa.types.is_nested(distinct.type) or pa.types.is_dictionary(distinct.type)
    if nested or distinct.null_count or len(distinct) > len(values):
        return distinct.take(values.indices)
    return pa.DictionaryArray.from_arrays(values.indices, distinct)


def _in_utc(values: Array) -> Array:
    """Timestamps without a zone, which is UTC, and no finer than Python's."""
    unit = values.type.unit
    values = values.cast(pa.timestamp(unit))
    if unit != "ns":
        return values
    nulls = values.is_null().to_numpy(zero_copy_only=False)
    cut = values.cast(pa.int64()).fill_null(0).to_numpy() // 1000  # toward the past
    return pa.array(cut, pa.int64(), mask=nulls).cast(pa.timestamp("us"))


def _walk(values: Array, steps: tuple[Step, ...], walk: bool) -> Array | None:
    values = _plain(values)
    for i, step in enumerate(steps):
        if pa.types.is_dictionary(values.type):
            return None  # of scalars, which have no parts
        kind = values.type
        name = step.text if isinstance(step, Digits) else step
        inner: Array | None
        if pa.types.is_struct(kind) and isinstance(name, str):
            inner = _field(values, name)
        elif pa.types.is_map(kind) and isinstance(name, str):
            inner = _lookup(values, name)
        elif _is_list(kind) and isinstance(step, Element | Digits):
            at = step.at if isinstance(step, Element) else int(step.text)
            inner = _element(values, at)
        elif _is_list(kind) and isinstance(step, Every):
            return _every(values, steps[i + 1 :])
        elif walk and _is_list(kind) and isinstance(step, str):
            inner = _collected(values, step)
        elif isinstance(step, Every) and (pa.types.is_struct(kind) or pa.types.is_map(kind)):
            raise _NotByColumnError
        else:
            return None
        if inner is None:
            return None
        values = inner
    return values


def _field(values: Array, name: str) -> Array | None:
    """One field of each struct, null where the struct is."""
    at = values.type.get_field_index(name)
    if at < 0:
        return None
    field = _plain(values.field(at))
    if values.null_count == 0:
        return field
    nulls = values.is_null().to_numpy(zero_copy_only=False)
    return field.take(pa.array(np.arange(len(values)), mask=nulls))


def _lookup(values: Array, name: str) -> Array | None:
    """What each map has under the name, of several the last; null where it has nothing."""
    starts, lengths, entries = _rows(values)
    keys = _plain(entries.field(0))
    if pa.types.is_dictionary(keys.type):
        keys = keys.dictionary_decode()
    if not pa.types.is_string(keys.type) and not pa.types.is_large_string(keys.type):
        return None  # names are strings
    held = np.flatnonzero(pc.equal(keys, pa.scalar(name, keys.type)).to_numpy(zero_copy_only=False))
    rows = np.searchsorted(starts + lengths, held, side="right")
    held, rows = held[rows < len(starts)], rows[rows < len(starts)]
    inside = starts[rows] <= held  # and not behind a map that is null
    places = np.full(len(values), -1, np.int64)
    places[rows[inside]] = held[inside]
    return _plain(entries.field(1)).take(pa.array(places, mask=places < 0))


def _every(values: Array, rest: tuple[Step, ...]) -> Array:
    """A list of what each element has at the end of the path, where it has it."""
    inner, counts = _elements(values)
    parents = np.repeat(np.arange(len(values)), counts)
    for step in rest:
        if not isinstance(step, str) or not pa.types.is_struct(inner.type):
            raise _NotByColumnError
        entered = inner.is_valid()  # an element that is null has no fields, not null ones
        parents, inner = parents[entered.to_numpy(zero_copy_only=False)], inner.filter(entered)
        inner = _field(inner, step)
        if inner is None:
            parents, inner = parents[:0], pa.nulls(0)
            break
    counts = np.bincount(parents, minlength=len(values))
    starts = pa.array(starts_of(counts), pa.int64())
    return pa.LargeListArray.from_arrays(starts, inner, mask=values.is_null())


def _collected(values: Array, name: str) -> Array | None:
    """A list of what each object of a list has under the name, null where it has nothing."""
    elements, counts = _elements(values)
    if not pa.types.is_struct(elements.type):
        raise _NotByColumnError
    found = _field(elements, name)
    if found is None:
        raise _NotByColumnError
    starts = pa.array(starts_of(counts), pa.int64())
    nulls = values.is_null() if values.null_count else None
    return pa.LargeListArray.from_arrays(starts, found, mask=nulls)


def _element(values: Array, at: int) -> Array:
    """One element of each list, from the end where `at` is negative; null where there is none."""
    starts, lengths, elements = _rows(values)
    position = np.where(at < 0, lengths + at, at)
    inside = (position >= 0) & (position < lengths)
    return _plain(elements).take(pa.array(starts + position, pa.int64(), mask=~inside))


def _elements(values: Array) -> tuple[Array, Longs]:
    """The elements of all lists, one list after the other, and how many each has."""
    starts, lengths, elements = _rows(values)
    ends = np.cumsum(lengths)
    at = np.repeat(starts - ends + lengths, lengths) + np.arange(ends[-1] if len(ends) else 0)
    return _plain(elements).take(pa.array(at)), lengths


def _rows(values: Array) -> tuple[Longs, Longs, Array]:
    """Where each list starts among the elements, how long it is (a null one is empty), and these.

    Elements that no list of a slice has are left out: they may be many times as many.
    """
    kind = values.type
    if pa.types.is_fixed_size_list(kind):
        starts = (values.offset + np.arange(len(values))) * kind.list_size
        lengths = np.full(len(values), kind.list_size)
    else:
        starts = values.offsets.to_numpy(zero_copy_only=False).astype(np.int64)
        if pa.types.is_list_view(kind) or pa.types.is_large_list_view(kind):
            lengths = values.sizes.to_numpy(zero_copy_only=False).astype(np.int64)
        else:
            starts, lengths = starts[:-1], np.diff(starts)
    if values.null_count:
        lengths = np.where(values.is_null().to_numpy(zero_copy_only=False), 0, lengths)
    used = lengths > 0
    first = int(starts[used].min()) if used.any() else 0
    last = int((starts + lengths)[used].max()) if used.any() else 0
    return starts - first, lengths, values.values.slice(first, last - first)


def _is_list(kind: pa.DataType) -> bool:
    types = pa.types
    flat = types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind)
    return bool(flat or types.is_list_view(kind) or types.is_large_list_view(kind))


def _is_strange(kind: pa.DataType) -> bool:
    """Whether its values satisfy nothing, whatever they are."""
    types = pa.types
    bytes_ = (
        types.is_binary(kind) or types.is_large_binary(kind) or types.is_fixed_size_binary(kind)
    )
    spans = types.is_duration(kind) or types.is_interval(kind) or types.is_time(kind)
    return bool(bytes_ or spans)


def _by_rows(columns: dict[str, Any], attribute: Attribute, n_rows: int) -> Array:
    """Paths beyond plain steps, and types beyond plain ones: each row is read as an object."""
    events = objects(pa.table(columns)) if columns else [{}] * n_rows
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


def _spaces(encoder: OriginEncoder, values: Array, now: int) -> Ragged:
    """The spaces of each row on the attribute's dimensions."""
    if isinstance(values, _Objects):
        return _each(encoder, values.values, now)
    if _is_list(values.type):
        return _of_lists(encoder, values, now)
    plain = _only_values(encoder)
    if plain is not None and _is_machine_number(values.type):
        return _of_numbers(plain, values)
    networks = _only_networks(encoder)
    if networks is not None and _is_text(values.type):
        start, among = networks
        found = start + addresses.spaces_of(among, values)
        return Ragged(np.arange(len(values) + 1), found.astype(np.int32))
    if pa.types.is_nested(values.type):
        return _each(encoder, _rows_of(encoder, values), now)
    return _of_distinct(encoder, values, now)


def _present(values: Array) -> tuple[Longs, Array]:
    """The rows that have a value, and those values; all of objects, which are seen one by one."""
    if values.null_count == 0 or isinstance(values, _Objects):
        return np.arange(len(values)), values
    if pa.types.is_struct(values.type) or pa.types.is_map(values.type):
        return np.arange(len(values)), values
    if _is_machine_number(values.type):
        return _present_numbers(values)
    valid = values.is_valid().to_numpy(zero_copy_only=False)
    return np.flatnonzero(valid), values.drop_null()


def _present_numbers(values: pa.Array) -> tuple[Longs, Array]:
    """The same without Arrow's kernels: calling one takes longer than a short column."""
    validity, data = values.buffers()
    begin, end = values.offset, values.offset + len(values)
    bits = np.unpackbits(np.frombuffer(validity, np.uint8), count=end, bitorder="little")
    present = np.flatnonzero(bits[begin:])
    numbers = np.frombuffer(data, values.type.to_pandas_dtype())[begin:end]
    return present, pa.array(numbers[present])


def _each(encoder: OriginEncoder, values: list[Any], now: int) -> Ragged:
    return ragged(encoder.each(values, now))


def _rows_of(encoder: OriginEncoder, values: Array) -> list[Any]:
    return _tidied(values, empty=_sees_empty(encoder))


def _sees_empty(encoder: OriginEncoder) -> bool:
    return isinstance(encoder.origin, Attribute) and encoder.origin.empty


def _of_distinct(
    encoder: OriginEncoder, values: Array, now: int, *, in_lists: bool = False
) -> Ragged:
    """The spaces of each row; in lists, null and what functions lack is something, too."""
    codes, spaces = _coded_spaces(encoder, values, now, in_lists=in_lists)
    return take_rows(spaces, codes)


def _coded_spaces(
    encoder: OriginEncoder, values: Array, now: int, *, in_lists: bool = False
) -> tuple[Longs, Ragged]:
    """Which of the distinct values each row has, and their spaces; null is the last, and -1."""
    null = encoder.spaces([None], now) if in_lists and values.null_count else ()
    alone = not in_lists or not encoder.computes
    if _is_text(values.type):
        values = values.dictionary_encode()
    elif not (pa.types.is_dictionary(values.type) and _is_text(values.type.value_type)):
        codes, distinct = _codes(values)
        raws = distinct if alone else [[one] for one in distinct]
        return codes, _with_row(_each(encoder, raws, now), null)
    codes = values.indices.cast(pa.int64()).fill_null(-1).to_numpy(zero_copy_only=False)
    return codes, _with_row(_of_texts(encoder, values.dictionary, now, alone), null)


def _with_row(rows: Ragged, last: Sequence[int]) -> Ragged:
    """The same with one more row, which is at -1."""
    return Ragged(
        np.append(rows.starts, rows.starts[-1] + len(last)),
        np.append(rows.items, np.array(last, np.int32)),
    )


def _is_text(kind: pa.DataType) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


def _of_texts(encoder: OriginEncoder, texts: Array, now: int, alone: bool) -> Ragged:
    """The spaces of texts, none of them null; a Python step only where terms ask for more."""
    terms = [term for term in encoder.timeless if term.of_texts]
    if not terms or not len(texts):
        return _each(encoder, _raws(texts, alone), now)
    others = encoder.others
    if not others.timeless and not others.clocked:
        return _recalled(encoder, terms, texts)
    found = _scanned(terms, texts)
    more = _each(others, _raws(texts, alone), now)
    owners = [np.repeat(np.arange(len(texts)), np.diff(one.starts)) for one in (found, more)]
    both = np.concatenate([found.items, more.items])
    return by_row(np.concatenate(owners), both, len(texts))


def _scanned(terms: Sequence[TermEncoder], texts: Array) -> Ragged:
    """The spaces of texts, by the scan."""
    lowered = _lowered(texts) if any(term.texts.lowers for term in terms) else texts
    scan = terms[0].scan
    assert scan is not None
    own = [(term.number, lowered if term.texts.lowers else texts) for term in terms]
    return scan.of_arrays(own)


def _recalled(encoder: OriginEncoder, terms: Sequence[TermEncoder], texts: Array) -> Ragged:
    """The same; of those that were met before, by the memory."""
    data, edges = buffers_of(texts)
    since, memory = encoder.memory.texts.lend()
    known = recalled(memory, encoder.number, frozen(data), edges)
    rows, unknown = known.rows, known.unknown
    if len(unknown) == len(texts):
        rows = _scanned(terms, texts)
        keep_texts(memory, encoder.number, frozen(data), edges, known.entries, rows)
    elif len(unknown):
        more = _scanned(terms, texts.take(pa.array(unknown)))
        keep_texts(memory, encoder.number, frozen(data), edges, known.entries, more)
        places = np.arange(len(texts))
        places[unknown] = len(texts) + np.arange(len(unknown))
        both = np.concatenate([rows.starts[:-1], rows.starts[-1] + more.starts])
        rows = take_rows(Ragged(both, np.concatenate([rows.items, more.items])), places)
    encoder.memory.texts.give_back(since, memory)
    return rows


def _raws(texts: Array, alone: bool) -> list[Any]:
    found: list[Any] = texts.to_pylist()
    return found if alone else [[text] for text in found]


def _lowered(texts: Array) -> Array:
    """The texts in lower case, as Python has it."""
    lowered = pc.ascii_lower(texts)
    other = pc.invert(pc.string_is_ascii(texts))
    if not pc.any(other).as_py():
        return lowered
    whole = [text.lower() for text in texts.filter(other).to_pylist()]
    return pc.replace_with_mask(lowered, other, pa.array(whole, texts.type))


def _codes(values: Array) -> tuple[NDArray[Any], list[Any]]:
    """The distinct values, and for each row which of them it has, -1 where it is null."""
    if _is_strange(values.type):
        return values.is_valid().to_numpy(zero_copy_only=False).astype(np.int64) - 1, [_STRANGE]
    if not isinstance(values, pa.DictionaryArray):
        values = values.dictionary_encode()
    codes = values.indices.cast(pa.int64()).fill_null(-1).to_numpy(zero_copy_only=False)
    return codes, _tidied(values.dictionary)


def _tidied(values: Array, *, empty: bool = False) -> list[Any]:
    """The values as paths give them; with `empty`, a list without elements is one."""
    if isinstance(values, _Objects):
        return values.values
    return [one if empty and one == [] else tidy(one) for one in _python(values)]


def _python(values: Array) -> list[Any]:
    """The values as Python has them; one that it cannot have is strange, not what it stands in."""
    if isinstance(values, pa.ChunkedArray):
        return [value for chunk in values.chunks for value in _python(chunk)]
    try:
        values = _plain(values)
    except _NOT_BY_COLUMN:
        return _leaves(values)
    kind = values.type
    raws: list[Any]
    if _is_list(kind) or pa.types.is_map(kind):
        starts, lengths, elements = _rows(values)
        inner = _python(elements)
        spans = zip(starts.tolist(), lengths.tolist(), strict=True)
        raws = [inner[start : start + length] for start, length in spans]
        if pa.types.is_map(kind):
            raws = [_object(row) for row in raws]
    elif pa.types.is_struct(kind):
        names = [field.name for field in kind]
        if len(set(names)) < len(names):
            raws = [_STRANGE] * len(values)
        else:
            columns = [_python(values.field(i)) for i in range(len(names))]
            rows = zip(*columns, strict=True) if columns else [()] * len(values)
            raws = [dict(zip(names, row, strict=True)) for row in rows]
    else:
        return _leaves(values)
    if values.null_count:
        valid = values.is_valid().to_pylist()
        raws = [one if there else None for one, there in zip(raws, valid, strict=True)]
    return raws


def _object(entries: list[dict[str, Any]]) -> Any:
    """A map as an object, of equal keys the last; strange where a key cannot be a name."""
    try:
        return dict(tuple(entry.values()) for entry in entries)
    except TypeError:
        return _STRANGE


def _leaves(values: Array) -> list[Any]:
    try:
        found: list[Any] = values.to_pylist(maps_as_pydicts="lossy")
    except Exception:  # Python's calendar ends before Arrow's; extension types run foreign code
        return [_scalar(one) for one in values]
    return found


def _scalar(one: Any) -> Any:
    try:
        return one.as_py(maps_as_pydicts="lossy")
    except Exception:
        return _STRANGE


def _only_values(encoder: OriginEncoder) -> list[tuple[int, ValueSpaces]] | None:
    """The value dimensions of an attribute that has no others, and is in no function."""
    if encoder.clocked or len(encoder.timeless) != 1:
        return None
    (term,) = encoder.timeless
    return _value_cells(term) if term.term is term.origin else None


def _only_networks(encoder: OriginEncoder) -> tuple[int, OrderSpaces] | None:
    """The networks of an attribute that is looked at in no other way, and is in no function."""
    if encoder.clocked or len(encoder.timeless) != 1:
        return None
    (term,) = encoder.timeless
    if term.term is not term.origin or term.texts.conditions or term.tests:
        return None
    if not len(term.orders) == len(term.cells) == 1:
        return None
    start, spaces = term.orders[0]
    if type(spaces) is not OrderSpaces:  # one that splits has numbers of its own
        return None
    return (start, spaces) if spaces.order is NETWORKS else None


def _value_cells(term: TermEncoder) -> list[tuple[int, ValueSpaces]] | None:
    """The value dimensions of a term that has no others; a number is in no set."""
    if term.texts.conditions or term.tests:
        return None
    cells = [(start, spaces) for start, spaces in term.cells if isinstance(spaces, ValueSpaces)]
    return cells if cells and len(cells) == len(term.cells) else None


def _is_machine_number(kind: pa.DataType) -> bool:
    if pa.types.is_integer(kind):
        return bool(kind != pa.uint64())
    return bool(pa.types.is_float32(kind) or pa.types.is_float64(kind))


def _of_numbers(cells: list[tuple[int, ValueSpaces]], values: Array) -> Ragged:
    """Numbers, none of them null, by their place among the cuts, without a Python step."""
    whole = pa.types.is_integer(values.type)
    numbers = values.to_numpy(zero_copy_only=False).astype(np.int64 if whole else np.float64)
    return _of_column(cells, numbers)


def _of_column(cells: list[tuple[int, ValueSpaces]], numbers: NDArray[Any]) -> Ragged:
    whole = numbers.dtype.kind != "f"
    found = np.stack([spaces.of_numbers(numbers, whole) + start for start, spaces in cells], axis=1)
    starts = np.arange(len(numbers) + 1) * len(cells)
    return Ragged(starts, found.astype(np.int32).ravel())


def _of_lists(encoder: OriginEncoder, values: Array, now: int) -> Ragged:
    """Lists: those with the same elements, in any order, are looked at once."""
    elements, lengths = _elements(values)
    if pa.types.is_nested(elements.type):
        return _each(encoder, _rows_of(encoder, values), now)
    empty = _sees_empty(encoder)
    if encoder.by_element and not (empty and (lengths == 0).any()):
        found = _of_distinct(encoder, elements, now, in_lists=True)
        rows_of = np.repeat(np.repeat(np.arange(len(lengths)), lengths), np.diff(found.starts))
        return by_row(rows_of, found.items, len(lengths))
    codes, distinct = _codes(elements)
    bags = Ragged(starts_of(lengths), codes.astype(np.int32))
    same, firsts = _alike(bags)
    rows = []
    for row in firsts:
        bag = [distinct[code] if code >= 0 else None for code in bags.row(row).tolist()]
        rows.append(encoder.spaces(bag, now) if bag or empty else ())
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


def columns(
    encoder: Encoder, table: pa.Table | pa.RecordBatch | DeviceRows, now: int
) -> Columns | None:
    """What `encode` has to do, row by row, for a device to do it; None where that is not all.

    Lists, objects and what tells null from absent are left to `encode`, and so is what fails.
    """
    n = table.num_rows
    _ = encoder.texts
    tasks: list[Numbers | Codes] = []
    try:
        rest = encoder.origins
        if isinstance(table, DeviceRows):
            pairs = [(part, _left_there(part, table, now)) for part in rest]
            tasks = [left for _, left in pairs if left is not None]
            rest = [part for part, left in pairs if left is None]
        named = _named(table, rest)
        for part in rest:
            if isinstance(part.origin, Joint):
                tasks.append(_coded_rows(*_together(part, part.origin, named, n, now), n))
                continue
            values = _resolve(named, part.origin, n)
            if part.lacks and values is not None:
                return None
            if values is None or len(values) == values.null_count:
                continue
            if isinstance(values, _Objects) or pa.types.is_nested(values.type):
                return None
            tasks.append(_sent(part, values, now))
    except MemoryError:
        raise
    except Exception:  # `encode` looks value by value, so that only what is at fault goes without
        return None
    return Columns(n, tuple(tasks))


def _named(table: Any, origins: Iterable[OriginEncoder]) -> dict[str, Array]:
    """The columns by their names; of those on a device, those that the origins look at."""
    if not isinstance(table, DeviceRows):
        return {name: table.column(i) for i, name in enumerate(table.schema.names)}
    fields: set[str | None] = set()
    for one in origins:
        attributes = one.origin.attributes if isinstance(one.origin, Joint) else (one.origin,)
        fields.update(attribute.field for attribute in attributes)
    return {name: table.on_host(name) for name in table.columns if name in fields or None in fields}


def _left_there(encoder: OriginEncoder, rows: DeviceRows, now: int) -> Numbers | Codes | None:
    """What is to be done with a column of the device; None where the host has to look at it."""
    origin = encoder.origin
    if isinstance(origin, Joint) or encoder.lacks or len(origin.steps) != 1:
        return None
    column = rows.columns.get(origin.field or "")
    if not isinstance(column, DeviceColumn):
        return None
    if column.distinct is not None:
        if column.distinct.null_count or not _is_coded(column.distinct.type):
            return None
        return Codes(column.values, column.valid, _spaces_of(encoder, column.distinct, now))
    if pa.types.is_boolean(column.kind):
        return Codes(column.values, column.valid, _spaces_of_booleans(encoder, now))
    cells, kind = _ordered_cells(encoder), _order_of(column.kind)
    if cells is None or kind is None or isinstance(column.values, Bits):
        return None
    return Numbers(column.values, column.valid, _cuts(cells, kind, column.kind))


def _sent(encoder: OriginEncoder, values: Array, now: int) -> Numbers | Codes:
    """What is to be done with a column of the host."""
    cells, kind = _ordered_cells(encoder), _order_of(values.type)
    if cells is not None and kind is not None:
        return Numbers(_items(values), _valid(values), _cuts(cells, kind, values.type))
    if pa.types.is_boolean(values.type):
        bits = Bits(np.frombuffer(values.buffers()[1], np.uint8), values.offset)
        spaces = _spaces_of_booleans(encoder, now)
        return Codes(bits.some(0, len(values)), _valid(values), spaces)
    if pa.types.is_dictionary(values.type) and _is_coded(values.type.value_type):
        indices = values.indices
        if indices.type == pa.uint64():
            indices = indices.cast(pa.int64())
        spaces = _spaces_of(encoder, values.dictionary, now)
        return Codes(_items(indices), _valid(indices), spaces)
    codes, spaces = _coded_spaces(encoder, values, now)
    return Codes(codes.astype(np.int32), None, spaces)


def _is_coded(kind: pa.DataType) -> bool:
    """Whether distinct values of a type are looked at as they are."""
    return not (_is_strange(kind) or pa.types.is_nested(kind) or pa.types.is_dictionary(kind))


def _spaces_of(encoder: OriginEncoder, distinct: Array, now: int) -> Ragged:
    """The spaces of distinct values, and, last, of null."""
    if _is_text(distinct.type):
        return _with_row(_of_texts(encoder, distinct, now, alone=True), ())
    return _with_row(_each(encoder, _tidied(distinct), now), ())


def _spaces_of_booleans(encoder: OriginEncoder, now: int) -> Ragged:
    return _with_row(_each(encoder, [False, True], now), ())


def _coded_rows(present: Longs, spaces: Ragged, n_rows: int) -> Codes:
    """Rows that were looked at already: each is its own code, a missing one the last."""
    codes = np.full(n_rows, len(present), np.int32)
    codes[present] = np.arange(len(present), dtype=np.int32)
    return Codes(codes, None, _with_row(spaces, ()))


def _ordered_cells(encoder: OriginEncoder) -> list[tuple[int, ValueSpaces]] | None:
    """The value dimensions of an attribute that, where it is no text, is looked at as it is."""
    origin, ordered_cells = encoder.origin, []
    if isinstance(origin, Joint) or encoder.clocked:
        return None
    for one in encoder.timeless:
        cells = _value_cells(one)
        if cells is None or not (one.term is one.origin or _is_moment_of(one.term, origin)):
            return None
        ordered_cells += cells
    return ordered_cells or None


def _is_moment_of(term: Any, attribute: Attribute) -> bool:
    """Whether it is the text form's reading of texts as moments, which leaves all else alone."""
    is_reading = isinstance(term, Call) and term.name == "as_moment"
    return is_reading and term.arguments == (attribute,)


def _order_of(kind: pa.DataType) -> Kind | None:
    """The kind of values that a column has as numbers of a machine."""
    if _is_machine_number(kind):
        return Kind.NUMBER
    if pa.types.is_date32(kind):
        return Kind.DATE
    return Kind.TIMESTAMP if pa.types.is_timestamp(kind) and kind.unit == "us" else None


def _items(values: Array) -> NDArray[Any]:
    """The numbers that a column consists of, whatever is where it is null."""
    width = values.type.bit_width // 8
    letter = "f" if pa.types.is_floating(values.type) else "i"
    if pa.types.is_unsigned_integer(values.type):
        letter = "u"
    return np.frombuffer(values.buffers()[1], f"{letter}{width}")[values.offset :][: len(values)]


def _valid(values: Array) -> Bits | None:
    if not values.null_count:
        return None
    return Bits(np.frombuffer(values.buffers()[0], np.uint8), values.offset).some(0, len(values))


def _cuts(cells: list[tuple[int, ValueSpaces]], kind: Kind, type: pa.DataType) -> tuple[Cut, ...]:
    whole = not pa.types.is_floating(type)
    return tuple(_cut(start, spaces, kind, whole) for start, spaces in cells)


def _cut(start: int, spaces: ValueSpaces, kind: Kind, whole: bool) -> Cut:
    other = start + OTHER
    if kind not in spaces.first:
        return Cut(other, np.empty(0, np.int64 if whole else np.float64), other)
    first = start + spaces.first[kind]
    if kind is Kind.NUMBER:
        return Cut(first, spaces.thresholds[0 if whole else 1], other)
    return Cut(first, spaces.moments[kind], other, *_CALENDAR[kind])
