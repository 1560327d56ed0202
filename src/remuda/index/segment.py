"""Segments: an immutable set of criteria in numbers, with the matcher that finds them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from remuda.arrays import Bools, Ints, Longs, frozen
from remuda.encoding.encoder import Encoder, alone
from remuda.encoding.events import Portion
from remuda.encoding.plan import Plan, plan
from remuda.encoding.programs import Programs
from remuda.encoding.table import EventBatch, Predicates
from remuda.encoding.texts import MakeTexts, Texts
from remuda.encoding.vocabulary import Vocabulary
from remuda.index import choosing
from remuda.index.choosing import NO_BOOLS, NO_FLOATS, NO_INTS, NO_LONGS, Bars, Wanted
from remuda.index.hits import none, side_by_side
from remuda.index.owners import Checking, Owners, Owning
from remuda.index.ranking import cnf_item_bounds, item_bounds, merits, with_best_first
from remuda.index.regions import Widened
from remuda.index.weighing import Weighed
from remuda.jit import kernel
from remuda.matchers import contract
from remuda.matchers.contract import CnfMatcher, Hits, Matcher, Ranked
from remuda.matchers.kernels.alone import own_alone
from remuda.matchers.kernels.best import Asked, Choice, Owned, choose
from remuda.matchers.kernels.programs import lacking, truth
from remuda.matchers.kernels.promises import choose_promised
from remuda.matchers.kernels.truth import Event, lay_out, no_event, take_away
from remuda.model.attributes import Attribute
from remuda.model.expressions import Expression
from remuda.model.lazily import lazily

_MANY = 1 << 10  # rows that are worth the way to a device


class Lazy:
    """A vocabulary that is read when it is first needed, and the encoder over it."""

    __slots__ = ("__dict__", "_encoder", "_read", "_texts", "reported")

    def __init__(self, read: Callable[[], Vocabulary], texts: MakeTexts = Texts) -> None:
        self._read, self._texts = read, texts
        self._encoder: Encoder | None = None
        self.reported = 0  # dimensions set aside that a warning has named

    @property
    def aside(self) -> dict[int, str]:
        """Why dimensions were set aside, by their first spaces."""
        return {} if self._encoder is None else self._encoder.aside

    @property
    def is_used(self) -> bool:
        """Whether events were encoded by it."""
        return self._encoder is not None

    @lazily
    def vocabulary(self) -> Vocabulary:
        return self._read()

    @property
    def encoder(self) -> Encoder:
        if self._encoder is None:  # two threads may both make one: they are the same
            self._encoder = Encoder(self.vocabulary, ElementIndex, self._texts)
        return self._encoder

    @lazily
    def attribute_of_dim(self) -> Ints:
        """The number of each dimension's attribute."""
        known = self.vocabulary
        found = [known.weighed[one.attribute] for one in known.dimensions]
        return frozen(np.array(found, np.int32))


class _Programs(NamedTuple):
    """What kernels try criteria by, one by one."""

    dim_of_space: Ints
    n_dims: int
    programs: Programs
    predicates: Predicates


