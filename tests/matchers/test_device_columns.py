"""Columns that lie on a device already: three protocols, what stays there, what is refused.

In the simulator the device's memory is the host's; with NUMBA_ENABLE_CUDASIM=0 it is a device's.
"""

from __future__ import annotations

import ctypes
import datetime as dt
import os

import numpy as np
import pyarrow as pa
import pytest

from matchers.test_gpu import CUT, cut_columns
from remuda import cuda
from remuda.encoding import arrow, device_columns
from remuda.encoding import device_interfaces as c
from remuda.encoding.columns import Codes, Numbers
from remuda.encoding.device_columns import Bits, DeviceRows, OnDevice, rows_of_columns
from remuda.encoding.events import Source
from remuda.errors import DeviceError
from remuda.index.index import Index
from remuda.index.segment import Segment
from remuda.language.criterion import Criterion
from remuda.language.python import attr
from remuda.language.text import parse
from remuda.matchers.gpu.cutting import cut
from strategies import NOW

_CUDA = 2
_KEPT: list[There] = []  # what arrays that were told of point to; it ends with the process
_SIMULATED = os.environ["NUMBA_ENABLE_CUDASIM"] == "1"


class There:
    """A copy of an array in the device's memory."""

    def __init__(self, array: np.ndarray) -> None:
        plain = np.ascontiguousarray(array)
        self.memory = cuda.api().to_device(plain if plain.nbytes else np.zeros(1, np.uint8))
        inside = self.memory._ary.ctypes.data if _SIMULATED else None
        self.address = inside or self.memory.__cuda_array_interface__["data"][0]


class Interface:
    """An array that speaks `__cuda_array_interface__`."""

    def __init__(self, array: np.ndarray, mask: Interface | None = None, **how) -> None:
        self.there = There(array)
        self.__cuda_array_interface__ = {
            "shape": array.shape, "typestr": array.dtype.str, "version": 3, "strides": None,
            "data": (self.there.address, False), "mask": mask, **how,
        }  # fmt: skip


class Packed:
    """An array that speaks DLPack."""

    def __init__(self, array: np.ndarray, device: int = 0) -> None:
        self.array, self.there, self.device = array, There(array), device
        _KEPT.append(self.there)

    def __dlpack_device__(self) -> tuple[int, int]:
        return _CUDA, self.device

    def __dlpack__(self, *, stream) -> object:
        assert stream == -1
        capsule = self.array.copy().__dlpack__()  # one that may be written
        tensor = c.pointed(capsule, b"dltensor", c.Tensor)
        tensor.data, tensor.device_type = self.there.address, _CUDA
        tensor.device_id, tensor.byte_offset = self.device, 0
        return capsule


class Batch:
    """A batch, or an array, that speaks Arrow's C device interface."""

    def __init__(self, rows: pa.RecordBatch | pa.Array, device: int = 0, type: int = _CUDA) -> None:
        self.rows, self.device, self.type = rows, device, type

    def __arrow_c_device_array__(self, requested_schema=None, **_):
        schema, capsule = self.rows.__arrow_c_device_array__()
        held = c.pointed(capsule, b"arrow_device_array", c.ArrowDeviceArray)
        held.device_type, held.device_id = self.type, self.device
        if isinstance(self.rows, pa.RecordBatch):
            for i, column in enumerate(self.rows.columns):
                self._move(held.array.children[i].contents, column)
        else:
            self._move(held.array, self.rows)
        return schema, capsule

    def _move(self, array: c.ArrowArray, column: pa.Array) -> None:
        if pa.types.is_nested(column.type):
            return
        for i, buffer in enumerate(column.buffers()):
            if buffer is not None and array.buffers[i]:
                _KEPT.append(There(np.frombuffer(buffer, np.uint8)))
                array.buffers[i] = _KEPT[-1].address
        if pa.types.is_dictionary(column.type):
            self._move(array.dictionary.contents, column.dictionary)


