"""Shortcuts: questions that are answered where they arrive, without a task and its messages.

A client asks again and again in the same words, but for the body. So the head of a request that
was answered well is remembered, byte by byte, with all that was read in it and found good: what
comes with the same head needs only its body read. All that is not plain goes the long way, what
fails here, too; the long way says why.
"""

from __future__ import annotations

import time
from typing import Any

import msgspec

from remuda.service.calls import JSON, Call, encoded
from remuda.service.relaying import SEQUENCE
from remuda.service.visits import Visit, new_request_id

HEAD = "remuda.head"  # where a scope has the request's head, and how many bytes came with it

_LONGEST = 4 << 10  # bytes of a head that is remembered
_MOST = 1_024  # heads that are
# with them there is more to do than to answer; or the next request has other ones
_ODD = {b"transfer-encoding", b"expect", b"upgrade", SEQUENCE, b"x-request-id", b"traceparent"}


class Shortcut:
    """What answers requests with one head."""

    __slots__ = ("_at_once", "_call", "_decode", "_head", "size")

    def __init__(self, call: Call, size: int) -> None:
        (kind,) = call.endpoint.takes.values()
        self.size = size  # of a request, in bytes
        self._decode = msgspec.json.Decoder(kind).decode
        self._at_once: Any = call.endpoint.at_once
        scope = {one: call.scope[one] for one in ("headers", "path_params")}
        visit = Visit(scope, _never, [])
        self._call = Call(call.service, call.endpoint, scope, _never, visit)
        own = b"".join(b"%b: %b\r\n" % pair for pair in call.visit.headers[1:])
        kept = b"content-length: %d\r\ncontent-type: " + JSON.encode() + b"\r\nx-request-id: %b\r\n"
        self._head = kept + own.replace(b"%", b"%%") + b"\r\n%b"

    def answer(self, body: bytes) -> bytes | None:
        """The answer without its first lines; None where it is to be sought the long way."""
        started = time.perf_counter()
        call, visit = self._call, self._call.visit
        visit.matches = 0
        try:
            call.admit()
            found = self._at_once(call, self._decode(body))
            if found is None:
                return None
            text = encoded(found)
        except Exception:  # the long way meets it again, and answers for it
            return None
        seconds = time.perf_counter() - started
        call.service.counts.count(call.endpoint.name, 200, seconds, visit.matches)
        return self._head % (len(text), new_request_id(), text)


class Shortcuts:
    """Shortcuts by the heads of requests."""

    def __init__(self) -> None:
        self._known: dict[bytes, Shortcut] = {}
        self.get = self._known.get

    def learn(self, call: Call) -> None:
        """Remember the head of a request that was answered, if it was a plain one."""
        head, n = call.scope.get(HEAD, (b"", 0))
        if not 0 < len(head) <= _LONGEST or head in self._known or not _is_plain(call, n):
            return
        if len(self._known) >= _MOST:
            del self._known[next(iter(self._known))]
        self._known[head] = Shortcut(call, len(head) + n)


def _is_plain(call: Call, n: int) -> bool:
    """Whether there was nothing to see to but a body of n bytes."""
    sent, scope = call.visit.sent, call.scope
    return (
        scope["http_version"] == "1.1"
        and sent.get(b"content-length") == b"%d" % n
        and _ODD.isdisjoint(sent)
        and all(value == b"keep-alive" for name, value in scope["headers"] if name == b"connection")
    )


async def _never(*_: Any) -> Any:
    raise AssertionError("the body is there, and the answer goes another way")
