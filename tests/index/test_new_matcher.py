"""A matcher of one's own: one class and one row, and an index asks it everything."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np
import pytest

from remuda.arrays import ragged
from remuda.encoding.table import ClauseTable, EventBatch
from remuda.index.index import Index, load
from remuda.language.criterion import Criterion
from remuda.language.text import parse
from remuda.matchers import contract
from remuda.matchers.contract import Features, Hits, Kind

CRITERIA = [
    Criterion("young", parse("age < 30")),
    Criterion("either", parse("age > 60 or city in ('Bern', 'Basel')")),
    Criterion("not-bern", parse("not city = 'Bern'")),
    Criterion("adult", parse("tags = 'a' and age >= 18")),
]
EVENTS = [
    {},
    {"age": 25, "city": "Bern"},
    {"age": 70, "city": ["Bern", "Basel"], "tags": ["a", "b", "c"]},
    {"age": 17, "tags": ["a"]},
]
ASKED = Counter[str]()


@dataclass(frozen=True)
class Backwards:
    """Clauses from the last to the first, each tried in plain Python."""

    features: ClassVar[Features] = Features(
        layout=1, maps=True, takes_sample=True, counts=True, describes=True
    )

    table: ClauseTable
    n_sampled: int

    @classmethod
    def build(cls, table: ClauseTable, *, sample: EventBatch | None = None) -> Self:
        return cls(table, -1 if sample is None else len(sample))

    def check(self, table: ClauseTable) -> None:
        """What was stored with it is the table once more, which is checked by itself."""
        assert self.table.n_clauses == table.n_clauses

    def match(self, events: EventBatch) -> Hits:
        ASKED["match"] += 1
        rows = ragged([self._rows(events.one(i).spaces.tolist()) for i in range(len(events))])
        return Hits(rows.starts, rows.items, len(events) * self.table.n_clauses)

    def count(self, events: EventBatch, weights=None):
        ASKED["count"] += 1
        hits = self.match(events)
        weighed = np.ones(self.table.n_clauses, int) if weights is None else weights
        sums = np.append(0, np.cumsum(weighed[hits.rows]))
        return np.diff(sums[hits.starts])

    def reach(self, events: EventBatch):
        ASKED["reach"] += 1
        return np.bincount(self.match(events).rows, minlength=self.table.n_clauses)

    def stats(self):
        return {"layout": "backwards", "why": "a test", "sampled": self.n_sampled}

    @property
    def nbytes(self) -> int:
        return 0

    def _rows(self, spaces: list[int]) -> list[int]:
        table = self.table
        return [
            row
            for row in reversed(range(table.n_clauses))
            if all(self._holds(predicate, spaces) for predicate in table.clauses.row(row))
        ]

    def _holds(self, predicate: int, spaces: list[int]) -> bool:
        table, all_of = self.table, self.table.predicates
        dim = all_of.dim[predicate]
        here = [s for s in spaces if table.space_starts[dim] <= s < table.space_starts[dim + 1]]
        if not here:
            return bool(all_of.on_missing[predicate])
        spans = range(all_of.span_starts[predicate], all_of.span_starts[predicate + 1])
        met = [any(all_of.span_lo[i] <= s < all_of.span_hi[i] for i in spans) for s in here]
        return all(met) if all_of.every[predicate] else any(met)


@pytest.fixture
def mine(monkeypatch) -> str:
    """The name that the matcher has for one test: the row that it needs."""
    monkeypatch.setitem(contract.KINDS, "backwards", Kind(f"{__name__}:Backwards"))
    ASKED.clear()
    return "backwards"


def test_an_index_asks_a_matcher_of_ones_own(mine) -> None:
    index = Index.build(CRITERIA, matcher=mine, sample=EVENTS)
    expected = [[one.id for one in CRITERIA if one.holds(event)] for event in EVENTS]
    matches = index.match_many(EVENTS)
    assert [matches.ids(i) for i in range(len(EVENTS))] == expected
    assert [index.match(event) for event in EVENTS] == expected
    best = [[match.id for match in index.top(event, 9)] for event in EVENTS]
    assert [sorted(ids) for ids in best] == [sorted(ids) for ids in expected]
    assert ASKED["match"] > 0


def test_features_that_it_claims_are_used(mine) -> None:
    criteria = [one for one in CRITERIA if one.id != "either"]  # one clause each: counts add up
    index = Index.build(criteria, matcher=mine, sample=EVENTS)
    expected = [[one.holds(event) for one in criteria] for event in EVENTS]
    assert index.count_many(EVENTS).tolist() == np.sum(expected, axis=1).tolist()
    assert index.reach(EVENTS).tolist() == np.sum(expected, axis=0).tolist()
    assert (ASKED["count"], ASKED["reach"]) == (1, 1)
    assert index.stats()["chosen"] == [
        {"layout": "backwards", "why": "a test", "sampled": len(EVENTS)}
    ]


def test_it_is_saved_and_loaded_by_its_fields(mine, tmp_path) -> None:
    Index.build(CRITERIA, matcher=mine, sample=EVENTS).save(tmp_path / "index")
    index = load(tmp_path / "index")
    assert index.stats()["chosen"][0]["sampled"] == len(EVENTS)  # kept, not built anew
    assert index.match(EVENTS[2]) == [one.id for one in CRITERIA if one.holds(EVENTS[2])]


def test_a_name_without_a_row_is_refused() -> None:
    with pytest.raises(ValueError, match="no matcher 'backwards'; there are auto, scan"):
        Index.build(CRITERIA, matcher="backwards")
