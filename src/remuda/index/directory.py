"""Directories of saved things: complete or not there, with a manifest by which they are checked."""

from __future__ import annotations

import json
import os
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, NamedTuple

import pyarrow as pa

from remuda.errors import StorageError
from remuda.index.files import filling, flush, storage_error

FORMAT = 3
MANIFEST = "manifest.json"
MANIFEST_CHECK = "manifest.json.crc"


class Manifest(NamedTuple):
    """What a directory says about itself, and the checksum of that."""

    facts: dict[str, Any]
    checksum: int

    @classmethod
    def of(cls, body: bytes, check: bytes, name: str) -> Manifest:
        """The manifest, once its checksum is seen to be right."""
        checksum = zlib.crc32(body)
        if json.loads(check) != {"crc32": checksum}:
            raise StorageError(name, "it is damaged: its checksum is wrong")
        return cls(json.loads(body), checksum)

    @classmethod
    def read(cls, directory: Path) -> Manifest:
        with named(directory / MANIFEST):
            content = (directory / MANIFEST).read_bytes(), (directory / MANIFEST_CHECK).read_bytes()
            return cls.of(*content, str(directory / MANIFEST))


class Writing:
    """The files of a directory that is being written, and what its manifest will say."""

    def __init__(self, home: Path, target: Path) -> None:
        self._home, self._target = home, target
        self._files: dict[str, dict[str, int]] = {}
        self.facts: dict[str, Any] = {}
        self.manifest_checksum: int | None = None  # when it is written

    def write(self, name: str, blocks: Iterable[bytes | memoryview]) -> None:
        """One file, with its size and checksum noted."""
        size = checksum = 0
        try:
            with (self._home / name).open("wb") as file:
                for block in blocks:
                    file.write(block)
                    size += len(block)
                    checksum = zlib.crc32(block, checksum)
                flush(file)
        except OSError as error:
            raise storage_error(self._target / name, error) from None
        self._files[name] = {"size": size, "crc32": checksum}

    def write_manifest(self) -> None:
        """Say what is there; the last file."""
        content = {"format": FORMAT, **self.facts, "files": dict(self._files)}
        body = json.dumps(content, indent=1).encode()
        self.manifest_checksum = zlib.crc32(body)
        self.write(MANIFEST, [body])
        self.write(MANIFEST_CHECK, [json.dumps({"crc32": self.manifest_checksum}).encode()])


@contextmanager
def new_directory(target: Path) -> Iterator[Writing]:
    """A directory that appears under its name only when it is complete."""
    try:
        with filling(target) as home:
            writing = Writing(home, target)
            yield writing
            writing.write_manifest()
    except OSError as error:
        raise storage_error(target, error) from None


class Reading:
    """A directory that was completed; damage in it is named.

    Sizes and the manifest are always looked at, the checksums of its files unless `verify` is off.
    """

    def __init__(self, path: Path, *, verify: bool = True) -> None:
        self.path, self._verify = path, verify
        with named(path / MANIFEST):
            self.facts = Manifest.read(path).facts
            self.format = int(self.facts["format"])
        if self.format > FORMAT:
            reason = f"it has format {self.format} and this remuda reads up to {FORMAT}"
            raise StorageError(str(path), f"{reason}: use a newer one")

    def map(self, name: str) -> memoryview:
        """The bytes of one file, mapped, after their checksum was seen to be right.

        The checksum is taken by reading, so that no page is in our memory before it is needed.
        """
        path = self.path / name
        with named(path):
            noted = self.facts["files"][name]
            with path.open("rb", buffering=0) as file:
                size = os.fstat(file.fileno()).st_size
                if size != noted["size"]:
                    raise StorageError(str(path), f"it has {size} bytes, not {noted['size']}")
                if self._verify and _crc32(file) != noted["crc32"]:
                    raise StorageError(str(path), "it is damaged: its checksum is wrong")
            return _mapped(path) if size else memoryview(b"")


@contextmanager
def named(path: Path) -> Iterator[None]:
    """Whatever goes wrong inside is a StorageError that names the file."""
    try:
        yield
    except StorageError:
        raise
    except OSError as error:
        raise storage_error(path, error) from None
    except Exception as error:
        reason = f"its content makes no sense: {type(error).__name__}: {error}"
        raise StorageError(str(path), reason) from error


def _mapped(path: Path) -> memoryview:
    """The file in memory, and no descriptor: Python's own maps hold one each, Arrow's none."""
    with pa.memory_map(str(path)) as file:
        return memoryview(file.read_buffer())


def _crc32(file: IO[bytes]) -> int:
    checksum, buffer = 0, bytearray(1 << 20)
    while n := file.readinto(buffer):  # type: ignore[attr-defined]
        checksum = zlib.crc32(memoryview(buffer)[:n], checksum)
    return checksum
