"""The best of many: what a question wants of a segment, and the best of several parts made one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from remuda.arrays import Bools, Floats, Ints, Longs, Ragged, frozen, starts_of, take_rows
from remuda.matchers.contract import Hits, Ranked

NO_INTS: Ints = frozen(np.empty(0, np.int32))
NO_LONGS: Longs = frozen(np.empty(0, np.int64))
NO_FLOATS: Floats = frozen(np.empty(0, np.float64))
NO_BOOLS: Bools = frozen(np.empty(0, np.bool_))
NO_TERMS: Longs = frozen(np.empty((0, 2), np.int64))
NO_GROUPS = Ragged(NO_LONGS, NO_INTS)


class Wanted(NamedTuple):
    """How many of the best of a segment, in which order, and who may be among them."""

    n: int
    ranks: Ints  # of equal scores, the lower rank comes first
    priorities: Floats = NO_FLOATS  # which come before scores; empty where they do not count
    alive: Bools = NO_BOOLS  # empty: all are there
    tagged: Bools = NO_BOOLS  # empty: all have the tags
    terms: Longs = NO_TERMS
    moment: int = 0  # in microseconds
    groups: Ragged = NO_GROUPS  # of each criterion; no starts where there are none
    n_groups: int = 1

    def heaps(self) -> Longs:
        """Where the best of each group are kept: no more than the group has."""
        n = min(self.n, len(self.ranks))
        if not len(self.groups.starts):
            return frozen(np.array([0, n], np.int64))
        sizes = np.bincount(self.groups.items, minlength=self.n_groups)
        return frozen(starts_of(np.minimum(sizes, n)))

    def best(self, hits: Hits) -> Hits:
        """Those of the hits, of which some may be there twice, that are wanted, best first."""
        rows, groups = hits.rows, self.groups
        priorities = self.priorities[rows] if len(self.priorities) else NO_FLOATS
        groups = take_rows(groups, rows) if len(groups.starts) else groups
        return best(hits, self.n, self.ranks[rows], priorities, groups)


class Bars(NamedTuple):
    """What an event's best have reached: none that is worse is wanted."""

    scores: Floats
    priorities: Floats


def bars_of(hits: Hits | Ranked, priorities: Floats, n: int) -> Bars:
    """The n-th best of each event, minus infinity where it has fewer."""
    assert hits.scores is not None
    scores = np.full(len(hits.starts) - 1, -np.inf)
    levels = scores.copy()
    full = np.diff(hits.starts) >= n
    last = hits.starts[1:][full] - 1
    scores[full] = hits.scores[last]
    levels[full] = priorities[hits.rows[last]] if len(priorities) else 0.0
    return Bars(frozen(scores), frozen(levels))


def raised(one: Bars | None, other: Bars) -> Bars:
    """The higher bar of each event."""
    if one is None:
        return other
    higher = (one.priorities > other.priorities) | (
        (one.priorities == other.priorities) & (one.scores > other.scores)
    )
    return Bars(
        frozen(np.where(higher, one.scores, other.scores)),
        frozen(np.where(higher, one.priorities, other.priorities)),
    )


def best(
    hits: Hits,
    n: int,
    ranks: Longs | Ints,
    priorities: Floats = NO_FLOATS,
    groups: Ragged = NO_GROUPS,
) -> Hits:
    """The n best of each event, or of each group of it, best first and each once.

    Of each hit, its rank and perhaps its priority and groups are given.
    """
    assert hits.scores is not None
    counts = np.diff(hits.starts)
    events = np.repeat(np.arange(len(counts)), counts)
    keys = (ranks, -hits.scores, *([-priorities] if len(priorities) else []))
    if len(groups.starts):
        kept = _kept_of_groups(keys, events, groups, n)
    else:
        order = np.lexsort((*keys, events))
        place = np.arange(len(order)) - np.repeat(hits.starts[:-1], counts)
        kept = order[place < n]
    starts = starts_of(np.bincount(events[kept], minlength=len(counts)))
    return Hits(starts, hits.rows[kept], hits.candidates, hits.scores[kept])


def _kept_of_groups(keys: Sequence[np.ndarray], events: Longs, groups: Ragged, n: int) -> Longs:
    """Which hits are among the n best of some group of theirs, in order."""
    hits = np.repeat(np.arange(len(events)), np.diff(groups.starts))
    order = np.lexsort((*(key[hits] for key in keys), groups.items, events[hits]))
    of_event, of_group = events[hits][order], groups.items[order]
    begins = np.ones(len(order), np.bool_)
    begins[1:] = (of_event[1:] != of_event[:-1]) | (of_group[1:] != of_group[:-1])
    first = np.maximum.accumulate(np.where(begins, np.arange(len(order)), 0))
    kept = np.unique(hits[order[np.arange(len(order)) - first < n]])
    return kept[np.lexsort((*(key[kept] for key in keys), events[kept]))]
