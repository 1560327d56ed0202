"""Indexes: criteria that come and go, and can be asked which of them an event satisfies.

A change makes a new state from the old one and puts it in its place, so that a reader sees the
one or the other. New criteria wait in a small tail; a full tail becomes a segment, and segments
of like size become a larger one in the background.
"""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from os import PathLike
from typing import Any, NamedTuple, TypeVar

import numpy as np
import pyarrow as pa

from remuda.arrays import Longs, frozen
from remuda.encoding.encoder import Encoder
from remuda.encoding.events import AT_ONCE, Fields, Portion, Source
from remuda.encoding.plan import leaves_of
from remuda.encoding.regions import Region
from remuda.encoding.table import EventBatch
from remuda.encoding.vocabulary import Dimension, View
from remuda.errors import CriterionNotFound, DuplicateCriterion, InvalidCriterion, StorageError
from remuda.index import region_answers, storage
from remuda.index.answers import Answer
from remuda.index.choosing import NO_FLOATS, Bars, bars_of, best, raised
from remuda.index.forking import in_child
from remuda.index.hits import joined, none, side_by_side
from remuda.index.living import Living
from remuda.index.matches import Match, Matches
from remuda.index.merged_parts import merged, worth_merging
from remuda.index.nearest import Near, shortfall
from remuda.index.portions import Size, in_order, n_threads, sharing
from remuda.index.question import By, EventWeights, Now, Question, Tags, counted
from remuda.index.region_answers import Undecided
from remuda.index.roster import Column, Roster
from remuda.index.segment import Segment
from remuda.index.state import Ids, Late, Names, Part, Plain, State, Tail
from remuda.index.stores import Store, store_of
from remuda.index.trees import named_trees, read_trees, written_trees
from remuda.index.trial import Tried, blamed, refuse_trees, try_out
from remuda.index.weighing import Weighing
from remuda.language.criterion import Criterion
from remuda.language.json_form import read_event
from remuda.language.text import parse
from remuda.matchers.contract import Chosen, Hits, check_name, conjunction_matcher
from remuda.model.attributes import Attribute
from remuda.model.binding import bound
from remuda.model.conditions import OF_LACK, AnyElement, EveryElement
from remuda.model.explanations import Explanation
from remuda.model.expressions import Expression, Predicate, clock
from remuda.model.hierarchies import Hierarchies
from remuda.model.terms import facts_of
from remuda.model.weights import Weights

T = TypeVar("T")

Where = Expression | str | Mapping[str, Any]

_SAMPLE = 1 << 16  # events of a sample that are looked at
_TAIL = 192  # criteria that wait before they become a segment
_TAIL_PARTS = 1 << 13  # parts of these: they are evaluated one by one
_SMALL = _TAIL_PARTS // _TAIL  # parts of a criterion of which a whole tail is not too much


class Published(NamedTuple):
    """A version in a store, and the state that it is of."""

    store: Store
    version: str
    state: State


