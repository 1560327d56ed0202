"""The simulation of large jobs: as small cases were measured, or nothing is planned."""

from __future__ import annotations

import pytest
from benchmarks.planning import (
    Costs,
    Job,
    NotAsMeasured,
    check,
    compared,
    fitted,
    held_out,
    simulated,
)
from benchmarks.scale import Figures

COSTS = Costs(
    start_s=0.0,
    build_us=300.0,
    event_us=5.0,
    criterion_us=4e-4,
    copy_us=20.0,
    open_us=3.5,
    worker_bytes=3e8,
    own_bytes=600.0,
    stored_bytes=800.0,
)


def figures(what: str, name: str, criteria: int, n: int, cpu_s: float) -> Figures:
    own = int(COSTS.worker_bytes + COSTS.own_bytes * criteria)
    return Figures(f"ads-{name}-{what}", criteria, n, 0, cpu_s, cpu_s, own, 0, 800 * criteria)


def measured(bend: float = 1.0) -> list[Figures]:
    """What would be measured if all were linear, the largest case dearer by a factor."""
    found = []
    for name, criteria in (("30k", 30_000), ("100k", 100_000), ("1m", 1_000_000)):
        times = bend if name == "1m" else 1.0
        each = COSTS.event_us + COSTS.criterion_us * criteria
        found += [
            figures("build", name, criteria, criteria, criteria * COSTS.build_us / 1e6 * times),
            figures("reach", name, criteria, 200_000, 0.2 * each),
            figures("match", name, criteria, 20_000, 0.02 * each),
        ]
    split = found[-1].cpu_s + 0.02 * 4 * COSTS.copy_us
    return [*found, figures("shards", "1m", 1_000_000, 20_000, split)]


def test_costs_are_found_again() -> None:
    found = fitted(measured())
    for name in ("build_us", "event_us", "criterion_us", "copy_us", "worker_bytes", "own_bytes"):
        assert getattr(found, name) == pytest.approx(getattr(COSTS, name), rel=1e-3)


def test_a_case_that_is_not_as_simulated_is_named() -> None:
    check(compared(measured(), fitted(measured())))
    with pytest.raises(NotAsMeasured, match="ads-1m-build"):
        check(compared(measured(bend=2.0), fitted(measured())))


@pytest.mark.parametrize("bend", [1.0, 3.0])
def test_the_largest_size_is_foretold_from_the_smaller_ones(bend: float) -> None:
    """From them alone: where it is dearer than they are, that is seen."""
    ratios = {what: expected / found for what, found, expected in held_out(measured(bend))}
    assert ratios.keys() == {
        f"ads-1m-{what}" for what in ("reach, CPU-s", "reach, worker MB", "build, CPU-s")
    }
    assert ratios["ads-1m-build, CPU-s"] == pytest.approx(1 / bend, rel=1e-3)
    assert ratios["ads-1m-reach, CPU-s"] == pytest.approx(1, abs=0.2)


def test_more_machines_are_faster_and_take_as_much() -> None:
    few, many = (simulated(Job(10**7, 10**9, n, 16), COSTS) for n in (4, 40))
    assert 8 < few.wall_s / many.wall_s < 10.5
    assert many.cpu_s / few.cpu_s == pytest.approx(1, abs=0.2)


def test_groups_take_less_memory_and_more_time() -> None:
    whole, split = (simulated(Job(10**7, 10**7, 10, 16, n), COSTS) for n in (1, 10))
    assert split.worker_bytes < whole.worker_bytes / 5
    assert split.cpu_s > whole.cpu_s + 10 * 10**7 * COSTS.copy_us / 1e6 * 0.8
