"""The write-ahead log: records that outlive the process once they are acknowledged.

directory/POSITION.log   a preface, then records; named by the position of its first byte

Positions count bytes from file to file. A record is a head and a body; its head says how long the
body is and up to which position the log was durable when it was written. So a broken record can
be judged: when one behind it knew it durable, it was acknowledged and is damaged; when none did,
it is what a crash left of a record that no one was told of, and is cut off.
"""

from __future__ import annotations

import mmap
import os
import re
import struct
import threading
import zlib
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

from remuda.errors import StorageError
from remuda.index.files import place, sync

FORMAT = 1
_MARK = b"\xff\xfeRM"  # 0xff is in no UTF-8, so no body contains it
_HEAD = struct.Struct("<4sQQI")  # mark, length of the body, durable position, body's checksum
_CHECK = struct.Struct("<I")  # the head's own checksum
_OVERHEAD = _HEAD.size + _CHECK.size
_PREFACE = re.compile(rb"remuda log (\d+)\n")
_CLOSED = "the engine is closed; open it again to change it"


class Log:
    """A log that many threads append to; those who wait share the syncing."""

    def __init__(self, directory: Path, end: int) -> None:
        """Go on at `end`, which `replay` found; what is behind it is cut off."""
        self.directory = directory
        self.end = self.base = end
        self._durable = end
        self._failure: StorageError | None = None
        self._turn = threading.Condition()
        self._syncing = False
        self.closed = False
        try:
            self._file = self._open()
        except OSError as error:
            raise _storage(directory, error) from None

    @property
    def path(self) -> Path:
        """The file that is appended to."""
        return _path(self.directory, self.base)

    @property
    def size(self) -> int:
        """The bytes in that file."""
        return self.end - self.base

    def append(self, body: bytes) -> int:
        """Write a record; the position behind it, for `wait`."""
        checksum = zlib.crc32(body)
        with self._turn:
            self.check()
            head = _HEAD.pack(_MARK, len(body), self._durable, checksum)
            try:
                self._write([head, _CHECK.pack(zlib.crc32(head)), body])
            except OSError as error:
                raise self.fail(error) from None
            except BaseException as error:  # such as Ctrl-C: half a record may be there
                self.fail(error)
                raise
            return self.end

    def wait(self, position: int) -> None:
        """Return when all before the position is durable; one thread syncs for all who wait."""
        with self._turn:
            while self._durable < position:
                self.check()
                if not self._syncing:
                    break
                self._turn.wait()
            else:
                return
            self._syncing = True
            goal = self.end
        try:
            _flush(self._file)
        except OSError as error:
            raise self.fail(error) from None
        else:
            self._durable = goal  # all who wait look only after the next lines
        finally:
            with self._turn:
                self._syncing = False
                self._turn.notify_all()

    def rotate(self) -> None:
        """Begin a new file."""
        with self._turn:
            while self._syncing:
                self._turn.wait()
            self.check()
            old = self._file
            try:
                _flush(old)
                self._durable = self.end
                self._file = _create(_path(self.directory, self.end))
            except OSError as error:
                raise self.fail(error) from None
            os.close(old)
            self.base, self.end = self.end, self.end + os.fstat(self._file).st_size
            self._durable = self.end

    def forget(self, before: int) -> None:
        """Remove the files that end at or before the position."""
        bases = _bases(self.directory)
        for base, following in pairwise(bases):
            if following <= before:
                _path(self.directory, base).unlink(missing_ok=True)

    @property
    def failed(self) -> bool:
        """Whether something ended the writing."""
        return self._failure is not None

    def check(self) -> None:
        """Raise what ended the writing, if anything did."""
        if self._failure is not None:
            raise StorageError(self._failure.path, self._failure.reason)

    def fail(self, error: BaseException) -> StorageError:
        """End all writing: what is in the log and what is in memory may no longer agree."""
        if self._failure is None:
            why = getattr(error, "strerror", None) or str(error) or type(error).__name__
            reason = f"a change was cut short ({why}); searches go on, changes after reopening"
            self._failure = StorageError(str(self.path), reason)
        return self._failure

    def close(self) -> None:
        """Refuse all further records."""
        with self._turn:
            while self._syncing:
                self._turn.wait()
            if not self.closed:
                os.close(self._file)
            self.closed = True
            self._failure = StorageError(str(self.directory), _CLOSED)

    def _open(self) -> int:
        if not self.directory.is_dir():
            self.directory.mkdir()
            sync(self.directory.parent)
        for stray in self.directory.glob(".*.log"):
            stray.unlink()
        bases = _bases(self.directory)
        if not bases:
            file = _create(_path(self.directory, self.end))
            self.end = self._durable = self.base + os.fstat(file).st_size
            return file
        self.base = bases[-1]
        file = os.open(self.path, os.O_RDWR)
        os.ftruncate(file, self.size)
        os.fsync(file)
        return file

    def _write(self, blocks: list[bytes]) -> None:
        """Write at the end; one call to the system unless it takes less than was given."""
        pieces = [memoryview(one) for one in blocks]
        while pieces:
            n = os.pwritev(self._file, pieces, self.size)
            self.end += n
            while pieces and n >= len(pieces[0]):
                n -= len(pieces.pop(0))
            if pieces:
                pieces[0] = pieces[0][n:]


