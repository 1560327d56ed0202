"""Serving: an engine behind a port until it is told to stop."""

from __future__ import annotations

import asyncio
import logging
import signal
import socket
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import uvicorn

from remuda.engine.engine import Engine
from remuda.errors import RemudaError
from remuda.index.first_questions import ask_first
from remuda.service import logs, tracing
from remuda.service.app import application
from remuda.service.calls import Service, is_loopback
from remuda.service.connections import HEAD, bounded
from remuda.service.limits import Limits
from remuda.service.relaying import Relay
from remuda.service.shortcuts import Shortcuts
from remuda.service.tokens import Tokens

_FOLLOW = 0.02  # seconds between two looks at the writer's log
# seconds after which a thread that changes lets a question go first. Python's own 0.005 would be
# waited for at each step of an answer; with 0.0005, p99 beside changes was half as much again.
_SWITCH = 0.00005
_BACKLOG = 2_048  # connections that wait to be accepted

_logger = logging.getLogger("remuda.service")


class NotListening(OSError):
    """The address cannot be listened on."""


class Exposed(ValueError):
    """Others could reach the service, and it has no tokens to tell them apart."""


class Terms(msgspec.Struct, frozen=True, kw_only=True):
    """How a service is run: what all its processes are told."""

    host: str = "127.0.0.1"
    port: int = 8000
    tokens: str | None = None
    limits: Limits = Limits()
    log: logs.Form = "text"
    visits: bool = False  # a line for every request
    hits: bool = False  # a metric for every criterion
    telemetry: bool = False
    certificate: str | None = None
    key: str | None = None

    def check(self) -> None:
        """Refuse to serve others whom nothing tells apart; a file of tokens must be one."""
        if self.tokens is not None:
            Tokens(self.tokens)
        elif not is_loopback(self.host):
            advice = "give a file of tokens, or --host 127.0.0.1"
            raise Exposed(f"on {self.host} others can reach it: {advice}")


def listen(terms: Terms) -> socket.socket:
    """A socket at the address; NotListening where there can be none."""
    family = socket.AF_INET6 if ":" in terms.host else socket.AF_INET
    try:
        return socket.create_server((terms.host, terms.port), family=family, backlog=_BACKLOG)
    except OSError:
        where = f"{terms.host}, port {terms.port}"
        raise NotListening(f"{where}, cannot be listened on; choose another --port") from None


def port_of(address: socket.socket) -> int:
    """The port that is listened on: one that was free, where 0 was asked for."""
    return int(address.getsockname()[1])


def serve(
    engine: Engine,
    terms: Terms | None = None,
    *,
    listening: Callable[[int], None] = lambda _: None,
) -> None:
    """Serve the engine until SIGTERM or SIGINT; what was accepted is answered first.

    `listening` is called with the port once requests can come.
    """
    terms = terms or Terms()
    terms.check()
    with listen(terms) as address:
        port = port_of(address)
        run(made(engine, terms), terms, address, listening=lambda: listening(port))


def made(
    engine: Engine, terms: Terms, counts_in: Path | None = None, writer: Path | None = None
) -> Service:
    """The service of one process; with the way to the writer, of one that follows."""
    return Service(
        engine,
        terms.limits,
        None if terms.tokens is None else Tokens(terms.tokens),
        counts_in=counts_in,
        count_hits=terms.hits,
        relay=None if writer is None else Relay(writer, engine),
    )


class _Server(uvicorn.Server):
    """A server that also listens for its fellows, and says when it listens."""

    def __init__(
        self, config: uvicorn.Config, fellows: Path | None, listening: Callable[[], None]
    ) -> None:
        super().__init__(config)
        self._fellows, self._listening = fellows, listening

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self._fellows is not None:
            await self._listen_for_fellows(self._fellows)
        self._listening()

    async def _listen_for_fellows(self, path: Path) -> None:
        state, config = self.server_state, self.config
        kind: Any = config.http_protocol_class

        def connection() -> asyncio.Protocol:
            protocol: asyncio.Protocol = kind(
                config=config, server_state=state, app_state=self.lifespan.state
            )
            return protocol

        aside = path.with_suffix(".new")
        aside.unlink(missing_ok=True)
        loop = asyncio.get_running_loop()
        self.servers.append(await loop.create_unix_server(connection, str(aside)))
        aside.rename(path)


def run(
    service: Service,
    terms: Terms,
    address: socket.socket,
    *,
    fellows: Path | None = None,
    listening: Callable[[], None] = lambda: None,
) -> None:
    """Answer at the address, and for fellow workers, until SIGTERM or SIGINT."""
    logs.configure(terms.log, visits=terms.visits)
    sys.setswitchinterval(_SWITCH)
    shortcuts = Shortcuts()
    app = application(service, shortcuts)
    config = uvicorn.Config(
        tracing.traced(app) if terms.telemetry else app,
        lifespan="off",
        log_config=None,
        log_level="warning",
        access_log=False,
        server_header=False,
        proxy_headers=False,
        h11_max_incomplete_event_size=HEAD,
        limit_concurrency=service.limits.connections,
        timeout_graceful_shutdown=int(service.limits.seconds) + 1,
        ssl_certfile=terms.certificate,
        ssl_keyfile=terms.key,
    )
    config.load()
    # who writes down every request sees all of each
    taken = None if terms.telemetry or terms.visits else shortcuts
    config.http_protocol_class = bounded(config.http_protocol_class, service.limits.idle, taken)
    stopped = threading.Event()
    threading.Thread(target=_warm, args=(service,), daemon=True).start()
    threading.Thread(target=_tell, args=(service, stopped), daemon=True).start()
    # uvicorn stops on a signal, then raises it again: by then all is done
    before = {one: signal.signal(one, lambda *_: None) for one in (signal.SIGTERM, signal.SIGINT)}
    try:
        _Server(config, fellows, listening).run(sockets=[address])
    finally:
        stopped.set()
        service.jobs.close()
        for one, handler in before.items():
            signal.signal(one, handler)


def _warm(service: Service) -> None:
    """Compile what the first requests would wait for; then the service is ready."""
    try:
        ask_first()
        for name in service.engine.names():
            service.engine.search(name, {})
    except Exception:
        _logger.exception("what was tried before the service is ready failed")
    service.ready.set()


def _tell(service: Service, stopped: threading.Event) -> None:
    """Follow the writer, where this is another, and tell how far that is."""
    engine, failing = service.engine, False
    while not stopped.wait(_FOLLOW if service.relay is not None else 1.0):
        try:
            if service.relay is not None:
                engine.follow()
            service.counts.tell(engine.position)
            failing = False
        except (RemudaError, OSError) as error:
            if not failing:  # once, not fifty times a second
                _logger.warning("the writer's log cannot be followed: %s", error)
            failing = True
