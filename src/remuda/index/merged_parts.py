"""Parts merged: what is still there in several of them as one, nothing of it read anew."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, TypeAlias, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from remuda.arrays import Floats, Halves, Longs, frozen, starts_of
from remuda.encoding.merged_plans import merge
from remuda.encoding.narrowing import GONE
from remuda.index.roster import (
    Gathered,
    Roster,
    StoredCriteria,
    StoredIds,
    Tags,
    slots_of,
    split,
    united,
)
from remuda.index.segment import Lazy, Segment
from remuda.index.state import Part
from remuda.language.criterion import FOREVER
from remuda.model.hierarchies import Hierarchies

Array: TypeAlias = Any  # pyarrow has no types of its own
T = TypeVar("T")

_FANOUT = 8  # segments of like size before they become one
_AT_ONCE = 1 << 14  # ids that are copied to Arrow before other threads may run


def worth_merging(parts: Sequence[Part]) -> list[Part]:
    """Segments of like size that are many, or one that is mostly graves."""
    tiers: dict[int, list[Part]] = {}
    for part in parts:
        if len(part) * 2 < len(part.roster):
            return [part]
        tiers.setdefault(max(len(part), 1).bit_length() // 3, []).append(part)
    return next((tier for _, tier in sorted(tiers.items()) if len(tier) >= _FANOUT), [])


def merged(parts: Sequence[Part], matcher: str, hierarchies: Hierarchies | None = None) -> Part:
    """One part of what is still there in the parts, in the order of insertion."""
    rosters = [part.roster for part in parts]
    offsets = starts_of([len(roster) for roster in rosters])
    starts = offsets[:-1].tolist()
    there = [start + part.places() for part, start in zip(parts, starts, strict=True)]
    places = np.concatenate(there)  # of all rosters one after the other
    orders = np.concatenate([roster.orders for roster in rosters])
    places = places[np.argsort(orders[places])]
    numbers = np.full(offsets[-1], GONE, np.int64)
    numbers[places] = np.arange(len(places))
    plans = [(part.segment.plan, part.segment.words.vocabulary) for part in parts]
    plan, vocabulary = merge(plans, np.split(numbers, starts[1:]))
    roster = _roster(rosters, places, numbers, orders[places], hierarchies)
    return Part(Segment.over(plan, Lazy(lambda: vocabulary), matcher, roster.ranks), roster)


def _roster(
    rosters: Sequence[Roster],
    places: Longs,
    numbers: Longs,
    orders: Longs,
    hierarchies: Hierarchies | None,
) -> Roster:
    ids = _gathered([one.ids for one in rosters], places, StoredIds)
    names = _bytes(ids)
    ranks = np.empty(len(ids), np.int32)
    ranks[pc.array_sort_indices(names).to_numpy()] = np.arange(len(ids), dtype=np.int32)
    return Roster(
        ids,
        _gathered(
            [one.criteria for one in rosters],
            places,
            partial(StoredCriteria.packing, hierarchies=hierarchies),
        ),
        frozen(orders),
        frozen(ranks),
        frozen(slots_of(_checksums(names))),
        _tags(rosters, numbers, len(ids)),
        _terms(rosters, places),
        _priorities(rosters, places),
    )


def _gathered(
    sequences: Sequence[Sequence[T]], places: Longs, stored_as: Callable[[Array], Sequence[T]]
) -> Sequence[T]:
    """The items at the places of all sequences one after the other; what is stored stays so."""
    arrays: list[Array] = []
    in_memory: list[T] = []
    pieces, n_stored = [], 0
    for sequence in sequences:
        stored, own, slots = split(sequence)
        pieces.append(np.where(slots >= 0, slots + n_stored, slots - len(in_memory)))
        if stored is not None:
            arrays.append(stored)
            n_stored += len(stored)
        in_memory += own
    slots = np.concatenate(pieces)[places]
    is_stored = slots >= 0
    chosen = [in_memory[i] for i in (~slots[~is_stored]).tolist()]
    if len(chosen) == len(places):
        return chosen
    taken = pa.chunked_array(arrays).take(pa.array(slots[is_stored])).combine_chunks()
    if not chosen:
        return stored_as(taken)
    ranks = np.where(is_stored, np.cumsum(is_stored) - 1, ~(np.cumsum(~is_stored) - 1))
    return Gathered(stored_as(taken), chosen, frozen(ranks))


def _bytes(ids: Sequence[str]) -> Array:
    """The ids in UTF-8, whose order is that of code points."""
    stored, names, slots = split(ids)
    pieces = []
    for start in range(0, len(names), _AT_ONCE):
        some = [name.encode("utf-8", "surrogatepass") for name in names[start : start + _AT_ONCE]]
        pieces.append(pa.array(some, pa.large_binary()))
    own = pa.chunked_array(pieces, pa.large_binary()).combine_chunks()
    return united(None if stored is None else stored.cast(pa.large_binary()), own, slots)


def _checksums(names: Array) -> Halves:
    """The checksum of each id in UTF-8, as `checksum` has it."""
    found = np.empty(len(names), np.uint32)
    for start in range(0, len(names), _AT_ONCE):
        some = names[start : start + _AT_ONCE].to_pylist()
        found[start : start + _AT_ONCE] = list(map(zlib.crc32, some))
    return found


def _tags(rosters: Sequence[Roster], numbers: Longs, n: int) -> Tags:
    names = sorted({name for one in rosters for name in one.tags.names})
    position = {name: i for i, name in enumerate(names)}
    keys, start = [np.empty(0, np.int64)], 0
    for one in rosters:
        own = np.array([position[name] for name in one.tags.names], np.int64)
        found = numbers[start + one.tags.places]
        keys.append((np.repeat(own, np.diff(one.tags.starts)) * n + found)[found != GONE])
        start += len(one)
    tags, places = np.divmod(np.sort(np.concatenate(keys)), max(n, 1))
    counts = np.bincount(tags, minlength=len(names))
    left = [name for name, count in zip(names, counts.tolist(), strict=True) if count]
    return Tags(left, frozen(starts_of(counts[counts > 0])), frozen(places.astype(np.int32)))


def _terms(rosters: Sequence[Roster], places: Longs) -> Longs:
    if not any(len(one.terms) for one in rosters):
        return rosters[0].terms
    forever = np.array(FOREVER, np.int64)
    each = [one.terms if len(one.terms) else np.tile(forever, (len(one), 1)) for one in rosters]
    found = np.concatenate(each)[places]
    return frozen(np.empty((0, 2), np.int64) if (found == forever).all() else found)


def _priorities(rosters: Sequence[Roster], places: Longs) -> Floats:
    each = [one.priorities if len(one.priorities) else np.zeros(len(one)) for one in rosters]
    found = np.concatenate(each)[places]
    return frozen(found if found.any() else np.empty(0))
