"""The application: endpoints behind doors that admit, time, count and answer for what fails."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Coroutine, Generator, Sequence
from typing import Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from remuda.service import background, changes, mustang, pages, questions, visits
from remuda.service.calls import VERSION, Call, Endpoint, Service
from remuda.service.metrics import Counts
from remuda.service.problems import Refused, problem, refusal, response
from remuda.service.relaying import SEQUENCE
from remuda.service.shortcuts import Shortcuts
from remuda.service.visits import Visit

ENDPOINTS = (
    *questions.ENDPOINTS,
    *changes.ENDPOINTS,
    *background.ENDPOINTS,
    *mustang.ENDPOINTS,
)

_VERSION = (b"x-remuda-version", VERSION.encode())
_INDEX = "/v1/indexes/{index}/"
_MOST_VERSIONS = 100  # of clients that are told: anybody can make them up

_logger = logging.getLogger("remuda.service")
_visits = logging.getLogger("remuda.access")


class _Deadline:
    """The moment at which the task that made this is stopped; `asyncio.timeout` costs twice."""

    __slots__ = ("_handle", "_passed", "_task")

    def __init__(self, seconds: float) -> None:
        self._task, self._passed = asyncio.current_task(), False
        self._handle = asyncio.get_running_loop().call_later(seconds, self._pass)

    def _pass(self) -> None:
        if self._task is not None:
            self._passed = True
            self._task.cancel()

    def check(self) -> None:
        """Go on being stopped, unless it was this that did it."""
        if not self._passed or self._task is None or self._task.uncancel():
            raise asyncio.CancelledError

    def end(self) -> None:
        self._handle.cancel()


class _Timed:
    """What is done within some seconds, or is a TimeoutError.

    The clock is set when there is something to wait for: most questions are answered before.
    """

    __slots__ = ("_done", "_seconds")

    def __init__(self, done: Coroutine[Any, None, None], seconds: float) -> None:
        self._done, self._seconds = done, seconds

    def __await__(self) -> Generator[Any, None, None]:
        try:
            waiting = self._done.send(None)
        except StopIteration:
            return
        deadline = _Deadline(self._seconds)
        try:
            yield from _rest(self._done, waiting)
        except asyncio.CancelledError:
            deadline.check()
            raise TimeoutError from None
        finally:
            deadline.end()


def _rest(steps: Coroutine[Any, None, None], waiting: Any) -> Generator[Any, None, None]:
    """The steps of a coroutine after the first, which waits for something."""
    try:
        while True:
            try:
                yield waiting
            except BaseException as error:
                waiting = steps.throw(error)
            else:
                waiting = steps.send(None)
    except StopIteration:
        return


class Door:
    """An endpoint as an application: only those who may enter, and answered in time."""

    def __init__(self, service: Service, endpoint: Endpoint, shortcuts: Shortcuts) -> None:
        self._service, self._endpoint, self._name = service, endpoint, endpoint.name
        self._shortcuts = shortcuts

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        visit: Visit = scope[visits.KEY]
        visit.operation = self._name
        call = Call(self._service, self._endpoint, scope, receive, visit)
        try:
            call.admit()
            await _Timed(self._respond(call, send), self._service.limits.seconds)
        except ClientDisconnect:
            return
        except Exception as error:
            await self._fail(error, scope, receive, send)

    async def _respond(self, call: Call, send: Send) -> None:
        answer = await self._answer(call)
        await answer(call.scope, call.receive, send)
        if self._endpoint.at_once is not None:
            self._shortcuts.learn(call)

    async def _fail(self, error: Exception, scope: Scope, receive: Receive, send: Send) -> None:
        """Say what failed, while there is no answer yet."""
        visit: Visit = scope[visits.KEY]
        if refusal(error) is None or visit.begun:
            fields = {"fields": {"request": visit.request_id}}
            _logger.error("request %s failed", visit.request_id, exc_info=error, extra=fields)
        if not visit.begun:  # else the answer stays without its end, by which its reader knows
            failed = self._endpoint.failed(error, visit.request_id)
            await failed(scope, receive, send)

    async def _answer(self, call: Call) -> Response:
        """The answer of this process, or of the writer where only that can give it."""
        relay, endpoint = call.service.relay, self._endpoint
        if relay is not None:
            if endpoint.by_writer:
                return await relay.forward(call.scope, await call.body(), call.visit.request_id)
            sequence = call.visit.sent.get(SEQUENCE)
            if sequence is not None:
                await relay.see(sequence)
        answer = await endpoint.handle(call)
        if endpoint.by_writer and (position := call.engine.position):
            call.visit.headers.append((SEQUENCE, b"%d" % position))
        return answer


class _Choice:
    """The endpoints of one path, by method."""

    def __init__(
        self, service: Service, endpoints: Sequence[Endpoint], shortcuts: Shortcuts
    ) -> None:
        self.doors = {one.method: Door(service, one, shortcuts) for one in endpoints}
        if "GET" in self.doors:
            self.doors["HEAD"] = self.doors["GET"]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        door = self.doors.get(scope["method"])
        if door is None:
            raise HTTPException(405, headers={"allow": ", ".join(sorted(self.doors))})
        await door(scope, receive, send)


class _Entrance:
    """What every request passes: an id, and a path whose names may have slashes of their own."""

    def __init__(self, app: ASGIApp, asking: dict[str, Door], service: Service) -> None:
        self._app, self._asking, self._service = app, asking, service
        self._versions = {_VERSION[1]}  # of clients, as far as they were told

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        raw = scope.get("raw_path") or b""
        scope["path"] = path = raw.partition(b"?")[0].decode("ascii", "replace") or scope["path"]
        scope[visits.KEY] = visit = Visit(scope, send, [_VERSION])
        # Of what is asked most, the path is short and known: no need to try one route after
        # another.
        parts = path.split("/")
        door = self._asking.get(parts[4]) if len(parts) == 5 and parts[3] else None
        try:
            if door is not None and scope["method"] == "POST" and path.startswith("/v1/indexes/"):
                scope["path_params"] = {"index": parts[3]}
                await door(scope, receive, visit.send)
            else:
                await self._app(scope, receive, visit.send)
        finally:
            if not visits.from_fellow(scope.get("server")):
                self._note(visit)

    def _note(self, visit: Visit) -> None:
        seconds = time.perf_counter() - visit.started
        self._service.counts.count(visit.operation, visit.status, seconds, visit.matches)
        version = visit.sent.get(_VERSION[0], _VERSION[1])
        if version not in self._versions and len(self._versions) < _MOST_VERSIONS:
            self._versions.add(version)
            theirs = version.decode("latin-1")[:50]
            _logger.warning("the service is remuda %s, a client %s", VERSION, theirs)
        if _visits.isEnabledFor(logging.INFO):
            words = f"{visit.scope['method']} {visit.scope['path'][:200]} {visit.status}"
            _visits.info(words, extra={"fields": visit.fields(seconds)})


async def _no_route(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    detail = f"there is nothing for {request.method} {request.scope['path'][:200]}"
    visit: Visit = request.scope[visits.KEY]
    found = response(problem(Refused(error.status_code, detail), visit.request_id))
    found.headers.update(error.headers or {})
    return found


async def _fault(request: Request, error: Exception) -> Response:
    visit: Visit = request.scope[visits.KEY]
    return response(problem(error, visit.request_id))


def application(service: Service, shortcuts: Shortcuts | None = None) -> ASGIApp:
    """The service as an ASGI application, which teaches shortcuts to its server."""
    shortcuts = shortcuts or Shortcuts()
    endpoints = [*ENDPOINTS, *pages.endpoints(ENDPOINTS)]
    names = [one.name for one in endpoints]
    service.counts = Counts(names, service.counts_in, hits=service.count_hits)
    by_path: dict[str, list[Any]] = {}
    for one in endpoints:
        by_path.setdefault(one.path, []).append(one)
    choices = {path: _Choice(service, some, shortcuts) for path, some in by_path.items()}
    routes = [Route(path, choice) for path, choice in choices.items()]
    handlers = {HTTPException: _no_route, Exception: _fault}
    app = Starlette(routes=routes, exception_handlers=handlers)
    app.router.redirect_slashes = False
    asking = {
        path.removeprefix(_INDEX): choice.doors["POST"]
        for path, choice in choices.items()
        if path.startswith(_INDEX) and "POST" in choice.doors
    }
    return _Entrance(app, asking, service)
