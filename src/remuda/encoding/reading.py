"""Events that are dicts, read by one kernel: their fields, plain values, and lists of texts.

Of each value the kernel tells the spaces: of one that was met before from its memory, of a text
that is new by the scan. All else it notes, and Python sees to it: numbers that are new, what is
nested, patterns that are to be tried.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numba import carray  # type: ignore[attr-defined]

from remuda.arrays import Bytes, Ints, Longs, starts_of
from remuda.encoding.scanning import LAST_CLOCK, Scanner, once, scan_one
from remuda.encoding.value_memory import (
    ENTRIES,
    FULL,
    LONGEST_KEPT,
    MIX,
    Kept,
    copy_kept,
    entry_of,
    forget,
    grown,
    kept,
    mixed_with,
    n_kept,
    remember,
    same,
    was_met,
)
from remuda.jit import bare, holding, inlined, kernel
from remuda.model.jsonpaths import MAX_VISITS
from remuda.pointers import addresses, pointer
from remuda.pythonapi import (
    TYPE_AT,
    called,
    clear_error,
    dict_next,
    dict_size,
    float_of,
    hash_of,
    int_of,
    let_go,
    list_item,
    list_size,
    utf8_of,
)

U = np.uint64
MOST_FIELDS = MAX_VISITS // 3  # of an event that is known to be looked at as a whole
NOTHING = -2  # instead of a group: nothing is asked; -1: more than the scan can say
_LONGEST = 1 << 16  # bytes of a text
_MOST_ELEMENTS = 1 << 10
_NOTES = 1 << 12
_NAME_OF_LOWER = "lower"
_TEXT, _INT, _FLOAT, _BOOL, _NONE, _LIST, _STRANGE = range(7)  # kinds of values
_LOWER = _STRANGE + 1
_SIDES = _LOWER + 1  # whether flat events differ from others; of both, if more is always left
_N_KINDS = 8
_PAIR = 8  # words
_NO_MEMORY = -2


class Note(NamedTuple):
    """What is left to Python: of the value at a place of the event, or of an element of it."""

    what: int
    place: int
    element: int  # -1: of the value itself
    tag: int  # what the memory knows the value by, beside itself
    first: int  # the spaces that are sure, of a text that is to be tried
    last: int
    target: int  # ~number of what is to be tried; that of a pair


UNREAD = -1  # instead of a number of spaces: more is left than can be noted
NEW, LEFT, BESIDE, TRIED, TRIED_AGAIN, COMPARED = range(6)  # what a note is about
_NOTE = len(Note._fields)


class _Shared(NamedTuple):
    """What all calls read, and the memory, which they write to; by address."""

    words: Any
    group_starts: Any
    tables: Any
    most: Any
    least: Any  # bytes of a text that is worth to be tried, of each number; grows
    kinds: Any  # addresses of Python's types, of True and of "lower"; then what `_SIDES` says
    names: Any  # bytes of the names of fields
    name_starts: Any
    slots: Any  # each: the hash of a name, and the field
    groups: Any  # of each field, then of any other; for nested events, then for flat ones
    beside: Any  # of each field, whether more is asked about it than its value tells
    is_mate: Any  # of each field, whether it is in a pair
    pair_starts: Any  # of each field, its pairs
    pairs: Any  # each: both fields, where the spaces of its results begin and end, who is lowered
    pair_spaces: Any
    table: Any  # of the memory, as `Kept` has it
    memory: Any
    marks: Any
    state: Any


class _Own(NamedTuple):
    """What one call writes to, by address."""

    slots: Any
    stamps: Any
    targets: Any
    folded: Any
    lowered: Any
    notes: Any
    values: Any  # of each field that is in a pair
    serials: Any  # of the event that each was met in
    pending: Any  # pairs of which the first was met


_AT = _Shared(*range(0, 2 * len(_Shared._fields), 2))
_OWN = _Own(*range(0, 2 * len(_Own._fields), 2))
_NEXT, _KEY, _VALUE, _SIZE, _OVERFLOW, _NUMBER, _CLOCK, _SERIAL = range(8)  # slots of a call
_N_NOTES, _FLAT, _SORTED, _CROWDED = range(8, 12)


class Room:
    """What one call at a time writes to."""

    def __init__(self, scanner: Scanner, n_fields: int, n_pairs: int) -> None:
        self.slots = np.zeros(12, np.int64)
        self.targets = np.empty(3 * scanner.most + (1 << 13), np.int32)
        self.notes = np.empty(_NOTES, np.int32)
        stamps = np.zeros(scanner.n_literals, np.int32)
        both = np.empty(3 * _LONGEST, np.uint8), np.empty(_LONGEST, np.uint8)
        met = np.zeros(n_fields, np.int64), np.zeros(n_fields, np.int64)
        pending = np.zeros(n_pairs, np.int32)
        self._kept = self.slots, stamps, self.targets, *both, self.notes, *met, pending
        self.own = addresses(*self._kept)

    def told(self) -> Told:
        """What is left to do of the last event."""
        n_notes, flat, in_order, full = self.slots[_N_NOTES:].tolist()
        words = self.notes[:n_notes].tolist()
        notes = [words[i : i + _NOTE] for i in range(0, n_notes, _NOTE)]
        return Told(notes, bool(flat), bool(in_order), bool(full))


class Told(NamedTuple):
    """What is left to do of an event."""

    notes: list[list[int]]  # each as `Note` has it
    is_flat: bool  # the event
    in_order: bool  # the spaces, each once
    full: bool  # the memory


class Pair(NamedTuple):
    """Two fields that are compared, if they are texts, in lower case if so said."""

    fields: tuple[str, str]
    lower: tuple[bool, bool]
    spaces: tuple[Sequence[int], Sequence[int], Sequence[int]]  # first below, equal, above


class Reader:
    """The fields that are asked about, and a memory of their values; for any number of threads.

    `groups` has the group of each name's texts in a nested event and in a flat one, and those of
    any other name at last; `least` the bytes of texts that each trial is for, as far as known;
    `beside` whether a name is asked about in other ways, too; `always` whether of every event more
    is left to do, be it nested or flat.
    """

    def __init__(
        self,
        scanner: Scanner,
        least: Ints,
        names: Sequence[str],
        groups: Sequence[tuple[int, int]],
        beside: Sequence[bool],
        always: tuple[bool, bool],
        pairs: Sequence[Pair],
    ) -> None:
        encoded = [name.encode("utf-8", "surrogatepass") for name in names]
        bits = max(3, (2 * len(names)).bit_length())
        slots = np.full((1 << bits, 2), -1, np.int64)
        for field, name in enumerate(names):
            at = hash(name) & (len(slots) - 1)
            while slots[at, 1] >= 0:
                at = (at + 1) & (len(slots) - 1)
            slots[at] = hash(name), field
        kinds = [id(one) for one in (str, int, float, bool, type(None), list, True)]
        kinds += [id(_NAME_OF_LOWER), any(one != other for one, other in groups), *always]
        self._scanner = scanner
        letters = np.frombuffer(b"".join(encoded), np.uint8)
        self._known = (
            scanner.words, *scanner.groups, least, np.array(kinds), letters,
            starts_of(list(map(len, encoded))), slots.ravel(),
            np.array(groups, np.int64).T.ravel(), np.array(beside, np.uint8),
            *_paired(pairs, {name: field for field, name in enumerate(names)}),
        )  # fmt: skip
        self._n_fields, self._n_pairs = len(groups), len(pairs)
        self._rooms: deque[Room] = deque()
        self._memories: list[Kept] = []  # another thread may be about to read the one before
        self._remember_in(kept())

    def _remember_in(self, memory: Kept) -> None:
        self._memories.append(memory)
        self._shared = addresses(*self._known, *memory)

    @property
    def n_kept(self) -> int:
        """How many values are remembered."""
        return int(self._memories[-1].state[ENTRIES])

    def lend(self) -> Room:
        """Room for one call at a time, to be given back."""
        try:
            return self._rooms.pop()
        except IndexError:
            return Room(self._scanner, self._n_fields, self._n_pairs)

    def read(self, event: dict[Any, Any], room: Room) -> int:
        """Write the spaces of an event into the room; how many, ascending, each once.

        Less than 0 where something is left to do: ~ of one more than how many there are then, or
        `UNREAD`.
        """
        return _read(id(event), self._shared, room.own)  # type: ignore[no-any-return]

    def give_back(self, room: Room) -> None:
        """Take back what was lent."""
        self._rooms.append(room)

    def make_room(self) -> None:
        """Make room in the memory, which is full: it starts anew, and larger if it may."""
        memory = self._memories[-1]
        larger = grown(memory)
        if larger is not memory:
            self._remember_in(larger)

    def keep(self, value: Any, tag: int, spaces: Sequence[int], room: Room) -> None:
        """Remember the spaces of a plain value."""
        _keep(id(value), tag, np.array(spaces, np.int32), self._shared, room.own)

    def forget(self) -> None:
        """Look anew at all values."""
        forget(self._memories[-1])


def field_of(tag: int) -> int:
    """The number of the field that a value was met in."""
    return tag // _N_KINDS >> 1


def spaces_in(room: Room, n: int, more: Sequence[int] | Ints) -> Ints:
    """The n spaces in a room and more of them, ascending, each once."""
    others = np.asarray(more, np.int32)
    if n + len(others) > len(room.targets):
        return np.unique(np.concatenate([room.targets[:n], others]))
    return room.targets[: _with_more(room.targets, n, others)].copy()


def _paired(pairs: Sequence[Pair], field_of: dict[str, int]) -> Iterator[Any]:
    """What kernels know of pairs, which are in the order of their first fields."""
    fields = [(field_of[one.fields[0]], field_of[one.fields[1]]) for one in pairs]
    is_mate = np.zeros(len(field_of) + 1, np.uint8)
    is_mate[[field for both in fields for field in both]] = 1
    counts = np.bincount([first for first, _ in fields], minlength=len(field_of) + 1)
    starts = starts_of([len(spaces) for one in pairs for spaces in one.spaces]).tolist()
    facts = [
        (*both, *starts[3 * i : 3 * i + 4], *one.lower)
        for i, (both, one) in enumerate(zip(fields, pairs, strict=True))
    ]
    spaces = [space for one in pairs for some in one.spaces for space in some]
    yield from (is_mate, starts_of(counts), np.array(facts, np.int64).ravel())
    yield np.array(spaces, np.int32)


# Kernels: objects are addresses


@inlined
def _longs(where: Longs, at: int) -> Longs:
    return carray(pointer(where[at]), (where[at + 1],), np.int64)


@inlined
def _ints(where: Longs, at: int) -> Ints:
    return carray(pointer(where[at]), (where[at + 1],), np.int32)


@inlined
def _bytes(where: Longs, at: int) -> Bytes:
    return carray(pointer(where[at]), (where[at + 1],), np.uint8)


@inlined
def _memory(shared: Longs) -> Kept:
    return Kept(
        _ints(shared, _AT.table),
        _ints(shared, _AT.memory),
        _bytes(shared, _AT.marks),
        _longs(shared, _AT.state),
    )


@inlined
def _kind(value: int, kinds: Longs) -> int:
    """The kind of a value, by its type and no other that is derived from it."""
    type_of = carray(pointer(value + TYPE_AT), (1,), np.int64)[0]
    for kind in range(_STRANGE):
        if kinds[kind] == type_of:
            return kind
    return _STRANGE


@inlined
def _is_flat(event: int, kinds: Longs, slots: Longs, at: int) -> bool:
    """Whether nothing is nested in the event, so that its values are all that it has."""
    if not 0 < dict_size(event) < MOST_FIELDS:
        return False
    slots[_NEXT] = 0
    while dict_next(event, at + 8 * _NEXT, at + 8 * _KEY, at + 8 * _VALUE) != 0:
        if _kind(slots[_VALUE], kinds) >= _LIST:
            return False
    return True


@inlined
def _field(name: int, shared: Longs, slots: Longs, at: int) -> int:
    """The number of the field of that name, or that of any other; -1 where it is no text."""
    known, names = _longs(shared, _AT.slots), _bytes(shared, _AT.names)
    starts = _longs(shared, _AT.name_starts)
    mixed = hash_of(name)
    mask = (len(known) >> 1) - 1
    i = mixed & mask
    text = 0
    while known[2 * i + 1] >= 0:
        if known[2 * i] == mixed:
            if text == 0:
                text = utf8_of(name, at + 8 * _SIZE)
                if text == 0:
                    clear_error()
                    return -1
            field = known[2 * i + 1]
            begin, size = starts[field], starts[field + 1] - starts[field]
            data = carray(pointer(text), (slots[_SIZE],), np.uint8)
            if size == slots[_SIZE] and same(data, 0, names, begin, size):
                return field  # type: ignore[no-any-return]
        i = (i + 1) & mask
    return len(starts) - 1


@inlined
def _written(value: int, kind: int, kinds: Longs, slots: Longs, at: int) -> int:
    """Where the bytes lie that tell a plain value, in its slot how many; 0 where there are none.

    A number's lie in its slot. A list is an empty one.
    """
    if kind == _TEXT:
        text = utf8_of(value, at + 8 * _SIZE)
        if text == 0:
            clear_error()  # a text with half of a surrogate pair
        return text  # type: ignore[no-any-return]
    slots[_SIZE] = 8
    if kind == _INT:
        overflow = carray(pointer(at + 8 * _OVERFLOW), (2,), np.int32)
        slots[_NUMBER] = int_of(value, at + 8 * _OVERFLOW)
        return 0 if overflow[0] != 0 else at + 8 * _NUMBER
    if kind == _FLOAT:
        carray(pointer(at + 8 * _NUMBER), (1,), np.float64)[0] = float_of(value)
    else:
        slots[_NUMBER] = 1 if value == kinds[_STRANGE] else 0
    return at + 8 * _NUMBER


@bare
def _mixed(value: int, kind: int, tag: int, slots: Longs) -> np.uint64:
    """What a plain value is sought by."""
    return mixed_with(U(hash_of(value)) if kind == _TEXT else U(slots[_NUMBER]) * MIX, tag)  # type: ignore[no-any-return]


@holding
def _keep(value: int, tag: int, spaces: Ints, shared: Longs, own: Longs) -> None:
    kinds, slots = _longs(shared, _AT.kinds), _longs(own, _OWN.slots)
    kind = tag % _N_KINDS
    where = _written(value, kind, kinds, slots, own[_OWN.slots])
    if where == 0 or slots[_SIZE] > LONGEST_KEPT:
        return
    data = carray(pointer(where), (slots[_SIZE],), np.uint8)
    mixed = _mixed(value, kind, tag, slots)
    memory = _memory(shared)
    if entry_of(memory, mixed, tag, data, 0, len(data)) < 0:
        remember(memory, mixed, tag, data, 0, len(data), spaces, 0, len(spaces))


@kernel
def _with_more(targets: Ints, n: int, more: Ints) -> int:
    """Add more targets behind the n there are, sort them and leave each once; how many are left."""
    for i in range(len(more)):
        targets[n + i] = more[i]
    return once(targets, 0, n + len(more))  # type: ignore[no-any-return]


@inlined
def _note(
    own: Longs, what: int, place: int, element: int, tag: int, first: int, last: int, target: int
) -> None:
    """Leave something to Python; there is always room for one note a value."""
    slots, notes = _longs(own, _OWN.slots), _ints(own, _OWN.notes)
    n = slots[_N_NOTES]
    notes[n], notes[n + 1], notes[n + 2], notes[n + 3] = what, place, element, tag
    notes[n + 4], notes[n + 5], notes[n + 6] = first, last, target
    slots[_N_NOTES] = n + _NOTE


@inlined
def _lowered(value: int, data: Bytes, shared: Longs, own: Longs) -> int:
    """Write a text in lower case; 0 if it is ASCII, else the text that Python makes, if it can."""
    slots, lowered = _longs(own, _OWN.slots), _bytes(own, _OWN.lowered)
    high = np.uint8(0)
    for i in range(len(data)):
        byte = data[U(i)]
        high |= byte
        lowered[U(i)] = byte + np.uint8(32) if np.uint8(byte - 65) < np.uint8(26) else byte
    if high < np.uint8(128):
        return 0
    slots[_NUMBER] = value
    name = _longs(shared, _AT.kinds)[_LOWER]
    made = called(name, own[_OWN.slots] + 8 * _NUMBER, np.uint64(1), 0)
    if made == 0:
        clear_error()
        return _NO_MEMORY
    return made  # type: ignore[no-any-return]


@inlined
def _longer(text: int, slots: Longs, at: int) -> Bytes:
    """The UTF-8 of a text that Python made of one: no more than three times as long."""
    where = utf8_of(text, at + 8 * _SIZE)
    if where == 0:
        clear_error()
        slots[_SIZE] = 0
    return carray(pointer(where), (slots[_SIZE],), np.uint8)


@inlined
def _scanned(
    value: int, data: Bytes, mixed: np.uint64, tag: int, group: int, place: int, element: int,
    shared: Longs, own: Longs, n: int,
) -> int:  # fmt: skip
    """Write the spaces of a text that is new, from n on; the new n, or -1 if nothing was done."""
    slots, targets = _longs(own, _OWN.slots), _ints(own, _OWN.targets)
    words = _ints(shared, _AT.words)
    group_starts, tables = _longs(shared, _AT.group_starts), _longs(shared, _AT.tables)
    stamps, folded = _ints(own, _OWN.stamps), _bytes(own, _OWN.folded)
    lowered = _bytes(own, _OWN.lowered)
    most = _longs(shared, _AT.most)[group]
    begin, end = group_starts[group], group_starts[group + 1]
    clock, lower, size, first = slots[_CLOCK], -1, 0, n  # lower: -1 before it was asked for
    crowded = len(targets) - n < 3 * most or clock + end - begin >= LAST_CLOCK
    if crowded or len(data) > _LONGEST:
        return -1
    for j in range(begin, end):
        table = tables[j]
        clock += 1
        text = data
        if table & 1:
            if lower < 0:
                lower = _lowered(value, data, shared, own)
                size = len(data)
                if lower == _NO_MEMORY:
                    return -1
                if lower > 0:
                    lowered = _longer(lower, slots, own[_OWN.slots])
                    size = len(lowered)
            text = lowered[:size]
        n = scan_one(
            words, table >> 1, text, 0, len(text), stamps, np.int32(clock), folded, targets, n
        )
    slots[_CLOCK] = clock
    if lower > 0:
        let_go(lower)
    return _settled(data, mixed, tag, place, element, shared, own, first, n)  # type: ignore[no-any-return]


@inlined
def _settled(
    data: Bytes, mixed: np.uint64, tag: int, place: int, element: int,
    shared: Longs, own: Longs, first: int, last: int,
) -> int:  # fmt: skip
    """Note what is to be tried among the targets of a text, and leave its spaces; where they end.

    -1 where there is no room for notes. A text that is met again is kept.
    """
    slots, targets = _longs(own, _OWN.slots), _ints(own, _OWN.targets)
    least = _ints(shared, _AT.least)
    n = first
    for j in range(first, last):
        if targets[j] >= 0 or len(data) >= least[~targets[j]]:
            targets[n] = targets[j]
            n += 1
    last = once(targets, first, n)
    sure = first  # what is to be tried comes first, being negative
    while sure < last and targets[sure] < 0:
        sure += 1
    if len(_ints(own, _OWN.notes)) - slots[_N_NOTES] < _NOTE * (sure - first + 2):
        return -1
    met = len(data) <= LONGEST_KEPT and was_met(_memory(shared), mixed)
    end = first + last - sure
    for j in range(first, sure):
        what = TRIED_AGAIN if met else TRIED
        _note(own, what, place, element, tag, first, end, targets[j])
    for j in range(first, end):
        targets[j] = targets[sure + j - first]
    if met and sure == first:
        remember(_memory(shared), mixed, tag, data, 0, len(data), targets, first, end)
    elif met:
        slots[_SORTED] = 0  # its spaces stay where they are
    return end


@kernel
def _told(
    value: int, kind: int, field: int, group: int, place: int, element: int,
    shared: Longs, own: Longs, n: int,
) -> int:  # fmt: skip
    """Write the spaces of a plain value, from n on; the new n, or -1 where nothing was done."""
    slots, targets = _longs(own, _OWN.slots), _ints(own, _OWN.targets)
    memory, at = _memory(shared), own[_OWN.slots]
    where = _written(value, kind, _longs(shared, _AT.kinds), slots, at)
    if where == 0:
        return -1
    tag = (2 * field + slots[_FLAT]) * _N_KINDS + kind
    data = carray(pointer(where), (slots[_SIZE],), np.uint8)
    mixed = _mixed(value, kind, tag, slots)
    entry = entry_of(memory, mixed, tag, data, 0, len(data))
    if entry >= 0:
        if len(targets) - n < n_kept(memory, entry):
            return -1
        return copy_kept(memory, entry, targets, n)  # type: ignore[no-any-return]
    if kind == _TEXT and group >= 0:
        return _scanned(value, data, mixed, tag, group, place, element, shared, own, n)  # type: ignore[no-any-return]
    _note(own, NEW, place, element, tag, 0, 0, 0)
    return n


@inlined
def _elements(
    value: int, field: int, group: int, place: int, shared: Longs, own: Longs, n: int
) -> int:
    """Write the spaces of a list of texts, from n on; the new n, or -1 where nothing was done."""
    kinds, slots = _longs(shared, _AT.kinds), _longs(own, _OWN.slots)
    size, noted = list_size(value), slots[_N_NOTES]
    if group < 0 or size > _MOST_ELEMENTS:
        return -1
    for i in range(size):
        if _kind(list_item(value, i), kinds) != _TEXT:
            return -1
    for i in range(size):
        n = _told(list_item(value, i), _TEXT, field, group, place, i, shared, own, n)
        if n < 0:
            slots[_N_NOTES] = noted
            return -1
    return n


@inlined
def _order(first: Bytes, second: Bytes, lower_first: int, lower_second: int) -> int:
    """0, 1 or 2 where the first is below, equal or above; -1 where Python must lower one."""
    order = 1
    for i in range(max(len(first), len(second))):
        letter = first[i] if i < len(first) else np.uint8(0)
        other = second[i] if i < len(second) else np.uint8(0)
        if (lower_first and letter > 127) or (lower_second and other > 127):
            return -1
        if order == 1:
            if lower_first and np.uint8(letter - 65) < np.uint8(26):
                letter += np.uint8(32)
            if lower_second and np.uint8(other - 65) < np.uint8(26):
                other += np.uint8(32)
            if i >= len(first) or i >= len(second):
                order = 0 if i >= len(first) else 2
            elif letter != other:
                order = 0 if letter < other else 2
    return order


@inlined
def _compared(pair: int, shared: Longs, own: Longs, n: int) -> int:
    """Write the spaces of two fields that are compared, from n on; the new n, -1 without room."""
    kinds, slots = _longs(shared, _AT.kinds), _longs(own, _OWN.slots)
    pairs, spaces = _longs(shared, _AT.pairs), _ints(shared, _AT.pair_spaces)
    values, serials = _longs(own, _OWN.values), _longs(own, _OWN.serials)
    targets, slots_at = _ints(own, _OWN.targets), own[_OWN.slots]
    facts = pair * _PAIR
    field, mate = pairs[facts], pairs[facts + 1]
    if serials[mate] != slots[_SERIAL]:
        return n
    order = -1
    if _kind(values[field], kinds) == _TEXT and _kind(values[mate], kinds) == _TEXT:
        where = utf8_of(values[field], slots_at + 8 * _SIZE)
        first = carray(pointer(where), (slots[_SIZE],), np.uint8)
        other = utf8_of(values[mate], slots_at + 8 * _SIZE)
        second = carray(pointer(other), (slots[_SIZE],), np.uint8)
        if where == 0 or other == 0:
            clear_error()
        else:
            order = _order(first, second, pairs[facts + 6], pairs[facts + 7])
    if order < 0:
        if len(_ints(own, _OWN.notes)) - slots[_N_NOTES] < _NOTE:
            return -1
        _note(own, COMPARED, 0, -1, 0, 0, 0, pair)
        return n
    begin, end = pairs[facts + 2 + order], pairs[facts + 3 + order]
    if len(targets) - n < end - begin:
        return -1
    for i in range(begin, end):
        targets[n] = spaces[i]
        n += 1
    return n


@inlined
def _pend(field: int, value: int, shared: Longs, own: Longs, n_pending: int) -> int:
    """Keep a value that is in a pair; how many pairs there are now of which the first was met."""
    starts, pending = _longs(shared, _AT.pair_starts), _ints(own, _OWN.pending)
    _longs(own, _OWN.values)[field] = value
    _longs(own, _OWN.serials)[field] = _longs(own, _OWN.slots)[_SERIAL]
    for pair in range(starts[field], starts[field + 1]):
        pending[n_pending] = pair
        n_pending += 1
    return n_pending


@inlined
def _value(
    value: int, field: int, group: int, place: int, shared: Longs, own: Longs, n: int
) -> int:
    """Write the spaces of any value, from n on; the new n, or -1 where nothing was done."""
    kind = _kind(value, _longs(shared, _AT.kinds))
    if kind == _STRANGE:
        return -1
    if kind == _LIST and list_size(value) > 0:
        return _elements(value, field, group, place, shared, own, n)  # type: ignore[no-any-return]
    return _told(value, kind, field, group, place, -1, shared, own, n)  # type: ignore[no-any-return]


@inlined
def _begin(flat: int, own: Longs) -> None:
    """Make the slots ready for another event."""
    slots = _longs(own, _OWN.slots)
    slots[_FLAT], slots[_N_NOTES], slots[_NEXT], slots[_SORTED] = flat, 0, 0, 1
    slots[_SERIAL] += 1
    if slots[_CLOCK] >= LAST_CLOCK >> 1:
        slots[_CLOCK] = 0
        _ints(own, _OWN.stamps)[:] = 0


@holding
def _read(event: int, shared: Longs, own: Longs) -> int:
    """Write the spaces of an event, as `Reader.read` says."""
    kinds, slots = _longs(shared, _AT.kinds), _longs(own, _OWN.slots)
    groups, beside = _longs(shared, _AT.groups), _bytes(shared, _AT.beside)
    is_mate, notes = _bytes(shared, _AT.is_mate), _ints(own, _OWN.notes)
    slots_at = own[_OWN.slots]
    flat = kinds[_SIDES] != 0 and _is_flat(event, kinds, slots, slots_at)
    _begin(flat, own)
    base = len(beside) if flat else 0
    n, n_pending, place = 0, 0, -1
    while dict_next(event, slots_at + 8 * _NEXT, slots_at + 8 * _KEY, slots_at + 8 * _VALUE) != 0:
        place += 1
        value, field, n_after = slots[_VALUE], -1, -1
        if len(notes) - slots[_N_NOTES] < 2 * _NOTE:
            return UNREAD
        if _kind(slots[_KEY], kinds) == _TEXT:
            field = _field(slots[_KEY], shared, slots, slots_at)
        if field >= 0:
            if is_mate[field]:
                n_pending = _pend(field, value, shared, own, n_pending)
            group, n_after = groups[base + field], n
            if group != NOTHING:
                n_after = _value(value, field, group, place, shared, own, n)
        if n_after < 0:
            _note(own, LEFT, place, -1, 0, 0, 0, 0)
            continue
        n = n_after
        if beside[field]:
            _note(own, BESIDE, place, -1, field * 2 * _N_KINDS, 0, 0, 0)
    for i in range(n_pending):
        n = _compared(_ints(own, _OWN.pending)[i], shared, own, n)
        if n < 0:
            return UNREAD
    slots[_CROWDED] = _longs(shared, _AT.state)[FULL]
    if slots[_SORTED]:
        n = once(_ints(own, _OWN.targets), 0, n)
    if slots[_N_NOTES] or kinds[_SIDES + 1 + flat] or slots[_CROWDED]:
        return ~n - 1
    return n
