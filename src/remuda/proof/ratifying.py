"""Ratification: an index held against plain evaluation, on events made from its own criteria."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field
from random import Random
from typing import Any

from remuda.encoding.events import Portion, Source
from remuda.index.index import Index
from remuda.index.question import Now
from remuda.language.criterion import Criterion
from remuda.model.explanations import Explanation
from remuda.model.expressions import clock
from remuda.proof.coverage import Coverage
from remuda.proof.deriving import Probe, drawn, draws, probes
from remuda.proof.reducing import smallest

Answer = bool | float | str | None  # it holds or not, its score, or the error that was raised

_AT_ONCE = 512  # events
_LIGHT = 200  # criteria that a light run takes events from
_COMPARED = 256  # criteria that every event is compared on; a smaller index is compared whole
_REMEMBERED = 1 << 16  # criteria
_SINGLY = 16  # one event in so many, and the first of a criterion, is also asked by itself
_SHOWN = 20  # disagreements that are reduced and kept; the others are counted


@dataclass(frozen=True, slots=True)
class Disagreement:
    """A criterion on which the index and plain evaluation differ, with the smallest such event.

    `asked` is the question that the index answered wrongly: `match_many`, `match` or `top`.
    """

    id: str | None  # None where the search itself failed
    asked: str
    event: Any
    expected: Answer
    got: Answer
    explanation: Explanation | None  # None where there is no such criterion

    def __str__(self) -> str:
        who = "the search" if self.id is None else self.id
        head = f"{who}: {self.asked} gave {self.got}, plain evaluation {self.expected}"
        tree = "" if self.explanation is None else f"\n{self.explanation}"
        return f"{head}, for {self.event!r}{tree}"


@dataclass(frozen=True, slots=True)
class Ratification:
    """What a ratification did and found; prints as a report.

    A clause is one alternative of a criterion. `true_share` is the share of those looked at that
    some event satisfied, `miss_share` that of their predicates that were the only one of their
    clause to fail. `sampled` says that not all criteria were compared on every event: then it was
    a sample, those that the index found, and the one that the event was made for.
    """

    n_criteria: int
    n_events: int
    n_comparisons: int
    n_clauses: int
    true_share: float
    miss_share: float
    sampled: bool
    cut_short: bool
    seconds: float
    n_disagreements: int
    disagreements: tuple[Disagreement, ...]  # the first of them

    @property
    def ok(self) -> bool:
        """Whether nothing disagreed."""
        return self.n_disagreements == 0

    def __str__(self) -> str:
        verdict = "agreed" if self.ok else f"{self.n_disagreements:,} disagreements"
        size = f"{self.n_criteria:,} criteria, {self.n_events:,} events"
        work = f"{self.n_comparisons:,} comparisons in {self.seconds:.1f} s"
        missed = f"{self.miss_share:.1%} of their predicates seen as the only one to fail"
        lines = [
            f"{verdict}: {size}, {work}",
            f"{self.n_clauses:,} clauses: {self.true_share:.1%} seen true, {missed}",
        ]
        if self.sampled:
            lines.append("not every criterion was compared on every event: there are too many")
        if self.cut_short:
            lines.append("cut short by its time")
        hidden = self.n_disagreements - len(self.disagreements)
        lines += [f"\n{one}" for one in self.disagreements]
        if hidden:
            lines.append(f"\nand {hidden:,} more")
        return "\n".join(lines)


def ratify(
    index: Index,
    full: bool = True,
    *,
    seed: int = 0,
    seconds: float | None = None,
    events: Any = None,
    now: Now = None,
    progress: Callable[[int, int], None] | None = None,
) -> Ratification:
    """Compare the index, as it is at this moment, with plain evaluation; nothing is changed.

    Events are made from the clauses of its criteria, of all of them or (not `full`) of a few
    hundred; or they are given, in any form that `match_many` takes. `seconds` bounds the
    time, though one batch is always tried; criteria are taken in the order that `seed` draws.
    `progress` is told, batch by batch, how many criteria were taken and of how many; of given
    events, how many were compared, and 0.
    """
    started = time.monotonic()
    frozen = copy(index)  # states are never changed, so the copy keeps the one of this moment
    rng, moment = draws(seed), clock(now)
    run = _Run(frozen, rng, moment, len(frozen) > _COMPARED)
    batches: Iterator[Batch]
    if events is None:
        criteria = run.taking(drawn(frozen, rng, None if full else _LIGHT))
        made = probes(criteria, rng, full=full, scalars=frozen.scalars, now=moment)
        batches = _probed(run, made)
    else:
        batches = _given(run, events)
    cut_short = False
    for batch, owners in batches:
        run.compare(batch, owners)
        if progress is not None and events is None:
            progress(run.n_taken, len(frozen) if full else min(_LIGHT, len(frozen)))
        elif progress is not None:
            progress(run.n_events, 0)
        if seconds is not None and time.monotonic() - started >= seconds:
            cut_short = next(batches, None) is not None
            break
    return run.result(cut_short, time.monotonic() - started)


Batch = tuple[Portion, Sequence[Criterion | None]]  # events, and whom each was made for


def _probed(run: _Run, made: Iterator[Probe]) -> Iterator[Batch]:
    """The events of the probes in batches, counting what they show."""
    batch: list[Any] = [{}]
    owners: list[Criterion | None] = [None]
    for probe in made:
        run.coverage.count(probe)
        own = probe.events()
        batch += own
        owners += [probe.criterion] * len(own)
        if len(batch) >= _AT_ONCE:
            yield Portion(batch), owners
            batch, owners = [], []
    if batch:
        yield Portion(batch), owners


def _given(run: _Run, events: Any) -> Iterator[Batch]:
    """Given events in batches."""
    run.coverage.watch(run.sample(), run.rng)
    source = Source(events)
    while (portion := source.take(_AT_ONCE)) is not None:
        yield portion, [None] * len(portion)


@dataclass(slots=True)
class _Run:
    """One ratification under way."""

    index: Index
    rng: Random
    now: int
    sampled: bool
    coverage: Coverage = field(default_factory=Coverage)
    known: dict[str, Criterion] = field(default_factory=dict)
    n_taken: int = 0  # criteria that events were made from
    n_events: int = 0
    n_comparisons: int = 0
    n_disagreements: int = 0
    disagreements: dict[tuple[str | None, str], Disagreement] = field(default_factory=dict)

    def taking(self, criteria: Iterator[Criterion]) -> Iterator[Criterion]:
        """The criteria, counted as they are taken."""
        for self.n_taken, criterion in enumerate(criteria, start=1):
            yield criterion

    def sample(self) -> list[Criterion]:
        """The criteria that each event of a batch is compared on."""
        if self.sampled:
            return list(drawn(self.index, self.rng, _COMPARED))
        if not self.known:
            self.known = {one.id: one for one in self.index}
        return list(self.known.values())

    def compare(self, batch: Portion, owners: Sequence[Criterion | None]) -> None:
        """Ask the index and plain evaluation about the same events."""
        events = batch.objects()
        sample = {one.id: one for one in self.sample()}
        before: Criterion | None = None
        for event, owner, answer in zip(events, owners, self._found(batch, events), strict=True):
            self.n_events += 1
            self.coverage.look(event, self.now)
            if isinstance(answer, str):
                self._note(None, "match_many", event, False, answer)
                continue
            compared: dict[str, Criterion | None] = dict(sample)
            compared |= {name: self._criterion(name) for name in answer if name not in sample}
            if owner is not None:
                compared[owner.id] = owner
            truths: dict[str, Answer] = {
                name: one is not None and one.holds(event, now=self.now)
                for name, one in compared.items()
            }
            self.n_comparisons += len(truths)
            self._note_all("match_many", event, truths, dict.fromkeys(answer, True))
            if self.n_events % _SINGLY == 1 or owner is not before:
                self._ask_alone(event, truths)
            before = owner

    def _found(self, batch: Portion, events: list[Any]) -> list[set[str] | str]:
        """The ids that the index finds for each event, or the error that it raises."""
        try:
            matches = self.index.match_many([batch], now=self.now)
            return [set(matches.ids(i)) for i in range(len(matches))]
        except Exception:
            return [self._found_alone(event) for event in events]

    def _found_alone(self, event: Any) -> set[str] | str:
        try:
            return set(self.index.match_many([event], now=self.now).ids(0))
        except Exception as error:
            return _words(error)

    def _ask_alone(self, event: Any, truths: Mapping[str, Answer]) -> None:
        """The same by the way of single events, and the scores of all that hold."""
        for way in ("match", "top"):
            try:
                answers = self._all(way, event)
            except Exception as error:
                self._note(None, way, event, False, _words(error))
                continue
            names = {*answers, *(name for name, truth in truths.items() if truth)}
            expected = {name: self._truth(way, name, event) for name in names}
            self.n_comparisons += len(names)
            self._note_all(way, event, expected, answers)

    def _all(self, asked: str, event: Any) -> dict[str, Answer]:
        """What the index answers for each criterion that it finds."""
        if asked == "top":
            return dict(self.index.top(event, len(self.index), now=self.now))
        if asked == "match":
            return dict.fromkeys(self.index.match(event, now=self.now), True)
        return dict.fromkeys(self.index.match_many([event], now=self.now).ids(0), True)

    def _truth(self, asked: str, id: str | None, event: Any) -> Answer:
        """What plain evaluation answers; of a criterion that is not there, that it is not."""
        criterion = None if id is None else self._criterion(id)
        if asked == "top":
            return None if criterion is None else criterion.score(event, now=self.now)
        return criterion is not None and criterion.holds(event, now=self.now)

    def _criterion(self, id: str) -> Criterion | None:
        found = self.known.get(id)
        if found is None and self.sampled and id in self.index:
            if len(self.known) >= _REMEMBERED:
                self.known.clear()
            found = self.known[id] = self.index[id]
        return found

    def _note_all(
        self, asked: str, event: Any, expected: Mapping[str, Answer], got: Mapping[str, Answer]
    ) -> None:
        nothing = None if asked == "top" else False
        for name, truth in expected.items():
            if got.get(name, nothing) != truth:
                self._note(name, asked, event, truth, got.get(name, nothing))

    def _note(self, id: str | None, asked: str, event: Any, expected: Answer, got: Answer) -> None:
        """Count a disagreement, and keep the first few with the smallest event that shows them."""
        self.n_disagreements += 1
        if len(self.disagreements) >= _SHOWN or (id, asked) in self.disagreements:
            return
        if self._differs(id, asked, event):
            event = smallest(event, lambda smaller: self._differs(id, asked, smaller))
            expected, got = self._truth(asked, id, event), self._answer(id, asked, event)
        criterion = None if id is None else self._criterion(id)
        why = None if criterion is None else criterion.explain(event, now=self.now)
        found = Disagreement(id, asked, event, expected, got, why)
        self.disagreements[id, asked] = found

    def _differs(self, id: str | None, asked: str, event: Any) -> bool:
        return self._answer(id, asked, event) != self._truth(asked, id, event)

    def _answer(self, id: str | None, asked: str, event: Any) -> Answer:
        try:
            return self._all(asked, event).get(id or "", None if asked == "top" else False)
        except Exception as error:
            return _words(error)

    def result(self, cut_short: bool, seconds: float) -> Ratification:
        return Ratification(
            n_criteria=len(self.index),
            n_events=self.n_events,
            n_comparisons=self.n_comparisons,
            n_clauses=self.coverage.n_clauses,
            true_share=self.coverage.true_share,
            miss_share=self.coverage.miss_share,
            sampled=self.sampled,
            cut_short=cut_short,
            seconds=seconds,
            n_disagreements=self.n_disagreements,
            disagreements=tuple(self.disagreements.values()),
        )


def _words(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"
