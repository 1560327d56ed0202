"""A memory of values that were met: their spaces, by what they are known by and their bytes.

Events that are dicts have one for all their values, which kernels write to that hold the GIL; texts
of columns have one for each call at a time. Most values that are new come but once, so one is kept
when it is met again.
"""

from __future__ import annotations

from collections import deque
from typing import NamedTuple

import numpy as np

from remuda.arrays import Bytes, Ints, Longs, Ragged
from remuda.jit import bare, inlined, kernel

U = np.uint64
LONGEST_KEPT = 1 << 12  # bytes of a value
MIX = U(0x9E3779B97F4A7C15)
ENTRIES, FULL = 1, 2  # in the state, behind the number of words that are taken
_LEAST, _MOST = 14, 23  # bits of the words of a memory
_MOST_OF_TEXTS = 20  # of one for columns: each segment may have as many as there are threads
_SLOT = 3  # bits less of its table: an entry takes so much at least, and half of it stays free
_ENTRY = 4  # words of an entry, before its spaces and its bytes
_PROBES = 32  # places at which a value is sought: values that are made to collide are not kept
_MARKS = 16  # bits of the place at which a value is marked as met
_NEW, _AGAIN = -1, -2  # instead of an entry: never met, or met and not kept


class Kept(NamedTuple):
    """The arrays of a memory."""

    table: Ints  # where entries begin, plus one; by what values are sought by
    words: Ints  # of each entry: the half of that, its tag, its bytes, its spaces, and all these
    marks: Bytes
    state: Longs  # words that are taken, entries, and whether one found no room


def kept(bits: int = _LEAST) -> Kept:
    """An empty memory of so many words."""
    table, words = np.zeros(1 << (bits - _SLOT), np.int32), np.empty(1 << bits, np.int32)
    return Kept(table, words, np.zeros(1 << _MARKS, np.uint8), np.zeros(3, np.int64))


def grown(memory: Kept, most: int | None = None) -> Kept:
    """Room for more, in place of a memory that is full: a larger one, or the same without all.

    What was met is still known, so that it is kept when it comes again.
    """
    bits, most = len(memory.words).bit_length() - 1, most or _MOST
    if bits < most:
        return kept(min(bits + 2, most))._replace(marks=memory.marks)
    forget(memory)
    return memory


def forget(memory: Kept) -> None:
    """Look anew at all values."""
    memory.table[:] = 0
    memory.state[:] = 0


class TextMemory:
    """The spaces of texts of columns, by a number and their bytes; for any number of threads."""

    def __init__(self) -> None:
        self._spare: deque[tuple[int, Kept]] = deque()
        self._n_forgotten = 0

    def forget(self) -> None:
        """Look anew at all texts."""
        self._n_forgotten += 1

    def lend(self) -> tuple[int, Kept]:
        """A memory for one call at a time, and when it began; to be given back."""
        try:
            since, memory = self._spare.pop()
        except IndexError:
            return self._n_forgotten, kept()
        if since != self._n_forgotten:
            forget(memory)
        return self._n_forgotten, memory

    def give_back(self, since: int, memory: Kept) -> None:
        """Take back what was lent."""
        full = bool(memory.state[FULL])
        self._spare.append((since, grown(memory, _MOST_OF_TEXTS) if full else memory))


class Recalled(NamedTuple):
    """What a memory says of texts: their spaces, and none of those that it does not have."""

    entries: Ints  # less than 0 where it has none
    rows: Ragged

    @property
    def unknown(self) -> Longs:
        return np.flatnonzero(self.entries < 0)


def recalled(memory: Kept, tag: int, data: Bytes, edges: Longs) -> Recalled:
    """What is known of texts that lie one behind the other."""
    entries, starts, items = _recalled(memory, tag, data, edges)
    return Recalled(entries, Ragged(starts, items))


# Kernels


@bare
def same(data: Bytes, at: int, octets: Bytes, begin: int, size: int) -> bool:
    """Whether bytes are the same."""
    for i in range(size):  # noqa: SIM110 - a kernel
        if data[U(at + i)] != octets[U(begin + i)]:
            return False
    return True


@bare
def mixed_with(mixed: np.uint64, tag: int) -> np.uint64:
    """What a value is sought by, given a hash of it."""
    mixed = (mixed ^ U(tag)) * MIX
    return mixed ^ mixed >> U(32)


@bare
def entry_of(memory: Kept, mixed: np.uint64, tag: int, data: Bytes, at: int, size: int) -> int:
    """Where the memory has a value, or -1."""
    table, words = memory.table, memory.words
    octets = words.view(np.uint8)
    mask = U(len(table) - 1)
    i = mixed & mask
    for _ in range(_PROBES):
        if table[i] == 0:
            return -1
        entry = np.int64(table[i]) - 1
        if words[entry] == np.int32(mixed >> U(32)) and words[entry + 1] == tag:
            begin = (entry + _ENTRY + words[entry + 3]) * 4
            if words[entry + 2] == size and same(data, at, octets, begin, size):
                return entry  # type: ignore[return-value]
        i = (i + U(1)) & mask
    return -1


