"""Events in columns that lie on a CUDA device already.

Three protocols say where they lie: `__cuda_array_interface__`, DLPack, and Arrow's C device
interface. What a device can cut into spaces stays there; all else is brought to the host, where it
is Arrow's. An `owner` keeps memory that is not ours.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from remuda import cuda
from remuda.encoding.device_interfaces import (
    ArrowArray,
    ArrowDeviceArray,
    Tensor,
    exported,
    pointed,
    streamed,
)
from remuda.errors import DeviceError

Array: TypeAlias = Any  # pyarrow has no types of its own

_ON_CUDA = 2, 13  # as DLPack and Arrow number devices: CUDA's memory, and what CUDA manages
_ON_HOST = 1, 3  # the host's memory, plain or pinned
_NUMBERS = {"i1", "i2", "i4", "i8", "u1", "u2", "u4", "f4", "f8"}  # that a device cuts
_OFFSETS = {"string": "i4", "large_string": "i8", "binary": "i4", "large_binary": "i8"}


@dataclass(frozen=True, slots=True, eq=False)
class OnDevice:
    """Some items in the memory of a device."""

    address: int
    dtype: np.dtype[Any]
    n: int
    owner: Any

    @property
    def nbytes(self) -> int:
        return self.n * self.dtype.itemsize

    def some(self, start: int, n: int) -> OnDevice:
        """Some of them."""
        address = self.address + start * self.dtype.itemsize
        return OnDevice(address, self.dtype, n, self.owner)

    def on_host(self) -> NDArray[Any]:
        """A copy on the host."""
        if not self.n:
            return np.empty(0, self.dtype)
        copied: NDArray[Any] = cuda.seen(self.address, self.nbytes).copy_to_host()
        return copied.view(self.dtype)


Bytes: TypeAlias = OnDevice | NDArray[Any]


@dataclass(frozen=True, slots=True, eq=False)
class Bits:
    """A bit an item, beginning with one of the first byte."""

    bytes: Bytes
    first: int

    def some(self, start: int, n: int) -> Bits:
        """Some of them."""
        at = self.first + start
        begin, n_bytes = at >> 3, ((at & 7) + n + 7) >> 3
        if isinstance(self.bytes, OnDevice):
            return Bits(self.bytes.some(begin, n_bytes), at & 7)
        return Bits(self.bytes[begin : begin + n_bytes], at & 7)

    def on_host(self, n: int) -> NDArray[Any]:
        """The first of them, a boolean each."""
        held = self.bytes.on_host() if isinstance(self.bytes, OnDevice) else self.bytes
        return np.unpackbits(held, bitorder="little")[self.first : self.first + n].view(np.bool_)


@dataclass(frozen=True, slots=True, eq=False)
class DeviceColumn:
    """A column whose values lie on a device.

    They are numbers, days or microseconds, as `kind` says; bytes or bits of booleans; or places in
    `distinct`, values that are on the host.
    """

    kind: pa.DataType
    n: int
    values: OnDevice | Bits
    valid: Bits | None  # None where all are there
    distinct: Array | None = None

    def __len__(self) -> int:
        return self.n

    def slice(self, start: int, n: int) -> DeviceColumn:
        """Some of its rows."""
        valid = None if self.valid is None else self.valid.some(start, n)
        return DeviceColumn(self.kind, n, self.values.some(start, n), valid, self.distinct)

    def on_host(self) -> Array:
        """The same as Arrow has it."""
        mask = None if self.valid is None else ~self.valid.on_host(self.n)
        if isinstance(self.values, Bits):
            return pa.array(self.values.on_host(self.n), mask=mask)
        values = self.values.on_host()
        if self.distinct is not None:
            return pa.DictionaryArray.from_arrays(pa.array(values, mask=mask), self.distinct)
        if pa.types.is_boolean(self.kind):
            return pa.array(values != 0, mask=mask)
        return pa.array(values, mask=mask).cast(self.kind)


@dataclass(frozen=True, slots=True, eq=False)
class DeviceRows:
    """Rows in columns, of which some lie on a device."""

    columns: dict[str, DeviceColumn | Array]
    num_rows: int

    def __len__(self) -> int:
        return self.num_rows

    @property
    def num_columns(self) -> int:
        return len(self.columns)

    def slice(self, start: int, n: int) -> DeviceRows:
        """At most n rows, from one on."""
        n = max(0, min(n, self.num_rows - start))
        return DeviceRows({name: one.slice(start, n) for name, one in self.columns.items()}, n)

    def on_host(self, name: str) -> Array:
        """A column as Arrow has it."""
        column = self.columns[name]
        return column.on_host() if isinstance(column, DeviceColumn) else column

    def to_arrow(self) -> pa.Table:
        """All of it on the host."""
        return pa.table({name: self.on_host(name) for name in self.columns})


def are_columns(events: Any) -> bool:
    """Whether events are columns by their names, of which some lie on a device."""
    return isinstance(events, Mapping) and any(map(_is_there, events.values()))


def is_batch(events: Any) -> bool:
    """Whether events are a table or batch of which Arrow's C device interface tells."""
    speaks = hasattr(events, "__arrow_c_device_array__")
    return speaks and not getattr(events, "is_cpu", False)


