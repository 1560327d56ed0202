"""Answers about regions: what is possible, what is certain, and what depends on the unknown."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from remuda.arrays import Bools, Ints, Longs, frozen, starts_of
from remuda.encoding.regions import Region
from remuda.index.hits import joined, none, only, side_by_side
from remuda.index.matches import Matches
from remuda.index.question import Question
from remuda.index.regions import Laid
from remuda.index.state import Names, Part
from remuda.logic.normal import nnf
from remuda.matchers.contract import Hits
from remuda.matchers.kernels.grades import ALL
from remuda.model.attributes import Attribute
from remuda.model.expressions import And, Expression, Predicate, fold
from remuda.model.terms import facts_of

_AT_ONCE = 1024  # regions: each has a flag or two for every dimension


class Undecided(NamedTuple):
    """A criterion that depends on what is unknown, and on which of it.

    `exact` is False where it may be that it does not depend on it after all.
    """

    id: str
    attributes: tuple[str, ...]
    exact: bool


class Found(NamedTuple):
    """What a part says about regions, and which of them it says exactly."""

    hits: Hits
    exact: Bools


Answering = Callable[[Part, Sequence[Region], Question], Found]


def undecided(parts: Sequence[Part], region: Region, question: Question) -> list[Undecided]:
    """The criteria that some event of the region satisfies and some does not, by their order."""
    pairs: list[tuple[int, Undecided]] = []
    for part in parts:
        laid = _laid(part, [region])
        rows = part.segment.widened.possible(laid)
        sure = dict(zip(rows.rows.tolist(), (rows.grades == ALL).tolist(), strict=True))
        hits = part.admitted(Hits(rows.starts, rows.rows, 0), question)
        yes, doubted = _proven(part, hits, [region] * (len(hits.rows) > 0))
        for place, holds, doubt in zip(hits.rows.tolist(), yes, doubted, strict=True):
            if not holds:
                criterion = part.roster.criteria[place]
                needed = tuple(sorted(map(str, _needed(criterion.expression, region))))
                exact = sure[place] and not doubt and not part.segment.widened.blurs(region)
                order = int(part.roster.orders[place])
                pairs.append((order, Undecided(criterion.id, needed, exact)))
    return [one for _, one in sorted(pairs, key=lambda pair: pair[0])]


def possible(part: Part, regions: Sequence[Region], question: Question) -> Found:
    """The criteria of a part that some event of each region satisfies."""
    laid = _laid(part, regions)
    rows = part.segment.widened.possible(laid)
    hits = Hits(rows.starts, rows.rows, len(rows.rows))
    lived = ~np.array([region.empty for region in regions], np.bool_)
    hits = only(hits, np.repeat(lived, np.diff(rows.starts)))
    doubtful = part.admitted(only(Hits(*rows[:2], 0), rows.grades < ALL), question)
    exact = (np.diff(doubtful.starts) == 0) & _clear(part, regions)
    return Found(part.admitted(hits, question), exact | ~lived)


def certain(part: Part, regions: Sequence[Region], question: Question) -> Found:
    """The criteria of a part that every event of each region satisfies."""
    attributes = part.segment.words.vocabulary.attributes
    some = [region.some(attributes) for region in regions if not region.empty]
    matched = iter(_rows(part.match(part.segment.encoder.encode(some, question.now), question)))
    void = any(region.empty for region in regions)
    everything = part.every(question) if void else None
    rows = [next(matched) if everything is None or not one.empty else everything for one in regions]
    starts: Longs = np.concatenate([[0], np.cumsum([len(one) for one in rows])])
    hits = Hits(starts, np.concatenate([np.empty(0, np.int32), *rows]).astype(np.int32), 0)
    asked = np.flatnonzero(np.diff(starts))  # the others need not be laid out
    yes, doubted = _proven(part, hits, [regions[i] for i in asked.tolist()])
    of_region = np.repeat(np.arange(len(regions)), np.diff(starts))
    empty = np.array([region.empty for region in regions], np.bool_)
    no_doubts = np.bincount(of_region[doubted], minlength=len(regions)) == 0
    exact = no_doubts & _clear(part, regions)
    return Found(only(hits, yes | empty[of_region]), exact | empty)


def _proven(part: Part, hits: Hits, regions: Sequence[Region]) -> tuple[Bools, Bools]:
    """Which of the hits hold for every event of their region, and of which that is not known.

    The regions are those that have hits.
    """
    counts = np.diff(hits.starts)
    starts = starts_of(counts[counts > 0])
    grades, refuted = part.segment.widened.certain(_laid(part, regions), starts, hits.rows)
    yes: Bools = grades == ALL
    doubted = np.zeros(len(yes), np.bool_)
    of_region = np.repeat(np.arange(len(regions)), np.diff(starts))
    for i in np.flatnonzero(~yes & ~refuted).tolist():
        expression = part.roster.criteria[int(hits.rows[i])].expression
        verdict = regions[int(of_region[i])].certain(expression)
        yes[i], doubted[i] = verdict is True, verdict is None
    return yes, doubted


def _clear(part: Part, regions: Sequence[Region]) -> Bools:
    """The regions of which it is known what is in them."""
    widened = part.segment.widened
    return np.array([one.exact and not widened.blurs(one) for one in regions], np.bool_)


def _laid(part: Part, regions: Sequence[Region]) -> Laid:
    return part.segment.widened.lay(regions, part.segment.encoder)


def _rows(hits: Hits) -> list[Ints]:
    return np.split(hits.rows, hits.starts[1:-1]) if len(hits.starts) > 1 else []


def answered(
    answer: Answering,
    parts: Sequence[Part],
    names: Names,
    regions: Sequence[Region],
    question: Question,
) -> Matches:
    """What all parts say, some regions at a time."""
    pieces = []
    for first in range(0, len(regions), _AT_ONCE):
        some = regions[first : first + _AT_ONCE]
        found = [answer(part, some, question) for part in parts]
        found = found or [Found(none(len(some), scored=False), np.ones(len(some), np.bool_))]
        hits = side_by_side([one.hits for one in found], names.starts.tolist())
        pieces.append(Found(hits, np.logical_and.reduce([one.exact for one in found])))
    hits = joined([one.hits for one in pieces] or [none(0, scored=False)])
    exact = np.concatenate([np.empty(0, np.bool_), *(one.exact for one in pieces)])
    return Matches(hits.starts, hits.rows, names, exact=frozen(exact))


def _needed(expression: Expression, region: Region) -> frozenset[Attribute]:
    """The unknown attributes of the predicates that are still to decide."""

    def visit(node: Expression, parts: Sequence[_Open]) -> _Open:
        if isinstance(node, Predicate):
            own = facts_of(node.term).attributes
            hidden = frozenset(one.path for one in own if not region.knows(one))
            return _Open(hidden, None if hidden else node.truth(region.event, region.now))
        deciding = not isinstance(node, And)
        if any(part.value is deciding for part in parts):
            return _Open(frozenset(), deciding)
        hidden = frozenset().union(*(part.hidden for part in parts))
        return _Open(hidden, None if hidden else not deciding)

    return fold(nnf(expression), visit).hidden


class _Open(NamedTuple):
    """What an expression needs to be known, or its value."""

    hidden: frozenset[Attribute]
    value: bool | None
