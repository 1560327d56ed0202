"""The best N rows of an event: a heap whose first row is the worst one kept."""

from __future__ import annotations

import numpy as np

from remuda.arrays import Floats, Ints
from remuda.jit import kernel
from remuda.matchers.kernels.output import grown


@kernel
def _better(score: float, row: int, other_score: float, other_row: int) -> bool:
    return score > other_score or (score == other_score and row < other_row)


@kernel
def offer(score: float, row: int, scores: Floats, rows: Ints, n: int) -> int:
    """Keep the row if there is room or it beats the worst one; return how many are kept."""
    if n < len(scores):
        n += 1
        at = n - 1
        while at > 0 and _better(scores[(at - 1) // 2], rows[(at - 1) // 2], score, row):
            scores[at], rows[at] = scores[(at - 1) // 2], rows[(at - 1) // 2]
            at = (at - 1) // 2
        scores[at], rows[at] = score, row
    elif _better(score, row, scores[0], rows[0]):
        _sink(score, row, scores, rows, n)
    return n


@kernel
def drain(
    scores: Floats, rows: Ints, n: int, all_scores: Floats, all_rows: Ints, n_all: int
) -> tuple[Floats, Ints]:
    """Empty the heap into the output, best first."""
    if n_all + n > len(all_scores):
        all_rows = grown(all_rows, n_all + n)
        larger = np.empty(len(all_rows))
        larger[:n_all] = all_scores[:n_all]
        all_scores = larger
    while n > 0:
        n -= 1
        all_scores[n_all + n], all_rows[n_all + n] = scores[0], rows[0]
        _sink(scores[n], rows[n], scores, rows, n)
    return all_scores, all_rows


@kernel
def _sink(score: float, row: int, scores: Floats, rows: Ints, n: int) -> None:
    """Replace the first row of a heap of n by this one, moved to its place."""
    at = 0
    while 2 * at + 1 < n:
        child = 2 * at + 1
        if child + 1 < n and _better(
            scores[child], rows[child], scores[child + 1], rows[child + 1]
        ):
            child += 1
        if _better(scores[child], rows[child], score, row):
            break
        scores[at], rows[at] = scores[child], rows[child]
        at = child
    scores[at], rows[at] = score, row
