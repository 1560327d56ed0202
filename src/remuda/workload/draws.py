"""Draws that several generators share."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from remuda.arrays import Bools, Floats, Ints, Longs, starts_of

_BLOCK = 4_000_000  # numbers drawn at once, to bound memory


def zipf_weights(n: int, exponent: float) -> Floats:
    """The probability of each rank: rank^-exponent, which is uniform where the exponent is 0."""
    weights: Floats = np.arange(1, n + 1, dtype=np.float64) ** -exponent
    weights /= weights.sum()
    return weights


def below(rng: np.random.Generator, bounds: NDArray[Any]) -> Longs:
    """An integer from 0 to `bound - 1` for each bound, evenly."""
    drawn: Longs = (rng.random(len(bounds)) * bounds).astype(np.int64)
    return drawn


def ranks(rng: np.random.Generator, weights: Floats, n: int) -> Longs:
    """`n` independent draws by weight."""
    cumulated = np.cumsum(weights)
    drawn: Longs = np.searchsorted(cumulated, rng.random(n) * cumulated[-1], side="right")
    return np.minimum(drawn, len(weights) - 1)


def distinct_ranks(rng: np.random.Generator, weights: Floats, n_rows: int, n: int) -> Ints:
    """Rows of `n` distinct draws by weight, in the order they were drawn.

    An exponential race: of clocks that run at the rates `weights`, the first `n` to ring.
    """
    rows = np.empty((n_rows, n), np.int32)
    rates = weights.astype(np.float32)
    step = max(1, _BLOCK // len(weights))
    for i in range(0, n_rows, step):
        shape = (min(step, n_rows - i), len(weights))
        times = rng.standard_exponential(shape, np.float32) / rates
        first = np.argpartition(times, n - 1, axis=1)[:, :n]
        order = np.argsort(np.take_along_axis(times, first, axis=1), axis=1)
        rows[i : i + step] = np.take_along_axis(first, order, axis=1)
    return rows


def ascending_ranks(rng: np.random.Generator, weights: Floats, sizes: Longs, width: int) -> Ints:
    """Distinct draws by weight, `sizes[i]` of at most `width` for row i, ascending in each."""
    kept = first_columns(sizes, width)
    drawn = distinct_ranks(rng, weights, len(sizes), width)
    # what is not kept goes last
    ascending: Ints = np.sort(np.where(kept, drawn, len(weights)), axis=1)[kept]
    return ascending.astype(np.int32)


def sizes_around(rng: np.random.Generator, mean: int, spread: int, n: int) -> Longs:
    """Sizes drawn evenly from `mean - spread` to `mean + spread`."""
    return rng.integers(mean - spread, mean + spread + 1, n)


def first_columns(sizes: Longs, width: int) -> Bools:
    """A mask of rows of `width` columns, with the first `sizes[i]` of row i set."""
    mask: Bools = np.arange(width) < sizes[:, None]
    return mask


def first_occurrences(rows: NDArray[Any], items: NDArray[Any]) -> Bools:
    """Which entries are the first of their row to have their item."""
    packed = rows.astype(np.int64) * (int(items.max(initial=0)) + 1) + items
    _, first = np.unique(packed, return_index=True)
    mask = np.zeros(len(packed), np.bool_)
    mask[first] = True
    return mask


def within_limits(rows: NDArray[Any], limits: NDArray[Any]) -> Bools:
    """Which entries are among the first `limits[row]` of their row; rows ascend."""
    begins = starts_of(np.bincount(rows, minlength=len(limits)))
    mask: Bools = np.arange(len(rows)) - begins[rows] < limits[rows]
    return mask
