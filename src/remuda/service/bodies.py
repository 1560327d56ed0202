"""Bodies of requests and answers; the API's description is made from these types."""

from __future__ import annotations

from typing import Annotated, Any, Literal, TypeAlias

from msgspec import UNSET, Meta, Struct, UnsetType

# year 1 to year 9999, in milliseconds since 1970
Milliseconds = Annotated[int, Meta(ge=-62_135_596_800_000, le=253_402_300_799_999)]
Moment: TypeAlias = Milliseconds | str | None
Count = Annotated[int, Meta(ge=0)]
Status: TypeAlias = Literal["waiting", "running", "done", "failed", "cancelled"]
Name = Annotated[str, Meta(min_length=1)]


class _Request(Struct, forbid_unknown_fields=True):
    """A body that refuses properties it does not know: they are likely misspelt."""


class MatchRequest(_Request):
    """An event; with tags, only criteria that have any of them; `now` in milliseconds or ISO."""

    event: Any
    tags: list[str] | None = None
    now: Moment = None
    limit: Count | None = None
    payloads: bool = False


class TopRequest(_Request):
    """An event, and how many of the best are wanted; weights are by attribute, or by value of one.

    `by` is score or priority; with `per`, they are the best of each group of tags `per:…`.
    """

    event: Any
    n: Count
    weights: dict[str, float | dict[str, float]] | None = None
    by: Literal["score", "priority"] = "score"
    per: str | None = None
    tags: list[str] | None = None
    now: Moment = None


class NearestRequest(_Request):
    """An event, and how many of the nearest misses are wanted."""

    event: Any
    n: Count
    tags: list[str] | None = None
    now: Moment = None


class RegionRequest(_Request):
    """A region of events as text, and which of its attributes are missing or present."""

    where: str
    missing: list[str] = []
    present: list[str] = []
    tags: list[str] | None = None
    now: Moment = None


class UndecidedRequest(_Request):
    """An event, and which of its attributes are not known."""

    event: Any
    unknown: list[str]
    tags: list[str] | None = None
    now: Moment = None


class ExplainRequest(_Request):
    """An event, and the criterion that is explained for it."""

    event: Any
    id: str
    now: Moment = None


class IdsRequest(_Request):
    """Criteria that are enabled, disabled or deleted, all or none."""

    ids: list[str]


class ReplaceRequest(_Request):
    """The index that takes over the name in the path."""

    new: Name


class RatifyRequest(_Request):
    """How thoroughly an index is compared with plain evaluation, and for how long at most."""

    full: bool = True
    seed: int = 0
    seconds: Annotated[float, Meta(gt=0, le=86_400)] | None = None
    now: Moment = None


class SimilarityRequest(_Request):
    """A criterion, in a form that can be put, and how many that resemble it are wanted."""

    criterion: dict[str, Any]
    n: Annotated[int, Meta(ge=0, le=10_000)] = 10
    seed: int = 0
    now: Moment = None


class ManyOptions(Struct):
    """What is asked about every event of a batch; `n` wants the best, with their scores.

    With `stream`, answers come while events are still sent: read them meanwhile.
    """

    tags: list[str] | None = None
    now: Moment = None
    limit: Count | None = None
    n: Count | None = None
    stream: bool = False


class EventsOptions(Struct):
    """How many events are wanted, and what they are drawn with."""

    n: Annotated[int, Meta(ge=1, le=100)] = 10
    seed: Annotated[int, Meta(ge=0, le=2**53)] = 0


class PutOptions(Struct):
    """How criteria are put: `add` refuses ids that are taken; `strict` puts all or none."""

    mode: Literal["update", "add"] = "update"
    strict: bool = False


class ExportOptions(Struct):
    """With `mustang`, what Mustang's JSON cannot say is refused."""

    mustang: bool = False


class Ids(Struct):
    """Ids of the criteria that hold, in insertion order; `more` where a limit cut them short.

    With `payloads`, those of the criteria, null where one has none.
    """

    ids: list[str]
    more: bool | UnsetType = UNSET
    payloads: list[Any] | UnsetType = UNSET


class Scored(Struct):
    """A criterion that holds, and its score."""

    id: str
    score: float


class Best(Struct):
    """The best, best first, ties by id."""

    matches: list[Scored]


class EventAnswer(Struct):
    """What one event of a batch matches; `error` where a line was no event."""

    ids: list[str]
    scores: list[float] | UnsetType = UNSET
    error: str | UnsetType = UNSET


class Explained(Struct):
    """The truth of one node and of those beneath it."""

    holds: bool
    kind: str
    parts: list[Explained] | UnsetType = UNSET
    attribute: str | UnsetType = UNSET
    wanted: str | UnsetType | None = UNSET
    missing: bool | UnsetType = UNSET
    seen: Any | UnsetType = UNSET
    operations: list[str] | UnsetType = UNSET
    after: Any | UnsetType = UNSET


class ExplainAnswer(Struct):
    """Why a criterion holds or not, as a tree of objects and as text."""

    explanation: Explained
    text: str


class NearMiss(Struct):
    """A criterion that does not hold, and the fewest predicates to blame."""

    id: str
    failures: list[Explained]


class RegionAnswer(Struct):
    """What some event of the region satisfies, what every one does, and whether that is exact."""

    possible: list[str]
    certain: list[str]
    exact: bool


class UndecidedEntry(Struct):
    """A criterion that depends on attributes that are not known; exact: it does for certain."""

    id: str
    attributes: list[str]
    exact: bool


class UndecidedAnswer(Struct):
    """Criteria that hold or not as what is not known may be."""

    undecided: list[UndecidedEntry]


class NearestAnswer(Struct):
    """Near misses, the nearest first."""

    near: list[NearMiss]


class PutAnswer(Struct):
    """Whether the criterion is new."""

    id: str
    created: bool


class Reject(Struct):
    """A line that was refused: which, why, and where in the criterion."""

    line: int
    reason: str
    id: str | None = None
    place: str = ""


class BulkAnswer(Struct):
    """How many criteria were put, and those that were not."""

    accepted: int
    rejects: list[Reject]


class IndexEntry(Struct):
    """An index of the engine."""

    name: str
    criteria: int


class IndexList(Struct):
    """All indexes, by name."""

    indexes: list[IndexEntry]


class EventsAnswer(Struct):
    """Events for each of which some criterion of the index was meant to hold."""

    events: list[Any]


class JobEntry(Struct):
    """Long work: `done` `of` so many (null: not known); `result` once its status is done."""

    id: str
    kind: str
    index: str
    status: Status
    done: int
    of: int | None
    began: float
    ended: float | None
    error: str | None
    result: Any = None


class JobList(Struct):
    """All jobs, without their results."""

    jobs: list[JobEntry]


class Dimension(Struct):
    """A dimension of an index."""

    attribute: str
    view: str
    spaces: int
    predicates: int
    uses: int
    busiest: int


class SnapshotAnswer(Struct):
    """How large an index is: totals, dimensions, clusters."""

    name: str
    totals: dict[str, Any]
    dimensions: list[Dimension]
    clusters: list[dict[str, Any]]


class Health(Struct):
    """Whether the service can be asked."""

    status: str
    version: str
    reason: str | None = None


class Problem(Struct, omit_defaults=True):
    """What went wrong (RFC 9457); `error` and `arguments` make the same error at a client."""

    type: str
    title: str
    status: int
    detail: str
    instance: str
    error: str | None = None
    arguments: list[Any] = []
    criterion: str | None = None
    place: str | None = None
    column: int | None = None
