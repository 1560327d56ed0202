"""Generated columns mean the same as the expressions they stand for."""

from __future__ import annotations

import numpy as np
import pytest

from remuda.arrays import starts_of
from remuda.encoding.columns import batch_of, conjunctions_of
from remuda.matchers.scan import Scan
from remuda.workload.columns import Columns, EventColumns, Workload


def random_workload(seed: int) -> Workload:
    rng = np.random.default_rng(seed)
    n, n_dims = 200, 6
    n_values = rng.integers(1, 9, n_dims).astype(np.int32)
    dims = [np.sort(rng.permutation(n_dims)[: rng.integers(0, 4)]) for _ in range(n)]
    flat = np.concatenate(dims).astype(np.int32)
    spans = [_spans(rng, int(n_values[dim])) for dim in flat]
    negated = rng.random(len(flat)) < 0.4
    events = [np.sort(rng.permutation(n_dims)[: rng.integers(0, n_dims)]) for _ in range(50)]
    event_dims = np.concatenate(events).astype(np.int32)
    return Workload(
        Columns(
            n_values,
            np.arange(n + 1, dtype=np.int64),
            np.zeros(n, np.bool_),
            starts_of([len(row) for row in dims]),
            flat,
            negated,
            negated & (rng.random(len(flat)) < 0.5),
            starts_of([len(row) for row in spans]),
            np.array([lo for row in spans for lo, _ in row], np.int32),
            np.array([hi for row in spans for _, hi in row], np.int32),
        ),
        EventColumns(
            starts_of([len(row) for row in events]),
            event_dims,
            rng.integers(0, n_values[event_dims]).astype(np.int32),
        ),
    )


def _spans(rng: np.random.Generator, n_values: int) -> list[tuple[int, int]]:
    if rng.random() < 0.5:
        lo, hi = sorted(rng.integers(0, n_values, 2).tolist())
        return [(lo, hi)]
    points = np.unique(rng.integers(0, n_values, 3))
    return [(int(value), int(value)) for value in points]


@pytest.mark.parametrize("seed", range(5))
def test_columns_match_as_their_expressions_hold(seed: int) -> None:
    workload = random_workload(seed)
    table = conjunctions_of(workload.criteria)
    hits = Scan.build(table).match(batch_of(table.space_starts, workload.events))
    expressions = workload.expressions()
    for i, event in enumerate(workload.event_dicts()):
        found = sorted(hits.rows[hits.starts[i] : hits.starts[i + 1]].tolist())
        assert found == [j for j, one in enumerate(expressions) if one.holds(event)]
    assert len(table.predicates.dim) < len(workload.criteria.dims)  # equal ones are shared