class Stream:
    """Batches that speak Arrow's C device stream interface."""

    def __init__(self, batches: list[Batch], error: bytes | None = None) -> None:
        self.batches, self.error = batches, ctypes.create_string_buffer(error or b"")
        self.fails = error is not None

    def __arrow_c_device_stream__(self, requested_schema=None, **_):
        fields = dict(c.ArrowDeviceStream._fields_)
        self.exported = [one.__arrow_c_device_array__() for one in self.batches]
        rest = iter(self.exported)

        def get_schema(_, out):
            schema = self.batches[0].rows.schema.__arrow_c_schema__()
            _moved(schema, b"arrow_schema", 72, out)
            return 0

        def get_next(_, out):
            following = next(rest, None)
            if following is None and self.fails:
                return 5
            if following is not None:
                at = ctypes.addressof(out.contents)
                _moved(following[1], b"arrow_device_array", ctypes.sizeof(c.ArrowDeviceArray), at)
            return 0

        self.stream = c.ArrowDeviceStream(
            _CUDA, fields["get_schema"](get_schema), fields["get_next"](get_next),
            fields["get_last_error"](lambda _: ctypes.addressof(self.error)),
            fields["release"](lambda _: None), None,
        )  # fmt: skip
        address = ctypes.addressof(self.stream)
        return c._python.PyCapsule_New(address, b"arrow_device_array_stream", None)


def _moved(capsule, name: bytes, n_bytes: int, to: int) -> None:
    """Move what a capsule has: where it was, it counts as released."""
    at = c._python.PyCapsule_GetPointer(capsule, name)
    ctypes.memmove(to, at, n_bytes)
    place = 56 if name == b"arrow_schema" else c.ArrowArray.release.offset
    ctypes.c_void_p.from_address(at + place).value = None


def _numbers(table: pa.Table) -> dict[str, np.ndarray]:
    """The columns of numbers and booleans, with something where they are null."""
    plain = {}
    for name in table.column_names:
        column = table.column(name).combine_chunks()
        if pa.types.is_primitive(column.type) and not pa.types.is_temporal(column.type):
            filled = column.fill_null(False if pa.types.is_boolean(column.type) else 0)
            plain[name] = filled.to_numpy(zero_copy_only=False)
    return plain


def _batch(n: int) -> pa.RecordBatch:
    return cut_columns(n).combine_chunks().to_batches()[0]


def _interface(batch: pa.RecordBatch):
    numbers = _numbers(pa.table(batch))
    return {name: Interface(one) for name, one in numbers.items()}, pa.table(numbers)


def _packed(batch: pa.RecordBatch):
    numbers = _numbers(pa.table(batch))
    return {name: Packed(one) for name, one in numbers.items()}, pa.table(numbers)


def _columns(batch: pa.RecordBatch):
    return {name: Batch(batch.column(name)) for name in batch.schema.names}, pa.table(batch)


def _mixed(batch: pa.RecordBatch):
    """Some of the columns on the device, and some on the host."""
    given = {name: batch.column(name) for name in batch.schema.names}
    given["i8"] = Batch(given["i8"])
    return given, pa.table(batch)


PROTOCOLS = {
    "__cuda_array_interface__": _interface,
    "DLPack": _packed,
    "Arrow, a batch": lambda batch: (Batch(batch), pa.table(batch)),
    "Arrow, a column each": _columns,
    "Arrow, a stream": lambda batch: (
        Stream([Batch(batch.slice(0, 9)), Batch(batch.slice(9))]),
        pa.table(batch),
    ),
    "Arrow, several batches": lambda batch: (
        [Batch(batch.slice(0, 9)), Batch(batch.slice(9))],
        pa.table(batch),
    ),
    "some on the host": _mixed,
}
every_protocol = pytest.mark.parametrize("given", PROTOCOLS.values(), ids=PROTOCOLS)


@every_protocol
@pytest.mark.parametrize("matcher", ["gpu", "auto"])
def test_columns_of_a_device_are_events_like_others(given, matcher, monkeypatch) -> None:
    monkeypatch.setattr("remuda.index.segment._MANY", 8)
    if matcher == "gpu":
        monkeypatch.setattr(arrow, "encode", None)  # nobody may call it
    index = Index.build(CUT, matcher=matcher)
    batch = _batch(20)
    events, table = given(batch)
    matches = index.match_many(events, now=NOW, threads=1)
    assert len(matches) == len(table) == 17
    for i, event in enumerate(table.to_pylist()):
        assert matches.ids(i) == [one.id for one in CUT if one.holds(event, now=NOW)]
    counts = [len(matches.ids(i)) for i in range(len(table))]
    assert index.count_many(given(batch)[0], now=NOW).tolist() == counts
    assert index.reach(given(batch)[0], now=NOW).sum() == sum(counts)
    best = index.top_many(given(batch)[0], 2, now=NOW)
    assert [len(best.ids(i)) for i in range(len(table))] == [min(n, 2) for n in counts]


