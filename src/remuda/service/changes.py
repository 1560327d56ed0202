"""Endpoints that change: what they acknowledge is durable where the engine is."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from starlette.responses import Response

from remuda.engine.engine import Engine
from remuda.errors import DuplicateCriterion, InvalidCriterion, RemudaError
from remuda.index.trial import try_out
from remuda.language.criterion import Criterion
from remuda.language.rows import criterion_of
from remuda.service import bodies
from remuda.service.calls import JSON, NDJSON, Call, Endpoint, json
from remuda.service.problems import Refused
from remuda.service.tokens import Role

_INDEX = "/v1/indexes/{index}"
_DONE = 204


async def put_criterion(call: Call) -> Response:
    """Put the criterion in the body, whose id is that of the path."""
    row = await call.read(dict[str, Any])
    if row.setdefault("id", call.id) != call.id:
        raise InvalidCriterion(f"the path says {call.id!r}, the body {row['id']!r}", "id")
    name = call.index

    def put() -> bool:
        criterion = criterion_of(row)
        created = name not in call.engine or call.id not in call.engine.index(name)
        call.engine.update(name, criterion)
        return created

    created = await call.work(put)
    return json(bodies.PutAnswer(call.id, created), 201 if created else 200)


async def put_many(call: Call) -> Response:
    options, _ = call.options(bodies.PutOptions), call.kind
    most = call.service.limits.batch
    return json(
        await call.work(_put_lines, call.engine, call.index, await call.body(), options, most)
    )


def _put_lines(
    engine: Engine, name: str, body: bytes, options: bodies.PutOptions, most: int
) -> bodies.BulkAnswer:
    """Put the criteria of the lines, all that can be; or with `strict` all or none."""
    if body.count(b"\n") > most:
        raise Refused(413, f"{most:,} lines are the most for one request")
    taken = engine.index(name) if options.mode == "add" and name in engine else ()
    trees = engine.hierarchies(name)
    lines: dict[str, int] = {}
    accepted: list[Criterion] = []
    rejects: list[bodies.Reject] = []
    for number, line in enumerate(body.split(b"\n"), start=1):
        if not line.strip():
            continue
        try:
            criterion = criterion_of(line)
            try_out((criterion,), trees)
            if criterion.id in taken:
                raise DuplicateCriterion(criterion.id)
            if criterion.id in lines:
                reason = f"line {lines[criterion.id]} has this id"
                raise InvalidCriterion(reason, "id", criterion.id)
        except RemudaError as error:
            if options.strict:
                raise
            rejects.append(_reject(number, error))
        else:
            lines[criterion.id] = number
            accepted.append(criterion)
    if accepted or not rejects:
        (engine.add if options.mode == "add" else engine.update)(name, accepted)
    return bodies.BulkAnswer(len(accepted), rejects)


def _reject(number: int, error: RemudaError) -> bodies.Reject:
    reason = getattr(error, "reason", str(error))
    return bodies.Reject(
        number, reason, getattr(error, "criterion", None), getattr(error, "place", "")
    )


async def delete_criterion(call: Call) -> Response:
    await call.work(call.engine.delete, call.index, call.id)
    return Response(status_code=_DONE)


async def create_index(call: Call) -> Response:
    await call.work(call.engine.load, call.index, "[]")
    return json(bodies.IndexEntry(call.index, 0), 201)


async def load_index(call: Call) -> Response:
    _ = call.kind
    await call.work(call.engine.load, call.index, await call.body())
    return json(bodies.IndexEntry(call.index, len(call.engine.index(call.index))), 201)


async def replace_index(call: Call) -> Response:
    new = (await call.read(bodies.ReplaceRequest)).new
    await call.work(call.engine.replace, call.index, new)
    return json(bodies.IndexEntry(call.index, len(call.engine.index(call.index))))


async def drop_index(call: Call) -> Response:
    await call.work(call.engine.drop, call.index)
    return Response(status_code=_DONE)


def _change(
    method: str, path: str, handle: Any, summary: str, *, role: Role = Role.WRITE, **types: Any
) -> Endpoint:
    return Endpoint(method, _INDEX + path, role, handle, summary, by_writer=True, **types)


def _of_ids(path: str, name: str, change: Callable[..., None], summary: str) -> Endpoint:
    """The endpoint that makes a change of the engine's to the criteria whose ids are sent."""

    async def handle(call: Call) -> Response:
        ids = (await call.read(bodies.IdsRequest)).ids
        await call.work(change, call.engine, call.index, *ids)
        return Response(status_code=_DONE)

    handle.__name__ = name
    types: dict[str, Any] = {"takes": {JSON: bodies.IdsRequest}, "statuses": (_DONE,)}
    return _change("POST", path, handle, summary, **types)


_ENTRY: dict[str, Any] = {"role": Role.ADMIN, "gives": {JSON: bodies.IndexEntry}}

ENDPOINTS = (
    _change(
        "PUT",
        "/criteria/{id}",
        put_criterion,
        "Put a criterion, ours or Mustang's, or one with `expression` as text",
        takes={JSON: dict[str, Any]},
        gives={JSON: bodies.PutAnswer},
        statuses=(200, 201),
    ),
    _change("DELETE", "/criteria/{id}", delete_criterion, "Delete a criterion", statuses=(_DONE,)),
    _change(
        "POST",
        "/criteria",
        put_many,
        "Put many criteria, one a line; those that are refused are named",
        takes={NDJSON: bytes},
        options=bodies.PutOptions,
        gives={JSON: bodies.BulkAnswer},
    ),
    _of_ids("/delete", "delete_many", Engine.delete, "Delete criteria, all or none"),
    _of_ids("/enable", "enable", Engine.enable, "Switch criteria on"),
    _of_ids("/disable", "disable", Engine.disable, "Switch criteria off: they hold for no event"),
    _change("PUT", "", create_index, "Make an empty index", statuses=(201,), **_ENTRY),
    _change("DELETE", "", drop_index, "Remove an index", role=Role.ADMIN, statuses=(_DONE,)),
    _change(
        "POST",
        "/replace",
        replace_index,
        "Give this name to another index, in one step",
        takes={JSON: bodies.ReplaceRequest},
        **_ENTRY,
    ),
    _change(
        "POST",
        "/load",
        load_index,
        "Make an index of exported criteria",
        takes={JSON: list[dict[str, Any]]},
        statuses=(201,),
        **_ENTRY,
    ),
)
