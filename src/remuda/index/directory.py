"""Directories of saved things: written aside, synced, renamed into place, checked when read."""

from __future__ import annotations

import json
import mmap
import os
import shutil
import zlib
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import IO, Any

from remuda.errors import StorageError

FORMAT = 2
_MANIFEST = "manifest.json"


class Writing:
    """A directory that appears under its name only when it is complete."""

    def __init__(self, target: Path) -> None:
        self.target = target
        self.aside = target.with_name(f".{target.name}.{os.getpid()}")
        self.files: dict[str, dict[str, int]] = {}
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.rmtree(self.aside, ignore_errors=True)
            self.aside.mkdir()
        except OSError as error:
            raise _storage(target, error) from None

    def write(self, name: str, blocks: Iterable[bytes]) -> None:
        """One file, with its size and checksum noted."""
        size = checksum = 0
        try:
            with (self.aside / name).open("wb") as file:
                for block in blocks:
                    file.write(block)
                    size += len(block)
                    checksum = zlib.crc32(block, checksum)
                file.flush()
                os.fsync(file.fileno())
        except BaseException as error:  # Ctrl-C, too, leaves nothing behind
            self.give_up()
            if isinstance(error, OSError):
                raise _storage(self.target / name, error) from None
            raise
        self.files[name] = {"size": size, "crc32": checksum}

    def finish(self, facts: dict[str, Any]) -> None:
        """Write the manifest and put the directory in its place."""
        content = {"format": FORMAT, **facts, "files": self.files}
        body = json.dumps(content, indent=1).encode()
        checked = json.dumps({"crc32": zlib.crc32(body)}).encode()
        try:
            for name, data in ((_MANIFEST, body), (f"{_MANIFEST}.crc", checked)):
                with (self.aside / name).open("wb") as file:
                    file.write(data)
                    file.flush()
                    os.fsync(file.fileno())
            sync(self.aside)
            self.aside.rename(self.target)
            sync(self.target.parent)
        except BaseException as error:
            self.give_up()
            if isinstance(error, OSError):
                raise _storage(self.target, error) from None
            raise

    def give_up(self) -> None:
        shutil.rmtree(self.aside, ignore_errors=True)


class Reading:
    """A directory that was completed; damage in it is named."""

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            body = (path / _MANIFEST).read_bytes()
            checked = json.loads((path / f"{_MANIFEST}.crc").read_bytes())
            if checked != {"crc32": zlib.crc32(body)}:
                raise StorageError(str(path / _MANIFEST), "it is damaged: its checksum is wrong")
            self.facts: dict[str, Any] = json.loads(body)
        except (OSError, ValueError) as error:
            if isinstance(error, StorageError):
                raise
            raise _storage(path / _MANIFEST, error) from None
        found = self.facts["format"]
        if found != FORMAT:
            advice = "use a newer one" if found > FORMAT else "build the index anew"
            reason = f"it has format {found} and this remuda reads format {FORMAT}: {advice}"
            raise StorageError(str(path), reason)

    def map(self, name: str) -> memoryview:
        """The bytes of one file, mapped, after their checksum was seen to be right.

        The checksum is taken by reading, so that no page is in our memory before it is needed.
        """
        path, noted = self.path / name, self.facts["files"][name]
        try:
            with path.open("rb", buffering=0) as file:
                size = os.fstat(file.fileno()).st_size
                if size != noted["size"]:
                    raise StorageError(str(path), f"it has {size} bytes, not {noted['size']}")
                if _crc32(file) != noted["crc32"]:
                    raise StorageError(str(path), "it is damaged: its checksum is wrong")
                if size == 0:
                    return memoryview(b"")
                return memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
        except OSError as error:
            if isinstance(error, StorageError):
                raise
            raise _storage(path, error) from None


def point(path: Path, to: str) -> None:
    """Make the pointer file name another version, at once or not at all."""
    aside = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with aside.open("w", encoding="utf-8") as file:
            file.write(to + "\n")
            file.flush()
            os.fsync(file.fileno())
        aside.replace(path)
        sync(path.parent)
    except OSError as error:
        raise _storage(path, error) from None


def make_directory(directory: Path) -> None:
    """Make the directory and those above it where they are missing, all under durable names."""
    missing = [one for one in (directory, *directory.parents) if not one.exists()]
    for one in reversed(missing):
        one.mkdir(exist_ok=True)
        with suppress(PermissionError):  # whoever may write there need not be allowed to read
            sync(one.parent)


def sync(directory: Path) -> None:
    """Make the names in a directory durable."""
    handle = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _crc32(file: IO[bytes]) -> int:
    checksum, buffer = 0, bytearray(1 << 20)
    while n := file.readinto(buffer):  # type: ignore[attr-defined]
        checksum = zlib.crc32(memoryview(buffer)[:n], checksum)
    return checksum


def _storage(path: Path, error: Exception) -> StorageError:
    return StorageError(str(path), getattr(error, "strerror", None) or str(error))
