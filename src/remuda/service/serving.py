"""Serving: an engine behind a port until it is told to stop."""

from __future__ import annotations

import logging
import signal
import socket
import threading
from collections.abc import Callable
from typing import Any

import uvicorn

from remuda.engine.engine import Engine
from remuda.index.index import Index
from remuda.language.criterion import Criterion
from remuda.language.text import parse
from remuda.service.app import application
from remuda.service.calls import Service, is_loopback
from remuda.service.limits import Limits
from remuda.service.tokens import Tokens

_HEAD = 64 << 10  # bytes of a request's head

_logger = logging.getLogger("remuda.service")


class NotListening(OSError):
    """The address cannot be listened on; uvicorn has said why."""

    def __init__(self, host: str, port: int) -> None:
        super().__init__(host, port)
        self.host, self.port = host, port

    def __str__(self) -> str:
        return f"{self.host}, port {self.port}, cannot be listened on; choose another --port"


class _Server(uvicorn.Server):
    """A server that says when it listens."""

    def __init__(self, config: uvicorn.Config, listening: Callable[[], None]) -> None:
        super().__init__(config)
        self._listening = listening

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self.started:
            self._listening()


class Exposed(ValueError):
    """Others could reach the service, and it has no tokens to tell them apart."""

    def __init__(self, host: str) -> None:
        super().__init__(host)
        self.host = host

    def __str__(self) -> str:
        return f"on {self.host} others can reach it: give a file of tokens, or --host 127.0.0.1"


def serve(
    engine: Engine,
    *,
    host: str = "127.0.0.1",
    port: int = 8000,
    tokens: str | None = None,
    limits: Limits | None = None,
    listening: Callable[[], None] = lambda: None,
    **uvicorn_options: Any,
) -> None:
    """Serve the engine until SIGTERM or SIGINT; what was accepted is answered first.

    `listening` is called once requests can come.
    """
    if tokens is None and not is_loopback(host):
        raise Exposed(host)
    known = None if tokens is None else Tokens(tokens)
    service = Service(engine, limits or Limits(), known)
    config = uvicorn.Config(
        application(service),
        host=host,
        port=port,
        lifespan="off",
        log_level="warning",
        access_log=False,
        server_header=False,
        h11_max_incomplete_event_size=_HEAD,
        limit_concurrency=service.limits.connections,
        timeout_graceful_shutdown=int(service.limits.seconds) + 1,
        **uvicorn_options,
    )
    threading.Thread(target=_warm, args=(service,), daemon=True).start()
    # uvicorn stops on a signal, then raises it again: by then all is done
    before = {one: signal.signal(one, _ignored) for one in (signal.SIGTERM, signal.SIGINT)}
    server = _Server(config, listening)
    try:
        server.run()
    except SystemExit:
        if server.started:
            raise
        raise NotListening(host, port) from None
    finally:
        for one, handler in before.items():
            signal.signal(one, handler)


def _ignored(_number: int, _frame: Any) -> None:
    """What is to be done on a signal was done."""


def _warm(service: Service) -> None:
    """Compile what the first requests would wait for; then the service is ready."""
    try:
        index = Index.build([Criterion("a", parse("a = 1 OR b > 2 OR c LIKE '%d%'"))])
        index.match({"a": 1})
        index.match_many([{"a": 1}])
        index.top({"a": 1}, 1)
        for name in service.engine.names():
            service.engine.search(name, {})
    except Exception:
        _logger.exception("what was tried before the service is ready failed")
    service.ready.set()
