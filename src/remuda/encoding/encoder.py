"""Events to spaces: what an event says on the dimensions of a vocabulary, one event at a time.

Work is done once per distinct value and remembered: regular expressions, sets, versions and
functions cost nothing for a value that was seen before.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime
from decimal import Decimal
from sys import getsizeof
from typing import Any, NamedTuple, Protocol

import numpy as np

from remuda.arrays import Bools, Ints, Longs, frozen, starts_of
from remuda.encoding.reading import (
    BESIDE,
    COMPARED,
    LEFT,
    MOST_FIELDS,
    NEW,
    NOTHING,
    TRIED_AGAIN,
    UNREAD,
    Pair,
    Reader,
    Room,
    field_of,
    spaces_in,
)
from remuda.encoding.sets import SetIndex
from remuda.encoding.spaces import OTHER, LackSpaces, OrderSpaces
from remuda.encoding.splitting import SplitValues
from remuda.encoding.table import EventBatch
from remuda.encoding.term_columns import is_columnar
from remuda.encoding.texts import MakeTexts, TermTexts, TextCondition, Texts
from remuda.encoding.value_memory import TextMemory
from remuda.encoding.vocabulary import YES, Cells, Dimension, Spaces, View, Vocabulary
from remuda.model.attributes import Attribute, Lack
from remuda.model.conditions import AnyElement, EveryElement, Related, Version
from remuda.model.expressions import Expression
from remuda.model.functions import Function
from remuda.model.jsonpaths import EVERYTHING
from remuda.model.terms import Origin, Term, chain_of, joined_chains, known, value_in
from remuda.model.values import is_text
from remuda.pythonapi import READABLE

_PLAIN: tuple[Any, ...] = ("", 0, [""])  # values that no dimension may fail for
_REMEMBERED = 1 << 26  # bytes of values and their spaces; beyond that the memory starts anew
_ENTRY = 200  # bytes of a value that is remembered, beside those of the value and its spaces
_FLAT = frozenset({str, int, float, bool, type(None)})  # values beneath which there is nothing
_TEXTS = frozenset({str})
_QUICK = frozenset({"compare"})  # functions that take less time than to keep what they are asked
_LARGE = 1 << 14  # bytes of a value that is looked at anew each time
_LONG = 256  # elements of a list that is
_TEXTS_OF_TEXTS = frozenset({"lower", "scalar_text"})  # functions by which a text stays one
_NO_SPACES: Ints = frozen(np.zeros(0, np.int32))
_UP_TO = [frozen(np.array([0, n])) for n in range(1 << 10)]  # the starts of one event's spaces
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
    # among the cells: of which no scan of texts knows
    orders: list[tuple[int, OrderSpaces | SplitValues]] = field(default_factory=list)
    texts: TermTexts = field(default_factory=TermTexts)
    sets: SetIndex = field(default_factory=SetIndex)
    tests: list[tuple[Version, int]] = field(default_factory=list)  # each with its "yes"
    asked: list[tuple[AnyElement | EveryElement, int]] = field(default_factory=list)  # likewise
    asker: Asker = Plainly
    scan: Texts | None = None
    number: int = 0  # of the term in the scan
    shared: bool = False  # whether the scan is that of all terms
    _of_elements: Elements | None = None
    _every: Bools | None = None  # of what is asked of elements: whether all must satisfy it
    _chain: tuple[Function, ...] | None = field(init=False)
    # of several attributes: a function, and of each argument the place of its value and its chain
    _joined: tuple[Function, list[tuple[int, tuple[Function, ...]]]] | None = None
    of_results: dict[Any, list[int]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._chain = None
        if isinstance(self.origin, Attribute):
            self._chain = chain_of(self.term)
        elif self.origin.all_needed and (joined := joined_chains(self.term)) is not None:
            place = self.origin.attributes.index
            self._joined = joined[0], [(place(one), chain) for one, chain in joined[1]]
        self.texts.lowers = any(one.name == "lower" for one in self._chain or ())

    def enter(self, dimension: Dimension, spaces: Spaces, start: int) -> None:
        """Take up one more dimension, whose spaces begin at `start`."""
        self.entries.append((dimension, spaces, start))
        if spaces is not None:
            self.cells.append((start, spaces))
            if isinstance(spaces, OrderSpaces | SplitValues):
                self.orders.append((start, spaces))
            else:
                self.texts.cells.append((start, spaces))
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
            assert isinstance(dimension.condition, TextCondition)
            self.texts.conditions.append((dimension.condition, start + YES))

    @property
    def of_texts(self) -> bool:
        """Whether the scan of all terms says all of a text that there is to say."""
        return self.shared and self.could_be_of_texts

    @property
    def could_be_of_texts(self) -> bool:
        """Whether it would, once there is one."""
        reads = self._chain is not None and {one.name for one in self._chain} <= _TEXTS_OF_TEXTS
        return reads and not self.orders and not self.tests

    @property
    def compares(self) -> bool:
        """Whether values are compared: so few results that the spaces of each are kept."""
        return self._joined is not None and self._joined[0].name in _QUICK

    @property
    def pair(self) -> tuple[tuple[str, str], tuple[bool, bool]] | None:
        """Two fields, and which of them in lower case, if texts are compared as these have them."""
        assert self._joined is not None
        assert not isinstance(self.origin, Attribute)
        fields, lower = ["", ""], [False, False]
        for place, chain in self._joined[1]:
            attribute, names = self.origin.attributes[place], {one.name for one in chain}
            if attribute.field is None or not attribute.is_field or names - _TEXTS_OF_TEXTS:
                return None
            fields[place], lower[place] = attribute.field, "lower" in names
        return (fields[0], fields[1]), (lower[0], lower[1])

    def compared(self, raw: Any, now: int) -> list[int]:
        """The spaces of a present raw value, by the result."""
        value = self.value(raw, now)
        if value is None or type(value) is list:
            return self.spaces(raw, now)
        found = self.of_results.get(value)
        if found is None:
            found = self.of_results[value] = sorted(self.spaces(raw, now))
        return found

    @property
    def by_element(self) -> bool:
        """Whether the spaces of a list are those of its elements, all together."""
        return self._chain is not None and not self.asked and not self.sets.sizes

    def value(self, raw: Any, now: int) -> Any:
        """The value of the term for a present raw value; None where it is missing."""
        if self._joined is not None and list not in map(type, raw):
            function, chains = self._joined
            values = [_applied(chain, raw[place]) for place, chain in chains]
            return None if any(one is None for one in values) else function.apply(*values)
        if self._chain is None:
            return value_in(self.term, known(self.origin, raw), now)
        if type(raw) is list:
            return [_applied(self._chain, element) for element in raw]
        return _applied(self._chain, raw)

    def spaces(self, raw: Any, now: int) -> list[int]:
        """The spaces of a present raw value on these dimensions; none where the term is missing."""
        found, texts = self.parts(raw, now)
        if texts:
            if self.scan is None:
                self.scan = Texts([self.texts])
            found = list(set(found).union(*self.scan.spaces([(self.number, one) for one in texts])))
        return found

    def parts(self, raw: Any, now: int) -> tuple[list[int], list[str]]:
        """Some of the spaces of a present raw value, and the texts that tell the others."""
        value = self.value(raw, now)
        if value is None:
            return [], []
        if not isinstance(value, list):
            return self._of_all([value])
        found, texts = self._of_all(value or [None])
        found += self.sets.matching(value)
        if self.asked:
            found += self._elements(value, now)
        return list(set(found)), texts

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
        own_spaces: list[int] = []
        kept = TermEncoder(self.origin, self.term, asker=self.asker)
        for entry in self.entries:
            alone, start = TermEncoder(self.origin, self.term, asker=self.asker), entry[2]
            alone.enter(*entry)
            reason = alone.failure(raw, now)
            if reason is None:
                own_spaces += alone.spaces(raw, now)
            elif any(alone.failure(alike(self.origin, value), now) for value in _PLAIN):
                aside[start] = reason
                continue
            elif alone.cells:
                own_spaces.append(start + OTHER)
            kept.enter(*entry)
        return own_spaces, kept

    def failure(self, raw: Any, now: int) -> str | None:
        """What is raised for the value, in words."""
        try:
            self.spaces(raw, now)
        except MemoryError:
            raise
        except Exception as error:
            return f"{type(error).__name__}: {error}"
        return None

    def _of_all(self, values: list[Any]) -> tuple[list[int], list[str]]:
        """Spaces of values that are no lists, some of them perhaps twice; and texts to scan."""
        own_spaces: list[int] = []
        texts: list[str] = []
        for value in values:
            if type(value) is str and is_text(value):
                if self.texts:
                    texts.append(value)
                own_spaces += [start + spaces.of(value) for start, spaces in self.orders]
            else:
                own_spaces += [start + spaces.of(value) for start, spaces in self.cells]
                if isinstance(value, str):  # of another type, or no text
                    own_spaces += [
                        space for one, space in self.texts.conditions if one.accepts(value)
                    ]
            if self.tests:
                own_spaces += [space for condition, space in self.tests if condition.accepts(value)]
        return own_spaces, texts


def _applied(chain: Sequence[Function], value: Any) -> Any:
    for function in chain:
        if value is None:
            return None
        value = function.apply(value)
    return value


@dataclass(slots=True)
class Memory:
    """The values that an encoder has seen, of all attributes, within a bound of bytes."""

    taken: int = 0
    seen: list[dict[Any, list[int]]] = field(default_factory=list)
    texts: TextMemory = field(default_factory=TextMemory)  # those of columns
    n_failures: int = 0  # after each, an origin is no longer scanned with all others

    def keep(self, seen: dict[Any, list[int]], key: Any, raw: Any, spaces: list[int]) -> None:
        """Remember the spaces of a value among those of its attribute."""
        size = getsizeof(key) + (sum(map(_size, raw)) if type(raw) in (list, tuple) else 0)
        if size > _LARGE:
            return
        self.taken += _ENTRY + size + getsizeof(spaces)
        if self.taken > _REMEMBERED:
            self.forget()
        seen[key] = spaces

    def forget(self) -> None:
        """Start anew."""
        for one in self.seen:
            one.clear()
        self.taken = 0
        self.texts.forget()


@dataclass(slots=True)
class OriginEncoder:
    """All dimensions of one attribute, or of attributes that are looked at together."""

    origin: Origin
    memory: Memory
    aside: dict[int, str]  # why dimensions failed, by their first spaces
    timeless: list[TermEncoder] = field(default_factory=list)
    clocked: list[TermEncoder] = field(default_factory=list)
    lacks: list[tuple[int, LackSpaces]] = field(default_factory=list)  # with their first spaces
    seen: dict[Any, list[int]] = field(default_factory=dict)
    group: int = -1  # of its terms in the scan, where that says all of a text; else -1
    number: int = field(init=False)  # by which the memory knows it
    is_field: bool = field(init=False)  # whether a value of an event is the raw value
    is_everything: bool = field(init=False)
    compares: bool = False  # whether it is no more than a comparison
    _others: OriginEncoder | None = None

    def __post_init__(self) -> None:
        self.number = len(self.memory.seen)
        self.memory.seen.append(self.seen)
        self.is_field = isinstance(self.origin, Attribute) and self.origin.is_field
        self.is_everything = str(self.origin) == EVERYTHING

    @property
    def by_element(self) -> bool:
        """Whether the spaces of a list are those of its elements, all together."""
        return not self.clocked and all(term.by_element for term in self.timeless)

    @property
    def computes(self) -> bool:
        """Whether some term is a function, which a present value may lack."""
        return any(term.term is not term.origin for term in (*self.timeless, *self.clocked))

    @property
    def of_texts(self) -> bool:
        """Whether a scan of all terms says all of a text, and of an element that is one."""
        return self.by_element and all(term.could_be_of_texts for term in self.timeless)

    @property
    def others(self) -> OriginEncoder:
        """The same without the terms of which the scan says all about texts."""
        if self._others is None:
            terms = [term for term in self.timeless if not term.of_texts]
            self._others = OriginEncoder(
                self.origin, self.memory, self.aside, terms, self.clocked, self.lacks
            )
        return self._others

    @property
    def pair(self) -> tuple[tuple[str, str], tuple[bool, bool]] | None:
        """Two fields, and which of them in lower case, if all it does is to compare these."""
        return self.timeless[0].pair if self.compares else None

    def raw(self, event: Any, found: list[int]) -> Any:
        """The raw value in an event; where it is missing, the spaces that say so are added."""
        try:
            origin = self.origin
            raw = origin.resolve(event)
            if raw is None and self.lacks and isinstance(origin, Attribute):
                found += self.lacking(origin.lack(event))
        except MemoryError:
            raise
        except Exception:  # an event of a strange type, which has no such value
            raw = None
        return raw

    def remembered(self, raw: Any) -> tuple[Any, list[int] | None]:
        """What a value is remembered by, and its spaces if it was seen before; None for never."""
        kind = type(raw)
        if kind is str or kind is int:
            return raw, self.seen.get(raw)
        if kind is not tuple:
            key = _key(raw)
        else:  # of several attributes
            key = raw if _TEXTS.issuperset(map(type, raw)) else tuple(map(_key, raw))
        if key is None or (kind is tuple and None in key):
            return None, None
        try:
            return key, self.seen.get(key)
        except TypeError:  # a signalling NaN
            return None, None

    def remember(self, key: Any, raw: Any, spaces: list[int]) -> None:
        """Keep the spaces of a value."""
        if key is not None:
            self.memory.keep(self.seen, key, raw, spaces)

    def spaces(self, raw: Any, now: int) -> list[int]:
        """The spaces of a present raw value."""
        try:
            if self.compares:
                return self.timeless[0].compared(raw, now)
            key, found = self.remembered(raw)
            if found is None:
                found = _along(self.timeless, raw, now)
                self.remember(key, raw, found)
            return sorted(found + _along(self.clocked, raw, now)) if self.clocked else found
        except MemoryError:
            raise
        except Exception:
            return self._carefully(raw, now)

    def parts(self, raw: Any, now: int) -> tuple[list[int], list[tuple[int, str]] | None]:
        """Some of the spaces of a present raw value, and what the scan of all terms has to do.

        All of the spaces, and None, where it has nothing to do with them.
        """
        if self.clocked or not self.timeless or not all(term.shared for term in self.timeless):
            return self.spaces(raw, now), None
        own_spaces: list[int] = []
        jobs: list[tuple[int, str]] = []
        try:
            for term in self.timeless:
                spaces, texts = term.parts(raw, now)
                own_spaces += spaces
                jobs += [(term.number, text) for text in texts]
        except MemoryError:
            raise
        except Exception:
            return self._carefully(raw, now), None
        return own_spaces, jobs

    def each(self, raws: Iterable[Any], now: int) -> list[list[int]]:
        """The spaces of each raw value, none of a missing one; all texts are scanned at once."""
        whole = list(raws)
        found = iter(spaces_of([(self, raw) for raw in whole if raw is not None], now))
        return [[] if raw is None else next(found) for raw in whole]

    def lacking(self, lack: Lack | None) -> list[int]:
        """The spaces of a missing value."""
        if lack is None:
            return []
        found = [(start, spaces.of_lack(lack)) for start, spaces in self.lacks]
        return [start + space for start, space in found if space is not None]

    def _carefully(self, raw: Any, now: int) -> list[int]:
        own_spaces: list[int] = []
        kept_terms: tuple[list[TermEncoder], list[TermEncoder]] = ([], [])
        for terms, kept in zip((self.timeless, self.clocked), kept_terms, strict=True):
            for term in terms:
                spaces, remaining = term.carefully(raw, now, self.aside)
                own_spaces += spaces
                kept.append(remaining)
        self._others, self.group, self.compares = None, -1, False
        self.timeless, self.clocked = kept_terms
        self.memory.n_failures += 1
        self.memory.texts.forget()
        return sorted(own_spaces)


@dataclass(slots=True)
class FieldEncoder:
    """What a plain value says as that of a field, and as one of all values of a flat event.

    The scan tells all of a text, at once for both.
    """

    origins: list[OriginEncoder]
    everything: OriginEncoder | None
    others: list[OriginEncoder]  # that the value is looked at for by itself
    group: int

    @property
    def code(self) -> int:
        """How a kernel tells its values: by a group, or not at all."""
        asks = self.origins or self.everything is not None
        return self.group if asks else NOTHING

    def spaces(self, raw: Any, now: int) -> list[int]:
        """The spaces of a plain value, or of an empty list."""
        own_spaces: list[int] = []
        for encoder in self.origins:
            value = encoder.raw({_field(encoder.origin): raw}, own_spaces)
            if value is not None:
                own_spaces += encoder.spaces(value, now)
        if self.everything is not None:
            own_spaces += self.everything.spaces([raw], now)
        return own_spaces


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

    def __init__(
        self, vocabulary: Vocabulary, asker: Asker = Plainly, texts: MakeTexts = Texts
    ) -> None:
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
        for encoder in self.origins:
            terms_of = encoder.timeless
            encoder.compares = len(terms_of) == 1 and terms_of[0].compares and not encoder.clocked
            if encoder.compares:
                memory.seen.append(terms_of[0].of_results)
        self._memory = memory
        self._make_texts, self._n_spaces = texts, starts[-1]
        self._texts: Texts | None = None
        self._of_nothing: Ints | None = None
        self._apart: list[tuple[OriginEncoder, bool]] | None = None
        self._by_name: dict[str, list[OriginEncoder]] = {}  # of a field that it cannot do without
        self._others: list[OriginEncoder] = []
        self._reading = _Reading(
            _Fields({}, None, [], [], 0), _Fields({}, None, [], [], 0), None, []
        )
        self._group_of: dict[tuple[int, ...], int] = {}  # of origins that a text is scanned for
        for encoder in self.origins:
            name = _field(encoder.origin)
            if name is None:
                self._others.append(encoder)
            else:
                self._by_name.setdefault(name, []).append(encoder)
        for encoder in self.origins:
            for name in (encoder.pair or ((), ()))[0]:
                self._by_name.setdefault(name, [])

    def forget(self) -> None:
        """Look anew at values that were seen: spaces were split."""
        self._memory.forget()
        if self._reading.reader is not None:
            self._reading.reader.forget()
        self._of_nothing = None

    @property
    def texts(self) -> Texts:
        """The scan of all texts."""
        if self._texts is None:  # two threads may both make it: they are the same
            terms = [term for one in self.origins for term in (*one.timeless, *one.clocked)]
            numbers = {id(term): number for number, term in enumerate(terms)}
            grouped = [one for one in self.origins if one.of_texts]
            sets = [[one] for one in grouped] + list(self._scanned_together(grouped))
            groups = [[numbers[id(term)] for one in some for term in one.timeless] for some in sets]
            texts = self._make_texts([term.texts for term in terms], groups, self._n_spaces)
            for number, term in enumerate(terms):
                term.scan, term.number, term.shared = texts, number, True
            for number, one in enumerate(grouped):
                one.group = number
            self._group_of = {tuple(map(id, some)): number for number, some in enumerate(sets)}
            self._make_reading(texts)
            self._texts = texts
        return self._texts

    def _scanned_together(self, grouped: list[OriginEncoder]) -> Iterator[list[OriginEncoder]]:
        """Origins of which a text of a flat event is one value each, where they are several."""
        known = set(map(id, grouped))
        everything = [one for one in self._others if one.is_everything and id(one) in known][:1]
        for named in self._by_name.values():
            own = [one for one in named if one.is_field and id(one) in known]
            if len(own) > 1:
                yield own
            if own and everything:
                yield own + everything

    def _make_reading(self, texts: Texts) -> None:
        everything = [one for one in self._others if one.is_everything and one.group >= 0][:1]
        nested = self._fields_with([])
        flat = self._fields_with(everything) if everything else nested
        named = [one for named in self._by_name.values() for one in named]
        compared = [one for one in named if one.pair is not None]
        reader = None
        if READABLE:
            codes = [[one.code for one in fields.numbered] for fields in (nested, flat)]
            beside = [any(one.pair is None for one in each.others) for each in nested.numbered]
            reader = Reader(
                texts.scanner, texts.least, list(self._by_name), list(zip(*codes, strict=True)),
                beside, (bool(nested.others), bool(flat.others)), list(map(_paired, compared)),
            )  # fmt: skip
        self._reading = _Reading(nested, flat, reader, compared)  # at once: other threads read it

    def _fields_with(self, everything: list[OriginEncoder]) -> _Fields:
        """How fields are looked at, with all values of an event or without."""
        n_failures = self._memory.n_failures
        every = everything[0] if everything else None
        fields: dict[str, FieldEncoder] = {}
        for name, named in self._by_name.items():
            own = [one for one in named if one.is_field and one.group >= 0]
            group = self._group_of.get(tuple(map(id, own + everything)), -1)
            others = [one for one in named if one not in own]
            fields[name] = FieldEncoder(own, every, others, group)
        unnamed = None
        if every is not None:
            unnamed = FieldEncoder([], every, [], every.group)
        others = [one for one in self._others if one is not every]
        numbered = [*fields.values(), unnamed or FieldEncoder([], None, [], NOTHING)]
        return _Fields(fields, unnamed, numbered, others, n_failures)

    @property
    def apart(self) -> list[tuple[OriginEncoder, bool]]:
        """The origins in the order of their spaces; terms that columns may give by themselves.

        Whether they may is told with each.
        """
        if self._apart is None:  # two threads may both make it: they are the same
            encoders: list[tuple[OriginEncoder, bool]] = []
            for encoder in self.origins:
                columnar = [term for term in encoder.timeless if is_columnar(term.term)]
                others = [term for term in encoder.timeless if not is_columnar(term.term)]
                if not columnar:
                    encoders.append((encoder, False))
                    continue
                encoders += [(self._with(encoder, [term]), True) for term in columnar]
                if others or encoder.clocked:
                    rest = self._with(encoder, others)
                    rest.clocked, rest.lacks = encoder.clocked, encoder.lacks
                    encoders.append((rest, False))
            self._apart = encoders
        return self._apart

    def _with(self, one: OriginEncoder, terms: list[TermEncoder]) -> OriginEncoder:
        return OriginEncoder(one.origin, self._memory, self.aside, terms)

    def encode(self, events: Iterable[Any], now: int) -> EventBatch:
        """A batch of events that are Python objects."""
        rows = [self.spaces(event, now) for event in events]
        if len(rows) == 1:
            return alone(rows[0])
        spaces = np.concatenate([*rows, _NO_SPACES])
        return EventBatch(starts_of([len(row) for row in rows]), spaces)

    def spaces_of_one(self, event: Any, now: int) -> Ints:
        """The same as `spaces`, but what an event without any field says is kept."""
        if event or type(event) is not dict:
            return self.spaces(event, now)
        if self._of_nothing is None:
            nothing = self.spaces(event, now)
            if any(one.clocked for one in self._others):
                return nothing
            self._of_nothing = nothing
        return self._of_nothing

    def spaces(self, event: Any, now: int) -> Ints:
        """The present spaces of one event, ascending, each once."""
        if self._texts is None:
            _ = self.texts
        if self._reading.nested.n_failures != self._memory.n_failures:
            self._make_reading(self.texts)
        reading = self._reading
        if type(event) is not dict:
            names = event if isinstance(event, dict) else self._by_name
            left = [one for name in names for one in self._by_name.get(name, ())] + self._others
            return _of_items(event, (), reading.nested, left, now)
        reader = reading.reader
        if reader is None:
            return _of_all_items(event, reading, now)
        room = reader.lend()
        n = reader.read(event, room)
        if n >= 0:
            spaces = room.targets[:n].copy()
        elif n == UNREAD:
            spaces = _of_all_items(event, reading, now)
        else:
            spaces = self._beyond(event, reading, room, n, now)
        reader.give_back(room)
        return spaces

    def _beyond(
        self, event: dict[Any, Any], reading: _Reading, room: Room, n: int, now: int
    ) -> Ints:
        """The spaces of an event that was read, and of what was left to do then."""
        values, reader, report = list(event.values()), reading.reader, room.told()
        assert reader is not None
        fields = reading.flat if report.is_flat else reading.nested
        more, left = list[int](), fields.others.copy()
        items: list[int] = []
        tried: dict[tuple[str, int, int, int], list[int]] = {}
        for what, place, element, tag, first, last, target in report.notes:
            field_encoder = fields.numbered[field_of(tag)]
            if what == LEFT:
                items.append(place)
            elif what == BESIDE:
                left += [origin for origin in field_encoder.others if origin.pair is None]
            elif what == COMPARED:
                left.append(reading.compared[target])
            elif what == NEW:
                spaces = field_encoder.spaces(values[place], now)
                more += spaces
                reader.keep(values[place], tag, spaces, room)
            else:
                text = values[place] if element < 0 else values[place][element]
                held = self._tried(text, target, field_encoder, now)
                more += held
                if what == TRIED_AGAIN:
                    tried.setdefault((text, tag, first, last), []).extend(held)
        for (text, tag, first, last), held in tried.items():
            sure = room.targets[first:last].tolist()
            reader.keep(text, tag, sorted({*sure, *held}), room)
        if report.full:
            reader.make_room()
        if items or left:
            names = list(event) if items else []
            pairs = [(names[place], values[place]) for place in items]
            more += _of_items(event, pairs, fields, left, now).tolist()
        n = ~(n + 1)
        return spaces_in(room, n, more) if more or not report.in_order else room.targets[:n].copy()

    def _tried(self, text: str, target: int, field: FieldEncoder, now: int) -> list[int]:
        """The spaces of those patterns that a text matches, among some that are tried together."""
        try:
            return self.texts.held(~target, text)
        except MemoryError:
            raise
        except Exception:  # by itself, so that only what is at fault goes without
            return field.spaces(text, now)


def _of_all_items(event: dict[Any, Any], reading: _Reading, now: int) -> Ints:
    """The spaces of an event, all told by Python."""
    fields = reading.flat
    if fields is not reading.nested and not _is_flat(event):
        fields = reading.nested
    return _of_items(event, event.items(), fields, fields.others.copy(), now)


def _of_items(
    event: Any,
    items: Iterable[tuple[Any, Any]],
    fields: _Fields,
    left: list[OriginEncoder],
    now: int,
) -> Ints:
    """The spaces of some items of an event, and on the origins that are left beside them."""
    own_spaces, present = list[int](), list[tuple[OriginEncoder, Any]]()
    for name, raw in items:
        field_encoder = fields.by_name.get(name, fields.unnamed)
        if field_encoder is None:
            continue
        if type(raw) in _FLAT:
            own_spaces += field_encoder.spaces(raw, now)
        else:
            left += field_encoder.origins
        left += field_encoder.others
    for encoder in left:
        raw = encoder.raw(event, own_spaces)
        if raw is None:
            continue
        if encoder.compares:
            own_spaces += encoder.spaces(raw, now)
        else:
            present.append((encoder, raw))
    own_spaces += [space for spaces in spaces_of(present, now) for space in spaces]
    return np.array(sorted(set(own_spaces)), np.int32)


def _paired(origin: OriginEncoder) -> Pair:
    """What a kernel is told of fields that are compared."""
    assert origin.pair is not None
    below, equal, above = (origin.spaces(raw, 0) for raw in (("a", "b"), ("a", "a"), ("b", "a")))
    return Pair(*origin.pair, (below, equal, above))


def alone(spaces: Ints) -> EventBatch:
    """One event as a batch."""
    n = len(spaces)
    return EventBatch(_UP_TO[n] if n < len(_UP_TO) else np.array([0, n]), spaces)


def _is_flat(event: dict[Any, Any]) -> bool:
    """Whether nothing is nested in the event, so that its values are all that it has."""
    return 0 < len(event) < MOST_FIELDS and _FLAT.issuperset(map(type, event.values()))


class _Reading(NamedTuple):
    """How events that are dicts are looked at."""

    nested: _Fields
    flat: _Fields  # of events in which nothing is nested
    reader: Reader | None  # None where kernels cannot read objects
    compared: list[OriginEncoder]  # the pairs of the reader


class _Fields(NamedTuple):
    """How values of events are looked at, by the names of their fields."""

    by_name: dict[str, FieldEncoder]
    unnamed: FieldEncoder | None  # of all other names
    numbered: list[FieldEncoder]  # the same, one behind the other
    others: list[OriginEncoder]  # that no single field tells
    n_failures: int  # when this was made


def spaces_of(items: Sequence[tuple[OriginEncoder, Any]], now: int) -> list[list[int]]:
    """The spaces of each present raw value of an origin; all texts are scanned at once."""
    by_item: list[list[int]] = []
    fresh: list[tuple[int, Any]] = []  # which, and what it is to be remembered by
    jobs: list[tuple[int, str]] = []
    job_of: list[int] = []
    scan: Texts | None = None
    for which, (encoder, raw) in enumerate(items):
        key, spaces = encoder.remembered(raw)
        if spaces is None or encoder.clocked:
            spaces, own = encoder.parts(raw, now)
            if own is not None:
                fresh.append((which, key))
                scan = encoder.timeless[0].scan
                jobs += own
                job_of += [which] * len(own)
        by_item.append(spaces)
    try:
        rows = [] if scan is None or not jobs else scan.spaces(jobs)
    except MemoryError:
        raise
    except Exception:  # value by value, so that only what is at fault goes without
        for which, _ in fresh:
            by_item[which] = items[which][0].spaces(items[which][1], now)
        return by_item
    for which, row in zip(job_of, rows, strict=True):
        by_item[which] += row
    for which, key in fresh:
        by_item[which] = sorted(set(by_item[which]))
        items[which][0].remember(key, items[which][1], by_item[which])
    return by_item
