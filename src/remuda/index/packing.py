"""Packing: dataclasses and tuples of arrays as one block of bytes and a readable header.

What is unpacked is decided by the types that the code declares, never by the file: nothing in a
file can be executed.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import Any, TypeVar, get_type_hints

import numpy as np

T = TypeVar("T")

_ALIGNMENT = 64
_PLAIN = (bool, int, float, str)
Header = dict[str, Any]


class NotPackable(TypeError):
    """The object has something other than arrays and plain values in it."""


def pack(value: Any) -> tuple[Header, list[bytes]]:
    """A header and the blocks that follow one another in the file."""
    header: Header = {}
    blocks: list[bytes] = []
    at = 0
    for name, part in _leaves(value, ""):
        if isinstance(part, np.ndarray):
            if part.dtype.hasobject:
                raise NotPackable(f"{name} holds Python objects")
            block = np.ascontiguousarray(part).tobytes()
            header[name] = {"dtype": part.dtype.str, "shape": list(part.shape), "at": at}
            padding = -len(block) % _ALIGNMENT
            blocks += [block, bytes(padding)]
            at += len(block) + padding
        else:
            header[name] = part
    return header, blocks


def unpack(kind: type[T], header: Header, block: Any) -> T:
    """The object of that type that was packed; its arrays lie in `block`."""
    made: T = _made(kind, header, block, "")
    return made


def _fields(kind: Any) -> list[tuple[str, Any]] | None:
    """The fields of a dataclass or named tuple with their declared types."""
    if dataclasses.is_dataclass(kind):
        hints = get_type_hints(kind)
        return [(one.name, hints[one.name]) for one in dataclasses.fields(kind) if one.init]
    if isinstance(kind, type) and hasattr(kind, "_fields"):
        return list(get_type_hints(kind).items())
    return None


def _leaves(value: Any, name: str) -> Iterator[tuple[str, Any]]:
    fields = _fields(type(value))
    if fields is not None:
        for field, _ in fields:
            yield from _leaves(getattr(value, field), f"{name}.{field}" if name else field)
    elif isinstance(value, tuple) and all(isinstance(part, _PLAIN) for part in value):
        yield name, list(value)
    elif isinstance(value, np.generic):
        yield name, value.item()
    elif isinstance(value, (np.ndarray, *_PLAIN)):
        yield name, value
    else:
        raise NotPackable(f"{name} is a {type(value).__name__}")


def _made(kind: Any, header: Header, block: Any, name: str) -> Any:
    fields = _fields(kind)
    if fields is not None:
        parts = {
            field: _made(hint, header, block, f"{name}.{field}" if name else field)
            for field, hint in fields
        }
        return kind(**parts)
    entry = header[name]
    if not isinstance(entry, dict):
        return tuple(entry) if isinstance(entry, list) else entry
    shape = tuple(entry["shape"])
    n = int(np.prod(shape, dtype=np.int64))
    array = np.frombuffer(block, np.dtype(entry["dtype"]), n, entry["at"])
    return array.reshape(shape)
