"""What ranking keeps: 8 bytes a clause and an owner where there are weights, else nothing.

The weights themselves are not counted: programs have them, and had them before there were bounds.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from remuda.index.index import Index
from remuda.index.segment import Segment
from remuda.language.criterion import Criterion
from remuda.language.python import attr
from remuda.model.expressions import And, Expression, Or

_N = 600
_LEVELS = 256 * (8 + 4)  # of a whole matcher, whatever its clauses weigh
_PADDING = 3 * 64  # arrays begin at the start of a line of the cache


def _conjunction(rng: random.Random, weight: Callable[[], float]) -> Expression:
    chosen = rng.sample("abcdef", 3)
    return And(*(attr(name).eq(rng.randrange(50)).weight(weight()) for name in chosen))


SHAPES: dict[str, Callable[[random.Random, Callable[[], float]], Expression]] = {
    "a clause each": _conjunction,
    "several clauses each": lambda rng, weight: Or(*(_conjunction(rng, weight) for _ in range(3))),
    "clauses that many own": lambda rng, weight: attr("a").eq(rng.randrange(9)).weight(weight()),
    "disjunctions": lambda rng, weight: And(
        *(
            Or(*(attr(name).eq(rng.randrange(9)).weight(weight()) for name in names))
            for names in ("abc", "bcd", "cde", "def", "aef", "bdf")
        )
    ),
}


def criteria(shape: str, weighted: bool) -> list[Criterion]:
    """The same criteria twice, whose predicates all weigh 1 or each something else."""
    rng, weights = random.Random(7), random.Random(8)
    weight = weights.random if weighted else lambda: 1.0
    return [Criterion(f"c{i}", SHAPES[shape](rng, weight)) for i in range(_N)]


def arrays(value: Any) -> Iterator[np.ndarray[Any, Any]]:
    """All arrays that a value is made of."""
    if isinstance(value, np.ndarray):
        yield value
    elif isinstance(value, tuple):
        for one in value:
            yield from arrays(one)
    elif is_dataclass(value):
        for one in fields(value):
            if not one.name.startswith("_"):
                yield from arrays(getattr(value, one.name))


def nbytes(value: Any) -> int:
    return sum(one.nbytes for one in arrays(value))


def _without_weights(segment: Segment) -> int:
    return nbytes(segment.plan) - nbytes(segment.plan.programs)


def built(shape: str, matcher: str, *, weighted: bool) -> Segment:
    (part,) = Index.build(criteria(shape, weighted), matcher=matcher).parts
    return part.segment


def most(segment: Segment) -> int:
    """8 bytes for each clause, row and owner."""
    plan = segment.plan
    return 8 * (plan.conjunctions.n_clauses + plan.cnf.n_rows + plan.n_criteria)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("matcher", ["auto", "gpu", "kindex", "scan"])  # three are told of bounds
def test_a_segment_in_memory(shape: str, matcher: str) -> None:
    plain, weighted = (built(shape, matcher, weighted=one) for one in (False, True))
    assert nbytes(plain.plan.bounds) == 0
    assert nbytes(weighted.plan.bounds) == most(weighted)
    assert _without_weights(weighted) - _without_weights(plain) == most(weighted)
    assert nbytes(weighted.matcher) - nbytes(plain.matcher) <= _LEVELS
    assert nbytes(weighted.cnf) == nbytes(plain.cnf)


@pytest.mark.parametrize("shape", SHAPES)
def test_an_index_on_disk(shape: str, tmp_path: Path) -> None:
    sizes = []
    for weighted in (False, True):
        path = tmp_path / str(weighted)
        Index.build(criteria(shape, weighted)).save(path)
        files = [one for one in path.rglob("*.bin") if one.stem in ("plan", "matcher", "cnf")]
        assert len(files) >= 2
        programs = built(shape, "auto", weighted=weighted).plan.programs
        sizes.append(sum(one.stat().st_size for one in files) - nbytes(programs))
    known = most(built(shape, "auto", weighted=True))
    assert sizes[1] - sizes[0] <= known + _LEVELS + _PADDING
    assert sizes[1] > sizes[0]


@pytest.mark.parametrize("shape", SHAPES)
def test_levels_take_no_more_for_more_clauses(shape: str) -> None:
    levels = built(shape, "auto", weighted=True).matcher.levels  # type: ignore[attr-defined]
    assert nbytes((levels.scores, levels.ranks)) <= _LEVELS
    assert nbytes(levels.of_denials) <= _N // 64 + 1