class Index:
    """Criteria under their ids. Many threads may search while others change it."""

    def __init__(
        self,
        *,
        matcher: str = "auto",
        live: bool = False,
        scalars: Iterable[str] = (),
        hierarchies: Hierarchies | None = None,
    ) -> None:
        chosen = Chosen.of(matcher)
        if live and not chosen.live:
            chosen = Chosen.of(str(replace(chosen, live=True)))
        self.matcher, self.live = str(chosen), chosen.live
        self.scalars = frozenset(map(Attribute.parse, scalars))
        self.hierarchies = named_trees(hierarchies)
        self._state = State()
        self._living: Living | None = None  # which nobody else changes
        self._published: Published | None = None
        self._keep_alone()

    @classmethod
    def build(
        cls,
        criteria: Iterable[Criterion],
        *,
        matcher: str = "auto",
        live: bool = False,
        scalars: Iterable[str] = (),
        hierarchies: Hierarchies | None = None,
        sample: Any = None,
    ) -> Index:
        """Index the criteria at once; `scalars` are attributes that are never lists.

        A matcher may be named with parameters of its paper: `betree(max_cap=20)`. With `live`,
        `betree`, `pst-bloom` and `pst-hash` keep one tree that changes in place (docs/live.md).

        `hierarchies` are the trees that criteria name: `attr("city").under("geo", "IN")`. They are
        kept with the index, for what comes later and when it is saved.

        A `sample` of the events to come, in any form that `match_many` takes, makes `auto` and
        the PS-Trees faster: criteria hang where such events seldom look. A few thousand suffice.
        """
        index = cls(matcher=matcher, live=live, scalars=scalars, hierarchies=hierarchies)
        new = [one.bound(index.hierarchies) for one in _given(criteria)]
        if index.live:
            index._state = index._grown(
                State(next_order=len(new)), map(Late, itertools.count(), new)
            )
        elif new:
            part = index._part(new, np.arange(len(new), dtype=np.int64), sample)
            index._state = State((part,), next_order=len(new))
        return index

    def __copy__(self) -> Index:
        """The same criteria; what changes in one does not in the other."""
        other = object.__new__(type(self))
        other.__dict__.update(self.__dict__)
        other._living = None
        other._keep_alone()
        return other

    def __len__(self) -> int:
        return len(self._state)

    def __contains__(self, id: object) -> bool:
        return isinstance(id, str) and self._state.find(id) is not None

    def __iter__(self) -> Iterator[Criterion]:
        return iter(self._state.criteria())

    def __getitem__(self, id: str) -> Criterion:
        state = self._state
        return state.get(_found(state, id)).criterion

    @property
    def parts(self) -> tuple[Part, ...]:
        """The segments of this moment with their rosters, and the tail as one more."""
        return self._parts(self._state)

    def add(self, criteria: Criterion | Iterable[Criterion]) -> None:
        """One criterion more, or many in one step; DuplicateCriterion if an id is taken."""
        new = try_out(_given(criteria), self.hierarchies)
        with self._writing:
            state = self._state
            for criterion in new:
                if state.find(criterion.id) is not None:
                    raise DuplicateCriterion(criterion.id)
            orders = range(state.next_order, state.next_order + len(new))
            self._change(state, [], [*map(Late, orders, new)])

    def update(self, criteria: Criterion | Iterable[Criterion]) -> None:
        """Put each criterion in the place of the one with its id, or add it; all in one step."""
        new = try_out(_given(criteria), self.hierarchies)
        with self._writing:
            state = self._state
            wheres = [state.find(criterion.id) for criterion in new]
            there = [where for where in wheres if where is not None]
            fresh = itertools.count(state.next_order)
            orders = [next(fresh) if where is None else state.order(where) for where in wheres]
            self._change(state, there, [*map(Late, orders, new)])

    def remove(self, *ids: str) -> None:
        """Take criteria away in one step; CriterionNotFound if there is no such one."""
        with self._writing:
            state = self._state
            self._change(state, [_found(state, name) for name in dict.fromkeys(ids)], [])

    def enable(self, *ids: str) -> None:
        """Switch criteria on."""
        self._switch(ids, enabled=True)

    def disable(self, *ids: str) -> None:
        """Switch criteria off: they stay, and hold for no event."""
        self._switch(ids, enabled=False)

    def _switch(self, ids: Iterable[str], *, enabled: bool) -> None:
        with self._writing:
            self.update([replace(self[name], enabled=enabled) for name in dict.fromkeys(ids)])

    def ids(self, *, tags: Tags = None) -> Ids:
        """The ids, in insertion order; with `tags`, of criteria that have any of them."""
        state = self._state
        positions = state.positions(Question.of(tags=tags).tags)
        return Ids(Names(state).at(positions), positions)

    def documents(self) -> Column[bytes]:
        """The criteria as JSON texts, in insertion order."""
        state = self._state
        late = [one.criterion.document() for one in state.tail]
        arrays = [part.roster.documents() for part in state.parts]
        every = pa.concat_arrays([*arrays, pa.array(late, pa.large_binary())])
        return Column(every.take(pa.array(state.positions())))

    def attributes(self) -> list[str]:
        """The paths that the criteria look at, in code-point order."""
        return sorted(map(str, _attributes(self._state)))

    def fields(self) -> frozenset[str] | None:
        """The fields of events that the criteria look at; None where they look at whole events."""
        return _fields(self._state)

    def field_names(self) -> set[str]:
        """Every name in those paths, and in those that are looked at within elements of lists."""
        state = self._state
        paths = _attributes(state)
        pending = [one.condition for one in _dimensions(state)]
        pending += [one.condition for one in _late_leaves(state)]
        while pending:
            condition = pending.pop()
            if isinstance(condition, AnyElement | EveryElement):
                for leaf in leaves_of(condition.expression):
                    paths.update(facts_of(leaf.term).attributes)
                    pending.append(leaf.condition)
        return {name for path in paths for name in path.names}

    def tells_null_from_absent(self) -> bool:
        """Whether some criterion does: a table must then keep what a map lacks apart from null."""
        return _tells_null_from_absent(self._state)

    def match(self, event: Any, *, tags: Tags = None, now: Now = None) -> list[str]:
        """The ids of the criteria that the event satisfies, in insertion order.

        With `tags`, only of criteria that have any of them.
        """
        state, question, event = self._state, Question.of(now, tags), _event(event)
        parts, tail = state.parts, state.tail
        hits: list[tuple[int, str]] = []
        if tail.made is None:
            try:
                hits = tail.satisfied(event, question) if tail.late else []
            except MemoryError:
                raise
            except Exception:
                parts = self._parts(state)
        else:
            parts = (*parts, tail.made)
        if len(parts) == 1 and not hits and (roster := parts[0].roster).ascends:
            rows = parts[0].match_one(event, question)
            return roster.names(np.sort(rows) if len(rows) > 1 else rows)
        for part in parts:
            rows = part.match_one(event, question)
            if len(rows):
                orders = part.roster.orders[rows].tolist()
                hits += zip(orders, part.roster.names(rows), strict=True)
        return [name for _, name in sorted(hits)]

    def match_json(self, event: str | bytes, *, tags: Tags = None, now: Now = None) -> list[str]:
        """The same for an event in JSON text; ParseError where it is not JSON."""
        return self.match(read_event(event), tags=tags, now=now)

    def match_many(
        self, events: Any, *, tags: Tags = None, now: Now = None, threads: int | None = None
    ) -> Matches:
        """The same for many events.

        They are a list or an iterator of objects, an Arrow table, batch or stream, a pandas or
        Polars frame, JSON lines as bytes, or columns by their names that lie on a CUDA device. As
        many `threads` share the work as there are cores, or as the environment variable
        REMUDA_THREADS says.
        """
        return self._all(events, Question.of(now, tags), threads)

    def top(
        self,
        event: Any,
        n: int,
        *,
        weights: Weights = None,
        by: By = "score",
        per: str | None = None,
        tags: Tags = None,
        now: Now = None,
    ) -> list[Match]:
        """The n best by score, ties by id in code-point order.

        `weights` are the event's: by attribute, or by value of one (`{"state": {"CA": 0.9}}`).
        `by="priority"` puts a criterion's priority before its score; with `per="advertiser"` they
        are the n best of each group, the tag `advertiser:acme` being that of the group acme.
        """
        if weights is not None and not isinstance(weights, Mapping):
            raise TypeError(
                f"an event's weights are by attribute, such as {{'age': 2}}: {weights!r}"
            )
        question = Question.of(now, tags, counted(n), weights, by, per)
        names = Names(self._state)
        hits = self._finding(names, question)(Portion([_event(event)]))
        return Matches.of(hits, names).best(0)

    def top_many(
        self,
        events: Any,
        n: int,
        *,
        weights: EventWeights = None,
        by: By = "score",
        per: str | None = None,
        tags: Tags = None,
        now: Now = None,
        threads: int | None = None,
    ) -> Matches:
        """The n best of each event; events and threads are those of `match_many`.

        `weights` may also be a list, one for each event, or the name of a column of maps or
        structs (of objects: of a field); `by` and `per` are those of `top`.
        """
        return self._all(events, Question.of(now, tags, counted(n), weights, by, per), threads)

    def count_many(
        self, events: Any, *, tags: Tags = None, now: Now = None, threads: int | None = None
    ) -> Longs:
        """How many criteria each event satisfies."""
        state, question = self._state, Question.of(now, tags)

        def count(portion: Portion) -> Longs:
            counts = np.zeros(len(portion), np.int64)
            for part in self._answering(state, portion):
                counts += part.count(portion, question)
            return counts

        tallies = self._tallied(state, events, question, count, threads)
        return np.concatenate([np.empty(0, np.int64), *tallies])

    def reach(
        self, events: Any, *, tags: Tags = None, now: Now = None, threads: int | None = None
    ) -> Longs:
        """How many of the events each criterion holds for, in insertion order."""
        state, question = self._state, Question.of(now, tags)
        reach = np.zeros(len(Names(state)), np.int64)

        def count(portion: Portion) -> Longs:
            parts = self._answering(state, portion)
            counts = [part.reach(portion, question) for part in parts]
            return np.concatenate([np.empty(0, np.int64), *counts])

        for counts in self._tallied(state, events, question, count, threads):
            reach += counts
        return reach[state.positions()]

    def ask(
        self, events: Any, question: Question, *, threads: int | None = None
    ) -> Iterator[Answer]:
        """The answers to a question portion by portion, so few events that they take little memory.

        Events are those of `match_many`, or portions that were made of them.
        """
        names = Names(self._state)
        size = Size.few(len(names))
        for portion, hits in self._portioned(events, self._finding(names, question), threads, size):
            size.learn(len(portion), len(hits.rows))
            yield Answer(portion, Matches.of(hits, names, portion.errors))

    def _all(self, events: Any, question: Question, threads: int | None) -> Matches:
        """The whole answer."""
        names = Names(self._state)
        errors, of_portions = [], []
        fields = partial(_fields, names.state) if question.weights is None else lambda: None
        find = self._finding(names, question)
        for portion, hits in self._portioned(events, find, threads, fields=fields):
            errors += [] if portion.errors is None else [portion.errors]
            of_portions.append(hits)
        hits = joined(of_portions or [none(0, scored=question.n is not None)])
        return Matches.of(hits, names, pa.concat_arrays(errors) if errors else None)

    def _portioned(
        self,
        events: Any,
        work: Callable[[Portion], T],
        threads: int | None,
        size: Size | None = None,
        fields: Fields = lambda: None,
    ) -> Iterator[tuple[Portion, T]]:
        """What the work makes of the events, portion by portion, as suits the matcher."""
        source, n = Source(_event(events), fields), n_threads(threads)
        features = conjunction_matcher(self.matcher).features
        n = sharing(source, min(n, features.callers or n))
        size = size or Size.shared(source, n, features.at_once or AT_ONCE)
        return in_order(source, work, n, size)

    def _tallied(
        self,
        state: State,
        events: Any,
        question: Question,
        count: Callable[[Portion], Longs],
        threads: int | None,
    ) -> Iterator[Longs]:
        """Counts of portion after portion, of few events where hits must be kept to be counted."""
        adds_up = all(part.adds_up(question) for part in state.parts)
        size = None if adds_up else Size.counted(len(state))
        fields = partial(_fields, state)
        for portion, counts in self._portioned(events, count, threads, size, fields):
            if size is not None:
                size.learn(len(portion), int(counts.sum()))
            yield counts

    def _finding(self, names: Names, question: Question) -> Callable[[Portion], Hits]:
        """What finds the positions that answer the question about some events."""
        state = names.state

        def find(portion: Portion) -> Hits:
            parts = self._answering(state, portion)
            if not parts:
                return none(len(portion), scored=question.n is not None)
            if question.n is None:
                return side_by_side([part.hits(portion, question) for part in parts], names.starts)
            return _best(parts, portion, question, names)

        return find

    def nearest(self, event: Any, n: int, *, tags: Tags = None, now: Now = None) -> list[Near]:
        """The n criteria that fail by the fewest predicates, and those predicates.

        Ties go by id. Those that hold are not among them, nor are those that never could.
        """
        question, n = Question.of(now, tags), counted(n)
        near = []
        for part in self.parts:
            batch = part.segment.encoder.encode((event,), question.now)
            for lacking, place in part.nearest(batch, n, question):
                near.append((lacking, part.roster.ids[place], part, place))
        near.sort(key=lambda candidate: candidate[:2])
        return [
            Near(name, shortfall(part.roster.criteria[place].expression, event, question.now))
            for _, name, part, place in near[:n]
        ]

    def possible(
        self,
        where: Where | Iterable[Where],
        *,
        missing: Iterable[str] = (),
        present: Iterable[str] = (),
        tags: Tags = None,
        now: Now = None,
    ) -> Matches:
        """The criteria that some event within a region satisfies, or within each of several.

        A region is a conjunction of conditions on plain attributes, as text, as an expression or
        as JSON. What it does not mention may be any scalar or missing, but for what is said to be
        `missing` or `present`. `Matches.exact` says of each region whether its answer is exact;
        otherwise it may name too many.
        """
        return self._in_regions(region_answers.possible, where, missing, present, tags, now)

    def certain(
        self,
        where: Where | Iterable[Where],
        *,
        missing: Iterable[str] = (),
        present: Iterable[str] = (),
        tags: Tags = None,
        now: Now = None,
    ) -> Matches:
        """The criteria that every event within a region satisfies, regions as for `possible`.

        Where an answer is not exact, it may name too few.
        """
        return self._in_regions(region_answers.certain, where, missing, present, tags, now)

    def _in_regions(
        self,
        answer: region_answers.Answering,
        where: Where | Iterable[Where],
        missing: Iterable[str],
        present: Iterable[str],
        tags: Tags,
        now: Now,
    ) -> Matches:
        """What the parts answer about one region or many."""
        state, question = self._state, Question.of(now, tags)
        several = [where] if isinstance(where, Expression | str | Mapping) else where
        absent, there = _paths(missing, "missing"), _paths(present, "present")
        regions = [
            Region.where(bound(_expression(one), self.hierarchies), question.now, absent, there)
            for one in several
        ]
        parts = self._parts(state)
        return region_answers.answered(answer, parts, Names(state), regions, question)

    def undecided(
        self, event: Any, unknown: Iterable[str], *, tags: Tags = None, now: Now = None
    ) -> list[Undecided]:
        """The criteria that depend on attributes of the event that are not known, and on which.

        What is unknown may be any scalar or missing; all else is as in the event.
        """
        question = Question.of(now, tags)
        region = Region.around(event, _paths(unknown, "unknown"), question.now)
        return region_answers.undecided(self.parts, region, question)

    def explain(self, event: Any, id: str, *, now: Now = None) -> Explanation:
        """Why the criterion holds for the event, or why not."""
        return self[id].explain(event, now=now)

    def warm(self) -> None:
        """Do ahead what the first question would have to wait for: with `gpu`, the upload."""
        for part in self.parts:
            part.segment.warm()

    def stats(self) -> dict[str, Any]:
        """Sizes: criteria, clauses, dimensions, spaces, bytes, matcher, fill of tail and graves.

        `chosen` says for each segment which layout the matcher took, and why; `set_aside` which
        criteria fail, so that they match nothing, and why.
        """
        state = self._state
        sizes = [part.stats() for part in state.parts]
        return {
            "criteria": len(state),
            "segments": len(state.parts),
            "tail": len(state.tail),
            "tombstones": sum(len(part.roster) - len(part) for part in state.parts),
            **{
                name: sum(one[name] for one in sizes)
                for name in ("clauses", "dimensions", "spaces", "bytes")
            },
            "matcher": self.matcher,
            "chosen": [part.chosen() for part in state.parts],
            "set_aside": self._failures(state),
        }

    def _failures(self, state: State) -> dict[str, str]:
        """The criteria that are set aside, and why."""
        reasons = {late.criterion.id: late.failures[0] for late in state.tail if late.failures}
        parts = state.parts if state.tail.made is None else (*state.parts, state.tail.made)
        for part in parts:
            aside = part.aside()
            if aside is not None:
                places = part.places()[aside[part.places()]]
                reasons |= dict.fromkeys(part.roster.names(places.astype(np.int32)), part.why())
        return reasons

    def save(self, path: str | PathLike[str]) -> str:
        """Write a new version into a directory or at a URI; only what changed. Its name."""
        home = store_of(path)
        with self._writing:
            self._state = replace(self._state, parts=self._parts(self._state), tail=Tail())
            state = self._state
        facts = {"matcher": self.matcher, "scalars": sorted(map(str, self.scalars))}
        facts |= written_trees(self.hierarchies)
        version = storage.save(state, facts, home)
        self._published = Published(home, version, state)
        return version

    @property
    def version(self) -> str | None:
        """The name of the version that was loaded or saved last."""
        return self._published.version if self._published else None

    def refresh(self) -> bool:
        """Take over the version that was published last; whether it is another one.

        StorageError where the index is not from a directory, or was changed since.
        """
        with self._writing:
            old = self._published
            if old is None:
                raise StorageError("refresh", "this index was neither loaded nor saved")
            if self._state is not old.state:
                raise StorageError(str(old.store), "this index has changes that were not saved")
            version = storage.current_version(old.store)
            if version == old.version:
                return False
            known = {part.segment.home: part for part in self._state.parts if part.segment.home}
            state, found = storage.load(old.store, version, known=known, matcher=self.matcher)
            self.hierarchies = read_trees(found.facts)
            state = self._grown(state, state.late()) if self.live else state
            self._state, self._published = state, Published(old.store, version, state)
            return True

    def merge(self) -> None:
        """Make one segment of all there is, and wait for it."""
        with self._writing:
            state = self._state
            if self.live:
                self._state = self._grown(state, state.late())
                return
            how = self.matcher, self.hierarchies
            parts = (merged(self._parts(state), *how),) if len(state) else ()
            self._state = replace(state, parts=parts, tail=Tail())

    def _keep_alone(self) -> None:
        self._alone()
        in_child(self, Index._alone)

    def _alone(self) -> None:
        """No other thread changes the index, or merges."""
        self._writing = threading.RLock()
        self._arranging = threading.Lock()  # of a tail: other threads wait rather than do it too
        self._merging: threading.Thread | None = None

    def _change(self, state: State, gone: Sequence[tuple[int, int]], late: list[Late]) -> None:
        """Let the state be followed by one without some criteria and with others; have the lock."""
        if not self.live:
            new = [one.criterion for one in late]
            kept = state.without(gone)
            self._follow(kept.plus(late) if late else kept, new)
            return
        names = [state.get(where).criterion.id for where in gone]
        next_order = max([state.next_order, *(one.order + 1 for one in late)])
        if self._living is None or self._living.is_stale:
            state = self._grown(state, state.late())
        assert self._living is not None
        self._state = State((self._living.change(names, late),), next_order=next_order)

    def _grown(self, state: State, late: Iterable[Late]) -> State:
        """The state with one live tree of its criteria."""
        self._living = Living(self.matcher, self.scalars, late)
        return State((self._living.now(),), next_order=state.next_order)

    def _follow(self, state: State, new: Sequence[Criterion] = ()) -> None:
        """Put a new state in the place of the old; the writer's lock is held."""
        before = self._state.parts
        if len(state.tail) >= _TAIL or (_any_large(new) and _is_heavy(state.tail)):
            state = replace(state, parts=self._parts(state), tail=Tail())
            self._warm(state.parts[-1])
        self._state = state
        changed = state.parts is not before
        if changed and self._merging is None and worth_merging(state.parts):
            self._merging = threading.Thread(target=self._merge_all, daemon=True)
            self._merging.start()

    def _merge_all(self) -> None:
        """Merge segments of like size until there is nothing more to merge."""
        try:
            while True:
                with self._writing:
                    sources, trees = worth_merging(self._state.parts), self.hierarchies
                    if not sources:
                        self._merging = None  # the next change may begin anew
                        return
                made = merged(sources, self.matcher, trees) if any(map(len, sources)) else None
                if made is not None:
                    self._warm(made)
                with self._writing:
                    self._replace(sources, made)
        except BaseException:
            self._merging = None
            raise

    def _warm(self, part: Part) -> None:
        """Let no question wait for a new part, where questions are asked at all."""
        if any(one.segment.words.is_used for one in self._state.parts):
            with suppress(Exception):  # who asks is told
                part.segment.warm()

    def _replace(self, sources: Sequence[Part], made: Part | None) -> None:
        """Put the merged part in the place of its sources, less what was removed meanwhile."""
        segments = {id(part.segment) for part in sources}
        kept = [part for part in self._state.parts if id(part.segment) not in segments]
        still = {
            order
            for part in self._state.parts
            if id(part.segment) in segments
            for order in part.roster.orders[part.places()].tolist()
        }
        if made is not None:
            alive = np.isin(made.roster.orders, np.array(sorted(still), np.int64))
            if not alive.all():
                made = replace(made, alive=frozen(alive))
            if alive.any():
                kept.append(made)
        self._state = replace(self._state, parts=tuple(kept))

    def _part_of(self, late: Sequence[Late]) -> Part:
        orders = np.array([one.order for one in late], np.int64)
        return self._part([one.criterion for one in late], orders)

    def _part(self, criteria: Sequence[Criterion], orders: Longs, sample: Any = None) -> Part:
        expressions = [criterion.expression for criterion in criteria]
        roster = Roster.of(criteria, orders)
        try:
            segment = Segment.build(
                expressions, matcher=self.matcher, scalars=self.scalars, sample=_sampled(sample),
                ranks=lambda: roster.ranks,
            )  # fmt: skip
        except InvalidCriterion as error:
            raise blamed(error, criteria) from None
        if not self.hierarchies:
            refuse_trees(segment.words.vocabulary, criteria)
        return Part(segment, roster)

    def _parts(self, state: State) -> tuple[Part, ...]:
        """The parts, and the tail as one more."""
        if not state.tail:
            return state.parts
        with self._arranging:
            if state.tail.made is None:
                state.tail.made = self._part_of(state.tail.late)
            return (*state.parts, state.tail.made)

    def _answering(self, state: State, portion: Portion) -> Sequence[Part | Plain]:
        """Those who answer for some events: the parts and the tail, which may be one or not."""
        if state.tail and state.tail.plain(portion):
            return (*state.parts, Plain(state.tail, lambda: self._parts(state)[-1]))
        return self._parts(state)


