"""Answers: which criteria each event of a batch satisfies."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from remuda.arrays import Floats, Ints, Longs
from remuda.index.state import Names


class Match(NamedTuple):
    """A criterion that holds, and its score."""

    id: str
    score: float


@dataclass(frozen=True, slots=True)
class Matches:
    """A ragged array: event i satisfies `positions[offsets[i] : offsets[i + 1]]`.

    Positions are places in `names`, the ids that the index had when it answered, and are in no
    order unless there are scores, which are best first. No Python object is built unless it is
    asked for.
    """

    offsets: Longs
    positions: Ints
    names: Names
    scores: Floats | None = None

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def ids(self, i: int) -> list[str]:
        """The ids of event i: in insertion order, or best first where there are scores."""
        found = self.positions[self.offsets[i] : self.offsets[i + 1]]
        if self.scores is None:
            found = found[np.argsort(self.names.orders[found])]
        return [self.names[position] for position in found.tolist()]

    def counts(self) -> Longs:
        """How many criteria each event satisfies."""
        return np.diff(self.offsets)

    def to_arrow(self) -> Any:
        """A table with a row an event: `ids`, and `scores` where there are any."""
        distinct, places = np.unique(self.positions, return_inverse=True)
        names = self.names.at(distinct)
        ids = pa.DictionaryArray.from_arrays(pa.array(places.astype(np.int32)), names)
        offsets = pa.array(self.offsets, pa.int64())
        columns = {"ids": pa.LargeListArray.from_arrays(offsets, ids)}
        if self.scores is not None:
            columns["scores"] = pa.LargeListArray.from_arrays(offsets, pa.array(self.scores))
        return pa.table(columns)
