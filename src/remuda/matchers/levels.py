"""Levels: clauses in the order of what they can score, cut into at most 256.

The cuts are the closer the better the clauses are: of a million, the first ones have a level each,
the last one has some fifty thousand. An event that has its n best finds the last level of which a
clause may still be one, and compares eight bits with it from then on.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from remuda.arrays import Bytes, Floats, Ints, Longs, frozen
from remuda.jit import bare
from remuda.matchers.contract import Merits

_MOST = 256
_FINE = 64  # levels, the last ones, of which a signature tells two from the next two
_BITS = 64


class Levels(NamedTuple):
    """The best score and rank of each level; of each 64 clauses without a key, their level."""

    scores: Floats
    ranks: Ints
    of_denials: Bytes


class Standing(NamedTuple):
    """The place and the level of each clause.

    Where all are alike there are no places, and nothing is to be sorted.
    """

    places: Longs
    levels: Bytes

    def denied(self, clauses: Ints) -> Ints:
        """The clauses, best first."""
        return clauses[np.argsort(self.places[clauses])] if len(self.places) else clauses


def standing_of(n_clauses: int, merits: Merits | None) -> tuple[Standing, Levels]:
    """Where each clause stands; all are alike without merits."""
    if merits is None or n_clauses == 0:
        standing = Standing(np.empty(0, np.int64), np.zeros(n_clauses, np.uint8))
        best = np.array([np.inf]), np.array([-1], np.int32)
        return standing, Levels(*frozen(best), np.zeros(0, np.uint8))
    order = np.lexsort((merits.ranks, -merits.scores)).astype(np.int32)
    cuts = np.unique(np.geomspace(1, n_clauses, _MOST).astype(np.int64)) - 1
    places = np.empty(n_clauses, np.int64)
    places[order] = np.arange(n_clauses)
    levels = (np.searchsorted(cuts, places, side="right") - 1).astype(np.uint8)
    first = order[cuts]
    best = merits.scores[first], merits.ranks[first]
    return Standing(places, levels), Levels(*frozen(best), np.zeros(0, np.uint8))


def in_signatures(levels: Bytes, n_levels: int) -> Bytes:
    """Levels in six bits, in the same order."""
    beyond = levels.astype(np.int64) - (n_levels - _FINE)
    return (np.maximum(beyond, 0) >> 1).astype(np.uint8)


@bare
def in_signature(level: int, n_levels: int) -> int:
    """One level in six bits; any beyond the last as that."""
    return max(min(level, n_levels - 1) - (n_levels - _FINE), 0) >> 1


@bare
def first_level(in_signature: int, n_levels: int) -> int:
    """The best of the levels that a signature has so."""
    return max(n_levels - _FINE + 2 * in_signature, 0) if in_signature else 0


def with_denials(levels: Levels, standing: Standing, denied: Ints) -> Levels:
    """The same with those of the clauses without a key, which are sorted."""
    return levels._replace(of_denials=frozen(standing.levels[denied[::_BITS]]))
