"""Calls: one request, with what its endpoint may ask of it."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from importlib.metadata import version
from ipaddress import ip_address
from typing import Any, TypeVar
from urllib.parse import unquote

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from remuda.engine.engine import Engine
from remuda.service.limits import Limits
from remuda.service.problems import Refused, problem, response
from remuda.service.tokens import Role, Tokens

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
    pool: ThreadPoolExecutor = field(init=False)

    def __post_init__(self) -> None:
        self.pool = ThreadPoolExecutor(self.limits.threads, "remuda-service")


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


@dataclass(frozen=True, slots=True)
class Call:
    """A request to an endpoint."""

    service: Service
    endpoint: Endpoint
    request: Request

    @property
    def engine(self) -> Engine:
        return self.service.engine

    @property
    def index(self) -> str:
        """The name of the index in the path."""
        return self._segment("index")

    @property
    def id(self) -> str:
        """The id of the criterion in the path."""
        return self._segment("id")

    def _segment(self, name: str) -> str:
        return unquote(self.request.path_params[name], errors="strict")

    def admit(self) -> None:
        """Refuse those who may not call this."""
        role, tokens = self.endpoint.role, self.service.tokens
        if tokens is None:
            _check_host(self.request.headers.get("host", ""))
        elif role is not None:
            scheme, _, token = self.request.headers.get("authorization", "").partition(" ")
            known = tokens.role(token.strip()) if scheme.lower() == "bearer" else None
            if known is None:
                raise Refused(401, "send the header Authorization: Bearer, with a token")
            if known < role:
                raise Refused(403, f"this needs the role {role.name.lower()}")

    @property
    def kind(self) -> str:
        """The type of the body's content, which is one that the endpoint takes."""
        takes = self.endpoint.takes
        header = self.request.headers.get("content-type", "")
        kind = header.partition(";")[0].strip().lower()
        if kind not in takes:
            raise Refused(415, f"send {' or '.join(takes)} as the content type, not {kind!r}")
        encoding = self.request.headers.get("content-encoding", "identity")
        if encoding != "identity":
            raise Refused(415, f"send the body as it is, not as {encoding!r}")
        return kind

    async def body(self) -> bytes:
        """The whole body, within the limit."""
        most = self.service.limits.body
        length = self.request.headers.get("content-length", "0")
        if not length.isdecimal() or int(length) > most:
            raise Refused(413, f"a body has {most:,} bytes at most: send it in parts")
        pieces, size = [], 0
        async for piece in self.request.stream():
            size += len(piece)
            if size > most:
                raise Refused(413, f"a body has {most:,} bytes at most: send it in parts")
            pieces.append(piece)
        return b"".join(pieces)

    async def read(self, type: type[T]) -> T:
        """The body as a value of the type."""
        _ = self.kind
        return msgspec.json.decode(await self.body(), type=type)

    def options(self, type: type[S]) -> S:
        """The query as a value of the type."""
        query = self.request.query_params
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


def _check_host(host: str) -> None:
    """Refuse names that are not this machine's: a page elsewhere may have had them point here."""
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
    return Response(msgspec.json.encode(value, enc_hook=_plain), status, media_type=JSON)


def _plain(value: Any) -> Any:
    return value.tolist() if hasattr(value, "tolist") else str(value)  # NumPy's, or a path
