"""Pages and probes: what a browser and a watcher look at; anybody may."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from functools import cache
from importlib.resources import files
from typing import Any

from starlette.responses import Response

from remuda.service.bodies import Health
from remuda.service.calls import JSON, VERSION, Call, Endpoint, json
from remuda.service.description import describe
from remuda.service.metrics import KIND, exposition
from remuda.service.tokens import Role

_FILES = {
    "/": ("index.html", "text/html"),
    "/page/style.css": ("style.css", "text/css"),
    "/page/script.js": ("script.js", "text/javascript"),
    "/api": ("api.html", "text/html"),
    "/page/api.js": ("api.js", "text/javascript"),
}
_POLICY = {
    "content-security-policy": "default-src 'self'; img-src 'self' data:; frame-ancestors 'none'",
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
}


async def healthz(_call: Call) -> Response:
    return json(Health("ok", VERSION))


async def readyz(call: Call) -> Response:
    if call.service.ready.is_set():
        return json(Health("ready", VERSION))
    return json(Health("starting", VERSION, "kernels are being compiled"), 503)


async def metrics(call: Call) -> Response:
    text = await call.work(exposition, call.service.counts, call.engine)
    return Response(text, headers={"content-type": KIND})


def _file(name: str, kind: str) -> Callable[[Call], Awaitable[Response]]:
    async def page(_call: Call) -> Response:
        return Response(_text(name), headers=_POLICY, media_type=kind)

    return page


@cache
def _text(name: str) -> str:
    return (files(__package__) / "page" / name).read_text(encoding="utf-8")


_PROBES = (
    Endpoint("GET", "/healthz", None, healthz, "Whether it runs", gives={JSON: Health}),
    Endpoint(
        "GET", "/readyz", None, readyz, "Whether it is ready", gives={JSON: Health},
        statuses=(200, 503),
    ),
    Endpoint("GET", "/metrics", Role.READ, metrics, "For Prometheus", gives={"text/plain": bytes}),
)  # fmt: skip


def endpoints(others: Iterable[Endpoint]) -> list[Endpoint]:
    """The probes, the page, and the description of these and others."""
    every = [*others, *_PROBES]

    @cache
    def document(*, tokens: bool) -> bytes:
        return bytes(json(describe(every, tokens=tokens)).body)

    async def openapi(call: Call) -> Response:
        return Response(document(tokens=call.service.tokens is not None), media_type=JSON)

    gives: dict[str, Any] = {JSON: dict[str, Any]}
    found = [Endpoint("GET", path, None, _file(*what), "The page") for path, what in _FILES.items()]
    described = Endpoint("GET", "/openapi.json", None, openapi, "This document", gives=gives)
    return [*_PROBES, described, *found]
