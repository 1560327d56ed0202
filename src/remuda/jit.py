"""The compile policy of all kernels."""

from __future__ import annotations

import os
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import numba


def _cache_directory() -> str:
    """A cache for each state of the sources as a whole.

    Numba watches only the file that a kernel stands in, but builds in the constants and the
    kernels that it imports from others: a change there would go unseen, and crash.
    """
    package = Path(__file__).parent
    stats = ((path, path.stat()) for path in sorted(package.rglob("*.py")))
    stamp = zlib.crc32(repr([(str(p), s.st_mtime_ns, s.st_size) for p, s in stats]).encode())
    base = os.environ.get("NUMBA_CACHE_DIR") or package / "__pycache__"
    return str(Path(base) / f"kernels-{stamp:08x}")


_CACHE = _cache_directory()


def kernel(loop: Callable[..., Any]) -> Callable[..., Any]:
    """Compile `loop` on first call; cached on disk, free of the GIL.

    Its types are Numba's to check: callers unpack whole tuples of arrays into it.
    """
    return _compiled(loop)


def inlined(loop: Callable[..., Any]) -> Callable[..., Any]:
    """A kernel written out in its callers: a call that hands on a dozen arrays costs some 50 ns."""
    return _compiled(loop, forceinline=True)


def _compiled(loop: Callable[..., Any], **options: Any) -> Callable[..., Any]:
    config: Any = numba.config
    others = config.CACHE_DIR
    config.CACHE_DIR = _CACHE  # Numba looks when it is handed the loop, then no more
    try:
        return cast("Callable[..., Any]", numba.njit(cache=True, nogil=True, **options)(loop))
    finally:
        config.CACHE_DIR = others
