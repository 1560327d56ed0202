"""Texts by place: copied out of Arrow arrays, which may be mapped files, eight bytes at a time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from remuda.arrays import Ints, frozen
from remuda.errors import RemudaError
from remuda.jit import kernel

Array: TypeAlias = Any  # pyarrow has no types of its own
Bytes = NDArray[np.uint8]
U64 = NDArray[np.uint64]

_MOST = (1 << 31) - 1  # bytes of text in an Arrow array with short offsets
_AHEAD = 256  # texts whose words are read ahead
_ONE, _WORD = np.uint64(1), np.uint64(8)


def compact(array: Array) -> Array:
    """The texts with offsets of 32 bits, where that is enough: half as much to look up."""
    short = array.get_total_buffer_size() <= _MOST
    return array.cast(pa.string() if short else pa.large_string())


def taken(arrays: Sequence[Array], positions: NDArray[Any]) -> Array:
    """The texts at the positions, which run through the arrays one after the other.

    Arrow's own `take` needs up to twice as long where there are a million ids.
    """
    places = np.ascontiguousarray(positions, np.int32)
    offsets = np.zeros(len(places) + 1, np.int32)
    firsts = np.cumsum([0, *map(len, arrays)]).tolist()
    starts = [_starts(array) for array in arrays]
    total = sum(_measure(places, *pair, offsets) for pair in zip(firsts, starts, strict=False))
    if total > _MOST:
        raise RemudaError(f"the ids of one answer take {total:,} bytes: ask about fewer events")
    np.cumsum(offsets, out=offsets)
    out = np.empty(total + 8, np.uint8)
    for array, *pair in zip(arrays, firsts, starts, strict=False):
        data = _bytes(array.buffers()[2])
        _copy(places, *pair, offsets, data, _words(data), out, _words(out))
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


def _words(data: Bytes) -> U64:
    """The word that begins at each byte, for as long as there are whole ones."""
    return np.ndarray((max(len(data) - 7, 0),), np.uint64, data, strides=(1,))


@kernel
def _measure(positions: Ints, first: int, starts: NDArray[Any], offsets: Ints) -> int:
    """Note how long the texts of one array are; their length in all."""
    total, n = 0, np.uint64(len(starts) - 1)
    for i in range(len(positions)):
        place = np.uint64(np.int64(positions[i]) - first)  # of another array: out of its range
        if place < n:
            length = np.int64(starts[place + _ONE]) - np.int64(starts[place])
            offsets[i + 1] = length
            total += length  # type: ignore[assignment]
    return total


@kernel
def _copy(
    positions: Ints,
    first: int,
    starts: NDArray[Any],
    offsets: Ints,
    data: Bytes,
    words: U64,
    out: Bytes,
    out_words: U64,
) -> int:
    """Copy the texts of one array; what stands behind each stays, for it may be another's.

    The words of some texts are read ahead, which has many of them on their way from memory at
    once; what comes back has no meaning, but for it they would not be read.
    """
    n, n_words, read = np.uint64(len(starts) - 1), np.uint64(len(words)), np.uint64(0)
    for begin in range(0, len(positions), _AHEAD):
        some = range(begin, min(begin + _AHEAD, len(positions)))
        for i in some:
            place = np.uint64(np.int64(positions[i]) - first)
            if place < n and np.uint64(starts[place]) < n_words:
                read ^= words[np.uint64(starts[place])]
        for i in some:
            place = np.uint64(np.int64(positions[i]) - first)
            if place >= n:
                continue
            at, to, end = np.uint64(starts[place]), np.uint64(offsets[i]), np.uint64(offsets[i + 1])
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
    return np.int64(read)  # type: ignore[return-value]
