"""The JSON form: Mustang's criteria, and named extensions for what Mustang lacks."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from contextlib import suppress
from datetime import datetime
from math import isfinite
from types import NoneType
from typing import Any, get_args

import msgspec

from remuda.errors import InvalidCriterion, ParseError
from remuda.language import json_mustang, json_writing
from remuda.language.json_structs import Detail, Form, PreOperation
from remuda.language.json_structs import Predicate as WrittenPredicate
from remuda.language.json_values import Nested, typed, value_of
from remuda.model.calendars import Extract
from remuda.model.conditions import Comparison
from remuda.model.expressions import MAX_LEVELS, Expression, Polarity, Predicate
from remuda.model.stacks import on_any_stack
from remuda.model.values import checked_text

MAX_PAYLOAD_LEVELS = 100
_MOST_FIELDS = 100  # with more, an event is read faster as a whole
_LONGEST = 10**4300  # Python reads and writes no longer integers


class _Named(msgspec.Struct):
    """A criterion of which nothing but the id is read."""

    id: str


_FORM: msgspec.json.Decoder[Form] = msgspec.json.Decoder(Form)
_NAMED = msgspec.json.Decoder(_Named)
_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")
_HEAD = re.compile(
    r'\s*\{\s*(?:"form"\s*:\s*"[^"\\]*"\s*,\s*)?"id"\s*:\s*(?P<id>"(?:[^"\\]|\\.)*")'
)


Read = tuple[str, Expression, frozenset[str], bool, datetime | None, datetime | None, Any, float]

_THEMSELVES = frozenset({str, int, float, bool, NoneType})


def read(source: Mapping[str, Any] | str | bytes) -> Read:
    """What a Criterion is made of; InvalidCriterion says what is wrong."""
    try:
        return on_any_stack(lambda: _read(source))
    except InvalidCriterion as error:
        raise error.inside("", _id(source)) from None
    except RecursionError:
        reason = f"it is nested too deeply: {MAX_LEVELS} levels are the most"
        raise InvalidCriterion(reason, criterion=_id(source)) from None


def _read(source: Mapping[str, Any] | str | bytes) -> Read:
    form = _decode(source)
    return (
        _named(form),
        form.expression(),
        frozenset(form.tags),
        form.enabled,
        form.valid_from,
        form.valid_until,
        form.payload,
        form.priority,
    )


def write(
    id: str, expression: Expression, head: Mapping[str, Any], *, mustang: bool = False
) -> dict[str, Any]:
    """The criterion as a JSON object; with `mustang`, only if Mustang reads it the same.

    `head` has the properties of the whole that are not its expression's: tags and others.
    """
    try:
        written = {**json_writing.criterion(id, expression), **head}
    except InvalidCriterion as error:
        raise error.inside("", id) from None
    if mustang:
        json_mustang.check(written)
    return written


def check_payload(payload: Any) -> None:
    """Refuse what JSON cannot hold unchanged, however deep it stands."""
    level = [payload]
    for _ in range(MAX_PAYLOAD_LEVELS):
        if not level:
            return
        level = [part for value in level for part in _parts_of(value)]
    if level:
        raise InvalidCriterion(f"it is nested more than {MAX_PAYLOAD_LEVELS} levels deep")


def _parts_of(value: Any) -> Iterable[Any]:
    """What stands in a list or an object of JSON."""
    kind = type(value)
    if kind is str:
        checked_text(value, "a payload's text")
    elif kind is list:
        return value  # type: ignore[no-any-return]
    elif kind is dict:
        for name in value:
            if type(name) is not str:
                raise InvalidCriterion(f"a name in JSON is a string, not {name!r}")
            checked_text(name, "a payload's name")
        return value.values()  # type: ignore[no-any-return]
    elif (kind is int and abs(value) >= _LONGEST) or (kind is float and not isfinite(value)):
        raise InvalidCriterion("a number in JSON is finite, and of 4,300 digits at most")
    elif kind not in (bool, int, float, NoneType):
        raise InvalidCriterion(f"JSON has no value of type {kind.__name__}")
    return ()


def encode(document: Any) -> bytes:
    """The text of a JSON document."""
    return msgspec.json.encode(document)


def decode(text: bytes | memoryview) -> Any:
    """What `encode` wrote."""
    return msgspec.json.decode(text)


def read_event(text: str | bytes) -> Any:
    """The event in a JSON text; ParseError says where it is not JSON."""
    try:
        return on_any_stack(lambda: _event(text))
    except RecursionError:
        raise ParseError("the event is nested too deeply to be read", _shown(text), 0) from None
    except (msgspec.DecodeError, UnicodeError) as error:
        place = re.search(r"byte (\d+)", str(error))
        at = int(place[1]) if place else len(text)
        raise ParseError(f"the event is not JSON: {error}", _shown(text), at) from None


class EventReader:
    """Events of JSON texts, of which only those fields are read that are looked at; None: all.

    Of other fields it is seen that they are JSON, and no more: a number may be beyond all floats.
    """

    def __init__(self, fields: frozenset[str] | None) -> None:
        self._names: list[str] = []
        self._decoder: msgspec.json.Decoder[Any] | None = None
        if fields is not None and len(fields) <= _MOST_FIELDS:
            self._names = sorted(fields)
            own = {f"field{i}": name for i, name in enumerate(self._names)}
            with suppress(ValueError):  # a name that msgspec does not take
                kind = msgspec.defstruct(
                    "Event", [(one, Any, msgspec.UNSET) for one in own], rename=own
                )
                self._decoder = msgspec.json.Decoder(kind)

    def read(self, text: str | bytes) -> Any:
        """The event; ParseError says where it is not JSON."""
        if self._decoder is None:
            return read_event(text)
        try:
            if isinstance(text, bytes) and not text.isascii():
                text.decode()  # what is passed over is not looked into
            found = self._decoder.decode(text)
        except (msgspec.DecodeError, UnicodeError, RecursionError):  # or no object
            return read_event(text)
        values = zip(self._names, msgspec.structs.astuple(found), strict=True)
        return {name: value for name, value in values if value is not msgspec.UNSET}


def _event(text: str | bytes) -> Any:
    try:
        return msgspec.json.decode(text)
    except msgspec.DecodeError:
        if not _SURROGATE.search(_shown(text)):
            raise
        # half of a pair, written as an escape, is JSON: one text of an event takes no other with it
        with suppress(ValueError):
            return json.loads(text)
        raise


def _shown(text: str | bytes) -> str:
    return text if isinstance(text, str) else bytes(text).decode("utf-8", "replace")


def write_predicate(predicate: Predicate) -> dict[str, Any]:
    """One predicate by itself."""
    return json_writing.predicate(predicate)


def read_predicate(document: Mapping[str, Any]) -> Predicate:
    """What `write_predicate` wrote."""
    return msgspec.convert(document, WrittenPredicate).expression()


def write_values(values: Iterable[Any]) -> list[Any]:
    """Values of any kind, those that JSON lacks under their type."""
    return [typed(value) for value in values]


def read_values(documents: Iterable[Any]) -> list[Any]:
    """What `write_values` wrote; a large index has millions, most of which stand for themselves."""
    return [
        one if type(one) in _THEMSELVES else value_of(msgspec.convert(one, Nested))
        for one in documents
    ]


def _decode(source: Mapping[str, Any] | str | bytes) -> Form:
    try:
        if isinstance(source, str | bytes):
            return _FORM.decode(source)
        form: Form = msgspec.convert(source, Form)
    except msgspec.ValidationError as error:
        raise _misfit(str(error)) from None
    except msgspec.DecodeError as error:
        reason = str(error).removeprefix("JSON is malformed: ")
        reason = reason.replace("Input data was truncated", f"it ends too early, at {len(source)}")
        raise InvalidCriterion(f"the text is not JSON: {reason}") from None
    except UnicodeError as error:
        raise InvalidCriterion(f"the text is not UTF-8: {error}") from None
    return form


def _named(form: Form) -> str:
    if form.id is None:
        raise InvalidCriterion("it lacks the property `id`")
    return form.id


def _misfit(message: str) -> InvalidCriterion:
    """The error for what is JSON but no criterion, of a message such as "… - at `$.id`"."""
    reason, _, path = message.rpartition(" - at `") if " - at `" in message else (message, "", "")
    place = path.rpartition("$")[2].rstrip("`").removeprefix(".")
    value = re.fullmatch(r"Invalid (?:enum )?value (.*)", reason, re.DOTALL)
    if value:
        known = _choices(place)
        expected = f"one of {', '.join(known)}" if len(known) > 1 else known[0]
        return InvalidCriterion(f"expected {expected}, got {value[1]}", place)
    reason = reason.replace("Object missing required field", "it lacks the property")
    reason = reason.replace("Object contains unknown field", "there is no such property here:")
    return InvalidCriterion(reason[0].lower() + reason[1:], place)


def _choices(place: str) -> tuple[str, ...]:
    """The words that may stand at a place."""
    names = re.sub(r"\[\d+\]", "", place).split(".")
    known = {
        "form": _tags(Form),
        "caveat": _tags(Detail),
        "extract": tuple(Extract),
        "check": ("ABOVE", "BELOW"),
        "operator": tuple(Comparison),
        "type": ("AND", "OR", "NOT"),
        "conjunctions.type": ("AND",),
        "disjunctions.type": ("OR",),
        "predicates.type": tuple(Polarity),
        "preOperation.type": _tags(PreOperation),
        "preOperations.type": _tags(PreOperation),
    }
    return known.get(".".join(names[-2:])) or known[names[-1]]


def _tags(union: Any) -> tuple[str, ...]:
    return tuple(struct.__struct_config__.tag for struct in get_args(union))


def _id(source: Mapping[str, Any] | str | bytes) -> str | None:
    """The id of a criterion that may be broken elsewhere, where it can be known."""
    if isinstance(source, Mapping):
        return source["id"] if isinstance(source.get("id"), str) else None
    if not isinstance(source, str | bytes):
        return None
    try:
        return _NAMED.decode(source).id
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return _leading_id(source)


def _leading_id(source: str | bytes) -> str | None:
    """The id at the head of a text that is broken behind it."""
    text = source if isinstance(source, str) else source.decode("utf-8", "surrogateescape")
    head = _HEAD.match(text)
    try:
        return msgspec.json.decode(head["id"], type=str) if head else None
    except (msgspec.DecodeError, UnicodeError):
        return None