@bare
def n_kept(memory: Kept, entry: int) -> int:
    """How many spaces an entry has."""
    return memory.words[entry + 3]  # type: ignore[no-any-return]


@bare
def copy_kept(memory: Kept, entry: int, targets: Ints, n: int) -> int:
    """Write the spaces of an entry, from n on; the new n."""
    for i in range(memory.words[entry + 3]):
        targets[n + i] = memory.words[entry + _ENTRY + i]
    return n + memory.words[entry + 3]  # type: ignore[no-any-return]


@inlined
def remember(
    memory: Kept, mixed: np.uint64, tag: int, data: Bytes, at: int, size: int, spaces: Ints,
    first: int, last: int,
) -> None:  # fmt: skip
    """Write a value and its spaces into the memory, or note that it is full."""
    table, words, _, state = memory
    n, entry = last - first, state[0]
    n_words = _ENTRY + n + (size + 3) // 4
    if entry + n_words > len(words) or 2 * state[ENTRIES] >= len(table):
        state[FULL] = 1
        return
    mask = U(len(table) - 1)
    place, last_place = mixed & mask, (mixed + U(_PROBES)) & mask
    while table[place] != 0:
        place = (place + U(1)) & mask
        if place == last_place:
            return
    words[entry], words[entry + 1] = np.int32(mixed >> U(32)), tag
    words[entry + 2], words[entry + 3] = size, n
    for i in range(n):
        words[entry + _ENTRY + i] = spaces[first + i]
    octets, begin = words.view(np.uint8), (entry + _ENTRY + n) * 4
    for i in range(size):
        octets[begin + i] = data[at + i]
    table[place] = entry + 1
    state[0] = entry + n_words
    state[ENTRIES] += 1


@bare
def was_met(memory: Kept, mixed: np.uint64) -> bool:
    """Whether a value has its mark; it has then. Two share a pair of places, the last one first."""
    marks = memory.marks
    place, mark = mixed >> U(64 - _MARKS) & ~U(1), np.uint8(mixed >> U(8) & U(255) | U(1))
    was = marks[place] == mark or marks[place + U(1)] == mark
    if marks[place] != mark:
        marks[place + U(1)], marks[place] = marks[place], mark
    return was  # type: ignore[no-any-return]


@bare
def _mixed_bytes(data: Bytes, at: int, size: int, tag: int) -> np.uint64:
    """What a text is sought by."""
    mixed, i, end = U(size), U(at), U(at + size)
    while i + U(8) <= end:
        word = U(0)
        for j in range(8):
            word |= U(data[i + U(j)]) << U(8 * j)
        mixed = (mixed ^ word) * MIX
        mixed ^= mixed >> U(29)
        i += U(8)
    word = U(0)
    while i < end:
        word = word << U(8) | U(data[i])
        i += U(1)
    return mixed_with((mixed ^ word) * MIX, tag)  # type: ignore[no-any-return]


@kernel
def _recalled(memory: Kept, tag: int, data: Bytes, edges: Longs) -> tuple[Ints, Longs, Ints]:
    """The entry of each text, and the spaces of those that have one."""
    n_texts = len(edges) - 1
    entries, starts = np.empty(n_texts, np.int32), np.zeros(n_texts + 1, np.int64)
    for i in range(n_texts):
        at, size = edges[i], edges[i + 1] - edges[i]
        entry, n = _NEW, 0
        if size <= LONGEST_KEPT:
            mixed = _mixed_bytes(data, at, size, tag)
            entry = entry_of(memory, mixed, tag, data, at, size)
            if entry >= 0:
                n = n_kept(memory, entry)
            elif was_met(memory, mixed):
                entry = _AGAIN
        entries[i], starts[i + 1] = entry, starts[i] + n
    items = np.empty(starts[n_texts], np.int32)
    for i in range(n_texts):
        if entries[i] >= 0:
            copy_kept(memory, entries[i], items, starts[i])
    return entries, starts, items


@kernel
def keep_texts(
    memory: Kept, tag: int, data: Bytes, edges: Longs, entries: Ints, rows: Ragged
) -> None:
    """Keep the spaces of texts that were met before; `rows` has those of all without an entry."""
    j = 0
    for i in range(len(entries)):
        if entries[i] >= 0:
            continue
        at, size = edges[i], edges[i + 1] - edges[i]
        if entries[i] == _AGAIN:
            mixed = _mixed_bytes(data, at, size, tag)
            begin, end = rows.starts[j], rows.starts[j + 1]
            remember(memory, mixed, tag, data, at, size, rows.items, begin, end)
        j += 1