def replay(directory: Path, since: int, apply: Callable[[int, memoryview], None]) -> int:
    """Hand the body of each record from `since` on to `apply`, with its position; the end.

    The end is before a record that a crash cut short. Damage elsewhere is a StorageError.
    """
    bases = _bases(directory) if directory.is_dir() else []
    if not bases and since == 0:
        return 0
    end = bases[0] if bases else 0
    for base in bases:
        if base != end:
            break
        end = _replay_file(_path(directory, base), base, base == bases[-1], apply)
    if not bases or bases[0] > since or bases[-1] > end or end < since:
        missing = since if not bases or bases[0] > since else end
        raise StorageError(str(directory), f"the records from position {missing} on are missing")
    return end


class _Head(NamedTuple):
    mark: bytes
    length: int
    durable: int
    checksum: int


def _replay_file(
    path: Path, base: int, last: bool, apply: Callable[[int, memoryview], None]
) -> int:
    """Hand over the records of one file; the position behind the last that is whole."""
    data = _mapped(path)
    at = _preface(path, data)
    while at < len(data):
        body = _body(data, at)
        if body is None:
            if not last or _was_durable(data, at, base + at):
                reason = f"it is damaged at byte {at}: a record there has a wrong checksum"
                raise StorageError(str(path), reason)
            break
        apply(base + at, body)
        at += _OVERHEAD + len(body)
    return base + at


def _body(data: memoryview, at: int) -> memoryview | None:
    """The body of the record at a byte of the file, None unless it is whole."""
    head = _head(data, at)
    if head is None:
        return None
    body = data[at + _OVERHEAD :][: head.length]
    whole = len(body) == head.length and zlib.crc32(body) == head.checksum
    return body if whole else None


def _head(data: memoryview, at: int) -> _Head | None:
    packed = data[at : at + _OVERHEAD]
    if len(packed) < _OVERHEAD or packed[:4] != _MARK:
        return None
    (checksum,) = _CHECK.unpack(packed[_HEAD.size :])
    if zlib.crc32(packed[: _HEAD.size]) != checksum:
        return None
    return _Head(*_HEAD.unpack(packed[: _HEAD.size]))


def _was_durable(data: memoryview, broken: int, position: int) -> bool:
    """Whether a whole record behind the broken one knew it to be durable."""
    behind = re.finditer(re.escape(_MARK), data[broken + 1 :])
    for found in behind:
        at = broken + 1 + found.start()
        head = _head(data, at)
        if head is not None and head.durable > position and _body(data, at) is not None:
            return True
    return False


def _preface(path: Path, data: memoryview) -> int:
    """The length of the preface, once the format is seen to be ours."""
    found = _PREFACE.match(data)
    if found is None:
        raise StorageError(str(path), "it is damaged at byte 0: it does not begin as a log does")
    if int(found[1]) > FORMAT:
        reason = f"it has format {int(found[1])}; this remuda reads up to {FORMAT}"
        raise StorageError(str(path), reason)
    return found.end()


def _mapped(path: Path) -> memoryview:
    try:
        with path.open("rb") as file:
            if os.fstat(file.fileno()).st_size == 0:
                return memoryview(b"")
            return memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
    except OSError as error:
        raise _storage(path, error) from None


def _create(path: Path) -> int:
    """A new file with its preface, durable under its name."""
    aside = path.with_name(f".{path.name}")
    file = os.open(aside, os.O_RDWR | os.O_CREAT | os.O_TRUNC, 0o644)
    try:
        os.write(file, b"remuda log %d\n" % FORMAT)
        os.fsync(file)
        place(aside, path)
    except BaseException:
        os.close(file)
        raise
    return file


def _path(directory: Path, base: int) -> Path:
    return directory / f"{base:016d}.log"


def _bases(directory: Path) -> list[int]:
    return sorted(int(one.stem) for one in directory.glob("[0-9]*.log"))


def _flush(file: int) -> None:
    getattr(os, "fdatasync", os.fsync)(file)  # it is not everywhere


def _storage(path: Path, error: OSError) -> StorageError:
    return StorageError(str(path), error.strerror or str(error))
