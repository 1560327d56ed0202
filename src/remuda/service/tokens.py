"""Tokens: who may do what, from a file that is read again when it changes."""

from __future__ import annotations

import hashlib
import logging
import re
import threading
import time
from enum import IntEnum
from os import PathLike
from pathlib import Path

from remuda.errors import StorageError

_EVERY = 1.0  # seconds between two looks at the file
_DIGEST = re.compile("[0-9a-f]{64}")
_SHORTEST = 16  # characters of a token: fewer can be guessed

_logger = logging.getLogger("remuda.service")


class Role(IntEnum):
    """What a token allows; each role may do what those before it may."""

    READ = 1
    WRITE = 2
    ADMIN = 3


class Tokens:
    """Roles by token. Only the tokens' digests are kept in memory.

    The file has a line a token: the role, then the token, or `sha256:` and its digest. Where it
    changes, it is read again; while it cannot be read, those read last stay valid.
    """

    def __init__(self, path: str | PathLike[str]) -> None:
        self._path = Path(path)
        self._lock = threading.Lock()
        self._looked = time.monotonic()
        self._stamp = self._seen()
        self._roles = self._read()

    def role(self, token: str) -> Role | None:
        """The role of a token; None where it is not known."""
        self._refresh()
        return self._roles.get(_digest(token))

    def _refresh(self) -> None:
        now = time.monotonic()
        if now - self._looked < _EVERY or not self._lock.acquire(blocking=False):
            return
        try:
            self._looked = now
            stamp = self._seen()
            if stamp != self._stamp:
                self._roles, self._stamp = self._read(), stamp
        except StorageError as error:
            _logger.warning("the tokens read last stay valid: %s", error)
        finally:
            self._lock.release()

    def _seen(self) -> tuple[int, int, int]:
        try:
            found = self._path.stat()
        except OSError as error:
            raise StorageError(str(self._path), error.strerror or str(error)) from None
        return found.st_mtime_ns, found.st_size, found.st_ino

    def _read(self) -> dict[str, Role]:
        try:
            lines = self._path.read_text(encoding="utf-8").splitlines()
        except (OSError, UnicodeError) as error:
            raise StorageError(str(self._path), str(error)) from None
        roles = {}
        for number, line in enumerate(lines, start=1):
            words = line.split()
            if words and not words[0].startswith("#"):
                digest, role = self._entry(words, number)
                roles[digest] = role
        return roles

    def _entry(self, words: list[str], number: int) -> tuple[str, Role]:
        role = Role.__members__.get(words[0].upper())
        if role is None or len(words) != 2:
            reason = f"line {number} is not a role (read, write, admin) and a token"
            raise StorageError(str(self._path), reason)
        token = words[1]
        if token.startswith("sha256:"):
            digest = token.removeprefix("sha256:").lower()
            if not _DIGEST.fullmatch(digest):
                raise StorageError(str(self._path), f"line {number}: a digest has 64 hex digits")
            return digest, role
        if len(token) < _SHORTEST:
            reason = f"line {number}: a token has {_SHORTEST} characters at least"
            raise StorageError(str(self._path), reason)
        return _digest(token), role


def _digest(token: str) -> str:
    return hashlib.sha256(token.encode("utf-8", "replace")).hexdigest()
