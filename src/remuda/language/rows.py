"""Criteria from rows: JSON text, or a mapping with columns id and expression; without Spark."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from pathlib import PurePath
from typing import Any

import msgspec

from remuda.errors import InvalidCriterion, ParseError
from remuda.language.criterion import Criterion
from remuda.language.schemas import Schema, findings
from remuda.language.text import parse
from remuda.model.attributes import Attribute
from remuda.model.expressions import Expression, Predicate, with_predicates
from remuda.model.readings import read_timestamp

SEPARATORS = {"csv": ",", "tsv": "\t"}
COMPRESSED = (".gz", ".bz2", ".zst", ".lz4", ".snappy", ".deflate")
_FORMATS = {
    **dict.fromkeys(("", ".json", ".jsonl", ".ndjson", ".txt"), "jsonl"),
    **{f".{name}": name for name in ("csv", "tsv", "parquet", "orc")},
}
_LONGEST = 1 << 30  # characters of a field: an expression may be long
_SWITCHES = {"true": True, "false": False}


def format_of(path: str) -> str | None:
    """The format that the name of a file tells; None where its extension is not known."""
    name = PurePath(path)
    while name.suffix.lower() in COMPRESSED:
        name = name.with_suffix("")
    return _FORMATS.get(name.suffix.lower())


def missing_columns(columns: Sequence[str] | None) -> str | None:
    """What to say of a table that cannot be one of criteria, by the names of its columns."""
    missing = [name for name in ("id", "expression") if name not in (columns or ())]
    if not columns or not missing or "form" in columns:  # a form: columns as JSON has keys
        return None
    return f"it has no column {' and no column '.join(missing)}; there are {', '.join(columns)}"


def csv_rows(
    lines: Iterable[str], separator: str, names: Sequence[str] | None = None
) -> csv.DictReader[Any]:
    """Rows of CSV under the given names, or those in the first line.

    All of it is text. What a row lacks is None; what it has beyond the names is a list under None.
    """
    csv.field_size_limit(_LONGEST)
    return csv.DictReader(lines, names, delimiter=separator)


def text_of(source: bytes | Mapping[str, Any]) -> str | None:
    """The text of a row's expression, where it has one."""
    row = _decoded(source) if isinstance(source, bytes) else source
    text = row.get("expression") if isinstance(row, Mapping) and "form" not in row else None
    return text if isinstance(text, str) else None


def _decoded(source: bytes) -> Any:
    """The row of a line, where it may be one with columns; otherwise the line."""
    line = source.rstrip(b"\r\n")
    if b'"expression"' in line:
        with suppress(msgspec.DecodeError, UnicodeError, RecursionError):
            return msgspec.json.decode(line)
    return line


def criterion_of(source: bytes | Mapping[str, Any], schema: Schema | None = None) -> Criterion:
    """The criterion that a row is; InvalidCriterion says what is wrong with it.

    With a schema, so is what no event of it can satisfy.
    """
    row: Any = _decoded(source) if isinstance(source, bytes) else source
    if isinstance(row, Mapping) and "expression" in row and "form" not in row:
        return _raised(fitting(_tabular(row), schema, row["expression"]))
    document = source.rstrip(b"\r\n") if isinstance(source, bytes) else source
    return _raised(fitting(Criterion.from_json(document), schema))


def fitting(
    criterion: Criterion, schema: Schema | None, text: str | None = None
) -> Criterion | InvalidCriterion:
    """The criterion, or the first thing in it that no event of the schema can satisfy."""
    for one in () if schema is None else findings(criterion.id, criterion.expression, schema, text):
        place = one.attribute if one.column is None else f"expression, column {one.column + 1}"
        return InvalidCriterion(one.reason, place, criterion.id)
    return criterion


def _raised(found: Criterion | InvalidCriterion) -> Criterion:
    if isinstance(found, InvalidCriterion):
        raise found
    return found


def _tabular(row: Mapping[str, Any]) -> Criterion:
    """A row with columns id and expression, perhaps tags, weights, a term, payload and priority."""
    if row.get("id") is None:
        raise InvalidCriterion("the column id is empty", "id")
    name = str(row["id"])
    term = {"enabled", "valid_from", "valid_until"}
    known = {"id", "expression", "tags", "weights", *term, "payload", "priority"}
    unknown = sorted(str(column) for column in row if column not in known)
    if unknown:
        raise InvalidCriterion(f"the column {unknown[0]!r} is not known", unknown[0], name)
    try:
        return Criterion(
            name,
            _weighted(_parsed(row["expression"]), row.get("weights")),
            _tags(row.get("tags")),
            _switch(row.get("enabled")),
            _moment("valid_from", row.get("valid_from")),
            _moment("valid_until", row.get("valid_until")),
            row.get("payload"),
            _priority(row.get("priority")),
        )
    except InvalidCriterion as error:
        raise error.inside("", name) from None


def _parsed(text: Any) -> Expression:
    if text is not None and not isinstance(text, str):
        raise InvalidCriterion(f"an expression is text, not {text!r}", "expression")
    try:
        return parse(text or "")
    except ParseError as error:
        place = f"expression, column {error.column + 1}"
        raise InvalidCriterion(str(error), place) from None


def _tags(tags: Any) -> frozenset[str]:
    """An array of tags, or text with commas between them."""
    if isinstance(tags, str):
        return frozenset(filter(None, map(str.strip, tags.split(","))))
    if tags is not None and not isinstance(tags, Sequence):
        raise InvalidCriterion(f"tags are a list, or text with commas, not {tags!r}", "tags")
    return frozenset(tags or ())


def _weighted(expression: Expression, weights: Any) -> Expression:
    """The expression with a weight for each predicate on the attributes that are named."""
    if isinstance(weights, str) and weights.strip():
        try:
            weights = msgspec.json.decode(weights)
        except (msgspec.DecodeError, RecursionError) as error:
            raise InvalidCriterion(f"this is not JSON: {error}", "weights") from None
    if weights is None or weights == "":
        return expression
    if not isinstance(weights, Mapping):
        raise InvalidCriterion(f"weights are an object, not {weights!r}", "weights")
    wanted = {Attribute.parse(path): weight for path, weight in weights.items()}
    met: set[Attribute] = set()

    def weighted(predicate: Predicate) -> Predicate:
        about = predicate.attribute
        if about is None or about not in wanted:
            return predicate
        met.add(about)
        try:
            return predicate.weight(wanted[about])
        except InvalidCriterion as error:
            raise error.inside(f"weights.{about}") from None

    found = with_predicates(expression, weighted)
    for attribute in wanted.keys() - met:
        raise InvalidCriterion("no predicate is on this attribute", f"weights.{attribute}")
    return found


def _switch(enabled: Any) -> bool:
    if enabled is None or enabled == "":
        return True
    found = _SWITCHES.get(enabled.strip().lower()) if isinstance(enabled, str) else enabled
    if not isinstance(found, bool):
        raise InvalidCriterion(f"this is true or false, not {enabled!r}", "enabled")
    return found


def _priority(priority: Any) -> Any:
    """A number, or text that says one."""
    if priority is None or priority == "":
        return 0.0
    with suppress(ValueError):
        return float(priority) if isinstance(priority, str) else priority
    return priority  # Criterion refuses it


def _moment(name: str, moment: Any) -> datetime | None:
    if moment is None or moment == "":
        return None
    found = read_timestamp(moment) if isinstance(moment, str) else moment
    if found is None:
        raise InvalidCriterion(f"this is no timestamp: {moment!r}", name)
    return found  # Criterion refuses what is no datetime
