"""Arrays that grow: the output of kernels, and what is read frozen and thawed to be changed."""

from __future__ import annotations

from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from remuda.arrays import Ints
from remuda.jit import bare, kernel

Item = TypeVar("Item", bound=np.generic)


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


@bare
def copy_into(target: NDArray[Any], items: NDArray[Any]) -> None:
    """What `target[: len(items)] = items` does; that compiles texts for an error's message."""
    for i in range(len(items)):
        target[i] = items[i]


@kernel
def grown(items: Ints, needed: int) -> Ints:
    """The items in an array with room for `needed` of them, at least doubled."""
    if needed <= len(items):
        return items
    larger = np.empty(max(needed, 2 * len(items)), np.int32)
    copy_into(larger, items)
    return larger
