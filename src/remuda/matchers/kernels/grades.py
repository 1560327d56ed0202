"""Grades: whether predicates, clauses and programs hold for none, some or all events of a region.

A region is laid out like an event over wider dimensions: behind what stands for "missing" when
nothing is listed come the spaces MISSING and ANY, then the present ones, so that space s of
dimension d is s + 2 * d + 2. What is listed may be; ANY, listed alone, is all there is.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from remuda.arrays import Bools, Ints, Ragged
from remuda.encoding.programs import Programs
from remuda.encoding.table import Predicates
from remuda.jit import bare
from remuda.matchers.kernels.truth import Event, accepts

NONE, SOME, ALL = 0, 1, 2
MISSING, ANY = 1, 2  # counted from a dimension's first space
WIDER = 2  # spaces that a dimension has more
_FEW = 4096  # spaces of which each is tried

Grades = NDArray[np.int8]


class Lexicon(NamedTuple):
    """What is known of predicates and dimensions for all regions."""

    predicates: Predicates
    anywhere: Grades  # of each predicate where its dimension is ANY
    space_starts: Ints
    inhabited: Bools  # of each space: whether a scalar is in it
    base: Ints  # of each dimension: the one that it is a copy of
    path: Ints  # of each dimension: the attribute that it looks at


class Place(NamedTuple):
    """One region that is laid out."""

    event: Event
    loose: Bools  # dimensions that list more than is possible
    known: Bools  # dimensions of an event's own values, which may be lists
    grades: Grades  # of predicates that were looked at; -1 of the others


@bare
def _has(space: int, predicate: int, dim: int, lexicon: Lexicon) -> bool:
    """Whether the predicate accepts a space, counted from the first of its dimension."""
    predicates = lexicon.predicates
    if space == 0:
        return bool(predicates.on_missing[predicate])
    begin, end = predicates.span_starts[predicate], predicates.span_starts[predicate + 1]
    at = lexicon.space_starts[dim] + space
    return bool(accepts(at, begin, end, predicates.span_lo, predicates.span_hi))


@bare
def grade(predicate: int, lexicon: Lexicon, place: Place) -> int:
    """Whether the predicate holds for NONE, SOME or ALL events of the region."""
    if place.grades[predicate] >= 0:
        return int(place.grades[predicate])
    dim = lexicon.predicates.dim[predicate]
    first, last = place.event.first[dim], place.event.last[dim]
    start = lexicon.space_starts[dim] + WIDER * dim
    if first == last:
        own_grade = ALL if lexicon.predicates.on_missing[predicate] else NONE
    elif place.event.spaces[first] - start == ANY:
        own_grade = lexicon.anywhere[predicate]
    else:
        n = 0
        for i in range(first, last):
            space = place.event.spaces[i] - start
            n += _has(0 if space == MISSING else space - WIDER, predicate, dim, lexicon)
        own_grade = NONE if n == 0 else ALL if n == last - first else SOME
        if own_grade == SOME and place.known[dim]:  # a list: any element, or every one
            own_grade = NONE if lexicon.predicates.every[predicate] else ALL
    place.grades[predicate] = own_grade
    return own_grade


@bare
def clause_grade(row: int, clauses: Ragged, lexicon: Lexicon, place: Place) -> int:
    """NONE where no event satisfies the clause, ALL where one surely does, SOME for perhaps."""
    sure = True
    begin, end = clauses.starts[row], clauses.starts[row + 1]
    for i in range(begin, end):
        if grade(clauses.items[i], lexicon, place) == NONE:
            return NONE
    for i in range(begin, end):
        predicate = clauses.items[i]
        if grade(predicate, lexicon, place) == ALL:
            continue
        dim = lexicon.predicates.dim[predicate]
        if place.loose[dim]:
            sure = False
        for j in range(begin, i):
            other = lexicon.predicates.dim[clauses.items[j]]
            if (
                lexicon.path[other] != lexicon.path[dim]
                or grade(clauses.items[j], lexicon, place) == ALL
            ):
                continue
            if lexicon.base[other] != lexicon.base[dim]:
                sure = False  # two looks at one value
                continue
            found = _together(begin, i + 1, predicate, clauses.items, lexicon, place)
            if found == NONE:
                return NONE
            sure = sure and found == ALL
    return ALL if sure else SOME


@bare
def _together(
    begin: int, end: int, predicate: int, items: Ints, lexicon: Lexicon, place: Place
) -> int:
    """ALL where one value satisfies all items on copies of one dimension, NONE where none does."""
    dim = lexicon.predicates.dim[predicate]
    first, last = place.event.first[dim], place.event.last[dim]
    start = lexicon.space_starts[dim] + WIDER * dim
    if place.event.spaces[first] - start != ANY:
        for i in range(first, last):
            space = place.event.spaces[i] - start
            if _all_have(0 if space == MISSING else space - WIDER, begin, end, dim, items, lexicon):
                return ALL
        return NONE
    n_spaces = lexicon.space_starts[dim + 1] - lexicon.space_starts[dim]
    if n_spaces > _FEW:
        return SOME
    for space in range(n_spaces):
        inhabited = lexicon.inhabited[lexicon.space_starts[dim] + space]
        if inhabited and _all_have(space, begin, end, dim, items, lexicon):
            return ALL
    return NONE


@bare
def _all_have(space: int, begin: int, end: int, dim: int, items: Ints, lexicon: Lexicon) -> bool:
    for i in range(begin, end):
        other = lexicon.predicates.dim[items[i]]
        if lexicon.base[other] == lexicon.base[dim] and not _has(space, items[i], other, lexicon):
            return False
    return True


@bare
def program_grade(
    row: int, programs: Programs, stack: Ints, lexicon: Lexicon, place: Place
) -> tuple[int, bool]:
    """Whether a criterion holds for NONE, SOME or ALL; and whether it surely not holds for all.

    SOME is said where nothing else is known; NONE and ALL are always right.
    """
    n = 0
    for step in range(programs.starts[row], programs.starts[row + 1]):
        code = programs.codes[step]
        if code >= 0:
            predicate = programs.leaf_literal[code]
            own_grade = grade(predicate, lexicon, place)
            refuted = own_grade < ALL and not place.loose[lexicon.predicates.dim[predicate]]
            stack[n] = own_grade | np.int32(refuted) << 2
        else:
            n_parts, either = (-code - 1) >> 1, (-code - 1) & 1
            n -= n_parts
            own_grade, refuted = (NONE, n_parts <= 1) if either else (ALL, False)
            for i in range(n, n + n_parts):
                part, part_refuted = stack[i] & 3, stack[i] >> 2 > 0
                if either:
                    own_grade, refuted = max(own_grade, part), refuted and part_refuted
                else:
                    own_grade, refuted = min(own_grade, part), refuted or part_refuted
            stack[n] = own_grade | np.int32(refuted) << 2
        n += 1
    return stack[0] & 3, stack[0] >> 2 > 0
