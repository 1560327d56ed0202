"""An engine's directory: what its indexes are called, and where they are.

path/NAMES             the index of each name, its saved version, and where the log goes on from it
path/LOCK              the writer's lock
path/set-aside.jsonl   what could not be applied, if anything; its reader may remove it
path/log/              the changes since
path/indexes/NUMBER/   one saved index each
"""

from __future__ import annotations

import shutil
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

import msgspec

from remuda.errors import StorageError
from remuda.index.files import read_checked, sync, write_checked

FORMAT = 1


class Entry(msgspec.Struct, frozen=True):
    """An index: its number, its saved version, and the position from which changes are newer."""

    index: int
    version: str | None  # None: it was empty
    since: int
    matcher: str
    scalars: list[str]
    hierarchies: dict[str, list[tuple[str | int, str | int | None]]] = {}


class Names(msgspec.Struct, frozen=True):
    """All indexes by name, as they were at a position of the log."""

    names: dict[str, Entry] = {}
    position: int = 0
    next_index: int = 1
    format: int = FORMAT

    @property
    def first(self) -> int:
        """The position from which the log is needed."""
        return min([self.position, *(entry.since for entry in self.names.values())])


class _Format(msgspec.Struct):
    format: int


@dataclass(frozen=True, slots=True)
class Home:
    """The paths of an engine's directory."""

    path: Path

    @property
    def names(self) -> Path:
        return self.path / "NAMES"

    @property
    def log(self) -> Path:
        return self.path / "log"

    @property
    def set_aside(self) -> Path:
        return self.path / "set-aside.jsonl"

    @property
    def indexes(self) -> Path:
        return self.path / "indexes"

    def index(self, number: int) -> Path:
        """Where the index with the number is saved."""
        return self.indexes / f"{number:06d}"

    def begun(self) -> bool:
        """Whether there is anything of an engine here."""
        return any(one.exists() for one in (self.names, self.log, self.indexes))

    def read(self) -> Names:
        """The names as they were last published."""
        try:
            body = read_checked(self.names)
        except StorageError:
            raise
        except OSError as error:
            reason = f"there is no engine here: {error.strerror}"
            raise StorageError(str(self.names), reason) from None
        found = msgspec.json.decode(body, type=_Format).format
        if found > FORMAT:  # looked at first: the rest may have changed
            reason = f"it has format {found}; this remuda reads up to {FORMAT}"
            raise StorageError(str(self.names), reason)
        return msgspec.json.decode(body, type=Names)

    def stamp(self) -> tuple[int, int, int]:
        """What changes whenever names are published."""
        try:
            found = self.names.stat()
        except OSError as error:
            reason = f"there is no engine here: {error.strerror}"
            raise StorageError(str(self.names), reason) from None
        return found.st_mtime_ns, found.st_size, found.st_ino

    def write(self, names: Names) -> None:
        """Publish the names, at once or not at all."""
        try:
            for directory in filter(Path.is_dir, (self.indexes, self.path)):
                sync(directory)  # what the names speak of must not be lost when they are not
        except OSError as error:
            raise StorageError(str(self.path), error.strerror or str(error)) from None
        write_checked(self.names, msgspec.json.encode(names) + b"\n")

    def remove_all_but(self, numbers: Collection[int]) -> None:
        """Remove the directories of indexes that have no name any more."""
        kept = {self.index(number) for number in numbers}
        for one in self.indexes.glob("[0-9]*"):
            if one not in kept:
                shutil.rmtree(one)
