"""Partitions united: one as fine as several together, and what their spaces become in it."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from itertools import chain, compress
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from remuda.arrays import Bools, Ints, Longs, starts_of
from remuda.encoding.narrowing import GONE
from remuda.encoding.plan import Plan
from remuda.encoding.spaces import OTHER, LackSpaces, OrderSpaces, Span, ValueSpaces
from remuda.encoding.table import Predicates
from remuda.encoding.vocabulary import (
    YES,
    Dimension,
    Spaces,
    Vocabulary,
    base_of,
    side_by_side,
)
from remuda.jit import kernel
from remuda.model.values import Kind

Key: TypeAlias = Callable[[Any], Any] | None

_PIECE = 1 << 12  # cuts of one partition that are sorted at a time: other threads run in between


class _Needs(NamedTuple):
    """Of each old space: whether a predicate tells it from the one before it, and from OTHER."""

    borders: Bools
    apart: Bools


class Images(NamedTuple):
    """What old spaces become: space s the new spaces from `lo[s]` to `hi[s] - 1`.

    The images of s to `last[s]` follow one another. Only those ends are true that some predicate
    needs; a point that none needs has no image, and OTHER, which becomes several pieces, neither.
    """

    lo: Longs
    hi: Longs
    last: Longs

    @classmethod
    def blank(cls, n_spaces: int) -> Images:
        return cls(np.zeros(n_spaces, np.int64), np.zeros(n_spaces, np.int64), np.arange(n_spaces))


class _Source(NamedTuple):
    """A partition, and where its spaces start among all old ones."""

    spaces: Spaces
    start: int


class Shared(NamedTuple):
    """The dimensions of all plans, without copies; and what the old ones become."""

    dimensions: list[Dimension]
    spaces: list[Spaces]
    places: Longs  # of each old dimension that is used: which it becomes
    images: Images
    other_starts: Longs  # of each old dimension: the pieces that OTHER becomes
    others: Longs

    def n_present(self) -> Longs:
        """How many present spaces each dimension has."""
        return np.array([YES if one is None else one.n_present for one in self.spaces], np.int64)


def share(words: Sequence[Vocabulary], plan: Plan) -> Shared:
    table = plan.conjunctions
    dimensions = [one for vocabulary in words for one in vocabulary.dimensions]
    spaces = [one for vocabulary in words for one in vocabulary.spaces]
    starts = table.space_starts.tolist()
    alike: dict[Dimension, list[int]] = {}
    for dim in np.unique(table.predicates.dim).tolist():
        alike.setdefault(base_of(dimensions[dim]), []).append(dim)
    distinct = list(alike)
    bases = [distinct[i] for i in side_by_side(distinct)]  # as in every vocabulary
    places, images, needs = np.full(len(dimensions), GONE), Images.blank(starts[-1]), _needs(plan)
    partitions: list[Spaces] = []
    others: list[list[Span]] = [[] for _ in dimensions]
    for number, base in enumerate(bases):
        sources = [_Source(spaces[dim], starts[dim]) for dim in alike[base]]
        united, pieces = _unite(sources, needs, images)
        partitions.append(united)
        for dim, own in zip(alike[base], pieces, strict=True):
            places[dim], others[dim] = number, own
    flat = np.array([span for own in others for span in own], np.int64).reshape(-1, 2)
    return Shared(bases, partitions, places, images, starts_of([*map(len, others)]), flat)


def _needs(plan: Plan) -> _Needs:
    table, values = plan.conjunctions, plan.programs.value_space
    borders, changes = _edges(table.space_starts, table.predicates)
    borders[values] = borders[values + 1] = True  # a value with a weight of its own stays alone
    apart = np.cumsum(changes) > 0
    apart[values] = True
    return _Needs(borders, apart)


@kernel
def _edges(space_starts: Ints, predicates: Predicates) -> tuple[Bools, Longs]:
    """Where spans begin or end; and how the number changes of predicates that tell from OTHER."""
    borders = np.zeros(space_starts[-1] + 1, np.bool_)
    changes = np.zeros(space_starts[-1] + 1, np.int64)
    dims, _, _, span_starts, span_lo, span_hi = predicates
    for predicate in range(len(dims)):
        begin, end = span_starts[predicate], span_starts[predicate + 1]
        other = space_starts[dims[predicate]] + 1
        step = 1
        if begin < end and span_lo[begin] == other:  # then it tells those that it refuses
            step = -1
            changes[other] += 1
            changes[space_starts[dims[predicate] + 1]] -= 1
        for i in range(begin, end):
            borders[span_lo[i]] = True
            borders[span_hi[i]] = True
            changes[span_lo[i]] += step
            changes[span_hi[i]] -= step
    return borders, changes


class _Region(NamedTuple):
    """The cells of one kind: where they begin, and the cuts between them that are needed."""

    begin: int
    needed: Bools  # of all cuts
    cuts: list[Any]


def _unite(
    sources: Sequence[_Source], needs: _Needs, images: Images
) -> tuple[Spaces, list[list[Span]]]:
    """One partition for all of the sources, and what OTHER of each becomes in it.

    It has the points and cuts that are needed: what no predicate asks for any more goes.
    """
    if sources[0].spaces is None:
        return None, [[(YES, YES + 1)]] * len(sources)
    if isinstance(sources[0].spaces, LackSpaces):  # which are all the same
        null = LackSpaces.NULL
        for source in sources:
            images.lo[source.start + null], images.hi[source.start + null] = null, null + 1
        return sources[0].spaces, [[(OTHER, OTHER + 1)]] * len(sources)
    points = [_points(source, needs) for source in sources]
    regions = [_regions(source, needs, images) for source in sources]
    cuts, places = {}, {}
    key = sources[0].spaces.key if isinstance(sources[0].spaces, OrderSpaces) else None
    for kind in Kind:
        own = [of[kind].cuts for of in regions if kind in of]
        if own:
            cuts[kind], places[kind] = merged(own, key)
    united = _made(sources[0].spaces, chain.from_iterable(points), cuts)
    for kind, found in places.items():
        first = _firsts(united)[kind]
        own_regions = (of[kind] for of in regions if kind in of)
        for region, at in zip(own_regions, found, strict=True):
            _enter(images, region, first + 1 + at, first, first + len(cuts[kind]) + 1)
    others = []
    for own_points, of in zip(points, regions, strict=True):
        _enter_points(images, own_points, united)
        others.append(_other(united, own_points, cuts, of))
    return united, others


def _points(source: _Source, needs: _Needs) -> dict[Hashable, int]:
    """The old spaces of the points that are needed."""
    if not isinstance(source.spaces, ValueSpaces) or not source.spaces.points:
        return {}
    begin = source.start + OTHER + 1
    apart = needs.apart[begin : begin + len(source.spaces.points)].tolist()
    return {point: source.start + at for point, at in compress(source.spaces.points.items(), apart)}


def _regions(source: _Source, needs: _Needs, images: Images) -> dict[Kind, _Region]:
    """The cells that are needed, by kind."""
    spaces: Any = source.spaces
    of_kind: Any = spaces.cuts if isinstance(spaces, ValueSpaces) else {Kind.STRING: spaces.bases}
    regions = {}
    for kind, every in of_kind.items():
        begin = source.start + _firsts(spaces)[kind]
        needed = needs.borders[begin + 1 : begin + 1 + len(every)]
        images.last[begin : begin + len(every) + 1] = begin + len(every)
        # of values, no predicate may tell the kind from OTHER, and then it has no cells
        if isinstance(spaces, OrderSpaces) or needs.apart[begin] or needed.any():
            regions[kind] = _Region(begin, needed, list(compress(every, needed.tolist())))
    return regions


def _firsts(spaces: Spaces) -> dict[Kind, int]:
    return spaces.first if isinstance(spaces, ValueSpaces) else {Kind.STRING: OTHER + 1}


def _made(like: Spaces, points: Iterable[Hashable], cuts: dict[Kind, list[Any]]) -> Spaces:
    if isinstance(like, OrderSpaces):
        return OrderSpaces.restored(like.order, cuts[Kind.STRING])
    return ValueSpaces.restored(dict.fromkeys(points), cuts)


def _enter(images: Images, region: _Region, behind: Longs, first: int, end: int) -> None:
    """Note the images of cells, with the new cells right behind the cuts that are needed."""
    begin, last = region.begin, region.begin + len(region.needed)
    images.lo[begin], images.hi[last] = first, end
    images.lo[begin + 1 : last + 1][region.needed] = behind
    images.hi[begin:last][region.needed] = behind


def _enter_points(images: Images, points: dict[Hashable, int], united: Spaces) -> None:
    for point, at in points.items():
        assert isinstance(united, ValueSpaces)
        images.lo[at] = united.points[point]
        images.hi[at] = united.points[point] + 1


def _other(
    united: Spaces,
    points: dict[Hashable, int],
    cuts: dict[Kind, list[Any]],
    regions: dict[Kind, _Region],
) -> list[Span]:
    """What OTHER becomes: itself, and the points and kinds that only other partitions have."""
    spans = [(OTHER, OTHER + 1)]
    if isinstance(united, ValueSpaces):
        spans += [(at, at + 1) for point, at in united.points.items() if point not in points]
    for kind in cuts.keys() - regions.keys():
        first = _firsts(united)[kind]
        spans.append((first, first + len(cuts[kind]) + 1))
    return spans


def merged(lists: Sequence[list[Any]], key: Key = None) -> tuple[list[Any], list[Longs]]:
    """Sorted lists as one, equal items once; and where the items of each list are in it."""
    united: list[Any] = []
    places: list[list[int]] = [[] for _ in lists]
    for pieces in _pieces(lists, key):
        fresh = sorted(set[Any]().union(*pieces), key=key)
        position = dict(zip(fresh, range(len(united), len(united) + len(fresh)), strict=True))
        united += fresh
        for own, piece in zip(places, pieces, strict=True):
            own.extend(map(position.__getitem__, piece))
    return united, [np.array(own, np.int64) for own in places]


def _pieces(lists: Sequence[list[Any]], key: Key) -> Iterator[list[list[Any]]]:
    """The lists in pieces, all cut at the same items; no piece of a list is long."""
    begins = [0] * len(lists)
    for border in sorted((item for one in lists for item in one[_PIECE::_PIECE]), key=key):
        goal = border if key is None else key(border)
        ends = [
            bisect_left(one, goal, begin, key=key) for one, begin in zip(lists, begins, strict=True)
        ]
        yield [one[begin:end] for one, begin, end in zip(lists, begins, ends, strict=True)]
        begins = ends
    yield [one[begin:] for one, begin in zip(lists, begins, strict=True)]
