"""Settings: a workload drawn and encoded, what has happened to it, and what it must be answered."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from benchmarks.duplicates import repeated
from benchmarks.measure import WrongAnswer
from benchmarks.papers.counting import COUNTS
from remuda.arrays import Ints, Longs, Ragged, frozen, starts_of, take_rows
from remuda.encoding.events import Portion
from remuda.encoding.generated import cnf_table, dnf_table, event_batch
from remuda.encoding.table import ClauseTable, CnfTable, EventBatch
from remuda.index.choosing import Wanted
from remuda.index.segment import Segment
from remuda.index.weighing import Weighed, Weighing
from remuda.matchers.betree.tree import BETree
from remuda.matchers.contract import Literal, cnf_matcher, conjunction_matcher
from remuda.matchers.pstbloom import PSTBloom
from remuda.matchers.psthash import PSTHash
from remuda.workload import KINDS
from remuda.workload import begen as classes
from remuda.workload.begen import BEGen, Loosening
from remuda.workload.columns import Columns, EventColumns, Workload

REFEREE = "scan"
_TOP = 5
_WAYS: dict[str, dict[str, Any]] = {  # of building a matcher, where a paper has several
    "": {},
    "equalities": {"equalities": True},
    "equality": {"equality": 1},
}
_RANGES = (classes.Operator.BETWEEN,)  # beside equalities: a class that no paper has
_OURS = ("again", "copies")  # what no generator knows of
_SCORED = 5  # events whose best are compared with the scores of all that match
_MIX = np.uint64(0x9E3779B97F4A7C15)

Answer = tuple[Longs, Ints, int]  # as Hits: starts, rows, and how many candidates there were


@dataclass(frozen=True, slots=True)
class Built:
    """What answers all events of the setting at once."""

    answer: Callable[[], Answer]
    nbytes: int
    n_predicates: int  # that the rows have, all together
    record_bytes: int = (
        0  # of these predicates, where they are kept beside the lists that lead there
    )


@dataclass(frozen=True, slots=True)
class Clauses:
    """Rows of conjunctions or of CNF criteria; `ids` are what the rows are called.

    Trees that grow see the `stages` one after the other: what goes, what comes, then all events.
    """

    table: ClauseTable | CnfTable
    every: ClauseTable | None  # what the stages are about; None where there are no conjunctions
    events: EventBatch
    ids: Ints
    stages: tuple[tuple[Ints, Ints], ...]
    copies: int = 1  # of each row, all of the first before all of the second

    @property
    def n_criteria(self) -> int:
        return len(self.ids)

    @property
    def n_events(self) -> int:
        return len(self.events)

    @property
    def n_predicates(self) -> int:
        table = self.table.table if isinstance(self.table, CnfTable) else self.table
        return len(table.clauses.items)

    def build(self, algorithm: str, tuning: dict[str, Any]) -> Built:
        """The algorithm over the rows."""
        name, _, way = algorithm.partition("/")
        if way in ("live", "unadjusted"):
            return self._built(self._grown(name, tuning, way == "live"), named=True)
        if algorithm in COUNTS:
            return self._counted(algorithm)
        if isinstance(self.table, CnfTable):
            return self._built(cnf_matcher(name).build(self.table))
        kind: Any = conjunction_matcher(name)
        if way == "once":
            return self._once(kind)
        return self._built(kind.build(self.table, **tuning, **_WAYS[way]))

    def _once(self, kind: Any) -> Built:
        """The matcher over one copy of each row, which writes down all of them."""
        assert isinstance(self.table, ClauseTable)
        n = len(self.ids) // self.copies
        rows = _rows(self.table.clauses, self.ids[:n])
        matcher = kind.build(ClauseTable(self.table.space_starts, self.table.predicates, rows))
        steps = np.arange(self.copies, dtype=np.int32) * np.int32(n)

        def answer() -> Answer:
            hits = matcher.match(self.events)
            found = (hits.rows[:, None] + steps).ravel()
            return hits.starts * self.copies, found, hits.candidates

        return Built(answer, matcher.nbytes, len(rows.items))

    def _built(self, matcher: Any, named: bool = False) -> Built:
        def answer() -> Answer:
            hits = matcher.match(self.events)
            rows = hits.rows if named else self.ids[hits.rows]
            return hits.starts, rows, hits.candidates

        return Built(answer, matcher.nbytes, self.n_predicates, _record_bytes(matcher))

    def _counted(self, algorithm: str) -> Built:
        """The referee's answers, with operations of the algorithm that are counted apart."""
        rows = self.build(REFEREE, {}).answer
        starts, found, _ = rows()
        count = COUNTS[algorithm](self.table, self.events, starts, found)
        return Built(lambda: (starts, found, count), 0, self.n_predicates)

    def _grown(self, name: str, tuning: dict[str, Any], adjusted: bool) -> Any:
        """A tree that clauses were put into one by one.

        Between stages it may adjust itself to the events that it saw, as a live index lets it.
        """
        assert self.every is not None
        kind: Any = conjunction_matcher(name)
        nothing = frozen(Ragged(np.zeros(1, np.int64), np.zeros(0, np.int32)))
        empty = ClauseTable(self.every.space_starts, self.every.predicates, nothing)
        tree, literals = kind.build(empty, **tuning), _literals(self.every)
        for gone, come in self.stages:
            for i in range(max(len(gone), len(come))):
                if i < len(gone):
                    tree.delete(int(gone[i]))
                if i < len(come):
                    clause = self.every.clauses.row(int(come[i]))
                    tree.insert(int(come[i]), [literals[predicate] for predicate in clause])
            tree.match(self.events)
            if adjusted and len(self.stages) > 1:
                tree.adjust(self.events)
        return tree