def load(
    path: str | PathLike[str],
    *,
    version: str | None = None,
    segments: Collection[str] | None = None,
    verify: bool = True,
    matcher: str | None = None,
    live: bool = True,
) -> Index:
    """Open a saved index, by default its newest version; its arrays are memory-mapped.

    It is in a directory, or at a URI, of which this machine then keeps a copy (REMUDA_CACHE).
    With `segments`, only those are opened; with `matcher`, they are arranged by that one, which
    takes a while where they were saved with another. The structure of all arrays is checked always,
    the checksums of their files unless `verify` is off. An index that was live is so again, which
    takes as long as building it; with `live` off it is not.
    """
    home = store_of(path)
    if matcher is not None:
        check_name(matcher)
    state, found = storage.load(home, version, segments, verify=verify, matcher=matcher, live=live)
    facts, chosen = found.facts, Chosen.of(matcher or found.facts["matcher"])
    how = {"matcher": str(replace(chosen, live=chosen.live and live)), "scalars": facts["scalars"]}
    index = Index(**how, hierarchies=read_trees(facts))
    index._state = index._grown(state, state.late()) if index.live else state
    index._published = Published(home, found.name, index._state)
    return index


def _best(
    parts: Sequence[Part | Plain], portion: Portion, question: Question, names: Names
) -> Hits:
    """The best of all parts; what one has reached is the bar for the next."""
    n, weighing = question.n or 0, Weighing.of(portion, question)
    bars: Bars | None = None
    of_parts: list[Hits] = []
    for part in parts:
        hits = part.best(portion, question, weighing, bars)
        of_parts.append(hits)
        if (
            question.per is None
            and isinstance(part, Part)
            and part.chooses
            and n
            and len(parts) > 1
        ):
            by_priority = question.by == "priority"
            priorities = part.roster.priorities if by_priority else NO_FLOATS
            bars = raised(bars, bars_of(hits, priorities, n))
    if len(parts) == 1 and parts[0].chooses:
        return of_parts[0]
    hits = side_by_side(of_parts, names.starts)
    priorities = names.priorities(hits.rows) if question.by == "priority" else NO_FLOATS
    groups = names.groups(hits.rows, question)
    return best(hits, n, names.ranks(hits.rows), priorities, groups)


