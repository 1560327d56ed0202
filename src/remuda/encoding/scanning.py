"""The scan: all that is asked of the texts of a term, decided in one pass over their bytes.

Literal texts, those that patterns demand among them, stand in an automaton of Aho and Corasick. Its
states are numbered level by level, so that the children of one lie side by side; a state with many
has a row of its own, which knows the next state for every byte. Texts without case stand in a
second automaton, over a folded copy. Strings that values are compared with are sorted, and a text
is searched for among them.

A table is 32-bit words, begins with its `_Header` and counts all offsets from its own start: tables
are put one behind the other, stored and mapped as they are.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from remuda.arrays import Bytes, Ints, Longs, Ragged, frozen, starts_of
from remuda.jit import bare, kernel
from remuda.model.demands import Demand

U = np.uint64

_ROW = 6  # children from which on a state has a row of its own
CELL, LITERAL, ACTION, GLOB, ORDER = 4, 4, 2, 4, 4  # words of each
_ANYWHERE, _FROM_START, IN_ORDER = 0, 1, 2  # what is yet to be seen to where a literal was seen
_BEGINS, _ENDS = 1, 2  # how a glob is bound
LABEL = 16  # bits before the label of a state
LAST_CLOCK = (1 << 31) - 1


class _Header(NamedTuple):
    """Where the parts of a table lie, and how many there are."""

    n_literals: int
    most: int  # targets that one text can have
    always: int  # targets of every text
    n_always: int
    orders: int  # each: its first space, how many cuts, where their texts and their sides are
    n_orders: int
    cased: int  # an automaton (`_Automaton`), 0 where there is none
    folded: int
    literals: int  # each: the next shorter at its end, its actions, those at the end, its length
    actions: int  # each: what is yet to be seen to, and a target or a glob
    globs: int  # each: its first piece, the one behind its last, how it is bound, its target
    pieces: int  # texts
    n_pieces: int


class _Automaton(NamedTuple):
    """Where the parts of an automaton lie."""

    classes: int  # of each byte; 0 is that of those in no literal
    n_classes: int
    cells: int  # of each state: children or ~row, how many and its label, on failure, its literal
    rows: int  # each: the literal of its state, and the next for each label

    # a ~row is ~where it begins among the rows; "on failure" and "the next" are states without a
    # row, or the ~row of one that has it


AT = _Header(*range(len(_Header._fields)))
PART = _Automaton(*range(len(_Automaton._fields)))


@dataclass(slots=True)
class Asked:
    """What is asked of the texts of one term.

    A target is a space, or ~number of a condition that is to be tried. `orders` are the cuts of
    strings, each with a first space: a text is in that, plus the number of cuts before it.
    """

    always: dict[int, None] = field(default_factory=dict)
    orders: list[tuple[int, Sequence[tuple[str, int]]]] = field(default_factory=list)
    demands: list[tuple[Demand, int]] = field(default_factory=list)

    def add(self, demands: Iterable[Demand], space: int, number: int) -> None:
        """A condition: the space where a demand is exact, its number where it is to be tried."""
        for demand in demands:
            target = space if demand.exact else ~number
            if all(demand.pieces) and demand.pieces:
                self.demands.append((demand, target))
            else:
                self.always[target] = None


class _Words:
    """The words of a table while it is written."""

    def __init__(self, n_reserved: int) -> None:
        self.parts: list[Ints] = [np.zeros(n_reserved, np.int32)]
        self.size = n_reserved

    def put(self, words: Any) -> int:
        """Append words; where they lie."""
        at = self.size
        self.parts.append(np.asarray(words, np.int32).ravel())
        self.size += len(self.parts[-1])
        return at

    def put_texts(self, texts: Sequence[bytes]) -> int:
        """Append texts: where each begins among their bytes, and these."""
        at = self.put(starts_of(list(map(len, texts))))
        joined = b"".join(texts)
        self.put(np.frombuffer(joined + bytes(-len(joined) % 4), np.int32))
        return at


@dataclass(slots=True)
class _Literals:
    """Literals of one automaton, with their actions wherever they are seen, and at the end."""

    inside: dict[bytes, list[tuple[int, int]]] = field(default_factory=dict)
    at_end: dict[bytes, list[tuple[int, int]]] = field(default_factory=dict)

    def add(self, text: bytes, at_end: bool, action: int, target: int) -> None:
        (self.at_end if at_end else self.inside).setdefault(text, []).append((action, target))

    def texts(self) -> list[bytes]:
        return sorted(self.inside.keys() | self.at_end.keys())


def table_of(asked: Asked) -> Ints:
    """What is asked, as a table."""
    if not asked.orders and not asked.demands:  # as for most of many terms: made at once
        table = np.zeros(len(AT) + len(asked.always), np.int32)
        table[[AT.most, AT.always, AT.n_always]] = len(asked.always)
        table[AT.always] = len(AT)
        table[len(AT) :] = list(asked.always)
        return frozen(table)
    words = _Words(len(AT))
    always = words.put(list(asked.always))
    shared: dict[int, tuple[int, int]] = {}
    orders = [_put_order(words, first, cuts, shared) for first, cuts in asked.orders]
    (cased, folded), globs = _arranged(asked.demands)
    records: list[tuple[int, int, int, int]] = []
    actions: list[tuple[int, int]] = []
    automata = [_put_automaton(words, one, records, actions) for one in (cased, folded)]
    records.append((-1, len(actions), len(actions), 0))
    starts = starts_of([len(pieces) for pieces, _, _ in globs]).tolist()
    pieces = [piece for own, _, _ in globs for piece in own]
    bound = [(*starts[i : i + 2], how, target) for i, (_, how, target) in enumerate(globs)]
    header = _Header(
        len(records) - 1,
        len(asked.always) + len(orders) + len(actions),
        always,
        len(asked.always),
        words.put(orders),
        len(orders),
        automata[0],
        automata[1],
        words.put(records),
        words.put(actions),
        words.put(bound),
        words.put_texts(pieces),
        len(pieces),
    )
    words.parts[0][:] = header
    return frozen(np.concatenate(words.parts))


def _put_order(
    words: _Words, first: int, cuts: Sequence[tuple[str, int]], shared: dict[int, tuple[int, int]]
) -> tuple[int, ...]:
    """Append cuts, unless they are those of a copy: where they lie."""
    if id(cuts) not in shared:
        texts = words.put_texts([text.encode() for text, _ in cuts])
        shared[id(cuts)] = texts, words.put([side for _, side in cuts])
    return first, len(cuts), *shared[id(cuts)]


def _arranged(
    demands: Sequence[tuple[Demand, int]],
) -> tuple[tuple[_Literals, _Literals], list[tuple[list[bytes], int, int]]]:
    """The literals of both automata; several pieces are found by the one that fewest have."""
    both, globs = (_Literals(), _Literals()), list[tuple[list[bytes], int, int]]()
    shared = Counter(piece for demand, _ in demands for piece in set(demand.pieces))
    for demand, target in demands:
        literals, pieces = both[demand.folded], [_encoded(one) for one in demand.pieces]
        if len(pieces) == 1:
            action = _FROM_START if demand.at_start else _ANYWHERE
            literals.add(pieces[0], demand.at_end, action, target)
            continue
        rarest = min(
            range(len(pieces)), key=lambda i: (shared[demand.pieces[i]], -len(demand.pieces[i]))
        )
        last = rarest == len(pieces) - 1 and demand.at_end
        literals.add(pieces[rarest], last, IN_ORDER, len(globs))
        globs.append((pieces, _BEGINS * demand.at_start + _ENDS * demand.at_end, target))
    return both, globs


def _encoded(piece: str) -> bytes:
    return piece.encode("utf-8", "surrogateescape")


def _put_automaton(
    words: _Words,
    literals: _Literals,
    records: list[tuple[int, int, int, int]],
    actions: list[tuple[int, int]],
) -> int:
    """Append the automaton of the literals, numbered from those there are on."""
    texts = literals.texts()
    if not texts:
        return 0
    data = np.frombuffer(b"".join(texts), np.uint8)
    classes = np.zeros(256, np.int32)
    used = np.unique(data)
    classes[used] = np.arange(1, len(used) + 1)
    first = len(records)
    cells, rows, links = _automaton(
        data, starts_of(list(map(len, texts))), classes, len(used) + 1, first
    )
    for text, link in zip(texts, links.tolist(), strict=True):
        begin = len(actions)
        actions += literals.inside.get(text, ())
        end = len(actions)
        actions += literals.at_end.get(text, ())
        records.append((link, begin, end, len(text)))
    own = _Automaton(words.put(classes), len(used) + 1, words.put(cells), words.put(rows))
    return words.put(own)


@kernel
def _automaton(
    data: Bytes, starts: Longs, classes: Ints, n_classes: int, first_literal: int
) -> tuple[Ints, Ints, Ints]:
    """The cells and rows of the automaton of sorted texts, and each one's next shorter at its end.

    Literals are numbered from `first_literal` on.
    """
    cells, row_of, ends = _states(data, starts, classes)
    n_rows = 0
    for state in range(len(row_of)):
        n_rows = max(n_rows, row_of[state] + 1)
    rows = np.zeros((n_rows, n_classes), np.int32)
    for state in range(len(cells)):
        fail, first = np.int64(cells[state, 2]), np.int64(cells[state, 0])
        row = row_of[state]
        if row > 0:
            for label in range(1, n_classes):
                rows[row, label] = _next(cells, rows, row_of, fail, label)
        for child in range(first, first + (cells[state, 1] & ((1 << LABEL) - 1))):
            label = cells[child, 1] >> LABEL
            cells[child, 2] = 0 if state == 0 else _next(cells, rows, row_of, fail, label)
            if row >= 0:
                rows[row, label] = child
        if cells[state, 3] >= 0:
            cells[state, 3] += first_literal
        elif state > 0:
            cells[state, 3] = cells[fail, 3]
    links = np.empty(len(ends), np.int32)
    for i in range(len(ends)):
        links[i] = cells[cells[ends[i], 2], 3]
    _name_by_rows(cells, rows, row_of)
    return cells, rows, links


@kernel
def _name_by_rows(cells: Ints, rows: Ints, row_of: Ints) -> None:
    """Put ~where its row begins in the place of a state that has one, wherever it is the next."""
    n_classes = rows.shape[1]
    for row in range(len(rows)):
        for label in range(1, n_classes):
            if row_of[rows[row, label]] >= 0:
                rows[row, label] = ~(row_of[rows[row, label]] * n_classes)
    for state in range(len(cells)):
        if row_of[cells[state, 2]] >= 0:
            cells[state, 2] = ~(row_of[cells[state, 2]] * n_classes)
        if row_of[state] >= 0:
            cells[state, 0] = ~(row_of[state] * n_classes)
            rows[row_of[state], 0] = cells[state, 3]


@kernel
def _states(data: Bytes, starts: Longs, classes: Ints) -> tuple[Ints, Ints, Ints]:
    """The states, level by level: cells with children, labels and literals, and no more.

    Then the row of each state or -1, and the state that each text ends in. A state has the texts
    `low` to `high - 1`, which begin alike.
    """
    n_texts, most = len(starts) - 1, len(data) + 1
    low, high = np.empty(most, np.int32), np.empty(most, np.int32)
    depth, row_of = np.empty(most, np.int32), np.full(most, -1, np.int32)
    cells, ends = np.zeros((most, CELL), np.int32), np.empty(n_texts, np.int32)
    low[0], high[0], depth[0] = 0, n_texts, 0
    n, n_rows, state = 1, 0, 0
    while state < n:
        i, level = np.int64(low[state]), np.int64(depth[state])
        cells[state, 0], cells[state, 3] = n, -1
        if starts[i + 1] - starts[i] == level:
            cells[state, 3], ends[i] = i, state
            i += 1
        while i < high[state]:
            label = data[starts[i] + level]
            low[n], depth[n] = i, level + 1
            while i < high[state] and data[starts[i] + level] == label:
                i += 1
            high[n] = i
            cells[n, 1] = classes[label] << LABEL
            n += 1
        n_children = n - cells[state, 0]
        cells[state, 1] |= n_children
        if state == 0 or n_children >= _ROW:
            row_of[state] = n_rows
            n_rows += 1
        state += 1
    return cells[:n].copy(), row_of[:n].copy(), ends


@kernel
def _next(cells: Ints, rows: Ints, row_of: Ints, state: int, label: int) -> int:
    """The state behind a state for a label, while rows are filled level by level."""
    while row_of[state] < 0:
        first = cells[state, 0]
        for child in range(first, first + (cells[state, 1] & ((1 << LABEL) - 1))):
            if cells[child, 1] >> LABEL == label:
                return child
        state = cells[state, 2]
    return np.int64(rows[row_of[state], label])  # type: ignore[return-value]


# The scan of texts


class Scratch:
    """What the scan writes to, for one call at a time."""

    def __init__(self, n_literals: int, most: int) -> None:
        self.stamps = np.zeros(n_literals, np.int32)
        self.clock = 0
        self.targets = np.empty(3 * most + (1 << 12), np.int32)
        self.folded = np.empty(1 << 12, np.uint8)


class Groups(NamedTuple):
    """Tables by which a text is scanned together."""

    starts: Longs
    tables: Longs  # where each begins, doubled, and one more where texts are in lower case
    most: Longs  # targets that one text can have by all tables of a group


class Scanner:
    """Tables one behind the other, and the scan of texts by them; for any number of threads.

    `groups` have numbers of tables, each with whether it is for texts in lower case.
    """

    def __init__(
        self, bases: Longs, words: Ints, groups: Sequence[Sequence[tuple[int, bool]]] = ()
    ) -> None:
        self.bases, self.words = bases, words
        tables = bases[:-1]
        most, starts = words[tables + AT.most].tolist(), bases.tolist()
        self.groups = Groups(
            starts_of(list(map(len, groups))),
            np.array([2 * starts[i] + low for group in groups for i, low in group], np.int64),
            np.array([sum(most[i] for i, _ in group) for group in groups], np.int64),
        )
        self.n_literals = int(words[tables + AT.n_literals].max(initial=0))
        self.most = max((*most, *self.groups.most.tolist()), default=0)
        self._spare: deque[Scratch] = deque()

    def _lend(self, n_scans: int, n_bytes: int) -> Scratch:
        try:
            scratch = self._spare.pop()
        except IndexError:
            scratch = Scratch(self.n_literals, self.most)
        if scratch.clock + n_scans >= LAST_CLOCK:
            scratch.stamps[:] = 0
            scratch.clock = 0
        if n_bytes > len(scratch.folded):
            scratch.folded = np.empty(2 * n_bytes, np.uint8)
        return scratch

    def scan(self, data: Bytes, starts: Longs, ends: Longs, bases: Longs) -> Ragged:
        """The targets of each text, ascending, each once; `bases` has the table of each."""
        n = len(starts)
        scratch = self._lend(n, len(data))
        counts, done, pieces = np.zeros(n + 1, np.int64), 0, []
        while True:
            done, n_targets = _scan(
                data, starts, ends, bases, self.words, done, scratch.clock, scratch.stamps,
                scratch.folded, scratch.targets, counts,
            )  # fmt: skip
            pieces.append(scratch.targets[:n_targets].copy())
            if done == n:
                break
        scratch.clock += n
        self._spare.append(scratch)
        items = pieces[0] if len(pieces) == 1 else np.concatenate(pieces)
        return Ragged(np.cumsum(counts), items)


@kernel
def _scan(
    data: Bytes,
    starts: Longs,
    ends: Longs,
    bases: Longs,
    words: Ints,
    done: int,
    clock: int,
    stamps: Ints,
    folded: Bytes,
    targets: Ints,
    counts: Longs,
) -> tuple[int, int]:
    """Scan texts from number `done` on while there is room; how many are done, and targets."""
    n = 0
    for i in range(done, len(starts)):
        base = bases[i]
        if len(targets) - n < 2 * words[base + AT.most]:  # a forged automaton tells an end twice
            return i, n
        first, now = n, np.int32(clock + i + 1)
        n = scan_one(words, base, data, starts[i], ends[i], stamps, now, folded, targets, n)
        n = once(targets, first, n)
        counts[i + 1] = n - first
    return len(starts), n


@bare
def scan_one(
    words: Ints,
    base: int,
    data: Bytes,
    begin: int,
    end: int,
    stamps: Ints,
    now: np.int32,
    folded: Bytes,
    targets: Ints,
    n: int,
) -> int:
    """Write the targets of a text by one table, from n on, in any order; the new n."""
    octets = words.view(np.uint8)
    always = base + words[base + AT.always]
    for j in range(always, always + words[base + AT.n_always]):
        targets[n] = words[j]
        n += 1
    order = base + words[base + AT.orders]
    place = 0
    for j in range(words[base + AT.n_orders]):
        if j == 0 or not _is_copy(words, order):
            place = _place(words, octets, base, order, data, begin, end)
        targets[n] = words[order] + place
        n += 1
        order += ORDER
    if words[base + AT.cased]:
        at = base + words[base + AT.cased]
        n = _walk(words, octets, base, at, data, begin, end, stamps, now, targets, n)
    if words[base + AT.folded]:
        at = base + words[base + AT.folded]
        length = _fold(data, begin, end, folded)
        n = _walk(words, octets, base, at, folded, 0, length, stamps, now, targets, n)
    return n


@bare
def _fold(data: Bytes, begin: int, end: int, folded: Bytes) -> int:
    """Write the text as `model.demands.folded` has it; its length."""
    n = 0
    i = begin
    while i < end:
        byte = data[U(i)]
        if np.uint8(byte - 65) < np.uint8(26):
            byte = np.uint8(byte + 32)
        elif byte == 0xC5 and i + 1 < end and data[U(i + 1)] == 0xBF:  # U+017F
            byte = np.uint8(115)
            i += 1
        elif byte == 0xE2 and i + 2 < end and data[i + 1] == 0x84 and data[i + 2] == 0xAA:  # U+212A
            byte = np.uint8(107)
            i += 2
        folded[U(n)] = byte
        n += 1
        i += 1
    return n


@bare
def _is_copy(words: Ints, order: int) -> bool:
    """Whether an order has the cuts of the one before it."""
    for i in range(order + 1, order + ORDER):  # noqa: SIM110 - a kernel
        if words[i] != words[i - ORDER]:
            return False
    return True


@bare
def _place(
    words: Ints, octets: Bytes, base: int, order: int, data: Bytes, begin: int, end: int
) -> int:
    """How many cuts lie before the text."""
    n_cuts = words[order + 1]
    texts, sides = base + words[order + 2], base + words[order + 3]
    bytes_at = (texts + n_cuts + 1) * 4
    low, high = 0, n_cuts
    while low < high:
        middle = (low + high) >> 1
        octet, stop = bytes_at + words[texts + middle], bytes_at + words[texts + middle + 1]
        i = begin
        while octet < stop and i < end and octets[U(octet)] == data[U(i)]:
            octet += 1
            i += 1
        if octet == stop:  # the cut's text begins the text, or is it
            before = i < end or words[sides + middle] == 0
        else:
            before = i < end and octets[U(octet)] < data[U(i)]
        if before:
            low = middle + 1
        else:
            high = middle
    return low


@bare
def _walk(
    words: Ints,
    octets: Bytes,
    base: int,
    automaton: int,
    text: Bytes,
    begin: int,
    end: int,
    stamps: Ints,
    now: np.int32,
    targets: Ints,
    n: int,
) -> int:
    """Write the targets of the literals in the text, from n on; the new n.

    What a literal leads to is decided where it is first seen, or at the end; those that end where
    it does are then done, too, so a text that is full of them costs no more than they are.
    """
    classes = U(base + words[automaton + PART.classes])
    cells, rows = (
        U(base + words[automaton + PART.cells]),
        U(base + words[automaton + PART.rows]),
    )
    literals = base + words[base + AT.literals]
    state = np.int64(-1)  # the root has row 0
    for i in range(begin, end):
        label = words[classes + U(text[U(i)])]
        if label == 0:
            state = np.int64(-1)
            continue
        child = last = cells
        while state >= 0:
            cell = cells + U(state) * U(CELL)
            child = cells + U(words[cell]) * U(CELL)
            last = child + U(words[cell + U(1)] & ((1 << LABEL) - 1)) * U(CELL)
            while child < last and words[child + U(1)] >> LABEL != label:
                child += U(CELL)
            if child < last:
                break
            state = np.int64(words[cell + U(2)])
        if child < last:
            first = np.int64(words[child])
            state = first if first < 0 else np.int64((child - cells) // U(CELL))
        else:
            state = np.int64(words[rows + U(~state) + U(label)])
        literal = _literal_at(words, state, cells, rows)
        while literal >= 0 and stamps[literal] != now:
            stamps[literal] = now
            record = literals + literal * LITERAL
            n = _act(
                words, octets, base, words[record + 1], words[record + 2],
                i + 1 - begin == words[record + 3], text, begin, end, targets, n,
            )  # fmt: skip
            literal = words[record]
    literal = _literal_at(words, state, cells, rows)
    while literal >= 0:
        record = literals + literal * LITERAL
        n = _act(
            words, octets, base, words[record + 2], words[record + LITERAL + 1],
            end - begin == words[record + 3], text, begin, end, targets, n,
        )  # fmt: skip
        literal = words[record]
    return n


@bare
def _literal_at(words: Ints, state: np.int64, cells: np.uint64, rows: np.uint64) -> np.int32:
    """The longest literal that ends in a state, or -1."""
    if state < 0:
        return words[rows + U(~state)]  # type: ignore[no-any-return]
    return words[cells + U(state) * U(CELL) + U(3)]  # type: ignore[no-any-return]


@bare
def _act(
    words: Ints,
    octets: Bytes,
    base: int,
    first: int,
    last: int,
    from_start: bool,
    text: Bytes,
    begin: int,
    end: int,
    targets: Ints,
    n: int,
) -> int:
    """Write the targets of a literal's actions, from n on; the new n."""
    actions = base + words[base + AT.actions]
    for at in range(actions + first * ACTION, actions + last * ACTION, ACTION):
        action, target = words[at], words[at + 1]
        if action == IN_ORDER:
            glob = base + words[base + AT.globs] + target * GLOB
            if _in_order(words, octets, base, glob, text, begin, end):
                targets[n] = words[glob + 3]
                n += 1
        elif action == _ANYWHERE or from_start:
            targets[n] = target
            n += 1
    return n


