"""Hits of several batches or parts made one, and those of one made fewer."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from remuda.arrays import Bools, starts_of
from remuda.matchers.contract import Hits


def joined(batches: Sequence[Hits]) -> Hits:
    """Batches one after the other; at least one."""
    if len(batches) == 1:
        return batches[0]
    counts = np.concatenate([np.diff(hits.starts) for hits in batches])
    rows = np.concatenate([hits.rows for hits in batches])
    scores = [hits.scores for hits in batches if hits.scores is not None]
    candidates = sum(hits.candidates for hits in batches)
    return Hits(starts_of(counts), rows, candidates, np.concatenate(scores) if scores else None)


def none(n_events: int, *, scored: bool) -> Hits:
    """No hits for so many events."""
    starts, scores = np.zeros(n_events + 1, np.int64), np.empty(0) if scored else None
    return Hits(starts, np.empty(0, np.int32), 0, scores)


def side_by_side(parts: Sequence[Hits], firsts: Iterable[int] = (0, 0)) -> Hits:
    """Event by event, what each part has, whose rows are counted from its first on."""
    if len(parts) == 1:
        return parts[0]
    starts = np.sum([hits.starts for hits in parts], axis=0)
    rows = np.empty(starts[-1], np.int32)
    scores = None if parts[0].scores is None else np.empty(starts[-1])
    cursor = starts[:-1].copy()
    for hits, first in zip(parts, firsts, strict=False):
        lengths = np.diff(hits.starts)
        places = np.repeat(cursor - hits.starts[:-1], lengths) + np.arange(len(hits.rows))
        rows[places] = hits.rows + np.int32(first)
        if scores is not None:
            scores[places] = hits.scores
        cursor += lengths
    return Hits(starts, rows, sum(hits.candidates for hits in parts), scores)


def only(hits: Hits, kept: Bools) -> Hits:
    """The hits that the mask keeps."""
    before = starts_of(kept)
    scores = None if hits.scores is None else hits.scores[kept]
    return Hits(before[hits.starts], hits.rows[kept], hits.candidates, scores)


def of_event(hits: Hits, i: int) -> Hits:
    """What event i satisfies."""
    own = slice(hits.starts[i], hits.starts[i + 1])
    starts = np.array([0, own.stop - own.start], np.int64)
    return Hits(starts, hits.rows[own], 0, None if hits.scores is None else hits.scores[own])
