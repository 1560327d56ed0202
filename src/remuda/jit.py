"""The compile policy of all kernels, and the folders where compiled ones are kept.

A compiled kernel is found by what it was made of: its own code, and that of all kernels and the
values of all constants that it uses. Numba's own cache looks at the file that a kernel stands in
alone, and a constant changed in another one crashes it. So copies of a tree, and states of one
tree, share what is the same in them; nothing has to be thrown away when a file is saved.
"""

from __future__ import annotations

import gc
import hashlib
import inspect
import logging
import os
import pickle
import sys
import time
import types
import uuid
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any, cast

import llvmlite  # type: ignore[import-untyped]
import numba
import numpy as np
from numba.core import event
from numba.core.compiler_lock import global_compiler_lock
from numba.core.dispatcher import Dispatcher

from remuda.compiling import Kernel

_PATIENCE = 1.0  # seconds of compiling before a line says so
_DIGEST = 32  # bytes of a checksum, which stands before what is kept
_MOST_KEPT = 4096  # compiled kernels in a folder; a third of that is one state with all matchers
_VERSIONS = (sys.version_info[:3], sys.abiflags, numba.__version__, llvmlite.__version__)
_log = logging.getLogger("remuda")


def kernel(loop: Callable[..., Any]) -> Callable[..., Any]:
    """Compile `loop` on first call; kept on disk, free of the GIL.

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


def apart(loop: Callable[..., Any]) -> Callable[..., Any]:
    """The same as a call of its own: a hot loop within a large one finds no registers."""
    return _compiled(loop, counting=False)


def holding(loop: Callable[..., Any]) -> Callable[..., Any]:
    """A kernel that keeps the GIL while it runs: it reads Python's own objects."""
    return _compiled(loop, counting=True, nogil=False)


def _compiled(loop: Callable[..., Any], *, counting: bool, **options: Any) -> Callable[..., Any]:
    options["_nrt"] = counting  # said to each, or a kernel takes after whoever calls it first
    if numba.config.DISABLE_JIT:  # type: ignore[attr-defined]
        return loop
    options = {"nopython": True, "nogil": True, "boundscheck": None, **options}
    return cast("Callable[..., Any]", _KeptKernel(loop, targetoptions=options))


class _KeptKernel(Kernel):
    """A kernel whose parts are kept on disk; a torn file, or a folder full, does no harm."""

    def load(self, part: str, signature: Any) -> Any:
        self.targetctx.refresh()  # or functions that a kernel calls are not known yet
        name = self._name(part, signature)
        for folder in _folders():
            with suppress(Exception):  # whatever a damaged file raises: it is compiled anew
                body = (folder / name).read_bytes()
                if hashlib.sha256(body[_DIGEST:]).digest() == body[:_DIGEST]:
                    return pickle.loads(body[_DIGEST:])  # noqa: S301 - the folders are the user's
        return None

    def save(self, part: str, signature: Any, kept: bytes) -> None:
        name = self._name(part, signature)
        if not any(_written(folder, name, kept) for folder in _folders()):
            _say_once(
                "compiled kernels are not kept: %s cannot be written; set NUMBA_CACHE_DIR to a "
                "folder that can, or let `remuda warmup` fill one of them ahead",
                " and ".join(map(str, _folders())) or "no folder is known that",
            )

    def _name(self, part: str, signature: Any) -> str:
        machine = self.targetctx.codegen().magic_tuple()
        state = (_VERSIONS, machine, part, str(signature), _stamp(self))
        digest = hashlib.sha256(repr(state).encode()).hexdigest()[:32]
        return f"{self.py_func.__name__}-{digest}.kernel"


def _folders() -> list[Path]:
    """Where compiled kernels are looked for and kept: beside the sources, and the user's own."""
    if chosen := os.environ.get("NUMBA_CACHE_DIR"):
        return [Path(chosen) / "remuda"]
    folders = [Path(__file__).parent / "__pycache__" / "kernels"]
    with suppress(RuntimeError):  # nobody's home
        folders.append(Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "remuda")
    return folders


def kept_in() -> Path | None:
    """The folder that compiled kernels are kept in; None where none can be written."""
    for folder in _folders():
        there = next((one for one in (folder, *folder.parents) if one.exists()), folder)
        if os.access(there, os.W_OK):
            return folder
    return None


def _written(folder: Path, name: str, body: bytes) -> bool:
    """Whether the folder now has the kernel: another process sees all of it or nothing."""
    aside = folder / f".{uuid.uuid4().hex}"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        aside.write_bytes(hashlib.sha256(body).digest() + body)
        aside.replace(folder / name)
    except OSError:
        with suppress(OSError):
            aside.unlink()
        return False
    _tidy(folder)
    return True


