"""Tracing: requests as OpenTelemetry's spans, where that is installed."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from remuda.service import visits


def traced(app: ASGIApp, provider: Any = None) -> ASGIApp:
    """The application, each request a span of the provider, or of the one that is set for all.

    A request that says `traceparent` goes on with the trace of the one who sent it.
    """
    try:
        trace: Any = import_module("opentelemetry.trace")
        propagate: Any = import_module("opentelemetry.propagate")
    except ImportError:
        reason = "OpenTelemetry is not installed: pip install 'remuda[telemetry]'"
        raise ImportError(reason) from None
    tracer = trace.get_tracer("remuda.service", tracer_provider=provider)
    fault = trace.StatusCode.ERROR

    async def entrance(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await app(scope, receive, send)
            return
        carrier = {
            name.decode("latin-1"): text.decode("latin-1") for name, text in scope["headers"]
        }
        start: dict[str, Any] = {
            "context": propagate.extract(carrier), "kind": trace.SpanKind.SERVER,
        }  # fmt: skip
        with tracer.start_as_current_span(f"{scope['method']} remuda", **start) as span:
            span.set_attribute("http.request.method", scope["method"])
            span.set_attribute("url.path", scope["path"][:1000])

            async def note(message: Message) -> None:
                if message["type"] == "http.response.start":
                    span.set_attribute("http.response.status_code", message["status"])
                    if message["status"] >= 500:
                        span.set_status(fault)
                await send(message)

            await app(scope, receive, note)
            visit = scope[visits.KEY]
            span.update_name(f"{scope['method']} {visit.operation}")
            span.set_attribute("remuda.operation", visit.operation)
            span.set_attribute("remuda.request", visit.request_id)
            span.set_attribute("remuda.matches", visit.matches)

    return entrance