@dataclass(frozen=True)
class Segment:
    """Criteria 0 to n - 1, planned, encoded and arranged; never changed."""

    # beside slots, which are faster, a dict for what is made lazily
    __slots__ = ("__dict__", "cnf", "dim_of_space", "home", "matcher", "plan", "words")
    plan: Plan
    matcher: Matcher
    cnf: CnfMatcher
    words: Lazy
    dim_of_space: Ints
    home: str | None  # the directory that it is saved in

    @classmethod
    def build(
        cls,
        expressions: Iterable[Expression],
        *,
        matcher: str,
        scalars: Collection[Attribute] = (),
        sample: Callable[[Encoder], EventBatch] | None = None,
        ranks: Callable[[], Ints] | None = None,
    ) -> Segment:
        """Plan and arrange the expressions; a sample of events to come, once there are numbers.

        `ranks` are those of their ids, by which ties are decided, once all expressions are read.
        """
        made, vocabulary = plan(
            expressions, takes_cnf=contract.has_own_cnf(matcher), scalars=scalars
        )
        words = Lazy(lambda: vocabulary)
        known = np.arange(made.n_criteria, dtype=np.int32) if ranks is None else ranks()
        return cls.over(made, words, matcher, known, sample=sample)

    @classmethod
    def over(
        cls,
        made: Plan,
        words: Lazy,
        matcher: str,
        ranks: Ints,
        stored: tuple[Matcher | None, CnfMatcher | None] = (None, None),
        home: str | None = None,
        sample: Callable[[Encoder], EventBatch] | None = None,
    ) -> Segment:
        """What is planned, arranged by the matcher of that name, or as it was stored."""
        conjunctions, cnf = stored
        if home is None:  # what is saved was so
            made = with_best_first(made, ranks)
        return cls(
            made,
            conjunctions or _built(made, words, matcher, ranks, sample),
            cnf or _built_cnf(made, matcher),
            words,
            frozen(made.conjunctions.dim_of_space()),
            home,
        )

    @property
    def encoder(self) -> Encoder:
        return self.words.encoder

    @lazily
    def widened(self) -> Widened:
        """What answers for regions."""
        return Widened(self.plan, self.words.vocabulary, type(self.matcher))

    @lazily
    def _owning(self) -> Owning:
        return Owning(self.plan)

    @lazily
    def _programs(self) -> _Programs:
        table = self.plan.conjunctions
        return _Programs(self.dim_of_space, table.n_dims, self.plan.programs, table.predicates)

    @lazily
    def _of_nothing(self) -> Hits:
        """What an event satisfies that has nothing that counts."""
        return self._matched(alone(np.empty(0, np.int32)))

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
        if contract.encoding(self.matcher) and len(portion) >= _MANY:
            columns = portion.columns(self.encoder, now)
            if columns is not None:
                return self.matcher.encode(columns)
        return portion.encode(self.encoder, now)

    def match(self, events: EventBatch) -> Hits:
        """The criteria that each event satisfies, each once, in any order."""
        is_nothing = len(events.starts) == 2 and not len(events.spaces)
        return self._of_nothing if is_nothing else self._matched(events)

    def match_one(self, spaces: Ints) -> Ints:
        """The criteria that one event satisfies, given its spaces, each once, in any order."""
        owning = self._owning
        if (
            not owning.plain
            and len(spaces)
            and contract.owning(self.matcher)
            and self.plan.cnf.n_rows == 0
        ):
            room = owning.lend_alone(self.dim_of_space)
            found = room.out[: self.matcher.match_owned(spaces, room.where)].copy()
            owning.alone.append(room)
            return found
        return self.match(alone(spaces)).rows

    def _matched(self, events: EventBatch) -> Hits:
        owning, hits = self._owning, self.matcher.match(events)
        if len(events.starts) == 2 and not owning.plain:
            hits = self._owned_alone(hits, events.spaces)
        else:
            hits = self._owned(hits, owning.clauses, events)
        if self.plan.cnf.n_rows == 0:
            return hits
        return side_by_side([hits, self._owned(self.cnf.match(events), owning.rows, events)])

    @property
    def adds_up(self) -> bool:
        """Whether `count` and `reach` are there: clauses are counted, and nothing is kept."""
        owning = self._owning
        sure = owning.clauses.once and not owning.doubtful and self.plan.cnf.n_rows == 0
        return sure and contract.counting(self.matcher)

    def count(self, events: EventBatch) -> Longs:
        """How many criteria each event satisfies."""
        assert contract.counting(self.matcher)
        return self.matcher.count(events, self._owning.clauses.weights)

    def reach(self, events: EventBatch) -> Longs:
        """How many of the events satisfy each criterion."""
        assert contract.counting(self.matcher)
        return self._owning.clauses.reach(self.matcher.reach(events))

    def match_among(self, events: EventBatch, places: Ints) -> Hits:
        """The same among a few criteria, each tried by itself."""
        starts, rows = _held_among(places, events.starts, events.spaces, self._programs)
        return Hits(starts, rows, len(places) * len(events))

    def lacking(self, events: EventBatch, places: Ints) -> Ints:
        """How many predicates more the first event must satisfy for each criterion to hold."""
        lacking: Ints = _lacking(places, events.starts, events.spaces, self._programs)
        return lacking

    def warm(self) -> None:
        """Do what the first question would have to wait for."""
        _ = self.encoder.texts
        _ = self._owning.clauses, self._owning.rows, self._owning.doubtful
        if contract.warming(self.matcher):
            self.matcher.warm()

    def stats(self) -> dict[str, Any]:
        """What the matcher chose, and why, if it chooses at all."""
        return {**self.matcher.stats()} if contract.describing(self.matcher) else {}

    @property
    def nbytes(self) -> int:
        """What the matchers take."""
        return self.matcher.nbytes + self.cnf.nbytes

    def best(
        self,
        events: EventBatch,
        wanted: Wanted,
        weighed: Weighed | None = None,
        bars: Bars | None = None,
    ) -> Hits:
        """The best criteria of each event, best first; none that is below its bar."""
        if wanted.n == 0 or self.plan.n_criteria == 0:
            return none(len(events), scored=True)
        ranked = self._ranked(events, wanted, weighed, bars)
        found = [Hits(one.starts, one.rows, one.candidates, one.scores) for one in ranked]
        if len(found) == 1 and not len(wanted.groups.starts):
            return found[0]
        return wanted.best(side_by_side(found))

    def _ranked(
        self, events: EventBatch, wanted: Wanted, weighed: Weighed | None, bars: Bars | None
    ) -> list[Ranked]:
        """The best of each matcher; what the first one reaches is the bar for the other."""
        choice = self._choice(wanted, weighed)
        of_matchers = [self._best_of(self.matcher, 0, events, choice, weighed, bars)]
        if self.plan.cnf.n_rows:
            if not len(wanted.groups.starts):
                reached = choosing.bars_of(of_matchers[0], wanted.priorities, wanted.n)
                bars = choosing.raised(bars, reached)
            choice = choice._replace(written=False)  # a row may be met by less than its best
            of_matchers.append(self._best_of(self.cnf, 1, events, choice, weighed, bars))
        return of_matchers

    def _choice(self, wanted: Wanted, weighed: Weighed | None) -> Choice:
        plan, bounds = self.plan, self.plan.bounds
        signed = bounds.negative and weighed is not None
        by_clauses = not signed and not len(wanted.priorities) and not len(wanted.groups.starts)
        return Choice(
            wanted.ranks,
            self._owning.absolute_bounds if signed else bounds.criteria,
            bounds.plain,
            not (len(plan.programs.value_weight) or self._owning.doubtful),
            bounds.written and not signed,
            wanted.priorities,
            wanted.alive,
            wanted.tagged,
            wanted.terms,
            wanted.moment,
            wanted.groups,
            wanted.heaps(),
            by_clauses,
            plan.programs,
            plan.conjunctions.predicates,
            self.dim_of_space,
            plan.conjunctions.n_dims,
        )

    def _best_of(
        self,
        matcher: Matcher | CnfMatcher,
        kind: int,
        events: EventBatch,
        choice: Choice,
        weighed: Weighed | None,
        bars: Bars | None,
    ) -> Ranked:
        """The best of those that one of the matchers finds."""
        owners = self._owning.rows if kind else self._owning.clauses
        bounds = self.plan.bounds.rows if kind else self.plan.bounds.clauses
        best_first = not kind and choice.by_clauses
        best_first = best_first and self._owning.best_first(choice.ranks)
        owned = Owned(owners.sole, owners.rows, bounds, best_first)
        questions = Asked(
            frozen(events.starts[:]),  # some come from Arrow: one kernel for all
            events.spaces,
            *((NO_LONGS, NO_INTS, NO_FLOATS, NO_FLOATS) if weighed is None else weighed[:4]),
            *((NO_FLOATS, NO_FLOATS) if bars is None else bars),
        )
        empty = self._owning.lend(choice, len(self.words.vocabulary.weighed))
        room = empty._replace(event=empty.event._replace(spaces=events.spaces))
        promises = None
        if choice.by_clauses and (kind or not matcher.features.takes_bounds):
            promises = self._owning.promises(self.words.attribute_of_dim)
            if promises is not None and kind:
                promises = promises._replace(exact=NO_BOOLS)
        if promises is None and contract.ranking(matcher):
            ranked = matcher.best(owned, choice, questions, room, self.words.attribute_of_dim)
        else:
            hits = matcher.match(events)
            hit_rows = hits.starts, hits.rows
            starts, rows, scores = (
                choose(*hit_rows, owned, choice, questions, room)
                if promises is None
                else choose_promised(*hit_rows, promises, owned, choice, questions, room)
            )
            ranked = Ranked(starts, rows, scores, hits.candidates, 0, 0)
        self._owning.give_back(empty)
        return ranked

    def _owned(self, hits: Hits, owners: Owners, events: EventBatch) -> Hits:
        """The owners of the clauses that were hit, checked where clauses are only necessary."""
        of_owners = owners.hit(hits)
        if not self._owning.doubtful:
            return of_owners
        room = self._owning.lend_to_check()
        starts, rows = _checked(
            of_owners.starts, of_owners.rows, self.plan.checked, events.starts, events.spaces, room,
            self._programs,
        )  # fmt: skip
        self._owning.checking.append(room)
        return Hits(starts, rows, of_owners.candidates)

    def _owned_alone(self, hits: Hits, spaces: Ints) -> Hits:
        """The same for one event."""
        room = self._owning.lend_alone(self.dim_of_space)
        n = own_alone(hits.rows, spaces, room.where)
        found = Hits(np.array([0, n]), room.out[:n].copy(), hits.candidates)
        self._owning.alone.append(room)
        return found


