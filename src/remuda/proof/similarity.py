"""Similarity: which indexed criteria hold where a candidate holds, and the other way round."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from copy import copy
from dataclasses import dataclass, field
from itertools import islice
from random import Random
from typing import Any

import numpy as np

from remuda.arrays import Bools, Longs
from remuda.encoding.events import Portion, Source
from remuda.index.index import Index
from remuda.index.question import Now
from remuda.language.criterion import Criterion
from remuda.model.expressions import clock
from remuda.proof.deriving import clauses_of, drawn, draws, probes

_AT_ONCE = 1024  # events
_OTHERS = 128  # indexed criteria that events are drawn from
_NEAREST = 4  # times as many as are asked for are looked at closely
_WITNESSES = 4  # events of the candidate that others are laid over
_MOST = 64  # events of one criterion
_SHOWN = 3  # sample events of each similar criterion


@dataclass(frozen=True, slots=True)
class Similar:
    """An indexed criterion that holds together with the candidate.

    `covers` is the share of the candidate's events that it holds for too, `covered` the share of
    its own events that the candidate holds for; `score` is the share of those with both among
    those with either. All are from 0 to 1, over the events that were tried.
    """

    id: str
    score: float
    covers: float
    covered: float
    events: tuple[Any, ...]  # a few for which both hold


@dataclass(frozen=True, slots=True)
class Similarity:
    """What a candidate has in common with the criteria of an index; prints as a table.

    `overlap` is the share of the candidate's events that some indexed criterion holds for. A
    candidate that is `never` true, for all that is known, resembles nothing.
    """

    n_events: int
    n_holding: int  # events that the candidate holds for
    overlap: float
    never: bool
    similar: tuple[Similar, ...]  # best first, ties by id

    def __str__(self) -> str:
        head = f"{self.n_events:,} events, {self.n_holding:,} of them the candidate's"
        if self.never:
            return f"{head}: it can never hold"
        lines = [f"{head}, {self.overlap:.0%} of these with other criteria"]
        lines += [
            f"{one.score:6.3f}  {one.id}  covers {one.covers:.0%}, covered {one.covered:.0%}"
            for one in self.similar
        ]
        return "\n".join(lines)


def similarity(
    index: Index,
    criterion: Criterion,
    *,
    events: Any = None,
    seed: int = 0,
    n: int = 10,
    now: Now = None,
    progress: Callable[[int, int], None] | None = None,
) -> Similarity:
    """The n indexed criteria that resemble the candidate most, itself included if it is there.

    Over given events, in any form that `match_many` takes, these are shares of those. Without
    any, events are made from the clauses of the candidate, of a sample of the index and of the
    criteria that come closest, alone and laid over one another: shares of what can be told apart,
    not of what will happen. A candidate counts as in force, an indexed criterion only where it is.
    `progress` is told, batch by batch, how many events were tried, and 0.
    """
    if n < 0:
        raise ValueError(f"the {n} most similar make no sense")
    frozen, rng, moment = copy(index), draws(seed), clock(now)
    criterion = criterion.bound(frozen.hierarchies)
    tally = _Tally(frozen, criterion, moment, progress)
    if events is None:
        _derived(tally, rng, n)
    else:
        tally.add_all(events)
    return tally.result(n, never=not clauses_of(criterion.expression, rng))


def _derived(tally: _Tally, rng: Random, n: int) -> None:
    """Try events of the candidate, of others, and of those that turn out to be close."""

    def made(criteria: Iterable[Criterion], *, full: bool) -> Iterator[Any]:
        for probe in probes(criteria, rng, full=full, scalars=tally.index.scalars, now=tally.now):
            yield from probe.events()[:_MOST]

    own = list(islice(made([tally.candidate], full=True), _AT_ONCE))
    true = [event for event in own if tally.holds(event)]
    witnesses = rng.sample(true, min(_WITNESSES, len(true)))
    close = {
        near.id: tally.index[near.id]
        for witness in witnesses
        for near in tally.index.nearest(witness, n, now=tally.now)
    }
    tally.add_all(_distinct(own))
    others = [*drawn(tally.index, rng, _OTHERS), *close.values()]
    tally.add_all(_distinct(_crossed(made(others, full=False), own, true, rng)))
    likely = [tally.index[name] for name in tally.closest(_NEAREST * n)]
    tally.add_all(_distinct(_crossed(made(likely, full=False), own, true, rng)))


def _crossed(
    events: Iterable[Any], own: Sequence[Any], true: Sequence[Any], rng: Random
) -> Iterator[Any]:
    """The events alone, and with the candidate's above and beneath them."""
    for event in events:
        yield event
        for several in filter(None, (own, true)):
            other = rng.choice(several)
            if isinstance(event, dict) and isinstance(other, dict):
                yield event | other
                yield other | event


