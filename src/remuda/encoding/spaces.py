"""Spaces of one dimension: the cells between the cuts that its predicates make.

Present spaces are numbered from 1; 0 is "missing". Space 1 has every present value that no
predicate asks for by itself. This is the PS-Tree's idea: each constant cuts the order of its kind
right before or right after itself, and between two cuts no predicate can tell values apart.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from remuda.arrays import Floats, Longs
from remuda.encoding.cuts import AFTER, BEFORE, Cut, first_beyond, n_before, packed
from remuda.model.attributes import Lack
from remuda.model.conditions import (
    Absent,
    Comparison,
    Condition,
    Exists,
    In,
    Missing,
    Network,
    NullValue,
    Prefix,
    QuotedRange,
    Range,
    SemVer,
    Under,
    Version,
)
from remuda.model.hierarchies import Hierarchy
from remuda.model.lazily import lazily
from remuda.model.networks import address_at, place_of
from remuda.model.values import Kind, is_text, key, ordered
from remuda.model.versions import VersionKey, version_key

Span = tuple[int, int]

OTHER = 1
_LAST_CHARACTER = chr(0x10FFFF)
_EPOCH, _MICROSECOND = datetime(1970, 1, 1, tzinfo=UTC), timedelta(microseconds=1)


class ValueSpaces:
    """The partition of a dimension that is looked at as a value."""

    def __init__(self, conditions: Iterable[Condition]) -> None:
        self._set(*collected(conditions))

    def _set(self, points: Iterable[Hashable], cuts: Mapping[Kind, Sequence[Cut]]) -> None:
        self.points = {point: OTHER + 1 + i for i, point in enumerate(points)}
        self.cuts = dict(cuts)
        if Kind.NUMBER in cuts:
            self.cuts[Kind.NUMBER] = packed(cuts[Kind.NUMBER])
        self.first: dict[Kind, int] = {}
        n = OTHER + len(self.points)
        for kind, found in self.cuts.items():
            self.first[kind] = n + 1
            n += len(found) + 1
        self.n_present = n

    @classmethod
    def restored(
        cls, points: Iterable[Hashable], cuts: Mapping[Kind, Sequence[Cut]]
    ) -> ValueSpaces:
        """The partition with these points and cuts, in order."""
        made = cls(())
        made._set(points, cuts)
        return made

    def of(self, value: Any) -> int:
        """The space of a present value that is no list (or an element of one)."""
        found = ordered(value)
        if found is None:
            return self.points.get(key(value), OTHER) if value is not None else OTHER
        kind, comparable = found
        if kind not in self.cuts:
            return OTHER
        return self._at(kind, n_before(self.cuts[kind], (comparable, AFTER)))

    def spans(self, condition: Condition) -> list[Span]:
        """The present spaces whose values the condition accepts."""
        match condition:
            case In():
                return _joined((space, space + 1) for space in map(self.point, condition.keys))
            case Range():
                return self._between(condition.kind, *range_cuts(condition))
            case QuotedRange():
                return _joined(span for one in condition.ranges for span in self.spans(one))
            case Prefix(text):
                return self._between(Kind.STRING, *_prefix_cuts(text))
            case Exists():
                return [(1, self.n_present + 1)]
            case Missing():
                return []
            case _:
                raise TypeError(f"{condition!r} is not about values")

    @lazily
    def thresholds(self) -> tuple[Longs, Floats]:
        """The smallest integer, and the smallest float, that lies beyond each cut of the numbers.

        A number's space is then the first of the numbers plus how many of these it reaches.
        """
        return first_beyond(self.cuts.get(Kind.NUMBER, ()))

    @lazily
    def moments(self) -> dict[Kind, Longs]:
        """The first day, and the first microsecond, since 1970 beyond each cut of such values."""
        days = [
            value.toordinal() - _EPOCH.toordinal() + side
            for value, side in self.cuts.get(Kind.DATE, ())
        ]
        instants = [
            (value - _EPOCH) // _MICROSECOND + side
            for value, side in self.cuts.get(Kind.TIMESTAMP, ())
        ]
        return {Kind.DATE: np.array(days, np.int64), Kind.TIMESTAMP: np.array(instants, np.int64)}

    def of_numbers(self, numbers: NDArray[Any], whole: bool) -> NDArray[Any]:
        """The spaces of machine numbers, whole ones or floats."""
        if Kind.NUMBER not in self.cuts:
            return np.full(len(numbers), OTHER)
        thresholds = self.thresholds[0 if whole else 1]
        found = self._numbers_at(np.searchsorted(thresholds, numbers, side="right"))
        return found if whole else np.where(np.isnan(numbers), OTHER, found)

    def point(self, point: Hashable) -> int:
        """The space of a value by itself."""
        if point in self.points:
            return self.points[point]
        return self.of(point)

    def _between(self, kind: Kind, lower: Cut | None, upper: Cut | None) -> list[Span]:
        cuts = self.cuts[kind]
        begin = 0 if lower is None else n_before(cuts, lower) + 1
        end = len(cuts) + 1 if upper is None else n_before(cuts, upper) + 1
        return [(self._at(kind, begin), self._at(kind, end))] if begin < end else []

    def _at(self, kind: Kind, place: int) -> int:
        """The space of a kind that has so many cuts before it; behind the last, the end."""
        return self.first[kind] + place

    def _numbers_at(self, places: NDArray[Any]) -> NDArray[Any]:
        """The same of numbers, many at once."""
        return self.first[Kind.NUMBER] + places


class LackSpaces:
    """The partition of a dimension that tells why values are missing: OTHER, or null.

    OTHER has the empty list and every present value; what is absent is in no space, as anything
    is that an event does not have.
    """

    NULL = OTHER + 1
    n_present = NULL

    def of(self, value: Any) -> int:
        """The space of a present value."""
        return OTHER

    def of_lack(self, lack: Lack) -> int | None:
        """The space of a value that is missing so; None where it has none."""
        match lack:
            case Lack.NULL:
                return self.NULL
            case Lack.EMPTY:
                return OTHER
            case Lack.ABSENT:
                return None

    def spans(self, condition: NullValue | Absent) -> list[Span]:
        """The spaces that the condition accepts."""
        return [(self.NULL, self.NULL + 1)] if isinstance(condition, NullValue) else []


class Order(NamedTuple):
    """An order of its own that some texts have; cuts in it are written as texts, too."""

    place: Callable[[Any], Any]  # of a value; None where it has none
    wanted: Callable[[Any], list[tuple[Cut | None, Cut | None]]]  # between which cuts


class OrderSpaces:
    """The partition of a dimension that is looked at in an order of its own; all else is OTHER."""

    def __init__(self, order: Order, conditions: Iterable[Condition] = ()) -> None:
        pairs = [pair for condition in conditions for pair in order.wanted(condition)]
        self.order = order
        self._set(sorted({cut for pair in pairs for cut in pair if cut is not None}, key=self.key))

    def _set(self, bases: list[Cut]) -> None:
        self.bases = bases
        self.cuts = [self._cut(base) for base in bases]
        self._at = {base: at for at, base in enumerate(bases)}
        self.n_present = OTHER + len(self.cuts) + 1

    @classmethod
    def restored(cls, order: Order, bases: Iterable[tuple[str, int]]) -> OrderSpaces:
        """The partition with these cuts, in order."""
        made = cls(order)
        made._set([(base, side) for base, side in bases])
        return made

    @lazily
    def fours(self) -> Longs:
        """The cuts among addresses of IPv4 as numbers: twice the address, one more behind it."""
        return np.array([2 * at[1] + side for at, side in self.cuts if at[0] == 4], np.int64)

    def of(self, value: Any) -> int:
        """The space of a present value that is no list."""
        place = self.order.place(value)
        return OTHER if place is None else OTHER + 1 + bisect_left(self.cuts, (place, 0.5))

    def spans(self, condition: Condition) -> list[Span]:
        """The present spaces whose values the condition accepts."""
        pieces = []
        for lower, upper in self.order.wanted(condition):
            begin = OTHER + 1 if lower is None else self._behind(lower)
            end = self.n_present + 1 if upper is None else self._behind(upper)
            if begin < end:
                pieces.append((begin, end))
        return _joined(pieces)

    def key(self, base: Cut) -> Any:
        """By which cuts sort; of equal places, the spelling decides."""
        return *self._cut(base), base[0]

    def _behind(self, base: Cut) -> int:
        """The first space behind one of the cuts."""
        return OTHER + 2 + self._at[base]

    def _cut(self, base: Cut) -> Cut:
        place = self.order.place(base[0])
        if place is None:
            raise ValueError(f"{base[0]!r} has no place in the order")
        return place, base[1]


def _version_place(value: Any) -> VersionKey | None:
    return version_key(value) if isinstance(value, str) and is_text(value) else None


def _version_wanted(condition: Version) -> list[tuple[Cut | None, Cut | None]]:
    cut = condition.base, AFTER if condition.above is condition.strict else BEFORE
    return [(cut, None) if condition.above else (None, cut)]


# its bases are plain versions: those that sort, and between two of which every version lies
VERSIONS = Order(_version_place, _version_wanted)


def _semver_wanted(condition: SemVer) -> list[tuple[Cut | None, Cut | None]]:
    base = str(condition.key)
    match condition.operator:
        case Comparison.BELOW:
            return [(None, (base, BEFORE))]
        case Comparison.AT_MOST:
            return [(None, (base, AFTER))]
        case Comparison.EQUAL:
            return [((base, BEFORE), (base, AFTER))]
        case Comparison.AT_LEAST:
            return [((base, BEFORE), None)]
        case Comparison.ABOVE:
            return [((base, AFTER), None)]


def semvers(reading: SemVer) -> Order:
    """The order of SemVer, of values read so."""
    return Order(reading.read, _semver_wanted)


def _network_wanted(condition: Network) -> list[tuple[Cut | None, Cut | None]]:
    return [
        ((address_at(first), BEFORE), (address_at(last), AFTER)) for first, last in condition.blocks
    ]


NETWORKS = Order(place_of, _network_wanted)


def _under_wanted(condition: Under) -> list[tuple[Cut | None, Cut | None]]:
    order, span = condition.known.order, condition.span
    return [] if span is None else [((order[span[0]], BEFORE), (order[span[1]], AFTER))]


def nodes(tree: Hierarchy) -> Order:
    """The order of a tree, in which what is beneath a node lies side by side."""
    return Order(tree.place_of, _under_wanted)


def collected(
    conditions: Iterable[Condition],
) -> tuple[dict[Hashable, None], dict[Kind, list[Cut]]]:
    """The points and the sorted cuts that conditions make."""
    points: dict[Hashable, None] = {}
    cuts: dict[Kind, set[Cut]] = {}
    for condition in conditions:
        _collect(condition, points, cuts)
    return points, {kind: sorted(cuts[kind]) for kind in Kind if kind in cuts}


def _collect(
    condition: Condition, points: dict[Hashable, None], cuts: dict[Kind, set[Cut]]
) -> None:
    if isinstance(condition, In):
        for point in condition.keys:
            found = None if isinstance(point, tuple) else ordered(point)
            if found is None:
                points[point] = None
            else:
                kind, value = found
                cuts.setdefault(kind, set()).update(((value, BEFORE), (value, AFTER)))
    elif isinstance(condition, Range):
        own = cuts.setdefault(condition.kind, set())
        own.update(cut for cut in range_cuts(condition) if cut is not None)
    elif isinstance(condition, QuotedRange):
        for one in condition.ranges:
            _collect(one, points, cuts)
    elif isinstance(condition, Prefix):
        own = cuts.setdefault(Kind.STRING, set())
        own.update(cut for cut in _prefix_cuts(condition.text) if cut is not None)


def range_cuts(condition: Range) -> tuple[Cut | None, Cut | None]:
    lower, upper = condition.bounds
    return (
        None if lower is None else (lower, BEFORE if condition.lower_closed else AFTER),
        None if upper is None else (upper, AFTER if condition.upper_closed else BEFORE),
    )


def _prefix_cuts(text: str) -> tuple[Cut | None, Cut | None]:
    """The strings that begin with `text` are an interval of their order."""
    stem = text.rstrip(_LAST_CHARACTER)
    after = stem[:-1] + _next_character(stem[-1]) if stem else None
    return (text, BEFORE) if text else None, None if after is None else (after, BEFORE)


def _next_character(character: str) -> str:
    """The next by code point; surrogates are none, and could not be written down."""
    return "\ue000" if character == "\ud7ff" else chr(ord(character) + 1)


def _joined(spans: Iterable[Span]) -> list[Span]:
    """The spans in order, those that touch as one."""
    joined: list[Span] = []
    for lo, hi in sorted(spans):
        if joined and joined[-1][1] >= lo:
            joined[-1] = (joined[-1][0], max(hi, joined[-1][1]))
        else:
            joined.append((lo, hi))
    return joined
