"""Arrays that change: frozen while they are read, thawed and longer when something is written."""

from __future__ import annotations

from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

Item = TypeVar("Item", bound=np.generic)

Words = NDArray[np.uint64]


def thawed(array: NDArray[Item], n_items: int = 0) -> NDArray[Item]:
    """The array, writable, with room for `n_items`; what is new is zero."""
    if n_items > len(array):
        longer = np.zeros((n_items * 9 // 8 + 8, *array.shape[1:]), array.dtype)
        longer[: len(array)] = array
        return longer
    if not array.flags.writeable:
        try:
            array.setflags(write=True)
        except ValueError:  # a file's, mapped into memory
            return array.copy()
    return array
