"""The matcher itself: what is built, where it lies, how calls are served."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from typing import Any, ClassVar, Self

import numpy as np

from remuda.arrays import Halves, Ints, Longs, starts_of
from remuda.encoding.columns import Columns
from remuda.encoding.table import ClauseTable, EventBatch
from remuda.matchers.contract import Description, Features, Hits, Merits, Ranked
from remuda.matchers.gpu import lanes
from remuda.matchers.gpu.cutting import cut
from remuda.matchers.gpu.device import Home, kernels
from remuda.matchers.gpu.lanes import Chunk, Lane, Ranking
from remuda.matchers.gpu.layout import Arranged, arrange
from remuda.matchers.kernels.best import Asked, Choice, Owned, Room, admitted, choose
from remuda.matchers.levels import Levels, standing_of

_SPARE = 0.8  # of a lane's room that events are expected to fill


class _Rows:
    """Rows of one chunk after the other.

    They are written once: to write memory for the first time takes longer than all else does.
    """

    def __init__(self, n_events: int) -> None:
        self.rows = np.empty(0, np.uint32)
        self.n = 0
        self._n_events, self._n_done = n_events, 0

    def room(self, n: int, n_events: int) -> Halves:
        """Where the rows of the next events go; what they leave room for is a guess."""
        self._n_done += n_events
        first, self.n = self.n, self.n + n
        if self.n > len(self.rows):
            likely = int(1.02 * self.n * self._n_events / self._n_done)
            held, self.rows = self.rows, np.empty(max(self.n, likely), np.uint32)
            self.rows[:first] = held[:first]
        return self.rows[first : self.n]


@dataclass(frozen=True, slots=True)
class Gpu:
    """Clauses on a CUDA device; thread-safe, never changed.

    It is built without one, and uploaded when it is first asked.
    """

    features: ClassVar[Features] = Features(
        layout=2,
        takes_sample=True,
        takes_merits=True,
        ranks=True,
        counts=True,
        describes=True,
        warms=True,
        encodes=True,
        at_once=1 << 16,
        callers=3,
    )

    arranged: Arranged
    levels: Levels
    sampled: bool
    _home: Home = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_home", Home(self.arranged))

    @classmethod
    def build(
        cls,
        table: ClauseTable,
        *,
        sample: EventBatch | None = None,
        merits: Merits | None = None,
    ) -> Self:
        """Arrange the table; a sample of events to come makes for better keys."""
        standing, levels = standing_of(table.n_clauses, merits)
        return cls(arrange(table, standing, sample), levels, sample is not None)

    def warm(self) -> None:
        """Compile the kernels and bring the clauses to the device."""
        nothing = EventBatch(np.zeros(2, np.int64), np.zeros(0, np.int32))
        self.match(nothing)
        self.count(nothing)
        self.reach(nothing)
        n_clauses = len(self.arranged.keys)
        self._kept(nothing, Ranking(1, np.zeros(1, np.int32), np.zeros(n_clauses, np.uint8)))

    def match(self, events: EventBatch) -> Hits:
        """The clauses that each event satisfies."""
        return self._kept(events, None)

    def best(
        self, owned: Owned, choice: Choice, asked: Asked, room: Room, attribute_of_dim: Ints
    ) -> Ranked:
        """The best owners of each event: the device leaves what cannot be one, the host chooses.

        It leaves nothing where an event's weights, groups or priorities come before bounds.
        """
        del attribute_of_dim  # the bounds are those of whole clauses
        by_bounds = choice.by_clauses and not len(asked.weight_starts)
        ranking = self._ranking(owned, choice, asked) if by_bounds else None
        hits = self._kept(EventBatch(asked.starts, asked.spaces), ranking)
        starts, rows, scores = choose(hits.starts, hits.rows, owned, choice, asked, room)
        return Ranked(starts, rows, scores, hits.candidates, 0, 0)

    def _ranking(self, owned: Owned, choice: Choice, asked: Asked) -> Ranking:
        """How many are wanted, up to which level, and whose scores are known beforehand."""
        scores, sole = self.levels.scores, owned.sole
        limits = np.full(len(asked.starts) - 1, len(scores) - 1, np.int32)
        if len(asked.bars):
            limits[:] = np.searchsorted(-scores, -asked.bars, side="right") - 1
        sure = sole >= 0
        if not (choice.plain or choice.written):
            sure[:] = False
        elif len(sole):
            sure &= admitted(choice)[np.maximum(sole, 0)]
        return Ranking(int(choice.heaps[-1]), limits, sure.view(np.uint8))

    def _kept(self, events: EventBatch, ranking: Ranking | None) -> Hits:
        """The clauses that each event satisfies; with a ranking, those that may be its best."""
        index, rows = self._home.placed(), _Rows(len(events))
        most = lanes.MOST_EVENTS
        if ranking is None:
            most = self._home.most_events(_SPARE * lanes.MOST_ROWS, most)
        submit = partial(_submit, index, ranking)
        collected = lanes.each(events, most, submit, partial(self._collect, index, ranking, rows))
        starts = starts_of(np.concatenate([np.zeros(0, np.int64), *collected]))
        return Hits(starts, rows.rows[: rows.n].view(np.int32), rows.n)

    def _collect(
        self, index: Arranged, ranking: Ranking | None, rows: _Rows, lane: Lane, chunk: Chunk
    ) -> Longs:
        """How many rows each event has; asked again in parts where there was no room for them.

        Asked again, an event may keep a few more or less of those that are not its best.
        """
        counts = lane.counts(len(chunk.events))
        starts = starts_of(counts)
        n = int(starts[-1])
        if ranking is None:
            self._home.learn(len(counts), n)
        if n <= lane.room(index):
            lane.gather(starts, rows.room(n, len(counts)))
            return counts
        parts = []
        for part in _split(chunk, starts, lane.grow(index, n)):
            _submit(index, ranking, lane, part)
            parts.append(self._collect(index, ranking, rows, lane, part))
        return np.concatenate(parts)

    def count(self, events: EventBatch, weights: Ints | None = None) -> Longs:
        """How many clauses each event satisfies, or the sum of what each of them weighs."""
        index, mode = self._home.placed(), kernels().COUNT
        padded = None if weights is None else np.append(weights, np.int32(0))

        def submit(lane: Lane, chunk: Chunk) -> None:
            weighing = None if padded is None else lane.upload("weights", padded)
            lane.submit(index, chunk, mode, weighing)

        def collect(lane: Lane, chunk: Chunk) -> Longs:
            return lane.counts(len(chunk.events))

        counts = lanes.each(events, lanes.MOST_EVENTS, submit, collect)
        return np.concatenate([np.zeros(0, np.int64), *counts])

    def reach(self, events: EventBatch) -> Longs:
        """How many of the events satisfy each clause."""
        index, mode, n = self._home.placed(), kernels().REACH, len(self.arranged.keys)
        total = np.zeros(n, np.int64)

        def submit(lane: Lane, chunk: Chunk) -> None:
            lane.clear_reach(n)
            lane.submit(index, chunk, mode)

        def collect(lane: Lane, _: Chunk) -> None:
            np.add(total, lane.reach(n), out=total)

        lanes.each(events, lanes.MOST_EVENTS, submit, collect)
        return total

    def encode(self, columns: Columns) -> EventBatch:
        """The rows as events."""
        return cut(columns)

    def stats(self) -> Description:
        """What was chosen and why, and what it takes."""
        arranged = self.arranged
        n, n_entries = len(arranged.keys), len(arranged.clauses)
        n_everywhere = int(arranged.first_entry[-1] - arranged.first_entry[-2])
        return {
            "layout": "columns",
            "why": "an event reads the clusters of its spaces, on the device",
            "keys": "a sample of events" if self.sampled else "the clauses' own frequencies",
            "clauses": n,
            "clauses_without_key": n_everywhere,
            "entries_per_clause": (n_entries - n_everywhere) / max(n - n_everywhere, 1),
            "entries": {"columns": n_entries},
            "chunks": {"columns": int(np.count_nonzero(np.diff(arranged.first_entry)))},
            "bytes": self.nbytes,
        }

    @property
    def nbytes(self) -> int:
        """What it takes on the host, and on the device once more."""
        return self.arranged.nbytes

    def __reduce__(self) -> tuple[Any, ...]:
        return Gpu, (self.arranged, self.levels, self.sampled)


def _submit(index: Arranged, ranking: Ranking | None, lane: Lane, chunk: Chunk) -> None:
    mode = kernels().KEEP if ranking is None else kernels().BEST
    lane.submit(index, chunk, mode, ranking=ranking)


def _split(chunk: Chunk, starts: Longs, room: int) -> list[Chunk]:
    """The chunk in parts whose rows fit, given where those of each event start."""
    parts, first = [], 0
    while first < len(chunk.events):
        beyond = int(np.searchsorted(starts, starts[first] + room, side="right")) - 1
        last = max(min(beyond, len(chunk.events)), first + 1)
        parts.append(chunk.part(first, last))
        first = last
    return parts
