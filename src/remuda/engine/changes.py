"""Changes as the log has them: JSON objects that say what was done to which index.

An index is known by its number, which is never given twice; so a record means the same whatever
its index is called when it is read.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec

from remuda.errors import DuplicateCriterion, InvalidCriterion
from remuda.index.index import Index
from remuda.language.criterion import Criterion


class Made(msgspec.Struct, frozen=True):
    """What a new index is made of, beside its criteria."""

    name: str
    matcher: str
    scalars: list[str]


class Put(msgspec.Struct, frozen=True, tag="put", tag_field="do", omit_defaults=True):
    """Criteria were added or updated, perhaps in an index that this made."""

    index: int
    criteria: list[msgspec.Raw]
    made: Made | None = None


class Delete(msgspec.Struct, frozen=True, tag="delete", tag_field="do"):
    """Criteria were deleted."""

    index: int
    ids: list[str]


class Replace(msgspec.Struct, frozen=True, tag="replace", tag_field="do"):
    """The index `new` took the name `old`."""

    old: str
    new: str


class Drop(msgspec.Struct, frozen=True, tag="drop", tag_field="do"):
    """An index was dropped."""

    name: str


Change = Put | Delete | Replace | Drop

_CHANGE: msgspec.json.Decoder[Change] = msgspec.json.Decoder(Change)
_ARRAY = msgspec.json.Decoder(list[msgspec.Raw])


def encode(change: Change) -> bytes:
    """The body of a record."""
    return msgspec.json.encode(change)


def decode(body: memoryview) -> Change:
    """What `encode` wrote."""
    return _CHANGE.decode(body)


def several(criteria: Criterion | Iterable[Criterion]) -> tuple[Criterion, ...]:
    """One criterion or many as many; no id may come twice."""
    found = (criteria,) if isinstance(criteria, Criterion) else tuple(criteria)
    seen: set[str] = set()
    for one in found:
        if not isinstance(one, Criterion):
            raise TypeError(f"criteria are needed, not {one!r}")
        if one.id in seen:
            raise DuplicateCriterion(one.id)
        seen.add(one.id)
    return found


def documents(criteria: Iterable[Criterion]) -> list[msgspec.Raw]:
    """The criteria as JSON texts."""
    return [msgspec.Raw(one.document()) for one in criteria]


def criteria(found: Iterable[msgspec.Raw]) -> list[Criterion]:
    """The criteria in JSON texts."""
    return [Criterion.from_json(bytes(one)) for one in found]


def criteria_in(text: str | bytes) -> list[Criterion]:
    """The criteria in the text of a JSON array."""
    try:
        found = _ARRAY.decode(text)
    except (msgspec.DecodeError, UnicodeError) as error:
        raise InvalidCriterion(f"the text is not a JSON array of criteria: {error}") from None
    read = []
    for i, one in enumerate(found):
        try:
            read.append(Criterion.from_json(bytes(one)))
        except InvalidCriterion as error:
            raise error.inside(f"[{i}]") from None
    return read


class Pending:
    """Changes of one index that wait to be made together: one by one they would be slow."""

    def __init__(self, index: Index) -> None:
        self.index = index
        self._put: dict[str, Criterion] = {}
        self._gone: set[str] = set()

    def put(self, criteria: Sequence[Criterion]) -> None:
        if not self._gone.isdisjoint(one.id for one in criteria):
            self.flush()  # what was deleted and comes again comes last
        self._put.update((one.id, one) for one in criteria)

    def delete(self, ids: Iterable[str]) -> None:
        for one in ids:
            self._put.pop(one, None)
            if one in self.index:
                self._gone.add(one)

    def flush(self) -> None:
        """Make the changes."""
        self.index.update(self._put.values())
        self.index.remove(*self._gone)
        self._put, self._gone = {}, set()
