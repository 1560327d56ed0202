"""Schemas of events: which attributes there are, of which kinds, and what criteria get wrong."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import date, datetime
from decimal import Decimal
from enum import StrEnum
from typing import Any

from remuda.language.criterion import Criterion
from remuda.language.text import parse
from remuda.language.tokens import place_of_name
from remuda.model.attributes import Attribute, Digits, Element, Every, Query, Step
from remuda.model.conditions import (
    Condition,
    Contains,
    In,
    Like,
    Network,
    Prefix,
    QuotedRange,
    Range,
    Regex,
    Related,
    SemVer,
    Suffix,
    Version,
)
from remuda.model.expressions import Expression, Predicate
from remuda.model.terms import Call, Case, Term, facts_of
from remuda.model.values import tidy


class Type(StrEnum):
    """What kind of values a field has."""

    NUMBER = "number"
    STRING = "string"
    BOOLEAN = "Boolean"
    DATE = "date"
    TIMESTAMP = "timestamp"
    OBJECT = "object"
    ANY = "anything"


@dataclass(frozen=True, slots=True)
class Field:
    """One field: the types that its values have, whether in a list, and the fields inside."""

    types: frozenset[Type]
    is_list: bool = False
    inside: Mapping[str, Field] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Finding:
    """What a criterion says that no event of the schema can satisfy, and where."""

    criterion: str
    attribute: str
    reason: str
    column: int | None = None  # in the text, from 0; None where the criterion has none

    def __str__(self) -> str:
        where = self.attribute if self.column is None else f"column {self.column + 1}"
        return f"{self.criterion}: {where}: {self.reason}"


Schema = Mapping[str, Field]


def check(criteria: Iterable[Criterion | str], schema: Any) -> list[Finding]:
    """What the criteria, or texts, say that cannot be true of events with this schema.

    The schema is Arrow's or Spark's, or comes from some events.
    """
    known = schema_of(schema)
    faults: list[Finding] = []
    for i, one in enumerate(criteria):
        if isinstance(one, str):
            faults += findings(str(i), parse(one), known, one)
        else:
            faults += findings(one.id, one.expression, known)
    return faults


def findings(
    id: str, expression: Expression, schema: Schema, text: str | None = None
) -> Iterator[Finding]:
    """What the expression says amiss, each thing once."""
    told = dict.fromkeys(_complaints(expression, schema))
    for attribute, reason in told:
        column = None if text is None else place_of_name(text, attribute)
        yield Finding(id, attribute, reason, column)


# Schemas


def schema_of(source: Any) -> Schema:
    """The fields of a schema of Arrow's or Spark's, of a mapping of fields, or of events."""
    if isinstance(source, Mapping):
        return source
    if hasattr(source, "schema") and not callable(source.schema):
        source = source.schema  # of a table, or of a frame
    if hasattr(source, "names") and hasattr(source, "field"):
        return {one.name: _of_arrow(one.type) for one in source}
    if hasattr(source, "fields") and hasattr(source, "simpleString"):
        return {one.name: _of_spark(one.dataType) for one in source.fields}
    return _of_events(source)


def _of_arrow(kind: Any) -> Field:
    from pyarrow import types

    if types.is_dictionary(kind):
        return _of_arrow(kind.value_type)
    if types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind):
        element = _of_arrow(kind.value_type)
        return Field(element.types, True, element.inside)
    if types.is_struct(kind):
        inside = {kind.field(i).name: _of_arrow(kind.field(i).type) for i in range(kind.num_fields)}
        return Field(frozenset({Type.OBJECT}), inside=inside)
    for matches, our_type in (
        (types.is_boolean, Type.BOOLEAN),
        (types.is_integer, Type.NUMBER),
        (types.is_floating, Type.NUMBER),
        (types.is_decimal, Type.NUMBER),
        (types.is_string, Type.STRING),
        (types.is_large_string, Type.STRING),
        (types.is_date, Type.DATE),
        (types.is_timestamp, Type.TIMESTAMP),
    ):
        if matches(kind):
            return Field(frozenset({our_type}))
    return Field(frozenset({Type.ANY}))


_OF_SPARK = {
    **dict.fromkeys(
        ("byte", "short", "integer", "long", "float", "double", "decimal"), Type.NUMBER
    ),
    **dict.fromkeys(("string", "varchar", "char"), Type.STRING),
    "boolean": Type.BOOLEAN,
    "date": Type.DATE,
    "timestamp": Type.TIMESTAMP,
    "timestamp_ntz": Type.TIMESTAMP,
}


def _of_spark(kind: Any) -> Field:
    name = kind.typeName()
    if name == "array":
        element = _of_spark(kind.elementType)
        return Field(element.types, True, element.inside)
    if name == "struct":
        inside = {one.name: _of_spark(one.dataType) for one in kind.fields}
        return Field(frozenset({Type.OBJECT}), inside=inside)
    return Field(frozenset({_OF_SPARK.get(name, Type.ANY)}))


def _of_events(events: Iterable[Any]) -> Schema:
    fields: dict[str, Field] = {}
    for event in events:
        if isinstance(event, Mapping):
            for name, value in event.items():
                seen = _of_value(value)
                fields[name] = _joined(fields[name], seen) if name in fields else seen
    return fields


def _of_value(value: Any) -> Field:
    plain = tidy(value)
    if isinstance(plain, list):
        elements = [_of_value(one) for one in plain]
        joined = elements[0]
        for one in elements[1:]:
            joined = _joined(joined, one)
        return Field(joined.types, True, joined.inside)
    if isinstance(plain, Mapping):
        return Field(frozenset({Type.OBJECT}), inside=_of_events([plain]))
    for kinds, our_type in (
        (bool, Type.BOOLEAN),
        ((int, float, Decimal), Type.NUMBER),
        (str, Type.STRING),
        (datetime, Type.TIMESTAMP),
        (date, Type.DATE),
    ):
        if isinstance(plain, kinds):
            return Field(frozenset({our_type}))
    return Field(frozenset())  # nothing is known of null


def _joined(one: Field, other: Field) -> Field:
    inside = dict(one.inside)
    for name, found in other.inside.items():
        inside[name] = _joined(inside[name], found) if name in inside else found
    return Field(one.types | other.types, one.is_list or other.is_list, inside)


# Complaints


def _complaints(expression: Expression, schema: Schema) -> Iterator[tuple[str, str]]:
    pending = [expression]
    while pending:
        node = pending.pop(0)
        if not isinstance(node, Predicate):
            pending += node.parts
            continue
        for attribute in facts_of(node.term).attributes:
            if isinstance(_field(attribute, schema), str):
                yield str(attribute), str(_field(attribute, schema))
        pending += _asked_in(node.term)
        known = _known(node.term, schema)
        if known is not None:
            reason = _mismatch(node.condition, *known)
            if reason is not None:
                yield str(node.attribute), reason


def _asked_in(term: Term) -> list[Expression]:
    if isinstance(term, Case):
        return [asked for asked, _ in term.branches]
    if isinstance(term, Call):
        return [asked for argument in term.arguments for asked in _asked_in(argument)]
    return []


def _known(term: Term, schema: Schema) -> tuple[Field, bool] | None:
    """The field that the condition looks at, and whether its texts are read as moments."""
    reads_moments = isinstance(term, Call) and term.name == "as_moment"
    if isinstance(term, Call) and reads_moments:
        (term,) = term.arguments
    found = _field(term, schema) if isinstance(term, Attribute) else None
    if not isinstance(found, Field) or not found.types or Type.ANY in found.types:
        return None
    return found, reads_moments


def _field(attribute: Attribute, schema: Schema) -> Field | str | None:
    """The field at the end of the path, why there is none, or None where it cannot be told."""
    inside, current, is_list = schema, None, False
    for i, step in enumerate(attribute.steps):
        if isinstance(step, Element | Every | Digits):
            is_list = is_list and isinstance(step, Every)
            continue
        if isinstance(step, Query):
            return None
        if step not in inside:
            if current is not None and (Type.ANY in current.types or not current.types):
                return None
            return _unknown(attribute.steps[:i], step, inside)
        current = inside[step]
        inside, is_list = current.inside, is_list or current.is_list
    return None if current is None else Field(current.types, is_list, current.inside)


def _unknown(before: tuple[Step, ...], name: str, names: Iterable[str]) -> str:
    where = f" in {Attribute(before)}" if before else ""
    same = [one for one in names if one.lower() == name.lower()]
    if same:
        return f"there is no {name!r}{where}; names are case-sensitive, and there is {same[0]!r}"
    near = difflib.get_close_matches(name, list(names), n=1)
    return f"there is no {name!r}{where}" + (f"; the nearest is {near[0]!r}" if near else "")


_TEXTUAL = (Regex, Like, Prefix, Suffix, Contains, Version, SemVer, Network)


def _mismatch(condition: Condition, known: Field, reads_moments: bool) -> str | None:
    if isinstance(condition, Related) and not known.is_list:
        return f"this asks for a list, and its values are {_named(known.types)}"
    wanted = _wanted(condition)
    types = known.types | ({Type.DATE, Type.TIMESTAMP} if reads_moments else frozenset())
    if reads_moments and Type.STRING not in known.types:
        types = known.types
    if wanted is None or wanted & types:
        return None
    return f"this is never true: it compares {_named(known.types)} with {_named(wanted)}"


def _wanted(condition: Condition) -> frozenset[Type] | None:
    """The types of values that can satisfy the condition; None for all."""
    if isinstance(condition, _TEXTUAL):
        return frozenset({Type.STRING})
    if isinstance(condition, Range):
        return frozenset({Type(condition.kind.value)})
    if isinstance(condition, QuotedRange):
        return frozenset(Type(one.kind.value) for one in condition.ranges)
    if isinstance(condition, In | Related) and condition.values:
        found = [_of_value(value) for value in condition.plain_values]
        return frozenset(kind for one in found for kind in one.types)
    return None


def _named(types: Iterable[Type]) -> str:
    return " or ".join(sorted(types)) or "nothing"
