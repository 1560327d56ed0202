"""Rosters: who the criteria of a segment are, found by place or by id."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from remuda.arrays import Ints, Longs, frozen
from remuda.language import json
from remuda.language.criterion import Criterion


class StoredIds(Sequence[str]):
    """Ids in an Arrow array, perhaps memory-mapped; Python strings only where asked for."""

    def __init__(self, array: Any) -> None:
        self.array = array

    def __len__(self) -> int:
        return len(self.array)

    def __getitem__(self, place: Any) -> Any:
        return self.array[place].as_py()


class StoredCriteria(Sequence[Criterion]):
    """Criteria as JSON documents in an Arrow array; read where asked for."""

    def __init__(self, array: Any) -> None:
        self.array = array

    def __len__(self) -> int:
        return len(self.array)

    def __getitem__(self, place: Any) -> Any:
        return Criterion.from_json(self.array[place].as_py())

    def __iter__(self) -> Iterator[Criterion]:
        return (Criterion.from_json(one) for one in self.array.to_pylist())


@dataclass(frozen=True, slots=True)
class Roster:
    """The criteria of a segment by place, with their ids and their order of insertion."""

    ids: Sequence[str]
    criteria: Sequence[Criterion]
    orders: Longs  # of each place: larger is later
    by_id: Ints  # places, in the code-point order of their ids
    ranks: Ints  # of each place: where its id stands in that order

    @classmethod
    def of(cls, criteria: Sequence[Criterion], orders: Longs) -> Roster:
        ids = [criterion.id for criterion in criteria]
        by_id = np.array(sorted(range(len(ids)), key=ids.__getitem__), np.int32)
        ranks = np.empty(len(ids), np.int32)
        ranks[by_id] = np.arange(len(ids), dtype=np.int32)
        return cls(ids, criteria, frozen(orders), frozen(by_id), frozen(ranks))

    def __len__(self) -> int:
        return len(self.ids)

    def find(self, id: str) -> int | None:
        """The place of the id."""
        low, high = 0, len(self.by_id)
        while low < high:
            middle = (low + high) // 2
            if self.ids[self.by_id[middle]] < id:
                low = middle + 1
            else:
                high = middle
        if low < len(self.by_id) and self.ids[self.by_id[low]] == id:
            return int(self.by_id[low])
        return None

    def documents(self) -> Any:
        """The criteria as an Arrow array of JSON documents."""
        if isinstance(self.criteria, StoredCriteria):
            return self.criteria.array
        documents = [json.encode(one.to_json()) for one in self.criteria]
        return pa.array(documents, pa.large_binary())

    def id_array(self) -> Any:
        """The ids as an Arrow array."""
        if isinstance(self.ids, StoredIds):
            return self.ids.array
        return pa.array(self.ids, pa.large_string())
