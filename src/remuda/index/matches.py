"""Answers: which criteria each event of a batch satisfies."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from remuda.arrays import Floats, Ints, Longs


class Match(NamedTuple):
    """A criterion that holds, and its score."""

    id: str
    score: float


@dataclass(frozen=True, slots=True)
class Matches:
    """A ragged array: event i satisfies `positions[offsets[i] : offsets[i + 1]]`.

    Positions are places in `names`, the ids of the index it was made from. No Python object is
    built unless it is asked for.
    """

    offsets: Longs
    positions: Ints
    names: Sequence[str]
    scores: Floats | None = None

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def ids(self, i: int) -> list[str]:
        """The ids of event i: in insertion order, or best first where there are scores."""
        found = self.positions[self.offsets[i] : self.offsets[i + 1]]
        ordered = found if self.scores is not None else np.sort(found)
        return [self.names[position] for position in ordered.tolist()]

    def counts(self) -> Longs:
        """How many criteria each event satisfies."""
        return np.diff(self.offsets)

    def to_arrow(self) -> pa.Table:
        """A table with a row an event: `ids`, and `scores` where there are any."""
        places = pa.array(self.positions, pa.int32())
        names = pa.DictionaryArray.from_arrays(places, pa.array(self.names, pa.string()))
        offsets = pa.array(self.offsets, pa.int64())
        columns = {"ids": pa.LargeListArray.from_arrays(offsets, names)}
        if self.scores is not None:
            columns["scores"] = pa.LargeListArray.from_arrays(offsets, pa.array(self.scores))
        return pa.table(columns)