def test_an_index_asks_in_portions_of_any_size(monkeypatch) -> None:
    monkeypatch.setattr("remuda.index.segment._MANY", 1)
    segment = Segment.build([one.expression for one in CUT], matcher="gpu")
    batch = _batch(20)
    for size in (1, 7, 8, 17):
        source, starts, spaces = Source(Batch(batch)), [0], []
        while (portion := source.take(size)) is not None:
            assert isinstance(portion.events, DeviceRows)
            found = segment.encode(portion, NOW)
            starts += (found.starts[1:] + starts[-1]).tolist()
            spaces += found.spaces.tolist()
        expected = arrow.encode(segment.encoder, pa.table(batch), NOW)
        assert (starts, spaces) == (expected.starts.tolist(), expected.spaces.tolist()), size


STAYING = ["i8 > 3", "f64 < 0.5", "u32 > 4", "b = true", "d > DATE '2024-01-01'", "f32 < 0.1",
           "t < TIMESTAMP '2024-01-01 12:00:00'", "code rlike '^x'", "i64 in (1, 2)"]  # fmt: skip


def test_what_a_device_can_cut_stays_there(monkeypatch) -> None:
    segment = Segment.build([parse(text) for text in STAYING], matcher="gpu")
    batch = _batch(60)
    (portion,) = [Source(Batch(batch)).take(100)]
    monkeypatch.setattr(device_columns.DeviceColumn, "on_host", None)  # nobody may call it
    found = portion.columns(segment.encoder, NOW)
    assert {type(one) for one in found.columns} == {Numbers, Codes}
    assert len(found.columns) == len(STAYING)
    for one in found.columns:
        values = one.values if isinstance(one, Numbers) else one.codes
        assert isinstance(values.bytes if isinstance(values, Bits) else values, OnDevice)
        assert one.valid is None or isinstance(one.valid.bytes, OnDevice)
    expected = arrow.encode(segment.encoder, pa.table(batch), NOW)
    assert cut(found).spaces.tolist() == expected.spaces.tolist()


MASKS = {
    "a bit a row": lambda valid: Interface(
        np.packbits(valid, bitorder="little"), typestr="<t1", shape=(len(valid),)
    ),
    "a byte a row": Interface,
}


@pytest.mark.parametrize("mask", MASKS.values(), ids=MASKS)
def test_a_mask_says_what_is_there(mask) -> None:
    values, valid = np.arange(20), np.arange(20) % 3 > 0
    rows = rows_of_columns({"a": Interface(values, mask(valid))})
    assert (
        rows.slice(3, 9).to_arrow().column("a").to_pylist()
        == [int(value) if there else None for value, there in zip(values, valid, strict=True)][3:12]
    )


MOMENTS = {
    "date32": (pa.date32(), np.int32, [-719_162, 2_932_896, 2_932_897, -719_163, 19_723, 19_724]),
    "timestamp": (pa.timestamp("us"), np.int64,
                  [-62_135_596_800_000_000, -62_135_596_800_000_001, 253_402_300_799_999_999,
                   253_402_300_800_000_000, 1_704_110_400_000_000, 1_704_110_399_999_999]),
    "with a zone": (pa.timestamp("us", "Asia/Tokyo"), np.int64, [1_704_110_400_000_000, 0, 1]),
    "in seconds": (pa.timestamp("s"), np.int64, [1_704_110_400, 0, 1]),
}  # fmt: skip


@pytest.mark.parametrize("far", [False, True], ids=["sent", "there"])
@pytest.mark.parametrize(("kind", "dtype", "values"), MOMENTS.values(), ids=MOMENTS)
def test_moments_are_cut_as_the_calendar_has_them(kind, dtype, values, far) -> None:
    texts = ["a >= DATE '2024-01-02'", "a is not null", "a = TIMESTAMP '2024-01-01 12:00:00'",
             "a <= DATE '0001-01-01'", "a > TIMESTAMP '9999-12-31 23:59:59'"]  # fmt: skip
    plain = [attr("a") >= dt.date(2024, 1, 2), attr("a") < dt.datetime(2024, 1, 1, 12)]
    segment = Segment.build([*map(parse, texts), *plain], matcher="gpu")
    column = pa.array(np.array(values, dtype)).cast(kind)
    batch = pa.record_batch({"a": pa.concat_arrays([column, pa.nulls(1, kind)])})
    portion = Source(Batch(batch) if far else batch).take(100)
    found = cut(portion.columns(segment.encoder, NOW))
    expected = arrow.encode(segment.encoder, batch, NOW)
    assert (found.starts.tolist(), found.spaces.tolist()) == (
        expected.starts.tolist(),
        expected.spaces.tolist(),
    )