def _built(
    made: Plan,
    words: Lazy,
    matcher: str,
    ranks: Ints,
    sample: Callable[[Encoder], EventBatch] | None,
) -> Matcher:
    """The matcher of that name over the conjunctions, with what it takes beside them."""
    kind = contract.conjunction_matcher(matcher)
    options = dict[str, Any](contract.parameters_of(matcher))
    if kind.features.takes_merits:
        options["merits"] = merits(made, ranks)
    if kind.features.takes_bounds:
        options["bounds"] = item_bounds(made)
    if kind.features.takes_sample and sample is not None:
        options["sample"] = sample(words.encoder)
    return kind.build(made.conjunctions, **options)


def _built_cnf(made: Plan, matcher: str) -> CnfMatcher:
    kind = contract.cnf_matcher(matcher)
    options = {"bounds": cnf_item_bounds(made)} if kind.features.takes_bounds else {}
    return kind.build(made.cnf, **options)


@kernel
def _checked(
    found_starts: Longs,
    found: Ints,
    checked: Bools,
    event_starts: Longs,
    spaces: Ints,
    room: Checking,
    criteria: _Programs,
) -> tuple[Longs, Ints]:
    """What was found, less the rows that are to be checked and whose programs do not hold.

    The room is clean before and after: an event pays for its own dimensions alone.
    """
    dim_of_space, _, programs, predicates = criteria
    starts, rows = np.zeros(len(found_starts), np.int64), np.empty(len(found), np.int32)
    laid_out, stack, n = Event(spaces, room.first, room.last), room.stack, 0
    for event in range(len(found_starts) - 1):
        begin, end = event_starts[event], event_starts[event + 1]
        doubtful = False
        for i in range(found_starts[event], found_starts[event + 1]):
            row = found[i]
            if checked[row]:
                if not doubtful:
                    lay_out(laid_out, begin, end, dim_of_space)
                    doubtful = True
                if not truth(row, programs, stack, predicates, laid_out):
                    continue
            rows[n] = row
            n += 1
        if doubtful:
            take_away(laid_out, begin, end, dim_of_space)
        starts[event + 1] = n
    return starts, rows[:n].copy()