def _sampled(sample: Any) -> Callable[[Encoder], EventBatch] | None:
    """What encodes the sample, once there are numbers."""
    portion = None if sample is None else Source(sample).take(_SAMPLE)
    return None if portion is None else lambda encoder: portion.encode(encoder, clock(None))


def _attributes(state: State) -> set[Attribute]:
    every = (part.segment.words.vocabulary.attributes for part in state.parts)
    return set().union(*every, *(facts_of(one.term).attributes for one in _late_leaves(state)))


def _fields(state: State) -> frozenset[str] | None:
    if _tells_null_from_absent(state):
        return None
    fields = [one.field for one in _attributes(state)]
    return None if None in fields else frozenset(one for one in fields if one is not None)


def _tells_null_from_absent(state: State) -> bool:
    return any(
        one.view is View.LACK or facts_of(one.term).tells_lack for one in _dimensions(state)
    ) or any(
        type(one.condition) in OF_LACK or facts_of(one.term).tells_lack
        for one in _late_leaves(state)
    )


def _dimensions(state: State) -> Iterator[Dimension]:
    """The dimensions of all parts."""
    for part in state.parts:
        yield from part.segment.words.vocabulary.dimensions


def _late_leaves(state: State) -> Iterator[Predicate]:
    """The predicates of the tail."""
    for late in state.tail:
        yield from leaves_of(late.criterion.expression)


