"""Texts of terms, scanned together for what is asked of them, and tried where doubt is left."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import pyarrow as pa

from remuda.arrays import Bytes, Ints, Longs, Ragged, frozen, starts_of
from remuda.encoding.checks import Unsound, check
from remuda.encoding.scan_checks import tables_hold
from remuda.encoding.scanning import Asked, Scanner, table_of
from remuda.encoding.spaces import OTHER, LackSpaces, ValueSpaces
from remuda.model.conditions import Contains, Like, Regex, Suffix
from remuda.model.demands import LONG, Demand, demands_of, shortest
from remuda.model.patterns import found_among, regex
from remuda.model.values import Kind

Array: TypeAlias = Any  # pyarrow has no types of its own
MakeTexts: TypeAlias = "Callable[[Sequence[TermTexts], Sequence[Sequence[int]], int], Texts]"
TextCondition = Regex | Like | Suffix | Contains
_SMALL = 64  # instructions of a pattern that is tried together with others
_MANY = 1 << 16  # demands of a term, beyond which classes of patterns are not taken apart
_TOGETHER = 512  # of a set: RE2 may have to go through all of them for every byte


@dataclass(slots=True)
class TermTexts:
    """What is asked of the texts of one term: conditions with their "yes", and cells."""

    conditions: list[tuple[TextCondition, int]] = field(default_factory=list)
    cells: list[tuple[int, ValueSpaces | LackSpaces]] = field(default_factory=list)
    lowers: bool = False  # whether texts are looked at in lower case

    def __bool__(self) -> bool:
        return bool(self.conditions or self.cells)


@dataclass(slots=True)
class Trial:
    """Patterns that are tried together where a text may match one, each with its "yes"."""

    lowers: bool
    patterns: tuple[str, ...] = ()
    spaces: tuple[int, ...] = ()
    n_instructions: int = 0
    shortest: int | None = None  # text that can match one, once that was asked

    def add(self, pattern: str, space: int, n_instructions: int) -> None:
        self.patterns += (pattern,)
        self.spaces += (space,)
        self.n_instructions += n_instructions

    def held(self, text: str | bytes) -> list[int]:
        """The spaces of those that the text, in lower case if it must be, matches."""
        if self.shortest is None:
            self.shortest = min(map(shortest, self.patterns))
        if len(text) < self.shortest:
            return []
        return [self.spaces[i] for i in found_among(self.patterns, text)]


class StoredTexts(NamedTuple):
    """What a scan is made of, as it is kept with a segment."""

    bases: Longs  # where the table of each term begins
    words: Ints
    trials: Ints  # of each condition of all terms, the trial that it is in, or -1


class Texts:
    """The texts of several terms, which are numbered in their order.

    `groups` are numbers of terms that are asked about the same text. What is `stored` is taken as
    it is, if it leads to no more than `n_spaces`.
    """

    def __init__(
        self,
        terms: Sequence[TermTexts],
        groups: Sequence[Sequence[int]] = (),
        n_spaces: int = 0,
        stored: StoredTexts | None = None,
    ) -> None:
        self.tried: list[Trial] = []
        self.stored = self._made(terms) if stored is None else self._taken(terms, stored, n_spaces)
        low = [term.lowers for term in terms]
        bases, words, _ = self.stored
        # bytes of a text that is worth to be tried, of each trial, as far as that is known
        self.least = np.zeros(len(self.tried), np.int32)
        self.scanner = Scanner(bases, words, [[(i, low[i]) for i in group] for group in groups])

    def _made(self, terms: Sequence[TermTexts]) -> StoredTexts:
        trials: list[int] = []
        tables = [self._table(term, trials) for term in terms]
        words = np.concatenate([np.zeros(0, np.int32), *tables])
        bases = starts_of(list(map(len, tables)))
        return StoredTexts(frozen(bases), frozen(words), frozen(np.array(trials, np.int32)))

    def _taken(self, terms: Sequence[TermTexts], stored: StoredTexts, n_spaces: int) -> StoredTexts:
        """What was stored; made anew where terms that differed are written alike."""
        conditions = [(term, *one) for term in terms for one in term.conditions]
        if (len(terms) + 1, len(conditions)) != (len(stored.bases), len(stored.trials)):
            return self._made(terms)
        n_trials = int(stored.trials.max(initial=-1)) + 1
        check(n_trials <= len(conditions), "trials")
        check(tables_hold(stored.words, stored.bases, n_spaces, n_trials), "tables")
        by_trial = [list[tuple[TermTexts, TextCondition, int]]() for _ in range(n_trials)]
        for one, trial in zip(conditions, stored.trials.tolist(), strict=True):
            if trial >= 0:
                by_trial[trial].append(one)
        for some in by_trial:
            check(len({id(term) for term, _, _ in some}) == 1, "trials")
            self.tried.append(Trial(some[0][0].lowers))
            for _, condition, space in some:
                if not isinstance(condition, Regex | Like):
                    raise Unsound("a text is tried by what is no pattern")
                self.tried[-1].add(condition.found_pattern, space, 0)
        return stored

    def _table(self, term: TermTexts, trials: list[int]) -> Any:
        content, shared = Asked(), None
        for start, spaces in term.cells:
            if isinstance(spaces, ValueSpaces) and Kind.STRING in spaces.first:
                first = start + spaces.first[Kind.STRING]
                content.orders.append((first, spaces.cuts[Kind.STRING]))
            else:
                content.always[start + OTHER] = None
        for condition, space in term.conditions:
            demands = condition.demands
            if len(demands) > 1 and len(content.demands) > _MANY and isinstance(condition, Regex):
                demands = demands_of(condition.pattern, find=condition.find, classes=False)
            number = len(self.tried)
            trial = -1
            if isinstance(condition, Regex | Like) and not all(one.exact for one in demands):
                size = _SMALL
                if _is_common(demands):
                    size = regex(condition.found_pattern).programsize
                if size < _SMALL:  # tried for many texts, so not by itself
                    if shared is None or self.tried[shared].n_instructions + size > _TOGETHER:
                        shared = number
                        self.tried.append(Trial(term.lowers))
                    number = shared
                else:
                    self.tried.append(Trial(term.lowers))
                self.tried[number].add(condition.found_pattern, space, size)
                trial = number
            trials.append(trial)
            content.add(demands, space, number)
        return table_of(content)

    def held(self, number: int, text: str) -> list[int]:
        """The spaces of those patterns of a trial that a text matches."""
        trial = self.tried[number]
        found = trial.held(text.lower() if trial.lowers else text)
        self.least[number] = trial.shortest or 0
        return found

    def spaces(self, jobs: Sequence[tuple[int, str]]) -> list[list[int]]:
        """The spaces of each text on the term of that number, ascending."""
        encoded = [text.encode() for _, text in jobs]
        ends = np.cumsum([len(one) for one in encoded])
        starts = np.zeros(len(jobs), np.int64)
        starts[1:] = ends[:-1]
        numbers = [number for number, _ in jobs]
        data = np.frombuffer(b"".join(encoded), np.uint8)
        found = self.scanner.scan(data, starts, ends, self.scanner.bases[numbers])
        edges, items = found.starts.tolist(), found.items.tolist()
        rows = [items[edges[i] : edges[i + 1]] for i in range(len(jobs))]
        for row, text in zip(rows, encoded, strict=True):
            if row and row[0] < 0:
                row[:] = self._decided(row, text)
        return rows

    def of_arrays(self, columns: Sequence[tuple[int, Array]]) -> Ragged:
        """The spaces of each row of columns that hold the texts of terms, none of them null."""
        n_rows, n_columns = len(columns[0][1]), len(columns)
        starts = np.empty((n_rows, n_columns), np.int64)
        ends, pieces, size = np.empty_like(starts), list[Bytes](), 0
        for i, (_, column) in enumerate(columns):
            data, edges = buffers_of(column)
            starts[:, i], ends[:, i] = edges[:-1] + size, edges[1:] + size
            pieces.append(data)
            size += len(data)
        data = pieces[0] if n_columns == 1 else np.concatenate(pieces)
        bases = np.tile(self.scanner.bases[[number for number, _ in columns]], n_rows)
        targets = self.scanner.scan(data, starts.ravel(), ends.ravel(), bases)
        doubtful = np.flatnonzero(targets.items < 0)
        by_rows = Ragged(targets.starts[::n_columns], targets.items)
        if not len(doubtful):
            return by_rows
        jobs = np.searchsorted(targets.starts, doubtful, side="right") - 1
        begins, stops = starts.ravel()[jobs].tolist(), ends.ravel()[jobs].tolist()
        held = [
            self.tried[~target].held(data[begin:stop].tobytes())
            for target, begin, stop in zip(
                targets.items[doubtful].tolist(), begins, stops, strict=True
            )
        ]
        owners = np.repeat(np.arange(n_rows), np.diff(by_rows.starts))
        late = np.repeat(jobs // n_columns, list(map(len, held)))
        spaces = [space for several in held for space in several]
        sure = targets.items >= 0
        return by_row(
            np.concatenate([owners[sure], late]),
            np.concatenate([targets.items[sure], np.array(spaces, np.int32)]),
            n_rows,
        )

    def _decided(self, row: list[int], text: bytes) -> list[int]:
        """The spaces among targets, and those of the conditions among them that hold."""
        found = {target for target in row if target >= 0}
        for target in row:
            if target >= 0:
                break
            found.update(self.tried[~target].held(text))
        return sorted(found)


def _is_common(demands: Sequence[Demand]) -> bool:
    """Whether many texts meet one of them: none has a text of some length."""
    return any(max(map(len, one.pieces), default=0) < LONG for one in demands if not one.exact)


def by_row(rows: Longs, spaces: Any, n_rows: int) -> Ragged:
    """Pairs of a row and a space as rows, ascending, each pair once."""
    width = int(spaces.max(initial=0)) + 1
    keys = np.unique(rows * np.int64(width) + spaces)
    own, found = np.divmod(keys, width)
    starts = np.searchsorted(own, np.arange(n_rows + 1))
    return Ragged(starts, found.astype(np.int32))


def buffers_of(texts: Array) -> tuple[Bytes, Longs]:
    """The bytes of texts, and where each begins and ends among them."""
    large = pa.types.is_large_string(texts.type)
    _, offsets, data = texts.buffers()
    kind = np.int64 if large else np.int32
    if not len(texts):
        return np.empty(0, np.uint8), np.zeros(1, np.int64)
    edges = np.frombuffer(offsets, kind)[texts.offset : texts.offset + len(texts) + 1]
    edges = edges.astype(np.int64)
    raw = np.empty(0, np.uint8) if data is None else np.frombuffer(data, np.uint8)
    return raw[edges[0] : edges[-1]], edges - edges[0]
