"""The compile policy of all kernels."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import numba


def kernel(loop: Callable[..., Any]) -> Callable[..., Any]:
    """Compile `loop` on first call; cached on disk, free of the GIL.

    Its types are Numba's to check: callers unpack whole tuples of arrays into it.
    """
    return cast("Callable[..., Any]", numba.njit(cache=True, nogil=True)(loop))
