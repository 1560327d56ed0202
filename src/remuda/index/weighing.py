"""Weights that events give: in numbers for a segment, for each event or for all alike."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from remuda.arrays import Floats, Ints, Longs, frozen, starts_of
from remuda.encoding.device_columns import DeviceRows
from remuda.encoding.events import Portion
from remuda.index.question import Question
from remuda.model.attributes import Attribute
from remuda.model.weights import ByAttribute, Weights, attribute_weights, of_raw


class Weighed(NamedTuple):
    """The weights of some events by the number of an attribute: a ragged array.

    `factors` are the largest of each event, that of what it does not name included; `odd` are the
    events of which a list has values of different weights: each predicate chooses among these.
    """

    starts: Longs
    attributes: Ints
    weights: Floats
    factors: Floats
    odd: list[int]


class Weighing:
    """The weights of a portion's events."""

    def __init__(self, portion: Portion, each: Sequence[Weights] | Weights) -> None:
        self._portion = portion
        self.same = each is None or isinstance(each, Mapping)
        self.given: list[Weights] = [each] if self.same else list(each)  # type: ignore[list-item, arg-type]
        self._parsed: list[ByAttribute] = [attribute_weights(one) for one in self.given]

    @classmethod
    def of(cls, portion: Portion, question: Question) -> Weighing | None:
        """What the question says of these events; None where it says nothing."""
        weights = question.weights
        if weights is None:
            return None
        if isinstance(weights, str):
            return cls(portion, _column(portion, weights))
        if isinstance(weights, Mapping):
            return cls(portion, weights)
        mine = weights[portion.first : portion.first + len(portion)]
        if len(mine) < len(portion):
            raise ValueError(f"there are weights for {len(weights):,} events, and more events")
        return cls(portion, mine)

    def at(self, i: int) -> Weights:
        """The weights of event i, as they were given."""
        return self.given[0 if self.same else i]

    def numbers(self, positions: Mapping[Attribute | None, int], *, absolute: bool) -> Weighed:
        """The weights by the numbers of attributes; the factors perhaps without their signs."""
        n = len(self._portion)
        if self.same and not any(isinstance(one, Mapping) for one in self._parsed[0].values()):
            pairs = [(positions.get(path), one) for path, one in self._parsed[0].items()]
            return _ragged([pairs], n, absolute)
        objects = self._portion.objects() if any(map(_by_value, self._parsed)) else ()
        rows, odd = [], []
        for i in range(n):
            row = []
            for path, weight in self._parsed[0 if self.same else i].items():
                known = of_raw(weight, path.resolve(objects[i]) if objects else None)
                if known is None:
                    odd.append(i)
                else:
                    row.append((positions.get(path), known))
            rows.append(row)
        return _ragged(rows, n, absolute)._replace(odd=odd)


def _by_value(weights: ByAttribute) -> bool:
    return any(isinstance(one, Mapping) for one in weights.values())


def _ragged(rows: Sequence[Sequence[tuple[int | None, Any]]], n: int, absolute: bool) -> Weighed:
    """The rows, or one for all, without attributes that no criterion asks about."""
    known = [[(at, weight) for at, weight in row if at is not None] for row in rows]
    counts = np.array([len(row) for row in known], np.int64)
    attributes = np.array([at for row in known for at, _ in row], np.int32)
    weights = np.array([weight for row in known for _, weight in row], np.float64)
    largest = [
        max([1.0, *(abs(weight) if absolute else weight for _, weight in row)]) for row in known
    ]
    factors = np.array(largest, np.float64)
    if len(rows) == 1 and n != 1:
        counts, factors = np.repeat(counts, n), np.repeat(factors, n)
        attributes, weights = np.tile(attributes, n), np.tile(weights, n)
    return Weighed(*frozen((starts_of(counts), attributes, weights, factors)), [])


def _column(portion: Portion, name: str) -> list[Weights]:
    """The weights in a column of maps or structs, or in a field of each object."""
    for rows in (portion.rows, portion.events):
        if isinstance(rows, DeviceRows):
            raise TypeError("weights lie in no column of a device: give a list, one for each event")
        if isinstance(rows, list):
            return [_mapping(row.get(name)) if isinstance(row, Mapping) else None for row in rows]
        if name in rows.schema.names:
            return [_mapping(value) for value in rows.column(name).to_pylist()]
    raise ValueError(f"there is no column {name!r} with weights")


def _mapping(value: Any) -> Any:
    """A map as Arrow gives it, or a struct, without what is null."""
    if isinstance(value, list):
        value = dict(value)
    if not isinstance(value, dict):
        return value
    return {name: _mapping(weight) for name, weight in value.items() if weight is not None}
