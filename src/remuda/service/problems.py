"""Problems: errors as documents (RFC 9457), each with its status."""

from __future__ import annotations

import re
from typing import Any

import msgspec
import pyarrow as pa
from starlette.responses import Response

from remuda import errors
from remuda.service.bodies import Problem

_STATUS = {
    errors.ParseError: 400,
    errors.InvalidCriterion: 422,
    errors.InvalidRegion: 422,
    errors.ExpansionError: 422,
    errors.NoSqlEquivalent: 422,
    errors.NoMustangEquivalent: 422,
    errors.DuplicateCriterion: 409,
    errors.IndexExists: 409,
    errors.CriterionNotFound: 404,
    errors.IndexNotFound: 404,
    errors.StorageError: 503,
}
_TITLES = {
    400: "the request cannot be understood",
    401: "a token is needed",
    403: "the token does not allow this",
    404: "there is no such thing",
    405: "there is no such method here",
    409: "it is there already",
    411: "the length of the body must be known",
    413: "it is too large",
    415: "the body's type is not served here",
    421: "this name is not served here",
    422: "the body is refused",
    500: "a fault of the service",
    503: "not now",
    504: "it took too long",
}


class Refused(Exception):
    """A request that is not served: its status, why, and where in it."""

    def __init__(self, status: int, reason: str, place: str | None = None) -> None:
        super().__init__(status, reason, place)
        self.status, self.reason, self.place = status, reason, place


def refusal(error: Exception) -> Refused | errors.RemudaError | None:
    """What an error says about the request; None where it is a fault of the service."""
    if isinstance(error, Refused | errors.RemudaError):
        return error
    if isinstance(error, msgspec.DecodeError):
        reason, _, path = str(error).partition(" - at `")
        return Refused(400, reason, path.rstrip("`") or None)
    if isinstance(error, UnicodeError):
        return Refused(400, f"it is not UTF-8: {error}")
    if isinstance(error, RecursionError):
        return Refused(400, "it is nested too deeply")
    if isinstance(error, pa.ArrowException):
        return Refused(400, f"it is not an Arrow stream of events: {error}")
    if isinstance(error, TimeoutError):
        reason = "the deadline has passed; a change may have been made all the same"
        return Refused(504, reason)
    return None


def problem(error: Exception, request_id: str) -> Problem:
    """The document for an error."""
    known = refusal(error)
    instance = f"urn:remuda:request:{request_id}"
    if known is None:
        return _document(500, "the service's log says more, under this request's id", instance)
    if isinstance(known, Refused):
        document = _document(known.status, known.reason, instance)
        document.place = known.place
        return document
    name = type(known).__name__
    document = _document(_STATUS.get(type(known), 422), str(known), instance)
    document.type = "urn:remuda:problem:" + re.sub(r"(?<!^)(?=[A-Z])", "-", name).lower()
    document.error, document.arguments = name, list(known.args)
    for field in ("criterion", "place", "column"):
        setattr(document, field, getattr(known, field, None))
    return document


def _document(status: int, detail: str, instance: str) -> Problem:
    title = _TITLES.get(status, "the request is refused")
    return Problem("about:blank", title, status, _text(detail), instance)


def response(found: Problem) -> Response:
    """The document as an answer."""
    headers = {"www-authenticate": "Bearer"} if found.status == 401 else {}
    body = msgspec.json.encode(found, enc_hook=str)
    return Response(body, found.status, headers, "application/problem+json")


def _text(value: Any) -> str:
    """Text that can be sent: half of a surrogate pair cannot."""
    return str(value).encode("utf-8", "replace").decode()
