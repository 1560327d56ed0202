"""Events to spaces: what an event says on the dimensions of a vocabulary, one event at a time.

Work is done once per distinct value and remembered: regular expressions, sets, versions and
functions cost nothing for a value that was seen before.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime
from decimal import Decimal
from sys import getsizeof
from typing import Any, Protocol

import numpy as np

from remuda.arrays import Bools, Longs, starts_of
from remuda.encoding.sets import SetIndex
from remuda.encoding.spaces import OTHER, LackSpaces
from remuda.encoding.table import EventBatch
from remuda.encoding.term_columns import is_columnar
from remuda.encoding.vocabulary import YES, Cells, Dimension, Spaces, View, Vocabulary
from remuda.model.attributes import Attribute, Lack
from remuda.model.conditions import (
    AnyElement,
    Contains,
    EveryElement,
    Like,
    Regex,
    Related,
    Suffix,
    Version,
)
from remuda.model.expressions import Expression
from remuda.model.patterns import PatternSet
from remuda.model.terms import Origin, Term, known, value_in

_PLAIN: tuple[Any, ...] = ("", 0, [""])  # values that no dimension may fail for
_REMEMBERED = 1 << 26  # bytes of values and their spaces; beyond that the memory starts anew
_ENTRY = 200  # bytes of a value that is remembered, beside those of the value and its spaces
_LARGE = 1 << 14  # bytes of a value that is looked at anew each time
_LONG = 256  # elements of a list that is
_SCALARS = frozenset({str, int, float, bool, Decimal, datetime, date, type(None)})


class Elements(Protocol):
    """Expressions that are asked of the elements of lists."""

    def counts(self, elements: list[Any], now: int) -> tuple[Longs, Longs]:
        """The expressions that elements satisfy, and how many elements satisfy each."""
        ...


class Plainly:
    """The expressions, each tried on each element."""

    def __init__(self, expressions: Sequence[Expression]) -> None:
        self.expressions = expressions

    def counts(self, elements: list[Any], now: int) -> tuple[Longs, Longs]:
        held = [sum(one.truth(part, now) for part in elements) for one in self.expressions]
        which = np.flatnonzero(held)
        return which, np.array(held, np.int64)[which]


Asker = Callable[[Sequence[Expression]], Elements]


@dataclass(slots=True)
class TermEncoder:
    """The dimensions of one term."""

    origin: Origin
    term: Term
    entries: list[tuple[Dimension, Spaces, int]] = field(default_factory=list)
    cells: list[tuple[int, Cells]] = field(default_factory=list)
    patterns: list[str] = field(default_factory=list)
    pattern_spaces: list[int] = field(default_factory=list)  # the "yes" of each
    sets: SetIndex = field(default_factory=SetIndex)
    tests: list[tuple[Version, int]] = field(default_factory=list)  # each with its "yes"
    asked: list[tuple[AnyElement | EveryElement, int]] = field(default_factory=list)  # likewise
    asker: Asker = Plainly
    _pattern_set: PatternSet | None = None
    _of_elements: Elements | None = None
    _every: Bools | None = None  # of what is asked of elements: whether all must satisfy it

    def enter(self, dimension: Dimension, spaces: Spaces, start: int) -> None:
        """Take up one more dimension, whose spaces begin at `start`."""
        self.entries.append((dimension, spaces, start))
        if spaces is not None:
            self.cells.append((start, spaces))
        elif dimension.view is View.SET:
            assert isinstance(dimension.condition, Related)
            self.sets.add(dimension.condition, start + YES)
        elif dimension.view is View.TEST:
            assert isinstance(dimension.condition, Version)
            self.tests.append((dimension.condition, start + YES))
        elif dimension.view is View.ELEMENTS:
            assert isinstance(dimension.condition, AnyElement | EveryElement)
            self.asked.append((dimension.condition, start + YES))
        else:
            assert isinstance(dimension.condition, Regex | Like | Suffix | Contains)
            self.patterns.append(dimension.condition.whole_pattern)
            self.pattern_spaces.append(start + YES)

    def spaces(self, raw: Any, now: int) -> list[int]:
        """The spaces of a present raw value on these dimensions; none where the term is missing."""
        term = self.term
        value = raw if term is self.origin else value_in(term, known(self.origin, raw), now)
        if not isinstance(value, list):
            return [] if value is None else self._of_one(value)
        found = {space for element in value or [None] for space in self._of_one(element)}
        found.update(self.sets.matching(value))
        if self.asked:
            found.update(self._elements(value, now))
        return list(found)

    def _elements(self, values: list[Any], now: int) -> list[int]:
        """The "yes" of what some of the elements, or all of them, satisfy."""
        if not values:
            return [space for one, space in self.asked if isinstance(one, EveryElement)]
        if self._of_elements is None:
            # the other first: a thread that finds these made finds both
            self._every = np.array([isinstance(one, EveryElement) for one, _ in self.asked])
            self._of_elements = self.asker([condition.expression for condition, _ in self.asked])
        which, counts = self._of_elements.counts(values, now)
        assert self._every is not None
        enough = which[~self._every[which] | (counts == len(values))]
        return [self.asked[i][1] for i in enough.tolist()]

    def carefully(self, raw: Any, now: int, aside: dict[int, str]) -> tuple[list[int], TermEncoder]:
        """The same dimension by dimension, for a value on which one of them raised.

        One that raises for plain values, too, is at fault: it is set aside, and the term without
        it is returned. Otherwise the value is, and satisfies nothing there.
        """
        found: list[int] = []
        kept = TermEncoder(self.origin, self.term, asker=self.asker)
        for entry in self.entries:
            alone, start = TermEncoder(self.origin, self.term, asker=self.asker), entry[2]
            alone.enter(*entry)
            reason = alone.failure(raw, now)
            if reason is None:
                found += alone.spaces(raw, now)
            elif any(alone.failure(alike(self.origin, value), now) for value in _PLAIN):
                aside[start] = reason
                continue
            elif alone.cells:
                found.append(start + OTHER)
            kept.enter(*entry)
        return found, kept

    def failure(self, raw: Any, now: int) -> str | None:
        """What is raised for the value, in words."""
        try:
            self.spaces(raw, now)
        except MemoryError:
            raise
        except Exception as error:
            return f"{type(error).__name__}: {error}"
        return None

    def _of_one(self, value: Any) -> list[int]:
        found = [start + spaces.of(value) for start, spaces in self.cells]
        if self.patterns and isinstance(value, str):
            if self._pattern_set is None:
                self._pattern_set = PatternSet(self.patterns)
            matching = self._pattern_set.matching(value)
            found += [self.pattern_spaces[position] for position in matching]
        if self.tests:
            found += [space for condition, space in self.tests if condition.accepts(value)]
        return found


@dataclass(slots=True)
class Memory:
    """The values that an encoder has seen, of all attributes, within a bound of bytes."""

    taken: int = 0
    seen: list[dict[Any, list[int]]] = field(default_factory=list)

    def keep(self, seen: dict[Any, list[int]], key: Any, raw: Any, spaces: list[int]) -> None:
        """Remember the spaces of a value among those of its attribute."""
        size = getsizeof(key) + (sum(map(_size, raw)) if type(raw) in (list, tuple) else 0)
        if size > _LARGE:
            return
        self.taken += _ENTRY + size + getsizeof(spaces)
        if self.taken > _REMEMBERED:
            for one in self.seen:
                one.clear()
            self.taken = 0
        seen[key] = spaces


@dataclass(slots=True)
class OriginEncoder:
    """All dimensions of one attribute, or of attributes that are looked at together."""

    origin: Origin
    memory: Memory
    aside: dict[int, str]  # why dimensions failed, by their first spaces
    timeless: list[TermEncoder] = field(default_factory=list)
    clocked: list[TermEncoder] = field(default_factory=list)
    lacks: list[tuple[int, LackSpaces]] = field(default_factory=list)  # with their first spaces
    _seen: dict[Any, list[int]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.memory.seen.append(self._seen)

    def spaces(self, raw: Any, now: int) -> list[int]:
        """The spaces of a present raw value."""
        try:
            found = self._timeless(raw, now)
            return sorted(found + _along(self.clocked, raw, now)) if self.clocked else found
        except MemoryError:
            raise
        except Exception:
            return self._carefully(raw, now)

    def lacking(self, lack: Lack | None) -> list[int]:
        """The spaces of a missing value."""
        if lack is None:
            return []
        found = [(start, spaces.of_lack(lack)) for start, spaces in self.lacks]
        return [start + space for start, space in found if space is not None]

    def _carefully(self, raw: Any, now: int) -> list[int]:
        found: list[int] = []
        made: tuple[list[TermEncoder], list[TermEncoder]] = ([], [])
        for terms, kept in zip((self.timeless, self.clocked), made, strict=True):
            for term in terms:
                spaces, remaining = term.carefully(raw, now, self.aside)
                found += spaces
                kept.append(remaining)
        self.timeless, self.clocked = made
        return sorted(found)

    def _timeless(self, raw: Any, now: int) -> list[int]:
        key: Any
        kind = type(raw)
        if kind is str or kind is int:
            key = raw
        elif kind is tuple:  # of several attributes
            key = tuple(map(_key, raw))
            if None in key:
                return _along(self.timeless, raw, now)
        else:
            key = _key(raw)
            if key is None:
                return _along(self.timeless, raw, now)
        try:
            found = self._seen.get(key)
        except TypeError:  # a signalling NaN
            return _along(self.timeless, raw, now)
        if found is None:
            found = _along(self.timeless, raw, now)
            self.memory.keep(self._seen, key, raw, found)
        return found


def _along(terms: Iterable[TermEncoder], raw: Any, now: int) -> list[int]:
    return sorted(space for term in terms for space in term.spaces(raw, now))


def _key(raw: Any) -> Any:
    """What tells a value from all others: 1, 1.0 and True are three, [1.0] is another.

    None for what is long, or may equal another thing, as (1, True) does (1, 1).
    """
    kind = type(raw)
    if kind in _SCALARS:
        return kind, raw
    if kind is not list or len(raw) > _LONG:
        return None
    kinds = tuple(map(type, raw))
    return (list, *kinds, *raw) if _SCALARS.issuperset(kinds) else None


def alike(origin: Origin, value: Any) -> Any:
    """The raw value of a origin of which every attribute has the value."""
    return value if isinstance(origin, Attribute) else (value,) * len(origin.attributes)


def _size(value: Any) -> int:
    return getsizeof(value) + (sum(map(getsizeof, value)) if type(value) is list else 0)


def _field(origin: Origin) -> str | None:
    """A field without which the origin is missing."""
    if isinstance(origin, Attribute):
        return origin.field
    return origin.attributes[0].field if origin.all_needed else None


class Encoder:
    """Events to spaces for one vocabulary; only attributes that it mentions are looked up."""

    def __init__(self, vocabulary: Vocabulary, asker: Asker = Plainly) -> None:
        starts = vocabulary.space_starts.tolist()
        entries = list(zip(vocabulary.dimensions, vocabulary.spaces, starts[:-1], strict=True))
        terms: dict[tuple[Term, bool], TermEncoder] = {}
        for dimension, spaces, start in entries:
            key = dimension.term, dimension.reads_clock
            term = terms.get(key)
            if term is None:
                origin = dimension.origin
                one = origin if dimension.term == origin else dimension.term
                term = terms[key] = TermEncoder(origin, one, asker=asker)
            term.enter(dimension, spaces, start)
        self.aside: dict[int, str] = {}
        memory = Memory()
        by_origin: dict[Origin, OriginEncoder] = {}
        for (_, reads_clock), term in terms.items():
            encoder = by_origin.get(term.origin)
            if encoder is None:
                encoder = OriginEncoder(term.origin, memory, self.aside)
                by_origin[term.origin] = encoder
            (encoder.clocked if reads_clock else encoder.timeless).append(term)
            lacks = [(at, one) for at, one in term.cells if isinstance(one, LackSpaces)]
            encoder.lacks += lacks
        self.origins = list(by_origin.values())
        self._memory = memory
        self._apart: list[tuple[OriginEncoder, bool]] | None = None
        self._by_name: dict[str, list[OriginEncoder]] = {}  # of a field that it cannot do without
        self._others: list[OriginEncoder] = []
        for encoder in self.origins:
            name = _field(encoder.origin)
            if name is None:
                self._others.append(encoder)
            else:
                self._by_name.setdefault(name, []).append(encoder)

    @property
    def apart(self) -> list[tuple[OriginEncoder, bool]]:
        """The origins in the order of their spaces; terms that columns may give by themselves.

        Whether they may is told with each.
        """
        if self._apart is None:  # two threads may both make it: they are the same
            found: list[tuple[OriginEncoder, bool]] = []
            for one in self.origins:
                columnar = [term for term in one.timeless if is_columnar(term.term)]
                others = [term for term in one.timeless if not is_columnar(term.term)]
                if not columnar:
                    found.append((one, False))
                    continue
                found += [(self._with(one, [term]), True) for term in columnar]
                if others or one.clocked:
                    rest = self._with(one, others)
                    rest.clocked, rest.lacks = one.clocked, one.lacks
                    found.append((rest, False))
            self._apart = found
        return self._apart

    def _with(self, one: OriginEncoder, terms: list[TermEncoder]) -> OriginEncoder:
        return OriginEncoder(one.origin, self._memory, self.aside, terms)

    def encode(self, events: Iterable[Any], now: int) -> EventBatch:
        """A batch of events that are Python objects."""
        rows = [self.spaces(event, now) for event in events]
        items = [space for row in rows for space in row]
        return EventBatch(starts_of([len(row) for row in rows]), np.array(items, np.int32))

    def spaces(self, event: Any, now: int) -> list[int]:
        """The present spaces of one event, ascending."""
        found: list[int] = []
        if isinstance(event, dict):  # its fields are few, the attributes may be many
            named = [one for name in event if name in self._by_name for one in self._by_name[name]]
        else:
            named = [one for several in self._by_name.values() for one in several]
        for encoder in (*named, *self._others):
            try:
                origin = encoder.origin
                raw = origin.resolve(event)
                if raw is None and encoder.lacks and isinstance(origin, Attribute):
                    found += encoder.lacking(origin.lack(event))
            except MemoryError:
                raise
            except Exception:  # an event of a strange type, which has no such value
                raw = None
            if raw is not None:
                found += encoder.spaces(raw, now)
        found.sort()
        return found
