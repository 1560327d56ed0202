"""Checkpoints: the indexes of an engine as they were last saved, and what they are called.

NAMES             the index of each name, its saved version, and where the log goes on from it
indexes/NUMBER/   one saved index each

They are in the engine's directory or at a URI. NAMES is written last, so that readers find whole
checkpoints. At a URI it names its writer: of two engines that publish there the later has it, and
the other is told.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Collection
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias, TypeVar

import msgspec

from remuda.errors import StorageError
from remuda.index.files import checked, read_checked, sync, with_checksum, write_checked
from remuda.index.remote_files import RemoteFiles

FORMAT = 1
_NAMES, _INDEXES = "NAMES", "indexes"
_TRIES = 100  # checkpoints that may fall into the reading of one

T = TypeVar("T")


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
    writer: str = ""  # at a URI: who publishes there

    @property
    def first(self) -> int:
        """The position from which the log is needed."""
        return min([self.position, *(entry.since for entry in self.names.values())])


class _Format(msgspec.Struct):
    format: int


@dataclass(frozen=True, slots=True)
class Directory:
    """Checkpoints in the engine's own directory."""

    path: Path

    def __str__(self) -> str:
        return str(self.path)

    def exists(self) -> bool:
        """Whether anything was published."""
        return any((self.path / one).exists() for one in (_NAMES, _INDEXES))

    def read(self) -> Names:
        """The names as they were last published."""
        file = self.path / _NAMES
        try:
            return _decoded(read_checked(file), str(file))
        except StorageError:
            raise
        except OSError as error:
            raise _no_engine(str(file), error.strerror) from None

    def stamp(self) -> object:
        """What changes whenever names are published."""
        file = self.path / _NAMES
        try:
            found = file.stat()
        except OSError as error:
            raise _no_engine(str(file), error.strerror) from None
        return found.st_mtime_ns, found.st_size, found.st_ino

    def write(self, names: Names) -> None:
        """Publish the names, at once or not at all."""
        try:
            for directory in filter(Path.is_dir, (self.path / _INDEXES, self.path)):
                sync(directory)  # what the names speak of must not be lost when they are not
        except OSError as error:
            raise StorageError(str(self.path), error.strerror or str(error)) from None
        write_checked(self.path / _NAMES, _encoded(names))

    def index(self, number: int) -> Path:
        """Where the index with the number is saved."""
        return self.path / _INDEXES / _name(number)

    def has(self, number: int) -> bool:
        """Whether there is anything of that index."""
        return self.index(number).is_dir()

    def remove_all_but(self, numbers: Collection[int]) -> None:
        """Remove the indexes that have no name any more."""
        kept = {self.index(number) for number in numbers}
        for one in (self.path / _INDEXES).glob("[0-9]*"):
            if one not in kept:
                shutil.rmtree(one)


@dataclass(frozen=True, slots=True)
class Uploads:
    """Checkpoints at a URI; its methods promise what those of `Directory` do."""

    files: RemoteFiles
    writer: str = ""  # none: they are only read

    @classmethod
    def at(cls, uri: str) -> Uploads:
        """Those at a URI, to be read."""
        return cls(RemoteFiles.at(uri))

    def __str__(self) -> str:
        return self.files.uri

    def exists(self) -> bool:
        return self.files.exists(_NAMES)

    def read(self) -> Names:
        file = f"{self}/{_NAMES}"
        try:
            return _decoded(checked(self.files.read(_NAMES), file), file)
        except FileNotFoundError:
            raise _no_engine(file) from None

    def stamp(self) -> object:
        return self.read()

    def write(self, names: Names) -> None:
        if self.exists():
            self.check(self.read())
        self.take(names)

    def take(self, names: Names) -> None:
        """Publish the names as ours, whoever published before."""
        own = msgspec.structs.replace(names, writer=self.writer)
        self.files.write(_NAMES, with_checksum(_encoded(own)))

    def check(self, names: Names) -> None:
        """Refuse to go on from what another engine has published."""
        if names.writer != self.writer:
            reason = (
                "another engine has published here since; to go on from its checkpoint, open an "
                "empty directory with this URI"
            )
            raise StorageError(str(self), reason)

    def index(self, number: int) -> str:
        return f"{self}/{_INDEXES}/{_name(number)}"

    def has(self, number: int) -> bool:
        return bool(self.files.beneath(f"{_INDEXES}/{_name(number)}"))

    def remove_all_but(self, numbers: Collection[int]) -> None:
        kept = set(map(_name, numbers))
        for path in self.files.beneath(_INDEXES):
            if path.partition("/")[0] not in kept:
                self.files.remove(f"{_INDEXES}/{path}")


Checkpoints: TypeAlias = Directory | Uploads


def undisturbed(published: Checkpoints, read: Callable[[Names], T]) -> T:
    """What is read of the published names, once more where a checkpoint came between."""
    for _ in range(_TRIES):
        names = published.read()
        try:
            return read(names)
        except (StorageError, OSError):
            if published.read() == names:  # else a checkpoint has removed what we looked for
                raise
    raise StorageError(str(published), "checkpoints come faster than they can be read")


def _name(number: int) -> str:
    return f"{number:06d}"


def _encoded(names: Names) -> bytes:
    return msgspec.json.encode(names) + b"\n"


def _decoded(body: bytes, file: str) -> Names:
    found = msgspec.json.decode(body, type=_Format).format
    if found > FORMAT:  # looked at first: the rest may have changed
        raise StorageError(file, f"it has format {found}; this remuda reads up to {FORMAT}")
    return msgspec.json.decode(body, type=Names)


def _no_engine(file: str, why: str | None = None) -> StorageError:
    return StorageError(file, "there is no engine here" + (f": {why}" if why else ""))
