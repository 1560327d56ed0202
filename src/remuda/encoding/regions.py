"""Regions: events whose values are not known exactly, as what each attribute may be.

A region is a conjunction of conditions, each on one plain attribute. Values are scalars; an
attribute that no condition is about may be any scalar, or missing (null or absent). The values of
one attribute do not depend on those of another: a region is a product.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any, ClassVar, NamedTuple

from remuda.encoding.cuts import Cut, n_before, n_up_to
from remuda.encoding.forms import MAX_CLAUSES, Form, form_of
from remuda.encoding.plan import leaves_of
from remuda.encoding.spaces import OTHER, Span, ValueSpaces, range_cuts
from remuda.encoding.vocabulary import View, view_of
from remuda.encoding.witnesses import is_scalar, value_between
from remuda.errors import InvalidRegion
from remuda.logic.normal import Clause, expand, flat, nnf
from remuda.model.attributes import Attribute, Digits, Element, Known, Lack
from remuda.model.conditions import Condition, Exists, In, Missing, Range, Related
from remuda.model.expressions import And, Expression, Not, Or, Polarity, Predicate, fold
from remuda.model.terms import facts_of
from remuda.model.values import Kind, ordered

MISSING = 0
_TRUE = And()
_NAN = float("nan")  # a scalar that satisfies nothing


class Interval(NamedTuple):
    """Values of one kind between two cuts; an absent one is unbounded."""

    kind: Kind
    lower: Cut | None
    upper: Cut | None


@dataclass(frozen=True, slots=True)
class Values:
    """What an attribute may be: the cells of a partition that some conditions make.

    `finite` are all present values, where there are so few that they were written down. `exact` is
    False where the cells have more values than were asked for.
    """

    spaces: ValueSpaces
    cells: frozenset[int]
    finite: tuple[Any, ...] | None
    exact: bool = True
    condition: Expression = _TRUE

    @classmethod
    def of(cls, condition: Expression, attribute: Attribute, now: int) -> Values:
        """Those that an expression about the one attribute holds for."""
        predicates = leaves_of(condition)
        conditions = (predicate.condition for predicate in predicates)
        spaces = ValueSpaces([one for one in conditions if view_of(one) is View.VALUE])
        everything = frozenset(range(spaces.n_present + 1))
        cells = fold(condition, lambda *node: _cells(spaces, everything, *node))
        lived = {cell for lo, hi in inhabited(spaces) for cell in range(lo, hi)}
        cells &= lived | {MISSING}
        written = [one for each in predicates for one in _written(each.condition)]
        points = {spaces.of(value) for value in written}
        if not cells - {MISSING} <= points:
            exact = all(_is_plain(predicate) for predicate in predicates)
            return cls(spaces, cells, None, exact, condition)
        held = [one for one in written if condition.truth(Known({attribute: one}), now)]
        finite = tuple({spaces.of(value): value for value in held}.values())
        cells = frozenset(map(spaces.of, finite)) | (cells & {MISSING})
        told = any(view_of(predicate.condition) is View.LACK for predicate in predicates)
        return cls(spaces, cells, finite, not told or MISSING not in cells, condition)

    @property
    def may_be_missing(self) -> bool:
        return MISSING in self.cells

    def intervals(self) -> Iterator[Interval]:
        """The ordered values, neighbours as one."""
        for kind, cuts in self.spaces.cuts.items():
            first = self.spaces.first[kind]
            edges: list[Cut | None] = [None, *cuts, None]
            own = [i for i in range(len(cuts) + 1) if first + i in self.cells]
            for _, run in groupby(enumerate(own), lambda pair: pair[1] - pair[0]):
                places = [place for _, place in run]
                yield Interval(kind, edges[places[0]], edges[places[-1] + 1])

    def some(self) -> Any:
        """One of them; None for missing, which is taken where it can be."""
        if self.may_be_missing:
            return None
        if self.finite:
            return self.finite[0]
        return _NAN if OTHER in self.cells else value_between(*next(self.intervals()))

    def spans_in(self, spaces: ValueSpaces) -> list[Span]:
        """The present spaces of another partition that have some of the values, ascending."""
        spans: list[Span] = []
        for kind, lower, upper in self.intervals():
            spans += _met(spaces, kind, lower, upper) if kind in spaces.first else [_OTHER]
        own = {point for point, space in self.spaces.points.items() if space in self.cells}
        points = {space for point, space in spaces.points.items() if point in own}
        if OTHER in self.cells or len(points) < len(own):
            spans.append(_OTHER)
        if OTHER in self.cells:
            points.update(_scalar_points(spaces, self.spaces.points))
            for kind in spaces.first.keys() - self.spaces.first.keys():
                spans += _met(spaces, kind, None, None)
        spans += [(space, space + 1) for space in points]
        return sorted(set(spans)) if len(spans) > 1 else spans


_OTHER = OTHER, OTHER + 1
_INSIDE = frozenset({OTHER + 1})


@dataclass(frozen=True, slots=True)
class Between:
    """The same for one range, the commonest condition: no partition need be made for it."""

    interval: Interval
    cells: frozenset[int]  # none where there is no value between the bounds
    condition: Expression
    finite: ClassVar[None] = None
    exact: ClassVar[bool] = True
    may_be_missing: ClassVar[bool] = False

    @classmethod
    def of(cls, predicate: Predicate, range_: Range) -> Between:
        interval = Interval(range_.kind, *range_cuts(range_))
        return cls(interval, _INSIDE if _has_value(*interval) else frozenset(), predicate)

    def some(self) -> Any:
        return value_between(*self.interval)

    def spans_in(self, spaces: ValueSpaces) -> list[Span]:
        if not self.cells:
            return []
        return _met(spaces, *self.interval) if self.interval.kind in spaces.first else [_OTHER]


def _values(parts: Sequence[Expression], path: Attribute, now: int) -> Values | Between:
    """What the attribute may be where all the parts hold, which are about it alone."""
    if len(parts) == 1 and isinstance(parts[0], Predicate):
        condition, included = parts[0].condition, parts[0].polarity is Polarity.INCLUDED
        if included and isinstance(condition, Range):
            return Between.of(parts[0], condition)
    return Values.of(And(*parts), path, now)


def inhabited(spaces: ValueSpaces) -> list[Span]:
    """The present spaces that have a scalar in them: between two days there is none."""
    found = [_OTHER, *((space, space + 1) for space in _scalar_points(spaces, ()))]
    for kind in spaces.first:
        found += _met(spaces, kind, None, None)
    return found


def _scalar_points(spaces: ValueSpaces, but: Collection[Any]) -> list[int]:
    return [
        space for point, space in spaces.points.items() if is_scalar(point) and point not in but
    ]


def _met(spaces: ValueSpaces, kind: Kind, lower: Cut | None, upper: Cut | None) -> list[Span]:
    """The spaces of a kind that have values between the cuts, neighbours together."""
    cuts, first = spaces.cuts[kind], spaces.first[kind]
    begin = 0 if lower is None else n_up_to(cuts, lower)
    end = len(cuts) if upper is None else n_before(cuts, upper)
    if kind is Kind.NUMBER:  # dense, so that at most what is beyond infinity is empty
        begin += begin < end and not _has_value(kind, lower, cuts[begin])
        end -= begin < end and not _has_value(kind, cuts[end - 1], upper)
        return [(first + begin, first + end + 1)]
    spans: list[Span] = []
    for place in range(begin, end + 1):
        low = lower if place == begin else cuts[place - 1]
        high = upper if place == end else cuts[place]
        if _has_value(kind, low, high):
            begins = spans[-1][0] if spans and spans[-1][1] == first + place else first + place
            if begins < first + place:
                spans.pop()
            spans.append((begins, first + place + 1))
    return spans


def _has_value(kind: Kind, lower: Cut | None, upper: Cut | None) -> bool:
    if kind is Kind.NUMBER and lower is not None and upper is not None:
        return lower < upper
    return value_between(kind, lower, upper) is not None


@dataclass(frozen=True, slots=True)
class Region:
    """What each attribute may be; one that is not among the values may be anything.

    Where an `event` is given, the attributes are what they are in it, but for the `unknown` ones,
    which may be anything, and paths that go on from these.
    """

    values: Mapping[Attribute, Values | Between]
    now: int
    event: Any = None
    unknown: tuple[Attribute, ...] | None = None

    @classmethod
    def where(
        cls,
        where: Expression,
        now: int,
        missing: Iterable[Attribute] = (),
        present: Iterable[Attribute] = (),
    ) -> Region:
        """The events for which the expression holds; InvalidRegion where it is no conjunction."""
        by_path: dict[Attribute, list[Expression]] = {}
        expression = flat(where)
        for part in expression.parts if isinstance(expression, And) else (expression,):
            by_path.setdefault(_path(part), []).append(part)
        for condition, paths in ((Missing(), missing), (Exists(), present)):
            for path in paths:
                by_path.setdefault(path.path, []).append(Predicate(path.path, condition))
        return cls({path: _values(own, path, now) for path, own in by_path.items()}, now)

    @classmethod
    def around(cls, event: Any, unknown: Iterable[Attribute], now: int) -> Region:
        """The event, of which some attributes are not known."""
        return cls({}, now, event, tuple(unknown))

    @property
    def empty(self) -> bool:
        """Whether there is no event in it."""
        return any(not one.cells for one in self.values.values())

    @property
    def exact(self) -> bool:
        """Whether it is known which values there are; otherwise there may be none at all."""
        return all(one.exact for one in self.values.values())

    def knows(self, attribute: Attribute) -> bool:
        """Whether the attribute is what it is in the event."""
        return self.unknown is not None and not any(_sees(attribute, one) for one in self.unknown)

    def some(self, attributes: Iterable[Attribute]) -> Any:
        """An event in it, as far as the attributes see it."""
        if self.unknown is not None:
            hidden = {one: Lack.ABSENT for one in attributes if not self.knows(one)}
            return Known(hidden, self.event)
        found = {one: self.values.get(one.path) for one in attributes}
        return Known({one: values.some() for one, values in found.items() if values is not None})

    def certain(self, expression: Expression) -> bool | None:
        """Whether the expression holds for every event in it; None where that is not known."""
        negated = flat(nnf(Not(expression)))
        if form_of(negated, takes_cnf=False) is not Form.DNF:
            return None
        doubts = [self._possible(clause) for clause in expand(negated, Or, MAX_CLAUSES)]
        return False if True in doubts else None if None in doubts else True

    def _possible(self, clause: Clause) -> bool | None:
        """Whether some event satisfies all predicates; None where that is not known."""
        by_attributes: dict[frozenset[Attribute], list[Predicate]] = {}
        for predicate in clause:
            own = frozenset(one.path for one in facts_of(predicate.term).attributes)
            by_attributes.setdefault(own, []).append(predicate)
        found = [self._meet(paths, own) for paths, own in by_attributes.items()]
        mixed = sum(map(len, by_attributes)) > len(frozenset().union(*by_attributes))
        return False if False in found else None if mixed or None in found else True

    def _meet(self, paths: frozenset[Attribute], predicates: Sequence[Predicate]) -> bool | None:
        """Whether values of the attributes satisfy all of them."""
        if all(map(self.knows, paths)):
            return all(one.truth(self.event, self.now) for one in predicates)
        if len(paths) != 1:
            return None
        (path,) = paths
        values = self.values.get(path)
        if values is not None and values.finite is not None:
            attributes = {one for each in predicates for one in facts_of(each.term).attributes}
            lacks = (Lack.NULL, Lack.ABSENT) if values.may_be_missing else ()
            events = [Known(dict.fromkeys(attributes, raw)) for raw in (*values.finite, *lacks)]
            return any(all(one.truth(event, self.now) for one in predicates) for event in events)
        if not is_plain_path(path):
            return None  # it collects a list of what is there
        if not all(_is_plain(one) and one.term == path for one in predicates):
            return None
        own = _TRUE if values is None else values.condition
        both = Values.of(And(own, *predicates), path, self.now)
        if not both.cells:
            return False
        return True if values is None or values.exact else None


def is_within(attribute: Attribute, outer: Attribute) -> bool:
    """Whether the attribute is the outer one, or a path that goes on from it."""
    return attribute.steps[: len(outer.steps)] == outer.steps


def _sees(attribute: Attribute, hidden: Attribute) -> bool:
    """Whether the attribute may be another where the hidden one is."""
    if is_plain_path(attribute):
        return is_within(attribute, hidden)
    first, other = attribute.steps[:1], hidden.steps[:1]
    names = [one for one in (*first, *other) if isinstance(one, str)]
    return len(set(names)) < 2  # what collects may lead anywhere beneath its first name


def is_plain_path(attribute: Attribute) -> bool:
    """Whether it leads to one place, and does not collect."""
    return not attribute.walk and all(
        isinstance(one, str | Element | Digits) for one in attribute.steps
    )


def _path(part: Expression) -> Attribute:
    """The one attribute that a part of a region is about."""
    if isinstance(part, Predicate) and isinstance(part.term, Attribute):
        return part.term.path
    terms = {predicate.term for predicate in leaves_of(part)}
    paths = {one.path if isinstance(one, Attribute) else one for one in terms}
    if not paths:
        raise InvalidRegion("no event can be in one that is false")
    if len(paths) != 1:
        raise InvalidRegion(f"it joins conditions on {len(paths)} attributes by OR")
    (path,) = paths
    if not isinstance(path, Attribute):
        raise InvalidRegion(f"{path} is no plain attribute")
    return path


def _is_plain(predicate: Predicate) -> bool:
    """Whether cells say all that it asks of a scalar."""
    return view_of(predicate.condition) in (View.VALUE, View.SET)


def _written(condition: Condition) -> tuple[Any, ...]:
    values = condition.values if isinstance(condition, In) else ()
    return tuple(value for value in values if isinstance(value, bool) or ordered(value))


def _cells(
    spaces: ValueSpaces,
    everything: frozenset[int],
    node: Expression,
    parts: Sequence[frozenset[int]],
) -> frozenset[int]:
    """The cells whose values satisfy the node, in negation normal form; rather too many."""
    if isinstance(node, Predicate):
        return _accepted(spaces, everything, node)
    if len(parts) == 1:
        return parts[0]
    if isinstance(node, And):
        return everything.intersection(*parts)
    return frozenset().union(*parts)


def _accepted(spaces: ValueSpaces, everything: frozenset[int], leaf: Predicate) -> frozenset[int]:
    present = everything - {MISSING}
    match view_of(leaf.condition):
        case View.VALUE:
            spans = spaces.spans(leaf.condition)
            cells = frozenset(cell for lo, hi in spans for cell in range(lo, hi))
            if isinstance(leaf.condition, Missing):
                cells = frozenset({MISSING})
        case View.SET:  # a scalar is no list
            assert isinstance(leaf.condition, Related)
            cells = frozenset()
        case View.LACK:
            return frozenset({MISSING}) if leaf.polarity is Polarity.INCLUDED else everything
        case _:
            return everything if leaf.polarity is Polarity.EXCLUDED else present
    match leaf.polarity:
        case Polarity.INCLUDED:
            return cells
        case Polarity.EXCLUDED:
            return everything - cells
        case Polarity.STRONGLY_EXCLUDED:
            return present - cells