def _any_large(criteria: Iterable[Criterion]) -> bool:
    return any(one.n_parts > _SMALL for one in criteria)


def _is_heavy(tail: Iterable[Late]) -> bool:
    return sum(late.criterion.n_parts for late in tail) > _TAIL_PARTS


def _expression(where: Where) -> Expression:
    if isinstance(where, Expression):
        return where
    if isinstance(where, str):
        return parse(where)
    return Criterion.from_json({"id": "region", **where}).expression


def _paths(paths: Iterable[str], what: str) -> list[Attribute]:
    if isinstance(paths, str):
        raise TypeError(f"{what} is a set of paths, such as {{{paths!r}}}")
    return [Attribute.parse(path) for path in paths]


def _event(event: Any) -> Any:
    """What is matched; an expression is not, and would silently match nothing."""
    if isinstance(event, Expression):
        raise TypeError("an expression is no event: ask possible() or certain() about a region")
    return event


def _found(state: State, id: str) -> tuple[int, int]:
    where = state.find(id)
    if where is None:
        raise CriterionNotFound(id)
    return where


def _given(criteria: Criterion | Iterable[Criterion]) -> tuple[Criterion, ...]:
    """One or many as many, no id twice."""
    if isinstance(criteria, Tried):  # a caller's, who has tried them before writing them down
        found: tuple[Criterion, ...] = criteria
    else:
        found = (criteria,) if isinstance(criteria, Criterion) else tuple(criteria)
    _no_duplicates(found)
    return found


def _no_duplicates(criteria: Sequence[Criterion]) -> None:
    seen: set[str] = set()
    for criterion in criteria:
        if criterion.id in seen:
            raise DuplicateCriterion(criterion.id)
        seen.add(criterion.id)
