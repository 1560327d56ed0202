"""Clients: the engine's methods, answered by a service."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Generator, Mapping
from functools import wraps
from importlib.metadata import version
from itertools import chain, repeat
from types import ModuleType
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, TypeAlias, TypeVar, cast

import msgspec

from remuda import errors
from remuda.client import requests
from remuda.client.requests import Asked, Unfinished
from remuda.errors import RemudaError, ServiceError

if TYPE_CHECKING:
    import httpx

P = ParamSpec("P")
T = TypeVar("T")
Reply: TypeAlias = "httpx.Response | Exception | None"  # None: nothing was sent yet
Steps: TypeAlias = Generator[tuple[float, dict[str, Any]], Reply, T]

_PAUSES = (0.1, 0.5)  # seconds before a request is sent again
_LOOKS = (0.02, 0.05, 0.1, 0.25, 0.5, 1.0)  # seconds between looks at a job; the last again
_VERSION = "x-remuda-version"
_SEQUENCE = "x-remuda-sequence"
_OWN = version("remuda")

_logger = logging.getLogger("remuda.client")


def _now(build: Callable[P, Asked[T]]) -> Callable[Concatenate[Client, P], T]:
    """The method that sends the request and waits for its answer; of a job, for its end."""

    @wraps(build)
    def method(self: Client, /, *arguments: P.args, **named: P.kwargs) -> T:
        return self._take(_steps(build(*arguments, **named), self._changes))

    return method


def _later(build: Callable[P, Asked[T]]) -> Callable[Concatenate[AsyncClient, P], Awaitable[T]]:
    """The same, to be awaited."""

    @wraps(build)
    async def method(self: AsyncClient, /, *arguments: P.args, **named: P.kwargs) -> T:
        return await self._take(_steps(build(*arguments, **named), self._changes))

    return method


class _Changes:
    """The number of the last change that a client has made: what it asks later must see it."""

    def __init__(self) -> None:
        self._last = 0

    def headers(self) -> dict[str, str]:
        return {_SEQUENCE: str(self._last)} if self._last else {}

    def note(self, response: httpx.Response) -> None:
        number = response.headers.get(_SEQUENCE, "")
        if number.isdecimal():
            self._last = max(self._last, int(number))


class Client:
    """An engine that a service has: its methods, errors and answers.

    Events are sent as JSON: a date arrives as text. A request whose answer is lost is sent again
    only where that does no harm. Whichever worker of the service answers, it has seen what this
    client has changed.
    """

    def __init__(
        self, url: str, *, token: str | None = None, timeout: float = 60.0, transport: Any = None
    ) -> None:
        how = _settings(url, token, timeout, transport)
        self._http: httpx.Client = _httpx().Client(**how)
        self._changes = _Changes()

    names = _now(requests.names)
    search = _now(requests.search)
    match_many = _now(requests.match_many)
    top = _now(requests.top)
    nearest = _now(requests.nearest)
    possible = _now(requests.possible)
    certain = _now(requests.certain)
    undecided = _now(requests.undecided)
    explain = _now(requests.explain)
    scan = _now(requests.scan)
    add = _now(requests.add)
    update = _now(requests.update)
    delete = _now(requests.delete)
    enable = _now(requests.enable)
    disable = _now(requests.disable)
    get = _now(requests.get)
    stats = _now(requests.stats)
    replace = _now(requests.replace)
    drop = _now(requests.drop)
    export = _now(requests.export)
    load = _now(requests.load)
    snapshot = _now(requests.snapshot)
    ratify = _now(requests.ratify)
    similarity = _now(requests.similarity)

    def close(self) -> None:
        """Let go of the connections."""
        self._http.close()

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _take(self, steps: Steps[T]) -> T:
        reply: Reply = None
        while True:
            try:
                pause, sent = steps.send(reply)
            except StopIteration as end:
                return cast("T", end.value)
            time.sleep(pause)
            try:
                reply = self._http.request(**sent)
            except _httpx().TransportError as error:
                reply = error


class AsyncClient:
    """The same for asyncio: every method is awaited."""

    def __init__(
        self, url: str, *, token: str | None = None, timeout: float = 60.0, transport: Any = None
    ) -> None:
        how = _settings(url, token, timeout, transport)
        self._http: httpx.AsyncClient = _httpx().AsyncClient(**how)
        self._changes = _Changes()

    names = _later(requests.names)
    search = _later(requests.search)
    match_many = _later(requests.match_many)
    top = _later(requests.top)
    nearest = _later(requests.nearest)
    possible = _later(requests.possible)
    certain = _later(requests.certain)
    undecided = _later(requests.undecided)
    explain = _later(requests.explain)
    scan = _later(requests.scan)
    add = _later(requests.add)
    update = _later(requests.update)
    delete = _later(requests.delete)
    enable = _later(requests.enable)
    disable = _later(requests.disable)
    get = _later(requests.get)
    stats = _later(requests.stats)
    replace = _later(requests.replace)
    drop = _later(requests.drop)
    export = _later(requests.export)
    load = _later(requests.load)
    snapshot = _later(requests.snapshot)
    ratify = _later(requests.ratify)
    similarity = _later(requests.similarity)

    async def close(self) -> None:
        """Let go of the connections."""
        await self._http.aclose()

    async def __aenter__(self) -> AsyncClient:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def _take(self, steps: Steps[T]) -> T:
        reply: Reply = None
        while True:
            try:
                pause, sent = steps.send(reply)
            except StopIteration as end:
                return cast("T", end.value)
            await asyncio.sleep(pause)
            try:
                reply = await self._http.request(**sent)
            except _httpx().TransportError as error:
                reply = error


def _steps(asked: Asked[T], changes: _Changes) -> Steps[T]:
    """Seconds to sleep and what to send then, until there is an answer; of a job, the last."""
    found = yield from _answered(asked, 0.0, changes)
    looks = chain(_LOOKS, repeat(_LOOKS[-1]))
    while isinstance(found, Unfinished):
        found = yield from _answered(requests.again(asked, found.id), next(looks), changes)
    return found


def _answered(asked: Asked[T], pause: float, changes: _Changes) -> Steps[T | Unfinished]:
    """The answer to one request, which is sent again where that does no harm."""
    for following in (*_PAUSES, None):
        reply = yield pause, _sent(asked, changes)
        if not isinstance(reply, Exception):
            return _answer(asked, cast("httpx.Response", reply), changes)
        _check_again(asked, reply, following)
        pause = following or 0.0
    raise AssertionError("the last pause is none")


def _httpx() -> ModuleType:
    try:
        import httpx
    except ImportError:
        raise ImportError("a client needs httpx: pip install 'remuda[client]'") from None
    return httpx


def _settings(url: str, token: str | None, timeout: float, transport: Any) -> dict[str, Any]:
    headers = {_VERSION: _OWN}
    if token is not None:
        headers["authorization"] = f"Bearer {token}"
    return {"base_url": url, "headers": headers, "timeout": timeout, "transport": transport}


def _sent(asked: Asked[Any], changes: _Changes) -> dict[str, Any]:
    options = {name: value for name, value in asked.options.items() if value is not None}
    headers = {"accept": asked.accept} | changes.headers()
    if asked.method == "POST":
        headers["content-type"] = asked.kind
    found = {"method": asked.method, "url": asked.path, "params": options, "headers": headers}
    return found | {"content": asked.body}


def _check_again(asked: Asked[Any], error: Exception, pause: float | None) -> None:
    """Raise unless the request may be sent again: it never arrived, or twice is as good as once."""
    arrived = not isinstance(error, _httpx().ConnectError)
    if pause is None or (arrived and not asked.safe):
        doubt = "" if asked.safe or not arrived else "; the change may have been made"
        reason = f"{type(error).__name__}: {error}{doubt}"
        raise ServiceError(None, reason) from error


def _answer(asked: Asked[T], response: httpx.Response, changes: _Changes) -> T | Unfinished:
    _compare(response.headers.get(_VERSION))
    changes.note(response)
    if response.is_success:
        return asked.read(response.content)
    raise _error(response)


def _error(response: httpx.Response) -> RemudaError:
    """The error that the service raised, or what it says otherwise."""
    request = response.headers.get("x-request-id")
    try:
        problem: Mapping[str, Any] = msgspec.json.decode(response.content, type=dict[str, Any])
    except msgspec.DecodeError:
        return ServiceError(response.status_code, response.text[:200], request)
    kind = getattr(errors, str(problem.get("error")), None)
    if isinstance(kind, type) and issubclass(kind, RemudaError):
        try:
            return kind(*problem.get("arguments", ()))
        except TypeError:
            pass  # of another version: its text will do
    place = f", at {problem['place']}" if problem.get("place") else ""
    return ServiceError(response.status_code, f"{problem.get('detail')}{place}", request)


def _compare(served: str | None) -> None:
    """Say once for each version that the service is of another."""
    if served != _OWN and served not in _SAID:
        _SAID.add(served)
        _logger.warning(
            "the client is remuda %s, the service %s", _OWN, served or "says no version"
        )


_SAID: set[str | None] = set()