@kernel
def _held_among(
    places: Ints, event_starts: Longs, spaces: Ints, criteria: _Programs
) -> tuple[Longs, Ints]:
    """Those of the places whose programs hold, event by event."""
    dim_of_space, n_dims, programs, predicates = criteria
    starts = np.zeros(len(event_starts), np.int64)
    rows = np.empty(len(places), np.int32)
    laid_out = no_event(spaces, n_dims)
    stack = np.empty(2 * _longest(places, programs.starts) + 2, np.int32)
    n = 0
    for event in range(len(event_starts) - 1):
        if n + len(places) > len(rows):
            rows = np.concatenate((rows, np.empty(len(rows) + len(places), np.int32)))
        begin, end = event_starts[event], event_starts[event + 1]
        lay_out(laid_out, begin, end, dim_of_space)
        for place in places:
            rows[n] = place
            n += truth(place, programs, stack, predicates, laid_out)
        take_away(laid_out, begin, end, dim_of_space)
        starts[event + 1] = n
    return starts, rows[:n].copy()


@kernel
def _lacking(places: Ints, event_starts: Longs, spaces: Ints, criteria: _Programs) -> Ints:
    """How many predicates more the first event must satisfy for each place, NEVER at most."""
    dim_of_space, n_dims, programs, predicates = criteria
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


class ElementIndex:
    """What is asked of elements, as a segment: all that criteria ask of one list is asked once."""

    def __init__(self, expressions: Sequence[Expression]) -> None:
        self.segment = Segment.build(expressions, matcher="auto")

    def counts(self, elements: list[Any], now: int) -> tuple[Longs, Longs]:
        """The expressions that elements satisfy, and how many elements satisfy each."""
        found = self.segment.match(self.segment.encoder.encode(elements, now))
        which, counts = np.unique(found.rows, return_counts=True)
        return which.astype(np.int64), counts.astype(np.int64)
