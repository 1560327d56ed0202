"""The check of a stored `auto`: what was built passes, and what would lead astray does not."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from matchers.tables import random_case
from matchers.test_auto import SHAPES_OF_AUTO, layout  # noqa: F401 - a fixture
from remuda.encoding.checks import Unsound
from remuda.matchers.auto import Auto


@pytest.mark.usefixtures("layout")
@pytest.mark.parametrize("shape", SHAPES_OF_AUTO)
def test_what_was_built_passes(shape: str) -> None:
    for seed in range(4):
        case = random_case(seed, **{**SHAPES_OF_AUTO[shape], "n_events": 1})
        Auto.build(case.table).check(case.table)


def first_cluster(auto: Auto) -> tuple[int, int]:
    """Which cluster is the first that has entries, and where in the arena it lies."""
    directory = auto.places[::2]
    at = int(np.flatnonzero(directory)[0])
    return at, int(directory[at] & np.uint64(0xFFFFFFFF))


def in_places(auto: Auto, change: Callable[[int], int], word: int = 0) -> Auto:
    places = auto.places.copy()
    at = 2 * first_cluster(auto)[0] + word
    places[at] = change(int(places[at])) % (1 << 64)
    return replace(auto, places=places)


def in_arena(auto: Auto, change: Callable[[int], int], after: int = 0) -> Auto:
    arena = auto.arena.copy()
    at = first_cluster(auto)[1] + after
    arena[at] = change(int(arena[at])) % (1 << 64)
    return replace(auto, arena=arena)


def denying(auto: Auto, **others: object) -> Auto:
    return replace(auto, denials=auto.denials._replace(**others))


FAULTS: dict[str, Callable[[Auto], Auto]] = {
    "a cluster behind the arena": lambda a: in_places(a, lambda word: word | 0xFFFFFFF0),
    "more entries than a cluster has": lambda a: in_places(a, lambda word: word + (1 << 50)),
    "a space of another dimension": lambda a: in_places(a, lambda word: word ^ 1, 1),
    "another cell": lambda a: in_places(a, lambda word: word + (1 << 32), 1),
    "too few places": lambda a: replace(a, places=a.places[:-2]),
    "a dimension that is large": lambda a: replace(a, traits=a.traits ^ np.uint64(0x80)),
    "another page": lambda a: replace(a, traits=a.traits + np.uint64(1 << 40)),
    "too few traits": lambda a: replace(a, traits=a.traits[:-1]),
    "a chunk of nothing": lambda a: in_arena(a, lambda word: word & ~0xFFFF),
    "a chunk of another kind": lambda a: in_arena(a, lambda word: word | 3 << 14),
    "a chunk without end": lambda a: in_arena(a, lambda word: word | 0xFFFFFFF << 32),
    "a chunk within itself": lambda a: in_arena(a, lambda word: word & 0xFFFFFFFF),
    "an arena cut short": lambda a: replace(a, arena=a.arena[: len(a.arena) // 2]),
    "no arena": lambda a: replace(a, arena=a.arena[:0]),
    "records anywhere": lambda a: replace(a, arena=a.arena | np.uint64(0xFF << 56)),
    "other bits for bytes": lambda a: replace(a, dim_bits=a.dim_bits + 1),
    "more bytes": lambda a: replace(a, n_masked=a.n_masked + 1),
    "more clauses": lambda a: replace(a, facts=a.facts._replace(n_clauses=10**9)),
    "a denied clause twice": lambda a: denying(a, clauses=np.zeros_like(a.denials.clauses)),
    "a denied clause beyond": lambda a: denying(a, clauses=a.denials.clauses + 10**6),
    "denials beyond": lambda a: denying(a, lists=a.denials.lists + len(a.denials.clauses)),
    "slots beyond": lambda a: denying(a, slots=a.denials.slots + len(a.denials.bitmap_of)),
    "bitmaps beyond": lambda a: denying(a, bitmap_of=a.denials.bitmap_of + 1000),
    "too few slots": lambda a: denying(a, slots=a.denials.slots[:-1]),
    "too few levels": lambda a: denying(a, level_starts=a.denials.level_starts[:1]),
    "lists of other dimensions": lambda a: denying(a, any_starts=a.denials.any_starts[1:]),
}


@pytest.mark.usefixtures("layout")
@pytest.mark.parametrize("fault", FAULTS)
def test_what_would_lead_astray_is_refused(fault: str) -> None:
    case = random_case(3, n_clauses=1500, n_dims=5, max_spaces=300, negated=0.5, n_events=1)
    auto = Auto.build(case.table)
    assert len(auto.denials.lists)
    with pytest.raises(Unsound):
        FAULTS[fault](auto).check(case.table)


def test_a_clause_under_two_keys_is_refused() -> None:
    """Else an event could meet it twice, and there is room for each clause but once."""
    case = random_case(3, n_clauses=1500, n_dims=5, max_spaces=30, n_events=1)
    auto = Auto.build(case.table)
    places = auto.places.copy()
    directory = places[::2]
    dims = case.table.dim_of_space()
    one = next(i for i in np.flatnonzero(directory[:-1]) if dims[i] == 0)
    other = next(i for i in np.flatnonzero(directory[:-1]) if dims[i] != 0)
    directory[other] = directory[one]
    with pytest.raises(Unsound):
        replace(auto, places=places).check(case.table)
