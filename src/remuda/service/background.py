"""Endpoints of long work: it is begun, watched and called off."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from starlette.responses import Response

from remuda.language.rows import criterion_of
from remuda.proof.ratifying import Ratification
from remuda.service import bodies
from remuda.service.calls import JSON, Call, Endpoint, json
from remuda.service.jobs import Job, Progress
from remuda.service.questions import moment
from remuda.service.tokens import Role

_BEGUN = 202


async def ratify(call: Call) -> Response:
    asked = await call.read(bodies.RatifyRequest)
    engine, name, now = call.engine, call.index, moment(asked.now)
    engine.index(name)  # IndexNotFound is for now, not for later
    how: dict[str, Any] = {"full": asked.full, "seed": asked.seed, "seconds": asked.seconds}

    def work(progress: Progress) -> Any:
        return _ratified(engine.ratify(name, now=now, progress=progress, **how))

    return _begun(call.service.jobs.start("ratify", name, work))


def _ratified(found: Ratification) -> dict[str, Any]:
    told = asdict(found) | {"ok": found.ok, "text": str(found)}
    told["disagreements"] = [
        {
            "id": one.id, "asked": one.asked, "event": one.event, "expected": one.expected,
            "got": one.got,
            "explanation": None if one.explanation is None else one.explanation.to_dict(),
        }
        for one in found.disagreements
    ]  # fmt: skip
    return told


async def similarity(call: Call) -> Response:
    asked = await call.read(bodies.SimilarityRequest)
    engine, name, now = call.engine, call.index, moment(asked.now)
    engine.index(name)
    candidate = await call.work(criterion_of, {"id": "candidate"} | asked.criterion)
    how: dict[str, Any] = {"seed": asked.seed, "n": asked.n, "now": now}

    def work(progress: Progress) -> Any:
        found = engine.similarity(name, candidate, progress=progress, **how)
        return asdict(found) | {"text": str(found)}

    return _begun(call.service.jobs.start("similarity", name, work))


async def list_jobs(call: Call) -> Response:
    return json(bodies.JobList([_told(one) for one in call.service.jobs.all()]))


async def get_job(call: Call) -> Response:
    return json(_with_result(call.service.jobs.get(call.id)))


async def cancel_job(call: Call) -> Response:
    call.service.jobs.get(call.id).unwanted = True
    return Response(status_code=204)


def _begun(job: Job) -> Response:
    found = json(_with_result(job), _BEGUN)  # short work may be done already
    found.headers["location"] = f"/v1/jobs/{job.id}"
    return found


def _with_result(job: Job) -> bodies.JobEntry:
    found = _told(job)  # before the result, which is there when it is said to be done
    found.result = job.result
    return found


def _told(job: Job) -> bodies.JobEntry:
    of = job.of or None
    return bodies.JobEntry(
        job.id, job.kind, job.index, job.status, job.done, of, job.began, job.ended, job.error
    )


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
