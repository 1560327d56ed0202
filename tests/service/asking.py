"""Requests to an application in this process."""

from __future__ import annotations

import asyncio
from functools import partialmethod
from typing import Any

import httpx

OURSELVES = "http://127.0.0.1"


class Asker:
    """Asks an application in this process; what would be a 500 is one, and is not raised."""

    def __init__(self, app: Any) -> None:
        self._transport = httpx.ASGITransport(app, raise_app_exceptions=False)

    def request(self, method: str, path: str, **what: Any) -> httpx.Response:
        async def ask() -> httpx.Response:
            async with httpx.AsyncClient(transport=self._transport, base_url=OURSELVES) as client:
                return await client.request(method, path, **what)

        return asyncio.run(ask())

    get = partialmethod(request, "GET")
    post = partialmethod(request, "POST")
    put = partialmethod(request, "PUT")
    delete = partialmethod(request, "DELETE")
