"""Requests to an application in this process."""

from __future__ import annotations

import asyncio
from typing import Any

import httpx

OURSELVES = "http://127.0.0.1"


class Sync(httpx.BaseTransport):
    """An application in this process, for clients that do not wait."""

    def __init__(self, app: Any) -> None:
        self._transport = httpx.ASGITransport(app, raise_app_exceptions=False)

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        async def ask() -> httpx.Response:
            found = await self._transport.handle_async_request(request)
            content = await found.aread()
            return httpx.Response(found.status_code, headers=found.headers, content=content)

        return asyncio.run(ask())


class Asker(httpx.Client):
    """Asks an application in this process; what would be a 500 is one, and is not raised."""

    def __init__(self, app: Any) -> None:
        super().__init__(transport=Sync(app), base_url=OURSELVES)
