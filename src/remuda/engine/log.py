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
from bisect import bisect_right
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple, TypeAlias

from remuda.errors import StorageError
from remuda.index.files import make_directory

FORMAT = 1
_MARK = b"\xff\xfeRM"  # 0xff is in no UTF-8, so no body contains it
_HEAD = struct.Struct("<4sQQI")  # mark, length of the body, durable position, body's checksum
_CHECK = struct.Struct("<I")  # the head's own checksum
_OVERHEAD = _HEAD.size + _CHECK.size
_PREFACE = re.compile(rb"remuda log (\d+)\n")
Apply: TypeAlias = Callable[[int, memoryview], None]  # takes a record's position and body

_CLOSED = "the engine is closed; open it again to change it"
_FORKED = (
    "process {} opened the engine, and this is a fork of it: searches go on here, changes there; "
    "open it again here with read_only, or once it is closed there"
)


class Log:
    """A log that many threads append to; those who wait share the syncing."""

    def __init__(self, directory: Path, end: int) -> None:
        """Go on at `end`, which `replay` found; what is behind it is cut off."""
        self.directory = directory
        self.end = self.base = end
        self.cut_by: type[BaseException] | None = None  # what stopped a change halfway
        self.closed = False
        self._durable = end
        self._failure: StorageError | None = None
        # Plain locks and no Condition: Ctrl-C may fall into the latter's Python code, and then
        # the lock is held for ever, or is another's that is let go.
        self._syncing, self._appending = threading.Lock(), threading.Lock()  # taken in this order
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
        with self._appending:
            self.check()
            head = _HEAD.pack(_MARK, len(body), self._durable, checksum)
            try:
                self._write([head, _CHECK.pack(zlib.crc32(head)), body])
            except OSError as error:
                why = error.strerror or str(error)
                reason = f"nothing was changed ({why}); try again when there is room"
                raise StorageError(str(self.path), reason) from None
            return self.end

    def wait(self, position: int) -> None:
        """Return when all before the position is durable; one thread syncs for all who wait."""
        with self._syncing:  # who comes next finds that the one before has synced for it, too
            if self._durable >= position:
                return
            self.check()
            goal = self.end
            try:
                _flush(self._file)
            except OSError as error:
                raise self._fail(error) from None
            self._durable = goal

    def rotate(self) -> None:
        """Begin a new file; where there is no room for one, the old file is written on."""
        with self._syncing, self._appending:
            self.check()
            path = _path(self.directory, self.end)
            try:
                os.ftruncate(self._file, self.size)  # a record that was cut short may lie there
                _flush(self._file)
            except OSError as error:
                raise self._fail(error) from None
            self._durable = self.end
            try:
                self._go_on_in(_create(path))
            except OSError as error:
                if path.exists():  # two files would go on from here
                    raise self._fail(error) from None
                raise _storage(path, error) from None
            except BaseException as error:
                self.cut_by = error.__class__
                raise

    def forget(self, before: int) -> None:
        """Remove the files that end at or before the position."""
        bases = _bases(self.directory)
        for base, following in pairwise(bases):
            if following <= before:
                _path(self.directory, base).unlink(missing_ok=True)

    @property
    def failed(self) -> bool:
        """Whether something ended the writing."""
        return self._failure is not None or self.cut_by is not None

    def check(self) -> None:
        """Raise what ended the writing, if anything did."""
        if self._failure is not None:
            raise StorageError(self._failure.path, self._failure.reason)
        if self.cut_by is not None:
            raise self._fail(self.cut_by.__name__)

    def close(self) -> None:
        """Refuse all further records."""
        with self._syncing, self._appending:
            self._end(_CLOSED)

    def abandon(self, process: int) -> None:
        """Refuse all further records here, in a fork of the process that writes."""
        self._syncing, self._appending = threading.Lock(), threading.Lock()
        self._end(_FORKED.format(process))

    def _end(self, reason: str) -> None:
        self._failure = StorageError(str(self.directory), reason)
        if not self.closed:
            self.closed = True
            os.close(self._file)

    def _fail(self, why: OSError | str) -> StorageError:
        """End all writing: what is in the log and what is in memory may no longer agree."""
        told = why if isinstance(why, str) else why.strerror or str(why)
        reason = f"a change was cut short ({told}); searches go on, changes after reopening"
        self._failure = self._failure or StorageError(str(self.path), reason)
        return self._failure

    def _go_on_in(self, file: int) -> None:
        """Append to this file from here on."""
        old, size = self._file, os.fstat(file).st_size
        self._file, self.base, self.end = file, self.end, self.end + size
        self._durable = self.end
        os.close(old)

    def _open(self) -> int:
        make_directory(self.directory)
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
        """Write at the end; one call to the system unless it takes less than was given.

        The end moves when all is written. What stops before it leaves bytes behind the end, which
        the next record is written over, or which are cut off when the log is opened again.
        """
        pieces, end = [memoryview(one) for one in blocks], self.end
        while pieces:
            n = os.pwritev(self._file, pieces, end - self.base)
            end += n
            while pieces and n >= len(pieces[0]):
                n -= len(pieces.pop(0))
            if pieces:
                pieces[0] = pieces[0][n:]
        self.end = end


