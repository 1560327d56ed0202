"""Redundancy: criteria of an index that say the same, that others imply, or that never hold."""

from __future__ import annotations

import time
from collections.abc import Hashable, Iterator, Sequence
from copy import copy
from dataclasses import dataclass, field
from functools import reduce
from itertools import pairwise
from operator import and_, or_
from random import Random
from typing import Any

import numpy as np

from remuda.arrays import Ints
from remuda.errors import ExpansionError
from remuda.index.index import Index
from remuda.index.question import Now
from remuda.language.criterion import NEVER, Criterion
from remuda.logic.implication import implies
from remuda.logic.normal import Clause, same_test
from remuda.logic.simplify import simple_dnf, simplify
from remuda.model.expressions import Expression, Predicate, clock, fold
from remuda.model.terms import Term
from remuda.proof.deriving import draws, possible, witnesses

_CLAUSES = 64  # of one criterion; a larger one is compared for equality alone
_WITNESSED = 4  # clauses of one criterion that have witnesses: whom it implies holds for them
_WITNESSES = 4  # of one clause
_AT_ONCE = 1024  # criteria
_TRIED = 1024  # criteria that one may imply
_ALL_BITS = 2**64 - 1


@dataclass(frozen=True, slots=True)
class Shadow:
    """A criterion that holds only where another one does."""

    id: str
    by: str


@dataclass(frozen=True, slots=True)
class Redundancy:
    """What an index could do without; prints as a report."""

    n_criteria: int
    duplicates: tuple[tuple[str, ...], ...]  # each in insertion order
    shadowed: tuple[Shadow, ...]
    never: tuple[str, ...]
    n_unclear: int  # too large, or without a witness: not looked at for shadows
    cut_short: bool

    def __str__(self) -> str:
        lines = [f"{self.n_criteria:,} criteria"]
        lines += [f"the same: {', '.join(ids)}" for ids in self.duplicates]
        lines += [f"{one.id} holds only where {one.by} does" for one in self.shadowed]
        lines += [f"{name} never holds" for name in self.never]
        if self.n_unclear:
            lines.append(f"{self.n_unclear:,} were not looked at for what they imply")
        if self.cut_short:
            lines.append("cut short by its time")
        return "\n".join(lines)


def redundancy(
    index: Index, *, seed: int = 0, seconds: float | None = None, now: Now = None
) -> Redundancy:
    """Duplicates, criteria that another one implies, and criteria that never hold.

    What is said is proven, by simplification and by predicates that imply one another; what is
    not said may still be so. Not found: implications that need several clauses of the other
    criterion, or several predicates for one of its own (`a > 3 and b > 3` and `a + b > 6`);
    regular expressions within one another; versions; criteria of more than 64 clauses, unless
    they are duplicates; and, for time, more than a few hundred candidates a criterion. Of each
    group of duplicates the first stands for all. Tags are not looked at, terms of validity are;
    what is disabled is left out. `seconds` bounds the search for shadows.
    """
    started, frozen = time.monotonic(), copy(index)
    search = _Search(frozen, seed, clock(now))
    for criterion in frozen:
        if criterion.term != NEVER:
            search.enter(criterion)
    cut_short = False
    for _ in search.steps():
        if seconds is not None and time.monotonic() - started >= seconds:
            cut_short = True
            break
    groups = [tuple(form.ids) for form in search.forms if len(form.ids) > 1]
    return Redundancy(
        n_criteria=len(frozen),
        duplicates=tuple(groups),
        shadowed=tuple(search.shadows),
        never=tuple(search.never),
        n_unclear=search.n_unclear,
        cut_short=cut_short,
    )


@dataclass(slots=True)
class _Form:
    """What one or more criteria say: clauses as numbers of predicates, None where too large."""

    ids: list[str]
    term: tuple[int, int]
    clauses: list[frozenset[int]] | None
    topics: list[frozenset[int]]  # of each clause: the numbers of its attributes
    order: int


