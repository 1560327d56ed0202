"""The vocabulary: the distinct predicates of a set of criteria, and what they are in numbers.

Weights do not tell predicates apart here. Those on one term, looked at in the
same way, share a dimension. Regular expressions, sets and versions that do
not sort have a dimension each, with two spaces: "no, or missing" and "yes".
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any

import numpy as np

from remuda.arrays import Ints, frozen, starts_of
from remuda.encoding.spaces import (
    NETWORKS,
    VERSIONS,
    LackSpaces,
    Order,
    OrderSpaces,
    Span,
    ValueSpaces,
    nodes,
    semvers,
)
from remuda.encoding.table import Predicates
from remuda.encoding.term_columns import is_columnar
from remuda.model import conditions
from remuda.model.attributes import Attribute
from remuda.model.conditions import Condition
from remuda.model.expressions import And, Expression, Polarity, Predicate, reads_clock
from remuda.model.lazily import lazily
from remuda.model.terms import Origin, Term, attribute_of, facts_of, origin_of

YES = 1


class View(StrEnum):
    """The way a dimension looks at its values."""

    VALUE = "value"
    VERSION = "version"
    SEMVER = "semver"
    NETWORK = "network"
    TREE = "tree"
    LACK = "lack"  # whether it is null or absent
    PATTERN = "pattern"
    SET = "set"
    TEST = "test"  # the condition itself is asked, value by value
    ELEMENTS = "elements"  # what is asked of them is an index of its own


YES_OR_NO = frozenset({View.PATTERN, View.SET, View.TEST, View.ELEMENTS})


@dataclass(frozen=True, slots=True)
class Dimension:
    """A term, looked at in one way (against one condition, if yes/no).

    As SemVer, `condition` is the reading, with or without its options; of a tree, it has the tree.
    `copy` tells apart the dimensions that hold a second or third predicate of one clause.
    """

    term: Term
    view: View
    condition: Condition | None = None
    copy: int = 0

    @property
    def attribute(self) -> Attribute | None:
        """The path that it is about, by which an event weighs it; None where there are several."""
        return attribute_of(self.term)

    @property
    def reads_clock(self) -> bool:
        """Whether the moment of the question decides where an event is on it."""
        return facts_of(self.term).reads_clock or (
            self.condition is not None and reads_clock(self.condition)
        )

    @property
    def origin(self) -> Origin:
        """What is looked up in an event for it."""
        return origin_of(self.term)


def view_of(condition: Condition) -> View:
    match condition:
        case conditions.Version():
            return View.VERSION if condition.key.is_plain else View.TEST
        case conditions.SemVer():
            return View.SEMVER
        case conditions.Network():
            return View.NETWORK
        case conditions.Under():
            return View.TREE
        case conditions.Regex() | conditions.Like() | conditions.Suffix() | conditions.Contains():
            return View.PATTERN
        case conditions.Related():
            return View.SET
        case (
            conditions.In()
            | conditions.Range()
            | conditions.QuotedRange()
            | conditions.Prefix()
            | conditions.Exists()
            | conditions.Missing()
        ):
            return View.VALUE
        case conditions.NullValue() | conditions.Absent():
            return View.LACK
        case conditions.AnyElement() | conditions.EveryElement():
            return View.ELEMENTS


def splits(predicate: Predicate) -> bool:
    """Whether a strong denial needs a second predicate: a yes/no dimension cannot see "missing"."""
    strong = predicate.polarity is Polarity.STRONGLY_EXCLUDED
    return strong and view_of(predicate.condition) in YES_OR_NO


def split(predicate: Predicate) -> Expression:
    """The same as presence and a weak denial, neither of which scores."""
    present = Predicate(predicate.term, conditions.Exists(), own_weight=0.0)
    return And(present, predicate.with_polarity(Polarity.EXCLUDED))


@dataclass(slots=True)
class PredicatePool:
    """Distinct predicates by first mention; mutable while criteria are being read."""

    ids: dict[Hashable, int] = field(default_factory=dict)
    predicates: list[Predicate] = field(default_factory=list)
    dims: list[int] = field(default_factory=list)  # of each predicate
    dimensions: dict[Dimension, int] = field(default_factory=dict)

    def add(self, predicate: Predicate) -> int:
        """The number of the predicate, whatever its weight."""
        same = predicate.term, predicate.condition, predicate.polarity
        found = self.ids.get(same)
        if found is None:
            found = self.ids[same] = len(self.predicates)
            self.predicates.append(predicate)
            self.dims.append(self._dim(_dimension(predicate)))
        return found

    def add_copy(self, number: int, copy: int) -> int:
        """The number of the same predicate on a copy of its dimension."""
        key = (number, copy)
        copy_number = self.ids.get(key)
        if copy_number is None:
            copy_number = self.ids[key] = len(self.predicates)
            self.predicates.append(self.predicates[number])
            base = _dimension(self.predicates[number])
            self.dims.append(self._dim(replace(base, copy=copy)))
        return copy_number

    def apart(self, numbers: list[int]) -> tuple[int, ...]:
        """The predicates of a clause, each on a dimension of its own."""
        dims = self.dims
        if len({dims[number] for number in numbers}) == len(numbers):
            return tuple(sorted(numbers))
        used: dict[int, int] = {}
        row = []
        for number in sorted(set(numbers)):
            copy = used.get(dims[number], 0)
            used[dims[number]] = copy + 1
            row.append(self.add_copy(number, copy) if copy else number)
        return tuple(sorted(row))

    def _dim(self, dimension: Dimension) -> int:
        return self.dimensions.setdefault(dimension, len(self.dimensions))


Cells = ValueSpaces | OrderSpaces | LackSpaces
Spaces = Cells | None  # None: yes/no


@dataclass(frozen=True)
class Vocabulary:
    """All dimensions with their spaces, and all predicates in numbers."""

    dimensions: tuple[Dimension, ...]
    spaces: tuple[Spaces, ...]
    space_starts: Ints
    predicates: Predicates

    @lazily
    def attributes(self) -> frozenset[Attribute]:
        """All that events are looked at for."""
        terms = dict.fromkeys(dimension.term for dimension in self.dimensions)
        return frozenset(one for term in terms for one in facts_of(term).attributes)

    @lazily
    def weighed(self) -> dict[Attribute | None, int]:
        """The paths of the dimensions, by which events weigh them, and their order.

        None is what dimensions of several paths have.
        """
        paths = dict.fromkeys(dimension.attribute for dimension in self.dimensions)
        return {path: i for i, path in enumerate(paths)}

    @classmethod
    def of(cls, pool: PredicatePool) -> Vocabulary:
        found = list(pool.dimensions)
        order = side_by_side(found)  # so spaces ascend as origins are taken one after the other
        moved = {old: new for new, old in enumerate(order)}
        dimensions, dims = tuple(found[dim] for dim in order), [moved[dim] for dim in pool.dims]
        by_base: dict[Dimension, list[Condition]] = {}
        for predicate, dim in zip(pool.predicates, dims, strict=True):
            by_base.setdefault(base_of(dimensions[dim]), []).append(predicate.condition)
        made = {
            base: partitioned(base, ValueSpaces, OrderSpaces, several)
            for base, several in by_base.items()
        }
        spaces = tuple(made[base_of(dimension)] for dimension in dimensions)
        sizes = [1 + (YES if one is None else one.n_present) for one in spaces]
        space_starts = starts_of(sizes)
        if space_starts[-1] > np.iinfo(np.int32).max:
            raise ValueError("more than 2^31 spaces in one segment")
        return cls(
            dimensions,
            spaces,
            frozen(space_starts.astype(np.int32)),
            _predicates(pool.predicates, dims, spaces, space_starts.tolist()),
        )


def side_by_side(dimensions: Sequence[Dimension]) -> list[int]:
    """Their order: those of one origin follow one another, and there those of one term.

    Terms that columns may give by themselves come first, so that the others are together, too.
    """
    origins: dict[Origin, int] = {}
    terms: dict[Term, int] = {}
    keys = [
        (
            origins.setdefault(one.origin, len(origins)),
            not is_columnar(one.term),
            terms.setdefault(one.term, len(terms)),
            dim,
        )
        for dim, one in enumerate(dimensions)
    ]
    return [dim for *_, dim in sorted(keys)]


def base_of(dimension: Dimension) -> Dimension:
    """The dimension that this one is a copy of, or itself."""
    return replace(dimension, copy=0) if dimension.copy else dimension


def _dimension(predicate: Predicate) -> Dimension:
    condition = predicate.condition
    # no operation makes a present value missing
    if isinstance(condition, conditions.Exists | conditions.Missing):
        return Dimension(predicate.root, View.VALUE)
    view = view_of(condition)
    if view is View.LACK:
        return Dimension(predicate.root, view)
    alone = condition if view in YES_OR_NO else None
    if isinstance(condition, conditions.SemVer | conditions.Under):
        alone = condition.reading
    return Dimension(predicate.term, view, alone)


def partitioned(
    dimension: Dimension,
    of_values: Callable[..., ValueSpaces],
    in_order: Callable[..., OrderSpaces],
    *given: Any,
) -> Spaces:
    """The spaces of a dimension, of which partitions of values and of orders are made so."""
    match dimension.view:
        case View.VALUE:
            return of_values(*given)
        case View.VERSION | View.SEMVER | View.NETWORK | View.TREE:
            return in_order(order_of(dimension), *given)
        case View.LACK:
            return LackSpaces()
        case View.PATTERN | View.SET | View.TEST | View.ELEMENTS:
            return None


def order_of(dimension: Dimension) -> Order:
    """The order that values have, looked at as this dimension does."""
    match dimension.view, dimension.condition:
        case View.VERSION, None:
            return VERSIONS
        case View.NETWORK, None:
            return NETWORKS
        case View.SEMVER, conditions.SemVer() as reading:
            return semvers(reading)
        case View.TREE, conditions.Under() as reading:
            return nodes(reading.known)
        case _:
            raise ValueError(f"a dimension that is looked at as {dimension.view} has no such order")


def _predicates(
    predicates: Sequence[Predicate],
    dims: Sequence[int],
    spaces: Sequence[Spaces],
    space_starts: Sequence[int],
) -> Predicates:
    on_missing, every, counts, lows, highs = [], [], [], [], []
    for predicate, dim in zip(predicates, dims, strict=True):
        spans, missing, all_of = accepted(predicate, spaces[dim])
        on_missing.append(missing)
        every.append(all_of)
        counts.append(len(spans))
        start = space_starts[dim]
        lows += [start + lo for lo, _ in spans]
        highs += [start + hi for _, hi in spans]
    return Predicates.of(dims, on_missing, every, counts, lows, highs)


def accepted(predicate: Predicate, spaces: Spaces) -> tuple[list[Span], bool, bool]:
    """The present spaces that satisfy the predicate, and its `on_missing` and `every`."""
    if spaces is None:
        n_present = YES
        spans = [(YES, YES + 1)]
    else:
        n_present = spaces.n_present
        spans = spaces.spans(predicate.condition)  # type: ignore[arg-type]
    missing = isinstance(predicate.condition, conditions.Missing | conditions.Absent)
    if predicate.polarity is Polarity.INCLUDED:
        return spans, missing, False
    refused = _complement(spans, n_present)
    weak = predicate.polarity is Polarity.EXCLUDED
    # over all spaces or none, "any" and "every" are the same: one spelling
    return refused, weak and not missing, len(spans) > 0 and spans != [(1, n_present + 1)]


def _complement(spans: Sequence[Span], n_present: int) -> list[Span]:
    edges = [1, *(edge for span in spans for edge in span), n_present + 1]
    pairs = zip(edges[::2], edges[1::2], strict=True)
    return [(lo, hi) for lo, hi in pairs if lo < hi]
