"""Connections: how long one may say nothing, and how long the head of a request may be.

uvicorn bounds neither for a connection that has not asked anything yet.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from remuda.service import shortcuts
from remuda.service.shortcuts import Shortcut, Shortcuts
from remuda.service.visits import from_fellow

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

    shortcuts: Shortcuts | None = None
    flow: Any
    limit_concurrency: int
    pipeline: Any
    scope: Any
    send_400_response: Callable[[str], None]
    server: Any
    server_state: Any
    timeout_keep_alive: float
    timeout_keep_alive_task: asyncio.TimerHandle | None

    _in_head, _n_bytes = True, 0
    _rests = True  # between two requests
    _arrived: tuple[bytes, int] = b"", 0  # a head, and the bytes behind it
    _common: tuple[Any, bytes] = None, b""  # the first lines of answers, and what they are made of
    _asked = 0.0  # when a shortcut was taken

    def connection_made(self, transport: asyncio.Transport) -> None:
        super().connection_made(transport)
        self.transport: Any = _Held(transport)
        self._straight = transport
        if from_fellow(self.server):
            self.shortcuts = None

    def on_response_complete(self) -> None:
        self.transport.flush()
        super().on_response_complete()  # type: ignore[misc]

    def on_message_begin(self) -> None:
        self._in_head, self._n_bytes, self._rests = True, 0, False
        super().on_message_begin()  # type: ignore[misc]

    def on_headers_complete(self) -> None:
        self._in_head = False
        self.scope[shortcuts.HEAD], self._arrived = self._arrived, (b"", 0)
        super().on_headers_complete()  # type: ignore[misc]

    def on_message_complete(self) -> None:
        self._rests = True
        super().on_message_complete()  # type: ignore[misc]

    def data_received(self, data: bytes) -> None:
        if self._rests and self.shortcuts is not None:
            end = data.find(b"\r\n\r\n") + 4
            shortcut = self.shortcuts.get(data[:end])
            if shortcut is not None and self._takes(shortcut, data, end):
                return
            self._arrived = (data[:end], len(data) - end) if data[:5] == b"POST " else (b"", 0)
        if self._in_head and self._n_bytes > HEAD:
            self.send_400_response("The head of the request is too long.")
            return
        super().data_received(data)  # type: ignore[misc]
        self._n_bytes += len(data)

    def _takes(self, shortcut: Shortcut, data: bytes, end: int) -> bool:
        """Answer the request that the data are, where nothing else is under way."""
        cycle, state = self.cycle, self.server_state
        if (
            len(data) != shortcut.size
            or (cycle is not None and not cycle.response_complete)
            or self.pipeline
            or self.flow.write_paused
            or self._straight.is_closing()
            or len(state.connections) >= self.limit_concurrency
            or len(state.tasks) >= self.limit_concurrency
        ):
            return False
        answer = shortcut.answer(data[end:])
        if answer is None:
            return False
        self._straight.write(self._first_lines() + answer)
        state.total_requests += 1
        self._before, self._asked = shortcut, self.loop.time()
        if self.timeout_keep_alive_task is None:
            self._wait(self.timeout_keep_alive)
        return True

    def _first_lines(self) -> bytes:
        headers = self.server_state.default_headers  # made anew every second
        if headers is not self._common[0]:
            lines = b"".join(b"%b: %b\r\n" % pair for pair in headers)
            self._common = headers, b"HTTP/1.1 200 OK\r\n" + lines
        return self._common[1]

    def _wait(self, seconds: float) -> None:
        self.timeout_keep_alive_task = self.loop.call_later(
            seconds, self.timeout_keep_alive_handler
        )

    def timeout_keep_alive_handler(self) -> None:
        left = self._asked + self.timeout_keep_alive - self.loop.time()
        if left > 0:
            self._wait(left)
        else:
            super().timeout_keep_alive_handler()  # type: ignore[misc]


def bounded(protocol: type[Any], idle: float, shortcuts: Shortcuts | None = None) -> type[Any]:
    """A protocol of uvicorn's whose connections cannot be held for nothing."""
    kind = _Bounded if hasattr(protocol, "on_headers_complete") else _Watched
    return type("Connection", (kind, protocol), {"idle": idle, "shortcuts": shortcuts})