def is_stream(events: Any) -> bool:
    """Whether events are a stream of such batches."""
    speaks = hasattr(events, "__arrow_c_device_stream__")
    return speaks and not isinstance(events, pa.RecordBatchReader)


def rows_of_columns(columns: Mapping[Any, Any]) -> DeviceRows:
    """Columns by their names as rows; all of one length."""
    cuda.api().synchronize()  # for whoever still writes them
    by_name = {}
    for name, column in columns.items():
        if not isinstance(name, str):
            raise TypeError(f"the names of columns are texts, not {name!r}")
        try:
            by_name[name] = _taken(column)
        except TypeError as error:
            raise TypeError(f"column {name!r}: {error}") from None
    lengths = {name: len(one) for name, one in by_name.items()}
    if len(set(lengths.values())) > 1:
        raise ValueError(f"columns have one length, not several: {lengths}")
    return DeviceRows(by_name, next(iter(lengths.values())))


def rows_of_batch(batch: Any) -> DeviceRows | pa.RecordBatch:
    """A batch by Arrow's C device interface as rows; one of the host as Arrow has it."""
    kind, held, owner = exported(batch)
    return _rows(kind, held, owner) if _is_far(held) else pa.record_batch(batch)


def rows_of_stream(stream: Any) -> Iterator[DeviceRows]:
    """The batches of a stream by the same interface, one after the other."""
    for kind, held, owner in streamed(stream):
        if not _is_far(held):
            raise TypeError("a stream of batches on the host is taken by __arrow_c_stream__")
        yield _rows(kind, held, owner)


def _is_there(column: Any) -> bool:
    if hasattr(column, "__cuda_array_interface__"):
        return True
    if not isinstance(column, pa.Array) and hasattr(column, "__dlpack_device__"):
        return column.__dlpack_device__()[0] in _ON_CUDA
    return is_batch(column)


def _taken(column: Any) -> DeviceColumn | Array:
    """A column by the first of the protocols that it has; one of the host as Arrow has it."""
    if hasattr(column, "__cuda_array_interface__"):
        return _of_interface(column)
    if not _is_there(column):
        return pa.array(column)
    if not is_batch(column):
        return _of_dlpack(column)
    kind, held, owner = exported(column)
    if not _is_far(held):
        return pa.array(column)
    return _column(kind, held.array, 0, held.array.length, owner)


def _of_interface(column: Any) -> DeviceColumn | Array:
    described = column.__cuda_array_interface__
    dtype, shape = np.dtype(described["typestr"]), described["shape"]
    _check_flat(shape, described.get("strides"), dtype.itemsize)
    values = OnDevice(described["data"][0], dtype, shape[0], column)
    return _of_numbers(values, _bits_of(described.get("mask"), shape[0]))


def _bits_of(mask: Any, n: int) -> Bits | None:
    """What a mask says is there: a bit or a byte an item."""
    if mask is None:
        return None
    described = mask.__cuda_array_interface__
    address = described["data"][0]
    if described["typestr"][1:] == "t1":
        return Bits(OnDevice(address, np.dtype("u1"), (n + 7) >> 3, mask), 0)
    _check_flat(described["shape"], described.get("strides"), 1)
    bytes_ = OnDevice(address, np.dtype("u1"), n, mask).on_host()
    return Bits(np.packbits(bytes_ != 0, bitorder="little"), 0)


def _of_dlpack(column: Any) -> DeviceColumn | Array:
    capsule = column.__dlpack__(stream=-1)  # everybody was waited for
    tensor = pointed(capsule, b"dltensor", Tensor)
    _check_device(tensor.device_id)
    shape = tuple(tensor.shape[: tensor.n_dims])
    strides = tuple(tensor.strides[: tensor.n_dims]) if tensor.strides else None
    letter = {0: "i", 1: "u", 2: "f", 6: "b"}.get(tensor.code)
    if letter is None or tensor.bits % 8 or tensor.lanes != 1:
        raise TypeError(f"DLPack's type {tensor.code} of {tensor.bits} bits is not a number")
    dtype = np.dtype(f"{letter}{tensor.bits // 8}")
    _check_flat(shape, strides and tuple(one * dtype.itemsize for one in strides), dtype.itemsize)
    values = OnDevice((tensor.data or 0) + tensor.byte_offset, dtype, shape[0], capsule)
    return _of_numbers(values, None)


def _check_flat(shape: Any, strides: Any, itemsize: int) -> None:
    if len(shape) != 1 or (strides is not None and shape[0] > 1 and tuple(strides) != (itemsize,)):
        raise TypeError(
            f"an array of shape {tuple(shape)} with steps of {strides} bytes is no column: one "
            "dimension, its items side by side, is"
        )