def test_codes_that_there_are_not_are_null() -> None:
    segment = Segment.build([parse("a = 'x'")], matcher="gpu")
    codes = pa.array([0, 1, 1, 0], pa.int8())
    batch = pa.record_batch({"a": pa.DictionaryArray.from_arrays(codes, pa.array(["x", "y"]))})
    found = Source(Batch(batch)).take(9).columns(segment.encoder, NOW)
    (one,) = found.columns
    wrong = There(np.array([0, 1, 77, -3], np.int8))
    at = OnDevice(wrong.address, np.dtype("i1"), 4, wrong)
    spaces = cut(type(found)(4, (Codes(at, None, one.spaces),)))
    assert np.diff(spaces.starts).tolist() == [1, 1, 0, 0]


@pytest.mark.parametrize(
    ("events", "error", "said"),
    {
        "two dimensions": (
            lambda: {"a": Interface(np.zeros((2, 2)))},
            TypeError,
            r"column 'a': an array of shape \(2, 2\)",
        ),
        "steps": (
            lambda: {"a": Interface(np.zeros(4), strides=(16,), shape=(2,))},
            TypeError,
            "steps of .* is no column",
        ),
        "complex numbers": (
            lambda: {"a": Interface(np.zeros(4, np.complex64))},
            TypeError,
            "column 'a'",
        ),
        "of several lengths": (
            lambda: {"a": Interface(np.zeros(4)), "b": Packed(np.zeros(3))},
            ValueError,
            "columns have one length",
        ),
        "a name that is none": (
            lambda: {3: Interface(np.zeros(4))},
            TypeError,
            "names of columns are texts, not 3",
        ),
        "another device, DLPack": (
            lambda: {"a": Packed(np.zeros(4), device=1)},
            DeviceError,
            "lies on CUDA device 1, and this process uses 0",
        ),
        "another device, Arrow": (
            lambda: Batch(pa.record_batch({"a": [1]}), device=1),
            DeviceError,
            "lies on CUDA device 1",
        ),
        "no device of CUDA's": (
            lambda: Batch(pa.record_batch({"a": [1]}), type=8),
            TypeError,
            "Arrow's device 8 is not one of CUDA",
        ),
        "lists": (
            lambda: Batch(pa.record_batch({"a": [[1]]})),
            TypeError,
            "list<item: int64> is not taken from a device",
        ),
        "no rows": (lambda: Batch(pa.array([1])), TypeError, "rows with columns, not int64"),
        "a stream that fails": (
            lambda: Stream([Batch(pa.record_batch({"a": [1]}))], b"gone"),
            OSError,
            "gone",
        ),
        "columns of the host": (lambda: {"a": np.zeros(4)}, TypeError, "events are a list"),
        "weights in a column": (
            lambda: {"w": Interface(np.zeros(4))},
            TypeError,
            "weights lie in no column of a device",
        ),
    }.values(),
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_what_is_no_column_is_refused(events, error, said) -> None:
    index = Index.build([Criterion("a", parse("a = 1"))], matcher="gpu")
    with pytest.raises(error, match=said):
        index.top_many(events(), 1, weights="w" if "weights" in said else None)


def test_a_batch_of_the_host_needs_no_device() -> None:
    index = Index.build([Criterion("a", parse("a = 1"))])
    batch = Batch(pa.record_batch({"a": [1, 2]}), type=1)
    batch._move = lambda *_: None
    assert index.count_many(batch).tolist() == [1, 0]


def test_texts_come_to_the_host() -> None:
    texts = pa.array(["x", None, "öß", ""])
    days = pa.array([dt.date(2024, 1, 1), None, None, None])
    many = pa.array([1, None, 2, 3], pa.uint64())
    others = texts.cast(pa.large_string()), texts.dictionary_encode(), texts.slice(1), days.slice(1)
    for column in (texts, days, many, *others):
        rows = device_columns.rows_of_batch(Batch(pa.record_batch({"a": column})))
        assert rows.to_arrow().column("a").to_pylist() == column.to_pylist()
