"""The form in which a criterion is indexed: its alternatives, its demands, or a filter of its tree.

A criterion of any width is written out where that stays within what was written: a DNF of a
thousand conjunctions is a thousand clauses. What would explode is kept as a tree. Some clauses of
which one must hold wherever the tree does, the most selective there are, find it then, and its
program decides.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum, auto
from itertools import product
from typing import NamedTuple

from remuda.logic.normal import Clause
from remuda.model.expressions import MAX_PARTS, And, Expression, Or, Predicate, fold

FEW = 64  # clauses that are written out, however long they are
_SPREAD = 8  # predicates that are written out, for each that the criterion has
MAX_CLAUSES = _SPREAD * MAX_PARTS  # that are ever written out for one criterion
_RARE = 1e-4  # a share of events that needs no narrower filter
_HUGE = 1 << 40  # clauses or predicates beyond which they are not counted


class Form(Enum):
    """How a criterion is indexed."""

    DNF = auto()
    CNF = auto()
    TREE = auto()


class _Extent(NamedTuple):
    """How many clauses a normal form has, and how many predicates in them."""

    clauses: int
    items: int

    def fits(self, n_predicates: int) -> bool:
        return self.clauses <= FEW or self.items <= _SPREAD * n_predicates


def form_of(flattened: Expression, *, takes_cnf: bool) -> Form:
    """The form for what `flat` gave; of two normal forms that fit, the one of fewer clauses.

    A matcher that takes conjunctions alone has the tree in place of a CNF: finding candidates by
    the most selective demands and checking the others is faster than another matcher's CNF (200
    criteria of 60 demands: 169 µs an event against 712 by the k-index; of 1,000: 101 against
    14,508).
    """
    dnf, cnf = fold(flattened, _extents)
    n_predicates = fold(flattened, lambda node, parts: sum(parts) + isinstance(node, Predicate))
    in_cnf = takes_cnf and cnf.fits(n_predicates)
    if dnf.fits(n_predicates) and not (in_cnf and cnf.clauses < dnf.clauses):
        return Form.DNF
    return Form.CNF if in_cnf else Form.TREE


def _extents(node: Expression, parts: Sequence[tuple[_Extent, _Extent]]) -> tuple[_Extent, _Extent]:
    """Of the DNF and of the CNF: the clauses of the parts together, or their combinations."""
    if isinstance(node, Predicate):
        return _Extent(1, 1), _Extent(1, 1)
    alternatives, demands = [part[0] for part in parts], [part[1] for part in parts]
    if isinstance(node, Or):
        return _together(alternatives), _combined(demands)
    return _combined(alternatives), _together(demands)


def _together(parts: Sequence[_Extent]) -> _Extent:
    return _Extent(
        min(sum(part.clauses for part in parts), _HUGE),
        min(sum(part.items for part in parts), _HUGE),
    )


def _combined(parts: Sequence[_Extent]) -> _Extent:
    """A clause for each choice of one from every part; it has the predicates of all of them."""
    clauses = 1
    for part in parts:
        clauses = min(clauses * part.clauses, _HUGE)
    length = sum(part.items / part.clauses for part in parts if part.clauses)
    return _Extent(clauses, min(math.ceil(clauses * length), _HUGE))


@dataclass(frozen=True, slots=True)
class Filter:
    """Chooses necessary clauses by the share of events that each predicate is thought to let by.

    A predicate that holds on a missing attribute has a share of 1, and is no filter.
    """

    share: Callable[[Predicate], float]

    def of(self, flattened: Expression) -> list[Clause]:
        """Clauses of which one holds wherever the expression does, as selective as may be."""
        return fold(flattened, self._necessary).clauses

    def _necessary(self, node: Expression, parts: Sequence[_Necessary]) -> _Necessary:
        if isinstance(node, Predicate):
            share = self.share(node)
            return _Necessary([(node,)], share) if share < 1.0 else _ALL
        return _narrowest(parts) if isinstance(node, And) else _widest(parts)


class _Necessary(NamedTuple):
    """Clauses of which one must hold, and the share of events for which one does."""

    clauses: list[Clause]
    share: float


_ALL = _Necessary([()], 1.0)


def _widest(parts: Sequence[_Necessary]) -> _Necessary:
    """What is necessary for an Or: nothing, if that is so for one of its parts."""
    if _ALL in parts:
        return _ALL
    together = [clause for part in parts for clause in part.clauses]
    return _Necessary(together, 1.0 - math.prod(1.0 - part.share for part in parts))


def _narrowest(parts: Sequence[_Necessary]) -> _Necessary:
    """The most selective part of an And, and with it as many of the next as stay few together."""
    first, *others = sorted(parts, key=lambda part: part.share)
    clauses, share = first
    for part in others:
        if share < _RARE or part is _ALL:
            break
        if len(clauses) * len(part.clauses) <= FEW:
            pairs = product(clauses, part.clauses)
            clauses, share = [(*one, *more) for one, more in pairs], share * part.share
    return _Necessary(clauses, share)
