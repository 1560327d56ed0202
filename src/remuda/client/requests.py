"""Requests: what each of the engine's methods asks a service, and how its answer is read."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from dataclasses import fields as dataclass_fields
from datetime import datetime
from typing import Any, Generic, NamedTuple, TypedDict, TypeVar, Unpack
from urllib.parse import quote

import msgspec
import pyarrow as pa

from remuda.encoding.frames import table_of
from remuda.engine.changes import several
from remuda.engine.snapshots import Snapshot
from remuda.errors import ServiceError
from remuda.index.index import Where
from remuda.index.matches import Match
from remuda.index.nearest import Near
from remuda.index.question import By, Now, Tags
from remuda.index.region_answers import Undecided
from remuda.language.criterion import Criterion
from remuda.language.writing import to_text
from remuda.model.explanations import Explanation
from remuda.model.weights import Weights
from remuda.proof.ratifying import Disagreement, Ratification
from remuda.proof.similarity import Similarity

T = TypeVar("T")

JSON, NDJSON = "application/json", "application/x-ndjson"
ARROW = "application/vnd.apache.arrow.stream"

_ENCODER = msgspec.json.Encoder(decimal_format="number")


@dataclass(frozen=True, slots=True)
class Asked(Generic[T]):
    """One request; `safe` says that to send it twice does no more than to send it once."""

    method: str
    path: str
    read: Callable[[bytes], T | Unfinished]
    body: bytes = b""
    kind: str = JSON
    options: Mapping[str, Any] = field(default_factory=dict)
    accept: str = JSON
    safe: bool = True


def _path(*names: str) -> str:
    return "/".join(["/v1/indexes", *(quote(name, safe="") for name in names)])


def _nothing(_body: bytes) -> None:
    """An answer that is empty."""


def _body(tags: Tags, now: Now, **more: Any) -> bytes:
    return _ENCODER.encode(_question(tags, now) | more)


def _question(tags: Tags, now: Now) -> dict[str, Any]:
    return {"tags": None if tags is None else list(tags), "now": _moment(now)}


def _moment(now: Now) -> int | str | None:
    return now.isoformat() if isinstance(now, datetime) else now


def names() -> Asked[list[str]]:
    """The names of the indexes, in code-point order."""
    return Asked("GET", "/v1/indexes", _each("indexes", lambda one: str(one["name"])))


def search(name: str, event: Any, *, tags: Tags = None, now: Now = None) -> Asked[list[str]]:
    """The ids of the criteria that the event satisfies, in insertion order."""
    return Asked("POST", _path(name, "match"), _ids, _body(tags, now, event=event))


def scan(name: str, event: Any, *, tags: Tags = None, now: Now = None) -> Asked[list[str]]:
    """What `search` finds, by plain evaluation of one criterion after the other."""
    return Asked("POST", _path(name, "scan"), _ids, _body(tags, now, event=event))


def top(
    name: str,
    event: Any,
    n: int,
    *,
    weights: Weights = None,
    by: By = "score",
    per: str | None = None,
    tags: Tags = None,
    now: Now = None,
) -> Asked[list[Match]]:
    """The n best by score or priority, perhaps of each group, as `Index.top` has them."""
    given = None if weights is None else dict(weights)
    body = _body(tags, now, event=event, n=n, weights=given, by=by, per=per)
    read = _each("matches", lambda one: Match(one["id"], one["score"]))
    return Asked("POST", _path(name, "top"), read, body)


def nearest(
    name: str, event: Any, n: int, *, tags: Tags = None, now: Now = None
) -> Asked[list[Near]]:
    """The n criteria that the event fails by the fewest predicates, and those."""
    read = _each("near", lambda one: Near(one["id"], tuple(map(_explanation, one["failures"]))))
    return Asked("POST", _path(name, "nearest"), read, _body(tags, now, event=event, n=n))


class Region(TypedDict, total=False):
    """What is said of a region beside its conditions: the keywords of `Index.possible`."""

    missing: Iterable[str]
    present: Iterable[str]
    tags: Tags
    now: Now


class Within(NamedTuple):
    """The criteria that hold within a region, and whether these are exactly all."""

    ids: list[str]
    exact: bool


def possible(name: str, where: Where, **how: Unpack[Region]) -> Asked[Within]:
    """The criteria that some event within a region satisfies, as `Index.possible` has them."""
    return _within("possible", name, where, **how)


def certain(name: str, where: Where, **how: Unpack[Region]) -> Asked[Within]:
    """The criteria that every event within a region satisfies, as `Index.certain` has them."""
    return _within("certain", name, where, **how)


def _within(
    which: str,
    name: str,
    where: Where,
    *,
    missing: Iterable[str] = (),
    present: Iterable[str] = (),
    tags: Tags = None,
    now: Now = None,
) -> Asked[Within]:
    about = {"where": _text(where), "missing": list(missing), "present": list(present)}

    def read(answer: bytes) -> Within:
        found = _decoded(answer)
        return Within(found[which], found["exact"])

    return Asked("POST", _path(name, "possible"), read, _body(tags, now, **about))


def _text(where: Where) -> str:
    if isinstance(where, str):
        return where
    if isinstance(where, Mapping):
        where = Criterion.from_json({"id": "region", **where}).expression
    return to_text(where)


def undecided(
    name: str, event: Any, unknown: Iterable[str], *, tags: Tags = None, now: Now = None
) -> Asked[list[Undecided]]:
    """The criteria that depend on attributes of the event that are not known, and on which."""
    body = _body(tags, now, event=event, unknown=list(unknown))

    def read(one: Mapping[str, Any]) -> Undecided:
        return Undecided(one["id"], tuple(one["attributes"]), one["exact"])

    return Asked("POST", _path(name, "undecided"), _each("undecided", read), body)


def explain(name: str, event: Any, id: str, *, now: Now = None) -> Asked[Explanation]:
    """Why the criterion holds for the event, or why not."""
    body = _ENCODER.encode({"event": event, "id": id, "now": _moment(now)})

    def read(answer: bytes) -> Explanation:
        return _explanation(_decoded(answer)["explanation"])

    return Asked("POST", _path(name, "explain"), read, body)


def match_many(
    name: str, events: Any, *, tags: Tags = None, now: Now = None, n: int | None = None
) -> Asked[pa.Table]:
    """What each of many events matches: a table with `ids` and `error`, with `n` also `scores`.

    Events are a list of objects, JSON lines as bytes, or whatever Arrow reads as a table.
    """
    kind, body = _batch(events)
    options = _question(tags, now) | {"n": n}
    return Asked("POST", _path(name, "match_many"), _table, body, kind, options, ARROW)


def _batch(events: Any) -> tuple[str, bytes]:
    if isinstance(events, list):
        return JSON, _ENCODER.encode(events)
    if isinstance(events, bytes):
        return NDJSON, events
    table = events if isinstance(events, pa.Table) else table_of(events)
    sink = io.BytesIO()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return ARROW, sink.getvalue()


@dataclass(frozen=True, slots=True)
class Unfinished:
    """A job that has not ended: it is to be asked for again."""

    id: str


def ratify(
    name: str,
    full: bool = True,
    *,
    seed: int = 0,
    seconds: float | None = None,
    now: Now = None,
) -> Asked[Ratification]:
    """Compare the index with plain evaluation, on events made from it."""
    asked = {"full": full, "seed": seed, "seconds": seconds, "now": _moment(now)}
    return _begin(name, "ratify", asked, _ratified)


def similarity(
    name: str, criterion: Criterion, *, seed: int = 0, n: int = 10, now: Now = None
) -> Asked[Similarity]:
    """The n criteria of the index that resemble a candidate most."""
    document = _decoded(criterion.document())
    asked = {"criterion": document, "seed": seed, "n": n, "now": _moment(now)}
    return _begin(name, "similarity", asked, lambda found: msgspec.convert(found, Similarity))


def _begin(name: str, kind: str, asked: Mapping[str, Any], read: Callable[[Any], T]) -> Asked[T]:
    def result(answer: bytes) -> T | Unfinished:
        job = _decoded(answer)
        if job["status"] in {"failed", "cancelled"}:
            raise ServiceError(None, f"job {job['id']}: {job['error'] or job['status']}")
        return read(job["result"]) if job["status"] == "done" else Unfinished(job["id"])

    return Asked("POST", _path(name, kind), result, _ENCODER.encode(asked), safe=False)


def again(begun: Asked[T], id: str) -> Asked[T]:
    """The question what has become of a job."""
    return Asked("GET", f"/v1/jobs/{quote(id, safe='')}", begun.read)


def _ratified(found: dict[str, Any]) -> Ratification:
    for one in found["disagreements"]:
        if one["explanation"] is not None:
            one["explanation"] = _explanation(one["explanation"])
    found["disagreements"] = tuple(Disagreement(**one) for one in found["disagreements"])
    fields = {one.name for one in dataclass_fields(Ratification)}
    return Ratification(**{name: value for name, value in found.items() if name in fields})


def get(name: str, id: str) -> Asked[Criterion]:
    """One criterion; CriterionNotFound if there is no such one."""
    return Asked("GET", _path(name, "criteria", id), Criterion.from_json)


def stats(name: str) -> Asked[dict[str, Any]]:
    """The sizes of an index."""
    return Asked("GET", _path(name, "stats"), _decoded)


def snapshot(name: str) -> Asked[Snapshot]:
    """How large the index is: its dimensions, their spaces, its clusters."""
    return Asked(
        "GET", _path(name, "snapshot"), lambda body: msgspec.json.decode(body, type=Snapshot)
    )


def export(name: str, *, mustang: bool = False) -> Asked[str]:
    """The criteria as a JSON array; with `mustang`, refuse what Mustang lacks."""
    options = {"mustang": "true"} if mustang else {}
    return Asked("GET", _path(name, "export"), bytes.decode, options=options)


def add(name: str, criteria: Criterion | Iterable[Criterion]) -> Asked[None]:
    """Add one criterion or many, all or none; makes the index if there is none."""
    return _put(name, criteria, "add", safe=False)


def update(name: str, criteria: Criterion | Iterable[Criterion]) -> Asked[None]:
    """Put one criterion or many in the place of those with their ids, or add them."""
    return _put(name, criteria, "update", safe=True)


def _put(
    name: str, criteria: Criterion | Iterable[Criterion], mode: str, *, safe: bool
) -> Asked[None]:
    body = b"\n".join(one.document() for one in several(criteria))
    options = {"mode": mode, "strict": "true"}
    return Asked("POST", _path(name, "criteria"), _nothing, body, NDJSON, options, safe=safe)


def delete(name: str, *ids: str) -> Asked[None]:
    """Delete criteria, all or none; CriterionNotFound if there is no such one."""
    return Asked("POST", _path(name, "delete"), _nothing, _listed(ids), safe=False)


def enable(name: str, *ids: str) -> Asked[None]:
    """Switch criteria on, all or none; CriterionNotFound if there is no such one."""
    return Asked("POST", _path(name, "enable"), _nothing, _listed(ids))


def disable(name: str, *ids: str) -> Asked[None]:
    """Switch criteria off, all or none: they stay, and hold for no event."""
    return Asked("POST", _path(name, "disable"), _nothing, _listed(ids))


def replace(old: str, new: str) -> Asked[None]:
    """Give the index `new` the name `old`, in one step; what had that name is dropped."""
    body = _ENCODER.encode({"new": new})
    return Asked("POST", _path(old, "replace"), _nothing, body, safe=False)


def drop(name: str) -> Asked[None]:
    """Remove an index with all its criteria."""
    return Asked("DELETE", _path(name), _nothing, safe=False)


def load(name: str, text: str | bytes) -> Asked[None]:
    """Make an index of a JSON array of criteria, ours or Mustang's; the name must be free."""
    body = text.encode() if isinstance(text, str) else text
    return Asked("POST", _path(name, "load"), _nothing, body, safe=False)


def _listed(ids: Iterable[str]) -> bytes:
    return _ENCODER.encode({"ids": list(ids)})


def _decoded(body: bytes) -> Any:
    return msgspec.json.decode(body)


def _each(key: str, read: Callable[[Any], T]) -> Callable[[bytes], list[T]]:
    """How a list of objects in an answer is read, each by itself."""
    return lambda body: [read(one) for one in _decoded(body)[key]]


def _ids(body: bytes) -> list[str]:
    return list(_decoded(body)["ids"])


def _table(body: bytes) -> pa.Table:
    return pa.ipc.open_stream(body).read_all()


def _explanation(written: Mapping[str, Any]) -> Explanation:
    """What `Explanation.to_dict` wrote."""
    fields = dict(written)
    fields["parts"] = tuple(map(_explanation, fields.get("parts", ())))
    fields["operations"] = tuple(fields.get("operations", ()))
    fields.setdefault("after", fields.get("seen"))
    return Explanation(**fields)
