"""The application: endpoints behind doors that admit, time and answer for what fails."""

from __future__ import annotations

import asyncio
import logging
import re
import secrets
from typing import Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from remuda.service import changes, mustang, pages, questions
from remuda.service.calls import VERSION, Call, Endpoint, Service
from remuda.service.problems import Refused, problem, refusal, response

ENDPOINTS = (*questions.ENDPOINTS, *changes.ENDPOINTS, *mustang.ENDPOINTS)

_ID = "remuda.request"
_VERSION = VERSION.encode()
_GOOD_ID = re.compile(r"[\w.:-]{1,64}", re.ASCII)

_logger = logging.getLogger("remuda.service")


class Door:
    """An endpoint as an application: only those who may enter, and answered in time."""

    def __init__(self, service: Service, endpoint: Endpoint) -> None:
        self._service, self._endpoint = service, endpoint

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        begun = False

        async def note(message: Message) -> None:
            nonlocal begun
            begun = True
            await send(message)

        try:
            async with asyncio.timeout(self._service.limits.seconds):
                call = Call(self._service, self._endpoint, Request(scope, receive))
                call.admit()
                answer = await self._endpoint.handle(call)
                await answer(scope, receive, note)
        except ClientDisconnect:
            return
        except Exception as error:
            if refusal(error) is None or begun:
                _logger.exception("request %s failed", scope[_ID], exc_info=error)
            if not begun:  # else the answer stays without its end, by which its reader knows
                failed = self._endpoint.failed(error, scope[_ID])
                await failed(scope, receive, send)


class _Entrance:
    """What every request passes: an id, and a path whose names may have slashes of their own."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        scope[_ID] = request_id = _request_id(scope)
        raw = scope.get("raw_path") or b""
        scope["path"] = raw.partition(b"?")[0].decode("ascii", "replace") or scope["path"]

        async def named(message: Message) -> None:
            if message["type"] == "http.response.start":
                own = (b"x-request-id", request_id.encode()), (b"x-remuda-version", _VERSION)
                message["headers"] = [*message["headers"], *own]
            await send(message)

        await self._app(scope, receive, named)


def _request_id(scope: Scope) -> str:
    for name, value in scope["headers"]:
        if name == b"x-request-id" and _GOOD_ID.fullmatch(value.decode("latin-1")):
            return str(value.decode("latin-1"))
    return secrets.token_hex(8)


async def _no_route(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    detail = f"there is nothing for {request.method} {request.scope['path'][:200]}"
    found = response(problem(Refused(error.status_code, detail), request.scope[_ID]))
    found.headers.update(error.headers or {})
    return found


async def _fault(request: Request, error: Exception) -> Response:
    return response(problem(error, request.scope[_ID]))


def application(service: Service) -> ASGIApp:
    """The service as an ASGI application."""
    endpoints = [*ENDPOINTS, *pages.endpoints(ENDPOINTS)]
    by_path: dict[str, list[Any]] = {}
    for one in endpoints:
        by_path.setdefault(one.path, []).append(one)
    routes = [Route(path, _Choice(service, some)) for path, some in by_path.items()]
    handlers = {HTTPException: _no_route, Exception: _fault}
    app = Starlette(routes=routes, exception_handlers=handlers)
    app.router.redirect_slashes = False
    return _Entrance(app)


class _Choice:
    """The endpoints of one path, by method."""

    def __init__(self, service: Service, endpoints: list[Endpoint]) -> None:
        self._doors = {one.method: Door(service, one) for one in endpoints}
        if "GET" in self._doors:
            self._doors["HEAD"] = self._doors["GET"]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        door = self._doors.get(scope["method"])
        if door is None:
            raise HTTPException(405, headers={"allow": ", ".join(sorted(self._doors))})
        await door(scope, receive, send)
