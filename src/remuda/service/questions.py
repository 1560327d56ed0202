"""Endpoints that ask: nothing is changed by them."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import asdict, dataclass
from typing import Any

from starlette.responses import Response, StreamingResponse

from remuda.index.index import Index
from remuda.index.question import Now, Question
from remuda.model.readings import read_timestamp
from remuda.proof.deriving import examples
from remuda.service import batches, bodies
from remuda.service.calls import ARROW, JSON, NDJSON, Call, Endpoint, json
from remuda.service.problems import Refused
from remuda.service.tokens import Role

_INDEX = "/v1/indexes/{index}"


async def match(call: Call) -> Response:
    asked = await call.read(bodies.MatchRequest)
    answer = _matched(call, asked)
    if answer is None:
        index = call.engine.index(call.index)  # of one moment: what was found is there
        ids = index.match(asked.event, tags=asked.tags, now=moment(asked.now))
        answer = _cut(call, ids, asked.limit)
        answer.payloads = await call.work(lambda: [index[name].payload for name in answer.ids])
    return json(answer)


def _matched(call: Call, asked: bodies.MatchRequest) -> bodies.Ids | None:
    """What an event matches; None where payloads are wanted, which are to be read."""
    if asked.payloads:
        return None
    now = None if asked.now is None else moment(asked.now)
    ids = call.engine.search(call.index, asked.event, tags=asked.tags, now=now)
    return _cut(call, ids, asked.limit)


def _cut(call: Call, ids: list[str], limit: int | None) -> bodies.Ids:
    call.found(ids)
    if limit is not None and len(ids) > limit:
        return bodies.Ids(ids[:limit], more=True)
    return bodies.Ids(ids)


async def scan(call: Call) -> Response:
    asked = await call.read(bodies.MatchRequest)
    how: dict[str, Any] = {"tags": asked.tags, "now": moment(asked.now)}
    ids = await call.work(call.engine.scan, call.index, asked.event, **how)
    return json(_cut(call, ids, asked.limit))


async def top(call: Call) -> Response:
    return json(_best(call, await call.read(bodies.TopRequest)))


def _best(call: Call, asked: bodies.TopRequest) -> bodies.Best:
    how: dict[str, Any] = {"tags": asked.tags, "now": moment(asked.now), "weights": asked.weights}
    how |= {"by": asked.by, "per": asked.per}
    best = call.engine.top(call.index, asked.event, _few(call, asked.n), **how)
    call.found([one.id for one in best])
    return bodies.Best([bodies.Scored(*one) for one in best])


async def nearest(call: Call) -> Response:
    asked = await call.read(bodies.NearestRequest)
    how: dict[str, Any] = {"tags": asked.tags, "now": moment(asked.now)}
    n = _few(call, asked.n)
    near = await call.work(call.engine.nearest, call.index, asked.event, n, **how)
    found = [{"id": one.id, "failures": [part.to_dict() for part in one.failures]} for one in near]
    return json({"near": found})


async def possible(call: Call) -> Response:
    asked = await call.read(bodies.RegionRequest)
    return json(await call.work(_possible, call.engine.index(call.index), asked))


def _possible(index: Index, asked: bodies.RegionRequest) -> bodies.RegionAnswer:
    how: dict[str, Any] = {"missing": asked.missing, "present": asked.present}
    how |= {"tags": asked.tags, "now": moment(asked.now)}
    some, every = index.possible(asked.where, **how), index.certain(asked.where, **how)
    exact = all(bool(found.exact is not None and found.exact[0]) for found in (some, every))
    return bodies.RegionAnswer(some.ids(0), every.ids(0), exact)


async def undecided(call: Call) -> Response:
    asked = await call.read(bodies.UndecidedRequest)
    how: dict[str, Any] = {"tags": asked.tags, "now": moment(asked.now)}
    found = await call.work(call.engine.undecided, call.index, asked.event, asked.unknown, **how)
    return json({"undecided": [one._asdict() for one in found]})


async def explain(call: Call) -> Response:
    asked = await call.read(bodies.ExplainRequest)
    now = moment(asked.now)
    found = await call.work(call.engine.explain, call.index, asked.event, asked.id, now=now)
    return json({"explanation": found.to_dict(), "text": str(found)})


async def match_many(call: Call) -> Response:
    """Answers in the form of the events, or in the one that is accepted."""
    options, kind = call.options(bodies.ManyOptions), call.kind
    wanted = _accepted(call.header("accept"), kind)
    n = None if options.n is None else _few(call, options.n)
    question = Question.of(moment(options.now), options.tags, n)
    index, form = call.engine.index(call.index), batches.FORMS[wanted]()
    asked = _Asked(call, index, question, kind, options.limit, form)
    if options.stream and kind not in batches.CUTS:
        raise Refused(400, "a JSON array is read whole: send lines or an Arrow stream", "stream")
    flow = asked.flowing() if options.stream else asked.at_once()
    first = await anext(flow)  # what fails at once is still a problem
    return StreamingResponse(_chained(first, flow), media_type=wanted)


async def _chained(first: bytes, rest: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    yield first
    async for piece in rest:
        yield piece


@dataclass(frozen=True, slots=True)
class _Asked:
    """Many events of one request, and how they are answered."""

    call: Call
    index: Index
    question: Question
    kind: str
    limit: int | None
    form: batches.Form

    async def at_once(self) -> AsyncIterator[bytes]:
        """The answers to a body that is read whole."""
        async for piece in self._answers(await self.call.body()):
            yield piece
        yield self.form.end()

    async def flowing(self) -> AsyncIterator[bytes]:
        """The answers to a body while it arrives; each portion is read when it is asked about."""
        cut = batches.CUTS[self.kind](self.call.service.limits.body)
        async for arrived in self.call.pieces():
            for part in cut.take(arrived):
                async for piece in self._answers(part):
                    yield piece
        for part in cut.rest():
            async for piece in self._answers(part):
                yield piece
        yield self.form.end()

    async def _answers(self, body: bytes) -> AsyncIterator[bytes]:
        """The pieces, each made when the one before was taken."""
        call, most = self.call, self.call.service.limits.batch
        events = await call.work(batches.events_in, body, self.kind, most)
        found = self.index.ask(events, self.question)
        pieces = batches.answers(found, self.limit, self.form)
        while (piece := await call.work(next, pieces, None)) is not None:
            call.found_many(piece.matches)
            if piece.body:
                yield piece.body


def _accepted(header: str, kind: str) -> str:
    wanted = {one.partition(";")[0].strip().lower() for one in header.split(",")}
    return next((one for one in (kind, JSON, NDJSON, ARROW) if one in wanted), kind)


def _few(call: Call, n: int) -> int:
    most = call.service.limits.found
    if n > most:
        raise Refused(400, f"{most:,} are the most that can be asked for", "n")
    return n


def moment(now: bodies.Moment) -> Now:
    """The moment that a request names: milliseconds since 1970, or a timestamp."""
    if now is None or isinstance(now, int):
        return now
    if now.removeprefix("-").isdecimal() and len(now) <= 15:
        return int(now)
    found = read_timestamp(now)
    if found is None:
        raise Refused(400, f"this is neither a timestamp nor milliseconds: {now[:100]!r}", "now")
    return found


async def events(call: Call) -> Response:
    """Events made from the criteria: examples of what the index is about."""
    options = call.options(bodies.EventsOptions)
    index = call.engine.index(call.index)
    made = await call.work(examples, index, options.n, seed=options.seed)
    return json(bodies.EventsAnswer(made))


async def list_indexes(call: Call) -> Response:
    engine = call.engine
    entries = [bodies.IndexEntry(name, len(engine.index(name))) for name in engine.names()]
    return json(bodies.IndexList(entries))


async def get_index(call: Call) -> Response:
    return json(bodies.IndexEntry(call.index, len(call.engine.index(call.index))))


async def get_criterion(call: Call) -> Response:
    criterion = await call.work(call.engine.get, call.index, call.id)
    return Response(await call.work(criterion.document), media_type=JSON)


async def stats(call: Call) -> Response:
    return json(await call.work(call.engine.stats, call.index))


async def snapshot(call: Call) -> Response:
    return json(asdict(await call.work(call.engine.snapshot, call.index)))


async def export(call: Call) -> Response:
    mustang = call.options(bodies.ExportOptions).mustang
    text = await call.work(call.engine.export, call.index, mustang=mustang)
    return Response(text, media_type=JSON)


def _ask(
    name: str, handle: Any, takes: type, gives: type, summary: str, at_once: Any = None
) -> Endpoint:
    return Endpoint(
        "POST", f"{_INDEX}/{name}", Role.READ, handle, summary, {JSON: takes},
        gives={JSON: gives}, at_once=at_once,
    )  # fmt: skip


def _look(path: str, handle: Any, gives: Any, summary: str, options: Any = None) -> Endpoint:
    return Endpoint("GET", path, Role.READ, handle, summary, options=options, gives={JSON: gives})


_MANY = {JSON: list[Any], NDJSON: bytes, ARROW: bytes}

ENDPOINTS = (
    _ask("match", match, bodies.MatchRequest, bodies.Ids, "What holds for an event", _matched),
    _ask("top", top, bodies.TopRequest, bodies.Best, "The best that hold, by score", _best),
    _ask("explain", explain, bodies.ExplainRequest, bodies.ExplainAnswer, "Why one holds or not"),
    _ask("nearest", nearest, bodies.NearestRequest, bodies.NearestAnswer, "The nearest misses"),
    _ask("possible", possible, bodies.RegionRequest, bodies.RegionAnswer, "What holds in a region"),
    _ask(
        "undecided",
        undecided,
        bodies.UndecidedRequest,
        bodies.UndecidedAnswer,
        "What depends on attributes that are not known",
    ),
    _ask("scan", scan, bodies.MatchRequest, bodies.Ids, "The same as match, by plain evaluation"),
    Endpoint(
        "POST",
        f"{_INDEX}/match_many",
        Role.READ,
        match_many,
        "Which criteria hold for each of many events",
        _MANY,
        bodies.ManyOptions,
        {**_MANY, JSON: list[bodies.EventAnswer]},
    ),
    _look("/v1/indexes", list_indexes, bodies.IndexList, "All indexes"),
    _look(_INDEX, get_index, bodies.IndexEntry, "One index"),
    _look(f"{_INDEX}/criteria/{{id}}", get_criterion, dict[str, Any], "One criterion"),
    _look(f"{_INDEX}/stats", stats, dict[str, Any], "The sizes of an index"),
    _look(f"{_INDEX}/snapshot", snapshot, bodies.SnapshotAnswer, "Sizes by dimension and cluster"),
    _look(f"{_INDEX}/events", events, bodies.EventsAnswer, "Sample events", bodies.EventsOptions),
    _look(f"{_INDEX}/export", export, list[dict[str, Any]], "All criteria", bodies.ExportOptions),
)
