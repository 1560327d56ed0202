"""Events derived from criteria: each clause satisfied, narrowly missed, and tried at its borders.

Values come from the conditions of the criteria, on both sides of each border that they draw, and
pre-operations are undone. Whatever is made is tried by plain evaluation before it counts.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations, islice
from random import Random
from typing import Any

from remuda.index.index import Index
from remuda.index.question import Now
from remuda.language.criterion import Criterion
from remuda.logic.implication import contradict, plain
from remuda.logic.normal import Clause, dnf, dnf_size, flat, same_test
from remuda.logic.simplify import aligned
from remuda.model.attributes import Attribute, Known, Lack
from remuda.model.expressions import And, Expression, Or, Predicate, clock, fold
from remuda.model.terms import facts_of
from remuda.model.values import tidy
from remuda.proof.placing import collects, event_of
from remuda.proof.samples import STRANGE, near
from remuda.proof.undoing import raw_values

Truths = tuple[bool, ...]
Raws = list[tuple[Any, Truths]]  # raw values, and the truth of each predicate on them

_CLAUSES = 64  # of one criterion; of one with more, a sample
_TRIES = 6  # choices of values, before a clause is given up
_CROWD = 4  # events that are laid over one another, so that many criteria meet in one
_STRANGE, _LISTS = 3, 6  # values of other types, and lists, tried on each attribute
_PLACED: dict[Lack, Any] = {Lack.NULL: None, Lack.EMPTY: []}
_OFFSETS = 64  # how far numbers are moved, where none fits


@dataclass(frozen=True, slots=True)
class Probe:
    """The events made from one clause of one criterion.

    `near_misses` are by the position of the one predicate of the clause that they fail.
    """

    criterion: Criterion
    clause: Clause
    satisfying: Any | None
    near_misses: dict[int, Any]
    others: list[Any]

    def events(self) -> list[Any]:
        found = [self.satisfying] if self.satisfying is not None else []
        return [*found, *self.near_misses.values(), *self.others]


def examples(index: Index, n: int, *, seed: int = 0, now: Now = None) -> list[Any]:
    """At most n events, each made so that one of the index's criteria holds."""
    rng = draws(seed)
    made = probes(drawn(index, rng, 2 * n), rng, full=False, scalars=index.scalars, now=now)
    found = (probe.satisfying for probe in made)
    return list(islice((event for event in found if event is not None), n))


def draws(seed: int) -> Random:
    """What all that is random here is drawn from."""
    return Random(seed)  # noqa: S311 - nothing is kept secret with it


def drawn(index: Index, rng: Random, n: int | None) -> Iterator[Criterion]:
    """The criteria of the index, or n of them, in a random order; read one by one."""
    names = index.match_many([]).names
    positions = range(len(names))
    for position in rng.sample(positions, len(names) if n is None else min(n, len(names))):
        name = names[position]
        if name in index:  # names may still have those that were removed
            yield index[name]


def probes(
    criteria: Iterable[Criterion],
    rng: Random,
    *,
    full: bool = True,
    scalars: frozenset[Attribute] = frozenset(),
    now: Now = None,
) -> Iterator[Probe]:
    """The events of each clause of the criteria; attributes in `scalars` get no lists."""
    n_values, n_clauses = (64, _CLAUSES) if full else (4, 4)
    deriver = _Deriver(rng, clock(now), scalars, n_values)
    for criterion in criteria:
        for clause in clauses_of(criterion.expression, rng, n_clauses):
            yield deriver.probe(criterion, clause)


def witnesses(
    clauses: Iterable[Clause],
    rng: Random,
    n: int,
    *,
    scalars: frozenset[Attribute] = frozenset(),
    now: Now = None,
) -> Iterator[list[Any]]:
    """Of each clause, up to n events that satisfy it; none where none was found."""
    deriver = _Deriver(rng, clock(now), scalars, 0)
    for clause in clauses:
        task = deriver.task(clause)
        found = (task.solve(None) for _ in range(n))
        yield [event for _, event in filter(None, found)]


