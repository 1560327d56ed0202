"""Texts by place: copied out of Arrow arrays, which may be mapped files, eight bytes at a time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from remuda.arrays import Ints, Longs, frozen
from remuda.errors import RemudaError
from remuda.jit import kernel

Array: TypeAlias = Any  # pyarrow has no types of its own
Bytes = NDArray[np.uint8]
Words = NDArray[np.uint64]

_MOST = (1 << 31) - 1  # bytes of text in an Arrow array with short offsets
_ONE, _WORD = np.uint64(1), np.uint64(8)


def compact(array: Array) -> Array:
    """The texts with offsets of 32 bits, where that is enough: half as much to look up."""
    short = array.get_total_buffer_size() <= _MOST
    return array.cast(pa.string() if short else pa.large_string())


def taken(arrays: Sequence[Array], positions: NDArray[Any]) -> Array:
    """The texts at the positions, which run through the arrays one after the other.

    Arrow's own `take` needs three to six times as long for a million ids.
    """
    places = np.ascontiguousarray(positions, np.int32)
    offsets = np.zeros(len(places) + 1, np.int32)
    sources, first, total = np.empty(len(places), np.int64), 0, 0
    for array in arrays:
        total += _look_up(places, first, _starts(array), sources, offsets)
        first += len(array)
    if total > _MOST:
        raise RemudaError(f"the ids of one answer take {total:,} bytes: ask about fewer events")
    np.cumsum(offsets, out=offsets)
    out, first = np.empty(total + 8, np.uint8), 0
    for array in arrays:
        data = _bytes(array.buffers()[2])
        _copy(places, first, len(array), sources, offsets, data, _words(data), out, _words(out))
        first += len(array)
    buffers = None, pa.py_buffer(offsets), pa.py_buffer(out[:total])
    return pa.Array.from_buffers(pa.string(), len(places), buffers)


def _starts(array: Array) -> NDArray[Any]:
    kind: Any = np.int64 if pa.types.is_large_string(array.type) else np.int32
    if not len(array):
        return frozen(np.zeros(1, kind))
    whole = np.frombuffer(array.buffers()[1], kind)
    return frozen(whole[array.offset : array.offset + len(array) + 1])


def _bytes(buffer: Any) -> Bytes:
    return frozen(np.empty(0, np.uint8) if buffer is None else np.frombuffer(buffer, np.uint8))


def _words(data: Bytes) -> Words:
    """The word that begins at each byte, for as long as there are whole ones."""
    return np.ndarray((max(len(data) - 7, 0),), np.uint64, data, strides=(1,))


@kernel
def _look_up(
    positions: Ints, first: int, starts: NDArray[Any], sources: Longs, offsets: Ints
) -> int:
    """Note where the texts of one array begin and how long they are; their length in all."""
    total, n = 0, len(starts) - 1
    for i in range(len(positions)):
        place = np.uint64(np.int64(positions[i]) - first)  # of another array: out of its range
        if place < np.uint64(n):
            begin = np.int64(starts[place])
            length = starts[place + np.uint64(1)] - begin
            sources[i] = begin
            offsets[i + 1] = length
            total += length
    return total


@kernel
def _copy(
    positions: Ints,
    first: int,
    n: int,
    sources: Longs,
    offsets: Ints,
    data: Bytes,
    words: Words,
    out: Bytes,
    out_words: Words,
) -> None:
    """Copy the texts of one array; what stands behind each stays, for it may be another's."""
    n_words = np.uint64(len(words))
    for i in range(len(positions)):
        if np.uint64(np.int64(positions[i]) - first) >= np.uint64(n):
            continue
        at, to, end = np.uint64(sources[i]), np.uint64(offsets[i]), np.uint64(offsets[i + 1])
        while to < end:
            if at < n_words:
                word, left = words[at], end - to
                if left < _WORD:
                    mask = (_ONE << (left * _WORD)) - _ONE  # its first bytes are the low ones
                    word = word & mask | out_words[to] & ~mask
                out_words[to] = word
            else:  # the last bytes of the array
                for j in range(end - to):
                    out[to + np.uint64(j)] = data[at + np.uint64(j)]
            at += _WORD
            to += _WORD
