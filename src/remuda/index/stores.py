"""Stores: where an index lives, a directory of this machine or a URI.

Readers map local files only, so a store gives every version and every segment as a directory of
this machine: as it is, or as a copy in the cache. Nothing in a store is ever changed but CURRENT,
which is written last (docs/decisions/uris.md).
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any, Protocol, TypeAlias

from remuda.errors import StorageError
from remuda.index.directory import Manifest, Writing, named, new_directory
from remuda.index.files import is_local, local, writing
from remuda.index.locking import Lock

CURRENT, VERSIONS, SEGMENTS = "CURRENT", "versions", "segments"


class Store(Protocol):
    """The versions and segments of an index, and the name of its newest version."""

    @property
    def grace(self) -> float:
        """Seconds for which what no version names may be the work of another builder."""

    def __str__(self) -> str: ...

    def exists(self) -> bool:
        """Whether there is an index."""

    def current(self) -> bytes:
        """The content of CURRENT as it is; StorageError where there is none."""

    def write_current(self, content: bytes) -> None: ...

    def names(self, kind: str) -> dict[str, float]:
        """The versions or segments, and when each was written.

        What is not complete has a dot before its name.
        """

    def version(self, name: str) -> Path:
        """A directory of this machine with a version."""

    def segment(self, entry: Mapping[str, Any]) -> Path:
        """A directory of this machine with a segment, by its entry in a version."""

    def manifest(self, segment: str) -> Manifest:
        """What a segment says about itself, without the rest of it."""

    def home(self, segment: str) -> str:
        """What tells a segment apart from all others, in any store."""

    def has(self, segment: str) -> bool:
        """Whether a segment is there, complete."""

    def new(self, kind: str, name: str) -> AbstractContextManager[Writing]:
        """A version or segment that is there only when it is complete.

        StorageError where another builder has taken the name of a version meanwhile.
        """

    def remove(self, kind: str, name: str) -> None: ...

    def turn(self, wait: float = 0.0) -> AbstractContextManager[object]:
        """A writer's turn, where the store can keep another one out from the start."""


Location: TypeAlias = str | PathLike[str] | Store


def store_of(location: Location) -> Store:
    """The store at a path or URI; StorageError names a scheme that is not served."""
    if not isinstance(location, str | PathLike):
        return location
    if is_local(location):
        return Directory(local(location))
    from remuda.index.remote import Remote

    return Remote.at(os.fspath(location))


def address(location: Location) -> str:
    """The store's own name for itself, which means the same in every working directory."""
    return str(store_of(location))


@dataclass(frozen=True, slots=True)
class Directory:
    """A directory whose files are mapped where they are; one process writes at a time."""

    path: Path
    grace: float = 0.0  # whoever has the turn is alone

    def __str__(self) -> str:
        return str(self.path.absolute())  # a link stays one: it may lead elsewhere on a worker

    def exists(self) -> bool:
        return (self.path / CURRENT).exists()

    def current(self) -> bytes:
        file = self.path / CURRENT
        try:
            return file.read_bytes()
        except OSError as error:
            raise StorageError(str(file), f"there is no index here: {error.strerror}") from None

    def write_current(self, content: bytes) -> None:
        with named(self.path / CURRENT), writing(self.path / CURRENT) as file:
            file.write(content)

    def names(self, kind: str) -> dict[str, float]:
        home = self.path / kind
        found = home.iterdir() if home.is_dir() else ()
        return {one.name: one.stat().st_mtime for one in found}

    def version(self, name: str) -> Path:
        return self.path / VERSIONS / name

    def segment(self, entry: Mapping[str, Any]) -> Path:
        return self.path / SEGMENTS / str(entry["segment"])

    def manifest(self, segment: str) -> Manifest:
        return Manifest.read(self.path / SEGMENTS / segment)

    def home(self, segment: str) -> str:
        return str((self.path / SEGMENTS / segment).resolve())

    def has(self, segment: str) -> bool:
        return (self.path / SEGMENTS / segment).exists()

    def new(self, kind: str, name: str) -> AbstractContextManager[Writing]:
        return new_directory(self.path / kind / name)

    def remove(self, kind: str, name: str) -> None:
        shutil.rmtree(self.path / kind / name)

    def turn(self, wait: float = 0.0) -> AbstractContextManager[object]:
        return Lock(self.path, wait)
