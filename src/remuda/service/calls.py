"""Calls: one request, with what its endpoint may ask of it."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import lru_cache, partial
from importlib.metadata import version
from ipaddress import ip_address
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import unquote

import msgspec
from starlette.datastructures import QueryParams
from starlette.requests import ClientDisconnect
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from remuda.engine.engine import Engine
from remuda.index.matches import Matches
from remuda.service.bodies import Problem
from remuda.service.jobs import Jobs
from remuda.service.limits import Limits
from remuda.service.metrics import Counts
from remuda.service.problems import Refused, problem, response
from remuda.service.relaying import Relay
from remuda.service.tokens import Role, Tokens
from remuda.service.visits import KEY, Visit

T = TypeVar("T")
S = TypeVar("S", bound=msgspec.Struct)

VERSION = version("remuda")
JSON, NDJSON = "application/json", "application/x-ndjson"
ARROW = "application/vnd.apache.arrow.stream"


@dataclass(slots=True)
class Service:
    """An engine and the terms on which it is served; without tokens, to this machine alone."""

    engine: Engine
    limits: Limits = field(default_factory=Limits)
    tokens: Tokens | None = None
    ready: threading.Event = field(default_factory=threading.Event)
    counts_in: Path | None = None  # the file that counts are kept in, if they are shared
    count_hits: bool = False
    relay: Relay | None = None  # the way to the writer, where this worker is another
    pool: ThreadPoolExecutor = field(init=False)
    jobs: Jobs = field(init=False)
    counts: Counts = field(init=False)

    def __post_init__(self) -> None:
        self.pool = ThreadPoolExecutor(self.limits.threads, "remuda-service")
        self.jobs = Jobs(self.limits.jobs)


def _problem(error: Exception, request_id: str) -> Response:
    return response(problem(error, request_id))


@dataclass(frozen=True, slots=True)
class Endpoint:
    """What is answered at a path, for whom, and with which types; by type of content."""

    method: str
    path: str
    role: Role | None  # None: anybody
    handle: Callable[[Call], Awaitable[Response]]
    summary: str
    takes: Mapping[str, Any] = field(default_factory=dict)
    options: type[msgspec.Struct] | None = None
    gives: Mapping[str, Any] = field(default_factory=dict)
    statuses: tuple[int, ...] = (200,)
    failed: Callable[[Exception, str], Response] = _problem  # the answer to an error
    refusal: tuple[str, Any] = ("application/problem+json", Problem)  # its types
    by_writer: bool = False  # the process that writes answers; others pass it on
    # the same for a body that was read, where nothing is to be waited for; else None
    at_once: Callable[[Call, Any], Any] | None = None

    @property
    def name(self) -> str:
        return self.handle.__name__


@dataclass(slots=True)  # not frozen, which takes twice as long to make
class Call:
    """A request to an endpoint."""

    service: Service
    endpoint: Endpoint
    scope: Scope
    receive: Receive
    visit: Visit

    @property
    def engine(self) -> Engine:
        return self.service.engine

    @property
    def index(self) -> str:
        """The name of the index in the path."""
        return self._segment("index")

    @property
    def id(self) -> str:
        """The id of the criterion, or of the job, in the path."""
        return self._segment("id")

    def _segment(self, name: str) -> str:
        written: str = self.scope["path_params"][name]
        return unquote(written, errors="strict") if "%" in written else written

    def header(self, name: str) -> str:
        """A header of the request, empty where there is none."""
        return self.visit.sent.get(name.encode(), b"").decode("latin-1")

    def admit(self) -> None:
        """Refuse those who may not call this."""
        role, tokens = self.endpoint.role, self.service.tokens
        if tokens is None:
            _check_host(self.visit.sent.get(b"host", b""))
        elif role is not None:
            scheme, _, token = self.header("authorization").partition(" ")
            known = tokens.role(token.strip()) if scheme.lower() == "bearer" else None
            if known is None:
                raise Refused(401, "send the header Authorization: Bearer, with a token")
            if known < role:
                raise Refused(403, f"this needs the role {role.name.lower()}")

    @property
    def kind(self) -> str:
        """The type of the body's content, which is one that the endpoint takes."""
        takes, sent = self.endpoint.takes, self.visit.sent
        kind = _kind(sent.get(b"content-type", b""))
        if kind not in takes:
            raise Refused(415, f"send {' or '.join(takes)} as the content type, not {kind!r}")
        if sent.get(b"content-encoding", b"identity") not in {b"identity", b""}:
            encoding = self.header("content-encoding")
            raise Refused(415, f"send the body as it is, not as {encoding!r}")
        return kind

    async def body(self) -> bytes:
        """The whole body, within the limit."""
        most = self.service.limits.body
        length = self.visit.sent.get(b"content-length") or b"0"
        if not length.isdigit() or int(length) > most:
            raise _too_large(most)
        more, pieces, size = True, [], 0
        while more:
            body, more = await self._piece()
            size += len(body)
            if size > most:
                raise _too_large(most)
            pieces.append(body)
        return body if len(pieces) == 1 else b"".join(pieces)

    async def pieces(self) -> AsyncIterator[bytes]:
        """The body as it arrives."""
        more = True
        while more:
            body, more = await self._piece()
            yield body

    async def _piece(self) -> tuple[bytes, bool]:
        """What has arrived of the body, and whether more will."""
        message = await self.receive()
        if message["type"] == "http.disconnect":
            raise ClientDisconnect
        return message.get("body", b""), message.get("more_body", False)

    async def read(self, type: type[T]) -> T:
        """The body as a value of the type."""
        _ = self.kind
        decoder: msgspec.json.Decoder[T] | None = _DECODERS.get(type)
        if decoder is None:
            decoder = _DECODERS[type] = msgspec.json.Decoder(type)
        return decoder.decode(await self.body())

    def options(self, type: type[S]) -> S:
        """The query as a value of the type."""
        query = QueryParams(self.scope["query_string"])
        known = [one.encode_name for one in msgspec.structs.fields(type)]
        unknown = sorted(set(query) - set(known))
        if unknown:
            raise Refused(400, f"there is no option {unknown[0]!r}; there are {', '.join(known)}")
        found: dict[str, Any] = {
            name: query.getlist(name) if name == "tags" else query[name] for name in query
        }
        return msgspec.convert(found, type, strict=False)

    async def work(self, function: Callable[..., T], *arguments: Any, **named: Any) -> T:
        """What a function gives that may take its time, in a thread.

        After the deadline nobody waits for it, but its thread stays taken until it is done: a
        stranger cannot have more of them than there are.
        """
        call = partial(function, *arguments, **named)
        return await asyncio.get_running_loop().run_in_executor(self.service.pool, call)

    def found(self, ids: Sequence[str]) -> None:
        """Count criteria that were found."""
        self.visit.matches += len(ids)
        if self.service.count_hits:
            self.service.counts.count_hits(self.index, ids)

    def found_many(self, matches: Matches | None) -> None:
        """Count what was found for a portion of events."""
        if matches is None:
            return
        self.visit.matches += len(matches.positions)
        if self.service.count_hits:
            for i in range(len(matches)):
                self.service.counts.count_hits(self.index, matches.ids(i))


