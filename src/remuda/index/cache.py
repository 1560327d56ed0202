"""Copies of what lives elsewhere, on this machine: one a machine, whoever asks for it.

REMUDA_CACHE/KEY/       a copy, complete; KEY is a hash of where it is from and of its checksum
REMUDA_CACHE/KEY.lock/  held by the process that makes the copy

A copy that is used is touched. When copies take more than REMUDA_CACHE_BYTES together, those that
were not used for longest go, but none that was used just now. Who has one mapped keeps its pages.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from remuda.errors import StorageError
from remuda.index.files import aside, filling, make_directory, place
from remuda.index.locking import Lock

CACHE, CACHE_BYTES = "REMUDA_CACHE", "REMUDA_CACHE_BYTES"
_MOST = 64 << 30  # bytes, where the environment says nothing
_FRESH = 600.0  # seconds for which a copy that was used stays in any case
_PATIENCE = 3600.0  # seconds that a process waits for another's copy
_LOCK = ".lock"


def cache_home() -> Path:
    """The directory of the copies."""
    named = os.environ.get(CACHE)
    if named:
        return Path(named)
    try:
        base = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    except RuntimeError:  # no home
        base = Path(tempfile.gettempdir())
    return base / "remuda" / "stores"


def key_of(*facts: str) -> str:
    return hashlib.sha256("\n".join(facts).encode()).hexdigest()[:32]


def kept(key: str, fill: Callable[[Path], None]) -> Path:
    """The copy under the key; where there is none, `fill` makes it in an empty directory."""
    target = cache_home() / key
    if not _used(target):
        make_directory(target.parent)
        with Lock(target.with_name(key + _LOCK), _PATIENCE):
            if not _used(target):
                _fill(target, fill)
        evict(most_bytes())
    return target


def adopt(key: str, complete: Path) -> None:
    """Keep what was made here, under the key of what was made of it elsewhere."""
    _put(complete, cache_home() / key)


def scratch(name: str) -> Path:
    """A name on the cache's disk for what is not complete."""
    make_directory(cache_home())
    return aside(cache_home() / name)


def evict(most: int) -> None:
    """Remove the copies that were not used for longest until the others take no more than that."""
    copies = []
    for copy in cache_home().iterdir():
        try:
            copies.append((copy.stat().st_mtime, _size(copy), copy))
        except FileNotFoundError:  # another process did the same
            continue
    total = sum(size for _, size, _ in copies)
    newest = time.time() - _FRESH
    for used, size, copy in sorted(copies):
        if total <= most or used > newest:
            break
        shutil.rmtree(copy, ignore_errors=True)
        total -= size


def most_bytes() -> int:
    text = os.environ.get(CACHE_BYTES, str(_MOST))
    if not text.isdecimal():
        raise StorageError(CACHE_BYTES, f"it is a number of bytes, not {text!r}")
    return int(text)


def _used(target: Path) -> bool:
    """Whether the copy is there; it counts as used now."""
    try:
        os.utime(target)
    except FileNotFoundError:
        return False
    except PermissionError:  # another user's, which can be read all the same
        pass
    return True


def _fill(target: Path, fill: Callable[[Path], None]) -> None:
    try:
        with filling(target) as unfinished:
            fill(unfinished)
    except OSError:
        if not target.is_dir():  # where it is, another process was quicker
            raise


def _put(complete: Path, target: Path) -> None:
    """Give a copy its name, unless another process was quicker: theirs is the same."""
    try:
        place(complete, target)
    except OSError:
        shutil.rmtree(complete, ignore_errors=True)
        if not target.is_dir():
            raise


def _size(directory: Path) -> int:
    return sum(one.stat().st_size for one in directory.iterdir() if one.is_file())
