"""The compile policy of all kernels."""

from __future__ import annotations

import logging
import os
import time
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import numba
from numba.core import event

_ROOMS = ("arrays.py", "jit.py", "encoding", "matchers", "index")  # where kernels come from
_PATIENCE = 1.0  # seconds of compiling before a line says so
_log = logging.getLogger("remuda")


def _cache_directory() -> str:
    """A cache for each state of the rooms with kernels as a whole, with bounds checked or not.

    Numba watches only the file that a kernel stands in, but builds in the constants and the
    kernels that it imports from others: a change there would go unseen, and crash.
    """
    package = Path(__file__).parent
    found = (path for room in _ROOMS for path in (package / room, *(package / room).rglob("*.py")))
    stats = [(path, path.stat()) for path in sorted(found) if path.is_file()]
    state = [(str(p), s.st_mtime_ns, s.st_size) for p, s in stats]
    config: Any = numba.config
    stamp = zlib.crc32(repr((config.BOUNDSCHECK, state)).encode())
    return str(_base(package) / f"kernels-{stamp:08x}")


def _base(package: Path) -> Path:
    """Beside the sources where we may write there, else in the user's own cache."""
    if chosen := os.environ.get("NUMBA_CACHE_DIR"):
        return Path(chosen)
    if os.access(package, os.W_OK):
        return package / "__pycache__"
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "remuda"


class _Patience(event.Listener):
    """Says once that kernels are being compiled, when that takes long."""

    def __init__(self) -> None:
        self.started, self.spent, self.said = 0.0, 0.0, False

    def on_start(self, _: Any) -> None:
        self.started = time.perf_counter()

    def on_end(self, _: Any) -> None:
        self.spent += time.perf_counter() - self.started
        self.started = time.perf_counter()
        if self.spent > _PATIENCE and not self.said:
            self.said = True
            _log.warning(
                "compiling kernels for this machine, which takes a while and is kept in %s; "
                "`remuda warmup` does it ahead",
                _CACHE,
            )


event.register("numba:compile", _Patience())  # type: ignore[no-untyped-call]


_CACHE = _cache_directory()


def kernel(loop: Callable[..., Any]) -> Callable[..., Any]:
    """Compile `loop` on first call; cached on disk, free of the GIL.

    Its types are Numba's to check: callers unpack whole tuples of arrays into it.
    """
    return _compiled(loop, counting=True)


def inlined(loop: Callable[..., Any]) -> Callable[..., Any]:
    """A kernel written out in its callers: a call that hands on a dozen arrays costs some 50 ns."""
    return _compiled(loop, counting=True, forceinline=True)


def bare(loop: Callable[..., Any]) -> Callable[..., Any]:
    """The same for a loop that makes no arrays and gives none back: it counts no references.

    Numba counts a reference to each array of each struct that comes in, with an atomic addition;
    what is called for every candidate must not. One that makes an array is refused when compiled.
    """
    return _compiled(loop, counting=False, forceinline=True)


def _compiled(loop: Callable[..., Any], *, counting: bool, **options: Any) -> Callable[..., Any]:
    options["_nrt"] = counting  # said to each, or a kernel takes after whoever calls it first
    config: Any = numba.config
    others = config.CACHE_DIR
    config.CACHE_DIR = _CACHE  # Numba looks when it is handed the loop, then no more
    try:
        return cast("Callable[..., Any]", numba.njit(cache=True, nogil=True, **options)(loop))
    finally:
        config.CACHE_DIR = others
