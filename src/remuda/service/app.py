"""The application: endpoints behind doors that admit, time, count and answer for what fails."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Sequence
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
from remuda.service.visits import Visit

ENDPOINTS = (
    *questions.ENDPOINTS,
    *changes.ENDPOINTS,
    *background.ENDPOINTS,
    *mustang.ENDPOINTS,
)

_VERSION = (b"x-remuda-version", VERSION.encode())
_INDEX = "/v1/indexes/{index}/"

_logger = logging.getLogger("remuda.service")
_visits = logging.getLogger("remuda.access")


class Door:
    """An endpoint as an application: only those who may enter, and answered in time."""

    def __init__(self, service: Service, endpoint: Endpoint) -> None:
        self._service, self._endpoint, self._name = service, endpoint, endpoint.name

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        visit: Visit = scope[visits.KEY]
        visit.operation = self._name
        try:
            async with asyncio.timeout(self._service.limits.seconds):
                call = Call(self._service, self._endpoint, scope, receive, visit)
                call.admit()
                answer = await self._answer(call)
                await answer(scope, receive, send)
        except ClientDisconnect:
            return
        except Exception as error:
            if refusal(error) is None or visit.begun:
                fields = {"fields": {"request": visit.request_id}}
                words = "request %s failed"
                _logger.exception(words, visit.request_id, exc_info=error, extra=fields)
            if not visit.begun:  # else the answer stays without its end, by which its reader knows
                failed = self._endpoint.failed(error, visit.request_id)
                await failed(scope, receive, send)

    async def _answer(self, call: Call) -> Response:
        """The answer of this process, or of the writer where only that can give it."""
        relay, endpoint = call.service.relay, self._endpoint
        if relay is not None:
            if endpoint.by_writer:
                return await relay.forward(call.scope, await call.body(), call.visit.request_id)
            sequence = visits.header(call.scope, SEQUENCE)
            if sequence is not None:
                await relay.see(sequence)
        answer = await endpoint.handle(call)
        if endpoint.by_writer and (position := call.engine.position):
            call.visit.headers.append((SEQUENCE, b"%d" % position))
        return answer


class _Choice:
    """The endpoints of one path, by method."""

    def __init__(self, service: Service, endpoints: Sequence[Endpoint]) -> None:
        self.doors = {one.method: Door(service, one) for one in endpoints}
        if "GET" in self.doors:
            self.doors["HEAD"] = self.doors["GET"]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        door = self.doors.get(scope["method"])
        if door is None:
            raise HTTPException(405, headers={"allow": ", ".join(sorted(self.doors))})
        await door(scope, receive, send)


class _Entrance:
    """What every request passes: an id, and a path whose names may have slashes of their own."""

    def __init__(self, app: ASGIApp, asking: dict[str, _Choice], service: Service) -> None:
        self._app, self._asking, self._service = app, asking, service

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
        choice = self._asking.get(parts[4]) if len(parts) == 5 and parts[3] else None
        try:
            if choice is not None and scope["method"] == "POST" and path.startswith("/v1/indexes/"):
                scope["path_params"] = {"index": parts[3]}
                await choice(scope, receive, visit.send)
            else:
                await self._app(scope, receive, visit.send)
        finally:
            if (scope.get("server") or ("", 0))[1] is not None:  # else a worker has passed it on
                self._note(visit)

    def _note(self, visit: Visit) -> None:
        seconds = time.perf_counter() - visit.started
        self._service.counts.count(visit.operation, visit.status, seconds, visit.matches)
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


def application(service: Service) -> ASGIApp:
    """The service as an ASGI application."""
    endpoints = [*ENDPOINTS, *pages.endpoints(ENDPOINTS)]
    names = [one.name for one in endpoints]
    service.counts = Counts(names, service.counts_in, hits=service.count_hits)
    by_path: dict[str, list[Any]] = {}
    for one in endpoints:
        by_path.setdefault(one.path, []).append(one)
    choices = {path: _Choice(service, some) for path, some in by_path.items()}
    routes = [Route(path, choice) for path, choice in choices.items()]
    handlers = {HTTPException: _no_route, Exception: _fault}
    app = Starlette(routes=routes, exception_handlers=handlers)
    app.router.redirect_slashes = False
    asking = {
        path.removeprefix(_INDEX): choice
        for path, choice in choices.items()
        if path.startswith(_INDEX) and "POST" in choice.doors
    }
    return _Entrance(app, asking, service)
