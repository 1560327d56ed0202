"""Texts by place: copied out of Arrow arrays, which may be mapped files, eight bytes at a time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from remuda.arrays import Bytes, Ints, Longs, Words, frozen
from remuda.errors import RemudaError
from remuda.jit import kernel

Array: TypeAlias = Any  # pyarrow has no types of its own

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
    firsts = np.cumsum([0, *map(len, arrays)])
    begins, owners = _runs(places, firsts)
    order = np.argsort(owners, kind="stable")
    bounds = np.searchsorted(owners, np.arange(len(arrays) + 1), sorter=order).tolist()
    shares = [
        (array, int(first), _starts(array), order[begin:end])
        for array, first, begin, end in zip(arrays, firsts, bounds, bounds[1:], strict=False)
        if begin < end
    ]
    total = sum(_measure(places, begins, runs, *of, offsets) for _, *of, runs in shares)
    if total > _MOST:
        raise RemudaError(f"the ids of one answer take {total:,} bytes: ask about fewer events")
    np.cumsum(offsets, out=offsets)
    out = np.empty(total + 8, np.uint8)
    for array, *of, runs in shares:
        data = _bytes(array.buffers()[2])
        _copy(places, begins, runs, *of, offsets, data, _words(data), out, _words(out))
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
def _runs(positions: Ints, firsts: Longs) -> tuple[Longs, Longs]:
    """Positions that follow one another and are of one array, some at a time: where, and of which.

    However many arrays there are, each position is looked at for its own alone.
    """
    n, owner = 0, 0
    begins, owners = np.empty(len(positions) + 1, np.int64), np.empty(len(positions), np.int64)
    for i in range(len(positions)):
        position = positions[i]
        other = position < firsts[owner] or position >= firsts[owner + 1]
        if other:
            owner = np.searchsorted(firsts, position, side="right") - 1
        if n == 0 or other or i - begins[n - 1] == _AHEAD:
            begins[n], owners[n] = i, owner
            n += 1
    begins[n] = len(positions)
    return begins[: n + 1].copy(), owners[:n].copy()


@kernel
def _measure(
    positions: Ints, begins: Longs, runs: Longs, first: int, starts: NDArray[Any], offsets: Ints
) -> int:
    """Note how long the texts of one array are; their length in all."""
    total = 0
    for run in runs:
        for i in range(begins[run], begins[run + 1]):
            place = np.uint64(np.int64(positions[i]) - first)
            length = np.int64(starts[place + _ONE]) - np.int64(starts[place])
            offsets[i + 1] = length
            total += length  # type: ignore[assignment]
    return total


@kernel
def _copy(
    positions: Ints,
    begins: Longs,
    runs: Longs,
    first: int,
    starts: NDArray[Any],
    offsets: Ints,
    data: Bytes,
    words: Words,
    out: Bytes,
    out_words: Words,
) -> int:
    """Copy the texts of one array; what stands behind each stays, for it may be another's.

    The words of some texts are read ahead, which has many of them on their way from memory at
    once; what comes back has no meaning, but for it they would not be read.
    """
    n_words, read = np.uint64(len(words)), np.uint64(0)
    first_run = 0
    while first_run < len(runs):
        last_run, n = first_run, 0
        while last_run < len(runs) and n < _AHEAD:
            run = runs[last_run]
            for i in range(begins[run], begins[run + 1]):
                source = np.uint64(starts[np.int64(positions[i]) - first])
                if source < n_words:
                    read ^= words[source]
            n += begins[run + 1] - begins[run]
            last_run += 1
        for run in runs[first_run:last_run]:
            for i in range(begins[run], begins[run + 1]):
                source = np.uint64(starts[np.int64(positions[i]) - first])
                to, end = np.uint64(offsets[i]), np.uint64(offsets[i + 1])
                while to < end:
                    if source < n_words:
                        word, left = words[source], end - to
                        if left < _WORD:
                            mask = (_ONE << (left * _WORD)) - _ONE  # its first bytes are the low
                            word = word & mask | out_words[to] & ~mask
                        out_words[to] = word
                    else:  # the last bytes of the array
                        for j in range(end - to):
                            out[to + np.uint64(j)] = data[source + np.uint64(j)]
                    source += _WORD
                    to += _WORD
        first_run = last_run
    return np.int64(read)  # type: ignore[return-value]
