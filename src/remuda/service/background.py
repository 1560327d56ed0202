"""Endpoints of long work: it is begun, watched and called off."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from msgspec import convert
from msgspec.structs import replace
from starlette.responses import Response

from remuda.language.rows import criterion_of
from remuda.proof.ratifying import Ratification
from remuda.service import bodies
from remuda.service.calls import JSON, Call, Endpoint, json
from remuda.service.jobs import Job, Progress, Work
from remuda.service.questions import moment
from remuda.service.tokens import Role

_BEGUN = 202


async def ratify(call: Call) -> Response:
    asked = await call.read(bodies.RatifyRequest)
    how: dict[str, Any] = {"full": asked.full, "seed": asked.seed, "seconds": asked.seconds}
    how["now"] = moment(asked.now)

    def work(progress: Progress) -> Any:
        return _ratified(call.engine.ratify(call.index, progress=progress, **how))

    return _begun(call, "ratify", work)


def _ratified(found: Ratification) -> dict[str, Any]:
    told = asdict(found) | {"ok": found.ok, "text": str(found)}
    for row, one in zip(told["disagreements"], found.disagreements, strict=True):
        row["explanation"] = None if one.explanation is None else one.explanation.to_dict()
    return told


async def similarity(call: Call) -> Response:
    asked = await call.read(bodies.SimilarityRequest)
    how: dict[str, Any] = {"seed": asked.seed, "n": asked.n, "now": moment(asked.now)}
    call.engine.index(call.index)
    candidate = await call.work(criterion_of, {"id": "candidate"} | asked.criterion)

    def work(progress: Progress) -> Any:
        found = call.engine.similarity(call.index, candidate, progress=progress, **how)
        return asdict(found) | {"text": str(found)}

    return _begun(call, "similarity", work)


async def list_jobs(call: Call) -> Response:
    entries = map(_entry, call.service.jobs.all())
    return json(bodies.JobList([replace(one, result=None) for one in entries]))


async def get_job(call: Call) -> Response:
    return json(_entry(call.service.jobs.get(call.id)))


async def cancel_job(call: Call) -> Response:
    call.service.jobs.get(call.id).unwanted = True
    return Response(status_code=204)


def _begun(call: Call, kind: str, work: Work) -> Response:
    call.engine.index(call.index)  # IndexNotFound is for now, not for later
    job = call.service.jobs.start(kind, call.index, work)
    found = json(_entry(job), _BEGUN)  # short work may be done already
    found.headers["location"] = f"/v1/jobs/{job.id}"
    return found


def _entry(job: Job) -> bodies.JobEntry:
    """What a job has come to; its result is read last, and is there where it is said to be done."""
    return convert(job, bodies.JobEntry, from_attributes=True)


def _start(name: str, handle: Any, takes: type, summary: str) -> Endpoint:
    return Endpoint(
        "POST", f"/v1/indexes/{{index}}/{name}", Role.READ, handle, summary, {JSON: takes},
        gives={JSON: bodies.JobEntry}, statuses=(_BEGUN,), by_writer=True,
    )  # fmt: skip


def _job(method: str, path: str, role: Role, handle: Any, summary: str, **more: Any) -> Endpoint:
    return Endpoint(method, f"/v1/jobs{path}", role, handle, summary, by_writer=True, **more)


ENDPOINTS = (
    _start("ratify", ratify, bodies.RatifyRequest, "Compare with plain evaluation, as a job"),
    _start(
        "similarity", similarity, bodies.SimilarityRequest, "What resembles a criterion, as a job"
    ),
    _job("GET", "", Role.READ, list_jobs, "All jobs", gives={JSON: bodies.JobList}),
    _job(
        "GET", "/{id}", Role.READ, get_job, "A job, and its result", gives={JSON: bodies.JobEntry}
    ),
    _job("DELETE", "/{id}", Role.WRITE, cancel_job, "Call a job off", statuses=(204,)),
)
