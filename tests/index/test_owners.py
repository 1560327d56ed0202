"""From clauses to their owners: each once, whoever shares and however many clauses he has."""

from __future__ import annotations

import numpy as np
import pytest

import remuda as rm
from remuda.arrays import ragged, starts_of
from remuda.encoding.plan import marked
from remuda.index.owners import Owners
from remuda.index.segment import Segment
from remuda.matchers.contract import Hits

N_CRITERIA = 300

OWNERS = {
    "clause i is criterion i's": [[i] for i in range(N_CRITERIA)],
    "one each, in another order": [[(7 * i + 3) % N_CRITERIA] for i in range(N_CRITERIA)],
    "fewer clauses than criteria": [[i] for i in range(100)],
    "shared clauses": [[i, i + 100, i + 200] for i in range(100)],
    "two clauses each": [[i % 150] for i in range(N_CRITERIA)],
    "some share, some have several": [
        sorted({i, (2 * i) % N_CRITERIA} | ({5} if i % 3 == 0 else set()))
        for i in range(N_CRITERIA)
    ],
    "nobody": [[] for _ in range(10)],
    "no clauses": [],
}


@pytest.mark.parametrize("name", OWNERS)
def test_owners_come_once(name: str) -> None:
    rows = OWNERS[name]
    owners = Owners.of(marked(ragged(rows)), N_CRITERIA)
    rng = np.random.default_rng(1)
    for share in (0.02, 0.5, 1.0):
        events = [np.flatnonzero(rng.random(len(rows)) < share) for _ in range(9)]
        hits = Hits(
            starts_of([len(one) for one in events]),
            np.concatenate([*events, []]).astype(np.int32),
            3,
        )
        found = owners.hit(hits)
        assert found.candidates == 3
        per_event = [
            found.rows[begin:end].tolist()
            for begin, end in zip(found.starts[:-1], found.starts[1:], strict=True)
        ]
        expected = [sorted({owner for clause in one for owner in rows[clause]}) for one in events]
        assert [sorted(one) for one in per_event] == expected


CRITERIA = {
    "one clause each": [f"a = {i % 40} AND b >= {i % 7}" for i in range(400)],
    "clauses that are the same": [f"a = {i % 5}" for i in range(400)],
    "several clauses": [f"a = {i % 40} OR b = {i % 7}" for i in range(400)],
}


@pytest.mark.parametrize("name", CRITERIA)
def test_segments_count_without_hits(name: str) -> None:
    segment = Segment.build(map(rm.parse, CRITERIA[name]), matcher="auto")
    events = [{"a": i % 45, "b": i % 11} for i in range(100)]
    batch = segment.encoder.encode(events, 0)
    assert segment.adds_up == (name != "several clauses")
    if segment.adds_up:
        found = segment.match(batch)
        assert segment.count(batch).tolist() == np.diff(found.starts).tolist()
        assert segment.reach(batch).tolist() == np.bincount(found.rows, minlength=400).tolist()
        assert found.rows.any()


def test_others_than_auto_do_not_count() -> None:
    assert not Segment.build([rm.parse("a = 1")], matcher="scan").adds_up
