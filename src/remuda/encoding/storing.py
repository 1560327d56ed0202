"""Vocabularies as JSON documents, and back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from remuda.arrays import starts_of
from remuda.encoding.cuts import Cut, of_whole
from remuda.encoding.spaces import LackSpaces, OrderSpaces, ValueSpaces
from remuda.encoding.table import ClauseTable
from remuda.encoding.vocabulary import YES, Dimension, Spaces, View, Vocabulary, partitioned
from remuda.language import json_form
from remuda.model.binding import bound_predicate
from remuda.model.conditions import Absent, Condition, In, Network, Version
from remuda.model.expressions import Predicate
from remuda.model.hierarchies import Hierarchies
from remuda.model.values import Kind, key, ordered

_STAND_IN: dict[View, Condition] = {
    View.VALUE: In(()),
    View.VERSION: Version("0", above=True),
    View.NETWORK: Network(()),
    View.LACK: Absent(),
}


def write_vocabulary(vocabulary: Vocabulary) -> list[dict[str, Any]]:
    """One document a dimension; copies have no spaces of their own."""
    pairs = zip(vocabulary.dimensions, vocabulary.spaces, strict=True)
    return [_write(dimension, spaces) for dimension, spaces in pairs]


def read_vocabulary(
    documents: Sequence[Mapping[str, Any]],
    table: ClauseTable,
    hierarchies: Hierarchies | None = None,
) -> Vocabulary:
    """The vocabulary of a table, of an index with these trees."""
    dimensions = [_dimension(document, hierarchies) for document in documents]
    made: dict[Any, list[tuple[Any, Spaces]]] = {}  # copies share; what reads alike may differ
    spaces = []
    for dimension, document in zip(dimensions, documents, strict=True):
        known = made.setdefault((dimension.term, dimension.view, dimension.condition), [])
        written = document["spaces"]
        same = [one for own, one in known if own == written]
        if not same:
            same = [partitioned(dimension, _read_values, OrderSpaces.restored, written)]
            known.append((written, same[0]))
        spaces.append(same[0])
    sizes = [1 + (YES if one is None else one.n_present) for one in spaces]
    if not np.array_equal(starts_of(sizes), table.space_starts):
        raise ValueError("the words are not those of the numbers")  # they would lead outside
    return Vocabulary(tuple(dimensions), tuple(spaces), table.space_starts, table.predicates)


def _write(dimension: Dimension, spaces: Spaces) -> dict[str, Any]:
    condition = dimension.condition or _STAND_IN[dimension.view]
    predicate = Predicate(dimension.term, condition)
    return {
        "view": dimension.view.value,
        "copy": dimension.copy,
        "predicate": json_form.write_predicate(predicate),
        "spaces": _written_spaces(spaces),
    }


def _dimension(document: Mapping[str, Any], hierarchies: Hierarchies | None) -> Dimension:
    predicate = json_form.read_predicate(document["predicate"])
    if hierarchies:
        predicate = bound_predicate(predicate, hierarchies)
    view = View(document["view"])
    alone = None if view in _STAND_IN else predicate.condition
    return Dimension(predicate.term, view, alone, document["copy"])


def _written_spaces(spaces: Spaces) -> Any:
    if spaces is None or isinstance(spaces, LackSpaces):
        return None
    if isinstance(spaces, OrderSpaces):
        return spaces.bases
    return {
        "points": json_form.write_values(_unkeyed(point) for point in spaces.points),
        "cuts": {
            kind.value: [
                json_form.write_values(value for value, _ in cuts),
                [side for _, side in cuts],
            ]
            for kind, cuts in spaces.cuts.items()
        },
    }


def _read_values(written: Any) -> ValueSpaces:
    cuts = {
        Kind(kind): _cuts(json_form.read_values(values), sides)
        for kind, (values, sides) in written["cuts"].items()
    }
    points = list(map(key, json_form.read_values(written["points"])))
    if len(points) != len(set(points)):
        raise ValueError("a point is there twice")
    return ValueSpaces.restored(points, cuts)


def _cuts(values: list[Any], sides: list[int]) -> Sequence[Cut]:
    if len(values) != len(sides):
        raise ValueError("each cut has a value and a side")
    whole = of_whole(values, sides)
    if whole is not None:
        return whole
    cuts = []
    last = None  # the two sides of a value share it
    for value, side in zip(values, sides, strict=True):
        if type(value) is not int:
            last = _comparable(value)
        elif value != last:
            last = value
        cuts.append((last, side))
    return cuts


def _comparable(value: Any) -> Any:
    found = ordered(value)
    assert found is not None
    return found[1]


def _unkeyed(point: Any) -> Any:
    """The value that a key of `model.values` stands for."""
    if not isinstance(point, tuple):
        return point
    kind, content = point
    if kind == "list":
        return [_unkeyed(part) for part in content]
    if kind == "object":
        return {name: _unkeyed(part) for name, part in content}
    return content
