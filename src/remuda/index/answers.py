"""Answers as tables: rows as they were given, and beside them what they match."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from remuda.arrays import Ints, Longs
from remuda.encoding.events import Portion, Rows
from remuda.errors import RemudaError
from remuda.index.matches import Matches
from remuda.jit import kernel

Array: TypeAlias = Any  # pyarrow has no types of its own
Numbers: TypeAlias = Ints | Longs  # that stand for ids, by their positions

MATCHES, VERSION, ERROR = "matches", "index_version", "event_error"
SCORED = pa.struct([("id", pa.string()), ("score", pa.float64())])
_EXPLODED = 1 << 15  # rows of an exploded table
_LARGEST = 1 << 30  # bytes of an array in a row of Spark's, whose rows have 2 GiB at most
_TEXT, _NUMBER = 32, 8  # bytes that an id takes there
_PIECE = 1 << 16  # matches of a list that will be exploded, and of a table of such lists


class Answer(NamedTuple):
    """Some events, and what they match."""

    portion: Portion
    matches: Matches


def listed(matches: Matches, numbers: Numbers | None = None) -> Array:
    """Of each event a list of ids, or of ids and scores where there are any.

    Ids are texts, or the `numbers` that stand for their positions.
    """
    if numbers is not None:
        starts = pa.array(matches.offsets, pa.int32())
        return pa.ListArray.from_arrays(starts, _items(matches, 0, None, numbers))
    table = matches.to_arrow()
    ids = table.column("ids").combine_chunks()
    if matches.scores is None:
        return ids
    scores = table.column("scores").combine_chunks()
    pairs = pa.StructArray.from_arrays([ids.values, scores.values], fields=list(SCORED))
    return pa.ListArray.from_arrays(ids.offsets, pairs)


def _items(matches: Matches, first: int, last: int | None, numbers: Numbers | None) -> Array:
    """Some matches, whosever they are, as ids, or as ids and scores."""
    own = slice(first, last)
    positions = matches.positions[own]
    ids = matches.names.at(positions) if numbers is None else _numbers_at(numbers, positions)
    if matches.scores is None:
        return ids
    fields = [pa.field("id", ids.type), SCORED.field("score")]
    return pa.StructArray.from_arrays([ids, pa.array(matches.scores[own])], fields=fields)


def _numbers_at(numbers: Numbers, positions: Ints) -> Array:
    found = np.empty(len(positions), np.int64)
    _take(numbers, positions, found)
    return pa.array(found)


@kernel
def _take(numbers: Numbers, positions: Ints, found: Longs) -> None:
    """As NumPy does it, which makes indexes of 64 bits first and compares each with the end."""
    for i in range(len(positions)):
        found[i] = numbers[np.uint64(positions[i])]


def check_lists(matches: Matches, numbers: Numbers | None = None) -> None:
    """Refuse what no array of Spark's could hold, in a sentence that says what to do."""
    most = int(matches.counts().max(initial=0))
    if most * (_TEXT if numbers is None else _NUMBER) > _LARGEST:
        raise RemudaError(
            f"an event has {most:,} matches, too many for one array: explode them, ask for ids as "
            "numbers, for the best by `top`, or count them by `reach`"
        )


def in_pieces(
    rows: Rows, matches: Matches, version: str | None, column: str, numbers: Numbers | None = None
) -> Iterator[pa.Table]:
    """The rows with their matches in lists of some length, a row several times where it has more.

    Rows without a match are left out. No table holds many matches, however many an event has.
    """
    counts = matches.counts()
    parents = np.repeat(np.arange(len(counts)), -(-counts // _PIECE))
    firsts = np.searchsorted(parents, parents)  # of each piece: the first one of its event
    place = np.arange(len(parents)) - firsts
    ends = np.minimum(matches.offsets[parents] + (place + 1) * _PIECE, matches.offsets[parents + 1])
    starts = np.concatenate([matches.offsets[:1], ends])
    begin = 0
    while begin < len(parents):
        end = int(np.searchsorted(starts, starts[begin] + _PIECE, side="right")) - 1
        end = max(end, begin + 1)
        own = pa.array(parents[begin:end])
        offsets = pa.array(starts[begin : end + 1] - starts[begin], pa.int32())
        items = _items(matches, int(starts[begin]), int(starts[end]), numbers)
        lists = pa.ListArray.from_arrays(offsets, items)
        errors = None if matches.errors is None else matches.errors.take(own)
        yield _beside(rows.take(own), lists, version, errors, column)
        begin = end


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
