"""C structures by which Arrow and DLPack tell of arrays on devices, and the capsules they come in.

Structures are read where they lie: who reads one keeps its capsule, or releases it at the end.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from typing import Any
from weakref import finalize

import pyarrow as pa

_SCHEMA_BYTES = 72  # of ArrowSchema
_SCHEMA = b"arrow_schema"  # a capsule's name lives as long as the capsule

_python = ctypes.pythonapi
_python.PyCapsule_GetPointer.restype = ctypes.c_void_p
_python.PyCapsule_GetPointer.argtypes = [ctypes.py_object, ctypes.c_char_p]
_python.PyCapsule_New.restype = ctypes.py_object
_python.PyCapsule_New.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]


class _Schema:
    """A schema's capsule in the form in which Arrow takes it."""

    def __init__(self, capsule: Any) -> None:
        self.capsule = capsule

    def __arrow_c_schema__(self) -> Any:
        return self.capsule


def kind_of(capsule: Any) -> pa.DataType:
    """The type that a schema tells."""
    return pa.field(_Schema(capsule)).type


class ArrowArray(ctypes.Structure):
    """Arrow's C data interface: ArrowArray."""


ArrowArray._fields_ = [
    ("length", ctypes.c_int64),
    ("null_count", ctypes.c_int64),
    ("offset", ctypes.c_int64),
    ("n_buffers", ctypes.c_int64),
    ("n_children", ctypes.c_int64),
    ("buffers", ctypes.POINTER(ctypes.c_void_p)),
    ("children", ctypes.POINTER(ctypes.POINTER(ArrowArray))),
    ("dictionary", ctypes.POINTER(ArrowArray)),
    ("release", ctypes.CFUNCTYPE(None, ctypes.POINTER(ArrowArray))),
    ("private_data", ctypes.c_void_p),
]


class ArrowDeviceArray(ctypes.Structure):
    """Arrow's C device data interface: ArrowDeviceArray."""

    _fields_ = (
        ("array", ArrowArray),
        ("device_id", ctypes.c_int64),
        ("device_type", ctypes.c_int32),
        ("sync_event", ctypes.c_void_p),
        ("reserved", ctypes.c_int64 * 3),
    )


class ArrowDeviceStream(ctypes.Structure):
    """Arrow's C device stream interface: ArrowDeviceArrayStream."""


ArrowDeviceStream._fields_ = [
    ("device_type", ctypes.c_int32),
    (
        "get_schema",
        ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(ArrowDeviceStream), ctypes.c_void_p),
    ),
    (
        "get_next",
        ctypes.CFUNCTYPE(
            ctypes.c_int, ctypes.POINTER(ArrowDeviceStream), ctypes.POINTER(ArrowDeviceArray)
        ),
    ),
    ("get_last_error", ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.POINTER(ArrowDeviceStream))),
    ("release", ctypes.CFUNCTYPE(None, ctypes.POINTER(ArrowDeviceStream))),
    ("private_data", ctypes.c_void_p),
]


class Tensor(ctypes.Structure):
    """DLPack's DLTensor, with which its DLManagedTensor begins."""

    _fields_ = (
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int32),
        ("device_id", ctypes.c_int32),
        ("n_dims", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    )


def pointed(capsule: Any, name: bytes, kind: Any) -> Any:
    """What a capsule points to."""
    return kind.from_address(_python.PyCapsule_GetPointer(capsule, name))


def exported(arrays: Any) -> tuple[pa.DataType, Any, Any]:
    """The type of some arrays, the arrays, and who keeps them."""
    schema, capsule = arrays.__arrow_c_device_array__()
    return kind_of(schema), pointed(capsule, b"arrow_device_array", ArrowDeviceArray), capsule


def streamed(stream: Any) -> Iterator[tuple[pa.DataType, Any, Any]]:
    """The same of each batch of a stream."""
    capsule = stream.__arrow_c_device_stream__()
    held = pointed(capsule, b"arrow_device_array_stream", ArrowDeviceStream)
    memory = (ctypes.c_char * _SCHEMA_BYTES)()
    _check(held, held.get_schema(ctypes.byref(held), ctypes.addressof(memory)))
    kind = kind_of(_python.PyCapsule_New(ctypes.addressof(memory), _SCHEMA, None))
    while True:
        batch = ArrowDeviceArray()
        _check(held, held.get_next(ctypes.byref(held), ctypes.byref(batch)))
        if not batch.array.release:
            return
        yield kind, batch, _Released(batch)


class _Released:
    """An owner who releases a batch of a stream when nobody needs it any more."""

    def __init__(self, batch: ArrowDeviceArray) -> None:
        finalize(self, batch.array.release, ctypes.pointer(batch.array))


def _check(stream: Any, code: int) -> None:
    if code:
        address = stream.get_last_error(ctypes.byref(stream))
        said = ctypes.string_at(address).decode() if address else "no reason was given"
        raise OSError(code, f"a stream of batches on a device failed: {said}")
