"""All events that are made from an index."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from remuda.index.index import Index
from remuda.index.question import Now
from remuda.proof.deriving import drawn, draws, probes


def derive(
    index: Index, *, full: bool = True, seed: int = 0, now: Now = None, n_criteria: int = 200
) -> Iterator[Any]:
    """Events made from the index's criteria, taken in an order drawn by the seed.

    With `full`, from all of them, else from `n_criteria`, and fewer from each.
    """
    rng = draws(seed)
    criteria = drawn(index, rng, None if full else n_criteria)
    yield {}
    for probe in probes(criteria, rng, full=full, scalars=index.scalars, now=now):
        yield from probe.events()
