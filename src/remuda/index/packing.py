"""Packing: dataclasses and tuples of arrays as one block of bytes and a readable header.

What is unpacked is decided by the types that the code declares, never by the file: nothing in a
file can be executed. The header has the number of the layout and all fields with their types: what
has another number or other fields was written by other code, and must not be unpacked.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from functools import cache
from typing import Any, TypeVar, get_args, get_origin, get_type_hints

import numpy as np
from numpy.typing import NDArray

from remuda.arrays import frozen

T = TypeVar("T")

_ALIGNMENT = 64
_PLAIN = (bool, int, float, str)
Header = dict[str, Any]


def pack(value: Any, layout: int) -> tuple[Header, list[bytes]]:
    """A header and the blocks that follow one another in the file; an array twice is there once."""
    fields: dict[str, Any] = {}
    blocks: list[bytes] = []
    places: dict[int, int] = {}
    end = 0
    for name, part in _leaves(value, ""):
        if isinstance(part, np.ndarray):
            if id(part) not in places:
                block = np.ascontiguousarray(part).tobytes()
                padding = -len(block) % _ALIGNMENT
                blocks += [block, bytes(padding)]
                places[id(part)] = end
                end += len(block) + padding
            at = places[id(part)]
            fields[name] = {"dtype": part.dtype.str, "shape": list(part.shape), "at": at}
        else:
            fields[name] = part
    return {"layout": layout, "fields": fields}, blocks


def fits(kind: Any, layout: int, header: Any) -> bool:
    """Whether what was packed is laid out as the code has it."""
    if not isinstance(header, dict) or header.get("layout") != layout:
        return False
    found = [(name, _type_of(entry)) for name, entry in header["fields"].items()]
    return found == list(types(kind))


def unpack(kind: type[T], header: Header, block: Any) -> T:
    """The object of that type that was packed, if its layout fits; its arrays lie in `block`."""
    made: T = _made(kind, header["fields"], block, "")
    return made


def stored_array(header: Header, name: str, block: Any) -> Any:
    """One array of what was packed, under whatever layout."""
    return _array(header.get("fields", header)[name], block)


def types(kind: Any, name: str = "") -> Iterator[tuple[str, str]]:
    """The leaves of a type with their types, in order."""
    fields = _fields(kind)
    if fields is None:
        yield name, _type_named(kind)
        return
    for field, hint in fields:
        yield from types(hint, f"{name}.{field}" if name else field)


@cache
def _fields(kind: Any) -> list[tuple[str, Any]] | None:
    """The fields of a dataclass or named tuple with their declared types."""
    if dataclasses.is_dataclass(kind):
        hints = get_type_hints(kind)
        return [(one.name, hints[one.name]) for one in dataclasses.fields(kind) if one.init]
    if isinstance(kind, type) and hasattr(kind, "_fields"):
        return list(get_type_hints(kind).items())
    return None


def _type_named(hint: Any) -> str:
    """What a header says of a leaf that is declared so."""
    if get_origin(hint) in (np.ndarray, NDArray):  # NumPy 2.5 has a type of its own for the alias
        *_, inner = get_args(hint)
        scalar = get_args(inner)[0] if get_args(inner) else inner
        return str(np.dtype(scalar).str)
    return "list" if get_origin(hint) is tuple else str(hint.__name__)


def _type_of(entry: Any) -> str:
    return str(entry["dtype"]) if isinstance(entry, dict) else type(entry).__name__


def _leaves(value: Any, name: str) -> Iterator[tuple[str, Any]]:
    kind: Any = type(value)
    fields = _fields(kind)
    if fields is not None:
        for field, _ in fields:
            yield from _leaves(getattr(value, field), f"{name}.{field}" if name else field)
    elif isinstance(value, tuple):
        yield name, list(value)
    elif isinstance(value, np.generic):
        yield name, value.item()
    elif isinstance(value, (np.ndarray, *_PLAIN)):
        yield name, value
    else:
        raise TypeError(f"{name} is a {type(value).__name__}, which cannot be packed")


def _made(kind: Any, fields: dict[str, Any], block: Any, name: str) -> Any:
    inner = _fields(kind)
    if inner is not None:
        parts = {
            field: _made(hint, fields, block, f"{name}.{field}" if name else field)
            for field, hint in inner
        }
        return kind(**parts)
    entry = fields[name]
    if isinstance(entry, dict):
        return _array(entry, block)
    return tuple(entry) if isinstance(entry, list) else entry


def _array(entry: dict[str, Any], block: Any) -> Any:
    kind, shape, at = np.dtype(entry["dtype"]), tuple(entry["shape"]), entry["at"]
    n = int(np.prod(shape, dtype=np.int64))
    if n < 0 or at % _ALIGNMENT:
        raise ValueError(f"an array of {shape} at byte {at}")
    flat = np.frombuffer(block, kind, n, at) if n else frozen(np.empty(0, kind))
    return flat.reshape(shape)
