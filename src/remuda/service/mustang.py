"""Mustang's own endpoints, with its bodies and answers, so that its clients work unchanged."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable
from typing import Any

import msgspec
from msgspec import UNSET, Struct, UnsetType
from starlette.responses import Response

from remuda import errors
from remuda.language import json_form as documents
from remuda.language.criterion import Criterion
from remuda.model.expressions import clock
from remuda.model.terms import value_in
from remuda.proof.ratifying import Disagreement, Ratification
from remuda.service.calls import JSON, Call, Endpoint, json
from remuda.service.problems import problem, refusal
from remuda.service.tokens import Role

_CODES = {
    errors.IndexNotFound: "INDEX_NOT_FOUND",
    errors.NoMustangEquivalent: "INDEX_EXPORT_ERROR",
}


class _Body(Struct, rename="camel"):
    """A body; what it has beside is ignored, as Dropwizard does."""


class RequestContext(_Body):
    """An event, as Mustang sends it."""

    node: Any


class Search(_Body):
    index_name: str
    request_context: RequestContext
    score: bool = False


class ScanIndex(_Body):
    index_name: str
    request_context: RequestContext


class ScanCriteria(_Body):
    criterias: list[dict[str, Any]]
    request_context: RequestContext


class Debug(_Body):
    criteria: dict[str, Any]
    request_context: RequestContext


class Named(_Body):
    index_name: str


class Ratify(_Body):
    index_name: str
    full_fledged: bool = False


class Answer(_Body):
    """What Mustang answers, be it well or not."""

    success: bool
    data: Any
    error_code: str | None


class Refusal(_Body):
    """What Mustang answers where it fails, and what Dropwizard does before it is asked."""

    success: bool | UnsetType = UNSET
    data: Any | UnsetType = UNSET
    error_code: str | UnsetType = UNSET
    errors: list[str] | UnsetType = UNSET
    code: int | UnsetType = UNSET
    message: str | UnsetType = UNSET


async def search(call: Call) -> Any:
    asked = await call.read(Search)
    node = asked.request_context.node
    if not asked.score:
        return call.engine.search(asked.index_name, node)
    n = len(call.engine.index(asked.index_name))
    return [one.id for one in await call.work(call.engine.top, asked.index_name, node, n)]


async def scan_index(call: Call) -> Any:
    asked = await call.read(ScanIndex)
    return await call.work(call.engine.scan, asked.index_name, asked.request_context.node)


async def scan_criteria(call: Call) -> Any:
    asked = await call.read(ScanCriteria)
    node = asked.request_context.node

    def scan() -> list[Any]:
        criteria = map(Criterion.from_json, asked.criterias)
        return [one.to_json() for one in criteria if one.holds(node)]

    return await call.work(scan)


async def debug(call: Call) -> Any:
    asked = await call.read(Debug)

    def look() -> Any:
        Criterion.from_json(asked.criteria)  # refuses what is no criterion, and nests too deeply
        return _debugged(asked.criteria, asked.request_context.node, clock(None))

    return await call.work(look)


def _debugged(written: dict[str, Any], event: Any, now: int) -> dict[str, Any]:
    """A criterion in the form in which it was written, each part with its truth."""
    form, name = written["form"], written.get("id")
    if form != "UNF":
        inner, outer = (all, any) if form == "DNF" else (any, all)
        parts = []
        for part in written["conjunctions" if form == "DNF" else "disjunctions"]:
            results = [_looked_at(one, event, now) for one in part["predicates"]]
            result = inner(one["result"] for one in results)
            parts.append({"result": result, "type": part["type"], "predicateDebugResults": results})
        result = outer(one["result"] for one in parts)
        return {"result": result, "form": form, "id": name, "compositionDebugResults": parts}
    results = [_looked_at(one, event, now) for one in written.get("predicates") or ()]
    nested = [_debugged(one, event, now) for one in written.get("criterias") or ()]
    every = all if written["type"] == "AND" else any
    return {
        "result": every(one["result"] for one in (*results, *nested)),
        "form": form,
        "id": name,
        "compositionDebugResults": [],
        "type": written["type"],
        "predicateDebugResults": results,
        "debugResults": nested,
    }


def _looked_at(written: dict[str, Any], event: Any, now: int) -> dict[str, Any]:
    predicate = documents.read_predicate(written)
    again = documents.write_predicate(predicate)
    return {
        "result": predicate.holds(event, now=now),
        "type": again["type"],
        "lhs": written["lhs"],
        "lhsValue": value_in(predicate.root, event, now),
        "preOperations": again.get("preOperations") or [{"type": "IDENTITY"}],
        "detail": again["detail"],
    }


async def export(call: Call) -> Any:
    name = (await call.read(Named)).index_name
    return await call.work(call.engine.export, name, mustang=True)


async def snapshot(call: Call) -> Any:
    name = (await call.read(Named)).index_name
    found = await call.work(call.engine.snapshot, name)
    return bytes(json(found).body).decode()


async def ratify(call: Call) -> Any:
    request = await call.read(Ratify)
    begun = clock(None)
    seconds = call.service.limits.seconds / 2
    how: dict[str, Any] = {"full": request.full_fledged, "seconds": seconds}
    start = time.perf_counter()
    found = await call.work(call.engine.ratify, request.index_name, **how)
    took = int((time.perf_counter() - start) * 1000)
    return _ratified(found, begun, took, full=request.full_fledged)


def _ratified(found: Ratification, begun: int, took: int, *, full: bool) -> dict[str, Any]:
    return {
        "status": found.ok,
        "combinations": {"totalCount": found.n_events, "cpCount": found.n_events, "ssCount": 0},
        "anamolyDetails": [_anomaly(one) for one in found.disagreements],
        "timeTakenMs": took,
        "requestedAt": begun,
        "fullFledgedRun": full,
        "ratifiedAt": begun + took,
    }


def _anomaly(one: Disagreement) -> dict[str, Any]:
    """The criterion that plain evaluation finds, or the one that the index does."""
    expected = [one.id] if one.expected not in {None, False} else []
    actual = [one.id] if one.got not in {None, False} else []
    return {"context": {"node": one.event}, "expected": expected, "actual": actual}


def _told(data: Callable[[Call], Awaitable[Any]]) -> Callable[[Call], Awaitable[Response]]:
    """The endpoint whose answer has the data."""

    async def answer(call: Call) -> Response:
        return json(Answer(True, await data(call), None))

    answer.__name__ = f"mustang_{data.__name__}"
    return answer


def _failed(error: Exception, request_id: str) -> Response:
    """An error as Mustang's bundle says it; as Dropwizard does where it is not Mustang's."""
    document = problem(error, request_id)
    known = refusal(error)
    if known is None:
        return json(Answer(False, document.detail, "INTERNAL_ERROR"), 500)
    if type(known) in _CODES:
        return json(Answer(False, document.detail, _CODES[type(known)]), 400)
    if isinstance(known, errors.InvalidCriterion) or isinstance(error, msgspec.ValidationError):
        where = f"{document.place}: " if document.place and not document.error else ""
        return json({"errors": [where + document.detail]}, 422)
    return json({"code": document.status, "message": document.detail}, document.status)


def _endpoint(path: str, data: Any, takes: type, summary: str) -> Endpoint:
    return Endpoint(
        "POST", f"/mustang/v1/{path}", Role.READ, _told(data), summary, {JSON: takes},
        gives={JSON: Answer}, failed=_failed, refusal=(JSON, Refusal),
    )  # fmt: skip


ENDPOINTS = (
    _endpoint("search", search, Search, "Mustang: ids, ordered if scored"),
    _endpoint("scan/index", scan_index, ScanIndex, "Mustang: ids by plain evaluation"),
    _endpoint("scan/criteria", scan_criteria, ScanCriteria, "Mustang: those criteria that hold"),
    _endpoint("debug", debug, Debug, "Mustang: each predicate with its truth"),
    _endpoint("index/export", export, Named, "Mustang: the criteria as text"),
    _endpoint("index/snapshot", snapshot, Named, "Mustang: the sizes of an index as text"),
    _endpoint("index/ratify", ratify, Ratify, "Mustang: the index against plain evaluation"),
)
