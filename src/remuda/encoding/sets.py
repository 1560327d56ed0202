"""Many sets against one list: the sets that a list relates to, by counting shared elements."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from remuda.arrays import Bools, Ints
from remuda.model.conditions import Related, Relation
from remuda.model.values import key


@dataclass(slots=True)
class SetIndex:
    """Set conditions by their elements, each with the space that says yes."""

    sizes: list[int] = field(default_factory=list)
    relations: list[Relation] = field(default_factory=list)
    spaces: list[int] = field(default_factory=list)
    having: dict[Hashable, list[int]] = field(default_factory=dict)
    empty: list[int] = field(default_factory=list)  # supersets of nothing: every list
    of_empty: list[int] = field(default_factory=list)  # what a list without elements relates to
    _arrays: _Arrays | None = None

    def add(self, condition: Related, space: int) -> None:
        position, self._arrays = len(self.sizes), None
        self.sizes.append(len(condition.keys))
        self.relations.append(condition.relation)
        self.spaces.append(space)
        for element in condition.keys:
            self.having.setdefault(element, []).append(position)
        if not condition.keys and condition.relation is Relation.SUPERSET:
            self.empty.append(space)
        if condition.accepts([]):
            self.of_empty.append(space)

    def matching(self, values: list[Any]) -> list[int]:
        """The spaces of the sets that the list relates to as they ask."""
        if not self.sizes:
            return []
        if not values:
            return self.of_empty
        if self._arrays is None:
            self._arrays = _Arrays.of(self)
        elements = set(map(key, values))
        rows = [row for one in elements if (row := self._arrays.having.get(one)) is not None]
        if not rows:
            return self.empty
        return self.empty + self._arrays.related(np.concatenate(rows), len(elements))


@dataclass(frozen=True, slots=True)
class _Arrays:
    """The same in arrays, made once all sets are there."""

    having: dict[Hashable, Ints]
    sizes: Ints
    spaces: Ints
    wants_all: Bools  # of the elements of the set: superset and equalset
    wants_only: Bools  # elements of the set: subset and equalset

    @classmethod
    def of(cls, sets: SetIndex) -> _Arrays:
        relations = sets.relations
        all_of, only = (Relation.SUPERSET, Relation.EQUALSET), (Relation.SUBSET, Relation.EQUALSET)
        return cls(
            {element: np.array(row, np.int32) for element, row in sets.having.items()},
            np.array(sets.sizes, np.int32),
            np.array(sets.spaces, np.int32),
            np.array([one in all_of for one in relations], np.bool_),
            np.array([one in only for one in relations], np.bool_),
        )

    def related(self, shared: Ints, n_elements: int) -> list[int]:
        """The spaces of the sets that share enough; `shared` has each once for each element."""
        position, n_shared = np.unique(shared, return_counts=True)
        enough = ~self.wants_all[position] | (n_shared == self.sizes[position])
        enough &= ~self.wants_only[position] | (n_shared == n_elements)
        found: list[int] = self.spaces[position[enough]].tolist()
        return found
