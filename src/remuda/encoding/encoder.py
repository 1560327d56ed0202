"""Events to spaces: what an event says on the dimensions of a vocabulary, one event at a time.

Work is done once per distinct value and remembered: regular expressions, sets, versions and
exact arithmetic cost nothing for a value that was seen before.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import date, datetime
from decimal import Decimal
from sys import getsizeof
from typing import Any

import numpy as np

from remuda.arrays import starts_of
from remuda.encoding.sets import SetIndex
from remuda.encoding.spaces import OTHER, LackSpaces
from remuda.encoding.table import EventBatch
from remuda.encoding.vocabulary import YES, Cells, Dimension, Spaces, View, Vocabulary
from remuda.model.attributes import Attribute, Digits, Lack
from remuda.model.conditions import Contains, Like, Regex, Related, Suffix, Version
from remuda.model.operations import Operation
from remuda.model.patterns import PatternSet

_PLAIN: tuple[Any, ...] = ("", 0, [""])  # values that no dimension may fail for
_REMEMBERED = 1 << 26  # bytes of values and their spaces; beyond that the memory starts anew
_ENTRY = 200  # bytes of a value that is remembered, beside those of the value and its spaces
_LARGE = 1 << 14  # bytes of a value that is looked at anew each time
_LONG = 256  # elements of a list that is
_SCALARS = frozenset({str, int, float, bool, Decimal, datetime, date, type(None)})


@dataclass(slots=True)
class ChainEncoder:
    """The dimensions of one attribute after one chain of pre-operations."""

    operations: tuple[Operation, ...]
    entries: list[tuple[Dimension, Spaces, int]] = field(default_factory=list)
    cells: list[tuple[int, Cells]] = field(default_factory=list)
    patterns: list[str] = field(default_factory=list)
    pattern_spaces: list[int] = field(default_factory=list)  # the "yes" of each
    sets: SetIndex = field(default_factory=SetIndex)
    tests: list[tuple[Version, int]] = field(default_factory=list)  # each with its "yes"
    _pattern_set: PatternSet | None = None

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
        else:
            assert isinstance(dimension.condition, Regex | Like | Suffix | Contains)
            self.patterns.append(dimension.condition.whole_pattern)
            self.pattern_spaces.append(start + YES)

    @property
    def needs_clock(self) -> bool:
        return any(operation.reads_clock for operation in self.operations)

    def spaces(self, raw: Any, now: int) -> list[int]:
        """The spaces of a present raw value on these dimensions."""
        for operation in self.operations:
            raw = operation.apply(raw, now)
        if not isinstance(raw, list):
            return self._of_one(raw)
        found = {space for element in raw for space in self._of_one(element)}
        found.update(self.sets.matching(raw))
        return list(found)

    def carefully(
        self, raw: Any, now: int, aside: dict[int, str]
    ) -> tuple[list[int], ChainEncoder]:
        """The same dimension by dimension, for a value on which one of them raised.

        One that raises for plain values, too, is at fault: it is set aside, and the chain without
        it is returned. Otherwise the value is, and satisfies nothing there.
        """
        found: list[int] = []
        kept = ChainEncoder(self.operations)
        for entry in self.entries:
            alone, start = ChainEncoder(self.operations), entry[2]
            alone.enter(*entry)
            reason = alone.failure(raw, now)
            if reason is None:
                found += alone.spaces(raw, now)
            elif any(alone.failure(value, now) for value in _PLAIN):
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
        size = getsizeof(key) + (sum(map(getsizeof, raw)) if type(raw) is list else 0)
        if size > _LARGE:
            return
        self.taken += _ENTRY + size + getsizeof(spaces)
        if self.taken > _REMEMBERED:
            for one in self.seen:
                one.clear()
            self.taken = 0
        seen[key] = spaces


@dataclass(slots=True)
class AttributeEncoder:
    """All dimensions of one attribute."""

    attribute: Attribute
    memory: Memory
    aside: dict[int, str]  # why dimensions failed, by their first spaces
    timeless: list[ChainEncoder] = field(default_factory=list)
    clocked: list[ChainEncoder] = field(default_factory=list)
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
        made: tuple[list[ChainEncoder], list[ChainEncoder]] = ([], [])
        for chains, kept in zip((self.timeless, self.clocked), made, strict=True):
            for chain in chains:
                spaces, remaining = chain.carefully(raw, now, self.aside)
                found += spaces
                kept.append(remaining)
        self.timeless, self.clocked = made
        return sorted(found)

    def _timeless(self, raw: Any, now: int) -> list[int]:
        kind = type(raw)
        key: Any
        if kind is str or kind is int:
            key = raw
        elif (
            kind is list
            and len(raw) <= _LONG
            and _SCALARS.issuperset(kinds := tuple(map(type, raw)))
        ):
            key = (list, *kinds, *raw)  # 1, 1.0 and True are three; [1.0] is another
        elif kind in _SCALARS:
            key = kind, raw
        else:  # what is long, or may equal another thing, as (1, True) does (1, 1)
            return _along(self.timeless, raw, now)
        try:
            found = self._seen.get(key)
        except TypeError:  # a signalling NaN
            return _along(self.timeless, raw, now)
        if found is None:
            found = _along(self.timeless, raw, now)
            self.memory.keep(self._seen, key, raw, found)
        return found


def _along(chains: Iterable[ChainEncoder], raw: Any, now: int) -> list[int]:
    return sorted(space for chain in chains for space in chain.spaces(raw, now))


class Encoder:
    """Events to spaces for one vocabulary; only attributes that it mentions are looked up."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        starts = vocabulary.space_starts.tolist()
        entries = list(zip(vocabulary.dimensions, vocabulary.spaces, starts[:-1], strict=True))
        chains: dict[tuple[Attribute, tuple[Operation, ...]], ChainEncoder] = {}
        for dimension, spaces, start in entries:
            key = dimension.attribute, dimension.operations
            chain = chains.setdefault(key, ChainEncoder(dimension.operations))
            chain.enter(dimension, spaces, start)
        self.aside: dict[int, str] = {}
        self.attributes: list[AttributeEncoder] = []
        memory = Memory()
        by_attribute: dict[Attribute, AttributeEncoder] = {}
        for (attribute, _), chain in chains.items():
            encoder = by_attribute.get(attribute)
            if encoder is None:
                encoder = AttributeEncoder(attribute, memory, self.aside)
                by_attribute[attribute] = encoder
                self.attributes.append(encoder)
            (encoder.clocked if chain.needs_clock else encoder.timeless).append(chain)
            lacks = [(at, one) for at, one in chain.cells if isinstance(one, LackSpaces)]
            encoder.lacks += lacks
        self._by_name: dict[str, list[AttributeEncoder]] = {}  # of the field that a path enters
        self._others: list[AttributeEncoder] = []
        for encoder in self.attributes:
            first = encoder.attribute.steps[0] if encoder.attribute.steps else None
            name = first.text if isinstance(first, Digits) else first
            if isinstance(name, str):
                self._by_name.setdefault(name, []).append(encoder)
            else:
                self._others.append(encoder)

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
                raw = encoder.attribute.resolve(event)
                if raw is None and encoder.lacks:
                    found += encoder.lacking(encoder.attribute.lack(event))
            except MemoryError:
                raise
            except Exception:  # an event of a strange type, which has no such value
                raw = None
            if raw is not None:
                found += encoder.spaces(raw, now)
        found.sort()
        return found