def _distinct(events: Iterable[Any]) -> Iterator[Any]:
    seen: set[str] = set()
    for event in events:
        text = repr(event)
        if text not in seen:
            seen.add(text)
            yield event


@dataclass(slots=True)
class _Tally:
    """How often each indexed criterion held, and held together with the candidate."""

    index: Index
    candidate: Criterion
    now: int
    progress: Callable[[int, int], None] | None = None
    n_events: int = 0
    n_holding: int = 0
    n_overlapping: int = 0
    names: Sequence[str] = ()
    held: Longs = field(default_factory=lambda: np.zeros(0, np.int64))
    both: Longs = field(default_factory=lambda: np.zeros(0, np.int64))
    samples: dict[int, list[Any]] = field(default_factory=dict)

    def holds(self, event: Any) -> bool:
        return self.candidate.expression.holds(event, now=self.now)

    def add_all(self, events: Any) -> None:
        source = Source(events)
        while (portion := source.take(_AT_ONCE)) is not None:
            self.add(portion)

    def add(self, portion: Portion) -> None:
        """Count what holds for each of some events."""
        events = portion.objects()
        holding: Bools = np.array([self.holds(event) for event in events], np.bool_)
        matches = self.index.match_many([portion], now=self.now)
        if not len(self.held):
            self.names, n = matches.names, len(matches.names)
            self.held, self.both = np.zeros(n, np.int64), np.zeros(n, np.int64)
        counts = matches.counts()
        of_candidate = np.repeat(holding, counts)
        together = matches.positions[of_candidate]
        self.held += np.bincount(matches.positions, minlength=len(self.held))
        self.both += np.bincount(together, minlength=len(self.held))
        self.n_events += len(events)
        self.n_holding += int(holding.sum())
        self.n_overlapping += int((holding & (counts > 0)).sum())
        owners = np.repeat(np.arange(len(events)), counts)[of_candidate]
        self._keep_samples(together, owners, events)
        if self.progress is not None:
            self.progress(self.n_events, 0)

    def closest(self, n: int) -> list[str]:
        """The ids of the n that resemble the candidate most so far."""
        return [self.names[position] for _, _, position in self._ranked(n)]

    def result(self, n: int, *, never: bool) -> Similarity:
        return Similarity(
            n_events=self.n_events,
            n_holding=self.n_holding,
            overlap=self.n_overlapping / self.n_holding if self.n_holding else 0.0,
            never=never,
            similar=tuple(
                Similar(
                    id=name,
                    score=score,
                    covers=float(self.both[position] / self.n_holding),
                    covered=float(self.both[position] / self.held[position]),
                    events=tuple(self.samples[position]),
                )
                for score, name, position in self._ranked(n)
            ),
        )

    def _ranked(self, n: int) -> list[tuple[float, str, int]]:
        """The n highest scores, with the ids and positions that they belong to."""
        positions = np.flatnonzero(self.both)
        both = self.both[positions]
        scores = both / (self.n_holding + self.held[positions] - both)
        if len(positions) > n > 0:  # all that tie with the last are in, for the ids to decide
            positions, scores = (
                one[scores >= np.partition(scores, -n)[-n]] for one in (positions, scores)
            )
        named = [(self.names[position], position) for position in positions.tolist()]
        found = [(score, *one) for score, one in zip(scores.tolist(), named, strict=True)]
        return sorted(found, key=lambda one: (-one[0], one[1]))[:n]

    def _keep_samples(self, together: Any, owners: Any, events: list[Any]) -> None:
        for place in np.unique(together, return_index=True)[1].tolist():
            kept = self.samples.setdefault(int(together[place]), [])
            if len(kept) < _SHOWN:
                kept.append(events[owners[place]])