@bare
def _in_order(
    words: Ints, octets: Bytes, base: int, glob: int, text: Bytes, begin: int, end: int
) -> bool:
    """Whether the text has the pieces of a glob, one behind the other; the ends come first."""
    starts = base + words[base + AT.pieces]
    bytes_at = (starts + words[base + AT.n_pieces] + 1) * 4
    first, last, bound = words[glob], words[glob + 1], words[glob + 2]
    if bound & _BEGINS:
        start, stop = bytes_at + words[starts + first], bytes_at + words[starts + first + 1]
        if end - begin < stop - start or not _same(octets, start, stop, text, begin):
            return False
        begin += stop - start
        first += 1
    if bound & _ENDS:
        last -= 1
        start, stop = bytes_at + words[starts + last], bytes_at + words[starts + last + 1]
        if end - begin < stop - start or not _same(octets, start, stop, text, end - (stop - start)):
            return False
        end -= stop - start
    for piece in range(first, last):
        start, stop = bytes_at + words[starts + piece], bytes_at + words[starts + piece + 1]
        while end - begin >= stop - start and not _same(octets, start, stop, text, begin):
            begin += 1
        if end - begin < stop - start:
            return False
        begin += stop - start
    return True


@bare
def _same(octets: Bytes, at: int, stop: int, text: Bytes, begin: int) -> bool:
    for i in range(stop - at):  # noqa: SIM110 - a kernel
        if octets[U(at + i)] != text[U(begin + i)]:
            return False
    return True


@bare
def once(targets: Ints, first: int, last: int) -> int:
    """Sort the targets and leave each once; where they end then."""
    gap = 1
    while gap < (last - first) // 9:
        gap = 3 * gap + 1
    while gap > 0:  # Shell's sort: most are few, and none may be slow
        for i in range(first + gap, last):
            target, j = targets[i], i
            while j >= first + gap and targets[j - gap] > target:
                targets[j] = targets[j - gap]
                j -= gap
            targets[j] = target
        gap //= 3
    n = first
    for i in range(first, last):
        if i == first or targets[i] != targets[n - 1]:
            targets[n] = targets[i]
            n += 1
    return n
