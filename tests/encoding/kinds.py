"""Arrow arrays of every type there is, each with values that meet those of criteria."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

NOON = datetime(2024, 2, 29, 12, tzinfo=UTC)
_NUMBERS = [1, 2, None, 3, 1]
_FLOATS = [1.0, 2.5, None, 3.0, float("nan")]
_DECIMALS = [Decimal(1), Decimal("2.5"), None, Decimal(3), Decimal("0.1")]
_TEXTS = ["a", "ab", None, "", "a"]
_BYTES = [b"a", b"bb", None, b"", b"a"]
_DATES = [NOON.date(), date(1970, 1, 1), None, NOON.date(), date(2024, 1, 1)]
_MOMENTS = [NOON, datetime(1970, 1, 1, tzinfo=UTC), None, NOON, datetime(2024, 1, 1, tzinfo=UTC)]
_TIMES = [time(1), time(2), None, time(3), time(1)]
_SPANS = [timedelta(1), timedelta(2), None, timedelta(3), timedelta(1)]

PLAIN: dict[str, tuple[pa.DataType, list[Any]]] = {
    "null": (pa.null(), [None] * 5),
    "bool": (pa.bool_(), [True, False, None, True, False]),
    **{
        str(kind): (kind, _NUMBERS)
        for kind in (
            *(pa.int8(), pa.int16(), pa.int32(), pa.int64()),
            *(pa.uint8(), pa.uint16(), pa.uint32(), pa.uint64()),
        )
    },
    **{str(kind): (kind, _FLOATS) for kind in (pa.float16(), pa.float32(), pa.float64())},
    **{
        str(kind): (kind, _DECIMALS)
        for kind in (
            *(pa.decimal32(5, 2), pa.decimal64(5, 2)),
            *(pa.decimal128(5, 2), pa.decimal256(50, 2)),
        )
    },
    **{str(kind): (kind, _TEXTS) for kind in (pa.string(), pa.large_string(), pa.string_view())},
    **{str(kind): (kind, _BYTES) for kind in (pa.binary(), pa.large_binary(), pa.binary_view())},
    "fixed_size_binary": (pa.binary(1), [b"a", b"b", None, b"c", b"a"]),
    "date32": (pa.date32(), _DATES),
    "date64": (pa.date64(), _DATES),
    **{
        str(kind): (kind, _MOMENTS)
        for unit in ("s", "ms", "us", "ns")
        for kind in (pa.timestamp(unit), pa.timestamp(unit, "Asia/Kolkata"))
    },
    **{
        str(kind): (kind, _TIMES)
        for kind in (pa.time32("s"), pa.time32("ms"), pa.time64("us"), pa.time64("ns"))
    },
    **{str(kind): (kind, _SPANS) for kind in map(pa.duration, ("s", "ms", "us", "ns"))},
    "month_day_nano": (
        pa.month_day_nano_interval(),
        [(1, 2, 3), (1, 1, 1), None, (0, 0, 1), (2, 2, 2)],
    ),
}


class Celsius(pa.ExtensionType):
    """An extension type that Python gets as what it is stored as."""

    def __init__(self) -> None:
        super().__init__(pa.float64(), "tests.celsius")

    def __arrow_ext_serialize__(self) -> bytes:
        return b""

    @classmethod
    def __arrow_ext_deserialize__(cls, storage_type: pa.DataType, serialized: bytes) -> Celsius:
        return cls()


class _Shout(pa.ExtensionScalar):
    def as_py(self, **_: Any) -> Any:
        text = None if self.value is None else self.value.as_py()
        if text == "":
            raise RuntimeError("nothing to shout")
        return None if text is None else text.upper()


class Shout(pa.ExtensionType):
    """An extension type that Python gets as something else, and not always."""

    def __init__(self) -> None:
        super().__init__(pa.string(), "tests.shout")

    def __arrow_ext_serialize__(self) -> bytes:
        return b""

    @classmethod
    def __arrow_ext_deserialize__(cls, storage_type: pa.DataType, serialized: bytes) -> Shout:
        return cls()

    def __arrow_ext_scalar_class__(self) -> type[pa.ExtensionScalar]:
        return _Shout


def extended(kind: pa.DataType, storage: pa.DataType, values: list[Any]) -> pa.Array:
    return pa.ExtensionArray.from_storage(kind, pa.array(values, storage))


def _union(dense: bool) -> pa.Array:
    codes = pa.array([0, 1, 0, 1, 0], pa.int8())
    if dense:
        offsets = pa.array([0, 0, 1, 1, 2], pa.int32())
        children = [pa.array([1, None, 2]), pa.array(["a", None])]
        return pa.UnionArray.from_dense(codes, offsets, children)
    return pa.UnionArray.from_sparse(codes, [pa.array(_NUMBERS), pa.array(_TEXTS)])


ODD: dict[str, Callable[[], pa.Array]] = {
    "uuid": lambda: extended(pa.uuid(), pa.binary(16), [b"0" * 16, None, b"1" * 16] + [None] * 2),
    "json": lambda: extended(pa.json_(), pa.string(), _TEXTS),
    "bool8": lambda: extended(pa.bool8(), pa.int8(), [1, 0, None, 2, 0]),
    "opaque": lambda: extended(pa.opaque(pa.int64(), "t", "v"), pa.int64(), _NUMBERS),
    "tensor": lambda: extended(
        pa.fixed_shape_tensor(pa.int64(), [2]),
        pa.list_(pa.int64(), 2),
        [[1, 2], None, [3, 3], [1, 1], [0, 0]],
    ),
    "an extension stored as it is": lambda: extended(Celsius(), pa.float64(), _FLOATS),
    "an extension with code of its own": lambda: extended(Shout(), pa.string(), _TEXTS),
    "dictionary": lambda: pa.array(_TEXTS).dictionary_encode(),
    "dictionary of numbers": lambda: pa.array(_NUMBERS).dictionary_encode(),
    "dictionary of views": lambda: pa.DictionaryArray.from_arrays(
        pa.array([0, 1, None, 1, 0], pa.uint8()), pa.array(["a", "ab"], pa.string_view())
    ),
    "dictionary with nulls twice": lambda: pa.DictionaryArray.from_arrays(
        pa.array([0, 1, None, 1, 0], pa.int8()), pa.array(["a", None])
    ),
    "dictionary of far more": lambda: pa.DictionaryArray.from_arrays(
        pa.array([0, 9, None, 1, 0], pa.uint64()), pa.array([*"abcdefghij"])
    ),
    "dictionary of bytes": lambda: pa.array(_BYTES).dictionary_encode(),
    "dictionary of objects": lambda: pa.DictionaryArray.from_arrays(
        pa.array([0, 1, None, 1, 0], pa.int8()), pa.array([{"k": 1}, {"k": 2}])
    ),
    "dictionary of lists": lambda: pa.DictionaryArray.from_arrays(
        pa.array([0, 1, None, 1, 0], pa.int8()), pa.array([[1, 2], [3]])
    ),
    "run-end encoded": lambda: pc.run_end_encode(pa.array([1, 1, None, None, 2])),
    "run-end encoded text": lambda: pc.run_end_encode(pa.array(["a", "a", None, None, "ab"])),
    "run-end encoded lists": lambda: pa.RunEndEncodedArray.from_arrays(
        pa.array([2, 3, 5], pa.int32()), pa.array([[1], None, [2, 3]])
    ),
    "dense union": lambda: _union(dense=True),
    "sparse union": lambda: _union(dense=False),
    "a struct with one name twice": lambda: pa.StructArray.from_arrays(
        [pa.array(_NUMBERS), pa.array(_TEXTS)], ["k", "k"]
    ),
    "a struct without fields": lambda: pa.array([{}, None, {}, {}, {}], pa.struct([])),
    "beyond Python's calendar": lambda: pa.array(
        [10**18, 0, None, -(10**18), 1], pa.timestamp("us")
    ),
    "days beyond Python's": lambda: pa.array([10**7, 0, None, -1, 1], pa.int32()).cast(pa.date32()),
    "a zone unheard of": lambda: pa.array([1, 0, None, -1, 1], pa.timestamp("ns", "No/Where")),
}


def leaves() -> dict[str, pa.Array]:
    """An array of five rows of every type that is not made of others, and of odd ones."""
    plain = {name: pa.array(values, kind) for name, (kind, values) in PLAIN.items()}
    return plain | {name: make() for name, make in ODD.items()}


_SPLITS = pa.array([0, 2, 2, 3, 5])


def _struct(leaf: pa.Array) -> pa.Array:
    mask = pa.array([False, False, False, True, False])
    return pa.StructArray.from_arrays([leaf, pa.array(_NUMBERS)], ["k", "l"], mask=mask)


def _map(leaf: pa.Array, keys: pa.Array | None = None) -> pa.Array:
    names = pa.array(["k", "l", "k", "k", "k"]) if keys is None else keys
    return pa.MapArray.from_arrays(_SPLITS.cast(pa.int32()), names, leaf)


SHAPES: dict[str, Callable[[pa.Array], pa.Array]] = {
    "itself": lambda leaf: leaf,
    "struct": _struct,
    "list": lambda leaf: pa.ListArray.from_arrays(pa.array([0, 2, None, 3, 5], pa.int32()), leaf),
    "large_list": lambda leaf: pa.LargeListArray.from_arrays(_SPLITS, leaf),
    "list_view": lambda leaf: pa.ListViewArray.from_arrays(
        pa.array([3, 0, 1, 0], pa.int32()), pa.array([2, 0, 3, 1], pa.int32()), leaf
    ),
    "large_list_view": lambda leaf: pa.LargeListViewArray.from_arrays(
        pa.array([3, 0, 1, 0]), pa.array([2, 0, 3, 1]), leaf
    ),
    "fixed_size_list": lambda leaf: pa.FixedSizeListArray.from_arrays(leaf.slice(1), 2),
    "map": _map,
    "map of views": lambda leaf: _map(leaf, pa.array(["k", "l", "k", "k", "k"], pa.string_view())),
    "map by dictionary": lambda leaf: _map(leaf, pa.array([*"klkkk"]).dictionary_encode()),
    "map by number": lambda leaf: _map(leaf, pa.array([1, 2, 3, 4, 5])),
    "list of structs": lambda leaf: pa.LargeListArray.from_arrays(_SPLITS, _struct(leaf)),
    "list of lists": lambda leaf: pa.LargeListArray.from_arrays(
        pa.array([0, 1, 2, 4]), pa.LargeListArray.from_arrays(_SPLITS, leaf)
    ),
    "struct of lists": lambda leaf: pa.StructArray.from_arrays(
        [pa.LargeListArray.from_arrays(_SPLITS, leaf)], ["k"]
    ),
}
