"""An engine's directory: its log, and its checkpoints unless they are at a URI.

path/LOCK              the writer's lock
path/set-aside.jsonl   what could not be applied, if anything; its reader may remove it
path/log/              the changes since the last checkpoint
path/CHECKPOINTS       the URI at which checkpoints are published, if they are, and by which writer
path/NAMES, indexes/   the checkpoints themselves, where there is no such URI
"""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from os import PathLike, fspath
from pathlib import Path

import msgspec

from remuda.engine.checkpoints import Checkpoints, Directory, Names, Uploads
from remuda.errors import StorageError
from remuda.index.files import is_local, make_directory, read_checked, write_checked
from remuda.index.remote_files import RemoteFiles


class _Elsewhere(msgspec.Struct):
    """Where checkpoints are published, and by which name of ours."""

    uri: str
    writer: str


@dataclass(frozen=True, slots=True)
class Home:
    """A directory for the log and the lock, and where checkpoints are published."""

    path: Path
    checkpoints: Checkpoints

    @classmethod
    def at(cls, path: Path, uri: str | PathLike[str] | None = None) -> Home:
        """A directory whose checkpoints are where they were; of a new one, at the URI if given."""
        if uri is not None and is_local(uri):
            raise StorageError(fspath(uri), "checkpoints are in the engine's directory or at a URI")
        wanted = None if uri is None else RemoteFiles.at(fspath(uri)).uri
        elsewhere, own = _elsewhere(path), cls(path, Directory(path))
        there = elsewhere.uri if elsewhere is not None else path if own.begun() else None
        if wanted is not None and there not in (None, wanted):
            raise StorageError(str(path), f"its checkpoints are at {there}, not at {wanted}")
        if elsewhere is None and wanted is not None:
            elsewhere = _Elsewhere(wanted, uuid.uuid4().hex)
        if elsewhere is None:
            return own
        return cls(path, Uploads(RemoteFiles.at(elsewhere.uri), elsewhere.writer))

    @property
    def log(self) -> Path:
        return self.path / "log"

    @property
    def set_aside(self) -> Path:
        return self.path / "set-aside.jsonl"

    def begun(self) -> bool:
        """Whether there is anything of an engine here."""
        return self.log.exists() or self.checkpoints.exists()

    def begin(self) -> Names:
        """What was published last; of a new engine, what is from now on."""
        own = self.checkpoints
        if isinstance(own, Uploads):
            return self._begin_at(own)
        if not self.begun():
            own.write(Names())
        return own.read()

    def _begin_at(self, own: Uploads) -> Names:
        """A new directory goes on from what is at the URI, and publishes there from then on."""
        if _elsewhere(self.path) is not None:
            names = own.read()
            own.check(names)
            return names
        names = own.read() if own.exists() else Names()
        own.take(names)
        make_directory(self.path)
        body = msgspec.json.encode(_Elsewhere(str(own), own.writer))
        write_checked(_told(self.path), body + b"\n")
        return names


def _elsewhere(path: Path) -> _Elsewhere | None:
    try:
        return msgspec.json.decode(read_checked(_told(path)), type=_Elsewhere)
    except FileNotFoundError:
        return None


def _told(path: Path) -> Path:
    return path / "CHECKPOINTS"