def _of_numbers(values: OnDevice, valid: Bits | None) -> DeviceColumn | Array:
    """A column of what NumPy has a type for."""
    try:
        kind = pa.from_numpy_dtype(values.dtype)
    except pa.ArrowException:
        raise TypeError(f"{values.dtype} is not taken from a device") from None
    if pa.types.is_boolean(kind):
        return DeviceColumn(kind, values.n, replace(values, dtype=np.dtype("u1")), valid)
    whole = replace(values, dtype=np.dtype("i8")) if values.dtype.kind == "M" else values
    column = DeviceColumn(kind, values.n, whole, valid)
    return column if whole.dtype.str[1:] in _NUMBERS else column.on_host()


def _rows(kind: pa.DataType, held: ArrowDeviceArray, owner: Any) -> DeviceRows:
    if not pa.types.is_struct(kind):
        raise TypeError(f"events are rows with columns, not {kind}")
    cuda.api().synchronize()  # its event among all others
    root, columns = held.array, {}
    for i in range(root.n_children):
        field, child = kind.field(i), root.children[i].contents
        columns[field.name] = _column(field.type, child, root.offset, root.length, owner)
    return DeviceRows(columns, root.length)


def _column(
    kind: pa.DataType, array: ArrowArray, start: int, n: int, owner: Any
) -> DeviceColumn | Array:
    """One column of Arrow's, from a row on."""
    own = _Buffers(array, owner)
    offset, distinct = array.offset + start, None
    valid = own.bits(0, offset, n) if array.null_count and array.buffers[0] else None
    stored = kind
    if pa.types.is_dictionary(kind):
        stored = kind.index_type
        distinct = _Buffers(array.dictionary.contents, owner).on_host(kind.value_type)
    if pa.types.is_boolean(kind):
        return DeviceColumn(kind, n, own.bits(1, offset, n), valid)
    dtype = _stored_as(stored)
    if dtype is None:
        return own.on_host(kind).slice(start, n)
    return DeviceColumn(kind, n, own.items(1, dtype, offset, n), valid, distinct)


def _stored_as(kind: pa.DataType) -> np.dtype[Any] | None:
    """The numbers that a column consists of, where a device can cut these."""
    if pa.types.is_date32(kind):
        return np.dtype("i4")
    if pa.types.is_timestamp(kind):
        return np.dtype("i8")
    if pa.types.is_integer(kind) or pa.types.is_floating(kind):
        dtype = np.dtype(kind.to_pandas_dtype())
        return dtype if dtype.str[1:] in _NUMBERS else None
    return None


@dataclass(frozen=True, slots=True)
class _Buffers:
    """The buffers of one array on a device."""

    array: ArrowArray
    owner: Any

    def items(self, i: int, dtype: np.dtype[Any], start: int, n: int) -> OnDevice:
        """Some items of a buffer."""
        address = (self.array.buffers[i] or 0) + start * dtype.itemsize
        return OnDevice(address, dtype, n, self.owner)

    def bits(self, i: int, start: int, n: int) -> Bits:
        """Some bits of a buffer."""
        n_bytes = (start + n + 7) >> 3
        return Bits(self.items(i, np.dtype("u1"), 0, n_bytes), 0).some(start, n)

    def on_host(self, kind: pa.DataType) -> Array:
        """All of the array, copied."""
        n = self.array.offset + self.array.length
        buffers = [self._copied(0, (n + 7) >> 3)]
        if str(kind) in _OFFSETS:
            width = np.dtype(_OFFSETS[str(kind)])
            offsets = self._copied(1, (n + 1) * width.itemsize)
            end = 0 if offsets is None else int(np.frombuffer(offsets, width)[-1])
            buffers += [offsets, self._copied(2, end) or pa.py_buffer(b"")]
        else:
            try:
                buffers.append(self._copied(1, (n * kind.bit_width + 7) >> 3))
            except ValueError:
                raise TypeError(
                    f"{kind} is not taken from a device: bring it to the host"
                ) from None
        nulls, offset = self.array.null_count, self.array.offset
        return pa.Array.from_buffers(kind, self.array.length, buffers, nulls, offset)

    def _copied(self, i: int, n_bytes: int) -> Any:
        address = self.array.buffers[i]
        if not address:
            return None
        return pa.py_buffer(OnDevice(address, np.dtype("u1"), n_bytes, self.owner).on_host())


def _is_far(held: ArrowDeviceArray) -> bool:
    """Whether an array is on a device, ours."""
    if held.device_type in _ON_HOST:
        return False
    if held.device_type not in _ON_CUDA:
        raise TypeError(f"Arrow's device {held.device_type} is not one of CUDA")
    _check_device(held.device_id)
    return True


def _check_device(number: int) -> None:
    if number not in (cuda.chosen(), -1):
        raise DeviceError(
            f"a column lies on CUDA device {number}, and this process uses {cuda.chosen()}",
            "copy it there, or let CUDA_VISIBLE_DEVICES name the other one",
        )
