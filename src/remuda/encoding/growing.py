"""A vocabulary that grows: predicates, dimensions and values that nobody knew when it was made.

Values split spaces (`remuda.encoding.splitting`), new attributes take up dimensions that were left
free. Where there is no room left, it is laid out anew with more, which takes as long as building;
free dimensions and gaps are in proportion to what there is, so that this is rare.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from remuda.arrays import Ints, frozen, ragged, starts_of
from remuda.encoding.encoder import Asker, Encoder, Plainly
from remuda.encoding.splitting import NoRoom, SplitOrder, SplitValues
from remuda.encoding.table import ClauseTable, EventBatch, Predicates
from remuda.encoding.vocabulary import (
    YES,
    Dimension,
    PredicatePool,
    Spaces,
    Vocabulary,
    accepted,
    base_of,
    partitioned,
)
from remuda.model.conditions import Condition
from remuda.model.expressions import Predicate

_GAPS = 8, 64  # numbers between two cuts, at least and at most
_NUMBERS = 1 << 22  # that gaps may take together where there are few cuts
_FREE = 16  # dimensions that are free at least, of each of two widths
_WIDE = 512  # numbers of a free dimension that is not yes or no
_YES_SHARE, _MOST = 0.25, 0.99  # the shares of events thought to pass a yes/no, and anything

_NO_INTS, _NO_BOOLS = np.empty(0, np.int32), np.empty(0, np.bool_)
_NO_PREDICATES = Predicates(
    _NO_INTS, _NO_BOOLS, _NO_BOOLS, np.zeros(1, np.int32), _NO_INTS, _NO_INTS
)

Encoded = tuple[int, bool, bool, tuple[tuple[int, int], ...]]  # as a Literal of the matchers


class Growing:
    """Predicates by number, in numbers: their dimensions, and the spaces that they accept."""

    def __init__(
        self, pool: PredicatePool | None = None, asker: Asker = Plainly, hot: NoRoom | None = None
    ) -> None:
        self.pool = pool or PredicatePool()
        self._asker = asker
        self._encoder: Encoder | None = None
        self._dims: list[int] = []  # of the pool's dimensions: the number here
        self._dimensions: list[Dimension] = []  # the pool's
        self._known: dict[Dimension, Spaces] = {}  # those of copies are their base's
        self._lay_out(None if hot is None else hot.cut)

    @property
    def encoder(self) -> Encoder:
        """What encodes events; another one when there are more dimensions."""
        if self._encoder is None:  # two threads may both make one: they are the same
            starts = [self._starts[dim] for dim in self._dims]
            self._encoder = Encoder(
                Vocabulary(
                    tuple(self._dimensions),
                    tuple(self._known[base_of(one)] for one in self._dimensions),
                    np.array([*starts, 0], np.int32),
                    _NO_PREDICATES,
                ),
                self._asker,
            )
        return self._encoder

    def _lay_out(self, hot: object) -> None:
        """Number all dimensions and spaces, and leave room."""
        conditions: dict[Dimension, list[Condition]] = {one: [] for one in self.pool.dimensions}
        listed = list(self.pool.dimensions)
        for predicate, dim in zip(self.pool.predicates, self.pool.dims, strict=True):
            conditions[base_of(listed[dim])].append(predicate.condition)
        n_cuts = 2 * len(self.pool.predicates)
        self.gap = min(max(_NUMBERS // max(n_cuts, 1), _GAPS[0]), _GAPS[1])
        for base, own in conditions.items():
            if base.copy == 0:
                made = SplitValues.laid_out, SplitOrder.laid_out
                self._known[base] = partitioned(base, *made, own, self.gap, hot)
        n = len(listed)
        widths = [_width(self._known[base_of(one)]) for one in listed]
        self._free_wide = list(range(n, n + _FREE + n // 4))
        self._free_narrow = list(range(n + len(self._free_wide), n + 2 * _FREE + n // 4 + n // 2))
        widths += [_WIDE] * len(self._free_wide) + [YES] * len(self._free_narrow)
        starts = starts_of([1 + width for width in widths])
        if starts[-1] > np.iinfo(np.int32).max:
            raise ValueError("more than 2^31 numbers of spaces in one index")
        self.space_starts: Ints = frozen(starts.astype(np.int32))
        self._starts, self._widths = starts.tolist(), widths
        for dim, dimension in enumerate(listed):
            self._take_up(dimension, dim)

    def add(self, clause: Iterable[Predicate]) -> tuple[int, ...]:
        """The numbers of a clause's predicates, each on a dimension of its own."""
        return self.pool.apart([self.pool.add(predicate) for predicate in clause])

    def encoded(self, number: int) -> Encoded:
        """The predicate in numbers, spaces split as it needs; NoRoom where they cannot be."""
        predicate = self.pool.predicates[number]
        dim = self._dim(self.pool.dims[number])
        dimension = self._dimensions[self.pool.dims[number]]
        spaces = self._known[base_of(dimension)]
        if isinstance(spaces, SplitValues | SplitOrder):
            changed = spaces.learn(predicate.condition)
            if changed and self._encoder is not None:
                self._encoder.forget()
        spans, on_missing, every = accepted(predicate, spaces)
        start = self._starts[dim]
        return dim, on_missing, every, tuple((start + lo, start + hi) for lo, hi in spans)

    def share(self, predicate: Predicate) -> float:
        """The share of events that the predicate is thought to let by."""
        dim, on_missing, _, spans = self.encoded(self.pool.add(predicate))
        if on_missing:
            return 1.0
        if self._widths[dim] == YES:
            return _YES_SHARE
        return min(sum(hi - lo for lo, hi in spans) / self._widths[dim], _MOST)

    def table(self, clauses: Sequence[Sequence[int]]) -> ClauseTable:
        """Clauses of predicates that all were there when it was laid out."""
        found = [self.encoded(number) for number in range(len(self.pool.predicates))]
        spans = np.array([span for one in found for span in one[3]], np.int32).reshape(-1, 2)
        dims, on_missing, every, own = zip(*found, strict=True) if found else ((), (), (), ())
        predicates = Predicates.of(dims, on_missing, every, list(map(len, own)), *spans.T)
        return ClauseTable(self.space_starts, predicates, ragged(clauses))

    def batch(self, events: EventBatch) -> EventBatch:
        """Events from columns with their spaces ascending: dimensions that came late may not be."""
        rows = np.repeat(np.arange(len(events)), np.diff(events.starts))
        return EventBatch(events.starts, events.spaces[np.lexsort((events.spaces, rows))])

    def dims_of(self, predicates: Iterable[int]) -> set[int]:
        """The first numbers of the predicates' dimensions."""
        return {self._starts[self._dims[self.pool.dims[number]]] for number in predicates}

    def _dim(self, listed: int) -> int:
        """The number of one of the pool's dimensions, which may be new."""
        if listed < len(self._dims):
            return self._dims[listed]
        for dimension in list(self.pool.dimensions)[len(self._dims) : listed + 1]:
            base = base_of(dimension)
            spaces = (
                self._known[base]
                if base in self._known
                else partitioned(base, SplitValues, SplitOrder, _WIDE)
            )
            width = _width(spaces)
            free = self._free_narrow if width == YES and self._free_narrow else self._free_wide
            if not free or width > self._widths[free[-1]]:
                raise NoRoom
            self._known[base] = spaces
            self._take_up(dimension, free.pop())
        return self._dims[listed]

    def _take_up(self, dimension: Dimension, dim: int) -> None:
        self._dims.append(dim)
        self._dimensions.append(dimension)
        self._encoder = None


def _width(spaces: Spaces) -> int:
    return YES if spaces is None else spaces.n_present
