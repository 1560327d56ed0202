"""Output of unknown size."""

from __future__ import annotations

import numpy as np

from remuda.arrays import Ints
from remuda.jit import kernel


@kernel
def grown(items: Ints, needed: int) -> Ints:
    """The items in an array with room for `needed` of them, at least doubled."""
    if needed <= len(items):
        return items
    larger = np.empty(max(needed, 2 * len(items)), np.int32)
    larger[: len(items)] = items
    return larger
