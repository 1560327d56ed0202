"""Logs: lines for people, or objects for machines, on standard error."""

from __future__ import annotations

import logging
import sys
from datetime import UTC, datetime
from typing import Literal, TypeAlias

import msgspec

Form: TypeAlias = Literal["text", "json"]

_LOGGER = logging.getLogger("remuda")
_VISITS = logging.getLogger("remuda.access")


class Lines(logging.Formatter):
    """A line for a record."""

    def format(self, record: logging.LogRecord) -> str:
        head = f"{_moment(record)} {record.levelname.lower()} {record.name}: {record.getMessage()}"
        return head + (f"\n{self.formatException(record.exc_info)}" if record.exc_info else "")


class Objects(logging.Formatter):
    """A JSON object for a record, on one line, with the fields that it brings."""

    def format(self, record: logging.LogRecord) -> str:
        entry = {
            "time": _moment(record),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
            **getattr(record, "fields", {}),
        }
        if record.exc_info:
            entry["trace"] = self.formatException(record.exc_info)
        return msgspec.json.encode(entry).decode()


def configure(form: Form, *, visits: bool) -> None:
    """Let the service's records go to standard error; `visits` has one for every request."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(Objects() if form == "json" else Lines())
    _LOGGER.handlers = [handler]
    _LOGGER.propagate = False
    _VISITS.setLevel(logging.INFO if visits else logging.WARNING)


def _moment(record: logging.LogRecord) -> str:
    return datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")
