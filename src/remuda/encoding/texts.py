"""Texts of terms, scanned together for what is asked of them, and tried where doubt is left."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa

from remuda.arrays import Longs, Ragged
from remuda.encoding.scanning import Asked, Bytes, Scanner, table_of
from remuda.encoding.spaces import OTHER, LackSpaces, ValueSpaces
from remuda.model.conditions import Contains, Like, Regex, Suffix
from remuda.model.values import Kind

Array: TypeAlias = Any  # pyarrow has no types of its own
TextCondition = Regex | Like | Suffix | Contains


@dataclass(slots=True)
class TermTexts:
    """What is asked of the texts of one term: conditions with their "yes", and cells."""

    conditions: list[tuple[TextCondition, int]] = field(default_factory=list)
    cells: list[tuple[int, ValueSpaces | LackSpaces]] = field(default_factory=list)

    def __bool__(self) -> bool:
        return bool(self.conditions or self.cells)


class Texts:
    """The texts of several terms, which are numbered in their order."""

    def __init__(self, terms: Sequence[TermTexts]) -> None:
        self.tried: list[tuple[TextCondition, int]] = []
        self.scanner = Scanner([self._table(term) for term in terms])

    def _table(self, term: TermTexts) -> Any:
        asked = Asked()
        for start, spaces in term.cells:
            if isinstance(spaces, ValueSpaces) and Kind.STRING in spaces.first:
                first = start + spaces.first[Kind.STRING]
                asked.orders.append((first, spaces.cuts[Kind.STRING]))
            else:
                asked.always[start + OTHER] = None
        for condition, space in term.conditions:
            demands = condition.demands
            asked.add(demands, space, len(self.tried))
            if not all(demand.exact for demand in demands):
                self.tried.append((condition, space))
        return table_of(asked)

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
        for row, (_, text) in zip(rows, jobs, strict=True):
            if row and row[0] < 0:
                row[:] = self._decided(row, text)
        return rows

    def of_arrays(self, columns: Sequence[tuple[int, Array]]) -> Ragged:
        """The spaces of each row of columns that hold the texts of terms, none of them null."""
        n_rows, n_columns = len(columns[0][1]), len(columns)
        starts = np.empty((n_rows, n_columns), np.int64)
        ends, pieces, size = np.empty_like(starts), list[Bytes](), 0
        for i, (_, column) in enumerate(columns):
            data, edges = _buffers(column)
            starts[:, i], ends[:, i] = edges[:-1] + size, edges[1:] + size
            pieces.append(data)
            size += len(data)
        data = pieces[0] if n_columns == 1 else np.concatenate(pieces)
        bases = np.tile(self.scanner.bases[[number for number, _ in columns]], n_rows)
        found = self.scanner.scan(data, starts.ravel(), ends.ravel(), bases)
        doubtful = np.flatnonzero(found.items < 0)
        by_rows = Ragged(found.starts[::n_columns], found.items)
        if not len(doubtful):
            return by_rows
        jobs = np.searchsorted(found.starts, doubtful, side="right") - 1
        held, values = np.zeros(len(doubtful), np.bool_), dict[int, str]()
        for i, (job, target) in enumerate(
            zip(jobs.tolist(), found.items[doubtful].tolist(), strict=True)
        ):
            if job not in values:
                values[job] = columns[job % n_columns][1][job // n_columns].as_py()
            held[i] = self.tried[~target][0].accepts(values[job])
        owners = np.repeat(np.arange(n_rows), np.diff(by_rows.starts))
        spaces = [self.tried[~target][1] for target in found.items[doubtful[held]].tolist()]
        sure = found.items >= 0
        return by_row(
            np.concatenate([owners[sure], jobs[held] // n_columns]),
            np.concatenate([found.items[sure], np.array(spaces, np.int32)]),
            n_rows,
        )

    def _decided(self, row: list[int], text: str) -> list[int]:
        """The spaces among targets, and those of the conditions among them that hold."""
        found = {target for target in row if target >= 0}
        for target in row:
            if target >= 0:
                break
            condition, space = self.tried[~target]
            if space not in found and condition.accepts(text):
                found.add(space)
        return sorted(found)


def by_row(rows: Longs, spaces: Any, n_rows: int) -> Ragged:
    """Pairs of a row and a space as rows, ascending, each pair once."""
    width = int(spaces.max(initial=0)) + 1
    keys = np.unique(rows * np.int64(width) + spaces)
    own, found = np.divmod(keys, width)
    starts = np.searchsorted(own, np.arange(n_rows + 1))
    return Ragged(starts, found.astype(np.int32))


def _buffers(texts: Array) -> tuple[Bytes, Longs]:
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
