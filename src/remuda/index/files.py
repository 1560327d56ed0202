"""Files and directories that have their names only when they are complete and durable."""

from __future__ import annotations

import os
import re
import shutil
import uuid
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from os import PathLike
from pathlib import Path
from typing import IO

from remuda.errors import StorageError

_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+):/")  # one letter is a drive
_FILE = re.compile(r"file:(?://)?(/(?!/).*)", re.DOTALL | re.IGNORECASE)


def local(path: str | PathLike[str]) -> Path:
    """The path, once it is seen to be of this machine; `file:///…` is, other schemes are not.

    Looked at before anything makes a `Path` of it: that writes `s3://bucket` as `s3:/bucket`.
    """
    text = os.fspath(path)
    if is_local(text):
        served = _FILE.fullmatch(text)
        return Path(text if served is None else served[1])
    scheme = _SCHEME.match(text)
    assert scheme is not None
    reason = f"{scheme[1]}: is not a file system of this machine; name a directory or a mount"
    raise StorageError(text, reason)


def is_local(path: str | PathLike[str]) -> bool:
    """Whether the path is of this machine: without a scheme, or with `file:`."""
    text = os.fspath(path)
    return _SCHEME.match(text) is None or _FILE.fullmatch(text) is not None


def aside(target: Path) -> Path:
    """Another name beside the target, for what is not complete."""
    return target.with_name(f".{target.name}.{uuid.uuid4().hex[:8]}")


@contextmanager
def writing(target: Path) -> Iterator[IO[bytes]]:
    """A file that takes the place of the target when all went well; else nothing is left of it."""
    unfinished = aside(target)
    try:
        with unfinished.open("wb") as file:
            yield file
            flush(file)
        place(unfinished, target)
    except BaseException:  # Ctrl-C, too, leaves nothing behind
        with suppress(OSError):
            unfinished.unlink(missing_ok=True)
        raise


@contextmanager
def filling(target: Path) -> Iterator[Path]:
    """A new directory that takes the name of the target when all went well, likewise."""
    unfinished = aside(target)
    make_directory(target.parent)
    unfinished.mkdir()
    try:
        yield unfinished
        sync(unfinished)
        place(unfinished, target)
    except BaseException:
        shutil.rmtree(unfinished, ignore_errors=True)
        raise


def place(unfinished: Path, target: Path) -> None:
    """Give what is complete its name."""
    unfinished.replace(target)
    sync(target.parent)


def flush(file: IO[bytes]) -> None:
    """Make the bytes of a file durable."""
    file.flush()
    os.fsync(file.fileno())


def sync(directory: Path) -> None:
    """Make the names in a directory durable, where the system can."""
    if os.name == "nt":  # which opens no directories
        return
    try:
        handle = os.open(directory, os.O_RDONLY)
    except PermissionError:  # whoever may write there and not read cannot do more
        return
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def make_directory(path: Path) -> None:
    """The directory and all above it, their names durable."""
    if not path.is_dir():
        make_directory(path.parent)
        path.mkdir(exist_ok=True)
        sync(path.parent)


def write_checked(path: Path, body: bytes) -> None:
    """A small file with its checksum in the first line, at once or not at all."""
    try:
        with writing(path) as file:
            file.write(with_checksum(body))
    except OSError as error:
        raise storage_error(path, error) from None


def read_checked(path: Path) -> bytes:
    """The body of such a file."""
    return checked(path.read_bytes(), str(path))


def with_checksum(body: bytes) -> bytes:
    return _checksum(body) + b"\n" + body


def checked(content: bytes, name: str) -> bytes:
    """The body, once its checksum is seen to be right."""
    checksum, _, body = content.partition(b"\n")
    if checksum != _checksum(body):
        raise StorageError(name, "it is damaged: its checksum is wrong")
    return body


def storage_error(path: Path, error: Exception) -> StorageError:
    """What went wrong, with the file that it went wrong with."""
    if isinstance(error, StorageError):
        return error
    return StorageError(str(path), getattr(error, "strerror", None) or str(error) or repr(error))


def _checksum(body: bytes) -> bytes:
    return b"%08x" % zlib.crc32(body)