@dataclass(frozen=True, slots=True)
class Weighted:
    """Criteria with weights, of which all that match are asked for, or the best five."""

    workload: Workload
    expressions: list[Any]
    dicts: list[Any]

    @property
    def n_criteria(self) -> int:
        return len(self.expressions)

    @property
    def n_events(self) -> int:
        return len(self.dicts)

    def build(self, algorithm: str, tuning: dict[str, Any]) -> Built:
        """A segment with the matcher; `NAME/top` answers the best."""
        name, _, way = algorithm.partition("/")
        segment = Segment.build(self.expressions, matcher=name, **tuning)
        batch = segment.encoder.encode(self.dicts, 0)
        nbytes = segment.matcher.nbytes + segment.cnf.nbytes
        if way != "top":
            return Built(lambda: _answer(segment.match(batch)), nbytes, 0)
        segment._owning._values_weigh = False  # the paper's own ranked search, without promises
        wanted = Wanted(_TOP, np.arange(self.n_criteria, dtype=np.int32))
        weighed = self._weighed(segment)
        self._check(segment, batch, wanted, weighed)
        return Built(lambda: _answer(segment.best(batch, wanted, weighed)), nbytes, 0)

    def _weighed(self, segment: Segment) -> Weighed:
        each = [self.workload.event_weights(i) for i in range(self.n_events)]
        positions = segment.words.vocabulary.weighed
        return Weighing(Portion(self.dicts), each).numbers(positions, absolute=False)

    def _check(self, segment: Segment, batch: Any, wanted: Wanted, weighed: Weighed) -> None:
        """Compare the best of a few events with the plain scores of all that match them."""
        best = segment.best(batch, wanted, weighed)
        for i in range(0, self.n_events, max(self.n_events // _SCORED, 1)):
            weights, event = self.workload.event_weights(i), self.dicts[i]
            scores: list[Any] = [
                (-one.score(event, weights=weights), row)
                for row, one in enumerate(self.expressions)
                if one.holds(event)
            ]
            rows = slice(best.starts[i], best.starts[i + 1])
            assert best.scores is not None
            found = zip((-best.scores[rows]).tolist(), best.rows[rows].tolist(), strict=True)
            if list(found) != sorted(scores)[: wanted.n]:
                raise WrongAnswer(f"the best {_TOP} of event {i} are not those with most points")


Setting = Clauses | Weighted


def drawn(workload: dict[str, Any]) -> Setting:
    """The setting of a workload."""
    if workload["kind"] == "switch":
        return _switched(workload)
    data = generator(workload).draw()
    if workload.get("weighted"):
        return Weighted(data, data.expressions(), data.event_dicts())
    events = event_batch(data.criteria, data.events)
    if workload.get("cnf"):
        cnf = cnf_table(data.criteria)
        return Clauses(cnf, None, events, np.arange(data.criteria.n_criteria, dtype=np.int32), ())
    copies = workload.get("copies", 1)
    table = repeated(dnf_table(data.criteria), copies)
    ids = np.arange(table.n_clauses, dtype=np.int32)
    return Clauses(table, table, events, ids, ((ids[:0], ids),), copies)


def fingerprint(starts: Longs, rows: Ints) -> str:
    """How many matches there are, and a sum that says which, whatever their order."""
    mixed = (rows.astype(np.uint64) + np.uint64(1)) * _MIX
    mixed ^= mixed >> np.uint64(29)
    events = np.repeat(np.arange(1, len(starts), dtype=np.uint64), np.diff(starts))
    return f"{len(rows)}:{int((mixed * (2 * events + np.uint64(1))).sum()):016x}"


def _record_bytes(matcher: Any) -> int:
    """The bytes of predicates that lie beside what leads to them."""
    if isinstance(matcher, BETree):
        return matcher.pools.words.nbytes
    return matcher.forest.records.nbytes if isinstance(matcher, PSTBloom | PSTHash) else 0


def _answer(hits: Any) -> Answer:
    return hits.starts, hits.rows, hits.candidates


def generator(workload: dict[str, Any]) -> Any:
    own = {key: value for key, value in workload.items() if key not in _OURS}
    loosening = {one.name: own.pop(one.name) for one in fields(Loosening) if one.name in own}
    if "operators" in loosening:
        name = loosening["operators"]
        loosening["operators"] = _RANGES if name == "RANGES" else getattr(classes, name)
    if loosening:
        own["loosening"] = Loosening(**loosening)
    return KINDS[own.pop("kind")](**own)


def _switched(workload: dict[str, Any]) -> Clauses:
    """Subscriptions that change their distribution and change it back, so many steps of them.

    Half of the events are drawn by the first distribution, half by the second.
    """
    own = {key: value for key, value in workload.items() if key not in _SWITCH}
    n_steps, step = workload["steps"], workload["step"]
    first, second = (
        BEGen(**own, alpha=workload[alpha], seed=seed).draw()
        for alpha, seed in (("alpha_from", 1), ("alpha_to", 2))
    )
    columns = _together(first.criteria, second.criteria)
    every = dnf_table(columns)
    events = event_batch(columns, _half_of_each(first.events, second.events))
    n = first.criteria.n_criteria
    old, new = np.arange(n, dtype=np.int32), np.arange(n, 2 * n, dtype=np.int32)
    half = n_steps // 2
    there = list(zip(np.array_split(old, half), np.array_split(new, half), strict=True))
    back = [(come, gone) for gone, come in there]
    stages = [(old[:0], old), *there, *back][: step + 1]
    present = np.zeros(2 * n, np.bool_)
    for gone, come in stages:
        present[gone], present[come] = False, True
    ids = np.flatnonzero(present).astype(np.int32)
    table = ClauseTable(every.space_starts, every.predicates, _rows(every.clauses, ids))
    return Clauses(table, every, events, ids, tuple(stages))


_SWITCH = ("kind", "steps", "step", "alpha_from", "alpha_to")


def _rows(clauses: Ragged, ids: Ints) -> Ragged:
    return frozen(take_rows(clauses, ids))


def _together(one: Columns, other: Columns) -> Columns:
    """The conjunctions of both, over the same dimensions."""
    n = one.n_criteria + other.n_criteria
    clauses, spans = len(one.dims), len(one.lo)

    def both(name: str) -> Any:
        return np.concatenate([getattr(one, name), getattr(other, name)])

    def ends(name: str, offset: int) -> Longs:
        return np.concatenate([getattr(one, name), getattr(other, name)[1:] + offset])

    return Columns(
        one.n_values,
        np.arange(n + 1, dtype=np.int64),
        both("cnf"),
        ends("clause_starts", clauses),
        both("dims"),
        both("negated"),
        both("strong"),
        ends("span_starts", spans),
        both("lo"),
        both("hi"),
    )


def _half_of_each(one: EventColumns, other: EventColumns) -> EventColumns:
    """The first half of the events of each."""
    halves = [(part, len(part) // 2) for part in (one, other)]
    sizes = np.concatenate([np.diff(part.starts[: n + 1]) for part, n in halves])
    dims, values = (
        np.concatenate([getattr(part, name)[: part.starts[n]] for part, n in halves])
        for name in ("dims", "values")
    )
    return EventColumns(starts_of(sizes), dims, values)


def _literals(table: ClauseTable) -> list[Literal]:
    """The predicates one by one, as trees take them in."""
    predicates = table.predicates
    bounds = list(zip(predicates.span_lo.tolist(), predicates.span_hi.tolist(), strict=True))
    starts = predicates.span_starts.tolist()
    return [
        Literal(dim, on_missing, every, tuple(bounds[begin:end]))
        for dim, on_missing, every, begin, end in zip(
            predicates.dim.tolist(),
            predicates.on_missing.tolist(),
            predicates.every.tolist(),
            starts,
            starts[1:],
            strict=False,
        )
    ]
