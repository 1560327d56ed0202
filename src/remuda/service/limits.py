"""Limits on what a stranger may send, and on how long an answer may take."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Limits:
    """Bounds of one request; what exceeds them is refused with a reason."""

    body: int = 64 << 20  # bytes
    batch: int = 1_000_000  # events, or criteria, in one request
    seconds: float = 60.0  # from the head of the request to the end of its answer
    connections: int = 1_000
    threads: int = 16  # requests whose work is under way; others wait for their turn
    found: int = 10_000  # criteria that `top` and `nearest` may be asked for
    jobs: int = 16  # that wait or run
    idle: float = 60.0  # seconds in which a connection must send the head of a request