def clauses_of(expression: Expression, rng: Random, limit: int = _CLAUSES) -> list[Clause]:
    """The alternatives of the expression, without those known never to hold; or a sample."""
    flattened = flat(aligned(expression))
    if dnf_size(flattened) <= _CLAUSES:
        found = [clause for clause in dnf(flattened) if possible(clause)]
        return found if len(found) <= limit else rng.sample(found, limit)
    sampled: dict[frozenset[Hashable], Clause] = {}
    for _ in range(limit):
        clause = fold(flattened, lambda node, parts: _one_way(node, parts, rng))
        sampled.setdefault(frozenset(map(same_test, clause)), clause)
    return [clause for clause in sampled.values() if possible(clause)]


def possible(clause: Clause) -> bool:
    """Whether the clause is not known to contradict itself."""
    simplest = [plain(predicate) for predicate in clause]
    predicates = [one for one in simplest if isinstance(one, Predicate)]
    if any(isinstance(one, Or) for one in simplest):
        return False
    return not any(contradict(first, second) for first, second in combinations(predicates, 2))


def _one_way(node: Expression, parts: Sequence[Clause], rng: Random) -> Clause:
    if isinstance(node, Predicate):
        return (node,)
    if isinstance(node, And):
        return tuple({same_test(one): one for part in parts for one in part}.values())
    return rng.choice(parts)


@dataclass(slots=True)
class _Deriver:
    """What all probes share."""

    rng: Random
    now: int
    scalars: frozenset[Attribute]
    n_values: int
    recent: deque[dict[str, Any]] = field(default_factory=lambda: deque(maxlen=_CROWD))

    def task(self, clause: Clause) -> _Task:
        groups: dict[Attribute, list[int]] = {}
        terms: dict[Attribute, list[Predicate]] = {}
        for position, predicate in enumerate(clause):
            for one in facts_of(predicate.term).attributes:
                group = groups.setdefault(one.path, [])
                if isinstance(predicate.root, Attribute):
                    group.append(position)
                else:
                    terms.setdefault(one.path, []).append(predicate)
        return _Task(self, clause, groups, terms)

    def probe(self, criterion: Criterion, clause: Clause) -> Probe:
        """The events of one clause."""
        task = self.task(clause)
        values, event = task.solve(None) or ({}, None)
        missed = {position: task.solve(position) for position in range(len(clause))}
        near = {position: found[1] for position, found in missed.items() if found is not None}
        return Probe(criterion, clause, event, near, [*task.varied(values), *self._crowd(event)])

    def allows(self, event: Any) -> bool:
        """Whether no attribute is a list of which the index was told that it never is."""
        return not any(
            isinstance(one.resolve(event), list) for one in self.scalars if not collects(one)
        )

    def _crowd(self, event: Any) -> list[Any]:
        if isinstance(event, dict):
            self.recent.append(event)
        merged: dict[str, Any] = {}
        for one in self.recent:
            merged |= one
        return [merged]


