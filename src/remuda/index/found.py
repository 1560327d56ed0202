"""Finds: ragged answers with scores, joined over batches and over parts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from remuda.arrays import Bools, Floats, Ints, Longs, starts_of
from remuda.matchers.contract import Hits


@dataclass(frozen=True, slots=True)
class Found:
    """What each event satisfies: places or positions, perhaps with scores beside them."""

    starts: Longs
    rows: Ints
    scores: Floats | None = None

    @staticmethod
    def of(hits: Hits) -> Found:
        return Found(hits.starts, hits.rows)

    def one(self, i: int) -> Found:
        """What event i satisfies."""
        own = slice(self.starts[i], self.starts[i + 1])
        starts = np.array([0, own.stop - own.start], np.int64)
        return Found(starts, self.rows[own], None if self.scores is None else self.scores[own])

    @staticmethod
    def joined(batches: Sequence[Found]) -> Found:
        """Batches one after the other."""
        if len(batches) == 1:
            return batches[0]
        counts = [np.diff(one.starts) for one in batches]
        rows = np.concatenate([np.empty(0, np.int32), *(one.rows for one in batches)])
        scores = [one.scores for one in batches if one.scores is not None]
        return Found(
            starts_of(np.concatenate([np.empty(0, np.int64), *counts])),
            rows,
            np.concatenate(scores) if scores else None,
        )

    @staticmethod
    def side_by_side(parts: Sequence[Found], n_events: int) -> Found:
        """Event by event, what each part has."""
        if not parts:
            return Found(np.zeros(n_events + 1, np.int64), np.empty(0, np.int32), np.empty(0))
        if len(parts) == 1:
            return parts[0]
        starts = np.sum([one.starts for one in parts], axis=0)
        rows = np.empty(starts[-1], np.int32)
        scores = np.empty(starts[-1])
        cursor = starts[:-1].copy()
        for one in parts:
            lengths = np.diff(one.starts)
            at = np.repeat(cursor - one.starts[:-1], lengths) + np.arange(len(one.rows))
            rows[at] = one.rows
            if one.scores is not None:
                scores[at] = one.scores
            cursor += lengths
        return Found(starts, rows, scores if parts[0].scores is not None else None)

    def best(self, n: int, ranks: NDArray[Any]) -> Found:
        """The n best of each event, best first; of equal scores, the lower rank."""
        assert self.scores is not None
        counts = np.diff(self.starts)
        events = np.repeat(np.arange(len(counts)), counts)
        order = np.lexsort((ranks, -self.scores, events))
        place = np.arange(len(order)) - np.repeat(self.starts[:-1], counts)
        kept = order[place < n]
        return Found(starts_of(np.minimum(counts, n)), self.rows[kept], self.scores[kept])


def only(hits: Hits, kept: Bools) -> Hits:
    """The hits that the mask keeps."""
    before = starts_of(kept)
    return Hits(before[hits.starts], hits.rows[kept], hits.candidates)
