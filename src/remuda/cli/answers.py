"""Answers in Arrow: portions of events with what an index says about them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from remuda.cli.events import ERROR, Portion
from remuda.cli.files import FileError
from remuda.index.index import Index
from remuda.index.matches import Matches

if TYPE_CHECKING:
    from remuda.cli.matching import Question

MATCHES, VERSION = "matches", "index_version"
_FIRST = 256  # events that are asked about first, while it is not known how much they match
_HITS = 1 << 20  # matches that are held at a time
_SCORED = pa.struct([("id", pa.string()), ("score", pa.float64())])


def schema_of(given: Any, question: Question) -> Any:
    """The columns as given, and behind them the answer and the version."""
    taken = {MATCHES, VERSION} & set(given.names)
    if taken:
        raise FileError(f"the events have a column {min(taken)} already: rename or drop it")
    one = pa.string() if question.n is None else _SCORED
    kind = one if question.explode else pa.list_(one)
    fields = [field for field in given if field.name != ERROR]
    fields += [pa.field(MATCHES, kind), pa.field(VERSION, pa.string())]
    return pa.schema([*fields, *(field for field in given if field.name == ERROR)])


def answered(index: Index, portion: Portion, question: Question) -> Iterator[tuple[Any, int]]:
    """Tables with a row an event, or a row a match, and how many matches; few at a time."""
    schema = schema_of(portion.given.schema, question)
    size, start, n_rows = _FIRST, 0, portion.given.num_rows
    while start < n_rows:
        part = portion.slice(start, size)
        start += size
        found, values = _asked(index, part, question)
        n_matches = int(found.offsets[-1])
        size = max(1, min(_HITS * len(found) // max(n_matches, 1), n_rows))
        yield _table(part.given, found, values, index.version, schema, question), n_matches


def _asked(index: Index, part: Portion, question: Question) -> tuple[Matches, Any]:
    """What was found, and the matches of all events, one after the other."""
    how: dict[str, Any] = {"tags": question.tags, "now": question.now}
    if question.n is None:
        found = index.match_many(part.events, **how)
        return found, found.names.at(_in_order(found))
    found = index.top_many(part.events, question.n, weights=question.weights, **how)
    ids = found.names.at(found.positions)
    return found, pa.StructArray.from_arrays([ids, pa.array(found.scores)], ["id", "score"])


def _table(
    given: Any, found: Matches, values: Any, version: str | None, schema: Any, question: Question
) -> Any:
    if question.explode:
        rows = pa.array(np.repeat(np.arange(len(found)), found.counts()))
        given, matches = given.take(rows), values
    else:
        matches = pa.ListArray.from_arrays(pa.array(found.offsets, pa.int32()), values)
    columns = dict(zip(given.schema.names, given.columns, strict=True))
    columns[MATCHES] = matches
    columns[VERSION] = pa.repeat(pa.scalar(version, pa.string()), len(matches))
    return pa.Table.from_arrays([columns[name] for name in schema.names], schema=schema)


def _in_order(found: Matches) -> Any:
    """The positions of each event in insertion order."""
    orders = found.names.orders
    if len(orders) > 1 and np.any(orders[1:] < orders[:-1]):
        by_order = np.argsort(orders)
        ranks = np.empty(len(orders), np.int64)
        ranks[by_order] = np.arange(len(orders))
    else:
        by_order = ranks = np.arange(len(orders))
    rows = np.repeat(np.arange(len(found)), found.counts())
    keys = np.sort(rows << 32 | ranks[found.positions])  # much faster than sorting by two keys
    return by_order[keys & 0xFFFFFFFF]
