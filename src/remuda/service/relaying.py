"""Relays: how a worker that follows passes on what only the writer can do.

The writer listens on a socket in a directory that is this user's alone, and speaks HTTP there,
too. A request is passed on whole, and answered when the writer has answered.
"""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass
from pathlib import Path

from starlette.responses import Response
from starlette.types import Scope

from remuda.engine.engine import Engine
from remuda.service.problems import Refused

SEQUENCE = b"x-remuda-sequence"  # a position of the log: of a change, or what a question must see

_PATIENCE = 10.0  # seconds in which the writer may be started again
_LAG = 30.0  # seconds in which a change must have been followed
_PAUSE = 0.05
_LOOK = 0.002  # seconds between two looks at what was followed
_PASSED_BACK = {b"content-type", b"location", b"www-authenticate", SEQUENCE}
_OWN = {
    b"connection", b"keep-alive", b"transfer-encoding", b"content-length", b"expect", b"te",
    b"upgrade", b"x-request-id",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Relay:
    """The way from a worker to the writer, and what the worker has followed."""

    path: Path
    engine: Engine

    async def forward(self, scope: Scope, body: bytes, request_id: str) -> Response:
        """What the writer answers to a request."""
        reader, writer = await self._connected()
        try:
            writer.write(_head(scope, len(body), request_id) + body)
            await writer.drain()
            return _answer(await reader.read())
        except (OSError, EOFError):
            reason = "the writer has ended while it was asked; a change may have been made"
            raise Refused(503, reason) from None
        finally:
            writer.close()

    async def _connected(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        until = time.monotonic() + _PATIENCE
        while True:
            try:
                return await asyncio.open_unix_connection(str(self.path))
            except OSError:
                if time.monotonic() > until:
                    reason = "the writer does not answer, nothing was changed; try again"
                    raise Refused(503, reason) from None
            await asyncio.sleep(_PAUSE)

    async def see(self, sequence: bytes) -> None:
        """Wait until a change is seen here."""
        if not sequence.isdigit() or len(sequence) > 18:
            raise Refused(400, "a sequence number is what the answer to a change had")
        wanted, until = int(sequence), time.monotonic() + _LAG
        while self.engine.position < wanted:
            if time.monotonic() > until:
                raise Refused(503, f"change {wanted} is not seen here yet; try again")
            await asyncio.sleep(_LOOK)


def _head(scope: Scope, size: int, request_id: str) -> bytes:
    query = b"?" + scope["query_string"] if scope["query_string"] else b""
    lines = [b"%s %s%s HTTP/1.1" % (scope["method"].encode(), scope["path"].encode(), query)]
    lines += [b"%s: %s" % pair for pair in scope["headers"] if pair[0] not in _OWN]
    own = b"content-length: %d\r\nconnection: close\r\nx-request-id: %s"
    return b"\r\n".join([*lines, own % (size, request_id.encode()), b"", b""])


def _answer(raw: bytes) -> Response:
    """The answer in what was read to the end; EOFError where it breaks off."""
    head, between, body = raw.partition(b"\r\n\r\n")
    lines = head.split(b"\r\n")
    pairs = [line.partition(b": ") for line in lines[1:]]
    headers = {name.lower(): value for name, _, value in pairs}
    if not between or len(body) != int(headers.get(b"content-length", b"0")):
        raise EOFError
    found = Response(body, int(lines[0].split(b" ")[1]))
    found.raw_headers = [
        *(pair for pair in found.raw_headers if pair[0] == b"content-length"),
        *(pair for pair in headers.items() if pair[0] in _PASSED_BACK),
    ]
    return found
