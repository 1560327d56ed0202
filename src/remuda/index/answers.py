"""Answers as tables: rows as they were given, and beside them what they match."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from remuda.encoding.events import Portion, Rows
from remuda.index.matches import Matches

Array: TypeAlias = Any  # pyarrow has no types of its own

MATCHES, VERSION, ERROR = "matches", "index_version", "event_error"
SCORED = pa.struct([("id", pa.string()), ("score", pa.float64())])
_EXPLODED = 1 << 15  # rows of an exploded table


class Answer(NamedTuple):
    """Some events, and what they match."""

    portion: Portion
    matches: Matches


def listed(matches: Matches) -> Array:
    """Of each event a list of ids, or of ids and scores where there are any."""
    table = matches.to_arrow()
    ids = table.column("ids").combine_chunks()
    if matches.scores is None:
        return ids
    scores = table.column("scores").combine_chunks()
    pairs = pa.StructArray.from_arrays([ids.values, scores.values], fields=list(SCORED))
    return pa.ListArray.from_arrays(ids.offsets, pairs)


def laid_out(
    rows: Rows,
    lists: Array,
    version: str | None,
    errors: Array | None = None,
    *,
    column: str = MATCHES,
    explode: bool = False,
) -> Iterator[pa.Table]:
    """The rows with their matches, the version and the errors; or exploded, one row a match."""
    if not explode:
        yield _beside(rows, lists, version, errors, column)
        return
    counts = pc.list_value_length(lists).to_numpy(zero_copy_only=False)
    parents = np.repeat(np.arange(len(lists)), counts)
    matches = lists.flatten()
    for start in range(0, len(parents), _EXPLODED):
        own = pa.array(parents[start : start + _EXPLODED])
        reasons = None if errors is None else errors.take(own)
        some = matches.slice(start, _EXPLODED)
        yield _beside(rows.take(own), some, version, reasons, column)


def _beside(
    rows: Rows, matches: Array, version: str | None, errors: Array | None, column: str
) -> pa.Table:
    versions = pa.repeat(pa.scalar(version, pa.string()), len(matches))
    added = {column: matches, VERSION: versions} | ({} if errors is None else {ERROR: errors})
    return pa.table([*rows.columns, *added.values()], [*rows.schema.names, *added])
