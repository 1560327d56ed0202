"""The compile policy of all kernels."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar, cast

import numba

F = TypeVar("F", bound=Callable[..., object])


def kernel(loop: F) -> F:
    """Compile `loop` on first call; cached on disk, free of the GIL."""
    return cast("F", numba.njit(cache=True, nogil=True)(loop))