def replay(directory: Path, since: int, apply: Apply) -> int:
    """Hand the body of each record from `since` on to `apply`, with its position; the end.

    The end is before a record that a crash cut short. Damage elsewhere is a StorageError.
    """
    bases = _bases(directory) if directory.is_dir() else []
    if not bases and since == 0:
        return 0
    # what ends before it is not needed, and the writer may be removing it
    bases = bases[max(0, bisect_right(bases, since) - 1) :]
    end = bases[0] if bases else 0
    for base in bases:
        if base != end:
            break
        end = _replay_file(_path(directory, base), base, base == bases[-1], apply)
    if not bases or bases[0] > since or bases[-1] > end or end < since:
        missing = since if not bases or bases[0] > since else end
        raise StorageError(str(directory), f"the records from position {missing} on are missing")
    return end


def tail(directory: Path, since: int, apply: Apply) -> int:
    """Hand over the records that another process has appended since a position that it had.

    The position behind the last that is whole: the one behind it may still be on its way.
    LookupError where a checkpoint has removed the file meanwhile.
    """
    while True:
        bases = [base for base in _bases(directory) if base <= since]
        if not bases:
            raise LookupError(since)
        end = _tail_file(_path(directory, bases[-1]), since - bases[-1], bases[-1], apply)
        following = _path(directory, end)
        if end == bases[-1] or not following.exists():
            return end
        since = end


def _tail_file(path: Path, at: int, base: int, apply: Apply) -> int:
    """Hand over the records of one file from a byte of it on."""
    try:
        with path.open("rb") as file:
            file.seek(at)
            data = memoryview(file.read())
    except FileNotFoundError:
        raise LookupError(base + at) from None
    first = _preface(path, data) if at == 0 else 0
    return base + at + _hand_over(data, first, base + at, apply)


class _Head(NamedTuple):
    mark: bytes
    length: int
    durable: int
    checksum: int


def _replay_file(path: Path, base: int, last: bool, apply: Apply) -> int:
    """Hand over the records of one file; the position behind the last that is whole."""
    data = _mapped(path)
    at = _hand_over(data, _preface(path, data), base, apply)
    if at < len(data) and (not last or _was_durable(data, at, base + at)):
        reason = f"it is damaged at byte {at}: a record there has a wrong checksum"
        raise StorageError(str(path), reason)
    return base + at


def _hand_over(data: memoryview, at: int, base: int, apply: Apply) -> int:
    """Hand over the records from a byte of the data on; the byte behind the last that is whole."""
    while (body := _body(data, at)) is not None:
        apply(base + at, body)
        at += _OVERHEAD + len(body)
    return at


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
    match = _PREFACE.match(data)
    if match is None:
        raise StorageError(str(path), "it is damaged at byte 0: it does not begin as a log does")
    if int(match[1]) > FORMAT:
        reason = f"it has format {int(match[1])}; this remuda reads up to {FORMAT}"
        raise StorageError(str(path), reason)
    return match.end()


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
    names = os.open(path.parent, os.O_RDONLY)  # first: there may be no descriptor left for it
    try:
        file = os.open(aside, os.O_RDWR | os.O_CREAT | os.O_TRUNC, 0o644)
        try:
            os.write(file, b"remuda log %d\n" % FORMAT)
            os.fsync(file)
            aside.rename(path)
            os.fsync(names)
        except BaseException:
            os.close(file)
            aside.unlink(missing_ok=True)
            raise
    finally:
        os.close(names)
    return file


def _path(directory: Path, base: int) -> Path:
    return directory / f"{base:016d}.log"


def _bases(directory: Path) -> list[int]:
    return sorted(int(one.stem) for one in directory.glob("[0-9]*.log"))


def _flush(file: int) -> None:
    getattr(os, "fdatasync", os.fsync)(file)  # it is not everywhere


def _storage(path: Path, error: OSError) -> StorageError:
    return StorageError(str(path), error.strerror or str(error))
