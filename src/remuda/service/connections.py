"""Connections: how long one may say nothing, and how long the head of a request may be.

uvicorn bounds neither for a connection that has not asked anything yet.
"""

from __future__ import annotations

import asyncio
from typing import Any

HEAD = 64 << 10  # bytes of a request's head


class _Watched:
    """A connection that is closed when it asks nothing for too long, or too slowly."""

    idle = 60.0
    cycle: Any
    loop: asyncio.AbstractEventLoop
    transport: asyncio.Transport

    def connection_made(self, transport: asyncio.Transport) -> None:
        super().connection_made(transport)  # type: ignore[misc]
        self._before: Any = None  # what was under way at the last look
        self._look = self.loop.call_later(self.idle, self._watch)

    def connection_lost(self, error: Exception | None) -> None:
        self._look.cancel()
        super().connection_lost(error)  # type: ignore[misc]

    def _watch(self) -> None:
        now = self.cycle
        if (now is None or now.response_complete) and now is self._before:
            self.transport.close()
            return
        self._before = now
        self._look = self.loop.call_later(self.idle, self._watch)


class _Held:
    """A transport that sends the head of an answer together with what comes next.

    uvicorn writes them one after the other, and each is a call to the system, a packet, and a
    reader that is woken.
    """

    def __init__(self, transport: asyncio.Transport) -> None:
        self._transport, self._head = transport, b""

    def write(self, data: bytes) -> None:
        if self._head:
            data, self._head = self._head + data, b""
        elif data.startswith(b"HTTP/1.1 ") and data[9:10] != b"1":  # 100 is to be sent at once
            self._head = data
            return
        self._transport.write(data)

    def flush(self) -> None:
        """Send a head that nothing came after."""
        if self._head:
            self._transport.write(self._head)
            self._head = b""

    def close(self) -> None:
        self.flush()
        self._transport.close()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)


class _Bounded(_Watched):
    """The same for httptools, which itself takes a head of any length."""

    _in_head, _n_bytes = True, 0

    def connection_made(self, transport: asyncio.Transport) -> None:
        super().connection_made(transport)
        self.transport: Any = _Held(transport)

    def on_response_complete(self) -> None:
        self.transport.flush()
        super().on_response_complete()  # type: ignore[misc]

    def on_message_begin(self) -> None:
        self._in_head, self._n_bytes = True, 0
        super().on_message_begin()  # type: ignore[misc]

    def on_headers_complete(self) -> None:
        self._in_head = False
        super().on_headers_complete()  # type: ignore[misc]

    def data_received(self, data: bytes) -> None:
        if self._in_head and self._n_bytes > HEAD:
            self.send_400_response("The head of the request is too long.")
            return
        super().data_received(data)  # type: ignore[misc]
        self._n_bytes += len(data)

    def send_400_response(self, words: str) -> None:
        super().send_400_response(words)  # type: ignore[misc]


def bounded(protocol: type[Any], idle: float) -> type[Any]:
    """A protocol of uvicorn's whose connections cannot be held for nothing."""
    kind = _Bounded if hasattr(protocol, "on_headers_complete") else _Watched
    return type("Connection", (kind, protocol), {"idle": idle})
