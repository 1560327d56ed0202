"""Visits: requests on their way, from the first look at one to the last byte of its answer."""

from __future__ import annotations

import itertools
import re
import secrets
import time
from collections.abc import Sequence
from typing import Any

from starlette.types import Message, Scope, Send

from remuda.service.metrics import ELSEWHERE

KEY = "remuda.visit"  # where a scope has its visit

_GOOD_ID = re.compile(rb"[\w.:-]{1,64}")
# to draw each costs a system call
_PROCESS, _NUMBERS = secrets.token_hex(4).encode(), itertools.count(1)


class Visit:
    """One request: its id, what it asks, and what was answered."""

    __slots__ = (
        "headers", "matches", "operation", "request_id", "scope", "send_on", "sent", "size",
        "started", "status",
    )  # fmt: skip

    def __init__(self, scope: Scope, send: Send, headers: list[tuple[bytes, bytes]]) -> None:
        self.scope, self.send_on = scope, send
        self.sent: dict[bytes, bytes] = dict(scope["headers"])  # the request's headers
        self.started = time.perf_counter()
        self.operation = ELSEWHERE
        self.status = self.size = self.matches = 0
        self.request_id = _request_id(self.sent.get(b"x-request-id"))
        self.headers = [(b"x-request-id", self.request_id.encode()), *headers]

    @property
    def begun(self) -> bool:
        """Whether the head of an answer was sent."""
        return self.status != 0

    async def send(self, message: Message) -> None:
        """Send a part of the answer, the head with what all answers have."""
        if message["type"] == "http.response.start":
            self.status = message["status"]
            message["headers"] = [*message["headers"], *self.headers]
        else:
            self.size += len(message.get("body", b""))
        await self.send_on(message)

    async def answer(
        self, status: int, headers: list[tuple[bytes, bytes]], body: bytes | memoryview
    ) -> None:
        """Send a whole answer."""
        self.status, self.size = status, len(body)
        headers += self.headers
        send = self.send_on
        await send({"type": "http.response.start", "status": status, "headers": headers})
        await send({"type": "http.response.body", "body": body})

    def fields(self, seconds: float) -> dict[str, Any]:
        """What is written down of it."""
        client = self.scope.get("client")
        return {
            "request": self.request_id,
            "method": self.scope["method"],
            "path": self.scope["path"][:1000],
            "operation": self.operation,
            "status": self.status,
            "seconds": round(seconds, 6),
            "bytes": self.size,
            "matches": self.matches,
            "client": client[0] if client else None,
        }


def from_fellow(server: Sequence[Any] | None) -> bool:
    """Whether another worker passes it on, and counts it: by a socket that has a path."""
    return server is not None and str(server[0])[:1] == "/"


def _request_id(sent: bytes | None) -> str:
    """The id that the request brings, if it is a plain one."""
    if sent is not None and _GOOD_ID.fullmatch(sent):
        return sent.decode("ascii")
    return new_request_id().decode()


def new_request_id() -> bytes:
    """An id that no other request has."""
    return b"%b%08x" % (_PROCESS, next(_NUMBERS))
