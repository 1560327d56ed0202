"""Segments: an immutable set of criteria in numbers, with the matcher that finds them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from remuda.arrays import Bools, Floats, Ints, Longs, frozen
from remuda.encoding.encoder import Encoder
from remuda.encoding.events import Portion
from remuda.encoding.plan import Plan, Programs, plan
from remuda.encoding.table import EventBatch, Predicates
from remuda.encoding.vocabulary import Vocabulary
from remuda.index.hits import best, joined, of_event, only, side_by_side
from remuda.index.owners import Owners, Owning
from remuda.index.ranking import bounds, settled
from remuda.jit import kernel
from remuda.matchers.contract import (
    CnfMatcher,
    Hits,
    Matcher,
    RankingMatcher,
    cnf_matcher,
    conjunction_matcher,
    counting,
    describing,
    encoding,
    has_own_cnf,
    ranking,
    warming,
)
from remuda.matchers.kernels.programs import lacking, score
from remuda.matchers.kernels.truth import lay_out, no_event, take_away
from remuda.model.attributes import Attribute
from remuda.model.expressions import Expression

_MANY = 1 << 10  # rows that are worth the way to a device


@dataclass(slots=True)
class Lazy:
    """A vocabulary that is read when it is first needed, and the encoder over it."""

    read: Callable[[], Vocabulary]
    _encoder: Encoder | None = None
    _vocabulary: Vocabulary | None = None
    _ones: Floats | None = None
    reported: int = 0  # dimensions set aside that a warning has named

    @property
    def aside(self) -> dict[int, str]:
        """Why dimensions were set aside, by their first spaces."""
        return {} if self._encoder is None else self._encoder.aside

    @property
    def vocabulary(self) -> Vocabulary:
        if self._vocabulary is None:
            self._vocabulary = self.read()
        return self._vocabulary

    @property
    def encoder(self) -> Encoder:
        if self._encoder is None:  # two threads may both make one: they are the same
            self._encoder = Encoder(self.vocabulary)
        return self._encoder

    def weights(self, given: Mapping[Attribute, float]) -> Floats:
        """The weight of each attribute: 1 where none is given."""
        if self._ones is None:
            self._ones = frozen(np.ones(len(self.vocabulary.attributes), np.float64))
        if not given:
            return self._ones
        weights, positions = self._ones.copy(), self.vocabulary.positions
        for attribute, weight in given.items():
            if attribute in positions:
                weights[positions[attribute]] = weight
        return frozen(weights)


@dataclass(frozen=True, slots=True)
class Segment:
    """Criteria 0 to n - 1, planned, encoded and arranged; never changed."""

    plan: Plan
    matcher: Matcher
    cnf: CnfMatcher
    words: Lazy
    dim_of_space: Ints
    home: str | None = None  # the directory that it is saved in
    _owning: Owning = field(default_factory=Owning, init=False, repr=False, compare=False)

    @classmethod
    def build(
        cls,
        expressions: Iterable[Expression],
        *,
        matcher: str,
        scalars: Collection[Attribute] = (),
        sample: Callable[[Encoder], EventBatch] | None = None,
    ) -> Segment:
        """Plan and arrange the expressions; a sample of events to come, once there are numbers."""
        made, vocabulary = plan(expressions, prefer_cnf=has_own_cnf(matcher), scalars=scalars)
        words = Lazy(lambda: vocabulary)
        return cls._arranged(made, words, matcher, sample)

    @classmethod
    def over(
        cls,
        made: Plan,
        words: Lazy,
        matcher: str,
        stored: tuple[Matcher | None, CnfMatcher | None] = (None, None),
        home: str | None = None,
    ) -> Segment:
        """What is planned, arranged by the matcher of that name, or as it was stored."""
        return cls._arranged(made, words, matcher, None, stored, home)

    @classmethod
    def _arranged(
        cls,
        made: Plan,
        words: Lazy,
        matcher: str,
        sample: Callable[[Encoder], EventBatch] | None,
        stored: tuple[Matcher | None, CnfMatcher | None] = (None, None),
        home: str | None = None,
    ) -> Segment:
        conjunctions, cnf = stored
        return cls(
            made,
            conjunctions or _built(made, words, matcher, sample),
            cnf or cnf_matcher(matcher).build(made.cnf),
            words,
            frozen(made.conjunctions.dim_of_space()),
            home,
        )

    @property
    def encoder(self) -> Encoder:
        return self.words.encoder

    @property
    def aside(self) -> Bools | None:
        """The criteria that depend on a dimension that fails, so that they match nothing."""
        if not self.words.aside:
            return None
        starts, programs = self.plan.conjunctions.space_starts, self.plan.programs
        dims = np.searchsorted(starts, list(self.words.aside), side="right") - 1
        leaves = np.isin(self.plan.conjunctions.predicates.dim, dims)[programs.leaf_literal]
        is_leaf = programs.codes >= 0
        failing = np.zeros(len(programs.codes) + 1, np.int64)
        np.cumsum(is_leaf & leaves[np.where(is_leaf, programs.codes, 0)], out=failing[1:])
        depends: Bools = np.diff(failing[programs.starts]) > 0
        return depends

    def encode(self, portion: Portion, now: int) -> EventBatch:
        """The events in numbers, by the matcher where it is faster at it."""
        if encoding(self.matcher) and len(portion) >= _MANY:
            columns = portion.columns(self.encoder, now)
            if columns is not None:
                return self.matcher.encode(columns)
        return portion.encode(self.encoder, now)

    def match(self, events: EventBatch) -> Hits:
        """The criteria that each event satisfies, each once, in any order."""
        owners, cnf_owners, _ = self._owning.of(self.plan)
        hits = self._owned(self.matcher.match(events), owners, events)
        if self.plan.cnf.n_rows == 0:
            return hits
        return side_by_side([hits, self._owned(self.cnf.match(events), cnf_owners, events)])

    @property
    def adds_up(self) -> bool:
        """Whether `count` and `reach` are there: clauses are counted, and nothing is kept."""
        owners, _, doubtful = self._owning.of(self.plan)
        sure = owners.once and not doubtful and self.plan.cnf.n_rows == 0
        return sure and counting(self.matcher)

    def count(self, events: EventBatch) -> Longs:
        """How many criteria each event satisfies."""
        assert counting(self.matcher)
        return self.matcher.count(events, self._owning.of(self.plan)[0].weights)

    def reach(self, events: EventBatch) -> Longs:
        """How many of the events satisfy each criterion."""
        assert counting(self.matcher)
        return self._owning.of(self.plan)[0].reach(self.matcher.reach(events))

    def match_among(self, events: EventBatch, places: Ints) -> Hits:
        """The same among a few criteria, each tried by itself."""
        starts, rows = _held(
            places, events.starts, events.spaces, self.dim_of_space,
            self.plan.conjunctions.n_dims, self.plan.programs, self.plan.conjunctions.predicates,
        )  # fmt: skip
        return Hits(starts, rows, len(places) * len(events))

    def lacking(self, events: EventBatch, places: Ints) -> Ints:
        """How many predicates more the first event must satisfy for each criterion to hold."""
        lacking: Ints = _lacking(
            places, events.starts, events.spaces, self.dim_of_space,
            self.plan.conjunctions.n_dims, self.plan.programs, self.plan.conjunctions.predicates,
        )  # fmt: skip
        return lacking

    def warm(self) -> None:
        """Do what the first question would have to wait for."""
        _ = self.encoder
        if warming(self.matcher):
            self.matcher.warm()

    def stats(self) -> dict[str, Any]:
        """What the matcher chose, and why, if it chooses at all."""
        return {**self.matcher.stats()} if describing(self.matcher) else {}

    @property
    def nbytes(self) -> int:
        """What the matchers take."""
        return self.matcher.nbytes + self.cnf.nbytes

    def best(
        self, events: EventBatch, n: int, weights: Mapping[Attribute, float], ranks: Ints
    ) -> Hits:
        """The n best criteria of each event, best first, ties by their ranks."""
        matcher = self.matcher
        if not ranking(matcher) or n == 0 or min(weights.values(), default=0.0) < 0:
            return self._best_of(self.match(events), events, n, weights, ranks)
        hits, sure = self._best_by_bounds(matcher, events, n, weights, ranks)
        if sure.all():
            return hits
        if sure.mean() < 0.5:  # many are equally good: all must be looked at
            return self._best_of(self.match(events), events, n, weights, ranks)
        pieces = []
        for i in range(len(events)):
            if sure[i]:
                pieces.append(of_event(hits, i))
            else:
                event = events.one(i)
                pieces.append(self._best_of(self.match(event), event, n, weights, ranks))
        return joined(pieces)

    def _best_by_bounds(
        self,
        matcher: RankingMatcher,
        events: EventBatch,
        n: int,
        weights: Mapping[Attribute, float],
        ranks: Ints,
    ) -> tuple[Hits, Bools]:
        """The same from the best clauses, and for which events that is sure."""
        of_space = None
        if weights:
            dimensions = self.words.vocabulary.dimensions
            of_dim = np.array([weights.get(one.attribute, 1.0) for one in dimensions], np.float64)
            of_space = of_dim[self.dim_of_space[events.spaces]]
        n_asked = 2 * n + 8  # more than n: a bound is the best of several owners
        ranked = matcher.top(events, n_asked, of_space)
        hits = Hits(ranked.starts, ranked.rows, ranked.candidates)
        hits = self._owned(hits, self._owning.of(self.plan)[0], events)
        hits = self._best_of(hits, events, n, weights, ranks)
        return hits, settled(ranked, n_asked, hits, n)

    def _best_of(
        self,
        hits: Hits,
        events: EventBatch,
        n: int,
        weights: Mapping[Attribute, float],
        ranks: Ints,
    ) -> Hits:
        return best(hits, self.scores(events, hits, weights), n, ranks[hits.rows])

    def scores(self, events: EventBatch, found: Hits, weights: Mapping[Attribute, float]) -> Floats:
        """The score of each criterion that was found, in the order of `found.rows`."""
        scores: Floats = _scores(
            found.starts, found.rows, events.starts, events.spaces, self.dim_of_space,
            self.plan.conjunctions.n_dims, self.words.weights(weights),
            self.plan.programs, self.plan.conjunctions.predicates,
        )  # fmt: skip
        return scores

    def _owned(self, hits: Hits, owners: Owners, events: EventBatch) -> Hits:
        """The owners of the clauses that were hit, checked where clauses are only necessary."""
        found = owners.hit(hits)
        if not self._owning.of(self.plan)[2]:
            return found
        doubtful = self.plan.checked[found.rows]
        if not doubtful.any():
            return found
        kept = ~doubtful
        kept[doubtful] = ~np.isnan(self.scores(events, only(found, doubtful), {}))
        return only(found, kept)


def _built(
    made: Plan, words: Lazy, matcher: str, sample: Callable[[Encoder], EventBatch] | None
) -> Matcher:
    """The matcher of that name over the conjunctions, with what it takes beside them."""
    kind, options = conjunction_matcher(matcher), dict[str, Any]()
    if kind.features.takes_weights:
        options["weights"] = bounds(made)
    if kind.features.takes_sample and sample is not None:
        options["sample"] = sample(words.encoder)
    return kind.build(made.conjunctions, **options)


@kernel
def _scores(
    found_starts: Longs,
    found: Ints,
    event_starts: Longs,
    spaces: Ints,
    dim_of_space: Ints,
    n_dims: int,
    attribute_weight: Floats,
    programs: Programs,
    predicates: Predicates,
) -> Floats:
    scores = np.empty(len(found), np.float64)
    laid_out = no_event(spaces, n_dims)
    stack = np.empty(_longest(found, programs.starts) + 1, np.float64)
    for event in range(len(found_starts) - 1):
        begin, end = event_starts[event], event_starts[event + 1]
        lay_out(laid_out, begin, end, dim_of_space)
        for i in range(found_starts[event], found_starts[event + 1]):
            scores[i] = score(found[i], programs, attribute_weight, stack, predicates, laid_out)
        take_away(laid_out, begin, end, dim_of_space)
    return scores


@kernel
def _held(
    places: Ints,
    event_starts: Longs,
    spaces: Ints,
    dim_of_space: Ints,
    n_dims: int,
    programs: Programs,
    predicates: Predicates,
) -> tuple[Longs, Ints]:
    """Those of the places whose programs hold, event by event."""
    starts = np.zeros(len(event_starts), np.int64)
    rows = np.empty(len(places), np.int32)
    n = 0
    for event in range(len(event_starts) - 1):
        if n + len(places) > len(rows):
            rows = np.concatenate((rows, np.empty(len(rows) + len(places), np.int32)))
        found = _lacking(
            places, event_starts[event : event + 2], spaces, dim_of_space, n_dims,
            programs, predicates,
        )  # fmt: skip
        for i in range(len(places)):
            if found[i] == 0:
                rows[n] = places[i]
                n += 1
        starts[event + 1] = n
    return starts, rows[:n].copy()


@kernel
def _lacking(
    places: Ints,
    event_starts: Longs,
    spaces: Ints,
    dim_of_space: Ints,
    n_dims: int,
    programs: Programs,
    predicates: Predicates,
) -> Ints:
    """How many predicates more the first event must satisfy for each place, NEVER at most."""
    laid_out = no_event(spaces, n_dims)
    stack = np.empty(_longest(places, programs.starts) + 1, np.int32)
    lay_out(laid_out, event_starts[0], event_starts[1], dim_of_space)
    found = np.empty(len(places), np.int32)
    for i in range(len(places)):
        found[i] = lacking(places[i], programs, stack, predicates, laid_out)
    return found


@kernel
def _longest(rows: Ints, program_starts: Longs) -> int:
    """No program needs a stack longer than itself."""
    longest = 0
    for row in rows:
        longest = max(longest, program_starts[row + 1] - program_starts[row])
    return longest