@dataclass(slots=True)
class _Task:
    """One clause for which events are sought."""

    deriver: _Deriver
    clause: Clause
    groups: Mapping[Attribute, list[int]]  # the predicates on each path
    terms: Mapping[Attribute, list[Predicate]]  # those on terms that it is a part of
    known: dict[Attribute, Raws] = field(default_factory=dict)
    widened: set[Attribute] = field(default_factory=set)

    def solve(self, failing: int | None) -> tuple[dict[Attribute, Any], Any] | None:
        """Values, and the event with them, where all predicates hold but the failing one."""
        wanted = tuple(position != failing for position in range(len(self.clause)))
        fitting = {}
        for attribute, group in self.groups.items():
            fitting[attribute] = self._fitting(attribute, tuple(wanted[i] for i in group))
            if not fitting[attribute]:
                return None
        for _ in range(_TRIES):
            values = {name: self.deriver.rng.choice(raws) for name, raws in fitting.items()}
            event = self._event(values)
            if event is not None and self._truths(event) == wanted:
                return values, event
        return None

    def varied(self, values: Mapping[Attribute, Any]) -> Iterator[Any]:
        """The values with another of each attribute's in its place, and null and no element."""
        rng, n = self.deriver.rng, self.deriver.n_values
        for attribute in self.groups:
            raws = [raw for raw, _ in self._raws(attribute)]
            some = raws if len(raws) <= n else rng.sample(raws, n)
            for raw in (*some, rng.choice((Lack.NULL, Lack.EMPTY))):
                event = self._event({**values, attribute: raw})
                if event is not None:
                    yield event

    def _event(self, values: Mapping[Attribute, Any]) -> Any | None:
        present = {
            name: _PLACED.get(raw, raw) if isinstance(raw, Lack) else raw
            for name, raw in values.items()
            if raw is not None
        }
        event = event_of(present)
        return event if event is not None and self.deriver.allows(event) else None

    def _truths(self, event: Any) -> Truths:
        return tuple(predicate.truth(event, self.deriver.now) for predicate in self.clause)

    def _fitting(self, attribute: Attribute, wanted: Truths) -> list[Any]:
        found = [raw for raw, truths in self._raws(attribute) if truths == wanted]
        if not found and attribute not in self.widened:
            self.widened.add(attribute)
            self._widen(attribute)
            found = [raw for raw, truths in self.known[attribute] if truths == wanted]
        return found

    def _raws(self, attribute: Attribute) -> Raws:
        """Raw values around the predicates of one attribute."""
        if attribute not in self.known:
            rng, predicates = self.deriver.rng, [self.clause[i] for i in self.groups[attribute]]
            strange = _STRANGE if self.deriver.n_values else 0  # a witness needs none
            found: list[Any] = [None, *rng.sample(STRANGE, strange)]
            for predicate in (*predicates, *self.terms.get(attribute, ())):
                found += raw_values(predicate.operations, near(predicate, rng), self.deriver.now)
            self.known[attribute] = []
            self._enter(attribute, found)
            if strange:
                self._enter(attribute, _lists(self.known[attribute], rng, _LISTS))
        return self.known[attribute]

    def _widen(self, attribute: Attribute) -> None:
        """Look further: texts of several, numbers a little off, lists that satisfy many."""
        raws = self.known[attribute]
        texts = [raw for raw, _ in raws if isinstance(raw, str)][:24]
        numbers = [raw for raw, _ in raws if type(raw) is int]
        self._enter(attribute, [first + second for first in texts for second in texts])
        self._enter(attribute, [one + i for one in numbers[:12] for i in range(2, _OFFSETS)])
        self._enter(attribute, _lists(raws, self.deriver.rng, _OFFSETS))

    def _enter(self, attribute: Attribute, raws: Iterable[Any]) -> None:
        many = collects(attribute)
        single = attribute in self.deriver.scalars and not many
        predicates = [self.clause[i] for i in self.groups[attribute]]
        for one in raws:
            whole = one is None or isinstance(one, list | Lack)
            raw = tidy([one] if many and not whole else one)
            if not (single and isinstance(raw, list)):
                truths = tuple(_truth(one, raw, self.deriver.now) for one in predicates)
                self.known[attribute].append((raw, truths))


def _lists(raws: Raws, rng: Random, n: int) -> list[list[Any]]:
    """Lists of a few values each."""
    scalars = [raw for raw, _ in raws if raw is not None and not isinstance(raw, list | Lack)]
    return [rng.sample(scalars, min(rng.randint(1, 3), len(scalars))) for _ in range(n)]


def _truth(predicate: Predicate, raw: Any, now: int) -> bool:
    """The truth of the predicate where its attribute has this raw value."""
    root = predicate.root
    assert isinstance(root, Attribute)
    if raw is Lack.EMPTY and root.empty:
        raw = []
    return predicate.truth(Known({root: Lack.ABSENT if raw is None else raw}), now)