@cache
def _tidy(folder: Path) -> None:
    """Remove the kernels that were kept longest ago where there are too many; once a process."""
    with suppress(OSError):
        kernels = sorted(folder.glob("*.kernel"), key=lambda path: path.stat().st_mtime)
        for path in kernels[: -_MOST_KEPT // 2] if len(kernels) > _MOST_KEPT else ():
            path.unlink(missing_ok=True)


@cache
def _stamp(dispatcher: Any) -> str:
    """What a kernel is made of: code, options, and all that it reaches by name."""
    config: Any = numba.config
    state = [repr((config.BOUNDSCHECK, sorted(dispatcher.targetoptions.items())))]
    pending, seen = [dispatcher.py_func], set[Any]()
    while pending:
        function = pending.pop()
        if function in seen:
            continue
        seen.add(function)
        state.append(f"{function.__module__}.{function.__qualname__}{function.__defaults__}")
        state += _code(function.__code__)
        for name, value in _reached(function):
            if isinstance(value, Dispatcher):
                pending.append(value.py_func)
                state.append(f"{name}: {sorted(value.targetoptions.items())}")
            else:
                state.append(f"{name}: {_described(value)}")
    return hashlib.sha256("\n".join(state).encode()).hexdigest()


def _code(code: types.CodeType) -> Iterator[str]:
    """A function's own instructions, without the places where they stand."""
    plain = [one for one in code.co_consts if not isinstance(one, types.CodeType)]
    yield repr((code.co_code, plain, code.co_names, code.co_varnames, code.co_freevars))
    for one in code.co_consts:
        if isinstance(one, types.CodeType):
            yield from _code(one)


def _reached(function: Any) -> list[tuple[str, Any]]:
    """The globals and outer variables that a function may use."""
    names = set[str]()
    pending = [function.__code__]
    while pending:
        code = pending.pop()
        names.update(code.co_names)
        pending += [one for one in code.co_consts if isinstance(one, types.CodeType)]
    reached = [(name, function.__globals__[name]) for name in names & function.__globals__.keys()]
    cells = zip(function.__code__.co_freevars, function.__closure__ or (), strict=True)
    return sorted([*reached, *((name, cell.cell_contents) for name, cell in cells)], key=_first)


def _first(pair: tuple[str, Any]) -> str:
    return pair[0]


def _described(value: Any) -> str:
    """A value that is built into a kernel; of our own code that Numba calls, its whole file."""
    if isinstance(value, np.ndarray | np.generic | tuple | int | float | str | bytes | None):
        return value.tobytes().hex() if isinstance(value, np.ndarray) else repr(value)
    if hasattr(value, "_fields"):  # a class of named tuples
        return repr((value.__name__, value._fields))
    origin = getattr(value, "__module__", None) or getattr(value, "__name__", None) or ""
    if not origin.startswith("remuda"):
        return f"{origin}.{getattr(value, '__qualname__', type(value).__name__)}"
    source = inspect.getsourcefile(getattr(value, "_defn", value))
    assert source is not None
    return hashlib.sha256(Path(source).read_bytes()).hexdigest()


@cache
def _say_once(line: str, *facts: Any) -> None:
    _log.warning(line, *facts)


class _Patience(event.Listener):
    """Says once that kernels are being compiled, when that takes long.

    Meanwhile nobody looks for cycles: there are few, and the search took an eighth of the time.
    """

    def __init__(self) -> None:
        self.started, self.spent = 0.0, 0.0
        self.depth, self.collects = 0, True  # one thread compiles at a time

    def on_start(self, _: Any) -> None:
        self.started = time.perf_counter()
        if self.depth == 0:
            self.collects = gc.isenabled()
            gc.disable()
        self.depth += 1

    def on_end(self, _: Any) -> None:
        self.depth -= 1
        if self.depth == 0 and self.collects:
            gc.enable()
        self.spent += time.perf_counter() - self.started
        self.started = time.perf_counter()
        if self.spent > _PATIENCE:
            _say_once(
                "compiling kernels for this machine, which takes a while and is kept for the next "
                "time; `remuda warmup` does it ahead"
            )


event.register("numba:compile", _Patience())  # type: ignore[no-untyped-call]


if hasattr(os, "register_at_fork"):  # a fork while another thread compiles could never compile
    os.register_at_fork(
        before=global_compiler_lock.acquire,
        after_in_parent=global_compiler_lock.release,
        after_in_child=global_compiler_lock.release,
    )
