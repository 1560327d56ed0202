"""Changes as the log has them: JSON objects that say what was done to which index.

An index is known by its number, which is never given twice; so a record means the same whatever
its index is called when it is read.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from copy import copy
from typing import NamedTuple

import msgspec

from remuda.engine.aside import SetAside, id_of, set_aside
from remuda.errors import DuplicateCriterion, InvalidCriterion
from remuda.index.index import Index
from remuda.language.criterion import Criterion


class Made(msgspec.Struct, frozen=True):
    """What a new index is made of, beside its criteria."""

    name: str
    matcher: str
    scalars: list[str]
    hierarchies: dict[str, list[tuple[str | int, str | int | None]]] = {}


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
    many = (criteria,) if isinstance(criteria, Criterion) else tuple(criteria)
    seen: set[str] = set()
    for one in many:
        if not isinstance(one, Criterion):
            raise TypeError(f"criteria are needed, not {one!r}")
        if one.id in seen:
            raise DuplicateCriterion(one.id)
        seen.add(one.id)
    return many


def documents(criteria: Iterable[Criterion]) -> list[msgspec.Raw]:
    """The criteria as JSON texts."""
    return [msgspec.Raw(one.document()) for one in criteria]


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


class _Logged(NamedTuple):
    """A criterion as it was in the log."""

    criterion: Criterion
    document: bytes
    position: int


class Pending:
    """Changes of one index that are made together in the end: one by one they would be slow.

    A criterion that cannot be read or planned is set aside, and nothing else has its id then.
    """

    def __init__(self, index: Index) -> None:
        self.index = index
        self._put: dict[str, _Logged] = {}
        self._gone: set[str] = set()
        self._bad: list[SetAside] = []

    @property
    def set_aside(self) -> list[SetAside]:
        """What could not be put, less what came again or was deleted later."""
        return [one for one in self._bad if one.id is None or one.id not in self.index]

    def put(self, documents: Iterable[msgspec.Raw], position: int) -> None:
        for one in documents:
            document = bytes(one)
            try:
                criterion = Criterion.from_json(document)
            except Exception as error:
                name = id_of(document)
                self.delete([name] if name is not None else [])
                self._bad.append(set_aside(error, document, position, name))
            else:
                self._put[criterion.id] = _Logged(criterion, document, position)

    def delete(self, ids: Iterable[str]) -> None:
        gone = set(ids)
        self._bad = [one for one in self._bad if one.id not in gone]
        for one in gone:
            self._put.pop(one, None)
            if one in self.index:
                self._gone.add(one)

    def flush(self) -> None:
        """Make the changes."""
        self.index.remove(*self._gone)  # first: what was deleted and comes again comes last
        self._make(list(self._put.values()))

    def _make(self, some: Sequence[_Logged]) -> None:
        """Put some criteria; where that fails, one half and then the other, down to the one."""
        trial = copy(self.index)
        try:
            trial.update([one.criterion for one in some])
            len(trial.parts)  # those that would wait in the tail are planned, too
        except Exception as error:
            if len(some) == 1:
                self._refuse(some[0], error)
            else:
                self._make(some[: len(some) // 2])
                self._make(some[len(some) // 2 :])
        else:
            self.index = trial

    def _refuse(self, one: _Logged, error: Exception) -> None:
        name = one.criterion.id
        if name in self.index:  # what it was to replace must not answer in its place
            self.index.remove(name)
        self._bad.append(set_aside(error, one.document, one.position, name))
