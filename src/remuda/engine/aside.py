"""What an engine could not apply when it was opened: kept beside the log, with the reason.

What enters an engine was read, planned and written once before it is acknowledged; so this is for
logs of older versions, and for what no one thought of. One record must not lock up the others.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Iterable
from pathlib import Path

import msgspec

from remuda.errors import StorageError
from remuda.index.files import sync
from remuda.index.index import Index
from remuda.language.criterion import Criterion

_logger = logging.getLogger("remuda.engine")


class SetAside(msgspec.Struct, frozen=True):
    """A criterion, or a whole record of the log, that was left out, and why."""

    position: int  # of its record in the log; -1: it is in a saved index
    index: str | None  # None: not known
    id: str | None
    reason: str
    document: str  # as it was written; empty for one in a saved index


class _Named(msgspec.Struct):
    id: str


def read(path: Path) -> list[SetAside]:
    """All that was set aside, oldest first; half a line that a crash left is none."""
    try:
        lines = path.read_bytes().splitlines() if path.exists() else []
    except OSError as error:
        raise StorageError(str(path), error.strerror or str(error)) from None
    entries = []
    for line in lines:
        try:
            entries.append(msgspec.json.decode(line, type=SetAside))
        except msgspec.DecodeError:
            continue
    return entries


def write(path: Path, more: Iterable[SetAside]) -> list[SetAside]:
    """Add what is not there yet, durably; what that is."""
    known = {(one.position, one.index, one.id) for one in read(path)}
    new = [one for one in more if (one.position, one.index, one.id) not in known]
    if not new:
        return []
    try:
        with path.open("ab") as file:
            for one in new:
                file.write(b"\n" + msgspec.json.encode(one))  # before it may be half a line
            file.write(b"\n")
            file.flush()
            os.fsync(file.fileno())
        sync(path.parent)
    except OSError as error:
        raise StorageError(str(path), error.strerror or str(error)) from None
    return new


def warn(new: Iterable[SetAside]) -> None:
    """Say what was set aside."""
    for one in new:
        what = f"criterion {one.id!r}" if one.id is not None else "something without an id"
        where = f"index {one.index!r}" if one.index is not None else "the log"
        _logger.warning(
            "%s of %s was set aside: %s; Engine.set_aside() has it", what, where, one.reason
        )


def readable(index: Index, name: str) -> tuple[list[Criterion], list[SetAside]]:
    """The criteria of a saved index that can be read, in their order, and the others."""
    pairs: list[tuple[int, Criterion]] = []
    unread = []
    for part in index.parts:
        roster = part.roster
        for place in part.places().tolist():
            try:
                criterion = roster.criteria[place]
            except Exception as error:
                unread.append(SetAside(-1, name, roster.ids[place], described(error), ""))
            else:
                pairs.append((int(roster.orders[place]), criterion))
    return [one for _, one in sorted(pairs, key=lambda pair: pair[0])], unread


def set_aside(
    error: BaseException, document: bytes | memoryview, position: int, id: str | None = None
) -> SetAside:
    """What failed with the error; its index is filled in when its name is known."""
    text = bytes(document).decode("utf-8", "backslashreplace")
    return SetAside(position, None, id, described(error), text)


def described(error: BaseException) -> str:
    """What went wrong, in one line."""
    return f"{type(error).__name__}: {error}"


def id_of(document: bytes) -> str | None:
    """The id of a criterion that could not be read, where that much can be."""
    try:
        return msgspec.json.decode(document, type=_Named).id
    except (msgspec.MsgspecError, RecursionError, UnicodeError):
        return None