_DECODERS: dict[Any, msgspec.json.Decoder[Any]] = {}  # there are as many as types of bodies


def _too_large(most: int) -> Refused:
    return Refused(413, f"a body has {most:,} bytes at most: send it in parts")


@lru_cache(maxsize=256)
def _kind(header: bytes) -> str:
    """The type of content that a header names, without what it says besides."""
    return header.decode("latin-1").partition(";")[0].strip().lower()


@lru_cache(maxsize=256)
def _check_host(header: bytes) -> None:
    """Refuse names that are not this machine's: a page elsewhere may have had them point here."""
    host = header.decode("latin-1")
    name = host.rpartition("]")[0].removeprefix("[") or host.partition(":")[0]
    if not is_loopback(name):
        raise Refused(421, f"without tokens only this machine is served, not {host!r}")


def is_loopback(name: str) -> bool:
    """Whether a name or address is this machine's own."""
    try:
        return name == "localhost" or ip_address(name).is_loopback
    except ValueError:
        return False


def json(value: Any, status: int = 200) -> Response:
    """An answer in JSON."""
    return _Json(encoded(value), status)


class _Json(Response):
    """An answer in JSON, made without looking at anything that it could have been."""

    def __init__(self, body: bytes, status: int) -> None:
        self.body, self.status_code, self.background = body, status, None
        self.raw_headers = [(b"content-length", b"%d" % len(body)), _JSON]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        visit: Visit = scope[KEY]
        await visit.answer(self.status_code, self.raw_headers, self.body)


_JSON = (b"content-type", JSON.encode())


def _plain(value: Any) -> Any:
    return value.tolist() if hasattr(value, "tolist") else str(value)  # NumPy's, or a path


encoded = msgspec.json.Encoder(enc_hook=_plain, decimal_format="number").encode