@dataclass(slots=True)
class _Search:
    """Forms found so far, and what follows from what."""

    index: Index
    seed: int
    now: int
    forms: list[_Form] = field(default_factory=list)
    by_key: dict[Hashable, _Form] = field(default_factory=dict)
    tests: dict[Hashable, int] = field(default_factory=dict)
    predicates: list[Predicate] = field(default_factory=list)
    attributes: dict[Term, int] = field(default_factory=dict)
    never: list[str] = field(default_factory=list)
    shadows: list[Shadow] = field(default_factory=list)
    n_unclear: int = 0

    def enter(self, criterion: Criterion) -> None:
        """Put the criterion with those that say the same."""
        expression, scalars = criterion.expression, self.index.scalars
        key: Hashable
        try:
            clauses = simple_dnf(expression, scalars=scalars, limit=_CLAUSES)
        except ExpansionError:
            numbered = None
            key = fold(simplify(expression, scalars=scalars), self._tree)
        else:
            numbered = [self._numbered(clause) for clause in clauses if possible(clause)]
            key = frozenset(numbered)
        if numbered == []:
            self.never.append(criterion.id)
            return
        form = self.by_key.get((criterion.term, key))
        if form is None:
            topics = [self._topics(clause) for clause in numbered or ()]
            form = _Form([], criterion.term, numbered, topics, len(self.forms))
            self.by_key[criterion.term, key] = form
            self.forms.append(form)
        form.ids.append(criterion.id)

    def steps(self) -> Iterator[None]:
        """Look for shadows, some forms at a time."""
        names = self.index.match_many([]).names
        by_id = {form.ids[0]: form.order for form in self.forms}
        form_at = np.array([by_id.get(names[i], -1) for i in range(len(names))], np.int64)
        topics = np.array([_topic_bits(form) for form in self.forms], np.uint64)
        rng = draws(self.seed)
        for start in range(0, len(self.forms), _AT_ONCE):
            some = self.forms[start : start + _AT_ONCE]
            for form, rows in zip(some, self._holding(some, rng), strict=True):
                if rows is None:
                    self.n_unclear += 1
                    continue
                orders = form_at[rows]
                orders = np.sort(orders[orders >= 0])
                for mine in _clause_bits(form)[:_WITNESSED]:
                    orders = orders[
                        (topics[orders] & np.uint64(~mine & _ALL_BITS) == 0).any(axis=1)
                    ]
                self._compare(form, orders.tolist())
            yield

    def _holding(self, forms: Sequence[_Form], rng: Random) -> Iterator[Ints | None]:
        """Of each form: the positions that hold for all witnesses of its clauses."""
        of_forms = [(form.clauses or [])[:_WITNESSED] for form in forms]
        clauses = (self._clause(clause) for several in of_forms for clause in several)
        scalars = self.index.scalars
        made = list(witnesses(clauses, rng, _WITNESSES, scalars=scalars, now=self.now))
        matches = self.index.match_many([event for row in made for event in row], now=self.now)
        first = row = 0
        for several in of_forms:
            own = made[row : row + len(several)]
            row += len(several)
            n = sum(map(len, own))
            spans = pairwise(matches.offsets[first : first + n + 1].tolist())
            first += n
            found = [matches.positions[begin:end] for begin, end in spans]
            yield reduce(_common, found) if own and all(own) else None

    def _compare(self, form: _Form, candidates: Sequence[int]) -> None:
        """Find one form that this one implies; one that says the same takes it in."""
        for order in candidates[:_TRIED]:
            other = self.forms[order]
            if other is form or not other.ids or not self._implies(form, other):
                continue
            if other.term != form.term or not self._implies(other, form):
                self.shadows.append(Shadow(form.ids[0], other.ids[0]))
                return
            if order < form.order:
                other.ids += form.ids
                form.ids = []
                return

    def _implies(self, form: _Form, other: _Form) -> bool:
        """Whether each clause of one is known to imply a clause of the other, at all times."""
        lasts = other.term[0] <= form.term[0] and form.term[1] <= other.term[1]
        return lasts and all(
            any(self._clause_implies(mine, yours) for yours in other.clauses or ())
            for mine in form.clauses or ()
        )

    def _clause_implies(self, mine: frozenset[int], yours: frozenset[int]) -> bool:
        known = self.predicates
        return all(any(implies(known[one], known[other]) for one in mine) for other in yours - mine)

    def _clause(self, numbered: frozenset[int]) -> Clause:
        return tuple(self.predicates[one] for one in sorted(numbered))

    def _numbered(self, clause: Sequence[Predicate]) -> frozenset[int]:
        return frozenset(map(self._number, clause))

    def _number(self, predicate: Predicate) -> int:
        found = self.tests.setdefault(same_test(predicate), len(self.predicates))
        if found == len(self.predicates):
            self.predicates.append(predicate)
        return found

    def _topics(self, clause: frozenset[int]) -> frozenset[int]:
        attributes = (self.predicates[one].root for one in clause)
        return frozenset(
            self.attributes.setdefault(one, len(self.attributes)) for one in attributes
        )

    def _tree(self, node: Expression, parts: Sequence[Any]) -> Any:
        """Equal for trees that differ in the order of their parts alone."""
        return self._number(node) if isinstance(node, Predicate) else (type(node), frozenset(parts))


def _common(first: Ints, second: Ints) -> Ints:
    return np.intersect1d(first, second, assume_unique=True)


def _clause_bits(form: _Form) -> list[int]:
    """Bits for the attributes of each clause; a clause that it implies has no others."""
    return [reduce(or_, (1 << one % 64 for one in topics), 0) for topics in form.topics]


def _topic_bits(form: _Form) -> list[int]:
    """The bits of a few clauses, or those that all of many have; filled up with more than any."""
    bits = _clause_bits(form)
    few = bits if len(bits) <= _WITNESSED else [reduce(and_, bits)]
    return [*few, *[_ALL_BITS] * (_WITNESSED - len(few))]
