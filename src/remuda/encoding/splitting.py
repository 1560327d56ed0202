"""Spaces that split: partitions whose numbers leave gaps, so that a new cut moves no other.

A space is a run of numbers and is known by its first. A cut divides a run in two, and whoever
accepted all of it accepts both parts without being told: its spans are the same. So a PS-Tree's
predicate spaces split on insertion, and so do the domains that a BE-Tree halves. Where a run is too
short to be divided there is no room, and everything is numbered anew.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from remuda.arrays import Longs
from remuda.encoding.cuts import Cut
from remuda.encoding.spaces import OTHER, Order, OrderSpaces, ValueSpaces, collected
from remuda.model.conditions import Condition
from remuda.model.lazily import lazily
from remuda.model.values import Kind

_STEP = 256  # of what is left of a run, one in so many goes to each of cuts that come in order
_OPEN = 8  # gaps at both ends of an order, where new values are likely


class NoRoom(Exception):
    """A run is too short to be divided; `cut` is where."""

    def __init__(self, cut: Any = None) -> None:
        super().__init__(cut)
        self.cut = cut


class Runs:
    """The cuts of one order, and the runs between them: that before cut i begins at `firsts[i]`."""

    __slots__ = ("cuts", "end", "firsts", "key", "last")

    def __init__(
        self, first: int, end: int, cuts: list[Any], key: Callable[[Any], Any] | None = None
    ) -> None:
        self.cuts, self.key = cuts, key
        self.firsts, self.end = [first], end
        self.last = -2  # the place of the cut that came last

    def at(self, place: int) -> int:
        """Where the run before the cut at this place begins; behind the last, where all end."""
        return self.firsts[place] if place < len(self.firsts) else self.end

    def place(self, cut: Any) -> int:
        """How many cuts lie before."""
        return bisect_left(self.cuts, cut if self.key is None else self.key(cut), key=self.key)

    def enter(self, cut: Any) -> bool:
        """Divide the run around the cut, unless that is done; NoRoom where it is too short."""
        place = self.place(cut)
        if place < len(self.cuts) and self.cuts[place] == cut:
            return False
        begin, end = self.at(place), self.at(place + 1)
        if end - begin < 2:
            raise NoRoom(cut)
        self.firsts.insert(place + 1, self._divided(place, cut, begin, end))
        self.cuts.insert(place, cut)
        self.last = place
        return True

    def _divided(self, place: int, cut: Any, begin: int, end: int) -> int:
        """Where the upper part begins. A single value needs no more than one number."""
        if place > 0 and self.cuts[place - 1] == (cut[0], 1 - cut[1]):
            return begin + 1
        if place < len(self.cuts) and self.cuts[place] == (cut[0], 1 - cut[1]):
            return end - 1
        step = max(1, (end - begin) // _STEP)
        if place == self.last + 1:  # they ascend, and leave room for the next
            return begin + step
        return end - step if place == self.last else (begin + end) // 2

    def lay_out(self, gap: int, hot: Any) -> None:
        """Give each run between the cuts its numbers, more where room was lacking; then the end."""
        n, number, self.firsts = len(self.cuts), self.firsts[0], []
        for place in range(n + 1):
            self.firsts.append(number)
            below = self.cuts[place - 1] if place else None
            above = self.cuts[place] if place < n else None
            if below is not None and above is not None and below[0] == above[0]:
                number += 1
            elif hot is not None and hot in (below, above):
                number += max(64 * gap, 4 * n)
            else:
                number += gap if below is not None and above is not None else _OPEN * gap
        self.end = number


class SplitValues(ValueSpaces):
    """The partition of a dimension that is looked at as a value; kinds and points split OTHER."""

    def __init__(self, width: int) -> None:
        super().__init__(())
        self.n_present = width
        self.runs: dict[Kind, Runs] = {}
        self._other_end = width + 1

    @classmethod
    def laid_out(cls, conditions: Iterable[Condition], gap: int, hot: Any = None) -> SplitValues:
        """The partition of these conditions, with room around each of their cuts."""
        points, cuts = collected(conditions)
        partition = cls(0)
        end = OTHER + max(_OPEN * gap, len(points))
        partition._other_end = end
        for point in points:
            partition.points[point] = end
            end += 1
        for kind, own in cuts.items():
            runs = Runs(end, end, own)
            runs.lay_out(gap, hot)
            partition._take_up(kind, runs)
            end = runs.end
        partition.n_present = end - 1
        return partition

    def learn(self, condition: Condition) -> bool:
        """Let the partition tell what the condition does; whether it has changed."""
        points, cuts = collected([condition])
        changed = False
        for point in points:
            if point not in self.points:
                self.points[point] = self._split_other(1)
                changed = True
        for kind, own in cuts.items():
            if kind not in self.runs:
                width = (self._other_end - OTHER) // 2
                first = self._split_other(width)
                self._take_up(kind, Runs(first, first + width, []))
                changed = True
            for cut in own:
                changed |= self.runs[kind].enter(cut)
        if changed:
            for made in ("thresholds", "_number_firsts"):
                self.__dict__.pop(made, None)
        return changed

    def _at(self, kind: Kind, place: int) -> int:
        return self.runs[kind].at(place)

    def _numbers_at(self, places: NDArray[Any]) -> NDArray[Any]:
        return np.take(self._number_firsts, places)

    @lazily
    def _number_firsts(self) -> Longs:
        return np.array(self.runs[Kind.NUMBER].firsts, np.int64)

    def _take_up(self, kind: Kind, runs: Runs) -> None:
        self.runs[kind], self.cuts[kind] = runs, runs.cuts

    def _split_other(self, width: int) -> int:
        """Numbers that OTHER gives up, at its end."""
        if width < 1 or self._other_end - width <= OTHER:
            raise NoRoom
        self._other_end -= width
        return self._other_end


class SplitOrder(OrderSpaces):
    """The partition of a dimension that is looked at in an order of its own."""

    def __init__(self, order: Order, width: int) -> None:
        super().__init__(order)
        self.n_present = width
        self.runs = Runs(OTHER + 1, width + 1, [], self.key)

    @classmethod
    def laid_out(
        cls, order: Order, conditions: Iterable[Condition], gap: int, hot: Any = None
    ) -> SplitOrder:
        """The partition of these conditions, with room around each of their cuts."""
        made = cls(order, 0)
        made.runs.cuts = OrderSpaces(order, conditions).bases
        made.runs.lay_out(gap, hot)
        made.n_present = made.runs.end - 1
        made._place_cuts()
        return made

    def learn(self, condition: Condition) -> bool:
        """Let the partition tell what the condition does; whether it has changed."""
        bases = [base for pair in self.order.wanted(condition) for base in pair if base is not None]
        changed = [self.runs.enter(base) for base in dict.fromkeys(bases)]
        if any(changed):
            self._place_cuts()
        return any(changed)

    def of(self, value: Any) -> int:
        place = self.order.place(value)
        return OTHER if place is None else self.runs.at(bisect_left(self.cuts, (place, 0.5)))

    def _behind(self, base: Cut) -> int:
        return self.runs.at(self.runs.place(base) + 1)

    def _place_cuts(self) -> None:
        self.bases = self.runs.cuts
        self.cuts = [self._cut(base) for base in self.bases]
